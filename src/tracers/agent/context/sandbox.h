/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CONTEXT_SANDBOX_H
#define SIDE_TRACERS_AGENT_CONTEXT_SANDBOX_H

/*
 * Evaluate a seccomp filter for a system call before the filter is installed.
 *
 * Async-signal-safe.
 */
#include <stdbool.h>

struct sock_fprog;

/*
 * Whether the filter permits this call of this thread. False also for a filter that cannot be read,
 * or that checks arguments in an unknown way.
 */
bool sandbox_permits(const struct sock_fprog *program, unsigned int call);

#endif /* SIDE_TRACERS_AGENT_CONTEXT_SANDBOX_H */
