/* SPDX-License-Identifier: MIT */
/*
 * Exact values of the unwind data of generated code. The test reads each description as an unwinder
 * does, evaluates its expressions at each byte, and compares the frame and the return address with
 * the tables. The lists of pieces and of springboards are filled to their limits. The test includes
 * the files, so that it can call their static functions.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/patch/parts.h"

#include "../../check.h"

static unsigned int nr_described, nr_changed, nr_notify_calls, last_changed;
static struct {
	const uint8_t *frames;
	size_t size;
	const char *name;
	uint64_t start, length;
} described_last;

static void fake_debugger_add(const uint8_t *frames, size_t frames_size, const char *name,
		uint64_t start, uint64_t size)
{
	nr_described++;
	described_last.frames = frames;
	described_last.size = frames_size;
	described_last.name = name;
	described_last.start = start;
	described_last.length = size;
}

static void fake_notify(void)
{
	nr_notify_calls++;
}

static void fake_change(unsigned int which)
{
	nr_changed++;
	last_changed = which;
}

#define patch_debugger_add fake_debugger_add
#define patch_unwinders_notify fake_notify
#define patch_unwinders_change fake_change
#include "probe/patch/frames.c"

/* ---- an unwinder ---- */

static struct {
	uint64_t rsp, rbp, rip;
} registers;

static uint64_t take_leb(const uint8_t **at, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = *(*at)++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return is_signed && byte & 0x40 && shift < 64 ? value | ~UINT64_C(0) << shift : value;
}

static uint64_t take_bytes(const uint8_t **at, unsigned int size)
{
	uint64_t value = 0;

	memcpy(&value, *at, size);
	*at += size;
	return value;
}

static uint64_t evaluate(const uint8_t *at, size_t size, bool has_first, uint64_t first)
{
	const uint8_t *stop = at + size;
	uint64_t stack[16] = {first}, right;
	unsigned int nr = has_first;

	while (at < stop) {
		uint8_t op = *at++;

		CHECK(nr < 15);
		if (op >= 0x30 && op < 0x50) {
			stack[nr++] = op - 0x30u;
			continue;
		}
		switch (op) {
		case 0x06:
			CHECK(nr);
			memcpy(&stack[nr - 1], (void *)(uintptr_t)stack[nr - 1], 8);
			continue;
		case 0x94:
			CHECK(nr);
			right = stack[nr - 1];
			stack[nr - 1] = 0;
			memcpy(&stack[nr - 1], (void *)(uintptr_t)right, *at++);
			continue;
		case 0x08: stack[nr++] = take_bytes(&at, 1); continue;
		case 0x0a: stack[nr++] = take_bytes(&at, 2); continue;
		case 0x0c: stack[nr++] = take_bytes(&at, 4); continue;
		case 0x0d: stack[nr++] = (uint64_t)(int64_t)(int32_t)take_bytes(&at, 4); continue;
		case 0x0e: stack[nr++] = take_bytes(&at, 8); continue;
		case 0x12:
			stack[nr] = stack[nr - 1];
			nr++;
			continue;
		case 0x13: nr--; continue;
		case 0x14:
			stack[nr] = stack[nr - 2];
			nr++;
			continue;
		case 0x15:
			CHECK(*at < nr);
			stack[nr] = stack[nr - 1 - *at++];
			nr++;
			continue;
		case 0x16:
			right = stack[nr - 1];
			stack[nr - 1] = stack[nr - 2];
			stack[nr - 2] = right;
			continue;
		case 0x23: stack[nr - 1] += take_leb(&at, false); continue;
		case 0x76: stack[nr++] = registers.rbp + take_leb(&at, true); continue;
		case 0x77: stack[nr++] = registers.rsp + take_leb(&at, true); continue;
		case 0x80: stack[nr++] = registers.rip + take_leb(&at, true); continue;
		case 0x2f:
			right = take_bytes(&at, 2);
			at += (int16_t)right;
			continue;
		case 0x28:
			right = take_bytes(&at, 2);
			at += stack[--nr] ? (int16_t)right : 0;
			continue;
		default: break;
		}
		CHECK(nr >= 2);
		right = stack[--nr];
		switch (op) {
		case 0x1a: stack[nr - 1] &= right; break;
		case 0x1b: stack[nr - 1] /= right; break;
		case 0x1c: stack[nr - 1] -= right; break;
		case 0x1e: stack[nr - 1] *= right; break;
		case 0x22: stack[nr - 1] += right; break;
		case 0x24: stack[nr - 1] <<= right; break;
		case 0x25: stack[nr - 1] >>= right; break;
		case 0x26: stack[nr - 1] = (uint64_t)((int64_t)stack[nr - 1] >> right); break;
		case 0x2a: stack[nr - 1] = (int64_t)stack[nr - 1] >= (int64_t)right; break;
		case 0x2d: stack[nr - 1] = (int64_t)stack[nr - 1] < (int64_t)right; break;
		case 0x2e: stack[nr - 1] = stack[nr - 1] != right; break;
		default: CHECK(!"a known operation");
		}
	}
	CHECK(at == stop && nr);
	return stack[nr - 1];
}

