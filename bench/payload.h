/* SPDX-License-Identifier: MIT */
/*
 * The measuring loop that this project's benchmark and those of other tracers share. It fires
 * bursts of events from one or more threads. Each burst fits the buffers, and the consumer catches
 * up in the pause between bursts. Prints one line per payload: name, threads, nanoseconds per event
 * (median burst). Nanoseconds are the CPU time of the threads, so other load and threads beyond the
 * number of CPUs do not count. The payload "rdtsc" is no event: it reads the clock, which is a
 * lower bound for every recorder.
 *
 * usage: PROGRAM THREADS [BURSTS [PAYLOAD]]
 *        PROGRAM count PAYLOAD EVENTS        one burst, for counting instructions
 *        PROGRAM rate EVENTS_A_SECOND SECONDS THREADS
 *                                            u32+string16 at an even rate of all threads together,
 *                                            for
 *                                            bench/rates.py: prints events and seconds
 *
 * The including file defines fire_<payload>(uint32_t i) for the four payloads.
 */
#ifndef BENCH_PAYLOAD_H
#define BENCH_PAYLOAD_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64
#define PAUSE_US 150000
/* per CPU; bench/run-recording.py sets up buffers of this size */
#define BUFFER_KIB 4096

static inline void fire_u32(uint32_t i);
static inline void fire_u32_string(uint32_t i);
static inline void fire_u64x8(uint32_t i);
static inline void fire_kib(uint32_t i);

/*
 * Per thread: a cache line that two threads write would add the cost of memory to that of events.
 */
static __thread uint8_t kib[1024];

struct run {
	void (*burst)(uint32_t events);
	uint32_t events;
	pthread_barrier_t *barrier;
	double ns;
};

#define BURST(payload)                                                         \
	static __attribute__((noinline)) void burst_##payload(uint32_t events) \
	{                                                                      \
		for (uint32_t i = 0; i < events; i++)                          \
			fire_##payload(i);                                     \
	}
BURST(u32)
BURST(u32_string)
BURST(u64x8)
BURST(kib)

static __attribute__((noinline)) void burst_rdtsc(uint32_t events)
{
	for (uint32_t i = 0; i < events; i++) {
#if defined(__x86_64__)
		__asm__ __volatile__("rdtsc" : : : "rax", "rdx");
#else
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
#endif
	}
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *run_thread(void *data)
{
	struct run *run = data;
	double begin;

	pthread_barrier_wait(run->barrier);
	begin = now_ns();
	run->burst(run->events);
	run->ns = (now_ns() - begin) / run->events;
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The median over bursts; for several threads, of their mean cost in a burst. */
static double measure(
		void (*burst)(uint32_t), uint32_t events, unsigned int threads, unsigned int bursts)
{
	double results[1024];

	for (unsigned int b = 0; b < bursts; b++) {
		struct run runs[MAX_THREADS];
		pthread_t ids[MAX_THREADS];
		pthread_barrier_t barrier;
		double sum = 0;

		pthread_barrier_init(&barrier, NULL, threads);
		for (unsigned int t = 0; t < threads; t++) {
			runs[t] = (struct run){burst, events, &barrier, 0};
			if (pthread_create(&ids[t], NULL, run_thread, &runs[t]))
				abort();
		}
		for (unsigned int t = 0; t < threads; t++) {
			pthread_join(ids[t], NULL);
			sum += runs[t].ns;
		}
		pthread_barrier_destroy(&barrier);
		results[b] = sum / threads;
		usleep(PAUSE_US);
	}
	qsort(results, bursts, sizeof(results[0]), by_value);
	return results[bursts / 2];
}

/*
 * Write every page of the buffers of all CPUs once, so that no measured event takes a page fault.
 */
static void touch_buffers(void)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t before, one;

	sched_getaffinity(0, sizeof(before), &before);
	for (long cpu = 0; cpu < cpus; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		for (unsigned int part = 0; part < 2 * BUFFER_KIB / 1024; part++) {
			burst_kib(1024);
			usleep(PAUSE_US / 5);
		}
	}
	sched_setaffinity(0, sizeof(before), &before);
}

/* A program that fires an event now and then (bench/sessions.py). */
static _Noreturn void idle(void)
{
	for (uint32_t i = 0;; i++) {
		fire_u32(i);
		if (i == 0) {
			puts("ready");
			fflush(stdout);
		}
		usleep(10000);
	}
}

struct pace {
	uint64_t events_a_ms; /* per thread, times 1000: the remainder is fired later */
	uint64_t ms;
	uint64_t events;
};

/*
 * Fires the events of each millisecond. A thread that is late fires all overdue events at once, as
 * loaded programs do.
 */
static void *run_paced(void *data)
{
	struct pace *pace = data;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (uint64_t ms = 1; ms <= pace->ms; ms++) {
		const uint64_t due = ms * pace->events_a_ms / 1000;

		for (; pace->events < due; pace->events++)
			fire_u32_string((uint32_t)pace->events);
		next.tv_nsec += 1000000;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL))
			;
	}
	return NULL;
}

