/* SPDX-License-Identifier: MIT */
/*
 * Tables of probes: written values are read unchanged, invalid values are refused, and damaged
 * tables cause nothing worse than a refusal.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "fuzz-target.h"

static const struct probe_table_field fields[] = {
		{.name = "number",
				.type = PROBE_FIELD_SIGNED,
				.size = 4,
				.labels = "COLD=-3,WARM=0,HOT=40,LAST=9223372036854775807"},
		{.name = "text", .type = PROBE_FIELD_STRING, .size = 1, .limit = 64},
		{.name = "calls", .type = PROBE_FIELD_BACKTRACE, .size = 8, .limit = 10},
};
static const struct probe_table_field exit_fields[] = {
		{.name = "duration", .type = PROBE_FIELD_UNSIGNED, .size = 8},
};
static const struct probe_fetch_op number_ops[] = {{.code = PROBE_FETCH_REGISTER, .reg = 5}};
static const struct probe_fetch_op text_ops[] = {{.code = PROBE_FETCH_REGISTER, .reg = 4},
		{.code = PROBE_FETCH_ADD, .value = -16}, {.code = PROBE_FETCH_LOAD, .size = 8}};
static const struct probe_fetch_op calls_ops[] = {{.code = PROBE_FETCH_BACKTRACE}};
static const struct probe_fetch_op duration_ops[] = {{.code = PROBE_FETCH_DURATION}};
static const struct probe_fetch fetches[] = {{number_ops, 1}, {text_ops, 3}, {calls_ops, 1}};
static const struct probe_fetch exit_fetches[] = {{duration_ops, 1}};
static const struct probe_table_module module = {.path = "/usr/lib/libc.so.6",
		.name = "libc.so.6",
		.build_id_size = 4,
		.build_id = {1, 2, 3, 4}};

static struct probe_table_probe example(uint64_t address)
{
	return (struct probe_table_probe){.module = 0,
			.entry = 0,
			.exit = 1,
			.flags = PROBE_ENTRY_ALL,
			.semaphore = 0x4000,
			.function = "malloc",
			.site = {.address = address,
					.offset = 0x123,
					.method = PROBE_JUMP,
					.displaced = 5,
					.patched = 5,
					.nr_pieces = 2,
					.pieces = {{.at = 0, .length = 1}, {.at = 1, .length = 4}},
					.nr_bytes = 5,
					.bytes = {0x55, 0x48, 0x83, 0xec, 0x08}},
			.entry_fetches = fetches,
			.exit_fetches = exit_fetches};
}

static struct probe_table_writer *written(unsigned int nr_probes)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	struct probe_table_event entry = {.provider = "probe",
						 .name = "malloc",
						 .loglevel = 6,
						 .nr_fields = 3,
						 .fields = fields},
				 leave = {.provider = "probe",
						 .name = "malloc_return",
						 .nr_fields = 1,
						 .fields = exit_fields};

	assert_int_equal(probe_table_add_module(writer, &module), 0);
	assert_int_equal(probe_table_add_event(writer, &entry), 0);
	assert_int_equal(probe_table_add_event(writer, &leave), 1);
	for (unsigned int i = 0; i < nr_probes; i++) {
		struct probe_table_probe probe = example(0x1000 + 16 * i);

		assert_int_equal(probe_table_add_probe(writer, &probe), i);
	}
	return writer;
}

static void check_labels(const char *at)
{
	static const struct {
		const char *name;
		int64_t value;
	} wanted[] = {{"COLD", -3}, {"WARM", 0}, {"HOT", 40}, {"LAST", INT64_MAX}};
	char name[PROBE_TABLE_LABEL_MAX + 1];
	int64_t value;

	for (unsigned int i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_true(probe_table_label(&at, name, &value));
		assert_string_equal(name, wanted[i].name);
		assert_int_equal(value, wanted[i].value);
	}
	assert_false(probe_table_label(&at, name, &value));
	assert_string_equal(at, "");
}

static void check_parts(const struct probe_table *table)
{
	struct probe_table_module read_module;
	struct probe_table_event event;
	struct probe_table_field field;

	assert_int_equal(probe_table_nr_modules(table), 1);
	probe_table_module(table, 0, &read_module);
	assert_string_equal(read_module.path, module.path);
	assert_string_equal(read_module.name, module.name);
	assert_int_equal(read_module.build_id_size, 4);
	assert_memory_equal(read_module.build_id, module.build_id, sizeof(module.build_id));
	assert_int_equal(probe_table_nr_events(table), 2);
	probe_table_event(table, 0, &event);
	assert_string_equal(event.provider, "probe");
	assert_string_equal(event.name, "malloc");
	assert_int_equal(event.loglevel, 6);
	assert_int_equal(event.nr_fields, 3);
	probe_table_field(table, &event, 0, &field);
	check_labels(field.labels);
	probe_table_field(table, &event, 1, &field);
	assert_string_equal(field.labels, "");
	assert_string_equal(field.name, "text");
	assert_int_equal(field.type, PROBE_FIELD_STRING);
	assert_int_equal(field.limit, 64);
	probe_table_event(table, 1, &event);
	probe_table_field(table, &event, 0, &field);
	assert_string_equal(field.name, "duration");
}

static void check_probe(const struct probe_table *table, uint32_t index)
{
	struct probe_table_probe wanted = example(0x1000 + 16 * index), probe;
	struct probe_fetch fetch;

	probe_table_probe(table, index, &probe);
	assert_memory_equal(&probe.site, &wanted.site, sizeof(probe.site));
	assert_int_equal(probe.entry, 0);
	assert_int_equal(probe.exit, 1);
	assert_int_equal(probe.flags, PROBE_ENTRY_ALL);
	assert_int_equal(probe.semaphore, 0x4000);
	assert_string_equal(probe.function, "malloc");
	probe_table_fetch(table, probe.first_entry_fetch, 1, &fetch);
	assert_int_equal(fetch.nr_ops, 3);
	assert_memory_equal(fetch.ops, text_ops, sizeof(text_ops));
	probe_table_fetch(table, probe.first_exit_fetch, 0, &fetch);
	assert_int_equal(fetch.nr_ops, 1);
	assert_memory_equal(fetch.ops, duration_ops, sizeof(duration_ops));
}

static void test_what_is_written_is_read(void **state)
{
	struct probe_table_writer *writer = written(1000);
	struct probe_table table;
	const char *reason;
	size_t size, again;
	void *bytes;
	int fd;

	(void)state;
	assert_int_equal(probe_table_bytes(writer, &bytes, &size), 0);
	assert_int_equal(probe_table_open(&table, bytes, size, &reason), 0);
	assert_int_equal(probe_table_nr_probes(&table), 1000);
	check_parts(&table);
	for (uint32_t i = 0; i < 1000; i++)
		check_probe(&table, i);
	free(bytes);
	/* Equal operations of ten thousand probes are not repeated. */
	assert_true(size < 1000 * 200);

	fd = probe_table_memfd(writer);
	assert_true(fd >= 0);
	assert_int_equal(probe_table_check_memfd(fd, &again), 0);
	assert_int_equal(again, size);
	assert_int_equal(write(fd, "x", 1), -1);
	close(fd);
	probe_table_writer_free(writer);
}

