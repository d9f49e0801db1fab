/* SPDX-License-Identifier: MIT */
#ifndef AGENT_SANDBOX_H
#define AGENT_SANDBOX_H

/*
 * What a filter of seccomp does with a system call, found out before the filter is installed.
 *
 * Async-signal-safe.
 */
#include <stdbool.h>

struct sock_fprog;

/* Does the filter let this call of this thread through? False also for a filter that cannot be read, or that looks at arguments in an unknown way. */
bool sandbox_permits(const struct sock_fprog *program, unsigned int call);

#endif /* AGENT_SANDBOX_H */
