/* SPDX-License-Identifier: MIT */
/*
 * Exact values of trampolines of probes: their head, the begin of the copy, the largest copy that
 * fits, and the data for unwinders of each displaced instruction. The test includes the file, so
 * that it can call its static functions, and plays the copies.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/patch/parts.h"

#include "../../check.h"

static int copy_size;
static uint64_t copied_to;

static int fake_copy(const struct probe_site *site, uint64_t at, uint8_t copy[PROBE_COPY_MAX],
		uint8_t map[PROBE_PIECES_MAX + 1])
{
	CHECK(site->runtime == 0x401000);
	copied_to = at;
	for (int i = 0; i < copy_size; i++)
		copy[i] = (uint8_t)(0x40 + i);
	for (unsigned int i = 0; i <= PROBE_PIECES_MAX; i++)
		map[i] = (uint8_t)(7 * i);
	return copy_size;
}

#define probe_copy fake_copy
#include "probe/patch/x86-64-trampoline.c"

static uint8_t bytes[TRAMPOLINE_BYTES_MAX + 16];
static struct patch_hot hot;

static struct patch make(bool all, bool begins)
{
	return (struct patch){.hot = &hot,
			.site = {.runtime = 0x401000, .begins = begins},
			.flags = all ? PATCH_ALL : 0,
			.trampoline = 7 * PATCH_ARENA_BYTES + HEADS_BYTES + 5 * TRAMPOLINE_BYTES};
}

static uint64_t called_by(const struct patch *patch)
{
	int32_t away;

	/* lea -128(%rsp),%rsp; call */
	CHECK(!memcmp(bytes, "\x48\x8d\x64\x24\x80\xe8", 6));
	memcpy(&away, bytes + 6, sizeof(away));
	return patch->trampoline + 10 + (uint64_t)(int64_t)away;
}

static void test_heads(void)
{
	for (unsigned int i = 0; i < 8; i++) {
		bool all = i & 1, begins = i & 2, follows = i & 4;
		struct patch patch = make(all, begins);
		struct patch_kind kind = {.bytes = TRAMPOLINE_BYTES, .follows = follows};
		size_t before = 10 + (follows ? GATE_BYTES : 8);

		copy_size = 20;
		memset(bytes, 0x77, sizeof(bytes));
		CHECK(!patch_trampoline_generate(&patch, kind, bytes));
		CHECK(called_by(&patch) ==
				7 * PATCH_ARENA_BYTES +
						(uint64_t)HEAD_BYTES *
								((all ? 1 : 0) + (begins ? 0 : 2)));
		CHECK(x86_trampoline_get_head(&patch) == (all ? 1u : 0u) + (begins ? 0u : 2u));
		CHECK(hot.copy == patch.trampoline + before && copied_to == hot.copy &&
				patch.map[2] == 14);
		CHECK(!memcmp(bytes + 10,
				follows ? "\x48\x8d\xa4\x24\x88\0\0\0\xff\x64\x24\xf8"
					: "\x48\x8d\xa4\x24\x80\0\0\0",
				before - 10));
		for (size_t k = 0; k < 20; k++)
			CHECK(bytes[before + k] == 0x40 + k);
		for (size_t k = before + 20; k < TRAMPOLINE_BYTES; k++)
			CHECK(bytes[k] == 0xcc);
		CHECK(bytes[TRAMPOLINE_BYTES] == 0x77);
	}
}

