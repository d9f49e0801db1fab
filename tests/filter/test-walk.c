/* SPDX-License-Identifier: MIT */
/* Filters over every type of argument: which match, which do not, and which never can. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

#define NEVER(error) (-(error))

static const struct {
	const char *text;
	int expected; /* 1, 0, or a negative errno of filter_link() */
} cases[] = {
		/* scalars */
		{"u8 == 200", 1},
		{"u8 > 200", 0},
		{"u8 >= 200 && u8 <= 200", 1},
		{"u8 != 200", 0},
		{"u8 < 300", 1},
		{"u8 > -1", 1},
		{"u8 == -56", 0},
		{"200 == u8 && 100 < u8 && 201 > u8", 1},
		{"u8 & 8", 1},
		{"u8 & 4", 0},
		{"(u8 & 0xf) == 8", 1},
		{"(u8 & 0xf) < 8", 0},
		{"(0xf0 & u8) == 0xc0", 1},
		{"(u8 & 0x1ff) == 200", 1},
		{"u16 == 65535 && u16 + 1 == 65536", 1},
		{"u32 == 4096", 1},
		{"u32 > 5", 1},
		{"u32 > 4096", 0},
		{"u64 == 0xffffffffffffffff", 1},
		{"u64 > 18446744073709551614", 1},
		{"u64 > 0 && u64 != -1", 1},
		{"u64 + 1 > 0", 0},    /* does not fit */
		{"!(u64 + 1 > 0)", 0}, /* and has no value */
		{"s8 == -128 && -s8 == 128", 1},
		{"s8 < 0 && s8 <= -128 && !(s8 > -128)", 1},
		{"s8 > 127", 0},
		{"s8 < 128", 1},
		{"s8 == 128", 0},
		{"(s8 & 0xff) == 0x80", 1},
		{"(s8 & 0xffff) == 0xff80", 1},
		{"s16 == -2", 1},
		{"s32 == -2147483648", 1},
		{"s64 == -9223372036854775808", 1},
		{"s64 - 1 < 0", 0},
		{"s64 < u64 && s8 < u8", 1},
		{"s16 > u64", 0},
		{"port == 8080", 1},
		{"address == 0x1000", 1},
		{"raw == 0xa5", 1},
		{"flag", 1},
		{"!flag", 0},
		{"flag == true", 1},
		{"flag != true", 0},
		{"flag == 1 && flag < 2 && flag > false", 1},
		{"flag > 1", 0},
		{"price == 9.5", 1},
		{"price > 9 && price < 10", 1},
		{"price * 2 == 19", 1},
		{"total == -0.125", 1},
		{"total < 0 && -total > 0", 1},
		{"total / 0 > 1", 0},
		{"total / 0 != 1", 0},
		{"u32 / 0 == 1 || u32 == 4096", 1},
		{"!(u32 / 0 == 1)", 0},
		{"u32 % 10 == 6", 1},
		{"s16 % 2 == 0 && s8 / 3 == -42 && s8 % 3 == -2", 1},
		{"u128 == 5", 0},
		{"u128 > 0xffffffffffffffff", 1},
		{"(u128 >> 64) == 0xffffffffffffffff", 1},
		{"(u128 & 0xff) == 255", 1},
		{"u128 > 3e38", 1},
		{"u128 > 3.5e38", 0},
		{"s128 == -5", 1},
		{"s128 + 6 == 1", 1},
		{"s128", 1},
		/* strings */
		{"name == \"Ada*\"", 1},
		{"name == \"Ada\\*\"", 1},
		{"name == \"Adam\"", 0},
		{"name == \"Ada?\"", 1},
		{"name == \"*d*\"", 1},
		{"name == \"a*\"", 0},
		{"name != \"a*\"", 1},
		{"\"A*\" == name", 1},
		{"name < \"B\" && name > \"Ada\"", 1},
		{"len(name) == 4", 1},
		{"name16 == \"\xe2\x82\xac 5\"", 1},
		{"name16 == \"? 5\"", 1},
		{"name16 == \"?? 5\"", 0},
		{"len(name16) == 5", 1},
		{"name32 == \"\xf0\x9f\x93\xa6\"", 1},
		{"len(name32) == 4", 1},
		{"missing == \"(null)\"", 1},
		{"len(missing) == 6", 1},
		{"has(missing)", 1},
		{"name == name", 1},
		{"name != missing", 1},
		{"name == \"\"", 0},
		/* structures and arrays */
		{"first.name == \"tea\"", 1},
		{"first.count == 2", 1},
		{"has(first) && has(first.count)", 1},
		{"color[0] == 10 && color[2] == 30", 1},
		{"len(color) == 3", 1},
		{"grid[1][2] == 2 && grid[0][1] == 20", 1},
		{"len(grid[1]) == 3", 1},
		{"items[1].name == \"cup\" && items[1].count == 40", 1},
		{"items[2].count == 40", 0},
		{"!(items[2].count == 40)", 0},
		{"has(items[1])", 1},
		{"has(items[2])", 0},
		{"!has(items[2].name)", 1},
		{"len(items) == 2", 1},
		{"len(empty) == 0", 1},
		{"empty[0] == 0", 0},
		/* optionals and variants */
		{"has(note)", 0},
		{"!has(note)", 1},
		{"note == \"unseen\"", 0},
		{"note != \"unseen\"", 0},
		{"!(note == \"unseen\")", 0},
		{"note == \"x\" || u8 == 200", 1},
		{"len(note) >= 0", 0},
		{"has(memo) && memo == \"ring*\"", 1},
		{"place.x == -1 && place.y == 12", 1},
		{"pay_number == 1999", 1},
		{"pay_number == \"1999\"", 0},
		{"pay_text == \"card\"", 1},
		{"pay_text == 1999", 0},
		{"pay_point.y == 12", 1},
		{"pay_text.y == 12", 0},
		{"has(pay_number)", 1},
		{"has(pay_none)", 0},
		{"has(pay_point.x)", 1},
		{"has(pay_number.x)", 0},
		{"pay_none == 1", 0},
		{"cold == \"brr\"", 1},
		{"cold == -10", 0},
		{"pay_number.z == 1", NEVER(ENOENT)},
		/* enumerations and bitmaps */
		{"state == 3", 1},
		{"state == \"packed\"", 1},
		{"state == \"in work\"", 1},
		{"state == \"in*\"", 1},
		{"state == \"*\"", 1},
		{"state != \"packed\"", 0},
		{"state == \"done\"", 0},
		{"state != \"done\"", 1},
		{"state == \"minus\"", 0},
		{"\"packed\" == state", 1},
		{"!(state == \"done\")", 1},
		{"mood == \"minus\" && mood == -2", 1},
		{"mood == \"new\"", 0},
		{"state == \"dome\"", NEVER(ENOENT)},
		{"state != \"dome\"", 1},
		{"options == \"gift\" && options == \"express\"", 1},
		{"options == \"reserved\"", 0},
		{"options != \"reserved\"", 1},
		{"options == \"*\"", 1},
		{"options == 3 && (options & 2)", 1},
		{"many == \"far\"", 1},
		{"many == \"gift\"", 0},
		{"many[1] == 1 && len(many) == 2", 1},
		{"many == 1", NEVER(EINVAL)},
		/* gathered memory */
		{"parcel.id == 5 && parcel.priority == 3 && parcel.nibble == -2", 1},
		{"parcel.street == \"Long*\"", 1},
		{"parcel.code == \"SW1A\"", 1},
		{"parcel.weights[2] == 9", 1},
		{"parcel.weights[3] == 9", 0},
		{"len(parcel.weights) == 3", 1},
		{"parcel.height == 1.5", 1},
		{"parcel.state == \"minus\" && parcel.state == -3", 1},
		{"parcel.open && parcel.open == true", 1},
		{"parcel.nothing == \"(null)\"", 1},
		{"parcel.lost == 0", 0},
		{"has(parcel.lost)", 0},
		{"has(parcel.id) && has(parcel) && has(parcel.weights)", 1},
		{"parcel.points[1].x == -3 && parcel.points[0].y == 2", 1},
		{"len(parcel.points) == 2", 1},
		{"parcel.points[2].x == 0", NEVER(ENOENT)},
		{"null_parcel.id == 5", 0},
		{"has(null_parcel.id)", 0},
		{"has(null_parcel)", 0},
		{"null_parcel.points[1].x == 1", 0},
		{"texts[0] == \"eins\" && texts[1] == \"zwei\" && texts[2] == \"drei\"", 1},
		{"pointers[0] == \"uno\" && pointers[1] == \"(null)\" && pointers[2] == \"tres\"",
				1},
		{"shorts[2] == 3000 && len(shorts) == 3", 1},
		{"shorts[3] == 3000", 0},
		/* visitors */
		{"numbers[0] == 0 && numbers[2] == -20", 1},
		{"numbers[3] == 0", 0},
		{"len(numbers) == 3", 1},
		{"has(numbers[2])", 1},
		{"has(numbers[3])", 0},
		{"words[1] == \"word1\"", 1},
		{"words[1] == \"w*1\"", 1},
		{"len(words[0]) == 5", 1},
		{"words[0] < words[1]", 0}, /* strings of visitors cannot be extracted */
		/* dynamic */
		{"just_five == 5", 1},
		{"anything.ok && anything.pi == 3.25 && anything.raw == 'A'", 1},
		{"anything.list[1] == \"two\"", 1},
		{"anything.list[0] == 1 && anything.list[3] == -9", 1},
		{"anything.list[4] == 77", 1},
		{"anything.list[2] == 0", 0},
		{"has(anything.list[2])", 1},
		{"has(anything.list[9])", 0},
		{"has(anything.nope)", 0},
		{"anything.nope == 1", 0},
		{"anything == 1", 0},
		{"anything.ok == \"true\"", 0},
		{"len(anything.list) == 5", 1},
		{"len(anything.list[1]) == 3", 1},
		{"len(anything) == 1", 0},
		{"visited[0] == -3 && visited[1] == \"zwei\" && len(visited) == 2", 1},
		{"fields.x == 7 && fields.y == \"yp*\"", 1},
		{"fields.z == 7", 0},
		{"latency_us == 250 && device == \"till ?\"", 1},
		{"object.list[1] == \"two\"", 1},
		{"nope == 1", 0},
		{"has(nope)", 0},
		{"`dash-name` == \"dash\"", 1},
		{"nil == 1", NEVER(EINVAL)},
		{"has(nil)", 1},
		/* contexts */
		{"$ctx.vpid == 42", 1},
		{"$ctx.procname == \"redis*\"", 1},
		{"$ctx.procname != \"redis*\"", 0},
		{"$ctx.load == 0.5", 1},
		{"$ctx.ip == 0x1234", 1},
		{"$ctx.absent == 1", 0},
		{"has($ctx.absent)", 0},
		{"has($ctx.vpid)", 1},
		{"len($ctx.procname) == 12", 1},
		{"$app.shop:request == \"GET\"", 1},
		{"$ctx.perf:thread:cpu-cycles > 999999", 1},
		{"$ctx.vpid-1 == 41", 1},
		{"$ctx.nope == 1", NEVER(ENOENT)},
		{"u8 == 200 || $ctx.nope == 1", 1},
		{"u8 == 201 || $ctx.nope == 1", 0},
		{"$ctx.procname == 1", 0},
		/* decided by the types alone */
		{"name > 5", NEVER(EINVAL)},
		{"u8 == \"x\"", NEVER(EINVAL)},
		{"first == 1", NEVER(EINVAL)},
		{"color == 1", NEVER(EINVAL)},
		{"color[3] == 1", NEVER(ENOENT)},
		{"first.nome == 1", NEVER(ENOENT)},
		{"first[0] == 1", NEVER(EINVAL)},
		{"u8.x == 1", NEVER(EINVAL)},
		{"u8[0] == 1", NEVER(EINVAL)},
		{"len(u8) == 1", NEVER(EINVAL)},
		{"name", 0},
		{"!name", NEVER(EINVAL)},
		{"price & 1", NEVER(EINVAL)},
		{"~total == 1", NEVER(EINVAL)},
		{"-name == 1", NEVER(EINVAL)},
		{"has(color[3])", NEVER(ENOENT)},
		{"!has(color[3])", 1},
		{"first.nome == 1 || u8 == 200", 1},
		{"first.nome == 1 && u8 == 200", NEVER(ENOENT)},
		/* truth values as numbers */
		{"(u8 == 200) + (u16 == 1) + (s8 == -128) == 2", 1},
		{"(u8 == 200) == flag", 1},
		{"(u8 == 1 || u16 == 65535) == true", 1},
		{"((note == \"x\") || true) == true", 1},
		{"((note == \"x\") && false) == false", 1},
		{"(note == \"x\") == false", 0},
		{"(!(u8 == 1) & (u16 != 3)) == 1", 1},
		{"!(u8 == 200 && (u16 == 1 || s8 > 0))", 1},
		{"!(u8 != 200 || !(u16 == 65535 && s8 < 0))", 1},
		{"true", 1},
		{"false", 0},
		{"1 + 1 == 2", 1},
		{"u32", 1},
		{"u32 - 4096", 0},
};

