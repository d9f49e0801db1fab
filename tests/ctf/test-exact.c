/* SPDX-License-Identifier: MIT */
/*
 * Traces byte by byte: the metadata of both formats with each field class, packet headers, records
 * of losses; and each call of the writer fails in turn. The expected metadata is in exact.tsdl and
 * exact.json.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "ctf/tsdl.h"
#include "scratch.h"
#include "types.h"

/* ---- system calls: known random numbers, short writes, failures ---- */

static size_t write_most = SIZE_MAX; /* bytes that one call writes at most */
static unsigned int interrupted_writes, locks;
static bool truncation_fails, nothing_written, nothing_read;

static ssize_t test_getrandom(void *to, size_t size, unsigned int flags)
{
	if (failing_is_due("getrandom", EIO))
		return -1;
	assert_int_equal(flags, 0);
	for (size_t i = 0; i < size; i++)
		((unsigned char *)to)[i] = (unsigned char)(0xf0 + i * 0x11);
	return (ssize_t)size;
}

static int test_mkdir(const char *path, mode_t mode)
{
	return failing_is_due("mkdir", EACCES) ? -1 : mkdir(path, mode);
}

static int test_open(const char *path, int flags)
{
	return failing_is_due("open", EMFILE) ? -1 : open(path, flags);
}

static int test_openat(int directory, const char *path, int flags, mode_t mode)
{
	return failing_is_due("openat", EROFS) ? -1 : openat(directory, path, flags, mode);
}

static int test_renameat(int from_directory, const char *from, int to_directory, const char *to)
{
	return failing_is_due("renameat", EDQUOT)
			? -1
			: renameat(from_directory, from, to_directory, to);
}

static int test_unlinkat(int directory, const char *path, int flags)
{
	return failing_is_due("unlinkat", EPERM) ? -1 : unlinkat(directory, path, flags);
}

static int test_flock(int fd, int operation)
{
	assert_int_equal(operation, LOCK_EX | LOCK_NB);
	locks++;
	return flock(fd, operation);
}

static ssize_t test_pread(int fd, void *to, size_t size, off_t at)
{
	if (nothing_read)
		return 0;
	return failing_is_due("pread", EIO) ? -1 : pread(fd, to, size, at);
}

static int test_ftruncate(int fd, off_t size)
{
	if (!truncation_fails)
		return ftruncate(fd, size);
	errno = EROFS;
	return -1;
}

static int test_close(int fd)
{
	int ret = close(fd);

	return failing_is_due("close", ENOSPC) ? -1 : ret;
}

static ssize_t test_pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
	struct iovec first;

	assert_int_equal(count, 2);
	if (interrupted_writes) {
		interrupted_writes--;
		errno = EINTR;
		return -1;
	}
	if (failing_is_due("pwritev", ENOSPC))
		return -1;
	if (nothing_written)
		return 0;
	if (parts[0].iov_len + parts[1].iov_len <= write_most)
		return pwritev(fd, parts, count, at);
	/* A short write ends within the first part, or within the second one. */
	first = parts[parts[0].iov_len ? 0 : 1];
	if (first.iov_len > write_most)
		first.iov_len = write_most;
	return pwritev(fd, &first, 1, at);
}

#define getrandom(to, size, flags) test_getrandom(to, size, flags)
#define mkdir(path, mode) test_mkdir(path, mode)
#define open(path, flags) test_open(path, flags)
#define openat(directory, path, flags, mode) test_openat(directory, path, flags, mode)
#define renameat(from_directory, from, directory, to) \
	test_renameat(from_directory, from, directory, to)
#define unlinkat(directory, path, flags) test_unlinkat(directory, path, flags)
#define flock(fd, operation) test_flock(fd, operation)
#define pread(fd, to, size, at) test_pread(fd, to, size, at)
#define ftruncate(fd, size) test_ftruncate(fd, size)
#define close(fd) test_close(fd)
#define pwritev(fd, parts, count, at) test_pwritev(fd, parts, count, at)
#include "ctf/write/stream.c" /* NOLINT(bugprone-suspicious-include): replaces system calls */
#include "ctf/write/writer.c" /* NOLINT(bugprone-suspicious-include) */
#undef mkdir
#undef open
#undef openat
#undef close

/* ---- a tree with each field class ---- */

static struct ctf_type *integer(struct ctf_arena *arena, unsigned int size, bool is_signed,
		unsigned int base, unsigned int align, bool is_foreign)
{
	struct ctf_type *type = ctf_type_integer(arena, size, is_signed);

	type->base = (uint8_t)base;
	type->align = align;
	type->big_endian ^= is_foreign;
	return type;
}

static struct ctf_type *labelled(struct ctf_arena *arena, struct ctf_type *of,
		const struct ctf_label *labels, uint32_t count)
{
	struct ctf_type *type = ctf_type_enum(arena, of, count);

	memcpy(type->labels, labels, count * sizeof(*labels));
	return type;
}

static const struct ctf_label states[] = {{"b \"\\\n\t\x7f", 1, 1}, {"a", 2, 9}, {"a", 11, 11},
		{"", 12, 13}, {"\xc3\xa9\xff", 20, 20}};
static const struct ctf_label signs[] = {
		{"minus", (uint64_t)-7, (uint64_t)-5}, {"plus", 5, UINT64_C(0x7fffffffffffffff)}};
