/* SPDX-License-Identifier: MIT */
/*
 * Exact values of probe tables: each error of the reader with a table that has one damaged record,
 * each failing call of the writer, and the types of fields. The test includes the files, so that it
 * can call their static functions and let their calls fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The number of the call that fails; 0: none. */
static unsigned int calloc_fails, realloc_fails, memfd_fails, seal_fails, stat_fails;
static unsigned int nr_reallocs, nr_frees, nr_writes;
static int nr_open;
#define ACCEPTS_NOTHING -2
static int write_errors
		[4]; /* in turn; 0: one byte is written; -1: all bytes are; ACCEPTS_NOTHING: none */
static size_t calloc_size, realloc_size;

static void *try_calloc(size_t count, size_t size)
{
	calloc_size = count * size;
	return calloc_fails && !--calloc_fails ? NULL : calloc(count, size);
}

static void *try_realloc(void *memory, size_t size)
{
	nr_reallocs++;
	realloc_size = size;
	return realloc_fails && !--realloc_fails ? NULL : realloc(memory, size);
}

static void try_free(void *memory)
{
	nr_frees += memory != NULL;
	free(memory);
}

static int try_memfd(const char *name, unsigned int flags)
{
	int fd;

	assert_string_equal(name, "side-probes");
	assert_int_equal(flags, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (memfd_fails && !--memfd_fails) {
		errno = EMFILE;
		return -1;
	}
	fd = memfd_create(name, flags);
	nr_open += fd >= 0;
	return fd;
}

static ssize_t try_write(int fd, const void *bytes, size_t size)
{
	int error = nr_writes < 4 ? write_errors[nr_writes] : -1;

	nr_writes++;
	if (error > 0) {
		errno = error;
		return -1;
	}
	return error == ACCEPTS_NOTHING ? 0 : write(fd, bytes, error ? size : 1);
}

static int try_fcntl(int fd, int command, int value)
{
	if (command == F_ADD_SEALS && seal_fails && !--seal_fails) {
		errno = EBUSY;
		return -1;
	}
	return fcntl(fd, command, value);
}

static int try_close(int fd)
{
	nr_open--;
	return close(fd);
}

static int try_stat(int fd, struct stat *status)
{
	if (stat_fails && !--stat_fails) {
		errno = EIO;
		return -1;
	}
	return fstat(fd, status);
}

#define calloc try_calloc
#define realloc try_realloc
#define free try_free
#define memfd_create try_memfd
#define write try_write
#define fcntl try_fcntl
#define close try_close
#include "base/io.c"
#include "probe/table/write.c"
#undef calloc
#undef realloc
#undef free
#undef memfd_create
#undef write
#undef fcntl
#undef close
#undef SEALS

#include "probe/table/check.c"
#include "probe/table/describe.c"

#define fcntl(fd, command) fcntl(fd, command)
#define fstat try_stat
#include "probe/table/read.c"
#undef fcntl
#undef fstat

/* ---- a table in which all numbers differ ---- */

static const struct probe_table_module modules[] = {
		{.path = "/bin/one",
				.name = "one",
				.flags = 1,
				.build_id_size = 3,
				.build_id = {7, 8, 9}},
		{.path = "/lib/two.so",
				.name = "two.so",
				.build_id_size = 64,
				.build_id = {[63] = 5}},
};
static const struct probe_table_field entry_fields[] = {
		{.name = "first", .type = PROBE_FIELD_SIGNED, .size = 4, .labels = "A=-3,B=11"},
		{.name = "second",
				.type = PROBE_FIELD_STRING,
				.size = 1,
				.limit = 77,
				.guarded = true},
		{.name = "third", .type = PROBE_FIELD_HEX, .size = 2, .limit = 19},
};
static const struct probe_table_field exit_fields[] = {
		{.name = "fourth", .type = PROBE_FIELD_UNSIGNED, .size = 8}};
static const struct probe_fetch_op ops[] = {
		{.code = PROBE_FETCH_REGISTER, .reg = 5},
		{.code = PROBE_FETCH_REGISTER, .reg = 4},
		{.code = PROBE_FETCH_ADD, .value = -16},
		{.code = PROBE_FETCH_LOAD, .size = 8},
		{.code = PROBE_FETCH_MODULE, .value = 0x7777},
		{.code = PROBE_FETCH_DURATION},
		{.code = PROBE_FETCH_REGISTER, .reg = 6},
};
static const struct probe_fetch entry_fetches[] = {{ops, 1}, {ops + 1, 3}, {ops + 4, 1}},
				exit_fetches[] = {{ops + 5, 1}},
				other_fetches[] = {{ops + 6, 1}, {ops + 1, 3}, {ops + 4, 1}},
				shorter_fetches[] = {{ops, 1}, {ops + 1, 2}, {ops + 4, 1}},
				empty_fetches[] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};

static struct probe_table_probe make_probe(void)
{
	return (struct probe_table_probe){.module = 1,
			.entry = 1,
			.exit = 2,
			.flags = PROBE_ENTRY_TRAP | PROBE_ENTRY_ELSEWHERE,
			.semaphore = 0x1122334455667788,
			.function = "function",
			.site = {.address = 0x2233445566778899,
					.offset = 0x33445566778899aa,
					.method = PROBE_SHORT,
					.reason = "",
					.displaced = 7,
					.patched = 2,
					.ends = true,
					.begins = true,
					.nr_pieces = 2,
					.pieces = {{.at = 0,
								   .length = 3,
								   .kind = 0,
								   .detail = 6,
								   .target = 0x44},
							{.at = 3,
									.length = 4 + 0,
									.kind = PROBE_CALL_INDIRECT,
									.detail = 3,
									.target = 0x55667788}},
					.nr_bytes = 9,
					.bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9},
					.springboard = 0x66778899,
					.springboard_bytes = {21, 22, 23, 24, 25}},
			.entry_fetches = entry_fetches,
			.exit_fetches = exit_fetches};
}

static struct probe_table_writer *make_writer(void)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	const struct probe_table_event none = {.provider = "p0", .name = "e0", .loglevel = 3},
				       entry = {.provider = "p1",
						       .name = "e1",
						       .loglevel = 4,
						       .nr_fields = 3,
						       .fields = entry_fields},
				       leave = {.provider = "p2",
						       .name = "e2",
						       .loglevel = 5,
						       .nr_fields = 1,
						       .fields = exit_fields};
	struct probe_table_probe probe = make_probe();

	assert_non_null(writer);
	for (int i = 0; i < 2; i++)
		assert_int_equal(probe_table_add_module(writer, &modules[i]), i);
	assert_int_equal(probe_table_add_event(writer, &none), 0);
	assert_int_equal(probe_table_add_event(writer, &entry), 1);
	assert_int_equal(probe_table_add_event(writer, &leave), 2);
	assert_int_equal(probe_table_add_probe(writer, &probe), 0);
	return writer;
}

static char *good;
static size_t good_size;

static int make_good(void **state)
{
	struct probe_table_writer *writer = make_writer();

	(void)state;
	assert_int_equal(probe_table_bytes(writer, (void **)&good, &good_size), 0);
	probe_table_writer_free(writer);
	return 0;
}

static int free_good(void **state)
{
	(void)state;
	free(good);
	return 0;
}

/* ---- reading ---- */

static void test_parts(void **state)
{
	struct probe_table table;
	struct probe_table_module module;
	struct probe_table_event event;
	const char *reason = "unset";

	(void)state;
	assert_int_equal(probe_table_open(&table, good, good_size, &reason), 0);
	assert_null(reason);
	assert_ptr_equal(table.bytes, good);
	assert_int_equal(table.size, good_size);
	assert_int_equal(probe_table_nr_modules(&table), 2);
	assert_int_equal(probe_table_nr_events(&table), 3);
	assert_int_equal(probe_table_nr_probes(&table), 1);
	assert_int_equal(probe_table_nr_fetches(&table), 4);
	assert_int_equal(table.parts[TABLE_OPS].count, 6);
	for (uint32_t i = 0; i < 2; i++) {
		probe_table_module(&table, i, &module);
		assert_string_equal(module.path, modules[i].path);
		assert_string_equal(module.name, modules[i].name);
		assert_int_equal(module.flags, modules[i].flags);
		assert_int_equal(module.build_id_size, modules[i].build_id_size);
		assert_memory_equal(module.build_id, modules[i].build_id, 64);
	}
	for (uint32_t i = 0; i < 3; i++) {
		static const uint32_t counts[] = {0, 3, 1}, firsts[] = {0, 0, 3};
		const char provider[] = {'p', (char)('0' + i), 0},
			   name[] = {'e', (char)('0' + i), 0};

		probe_table_event(&table, i, &event);
		assert_string_equal(event.provider, provider);
		assert_string_equal(event.name, name);
		assert_int_equal(event.loglevel, 3 + i);
		assert_int_equal(event.nr_fields, counts[i]);
		assert_int_equal(event.first_field, firsts[i]);
	}
}

