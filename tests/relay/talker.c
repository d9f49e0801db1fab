/* SPDX-License-Identifier: MIT */
/*
 * A program that fires COUNT events from several threads, and more of them for each line that it
 * reads.
 *
 *	talker COUNT [lines]
 */
#include <pthread.h>
#include <side/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 3

side_static_event(ev_message, "talker", "said", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("thread"), side_field_u64("number"),
				side_field_string("text")));
side_static_event(talker_line, "talker", "line", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("number")));

static unsigned long count;

static void *talk(void *argument)
{
	uint32_t thread = *(const uint32_t *)argument;

	for (unsigned long i = 0; i < count; i++)
		side_event(ev_message,
				side_arg_list(side_arg_u32(thread), side_arg_u64(i),
						side_arg_string("a text that is neither short nor "
								"very long")));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint32_t numbers[THREADS];
	char line[64];
	uint64_t lines = 0;

	count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	for (uint32_t i = 0; i < THREADS; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, talk, &numbers[i]))
			return 1;
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (argc < 3)
		return 0;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long more = strtoul(line, NULL, 10);

		for (unsigned long i = 0; i < more; i++, lines++)
			side_event(talker_line, side_arg_list(side_arg_u64(lines)));
		puts("said");
		fflush(stdout);
	}
	return 0;
}
