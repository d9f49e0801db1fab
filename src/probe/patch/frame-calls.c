/* SPDX-License-Identifier: MIT */
/*
 * Finds calls of _Unwind_GetCFA() in code that is linked with libgcc's unwinder (-static-libgcc),
 * where no symbol shows these calls.
 *
 * The accessors of the unwinder are recognized by their instructions: GCC has always compiled them
 * to the same bytes since their structure got its present layout. One accessor returns the frame
 * address; near it are those that return and set the program counter. Code that calls the first one
 * uses frame addresses. libgcc itself reads the structure directly.
 */
#include "parts.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHUNK 16384
#define NEAR 256 /* the other accessors are within this distance of the first one */
#define ACCESSOR 8
#define RARE 2
#define CALL 5

static const uint8_t returns_frame[ACCESSOR] = {0x48, 0x8b, 0x87, 0x90, 0, 0, 0, 0xc3};
static const uint8_t returns_counter[ACCESSOR] = {0x48, 0x8b, 0x87, 0x98, 0, 0, 0, 0xc3};
static const uint8_t sets_counter[ACCESSOR] = {0x48, 0x89, 0xb7, 0x98, 0, 0, 0, 0xc3};
static const uint8_t begins_call_target[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */

/* No lock: only one thread at a time scans. */
static uint8_t chunk[CHUNK];

/* Reads through the kernel: another thread may unmap or truncate the mapped file meanwhile. */
static bool frame_calls_read_code(uint64_t address, uint8_t *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static size_t frame_calls_read_chunk(uint64_t from, uint64_t end)
{
	size_t size = end - from < CHUNK ? (size_t)(end - from) : CHUNK;

	return frame_calls_read_code(from, chunk, size) ? size : 0;
}

static bool frame_calls_is_accessor(uint64_t address, uint64_t start, uint64_t end)
{
	uint64_t from = address - start < NEAR ? start : address - NEAR;
	size_t size = end - from < (size_t)2 * NEAR ? (size_t)(end - from) : (size_t)2 * NEAR;
	uint8_t bytes[2 * NEAR];

	return frame_calls_read_code(from, bytes, size) &&
			memmem(bytes, size, returns_counter, ACCESSOR) != NULL &&
			memmem(bytes, size, sets_counter, ACCESSOR) != NULL;
}

/*
 * Returns the accessor's offset in the chunk, or `size`. memchr() for this byte is fast, because
 * the byte is rare in code.
 */
static size_t frame_calls_find_in_chunk(size_t at, size_t size)
{
	while (at + ACCESSOR <= size) {
		const uint8_t *rare = memchr(
				chunk + at + RARE, returns_frame[RARE], size - at - ACCESSOR + 1);

		if (!rare)
			break;
		at = (size_t)(rare - chunk) - RARE;
		if (!memcmp(chunk + at, returns_frame, ACCESSOR))
			return at;
		at++;
	}
	return size;
}

/* Returns the accessor's address, or 0. */
static uint64_t frame_calls_find_accessor(uint64_t start, uint64_t end)
{
	for (uint64_t from = start; end - from >= ACCESSOR; from += CHUNK - ACCESSOR + 1) {
		size_t size = frame_calls_read_chunk(from, end);

		for (size_t at = 0; (at = frame_calls_find_in_chunk(at, size)) < size; at++) {
			if (frame_calls_is_accessor(from + at, start, end))
				return from + at;
		}
		if (size < CHUNK)
			break;
	}
	return 0;
}

static bool frame_calls_is_call_to(
		const uint8_t *bytes, uint64_t address, uint64_t target, uint64_t begin)
{
	int32_t distance;

	if ((bytes[0] & 0xfe) != 0xe8)
		return false;
	memcpy(&distance, bytes + 1, sizeof(distance));
	address += CALL + (uint64_t)(int64_t)distance;
	return address == target || address == begin;
}

bool patch_calls_for_frames(uint64_t start, uint64_t end)
{
	uint64_t accessor = frame_calls_find_accessor(start, end),
		 begin = accessor - sizeof(begins_call_target);
	uint8_t first[sizeof(begins_call_target)];

	if (!accessor)
		return false;
	if (!frame_calls_read_code(begin, first, sizeof(first)) ||
			memcmp(first, begins_call_target, sizeof(first)) != 0)
		begin = accessor;
	for (uint64_t from = start; end - from >= CALL; from += CHUNK - CALL + 1) {
		size_t size = frame_calls_read_chunk(from, end);

		for (size_t i = 0; i + CALL <= size; i++) {
			if (frame_calls_is_call_to(chunk + i, from + i, accessor, begin))
				return true;
		}
		if (size < CHUNK)
			break;
	}
	return false;
}