static void test_fields(void **state)
{
	struct probe_table table;
	struct probe_table_event event;
	struct probe_table_field field;
	const char *reason;

	(void)state;
	assert_int_equal(probe_table_open(&table, good, good_size, &reason), 0);
	for (uint32_t i = 0; i < 4; i++) {
		const struct probe_table_field *wanted = i < 3 ? &entry_fields[i] : exit_fields;

		probe_table_event(&table, i < 3 ? 1 : 2, &event);
		probe_table_field(&table, &event, i % 3, &field);
		assert_string_equal(field.name, wanted->name);
		assert_int_equal(field.type, wanted->type);
		assert_int_equal(field.size, wanted->size);
		assert_int_equal(field.limit, wanted->limit);
		assert_int_equal(field.guarded, wanted->guarded);
		assert_string_equal(field.labels, wanted->labels ? wanted->labels : "");
	}
}

static void test_probe(void **state)
{
	const struct probe_table_probe wanted = make_probe();
	struct probe_table table;
	struct probe_table_probe probe;
	struct probe_fetch fetch;
	const char *reason;

	(void)state;
	assert_int_equal(probe_table_open(&table, good, good_size, &reason), 0);
	memset(&probe, 0xee, sizeof(probe));
	probe_table_probe(&table, 0, &probe);
	assert_null(probe.site.no_exit);
	assert_int_equal(probe.site.runtime, 0);
	for (unsigned int i = probe.site.nr_pieces; i < PROBE_PIECES_MAX; i++) {
		const struct probe_piece none = {0};

		assert_memory_equal(&probe.site.pieces[i], &none, sizeof(none));
	}
	assert_int_equal(probe.module, 1);
	assert_int_equal(probe.entry, 1);
	assert_int_equal(probe.exit, 2);
	assert_int_equal(probe.flags, wanted.flags);
	assert_true(probe.semaphore == wanted.semaphore);
	assert_string_equal(probe.function, "function");
	assert_int_equal(probe.first_entry_fetch, 0);
	assert_int_equal(probe.first_exit_fetch, 3);
	assert_true(probe.site.address == wanted.site.address &&
			probe.site.offset == wanted.site.offset);
	assert_true(probe.site.springboard == wanted.site.springboard && probe.site.runtime == 0);
	assert_int_equal(probe.site.method, PROBE_SHORT);
	assert_string_equal(probe.site.reason, "");
	assert_int_equal(probe.site.displaced, 7);
	assert_int_equal(probe.site.patched, 2);
	assert_int_equal(probe.site.ends, 1);
	assert_int_equal(probe.site.begins, 1);
	assert_int_equal(probe.site.nr_pieces, 2);
	assert_int_equal(probe.site.nr_bytes, 9);
	assert_memory_equal(probe.site.bytes, wanted.site.bytes, PROBE_BYTES_MAX);
	assert_memory_equal(probe.site.springboard_bytes, wanted.site.springboard_bytes,
			PROBE_JUMP_BYTES);
	for (int i = 0; i < 2; i++) {
		const struct probe_piece *one = &probe.site.pieces[i],
					 *other = &wanted.site.pieces[i];

		assert_int_equal(one->at, other->at);
		assert_int_equal(one->length, other->length);
		assert_int_equal(one->kind, other->kind);
		assert_int_equal(one->field, other->field);
		assert_int_equal(one->detail, other->detail);
		assert_true(one->target == other->target);
	}
	for (uint32_t i = 0; i < 4; i++) {
		const struct probe_fetch *other = i < 3 ? &entry_fetches[i] : exit_fetches;

		probe_table_fetch(&table, i < 3 ? 0 : 3, i % 3, &fetch);
		assert_int_equal(fetch.nr_ops, other->nr_ops);
		assert_memory_equal(fetch.ops, other->ops, other->nr_ops * sizeof(*ops));
	}
}

/* ---- one damaged record, one reason ---- */

struct damaged {
	char *bytes;
	size_t size;
	struct table_head *head;
	struct table_part_head *parts;
	struct table_module *modules;
	struct table_event *events;
	struct table_field *fields;
	struct table_fetch *fetches;
	struct probe_fetch_op *ops;
	struct table_probe *probes;
	struct table_piece *pieces;
	char *strings;
};

static struct damaged copy_table(size_t more)
{
	struct damaged copy = {.bytes = aligned_alloc(8, (good_size + more + 7) & ~(size_t)7),
			.size = good_size + more};

	assert_non_null(copy.bytes);
	memcpy(copy.bytes, good, good_size);
	memset(copy.bytes + good_size, 0, more);
	copy.head = (void *)copy.bytes;
	copy.parts = (void *)(copy.bytes + sizeof(*copy.head));
	copy.modules = (void *)(copy.bytes + copy.parts[TABLE_MODULES].offset);
	copy.events = (void *)(copy.bytes + copy.parts[TABLE_EVENTS].offset);
	copy.fields = (void *)(copy.bytes + copy.parts[TABLE_FIELDS].offset);
	copy.fetches = (void *)(copy.bytes + copy.parts[TABLE_FETCHES].offset);
	copy.ops = (void *)(copy.bytes + copy.parts[TABLE_OPS].offset);
	copy.probes = (void *)(copy.bytes + copy.parts[TABLE_PROBES].offset);
	copy.pieces = (void *)(copy.bytes + copy.parts[TABLE_PIECES].offset);
	copy.strings = copy.bytes + copy.parts[TABLE_STRINGS].offset;
	copy.head->size = (uint32_t)copy.size;
	return copy;
}

/* The reason, or "" for a table that is accepted. */
static const char *open_copy(struct damaged *copy)
{
	struct probe_table table;
	const char *reason = "unset";
	int ret = probe_table_open(&table, copy->bytes, copy->size, &reason);

	if (!ret)
		assert_null(reason);
	else
		assert_int_equal(ret,
				!strcmp(reason, "it has another version") ? -EPROTONOSUPPORT
									  : -EPROTO);
	free(copy->bytes);
	return ret ? reason : "";
}

#define AFTER(change, wanted)                               \
	do {                                                \
		struct damaged t = copy_table(0);           \
		change;                                     \
		assert_string_equal(open_copy(&t), wanted); \
	} while (0)

#define HEAD "its head is damaged"
#define STRIDE "its records have a size that they cannot have"
#define OUTSIDE "a part of it is out of range"

static void test_heads(void **state)
{
	struct probe_table table;
	const char *reason;

	(void)state;
	AFTER((void)0, "");
	AFTER(t.size = 15, "it is not a probe table");
	AFTER(t.size = 16, HEAD);
	AFTER(t.head->magic++, "it is not a probe table");
	AFTER(t.head->version++, "it has another version");
	AFTER(t.head->version--, "it has another version");
	AFTER(t.head->size++, HEAD);
	AFTER(t.head->size--, HEAD);
	AFTER(t.head->reserved = 1, HEAD);
	AFTER(t.head->nr_parts = 7, HEAD);
	AFTER(t.head->nr_parts = 9, "");
	AFTER(t.head->nr_parts = (uint16_t)((good_size - 16) / 16), "");
	AFTER(t.head->nr_parts = (uint16_t)((good_size - 16) / 16 + 1), HEAD);
	for (uint32_t i = 0; i < TABLE_NR_PARTS; i++) {
		AFTER(t.parts[i].reserved = 1, STRIDE);
		AFTER(t.parts[i].offset = (uint32_t)t.size + 1, OUTSIDE);
		AFTER(t.parts[i].count = UINT32_MAX, OUTSIDE);
		AFTER((t.parts[i].count = 0, t.parts[i].offset = (uint32_t)t.size,
				      t.parts[i].stride = 4096),
				i == TABLE_STRINGS || i == TABLE_OPS ? STRIDE
						: i == TABLE_MODULES
						? "the module of a probe is out of range"
						: i == TABLE_EVENTS
						? "the event of a probe is out of range"
						: i == TABLE_FIELDS
						? "the fields of an event are out of range"
						: i == TABLE_FETCHES
						? "the event of a probe is out of range"
						: i == TABLE_PROBES
						? ""
						: "the instructions of a location are not in the table");
		AFTER(t.parts[i].stride = 4097, STRIDE);
		AFTER(t.parts[i].stride = (i == TABLE_FIELDS ? 8 : table_strides[i]) - 1, STRIDE);
	}
	AFTER(t.parts[TABLE_STRINGS].stride = 2, STRIDE);
	AFTER(t.parts[TABLE_OPS].stride = 24, STRIDE);
	AFTER(t.parts[TABLE_OPS].offset += 4, "its operations are not where they can be read");
	AFTER((t.parts[TABLE_OPS].offset += 4, t.parts[TABLE_OPS].count = 0),
			"the operations of a fetch are out of range");
	AFTER(t.strings[t.parts[TABLE_STRINGS].count - 1] = 'x', "its last string has no end");
	AFTER(t.parts[TABLE_STRINGS].count--, "its last string has no end");
	/* The last part ends with the table. */
	AFTER(t.parts[TABLE_STRINGS].count++, OUTSIDE);
	reason = NULL;
	assert_int_equal(probe_table_open(&table, good, PROBE_TABLE_MAX, &reason), -EPROTO);
	assert_string_equal(reason, HEAD);
	assert_int_equal(probe_table_open(&table, good, (size_t)PROBE_TABLE_MAX + 1, &reason),
			-EPROTO);
	assert_string_equal(reason, "it is not a probe table");
}