static int paced(uint64_t rate, uint64_t seconds, unsigned int threads)
{
	struct pace paces[MAX_THREADS];
	pthread_t ids[MAX_THREADS];
	struct timespec begin, end;
	uint64_t events = 0;

	if (threads < 1 || threads > MAX_THREADS)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (unsigned int t = 0; t < threads; t++) {
		paces[t] = (struct pace){.events_a_ms = rate / threads, .ms = seconds * 1000};
		if (pthread_create(&ids[t], NULL, run_paced, &paces[t]))
			abort();
	}
	for (unsigned int t = 0; t < threads; t++) {
		pthread_join(ids[t], NULL);
		events += paces[t].events;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%llu %.6f\n", (unsigned long long)events,
			(double)(end.tv_sec - begin.tv_sec) +
					(double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	const unsigned int threads = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	const unsigned int bursts = argc > 2 ? (unsigned int)atoi(argv[2]) : 5;
	static const struct {
		const char *name;
		void (*burst)(uint32_t);
		uint32_t events;
	} payloads[] = {
			{"u32", burst_u32, 50000},
			{"u32+string16", burst_u32_string, 40000},
			{"8xu64", burst_u64x8, 20000},
			{"1KiB", burst_kib, 2000},
			{"rdtsc", burst_rdtsc, 50000},
	};
	const char *only = argc > 3 ? argv[3] : NULL;
	const bool counting = argc == 4 && strcmp(argv[1], "count") == 0;

	if (argc == 2 && strcmp(argv[1], "idle") == 0)
		idle();
	if (argc == 5 && strcmp(argv[1], "rate") == 0)
		return paced(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10),
				(unsigned int)atoi(argv[4]));
	for (unsigned int i = 0; counting && i < sizeof(payloads) / sizeof(payloads[0]); i++) {
		if (strcmp(argv[2], payloads[i].name) != 0)
			continue;
		payloads[i].burst(10);
		payloads[i].burst((uint32_t)atoi(argv[3]));
	}
	if (counting)
		return 0;

	if (threads < 1 || threads > MAX_THREADS || bursts < 1 || bursts > 1024) {
		fprintf(stderr, "usage: %s THREADS [BURSTS [PAYLOAD]]\n", argv[0]);
		return 2;
	}
	touch_buffers();
	for (unsigned int i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
		if (only && strcmp(only, payloads[i].name) != 0)
			continue;
		/* The first bursts only warm up the caches. */
		measure(payloads[i].burst, payloads[i].events, threads, 2);
		printf("%s %u %.2f\n", payloads[i].name, threads,
				measure(payloads[i].burst, payloads[i].events, threads, bursts));
		fflush(stdout);
	}
	return 0;
}

#endif
