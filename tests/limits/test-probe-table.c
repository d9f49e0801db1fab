/* SPDX-License-Identifier: MIT */
/* Limits of probe tables: refusals of the writer, and refusals of the checks of both ends. */
#include "driver.h"

#include <errno.h>
#include <stdio.h>

#include "probe/table/format.h"

static int reason(const char *text)
{
	limit_problem = text ? text : "";
	return text ? -EINVAL : 0;
}

/* ---- fields ---- */

static struct probe_table_field fields[PROBE_TABLE_FIELDS_MAX + 1];
static char names[PROBE_TABLE_FIELDS_MAX + 1][16];

/* `count` numbers with different names. */
static void numbers(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		snprintf(names[i], sizeof(names[i]), "f%zu", i);
		fields[i] = (struct probe_table_field){
				.name = names[i], .type = PROBE_FIELD_UNSIGNED, .size = 8};
	}
}

static int field_count(uint64_t count)
{
	numbers(count);
	return reason(table_check_fields(fields, (uint32_t)count));
}

static int field_name(uint64_t count)
{
	numbers(1);
	fields[0].name = limit_text('n', count);
	return reason(table_check_fields(fields, 1));
}

/* No name begins with a digit. */
static void test_first_letters(void **state)
{
	static const char *const good[] = {"a9", "_", "Z0"},
				 *const bad[] = {"0a", "9a", ".a", ":a", "/a"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		numbers(1);
		fields[0].name = good[i];
		assert_null(table_check_fields(fields, 1));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		numbers(1);
		fields[0].name = bad[i];
		assert_string_equal(
				table_check_fields(fields, 1), "the name of a field is not valid");
	}
}

