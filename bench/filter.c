/* SPDX-License-Identifier: MIT */
/*
 * Measures what a filter costs, without clock, plan and ring: nanoseconds per event (median and
 * best of many rounds) and, where valgrind is installed, instructions per event. The arguments are
 * written before each event, as a call site does; both results exclude the cost of writing them.
 *
 *	bench-filter [case count [none]]	all cases, or one of them `count` times without
 *						measuring (for callgrind), or only its arguments
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <side/abi/event-description.h>
#include <side/abi/type-argument.h>

#include "filter/filter.h"

#define ROUNDS 101
#define EVENTS 20000
#define CALLS 10000 /* the number of calls that callgrind counts */

/* ---- one event ---- */

static struct side_arg args[6], members[2];
static struct side_arg_vec vector = {.sav = SIDE_PTR_INIT(args), .len = 6};
static struct side_arg_vec member_vector = {.sav = SIDE_PTR_INIT(members), .len = 2};
static struct side_event_field member_fields[2];
static struct side_type_struct structure = {
		.fields = {.elements = SIDE_PTR_INIT(member_fields), .length = 2},
};
static struct side_event_field gather_fields[1];
static struct side_type_struct gathered = {
		.fields = {.elements = SIDE_PTR_INIT(gather_fields), .length = 1},
};
static struct side_event_field fields[6];
static struct side_event_description description = {
		.struct_size = 112,
		.fields = {.elements = SIDE_PTR_INIT(fields), .length = 6},
};
static uint64_t memory[4];

static void describe(struct side_event_field *field, const char *name, uint16_t label)
{
	side_ptr_set(field->field_name, name);
	field->side_type.type.v = label;
}

static void describe_integer(
		struct side_event_field *field, const char *name, uint16_t label, uint16_t size)
{
	describe(field, name, label);
	field->side_type.u.side_integer.integer_size = size;
}

static void describe_all(void)
{
	struct side_type_gather_integer *integer =
			&gather_fields[0].side_type.u.side_gather.u.side_integer;

	describe_integer(&fields[0], "a", SIDE_TYPE_U32, 4);
	describe_integer(&fields[1], "b", SIDE_TYPE_U64, 8);
	describe(&fields[2], "name", SIDE_TYPE_STRING_UTF8);
	fields[2].side_type.u.side_string.unit_size = 1;
	describe(&fields[3], "f", SIDE_TYPE_FLOAT_BINARY64);
	fields[3].side_type.u.side_float.float_size = 8;
	describe_integer(&member_fields[0], "x", SIDE_TYPE_U32, 4);
	describe_integer(&member_fields[1], "y", SIDE_TYPE_U32, 4);
	describe(&fields[4], "point", SIDE_TYPE_STRUCT);
	side_ptr_set(fields[4].side_type.u.side_struct, &structure);
	describe(&gather_fields[0], "g", SIDE_TYPE_GATHER_INTEGER);
	integer->offset = 8;
	integer->type.integer_size = 8;
	describe(&fields[5], "kept", SIDE_TYPE_GATHER_STRUCT);
	side_ptr_set(fields[5].side_type.u.side_gather.u.side_struct.type, &gathered);
	fields[5].side_type.u.side_gather.u.side_struct.size = sizeof(memory);
}

/* Write only what a call site writes: label, flags, the active member. */
static inline struct side_arg *put(struct side_arg *arg, uint16_t label)
{
	arg->type.v = label;
	arg->flags = 0;
	return arg;
}

static inline void argue(uint32_t i)
{
	put(&args[0], SIDE_TYPE_U32)->u.side_static.integer_value.side_u32 = i & 3;
	put(&args[1], SIDE_TYPE_U64)->u.side_static.integer_value.side_u64 = 7;
	side_ptr_set(put(&args[2], SIDE_TYPE_STRING_UTF8)->u.side_static.string_value,
			"redis-server");
	put(&args[3], SIDE_TYPE_FLOAT_BINARY64)->u.side_static.float_value.side_float_binary64 = 1;
	put(&members[0], SIDE_TYPE_U32)->u.side_static.integer_value.side_u32 = 3;
	put(&members[1], SIDE_TYPE_U32)->u.side_static.integer_value.side_u32 = 4;
	side_ptr_set(put(&args[4], SIDE_TYPE_STRUCT)->u.side_static.side_struct, &member_vector);
	side_ptr_set(put(&args[5], SIDE_TYPE_GATHER_STRUCT)->u.side_static.side_struct_gather_ptr,
			memory);
}

/* ---- contexts, records ---- */

static int resolve_context(void *user, const char *name)
{
	(void)user;
	(void)name;
	return 0;
}

static bool load_context(void *user, int index, const void *caller, struct filter_value *value)
{
	(void)user;
	(void)index;
	(void)caller;
	filter_value_text(value, "redis-server", FILTER_TERMINATED);
	return true;
}

static const struct filter_names names = {.resolve = resolve_context};
static const struct filter_contexts contexts = {.load = load_context};

static int resolve_field(void *user, const struct filter_path *path)
{
	(void)user;
	return path->steps[0].name[0] == 'n';
}

