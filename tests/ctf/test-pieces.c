/* SPDX-License-Identifier: MIT */
/*
 * Parts of traces one by one: blocks of an arena, packets of metadata, packets of streams, their
 * counter, cut ends, usual headers.
 */
#include "../failing-calls.h"
#define NUMBERS_COMPRESSION 0
#include "numbers.h"

#include <sys/mman.h>

#include "../resources.h"
#include "ctf/arena.c" /* NOLINT(bugprone-suspicious-include): tests its static functions */
#include "ctf/read/header-fast.c" /* NOLINT(bugprone-suspicious-include) */
#include "ctf/read/metadata.c"    /* NOLINT(bugprone-suspicious-include) */
#include "ctf/rewrite/packets.c"  /* NOLINT(bugprone-suspicious-include) */
#include "ctf/rewrite/repair.c"   /* NOLINT(bugprone-suspicious-include) */

/* ---- arenas ---- */

static unsigned int count_blocks(const struct ctf_arena *arena)
{
	unsigned int count = 0;

	for (const struct ctf_arena_block *block = arena->blocks; block; block = block->next)
		count++;
	return count;
}

static void test_arena(void **state)
{
	const size_t unit = alignof(max_align_t);
	struct ctf_arena *arena = ctf_arena_create();
	const struct ctf_arena_block *first, *second;

	(void)state;
	/* A block is as large as all earlier ones together, between two limits. */
	arena->used = CTF_ARENA_BLOCK_MIN - 1;
	assert_int_equal(arena_block_size(arena), CTF_ARENA_BLOCK_MIN);
	arena->used = CTF_ARENA_BLOCK_MIN + 1;
	assert_int_equal(arena_block_size(arena), CTF_ARENA_BLOCK_MIN + 1);
	arena->used = CTF_ARENA_BLOCK_MAX - 1;
	assert_int_equal(arena_block_size(arena), CTF_ARENA_BLOCK_MAX - 1);
	arena->used = CTF_ARENA_BLOCK_MAX + 1;
	assert_int_equal(arena_block_size(arena), CTF_ARENA_BLOCK_MAX);
	arena->used = 0;
	/* Sizes are rounded up; the last bytes of a block are used. */
	assert_non_null(ctf_arena_alloc(arena, 1, 1));
	assert_int_equal(ctf_arena_used(arena), unit);
	first = arena->blocks;
	assert_int_equal(first->size, CTF_ARENA_BLOCK_MIN);
	for (size_t left = CTF_ARENA_BLOCK_MIN - unit; left; left -= unit)
		assert_non_null(ctf_arena_alloc(arena, unit, 1));
	assert_int_equal(count_blocks(arena), 1);
	assert_int_equal(first->used, first->size);
	assert_non_null(ctf_arena_alloc(arena, 2, 3));
	assert_int_equal(count_blocks(arena), 2);
	/*
	 * An allocation of a quarter of a block is from a new block; a larger one has its own
	 * block, after the one in use.
	 */
	second = arena->blocks;
	assert_ptr_not_equal(second, first);
	assert_non_null(ctf_arena_alloc(arena, 1, 2 * CTF_ARENA_BLOCK_MIN));
	assert_int_equal(count_blocks(arena), 3);
	assert_ptr_equal(arena->blocks, second);
	assert_int_equal(second->next->size, 2 * CTF_ARENA_BLOCK_MIN);
	assert_ptr_equal(second->next->next, first);
	/* A large block is the first one if there is no other. */
	ctf_arena_destroy(arena);
	arena = ctf_arena_create();
	assert_non_null(ctf_arena_alloc(arena, CTF_ARENA_BLOCK_MIN / 4 + unit, 1));
	assert_int_equal(arena->blocks->size, CTF_ARENA_BLOCK_MIN / 4 + unit);
	ctf_arena_destroy(arena);
	arena = ctf_arena_create();
	assert_non_null(ctf_arena_alloc(arena, CTF_ARENA_BLOCK_MIN / 4, 1));
	assert_int_equal(arena->blocks->size, CTF_ARENA_BLOCK_MIN);
	/* A size that exceeds any memory. */
	assert_false(ctf_arena_has_failed(arena));
	assert_null(ctf_arena_alloc(arena, SIZE_MAX, 2));
	assert_true(ctf_arena_has_failed(arena));
	arena->has_failed = false;
	assert_null(ctf_arena_alloc(arena, SIZE_MAX / 4 + 1, 1));
	assert_true(ctf_arena_has_failed(arena));
	arena->has_failed = false;
	failing_arm(1);
	assert_null(ctf_arena_alloc(arena, CTF_ARENA_BLOCK_MIN, 1));
	assert_true(failing_has_failed());
	assert_true(ctf_arena_has_failed(arena));
	arena->has_failed = false;
	ctf_arena_fail(arena);
	assert_true(ctf_arena_has_failed(arena));
	assert_string_equal(ctf_arena_copy(arena, "abcd", 3), "abc");
	assert_string_equal(ctf_arena_copy(arena, NULL, 0), "");
	ctf_arena_destroy(arena);
	ctf_arena_destroy(NULL);
}