/* Each size of a type, alone and as an element of an array. Other sizes are refused. */
static void test_field_sizes(void **state)
{
	static const struct {
		uint8_t type;
		const char *alone, *element;
	} rows[] = {
			{PROBE_FIELD_UNSIGNED, "1 2 4 8 16", "1 2 4 8"},
			{PROBE_FIELD_SIGNED, "1 2 4 8 16", "1 2 4 8"},
			{PROBE_FIELD_HEX, "1 2 4 8 16", "1 2 4 8"},
			{PROBE_FIELD_FLOAT, "4 8 16", "4 8"},
			{PROBE_FIELD_BOOL, "1", ""},
			{PROBE_FIELD_STRING, "", "1"},
			{PROBE_FIELD_BYTES, "", "1"},
			{PROBE_FIELD_BACKTRACE, "", "8"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (uint16_t limit = 0; limit < 2; limit++) {
			char sizes[256] = "";

			for (unsigned int size = 0; size < 40; size++) {
				numbers(1);
				fields[0].type = rows[i].type;
				fields[0].size = (uint8_t)size;
				fields[0].limit = limit;
				if (!table_check_fields(fields, 1))
					sprintf(sizes + strlen(sizes), "%s%u", *sizes ? " " : "",
							size);
			}
			assert_string_equal(sizes, limit ? rows[i].element : rows[i].alone);
		}
}

/* The values of fields in order: those of the event first, then those of each structure. */
static void test_values(void **state)
{
	static const uint8_t inside[] = {3, 0, 1, 0, 0}, arg[] = {0, 2, 3, 4, 1},
			     first[] = {2, 4, 4, 5, 5}, number[] = {2, 0, 1, 0, 0};
	struct probe_table_nest nest;

	(void)state;
	memset(&nest, 0xee, sizeof(nest));
	probe_table_nest(&nest, inside, 5);
	assert_int_equal(nest.nr_top, 2);
	assert_memory_equal(nest.arg, arg, sizeof(arg));
	assert_memory_equal(nest.first, first, sizeof(first));
	assert_memory_equal(nest.number, number, sizeof(number));
	assert_int_equal(nest.arg[5], 0xee);
	assert_int_equal(nest.first[5], 0xee);
	assert_int_equal(nest.number[5], 0xee);
}

static int limited(unsigned int type, unsigned int size, uint64_t limit)
{
	numbers(1);
	fields[0].type = (uint8_t)type;
	fields[0].size = (uint8_t)size;
	fields[0].limit = (uint16_t)limit;
	return reason(table_check_fields(fields, 1));
}

static int field_string(uint64_t count)
{
	return limited(PROBE_FIELD_STRING, 1, count);
}

static int field_string_least(uint64_t count)
{
	return limited(PROBE_FIELD_STRING, 1, count);
}

static int field_bytes(uint64_t count)
{
	return limited(PROBE_FIELD_BYTES, 1, count);
}

static int field_numbers(uint64_t count)
{
	return limited(PROBE_FIELD_UNSIGNED, 8, count);
}

static int field_backtrace(uint64_t count)
{
	return limited(PROBE_FIELD_BACKTRACE, 8, count);
}

static int field_backtrace_least(uint64_t count)
{
	return limited(PROBE_FIELD_BACKTRACE, 8, count);
}

/* All fields are members of it. */
static int field_structure(uint64_t count)
{
	numbers(PROBE_TABLE_FIELDS_MAX);
	fields[0].type = PROBE_FIELD_STRUCT;
	fields[0].size = (uint8_t)count;
	return reason(table_check_fields(fields, PROBE_TABLE_FIELDS_MAX));
}

/* A structure of the last two fields, and one with more members than fields. */
static int field_members(uint64_t count)
{
	numbers(3);
	fields[0].type = PROBE_FIELD_STRUCT;
	fields[0].size = (uint8_t)count;
	return reason(table_check_fields(fields, 3));
}

/* Eight arrays of bytes, each with 8 bytes for its length. */
static int field_payload(uint64_t count)
{
	numbers(8);
	for (int i = 0; i < 8; i++) {
		fields[i].type = PROBE_FIELD_BYTES;
		fields[i].size = 1;
		fields[i].limit = 4096 - 8;
	}
	fields[7].limit = (uint16_t)(count - 7 * 4096 - 8);
	return reason(table_check_fields(fields, 8));
}

static int label_name(uint64_t count)
{
	char labels[512];

	snprintf(labels, sizeof(labels), "%s=1", limit_text('L', count));
	numbers(1);
	fields[0].labels = labels;
	return reason(table_check_fields(fields, 1));
}

static int label_number(uint64_t count)
{
	char labels[64], name[PROBE_TABLE_LABEL_MAX + 1];
	const char *at = labels;
	int64_t value;

	/* 18446744073709551610, with a last digit that is too large. */
	snprintf(labels, sizeof(labels), "L=1844674407370955161%llu", (unsigned long long)count);
	if (!probe_table_label(&at, name, &value))
		return -EINVAL;
	assert_true((uint64_t)value == UINT64_C(18446744073709551610) + count);
	return 0;
}

#define NO_SIZE "a field has a size that its type cannot have"

static void test_fields(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(field_count, PROBE_TABLE_FIELDS_MAX, -EINVAL,
					"an event has too many fields"),
			LIMIT_CASE(field_name, PROBE_TABLE_FIELD_NAME_MAX, -EINVAL,
					"the name of a field is not valid"),
			LIMIT_CASE(field_string, PROBE_TABLE_TEXT_MAX, -EINVAL, NO_SIZE),
			LEAST_CASE(field_string_least, 1, -EINVAL, NO_SIZE),
			LIMIT_CASE(field_bytes, PROBE_TABLE_TEXT_MAX, -EINVAL, NO_SIZE),
			LIMIT_CASE(field_numbers, PROBE_TABLE_TEXT_MAX / 8, -EINVAL, NO_SIZE),
			LIMIT_CASE(field_backtrace, PROBE_TABLE_BACKTRACE_MAX, -EINVAL, NO_SIZE),
			LEAST_CASE(field_backtrace_least, 1, -EINVAL, NO_SIZE),
			LIMIT_CASE(field_structure, PROBE_TABLE_FIELDS_MAX - 1, -EINVAL, NO_SIZE),
			LIMIT_CASE(field_members, 2, -EINVAL,
					"a structure has more members than there are"),
			LIMIT_CASE(field_payload, PROBE_TABLE_PAYLOAD_MAX, -EINVAL,
					"the fields of an event are too large"),
			LIMIT_CASE(label_name, PROBE_TABLE_LABEL_MAX, -EINVAL,
					"the labels of a field cannot be read"),
			LIMIT_CASE(label_number, 5, -EINVAL, ""),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* ---- operations ---- */

static int check_op(unsigned int code, unsigned int reg, unsigned int size, uint64_t value)
{
	const struct probe_fetch_op op = {.code = (uint8_t)code,
			.reg = (uint8_t)reg,
			.size = (uint8_t)size,
			.value = (int64_t)value};

	return reason(table_check_op(&op));
}

static int op_register(uint64_t count)
{
	return check_op(PROBE_FETCH_REGISTER, (unsigned int)count, 0, 0);
}

static int op_vector(uint64_t count)
{
	return check_op(PROBE_FETCH_VECTOR, (unsigned int)count, 0, 0);
}

static int op_scale(uint64_t count)
{
	return check_op(PROBE_FETCH_ADD_REGISTER, 0, (unsigned int)count, 0);
}

static int op_load(uint64_t count)
{
	return check_op(PROBE_FETCH_LOAD, 0, 1u << count, 0);
}

static int op_shift(uint64_t count)
{
	return check_op(PROBE_FETCH_SHIFT_RIGHT, 0, (unsigned int)count, 0);
}

static int op_zero_extend(uint64_t count)
{
	return check_op(PROBE_FETCH_ZERO_EXTEND, 0, (unsigned int)count, 0);
}

static int op_sign_extend(uint64_t count)
{
	return check_op(PROBE_FETCH_SIGN_EXTEND, 0, (unsigned int)count, 0);
}

static int op_sign_extend_least(uint64_t count)
{
	return check_op(PROBE_FETCH_SIGN_EXTEND, 0, (unsigned int)count, 0);
}

static int op_calculate(uint64_t count)
{
	return check_op(PROBE_FETCH_CALCULATE, 0, (unsigned int)count, 0);
}

static int op_calculate_least(uint64_t count)
{
	return check_op(PROBE_FETCH_CALCULATE, 0, (unsigned int)count, 0);
}

static int numbers_aside(uint64_t count)
{
	const struct probe_fetch_op push = {.code = PROBE_FETCH_PUSH},
				    take = {.code = PROBE_FETCH_CALCULATE, .size = PROBE_SUM_PLUS};
	unsigned int aside = 0;

	for (uint64_t i = 0; i < count; i++)
		if (reason(table_check_aside(&push, &aside)))
			return -EINVAL;
	for (uint64_t i = 0; i < count; i++)
		assert_null(table_check_aside(&take, &aside));
	assert_string_equal(table_check_aside(&take, &aside),
			"a fetch calculates with a number that it has not pushed");
	return 0;
}

#define NO_OPERAND "an operation has a size or a register that it cannot have"

static void test_operations(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(op_register, 16, -EINVAL, NO_OPERAND),
			LIMIT_CASE(op_vector, 15, -EINVAL, NO_OPERAND),
			LIMIT_CASE(op_scale, 63, -EINVAL, NO_OPERAND),
			LIMIT_CASE(op_load, 3, -EINVAL, NO_OPERAND),
			LIMIT_CASE(op_shift, 63, -EINVAL, NO_OPERAND),
			LIMIT_CASE(op_zero_extend, 64, -EINVAL, NO_OPERAND),
			LIMIT_CASE(op_sign_extend, 64, -EINVAL, NO_OPERAND),
			LEAST_CASE(op_sign_extend_least, 1, -EINVAL, NO_OPERAND),
			LIMIT_CASE(op_calculate, PROBE_SUM_GREATER_EQUAL, -EINVAL, NO_OPERAND),
			LEAST_CASE(op_calculate_least, PROBE_SUM_PLUS, -EINVAL, NO_OPERAND),
			LIMIT_CASE(numbers_aside, PROBE_TABLE_ASIDE_MAX, -EINVAL,
					"a fetch pushes too many numbers"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
	/* The flags are a register of their own. */
	assert_int_equal(op_register(49), 0);
	assert_int_equal(op_register(48), -EINVAL);
	assert_int_equal(op_register(50), -EINVAL);
}

/* ---- sites ---- */

/* `count` instructions of `length` bytes each. */
static struct probe_site site_of(unsigned int count, unsigned int length)
{
	struct probe_site site = {.address = 0x1000,
			.method = PROBE_JUMP,
			.patched = 5,
			.nr_pieces = (uint8_t)count,
			.displaced = (uint8_t)(count * length),
			.nr_bytes = (uint8_t)(count * length)};

	for (unsigned int i = 0; i < count && i < PROBE_PIECES_MAX; i++) {
		site.pieces[i].at = (uint8_t)(i * length);
		site.pieces[i].length = (uint8_t)length;
	}
	return site;
}

static int site_pieces(uint64_t count)
{
	struct probe_site site = site_of((unsigned int)count, 1);

	return reason(table_check_site(&site));
}

static int site_length(uint64_t count)
{
	struct probe_site site = site_of(1, (unsigned int)count);

	return reason(table_check_site(&site));
}

static int site_bytes(uint64_t count)
{
	struct probe_site site = site_of(1, 5);

	site.nr_bytes = (uint8_t)count;
	return reason(table_check_site(&site));
}

static int site_bytes_least(uint64_t count)
{
	struct probe_site site = site_of(1, 5);

	site.nr_bytes = (uint8_t)count;
	return reason(table_check_site(&site));
}

static int site_patched(uint64_t count)
{
	struct probe_site site = site_of(2, 5);

	site.patched = (uint8_t)count;
	return reason(table_check_site(&site));
}

static int site_patched_least(uint64_t count)
{
	return site_patched(count);
}

static int site_breakpoint(uint64_t count)
{
	struct probe_site site = site_of(2, 5);

	site.method = PROBE_BREAKPOINT;
	site.patched = (uint8_t)count;
	return reason(table_check_site(&site));
}

/* Four bytes in an instruction that has six. */
static int site_field(uint64_t count)
{
	struct probe_site site = site_of(1, 6);

	site.pieces[0].field = (uint8_t)count;
	return reason(table_check_site(&site));
}

static int site_detail(uint64_t count)
{
	struct probe_site site = site_of(1, 6);

	site.pieces[0].detail = (uint8_t)count;
	return reason(table_check_site(&site));
}

#define NO_PIECES "the instructions of a location are not consecutive"
#define NO_PATCH "a location changes more bytes than the table has"

static void test_sites(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(site_pieces, PROBE_PIECES_MAX, -EINVAL, NO_PIECES),
			LIMIT_CASE(site_length, 15, -EINVAL, NO_PIECES),
			LIMIT_CASE(site_bytes, PROBE_BYTES_MAX, -EINVAL, NO_PIECES),
			LEAST_CASE(site_bytes_least, 5, -EINVAL, NO_PIECES),
			LIMIT_CASE(site_patched, 5, -EINVAL, NO_PATCH),
			LEAST_CASE(site_patched_least, 1, -EINVAL, NO_PATCH),
			LIMIT_CASE(site_breakpoint, 1, -EINVAL, NO_PATCH),
			LIMIT_CASE(site_field, 2, -EINVAL, NO_PIECES),
			LIMIT_CASE(site_detail, 15, -EINVAL, NO_PIECES),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* ---- the writer ---- */

/* An index, or the error. */
static int result(int64_t ret, int64_t expected)
{
	if (ret >= 0)
		assert_int_equal(ret, expected);
	return ret < 0 ? (int)ret : 0;
}

static int module_path(uint64_t count)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	const struct probe_table_module module = {.path = limit_text('/', count), .name = "m"};
	int ret = result(probe_table_add_module(writer, &module), 0);

	probe_table_writer_free(writer);
	return ret;
}

static int module_build_id(uint64_t count)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	const struct probe_table_module module = {
			.path = "/m", .name = "m", .build_id_size = (uint8_t)count};
	int ret = result(probe_table_add_module(writer, &module), 0);

	probe_table_writer_free(writer);
	return ret;
}

static int modules(uint64_t count)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	const struct probe_table_module module = {.path = "/m", .name = "m"};
	int ret = 0;

	for (uint64_t i = 0; !ret && i < count; i++)
		ret = result(probe_table_add_module(writer, &module), (int64_t)i);
	probe_table_writer_free(writer);
	return ret;
}

static int events(uint64_t count)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	const struct probe_table_event event = {.provider = "p", .name = "e"};
	int ret = 0;

	for (uint64_t i = 0; !ret && i < count; i++)
		ret = result(probe_table_add_event(writer, &event), (int64_t)i);
	probe_table_writer_free(writer);
	return ret;
}

static void test_writer(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(module_path, PROBE_TABLE_STRING_MAX, -E2BIG, ""),
			LIMIT_CASE(module_build_id, PROBE_TABLE_BUILD_ID_MAX, -EINVAL, ""),
			LIMIT_CASE(modules, PROBE_TABLE_MODULES_MAX, -E2BIG, ""),
			LIMIT_CASE(events, PROBE_TABLE_EVENTS_MAX, -E2BIG, ""),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_fields),
			cmocka_unit_test(test_first_letters),
			cmocka_unit_test(test_field_sizes),
			cmocka_unit_test(test_values),
			cmocka_unit_test(test_operations),
			cmocka_unit_test(test_sites),
			cmocka_unit_test(test_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
