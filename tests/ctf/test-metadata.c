/* SPDX-License-Identifier: MIT */
/* TSDL that is accepted, and the reported messages about TSDL that is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>

#include "ctf/ctf.h"
#include "scratch.h"

#define TRACE "trace { major = 1; minor = 8; byte_order = le; };\n"
#define STREAM "stream { event.header := struct { integer { size = 8; } id; }; };\n"
#define FIELDS(_fields) \
	TRACE STREAM "event { name = \"e\"; id = 0; fields := struct { " _fields " }; };\n"
#define U8 "integer { size = 8; }"
#define TAG "enum : " U8 " { a, b } t; "

static char scratch[64];

/* Returns the first damage, or NULL; *events is the number of event classes. */
static char *first_damage(const char *text, size_t size, uint32_t *events)
{
	struct ctf_reader *reader;
	struct error error;
	struct ctf_item item;
	char *damage = NULL;

	scratch_write(scratch, "metadata", text, size);
	assert_int_equal(ctf_reader_open(scratch, &reader, &error), 0);
	while (ctf_reader_next(reader, &item) > 0) {
		assert_int_equal(item.kind, CTF_ITEM_DAMAGE);
		if (!damage)
			damage = strdup(item.text);
	}
	*events = ctf_trace_event_count(ctf_reader_trace(reader, 0));
	ctf_reader_close(reader);
	return damage;
}

