/* SPDX-License-Identifier: MIT */
/* Allocates keys of tracers. Its lock is the innermost of the library. */
#ifndef SIDE_LIBSIDE_KEYS_H
#define SIDE_LIBSIDE_KEYS_H

#include <stdbool.h>
#include <stdint.h>

/* Keys. Those of tracers begin at SIDE_KEY_FIRST. */
enum {
	SIDE_KEY_MATCH_ALL = 0,
	SIDE_KEY_USER_EVENTS = 1,
	SIDE_KEY_PTRACE = 2,
	SIDE_KEY_FIRST = 8,
};

static inline bool key_is_reserved(uint64_t key)
{
	return key != SIDE_KEY_MATCH_ALL && key < SIDE_KEY_FIRST;
}

void keys_lock(void);
void keys_unlock(void);

/*
 * Whether side_tracer_request_key() has returned this key, or it is the default key.
 * Async-signal-safe.
 */
bool key_is_allocated(uint64_t key);

#endif /* SIDE_LIBSIDE_KEYS_H */
