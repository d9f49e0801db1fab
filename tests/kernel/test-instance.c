/* SPDX-License-Identifier: MIT */
/*
 * Instances of tracefs: which ones are removed, how an exited process is detected, and how many
 * pages one round reads.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"

/* ---- replaced calls ---- */

static unsigned int reads, reads_of[2], polls;
static struct pollfd polled[3];
static int polled_ms;

static ssize_t played_read(int fd, void *to, size_t size)
{
	CHECK(size == 65536 && (fd == 1000 || fd == 1001));
	reads++;
	reads_of[fd - 1000]++;
	memset(to, 0, 16);
	return fd == 1001 && reads_of[1] > 3 ? 0 : 16;
}

static int played_poll(struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	CHECK(nr == 3);
	memcpy(polled, fds, sizeof(polled));
	polled_ms = timeout_ms;
	polls++;
	return 0;
}

#define read played_read
#define poll played_poll
#include "kernel-events/instance.c"
#undef poll
#undef read

/* ---- the owners of instances ---- */

static char folder[] = "/tmp/side-instance-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[200];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static pid_t make_zombie(void)
{
	pid_t child = fork();
	siginfo_t ended;

	if (!child)
		_exit(0);
	CHECK(child > 0 && !waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT));
	return child;
}

/* The start time of this process, read by another method. */
static unsigned long long own_start(void)
{
	FILE *file = fopen("/proc/self/stat", "re");
	unsigned long long start = 0;

	CHECK(file &&
			fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
					&start) == 1);
	(void)fclose(file);
	return start;
}

static void test_starts(void)
{
	unsigned int before = resources_descriptors();
	pid_t child = make_zombie();

	CHECK(own_start() && kernel_instance_process_start_time(getpid()) == own_start());
	CHECK(!kernel_instance_process_start_time(child));
	CHECK(waitpid(child, NULL, 0) == child && !kernel_instance_process_start_time(child));
	CHECK(resources_descriptors() == before);
}

static const char *instance_path(
		const char *begin, long pid, unsigned long long start, const char *end)
{
	char name[100];

	(void)snprintf(name, sizeof(name), "instances/%s-%ld-%llu%s", begin, pid, start, end);
	return path_of(name);
}

static void make_instance(const char *begin, long pid, unsigned long long start, const char *end)
{
	CHECK(!mkdir(instance_path(begin, pid, start, end), 0700));
}

/* Whether the instance existed. It is removed in any case. */
static bool has_instance(const char *begin, long pid, unsigned long long start, const char *end)
{
	return !rmdir(instance_path(begin, pid, start, end));
}

static void test_clean(void)
{
	struct kernel_record record = {.nr_cpus = 2};
	unsigned int before = resources_descriptors();
	unsigned long long start = own_start();
	pid_t child = make_zombie();

	(void)snprintf(record.tracefs, sizeof(record.tracefs), "%s", folder);
	/* Without the directory of instances. */
	kernel_instances_clean(&record);
	CHECK(!mkdir(path_of("instances"), 0700));
	make_instance("side", getpid(), start, "");
	make_instance("side", getpid(), start + 1, "");
	make_instance("side", child, 7, "");
	make_instance("side", child, 7, "x");
	make_instance("side", 0, 7, "");
	make_instance("side", -1, 7, "");
	make_instance("other", child, 7, "");
	kernel_instances_clean(&record);
	CHECK(has_instance("side", getpid(), start, ""));
	CHECK(!has_instance("side", getpid(), start + 1, ""));
	CHECK(!has_instance("side", child, 7, ""));
	CHECK(has_instance("side", child, 7, "x"));
	CHECK(has_instance("side", 0, 7, ""));
	CHECK(has_instance("side", -1, 7, ""));
	CHECK(has_instance("other", child, 7, ""));
	CHECK(!rmdir(path_of("instances")));
	CHECK(waitpid(child, NULL, 0) == child);
	CHECK(resources_descriptors() == before);
}

/* ---- a directory without events ---- */

static void test_unreadable(void)
{
	static const struct kernel_sink chooses_nothing = {.chooses = false};
	struct kernel_record record = {.nr_cpus = 2, .sink = &chooses_nothing};
	struct error error = {.code = 0};
	char expected[200];

	(void)snprintf(record.tracefs, sizeof(record.tracefs), "%s", folder);
	CHECK(kernel_classes_scan(&record, false, &error) == -ENOENT && error.code == -ENOENT);
	(void)snprintf(expected, sizeof(expected),
			"cannot read %s/events: No such file or directory", folder);
	CHECK(!strcmp(error.text, expected) && !strcmp(error.hint, "run it as root"));
	/* An empty directory has no event that was requested. */
	CHECK(!mkdir(path_of("events"), 0700));
	CHECK(kernel_classes_scan(&record, false, &error) == -EINVAL && error.code == -EINVAL);
	CHECK(!rmdir(path_of("events")));
}

/* ---- one round ---- */

static unsigned int flushed[2];

static void flush(struct kernel_record *record, uint32_t cpu)
{
	(void)record;
	flushed[cpu]++;
}

static const struct kernel_sink sink = {.flush = flush};

static void test_round(void)
{
	static uint8_t page[PAGE_MAX];
	int pipes[2] = {1000, 1001};
	struct tracefs_instance instance = {.pipes = pipes, .page = page};
	struct kernel_record record = {.nr_cpus = 2,
			.sink = &sink,
			.backend_state = &instance,
			.wake = 31,
			.extra_fd = 32,
			.notice = 33};

	/* 256 pages of the first CPU, and all pages of the second one. */
	CHECK(ROUND_PAGES == 256 && kernel_instance_drain(&record));
	CHECK(reads_of[0] == 256 && reads_of[1] == 4 && flushed[0] == 1 && flushed[1] == 1);
	pipes[0] = -1;
	CHECK(!kernel_instance_drain(&record) && reads == 261 && flushed[0] == 2 &&
			flushed[1] == 2);
	/* The wait is short, because the kernel does not wake the reader. */
	kernel_instance_wait(&record, 19);
	CHECK(polls == 1 && polled_ms == 19);
	kernel_instance_wait(&record, 21);
	CHECK(polls == 2 && polled_ms == 20);
	for (int i = 0; i < 3; i++)
		CHECK(polled[i].fd == 31 + i && polled[i].events == POLLIN);
}

int main(void)
{
	CHECK(mkdtemp(folder));
	test_starts();
	test_clean();
	test_unreadable();
	test_round();
	CHECK(!rmdir(folder));
	return 0;
}