#define NO_NAME "the name of a module has no end"
#define NO_FIELDS "the fields of an event are out of range"
#define NO_EVENT "the event of a probe is out of range"
#define NO_PIECES "the instructions of a location are not in the table"

static void test_records(void **state)
{
	uint32_t size;

	(void)state;
	{
		struct damaged t = copy_table(0);

		size = t.parts[TABLE_STRINGS].count;
		free(t.bytes);
	}
	for (int i = 0; i < 2; i++) {
		AFTER(t.modules[i].path = size - 1, "");
		AFTER(t.modules[i].path = size, NO_NAME);
		AFTER(t.modules[i].name = size, NO_NAME);
	}
	AFTER(t.modules[1].build_id_size = 65,
			"a module has unknown flags, or a build id that is too long");
	AFTER(t.modules[1].flags = 1, "");
	AFTER(t.modules[1].flags = 2, "a module has unknown flags, or a build id that is too long");
	for (int i = 0; i < 3; i++) {
		AFTER(t.events[i].provider = size, "the name of an event has no end");
		AFTER(t.events[i].name = size, "the name of an event has no end");
		AFTER(t.events[i].provider = size - 1, "an event has no name");
		AFTER(t.events[i].name = size - 1, "an event has no name");
		AFTER(t.strings[t.events[i].provider] = 1,
				"the name of an event has characters that cannot be shown");
		AFTER(t.strings[t.events[i].name] = 1,
				"the name of an event has characters that cannot be shown");
	}
	AFTER(t.events[0].first_field = 4, "");
	AFTER(t.events[0].first_field = 1000, "");
	AFTER(t.events[2].first_field = 4, NO_FIELDS);
	AFTER((t.events[2].nr_fields = 2), NO_FIELDS);
	AFTER((t.events[2].nr_fields = 2, t.events[2].first_field = 2), NO_EVENT);
	AFTER((t.events[0].nr_fields = 64), NO_FIELDS);
	for (int i = 0; i < 4; i++) {
		AFTER(t.fields[i].name = size, "the name of a field has no end");
		AFTER(t.fields[i].labels = size, "the name of a field has no end");
		AFTER(t.fields[i].labels = size - 1, "");
		AFTER(t.fields[i].name = size - 1, "the name of a field is not valid");
	}
	AFTER(t.fields[0].type = 10, "a field's type is unknown");
	AFTER(t.fields[1].name = t.fields[0].name, "two fields of an event have the same name");
	AFTER(t.fields[3].name = t.fields[0].name, "");
	AFTER(t.fetches[1].nr_ops = 33, "the operations of a fetch are out of range");
	AFTER(t.fetches[3].nr_ops = 2, "the operations of a fetch are out of range");
	AFTER(t.fetches[3].first_op = 6, "the operations of a fetch are out of range");
	AFTER((t.fetches[3].first_op = 6, t.fetches[3].nr_ops = 0), "");
	AFTER((t.fetches[1].nr_ops = 5), "");
	AFTER(t.ops[0].code = PROBE_FETCH_WIDE,
			"a fetch calculates with a number that it has not pushed");
	/* No fetch has this operation. */
	AFTER((t.fetches[3].nr_ops = 0, t.ops[5].code = 0), "an operation is unknown");
	AFTER(t.ops[0].reserved = 1, "the reserved bytes of an operation are not 0");
	AFTER(t.probes->module = 2, "the module of a probe is out of range");
	AFTER(t.probes->entry = 3, NO_EVENT);
	AFTER(t.probes->exit = 3, NO_EVENT);
	AFTER((t.probes->entry = t.probes->exit = PROBE_TABLE_NONE), NO_EVENT);
	AFTER(t.probes->entry = PROBE_TABLE_NONE, "");
	AFTER(t.probes->exit = PROBE_TABLE_NONE, "");
	AFTER(t.probes->first_entry_fetch = 1, "");
	AFTER(t.probes->first_entry_fetch = 2, NO_EVENT);
	AFTER(t.probes->first_exit_fetch = 4, NO_EVENT);
	AFTER(t.probes->flags = 15, "");
	AFTER(t.probes->flags = 16, "a probe has unknown flags");
	AFTER(t.probes->function = size, "the name of a function has no end");
	AFTER(t.probes->nr_pieces = 3, NO_PIECES);
	AFTER(t.probes->first_piece = 1, NO_PIECES);
	AFTER(t.probes->ends = 2, NO_PIECES);
	AFTER(t.probes->has_reason = 2, NO_PIECES);
	AFTER(t.probes->nr_pieces = 6, NO_PIECES);
	AFTER(t.probes->method = 0, "a location cannot be probed");
	AFTER(t.probes->address = 0, "a location has no address");
}

/* Fields of older writers: 8 bytes, without labels. */
static void test_older_fields(void **state)
{
	struct damaged t = copy_table(0);
	struct probe_table table;
	struct probe_table_event event;
	struct probe_table_field field;
	const char *reason;
	char *old = (char *)t.fields;

	(void)state;
	for (int i = 0; i < 4; i++)
		memmove(old + (size_t)i * 8, &t.fields[i], 8);
	t.parts[TABLE_FIELDS].stride = 8;
	assert_int_equal(probe_table_open(&table, t.bytes, t.size, &reason), 0);
	probe_table_event(&table, 1, &event);
	for (uint32_t i = 0; i < 3; i++) {
		probe_table_field(&table, &event, i, &field);
		assert_string_equal(field.name, entry_fields[i].name);
		assert_int_equal(field.limit, entry_fields[i].limit);
		assert_int_equal(field.guarded, entry_fields[i].guarded);
		assert_string_equal(field.labels, "");
	}
	free(t.bytes);
	/* 11 bytes are no label either. */
	t = copy_table(8);
	old = (char *)t.fields;
	t.parts[TABLE_FIELDS].stride = 11;
	for (int i = 1; i < 4; i++)
		memmove(old + (size_t)i * 11, &t.fields[i], 8);
	assert_string_equal(open_copy(&t), "");
}

/* A table of `count` records of zeros of one part, and a string of `size` letters. */
static const char *open_many(enum table_part kind, uint32_t count, size_t letters)
{
	size_t records = (size_t)count * table_strides[kind];
	struct damaged t = {.size = 144 + records + letters + 1};
	const char *reason = "";

	t.bytes = calloc(1, t.size);
	assert_non_null(t.bytes);
	t.head = (void *)t.bytes;
	t.parts = (void *)(t.bytes + 16);
	*t.head = (struct table_head){TABLE_MAGIC, PROBE_TABLE_VERSION, 8, (uint32_t)t.size, 0};
	for (uint32_t i = 0; i < 8; i++)
		t.parts[i] = (struct table_part_head){144, 0, table_strides[i], 0};
	t.parts[kind].count = count;
	t.parts[TABLE_STRINGS].offset = (uint32_t)(144 + records);
	t.parts[TABLE_STRINGS].count = (uint32_t)letters + 1;
	memset(t.bytes + 144 + records, 'a', letters);
	reason = open_copy(&t);
	return reason;
}