/* ---- packets of metadata ---- */

static size_t put_metadata(unsigned char *at, bool swap, const char *text, size_t padding)
{
	uint32_t magic = METADATA_MAGIC, size = (uint32_t)(METADATA_HEADER + strlen(text));
	uint32_t content = size * 8, packet = content + (uint32_t)padding * 8;

	memset(at, 0xee, size + padding);
	magic = swap ? __builtin_bswap32(magic) : magic;
	content = swap ? __builtin_bswap32(content) : content;
	packet = swap ? __builtin_bswap32(packet) : packet;
	memcpy(at, &magic, 4);
	memcpy(at + 24, &content, 4);
	memcpy(at + 28, &packet, 4);
	memset(at + 32, 0, 3);
	memcpy(at + METADATA_HEADER, text, strlen(text));
	return size + padding;
}

static void assert_unpacked(
		const unsigned char *packets, size_t size, int expected, const char *expected_text)
{
	char *copy = malloc(size);
	struct error error = {.text = ""};

	memcpy(copy, packets, size);
	assert_int_equal(ctf_metadata_unpack(copy, &size, &error), expected);
	assert_string_equal(error.text, expected ? "a packet of the metadata is damaged" : "");
	assert_int_equal(size, strlen(expected_text));
	assert_memory_equal(copy, expected_text, size);
	free(copy);
}

static void test_metadata(void **state)
{
	unsigned char packets[512];

	(void)state;
	for (unsigned int swap = 0; swap < 2; swap++) {
		size_t first = put_metadata(packets, swap, "one", 0), second, third;

		second = first + put_metadata(packets + first, swap, "second", 5);
		third = second + put_metadata(packets + second, swap, "", 0);
		assert_int_equal(third - second, METADATA_HEADER);
		assert_unpacked(packets, first, 0, "one");
		assert_unpacked(packets, third, 0, "onesecond");
		assert_unpacked(packets, third - 1, -EINVAL, "onesecond");
		assert_unpacked(packets, second - 1, -EINVAL, "one");
		assert_unpacked(packets, first + METADATA_HEADER, -EINVAL, "one");
		assert_unpacked(packets, first + METADATA_HEADER - 1, -EINVAL, "one");
		/* Compression, encryption and checksum must be absent. */
		for (size_t i = 32; i < 35; i++) {
			packets[first + i] = 1;
			assert_unpacked(packets, third, -EINVAL, "one");
			packets[first + i] = 0;
		}
		packets[first] ^= 1;
		assert_unpacked(packets, third, -EINVAL, "one");
		packets[first] ^= 1;
		/* Content that is shorter than the header, and longer than the packet. */
		packets[first + (swap ? 27 : 24)] = 8 * (METADATA_HEADER - 1) & 0xff;
		packets[first + (swap ? 26 : 25)] = 8 * (METADATA_HEADER - 1) >> 8;
		assert_unpacked(packets, third, -EINVAL, "one");
		packets[first + (swap ? 27 : 24)] = 8 * (METADATA_HEADER + 11) & 0xff;
		packets[first + (swap ? 26 : 25)] = 8 * (METADATA_HEADER + 11) >> 8;
		packets[first + METADATA_HEADER + 10] = '!';
		assert_unpacked(packets, third, 0, "onesecond\xee\xee\xee\xee!");
		packets[first + (swap ? 27 : 24)] += 8;
		assert_unpacked(packets, third, -EINVAL, "one");
	}
}

