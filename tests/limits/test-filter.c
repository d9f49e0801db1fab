/* SPDX-License-Identifier: MIT */
/* Limits of filters: of the text, of the compiled program, and of programs from other processes. */
#include "driver.h"

#include <errno.h>
#include <stdio.h>

#include "filter/program.h"

static struct filter_error error;
static unsigned char program[FILTER_PROGRAM_MAX + 64];
static size_t program_size;

/* Column 0 if it is accepted; the program is kept. */
static int parse(const char *text, unsigned int column)
{
	void *made = NULL;
	int ret;

	memset(&error, 0, sizeof(error));
	ret = filter_parse(text, &made, &program_size, &error);
	if (ret) {
		limit_problem = error.text;
		assert_null(made);
		assert_int_equal(error.column, column);
		return ret;
	}
	assert_true(program_size <= sizeof(program));
	memcpy(program, made, program_size);
	assert_int_equal(filter_verify(made, program_size, NULL), 0);
	free(made);
	return 0;
}

/* `begin`, `count` times `middle`, `end`. */
static const char *repeat(const char *begin, const char *middle, uint64_t count, const char *end)
{
	static char text[65536];
	char *at = stpcpy(text, begin);

	assert_true(strlen(begin) + count * strlen(middle) + strlen(end) < sizeof(text));
	for (uint64_t i = 0; i < count; i++)
		at = stpcpy(at, middle);
	stpcpy(at, end);
	return text;
}

/* ---- texts ---- */

static int whole_text(uint64_t count)
{
	return parse(repeat("a", " ", count - 1, ""), FILTER_PROGRAM_MAX + 1);
}

static int string(uint64_t count)
{
	return parse(repeat("a == \"", "x", count, "\""), 1031);
}

static int name(uint64_t count)
{
	return parse(repeat("", "x", count, ""), FILTER_TEXT_MAX + 1);
}

static int context(uint64_t count)
{
	return parse(repeat("$ctx.", "x", count, ""), FILTER_TEXT_MAX + 5 + 1);
}

static int members(uint64_t count)
{
	return parse(repeat("a", ".b", count - 1, ""), 64);
}

static int indexes(uint64_t count)
{
	return parse(repeat("a", "[1]", count - 1, ""), 2 + 3 * 31);
}

static int index_value(uint64_t count)
{
	char text[64];

	snprintf(text, sizeof(text), "a[%llu]", (unsigned long long)count);
	return parse(text, 3);
}

/* The expression itself is one level. */
static int signs(uint64_t count)
{
	return parse(repeat("", "!", count - 1, "a"), 101);
}

static int parentheses(uint64_t count)
{
	char text[256] = "";

	memset(text, '(', count - 1);
	text[count - 1] = 'a';
	memset(text + count, ')', count - 1);
	return parse(text, 101);
}

/* a+(a+(...a)) */
static int values(uint64_t count)
{
	char text[256] = "";

	for (uint64_t i = 1; i < count; i++)
		strcat(text, "a+(");
	strcat(text, "a");
	for (uint64_t i = 1; i < count; i++)
		strcat(text, ")");
	return parse(text, 49);
}

/* Each value and each operation is a part, and an instruction; one more returns the result. */
static int parts(uint64_t count)
{
	return parse(repeat(count % 2 ? "a" : "-a", "+a", (count - 1) / 2, ""),
			(unsigned int)count - 1);
}

/* A condition with texts, with which the program has `count` bytes. */
static int generated(uint64_t count)
{
	static char text[FILTER_PROGRAM_MAX];
	size_t size = 1;

	for (int round = 0; round < 2; round++) {
		*text = '\0';
		for (int i = 0; i < 15; i++) {
			strcat(text, "a==\"");
			strcat(text, limit_text('x', 990));
			strcat(text, "\"||");
		}
		strcat(text, "a==\"");
		strcat(text, limit_text('x', size));
		strcat(text, "\"");
		if (!round) {
			assert_int_equal(parse(text, 0), 0);
			size += count - program_size;
		}
	}
	return parse(text, 0);
}

