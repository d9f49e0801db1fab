/* SPDX-License-Identifier: MIT */
/*
 * Starts a program as often as it can, and prints as JSON how many have started, how many had
 * another exit status, and the times of exec and of the whole program.
 *
 * usage: reach-storm SECONDS WORKERS STATUS PROGRAM ARGUMENT...
 */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define WORKERS_MAX 128
#define STARTS_MAX 50000

extern char **environ;

struct storm_times {
	unsigned int execute_us, whole_us;
};

struct storm_worker {
	pthread_t thread;
	struct storm_times *times;
	size_t nr, nr_wrong;
};

static char **storm_command;
static uint64_t storm_until;
static int storm_status;
static posix_spawn_file_actions_t storm_actions;

static uint64_t storm_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void *storm_work(void *user)
{
	struct storm_worker *worker = user;

	while (storm_now_us() < storm_until && worker->nr < STARTS_MAX) {
		uint64_t begin = storm_now_us();
		int status = 0;
		pid_t child;

		/* It returns after the exec. */
		if (posix_spawn(&child, *storm_command, &storm_actions, NULL, storm_command,
				    environ)) {
			worker->nr_wrong++;
			continue;
		}
		worker->times[worker->nr].execute_us = (unsigned int)(storm_now_us() - begin);
		if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
				WEXITSTATUS(status) != storm_status)
			worker->nr_wrong++;
		worker->times[worker->nr++].whole_us = (unsigned int)(storm_now_us() - begin);
	}
	return NULL;
}

static int storm_compare(const void *left, const void *right)
{
	const unsigned int *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static void storm_print(const char *name, unsigned int *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), storm_compare);
	printf(", \"%s\": {\"median\": %u, \"p99\": %u, \"max\": %u}", name,
			nr ? values[nr / 2] : 0, nr ? values[nr * 99 / 100] : 0,
			nr ? values[nr - 1] : 0);
}

static void storm_print_all(const struct storm_worker *workers, int nr_workers)
{
	unsigned int *execute, *whole;
	size_t nr = 0, nr_wrong = 0, at = 0;

	for (int i = 0; i < nr_workers; i++) {
		nr += workers[i].nr;
		nr_wrong += workers[i].nr_wrong;
	}
	execute = calloc(nr + 1, sizeof(*execute));
	whole = calloc(nr + 1, sizeof(*whole));
	if (!execute || !whole)
		exit(EXIT_FAILURE);
	for (int i = 0; i < nr_workers; i++)
		for (size_t j = 0; j < workers[i].nr; j++, at++) {
			execute[at] = workers[i].times[j].execute_us;
			whole[at] = workers[i].times[j].whole_us;
		}
	printf("{\"started\": %zu, \"wrong\": %zu", nr, nr_wrong);
	storm_print("execute_us", execute, nr);
	storm_print("whole_us", whole, nr);
	printf("}\n");
	free(execute);
	free(whole);
}

int main(int argc, char **argv)
{
	static struct storm_worker workers[WORKERS_MAX];
	int nr_workers = argc > 4 ? atoi(argv[2]) : 0;

	if (nr_workers < 1 || nr_workers > WORKERS_MAX)
		return EXIT_FAILURE;
	storm_status = atoi(argv[3]);
	storm_command = argv + 4;
	posix_spawn_file_actions_init(&storm_actions);
	posix_spawn_file_actions_addopen(&storm_actions, 1, "/dev/null", O_WRONLY, 0);
	storm_until = storm_now_us() + (uint64_t)atoi(argv[1]) * 1000000;
	for (int i = 0; i < nr_workers; i++) {
		workers[i].times = calloc(STARTS_MAX, sizeof(*workers[i].times));
		if (!workers[i].times ||
				pthread_create(&workers[i].thread, NULL, storm_work, &workers[i]))
			return EXIT_FAILURE;
	}
	for (int i = 0; i < nr_workers; i++)
		pthread_join(workers[i].thread, NULL);
	storm_print_all(workers, nr_workers);
	for (int i = 0; i < nr_workers; i++)
		free(workers[i].times);
	return 0;
}
