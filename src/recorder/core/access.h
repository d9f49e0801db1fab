/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_ACCESS_H
#define SIDE_RECORDER_CORE_ACCESS_H

/*
 * Decides which processes a user may probe.
 *
 * Callers: the probe tables (probes.c). Main thread. No lock.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct access {
	uid_t uid;
	bool has_gid;
	gid_t gid;
	uint64_t capabilities;
};

uint64_t access_own_capabilities(void);
/* May a user with these capabilities probe the process? */
bool access_is_allowed(const struct access *of, pid_t pid);

#endif