static unsigned int failures;
static size_t linked_size; /* of the last filter */

static void fail(const char *text, const char *what, long got, long expected, const char *more)
{
	fprintf(stderr, "%s: %s %ld, expected %ld (%s)\n", text, what, got, expected, more);
	failures++;
}

static struct filter *link_filter(const char *text, const struct side_event_description *desc,
		void **memory, int *ret, struct filter_error *error)
{
	struct filter *filter = NULL;
	void *program;
	size_t size;
	ssize_t need;

	*memory = NULL;
	*ret = filter_parse(text, &program, &size, error);
	if (*ret) {
		fail(text, "filter_parse()", *ret, 0, error->text);
		return NULL;
	}
	need = filter_link_size(program, size, desc, &sample_names, error);
	if (need < 0) {
		*ret = (int)need;
		*memory = malloc(1 << 20);
		if (filter_link(program, size, desc, &sample_names, *memory, 1 << 20, &filter,
				    error) != *ret)
			fail(text, "filter_link() differs from its size", 0, *ret, error->text);
		free(*memory);
		*memory = NULL;
	} else {
		linked_size = (size_t)need;
		*memory = malloc(linked_size);
		*ret = filter_link(program, size, desc, &sample_names, *memory, (size_t)need,
				&filter, error);
		if (*ret)
			fail(text, "filter_link()", *ret, 0, error->text);
		/* One byte less is refused, and no byte after it is written (ASan checks). */
		if (need > 8) {
			struct filter *none;
			void *less = malloc((size_t)need - 8);

			if (filter_link(program, size, desc, &sample_names, less, (size_t)need - 8,
					    &none, error) != -ENOSPC)
				fail(text, "too little memory", 0, -ENOSPC, error->text);
			free(less);
		}
	}
	free(program);
	return filter;
}

