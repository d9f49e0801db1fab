/* SPDX-License-Identifier: MIT */
/*
 * Nanoseconds a publication, by payload size, threads and way, beside a bare rdtsc.
 *
 * Ways and sizes are run in turn, again and again; each cell is the median of its runs. A run
 * publishes into a ring that has room for all of it and is emptied afterwards, untimed.
 *
 * bench/ring [rounds]
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring/ring.h"

#define PUBLICATIONS 4000
#define RING_BYTES (1u << 23)
#define THREADS 2
#define ROUNDS_MAX 1001

static const size_t sizes[] = {4, 16, 20, 64, 1024};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static const struct {
	const char *name;
	const char *portable;
	enum ring_clock clock;
} ways[] = {
		{"rseq, tsc", "0", RING_CLOCK_TSC},
		{"rseq, clock_gettime", "0", RING_CLOCK_MONOTONIC},
		{"portable, tsc", "1", RING_CLOCK_TSC},
		{"portable, clock_gettime", "1", RING_CLOCK_MONOTONIC},
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

struct rings {
	struct ring_producer *producer;
	struct ring_consumer *consumer;
};

static struct rings rings[WAYS];
static double cells[WAYS + 1][SIZES][THREADS][ROUNDS_MAX];
static unsigned char payload[1024];
static pthread_barrier_t barrier;
static volatile uint64_t sink;

struct job {
	struct ring_producer *producer; /* NULL: only read the clock. */
	size_t size;
	int cpu;
	double ns;
};

static double now_ns(void)
{
	return (double)ring_clock_now(RING_CLOCK_MONOTONIC);
}

static void *job_main(void *data)
{
	struct job *job = data;
	cpu_set_t one;
	double begin;

	CPU_ZERO(&one);
	CPU_SET(job->cpu, &one);
	pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
	pthread_barrier_wait(&barrier);
	begin = now_ns();
	for (int i = 0; i < PUBLICATIONS; i++) {
		if (!job->producer)
			sink = ring_clock_now(RING_CLOCK_TSC);
		else if (ring_publish(job->producer, 5, payload, job->size))
			abort();
	}
	job->ns = (now_ns() - begin) / PUBLICATIONS;
	return NULL;
}

/* The mean over the threads of one run. */
static double run(struct ring_producer *producer, size_t size, int threads)
{
	struct job jobs[THREADS];
	pthread_t ids[THREADS];
	double sum = 0;

	pthread_barrier_init(&barrier, NULL, (unsigned int)threads);
	for (int i = 0; i < threads; i++) {
		jobs[i] = (struct job){producer, size, i, 0};
		if (pthread_create(&ids[i], NULL, job_main, &jobs[i]))
			abort();
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		sum += jobs[i].ns;
	}
	pthread_barrier_destroy(&barrier);
	return sum / threads;
}

static void empty(struct ring_consumer *consumer)
{
	for (uint32_t cpu = 0; cpu < ring_consumer_geometry(consumer)->rings; cpu++) {
		struct ring_span span;

		if (ring_consumer_peek(consumer, cpu, &span) == 1)
			ring_consumer_release(consumer, cpu, &span);
	}
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	return values[count / 2];
}

static int set_up(void)
{
	struct ring_geometry geometry = {
			.rings = ring_possible_cpus(), .event_slots = 8, .size = RING_BYTES};

	for (unsigned int i = 0; i < WAYS; i++) {
		int fd;

		geometry.clock = ways[i].clock;
		setenv("SIDE_RING_PORTABLE", ways[i].portable, 1);
		if (ring_memory_create(&geometry, &fd) ||
				ring_producer_map(fd, -1, &rings[i].producer) ||
				ring_consumer_map(fd, &geometry, &rings[i].consumer)) {
			fprintf(stderr, "bench/ring: cannot make rings for '%s'\n", ways[i].name);
			return 1;
		}
		close(fd);
	}
	return 0;
}

static void print(int rounds, int threads_max)
{
	printf("ns a publication, medians of %d runs of %d\n\n%-26s", rounds, PUBLICATIONS, "");
	for (unsigned int size = 0; size < SIZES; size++)
		printf("%10zu B", sizes[size]);
	printf("\n");
	for (int threads = 0; threads < threads_max; threads++) {
		for (unsigned int way = 0; way <= WAYS; way++) {
			printf("%-23s x%d", way < WAYS ? ways[way].name : "rdtsc alone",
					threads + 1);
			for (unsigned int size = 0; size < SIZES; size++)
				printf(" %11.2f", median(cells[way][size][threads], rounds));
			printf("\n");
		}
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 51;
	int threads_max = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? THREADS : 1;

	if (rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: ring [rounds, up to %d]\n", ROUNDS_MAX);
		return 2;
	}
	if (set_up())
		return 1;
	/* The first turn touches the memory. */
	for (int round = -4; round < rounds; round++) {
		for (unsigned int way = 0; way <= WAYS; way++) {
			for (unsigned int size = 0; size < SIZES; size++) {
				for (int threads = 0; threads < threads_max; threads++) {
					double ns = run(way < WAYS ? rings[way].producer : NULL,
							sizes[size], threads + 1);

					if (way < WAYS)
						empty(rings[way].consumer);
					if (round >= 0)
						cells[way][size][threads][round] = ns;
				}
			}
		}
	}
	print(rounds, threads_max);
	return 0;
}
