/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_OWN_PROCESS_H
#define SIDE_TRACERS_AGENT_CORE_OWN_PROCESS_H

/*
 * What the agent checks of the process that it is in: its sandbox, its names, and free descriptors.
 *
 * Any thread, with any lock or none. The functions make system calls, so never call them in a
 * callback of an event. In a sandbox, call only agent_is_sandboxed().
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define AGENT_NAME_SIZE 4096

struct agent_own_process {
	int seccomp; /* mode at the start */
	/*
	 * The thread that `side attach` created here by ptrace, while it runs a request; 0: none.
	 * Only that thread reads its own id here.
	 */
	atomic_int borrowed;
	atomic_bool is_stopped; /* a thread may not read clocks any more: nothing is recorded */
};

/*
 * Has the program entered a sandbox since it started? Its filter may kill the program for system
 * calls that it does not expect.
 */
bool agent_is_sandboxed(void);
/* The names of this process and of its executable; each has AGENT_NAME_SIZE bytes. */
void agent_process_names(char *procname, char *exe);
/*
 * Are descriptors for the rings of so many channels free? 0: the number is unknown. `socket`: any
 * open descriptor.
 */
bool agent_has_descriptors(int socket, uint32_t nr_channels);

#endif