static void test_taken(void **state)
{
	static const char *const texts[] = {
			"/* CTF 1.8 */ // nothing else\n" FIELDS(U8 " x;"),
			"typealias integer { size = 32; } := unsigned long int;" FIELDS(
					"unsigned long int x, y[2], z[x];"),
			"typealias integer { size = 0x20; align = 010; } := const char *;" FIELDS(
					"string s;"),
			"typedef integer { size = 8; } byte, pair[2];" FIELDS("byte a; pair b;"),
			"struct named { " U8 " n; " U8
			" data[n]; } align(32);" FIELDS("struct named a; struct named b[3];"),
			"enum color : " U8 " { RED, GREEN = 5, BLUE, };" FIELDS("enum color c;"),
			"variant v { " U8 " a; string b; };" FIELDS(TAG "variant v <t> x;"),
			FIELDS("struct { typealias " U8 " := inner; inner x; } s;"),
			FIELDS(TAG "struct { struct { variant <t> { " U8 " a; } v; } i; } o;"),
			FIELDS("struct { " U8 " len; } s; " U8 " x[s.len]; " U8
			       " y[event.fields.s.len];"),
			FIELDS("integer { size = 64; base = hexadecimal; signed = TRUE; encoding = "
			       "none; } x;"),
			FIELDS("enum : " U8 " { \"\\x41\\102\\n\" = 0 ... 18, \"B\" = +7 } e;"),
			TRACE "event { name = \"only\"; };",
			TRACE "event { name = \"e\"; stream_id = 3; }; stream { id = 3; };",
			"event { name = \"e\"; }; " TRACE STREAM,
			"typealias integer { size = 8; map = clock.c.value; } := x; clock { name = "
			"c; };" FIELDS("x a; integer { size = 8; map = clock.c; } b;"),
			FIELDS("integer { size = 8; map = clock.c.value; } x;") "clock { name = "
										"'c'; };",
			"env { n = 2; c = 'x'; };" FIELDS(
					"typedef " U8 " pair[env.n]; pair x[env.n];"),
			FIELDS(U8 " x[env.n];") "env { n = 2; };",
			";" FIELDS("; " U8 " x;; struct { ; } y;") ";;",
			"typealias " U8 " [2][3] := grid; typealias " U8
			" [n] := list;" FIELDS(U8 " n; grid g; list l;"),
			FIELDS(TAG "variant <t> { struct { " U8 " n; " U8
				   " x[v.a.n]; } a; struct { " U8 " n; " U8
				   " y[event.fields.v.b.n]; } b; } v; " U8 " z[v.a.n];"),
			"typealias " U8 " := unsigned char *;" FIELDS("unsigned char *p, *q[2];"),
			TRACE STREAM "event { name = 'e'; model.emf.uri = \"x\"; loglevel = 3; };",
			TRACE STREAM "future { anything = { nested; }; }; event { name = \"e\"; };",
			"typealias integer { size = 8; byte_order = native; } := x; " FIELDS(
					"x a;"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint32_t events;
		char *damage = first_damage(texts[i], strlen(texts[i]), &events);

		if (damage)
			fail_msg("%s\n%s", texts[i], damage);
		assert_int_equal(events, 1);
	}
}

/* A recorder that has described no event yet, or a program without events. */
static void test_empty(void **state)
{
	static const char *const texts[] = {TRACE, TRACE STREAM, TRACE "env { a = 1; };"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint32_t events;
		char *damage = first_damage(texts[i], strlen(texts[i]), &events);

		if (damage)
			fail_msg("%s\n%s", texts[i], damage);
		assert_int_equal(events, 0);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		const char *reported;
	} cases[] = {
			{"", "no trace block"},
			{"trace { major = 2; minor = 8; byte_order = le; };", "major version 2"},
			{"trace { major = 1; minor = 9; byte_order = le; };", "minor version 9"},
			{"trace { major = 1; byte_order = le; };", "no minor version"},
			{FIELDS("enum : " U8 " { } e;"), "no label"},
			{FIELDS("enum : " U8 " { A = 2 ... 1 } e;"), "ends before it begins"},
			{FIELDS(TAG "variant <t> { } v;"), "no option"},
			{FIELDS(U8 " x; string x;"), "two fields \"x\""},
			{FIELDS(TAG "variant <t> { " U8 " a; string a; } v;"), "two fields \"a\""},
			{FIELDS("integer { size = 8; size = 8; } x;"), "\"size\" twice"},
			{FIELDS("integer { size = 8; color = 8; } x;"),
					"unknown attribute \"color\""},
			{FIELDS("integer { size = 8; encoding = EBCDIC; } x;"), "encoding"},
			{FIELDS("string { size = 8; } x;"), "unknown attribute \"size\""},
			{"typealias " U8 " := x; typealias " U8 " := x;" FIELDS(""),
					"defined twice"},
			{"struct x { " U8 " a; }; struct x { " U8 " a; };" FIELDS(""),
					"defined twice"},
			{TRACE STREAM "event { name = \"e\"; name = \"f\"; };", "\"name\" twice"},
			{TRACE STREAM "event { name = \"e\"; foo = 3; };",
					"unknown attribute \"foo\""},
			{TRACE "stream { id = 1; id = 1; };", "\"id\" twice"},
			{TRACE STREAM "event { name = \"e\"; id = -1; };", "non-negative"},
			{"clock { name = \"c\"; freq = 1; hertz = 1; };" FIELDS(""),
					"unknown attribute \"hertz\""},
			{FIELDS(U8 " x[env.n];"), "not in its env block"},
			{"env { n = \"2\"; };" FIELDS(U8 " x[env.n];"), "not a number of elements"},
			{"env { n = -2; };" FIELDS(U8 " x[env.n];"), "not a number of elements"},
			{"hello", "\";\" is missing"},
			{"\xff\xfe", "not TSDL"},
			{TRACE STREAM "event { name = \"e\n", "truncated"},
			{TRACE "/* never closed", "truncated"},
			{"trace { major = 1; };", "byte_order"},
			{TRACE TRACE, "more than one trace"},
			{"trace { byte_order = le; uuid = \"1234\"; };", "UUID"},
			{TRACE STREAM STREAM, "defined twice"},
			{TRACE STREAM "event { name = \"e\"; stream_id = 9; };", "stream 9"},
			{TRACE STREAM "event { id = 3; };", "no name"},
			{FIELDS("") "event { name = \"f\"; id = 0; };", "two events with the id 0"},
			{"clock { freq = 0; name = \"c\"; };" FIELDS(""), "frequency 0"},
			{FIELDS("integer { size = 65; } x;"), "1 to 64 bits"},
			{FIELDS("integer { size = 0; } x;"), "1 to 64 bits"},
			{FIELDS("integer { align = 8; } x;"), "no size"},
			{FIELDS("integer { size = 8; align = 3; } x;"), "power of two"},
			{FIELDS("integer { size = 8; align = 0x100000000; } x;"), "power of two"},
			{FIELDS("integer { size = 8; base = 7; } x;"), "base"},
			{FIELDS("integer { size = 8; map = clock.no.value; } x;"), "clock"},
			{FIELDS("integer { size = 99999999999999999999; } x;"), "not TSDL"},
			{FIELDS("floating_point { exp_dig = 15; mant_dig = 113; } x;"),
					"32 or 64 bits"},
			{FIELDS("unknown x;"), "\"unknown\" is not known"},
			{FIELDS("struct missing x;"), "\"struct missing\" is not known"},
			{FIELDS(U8 " x[later]; " U8 " later;"), "\"later\""},
			{FIELDS("integer { size = 8; signed = true; } n; " U8 " x[n];"),
					"not an unsigned integer"},
			{FIELDS(U8 " t; variant <t> { string a; } v;"), "not of type enumeration"},
			{FIELDS("variant { string a; } v;"), "without a tag"},
			{TRACE "stream { event.header := " U8 "; };", "must be a structure"},
			{FIELDS("struct { " U8 " n; } a[2]; " U8 " x[a.n];"), "\"a.n\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t events;
		char *damage = first_damage(cases[i].text, strlen(cases[i].text), &events);

		if (!damage || !strstr(damage, cases[i].reported))
			fail_msg("%s\nsaid: %s", cases[i].text, damage ? damage : "nothing");
		free(damage);
	}
}

/* The part before the error is used, and the message names the line. */
static void test_partly(void **state)
{
	static const char text[] = FIELDS("string s;") "\n\nevent { name = 5 5; };";
	uint32_t events;
	char *damage = first_damage(text, strlen(text), &events);

	(void)state;
	assert_int_equal(events, 1);
	assert_non_null(strstr(damage, "line 6"));
	free(damage);
}

/* Text whose types would exhaust the memory or the stack. */
static void test_bombs(void **state)
{
	size_t used = 0, capacity = 4u << 20;
	char *text = malloc(capacity), *damage;
	uint32_t events;

	(void)state;
	/* Each level has twice the size of the one before. */
	used += (size_t)sprintf(text, TRACE "struct s0 { " U8 " a; };\n");
	for (int i = 1; i < 60; i++)
		used += (size_t)sprintf(text + used,
				"struct s%d { struct s%d a; struct s%d b; };\n", i, i - 1, i - 1);
	damage = first_damage(text, used, &events);
	assert_non_null(strstr(damage, "too much memory"));
	free(damage);

	/* Each level contains the one before. */
	used = (size_t)sprintf(text, TRACE "struct s0 { " U8 " a; };\n");
	for (int i = 1; i < 5000; i++)
		used += (size_t)sprintf(text + used, "struct s%d { struct s%d a; };\n", i, i - 1);
	damage = first_damage(text, used, &events);
	assert_non_null(damage);
	free(damage);

	/* Brackets without end. */
	used = (size_t)sprintf(text, TRACE STREAM "event { fields := ");
	while (used < capacity - 64)
		used += (size_t)sprintf(text + used, "struct { ");
	damage = first_damage(text, used, &events);
	assert_non_null(strstr(damage, "too deep"));
	free(damage);
	used = (size_t)sprintf(text, TRACE STREAM "event { fields := struct { " U8 " a");
	while (used < capacity - 64)
		used += (size_t)sprintf(text + used, "[1]");
	damage = first_damage(text, used, &events);
	assert_non_null(strstr(damage, "too deep"));
	free(damage);
	free(text);
}

/* Arrays with a great length. */
static void test_long_arrays(void **state)
{
	static const struct {
		const char *fields;
		uint64_t length;
	} cases[] = {
			{"integer { size = 64; } n; integer { size = 64; } x[n];", UINT64_MAX},
			{"integer { size = 64; } n; integer { size = 64; } x[n];", UINT32_MAX},
			{"integer { size = 64; } n; struct { } x[n];", UINT32_MAX},
			{"integer { size = 64; } n; struct { } x[n][1000000];", 1000000},
			{"integer { size = 64; } n; string x[n];", 100},
			{"integer { size = 64; } n; integer { size = 3; align = 1; } "
			 "x[0xffffffff][n];",
					7},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ctf_reader *reader;
		struct error error;
		struct ctf_item item;
		unsigned char record[16] = {0};
		uint32_t events = 0, damages = 0;
		char text[512];

		snprintf(text, sizeof(text),
				TRACE STREAM "event { name = \"e\"; fields := struct { %s }; };",
				cases[i].fields);
		memcpy(record + 1, &cases[i].length, 8);
		scratch_write(scratch, "metadata", text, strlen(text));
		scratch_write(scratch, "stream", record, sizeof(record));
		assert_int_equal(ctf_reader_open(scratch, &reader, &error), 0);
		while (ctf_reader_next(reader, &item) > 0) {
			events += item.kind == CTF_ITEM_EVENT;
			damages += item.kind == CTF_ITEM_DAMAGE;
		}
		assert_int_equal(events, 0);
		assert_int_equal(damages, 1);
		ctf_reader_close(reader);
	}
	scratch_write(scratch, "stream", "", 0);
}

static void test_environment(void **state)
{
	static const char text[] = "env { hostname = \"h\"; vpid = -3; tracer_name = \"side\"; };\n"
				   "env { procname = \"p\"; };\n" FIELDS("");
	struct ctf_reader *reader;
	struct error error;
	const struct ctf_trace *trace;

	(void)state;
	scratch_write(scratch, "metadata", text, strlen(text));
	assert_int_equal(ctf_reader_open(scratch, &reader, &error), 0);
	trace = ctf_reader_trace(reader, 0);
	assert_int_equal(trace->environment_count, 4);
	assert_string_equal(trace->hostname, "h");
	assert_string_equal(trace->procname, "p");
	assert_int_equal(trace->vpid, -3);
	assert_true(trace->is_side);
	ctf_reader_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_taken),
			cmocka_unit_test(test_empty),
			cmocka_unit_test(test_refused),
			cmocka_unit_test(test_partly),
			cmocka_unit_test(test_bombs),
			cmocka_unit_test(test_long_arrays),
			cmocka_unit_test(test_environment),
	};
	int failures;

	scratch_make(scratch);
	failures = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_delete(scratch);
	return failures;
}
