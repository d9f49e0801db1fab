/* SPDX-License-Identifier: MIT */
/*
 * Files of generated functions (jitdump): each record, the limits, and files with changed bytes.
 * The results must be consistent for any file. With -DFUZZ_TARGET, this is a target of libFuzzer.
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../random.h"
#include "recorder/storage/jit-dump.h"

static bool is_text(const struct jit_dump *dump, uint32_t text)
{
	size_t length;

	if (text >= dump->text_size)
		return false;
	length = strnlen(dump->text + text, dump->text_size - text);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)dump->text[text + i] < 0x20)
			return false;
	return length < dump->text_size - text;
}

/* Checks everything that callers rely on. */
static bool is_consistent(const struct jit_dump *dump)
{
	for (size_t i = 0; i < dump->nr_functions; i++) {
		const struct jit_dump_function *function = &dump->functions[i];

		if (function->begin + function->size <= function->begin ||
				!is_text(dump, function->name) ||
				function->first_line + (uint64_t)function->nr_lines >
						dump->nr_lines)
			return false;
		for (uint32_t k = 0; k < function->nr_lines; k++)
			if (!is_text(dump, dump->lines[function->first_line + k].file))
				return false;
	}
	return dump->nr_functions <= JIT_DUMP_FUNCTIONS_MAX &&
			dump->nr_lines <= JIT_DUMP_LINES_MAX &&
			dump->text_size <= JIT_DUMP_TEXT_MAX;
}

#ifdef FUZZ_TARGET

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_size)
{
	struct jit_dump dump;
	FILE *file = data_size ? fmemopen((void *)(uintptr_t)data, data_size, "r") : NULL;

	if (!file)
		return 0;
	(void)jit_dump_parse(file, &dump);
	if (!is_consistent(&dump))
		abort();
	jit_dump_free(&dump);
	fclose(file);
	return 0;
}

#else

#define BYTES_MAX (24u << 20)

static uint8_t *bytes;
static size_t size;

static void put(const void *value, size_t value_size)
{
	assert_true(size + value_size <= BYTES_MAX);
	memcpy(bytes + size, value, value_size);
	size += value_size;
}

static void put32(uint32_t value)
{
	put(&value, sizeof(value));
}

static void put64(uint64_t value)
{
	put(&value, sizeof(value));
}

static void begin(void)
{
	const uint32_t words[] = {0x4A695444, 1, 40, EM_X86_64, 0, 4711};

	size = 0;
	put(words, sizeof(words));
	put64(1);
	put64(0);
}

static void put_record(uint32_t id, size_t record_size, uint64_t timestamp)
{
	put32(id);
	put32((uint32_t)record_size + 16);
	put64(timestamp);
}

static void put_load(uint64_t address, uint64_t code_size, uint64_t index, const char *name)
{
	put_record(0, 40 + strlen(name) + 1 + 3, 100 + index);
	put64(4711);
	put64(address);
	put64(address);
	put64(code_size);
	put64(index);
	put(name, strlen(name) + 1);
	put("abc", 3);
}

static void put_move(uint64_t to, uint64_t code_size, uint64_t index, uint64_t timestamp)
{
	put_record(1, 48, timestamp);
	put64(4711);
	put64(to);
	put64(0);
	put64(to);
	put64(code_size);
	put64(index);
}

static void put_entry(uint64_t address, uint32_t line, const char *file)
{
	put64(address);
	put32(line);
	put32(0);
	put(file, strlen(file) + 1);
}

static void put_lines(uint64_t address, uint64_t offset)
{
	put_record(2, 16 + 3 * 16 + 6 + 2 + 6, 99);
	put64(address);
	put64(3);
	put_entry(address + offset, 1, "/one/");
	put_entry(address + offset + 4, 2, "\xff");
	put_entry(address + offset + 8, 3, "/two/");
}

static int parse(struct jit_dump *dump)
{
	FILE *file = fmemopen(bytes, size, "r");
	int ret;

	assert_non_null(file);
	ret = jit_dump_parse(file, dump);
	fclose(file);
	return ret;
}

static void assert_function(const struct jit_dump *dump, size_t number, uint64_t address,
		uint64_t timestamp, const char *name, uint32_t nr_lines)
{
	const struct jit_dump_function *function = &dump->functions[number];

	assert_true(number < dump->nr_functions);
	assert_int_equal(function->begin, address);
	assert_int_equal(function->timestamp, timestamp);
	assert_string_equal(dump->text + function->name, name);
	assert_int_equal(function->nr_lines, nr_lines);
}