static const struct ctf_label options[] = {
		{"o1", 3, 4}, {"o0", 0, 0}, {"o1", 1, 1}, {"other", 9, 9}};
static const struct ctf_label optional[] = {{"none", 0, 0}, {"some", 1, 255}};
static const struct ctf_label truths[] = {{"false", 0, 0}, {"true", 1, 255}};
static const struct ctf_label flags[] = {{"low", 0, 1}, {"high", 7, 7}};

struct tree {
	struct ctf_arena *arena;
	struct ctf_type *type;
	uint32_t count;
};

static struct ctf_type *add(struct tree *tree, const char *name, struct ctf_type *type)
{
	ctf_member_set(&tree->type->members[tree->count++], name, type,
			*name == 'L' || *name == 'T');
	return type;
}

/* The same names in both formats; only CTF 2 has what TSDL lacks. */
static void add_numbers(struct tree *tree)
{
	struct ctf_arena *arena = tree->arena;

	add(tree, "_u8", integer(arena, 8, false, 10, 8, false));
	add(tree, "_s16", integer(arena, 16, true, 10, 8, false));
	add(tree, "_u32_hex", integer(arena, 32, false, 16, 8, false));
	add(tree, "_s64_foreign", integer(arena, 64, true, 10, 8, true));
	add(tree, "_u8_foreign", integer(arena, 8, false, 10, 8, true));
	add(tree, "_u16_aligned", integer(arena, 16, false, 8, 32, false));
	add(tree, "_bits", integer(arena, 5, true, 2, 1, false));
	add(tree, "_bits_foreign", integer(arena, 33, false, 10, 1, true));
	add(tree, "_character", integer(arena, 8, false, 10, 8, false))->text = true;
	add(tree, "_f32", ctf_type_float(arena, 32));
	add(tree, "_f64_foreign", ctf_type_float(arena, 64))->big_endian ^= 1;
	add(tree, "_state",
			labelled(arena, integer(arena, 8, false, 10, 8, false), states,
					COUNT(states)));
	add(tree, "_sign",
			labelled(arena, integer(arena, 64, true, 10, 8, false), signs,
					COUNT(signs)));
	add(tree, "_truth",
			labelled(arena, integer(arena, 8, false, 10, 8, false), truths,
					COUNT(truths)))
			->boolean = true;
	add(tree, "_flags", integer(arena, 16, false, 16, 8, false))->bitmap = true;
}

static void add_compounds(struct tree *tree)
{
	struct ctf_arena *arena = tree->arena;
	struct ctf_type *inner = ctf_type_struct(arena, 2),
			*text = integer(arena, 8, false, 10, 8, false), *type;
	struct ctf_type *byte = integer(arena, 8, false, 10, 8, false);

	add(tree, "_string", ctf_type_string(arena));
	add(tree, "_empty", ctf_type_struct(arena, 0));
	ctf_member_set(&inner->members[0], "_a", integer(arena, 8, true, 10, 8, false), false);
	ctf_member_set(&inner->members[1], "_b", ctf_type_array(arena, inner->members[0].type, 2),
			false);
	inner->align = 64;
	add(tree, "_inner", inner);
	text->text = true;
	byte->byte = true;
	add(tree, "_text", ctf_type_array(arena, text, 5));
	add(tree, "_bytes", ctf_type_array(arena, byte, 6));
	add(tree, "_rows",
			ctf_type_array(arena,
					ctf_type_array(arena,
							integer(arena, 16, false, 10, 8, false), 3),
					2));
	add(tree, "L1", integer(arena, 32, false, 10, 8, false));
	add(tree, "_list", ctf_type_sequence(arena, ctf_type_array(arena, inner, 4), "L1"));
	add(tree, "_characters", ctf_type_sequence(arena, text, "L1"));
	type = labelled(arena, integer(arena, 8, false, 10, 8, false), options, COUNT(options));
	add(tree, "T1", type);
	type = ctf_type_variant(arena, 2, "T1");
	ctf_member_set(&type->members[0], "o0", ctf_type_string(arena), false);
	ctf_member_set(&type->members[1], "o1", ctf_type_sequence(arena, byte, "L1"), false);
	add(tree, "_choice", type);
	add(tree, "T2", labelled(arena, integer(arena, 8, false, 10, 8, false), optional, 2));
	type = ctf_type_variant(arena, 2, "T2");
	type->optional = true;
	ctf_member_set(&type->members[0], "none", ctf_type_struct(arena, 0), false);
	ctf_member_set(&type->members[1], "some", integer(arena, 64, false, 10, 8, false), false);
	add(tree, "_maybe", type);
}

/* A length that is in the enclosing structure. */
static void add_nested(struct tree *tree, struct ctf_type *text)
{
	struct ctf_type *inner = ctf_type_struct(tree->arena, 1),
			*outer = ctf_type_struct(tree->arena, 1);

	ctf_member_set(&inner->members[0], "_x", ctf_type_sequence(tree->arena, text, "L1"), false);
	ctf_member_set(&outer->members[0], "_i", inner, false);
	add(tree, "_nested", outer);
}

