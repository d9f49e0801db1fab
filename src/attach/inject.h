/* SPDX-License-Identifier: MIT */
#ifndef SIDE_ATTACH_INJECT_H
#define SIDE_ATTACH_INJECT_H

/*
 * Load the agent into a running program, and call one of its functions there.
 *
 * One thread of the program is borrowed at a point where it can safely create a thread, for as long
 * as pthread_create() takes (some 100 us): see thread.c for how, safe.c for which points are safe,
 * and code.c for what happens if this process is killed meanwhile. The new thread loads the agent
 * and calls its function while all other threads run. Then it exits.
 *
 * All of this happens in a process of its own. The caller need not wait for it, because it may have
 * to answer the agent meanwhile.
 */

#include <stdint.h>
#include <sys/types.h>

#include "attach/inject-request.h"

/*
 * Memory that the agent in a process keeps for removed probes. All 0 while there are probes, or if
 * the agent is not loaded.
 */
struct inject_kept {
	uint64_t bytes;
	/* not 0: signal handlers for traps (SIGTRAP, SIGILL) are installed */
	uint64_t traps;
	uint64_t springboards; /* springboards of short jumps in padding */
};

/* Returns 0, or a negative errno if the process cannot be read. */
int inject_kept(pid_t pid, struct inject_kept *ret_kept);
/*
 * Reads a variable of 8 bytes of the agent in a process. Returns 0, -ENOENT if the process has no
 * agent with that variable, or another negative errno if it cannot be read.
 */
int inject_agent_word(pid_t pid, const char *symbol, uint64_t *ret_value);

/*
 * Start attaching. Returns a descriptor that becomes readable when the report is available, or a
 * negative errno. `*ret_child` is the process, which inject_end() reaps.
 */
int inject_begin(const struct inject_request *request, pid_t *ret_child);
/* Wait for the report, close the descriptor and reap the child. */
void inject_end(int fd, pid_t child, struct inject_report *ret_report);

#endif
