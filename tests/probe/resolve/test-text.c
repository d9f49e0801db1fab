/* SPDX-License-Identifier: MIT */
/*
 * Texts of locations, values and registers, without a file or with its symbols: each with its exact
 * result or error. An operation is written as CODE:REGISTER:SIZE:VALUE, with the numbers of
 * probe/table.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/spec/operand.h"
#include "probe/spec/parts.h"
#include "probe/spec/typed-values.h"
#include "probe/spec/spec.h"
#include "probe/spec/spelling.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

/* The text and its result. */
struct case_of {
	const char *text, *wanted;
};

static char shown[16384];

static void show_fetch(const struct fetch *fetch)
{
	for (uint32_t i = 0; i < fetch->nr_ops; i++)
		sprintf(shown + strlen(shown), " %u:%u:%u:%lld", fetch->ops[i].code,
				fetch->ops[i].reg, fetch->ops[i].size,
				(long long)fetch->ops[i].value);
}

static void show_value(const struct value *value)
{
	sprintf(shown + strlen(shown), "%s%s %u/%u/%u%s", *shown ? "; " : "", value->name,
			value->type, value->size, value->limit, value->guarded ? " guarded" : "");
	show_fetch(&value->fetch);
}

static void show_error(int ret, const struct error *error)
{
	sprintf(shown, "%d %s", ret, error->text);
}

static void check_all(const struct case_of *cases, size_t count, void (*show)(const char *text))
{
	unsigned int failed = 0;

	for (size_t i = 0; i < count; i++) {
		*shown = '\0';
		show(cases[i].text);
		if (!strcmp(shown, cases[i].wanted))
			continue;
		print_message("{\"%s\",\n \"%s\"},\n", cases[i].text, shown);
		failed++;
	}
	assert_int_equal(failed, 0);
}

/* ---- registers ---- */

static void show_register(const char *text)
{
	struct fetch_register which;
	struct fetch fetch = {.nr_ops = 0};

	if (!fetch_register_named(text, strlen(text), &which)) {
		strcpy(shown, "none");
		return;
	}
	sprintf(shown, "%u %u %u:", which.number, which.bits, which.shift);
	assert_int_equal(fetch_register(&fetch, &which), 0);
	show_fetch(&fetch);
}

static const struct case_of registers[] = {
		{"rax", "0 64 0: 2:0:0:0"},
		{"eax", "0 32 0: 2:0:0:0 36:0:32:0"},
		{"ax", "0 16 0: 2:0:0:0 36:0:16:0"},
		{"al", "0 8 0: 2:0:0:0 36:0:8:0"},
		{"ah", "0 8 8: 2:0:0:0 35:0:8:0 36:0:8:0"},
		{"rdx", "1 64 0: 2:1:0:0"},
		{"edx", "1 32 0: 2:1:0:0 36:0:32:0"},
		{"dx", "1 16 0: 2:1:0:0 36:0:16:0"},
		{"dl", "1 8 0: 2:1:0:0 36:0:8:0"},
		{"dh", "1 8 8: 2:1:0:0 35:0:8:0 36:0:8:0"},
		{"rcx", "2 64 0: 2:2:0:0"},
		{"cl", "2 8 0: 2:2:0:0 36:0:8:0"},
		{"ch", "2 8 8: 2:2:0:0 35:0:8:0 36:0:8:0"},
		{"rbx", "3 64 0: 2:3:0:0"},
		{"bl", "3 8 0: 2:3:0:0 36:0:8:0"},
		{"bh", "3 8 8: 2:3:0:0 35:0:8:0 36:0:8:0"},
		{"rsi", "4 64 0: 2:4:0:0"},
		{"esi", "4 32 0: 2:4:0:0 36:0:32:0"},
		{"si", "4 16 0: 2:4:0:0 36:0:16:0"},
		{"sil", "4 8 0: 2:4:0:0 36:0:8:0"},
		{"rdi", "5 64 0: 2:5:0:0"},
		{"edi", "5 32 0: 2:5:0:0 36:0:32:0"},
		{"di", "5 16 0: 2:5:0:0 36:0:16:0"},
		{"dil", "5 8 0: 2:5:0:0 36:0:8:0"},
		{"rbp", "6 64 0: 2:6:0:0"},
		{"ebp", "6 32 0: 2:6:0:0 36:0:32:0"},
		{"bp", "6 16 0: 2:6:0:0 36:0:16:0"},
		{"bpl", "6 8 0: 2:6:0:0 36:0:8:0"},
		{"rsp", "7 64 0: 2:7:0:0"},
		{"esp", "7 32 0: 2:7:0:0 36:0:32:0"},
		{"sp", "7 16 0: 2:7:0:0 36:0:16:0"},
		{"spl", "7 8 0: 2:7:0:0 36:0:8:0"},
		{"r8", "8 64 0: 2:8:0:0"},
		{"r8d", "8 32 0: 2:8:0:0 36:0:32:0"},
		{"r8w", "8 16 0: 2:8:0:0 36:0:16:0"},
		{"r8b", "8 8 0: 2:8:0:0 36:0:8:0"},
		{"r8l", "8 8 0: 2:8:0:0 36:0:8:0"},
		{"r9", "9 64 0: 2:9:0:0"},
		{"r15", "15 64 0: 2:15:0:0"},
		{"r15d", "15 32 0: 2:15:0:0 36:0:32:0"},
		{"r15w", "15 16 0: 2:15:0:0 36:0:16:0"},
		{"r15b", "15 8 0: 2:15:0:0 36:0:8:0"},
		{"r12l", "12 8 0: 2:12:0:0 36:0:8:0"},
		{"%rdi", "5 64 0: 2:5:0:0"},
		{"%%rdi", "none"},
		{"rip", "16 64 0: 2:16:0:0"},
		{"eip", "none"},
		{"rflags", "49 64 0: 2:49:0:0"},
		{"eflags", "49 64 0: 2:49:0:0"},
		{"flags", "49 64 0: 2:49:0:0"},
		{"xflags", "none"},
		{"xmm0", "17 64 0: 3:0:0:0"},
		{"xmm9", "26 64 0: 3:9:0:0"},
		{"xmm15", "32 64 0: 3:15:0:0"},
		{"xmm16", "none"},
		{"xmm", "none"},
		{"xmm001", "none"},
		{"sl", "none"},
		{"sh", "none"},
		{"xmm1x", "none"},
		{"xmm1d", "none"},
		{"r7", "none"},
		{"r16", "none"},
		{"r8x", "none"},
		{"r8dd", "none"},
		{"r08", "8 64 0: 2:8:0:0"},
		{"r100", "none"},
		{"r", "none"},
		{"sih", "none"},
		{"sal", "none"},
		{"rrax", "none"},
		{"qax", "none"},
		{"xax", "none"},
		{"all", "none"},
		{"ahx", "none"},
		{"ripx", "none"},
		{"fflags", "none"},
		{"rdix", "none"},
		{"r10", "10 64 0: 2:10:0:0"},
		{"%xmm3", "20 64 0: 3:3:0:0"},
		{"xm0", "none"},
		{"yl", "none"},
		{"zx", "none"},
		{"eaxx", "none"},
		{"r1", "none"},
};