static void add_ctf2(struct tree *tree)
{
	static const char *paths[] = {NULL, "_outer", "L1"};
	static const struct ctf_location near = {.origin = -1, .count = 3, .path = paths},
					 far = {.origin = CTF_SCOPE_EVENT_HEADER,
							 .count = 1,
							 .path = paths + 1};
	struct ctf_arena *arena = tree->arena;
	struct ctf_type *text = integer(arena, 8, false, 10, 8, false), *type;

	text->text = true;
	type = add(tree, "_bit_map", integer(arena, 8, false, 10, 8, false));
	type->bitmap = true;
	type->label_count = 2;
	type->labels = ctf_arena_alloc(arena, 2, sizeof(*type->labels));
	memcpy(type->labels, flags, sizeof(flags));
	add(tree, "_long", integer(arena, 64, false, 16, 8, false))->leb128 = true;
	add(tree, "_long_signed", integer(arena, 64, true, 10, 8, false))->leb128 = true;
	add(tree, "_reversed", integer(arena, 12, false, 10, 4, false))->reversed = true;
	add(tree, "_reversed_foreign", integer(arena, 12, false, 10, 4, true))->reversed = true;
	add(tree, "_utf16", ctf_type_string(arena))->encoding = CTF_UTF16LE;
	add(tree, "_utf32", ctf_type_array(arena, text, 8))->encoding = CTF_UTF32BE;
	type = add(tree, "_aligned",
			ctf_type_array(arena, integer(arena, 8, false, 10, 8, false), 3));
	type->align = 16;
	type = integer(arena, 8, false, 10, 8, false);
	type->byte = true;
	type = add(tree, "_media", ctf_type_array(arena, type, 3));
	type->media_type = "image/\"png\"";
	add(tree, "_near", ctf_type_sequence(arena, text, NULL))->location = &near;
	add(tree, "_far", ctf_type_sequence(arena, text, NULL))->location = &far;
	add(tree, "_named", ctf_type_sequence(arena, text, "stream.event.context._x._y"));
	add_nested(tree, text);
	add(tree, "_header", ctf_type_sequence(arena, text, "stream.packet.context._x"));
}

static struct ctf_type *make_tree(struct ctf_arena *arena, enum ctf_format format)
{
	struct tree tree = {.arena = arena, .type = ctf_type_struct(arena, 60)};

	add_numbers(&tree);
	add_compounds(&tree);
	if (format == CTF_FORMAT_2)
		add_ctf2(&tree);
	tree.type->member_count = tree.count;
	return tree.type;
}

/* ---- a writer ---- */

static char scratch[64], directory[96];
static struct error why;
static struct ctf_arena *arena_of_test;

static struct ctf_writer_config config_of(enum ctf_format format)
{
	static struct ctf_channel_config channels[3];
	static struct ctf_type *number, *late;

	arena_of_test = arena_of_test ? arena_of_test : ctf_arena_create();
	number = ctf_type_struct(arena_of_test, 1);
	ctf_member_set(&number->members[0], "_vpid", ctf_type_integer(arena_of_test, 32, true),
			false);
	/* A variant in the contexts: the channel is described later. */
	late = ctf_type_struct(arena_of_test, 2);
	ctf_member_set(&late->members[0], "T3",
			labelled(arena_of_test, ctf_type_integer(arena_of_test, 8, false), optional,
					2),
			true);
	ctf_member_set(&late->members[1], "_v", ctf_type_variant(arena_of_test, 2, "T3"), false);
	ctf_member_set(&late->members[1].type->members[0], "none",
			ctf_type_struct(arena_of_test, 0), false);
	ctf_member_set(&late->members[1].type->members[1], "some", ctf_type_string(arena_of_test),
			false);
	channels[0] = (struct ctf_channel_config){.name = "ring", .placement = CTF_PER_CPU};
	channels[1] = (struct ctf_channel_config){
			.name = "own", .placement = CTF_PER_THREAD, .context = number};
	channels[2] = (struct ctf_channel_config){
			.name = "late", .placement = CTF_PER_CPU, .context = late};
	return (struct ctf_writer_config){
			.dir = directory,
			.clock = {.name = "clock",
					.description = "of \"test\"",
					.frequency = 7,
					.offset_s = -11,
					.offset = 22,
					.precision = 3},
			.hostname = "host\n",
			.procname = "proc\xff",
			.exe = "/exe\\",
			.domain = "domain",
			.vpid = 4711,
			.version = {5, 6, 8},
			.format = format,
			.channels = channels,
			.nr_channels = 3,
	};
}

static struct ctf_writer *make_writer(enum ctf_format format)
{
	const struct ctf_writer_config config = config_of(format);
	struct ctf_writer *writer = NULL;

	snprintf(directory, sizeof(directory), "%s/trace", scratch);
	scratch_delete(directory);
	assert_int_equal(ctf_writer_create(&config, &writer, &why), 0);
	return writer;
}

static void close_writer(struct ctf_writer *writer)
{
	assert_int_equal(ctf_writer_close(writer, &why), 0);
	ctf_arena_destroy(arena_of_test);
	arena_of_test = NULL;
}

/* ---- metadata ---- */

static const char *expected_files[2];

static void assert_file(const char *name, const char *expected_path)
{
	size_t size, expected_size;
	unsigned char *bytes = scratch_read(directory, name, &size),
		      *expected = scratch_read("/", expected_path, &expected_size);

	assert_string_equal((char *)bytes, (char *)expected);
	assert_int_equal(size, expected_size);
	free(expected);
	free(bytes);
}