static void test_counts(void **state)
{
	(void)state;
	assert_string_equal(open_many(TABLE_MODULES, 0, 0), "");
	assert_string_equal(open_many(TABLE_MODULES, 65536, 0), "");
	assert_string_equal(open_many(TABLE_MODULES, 65537, 0),
			"it has too many modules, events or probes");
	assert_string_equal(open_many(TABLE_EVENTS, 65536, 0), "an event has no name");
	assert_string_equal(open_many(TABLE_EVENTS, 65537, 0),
			"it has too many modules, events or probes");
	assert_string_equal(open_many(TABLE_PROBES, 1u << 20, 0),
			"the module of a probe is out of range");
	assert_string_equal(open_many(TABLE_PROBES, (1u << 20) + 1, 0),
			"it has too many modules, events or probes");
	assert_string_equal(open_many(TABLE_MODULES, 1, 4095), "");
	assert_string_equal(open_many(TABLE_MODULES, 1, 4096), NO_NAME);
}

static void test_empty(void **state)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	struct damaged t = {0};

	(void)state;
	assert_int_equal(calloc_size, sizeof(*writer));
	assert_int_equal(probe_table_bytes(writer, (void **)&t.bytes, &t.size), 0);
	assert_int_equal(t.size, 144);
	assert_int_equal(calloc_size, 144);
	t.head = (void *)t.bytes;
	assert_int_equal(t.head->size, 144);
	assert_string_equal(open_copy(&t), "");
	probe_table_writer_free(writer);
}

/* ---- writing ---- */

struct totals {
	size_t size[TABLE_NR_PARTS];
	uint32_t count[TABLE_NR_PARTS];
};

static struct totals totals_of(const struct probe_table_writer *writer)
{
	struct totals totals;

	for (int i = 0; i < TABLE_NR_PARTS; i++) {
		totals.size[i] = writer->parts[i].size;
		totals.count[i] = writer->parts[i].count;
		assert_int_equal(totals.size[i], (size_t)totals.count[i] * table_strides[i]);
	}
	return totals;
}

static int64_t add_one(struct probe_table_writer *writer, int kind)
{
	const struct probe_table_event event = {.provider = "another provider whose name is long",
			.name = "another",
			.nr_fields = 3,
			.fields = entry_fields};
	struct probe_table_probe probe = make_probe();

	probe.entry_fetches = other_fetches;
	return kind == 0            ? probe_table_add_module(writer, &modules[0])
			: kind == 1 ? probe_table_add_event(writer, &event)
				    : probe_table_add_probe(writer, &probe);
}

/* Each allocation fails once; after each failure the writer is unchanged. */
static void test_no_memory(void **state)
{
	static const unsigned int parts_grown[] = {2, 3, 5}; /* parts with their own buffers */

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		unsigned int failed = 0;

		for (unsigned int turn = 1;; turn++) {
			struct probe_table_writer *writer = make_writer();
			struct totals before = totals_of(writer), after;
			int64_t ret;

			for (int i = 0; i < TABLE_NR_PARTS; i++)
				writer->parts[i].capacity = writer->parts[i].size;
			realloc_fails = turn;
			ret = add_one(writer, kind);
			after = totals_of(writer);
			if (ret >= 0) {
				assert_int_equal(ret, kind == 0 ? 2 : kind == 1 ? 3 : 1);
				assert_true(turn > 1);
				realloc_fails = 0;
				probe_table_writer_free(writer);
				break;
			}
			failed++;
			assert_int_equal(ret, -ENOMEM);
			assert_memory_equal(&before, &after, sizeof(before));
			probe_table_writer_free(writer);
		}
		assert_int_equal(failed, parts_grown[kind]);
	}
	calloc_fails = 1;
	assert_null(probe_table_writer_new());
	probe_table_writer_free(NULL);
}

static void test_growth(void **state)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	const char bytes[8] = "1234567";

	(void)state;
	nr_reallocs = 0;
	assert_int_equal(table_write_append_record(writer, TABLE_STRINGS, bytes, 8), 0);
	assert_int_equal(nr_reallocs, 1);
	assert_int_equal(realloc_size, 16);
	assert_int_equal(table_write_append_record(writer, TABLE_STRINGS, bytes, 8), 0);
	assert_int_equal(nr_reallocs, 1);
	assert_int_equal(table_write_append_record(writer, TABLE_STRINGS, bytes, 1), 0);
	assert_int_equal(nr_reallocs, 2);
	assert_int_equal(realloc_size, 34);
	assert_int_equal(writer->parts[TABLE_STRINGS].capacity, 34);
	assert_int_equal(writer->parts[TABLE_STRINGS].count, 17);
	assert_memory_equal(writer->parts[TABLE_STRINGS].bytes, "1234567\0001234567\0001", 17);
	assert_int_equal(table_write_append_record(writer, TABLE_OPS, NULL, 0), 0);
	assert_int_equal(nr_reallocs, 2);
	/*
	 * Below the limit of a table, the writer runs out of memory; above it, the error differs.
	 */
	writer->parts[TABLE_STRINGS].size = PROBE_TABLE_MAX - 8;
	realloc_fails = 1;
	assert_int_equal(table_write_append_record(writer, TABLE_STRINGS, bytes, 8), -ENOMEM);
	writer->parts[TABLE_STRINGS].size++;
	assert_int_equal(table_write_append_record(writer, TABLE_STRINGS, bytes, 8), -E2BIG);
	realloc_fails = 1;
	assert_int_equal(table_write_append_record(
					 writer, TABLE_MODULES, bytes, PROBE_TABLE_MAX / 80),
			-ENOMEM);
	assert_int_equal(table_write_append_record(
					 writer, TABLE_MODULES, bytes, PROBE_TABLE_MAX / 80 + 1),
			-E2BIG);
	writer->parts[TABLE_STRINGS].size = 17;
	nr_frees = 0;
	probe_table_writer_free(writer);
	assert_int_equal(nr_frees, 2);
}

static void test_largest(void **state)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	void *bytes = (void *)-1;
	size_t size = 77;

	(void)state;
	writer->parts[TABLE_STRINGS].size = PROBE_TABLE_MAX - 144;
	calloc_fails = 1;
	assert_int_equal(probe_table_bytes(writer, &bytes, &size), -ENOMEM);
	assert_int_equal(calloc_size, PROBE_TABLE_MAX);
	writer->parts[TABLE_STRINGS].size++;
	assert_int_equal(probe_table_bytes(writer, &bytes, &size), -E2BIG);
	assert_ptr_equal(bytes, (void *)-1);
	assert_int_equal(size, 77);
	assert_int_equal(probe_table_memfd(writer), -E2BIG);
	probe_table_writer_free(writer);
}

/* Fetches that equal those of the probe before are written once. */
static void test_shared_fetches(void **state)
{
	static const struct {
		const struct probe_fetch *fetches;
		uint32_t entry, first, count;
	} rows[] = {{entry_fetches, 1, 0, 5}, {other_fetches, 1, 5, 9}, {other_fetches, 1, 5, 10},
			{shorter_fetches, 1, 10, 14}, {entry_fetches, 1, 14, 18},
			{empty_fetches, 1, 18, 22}, {empty_fetches, 1, 18, 23}, {NULL, 0, 0, 24},
			{empty_fetches, 1, 24, 28}, {NULL, PROBE_TABLE_NONE, 0, 29}};
	struct probe_table_writer *writer = make_writer();

	(void)state;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct probe_table_probe probe = make_probe();
		struct table_probe record;

		probe.entry = rows[i].entry;
		probe.entry_fetches = rows[i].fetches;
		assert_int_equal(probe_table_add_probe(writer, &probe), i + 1);
		memcpy(&record, writer->parts[TABLE_PROBES].bytes + (i + 1) * sizeof(record),
				sizeof(record));
		assert_int_equal(record.first_entry_fetch, rows[i].first);
		assert_int_equal(record.first_exit_fetch, rows[i].count - 1);
		assert_int_equal(writer->parts[TABLE_FETCHES].count, rows[i].count);
		assert_int_equal(record.first_piece, 2 * (i + 1));
	}
	{
		/* The last probe has no entry: its exit is remembered. */
		struct probe_table_probe probe = make_probe();
		struct table_probe record;

		probe.entry = PROBE_TABLE_NONE;
		assert_int_equal(probe_table_add_probe(writer, &probe), 11);
		memcpy(&record, writer->parts[TABLE_PROBES].bytes + 11 * sizeof(record),
				sizeof(record));
		assert_int_equal(record.first_exit_fetch, 28);
		assert_int_equal(writer->parts[TABLE_FETCHES].count, 29);
	}
	probe_table_writer_free(writer);
}

