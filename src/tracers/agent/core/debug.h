/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_DEBUG_H
#define SIDE_TRACERS_AGENT_CORE_DEBUG_H

/*
 * Lines on standard error, if SIDE_DEBUG is set. The agent prints nothing else.
 *
 * Any thread, with any lock, but never in a callback of an event, nor in a sandbox: printing is a
 * system call.
 */
#include <stdbool.h>

/* Set by start.c, and constant from then on. */
struct agent_debug {
	bool is_on;
};

#define agent_debug(...)                          \
	do {                                      \
		if (agent_debug_is_on())          \
			agent_print(__VA_ARGS__); \
	} while (0)
bool agent_debug_is_on(void);
void agent_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
