/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CONTEXT_SOURCES_H
#define SIDE_TRACERS_AGENT_CONTEXT_SOURCES_H

/*
 * Where values come from: the kernel, by system calls that name no memory but ours and leave no
 * descriptor. Async-signal-safe; they disturb errno. Private to the context-*.c files
 * and base.c.
 */

#include "tracers/agent/context/values.h"

/* Read these groups. Returns those of them that may change without anybody telling us. */
uint32_t context_sources_read(uint32_t groups, struct context_values *values);

/* What the name of the process is kept under, so that not each thread must open a file for it. */
void context_sources_start(uint32_t procname_stamp);

int32_t context_sources_pid(void);
int32_t context_sources_tid(void);

/* Read a file of /proc without moving anything: bytes, or a negative errno. */
long context_sources_file(const char *path, char *to, size_t size);

#endif