static void test_registers(void **unused)
{
	struct fetch_register which;
	struct fetch full = {.nr_ops = PROBE_TABLE_OPS_MAX - 1}, one = {.nr_ops = 0};

	(void)unused;
	check_all(registers, LENGTH(registers), show_register);
	/* Only this number of bytes of the text is used. */
	assert_true(fetch_register_named("rdix", 3, &which));
	assert_int_equal(which.number, 5);
	assert_true(fetch_register_named("r15d", 3, &which));
	assert_int_equal(which.bits, 64);
	assert_false(fetch_register_named("%rdi", 1, &which));
	assert_false(fetch_register_named("", 0, &which));
	/* The registers after xmm15 are not vectors. */
	which = (struct fetch_register){.number = FETCH_XMM0 + 16, .bits = 64};
	assert_int_equal(fetch_register(&one, &which), 0);
	assert_int_equal(one.ops[0].code, PROBE_FETCH_REGISTER);
	/* Two operations, with space for one. */
	assert_true(fetch_register_named("edi", 3, &which));
	assert_int_equal(fetch_register(&full, &which), -E2BIG);
}

static void test_register_names(void **unused)
{
	static const char *const names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
			"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

	(void)unused;
	for (unsigned int i = 0; i < 60; i++) {
		const char *name = fetch_register_name(i);

		if (i <= 16)
			assert_string_equal(name, names[i]);
		else if (i == 49)
			assert_string_equal(name, "rflags");
		else
			assert_null(name);
	}
}

/* ---- operations ---- */

static struct fetch fetch_of(enum probe_fetch_code code, unsigned int reg, int64_t value)
{
	struct fetch fetch = {.nr_ops = 0};

	assert_int_equal(fetch_op(&fetch, code, reg, 0, value), 0);
	return fetch;
}

static void assert_fetch(const struct fetch *fetch, const char *wanted)
{
	*shown = '\0';
	show_fetch(fetch);
	assert_string_equal(shown, wanted);
}

static void test_sums(void **unused)
{
	struct fetch left = fetch_of(PROBE_FETCH_REGISTER, 5, 0),
		     right = fetch_of(PROBE_FETCH_CONSTANT, 0, 7),
		     module = fetch_of(PROBE_FETCH_MODULE, 0, -3);

	(void)unused;
	assert_int_equal(fetch_add(&left, 0), 0);
	assert_fetch(&left, " 2:5:0:0");
	assert_int_equal(fetch_add(&left, 9), 0);
	assert_int_equal(fetch_add(&left, -20), 0);
	assert_fetch(&left, " 2:5:0:0 32:0:0:-11");
	assert_int_equal(fetch_add(&right, INT64_MAX), 0);
	assert_int_equal(right.ops[0].value, INT64_MIN + 6);
	right.ops[0].value = 7;
	assert_int_equal(fetch_add(&module, 10), 0);
	assert_fetch(&module, " 4:0:0:7");
	assert_int_equal(fetch_calculate(&left, PROBE_SUM_MODULO, &right), 0);
	assert_fetch(&left, " 2:5:0:0 32:0:0:-11 38:0:0:0 1:0:0:7 39:0:5:0");
	assert_int_equal(fetch_wide(&module, &right), 0);
	assert_fetch(&module, " 4:0:0:7 38:0:0:0 1:0:0:7 44:0:0:0");
}

/* A fetch has at most 32 operations. Each function reports a further one, and keeps the others. */
static void test_too_many_operations(void **unused)
{
	struct fetch one = fetch_of(PROBE_FETCH_CONSTANT, 0, 1), full = one;

	(void)unused;
	while (full.nr_ops < 32)
		assert_int_equal(fetch_op(&full, PROBE_FETCH_LOAD, 0, 8, 0), 0);
	assert_int_equal(fetch_op(&full, PROBE_FETCH_LOAD, 0, 8, 0), -E2BIG);
	assert_int_equal(fetch_add(&full, 1), -E2BIG);
	assert_int_equal(full.nr_ops, 32);
	full.nr_ops = 29;
	assert_int_equal(fetch_calculate(&full, PROBE_SUM_PLUS, &one), 0);
	assert_int_equal(full.nr_ops, 32);
	for (full.nr_ops = 30; full.nr_ops <= 32; full.nr_ops++) {
		struct fetch sum = full, wide = full;

		assert_int_equal(fetch_calculate(&sum, PROBE_SUM_PLUS, &one), -E2BIG);
		assert_int_equal(fetch_wide(&wide, &one), -E2BIG);
		assert_int_equal(sum.nr_ops, 32);
	}
	full.nr_ops = 29;
	assert_int_equal(fetch_wide(&full, &one), 0);
}

/*
 * rbx and r12 to r15, as operands or as addends. In other operations, these numbers are not
 * registers.
 */
static void test_kept_registers(void **unused)
{
	(void)unused;
	for (unsigned int reg = 0; reg < 17; reg++) {
		const bool kept = reg == 3 || (reg >= 12 && reg <= 15);
		struct fetch first = fetch_of(PROBE_FETCH_REGISTER, reg, 0),
			     second = fetch_of(PROBE_FETCH_CONSTANT, 0, 1),
			     vector = fetch_of(PROBE_FETCH_VECTOR, reg, 0);

		assert_int_equal(fetch_needs_all(&first), kept);
		assert_false(fetch_needs_all(&second));
		assert_false(fetch_needs_all(&vector));
		assert_int_equal(fetch_op(&second, PROBE_FETCH_ADD_REGISTER, reg, 0, 0), 0);
		assert_int_equal(fetch_needs_all(&second), kept);
		/* Elements after the last operation do not count. */
		second.nr_ops = 1;
		assert_false(fetch_needs_all(&second));
	}
}

static void test_operations_of_the_kernel(void **unused)
{
	(void)unused;
	for (unsigned int code = 0; code < 64; code++) {
		struct fetch fetch = fetch_of(PROBE_FETCH_REGISTER, 1, 0);
		const bool is_not = code == PROBE_FETCH_VECTOR || code == PROBE_FETCH_EXTENDED ||
				code == PROBE_FETCH_HALF || code == PROBE_FETCH_WIDE ||
				code == PROBE_FETCH_THREAD || code == PROBE_FETCH_ERRNO ||
				code == PROBE_FETCH_BLOCK || code == PROBE_FETCH_BACKTRACE;

		assert_true(fetch_is_of_kernel(&fetch));
		assert_int_equal(fetch_op(&fetch, code, 0, PROBE_SUM_XOR, 0), 0);
		assert_int_equal(fetch_is_of_kernel(&fetch), !is_not);
		assert_int_equal(fetch_op(&fetch, PROBE_FETCH_LOAD, 0, 8, 0), 0);
		assert_int_equal(fetch_is_of_kernel(&fetch), !is_not);
	}
	for (unsigned int code = 0; code < 64; code++) {
		struct fetch fetch = fetch_of(code, 0, 0);

		fetch.ops[1].code = PROBE_FETCH_BACKTRACE;
		if (code != PROBE_FETCH_CALCULATE)
			assert_int_equal(fetch_is_of_kernel(&fetch),
					code != PROBE_FETCH_VECTOR &&
							code != PROBE_FETCH_EXTENDED &&
							code != PROBE_FETCH_HALF &&
							code != PROBE_FETCH_WIDE &&
							code != PROBE_FETCH_THREAD &&
							code != PROBE_FETCH_ERRNO &&
							code != PROBE_FETCH_BLOCK &&
							code != PROBE_FETCH_BACKTRACE);
	}
	for (unsigned int sum = 1; sum <= 17; sum++) {
		struct fetch fetch = fetch_of(PROBE_FETCH_REGISTER, 1, 0);

		assert_int_equal(fetch_op(&fetch, PROBE_FETCH_CALCULATE, 0, sum, 0), 0);
		assert_int_equal(fetch_is_of_kernel(&fetch), sum <= PROBE_SUM_XOR);
	}
}

