/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_LIBRARY_EVENTS_H
#define SIDE_TRACERS_AGENT_CORE_LIBRARY_EVENTS_H

/*
 * Two events of the agent's own:
 *
 *	side:library_load    path, base, size, build_id, debug_link
 *	side:library_unload  path, base
 *
 * Callers: mappings.c, and select.c to recognize them. Emitting needs libside's event lock.
 */
#include <stdbool.h>
#include <stdint.h>

struct base_library;
struct side_event_description;

/* At the start, without a lock. */
bool base_events_register(void);
/* Any context. */
bool base_is_event(const struct side_event_description *event);
/* Any context: is one of the events enabled? */
bool base_wanted(void);
/* With the event lock; `key` selects one session, NULL: all. */
void base_record_load(const struct base_library *library, uint64_t *key);
void base_record_unload(const struct base_library *library);

#endif
