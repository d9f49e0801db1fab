/* SPDX-License-Identifier: MIT */
/*
 * Children of vfork(), which call watched functions on parts of the stack that their parents have
 * not used: vforked ROUNDS. Some have their own stack, and half of the parents have never had a hit
 * before. Prints `right`, and how often parents and children have called each function.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEEP (200 << 10)

static volatile long sum, wrong;

__attribute__((noinline)) long leaf(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3 + 1;
}

/* The hit of its own call is above the memory that it takes, and the hit of leaf() is below. */
__attribute__((noinline)) long deep(long n)
{
	volatile char memory[DEEP];

	memory[0] = memory[sizeof(memory) - 1] = 1;
	if (leaf(n) != n * 3 + 1)
		wrong++;
	return memory[0] + n;
}

__attribute__((noinline)) void leave(int status)
{
	_exit(status);
}

static void child(void)
{
	for (int i = 0; i < 5; i++)
		if (deep(i) != i + 1)
			wrong++;
	/* A child of the child, on the same stack. */
	if (!vfork()) {
		sum += deep(1);
		leave(0);
	}
	sum += leaf(1);
	leave(3);
}

static int cloned(void *unused)
{
	(void)unused;
	child();
	return 0;
}

static void spawn(long clones)
{
	static char stack[4 * DEEP] __attribute__((aligned(16)));
	int status,
			pid = clones ? clone(cloned, stack + sizeof(stack),
						       CLONE_VM | CLONE_VFORK | SIGCHLD, NULL)
				     : vfork();

	if (!pid)
		child();
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
			WEXITSTATUS(status) != 3)
		wrong++;
}

static void *thread(void *number)
{
	spawn((long)number & 1);
	for (int i = 0; i < 20; i++)
		if (deep(i) != i + 1)
			wrong++;
	spawn((long)number & 2);
	return NULL;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 10;
	pthread_t other;

	for (long i = 0; i < rounds; i++) {
		pthread_create(&other, NULL, thread, (void *)i);
		pthread_join(other, NULL);
	}
	printf("%s deep=%ld leaf=%ld children: deep=%ld leaf=%ld leave=%ld\n",
			wrong ? "wrong" : "right", rounds * 20, rounds * 20, rounds * 12,
			rounds * 14, rounds * 4);
	return wrong != 0;
}