static void show_name(const char *text)
{
	fetch_name(shown, text);
}

static const struct case_of names[] = {{"", "_"}, {"...", "_"}, {"a", "a"}, {"a.b->c", "a_b_c"},
		{"*p", "p"}, {"p[3]", "p_3"}, {"3x", "_3x"}, {"x3", "x3"}, {"__a__", "__a"},
		{"a  b", "a_b"}, {"_", "_"}, {"a_-b", "a_b"}, {"\xc3\xa4z", "z"}, {"(9)", "_9"}};

static void test_field_names(void **unused)
{
	char name[FETCH_NAME_MAX], text[200];

	(void)unused;
	check_all(names, LENGTH(names), show_name);
	memset(text, 'q', sizeof(text));
	for (size_t length = 118; length < 124; length++) {
		text[length] = '\0';
		fetch_name(name, text);
		assert_int_equal(strlen(name), length < 120 ? length : 120);
		text[length] = 'q';
	}
}

/* ---- locations ---- */

static void show_spec(const char *text)
{
	struct parsed_spec spec;
	struct error error;
	int ret = spec_parse(text, &spec, &error);

	if (ret)
		show_error(ret, &error);
	else
		sprintf(shown, "%u %s %s %d %llu%s", spec.kind, spec.library ? spec.library : "-",
				spec.name ? spec.name : "-", spec.glob,
				(unsigned long long)spec.number, spec.plt ? " plt" : "");
	spec_free(&spec);
	assert_null(spec.name);
	assert_null(spec.library);
}

static const struct case_of specs[] = {
		{"main", "1 - main 0 0"},
		{"main+017", "1 - main 0 15"},
		{"main+0x10", "1 - main 0 16"},
		{"main+09", "-22 `09` is not an offset"},
		{"main+", "1 - main+ 0 0"},
		{"+1", "1 - +1 0 0"},
		{"main+9", "1 - main 0 9"},
		{"main+0", "1 - main 0 0"},
		{"main+x", "1 - main+x 0 0"},
		{"0x401136", "0 - - 0 4198710"},
		{"4096", "0 - - 0 4096"},
		{"010", "0 - - 0 8"},
		{"0x", "-22 `0x` is not an address"},
		{"9x", "-22 `9x` is not an address"},
		{"libfoo.so.1:0x1234", "0 libfoo.so.1 - 0 4660"},
		{"libc:mallo[c]", "1 libc mallo[c] 1 0"},
		{"libc:", "-22 `` is not a location in a program"},
		{"lib::x", "1 - lib::x 0 0"},
		{"libx.so:dir/server.cpp:7", "2 libx.so dir/server.cpp 0 7"},
		{"server.c:120", "2 - server.c 0 120"},
		{"server.c:0", "-22 `0` is not the number of a line"},
		{"server.c:x", "-22 `x` is not the number of a line"},
		{"server.c:2147483647", "2 - server.c 0 2147483647"},
		{"server.c:2147483648", "-22 `2147483648` is not the number of a line"},
		{"a.rs:1", "2 - a.rs 0 1"},
		{"a.f90:2", "2 - a.f90 0 2"},
		{"a.ipp:3", "2 - a.ipp 0 3"},
		{"a.S:4", "2 - a.S 0 4"},
		{"a.c++:5", "2 - a.c++ 0 5"},
		{"a.py:6", "0 a.py - 0 6"},
		{".c:7", "0 .c - 0 7"},
		{"x.c", "1 - x.c 0 0"},
		{"net::server::read(char const*) const",
				"1 - net::server::read(char const*) const 0 0"},
		{"a::b<c:d>", "1 - a::b<c:d> 0 0"},
		{"f*", "1 - f* 1 0"},
		{"f?", "1 - f? 1 0"},
		{"f[a]", "1 - f[a] 1 0"},
		{"f(*)", "1 - f(*) 0 0"},
		{"operator*", "1 - operator* 0 0"},
		{"x::operator[]", "1 - x::operator[] 0 0"},
		{"f*operator", "1 - f*operator 1 0"},
		{"f*+1", "-22 `f*+1` can match many functions, and an offset needs one"},
		{"f*+0", "1 - f* 1 0"},
		{"f<a*>", "1 - f<a*> 0 0"},
		{"", "-22 `` is not a location in a program"},
		{":main", "-22 missing name of a library before `:main`"},
		{"lib:x.c:3", "2 lib x.c 0 3"},
		{"lib:lib2:f", "-22 `lib2:f` is not a location in a program"},
		{"a b+3", "1 - a b 0 3"},
		{"a+b+3", "1 - a+b 0 3"},
		{"lib:+1", "1 lib +1 0 0"},
		{"lib:12", "0 lib - 0 12"},
		{"operator+", "1 - operator+ 0 0"},
		{"x:y", "1 x y 0 0"},
		{"(a:b)", "1 - (a:b) 0 0"},
		{"plt:open", "1 - open 0 0 plt"},
		{"open@plt", "1 - open 0 0 plt"},
		{"plt:open@plt", "1 - open 0 0 plt"},
		{"plt:o*n", "1 - o*n 1 0 plt"},
		{"libc:plt:open", "1 libc open 0 0 plt"},
		{"libc:open@plt", "1 libc open 0 0 plt"},
		{"plt:a::b(int)", "1 - a::b(int) 0 0 plt"},
		{"a::b(int)@plt", "1 - a::b(int) 0 0 plt"},
		{"plt:", "-22 missing name of the function that the PLT entry calls"},
		{"@plt", "-22 missing name of the function that the PLT entry calls"},
		{"libc:plt:", "-22 missing name of the function that the PLT entry calls"},
		{"plt::open", "1 - plt::open 0 0"},
		{"plt.so:open", "1 plt.so open 0 0"},
		{"xplt:open", "1 xplt open 0 0"},
		{"open@plt+4", "1 - open@plt 0 4"},
		{"open@pl", "1 - open@pl 0 0"},
};

