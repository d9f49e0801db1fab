/* SPDX-License-Identifier: MIT */
/*
 * The file of marks: written marks are read again, and arbitrary bytes do no harm. The test makes
 * blocks and changes them, in the same way in each run: their members, with corrected checksums,
 * and the bytes of the file. With -DFUZZ_TARGET they are libFuzzer's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "relay/frame.h"
#include "relay/marks.h"

#define SUM_AT (MARKS_BLOCK - 4)

static void make_sum(unsigned char *block)
{
	uint32_t sum = framing_crc(0, block, SUM_AT);

	for (int i = 0; i < 4; i++)
		block[SUM_AT + i] = (unsigned char)(sum >> 8 * i);
}

static bool is_name(const char *name)
{
	return *name && *name != '/' && *name != '.' && !strstr(name, "/.") && !strstr(name, "//");
}

/* Checks what callers rely on, whatever the file contains. */
static void check(const struct marks *marks)
{
	for (uint32_t i = 1; i < marks->nr; i++) {
		const struct marks_entry *entry = &marks->entries[i];
		unsigned char block[MARKS_BLOCK];

		CHECK(entry->kind <= MARKS_STREAM);
		if (entry->kind == MARKS_TRACE) {
			CHECK(is_name(entry->trace.name));
			CHECK(entry->trace.number < marks->head.nr_traces);
			CHECK(marks_find_trace(marks, entry->trace.name, 0));
		}
		if (entry->kind == MARKS_STREAM) {
			CHECK(is_name(entry->stream.name) && !strchr(entry->stream.name, '/'));
			CHECK(entry->stream.trace < marks->head.nr_traces);
			CHECK(entry->stream.delivered.offset <= INT64_MAX);
			CHECK(entry->stream.freed <= entry->stream.delivered.offset);
		}
		for (uint32_t k = i + 1; entry->kind == MARKS_TRACE && k < marks->nr; k++)
			CHECK(marks->entries[k].kind != MARKS_TRACE ||
					marks->entries[k].trace.number != entry->trace.number);
		marks_put_block(entry, block);
	}
	for (uint32_t at = marks_next_stream(marks, 1, 0), before = 0; at;
			before = at, at = marks_next_stream(marks, 1, at))
		CHECK(at > before);
}

static void parse(const unsigned char *bytes, size_t size)
{
	struct marks marks = {.fd = -1};

	if (!marks_parse(bytes, size, &marks))
		check(&marks);
	marks_close(&marks);
}

#ifdef FUZZ_TARGET

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
	size_t blocks = size / SUM_AT > 64 ? 64 : size / SUM_AT;
	unsigned char *file = malloc(blocks * MARKS_BLOCK + 1);

	CHECK(file);
	for (size_t i = 0; i < blocks; i++) {
		memcpy(file + i * MARKS_BLOCK, bytes + i * SUM_AT, SUM_AT);
		make_sum(file + i * MARKS_BLOCK);
	}
	parse(file, blocks * MARKS_BLOCK);
	free(file);
	parse(bytes, size);
	return 0;
}

#else

static uint64_t state = 88172645463325252u;

static uint32_t random_number(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % below;
}

static char path[] = "/tmp/side-marks-XXXXXX";

static struct marks_entry make_trace(uint32_t number)
{
	struct marks_entry entry = {.kind = MARKS_TRACE,
			.trace = {.number = number, .generation = 3, .inode = 1000 + number}};

	snprintf(entry.trace.name, sizeof(entry.trace.name), "chunk-1/shop-%u-0", number);
	return entry;
}

static struct marks_entry make_stream(uint32_t trace, uint32_t number)
{
	struct marks_entry entry = {.kind = MARKS_STREAM,
			.stream = {.trace = trace,
					.number = number,
					.delivered = {4096 * (uint64_t)number + 17, 5, 600},
					.freed = 16,
					.dropped_packets = 1,
					.dropped_events = 2,
					.dropped_bytes = 3,
					.seen = true,
					.header_size = 84,
					.first = 11,
					.begin = 12,
					.end = 13,
					.sequence = 14,
					.discarded = 15,
					.class_id = 1,
					.instance = number,
					.uuid = {1, 2, 3}}};

	snprintf(entry.stream.name, sizeof(entry.stream.name), "ring_%u", number);
	return entry;
}

static bool same(const struct marks_entry *one, const struct marks_entry *other)
{
	unsigned char a[MARKS_BLOCK], b[MARKS_BLOCK];

	marks_put_block(one, a);
	marks_put_block(other, b);
	return !memcmp(a, b, MARKS_BLOCK);
}

