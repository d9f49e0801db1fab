/* SPDX-License-Identifier: MIT */
/*
 * Pads: five bytes of padding between functions that have the long jump of a short one. When the probe is gone and its place is as in
 * the file, threads may still be on their way through the pad, and would go through the padding into the next function. So the
 * jump stays until it is certain that there is none (passed.c), and it is tried again until then.
 *
 * It stays, too, where somebody else has changed the place, who may bring the short jump back.
 */
#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PADS_MAX 4096
#define PLACE_BYTES 2 /* of a short jump */
#define JUMP 0xe9
#define BREAKPOINT 0xcc

/* The first words of an entry that is not used any more are as they were: its number for unwinders is for its address alone. */
static struct pad {
	uint64_t address, site;                              /* at run time; 0: of nobody */
	uint8_t bytes[PROBE_JUMP_BYTES], place[PLACE_BYTES]; /* as in the file */
	bool stands;
	bool copied; /* its page, since it was given back the last time */
	bool leaves; /* if it is certain */
	int frames;  /* its number there; negative: none */
} pads[PADS_MAX];
static size_t nr_pads;
uint64_t side_probe_pads;

/* The addresses of those that leave, in order: asked for each word of stacks. */
static uint64_t leaving[PADS_MAX];
static size_t nr_leaving;

static struct pad *springboard_find(uint64_t address)
{
	for (size_t i = 0; i < nr_pads; i++) {
		if (pads[i].address == address)
			return &pads[i];
	}
	return NULL;
}

static struct pad *find_or_make(uint64_t address)
{
	struct pad *pad = springboard_find(address);

	/* Of one that is gone, if unwinders know nothing of that. */
	for (size_t i = 0; !pad && i < nr_pads; i++) {
		if (!pads[i].address)
			pad = &pads[i];
	}
	if (!pad && nr_pads < PADS_MAX)
		pad = &pads[nr_pads++];
	if (pad && pad->address != address)
		*pad = (struct pad){.address = address, .frames = -1};
	return pad;
}

static bool is_free(uint64_t address)
{
	for (unsigned int i = 0; i < PROBE_JUMP_BYTES; i++) {
		if (patch_is_pad(address + i))
			return false;
	}
	return !patch_is_occupied(address, PROBE_JUMP_BYTES);
}

/* Read by the kernel, for there may be nothing. */
static bool springboard_read_code(uint64_t address, uint8_t *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)address, size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Our jump, maybe with somebody's breakpoint on it: that is no reason to leave, and not to be forgotten. */
static bool has_jump(const struct pad *pad, bool *is_covered)
{
	uint8_t bytes[PROBE_JUMP_BYTES];
	int32_t away;

	if (!springboard_read_code(pad->address, bytes, sizeof(bytes)))
		return false;
	*is_covered = bytes[0] == BREAKPOINT;
	memcpy(&away, bytes + 1, sizeof(away));
	return (*is_covered || bytes[0] == JUMP) &&
			patch_is_body(pad->address + PROBE_JUMP_BYTES + (uint64_t)(int64_t)away);
}

static void springboard_remove(struct pad *pad)
{
	pad->stands = false;
	patch_frames_pad(pad->frames, pad->address, 0);
}

int patch_pad_take(const struct patch_probe *probe, bool *stands)
{
	const struct probe_site *site = &probe->site;
	uint64_t address = site->pad + (site->runtime - site->address);
	struct pad *pad = springboard_find(address);
	bool is_covered;

	/* A file that was mapped anew has padding there, which may be a part of another probe's jump by now. */
	if (pad && pad->stands && !has_jump(pad, &is_covered))
		springboard_remove(pad);
	*stands = pad && pad->stands && pad->site == site->runtime;
	if (*stands)
		return 0;
	if (memcmp((const void *)address, site->pad_bytes, PROBE_JUMP_BYTES) != 0 ||
			!is_free(address))
		return -ERANGE;
	pad = find_or_make(address);
	if (!pad)
		return -ERANGE;
	pad->site = site->runtime;
	pad->stands = pad->copied = true;
	memcpy(pad->bytes, site->pad_bytes, sizeof(pad->bytes));
	memcpy(pad->place, site->bytes, sizeof(pad->place));
	pad->frames = patch_frames_pad(pad->frames, address, pad->site);
	return 0;
}