static void test_expressions(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(whole_text, FILTER_PROGRAM_MAX, -E2BIG,
					"longer than 16384 bytes"),
			LIMIT_CASE(string, FILTER_TEXT_MAX, -EINVAL, "longer than 1024 bytes"),
			LIMIT_CASE(name, FILTER_TEXT_MAX, -EINVAL, "longer than 1024 bytes"),
			LIMIT_CASE(context, FILTER_TEXT_MAX, -EINVAL, "longer than 1024 bytes"),
			LIMIT_CASE(members, FILTER_STEPS_MAX, -EINVAL,
					"more than 32 names and indexes"),
			LIMIT_CASE(indexes, FILTER_STEPS_MAX, -EINVAL,
					"more than 32 names and indexes"),
			LIMIT_CASE(index_value, UINT32_MAX, -EINVAL,
					"an index larger than any array"),
			LIMIT_CASE(signs, 100, -E2BIG, "the expression is nested too deeply here"),
			LIMIT_CASE(parentheses, 100, -E2BIG,
					"the expression is nested too deeply here"),
			LIMIT_CASE(values, FILTER_STACK_MAX, -E2BIG,
					"nested too deeply: more than 16 values at a time here"),
			LIMIT_CASE(parts, FILTER_INSTRUCTIONS_MAX - 1, -E2BIG,
					"the expression has too many parts"),
			LIMIT_CASE(generated, FILTER_PROGRAM_MAX, -E2BIG,
					"the expression is too long"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
	limit_problem = "";
	assert_int_equal(parts(FILTER_INSTRUCTIONS_MAX + 1), -E2BIG);
	assert_string_equal(limit_problem, "the expression has more than 512 parts");
}

/* ---- programs ---- */

static unsigned int nr;
static size_t pool_size;
static unsigned char pool[4096];

static void begin(void)
{
	memset(program, 0, sizeof(program));
	nr = 0;
	pool_size = 0;
}

static void put(unsigned char *to, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (unsigned char)(value >> (8 * i));
}

static void instruction(unsigned int code, uint64_t value)
{
	unsigned char *at = program + PROGRAM_HEADER + nr++ * PROGRAM_INSTRUCTION;

	at[0] = (unsigned char)code;
	put(at + 8, value, 8);
}

static void pool_add(const void *bytes, size_t size)
{
	assert_true(pool_size + size <= sizeof(pool));
	memcpy(pool + pool_size, bytes, size);
	pool_size += size;
}

/* A program of `size` bytes, at least the size of the instructions and the pool. */
static int verify(size_t size)
{
	size_t least = PROGRAM_HEADER + nr * PROGRAM_INSTRUCTION + pool_size;

	memcpy(program, "SIDF", 4);
	program[4] = PROGRAM_VERSION;
	put(program + 6, nr, 2);
	memcpy(program + least - pool_size, pool, pool_size);
	size = size ? size : least;
	put(program + 8, size, 4);
	return filter_verify(program, size, &limit_problem) ? -EINVAL : 0;
}

static int program_steps(uint64_t count)
{
	unsigned char head[2] = {0, (unsigned char)count};

	begin();
	instruction(FILTER_CODE_FIELD, 0);
	instruction(FILTER_CODE_RETURN, 0);
	pool_add(head, 2);
	for (uint64_t i = 0; i < count; i++)
		pool_add("\0\1\0b", 5);
	return verify(0);
}

static int program_steps_least(uint64_t count)
{
	return program_steps(count);
}

static int program_text(uint64_t count)
{
	unsigned char size[2];

	begin();
	instruction(FILTER_CODE_TEXT, 0);
	instruction(FILTER_CODE_RETURN, 0);
	put(size, count, 2);
	pool_add(size, 2);
	pool_add(limit_text('x', count), count + 1);
	return verify(0);
}

static int program_values(uint64_t count)
{
	begin();
	for (uint64_t i = 0; i < count; i++)
		instruction(FILTER_CODE_INT, i);
	for (uint64_t i = 1; i < count; i++)
		instruction(FILTER_CODE_ADD, 0);
	instruction(FILTER_CODE_RETURN, 0);
	return verify(0);
}

static int program_instructions(uint64_t count)
{
	begin();
	instruction(FILTER_CODE_INT, 1);
	for (uint64_t i = 2; i < count; i++)
		instruction(FILTER_CODE_NEGATE, 0);
	instruction(FILTER_CODE_RETURN, 0);
	return verify(0);
}

static int program_bytes(uint64_t count)
{
	begin();
	instruction(FILTER_CODE_INT, 1);
	instruction(FILTER_CODE_RETURN, 0);
	return verify(count);
}

/* Less than its header and one instruction. */
static int program_bytes_least(uint64_t count)
{
	begin();
	if (count < PROGRAM_HEADER + PROGRAM_INSTRUCTION)
		return verify(count);
	limit_problem = "";
	instruction(FILTER_CODE_INT, 1);
	return verify(count) == -EINVAL && !strcmp(limit_problem, "it has no end") ? 0 : -EPROTO;
}

static void test_programs(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(program_steps, FILTER_STEPS_MAX, -EINVAL,
					"a path is damaged or not within the program"),
			LEAST_CASE(program_steps_least, 1, -EINVAL,
					"a path is damaged or not within the program"),
			LIMIT_CASE(program_text, FILTER_TEXT_MAX, -EINVAL,
					"a text is not within the program"),
			LIMIT_CASE(program_values, FILTER_STACK_MAX, -EINVAL,
					"it needs too many values at a time"),
			LIMIT_CASE(program_instructions, FILTER_INSTRUCTIONS_MAX, -EINVAL,
					"it has no instruction, or too many"),
			LIMIT_CASE(program_bytes, FILTER_PROGRAM_MAX, -EINVAL, "it is too long"),
			LEAST_CASE(program_bytes_least, PROGRAM_HEADER + PROGRAM_INSTRUCTION,
					-EINVAL, "it is too short"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_expressions),
			cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
