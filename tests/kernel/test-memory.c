/* SPDX-License-Identifier: MIT */
/*
 * Descriptions of kernel events without memory: each allocation fails once, also in an arena. The
 * result is -ENOMEM, and nothing leaks.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel-events/eventheader.h"
#include "kernel-events/eventheader-parts.h"
#include "kernel-events/parts.h"

#include "../check.h"
#include "../failing-calls.h"
#include "../resources.h"

#define COUNTED "\xca"       /* a counted value of 8-bit units, with a format */
#define FIXED_COUNTED "\xaa" /* an array of 2 of them */

FAILING_DECLARE(void *, ctf_arena_alloc, struct ctf_arena *arena, size_t count, size_t size);
FAILING_DECLARE(char *, ctf_arena_copy, struct ctf_arena *arena, const char *text, size_t size);

void *__wrap_ctf_arena_alloc(struct ctf_arena *arena, size_t count, size_t size)
{
	return failing_is_due("ctf_arena_alloc", ENOMEM)
			? NULL
			: __real_ctf_arena_alloc(arena, count, size);
}

char *__wrap_ctf_arena_copy(struct ctf_arena *arena, const char *text, size_t size)
{
	return failing_is_due("ctf_arena_copy", ENOMEM) ? NULL
							: __real_ctf_arena_copy(arena, text, size);
}

/* Returns the number of calls that failed, one in each turn. */
static unsigned int turns_of(int (*turn)(void))
{
	for (unsigned int call = 1;; call++) {
		int ret;

		failing_arm(call);
		ret = turn();
		if (!failing_has_failed()) {
			CHECK(!ret);
			return call - 1;
		}
		CHECK(ret == -ENOMEM);
	}
}

/*
 * Blocks that are free but kept for reuse count as used: their number stops growing after some
 * rounds, unless something leaks.
 */
static unsigned int rounds_of(int (*turn)(void))
{
	unsigned int turns = turns_of(turn);
	size_t memory = 0;

	for (unsigned int round = 0; round < 8; round++) {
		memory = resources_memory();
		CHECK(turns_of(turn) == turns);
	}
	CHECK(resources_memory() == memory);
	return turns;
}

/* ---- records that describe themselves ---- */

static const char metadata[] = "ev;id=1\0"
			       "number\0\x82\x03" /* a byte, hexadecimal */
			       "both\0\x81\x02"   /* a structure of two */
			       "flag\0\x83\x07"   /* a boolean of 16 bits */
			       "wide\0\x06"       /* 128 bits */
			       "maybe\0\x8a\x01"  /* an optional number */
			       "bytes\0\x8a\x09"  /* counted bytes */
			       "text\0\x07"       /* up to its terminating zero */
			       /* counted bytes, this many times */
			       "list\0" COUNTED "\x09"
			       "pair\0" FIXED_COUNTED "\x01\2\0" /* two optional numbers */
			       "port\0\x83\x10"                  /* of 16 bits */
			       "real\0\x84\x08"                  /* of 32 bits */
			       "address\0\x84\x11"               /* four bytes */
			       "truth\0\x8a\x07";                /* an optional boolean */

static struct ctf_arena *arena;

static int describe_header(void)
{
	const struct eventheader header = {.metadata = (const uint8_t *)metadata,
			.metadata_size = sizeof(metadata) - 1};
	struct eventheader_class class;
	int ret = eventheader_parse(&header, arena, &class);

	CHECK(ret ||
			(!strcmp(class.name, "ev") && class.nr_nodes == 13 &&
					class.type->member_count > 12));
	return ret;
}

static int describe_header_in_arena(void)
{
	int ret;

	arena = ctf_arena_create();
	if (!arena)
		return -ENOMEM;
	ret = describe_header();
	ctf_arena_destroy(arena);
	return ret;
}

/* ---- formats of tracepoints ---- */

static const char text[] =
		"name: e\nID: 7\nformat:\n"
		"\tfield:u16 mode;\toffset:8;\tsize:2;\tsigned:0;\n"
		"\tfield:u16 bits;\toffset:10;\tsize:2;\tsigned:0;\n"
		"\tfield:bool flag;\toffset:12;\tsize:1;\tsigned:0;\n"
		"\tfield:char comm[3];\toffset:13;\tsize:3;\tsigned:0;\n"
		"\tfield:void * at;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n"
		"\tfield:__data_loc u16[] list;\toffset:28;\tsize:4;\tsigned:0;\n"
		"\tfield:struct odd some;\toffset:32;\tsize:5;\tsigned:0;\n"
		"print fmt: \"%s %s\", __print_symbolic(REC->mode, {1, \"A\"}, {2, \"B\"}), "
		"__print_flags(REC->bits, \"|\", {1, \"C\"}, {4, \"D\"})\n";

static struct format format;

static int make_layout(void)
{
	struct layout layout;
	struct ctf_type *type;
	int ret;

	arena = ctf_arena_create();
	if (!arena)
		return -ENOMEM;
	ret = layout_make(&format, true, arena, &layout, &type);
	CHECK(ret || layout.nr_steps == 5);
	layout_free(&layout);
	CHECK(!layout.steps && !layout.nr_steps);
	ctf_arena_destroy(arena);
	return ret;
}

static int parse_format(void)
{
	struct format parsed;
	int ret = kernel_format_parse(text, sizeof(text) - 1, &parsed);

	CHECK(ret || (parsed.nr_fields == 8 && !strcmp(parsed.name, "e")));
	/* Without memory for labels, the fields have none, and parsing succeeds. */
	if (!ret && (parsed.fields[0].nr_labels != 2 || parsed.fields[1].nr_labels != 2))
		ret = -ENOMEM;
	kernel_format_free(&parsed);
	return ret;
}

int main(void)
{
	unsigned int parsed, made, described;

	parsed = rounds_of(parse_format);
	CHECK(!kernel_format_parse(text, sizeof(text) - 1, &format));
	made = rounds_of(make_layout);
	kernel_format_free(&format);
	described = rounds_of(describe_header_in_arena);
	printf("%u, %u and %u calls\n", parsed, made, described);
	CHECK(parsed > 20 && made > 20 && described > 50);
	return 0;
}