static void write_metadata_of(enum ctf_format format)
{
	struct ctf_writer *writer = make_writer(format);
	struct ctf_type *tree = make_tree(arena_of_test, format);
	const struct ctf_type *late = writer->channels[2].context;
	const struct ctf_clock clock = {.frequency = 10, .offset_s = 5, .offset = 34};

	assert_int_equal(writer->channels[2].late, format == CTF_FORMAT_1);
	assert_int_equal(ctf_writer_add_event_json(writer, 0, 0, "all:classes", 6, NULL, tree,
					 "{\"a\":\"/b\\/c\\\\/\"}", &why),
			0);
	for (int level = -1; level <= 8; level++)
		assert_int_equal(ctf_writer_add_event_json(writer, 1, (uint32_t)(level + 5),
						 "e\"\x01", level, writer->channels[1].context,
						 ctf_type_struct(arena_of_test, 0),
						 level & 1 ? NULL : "{}", &why),
				0);
	/* Contexts with a variant are the first field in TSDL. */
	tree = ctf_type_struct(arena_of_test, 2);
	ctf_member_set(&tree->members[0], "_side_context", ctf_type_string(arena_of_test), false);
	ctf_member_set(&tree->members[1], "_context", ctf_type_string(arena_of_test), false);
	assert_int_equal(ctf_writer_add_event_json(
					 writer, 2, 70000, "late", 7, late, tree, NULL, &why),
			0);
	assert_int_equal(ctf_writer_add_event_json(writer, 2, 3, "later", 0, late,
					 ctf_type_struct(arena_of_test, 0), NULL, &why),
			0);
	assert_file("metadata", expected_files[format == CTF_FORMAT_2]);
	/* A new clock: the head changes, the events do not. */
	assert_int_equal(ctf_writer_set_clock(writer, &clock, &why), 0);
	assert_int_equal(writer->clock.frequency, 10);
	assert_int_equal(writer->clock.precision, 1);
	assert_int_equal(writer->clock.offset_s, 8);
	assert_int_equal(writer->clock.offset, 4);
	close_writer(writer);
}

static void test_metadata(void **state)
{
	(void)state;
	write_metadata_of(CTF_FORMAT_1);
	write_metadata_of(CTF_FORMAT_2);
}

/* Without names: no process, and the standard names. */
static void test_defaults(void **state)
{
	const struct ctf_writer_config config = {
			.dir = directory, .vpid = -1, .hostname = NULL, .clock = {.offset = 9}};
	struct ctf_writer *writer;
	char *metadata;
	size_t size;

	(void)state;
	snprintf(directory, sizeof(directory), "%s/trace", scratch);
	scratch_delete(directory);
	locks = 0;
	assert_int_equal(ctf_writer_create(&config, &writer, &why), 0);
	assert_int_equal(locks, 1);
	assert_string_equal(writer->config.domain, "ust");
	assert_string_equal(writer->clock.name, "monotonic");
	assert_null(writer->clock.description);
	assert_int_equal(writer->clock.frequency, 1);
	assert_int_equal(writer->clock.precision, 1);
	assert_int_equal(writer->clock.offset_s, 9);
	assert_int_equal(writer->clock.offset, 0);
	assert_int_equal(writer->nr_channels, 1);
	assert_string_equal(writer->channels[0].name, "ring");
	assert_int_equal(writer->channels[0].placement, CTF_PER_CPU);
	assert_int_equal(ctf_writer_bytes(writer), writer->metadata_size);
	metadata = (char *)scratch_read(directory, "metadata", &size);
	assert_int_equal(size, writer->metadata_size);
	assert_int_equal(size, writer->head_size);
	assert_non_null(strstr(metadata, "\thostname = \"\";\n};\n"));
	assert_null(strstr(metadata, "procname"));
	free(metadata);
	assert_int_equal(ctf_writer_close(writer, &why), 0);
}

/* ---- packets ---- */

static size_t put(unsigned char *to, size_t at, uint64_t number, size_t size)
{
	memcpy(to + at, &number, size);
	return at + size;
}

static const unsigned char uuid[16] = {0xf0, 0x01, 0x12, 0x23, 0x34, 0x45, 0x46, 0x67, 0xb8, 0x89,
		0x9a, 0xab, 0xbc, 0xcd, 0xde, 0xef};

static size_t put_packet(unsigned char *to, size_t at, uint32_t class_id, int64_t cpu,
		uint64_t instance, uint64_t begin, uint64_t end, size_t records, uint64_t sequence,
		uint64_t discarded)
{
	uint64_t bits = ((cpu >= 0 ? 84 : 80) + records) * 8;

	at = put(to, at, 0xc1fc1fc1, 4);
	memcpy(to + at, uuid, 16);
	at = put(to, at + 16, class_id, 4);
	at = put(to, at, instance, 8);
	at = put(to, at, begin, 8);
	at = put(to, at, end, 8);
	at = put(to, at, bits, 8);
	at = put(to, at, bits, 8);
	at = put(to, at, sequence, 8);
	at = put(to, at, discarded, 8);
	return cpu >= 0 ? put(to, at, (uint64_t)cpu, 4) : at;
}

