/* SPDX-License-Identifier: MIT */
/*
 * Measures what contexts add to a record: nanoseconds and, under callgrind, instructions.
 *
 *	context              a table; the best of many short runs each: other load only adds
 *	context NAME,... N   writes the set N times and nothing else, for
 *	                     valgrind --tool=callgrind --toggle-collect=one_set ./context NAME,... N
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <side/api.h>
#include <side/context.h>

#include "tracers/agent/context/context.h"

__thread unsigned int agent_vforked; /* defined by the recorder, which is not linked here */

enum { TURN = 1000, TURNS = 2000 };

static struct context_set *build(const char *names)
{
	struct context_spec specs[CONTEXT_SET_MAX];
	struct context_error error;
	struct context_set *set;
	int nr = context_parse_list(names, specs, CONTEXT_SET_MAX, &error);
	ssize_t size;
	void *memory;

	if (nr < 0) {
		fprintf(stderr, "%s: column %u: %s\n", names, error.column, error.text);
		exit(2);
	}
	size = context_set_size(specs, (size_t)nr);
	memory = size < 0 ? NULL : malloc((size_t)size);
	if (!memory || context_set_build(specs, (size_t)nr, memory, (size_t)size, &set)) {
		fprintf(stderr, "%s: cannot be built\n", names);
		exit(2);
	}
	return set;
}

static __attribute__((noinline)) void one_set(
		const struct context_set *set, unsigned long times, uint8_t *to, const uint8_t *end)
{
	while (times--) {
		uint8_t *behind = context_write(set, to, end, __builtin_return_address(0));

		__asm__ volatile("" : : "r"(behind), "r"(to) : "memory");
	}
}

static __attribute__((noinline)) void nothing(
		const struct context_set *set, unsigned long times, uint8_t *to, const uint8_t *end)
{
	(void)end;
	while (times--)
		__asm__ volatile("" : : "r"(set), "r"(to) : "memory");
}

typedef void turn_function(const struct context_set *, unsigned long, uint8_t *, const uint8_t *);

static double best_ns(turn_function *turn, const struct context_set *set)
{
	uint8_t buffer[512];
	double best = 1e9;
	int i;

	for (i = 0; i < TURNS; i++) {
		struct timespec begin, end;
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		turn(set, TURN, buffer, buffer + sizeof(buffer));
		clock_gettime(CLOCK_MONOTONIC, &end);
		ns = ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
				     (double)(end.tv_nsec - begin.tv_nsec)) /
				TURN;
		best = ns < best ? ns : best;
	}
	return best;
}

static void get_request(struct side_context_value *value, void *priv)
{
	(void)priv;
	side_context_set_uint64(value, 4711);
}

side_static_event(ev_bench, "bench", "context", SIDE_LOGLEVEL_INFO, side_field_list());

static int nr_arguments;
static char **arguments;

static void measure(void)
{
	static const char *const rows[] = {
			"vpid",
			"vpid,vtid,procname",
			"vpid,vtid,procname,thread_name,uid,gid,net_ns",
			"ip",
			"cpu_id",
			"vpid,vtid,procname,ip",
			"cgroup",
			"app:bench:request",
			"perf:thread:page-faults",
	};
	size_t i;

	if (nr_arguments == 3) {
		uint8_t buffer[512];

		one_set(build(arguments[1]), strtoul(arguments[2], NULL, 0), buffer,
				buffer + sizeof(buffer));
		return;
	}
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct context_set *set = build(rows[i]);
		double ns = best_ns(one_set, set) - best_ns(nothing, set);

		printf("%-48s %7.2f ns\n", rows[i], ns);
	}
}

/* The whole measurement runs within one event, as in a recorder's callback. */
static void callback(const struct side_event_description *description,
		const struct side_arg_vec *values, void *priv, void *caller)
{
	(void)description;
	(void)values;
	(void)priv;
	(void)caller;
	measure();
}

int main(int argc, char **argv)
{
	nr_arguments = argc;
	arguments = argv;
	side_context_register("bench", "request", get_request, NULL, NULL);
	if (side_tracer_callback_register(&ev_bench, callback, NULL, 0))
		return 1;
	side_event(ev_bench, side_arg_list());
	return 0;
}