/* The frame at one address. */
static struct {
	uint64_t cfa, ra_at, ra, rsp, rbp_at;
	unsigned int nr_unknown;
	bool interrupts, has_ra, has_rsp, rbp_is_saved;
	uint64_t start, length;
} seen;

static void read_rules(const uint8_t *at, const uint8_t *stop, uint64_t pc)
{
	uint64_t here = seen.start;

	while (at < stop && here <= pc) {
		uint8_t rule = *at++;
		uint64_t which, size;

		switch (rule) {
		case 0: break;
		case 0x03: here += take_bytes(&at, 2); break;
		case 0x07:
			take_leb(&at, false);
			seen.nr_unknown++;
			break;
		case 0x08:
			CHECK(take_leb(&at, false) == 6);
			seen.rbp_is_saved = false;
			break;
		case 0x0c:
			CHECK(take_leb(&at, false) == 7);
			seen.cfa = registers.rsp + take_leb(&at, false);
			break;
		case 0x0f:
			size = take_leb(&at, false);
			seen.cfa = evaluate(at, size, false, 0);
			at += size;
			break;
		case 0x10:
		case 0x16:
			which = take_leb(&at, false);
			size = take_leb(&at, false);
			if (rule == 0x10 && which == 16) {
				seen.ra_at = evaluate(at, size, true, seen.cfa);
				memcpy(&seen.ra, (void *)(uintptr_t)seen.ra_at, 8);
				seen.has_ra = true;
			} else if (rule == 0x10) {
				CHECK(which == 6);
				seen.rbp_at = evaluate(at, size, true, seen.cfa);
				seen.rbp_is_saved = true;
			} else if (which == 16) {
				seen.ra = evaluate(at, size, true, seen.cfa);
				seen.has_ra = true;
			} else {
				CHECK(which == 7);
				seen.rsp = evaluate(at, size, true, seen.cfa);
				seen.has_rsp = true;
			}
			at += size;
			break;
		default: CHECK(!"a known rule");
		}
	}
}

/* The CIE, the FDE that uses it, and the end mark. */
static void unwind(const uint8_t *bytes, size_t size, uint64_t pc)
{
	const uint8_t *at = bytes, *entry;
	uint32_t length;

	memset(&seen, 0, sizeof(seen));
	registers.rip = pc;
	CHECK((length = (uint32_t)take_bytes(&at, 4)) % 8 == 0 && length + 4 < size);
	entry = at + length;
	CHECK(take_bytes(&at, 4) == 0 && *at++ == 1 && *at++ == 'z' && *at++ == 'R');
	if (*at == 'S') {
		at++;
		seen.interrupts = true;
	}
	CHECK(*at++ == 0 && take_leb(&at, false) == 1 && (int64_t)take_leb(&at, true) == -8 &&
			*at++ == 16 && *at++ == 1 && *at++ == 0);
	{
		const uint8_t *of_entry = entry;
		uint32_t remainder = (uint32_t)take_bytes(&of_entry, 4);
		const uint8_t *stop = of_entry + remainder;

		CHECK(remainder % 8 == 0 &&
				take_bytes(&of_entry, 4) == (uint64_t)(entry + 4 - bytes));
		seen.start = take_bytes(&of_entry, 8);
		seen.length = take_bytes(&of_entry, 8);
		CHECK(*of_entry++ == 0);
		read_rules(at, entry, seen.start);
		read_rules(of_entry, stop, pc);
		CHECK(take_bytes(&stop, 4) == 0 && (size_t)(stop - bytes) == size &&
				size <= PATCH_FRAMES_BYTES);
	}
}