static void assert_line(const struct jit_dump *dump, size_t function, uint32_t number,
		uint64_t offset, uint32_t line, const char *file)
{
	const struct jit_dump_line *found =
			&dump->lines[dump->functions[function].first_line + number];

	assert_int_equal(found->offset, offset);
	assert_int_equal(found->line, line);
	assert_string_equal(dump->text + found->file, file);
}

static void put_example(uint64_t offset)
{
	begin();
	put_load(0x1000, 0x100, 1, "without lines");
	put_lines(0x2000, offset);
	put_load(0x2000, 0x100, 2, "with lines");
	put_record(4, 24, 98);
	put("unwinding information of V", 24);
	put_lines(0x3000, offset);
	put_load(0x4000, 0x100, 3, "at another address");
	put_move(0x5000, 0x80, 2, 200);
	put_move(0x6000, 0x80, 77, 201);
}

static void test_records(void **unused)
{
	struct jit_dump dump;

	(void)unused;
	/* Addresses of lines without and with the bias of V8. */
	for (uint64_t offset = 0; offset < 0x80; offset += 0x40) {
		put_example(offset);
		assert_int_equal(parse(&dump), 0);
		assert_true(is_consistent(&dump));
		assert_int_equal(dump.nr_functions, 4);
		assert_function(&dump, 0, 0x1000, 101, "without lines", 0);
		assert_function(&dump, 1, 0x2000, 102, "with lines", 3);
		assert_function(&dump, 2, 0x4000, 103, "at another address", 0);
		assert_function(&dump, 3, 0x5000, 200, "with lines", 3);
		assert_line(&dump, 1, 0, 0, 1, "/one/");
		assert_line(&dump, 1, 1, 4, 2, "/one/");
		assert_line(&dump, 3, 2, 8, 3, "/two/");
		jit_dump_free(&dump);
	}
	/* The bias is not assumed if no line has exactly this offset. */
	put_example(0x50);
	assert_int_equal(parse(&dump), 0);
	assert_line(&dump, 1, 0, 0x50, 1, "/one/");
	jit_dump_free(&dump);
}