/* Each ending of a source file, and other endings. */
static void check_endings(void)
{
	static const char *const ends[] = {".c", ".cc", ".cpp", ".cxx", ".C", ".c++", ".h", ".hh",
			".hpp", ".hxx", ".inc", ".rs", ".go", ".d", ".f", ".f90", ".s", ".S", ".m",
			".zig", ".y", ".l", ".tcc", ".ipp", ".o", ".so", ".x", "c"};

	for (size_t i = 0; i < LENGTH(ends); i++) {
		char text[32], name[16];
		struct error error;
		struct parsed_spec spec;

		(void)snprintf(name, sizeof(name), "pot%s", ends[i]);
		(void)snprintf(text, sizeof(text), "%s:%zu", name, i + 70);
		assert_int_equal(spec_parse(text, &spec, &error), 0);
		assert_int_equal(spec.kind == SPEC_LINE, i < 24);
		assert_true(spec.kind != SPEC_LINE ||
				(!spec.library && !strcmp(spec.name, name) &&
						spec.number == i + 70));
		spec_free(&spec);
	}
}

static void test_specs(void **unused)
{
	char text[SPEC_TEXT_MAX + 2];

	(void)unused;
	check_endings();
	check_all(specs, LENGTH(specs), show_spec);
	memset(text, 'f', sizeof(text));
	text[SPEC_TEXT_MAX + 1] = '\0';
	show_spec(text);
	assert_string_equal(shown, "-22 the specification of the location is too long");
	text[SPEC_TEXT_MAX] = '\0';
	show_spec(text);
	assert_int_equal(strlen(shown), strlen("1 -  0 0") + SPEC_TEXT_MAX);
}

static void test_numbers(void **unused)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t number;
	} numbers[] = {{"0", true, 0}, {"9", true, 9}, {"10", true, 10}, {"017", true, 15},
			{"00", true, 0}, {"0x0", true, 0}, {"0X1f", true, 31}, {"0xaF", true, 175},
			{"0xg", false, 0}, {"0x", false, 0}, {"08", false, 0}, {"a", false, 0},
			{"1a", false, 0}, {"1/", false, 0}, {"1:", false, 0}, {"0x/", false, 0},
			{"0x@", false, 0}, {"0x`", false, 0}, {"0xG", false, 0}, {"", false, 0},
			{"18446744073709551615", true, UINT64_MAX},
			{"18446744073709551616", false, 0}, {"18446744073709551620", false, 0},
			{"184467440737095516150", false, 0},
			{"0xffffffffffffffff", true, UINT64_MAX}, {"0x10000000000000000", false, 0},
			{"01777777777777777777777", true, UINT64_MAX}};
	uint64_t number;

	(void)unused;
	for (size_t i = 0; i < LENGTH(numbers); i++) {
		assert_int_equal(spec_number(numbers[i].text, strlen(numbers[i].text), &number),
				numbers[i].ok);
		if (numbers[i].ok)
			assert_int_equal(number, numbers[i].number);
	}
	assert_true(spec_number("123", 2, &number));
	assert_int_equal(number, 12);
	assert_true(spec_number("0x12", 3, &number));
	assert_int_equal(number, 1);
}

/* ---- names with types ---- */

static void show_plainly(const char *text)
{
	strcpy(shown, text);
	spelling_normalize(shown);
}

static void show_template(const char *text)
{
	bool some;

	strcpy(shown, text);
	some = spelling_drop_arguments(shown);
	strcat(shown, some ? " 1" : " 0");
}

static void show_written(const char *text)
{
	size_t begin, end = spelling_plain_name(text, &begin);

	sprintf(shown, "%zu %zu", begin, end);
}

static const struct case_of plainly[] = {
		{"a :: b", "a::b"},
		{"unsigned int", "unsigned int"},
		{"int * p", "int*p"},
		{"const x", "const x"},
		{"a _b", "a _b"},
		{"a9 b", "a9b"},
		{" a", "a"},
		{"b a", "b a"},
		{"z b", "z b"},
		{"a  b", "a b"},
		{"A B", "A B"},
		{"a 9", "a9"},
		{"a ,b", "a,b"},
		{"std::vector<int, std::allocator<int> >", "std::vector<int>"},
		{"std::map<int,int,std::less<int>,std::allocator<std::pair<int const,int>>>",
				"std::map<int,int>"},
		{"std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
				"std::string"},
		{"std::unique_ptr<x,std::default_delete<x>>", "std::unique_ptr<x>"},
		{"std::unordered_map<a,b,std::hash<a>,std::equal_to<a>,std::allocator<c>>",
				"std::unordered_map<a,b>"},
		{"x<int,std::hash<decltype(a->b)>>y", "x<int>y"},
		{"v<int,std::allocator<int", "v<int,std::allocator<int"},
		{"std::__cxx11::basic_string<char>", "std::string"},
		{"std::basic_string<char> const&", "std::string const&"},
		{"std::basic_string<char>a", "std::string a"},
		{"std::basic_string<char>z", "std::string z"},
		{"std::basic_string<char>A", "std::stringA"},
		{"std::basic_string<char>,std::basic_string<char>", "std::string,std::string"},
		{"f(const char*)", "f(char const*)"},
		{"f(int,const std::vector<int>&)", "f(int,std::vector<int>const&)"},
		{"a<const int>", "a<int const>"},
		{"const int x", "const int x"},
		{"f(volatile const int*)", "f(volatile const int*)"},
		{"f(const int", "f(int const"},
		{"f(const a<b*,c>&)", "f(a<b*,c>const&)"},
		{"f(const a&,const b&)", "f(a const&,b const&)"},
		{"f(const a)", "f(a const)"},
		{"f(int, const char *)", "f(int,char const*)"},
		{"f(const std::string&)", "f(std::string const&)"},
		{"f(const std::basic_string<char, std::char_traits<char>, std::allocator<char> >&)",
				"f(std::string const&)"},
};

static const struct case_of templates[] = {{"f", "f 0"}, {"f<int>", "f 1"},
		{"f<int>::g<long>", "f::g 1"}, {"a<b<c>, d>::e", "a::e 1"}, {"f<int", "f<int 0"},
		{"operator<x>", "operator<x> 0"}, {"perator<x>", "perator 1"},
		{"a<b>::operator<x>", "a::operator<x> 1"}, {"f<decltype(a->b)>c", "fc 1"},
		{"<a>", " 1"}, {"f<a>>", "f> 1"}};

static const struct case_of written[] = {{"f", "0 1"}, {"f(int)", "0 1"}, {"ab(int) const", "0 2"},
		{"f(void (*)(int))", "0 1"}, {"(anonymous namespace)::f(int)", "0 24"},
		{"(anonymous namespace)", "0 21"}, {"int f<int>(int)", "4 10"},
		{"std::pair<int, int> make<int>(int)", "20 29"},
		{"bool operator int(char)", "5 17"}, {"a b c(d)", "4 5"}, {"", "0 0"},
		{"f)", "0 2"}, {"void (x y) g()", "11 12"}};

static void test_written(void **unused)
{
	(void)unused;
	check_all(plainly, LENGTH(plainly), show_plainly);
	check_all(templates, LENGTH(templates), show_template);
	check_all(written, LENGTH(written), show_written);
}

