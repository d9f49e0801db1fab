/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CONTEXT_SOURCES_H
#define SIDE_TRACERS_AGENT_CONTEXT_SOURCES_H

/*
 * Read values from the kernel, by system calls that use only memory of the agent and leave no descriptor.
 *
 * Async-signal-safe; the functions disturb errno. Callers: the files of context/, and core/mappings.c. Never in a sandbox.
 */

#include "tracers/agent/context/values.h"

/* Read these groups. Returns those of them that may change without a call that watch.c sees. */
uint32_t context_sources_read(uint32_t groups, struct context_values *values);

/* The stamp of the cached name of the process, so that not each thread opens a file to read it. */
void context_sources_start(uint32_t procname_stamp);

int32_t context_sources_pid(void);
int32_t context_sources_tid(void);

/* Read a file of /proc: the number of bytes, or a negative errno. */
long context_sources_file(const char *path, char *to, size_t size);

#endif
