/* SPDX-License-Identifier: MIT */
/* Allocates keys of tracers. Its lock is the innermost of the library. */
#ifndef SIDE_LIBSIDE_KEYS_H
#define SIDE_LIBSIDE_KEYS_H

#include <stdbool.h>
#include <stdint.h>

void keys_lock(void);
void keys_unlock(void);

/*
 * Whether side_tracer_request_key() has returned this key, or it is the default key.
 * Async-signal-safe.
 */
bool key_is_allocated(uint64_t key);

#endif /* SIDE_LIBSIDE_KEYS_H */