/* ---- operands of markers ---- */

static void show_operands(const char *text)
{
	static struct value values[OPERANDS_MAX];
	struct error error;
	size_t count;
	int ret = operands_read(text, NULL, values, &count, &error);

	for (size_t i = 0; i < count && !ret; i++)
		show_value(&values[i]);
	if (ret)
		show_error(ret, &error);
}

static const struct case_of operands[] = {
		{"", ""},
		{"8@%rdi", "arg1 1/8/0 2:5:0:0"},
		{"-4@%eax", "arg1 2/8/0 2:0:0:0 36:0:32:0 37:0:32:0"},
		{"4@%eax", "arg1 1/8/0 2:0:0:0 36:0:32:0 36:0:32:0"},
		{"-8@%rsi", "arg1 2/8/0 2:4:0:0"},
		{"8f@%xmm0", "arg1 5/8/0 3:0:0:0"},
		{"4f@%xmm1", "arg1 5/4/0 3:1:0:0"},
		{"2f@%xmm1", "arg1 1/8/0 3:1:0:0 36:0:16:0"},
		{"1@%ah", "arg1 1/8/0 2:0:0:0 35:0:8:0 36:0:8:0 36:0:8:0"},
		{"2@%r11w", "arg1 1/8/0 2:11:0:0 36:0:16:0 36:0:16:0"},
		{"-1@%sil", "arg1 2/8/0 2:4:0:0 36:0:8:0 37:0:8:0"},
		{"8@$-5", "arg1 1/8/0 1:0:0:-5"},
		{"4@$0x10", "arg1 1/8/0 1:0:0:16 36:0:32:0"},
		{"-2@$7", "arg1 2/8/0 1:0:0:7 37:0:16:0"},
		{"8@-20(%rbp)", "arg1 1/8/0 2:6:0:0 32:0:0:-20 34:0:8:0"},
		{"-8@(%rdx,%rcx,8)", "arg1 2/8/0 2:1:0:0 33:2:3:0 34:0:8:0"},
		{"2@4(%rax,%r9)", "arg1 1/8/0 2:0:0:0 32:0:0:4 33:9:0:0 34:0:2:0 36:0:16:0"},
		{"8@8+16(%rdi)", "arg1 1/8/0 2:5:0:0 32:0:0:24 34:0:8:0"},
		{"8@(,%rcx,4)", "arg1 1/8/0 1:0:0:0 33:2:2:0 34:0:8:0"},
		{"8@(%rax,%rcx,3)", "-22 there is no such index in the operand `)` of the marker"},
		{"8@(%rax,%rcx,16)", "-22 there is no such index in the operand `)` of the marker"},
		{"8@(%rax,%rcx,0)", "-22 there is no such index in the operand `)` of the marker"},
		{"8@(%rax,%ecx)", "-22 there is no such index in the operand `)` of the marker"},
		{"8@(%rax,%rip)", "-22 there is no such index in the operand `)` of the marker"},
		{"8@(%eax)", "-22 there is no such base in the operand `)` of the marker"},
		{"8@(%xmm1)", "-22 there is no such base in the operand `)` of the marker"},
		{"8@(%rip)", "-22 the address is missing in the operand `)` of the marker"},
		{"8@16(%rip)", "-22 the address is missing in the operand `)` of the marker"},
		{"8@foo(%rax)", "-22 the symbol `foo` of the marker is not in its file"},
		{"8@foo", "-22 the symbol `foo` of the marker is not in its file"},
		{"8@$foo", "-22 the symbol `foo` of the marker is not in its file"},
		{"8@-foo", "-22 there is an unknown character in the operand `foo` of the marker"},
		{"8@+5", "arg1 1/8/0 1:0:0:5 34:0:8:0"},
		{"8@5", "arg1 1/8/0 1:0:0:5 34:0:8:0"},
		{"%rdi", "arg1 1/8/0 2:5:0:0"},
		{"%edi", "arg1 1/8/0 2:5:0:0 36:0:32:0"},
		{"$3", "arg1 1/8/0 1:0:0:3"},
		{"3@%rdi", "-22 there is no size that a value can have in the operand `@%rdi` of the marker"},
		{"16@%rdi", "-22 there is no size that a value can have in the operand `@%rdi` of the marker"},
		{"99@%rdi", "-22 there is no size that a value can have in the operand `@%rdi` of the marker"},
		{"100@%rdi", "-22 there is no size that a value can have in the operand `@%rdi` of the marker"},
		{"0@%rdi", "-22 there is no size that a value can have in the operand `@%rdi` of the marker"},
		{"-@%rdi", "-22 there is no size that a value can have in the operand `@%rdi` of the marker"},
		{"8-@%rdi", "-22 there is no size that a value can have in the operand `-@%rdi` of the marker"},
		{"8@", "-22 there is no address in the operand `` of the marker"},
		{"8@%", "-22 there is no such register in the operand `%` of the marker"},
		{"8@%rdi%rsi", "-22 there is an unknown character in the operand `%rsi` of the marker"},
		{"8@%rdi,", "-22 there is an unknown character in the operand `,` of the marker"},
		{"8@(%rdi", "-22 a parenthesis is missing in the operand `` of the marker"},
		{"8@(%rdi,)", "-22 there is no index in the operand `)` of the marker"},
		{"8@(%rdi,x)", "-22 there is no index in the operand `x)` of the marker"},
		{"8@(%rdi,%rsi,", "-22 there is no number in the operand `` of the marker"},
		{"8@(%rdi,%rsi,y)", "-22 there is no number in the operand `y)` of the marker"},
		{"8@$", "-22 there is no number in the operand `` of the marker"},
		{"8@1x2", "-22 there is no number in the operand `1x2` of the marker"},
		{"8@08", "-22 there is no number in the operand `08` of the marker"},
		{"8@%rdi  -4@$-1 ", "arg1 1/8/0 2:5:0:0; arg2 2/8/0 1:0:0:-1 37:0:32:0"},
		{"8@%rdi x@y", "-22 the symbol `x@y` of the marker is not in its file"},
		{"8@%r99", "-22 there is no such register in the operand `%r99` of the marker"},
		{"8@1+", "-22 there is an unknown character in the operand `` of the marker"},
		{"8@4-2(%rdi)", "arg1 1/8/0 2:5:0:0 32:0:0:2 34:0:8:0"},
		{"8@%rflags", "arg1 1/8/0 2:49:0:0"},
		{"8@%rip", "arg1 1/8/0 2:16:0:0"},
		{"8@%xmm3", "arg1 1/8/0 3:3:0:0"},
		{"-4@%xmm3", "arg1 2/8/0 3:3:0:0 37:0:32:0"},
		{"8@(%rdi)x", "-22 there is an unknown character in the operand `x` of the marker"},
		{"8@(%r15)", "arg1 1/8/0 2:15:0:0 34:0:8:0"},
		{"@8", "-22 there is no size that a value can have in the operand `@8` of the marker"},
		{"f@%rdi", "-22 there is no size that a value can have in the operand `@%rdi` of the marker"},
};