static bool load_field(void *user, int handle, struct filter_value *value)
{
	(void)user;
	if (handle)
		filter_value_text(value, "redis-server", 12);
	else
		filter_value_unsigned(value, args[0].u.side_static.integer_value.side_u32);
	return true;
}

static const struct filter_schema schema = {.resolve = resolve_field};
static const struct filter_loader loader = {.load = load_field};

/* ---- cases ---- */

static const struct bench_case {
	const char *text;
	bool is_bound;
} cases[] = {
		{"a > 5", false},
		{"a < 5", false},
		{"a & 8", false},
		{"a == 1 || a == 9 && b == 7", false},
		{"b > 3 && a < 4 && b < 9 && a > 8", false},
		{"point.y > 5", false},
		{"kept.g > 5", false},
		{"a + b > 100", false},
		{"f > 5.5", false},
		{"f * 2 > 5.5", false},
		{"name == \"redis\"", false},
		{"name == \"redis*\"", false},
		{"$ctx.procname == \"mysql*\"", false},
		{"a > 5", true},
		{"name == \"redis*\" && a > 5", true},
};
#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

static struct filter *make_filter(const struct bench_case *c)
{
	struct filter_error error;
	struct filter *filter = NULL;
	void *program, *at;
	size_t size;
	ssize_t need;

	if (filter_parse(c->text, &program, &size, &error)) {
		fprintf(stderr, "%s: %u: %s\n", c->text, error.column, error.text);
		exit(1);
	}
	if (c->is_bound) {
		if (filter_bind(program, size, &schema, &filter, &error))
			exit(1);
		return filter;
	}
	need = filter_link_size(program, size, &description, &names, &error);
	at = need > 0 ? malloc((size_t)need) : NULL;
	if (!at ||
			filter_link(program, size, &description, &names, at, (size_t)need, &filter,
					&error)) {
		fprintf(stderr, "%s: %s\n", c->text, error.text);
		exit(1);
	}
	free(program);
	return filter;
}

static volatile bool sink;

static void run(const struct bench_case *c, const struct filter *filter, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		argue(i);
		__asm__ volatile("" ::: "memory");
		if (!filter)
			sink = false;
		else if (c->is_bound)
			sink = filter_bound_matches(filter, &loader);
		else
			sink = filter_matches(filter, &vector, NULL, NULL, &contexts);
	}
}

/* ---- measuring ---- */

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const struct bench_case *c, const struct filter *filter, double *median,
		double *best)
{
	static double rounds[ROUNDS];
	int r;

	for (r = 0; r < ROUNDS; r++) {
		uint64_t begin = now();

		run(c, filter, EVENTS);
		rounds[r] = (double)(now() - begin) / EVENTS;
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), compare);
	*median = rounds[ROUNDS / 2];
	*best = rounds[0];
}

/* Returns all instructions that this program executes for this number of evaluations, or -1. */
static double count_instructions(size_t index, uint32_t count, const char *what)
{
	char command[512], self[256], line[256];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
	double instructions = -1;
	FILE *output;

	if (size < 0)
		return -1;
	self[size] = '\0';
	snprintf(command, sizeof(command),
			"valgrind --tool=callgrind --callgrind-out-file=/dev/null '%s' %zu %u %s "
			"2>&1",
			self, index, count, what);
	output = popen(command, "r");
	if (!output)
		return -1;
	while (fgets(line, sizeof(line), output)) {
		const char *at = strstr(line, "Collected : ");

		if (at)
			instructions = strtod(at + 12, NULL);
	}
	pclose(output);
	return instructions;
}

/*
 * Instructions per evaluation: the difference between many and few, minus that of the loop alone.
 */
static double instructions_of(size_t index)
{
	double many = count_instructions(index, 2 * CALLS, "");
	double few = count_instructions(index, CALLS, "");
	double many_empty = count_instructions(index, 2 * CALLS, "none");
	double few_empty = count_instructions(index, CALLS, "none");

	if (many < 0 || few < 0 || many_empty < 0 || few_empty < 0)
		return -1;
	return ((many - few) - (many_empty - few_empty)) / CALLS;
}

int main(int argc, char **argv)
{
	size_t i;

	describe_all();
	if (argc > 2) {
		i = strtoul(argv[1], NULL, 10);
		if (i < CASE_COUNT)
			run(&cases[i], argc > 3 ? NULL : make_filter(&cases[i]),
					(uint32_t)strtoul(argv[2], NULL, 10));
		return i >= CASE_COUNT;
	}
	printf("%-36s %8s %8s %13s\n", "ns an event: filter", "median", "best", "instructions");
	for (i = 0; i < CASE_COUNT; i++) {
		struct filter *filter = make_filter(&cases[i]);
		double median, best, empty, empty_best, instructions = instructions_of(i);
		char text[64];

		measure(&cases[i], filter, &median, &best);
		measure(&cases[i], NULL, &empty, &empty_best);
		snprintf(text, sizeof(text), "%s%s", cases[i].text,
				cases[i].is_bound ? " (records)" : "");
		printf("%-36s %8.2f %8.2f ", text, median - empty, best - empty_best);
		if (instructions < 0)
			printf("%13s\n", "no valgrind");
		else
			printf("%13.1f\n", instructions);
	}
	return 0;
}
