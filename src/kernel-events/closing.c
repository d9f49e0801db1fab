/* SPDX-License-Identifier: MIT */
/*
 * Closing many perf events in a helper process, so that the recorder need not wait for the kernel.
 *
 * For each tracepoint that has no other user, the kernel waits until all readers of the tracepoint
 * have finished. It does so for one tracepoint after the other: half a minute for all system calls.
 * The events are disabled by then, so their closing can be left to a process that inherits nothing
 * but these descriptors.
 */
#include "kernel-events/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FEW 32 /* so few events take a second at most */

static int kernel_close_compare_fds(const void *one, const void *other)
{
	const int *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

/*
 * Runs in the new process, which has a copy of the recorder's memory. Other threads of the recorder
 * may have held any lock, so only system calls are safe. execve() releases that memory, which may
 * be large; /bin/true closes the descriptors by exiting.
 */
static _Noreturn void kernel_close_hold_and_exit(const int *fds, size_t nr)
{
	static char name[] = "side-closes";
	char *const argv[] = {name, NULL}, *const nothing[] = {NULL};
	unsigned int from = 0;
	size_t i;

	/*
	 * Leave the recorder's session and process group: no signal to the group arrives, and
	 * nothing waits for this process.
	 */
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

/*
 * Start the helper process by clone() instead of libc's fork(), whose handlers would make an agent
 * in the recorder register a new program. The intermediate process exits at once, so the helper
 * process has no parent that must wait for it.
 */
static bool kernel_close_move_to_child(const int *fds, size_t nr)
{
	pid_t child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	int status = 0;

	if (!child) {
		child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
		if (!child)
			kernel_close_hold_and_exit(fds, nr);
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
