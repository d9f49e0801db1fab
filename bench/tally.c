/* SPDX-License-Identifier: MIT */
/*
 * Measures the nanoseconds that the consumer needs to count a record, by kind of record, compared
 * with the nanoseconds to copy it.
 *
 * A buffer of SPAN bytes is filled with records of one or several kinds and counted again and
 * again; each value is the median of its runs.
 *
 * bench/bench-tally [rounds]
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctf/tally.h"
#include "ctf/type.h"

#define SPAN (1u << 19) /* An eighth of a ring of 4 MiB. */
#define ROUNDS_MAX 1001

static unsigned char records[SPAN], copy[SPAN];
static size_t used;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return a < b ? -1 : a > b;
}

static bool put(uint32_t id, const void *payload, size_t size)
{
	uint32_t word = CTF_HOST_BIG_ENDIAN ? id << 27 : id;

	if (used + sizeof(word) + size > SPAN)
		return false;
	memcpy(records + used, &word, sizeof(word));
	memcpy(records + used + sizeof(word), payload, size);
	used += sizeof(word) + size;
	return true;
}

static struct ctf_type *pair(struct ctf_arena *arena, struct ctf_type *one, struct ctf_type *other)
{
	struct ctf_type *type = ctf_type_struct(arena, 2);

	ctf_member_set(&type->members[0], "_one", one, false);
	ctf_member_set(&type->members[1], "_other", other, false);
	return type;
}

enum mix {
	MIX_U32,
	MIX_FIXED,
	MIX_STRING,
	MIX_LENGTHS,
	MIX_CONTEXTS,
	MIX_NUMBERS,
	MIX_ALL,
	NR_MIXES
};
static const char *const names[NR_MIXES] = {"u32", "four kinds of fixed size", "u32 + string of 16",
		"u32 + string of 1 to 28", "vtid, procname, u64", "sequence of 8 u16",
		"all of them"};

static uint32_t pick(enum mix mix, uint64_t number)
{
	/* The order of the kinds is one that a branch predictor does not learn. */
	uint64_t random = number * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	switch (mix) {
	case MIX_U32: return 0;
	case MIX_FIXED: return (uint32_t)(random % 4);
	case MIX_STRING:
	case MIX_LENGTHS: return 4;
	case MIX_CONTEXTS: return 5;
	case MIX_NUMBERS: return 6;
	default: return (uint32_t)(random % 7);
	}
}

/* The length is one that a branch predictor does not learn. */
static bool put_text(uint64_t number)
{
	unsigned char payload[33];
	size_t length = 1 + (number * UINT64_C(0x9e3779b97f4a7c15) >> 40) % 28;

	memset(payload, '.', 4 + length);
	payload[4 + length] = 0;
	return put(4, payload, 4 + length + 1);
}

static uint64_t fill(enum mix mix)
{
	static const unsigned char payloads[7][32] = {
			{1}, {1}, {1}, {1}, "....sixteen letters.", "....program\0.......", {8}};
	static const size_t sizes[7] = {4, 8, 12, 24, 21, 20, 18};
	uint64_t count = 0;
	uint32_t id;

	used = 0;
	do
		id = pick(mix, count);
	while (mix == MIX_LENGTHS ? put_text(count++)
				  : (count++, put(id, payloads[id], sizes[id])));
	return count - 1;
}

static void learn(struct ctf_tally *tally, struct ctf_arena *arena)
{
	struct ctf_type *u16 = ctf_type_integer(arena, 16, false),
			*u32 = ctf_type_integer(arena, 32, false),
			*u64 = ctf_type_integer(arena, 64, false);
	struct ctf_type *string = ctf_type_string(arena);
	struct ctf_type *sequence = pair(arena, u16, ctf_type_sequence(arena, u16, "_one"));
	const struct ctf_type *trees[7] = {u32, u64, pair(arena, u32, u64),
			ctf_type_array(arena, u64, 3), pair(arena, u32, string),
			pair(arena, pair(arena, u32, string), u64), sequence};

	for (uint32_t id = 0; id < 7; id++)
		if (ctf_tally_learn(tally, id, &trees[id], 1))
			exit(1);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 51;
	static double count_ns[ROUNDS_MAX], copy_ns[ROUNDS_MAX];
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_tally tally = {0};

	if (rounds < 1 || rounds > ROUNDS_MAX || !arena)
		return 2;
	learn(&tally, arena);
	printf("%-26s %10s %10s %10s\n", "records", "bytes", "count ns", "copy ns");
	for (unsigned int mix = 0; mix < NR_MIXES; mix++) {
		uint64_t nr = fill((enum mix)mix), counted = 0;

		for (unsigned int i = 0; i < rounds; i++) {
			double begin = now_ns(), middle;

			memcpy(copy, records, used);
			middle = now_ns();
			if (!ctf_tally_count(&tally, records, used, &counted) || counted != nr)
				return 1;
			count_ns[i] = (now_ns() - middle) / (double)nr;
			copy_ns[i] = (middle - begin) / (double)nr;
		}
		qsort(count_ns, rounds, sizeof(*count_ns), compare);
		qsort(copy_ns, rounds, sizeof(*copy_ns), compare);
		printf("%-26s %10.1f %10.2f %10.2f\n", names[mix], (double)used / (double)nr,
				count_ns[rounds / 2], copy_ns[rounds / 2]);
	}
	ctf_tally_free(&tally);
	ctf_arena_destroy(arena);
	return 0;
}