static void unwind_entry(unsigned int which, uint64_t pc)
{
	unwind(entries[which].bytes, entries[which].size, pc);
	CHECK(seen.start == entries[which].start && seen.length == entries[which].length);
	CHECK(!memcmp(&entries[which].head, &(struct head){1, 0x1b, 0xff, 0xff, 4},
			sizeof(struct head)));
}

/* ---- trampolines ---- */

static struct patch patches[PATCH_ARENA_BYTES / TRAMPOLINE_BYTES];
static struct patch_hot hots[PATCH_ARENA_BYTES / TRAMPOLINE_BYTES];
/* It has space below the stack pointer for values that a trampoline has pushed. */
static uint64_t stack[128];

static void forget(void)
{
	memset(entries, 0, sizeof(entries));
	/* Each byte that is read was written. */
	for (unsigned int i = 0; i < ENTRIES_MAX; i++)
		memset(entries[i].bytes, 0xaa, sizeof(entries[i].bytes));
	memset(plain_return.bytes, 0xaa, sizeof(plain_return.bytes));
	memset(lists, 0, sizeof(lists));
	memset(springboards, 0, sizeof(springboards));
	nr_entries = nr_shown = nr_changes = 0;
	nr_springboards = 0;
	nr_described = nr_changed = nr_notify_calls = 0;
	registers.rsp = (uintptr_t)&stack[48];
	registers.rbp = (uintptr_t)&stack[52];
}

static void test_trampolines(unsigned int bytes, bool follows)
{
	const uint64_t start = 0x7f3400000000 + 3 * PATCH_ARENA_BYTES;
	const uint8_t *frames = patch_trampoline_frames(follows);

	forget();
	memset(patches, 0, sizeof(patches));
	for (size_t i = 0; i < sizeof(patches) / sizeof(*patches); i++) {
		for (unsigned int j = 0; j < PROBE_PIECES_MAX; j++)
			patches[i].begins[j] = (uint8_t)(j < 3 ? 30 + i % 7 + 5 * j : 255);
		patches[i].pushed = (uint8_t)(i % 3 ? 255 : 40 + i % 5);
	}
	patch_frames_add(start, PATCH_ARENA_BYTES, (struct patch_kind){bytes, follows}, patches,
			hots);
	CHECK(nr_entries == PATCH_HEADS + 1 && entries[4].start == start + HEADS_BYTES &&
			entries[4].length == PATCH_ARENA_BYTES - HEADS_BYTES &&
			!strcmp(entries[4].name, "side_probe") && !entries[4].plain);
	for (uint64_t i = HEADS_BYTES / bytes; i < PATCH_ARENA_BYTES / bytes; i += 5) {
		const struct patch *patch = &patches[i];

		for (unsigned int at = 0; at < bytes; at++) {
			unsigned int height = 0;

			for (unsigned int j = 0; j < PROBE_PIECES_MAX; j++)
				height += at >= patch->begins[j];
			unwind_entry(4, start + i * bytes + at);
			CHECK(seen.interrupts && seen.nr_unknown == 9 && !seen.rbp_is_saved &&
					!seen.has_rsp);
			CHECK(frames[at] != PATCH_BY_FRAME_POINTER);
			CHECK(seen.cfa ==
					registers.rsp + frames[at] - 8 +
							(at >= patch->pushed ? 8 : 0));
			CHECK(seen.ra_at == (uintptr_t)&patch->locations[height]);
		}
	}
}

static void test_heads(bool follows)
{
	const uint64_t start = 0x7f3400000000;

	forget();
	patch_frames_add(start, PATCH_ARENA_BYTES, (struct patch_kind){TRAMPOLINE_BYTES, follows},
			patches, hots);
	for (unsigned int number = 0; number < PATCH_HEADS; number++) {
		const uint8_t *frames = patch_head_frames(follows, number);
		unsigned int nr_by_frame = 0;

		CHECK(entries[number].start == start + number * HEAD_BYTES &&
				entries[number].length == HEAD_BYTES &&
				!strcmp(entries[number].name, "side_probe"));
		for (unsigned int at = 0; at < HEAD_BYTES; at++) {
			bool by_frame = frames[at] == PATCH_BY_FRAME_POINTER;
			uint64_t site = by_frame ? registers.rbp + PATCH_FRAME_BYTES
						 : registers.rsp + frames[at] - 8;
			uint64_t kept[2];

			nr_by_frame += by_frame;
			/*
			 * The word that the trampoline has pushed: an address within trampoline 37.
			 */
			memcpy(kept, (void *)(uintptr_t)(site - PATCH_PUSHED_BYTES), 8);
			*(uint64_t *)(uintptr_t)(site - PATCH_PUSHED_BYTES) =
					start + 37 * TRAMPOLINE_BYTES + 9;
			unwind_entry(number, start + number * HEAD_BYTES + at);
			memcpy((void *)(uintptr_t)(site - PATCH_PUSHED_BYTES), kept, 8);
			CHECK(seen.cfa == site && seen.interrupts && seen.nr_unknown == 9);
			CHECK(seen.ra_at == (uintptr_t)&hots[37].address);
			CHECK(seen.rbp_is_saved == by_frame &&
					(!by_frame || seen.rbp_at == registers.rbp));
		}
		CHECK(nr_by_frame > 20 && nr_by_frame < HEAD_BYTES - 20);
	}
}

