/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_ACCESS_H
#define SIDE_RECORDER_CORE_ACCESS_H

/*
 * Decides which processes a user may probe.
 *
 * Callers: the probe tables (probes.c). Main thread only, so no lock is needed.
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
/* True if the kernel would let a user with these ids and capabilities trace process `pid`. */
bool access_is_allowed(const struct access *of, pid_t pid);

#endif