static void test_operands(void **unused)
{
	char text[8 * (OPERANDS_MAX + 1)] = "", name[600];
	static struct value values[OPERANDS_MAX];
	struct error error;
	size_t count;

	(void)unused;
	check_all(operands, LENGTH(operands), show_operands);
	for (unsigned int i = 0; i < OPERANDS_MAX; i++)
		strcat(text, " %rdi");
	assert_int_equal(operands_read(text, NULL, values, &count, &error), 0);
	assert_int_equal(count, OPERANDS_MAX);
	assert_string_equal(values[OPERANDS_MAX - 1].name, "arg40");
	strcat(text, " %rdi");
	show_operands(text);
	assert_string_equal(shown, "-7 the marker has too many operands");
	memset(name, 's', sizeof(name));
	name[512] = '\0';
	show_operands(name);
	assert_non_null(strstr(shown, "the name is too long in the operand"));
	name[511] = '\0';
	show_operands(name);
	assert_non_null(strstr(shown, "of the marker is not in its file"));
}

/* ---- values ---- */

static void show_typed(const char *text)
{
	struct error error;
	struct value value;
	int ret = spec_value(text, NULL, &value, &error);

	if (ret)
		show_error(ret, &error);
	else
		show_value(&value);
	sprintf(shown + strlen(shown), " (%d%d%d)", spec_is_value(text), spec_seems_value(text),
			resolve_is_context(text));
}

static void show_context(const char *text)
{
	struct value values[SPEC_CONTEXT_MAX];
	struct error error;
	size_t count;
	int ret = spec_context(text, NULL, values, &count, &error);

	for (size_t i = 0; i < count && !ret; i++)
		show_value(&values[i]);
	if (ret)
		show_error(ret, &error);
}

static const struct case_of values_of_users[] = {
		{"s32:n:%edi", "n 2/4/0 2:5:0:0 36:0:32:0 (111)"},
		{"u8:a:%al", "a 1/1/0 2:0:0:0 36:0:8:0 (111)"},
		{"u8:a:%ah", "a 1/1/0 2:0:0:0 35:0:8:0 36:0:8:0 (111)"},
		{"u16:a:%ax", "a 1/2/0 2:0:0:0 36:0:16:0 (111)"},
		{"u64:a:%rdi", "a 1/8/0 2:5:0:0 (111)"},
		{"x8:a:%al", "a 3/1/0 2:0:0:0 36:0:8:0 (111)"},
		{"x64:p:%rdi", "p 3/8/0 2:5:0:0 (111)"},
		{"bool:b:%dl", "b 4/1/0 2:1:0:0 36:0:8:0 (111)"},
		{"f64:x:%xmm3", "x 5/8/0 3:3:0:0 (111)"},
		{"float:x:%xmm0", "x 5/4/0 3:0:0:0 (111)"},
		{"f32:x:%xmm15", "x 5/4/0 3:15:0:0 (111)"},
		{"double:x:*%rsp", "x 5/8/0 guarded 2:7:0:0 34:0:8:0 34:0:8:0 (111)"},
		{"int:n:%rdi+4", "n 2/4/0 guarded 2:5:0:0 32:0:0:4 34:0:4:0 (111)"},
		{"long:n:%rdi-0x10", "n 2/8/0 guarded 2:5:0:0 32:0:0:-16 34:0:8:0 (111)"},
		{"uint:n:(%rdi)", "n 1/4/0 guarded 2:5:0:0 34:0:4:0 (111)"},
		{"ulong:n:*%rdi", "n 1/8/0 guarded 2:5:0:0 34:0:8:0 34:0:8:0 (111)"},
		{"short:n:**%rdi", "n 2/2/0 guarded 2:5:0:0 34:0:8:0 34:0:8:0 34:0:2:0 (111)"},
		{"char:n:*(%rdi+8)+4",
				"n 2/1/0 guarded 2:5:0:0 32:0:0:8 34:0:8:0 32:0:0:4 34:0:1:0 (111)"},
		{"ushort:n:4096", "n 1/2/0 guarded 1:0:0:4096 34:0:2:0 (111)"},
		{"uchar:n:0", "n 1/1/0 guarded 1:0:0:0 34:0:1:0 (111)"},
		{"size_t:n:%rax", "n 1/8/0 2:0:0:0 (111)"},
		{"int32_t:n:%eax", "n 2/4/0 2:0:0:0 36:0:32:0 (111)"},
		{"uint8_t:n:%al", "n 1/1/0 2:0:0:0 36:0:8:0 (111)"},
		{"int64_t:n:%rax", "n 2/8/0 2:0:0:0 (111)"},
		{"int8:n:%al", "n 2/1/0 2:0:0:0 36:0:8:0 (111)"},
		{"uint64:n:%rax", "n 1/8/0 2:0:0:0 (111)"},
		{"char_t:n:%al", "-22 there is no type `char_t` (010)"},
		{"u8_t:n:%al", "-22 there is no type `u8_t` (010)"},
		{"ptr:n:%rax", "n 3/8/0 2:0:0:0 (111)"},
		{"pointer:n:%rax+1", "n 3/8/0 guarded 2:0:0:0 32:0:0:1 34:0:8:0 (111)"},
		{"string:name:%rdi", "name 6/1/256 guarded 2:5:0:0 (111)"},
		{"string:name:*(*(%rdi+0x10)+8)",
				"name 6/1/256 guarded 2:5:0:0 32:0:0:16 34:0:8:0 32:0:0:8 34:0:8:0 (111)"},
		{"string[16]:s:%rsi", "s 6/1/16 guarded 2:4:0:0 (111)"},
		{"string[4096]:s:%rsi", "s 6/1/4096 guarded 2:4:0:0 (111)"},
		{"string[4097]:s:%rsi", "-22 there is no type `string[4097]` (010)"},
		{"string[0]:s:%rsi", "-22 there is no type `string[0]` (010)"},
		{"string[:s:%rsi", "-22 there is no type `string[` (010)"},
		{"string[5:s:%rsi", "-22 there is no type `string[5` (010)"},
		{"bytes:b:%rsp", "b 7/1/16 guarded 2:7:0:0 (111)"},
		{"bytes[16]:raw:%rsp-8", "raw 7/1/16 guarded 2:7:0:0 32:0:0:-8 (111)"},
		{"bytes[1]:b:%rsp", "b 7/1/1 guarded 2:7:0:0 (111)"},
		{"int[4]:b:%rsp", "-22 there is no type `int[4]` (010)"},
		{"u8:a:%xmm1+1",
				"-22 a vector register is not an address at `1` in `%xmm1+1` (111)"},
		{"u8:a:*%xmm1", "-22 a vector register is not an address at the end of `*%xmm1` (111)"},
		{"string:a:%xmm1",
				"-22 a vector register is not an address at the end of `%xmm1` (111)"},
		{"u8:a:%rdi+", "-22 there is no number at the end of `%rdi+` (111)"},
		{"u8:a:%rdi+09",
				"-22 there is no number (one that begins with 0 is octal) at `09` in `%rdi+09` (111)"},
		{"u8:a:%rdi+0y", "-22 there is text after the ADDR at `y` in `%rdi+0y` (111)"},
		{"u8:a:%rdi+18446744073709551616",
				"-22 there is no number that fits 64 bits at `18446744073709551616` in `%rdi+18446744073709551616` (111)"},
		{"u8:a:%rdi)", "-22 there is text after the ADDR at `)` in `%rdi)` (111)"},
		{"u8:a:(%rdi", "-22 a parenthesis is missing at the end of `(%rdi` (111)"},
		{"u8:a:", "-22 a register, a number or a name is missing in the ADDR `` (111)"},
		{"u8:a:*", "-22 a register, a number or a name is missing at the end of `*` (111)"},
		{"u8:a:%foo", "-22 there is no such register in the ADDR `%foo` (111)"},
		{"u8:a:foo", "-22 the program has no symbol `foo` (111)"},
		{"u8:a:lib:foo",
				"-22 `lib:foo` is not in the program, where the probe is: it can read symbols of its own file only (111)"},
		{"u8:a:net::foo", "-22 the program has no symbol `net::foo` (111)"},
		{"u8::%al", "-22 `u8::%al` has no valid name for a field (010)"},
		{"u8:a", "-22 `u8:a` does not have the form TYPE:NAME:ADDR (000)"},
		{"u8", "-22 `u8` does not have the form TYPE:NAME:ADDR (000)"},
		{"u8:a:%al x", "-22 there is text after the ADDR at ` x` in `%al x` (111)"},
		{"nope:a:%al", "-22 there is no type `nope` (010)"},
		{"u7:a:%al", "-22 there is no type `u7` (010)"},
		{"u8:1:%al", "_1 1/1/0 2:0:0:0 36:0:8:0 (111)"},
		{"u8:a.b:%al", "a_b 1/1/0 2:0:0:0 36:0:8:0 (111)"},
		{"nope::%al", "-22 there is no type `nope` (010)"},
		{"a::b:%al", "-22 there is no type `a` (000)"},
		{"a::b", "-22 there is no type `a` (000)"},
		{"a:b:c", "-22 there is no type `a` (010)"},
		{"a:b::c", "-22 there is no type `a` (000)"},
		{"*a:b:c", "-22 there is no type `*a` (000)"},
		{":b:c", "-22 there is no type `` (000)"},
		{"a[1]:b:%x", "-22 there is no type `a[1]` (010)"},
		{"u8:a:08", "-22 there is no number (one that begins with 0 is octal) in the ADDR `08` (111)"},
		{"u8:a:0x", "-22 there is no number that fits 64 bits in the ADDR `0x` (111)"},
		{"u8:a:99999999999999999999",
				"-22 there is no number that fits 64 bits in the ADDR `99999999999999999999` (111)"},
		{"u8:a:(((((((((((((((%rdi)))))))))))))))",
				"a 1/1/0 guarded 2:5:0:0 34:0:1:0 (111)"},
		{"u8:a:((((((((((((((((%rdi))))))))))))))))",
				"a 1/1/0 guarded 2:5:0:0 34:0:1:0 (111)"},
		{"u8:a:(((((((((((((((((%rdi)))))))))))))))))",
				"-22 there are too many levels at `%rdi)))))))))))))))))` in `(((((((((((((((((%rdi)))))))))))))))))` (111)"},
		{"u8:a:****************%rdi",
				"a 1/1/0 guarded 2:5:0:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:8:0 34:0:1:0 (111)"},
		{"u8:a:*****************%rdi",
				"-22 there are too many levels at `%rdi` in `*****************%rdi` (111)"},
		{"u8:a:*(%rdi)+3-1", "a 1/1/0 guarded 2:5:0:0 34:0:8:0 32:0:0:2 34:0:1:0 (111)"},
		{"regs", "-22 `regs` does not have the form TYPE:NAME:ADDR (001)"},
		{"reg:rax", "-22 `reg:rax` does not have the form TYPE:NAME:ADDR (001)"},
		{"backtrace", "-22 `backtrace` does not have the form TYPE:NAME:ADDR (001)"},
		{"exit:u8:a:%al", "-22 there is no type `exit` (011)"},
		{"intx_t:a:%al", "-22 there is no type `intx_t` (010)"},
		{"t_t:a:%al", "-22 there is no type `t_t` (010)"},
		{"_t:a:%al", "-22 there is no type `_t` (010)"},
};