static void test_metadata_files(void **state)
{
	struct fixture *f = *state;
	char *text = NULL, path[128];
	size_t size = 9, before;
	int fd = open(f->scratch, O_RDONLY | O_DIRECTORY);

	assert_int_equal(ctf_metadata_read_file(fd, &text, &size), -ENOENT);
	assert_int_equal(mkdirat(fd, "metadata", 0700), 0);
	before = resources_descriptors();
	assert_int_equal(ctf_metadata_read_file(fd, &text, &size), -EINVAL);
	assert_null(text);
	assert_int_equal(unlinkat(fd, "metadata", AT_REMOVEDIR), 0);
	scratch_write(f->scratch, "metadata", "12345", 5);
	assert_int_equal(ctf_metadata_read_file(fd, &text, &size), 0);
	assert_int_equal(size, 5);
	assert_memory_equal(text, "12345", 5);
	free(text);
	failing_arm(1);
	assert_int_equal(ctf_metadata_read_file(fd, &text, &size), -EIO);
	assert_null(text);
	assert_string_equal(failing_has_failed() ? failing_name : "", "fstat");
	failing_arm(2);
	assert_int_equal(ctf_metadata_read_file(fd, &text, &size), -ENOMEM);
	assert_null(text);
	assert_string_equal(failing_has_failed() ? failing_name : "", "malloc");
	/* One byte more than the limit; the file consists of holes only. */
	snprintf(path, sizeof(path), "%s/metadata", f->scratch);
	assert_int_equal(truncate(path, METADATA_SIZE_MAX + (off_t)1), 0);
	assert_int_equal(ctf_metadata_read_file(fd, &text, &size), -EFBIG);
	assert_null(text);
	assert_int_equal(truncate(path, METADATA_SIZE_MAX), 0);
	failing_arm(2);
	assert_int_equal(ctf_metadata_read_file(fd, &text, &size), -ENOMEM);
	assert_true(failing_has_failed());
	assert_int_equal(resources_descriptors(), before);
	/* Metadata that consists only of the magic number of a packet has no text. */
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t magic = METADATA_MAGIC;
		struct ctf_trace_classes *classes;
		struct error of_nothing, error;

		scratch_write(f->scratch, "metadata", "", 0);
		assert_int_equal(ctf_metadata_read(fd, "/t", &classes, &of_nothing), -EINVAL);
		ctf_metadata_free(classes);
		scratch_write(f->scratch, "metadata", &magic, 4 - i);
		assert_int_equal(ctf_metadata_read(fd, "/t", &classes, &error), -EINVAL);
		ctf_metadata_free(classes);
		assert_int_equal(!strcmp(error.text, of_nothing.text), !i);
	}
	close(fd);
}

/* ---- packets of streams ---- */

static const struct ctf_packet sample = {.class_id = 11,
		.instance = 0x1122334455667788,
		.begin = 22,
		.end = 33,
		.sequence = 44,
		.discarded = 55,
		.uuid = "0123456789abcde"};

static void assert_same_packet(const struct ctf_packet *one, const struct ctf_packet *other)
{
	assert_int_equal(one->class_id, other->class_id);
	assert_int_equal(one->instance, other->instance);
	assert_int_equal(one->begin, other->begin);
	assert_int_equal(one->end, other->end);
	assert_int_equal(one->sequence, other->sequence);
	assert_int_equal(one->discarded, other->discarded);
	assert_memory_equal(one->uuid, other->uuid, 16);
}

