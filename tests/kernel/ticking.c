/* SPDX-License-Identifier: MIT */
/*
 * Threads that fire an event all the time, each with its own number and the next of its sequence
 * numbers: a listener must get a sequence without a gap, and all other fields follow from the two
 * numbers. The event has a marker, too.
 *
 *	ticking THREADS PAUSE	microseconds between two events of a thread
 *
 * Lines on standard input, each with an answer on standard error:
 *
 *	?		BEGUN:DONE of each thread, and whether the event is enabled
 *	load PATH	loads a library, such as a tracer; "loaded"
 *	unload		unloads it; "unloaded"
 */
#define SIDE_SDT
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <side/trace.h>

#define THREADS_MAX 16
#define TEXT_MAX 80

side_static_event(event_tick, "ticking", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("thread"), side_field_u32("number"),
				side_field_u64("value"), side_field_s8("small"),
				side_field_string("text")));

static struct {
	uint32_t begun, done;
} counts[THREADS_MAX];
static struct timespec pause_time;
static bool stop;

static void tick(uint32_t thread, uint32_t number)
{
	char text[TEXT_MAX];
	int used = snprintf(text, sizeof(text), "%" PRIu32 "/%" PRIu32 "/", thread, number);

	memset(text + used, 'x', number % 40);
	text[used + (int)(number % 40)] = '\0';
	side_event(event_tick,
			side_arg_list(side_arg_u32(thread), side_arg_u32(number),
					side_arg_u64(number * UINT64_C(0x9E3779B97F4A7C15)),
					side_arg_s8((int8_t)(number % 251 - 125)),
					side_arg_string(text)));
}

static void *run(void *index)
{
	uint32_t thread = (uint32_t)(uintptr_t)index, number;

	/* Relaxed: the flag orders no other data. */
	for (number = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); number++) {
		/*
		 * Sequentially consistent, both: the test compares the counts with the times at
		 * which listeners started and ended.
		 */
		__atomic_store_n(&counts[thread].begun, number + 1, __ATOMIC_SEQ_CST);
		tick(thread, number);
		__atomic_store_n(&counts[thread].done, number + 1, __ATOMIC_SEQ_CST);
		(void)nanosleep(&pause_time, NULL);
	}
	return NULL;
}

static void print_counts(uint32_t threads)
{
	uint32_t i;

	for (i = 0; i < threads; i++)
		/* Pair with the stores in run(). */
		fprintf(stderr, "%" PRIu32 ":%" PRIu32 " ",
				__atomic_load_n(&counts[i].begun, __ATOMIC_SEQ_CST),
				__atomic_load_n(&counts[i].done, __ATOMIC_SEQ_CST));
	fprintf(stderr, "%d\n", side_event_enabled(event_tick) ? 1 : 0);
}

int main(int argc, char **argv)
{
	uint32_t threads = argc > 1 ? (uint32_t)atoi(argv[1]) : 0, i;
	pthread_t ids[THREADS_MAX];
	void *library = NULL;
	char line[512];

	if (argc != 3 || !threads || threads > THREADS_MAX)
		return 64;
	pause_time.tv_nsec = atol(argv[2]) * 1000;
	for (i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, run, (void *)(uintptr_t)i))
			return 1;
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "?")) {
			print_counts(threads);
		} else if (!strncmp(line, "load ", 5)) {
			library = dlopen(line + 5, RTLD_NOW);
			fprintf(stderr, "%s\n", library ? "loaded" : dlerror());
		} else if (!strcmp(line, "unload")) {
			if (library)
				(void)dlclose(library);
			library = NULL;
			fputs("unloaded\n", stderr);
		}
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < threads; i++)
		(void)pthread_join(ids[i], NULL);
	return 0;
}
