/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_REPLACED_H
#define SIDE_TRACERS_AGENT_CORE_REPLACED_H

/*
 * Replaced generations of rules: each is freed once no thread can use it, with its batches and, if
 * the process left the session with it, with the session.
 *
 * Callers: batch.c, renew.c and update.c, with libside's event lock.
 */
#include <stdint.h>

struct agent_generation;

/*
 * agent_generation_over() lists a replaced generation; agent_over_begin() begins the grace
 * period of all that have none, and returns it (0: no call can be under way); agent_over_free()
 * frees those whose grace period has passed.
 */
void agent_generation_over(struct agent_generation *generation);
uint64_t agent_over_begin(void);
void agent_over_free(void);

#endif
