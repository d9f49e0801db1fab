/* SPDX-License-Identifier: MIT */
/* Chooses the size of the rings for a recording that answers a question. */
#include "programs/side/answers/rings.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

/* Bytes of the ring of a CPU, and of all rings; with many CPUs, each ring gets fewer bytes. */
#define RINGS_EACH (UINT64_C(32) << 20)
#define RINGS_SMALL (UINT64_C(64) << 10)
#define RINGS_ALL (UINT64_C(128) << 20)
/* The sizes if a full ring makes its program wait. */
#define RINGS_BLOCKING_EACH (UINT64_C(1) << 20)
#define RINGS_BLOCKING_ALL (UINT64_C(32) << 20)
/* Rings may take 1/16 of the address space that a limit leaves. */
#define RINGS_LIMITED_PART 16

/* Bytes that a process has mapped; 0: unknown, as for a command that has not started. */
static uint64_t rings_mapped(uint64_t pid)
{
	uint64_t pages = 0;
	char path[64];
	FILE *file;

	if (!pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/statm", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%" SCNu64, &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Bytes that all rings together may take. A command inherits the limit of this process. */
static uint64_t rings_limited(uint64_t pid)
{
	struct rlimit limit;
	uint64_t mapped;

	if (prlimit((pid_t)pid, RLIMIT_AS, NULL, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	mapped = rings_mapped(pid);
	return limit.rlim_cur > mapped ? (limit.rlim_cur - mapped) / RINGS_LIMITED_PART : 0;
}

uint64_t rings_size(uint64_t pid, bool blocks)
{
	long configured = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t cpus = configured > 0 ? (uint64_t)configured : 1;
	uint64_t most = blocks ? RINGS_BLOCKING_ALL : RINGS_ALL;
	uint64_t size = blocks ? RINGS_BLOCKING_EACH : RINGS_EACH;
	uint64_t limited = rings_limited(pid);

	if (limited < most)
		most = limited;
	while (size > RINGS_SMALL && size * cpus > most)
		size /= 2;
	return size;
}