static size_t put_text(unsigned char *to, size_t at, const char *text)
{
	strcpy((char *)to + at, text);
	return at + strlen(text) + 1;
}

static void assert_bytes(const char *name, const unsigned char *expected, size_t expected_size)
{
	size_t size;
	unsigned char *bytes = scratch_read(directory, name, &size);

	assert_int_equal(size, expected_size);
	assert_memory_equal(bytes, expected, size);
	free(bytes);
}

static void test_packets(void **state)
{
	struct ctf_span span = {.records = "records",
			.size = 7,
			.timestamp_begin = 110,
			.timestamp_end = 120,
			.events_discarded = 3};
	struct ctf_writer *writer = make_writer(CTF_FORMAT_1);
	struct ctf_stream *cpu, *own;
	unsigned char expected[1024];
	uint64_t bytes = (uint64_t)writer->metadata_size;
	size_t at;

	(void)state;
	assert_int_equal(ctf_writer_open_stream(writer, 0, 9, 100, &cpu, &why), 0);
	assert_int_equal(ctf_writer_open_stream(writer, 1, 8, 200, &own, &why), 0);
	assert_int_equal(ctf_stream_append(cpu, &span, &why), 0);
	/* In pieces, and interrupted. */
	write_most = 30;
	interrupted_writes = 2;
	span.timestamp_begin = 115;
	span.timestamp_end = 118;
	span.events_discarded = 4;
	assert_int_equal(ctf_stream_append(cpu, &span, &why), 0);
	write_most = SIZE_MAX;
	span.timestamp_begin = 130;
	span.timestamp_end = 125;
	span.size = 0;
	span.records = NULL;
	assert_int_equal(ctf_stream_append(cpu, &span, &why), 0);
	at = put_packet(expected, 0, 0, 9, 9, 100, 100, 0, 0, 0);
	at = put_packet(expected, at, 0, 9, 9, 110, 120, 7, 1, 3);
	memcpy(expected + at, "records", 7);
	at = put_packet(expected, at + 7, 0, 9, 9, 120, 120, 7, 2, 4);
	memcpy(expected + at, "records", 7);
	at = put_packet(expected, at + 7, 0, 9, 9, 130, 130, 0, 3, 4);
	assert_bytes("ring_9", expected, at);
	assert_int_equal(ctf_stream_size(cpu), at);
	assert_int_equal(ctf_stream_end(cpu), 130);
	assert_int_equal(ctf_stream_records(cpu), 0);
	bytes += at;
	at = put_packet(expected, 0, 1, -1, 8, 200, 200, 0, 0, 0);
	assert_bytes("own_8", expected, at);
	assert_int_equal(ctf_writer_bytes(writer), bytes + at);
	close_writer(writer);
}

static void test_losses(void **state)
{
	const struct ctf_lost lost[] = {{"ring_3", "a:b", "full", 5},
			{"", "", "why", UINT64_C(0x1122334455667788)}};
	struct ctf_writer *writer = make_writer(CTF_FORMAT_2);
	unsigned char expected[1024];
	size_t at, begin;

	(void)state;
	assert_int_equal(ctf_writer_lost(writer, 50, lost, 2, &why), 0);
	/* An earlier time is replaced by a later one, a later one is not. */
	assert_int_equal(ctf_writer_lost(writer, 40, lost, 0, &why), 0);
	assert_int_equal(ctf_writer_lost(writer, 60, lost + 1, 1, &why), 0);
	at = put_packet(expected, 0, 3, -1, 0, 50, 50, 0, 0, 0);
	begin = at = put_packet(expected, at, 3, -1, 0, 50, 50, 58, 1, 0);
	at = put(expected, at, 0, 4);
	at = put(expected, at, 50, 8);
	at = put_text(expected, put_text(expected, put_text(expected, at, "ring_3"), "a:b"),
			"full");
	at = put(expected, at, 5, 8);
	at = put(expected, at, 0, 4);
	at = put(expected, at, 50, 8);
	at = put_text(expected, put_text(expected, put_text(expected, at, ""), ""), "why");
	at = put(expected, at, UINT64_C(0x1122334455667788), 8);
	put_packet(expected, begin - 80, 3, -1, 0, 50, 50, at - begin, 1, 0);
	at = put_packet(expected, at, 3, -1, 0, 50, 50, 0, 2, 0);
	at = put_packet(expected, at, 3, -1, 0, 60, 60, 26, 3, 0);
	at = put(expected, at, 0, 4);
	at = put(expected, at, 60, 8);
	at = put_text(expected, put_text(expected, put_text(expected, at, ""), ""), "why");
	at = put(expected, at, UINT64_C(0x1122334455667788), 8);
	assert_bytes("side_session", expected, at);
	close_writer(writer);
}

/* ---- refusals ---- */