static void test_refusals(void **state)
{
	static const struct probe_fetch_op bad = {.code = PROBE_FETCH_REGISTER, .reg = 17},
					   no_aside = {.code = PROBE_FETCH_WIDE};
	static struct probe_fetch_op many[33];
	struct probe_table_writer *writer = make_writer();
	struct totals before = totals_of(writer), after;
	struct probe_fetch fetches[3] = {{many, 32}, {NULL, 0}, {NULL, 0}};
	struct probe_table_module module = modules[0];
	struct probe_table_event event = {.provider = "p", .name = "e"};
	struct probe_table_probe probe;
	char *name = calloc(1, 4097);

	(void)state;
#define REFUSE(change, error)                                                   \
	do {                                                                    \
		probe = make_probe();                                           \
		probe.entry_fetches = fetches;                                  \
		change;                                                         \
		assert_int_equal(probe_table_add_probe(writer, &probe), error); \
		after = totals_of(writer);                                      \
		assert_memory_equal(&before, &after, sizeof(before));           \
	} while (0)
	for (int i = 0; i < 33; i++)
		many[i].code = PROBE_FETCH_RETURN;
	REFUSE(fetches[0].nr_ops = 33, -E2BIG);
	fetches[0] = (struct probe_fetch){&bad, 1};
	REFUSE((void)0, -EINVAL);
	fetches[0] = (struct probe_fetch){&no_aside, 1};
	REFUSE((void)0, -EINVAL);
	fetches[0] = (struct probe_fetch){many, 32};
	memset(name, 'n', 4096);
	REFUSE(probe.function = name, -E2BIG);
	REFUSE(probe.module = 2, -EINVAL);
	REFUSE(probe.entry = 3, -EINVAL);
	REFUSE(probe.exit = 3, -EINVAL);
	REFUSE(probe.exit_fetches = NULL, -EINVAL);
	REFUSE(probe.flags = 16, -EINVAL);
	REFUSE((probe.entry = PROBE_TABLE_NONE, probe.exit = PROBE_TABLE_NONE), -EINVAL);
	REFUSE(probe.site.address = 0, -EINVAL);
	writer->parts[TABLE_PROBES].count = PROBE_TABLE_PROBES_MAX;
	probe = make_probe();
	assert_int_equal(probe_table_add_probe(writer, &probe), -E2BIG);
	writer->parts[TABLE_PROBES].count = PROBE_TABLE_PROBES_MAX - 1;
	assert_int_equal(probe_table_add_probe(writer, &probe), PROBE_TABLE_PROBES_MAX - 1);
	writer->parts[TABLE_PROBES].count = 2;
	before = totals_of(writer);
	module.name = name;
	assert_int_equal(probe_table_add_module(writer, &module), -E2BIG);
	module = modules[0];
	module.path = name;
	assert_int_equal(probe_table_add_module(writer, &module), -E2BIG);
	module = modules[0];
	module.flags = 2;
	assert_int_equal(probe_table_add_module(writer, &module), -EINVAL);
	event.name = name;
	assert_int_equal(probe_table_add_event(writer, &event), -E2BIG);
	event.name = "e";
	event.provider = name;
	assert_int_equal(probe_table_add_event(writer, &event), -E2BIG);
	after = totals_of(writer);
	assert_memory_equal(&before, &after, sizeof(before));
	name[4095] = 0;
	assert_int_equal(probe_table_add_event(writer, &event), 3);
	probe = make_probe();
	probe.entry_fetches = fetches;
	probe.function = NULL;
	assert_int_equal(probe_table_add_probe(writer, &probe), 2);
	probe_table_writer_free(writer);
	free(name);
}

/* A fetch of 32 operations is read; one of 33 is not, although the table has so many. */
static void test_most_operations(void **state)
{
	static struct probe_fetch_op many[32];
	struct probe_fetch fetches[3] = {{many, 32}, {many, 1}, {NULL, 0}};
	struct probe_table_writer *writer = make_writer();
	struct probe_table_probe probe = make_probe();
	struct table_fetch *record = NULL;
	struct probe_table table;
	const char *reason = NULL;
	void *bytes;
	size_t size;

	(void)state;
	for (int i = 0; i < 32; i++)
		many[i].code = PROBE_FETCH_RETURN;
	probe.entry_fetches = fetches;
	assert_true(probe_table_add_probe(writer, &probe) >= 0);
	assert_int_equal(probe_table_bytes(writer, &bytes, &size), 0);
	probe_table_writer_free(writer);
	assert_int_equal(probe_table_open(&table, bytes, size, &reason), 0);
	for (uint32_t i = 0; i < table.parts[TABLE_FETCHES].count; i++) {
		struct table_fetch *each = (void *)((char *)bytes +
				(table.parts[TABLE_FETCHES].records - table.bytes) +
				(size_t)i * table.parts[TABLE_FETCHES].stride);

		if (each->nr_ops == PROBE_TABLE_OPS_MAX)
			record = each;
	}
	assert_non_null(record);
	record->nr_ops++;
	assert_int_equal(probe_table_open(&table, bytes, size, &reason), -EPROTO);
	assert_string_equal(reason, "the operations of a fetch are out of range");
	free(bytes);
}

/* An event of 64 fields is read; one of 65 is not, although the table has so many. */
static void test_most_fields(void **state)
{
	static char names[64][8];
	struct probe_table_field fields[64];
	struct probe_table_event event = {
			.provider = "p", .name = "e", .nr_fields = 64, .fields = fields};
	struct probe_table_writer *writer = make_writer();
	struct table_event *record;
	struct probe_table table;
	const char *reason = NULL;
	void *bytes;
	size_t size;

	(void)state;
	for (int i = 0; i < 64; i++) {
		snprintf(names[i], sizeof(names[i]), "f%d", i);
		fields[i] = (struct probe_table_field){
				.name = names[i], .type = PROBE_FIELD_UNSIGNED, .size = 8};
	}
	assert_int_equal(probe_table_add_event(writer, &event), 3);
	event.nr_fields = 1;
	assert_int_equal(probe_table_add_event(writer, &event), 4);
	assert_int_equal(probe_table_bytes(writer, &bytes, &size), 0);
	probe_table_writer_free(writer);
	assert_int_equal(probe_table_open(&table, bytes, size, &reason), 0);
	record = (void *)((char *)bytes + (table.parts[TABLE_EVENTS].records - table.bytes) +
			(size_t)3 * table.parts[TABLE_EVENTS].stride);
	assert_int_equal(record->nr_fields, PROBE_TABLE_FIELDS_MAX);
	record->nr_fields++;
	assert_int_equal(probe_table_open(&table, bytes, size, &reason), -EPROTO);
	assert_string_equal(reason, NO_FIELDS);
	free(bytes);
}

/* ---- descriptors ---- */

