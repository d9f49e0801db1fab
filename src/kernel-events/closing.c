/* SPDX-License-Identifier: MIT */
/*
 * Closing many events of perf. The kernel waits for all of its readers at each tracepoint that nobody uses any more, one after the other:
 * all system calls take it half a minute. They are switched off by then, so whoever has recorded need not wait: a process does that has
 * nothing of us but these descriptors.
 */
#include "kernel-events/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FEW 32 /* a second at most */

static int kernel_close_compare_fds(const void *one, const void *other)
{
	const int *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

/*
 * In the new process, which has a copy of our memory, and threads of ours may hold any lock: system calls only. What it becomes has no memory of
 * ours, which may be large, and closes them by ending.
 */
static _Noreturn void keep_and_end(const int *fds, size_t nr)
{
	static char name[] = "side-closes";
	char *const argv[] = {name, NULL}, *const nothing[] = {NULL};
	unsigned int from = 0;
	size_t i;

	/* Not one of us for those who look at our group, and nobody waits for it. */
	(void)syscall(SYS_setsid);
	for (i = 0; i < nr; i++) {
		if ((unsigned int)fds[i] > from)
			(void)syscall(SYS_close_range, from, fds[i] - 1, 0);
		(void)syscall(SYS_fcntl, fds[i], F_SETFD, 0);
		from = (unsigned int)fds[i] + 1;
	}
	(void)syscall(SYS_close_range, from, ~0u, 0);
	(void)syscall(SYS_execve, "/bin/true", argv, nothing);
	(void)syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}

/* Without libc's fork(): the recorder in us would think that a program begins. The one between ends at once, so that nobody has to wait. */
static bool kernel_close_move_to_child(const int *fds, size_t nr)
{
	pid_t child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	int status = 0;

	if (!child) {
		child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
		if (!child)
			keep_and_end(fds, nr);
		(void)syscall(SYS_exit_group, child < 0);
	}
	while (child > 0 && waitpid(child, &status, __WALL) < 0)
		if (errno != EINTR)
			return false;
	return child > 0 && !status;
}

void kernel_close_many(int *fds, size_t nr)
{
	size_t i;

	if (nr > FEW) {
		qsort(fds, nr, sizeof(*fds), kernel_close_compare_fds);
		(void)kernel_close_move_to_child(fds, nr);
	}
	for (i = 0; i < nr; i++)
		close(fds[i]);
}