static void test_only_sealed_memory_is_taken(void **state)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING);
	size_t size;

	(void)state;
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(probe_table_check_memfd(fd, &size), -EPERM);
	close(fd);
	assert_int_equal(probe_table_check_memfd(-1, &size), -EBADF);
}

static void test_labels_that_cannot_be_read(void **state)
{
	static const char *const wrong[] = {"A", "A=", "A=x", "=1", "A=1,", "A=1,B", "A=1 ", ",",
			"A=--1", "A=99999999999999999999"};
	struct probe_table_writer *writer = written(0);
	struct probe_table_field field = {
			.name = "n", .type = PROBE_FIELD_UNSIGNED, .size = 4, .labels = "A=1"};
	struct probe_table_event event = {
			.provider = "p", .name = "e", .nr_fields = 1, .fields = &field};

	(void)state;
	assert_int_equal(probe_table_add_event(writer, &event), 2);
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		field.labels = wrong[i];
		assert_int_equal(probe_table_add_event(writer, &event), -EINVAL);
	}
	field.labels = "A=1";
	field.type = PROBE_FIELD_HEX;
	assert_int_equal(probe_table_add_event(writer, &event), -EINVAL);
	probe_table_writer_free(writer);
}

/* a, s { b, t { c, d }, e }, f, u { g } */
static void test_structures(void **state)
{
	static const char names[] = "asbtcdefug";
	static const uint8_t inside[10] = {0, 5, 0, 2, 0, 0, 0, 0, 1, 0},
			     positions[10] = {0, 1, 4, 5, 7, 8, 6, 2, 3, 9};
	struct probe_table_writer *writer = written(0);
	struct probe_table_field in[10];
	struct probe_table_event event = {
			.provider = "p", .name = "e", .nr_fields = 10, .fields = in};
	struct probe_table_nest nest;
	char text[10][2];

	(void)state;
	for (unsigned int i = 0; i < 10; i++) {
		text[i][0] = names[i];
		text[i][1] = 0;
		in[i] = (struct probe_table_field){.name = text[i],
				.type = inside[i] ? PROBE_FIELD_STRUCT : PROBE_FIELD_SIGNED,
				.size = inside[i] ? inside[i] : 4};
	}
	assert_int_equal(probe_table_add_event(writer, &event), 2);
	/* Members of other structures may have that name, too. */
	text[4][0] = 'a';
	assert_int_equal(probe_table_add_event(writer, &event), 3);
	text[4][0] = 'd';
	assert_int_equal(probe_table_add_event(writer, &event), -EINVAL);
	text[4][0] = 'c';
	/* One structure ends after its parent, or after the event; one is empty. */
	in[3].size = 4;
	assert_int_equal(probe_table_add_event(writer, &event), -EINVAL);
	in[3].size = 3;
	assert_int_equal(probe_table_add_event(writer, &event), 4);
	in[3].size = 2;
	in[8].size = 2;
	assert_int_equal(probe_table_add_event(writer, &event), -EINVAL);
	in[8].size = 0;
	assert_int_equal(probe_table_add_event(writer, &event), -EINVAL);
	probe_table_nest(&nest, inside, 10);
	assert_int_equal(nest.nr_top, 4);
	assert_memory_equal(nest.arg, positions, sizeof(positions));
	assert_int_equal(nest.first[1], 4);
	assert_int_equal(nest.number[1], 3);
	assert_int_equal(nest.first[3], 7);
	assert_int_equal(nest.number[3], 2);
	assert_int_equal(nest.first[8], 9);
	assert_int_equal(nest.number[8], 1);
	probe_table_writer_free(writer);
}