static void test_packets(void **state)
{
	unsigned char bytes[HEADER_MIN + 8], uuid[16] = "fedcba987654321";
	uint32_t cpu;

	(void)state;
	for (size_t size = HEADER_MIN; size <= sizeof(bytes); size++) {
		struct ctf_packet packet = sample, read = {.bytes = bytes, .size = size};

		packet.bytes = bytes;
		memset(bytes, 0xee, sizeof(bytes));
		ctf_packet_make_empty(&packet, size);
		assert_int_equal(packet.size, size);
		memcpy(&cpu, bytes + HEADER_MIN, 4);
		assert_int_equal(cpu,
				size >= HEADER_MIN + 4               ? 0x55667788
						: size == HEADER_MIN ? 0xeeeeeeee
								     : cpu);
		if (size > HEADER_MIN && size < HEADER_MIN + 4)
			assert_int_equal(bytes[HEADER_MIN], 0);
		if (size < sizeof(bytes))
			assert_int_equal(bytes[size], 0xee);
		assert_int_equal(ctf_packet_parse(&read), 0);
		assert_same_packet(&read, &packet);
	}
	/* Each number is set in the packet and in its bytes. */
	struct ctf_packet packet = sample, read = {.bytes = bytes, .size = HEADER_MIN};

	packet.bytes = bytes;
	ctf_packet_make_empty(&packet, HEADER_MIN);
	ctf_packet_set_uuid(&packet, uuid);
	ctf_packet_set_discarded(&packet, 66);
	ctf_packet_set_sequence(&packet, 77);
	ctf_packet_set_times(&packet, 88, 99);
	assert_int_equal(packet.discarded, 66);
	assert_int_equal(packet.sequence, 77);
	assert_int_equal(packet.begin, 88);
	assert_int_equal(packet.end, 99);
	assert_memory_equal(packet.uuid, uuid, 16);
	assert_int_equal(ctf_packet_parse(&read), 0);
	assert_same_packet(&read, &packet);
	/* Bytes that are not a packet. */
	read.size--;
	assert_int_equal(ctf_packet_parse(&read), -EBADMSG);
	read.size += 2;
	assert_int_equal(ctf_packet_parse(&read), -EBADMSG);
	read.size--;
	bytes[AT_CONTENT] ^= 8;
	assert_int_equal(ctf_packet_parse(&read), -EBADMSG);
	bytes[AT_SIZE] ^= 8;
	assert_int_equal(ctf_packet_parse(&read), -EBADMSG);
	bytes[AT_CONTENT] ^= 8;
	bytes[AT_SIZE] ^= 8;
	bytes[3] ^= 1;
	assert_int_equal(ctf_packet_parse(&read), -EBADMSG);
}

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("packets", MFD_CLOEXEC);

	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

static void test_packet_files(void **state)
{
	unsigned char bytes[3 * HEADER_MIN];
	struct ctf_packet packet = sample, read = {.bytes = NULL};
	uint64_t bits;
	int fd;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		packet.bytes = bytes + i * HEADER_MIN;
		packet.sequence = i;
		ctf_packet_make_empty(&packet, HEADER_MIN);
	}
	fd = file_of(bytes, sizeof(bytes));
	failing_interrupts = 1;
	for (uint64_t i = 0, at = 0; i < 3; i++, at = read.next) {
		assert_int_equal(ctf_packet_read(fd, "a", at, &read), 1);
		assert_int_equal(read.sequence, i);
		assert_int_equal(read.next, (i + 1) * HEADER_MIN);
		assert_int_equal(read.capacity, HEADER_MIN);
	}
	assert_int_equal(failing_interrupts, 0);
	assert_int_equal(ctf_packet_read(fd, "a", read.next, &read), 0);
	assert_int_equal(ctf_packet_read(fd, "a", 1, &read), -EBADMSG);
	for (unsigned int call = 1; call < 3; call++) {
		failing_arm(call);
		assert_int_equal(ctf_packet_read(fd, "a", 0, &read), -EIO);
		assert_true(failing_has_failed());
	}
	close(fd);
	/* Truncated in the header, and after it. */
	bits = 8 * (HEADER_MIN + 20);
	memcpy(bytes + AT_SIZE, &bits, 8);
	memcpy(bytes + AT_CONTENT, &bits, 8);
	for (size_t size = HEADER_MIN - 1; size < HEADER_MIN + 21; size++) {
		fd = file_of(bytes, size);
		assert_int_equal(ctf_packet_read(fd, "a", 0, &read), size == HEADER_MIN + 20);
		close(fd);
	}
	ctf_packet_free(&read);
	assert_null(read.bytes);
	assert_int_equal(read.capacity, 0);
	/* Sizes that no packet has: no whole bytes, less than the header, more than the limit. */
	for (unsigned int i = 0; i < 5; i++) {
		static const uint64_t sizes[] = {8 * HEADER_MIN + 1, 8 * (HEADER_MIN - 1),
				8 * (PACKET_MAX + 1), 8 * PACKET_MAX, 8 * HEADER_MIN};

		memcpy(bytes + AT_SIZE, &sizes[i], 8);
		memcpy(bytes + AT_CONTENT, &sizes[i], 8);
		fd = file_of(bytes, HEADER_MIN);
		failing_arm(2); /* A permitted size needs memory. */
		assert_int_equal(ctf_packet_read(fd, "a", 0, &read), i < 3 ? -EBADMSG : -ENOMEM);
		assert_int_equal(failing_has_failed(), i >= 3);
		close(fd);
	}
}

