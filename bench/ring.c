/* SPDX-License-Identifier: MIT */
/*
 * Measures nanoseconds per publication by payload size, number of threads and backend, compared
 * with a bare rdtsc; and methods to copy a payload into a ring, with the ring in the cache and not.
 *
 * Backends and sizes run in turn, again and again; each value is the median of its runs. A run
 * publishes into a ring that has space for all of it and is emptied afterwards, untimed. "cold"
 * rings are so large that no part of them is in a cache.
 *
 * bench/ring [rounds]
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring/ring.h"

#define PUBLICATIONS 4000
#define WARM_BYTES (1u << 18)
#define COLD_BYTES (1u << 26)
#define RUN_BYTES (1u << 22) /* the most bytes that one run publishes */
#define THREADS 2
#define ROUNDS_MAX 1001
#define SIZE_MAX_BYTES 4096

static const size_t sizes[] = {4, 16, 20, 64, 256, 512, 1024, 4096};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct backend {
	const char *name;
	const char *portable;
	enum ring_clock clock;
	enum ring_mode mode;
	enum ring_placement placement;
	bool parts;
	bool cold;
};

static const struct backend variants[] = {
		{"rseq, tsc", "0", RING_CLOCK_TSC, RING_MODE_DISCARD, RING_PER_CPU, false, false},
		{"  in two parts", "0", RING_CLOCK_TSC, RING_MODE_DISCARD, RING_PER_CPU, true,
				false},
		{"  per thread", "0", RING_CLOCK_TSC, RING_MODE_DISCARD, RING_PER_THREAD, false,
				false},
		{"  overwrite", "0", RING_CLOCK_TSC, RING_MODE_OVERWRITE, RING_PER_CPU, false,
				false},
		{"  cold ring", "0", RING_CLOCK_TSC, RING_MODE_DISCARD, RING_PER_CPU, false, true},
		{"  cold ring, in two parts", "0", RING_CLOCK_TSC, RING_MODE_DISCARD, RING_PER_CPU,
				true, true},
		{"rseq, clock_gettime", "0", RING_CLOCK_MONOTONIC, RING_MODE_DISCARD, RING_PER_CPU,
				false, false},
		{"portable, tsc", "1", RING_CLOCK_TSC, RING_MODE_DISCARD, RING_PER_CPU, false,
				false},
		{"portable, clock_gettime", "1", RING_CLOCK_MONOTONIC, RING_MODE_DISCARD,
				RING_PER_CPU, false, false},
};
#define WAYS (sizeof(variants) / sizeof(variants[0]))

struct rings {
	struct ring_producer *producer;
	struct ring_consumer *consumer;
};

static struct rings rings[WAYS];
static double measured[WAYS + 1][SIZES][THREADS][ROUNDS_MAX];
static unsigned char payload[SIZE_MAX_BYTES];
static pthread_barrier_t barrier;
static volatile uint64_t sink;
static unsigned int rounds = 51, threads_max = THREADS;

/* ---- One run, of publications or of copies ---- */

typedef void copy_fn(unsigned char *to, const unsigned char *from, size_t size);

struct job {
	const struct backend *backend; /* NULL: only read the clock, or copy. */
	struct ring_producer *producer;
	copy_fn *copy;
	unsigned char *memory; /* the target of copies */
	size_t space, size, at;
	unsigned int count;
	int cpu;
	double ns;
};

static double now_ns(void)
{
	return (double)ring_clock_now(RING_CLOCK_MONOTONIC);
}

static void run_publications(struct job *job)
{
	/*
	 * As an agent does: it assembles the first bytes, and publishes the others from their
	 * original location.
	 */
	size_t head = job->size < 12 ? job->size : 12;

	for (unsigned int i = 0; i < job->count; i++) {
		int rc = job->backend->parts
				? ring_publish_two_part(job->producer, 5, payload, head,
						  payload + head, job->size - head)
				: ring_publish(job->producer, 5, payload, job->size);

		if (rc)
			abort();
	}
}

static void *job_main(void *data)
{
	struct job *job = data;
	cpu_set_t one;
	double begin;

	CPU_ZERO(&one);
	CPU_SET(job->cpu, &one);
	pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
	if (job->producer)
		ring_publish(job->producer, 5, payload, 1);
	pthread_barrier_wait(&barrier);
	begin = now_ns();
	if (job->producer) {
		run_publications(job);
	} else if (job->copy) {
		for (unsigned int i = 0; i < job->count; i++) {
			job->copy(job->memory + job->at, payload, job->size);
			job->at = (job->at + job->size + 4) & (job->space - 1);
		}
	} else {
		for (unsigned int i = 0; i < job->count; i++)
			sink = ring_clock_now(RING_CLOCK_TSC);
	}
	job->ns = (now_ns() - begin) / job->count;
	return NULL;
}

