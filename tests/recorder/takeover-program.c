/* SPDX-License-Identifier: MIT */
/*
 * A program that publishes numbered events in several threads until SIGTERM, and counts them in a
 * file that remains after its exit.
 *
 *	takeover-program FILE THREADS PAUSE_US
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <side/trace.h>

#define THREADS_MAX 16
#define EVENTS_BETWEEN_PAUSES 32

side_static_event(ev_tick, "test", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("thread"), side_field_u64("sequence")));

static volatile uint64_t *published; /* one counter per thread */
static volatile sig_atomic_t stop;
static struct timespec between;

static void *fire(void *argument)
{
	uint32_t thread = (uint32_t)(uintptr_t)argument;
	uint64_t i;

	for (i = 0; !stop; i++) {
		side_event(ev_tick, side_arg_list(side_arg_u32(thread), side_arg_u64(i)));
		published[thread] = i + 1;
		if (i % EVENTS_BETWEEN_PAUSES == EVENTS_BETWEEN_PAUSES - 1)
			nanosleep(&between, NULL);
	}
	return NULL;
}

static void on_term(int number)
{
	(void)number;
	stop = 1;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_term};
	pthread_t threads[THREADS_MAX];
	unsigned int nr, i;
	int fd;

	if (argc != 4)
		return 2;
	nr = (unsigned int)atoi(argv[2]);
	between.tv_nsec = atol(argv[3]) * 1000;
	fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || nr > THREADS_MAX || ftruncate(fd, THREADS_MAX * sizeof(uint64_t)))
		return 2;
	published = mmap(NULL, THREADS_MAX * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, 0);
	if (published == MAP_FAILED)
		return 2;
	sigaction(SIGTERM, &action, NULL);
	puts("ready");
	fflush(stdout);
	for (i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, fire, (void *)(uintptr_t)i))
			return 2;
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