static const struct case_of contexts[] = {
		{"regs", "rax 3/8/0 2:0:0:0; rdx 3/8/0 2:1:0:0; rcx 3/8/0 2:2:0:0; rbx 3/8/0 2:3:0:0; rsi 3/8/0 2:4:0:0; rdi 3/8/0 2:5:0:0; rbp 3/8/0 2:6:0:0; rsp 3/8/0 2:7:0:0; r8 3/8/0 2:8:0:0; r9 3/8/0 2:9:0:0; r10 3/8/0 2:10:0:0; r11 3/8/0 2:11:0:0; r12 3/8/0 2:12:0:0; r13 3/8/0 2:13:0:0; r14 3/8/0 2:14:0:0; r15 3/8/0 2:15:0:0; rip 3/8/0 2:16:0:0; rflags 3/8/0 2:49:0:0"},
		{"reg:rax", "rax 3/8/0 2:0:0:0"},
		{"reg:%ah", "ah 3/8/0 2:0:0:0 35:0:8:0 36:0:8:0"},
		{"reg:xmm2", "xmm2 3/8/0 3:2:0:0"},
		{"reg:nope", "-22 there is no register `nope`"},
		{"reg:", "-22 there is no register ``"},
		{"backtrace", "backtrace 8/8/32 10:0:0:0"},
		{"u8:a:%al", "a 1/1/0 2:0:0:0 36:0:8:0"},
		{"nope", "-22 `nope` does not have the form TYPE:NAME:ADDR"},
};

static void test_typed(void **unused)
{
	char text[700];

	(void)unused;
	check_all(values_of_users, LENGTH(values_of_users), show_typed);
	check_all(contexts, LENGTH(contexts), show_context);
	/* Names of fields and of symbols that are too long. */
	for (size_t length = FETCH_NAME_MAX - 2; length < FETCH_NAME_MAX + 2; length++) {
		memset(text, 'n', sizeof(text));
		memcpy(text, "u8:", 3);
		strcpy(text + 3 + length, ":%al");
		*shown = '\0';
		show_typed(text);
		assert_int_equal(!strncmp(shown, "-22 ", 4), length > FETCH_NAME_MAX - 1);
	}
	for (size_t length = 511; length < 513; length++) {
		memset(text, 's', sizeof(text));
		memcpy(text, "u8:n:", 5);
		text[5 + length] = '\0';
		show_typed(text);
		assert_int_equal(!strncmp(shown, "-22 the program has no symbol `ss", 33),
				length < 512);
	}
}

/* ---- symbols of a file ---- */