static void check_all(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller)
{
	struct filter_error error;
	struct filter_value value;
	struct filter *filter;
	void *memory, *moved;
	size_t i;
	int ret;

	(void)priv;
	(void)caller;
	caller = (void *)0x1234;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].text;

		filter = link_filter(text, desc, &memory, &ret, &error);
		if (!filter) {
			if (ret != cases[i].expected)
				fail(text, "links with", ret, cases[i].expected, error.text);
			if (!error.text[0])
				fail(text, "says nothing", 0, 0, "");
			continue;
		}
		ret = filter_matches(filter, args, variadic, caller, &sample_contexts);
		if (ret != cases[i].expected)
			fail(text, "matches", ret, cases[i].expected, "");
		ret = filter_evaluate(filter, args, variadic, caller, &sample_contexts, &value);
		if ((!ret && value.kind == FILTER_INT && value.u) != (cases[i].expected > 0))
			fail(text, "evaluates to", (long)value.s, cases[i].expected, "");
		/* Other arguments than these never match, and missing ones do not match, either. */
		{
			struct side_arg_vec less = *args;

			less.len--;
			if (filter_matches(filter, &less, variadic, caller, &sample_contexts) ||
					filter_matches(filter, NULL, NULL, caller, NULL))
				fail(text, "matches without arguments", 1, 0, "");
		}
		filter_matches(filter, args, NULL, caller, NULL);
		free(memory);
	}
	/* Position-independent: a copy works in the same way, and the original may be freed. */
	filter = link_filter("words[1] == \"w*1\" && items[1].name == \"cup\" && u8 == 200", desc,
			&memory, &ret, &error);
	moved = malloc(linked_size);
	memcpy(moved, memory, linked_size);
	memset(memory, 0xee, linked_size);
	free(memory);
	if (!filter_matches(moved, args, variadic, caller, NULL))
		fail("a moved filter", "matches", 0, 1, "");
	free(moved);
}