/* The mean over the threads of one run. */
static double run(struct job *jobs, unsigned int threads)
{
	pthread_t ids[THREADS];
	double sum = 0;

	pthread_barrier_init(&barrier, NULL, threads);
	for (unsigned int i = 0; i < threads; i++) {
		jobs[i].cpu = (int)i;
		jobs[i].count = jobs[i].size * PUBLICATIONS < RUN_BYTES
				? PUBLICATIONS
				: (unsigned int)(RUN_BYTES / jobs[i].size);
		/* The number of records for which a ring that stays in the cache has space. */
		if (jobs[i].producer && !jobs[i].backend->cold &&
				jobs[i].backend->mode == RING_MODE_DISCARD &&
				jobs[i].count * (jobs[i].size + 16) > WARM_BYTES - 16384)
			jobs[i].count = (unsigned int)((WARM_BYTES - 16384) / (jobs[i].size + 16));
		if (pthread_create(&ids[i], NULL, job_main, &jobs[i]))
			abort();
	}
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		sum += jobs[i].ns;
	}
	pthread_barrier_destroy(&barrier);
	return sum / threads;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static double median(double *values)
{
	qsort(values, rounds, sizeof(*values), compare);
	return values[rounds / 2];
}

/* ---- Publications ---- */

static void empty(struct ring_consumer *consumer)
{
	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++) {
		struct ring_span span;

		if (ring_consumer_peek(consumer, ring, &span) == 1)
			ring_consumer_release(consumer, ring, &span);
	}
}

static int set_up(void)
{
	for (unsigned int i = 0; i < WAYS; i++) {
		struct ring_geometry geometry = {.rings = ring_possible_cpus(),
				.event_slots = 8,
				.size = variants[i].cold ? COLD_BYTES : WARM_BYTES,
				.mode = variants[i].mode,
				.clock = variants[i].clock,
				.placement = variants[i].placement,
				.flags = RING_PREFAULT};
		int fd;

		/*
		 * Each run starts new threads. Threads of the run before may not have exited
		 * completely.
		 */
		if (geometry.placement == RING_PER_THREAD)
			geometry.rings = 16;
		setenv("SIDE_RING_PORTABLE", variants[i].portable, 1);
		if (ring_memory_create(&geometry, &fd) ||
				ring_producer_map(fd, &rings[i].producer) ||
				ring_consumer_map(fd, &geometry, &rings[i].consumer)) {
			fprintf(stderr, "bench/ring: cannot make rings for '%s'\n",
					variants[i].name);
			return 1;
		}
		close(fd);
	}
	return 0;
}

static double measure(unsigned int backend, size_t size, unsigned int threads)
{
	struct job jobs[THREADS] = {{0}};
	double ns;

	for (unsigned int i = 0; i < threads; i++) {
		jobs[i].size = size;
		if (backend < WAYS) {
			jobs[i].backend = &variants[backend];
			jobs[i].producer = rings[backend].producer;
		}
	}
	ns = run(jobs, threads);
	if (backend < WAYS)
		empty(rings[backend].consumer);
	return ns;
}

static void print_head(const char *what)
{
	printf("%-28s", what);
	for (unsigned int size = 0; size < SIZES; size++)
		printf("%8zu B", sizes[size]);
	printf("\n");
}

static void publications(void)
{
	/* The first rounds touch the memory. */
	for (int round = -4; round < (int)rounds; round++) {
		for (unsigned int i = 0; i < (WAYS + 1) * SIZES * threads_max; i++) {
			unsigned int backend = i % (WAYS + 1), size = i / (WAYS + 1) % SIZES;
			unsigned int threads = i / (WAYS + 1) / SIZES;
			double ns = measure(backend, sizes[size], threads + 1);

			if (round >= 0)
				measured[backend][size][threads][round] = ns;
		}
	}
	printf("ns a publication, medians of %u runs\n\n", rounds);
	print_head("");
	for (unsigned int threads = 0; threads < threads_max; threads++) {
		for (unsigned int backend = 0; backend <= WAYS; backend++) {
			printf("%-25s x%u", backend < WAYS ? variants[backend].name : "rdtsc alone",
					threads + 1);
			for (unsigned int size = 0; size < SIZES; size++)
				printf(" %9.2f", median(measured[backend][size][threads]));
			printf("\n");
		}
	}
}

/* ---- Copies: candidates for section-x86_64.S ---- */

#if defined(__x86_64__) && defined(__LP64__)

