/* SPDX-License-Identifier: MIT */
/*
 * Measures what libside costs: an event without a tracer, an event with an empty callback, and
 * registering callbacks. Prints a table of medians over many runs, and the best run, which other
 * load disturbs least.
 *
 * "dispatch count NAME" runs one event class a million times and nothing else, for callgrind.
 */
#include <side/trace.h>
#include <side/api.h>
#include <side/tracer-extensions.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

side_static_event(bench_none, "bench", "none", SIDE_LOGLEVEL_INFO, side_field_list());
side_static_event(bench_two, "bench", "two", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("number"), side_field_string("text")));
side_static_event(bench_eight, "bench", "eight", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("a"), side_field_u64("b"), side_field_u64("c"),
				side_field_u64("d"), side_field_u64("e"), side_field_u64("f"),
				side_field_u64("g"), side_field_u64("h")));

enum {
	RUNS = 51,
	ROUNDS = 200000,
};

static double results[RUNS];

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static __attribute__((noinline)) void run_nothing(unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < rounds; i++)
		__asm__ __volatile__("" : : "r"(i) : "memory");
}

static __attribute__((noinline)) void run_none(unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		side_event(bench_none, side_arg_list());
		__asm__ __volatile__("" : : "r"(i) : "memory");
	}
}

static __attribute__((noinline)) void run_two(unsigned int rounds)
{
	const char *text = "a string of 16 b";
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		__asm__ __volatile__("" : "+r"(text) : "r"(i) : "memory");
		side_event(bench_two, side_arg_list(side_arg_u32(i), side_arg_string(text)));
	}
}

static __attribute__((noinline)) void run_eight(unsigned int rounds)
{
	uint64_t a = 1;
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		__asm__ __volatile__("" : "+r"(a) : "r"(i) : "memory");
		side_event(bench_eight,
				side_arg_list(side_arg_u64(a), side_arg_u64(a + 1),
						side_arg_u64(a + 2), side_arg_u64(a + 3),
						side_arg_u64(a + 4), side_arg_u64(a + 5),
						side_arg_u64(a + 6), side_arg_u64(a + 7)));
	}
}

static __attribute__((noinline)) void nothing(const struct side_event_description *desc,
		const struct side_arg_vec *args, void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
}

static __attribute__((noinline)) void nothing_else(const struct side_event_description *desc,
		const struct side_arg_vec *args, void *priv, void *caller)
{
	nothing(desc, args, priv, caller);
}

static void print_row(const char *name, const char *unit)
{
	qsort(results, RUNS, sizeof(*results), by_value);
	printf("%-58s %9.2f %9.2f %s\n", name, results[RUNS / 2], results[0], unit);
}

/*
 * The loop around the calls, in ns per round: the best of many rounds, because other load only
 * adds.
 */
static double cost_of_loop(void)
{
	double best = 1e9;
	int i;

	for (i = 0; i < RUNS; i++) {
		double start = now_ns(), cost;

		run_nothing(ROUNDS);
		cost = (now_ns() - start) / ROUNDS;
		best = cost < best ? cost : best;
	}
	return best;
}

static void measure(const char *name, void (*run)(unsigned int rounds))
{
	double loop = cost_of_loop();
	int i;

	for (i = 0; i < RUNS; i++) {
		double start = now_ns();

		run(ROUNDS);
		results[i] = (now_ns() - start) / ROUNDS - loop;
	}
	print_row(name, "ns");
}

/* For comparison: another library's function that calls an empty function through a pointer. */
static int call_nothing(const void *unused, const void *also_unused)
{
	(void)unused;
	(void)also_unused;
	return 0;
}

static __attribute__((noinline)) void run_calls(unsigned int rounds)
{
	/* Call through a pointer: otherwise the compiler inlines the function. */
	void *(*volatile search)(const void *key, const void *base, size_t nr, size_t size,
			int (*compare)(const void *a, const void *b)) = bsearch;
	int key = 0, element = 0;
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		__asm__ __volatile__("" : : "r"(i) : "memory");
		(void)search(&key, &element, 1, sizeof(element), call_nothing);
	}
}

static void enable(struct side_event_description *desc, side_tracer_callback_func call)
{
	if (side_tracer_callback_register(desc, call, NULL, 0) != SIDE_ERROR_OK)
		abort();
}

