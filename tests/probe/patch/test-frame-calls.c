/* SPDX-License-Identifier: MIT */
/*
 * Calls of libgcc's accessor of frame addresses in code that the test writes byte by byte: the
 * positions of the accessors, their distances, across the chunks that are read, and at the ends of
 * the code. The test includes the file, so that it can call its static functions.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "probe/patch/frame-calls.c"

#include "../../check.h"

#define PAGE_BYTES 4096u
#define CODE_BYTES (12 * PAGE_BYTES)
#define LOW 0x20000000

static uint8_t *code; /* unmapped pages are before and after it */

static uint64_t at(size_t offset)
{
	return (uint64_t)(uintptr_t)code + offset;
}

static void put(size_t offset, const uint8_t bytes[ACCESSOR])
{
	memcpy(code + offset, bytes, ACCESSOR);
}

static void put_call(size_t offset, size_t target, uint8_t opcode)
{
	int32_t distance = (int32_t)((int64_t)target - (int64_t)(offset + 5));

	code[offset] = opcode;
	memcpy(code + offset + 1, &distance, sizeof(distance));
}

static void clear(void)
{
	memset(code, 0x90, CODE_BYTES);
}

static bool calls_in(size_t from, size_t to)
{
	return patch_calls_for_frames(at(from), at(to));
}

static void test_reading(void)
{
	clear();
	code[0] = 1;
	code[CODE_BYTES - 1] = 2;
	CHECK(frame_calls_read_chunk(at(0), at(CHUNK + 1)) == CHUNK && chunk[0] == 1);
	CHECK(frame_calls_read_chunk(at(0), at(CHUNK)) == CHUNK &&
			frame_calls_read_chunk(at(0), at(CHUNK - 1)) == CHUNK - 1);
	chunk[5] = 7;
	CHECK(frame_calls_read_chunk(at(CODE_BYTES - 5), at(CODE_BYTES)) == 5 && chunk[4] == 2 &&
			chunk[5] == 7);
	CHECK(frame_calls_read_chunk(at(CODE_BYTES - 5), at(CODE_BYTES) + 1) == 0);
	CHECK(frame_calls_read_chunk(at(0) - 1, at(1)) == 0);
}

static void test_chunks(void)
{
	memset(chunk, 0x87, sizeof(chunk));
	CHECK(frame_calls_find_in_chunk(0, 64) == 64);
	memcpy(chunk, returns_frame, ACCESSOR);
	memcpy(chunk + 20, returns_frame, ACCESSOR);
	memcpy(chunk + 64 - ACCESSOR, returns_frame, ACCESSOR);
	CHECK(frame_calls_find_in_chunk(0, 64) == 0 && frame_calls_find_in_chunk(1, 64) == 20 &&
			frame_calls_find_in_chunk(20, 64) == 20);
	CHECK(frame_calls_find_in_chunk(21, 64) == 64 - ACCESSOR &&
			frame_calls_find_in_chunk(21, 63) == 63 &&
			frame_calls_find_in_chunk(64 - ACCESSOR + 1, 64) == 64);
	CHECK(frame_calls_find_in_chunk(0, ACCESSOR) == 0 &&
			frame_calls_find_in_chunk(0, ACCESSOR - 1) == ACCESSOR - 1);
	for (unsigned int i = 0; i < ACCESSOR; i++) {
		memcpy(chunk, returns_frame, ACCESSOR);
		chunk[i] ^= 1;
		CHECK(frame_calls_find_in_chunk(0, 15) == 15);
	}
}

/*
 * The other two accessors are within 256 bytes before the first one, and end within 256 bytes after
 * its begin.
 */