/* Checks captures. */
static void check_captures(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *variadic,
		void *priv, void *caller)
{
	static const struct {
		const char *text;
		int kind;
		uint64_t number; /* bits */
		const char *string;
	} captures[] = {
			{"u64", FILTER_INT, UINT64_MAX, NULL},
			{"s32", FILTER_INT, (uint64_t)INT32_MIN, NULL},
			{"u8 * 2 + 1", FILTER_INT, 401, NULL},
			{"price", FILTER_DOUBLE, 0x4023000000000000, NULL},
			{"price + 1", FILTER_DOUBLE, 0x4025000000000000, NULL},
			{"first.name", FILTER_STRING, 0, "tea"},
			{"$ctx.procname", FILTER_STRING, 0, "redis-server"},
			{"u8 == 200", FILTER_INT, 1, NULL},
			{"u8 == 201", FILTER_INT, 0, NULL},
			{"u128", FILTER_WIDE, UINT64_MAX, NULL},
			{"note", FILTER_NONE, 0, NULL},
			{"words[0]", FILTER_NONE, 0, NULL},
			{"anything.list[1]", FILTER_STRING, 0, "two"},
			{"state", FILTER_INT, 3, NULL},
			{"len(name)", FILTER_INT, 4, NULL},
			{"u8 / 0", FILTER_NONE, 0, NULL},
			{"5", FILTER_INT, 5, NULL},
	};
	struct filter_error error;
	struct filter_value value;
	struct filter *filter;
	void *memory;
	size_t i;
	int ret;

	(void)priv;
	for (i = 0; i < sizeof(captures) / sizeof(captures[0]); i++) {
		const char *text = captures[i].text;

		if (!strcmp(text, "u8 / 0"))
			text = "u8 / (u8 - 200)";
		filter = link_filter(text, desc, &memory, &ret, &error);
		if (!filter) {
			fail(text, "links with", ret, 0, error.text);
			continue;
		}
		ret = filter_evaluate(filter, args, variadic, caller, &sample_contexts, &value);
		if (value.kind != captures[i].kind ||
				(ret != 0) != (captures[i].kind == FILTER_NONE))
			fail(text, "is of kind", value.kind, captures[i].kind, "");
		else if (captures[i].string ? strcmp(value.text, captures[i].string) != 0
					    : ret == 0 && value.u != captures[i].number)
			fail(text, "is", value.s, (long)captures[i].number, "");
		free(memory);
	}
}