/* The same in frames. */
static void test_frames(void **state)
{
	unsigned char bytes[HEADER_MIN], frames[1024];
	struct ctf_packet packet = sample, read = {.bytes = NULL};
	size_t sizes[3], all = 0;
	int fd;

	(void)state;
	packet.bytes = bytes;
	for (size_t i = 0; i < 3; i++) {
		packet.sequence = i;
		ctf_packet_make_empty(&packet, HEADER_MIN);
		sizes[i] = ZSTD_compress(frames + all, sizeof(frames) - all, bytes, HEADER_MIN, 3);
		all += sizes[i];
	}
	for (unsigned int round = 0; round < 2; round++) {
		uint64_t at = 0;

		fd = file_of(frames, all);
		for (uint64_t i = 0; i < 3; i++) {
			assert_int_equal(ctf_packet_read(fd, "a.zst", at, &read), 1);
			assert_int_equal(read.sequence, i);
			assert_int_equal(read.size, HEADER_MIN);
			at += sizes[i];
			assert_int_equal(read.next, at);
		}
		assert_int_equal(ctf_packet_read(fd, "a.zst", at, &read), 0);
		assert_int_equal(ctf_packet_read(fd, "a.zst", 1, &read), -EBADMSG);
		close(fd);
		/* Truncated, damaged, and with other bytes in it. */
		fd = file_of(frames, all - 1);
		assert_int_equal(ctf_packet_read(fd, "a.zst", all - sizes[2], &read), 0);
		close(fd);
		frames[sizes[0] - 1] ^= 0x40;
		fd = file_of(frames, all);
		assert_int_equal(ctf_packet_read(fd, "a.zst", 0, &read), -EBADMSG);
		close(fd);
		frames[sizes[0] - 1] ^= 0x40;
		ctf_packet_free(&read);
	}
}

/*
 * The counter counts records by the metadata of the trace, and reads it again when it meets an
 * unknown event.
 */
static void test_counter(void **state)
{
	struct fixture *f = *state;
	struct ctf_counter *counter;
	struct ctf_packet packet = {.bytes = NULL};
	uint64_t records = 99, at = 0;
	char path[128];
	int fd;

	assert_int_equal(append(f, TICK0 + 10, 5, 3, 0), 0);
	snprintf(path, sizeof(path), "%s/ring_2", f->dir);
	for (unsigned int round = 0; round < 2; round++) {
		fd = open(path, O_RDONLY);
		counter = ctf_counter_create();
		assert_null(ctf_counter_trace(counter));
		at = 0;
		for (unsigned int i = 0; i < 2; i++, at = packet.next) {
			assert_int_equal(ctf_packet_read(fd, "ring_2", at, &packet), 1);
			assert_int_equal(ctf_counter_count(counter, f->dir, &packet, &records), 0);
			assert_int_equal(records, i * 3);
		}
		assert_string_equal(ctf_counter_trace(counter)->hostname, "host");
		assert_int_equal(ctf_counter_count(counter, "/nonexistent", &packet, &records), 0);
		/* The last record is truncated: the others count. */
		packet.size--;
		assert_int_equal(ctf_counter_count(counter, f->dir, &packet, &records), -EINVAL);
		assert_int_equal(records, 2);
		packet.size++;
		/* An unknown event, and an unknown class. */
		packet.bytes[packet.size - 16] ^= 1;
		assert_int_equal(ctf_counter_count(counter, f->dir, &packet, &records), -ENOENT);
		assert_int_equal(records, 2);
		packet.class_id += 5;
		assert_int_equal(ctf_counter_count(counter, f->dir, &packet, &records), -ENOENT);
		assert_int_equal(records, 0);
		assert_int_equal(ctf_counter_count(counter, "/nonexistent", &packet, &records),
				-ENOENT);
		ctf_counter_free(counter);
		ctf_packet_free(&packet);
		close(fd);
	}
	ctf_counter_free(NULL);
}