static void test_refusals(void **state)
{
	struct ctf_writer *writer = make_writer(CTF_FORMAT_1);
	struct ctf_type *fields = ctf_type_struct(arena_of_test, 0);
	struct ctf_stream *stream;
	char sentence[256];

	(void)state;
	assert_int_equal(ctf_writer_add_event_json(writer, 3, 1, "e", 6, NULL, fields, NULL, &why),
			-EINVAL);
	assert_string_equal(why.text, "the event e is in channel 3, which does not exist");
	assert_int_equal(ctf_writer_open_stream(writer, 3, 1, 0, &stream, &why), -EINVAL);
	snprintf(sentence, sizeof(sentence), "there is no channel 3 in %s", directory);
	assert_string_equal(why.text, sentence);
	/* Ids in any order, each once in each channel. */
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(ctf_writer_add_event_json(writer, 0, i * 77 % 200, "e", 6, NULL,
						 fields, NULL, &why),
				0);
	assert_int_equal(writer->channels[0].id_count, 200);
	assert_int_equal(writer->channels[0].id_capacity, 256);
	for (uint32_t i = 0; i < 200; i++) {
		assert_int_equal(writer->channels[0].ids[i], i);
		assert_int_equal(ctf_writer_add_event_json(
						 writer, 0, i, "e", 6, NULL, fields, NULL, &why),
				-EEXIST);
		snprintf(sentence, sizeof(sentence), "the event id %u of e is already in use", i);
		assert_string_equal(why.text, sentence);
	}
	assert_int_equal(ctf_writer_add_event_json(writer, 1, 7, "e", 6, NULL, fields, NULL, &why),
			0);
	/* An id is free again if its description is not written. */
	failing_arm(1);
	for (unsigned int number = 1; !failing_name || strcmp(failing_name, "pwritev") != 0;
			number++) {
		failing_arm(number);
		assert_int_not_equal(ctf_writer_add_event_json(writer, 1, 5, "e", 6, NULL, fields,
						     NULL, &why),
				0);
		assert_int_equal(writer->channels[1].id_count, 1);
		assert_int_equal(writer->channels[1].ids[0], 7);
	}
	failing_call = 0;
	snprintf(sentence, sizeof(sentence), "cannot write %s/metadata: No space left on device",
			directory);
	assert_string_equal(why.text, sentence);
	assert_string_equal(why.hint, "free some space there, or write to another directory");
	assert_int_equal(ctf_writer_add_event_json(writer, 1, 5, "e", 6, NULL, fields, NULL, &why),
			0);
	close_writer(writer);
}

/* A length or a selector that CTF 2 cannot describe. */
static void test_undescribed(void **state)
{
	struct ctf_writer *writer = make_writer(CTF_FORMAT_2);
	struct ctf_arena *arena = arena_of_test;
	struct ctf_type *fields = ctf_type_struct(arena, 2),
			*text = integer(arena, 8, false, 10, 8, false), *variant;

	(void)state;
	variant = ctf_type_variant(arena, 1, "L1");
	ctf_member_set(&variant->members[0], "o1", ctf_type_string(arena), false);
	ctf_member_set(&fields->members[0], "L1", labelled(arena, text, options, 2), true);
	for (unsigned int i = 0; i < 7; i++) {
		static const char *const references[] = {
				"L1", NULL, "L2", "L", "L11", "stream.event.contex.x", "_a.b"};

		ctf_member_set(&fields->members[1], "_a",
				ctf_type_sequence(arena, text, references[i]), false);
		assert_int_equal(ctf_writer_add_event_json(writer, 0, 1 + i, "e", 6, NULL, fields,
						 NULL, &why),
				i ? -EINVAL : 0);
		fields->members[1].type = variant;
		variant->reference = references[i];
		assert_int_equal(ctf_writer_add_event_json(writer, 1, 1 + i, "e", 6, NULL, fields,
						 NULL, &why),
				i ? -EINVAL : 0);
	}
	/* An option without a label of the tag. */
	variant->reference = "L1";
	variant->members[0].name = "o2";
	assert_int_equal(ctf_writer_add_event_json(writer, 1, 1, "e", 6, NULL, fields, NULL, &why),
			-EEXIST);
	assert_int_equal(ctf_writer_add_event_json(writer, 1, 2, "e", 6, NULL, fields, NULL, &why),
			-EINVAL);
	close_writer(writer);
}

static void test_write_errors(void **state)
{
	static const struct {
		int code;
		const char *text, *hint;
	} rows[] = {{ENOSPC, "cannot write /d/f: No space left on device",
				    "free some space there, or write to another directory"},
			{EDQUOT, "cannot write /d/f: Disk quota exceeded",
					"free some space there, or write to another directory"},
			{EACCES, "cannot write /d/f: Permission denied",
					"choose a directory that you may write to"},
			{EPERM, "cannot write /d/f: Operation not permitted",
					"choose a directory that you may write to"},
			{EROFS, "cannot write /d/f: Read-only file system",
					"choose a directory that you may write to"},
			{EEXIST, "cannot write /d/f: File exists",
					"choose another name or remove it"},
			{EFBIG, "cannot write /d/f: File too large: the limit on the size of files (ulimit -f) is reached",
					""},
			{EIO, "cannot write /d/f: Input/output error", ""}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(ctf_write_error(&why, -rows[i].code, "/d", "f"), -rows[i].code);
		assert_string_equal(why.text, rows[i].text);
		assert_string_equal(why.hint, rows[i].hint);
	}
	assert_int_equal(ctf_write_error(&why, -EIO, "/d", ""), -EIO);
	assert_string_equal(why.text, "cannot write /d: Input/output error");
	assert_int_equal(ctf_write_error(NULL, -EIO, "/d", ""), -EIO);
}

