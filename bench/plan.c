/* SPDX-License-Identifier: MIT */
/*
 * Measures what serialising costs, without clock and ring: nanoseconds per event, median and best
 * of many rounds. The arguments are written before each event, as a call site does.
 *
 *	plan [case [count]]	all cases, or one of them `count` times without measuring (for
 *				callgrind)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <side/abi/event-description.h>
#include <side/abi/type-argument.h>

#include "tracers/agent/plan/plan.h"

#define ROUNDS 101
#define EVENTS 20000

#define FIELDS_MAX 8

static struct side_arg args[FIELDS_MAX];
static struct side_arg_vec vector = {.sav = SIDE_PTR_INIT(args)};
static struct side_event_field fields[FIELDS_MAX];
static struct side_event_description description = {
		.struct_size = 112,
		.fields = {.elements = SIDE_PTR_INIT(fields)},
};
static uint64_t memory[8];
static struct side_event_field members[8];
static struct side_type_struct members_type = {
		.fields = {.elements = SIDE_PTR_INIT(members), .length = 8},
};

static void describe_integer(uint32_t index, uint16_t label, uint16_t size)
{
	fields[index].side_type.type.v = label;
	fields[index].side_type.u.side_integer.integer_size = size;
}

static void describe_string(uint32_t index)
{
	fields[index].side_type.type.v = SIDE_TYPE_STRING_UTF8;
	fields[index].side_type.u.side_string.unit_size = 1;
}

static void describe_u32(void)
{
	describe_integer(0, SIDE_TYPE_U32, 4);
}

static void describe_u32_string(void)
{
	describe_integer(0, SIDE_TYPE_U32, 4);
	describe_string(1);
}

static void describe_8_u64(void)
{
	uint32_t i;

	for (i = 0; i < 8; i++)
		describe_integer(i, SIDE_TYPE_U64, 8);
}

static void describe_mixed(void)
{
	static const uint16_t labels[] = {SIDE_TYPE_U8, SIDE_TYPE_S16, SIDE_TYPE_U32, SIDE_TYPE_S64,
			SIDE_TYPE_U64, SIDE_TYPE_S32, SIDE_TYPE_U16, SIDE_TYPE_S8};
	static const uint16_t sizes[] = {1, 2, 4, 8, 8, 4, 2, 1};
	uint32_t i;

	for (i = 0; i < 8; i++)
		describe_integer(i, labels[i], sizes[i]);
}

static void describe_gather(void)
{
	uint32_t i;

	for (i = 0; i < 8; i++) {
		struct side_type_gather_integer *integer =
				&members[i].side_type.u.side_gather.u.side_integer;

		members[i].side_type.type.v = SIDE_TYPE_GATHER_INTEGER;
		integer->offset = i * 8;
		integer->type.integer_size = 8;
	}
	fields[0].side_type.type.v = SIDE_TYPE_GATHER_STRUCT;
	side_ptr_set(fields[0].side_type.u.side_gather.u.side_struct.type, &members_type);
	fields[0].side_type.u.side_gather.u.side_struct.size = sizeof(memory);
}

static struct side_type element;
static struct side_type_array array_type = {.elem_type = SIDE_PTR_INIT(&element), .length = 4};
static struct side_arg elements[4];
static struct side_arg_vec array_vector = {.sav = SIDE_PTR_INIT(elements), .len = 4};

static void describe_array(void)
{
	element.type.v = SIDE_TYPE_U32;
	element.u.side_integer.integer_size = 4;
	fields[0].side_type.type.v = SIDE_TYPE_ARRAY;
	side_ptr_set(fields[0].side_type.u.side_array, &array_type);
}

/* Write only what a call site writes: label, flags, the active member. */
static inline struct side_arg *put(uint32_t index, uint16_t label)
{
	struct side_arg *arg = &args[index];

	arg->type.v = label;
	arg->flags = 0;
	return arg;
}

static inline void put_string(uint32_t index, const char *text)
{
	struct side_arg *arg = put(index, SIDE_TYPE_STRING_UTF8);

	side_ptr_set(arg->u.side_static.string_value, text);
}

static inline void argue_u32(uint32_t i)
{
	put(0, SIDE_TYPE_U32)->u.side_static.integer_value.side_u32 = i;
}

static inline void argue_u32_string(uint32_t i)
{
	argue_u32(i);
	put_string(1, "fifteen letters");
}

static inline void argue_string_64(uint32_t i)
{
	argue_u32(i);
	put_string(1, "a somewhat longer text, as messages are: sixty-four bytes of it");
}

static inline void argue_8_u64(uint32_t i)
{
	uint32_t k;

	for (k = 0; k < 8; k++)
		put(k, SIDE_TYPE_U64)->u.side_static.integer_value.side_u64 = i;
}