/* ---- truncated ends ---- */

static void test_cut_ends(void **state)
{
	static const struct {
		const char *remainder;
		bool is_ctf2, is_cut;
	} cases[] = {{"event {\n", false, true}, {"event {\n}", false, true},
			{"event {\n};", false, false}, {"\n};", false, false},
			{"};\n", false, true}, {"\x1e{\"a\":1", true, true},
			{"\x1e{\"a\":1}", true, true}, {"\x1e{\"a\":1}\n", true, false},
			{"\x1e{}\n\x1e{", true, false}, {"{\"a\":1", true, false},
			{"\x1e", true, true}, {"\x1e\x1e", true, false}, {"\x1e}\nx", true, true},
			{"\x1e\n", true, true}};
	struct ctf_trace_classes classes;

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memset(&classes, 0, sizeof(classes));
		classes.is_ctf2 = cases[i].is_ctf2;
		assert_int_equal(only_cut(&classes, cases[i].remainder, strlen(cases[i].remainder)),
				cases[i].is_cut);
	}
}

/* A truncated packet keeps its complete records, and ends with the last of them. */
static void test_mending(void **state)
{
	unsigned char bytes[300], got[300];

	(void)state;
	for (unsigned int form = 0; form < 5; form++) {
		struct ctf_stream_reader stream;
		size_t kept = form == 0 ? HEADER_BITS / 8 - 1 : HEADER_BITS / 8 + form - 1;
		uint64_t numbers[3];
		int fd;

		memset(&stream, 0, sizeof(stream));
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)(i * 7);
		fd = file_of(bytes, sizeof(bytes));
		stream.damaged_packet = 100;
		stream.good = 8 * kept;
		stream.header_cut = form == 4;
		stream.decoder.clock = 5000;
		stream.fields.values[CTF_ROLE_TIMESTAMP_BEGIN] = form == 2 ? 6000 : 4000;
		assert_int_equal(ctf_repair_packet(&stream, fd), 0);
		if (!form || form == 4)
			kept = 0;
		assert_int_equal(pread(fd, got, sizeof(got), 0), 100 + kept);
		if (kept) {
			numbers[0] = form == 2 ? 6000 : 5000;
			numbers[1] = numbers[2] = 8 * kept;
			memcpy(bytes + 100 + HEADER_TIMESTAMP_END, numbers, sizeof(numbers));
		}
		assert_memory_equal(got, bytes, 100 + kept);
		close(fd);
		assert_int_equal(ctf_repair_packet(&stream, fd), -EBADF);
	}
	assert_int_equal(ctf_repair_write_all(-1, "a", 1, 0), -EBADF);
}

/* ---- usual headers ---- */

static struct ctf_type *bits_of(struct ctf_arena *arena, unsigned int size)
{
	struct ctf_type *type = ctf_type_integer(arena, size, false);

	type->align = 1;
	type->big_endian = false;
	return type;
}