/* A visitor that reports an error has no length, but its elements were visited. */
static void check_failing(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *variadic,
		void *priv, void *caller)
{
	struct filter_error error;
	struct filter *filter;
	void *memory;
	int ret;

	(void)priv;
	filter = link_filter("len(numbers) == 3", desc, &memory, &ret, &error);
	if (filter_matches(filter, args, variadic, caller, NULL))
		fail("a failing visitor", "has a length", 1, 0, "");
	free(memory);
	filter = link_filter("numbers[1] == -10", desc, &memory, &ret, &error);
	if (!filter_matches(filter, args, variadic, caller, NULL))
		fail("a failing visitor", "has elements", 0, 1, "");
	free(memory);
}

/* @expected: the text; if there is a hint, a newline and the hint. */
static bool is_error(const struct filter_error *error, const char *expected)
{
	char whole[sizeof(error->text) + sizeof(error->hint)];

	snprintf(whole, sizeof(whole), "%s%s%s", error->text, *error->hint ? "\n" : "",
			error->hint);
	return !strcmp(whole, expected);
}

/* Checks the messages. */
static void check_errors(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller)
{
	static const struct {
		const char *text;
		unsigned int column;
		const char *error;
	} sentences[] = {
			{"1 == 1 && first.nome == 1", 11,
					"first has no member \"nome\"\ndid you mean `name`?"},
			{"  state == \"dome\"", 3,
					"\"state\" has no label \"dome\"\ndid you mean `done`?"},
			{"u8 == 1 && $ctx.nope == 1", 12, "there is no context \"nope\""},
			{"u8 == \"x\"", 1, "\"u8\" is an integer, and is compared with a string"},
			{"name > 5", 6, "a string is compared with a number"},
			{"len(u8) == 1", 5,
					"\"u8\" is an integer; len() accepts strings and arrays"},
			{"first == 1", 1, "\"first\" is a structure: name one of its members"},
			{"color == 1", 1,
					"\"color\" is an array: use an element, as in [0], or its len()"},
			{"color[3] == 1", 1, "\"color\" has fewer elements"},
			{"u8.x == 1", 1, "\"u8\" is an integer, which has no members"},
			{"!name", 1,
					"a string is neither true nor false: compare it with "
					"something"},
			{"nil == 1", 1, "\"nil\" is nothing (null), which has no value"},
	};
	struct filter_error error;
	void *memory;
	size_t i;
	int ret;

	(void)args;
	(void)variadic;
	(void)priv;
	(void)caller;
	for (i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
		if (link_filter(sentences[i].text, desc, &memory, &ret, &error))
			fail(sentences[i].text, "links", 1, 0, "");
		else if (error.column != sentences[i].column ||
				!is_error(&error, sentences[i].error))
			fail(sentences[i].text, "column", error.column, sentences[i].column,
					error.text);
		free(memory);
	}
}

int main(void)
{
	sample_fire(check_all, NULL);
	sample_fire(check_captures, NULL);
	sample_fire(check_errors, NULL);
	sample_visitors_fail = true;
	sample_fire(check_failing, NULL);
	return failures != 0;
}