/* Marks are written, closed and found again; free slots are reused. */
static void check_file(void)
{
	struct marks_entry trace = make_trace(1), stream = make_stream(1, 2), third;
	uint32_t slots[3] = {0};
	struct marks marks;
	bool found;

	CHECK(!marks_open(path, "tcp://there:1", &marks, &found) && !found);
	marks.head.id = 77;
	marks.head.sequence = 1234;
	marks.head.past.packets = 9;
	CHECK(!marks_write_head(&marks));
	CHECK(!marks_write(&marks, &slots[0], &trace) && !marks_write(&marks, &slots[1], &stream));
	stream.stream.delivered.offset = 100000;
	CHECK(!marks_write(&marks, &slots[1], &stream));
	marks_close(&marks);

	CHECK(!marks_open(path, "tcp://there:1", &marks, &found) && found && !marks.bad);
	CHECK(marks.head.id == 77 && marks.head.sequence == 1234 && marks.head.past.packets == 9);
	CHECK(marks.head.nr_traces == 2);
	CHECK(marks_find_trace(&marks, "chunk-1/shop-1-0", 5) == slots[0]);
	CHECK(marks_find_trace(&marks, "chunk-2/shop-1-0", 1001) == slots[0]);
	CHECK(!marks_find_trace(&marks, "chunk-2/shop-1-0", 1002));
	CHECK(!marks_find_trace(&marks, "chunk-1/shop-2-0", 1001));
	CHECK(marks_next_stream(&marks, 1, 0) == slots[1] && !marks_next_stream(&marks, 2, 0));
	CHECK(same(&marks.entries[slots[1]], &stream));
	CHECK(!marks_release(&marks, slots[0]));
	third = make_trace(7);
	CHECK(!marks_write(&marks, &slots[2], &third) && slots[2] == slots[0]);
	marks_close(&marks);

	/* A block that a crash has truncated is ignored, and no other block is lost. */
	{
		int fd = open(path, O_WRONLY);

		CHECK(fd >= 0 && pwrite(fd, "x", 1, (off_t)slots[1] * MARKS_BLOCK + 40) == 1);
		close(fd);
	}
	CHECK(!marks_open(path, "tcp://there:1", &marks, &found) && found && marks.bad == 1);
	CHECK(same(&marks.entries[slots[2]], &third) && !marks_next_stream(&marks, 1, 0));
	marks_close(&marks);
	/* A sender to another address starts without marks. */
	CHECK(!marks_open(path, "tcp://elsewhere:1", &marks, &found) && !found && marks.nr == 1);
	marks_close(&marks);
}

static size_t make_file(unsigned char *file)
{
	struct marks_head head = {.id = 1, .sequence = 2, .nr_traces = 3, .url = "net://there"};
	struct marks_entry entry;
	size_t nr = 1;

	marks_put_head(&head, file);
	for (uint32_t i = 0; i < 4; i++) {
		entry = make_trace(i);
		marks_put_block(&entry, file + nr++ * MARKS_BLOCK);
		for (uint32_t k = 0; k < 3; k++) {
			entry = make_stream(i, k);
			marks_put_block(&entry, file + nr++ * MARKS_BLOCK);
		}
	}
	return nr;
}

static void mutate(unsigned char *file, size_t nr)
{
	uint32_t changes = 1 + random_number(4);

	while (changes--) {
		unsigned char *block = file + random_number((uint32_t)nr) * MARKS_BLOCK;

		switch (random_number(4)) {
		case 0: block[random_number(MARKS_BLOCK)] ^= 1 << random_number(8); break;
		case 1: block[random_number(200)] = (unsigned char)random_number(256); break;
		case 2:
			memcpy(block, file + random_number((uint32_t)nr) * MARKS_BLOCK,
					MARKS_BLOCK);
			break;
		default: memset(block + random_number(200), 0xff, 8); break;
		}
		if (random_number(4))
			make_sum(block);
	}
}

static void check_whole(const unsigned char *file, size_t nr)
{
	struct marks marks = {.fd = -1};

	CHECK(!marks_parse(file, nr * MARKS_BLOCK, &marks) && !marks.bad && marks.nr == nr);
	CHECK(marks.head.nr_traces == 4);
	check(&marks);
	marks_close(&marks);
	/* Two blocks with the same number: neither is used, nor a third one. */
	{
		unsigned char doubled[4 * MARKS_BLOCK];
		struct marks_entry entry = make_trace(2);

		memcpy(doubled, file, MARKS_BLOCK);
		for (int i = 1; i < 4; i++)
			marks_put_block(&entry, doubled + (size_t)i * MARKS_BLOCK);
		marks = (struct marks){.fd = -1};
		CHECK(!marks_parse(doubled, sizeof(doubled), &marks) && marks.bad == 3);
		CHECK(!marks_find_trace(&marks, entry.trace.name, entry.trace.inode));
		marks_close(&marks);
	}
}

int main(int argc, char **argv)
{
	uint32_t rounds = getenv("SIDE_TEST_LONG") ? 2000000 : 20000;
	unsigned char file[20 * MARKS_BLOCK], changed[sizeof(file)];
	size_t nr = make_file(file);
	int fd;

	if (argc > 1) { /* Seeds for libFuzzer. */
		FILE *seed = fopen(argv[1], "w");

		CHECK(seed && fwrite(file, MARKS_BLOCK, nr, seed) == nr && !fclose(seed));
		return 0;
	}
	fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	check_file();
	CHECK(!unlink(path));
	check_whole(file, nr);
	while (rounds--) {
		memcpy(changed, file, sizeof(file));
		mutate(changed, nr);
		parse(changed,
				random_number(8) ? nr * MARKS_BLOCK
						 : random_number((uint32_t)(nr * MARKS_BLOCK)));
	}
	return 0;
}

#endif