static struct {
	Elf64_Ehdr header;
	Elf64_Shdr sections[4];
	char names[24], texts[64];
	Elf64_Sym symbols[5];
} image;
static char module_path[] = "/bin/kitchen";
static struct resolve_module module = {.path = module_path, .name = "kitchen", .fd = -1};

static void set_symbol(
		size_t i, const char *name, unsigned int type, unsigned int section, uint64_t value)
{
	size_t used = 1;

	while (image.texts[used])
		used += strlen(image.texts + used) + 1;
	strcpy(image.texts + used, name);
	image.symbols[i] = (Elf64_Sym){.st_name = (uint32_t)used,
			.st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type),
			.st_shndx = (uint16_t)section,
			.st_value = value,
			.st_size = 8};
}

static void open_image(void)
{
	image.header = (Elf64_Ehdr){.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_shoff = (uint64_t)((char *)image.sections - (char *)&image),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 4,
			.e_shstrndx = 1};
	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] = ELFDATA2LSB;
	image.header.e_ident[EI_VERSION] = EV_CURRENT;
	set_symbol(1, "counter", STT_OBJECT, 1, 0x5000);
	set_symbol(2, "of_thread", STT_TLS, 1, 0x18);
	set_symbol(3, "elsewhere", STT_OBJECT, SHN_UNDEF, 0x6000);
	set_symbol(4, "ns::count", STT_OBJECT, 1, 0x7000);
	for (size_t i = 1; i < 4; i++) {
		const char *begin = i == 1 ? image.names
				: i == 2   ? image.texts
					   : (const char *)image.symbols;

		image.sections[i] = (Elf64_Shdr){.sh_type = i == 3 ? SHT_SYMTAB : SHT_STRTAB,
				.sh_offset = (uint64_t)(begin - (const char *)&image),
				.sh_size = i == 1        ? sizeof(image.names)
						: i == 2 ? sizeof(image.texts)
							 : sizeof(image.symbols),
				.sh_addralign = 1,
				.sh_link = i == 3 ? 2 : 0,
				.sh_entsize = i == 3 ? sizeof(Elf64_Sym) : 0};
	}
	(void)elf_version(EV_CURRENT);
	module.elf = elf_memory((char *)&image, sizeof(image));
	assert_non_null(module.elf);
}

static void show_with_symbols(const char *text)
{
	static struct value values[OPERANDS_MAX];
	struct error error;
	size_t count = 1;
	int ret = strchr(text, '@') ? operands_read(text, &module, values, &count, &error)
				    : spec_value(text, &module, values, &error);

	for (size_t i = 0; i < count && !ret; i++)
		show_value(&values[i]);
	if (ret)
		sprintf(shown, "%d %s | %s", ret, error.text, error.hint);
}

static const struct case_of with_symbols[] = {
		{"u64:n:counter", "n 1/8/0 guarded 4:0:0:20480 34:0:8:0"},
		{"s32:n:counter+12", "n 2/4/0 guarded 4:0:0:20492 34:0:4:0"},
		{"u8:n:*counter-4", "n 1/1/0 guarded 4:0:0:20480 34:0:8:0 32:0:0:-4 34:0:1:0"},
		{"string:n:counter", "n 6/1/256 guarded 4:0:0:20480"},
		{"u64:n:kitchen:counter", "n 1/8/0 guarded 4:0:0:20480 34:0:8:0"},
		{"u64:n:*(kitchen:counter+8)", "n 1/8/0 guarded 4:0:0:20488 34:0:8:0 34:0:8:0"},
		{"u64:n:libc:counter",
				"-22 `libc:counter` is not in kitchen, where the probe is: it can read symbols of its own file only | probe a function of that library, or a pointer that leads there"},
		{"u64:n:kitchen:other",
				"-22 kitchen has no symbol `other` | registers are written with a %: %rdi"},
		{"u64:n:ns::count", "n 1/8/0 guarded 4:0:0:28672 34:0:8:0"},
		{"u64:n::counter",
				"-22 kitchen has no symbol `:counter` | registers are written with a %: %rdi"},
		{"u64:n:kitchen:ns::count", "n 1/8/0 guarded 4:0:0:28672 34:0:8:0"},
		{"u64:n:elsewhere",
				"-22 kitchen has no symbol `elsewhere` | registers are written with a %: %rdi"},
		{"u64:n:of_thread",
				"-22 `of_thread` is thread-local, and kitchen does not contain its location | probe a location where it is in a register"},
		{"u64:n:kitchen:of_thread",
				"-22 `of_thread` is thread-local, and kitchen does not contain its location | probe a location where it is in a register"},
		{"u64:n:counter:",
				"-22 `counter:` is not in kitchen, where the probe is: it can read symbols of its own file only | probe a function of that library, or a pointer that leads there"},
		{"u64:n:count", "-22 kitchen has no symbol `count` | registers are written with a %: %rdi"},
		{"8@counter", "arg1 1/8/0 4:0:0:20480 34:0:8:0"},
		{"8@counter(%rip)", "arg1 1/8/0 4:0:0:20480 34:0:8:0"},
		{"8@4+counter(%rip)", "arg1 1/8/0 4:0:0:20484 34:0:8:0"},
		{"8@counter+4(%rip)", "arg1 1/8/0 4:0:0:20484 34:0:8:0"},
		{"8@counter-4", "arg1 1/8/0 4:0:0:20476 34:0:8:0"},
		{"8@$counter", "arg1 1/8/0 4:0:0:20480"},
		{"8@counter(%rax)",
				"-22 there is a symbol with a base in the operand `)` of the marker | "},
		{"8@counter(,%rcx,4)", "arg1 1/8/0 4:0:0:20480 33:2:2:0 34:0:8:0"},
		{"8@counter(%rip,%rcx,4)", "arg1 1/8/0 4:0:0:20480 33:2:2:0 34:0:8:0"},
		{"8@counter+counter",
				"-22 there is an unknown character in the operand `counter` of the marker | "},
		{"8@elsewhere", "-22 the symbol `elsewhere` of the marker is not in its file | "},
		{"8@of_thread", "-22 the symbol `of_thread` of the marker is not in its file | "},
		{"-4@counter", "arg1 2/8/0 4:0:0:20480 34:0:4:0 37:0:32:0"},
		{"8@-counter", "-22 there is an unknown character in the operand `counter` of the marker | "},
		{"8@16+counter+2(%rip)", "arg1 1/8/0 4:0:0:20498 34:0:8:0"},
};

static void test_symbols(void **unused)
{
	(void)unused;
	open_image();
	check_all(with_symbols, LENGTH(with_symbols), show_with_symbols);
	elf_end(module.elf);
	module.elf = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_registers),
			cmocka_unit_test(test_register_names),
			cmocka_unit_test(test_sums),
			cmocka_unit_test(test_too_many_operations),
			cmocka_unit_test(test_kept_registers),
			cmocka_unit_test(test_operations_of_the_kernel),
			cmocka_unit_test(test_field_names),
			cmocka_unit_test(test_specs),
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_written),
			cmocka_unit_test(test_operands),
			cmocka_unit_test(test_typed),
			cmocka_unit_test(test_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