/* A jump in an arena of slots: it leads to a trampoline, and the head of its arena has the data. */
static void test_slots(void)
{
	static uint8_t arena[2 * PATCH_ARENA_BYTES];
	uint8_t *begin = (uint8_t *)(((uintptr_t)arena + PATCH_ARENA_BYTES - 1) &
			~(PATCH_ARENA_BYTES - 1));
	static uint8_t slots[64];
	const struct patch_hot *hot = hots;
	int32_t away;

	forget();
	memcpy(begin + patch_head_hot_at(), &hot, sizeof(hot));
	patch_frames_add_slots((uintptr_t)slots, sizeof(slots));
	CHECK(nr_entries == 1 && entries[0].start == (uintptr_t)slots && entries[0].length == 64);
	for (unsigned int i = 3; i < 60; i += 7) {
		slots[i] = 0xe9;
		away = (int32_t)((intptr_t)(begin + (100 + i) * TRAMPOLINE_BYTES) -
				(intptr_t)(slots + i + 5));
		memcpy(slots + i + 1, &away, sizeof(away));
		unwind_entry(0, (uintptr_t)slots + i);
		CHECK(seen.cfa == registers.rsp &&
				seen.ra_at == (uintptr_t)&hots[100 + i].address && seen.interrupts);
	}
}

/* ---- returns ---- */

static struct patch_return returns[40];

static void test_returns(void)
{
	const uint64_t start = 0x7f3500000000, gates = start + RETURNS_HEAD_BYTES;
	const uint8_t *frames = patch_returns_frames();
	struct patch_frames got;

	CHECK(sizeof(returns[0]) < 256);
	for (unsigned int i = 0; i < 40; i++)
		returns[i].address = 0x400000 + 16 * i;
	forget();
	patch_frames_returns(start, returns, 40);
	CHECK(nr_entries == 2 && entries[0].start == start + COMMON_BYTES &&
			entries[0].length ==
					RETURNS_HEAD_BYTES - COMMON_BYTES + 40 * RETURN_BYTES &&
			!strcmp(entries[0].name, "side_return") &&
			entries[0].plain == &plain_return);
	CHECK(entries[1].start == start && entries[1].length == COMMON_BYTES &&
			!strcmp(entries[1].name, "side_returns") && !entries[1].plain);
	CHECK(plain_return.start == entries[0].start && plain_return.length == entries[0].length);
	CHECK(patch_frames_entry(0, &got) && got.plain == plain_return.bytes &&
			got.plain_size == plain_return.size && got.start == entries[0].start &&
			got.length == entries[0].length);
	CHECK(patch_frames_entry(1, &got) && got.plain == entries[1].bytes &&
			got.plain_size == entries[1].size);
	CHECK(!patch_frames_entry(2, &got));
	for (unsigned int i = 0; i < 40; i++) {
		for (unsigned int at = 0; at < RETURN_BYTES; at++) {
			uint64_t caller = registers.rsp + (at >= RETURN_PUSHED_BYTES ? 8 : 0);

			unwind_entry(0, gates + i * RETURN_BYTES + at);
			CHECK(seen.cfa == registers.rsp + 1 && seen.has_rsp && seen.rsp == caller &&
					!seen.interrupts &&
					seen.ra_at == (uintptr_t)&returns[i].address);
			unwind(plain_return.bytes, plain_return.size,
					gates + i * RETURN_BYTES + at);
			CHECK(seen.cfa == caller && !seen.has_rsp &&
					seen.ra_at == (uintptr_t)&returns[i].address);
		}
	}
	/* The common code of gates: the slot contains the index, or the address already. */
	for (unsigned int at = 0; at < COMMON_BYTES; at++) {
		bool by_frame = frames[at] == PATCH_BY_FRAME_POINTER;
		uint64_t cfa = by_frame ? registers.rbp + PATCH_RETURN_FRAME_BYTES + 8
					: registers.rsp + frames[at],
			 kept;

		memcpy(&kept, (void *)(uintptr_t)(cfa - 8), 8);
		*(uint64_t *)(uintptr_t)(cfa - 8) = 33;
		unwind_entry(1, start + at);
		CHECK(seen.cfa == cfa && !seen.interrupts &&
				seen.ra_at == (uintptr_t)&returns[33].address);
		CHECK(seen.rbp_is_saved == by_frame && (!by_frame || seen.rbp_at == registers.rbp));
		*(uint64_t *)(uintptr_t)(cfa - 8) = RETURNS_MAX;
		unwind_entry(1, start + at);
		CHECK(seen.ra_at == cfa - 8);
		memcpy((void *)(uintptr_t)(cfa - 8), &kept, 8);
	}
	/* The same for the data in this object: an address within the call. */
	{
		uint8_t rules[GATES_RULES_BYTES];
		size_t size = patch_frames_gates(rules, gates, returns);

		CHECK(size <= sizeof(rules));
		for (unsigned int i = 0; i < 40 * RETURN_BYTES; i++) {
			memset(&seen, 0, sizeof(seen));
			registers.rip = gates + i;
			read_rules(rules, rules + size, 0);
			CHECK(seen.cfa == registers.rsp + (i % RETURN_BYTES >= RETURN_PUSHED_BYTES ? 8 : 0) &&
					seen.has_ra &&
					seen.ra == returns[i / RETURN_BYTES].address - 1);
		}
	}
}