/* So many times 16 bytes by two registers. */
#define MOVE(at, store)                                                                 \
	"movq " #at "(%1), %3; movq " #at "+8(%1), %4;" store " %3, " #at "(%0);" store \
	" %4, " #at "+8(%0);"
#define COPY_LOOP(name, bytes, body, end)                                                        \
	static void name(unsigned char *to, const unsigned char *from, size_t size)              \
	{                                                                                        \
		uint64_t first, second;                                                          \
                                                                                                 \
		__asm__ volatile(".balign 16\n1: " body "addq $" #bytes ", %0; addq $" #bytes    \
				 ", %1; subq $" #bytes ", %2; ja 1b;" end                        \
				 : "+r"(to), "+r"(from), "+r"(size), "=&r"(first), "=&r"(second) \
				 :                                                               \
				 : "memory", "cc");                                              \
	}

COPY_LOOP(copy_16, 16, MOVE(0, "movq"), "")
COPY_LOOP(copy_32, 32, MOVE(0, "movq") MOVE(16, "movq"), "")
COPY_LOOP(copy_64, 64, MOVE(0, "movq") MOVE(16, "movq") MOVE(32, "movq") MOVE(48, "movq"), "")
COPY_LOOP(copy_movnti, 64,
		MOVE(0, "movnti") MOVE(16, "movnti") MOVE(32, "movnti") MOVE(48, "movnti"),
		"sfence")

static void copy_rep(unsigned char *to, const unsigned char *from, size_t size)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static void copy_memcpy(unsigned char *to, const unsigned char *from, size_t size)
{
	memcpy(to, from, size);
}

static const struct {
	const char *name;
	copy_fn *copy;
} copies[] = {
		{"16 B a turn", copy_16},
		{"32 B a turn", copy_32},
		{"64 B a turn", copy_64},
		{"rep movsb", copy_rep},
		{"movnti, sfence", copy_movnti},
		{"memcpy (vectors)", copy_memcpy},
};
#define COPIES (sizeof(copies) / sizeof(copies[0]))

static unsigned char *memory[THREADS];
static size_t memory_at[THREADS];

static double measure_copy(copy_fn *copy, size_t space, size_t size, unsigned int threads)
{
	struct job jobs[THREADS] = {{0}};
	double ns;

	for (unsigned int i = 0; i < threads; i++)
		jobs[i] = (struct job){.copy = copy,
				.memory = memory[i],
				.space = space,
				.size = size,
				.at = memory_at[i] & (space - 1)};
	ns = run(jobs, threads);
	for (unsigned int i = 0; i < threads; i++)
		memory_at[i] = jobs[i].at;
	return ns;
}

static void copies_into(size_t space, const char *name)
{
	printf("\nns a copy into a %s ring, medians of %u runs\n\n", name, rounds);
	print_head("");
	for (unsigned int threads = 0; threads < threads_max; threads++) {
		static double results[COPIES][SIZES][ROUNDS_MAX];

		for (unsigned int i = 0; i < rounds * COPIES * SIZES; i++) {
			unsigned int which = i % COPIES, size = i / COPIES % SIZES;

			/* The loops are for multiples of 64. */
			if (sizes[size] % 64 == 0)
				results[which][size][i / COPIES / SIZES] =
						measure_copy(copies[which].copy, space, sizes[size],
								threads + 1);
		}
		for (unsigned int which = 0; which < COPIES; which++) {
			printf("%-25s x%u", copies[which].name, threads + 1);
			for (unsigned int size = 0; size < SIZES; size++) {
				if (sizes[size] % 64 == 0)
					printf(" %9.2f", median(results[which][size]));
				else
					printf(" %9s", "");
			}
			printf("\n");
		}
	}
}

static void all_copies(void)
{
	for (unsigned int i = 0; i < THREADS; i++) {
		memory[i] = mmap(NULL, COLD_BYTES + SIZE_MAX_BYTES, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (memory[i] == MAP_FAILED)
			return;
	}
	copies_into(WARM_BYTES, "warm");
	copies_into(COLD_BYTES, "cold");
}

#else

static void all_copies(void) {}

#endif

int main(int argc, char **argv)
{
	int wanted = argc > 1 ? atoi(argv[1]) : (int)rounds;

	if (wanted < 1 || wanted > ROUNDS_MAX) {
		fprintf(stderr, "usage: ring [rounds, up to %d]\n", ROUNDS_MAX);
		return 2;
	}
	rounds = (unsigned int)wanted;
	if (sysconf(_SC_NPROCESSORS_ONLN) < THREADS)
		threads_max = 1;
	if (set_up())
		return 1;
	publications();
	all_copies();
	return 0;
}
