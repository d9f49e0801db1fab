/* SPDX-License-Identifier: MIT */
/*
 * Fires numbered events in several processes with several threads, for tests that check which of
 * them reach the disk.
 *
 *	crowd fire PROCESSES THREADS EVENTS	each thread fires EVENTS events
 *	crowd obey				reads lines from standard input: a number of events
 *						to fire, or "mark NUMBER"; answers with the number
 *						fired so far
 *	crowd crash SIGNAL EVENTS		fires events and dies of the signal
 *	crowd family SIGNAL EVENTS		the same in a child
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

side_static_event(ev_tick, "crowd", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("who"), side_field_u64("sequence")));
side_static_event(ev_mark, "crowd", "mark", SIDE_LOGLEVEL_NOTICE,
		side_field_list(side_field_u32("number")));

static void tick(uint32_t source, uint64_t sequence)
{
	side_event(ev_tick, side_arg_list(side_arg_u32(source), side_arg_u64(sequence)));
}

struct work {
	pthread_t thread;
	uint32_t source;
	uint64_t count;
};

static void *work(void *argument)
{
	const struct work *work = argument;
	uint64_t i;

	for (i = 0; i < work->count; i++)
		tick(work->source, i);
	return NULL;
}

static void fire(uint32_t process, uint32_t nr_threads, uint64_t count)
{
	struct work all[16];
	uint32_t i;

	for (i = 0; i < nr_threads; i++) {
		all[i].source = process * 100 + i;
		all[i].count = count;
		pthread_create(&all[i].thread, NULL, work, &all[i]);
	}
	for (i = 0; i < nr_threads; i++)
		pthread_join(all[i].thread, NULL);
}

static int fire_all(uint32_t nr_processes, uint32_t nr_threads, uint64_t count)
{
	uint32_t i;

	for (i = 1; i < nr_processes; i++) {
		pid_t child = fork();

		if (child < 0)
			return 1;
		if (child)
			continue;
		fire(i, nr_threads, count);
		return 0;
	}
	fire(0, nr_threads, count);
	while (wait(NULL) > 0)
		;
	return 0;
}

static int obey(void)
{
	uint64_t sequence = 0;
	char line[64];

	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "mark ", 5)) {
			uint32_t number = (uint32_t)atoi(line + 5);

			side_event(ev_mark, side_arg_list(side_arg_u32(number)));
		} else {
			uint64_t until = sequence + strtoull(line, NULL, 0);

			for (; sequence < until; sequence++)
				tick(0, sequence);
		}
		printf("%llu\n", (unsigned long long)sequence);
		fflush(stdout);
	}
	return 0;
}

static int crash(int number, uint64_t count)
{
	struct rlimit none = {0, 0};
	uint64_t i;

	setrlimit(RLIMIT_CORE, &none);
	for (i = 0; i < count; i++)
		tick(0, i);
	/* A sanitizer may have installed a handler of its own. */
	signal(number, SIG_DFL);
	raise(number);
	return 1;
}

static int family(int number, uint64_t count)
{
	pid_t child = fork();

	if (!child)
		return crash(number, count);
	while (wait(NULL) > 0)
		;
	return child < 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "fire") && atoi(argv[3]) <= 16)
		return fire_all((uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]),
				strtoull(argv[4], NULL, 0));
	if (argc == 2 && !strcmp(argv[1], "obey"))
		return obey();
	if (argc == 4 && !strcmp(argv[1], "crash"))
		return crash(atoi(argv[2]), strtoull(argv[3], NULL, 0));
	if (argc == 4 && !strcmp(argv[1], "family"))
		return family(atoi(argv[2]), strtoull(argv[3], NULL, 0));
	return 2;
}