/* ---- springboards ---- */

static void test_springboards(void)
{
	struct patch_found found;
	int number;

	forget();
	CHECK(patch_frames_springboard(-1, 0x9000, 0) == -1 && !nr_springboards && !nr_changed);
	number = patch_frames_springboard(-1, 0x9000, 0x8800);
	CHECK(number == 0 && nr_springboards == 1 && nr_changed == 1 && last_changed == 0 &&
			entries[0].start == 0x9000 && entries[0].length == PROBE_JUMP_BYTES &&
			!entries[0].name);
	unwind_entry(0, 0x9000);
	CHECK(seen.cfa == registers.rsp && seen.ra == 0x8800 &&
			seen.ra_at == (uintptr_t)&springboards[0].site && seen.interrupts);
	patch_frames_add_slots(0x20000, 16);
	CHECK(patch_frames_springboard(-1, 0x9100, 0x8900) == 1 && springboards[1].entry == 2 &&
			last_changed == 2);
	patch_frames_register();
	CHECK(patch_frames_find(0x9004, &found) && found.start == 0x9000 && found.end == 0x9005);
	/* It is released, and used again, with its number or without. */
	CHECK(patch_frames_springboard(0, 0x9000, 0) == 0 && entries[0].length == 0 &&
			springboards[0].site == 0x8800 && nr_changed == 3);
	unwind_entry(0, 0x9000);
	CHECK(!seen.length && !patch_frames_find(0x9000, &found));
	CHECK(patch_frames_springboard(-1, 0x9000, 0x8801) == 0 && springboards[0].site == 0x8801 &&
			nr_springboards == 2 && entries[0].length == PROBE_JUMP_BYTES &&
			entries[2].length == PROBE_JUMP_BYTES);
	unwind_entry(0, 0x9000);
	CHECK(seen.ra == 0x8801 && seen.length == 5);
	CHECK(patch_frames_springboard(1, 0x9100, 0x8902) == 1 && springboards[1].site == 0x8902 &&
			last_changed == 2);
	CHECK(patch_frames_find(0x9000, &found) && patch_frames_find(0x9104, &found) &&
			!patch_frames_find(0x9105, &found));
	/* As many as the list has space for. */
	for (unsigned int i = 2; i < PATCH_FRAMES_SPRINGBOARDS; i++)
		CHECK(patch_frames_springboard(-1, 0x100000 + 16 * i, 5) == (int)i);
	CHECK(patch_frames_springboard(-1, 0x90000, 5) == -1 &&
			nr_springboards == PATCH_FRAMES_SPRINGBOARDS &&
			nr_entries == PATCH_FRAMES_SPRINGBOARDS + 1);
	CHECK(patch_frames_springboard(-1, 0x100000 + 16 * 1023, 6) == 1023 &&
			springboards[1023].site == 6);
}