static void test_memfd(void **state)
{
	struct probe_table_writer *writer = make_writer();
	char read_again[4096];
	size_t size = 0;
	int fd;

	(void)state;
	calloc_fails = 1;
	assert_int_equal(probe_table_memfd(writer), -ENOMEM);
	nr_frees = 0;
	memfd_fails = 1;
	assert_int_equal(probe_table_memfd(writer), -EMFILE);
	assert_int_equal(nr_frees, 1);
	assert_int_equal(nr_open, 0);
	nr_writes = 0;
	write_errors[0] = EIO;
	assert_int_equal(probe_table_memfd(writer), -EIO);
	assert_int_equal(nr_writes, 1);
	assert_int_equal(nr_frees, 2);
	assert_int_equal(nr_open, 0);
	nr_writes = 0;
	write_errors[0] = ACCEPTS_NOTHING;
	assert_int_equal(probe_table_memfd(writer), -EIO);
	assert_int_equal(nr_writes, 1);
	assert_int_equal(nr_frees, 3);
	assert_int_equal(nr_open, 0);
	nr_writes = 0;
	write_errors[0] = EINTR;
	write_errors[1] = write_errors[2] = 0;
	write_errors[3] = EINTR;
	seal_fails = 1;
	assert_int_equal(probe_table_memfd(writer), -EBUSY);
	assert_int_equal(nr_writes, 5);
	assert_int_equal(nr_frees, 4);
	assert_int_equal(nr_open, 0);
	nr_writes = 0;
	fd = probe_table_memfd(writer);
	assert_true(fd >= 0);
	assert_int_equal(nr_frees, 5);
	assert_int_equal(nr_open, 1);
	assert_int_equal(fcntl(fd, F_GET_SEALS),
			F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(pread(fd, read_again, sizeof(read_again), 0), good_size);
	assert_memory_equal(read_again, good, good_size);
	stat_fails = 1;
	assert_int_equal(probe_table_check_memfd(fd, &size), -EIO);
	assert_int_equal(size, 0);
	assert_int_equal(probe_table_check_memfd(fd, &size), 0);
	assert_int_equal(size, good_size);
	close(fd);
	probe_table_writer_free(writer);
}

static int sealed(off_t bytes, int seals, size_t *size)
{
	int fd = memfd_create("t", MFD_ALLOW_SEALING), ret;

	assert_int_equal(ftruncate(fd, bytes), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	ret = probe_table_check_memfd(fd, size);
	close(fd);
	return ret;
}

static void test_sizes(void **state)
{
	size_t size = 5;

	(void)state;
	assert_int_equal(sealed(0, SEALS, &size), -EFBIG);
	assert_int_equal(sealed((off_t)PROBE_TABLE_MAX + 1, SEALS, &size), -EFBIG);
	assert_int_equal(sealed(1, SEALS & ~F_SEAL_SHRINK, &size), -EPERM);
	assert_int_equal(sealed(1, SEALS & ~F_SEAL_GROW, &size), -EPERM);
	assert_int_equal(sealed(1, SEALS & ~F_SEAL_WRITE, &size), -EPERM);
	assert_int_equal(size, 5);
	assert_int_equal(sealed(1, SEALS, &size), 0);
	assert_int_equal(size, 1);
	assert_int_equal(sealed(PROBE_TABLE_MAX, SEALS, &size), 0);
	assert_int_equal(size, PROBE_TABLE_MAX);
	assert_int_equal(probe_table_check_memfd(-1, &size), -EBADF);
}

/* ---- checks ---- */

static const char *reason_of(struct probe_table_field field)
{
	const char *reason = table_check_fields(&field, 1);

	return reason ? reason : "";
}

static void test_checks(void **state)
{
	static const char unprintable[] =
			"the name of an event has characters that cannot be shown",
			  guarded[] = "a field cannot be unreadable",
			  labels[] = "the labels of a field cannot be read";
	const struct probe_table_field
			field = {.name = "f", .type = PROBE_FIELD_UNSIGNED, .size = 8},
			calls = {.name = "f", .type = PROBE_FIELD_BACKTRACE, .size = 8, .limit = 3},
			text = {.name = "f", .type = PROBE_FIELD_STRING, .size = 1, .limit = 9};
	struct probe_table_field other = field;

	(void)state;
	assert_null(table_check_event("\x20", "\x7e\x80\xff"));
	assert_string_equal(table_check_event("\x1f", "a"), unprintable);
	assert_string_equal(table_check_event("a", "b\x7f"), unprintable);
	assert_string_equal(table_check_event("", "a"), "an event has no name");
	assert_string_equal(table_check_event("a", ""), "an event has no name");
	other.guarded = true;
	assert_string_equal(reason_of(other), "");
	/* The longest name, and one more byte. */
	{
		char name[PROBE_TABLE_FIELD_NAME_MAX + 2];

		memset(name, 'n', sizeof(name));
		name[PROBE_TABLE_FIELD_NAME_MAX] = '\0';
		other = field;
		other.name = name;
		assert_string_equal(reason_of(other), "");
		name[PROBE_TABLE_FIELD_NAME_MAX] = 'n';
		name[PROBE_TABLE_FIELD_NAME_MAX + 1] = '\0';
		assert_string_not_equal(reason_of(other), "");
	}
	/* Each pair of fields. */
	for (unsigned int i = 0; i < 4; i++) {
		for (unsigned int k = 0; k < i; k++) {
			static const char *const names[] = {"a", "b", "c", "d"};
			struct probe_table_field fields[4];

			for (unsigned int at = 0; at < 4; at++) {
				fields[at] = field;
				fields[at].name = names[at == i ? k : at];
			}
			assert_string_equal(table_check_fields(fields, 4),
					"two fields of an event have the same name");
			assert_null(table_check_fields(fields, i));
		}
	}
	other = calls;
	assert_string_equal(reason_of(other), "");
	other.guarded = true;
	assert_string_equal(reason_of(other), guarded);
	other = field;
	other.type = 0;
	assert_string_equal(reason_of(other), "a field's type is unknown");
	other.type = PROBE_FIELD_STRUCT + 1;
	assert_string_equal(reason_of(other), "a field's type is unknown");
	other = field;
	other.labels = "A=1";
	assert_string_equal(reason_of(other), "");
	other.limit = 2;
	assert_string_equal(reason_of(other), labels);
	other.limit = 0;
	other.type = PROBE_FIELD_HEX;
	assert_string_equal(reason_of(other), labels);
	other.type = PROBE_FIELD_SIGNED;
	assert_string_equal(reason_of(other), "");
	other.labels = "A=1,";
	assert_string_equal(reason_of(other), labels);
	assert_int_equal(table_field_bytes(&field), 8);
	assert_int_equal(table_field_bytes(&calls), 32);
	assert_int_equal(table_field_bytes(&text), 17);
	other = text;
	other.guarded = true;
	assert_int_equal(table_field_bytes(&other), 89);
	other = field;
	other.guarded = true;
	assert_int_equal(table_field_bytes(&other), 80);
	other = (struct probe_table_field){.type = PROBE_FIELD_STRUCT, .size = 5};
	assert_int_equal(table_field_bytes(&other), 24);
	assert_int_equal(probe_table_inside(&other), 5);
	assert_int_equal(probe_table_inside(&field), 0);
	assert_true(probe_field_is_array(&calls));
	assert_false(probe_field_is_array(&text));
	assert_false(probe_field_is_array(&field));
}

static void test_labels(void **state)
{
	static const char *const bad[] = {"A=/", "A=:", "A=18446744073709551616", "A=-", "A=1,",
			"A=1x", "=1", "A,B=1", ""};
	char name[PROBE_TABLE_LABEL_MAX + 1];
	const char *text = "one=-18446744073709551615,2=9,x=0", *at = text;
	int64_t value = 0;

	(void)state;
	assert_true(probe_table_label(&at, name, &value));
	assert_string_equal(name, "one");
	assert_int_equal(value, 1);
	assert_string_equal(at, "2=9,x=0");
	assert_true(probe_table_label(&at, name, &value));
	assert_string_equal(name, "2");
	assert_int_equal(value, 9);
	assert_true(probe_table_label(&at, name, &value));
	assert_string_equal(name, "x");
	assert_int_equal(value, 0);
	assert_string_equal(at, "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		at = bad[i];
		value = 123;
		assert_false(probe_table_label(&at, name, &value));
		assert_ptr_equal(at, bad[i]);
		assert_int_equal(value, 123);
	}
}

static const char *op_reason(unsigned int code, unsigned int reg, unsigned int size, int64_t value)
{
	const struct probe_fetch_op op = {.code = (uint8_t)code,
			.reg = (uint8_t)reg,
			.size = (uint8_t)size,
			.value = value};
	const char *reason = table_check_op(&op);

	return reason ? reason : "";
}

static void test_operations(void **state)
{
	static const char operand[] = "an operation has a size or a register that it cannot have";
	struct probe_fetch_op op = {.code = PROBE_FETCH_ADD, .reserved2 = 1};
	char codes[256] = "";

	(void)state;
	assert_string_equal(table_check_op(&op), "the reserved bytes of an operation are not 0");
	op = (struct probe_fetch_op){.code = PROBE_FETCH_ADD, .reserved = 1};
	assert_string_equal(table_check_op(&op), "the reserved bytes of an operation are not 0");
	for (unsigned int code = 0; code < 256; code++) {
		const char *reason = op_reason(code, 0, 1, 0);

		if (!*reason)
			sprintf(codes + strlen(codes), "%u ", code);
		else
			assert_string_equal(reason, "an operation is unknown");
	}
	assert_string_equal(codes,
			"1 2 3 4 5 6 7 8 9 10 11 12 13 32 33 34 35 36 37 38 39 40 41 42 43 44 ");
	for (unsigned int reg = 0; reg < 256; reg++) {
		const bool is_known = reg <= 16 || reg == 49;

		assert_string_equal(op_reason(PROBE_FETCH_REGISTER, reg, 0, 0),
				is_known ? "" : operand);
		assert_string_equal(op_reason(PROBE_FETCH_ADD_REGISTER, reg, 63, 0),
				is_known ? "" : operand);
		assert_string_equal(
				op_reason(PROBE_FETCH_VECTOR, reg, 0, 0), reg < 16 ? "" : operand);
	}
	assert_string_equal(op_reason(PROBE_FETCH_ADD_REGISTER, 0, 64, 0), operand);
	assert_string_equal(op_reason(PROBE_FETCH_VECTOR, 15, 0, 8), "");
	assert_string_equal(op_reason(PROBE_FETCH_VECTOR, 15, 0, 7), operand);
	assert_string_equal(op_reason(PROBE_FETCH_VECTOR, 15, 0, 16), operand);
	assert_string_equal(op_reason(PROBE_FETCH_ADD_REGISTER, 17, 0, 0), operand);
	assert_string_equal(op_reason(PROBE_FETCH_ADD_REGISTER, 49, 63, 0), "");
	assert_string_equal(op_reason(PROBE_FETCH_LOAD, 0, 0, 0), operand);
	assert_string_equal(op_reason(PROBE_FETCH_LOAD, 0, 3, 0), operand);
	assert_string_equal(op_reason(PROBE_FETCH_ZERO_EXTEND, 0, 0, 0), operand);
}

static const char *site_reason(struct probe_site site)
{
	const char *reason = table_check_site(&site);

	return reason ? reason : "";
}

static void test_sites(void **state)
{
	static const char bytes[] = "a location changes more bytes than the table has",
			  gaps[] = "the instructions of a location are not consecutive";
	struct probe_site site = make_probe().site, other;

	(void)state;
#define SITE(change, wanted)                                     \
	do {                                                     \
		other = site;                                    \
		change;                                          \
		assert_string_equal(site_reason(other), wanted); \
	} while (0)
	SITE((void)0, "");
	SITE(other.patched = 1, "a short jump has no springboard");
	SITE(other.springboard = 0, "a short jump has no springboard");
	SITE(other.patched = 3, bytes);
	SITE((other.method = PROBE_JUMP, other.springboard = 0, other.patched = 5), "");
	SITE((other.method = PROBE_JUMP, other.patched = 6), bytes);
	SITE((other.method = PROBE_BREAKPOINT, other.patched = 2), bytes);
	SITE((other.method = PROBE_BREAKPOINT, other.patched = 1, other.springboard = 0), "");
	SITE((other.method = PROBE_KERNEL, other.patched = 1), "");
	SITE(other.method = 7, "a location cannot be probed");
	SITE(other.method = PROBE_NONE, "a location cannot be probed");
	SITE(other.pieces[1].at = 4, gaps);
	SITE(other.pieces[1].length = 0, gaps);
	SITE(other.pieces[1].kind = PROBE_CALL_INDIRECT + 1, gaps);
	SITE(other.pieces[1].detail = 4, gaps);
	SITE((other.pieces[1].kind = PROBE_CALL, other.pieces[1].detail = 15), "");
	SITE((other.pieces[1].kind = PROBE_CALL, other.pieces[1].detail = 16), gaps);
	SITE(other.displaced = 6, gaps);
	SITE(other.displaced = 8, gaps);
	SITE(other.nr_bytes = 6, gaps);
	SITE(other.nr_bytes = 7, "");
	SITE(other.nr_bytes = PROBE_BYTES_MAX, "");
	SITE(other.nr_bytes = PROBE_BYTES_MAX + 1, gaps);
	SITE(other.nr_pieces = 0, gaps);
	SITE((other.nr_pieces = 0, other.displaced = 0), gaps);
	SITE(other.patched = 0, bytes);
	SITE(other.address = 0, "a location has no address");
	other = (struct probe_site){.address = 1,
			.method = PROBE_PUNNED,
			.patched = 4,
			.displaced = 4,
			.nr_pieces = 1,
			.nr_bytes = 4,
			.pieces = {{.length = 4}}};
	assert_string_equal(site_reason(other), "the bytes after a location are not known");
	other.patched = 5;
	assert_string_equal(site_reason(other), bytes);
	other.nr_bytes = 5;
	assert_string_equal(site_reason(other), "");
}

/* ---- types ---- */

static char printed[4096];

static void print_attrs(const struct side_attr *attr, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, attr++) {
		const char *text = side_ptr_get(attr->value.u.string_value.p);
		size_t at = strlen(printed);

		at += (size_t)sprintf(
				printed + at, "[%s=", (const char *)side_ptr_get(attr->key.p));
		if (attr->value.type.v == SIDE_ATTR_TYPE_STRING)
			sprintf(printed + at, "'%s']", text);
		else
			sprintf(printed + at, "%u:%u]", attr->value.type.v,
					attr->value.u.integer_value.side_u8);
	}
}

#define ATTRS(of) \
	print_attrs(side_array_elements(&(of)->attributes), side_array_length(&(of)->attributes))

static void print_type(const struct side_type *type);

static void print_fields(const struct side_event_field *field, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, field++) {
		sprintf(printed + strlen(printed),
				"%s:", (const char *)side_ptr_get(field->field_name));
		print_type(&field->side_type);
		strcat(printed, " ");
	}
}

