/* SPDX-License-Identifier: MIT */
/*
 * Checks that the process may open a descriptor for each location, before the first probe is set.
 *
 * Without uprobe_multi, the kernel removes uprobes one by one, and each removal waits for all
 * processors: undoing a failure at the last location would take minutes.
 */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

int global_descriptors(uint64_t wanted, int any_fd, struct error *error)
{
	struct rlimit limit;
	/* The lowest free descriptor: all below it are open. */
	int lowest_free = fcntl(any_fd, F_DUPFD_CLOEXEC, 0);

	if (lowest_free >= 0)
		close(lowest_free);
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
			(lowest_free >= 0 && (uint64_t)lowest_free + wanted < limit.rlim_cur))
		return 0;
	return error_set(error, -EMFILE,
			"probe fewer locations, or raise that limit with `ulimit -n`\n`--by uprobe_multi` needs only a few, where the kernel has it",
			"this method needs %" PRIu64
			" descriptors for the locations, and a process may have %" PRIu64
			" open here",
			wanted, (uint64_t)limit.rlim_cur);
}
