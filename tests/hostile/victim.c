/* SPDX-License-Identifier: MIT */
/*
 * The traced program of another user: prints when main() begins, how long the program ran until
 * then, how long it and its other threads waited for a processor, all in nanoseconds, emits COUNT
 * events `app:tick`, PER_MS of them each millisecond, and prints how many it emitted. With a third
 * argument it waits for the end of its standard input before it exits.
 */
#include <dirent.h>
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

/*
 * For the main thread: how long it ran and waited for a processor; for all threads: how long they
 * waited.
 */
struct processor_times {
	uint64_t ran, waited, all_waited;
};

static void count_thread(struct processor_times *times, const char *name)
{
	char path[64];
	uint64_t ran, waited;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/schedstat", name);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2) {
		times->all_waited += waited;
		if (atoi(name) == getpid()) {
			times->ran = ran;
			times->waited = waited;
		}
	}
	fclose(file);
}

static struct processor_times processor_times(void)
{
	struct processor_times times = {0};
	DIR *threads = opendir("/proc/self/task");
	struct dirent *entry;

	while (threads && (entry = readdir(threads)))
		if (entry->d_name[0] != '.')
			count_thread(&times, entry->d_name);
	if (threads)
		closedir(threads);
	return times;
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
	struct processor_times times = processor_times();

	printf("began %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", begin, times.ran,
			times.waited, times.all_waited - times.waited);
	fflush(stdout);
	emit(count, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
	printf("emitted %" PRIu64 "\n", count);
	fflush(stdout);
	while (argc > 3 && getchar() != EOF)
		;
	return 0;
}
