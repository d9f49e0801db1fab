/* SPDX-License-Identifier: MIT */
/*
 * A program that counts the calls of its function step(), and provokes losses, or cases where no
 * hit may be lost:
 *
 *	lost fork N	in N children of fork(), 10 times each, and in itself; it defines getenv(),
 *			as bash does
 *	lost vfork N	in N children of vfork(), 5 times each, and in itself
 *	lost flood N	N times while the recorder sleeps
 *	lost all N	in 100 children of vfork(), and then flood N
 *	lost bursts N	N times again and again, until it is killed
 *	lost deep N	nest(), which calls itself N times in each of three threads, so that all of
 *			these calls are open at once
 *	lost made N	N times from generated code, which is in no file
 *	lost crowd N	speak(), N times in 64 threads
 *
 * It prints how often it was called in children of vfork(), and how often elsewhere.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static volatile unsigned long steps, borrowed;

__attribute__((noinline)) void step(void)
{
	steps = steps + 1;
}

/* Replaces the function of libc for all callers, including the agent. */
char *getenv(const char *name)
{
	size_t size = strlen(name);
	char **each;

	for (each = environ; each && *each; each++)
		if (!strncmp(*each, name, size) && (*each)[size] == '=')
			return *each + size + 1;
	return NULL;
}

static void forks(unsigned long children)
{
	unsigned long i, k;

	for (i = 0; i < children; i++) {
		step();
		if (!fork()) {
			for (k = 0; k < 10; k++)
				step();
			_exit(0);
		}
		wait(NULL);
		steps += 10;
	}
}

static void vforks(unsigned long children)
{
	unsigned long i, k;

	for (i = 0; i < children; i++) {
		step();
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
		if (!vfork()) {
			for (k = 0; k < 5; k++) {
				step();
				borrowed++;
			}
			_exit(0);
		}
		wait(NULL);
	}
}

static void flood(unsigned long times)
{
	kill(getppid(), SIGSTOP);
	while (times--)
		step();
	kill(getppid(), SIGCONT);
}

static void bursts(unsigned long times)
{
	unsigned long i;

	for (;;) {
		for (i = 0; i < times; i++)
			step();
		usleep(100000);
	}
}

static pthread_barrier_t all_deep;

/* The innermost call of each thread waits for the others. */
__attribute__((noinline)) unsigned long nest(unsigned long more)
{
	volatile unsigned long below;

	if (!more) {
		pthread_barrier_wait(&all_deep);
		return 1;
	}
	below = nest(more - 1);
	return below + 1;
}

static void *run_deep(void *depth)
{
	__atomic_fetch_add(&steps, nest((unsigned long)depth - 1), __ATOMIC_RELAXED);
	return NULL;
}

static void deep(unsigned long depth)
{
	pthread_attr_t attributes;
	pthread_t threads[3];

	pthread_barrier_init(&all_deep, NULL, 3);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, depth * 100 + 1000000);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], &attributes, run_deep, (void *)depth))
			abort();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

__attribute__((noinline)) void speak(const char *text)
{
	__asm__ volatile("" ::"r"(text) : "memory");
}

static void *run_crowd(void *times)
{
	for (unsigned long i = 0; i < (unsigned long)times; i++)
		speak("a text that is read, and copied, and compared by the filter");
	__atomic_fetch_add(&steps, (unsigned long)times, __ATOMIC_RELAXED);
	return NULL;
}

static void crowd(unsigned long times)
{
	pthread_t threads[64];

	for (int i = 0; i < 64; i++)
		if (pthread_create(&threads[i], NULL, run_crowd, (void *)(times / 64)))
			abort();
	for (int i = 0; i < 64; i++)
		pthread_join(threads[i], NULL);
}

static void made(unsigned long times)
{
	/* sub $8,%rsp; mov $step,%rax; call *%rax; add $8,%rsp; ret */
	unsigned char code[] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0,
			0x48, 0x83, 0xc4, 8, 0xc3};
	void (*target)(void) = step;
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code + 6, &target, sizeof(target));
	memcpy(memory, code, sizeof(code));
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC))
		abort();
	while (times--)
		((void (*)(void))memory)();
}

int main(int argc, char **argv)
{
	unsigned long number = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "fork"))
		forks(number);
	if (!strcmp(argv[1], "vfork") || !strcmp(argv[1], "all"))
		vforks(!strcmp(argv[1], "all") ? 100 : number);
	if (!strcmp(argv[1], "flood") || !strcmp(argv[1], "all"))
		flood(number);
	if (!strcmp(argv[1], "bursts"))
		bursts(number);
	if (!strcmp(argv[1], "deep"))
		deep(number);
	if (!strcmp(argv[1], "made"))
		made(number);
	if (!strcmp(argv[1], "crowd"))
		crowd(number);
	printf("%lu %lu\n", borrowed, steps - borrowed);
	return 0;
}