static void print_enum(const struct side_type_enum *type)
{
	const struct side_enum_mappings *mappings = side_ptr_get(type->mappings);
	const struct side_enum_mapping *one = side_array_elements(&mappings->mappings);

	strcat(printed, "enum{");
	for (uint32_t i = 0; i < side_array_length(&mappings->mappings); i++, one++)
		sprintf(printed + strlen(printed), "%s=%lld..%lld,",
				(const char *)side_ptr_get(one->label.p),
				(long long)one->range_begin, (long long)one->range_end);
	strcat(printed, "}");
	print_type(side_ptr_get(type->elem_type));
}

static void print_gathered(const struct side_type *type)
{
	const struct side_type_gather_vla *vla = &type->u.side_gather.u.side_vla;
	const struct side_type_gather_integer *integer = &type->u.side_gather.u.side_integer;
	const struct side_type_gather_float *number = &type->u.side_gather.u.side_float;
	size_t at = strlen(printed);

	switch (type->type.v) {
	case SIDE_TYPE_GATHER_VLA:
		sprintf(printed + at, "vla@%u:%u(", (unsigned int)vla->offset, vla->access_mode.v);
		print_type(side_ptr_get(vla->type.length_type));
		strcat(printed, ",");
		print_type(side_ptr_get(vla->type.elem_type));
		strcat(printed, ")");
		break;
	case SIDE_TYPE_GATHER_FLOAT:
		sprintf(printed + at, "f%u@%u:%u", number->type.float_size,
				(unsigned int)number->offset, number->access_mode.v);
		ATTRS(&number->type);
		break;
	default:
		assert_int_equal(type->type.v, SIDE_TYPE_GATHER_INTEGER);
		sprintf(printed + at, "%c%u@%u:%u:%u", integer->type.signedness ? 's' : 'u',
				integer->type.integer_size, (unsigned int)integer->offset,
				integer->offset_bits + integer->type.len_bits,
				integer->access_mode.v);
		ATTRS(&integer->type);
	}
}

static void print_type(const struct side_type *type)
{
	const struct side_type_optional *optional = side_ptr_get(type->u.side_optional);
	const struct side_type_struct *structure = side_ptr_get(type->u.side_struct);
	size_t at = strlen(printed);

	switch (type->type.v) {
	case SIDE_TYPE_BOOL: sprintf(printed + at, "bool%u", type->u.side_bool.bool_size); break;
	case SIDE_TYPE_STRING_UTF8:
		sprintf(printed + at, "string%u", type->u.side_string.unit_size);
		break;
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128:
		sprintf(printed + at, "f%u", type->u.side_float.float_size);
		break;
	case SIDE_TYPE_OPTIONAL:
		strcat(printed, "optional");
		print_attrs(side_array_elements(&optional->attributes),
				side_array_length(&optional->attributes));
		strcat(printed, "(");
		print_type(side_ptr_get(optional->elem_type));
		strcat(printed, ")");
		break;
	case SIDE_TYPE_STRUCT:
		strcat(printed, "{");
		print_fields(side_array_elements(&structure->fields),
				side_array_length(&structure->fields));
		strcat(printed, "}");
		break;
	case SIDE_TYPE_ENUM: print_enum(&type->u.side_enum); break;
	case SIDE_TYPE_GATHER_VLA:
	case SIDE_TYPE_GATHER_FLOAT:
	case SIDE_TYPE_GATHER_INTEGER: print_gathered(type); break;
	default:
		assert_true(type->type.v >= SIDE_TYPE_U8 && type->type.v <= SIDE_TYPE_S128);
		sprintf(printed + at, "%c%u", type->u.side_integer.signedness ? 's' : 'u',
				type->u.side_integer.integer_size);
		ATTRS(&type->u.side_integer);
	}
}