/* The largest copy, and one byte more; a copy that cannot be made. */
static void test_sizes(void)
{
	struct patch patch = make(false, true);
	const struct patch_kind small = {.bytes = TRAMPOLINE_BYTES},
				large = {.bytes = TRAMPOLINE_BYTES_MAX, .follows = true};

	copy_size = TRAMPOLINE_BYTES - 18;
	memset(bytes, 0x77, sizeof(bytes));
	CHECK(!patch_trampoline_generate(&patch, small, bytes) &&
			bytes[TRAMPOLINE_BYTES - 1] == 0x40 + TRAMPOLINE_BYTES - 19 &&
			bytes[TRAMPOLINE_BYTES] == 0x77);
	copy_size++;
	CHECK(patch_trampoline_generate(&patch, small, bytes) == -E2BIG &&
			bytes[TRAMPOLINE_BYTES] == 0x77);
	CHECK(!patch_trampoline_generate(&patch, large, bytes) &&
			bytes[TRAMPOLINE_BYTES_MAX - 1] == 0xcc &&
			bytes[TRAMPOLINE_BYTES_MAX] == 0x77);
	copy_size = -ERANGE;
	CHECK(patch_trampoline_generate(&patch, small, bytes) == -ERANGE);
}

static void test_locations(void)
{
	static const uint8_t calls[] = {PROBE_COPIED, PROBE_RELATIVE, PROBE_BRANCH, PROBE_BRANCH_IF,
			PROBE_COUNTER, PROBE_CALL, PROBE_CALL_INDIRECT};

	for (unsigned int nr = 1; nr <= PROBE_PIECES_MAX; nr++) {
		for (size_t k = 0; k < sizeof(calls); k++) {
			struct patch patch = make(false, true);
			bool is_call = calls[k] == PROBE_CALL || calls[k] == PROBE_CALL_INDIRECT;

			hot.copy = patch.trampoline + 18;
			patch.site.nr_pieces = (uint8_t)nr;
			patch.site.displaced = (uint8_t)(3 * nr + 1);
			memset(patch.begins, 1, sizeof(patch.begins));
			for (unsigned int i = 0; i < nr; i++) {
				patch.site.pieces[i].at = (uint8_t)(3 * i);
				patch.site.pieces[i].kind = i + 1 < nr ? PROBE_CALL : calls[k];
			}
			for (unsigned int i = 0; i <= nr; i++)
				patch.map[i] = (uint8_t)(7 * i + 1);
			patch_trampoline_locations(&patch);
			for (unsigned int i = 0; i <= nr; i++)
				CHECK(patch.locations[i] ==
						0x401000 + (i < nr ? 3 * i : 3 * nr + 1));
			for (unsigned int i = 0; i < PROBE_PIECES_MAX; i++)
				CHECK(patch.begins[i] == (i < nr ? 18 + 7 * (i + 1) + 1 : 255));
			CHECK(patch.pushed ==
					(is_call ? 18 + 7 * (nr - 1) + 1 + PROBE_COPY_PUSH_BYTES
						 : 255));
		}
	}
}

/*
 * Heads of an arena: four of equal size, each padded with traps after its code, with the address of
 * the patch_hot array at the same offset.
 */
static void test_written(void)
{
	static uint8_t heads[HEADS_BYTES + 1], returns[RETURNS_HEAD_BYTES + 1];
	struct patch_hot *found;

	for (int follows = 0; follows < 2; follows++) {
		heads[HEADS_BYTES] = 0x77;
		patch_heads_write(heads, follows, &hot);
		CHECK(heads[HEADS_BYTES] == 0x77);
		for (unsigned int i = 0; i < PATCH_HEADS; i++) {
			memcpy(&found, heads + i * HEAD_BYTES + patch_head_hot_at(), sizeof(found));
			CHECK(found == &hot && heads[i * HEAD_BYTES] == 0x50 &&
					heads[(i + 1) * HEAD_BYTES - 1] == 0xcc);
			CHECK(heads[i * HEAD_BYTES + patch_head_hot_at() - 2] == 0x48 &&
					heads[i * HEAD_BYTES + patch_head_hot_at() - 1] == 0xb8);
		}
	}
	returns[RETURNS_HEAD_BYTES] = 0x77;
	patch_returns_write(returns);
	CHECK(returns[0] == 0x50 && returns[COMMON_BYTES] == 0xcc &&
			returns[RETURNS_HEAD_BYTES - 1] == 0xcc &&
			returns[RETURNS_HEAD_BYTES] == 0x77);
}

int main(void)
{
	test_heads();
	test_sizes();
	test_locations();
	test_written();
	return 0;
}