/* ---- calls that fail ---- */

static void test_appended(void **state)
{
	int fd = memfd_create("appended", MFD_CLOEXEC);
	char bytes[32];
	off_t size = 0;

	(void)state;
	assert_int_equal(ctf_file_append(fd, &size, "abc", 3, "defg", 4), 0);
	assert_int_equal(size, 7);
	/*
	 * After two bytes of the second part there is no space: the file is truncated to its old
	 * size.
	 */
	write_most = 3;
	failing_arm(3);
	assert_int_equal(ctf_file_append(fd, &size, "xyz", 3, "1234", 4), -ENOSPC);
	assert_true(failing_has_failed());
	assert_int_equal(size, 7);
	assert_int_equal(lseek(fd, 0, SEEK_END), 7);
	truncation_fails = true;
	failing_arm(2);
	assert_int_equal(ctf_file_append(fd, &size, "xyz", 3, "1234", 4), -EIO);
	truncation_fails = false;
	assert_int_equal(size, 7);
	nothing_written = true;
	assert_int_equal(ctf_file_append(fd, &size, "xyz", 3, NULL, 0), -EIO);
	assert_int_equal(ctf_file_append(fd, &size, "", 0, NULL, 0), 0);
	nothing_written = false;
	for (write_most = 1; write_most < 9; write_most++) {
		off_t at = size;

		assert_int_equal(ctf_file_append(fd, &size, "xyz", 3, "12345", 5), 0);
		assert_int_equal(size, at + 8);
		assert_int_equal(pread(fd, bytes, 32, at), 8);
		assert_memory_equal(bytes, "xyz12345", 8);
	}
	write_most = SIZE_MAX;
	close(fd);
}

static void fail_creation(enum ctf_format format)
{
	const struct ctf_writer_config config = config_of(format);
	char out_of_memory[256], expected[256];
	unsigned int number = 1;
	bool failed = true;

	snprintf(directory, sizeof(directory), "%s/trace", scratch);
	scratch_delete(directory);
	snprintf(out_of_memory, sizeof(out_of_memory), "out of memory for the trace %s", directory);
	for (; failed; number++) {
		struct ctf_writer *writer = NULL;
		int ret;

		why = (struct error){.text = ""};
		failing_arm(number);
		ret = ctf_writer_create(&config, &writer, &why);
		failed = failing_has_failed();
		assert_int_equal(ret != 0, failed);
		assert_int_equal(writer != NULL, !failed);
		if (!failed) {
			assert_int_equal(ctf_writer_close(writer, &why), 0);
			break;
		}
		/* The name can be used again. */
		assert_int_not_equal(access(directory, F_OK), 0);
		snprintf(expected, sizeof(expected), "cannot write %s/metadata: %s", directory,
				strerror(-ret));
		if (!strcmp(failing_name, "getrandom"))
			snprintf(expected, sizeof(expected),
					"cannot get random numbers for the UUID of %s", directory);
		else if (!strcmp(failing_name, "mkdir"))
			snprintf(expected, sizeof(expected), "cannot write %s: Permission denied",
					directory);
		if (ret != -ENOMEM || strcmp(why.text, out_of_memory) != 0)
			assert_string_equal(why.text, expected);
		assert_int_equal(ret,
				!strcmp(failing_name, "getrandom")                  ? -EIO
						: !strcmp(failing_name, "mkdir")    ? -EACCES
						: !strcmp(failing_name, "open")     ? -EMFILE
						: !strcmp(failing_name, "openat")   ? -EROFS
						: !strcmp(failing_name, "renameat") ? -EDQUOT
						: !strcmp(failing_name, "unlinkat") ? -EPERM
						: !strcmp(failing_name, "pwritev")  ? -ENOSPC
										    : -ENOMEM);
	}
	assert_true(number > 15);
	ctf_arena_destroy(arena_of_test);
	arena_of_test = NULL;
}

static void test_failing_creation(void **state)
{
	(void)state;
	fail_creation(CTF_FORMAT_1);
	fail_creation(CTF_FORMAT_2);
}

static void test_failing_streams(void **state)
{
	struct ctf_writer *writer = make_writer(CTF_FORMAT_1);
	struct ctf_stream *stream = NULL;
	const struct ctf_lost lost[] = {{"ring_3", "a:b", "full", 5}};
	unsigned int number = 1;

	(void)state;
	/* The late channel is described, the name, the stream, its file, its first packet. */
	for (;; number++) {
		off_t size = writer->metadata_size;
		int ret;

		failing_arm(number);
		ret = ctf_writer_open_stream(writer, 2, 4, 100, &stream, &why);
		if (!failing_has_failed())
			break;
		assert_int_not_equal(ret, 0);
		assert_null(writer->streams);
		assert_true(writer->metadata_size == size || writer->channels[2].described);
		if (!strcmp(failing_name, "openat"))
			assert_int_equal(ret, -EROFS);
	}
	assert_true(number > 5);
	assert_ptr_equal(writer->streams, stream);
	assert_null(stream->next);
	assert_true(writer->channels[2].described);
	/* The stream of losses, and a record. */
	for (number = 1;; number++) {
		int ret;

		failing_arm(number);
		ret = ctf_writer_lost(writer, 10, lost, 1, &why);
		if (!failing_has_failed())
			break;
		assert_int_not_equal(ret, 0);
		if (ret == -EEXIST)
			break;
	}
	unlinkat(writer->dir_fd, "side_session", 0);
	failing_call = 0;
	assert_int_equal(ctf_writer_lost(writer, 10, lost, 1, &why), 0);
	failing_arm(1);
	assert_int_equal(ctf_writer_lost(writer, 10, lost, 1, &why), -ENOMEM);
	assert_true(failing_has_failed());
	assert_string_equal(why.text, "out of memory: cannot write the counts of lost events");
	/* The first error of closing is reported, and all files are closed. */
	failing_arm(1);
	assert_int_equal(ctf_writer_close(writer, &why), -ENOSPC);
	assert_true(failing_has_failed());
	ctf_arena_destroy(arena_of_test);
	arena_of_test = NULL;
}