/* The description of an event with these fields, and the label of each argument. */
static const char *describe(
		const struct probe_table_field *fields, uint32_t count, uint16_t *labels)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	const struct probe_table_event in = {
			.provider = "p", .name = "e", .nr_fields = count, .fields = fields};
	struct side_builder *builder = side_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0);
	const struct side_event_description *description;
	struct probe_table_event event;
	struct probe_table table;
	const char *reason;
	void *bytes;
	size_t size;

	assert_int_equal(probe_table_add_event(writer, &in), 0);
	assert_int_equal(probe_table_bytes(writer, &bytes, &size), 0);
	probe_table_writer_free(writer);
	assert_int_equal(probe_table_open(&table, bytes, size, &reason), 0);
	probe_table_event(&table, 0, &event);
	probe_table_describe(builder, &table, &event);
	assert_string_equal(side_builder_error(builder), "");
	assert_int_equal(side_builder_finish(builder), 0);
	description = side_builder_description(builder);
	*printed = 0;
	ATTRS(description);
	strcat(printed, " ");
	print_fields(side_array_elements(&description->fields),
			side_array_length(&description->fields));
	probe_table_labels(&table, &event, side_array_elements(&description->fields), labels);
	side_builder_destroy(builder);
	free(bytes);
	return printed;
}

#define BASE "[std.integer.base=2:16]"

static void test_types(void **state)
{
	static const struct {
		struct probe_table_field field;
		const char *type;
		uint16_t label;
	} rows[] = {
			{{.type = PROBE_FIELD_UNSIGNED, .size = 1}, "u1", SIDE_TYPE_U8},
			{{.type = PROBE_FIELD_SIGNED, .size = 16}, "s16", SIDE_TYPE_S128},
			{{.type = PROBE_FIELD_HEX, .size = 8}, "u8" BASE, SIDE_TYPE_U64},
			{{.type = PROBE_FIELD_BOOL, .size = 1}, "bool1", SIDE_TYPE_BOOL},
			{{.type = PROBE_FIELD_FLOAT, .size = 4}, "f4", SIDE_TYPE_FLOAT_BINARY32},
			{{.type = PROBE_FIELD_FLOAT, .size = 16}, "f16", SIDE_TYPE_FLOAT_BINARY128},
			{{.type = PROBE_FIELD_STRING, .size = 1, .limit = 9}, "string1",
					SIDE_TYPE_STRING_UTF8},
			{{.type = PROBE_FIELD_BYTES, .size = 1, .limit = 9},
					"vla@8:0(u8@0:0:0,u1@0:0:0" BASE ")", SIDE_TYPE_GATHER_VLA},
			{{.type = PROBE_FIELD_UNSIGNED, .size = 4, .limit = 9},
					"vla@8:0(u8@0:0:0,u4@0:0:0)", SIDE_TYPE_GATHER_VLA},
			{{.type = PROBE_FIELD_SIGNED, .size = 2, .limit = 9},
					"vla@8:0(u8@0:0:0,s2@0:0:0)", SIDE_TYPE_GATHER_VLA},
			{{.type = PROBE_FIELD_HEX, .size = 2, .limit = 9},
					"vla@8:0(u8@0:0:0,u2@0:0:0" BASE ")", SIDE_TYPE_GATHER_VLA},
			{{.type = PROBE_FIELD_FLOAT, .size = 8, .limit = 9},
					"vla@8:0(u8@0:0:0,f8@0:0)", SIDE_TYPE_GATHER_VLA},
			{{.type = PROBE_FIELD_BACKTRACE, .size = 8, .limit = 9},
					"vla@8:0(u8@0:0:0,u8@0:0:0" BASE "[side.address='call'])",
					SIDE_TYPE_GATHER_VLA},
			{{.type = PROBE_FIELD_SIGNED, .size = 4, .labels = "A=-3,B=11"},
					"enum{A=-3..-3,B=11..11,}s4", SIDE_TYPE_S32},
			{{.type = PROBE_FIELD_UNSIGNED, .size = 2, .guarded = true},
					"optional[side.unreadable=1:1](u2)", SIDE_TYPE_U16},
			{{.type = PROBE_FIELD_UNSIGNED,
					 .size = 2,
					 .labels = "A=7",
					 .guarded = true},
					"optional[side.unreadable=1:1](enum{A=7..7,}u2)",
					SIDE_TYPE_U16},
			{{.type = PROBE_FIELD_STRING, .size = 1, .limit = 9, .guarded = true},
					"optional[side.unreadable=1:1](string1)",
					SIDE_TYPE_STRING_UTF8},
			{{.name = "caller", .type = PROBE_FIELD_HEX, .size = 8},
					"u8" BASE "[side.address='call']", SIDE_TYPE_U64},
			{{.name = "caller", .type = PROBE_FIELD_UNSIGNED, .size = 8},
					"u8[side.address='call']", SIDE_TYPE_U64},
			{{.name = "caller", .type = PROBE_FIELD_SIGNED, .size = 8}, "s8",
					SIDE_TYPE_S64},
			{{.name = "caller", .type = PROBE_FIELD_UNSIGNED, .size = 4}, "u4",
					SIDE_TYPE_U32},
			{{.name = "caller",
					 .type = PROBE_FIELD_UNSIGNED,
					 .size = 8,
					 .labels = "A=1"},
					"enum{A=1..1,}u8", SIDE_TYPE_U64},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct probe_table_field field = rows[i].field;
		char wanted[512];
		uint16_t label = 0;

		if (!field.name)
			field.name = "name";
		sprintf(wanted, "[side.address=1:1] %s:%s ", field.name, rows[i].type);
		assert_string_equal(describe(&field, 1, &label), wanted);
		assert_int_equal(label, rows[i].label);
	}
}

/* Structures in structures, and what comes after each of them. */
static void test_structures(void **state)
{
	static const struct probe_table_field fields[] = {
			{.name = "a", .type = PROBE_FIELD_UNSIGNED, .size = 1},
			{.name = "b", .type = PROBE_FIELD_STRUCT, .size = 4},
			{.name = "c", .type = PROBE_FIELD_UNSIGNED, .size = 2},
			{.name = "d", .type = PROBE_FIELD_STRUCT, .size = 1},
			{.name = "e", .type = PROBE_FIELD_UNSIGNED, .size = 4, .guarded = true},
			{.name = "f", .type = PROBE_FIELD_SIGNED, .size = 1},
			{.name = "g", .type = PROBE_FIELD_STRUCT, .size = 2},
			{.name = "h", .type = PROBE_FIELD_STRUCT, .size = 1},
			{.name = "i", .type = PROBE_FIELD_SIGNED, .size = 2, .labels = "X=1"},
			{.name = "j", .type = PROBE_FIELD_SIGNED, .size = 8},
	};
	static const uint16_t wanted[] = {SIDE_TYPE_U8, SIDE_TYPE_STRUCT, SIDE_TYPE_U16,
			SIDE_TYPE_STRUCT, SIDE_TYPE_U32, SIDE_TYPE_S8, SIDE_TYPE_STRUCT,
			SIDE_TYPE_STRUCT, SIDE_TYPE_S16, SIDE_TYPE_S64};
	uint16_t labels[11];

	(void)state;
	memset(labels, 0xee, sizeof(labels));
	assert_string_equal(describe(fields, 10, labels),
			"[side.address=1:1] a:u1 b:{c:u2 d:{e:optional[side.unreadable=1:1](u4) } f:s1 } g:{h:{i:enum{X=1..1,}s2 } } j:s8 ");
	assert_memory_equal(labels, wanted, sizeof(wanted));
	assert_int_equal(labels[10], 0xeeee);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_parts),
			cmocka_unit_test(test_fields),
			cmocka_unit_test(test_probe),
			cmocka_unit_test(test_heads),
			cmocka_unit_test(test_records),
			cmocka_unit_test(test_older_fields),
			cmocka_unit_test(test_counts),
			cmocka_unit_test(test_empty),
			cmocka_unit_test(test_no_memory),
			cmocka_unit_test(test_growth),
			cmocka_unit_test(test_largest),
			cmocka_unit_test(test_shared_fetches),
			cmocka_unit_test(test_refusals),
			cmocka_unit_test(test_most_operations),
			cmocka_unit_test(test_most_fields),
			cmocka_unit_test(test_memfd),
			cmocka_unit_test(test_sizes),
			cmocka_unit_test(test_checks),
			cmocka_unit_test(test_labels),
			cmocka_unit_test(test_operations),
			cmocka_unit_test(test_sites),
			cmocka_unit_test(test_types),
			cmocka_unit_test(test_structures),
	};

	return cmocka_run_group_tests(tests, make_good, free_good);
}