/* Lines outside of their function, and files that are no text, lose all lines of the function. */
static void test_unusable_lines(void **unused)
{
	static const char *const files[] = {"", "a\nb", "\xff", "Z\xf8\x03"};
	struct jit_dump dump;

	(void)unused;
	begin();
	put_lines(0x1000, 0x200);
	put_load(0x1000, 0x100, 1, "outside");
	for (size_t i = 0; i < 4; i++) {
		put_record(2, 16 + 16 + strlen(files[i]) + 1, 99);
		put64(0x1000);
		put64(1);
		put_entry(0x1000, 1, files[i]);
		put_load(0x1000, 0x100, i + 2, "no text");
	}
	assert_int_equal(parse(&dump), 0);
	assert_int_equal(dump.nr_functions, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(dump.functions[i].nr_lines, 0);
	jit_dump_free(&dump);
}

static void assert_refused(size_t offset, uint32_t value)
{
	struct jit_dump dump;

	put_example(0);
	memcpy(bytes + offset, &value, sizeof(value));
	assert_int_equal(parse(&dump), -EBADMSG);
	jit_dump_free(&dump);
}

static void test_headers(void **unused)
{
	struct jit_dump dump;

	(void)unused;
	assert_refused(0, 0x4454694A);  /* another byte order */
	assert_refused(4, 2);           /* another version */
	assert_refused(8, 39);          /* a shorter header */
	assert_refused(12, EM_AARCH64); /* another machine */
	assert_refused(32, 1);          /* another clock */
	put_example(0);
	size = 39;
	assert_int_equal(parse(&dump), -EBADMSG);
	jit_dump_free(&dump);
	/* A header can be longer. */
	begin();
	bytes[8] = 48;
	put64(0);
	put_load(0x1000, 1, 1, "name");
	assert_int_equal(parse(&dump), 0);
	assert_int_equal(dump.nr_functions, 1);
	jit_dump_free(&dump);
}

/* Each prefix of a file has the functions of its complete records. */
static void test_prefixes(void **unused)
{
	struct jit_dump dump;
	size_t whole, before = 0;

	(void)unused;
	put_example(0);
	whole = size;
	for (size = 40; size <= whole; size++) {
		assert_int_equal(parse(&dump), 0);
		assert_true(is_consistent(&dump));
		assert_true(dump.nr_functions == before || dump.nr_functions == before + 1);
		before = dump.nr_functions;
		jit_dump_free(&dump);
	}
	assert_int_equal(before, 4);
}

static void test_most_functions(void **unused)
{
	struct jit_dump dump;

	(void)unused;
	begin();
	for (uint64_t i = 0; i <= JIT_DUMP_FUNCTIONS_MAX; i++)
		put_load(0x1000 + i, 1, i, "f");
	assert_int_equal(parse(&dump), 0);
	assert_int_equal(dump.nr_functions, JIT_DUMP_FUNCTIONS_MAX);
	jit_dump_free(&dump);
}

static void put_many_lines(uint64_t count)
{
	put_record(2, 16 + count * 18, 99);
	put64(0x1000);
	put64(count);
	for (uint64_t i = 0; i < count; i++)
		put_entry(0x1000 + i, (uint32_t)i + 1, "f");
	put_load(0x1000, count, 1, "f");
}

static void test_most_lines(void **unused)
{
	struct jit_dump dump;

	(void)unused;
	for (uint32_t more = 0; more < 2; more++) {
		begin();
		put_many_lines(JIT_DUMP_LINES_MAX + more);
		assert_int_equal(parse(&dump), 0);
		assert_int_equal(dump.nr_functions, 1);
		assert_int_equal(dump.functions[0].nr_lines, more ? 0 : JIT_DUMP_LINES_MAX);
		jit_dump_free(&dump);
	}
}

static void test_most_records(void **unused)
{
	struct jit_dump dump;

	(void)unused;
	for (uint32_t more = 0; more < 2; more++) {
		begin();
		for (uint32_t i = 1; i < JIT_DUMP_RECORDS_MAX + more; i++)
			put_record(3, 0, 99);
		put_load(0x1000, 1, 1, "last");
		assert_int_equal(parse(&dump), 0);
		assert_int_equal(dump.nr_functions, 1 - more);
		jit_dump_free(&dump);
	}
}

static void test_most_text(void **unused)
{
	const size_t names = JIT_DUMP_TEXT_MAX / 512;
	char name[512];
	struct jit_dump dump;

	(void)unused;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	begin();
	for (uint64_t i = 0; i <= names; i++)
		put_load(0x1000 + i, 1, i, name);
	assert_int_equal(parse(&dump), 0);
	assert_int_equal(dump.nr_functions, names);
	assert_int_equal(dump.text_size, JIT_DUMP_TEXT_MAX);
	jit_dump_free(&dump);
}

static void test_longest_names(void **unused)
{
	char name[JIT_DUMP_NAME_MAX + 2];
	struct jit_dump dump;

	(void)unused;
	begin();
	for (uint32_t more = 0; more < 2; more++) {
		memset(name, 'n', JIT_DUMP_NAME_MAX + more);
		name[JIT_DUMP_NAME_MAX + more] = '\0';
		put_load(0x1000, 1, more, name);
	}
	put_load(0x1000, 1, 2, "next");
	assert_int_equal(parse(&dump), 0);
	assert_int_equal(dump.nr_functions, 2);
	assert_int_equal(strlen(dump.text + dump.functions[0].name), JIT_DUMP_NAME_MAX);
	assert_string_equal(dump.text + dump.functions[1].name, "next");
	jit_dump_free(&dump);
}

static void test_changed_bytes(void **unused)
{
	static const uint64_t numbers[] = {0, 1, 15, 16, 0x7fffffff, 0xffffffff, UINT64_MAX};
	size_t parsed = 0;

	(void)unused;
	for (unsigned int round = 0; round < 5000; round++) {
		struct jit_dump dump;

		put_example(draw(2) * 0x40);
		for (uint64_t count = 1 + draw(4); count--;) {
			size_t width = (size_t)1 << draw(4), at = draw(size - 8);
			uint64_t number = draw(2) ? numbers[draw(7)] : draw64();

			memcpy(bytes + at, &number, width);
		}
		parsed += !parse(&dump);
		assert_true(is_consistent(&dump));
		jit_dump_free(&dump);
	}
	assert_true(parsed > 2500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_records),
			cmocka_unit_test(test_unusable_lines),
			cmocka_unit_test(test_headers),
			cmocka_unit_test(test_prefixes),
			cmocka_unit_test(test_most_functions),
			cmocka_unit_test(test_most_lines),
			cmocka_unit_test(test_most_records),
			cmocka_unit_test(test_most_text),
			cmocka_unit_test(test_longest_names),
			cmocka_unit_test(test_changed_bytes),
	};
	int ret;

	bytes = malloc(BYTES_MAX);
	ret = bytes ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
	free(bytes);
	return ret;
}

#endif
