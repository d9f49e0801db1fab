/* SPDX-License-Identifier: MIT */
/*
 * A program to attach to while it runs. Its first argument selects what it does:
 *
 *	calm	threads wait in read(), in nanosleep(), for a condition, in epoll_wait() and in
 *		poll(); each counts how often its call returned without a reason
 *	busy	threads call malloc() and free() and check the memory; only main() waits
 *	alone	the same in main(), and no thread waits; SIGTERM ends it
 *	ids	threads change the ids of all threads, one of them with the lock of the loader;
 *		main() waits
 *	serve	fires an event each millisecond; this is the default
 *
 *	calm strict-main
 *		with a filter of system calls that permits all of them
 *
 * main() of calm, busy and ids reads commands: "tick N" fires N events, "status" prints the number
 * of calls that returned without a reason and of errors, "end" ends the program. Each answer is one
 * line.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef ATTACH_PLAIN
#include <side/trace.h>

side_static_event(ev_tick, "attach", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("sequence"), side_field_u32("square"),
				side_field_string("text")));
#endif

#define BLOCKS 64

static atomic_uint came_back, wrong, begun;
static uint64_t sequence;
static volatile sig_atomic_t stopped;

static void tick(void)
{
#ifndef ATTACH_PLAIN
	char text[32];

	snprintf(text, sizeof(text), "number %llu", (unsigned long long)sequence);
	side_event(ev_tick,
			side_arg_list(side_arg_u64(sequence),
					side_arg_u32((uint32_t)(sequence * sequence)),
					side_arg_string(text)));
#endif
	sequence++;
}

/* ---- waiting ---- */

static int nothing[2];

static void *in_read(void *unused)
{
	char byte;

	(void)unused;
	for (;;) {
		(void)!read(nothing[0], &byte, 1);
		came_back++;
	}
	return NULL;
}

/* The sleep must last its full time, however often the thread is stopped. */
static void *in_nanosleep(void *unused)
{
	const struct timespec time = {.tv_nsec = 300000000};
	struct timespec before, after, rest;

	(void)unused;
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &before);
		if (nanosleep(&time, &rest))
			came_back++;
		clock_gettime(CLOCK_MONOTONIC, &after);
		if ((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec <
				time.tv_nsec)
			wrong++;
	}
	return NULL;
}

static void *in_condition(void *unused)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

	(void)unused;
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&condition, &mutex);
	return NULL;
}

static void *in_epoll(void *unused)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);

	(void)unused;
	epoll_ctl(epoll, EPOLL_CTL_ADD, nothing[0], &event);
	begun++;
	for (;;) {
		epoll_wait(epoll, &event, 1, -1);
		came_back++;
	}
	return NULL;
}

static void *in_poll(void *unused)
{
	struct pollfd poll_fd = {.fd = nothing[0], .events = POLLIN};

	(void)unused;
	for (;;) {
		poll(&poll_fd, 1, -1);
		came_back++;
	}
	return NULL;
}

/* ---- malloc() ---- */

static void one_round(unsigned char **blocks, size_t *sizes, unsigned int *random)
{
	unsigned int i = (*random = *random * 1103515245u + 12345u) >> 16 & (BLOCKS - 1);
	size_t at;

	for (at = 0; at < sizes[i]; at += 61)
		if (blocks[i][at] != (unsigned char)i)
			wrong++;
	free(blocks[i]);
	sizes[i] = 1 + (*random >> 8) % 3000;
	blocks[i] = malloc(sizes[i]);
	if (!blocks[i])
		abort();
	memset(blocks[i], (int)i, sizes[i]);
}

static void *in_malloc(void *unused)
{
	unsigned char *blocks[BLOCKS] = {NULL};
	size_t sizes[BLOCKS] = {0};
	unsigned int random = 1;

	(void)unused;
	for (;;)
		one_round(blocks, sizes, &random);
	return NULL;
}

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static int alone(void)
{
	unsigned char *blocks[BLOCKS] = {NULL};
	size_t sizes[BLOCKS] = {0};
	unsigned int random = 1, rounds;

	signal(SIGTERM, stop);
	while (!stopped) {
		for (rounds = 0; rounds < 20000; rounds++)
			one_round(blocks, sizes, &random);
		tick();
	}
	printf("ticks %llu came-back %u wrong %u\n", (unsigned long long)sequence, came_back,
			wrong);
	return 0;
}

/* ---- main ---- */

static int serve(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	signal(SIGTERM, stop);
	while (!stopped) {
		tick();
		nanosleep(&pause, NULL);
	}
	return 0;
}

/*
 * ---- changing ids: each thread must handle a signal of the C library before setresuid() returns
 * ----
 */

static void change_ids(void)
{
	const struct timespec pause = {.tv_nsec = 300000};

	if (setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1))
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(&came_back, 1);
	/* Without a pause the threads would be in the handler of that signal only. */
	nanosleep(&pause, NULL);
}

static void *in_setresuid(void *unused)
{
	(void)unused;
	for (;;)
		change_ids();
	return NULL;
}

static int change_ids_once(struct dl_phdr_info *object, size_t size, void *unused)
{
	(void)object;
	(void)size;
	(void)unused;
	change_ids();
	return 1;
}

static void *in_loader(void *unused)
{
	const struct timespec pause = {.tv_nsec = 300000};

	(void)unused;
	for (;;) {
		dl_iterate_phdr(change_ids_once, NULL);
		/*
		 * The loader's lock is not fair: without a pause, other threads might never get it
		 * on a busy machine.
		 */
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void start(void *(*function)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, NULL))
		abort();
}

static int listen_to_input(void)
{
	char line[64];
	unsigned long count, first;

	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "tick ", 5)) {
			first = (unsigned long)sequence;
			for (count = strtoul(line + 5, NULL, 10); count; count--)
				tick();
			printf("ticks %lu %llu\n", first, (unsigned long long)sequence);
		} else if (!strncmp(line, "status", 6)) {
			printf("came-back %u wrong %u\n", came_back, wrong);
		} else {
			return 0;
		}
		fflush(stdout);
	}
	return 0;
}

static void enter_sandbox(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "serve";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(nothing))
		return 1;
	if (!strcmp(what, "calm")) {
		start(in_read);
		start(in_nanosleep);
		start(in_condition);
		start(in_epoll);
		start(in_poll);
		while (!begun)
			poll(NULL, 0, 1);
	} else if (!strcmp(what, "busy")) {
		start(in_malloc);
		start(in_malloc);
	} else if (!strcmp(what, "ids")) {
		start(in_setresuid);
		start(in_loader);
	}
	if (argc > 2)
		enter_sandbox();
	printf("ready\n");
	if (!strcmp(what, "alone"))
		return alone();
	return strcmp(what, "serve") != 0 ? listen_to_input() : serve();
}