/* ---- lists ---- */

static void test_lists(void)
{
	struct patch_found found;
	unsigned int nr;

	forget();
	CHECK(patch_frame_piece_at(0x5000) == ENTRIES_MAX && !patch_frames_find(0x5000, &found));
	patch_frames_register();
	CHECK(!nr_changes && nr_notify_calls == 1 && !nr_described);
	CHECK(patch_frame_add_entry("\0", 1, 0x5000, 0x100, "one", false) == &entries[0]);
	CHECK(!patch_frames_find(0x5000, &found));
	patch_frames_register();
	CHECK(nr_changes == 1 && nr_shown == 1 && nr_described == 1 && nr_notify_calls == 2);
	CHECK(described_last.frames == entries[0].bytes && described_last.size == entries[0].size &&
			!strcmp(described_last.name, "one") && described_last.start == 0x5000 &&
			described_last.length == 0x100);
	/* Later ones before and after it: each list is sorted. */
	patch_frame_add_entry("\0", 1, 0x7000, 0x10, "two", false);
	patch_frame_add_entry("\0", 1, 0x3000, 0x10, "three", true);
	patch_frames_register();
	patch_frame_add_entry("\0", 1, 0x4000, 0x10, NULL, true);
	patch_frames_register();
	patch_frames_register();
	CHECK(nr_changes == 3 && nr_described == 4 && !described_last.name && lists[1].nr == 4 &&
			lists[0].nr == 3);
	CHECK(lists[1].pieces[0].which == 2 && lists[1].pieces[1].which == 3 &&
			lists[1].pieces[2].which == 0 && lists[1].pieces[3].which == 1 &&
			lists[1].pieces[1].start == 0x4000);
	CHECK(patch_frame_piece_before(&lists[1], 0x2fff) == ENTRIES_MAX &&
			patch_frame_piece_before(&lists[1], 0x3000) == 2 &&
			patch_frame_piece_before(&lists[1], 0x3fff) == 2 &&
			patch_frame_piece_before(&lists[1], 0x4000) == 3 &&
			patch_frame_piece_before(&lists[1], 0x6fff) == 0 &&
			patch_frame_piece_before(&lists[1], UINT64_MAX) == 1);
	CHECK(patch_frames_find(0x5000, &found) && found.start == 0x5000 && found.end == 0x5100 &&
			found.table == &entries[0].head);
	CHECK(patch_frames_find(0x50ff, &found) && !patch_frames_find(0x5100, &found) &&
			!patch_frames_find(0x2fff, &found) && !patch_frames_find(0x4fff, &found));
	/* Sizes that need from 0 to 7 bytes of padding. */
	for (unsigned int i = 0; i < 16; i++) {
		static const uint8_t rules[16] = {0};

		patch_frame_add_entry(rules, i, 0x10000 + 16 * i, 8, "padded", i & 1);
		unwind_entry(nr_entries - 1, 0x10000 + 16 * i);
		CHECK(seen.interrupts == (i & 1));
	}
	/* As many as the list has space for. */
	for (nr = nr_entries; nr < ENTRIES_MAX; nr++)
		CHECK(patch_frame_add_entry("\0", 1, 0x20000 + 16 * nr, 8, "many", false) ==
				&entries[nr]);
	CHECK(!patch_frame_add_entry("\0", 1, 1, 8, "more", false) && nr_entries == ENTRIES_MAX);
	CHECK(patch_frames_springboard(-1, 0x9000, 0x8800) == -1 && !nr_springboards);
	patch_frame_add_rows(NULL, NULL);
	patch_frames_register();
	CHECK(lists[0].nr == ENTRIES_MAX && nr_described == ENTRIES_MAX && nr_changes == 4);
	CHECK(patch_frames_find(0x20000 + 16 * (ENTRIES_MAX - 1), &found) &&
			patch_frames_find(0x3000, &found));
}

int main(void)
{
	for (int follows = 0; follows < 2; follows++) {
		test_trampolines(TRAMPOLINE_BYTES, follows);
		test_trampolines(TRAMPOLINE_BYTES_MAX, follows);
		test_heads(follows);
	}
	test_slots();
	test_returns();
	test_springboards();
	test_lists();
	return 0;
}
