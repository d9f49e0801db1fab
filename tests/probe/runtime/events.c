/* SPDX-License-Identifier: MIT */
/*
 * A program with its own events, and a process that shares its thread-local memory and runs beside
 * it. Prints how often each has called.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

#define STACK (1 << 18)
#define EVENTS 100000

side_static_event(ev_tick, "shared", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("n"), side_field_u64("square")));

static long tick(void)
{
	for (uint64_t i = 0; i < EVENTS; i++)
		side_event(ev_tick, side_arg_list(side_arg_u64(i), side_arg_u64(i * i)));
	return EVENTS;
}

static int child(void *unused)
{
	(void)unused;
	tick();
	syscall(SYS_exit, 3);
	return 0;
}

int main(void)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long own = 0, others = 0;
	int pid, status;

	for (int i = 0; i < 3; i++) {
		own += tick();
		pid = clone(child, stack + STACK, CLONE_VM | SIGCHLD, NULL);
		own += tick();
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
				WEXITSTATUS(status) != 3)
			return 1;
		others += EVENTS;
	}
	own += tick();
	printf("%ld %ld\n", own, others);
	return 0;
}