/* Each of these changes of a valid probe is refused, and leaves the writer unchanged. */
static void test_writer_refuses(void **state)
{
	struct probe_table_writer *writer = written(0);
	struct probe_table_probe probe;
	struct probe_table_event event = {.provider = "", .name = "x"};
	struct probe_table_field twice[2] = {fields[0], fields[0]};

	(void)state;
#define REFUSED(change)                                                           \
	do {                                                                      \
		probe = example(0x1000);                                          \
		change;                                                           \
		assert_int_equal(probe_table_add_probe(writer, &probe), -EINVAL); \
	} while (0)
	REFUSED(probe.module = 1);
	REFUSED(probe.entry = 2);
	REFUSED(probe.entry = probe.exit = PROBE_TABLE_NONE);
	REFUSED(probe.flags = 16);
	REFUSED(probe.entry_fetches = NULL);
	REFUSED(probe.site.method = PROBE_NONE);
	REFUSED(probe.site.nr_pieces = 1);
	REFUSED(probe.site.nr_pieces = 6);
	REFUSED(probe.site.pieces[1].at = 2);
	REFUSED(probe.site.pieces[1].field = 1);
	REFUSED(probe.site.nr_bytes = 4);
	REFUSED(probe.site.patched = 6);
	REFUSED(probe.site.address = 0);
#undef REFUSED
	assert_int_equal(probe_table_add_event(writer, &event), -EINVAL);
	event.provider = "p";
	event.fields = twice;
	event.nr_fields = 2;
	assert_int_equal(probe_table_add_event(writer, &event), -EINVAL);
	probe = example(0x1000);
	assert_int_equal(probe_table_add_probe(writer, &probe), 0);
	probe_table_writer_free(writer);
}

static void test_damage(void **state)
{
	struct probe_table_writer *writer = written(3);
	uint32_t random = 12345;
	unsigned int accepted = 0, rounds = getenv("SIDE_TEST_LONG") ? 5000000 : 100000;
	uint8_t *bytes, *damaged;
	size_t size;

	(void)state;
	assert_int_equal(probe_table_bytes(writer, (void **)&bytes, &size), 0);
	damaged = malloc(size);
	assert_true(fuzz_table(bytes, size));
	for (size_t cut = 0; cut < size; cut++)
		assert_false(fuzz_table(bytes, cut));
	for (unsigned int i = 0; i < rounds; i++) {
		memcpy(damaged, bytes, size);
		for (unsigned int j = 0; j <= i % 3; j++) {
			random = random * 1664525 + 1013904223;
			damaged[(random >> 8) % size] = (uint8_t)(random >> 24);
			if (i % 5 == 0)
				damaged[(random >> 8) % size] = (uint8_t)(random >> 31 ? 0xff : 0);
		}
		accepted += fuzz_table(damaged, size);
	}
	/*
	 * Names and addresses may have any value, so some damaged tables are accepted, and some are
	 * not.
	 */
	assert_true(accepted > 0 && accepted < rounds);
	free(damaged);
	free(bytes);
	probe_table_writer_free(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_what_is_written_is_read),
			cmocka_unit_test(test_only_sealed_memory_is_taken),
			cmocka_unit_test(test_labels_that_cannot_be_read),
			cmocka_unit_test(test_structures),
			cmocka_unit_test(test_writer_refuses),
			cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