static void test_neighbours(void)
{
	const size_t first = 1024, end = CODE_BYTES;
	static const struct {
		size_t returns, sets;
		bool is_one;
	} rows[] = {{1024 - NEAR, 1024 + NEAR - ACCESSOR, true}, {1024 + 16, 1024 + 32, true},
			{1024 - NEAR - 1, 1024 + 16, false}, {1024 + 16, 1024 - NEAR - 1, false},
			{1024 + 16, 1024 + NEAR - ACCESSOR + 1, false},
			{1024 + NEAR - ACCESSOR + 1, 1024 + 16, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		clear();
		put(first, returns_frame);
		put(rows[i].returns, returns_counter);
		put(rows[i].sets, sets_counter);
		CHECK(frame_calls_is_accessor(at(first), at(0), at(end)) == rows[i].is_one);
		CHECK(frame_calls_find_accessor(at(0), at(end)) ==
				(rows[i].is_one ? at(first) : 0));
	}
	/* No more is read than is mapped. */
	clear();
	put(end - 600, returns_counter);
	put(end - 600 + NEAR, returns_frame);
	put(end - 600 + 2 * NEAR + 20, sets_counter);
	CHECK(!frame_calls_is_accessor(at(end - 600 + NEAR), at(0), at(end)));
	/* Only one of the two. */
	clear();
	put(first, returns_frame);
	put(first + 16, returns_counter);
	CHECK(!frame_calls_is_accessor(at(first), at(0), at(end)));
	clear();
	put(first, returns_frame);
	put(first + 16, sets_counter);
	CHECK(!frame_calls_is_accessor(at(first), at(0), at(end)));
	/* At the ends of the code nothing outside of it is read. */
	clear();
	put(NEAR - 1, returns_frame);
	put(0, returns_counter);
	put(8, sets_counter);
	CHECK(frame_calls_is_accessor(at(NEAR - 1), at(0), at(end)) &&
			!frame_calls_is_accessor(at(NEAR - 1), at(1), at(end)));
	put(NEAR, returns_frame);
	CHECK(frame_calls_is_accessor(at(NEAR), at(0), at(end)) &&
			!frame_calls_is_accessor(at(NEAR), at(1), at(end)));
	clear();
	put(end - 24, returns_frame);
	put(end - 16, returns_counter);
	put(end - 8, sets_counter);
	CHECK(frame_calls_is_accessor(at(end - 24), at(0), at(end)) &&
			!frame_calls_is_accessor(at(end - 24), at(0), at(end - 1)));
	CHECK(frame_calls_find_accessor(at(0), at(end)) == at(end - 24));
}

/*
 * A candidate without neighbours is skipped, and the accessor is found in each position relative to
 * a chunk's end.
 */
static void test_positions(void)
{
	for (size_t i = 0; i <= ACCESSOR + 1; i++) {
		size_t first = CHUNK - ACCESSOR - 1 + i;

		clear();
		put(8, returns_frame);
		put(16, returns_frame);
		put(first, returns_frame);
		put(first + 40, returns_counter);
		put(first + 60, sets_counter);
		CHECK(frame_calls_find_accessor(at(0), at(CODE_BYTES)) == at(first));
		CHECK(frame_calls_find_accessor(at(0), at(first + 60 + ACCESSOR)) == at(first));
		CHECK(frame_calls_find_accessor(at(0), at(first + 60 + ACCESSOR - 1)) == 0);
	}
	/* The second chunk has one accessor, and no further byte. */
	clear();
	put(CHUNK + 1 - ACCESSOR, returns_frame);
	put(CHUNK - 40, returns_counter);
	put(CHUNK - 60, sets_counter);
	CHECK(frame_calls_find_accessor(at(0), at(CHUNK + 1)) == at(CHUNK + 1 - ACCESSOR));
	/* No code at all, and code that ends before the mapped memory does. */
	CHECK(frame_calls_find_accessor(at(0), at(0)) == 0 &&
			frame_calls_find_accessor(at(0), at(ACCESSOR - 1)) == 0);
	CHECK(frame_calls_find_accessor(at(0), at(CODE_BYTES) + PAGE_BYTES) != 0);
	clear();
	put(CODE_BYTES - 24, returns_frame);
	put(CODE_BYTES - 16, returns_counter);
	put(CODE_BYTES - 8, sets_counter);
	CHECK(frame_calls_find_accessor(at(0), at(CODE_BYTES) + PAGE_BYTES) == 0);
}

static void test_calls(void)
{
	const uint8_t bytes[CALL] = {0xe8, 0x10, 0, 0, 0},
		      jump[CALL] = {0xe9, 0xf0, 0xff, 0xff, 0xff},
		      other[CALL] = {0xea, 0x10, 0, 0, 0}, further[CALL] = {0xe8, 0, 0, 0, 1};

	CHECK(frame_calls_is_call_to(bytes, 0x1000, 0x1015, 7) &&
			frame_calls_is_call_to(bytes, 0x1000, 7, 0x1015) &&
			!frame_calls_is_call_to(bytes, 0x1000, 0x1014, 0x1016) &&
			!frame_calls_is_call_to(bytes, 0x1000, 0x1010, 0x1010));
	CHECK(frame_calls_is_call_to(jump, 0x1000, 0xff5, 7) &&
			!frame_calls_is_call_to(other, 0x1000, 0x1015, 0x1015) &&
			frame_calls_is_call_to(further, 0x1000, 0x1001005, 7));
	CHECK(frame_calls_is_call_to(jump, 5, UINT64_MAX - 5, 7));
}

static void put_accessors(size_t first)
{
	clear();
	put(first, returns_frame);
	put(first + 16, returns_counter);
	put(first + 32, sets_counter);
}

static void test_code(void)
{
	const size_t first = 4 * PAGE_BYTES + 64;

	put_accessors(first);
	CHECK(!calls_in(0, CODE_BYTES));
	/* The first and the last bytes of the code, and around the end of a chunk. */
	for (size_t i = 0; i < 12; i++) {
		size_t from = i == 10 ? 0 : i == 11 ? CODE_BYTES - CALL : CHUNK - CALL - 3 + i;

		put_accessors(first);
		put_call(from, first, i % 2 ? 0xe8 : 0xe9);
		CHECK(calls_in(0, CODE_BYTES) && calls_in(from, CODE_BYTES) == (from <= first));
		CHECK(!calls_in(from + 1, CODE_BYTES) &&
				(from < first || !calls_in(0, from + CALL - 1)));
	}
	/* The address of the instruction that begins a target, if there is one. */
	put_accessors(first);
	put_call(64, first - 4, 0xe8);
	CHECK(!calls_in(0, CODE_BYTES));
	memcpy(code + first - 4, begins_call_target, sizeof(begins_call_target));
	CHECK(calls_in(0, CODE_BYTES));
	put_call(64, first, 0xe8);
	CHECK(calls_in(0, CODE_BYTES));
	put_call(64, first - 3, 0xe8);
	CHECK(!calls_in(0, CODE_BYTES));
	code[first - 1] ^= 1;
	put_call(64, first - 4, 0xe8);
	CHECK(!calls_in(0, CODE_BYTES));
	/* Nothing is mapped before the accessor. */
	put_accessors(0);
	put_call(128, 0, 0xe8);
	CHECK(calls_in(0, CODE_BYTES) && !calls_in(0, 128));
	/* Without an accessor, a call of the address 0 is none. */
	clear();
	put_call(64, (size_t)0 - (size_t)(uintptr_t)code, 0xe8);
	CHECK(!calls_in(0, CODE_BYTES) && !calls_in(0, 0));
	/* Code whose second chunk is shorter than a call. */
	put_accessors(64);
	put_call(CHUNK - CALL + 1, 64, 0xe8);
	CHECK(calls_in(0, CHUNK + 1) && !calls_in(0, CHUNK));
}

int main(void)
{
	/* In reach of address 0, like code of a program that is not relocatable. */
	uint8_t *pages = mmap((void *)(uintptr_t)LOW, CODE_BYTES + 2 * PAGE_BYTES, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(pages != MAP_FAILED);
	code = pages + PAGE_BYTES;
	CHECK(!mprotect(code, CODE_BYTES, PROT_READ | PROT_WRITE));
	test_reading();
	test_chunks();
	test_neighbours();
	test_positions();
	test_calls();
	test_code();
	munmap(pages, CODE_BYTES + 2 * PAGE_BYTES);
	return 0;
}
