/* SPDX-License-Identifier: MIT */
/*
 * A program of the storm: it fires events all the time and keeps an account of them by windows.
 *
 * A window is a period that the test counts in a file, which all programs map: even ones are
 * certain (no request is being processed), odd ones are not. A thread numbers its events from 0,
 * and each event has its thread, number and window. An event belongs to a window if that was the
 * current one before and after it; so the events of a window are a sequence of numbers without a
 * gap, and those between two sequences are uncertain.
 *
 * usage: program WINDOW-FILE ACCOUNT-DIRECTORY MILLISECONDS THREADS FORKS PAUSE-US
 *
 * Each process (the program and the children that it forks, FORKS deep) writes account-PID when it
 * ends: lines "THREAD WINDOW FIRST COUNT", then "THREAD end COUNT". With MILLISECONDS 0 it runs
 * until it is killed, and the account is kept in a mapped file instead: account-PID.live, an array
 * of struct live.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <side/trace.h>

#define THREADS_MAX 8
#define ROWS_MAX 4096

side_static_event(ev_fired, "storm", "say", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("thread"), side_field_u64("number"),
				side_field_u64("window")));
side_static_event(ev_odd, "storm", "odd", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u32("thread"), side_field_u64("number"),
				side_field_u64("window")));

struct row {
	uint64_t window, first, count;
};

struct account {
	uint32_t thread;
	uint32_t nr_rows;
	uint64_t events;
	struct row rows[ROWS_MAX];
};

/* Survives a kill: events with numbers below `fired` have been fired, and none above `begun`. */
struct live {
	_Atomic uint64_t begun, fired;
};

static const _Atomic uint64_t *window;
static struct account accounts[THREADS_MAX];
static struct live *live;
static uint64_t end_ns;
static useconds_t pause_us;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void put_in_account(struct account *account, uint64_t number, uint64_t at)
{
	struct row *row = account->nr_rows ? &account->rows[account->nr_rows - 1] : NULL;

	if (!row || row->window != at) {
		if (account->nr_rows == ROWS_MAX)
			return;
		row = &account->rows[account->nr_rows++];
		*row = (struct row){.window = at, .first = number};
	}
	row->count++;
}

static void fire(struct account *account)
{
	const uint64_t number = account->events++;
	const uint64_t before = atomic_load(window);

	if (live)
		atomic_store(&live[account->thread].begun, number + 1);
	side_event(ev_fired,
			side_arg_list(side_arg_u32(account->thread), side_arg_u64(number),
					side_arg_u64(before)));
	if (number % 2)
		side_event(ev_odd,
				side_arg_list(side_arg_u32(account->thread), side_arg_u64(number),
						side_arg_u64(before)));
	if (live)
		atomic_store(&live[account->thread].fired, number + 1);
	if (atomic_load(window) == before)
		put_in_account(account, number, before);
}

static void *talk(void *data)
{
	struct account *account = data;

	do {
		for (int i = 0; i < 4; i++)
			fire(account);
		usleep(pause_us);
	} while (!end_ns || now_ns() < end_ns);
	return NULL;
}

static void write_account(const char *directory, unsigned int threads)
{
	char path[512], other[520];
	FILE *file;

	snprintf(path, sizeof(path), "%s/account-%d", directory, (int)getpid());
	snprintf(other, sizeof(other), "%s.new", path);
	file = fopen(other, "we");
	if (!file)
		_exit(8);
	for (unsigned int t = 0; t < threads; t++) {
		for (uint32_t r = 0; r < accounts[t].nr_rows; r++)
			fprintf(file, "%u %llu %llu %llu\n", t,
					(unsigned long long)accounts[t].rows[r].window,
					(unsigned long long)accounts[t].rows[r].first,
					(unsigned long long)accounts[t].rows[r].count);
		fprintf(file, "%u end %llu\n", t, (unsigned long long)accounts[t].events);
	}
	if (fclose(file) || rename(other, path))
		_exit(8);
}

static void *map(const char *path, int flags, size_t size)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);
	void *memory;

	if (fd < 0 || ((flags & O_CREAT) && ftruncate(fd, (off_t)size)))
		exit(7);
	memory = mmap(NULL, size, flags & O_CREAT ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
			fd, 0);
	if (memory == MAP_FAILED)
		exit(7);
	close(fd);
	return memory;
}

static void run(unsigned int threads)
{
	pthread_t ids[THREADS_MAX];

	for (unsigned int t = 1; t < threads; t++) {
		accounts[t].thread = t;
		if (pthread_create(&ids[t], NULL, talk, &accounts[t]))
			exit(6);
	}
	talk(&accounts[0]);
	for (unsigned int t = 1; t < threads; t++)
		pthread_join(ids[t], NULL);
}

int main(int argc, char **argv)
{
	unsigned int threads, forks;
	uint64_t milliseconds;
	pid_t child = 0;
	int status = 0;

	if (argc != 7)
		return 2;
	window = map(argv[1], O_RDONLY, sizeof(*window));
	milliseconds = strtoull(argv[3], NULL, 10);
	threads = (unsigned int)atoi(argv[4]);
	pause_us = (useconds_t)atoi(argv[6]);
	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	for (forks = (unsigned int)atoi(argv[5]);; forks--) {
		/* Events are fired before the fork, too: the thread of the recorder exists then. */
		for (int i = 0; i < 10; i++)
			fire(&accounts[0]);
		child = forks ? fork() : 0;
		if (child || !forks)
			break;
		memset(accounts, 0, sizeof(accounts));
	}
	if (!milliseconds) {
		char path[512];

		snprintf(path, sizeof(path), "%s/account-%d.live", argv[2], (int)getpid());
		live = map(path, O_RDWR | O_CREAT, sizeof(*live) * THREADS_MAX);
	} else {
		end_ns = now_ns() + milliseconds * 1000000;
	}
	run(threads);
	write_account(argv[2], threads);
	if (child > 0)
		waitpid(child, &status, 0);
	return child < 0 || status ? 9 : 0;
}