static void test_headers(void **state)
{
	static const struct ctf_clock clock = {.name = "clock"};
	static struct ctf_option_range ranges[] = {{0, 29, 0}, {3, 31, 1}, {60, 70, 0}};
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_type *header, *variant, *option, *tag;
	struct ctf_fast_header fast;

	(void)state;
	header = ctf_type_struct(arena, 2);
	header->align = 8;
	tag = bits_of(arena, 5);
	variant = ctf_type_variant(arena, 2, "id");
	option = ctf_type_struct(arena, 1);
	ctf_member_set(&header->members[0], "id", tag, false);
	header->members[0].role = CTF_ROLE_EVENT_ID;
	header->members[0].slot = variant->slot = 3;
	ctf_member_set(&header->members[1], "v", variant, false);
	ctf_member_set(&variant->members[0], "compact", option, false);
	ctf_member_set(&option->members[0], "timestamp", bits_of(arena, 27), false);
	option->members[0].type->clock = &clock;
	ctf_member_set(&variant->members[1], "extended", ctf_type_struct(arena, 0), false);
	variant->ranges = ranges;
	variant->range_count = 3;
#define USUAL UINT64_C(0x3fffffff)
#define MADE(expected_bits, expected_slot, expected_compact) \
	ctf_fast_header_make(&fast, header);                 \
	assert_int_equal(fast.tag_bits, expected_bits);      \
	assert_int_equal(fast.slot, expected_slot);          \
	assert_int_equal(fast.compact, expected_compact)
/* Changes one property, which makes the header unusual, and restores it. */
#define CHANGED(dir, other, expected_bits, expected_slot) \
	do {                                              \
		__typeof__(dir) was = dir;                \
		(dir) = other;                            \
		MADE(expected_bits, expected_slot, 0);    \
		(dir) = was;                              \
	} while (0)
	MADE(5, 3, USUAL);
	variant->range_count = 2;
	ranges[0].end = 3;
	MADE(5, 3, 15);
	ranges[0].end = 29;
	/* The first range of a tag counts. */
	ranges[0].option = 1;
	ranges[1].option = 0;
	MADE(5, 3, UINT64_C(0xc0000000));
	ranges[0].option = 0;
	ranges[1].option = 1;
	CHANGED(header->kind, CTF_VARIANT, 0, -1);
	CHANGED(header->align, 16, 0, -1);
	CHANGED(header->member_count, 1, 0, -1);
	CHANGED(tag->size, 7, 0, -1);
	CHANGED(tag->clock, &clock, 0, -1);
	CHANGED(tag->kind, CTF_FLOAT, 0, -1);
	CHANGED(tag->is_signed, true, 0, -1);
	CHANGED(tag->big_endian, true, 0, -1);
	CHANGED(tag->leb128, true, 0, -1);
	CHANGED(tag->reversed, true, 0, -1);
	CHANGED(tag->align, 8, 0, -1);
	CHANGED(header->members[0].role, CTF_ROLE_NONE, 0, -1);
	CHANGED(header->members[1].type, tag, 0, -1);
	CHANGED(variant->slot, 4, 0, -1);
	/* The tag is usual, but not what follows it. */
	CHANGED(option->kind, CTF_VARIANT, 5, 3);
	CHANGED(option->member_count, 2, 5, 3);
	CHANGED(option->align, 8, 5, 3);
	CHANGED(option->members[0].type->size, 26, 5, 3);
	CHANGED(option->members[0].type->clock, NULL, 5, 3);
	CHANGED(option->members[0].type->is_signed, true, 5, 3);
	CHANGED(option->members[0].role, CTF_ROLE_CPU_ID, 5, 3);
	CHANGED(option->members[0].slot, 0, 5, 3);
	/* An enumeration is accepted, too; 6 bits are the most. */
	tag->kind = CTF_ENUM;
	MADE(5, 3, USUAL);
	tag->size = 6;
	MADE(6, 3, 0);
	option->members[0].type->size = 26;
	variant->range_count = 3;
	ranges[2].begin = 62;
	MADE(6, 3, USUAL | UINT64_C(3) << 62);
	ctf_fast_header_make(&fast, NULL);
	assert_int_equal(fast.slot, -1);
	assert_int_equal(fast.tag_bits, 0);
	ctf_arena_destroy(arena);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_arena),
			cmocka_unit_test(test_metadata),
			TEST(test_metadata_files),
			cmocka_unit_test(test_packets),
			cmocka_unit_test(test_packet_files),
			cmocka_unit_test(test_frames),
			TEST(test_counter),
			cmocka_unit_test(test_cut_ends),
			cmocka_unit_test(test_mending),
			cmocka_unit_test(test_headers),
	};

	return CTF_HOST_BIG_ENDIAN ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