/* Identifiers after a removed one, streams without a channel, and a file with descriptor 0. */
static void test_ids_and_streams(void **state)
{
	uint32_t ids[] = {1, 3, 5, 7, 9};
	struct ctf_channel channel = {.ids = ids, .id_count = 5, .id_capacity = 5};
	struct ctf_writer *writer = make_writer(CTF_FORMAT_1);
	struct ctf_stream of_none = {.writer = writer, .class_id = 2}, *stream;
	const struct ctf_span span = {.records = "", .size = 0};
	int saved = dup(0);

	(void)state;
	remove_id(&channel, 3);
	assert_int_equal(channel.id_count, 4);
	assert_memory_equal(ids, ((const uint32_t[]){1, 5, 7, 9}), 16);
	writer->channels[2].placement = CTF_PER_CPU;
	assert_true(has_cpu(&of_none));
	of_none.class_id = 3;
	writer->nr_channels = 3;
	assert_false(has_cpu(&of_none));
	of_none.class_id = writer->nr_channels = 2;
	assert_false(has_cpu(&of_none));
	stream_write_count_records(&of_none, &span);
	assert_int_equal(of_none.records, 0);
	writer->nr_channels = 3;
	writer->channels[2].placement = CTF_PER_THREAD;
	assert_true(saved >= 0);
	assert_int_equal(close(0), 0);
	assert_int_equal(ctf_writer_open_stream(writer, 0, 9, 100, &stream, &why), 0);
	assert_int_equal(stream->fd, 0);
	close_writer(writer);
	assert_int_equal(dup2(saved, 0), 0);
	close(saved);
}

static void test_failing_clock(void **state)
{
	struct ctf_writer *writer = make_writer(CTF_FORMAT_1);
	const struct ctf_clock clock = {.frequency = 10, .offset_s = 5, .offset = 34};
	struct ctf_type *fields = ctf_type_struct(arena_of_test, 0);
	unsigned char *before, *after;
	size_t size, size_after;

	(void)state;
	/* More than one buffer of events. */
	for (uint32_t i = 0; i < 4000; i++)
		assert_int_equal(ctf_writer_add_event_json(writer, 0, i, "event", 6, NULL, fields,
						 NULL, &why),
				0);
	before = scratch_read(directory, "metadata", &size);
	assert_true(size > 3 * 65536);
	for (unsigned int number = 1;; number++) {
		int ret;

		failing_arm(number);
		ret = ctf_writer_set_clock(writer, &clock, &why);
		/* The new file exists when the old one is closed. */
		if (!failing_has_failed() || !strcmp(failing_name, "close")) {
			assert_int_equal(ret, 0);
			break;
		}
		assert_int_not_equal(ret, 0);
		assert_int_equal(writer->clock.frequency, 7);
		assert_int_equal(writer->clock.offset_s, -8);
		assert_int_equal(writer->clock.offset, 1);
		after = scratch_read(directory, "metadata", &size_after);
		assert_int_equal(size_after, size);
		free(after);
		assert_int_equal(writer->metadata_size, size);
	}
	assert_int_equal(writer->clock.frequency, 10);
	after = scratch_read(directory, "metadata", &size_after);
	assert_int_equal(size_after, writer->metadata_size);
	assert_string_equal(
			strstr((char *)after, "event {\n"), strstr((char *)before, "event {\n"));
	free(before);
	free(after);
	/* The old file is shorter than before. */
	nothing_read = true;
	assert_int_equal(ctf_writer_set_clock(writer, &clock, &why), -EIO);
	nothing_read = false;
	close_writer(writer);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_metadata),
			cmocka_unit_test(test_defaults),
			cmocka_unit_test(test_packets),
			cmocka_unit_test(test_losses),
			cmocka_unit_test(test_refusals),
			cmocka_unit_test(test_undescribed),
			cmocka_unit_test(test_write_errors),
			cmocka_unit_test(test_appended),
			cmocka_unit_test(test_failing_creation),
			cmocka_unit_test(test_failing_streams),
			cmocka_unit_test(test_ids_and_streams),
			cmocka_unit_test(test_failing_clock),
	};
	int ret;

	/* The expected metadata has the byte order of most machines. */
	if (argc != 3 || CTF_HOST_BIG_ENDIAN)
		return argc == 3 ? 77 : 1;
	expected_files[0] = argv[1];
	expected_files[1] = argv[2];
	scratch_make(scratch);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_delete(scratch);
	return ret;
}