static inline void argue_mixed(uint32_t i)
{
	put(0, SIDE_TYPE_U8)->u.side_static.integer_value.side_u8 = (uint8_t)i;
	put(1, SIDE_TYPE_S16)->u.side_static.integer_value.side_s16 = (int16_t)i;
	put(2, SIDE_TYPE_U32)->u.side_static.integer_value.side_u32 = i;
	put(3, SIDE_TYPE_S64)->u.side_static.integer_value.side_s64 = i;
	put(4, SIDE_TYPE_U64)->u.side_static.integer_value.side_u64 = i;
	put(5, SIDE_TYPE_S32)->u.side_static.integer_value.side_s32 = (int32_t)i;
	put(6, SIDE_TYPE_U16)->u.side_static.integer_value.side_u16 = (uint16_t)i;
	put(7, SIDE_TYPE_S8)->u.side_static.integer_value.side_s8 = (int8_t)i;
}

static inline void argue_gather(uint32_t i)
{
	memory[0] = i;
	side_ptr_set(put(0, SIDE_TYPE_GATHER_STRUCT)->u.side_static.side_struct_gather_ptr, memory);
}

static inline void argue_array(uint32_t i)
{
	uint32_t k;

	for (k = 0; k < 4; k++) {
		elements[k].type.v = SIDE_TYPE_U32;
		elements[k].u.side_static.integer_value.side_u32 = i;
	}
	side_ptr_set(put(0, SIDE_TYPE_ARRAY)->u.side_static.side_array, &array_vector);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static volatile ssize_t sink;

/* One loop per case, so that writing the arguments is as cheap as at a call site. */
#define LOOPS(name)                                                                               \
	static void with_##name(const struct plan *plan, uint32_t count)                          \
	{                                                                                         \
		static uint8_t buffer[4096];                                                      \
		uint32_t i;                                                                       \
                                                                                                  \
		for (i = 0; i < count; i++) {                                                     \
			argue_##name(i);                                                          \
			__asm__ volatile("" ::: "memory");                                        \
			sink = plan ? plan_serialize(plan, &vector, NULL, buffer, sizeof(buffer)) \
				    : 0;                                                          \
		}                                                                                 \
	}

LOOPS(u32)
LOOPS(u32_string)
LOOPS(string_64)
LOOPS(8_u64)
LOOPS(mixed)
LOOPS(gather)
LOOPS(array)

static const struct bench_case {
	const char *name;
	uint32_t field_count;
	void (*describe)(void);
	void (*loop)(const struct plan *plan, uint32_t count);
} cases[] = {
		{"u32", 1, describe_u32, with_u32},
		{"u32 + 16-byte string", 2, describe_u32_string, with_u32_string},
		{"u32 + 64-byte string", 2, describe_u32_string, with_string_64},
		{"8 x u64", 8, describe_8_u64, with_8_u64},
		{"8 mixed integers", 8, describe_mixed, with_mixed},
		{"gather struct of 8 x u64", 1, describe_gather, with_gather},
		{"array of 4 x u32", 1, describe_array, with_array},
};
#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

static struct plan *make_plan(const struct bench_case *c)
{
	struct plan *plan;
	char error[256];

	memset(fields, 0, sizeof(fields));
	description.fields.length = c->field_count;
	vector.len = c->field_count;
	c->describe();
	if (plan_compile(&description, &plan, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	return plan;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double rounds[ROUNDS];

static void measure(
		const struct bench_case *c, const struct plan *plan, double *median, double *best)
{
	int r;

	for (r = 0; r < ROUNDS; r++) {
		uint64_t begin = now();

		c->loop(plan, EVENTS);
		rounds[r] = (double)(now() - begin) / EVENTS;
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), compare);
	*median = rounds[ROUNDS / 2];
	*best = rounds[0];
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc > 1) {
		i = strtoul(argv[1], NULL, 10);
		if (i < CASE_COUNT)
			cases[i].loop(make_plan(&cases[i]),
					argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : EVENTS);
		return i >= CASE_COUNT;
	}
	printf("%-28s %10s %10s %12s\n", "ns an event", "median", "best", "arguments");
	for (i = 0; i < CASE_COUNT; i++) {
		struct plan *plan = make_plan(&cases[i]);
		double median, best, empty, empty_best;

		measure(&cases[i], plan, &median, &best);
		measure(&cases[i], NULL, &empty, &empty_best);
		printf("%-28s %10.2f %10.2f %12.2f\n", cases[i].name, median - empty,
				best - empty_best, empty);
		plan_free(plan);
	}
	return 0;
}
