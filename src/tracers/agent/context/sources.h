/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CONTEXT_SOURCES_H
#define SIDE_TRACERS_AGENT_CONTEXT_SOURCES_H

/*
 * Read values from the kernel, by system calls that use only memory of the agent and leave no
 * descriptor.
 *
 * Async-signal-safe; the functions disturb errno. Callers: the files of context/, and
 * core/mappings.c. Never in a sandbox.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracers/agent/context/groups.h"

/*
 * Read these groups. Returns those of them that may change without a call that watch.c sees.
 * `keeps_procname`: other threads may use the name of the process that was read; false in a child
 * that shares the memory of another process.
 */
uint32_t context_sources_read(uint32_t groups, struct context_values *values, bool keeps_procname);

/* The stamp of the cached name of the process, so that not each thread opens a file to read it. */
void context_sources_start(uint32_t procname_stamp);

/* The process has a new user namespace: ids may change again when its map is written. */
void context_users_changed(void);

int32_t context_sources_pid(void);
int32_t context_sources_tid(void);

/* Read a file of /proc: the number of bytes, or a negative errno. */
long context_sources_file(const char *path, char *to, size_t size);

#endif
