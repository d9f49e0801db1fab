/* SPDX-License-Identifier: MIT */
/*
 * Executes requests that test-interplay.py counts: each round calls each function as often as
 * requested, in the requested number of threads, with arguments that name the round. Requests are
 * lines of standard input, or arguments.
 *
 *	work ROUND CALLS THREADS	calls, and prints "worked"
 *	child ROUND CALLS		a child does that, and exits; "child PID"
 *	hold ROUND			a thread starts a call and stays in it; "holding"
 *	free				all of these return; "freed"
 *
 * With -DLIBRARY it is the library that the program is linked with.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noipa))

long in_library(long value);

#ifdef LIBRARY
APART long in_library(long value)
{
	__asm__ volatile("" : "+r"(value));
	return value + 7;
}

#else

#define HELD_MAX 64

long plain(long value, int small);
long deep(long value, int left);
long landed(long value);
long leaps(long value);
long outer(long value);
void middle(long value);
void thrower(long value);
long held(long value);

/*
 * One byte, and a jump leads to the next one: a probe's jump has no space. The kernel emulates a
 * nop.
 */
long tiny(long value);
__asm__(".text\n.p2align 4\n.globl tiny\n.type tiny, @function\ntiny:\n.cfi_startproc\nnop\n1: mov "
	"%rdi, %rax\nret\n.cfi_endproc\n"
	".size tiny, . - tiny\n"
	".globl beside\n.type beside, @function\nbeside:\n.cfi_startproc\nxor %edx, %edx\ntest "
	"%rdi, %rdi\njne 1b\njmp 1b\n.cfi_endproc\n"
	".size beside, . - beside\n.p2align 4\n");

static __thread jmp_buf back;
static atomic_int holds, goes;
static pthread_t holders[HELD_MAX];
static int nr_holders;

APART long plain(long value, int small)
{
	__asm__ volatile("" : "+r"(value));
	return value * 3 + small;
}

APART long deep(long value, int left)
{
	long got = left ? deep(value, left - 1) : value;

	__asm__ volatile("" : "+r"(got));
	return got + 1;
}

APART long landed(long value)
{
	__asm__ volatile("" : "+r"(value));
	return value * 2;
}

APART long leaps(long value)
{
	__asm__ volatile("" : "+r"(value));
	return landed(value + 1);
}

APART void thrower(long value)
{
	__asm__ volatile("" : "+r"(value));
	longjmp(back, 1);
}

APART void middle(long value)
{
	thrower(value);
	__asm__ volatile("" ::: "memory");
}

APART long outer(long value)
{
	volatile long kept = value;

	if (!setjmp(back))
		middle(kept);
	return kept + 5;
}

APART long held(long value)
{
	atomic_fetch_add(&holds, 1);
	while (!atomic_load(&goes))
		usleep(1000);
	__asm__ volatile("" : "+r"(value));
	return value + 9;
}

struct share {
	pthread_t thread;
	long base;
	int calls;
};

static void *do_share(void *data)
{
	const struct share *share = data;

	for (long value = share->base; value < share->base + share->calls; value++) {
		plain(value, (int)(value % 5));
		deep(value, 3);
		leaps(value);
		tiny(value);
		outer(value);
		in_library(value);
	}
	return NULL;
}

static void work(long round, int calls, int threads)
{
	struct share shares[8];

	for (int i = 0; i < threads; i++) {
		shares[i] = (struct share){.base = (round * 8 + i) * 1000, .calls = calls};
		if (threads > 1)
			pthread_create(&shares[i].thread, NULL, do_share, &shares[i]);
		else
			do_share(&shares[i]);
	}
	for (int i = 0; threads > 1 && i < threads; i++)
		pthread_join(shares[i].thread, NULL);
}

static long child(long round, int calls)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		work(round, calls, 1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status ? -1 : pid;
}

static void *hold_one(void *data)
{
	held((long)data);
	return NULL;
}

static void hold(long round)
{
	int before = atomic_load(&holds);

	if (nr_holders == HELD_MAX)
		exit(3);
	pthread_create(&holders[nr_holders++], NULL, hold_one, (void *)(round * 8000));
	while (atomic_load(&holds) == before)
		usleep(1000);
}

static void let_go(void)
{
	atomic_store(&goes, 1);
	while (nr_holders)
		pthread_join(holders[--nr_holders], NULL);
	atomic_store(&goes, 0);
}

static void answer(char *line)
{
	long round = 0;
	int calls = 0, threads = 1;

	if (sscanf(line, "work %ld %d %d", &round, &calls, &threads) == 3) {
		work(round, calls, threads);
		printf("worked\n");
	} else if (sscanf(line, "child %ld %d", &round, &calls) == 2) {
		printf("child %ld\n", child(round, calls));
	} else if (sscanf(line, "hold %ld", &round) == 1) {
		hold(round);
		printf("holding\n");
	} else if (!strncmp(line, "free", 4)) {
		let_go();
		printf("freed\n");
	} else {
		exit(2);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[256];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			answer(argv[i]);
		return 0;
	}
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin))
		answer(line);
	return 0;
}
#endif