static void disable(struct side_event_description *desc, side_tracer_callback_func call)
{
	if (side_tracer_callback_unregister(desc, call, NULL, 0) != SIDE_ERROR_OK)
		abort();
}

static const struct kind {
	const char *name;
	struct side_event_description *desc;
	void (*run)(unsigned int rounds);
} kinds[] = {
		{"no field", &bench_none, run_none},
		{"u32 + string", &bench_two, run_two},
		{"8 x u64", &bench_eight, run_eight},
};

static void measure_events(void)
{
	size_t i;
	char name[64];

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(name, sizeof(name), "disabled event, %s", kinds[i].name);
		measure(name, kinds[i].run);
	}
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		enable(kinds[i].desc, nothing);
		snprintf(name, sizeof(name), "enabled event, %s", kinds[i].name);
		measure(name, kinds[i].run);
		disable(kinds[i].desc, nothing);
	}
	measure("(for comparison: bsearch() of one element)", run_calls);
	enable(&bench_none, nothing);
	enable(&bench_none, nothing_else);
	measure("enabled event, no field, two callbacks", run_none);
	disable(&bench_none, nothing);
	disable(&bench_none, nothing_else);
}

/* Events made at run time: a description and a state, nothing else. */
struct made_event {
	struct side_event_description desc;
	struct side_event_state_0 state;
};

extern const char side_empty_callback[];

static struct made_event **make_events(unsigned int nr)
{
	struct made_event **events = calloc(nr, sizeof(*events));
	unsigned int i;

	for (i = 0; events && i < nr; i++) {
		events[i] = calloc(1, sizeof(**events));
		if (!events[i])
			abort();
		events[i]->desc.struct_size = sizeof(events[i]->desc);
		events[i]->state.callbacks =
				(const struct side_callback *)(const void *)side_empty_callback;
		events[i]->state.desc = &events[i]->desc;
		side_ptr_set(events[i]->desc.state, &events[i]->state.parent);
	}
	return events;
}

static int stop;

static void *fire(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		run_none(1000);
	return NULL;
}

static void measure_registering(unsigned int nr, int runs, const char *with)
{
	struct made_event **events = make_events(nr);
	double start, on = 0, off = 0, off_each = 0;
	unsigned int i;
	int run;

	if (!events)
		abort();
	for (run = 0; run < runs; run++) {
		start = now_ns();
		for (i = 0; i < nr; i++)
			enable(&events[i]->desc, nothing);
		on += now_ns() - start;
		start = now_ns();
		for (i = 0; i < nr; i++)
			(void)side_tracer_callback_unregister_async(
					&events[i]->desc, nothing, NULL, 0);
		(void)side_tracer_synchronize();
		off += now_ns() - start;
	}
	for (i = 0; i < nr; i++)
		enable(&events[i]->desc, nothing);
	start = now_ns();
	for (i = 0; i < 1000; i++)
		disable(&events[i]->desc, nothing);
	off_each = (now_ns() - start) / 1000;
	for (; i < nr; i++)
		(void)side_tracer_callback_unregister_async(&events[i]->desc, nothing, NULL, 0);
	(void)side_tracer_synchronize();
	printf("%7u events%-20s  enable %9.3f ms   disable %9.3f ms (one wait)   %7.2f us an event "
	       "(a wait each)\n",
			nr, with, on / runs / 1e6, off / runs / 1e6, off_each / 1000);
	for (i = 0; i < nr; i++)
		free(events[i]);
	free(events);
}

static int count(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(name, kinds[i].name))
			continue;
		enable(kinds[i].desc, nothing);
		kinds[i].run(1000000);
		return 0;
	}
	fprintf(stderr, "dispatch: no such kind of event: %s\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 3 && !strcmp(argv[1], "count"))
		return count(argv[2]);
	printf("%-58s %9s %9s\n", "cost of a call, less that of an empty loop", "median", "best");
	measure_events();
	printf("\n");
	measure_registering(1000, 20, "");
	measure_registering(100000, 3, "");
	enable(&bench_none, nothing);
	if (pthread_create(&thread, NULL, fire, NULL))
		return 1;
	measure_registering(1000, 20, ", a thread firing");
	measure_registering(100000, 3, ", a thread firing");
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	disable(&bench_none, nothing);
	return 0;
}