void patch_pad_drop(uint64_t address)
{
	struct pad *pad = springboard_find(address);

	if (pad)
		springboard_remove(pad);
}

void patch_pad_forget(uint64_t address)
{
	struct pad *pad = springboard_find(address);

	if (!pad)
		return;
	springboard_remove(pad);
	if (pad->frames < 0)
		pad->address = 0;
}

bool patch_is_pad(uint64_t address)
{
	for (size_t i = 0; i < nr_pads; i++) {
		if (pads[i].stands && address - pads[i].address < PROBE_JUMP_BYTES)
			return true;
	}
	return false;
}

/* In signal handlers, too: one that is new or gone meanwhile may be missed. */
bool patch_springboard_at(size_t index, uint64_t *ret_address, uint64_t *ret_site)
{
	if (index >= nr_pads)
		return false;
	*ret_address = pads[index].address;
	*ret_site = pads[index].site;
	return true;
}

/* ---- back ---- */

static bool springboard_is_needed(const struct pad *pad)
{
	for (const struct patch_probe *probe = *patch_place_of(pad->site); probe;
			probe = probe->next) {
		if (probe->armed && probe->method == PROBE_SHORT && probe->slot == pad->address)
			return true;
	}
	return false;
}

static int springboard_compare_addresses(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* Whether one could leave. */
static bool springboard_choose_removable(void)
{
	nr_leaving = 0;
	for (size_t i = 0; i < nr_pads; i++) {
		struct pad *pad = &pads[i];
		uint8_t place[PLACE_BYTES];
		bool is_covered;

		pad->leaves = false;
		if (!pad->stands || springboard_is_needed(pad))
			continue;
		/* Something else is there by now. */
		if (!has_jump(pad, &is_covered))
			patch_pad_forget(pad->address);
		else
			pad->leaves = !is_covered &&
					springboard_read_code(pad->site, place, sizeof(place)) &&
					!memcmp(place, pad->place, sizeof(place));
		if (pad->leaves)
			leaving[nr_leaving++] = pad->address;
	}
	qsort(leaving, nr_leaving, sizeof(*leaving), springboard_compare_addresses);
	return nr_leaving != 0;
}

/* Behind its first byte, too: there stands who has met a trap that was put there while the jump changed. */
static bool is_at_leaving(uint64_t address)
{
	size_t low = 0, high = nr_leaving;

	if (address < leaving[0] || address >= leaving[nr_leaving - 1] + PROBE_JUMP_BYTES)
		return false;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (leaving[middle] <= address)
			low = middle;
		else
			high = middle;
	}
	return address - leaving[low] < PROBE_JUMP_BYTES;
}

static size_t count_left(void)
{
	size_t left = 0;

	for (size_t i = 0; i < nr_pads; i++)
		left += pads[i].stands && !springboard_is_needed(&pads[i]);
	/* Relaxed: for whoever looks at it from outside. */
	__atomic_store_n(&side_probe_pads, left, __ATOMIC_RELAXED);
	return left;
}

bool patch_pads_are_left(void)
{
	return count_left() != 0;
}

static void write_back(struct patch_writer *writer)
{
	for (size_t i = 0; i < nr_pads; i++) {
		if (pads[i].leaves &&
				!patch_write(writer, pads[i].address, pads[i].bytes,
						PROBE_JUMP_BYTES))
			springboard_remove(&pads[i]);
	}
}

size_t patch_pads_give_back(struct patch_writer *writer)
{
	struct patch_writer own;

	/* A sandbox may not expect some of these system calls. */
	if (patch_is_guarded() || !springboard_choose_removable() ||
			!patch_all_passed(is_at_leaving))
		return count_left();
	if (writer) {
		write_back(writer);
	} else {
		patch_writer_open(&own);
		write_back(&own);
		patch_writer_close(&own);
	}
	return count_left();
}

void patch_pads_each(void (*tell)(uint64_t address))
{
	for (size_t i = 0; i < nr_pads; i++) {
		if (pads[i].address && pads[i].copied)
			tell(pads[i].address);
	}
}

void patch_pads_settle(void)
{
	for (size_t i = 0; i < nr_pads; i++)
		pads[i].copied = pads[i].stands;
}
