/* SPDX-License-Identifier: MIT */
/* An untraced program: libside adds no thread, no file and no measurable time. */
#include "event.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tasks.h"

static struct side_event_description *events[1000];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* In a new process: the constructor's work, and the registration of a batch. */
static void start_up(int report)
{
	uint64_t start = now_ns(), time;
	struct side_events_register_handle *batch;

	side_init();
	batch = side_events_register(events, 1000);
	time = now_ns() - start;
	CHECK(batch);
	CHECK(write(report, &time, sizeof(time)) == sizeof(time));
	side_events_unregister(batch);
}

int main(int argc, char **argv)
{
	uint64_t best = UINT64_MAX, time;
	int ends[2], i, status;
	pid_t child;

	if (argc > 1) {
		start_up(atoi(argv[1]));
		return 0;
	}
	CHECK_EQUAL(files_count(), files_count());
	CHECK(!pipe(ends));
	for (i = 0; i < 10; i++) {
		char number[16];

		snprintf(number, sizeof(number), "%d", ends[1]);
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			execl(argv[0], argv[0], number, (char *)NULL);
			_exit(127);
		}
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
		CHECK(read(ends[0], &time, sizeof(time)) == sizeof(time));
		best = time < best ? time : best;
	}
	close(ends[0]);
	close(ends[1]);
	printf("start-up with a batch of 1,000 events: %.1f us\n", (double)best / 1000);
	CHECK(best < 100000);
	{
		int files = files_count(), tasks = tasks_count();
		struct side_events_register_handle *batch = side_events_register(events, 1000);

		CHECK_EQUAL(tasks, 1);
		CHECK_EQUAL(files_count(), files);
		CHECK_EQUAL(tasks_count(), 1);
		side_events_unregister(batch);
	}
	return 0;
}
