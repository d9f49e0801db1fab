/* SPDX-License-Identifier: MIT */
/*
 * The traced program of another user: prints when main() begins, emits COUNT events `app:tick`, PER_MS of them each millisecond,
 * and prints how many it emitted. With a third argument it waits for the end of its standard input before it exits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <side/trace.h>

side_static_event(ev_tick, "app", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("sequence"), side_field_string("text")));

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void emit(uint64_t count, uint64_t per_ms)
{
	uint64_t begin = now_ns(), sequence = 0;

	while (sequence < count) {
		uint64_t due = per_ms * (now_ns() - begin) / 1000000 + 1;

		for (; sequence < count && sequence < due; sequence++)
			side_event(ev_tick,
					side_arg_list(side_arg_u64(sequence),
							side_arg_string("of the victim")));
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	uint64_t begin = now_ns(), count = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;

	printf("began %" PRIu64 "\n", begin);
	fflush(stdout);
	emit(count, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
	printf("emitted %" PRIu64 "\n", count);
	fflush(stdout);
	while (argc > 3 && getchar() != EOF)
		;
	return 0;
}
