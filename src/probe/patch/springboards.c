/* SPDX-License-Identifier: MIT */
/*
 * Springboards: five bytes of padding between functions that contain the long jump to which a short
 * jump leads. When the probe was removed and its site has the file's bytes again, threads may still
 * be on their way through the springboard, and would run through the padding into the next
 * function. So the jump remains until it is proved that there is no such thread (quiescence.c), and
 * later calls try again until then.
 *
 * It also remains if other code has changed the site, because that may restore the short jump.
 */
#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define SPRINGBOARDS_MAX 4096
#define SITE_BYTES 2 /* of a short jump */
#define JUMP 0xe9
#define BREAKPOINT 0xcc

/*
 * An unused entry keeps its address and `frames`, because its number for unwinders is valid only
 * for its address.
 */
static struct springboard {
	uint64_t address, site; /* at run time; 0: the entry is unused */
	uint8_t bytes[PROBE_JUMP_BYTES], site_bytes[SITE_BYTES]; /* as in the file */
	bool is_written;
	bool copied;       /* its page is a private copy, since it was last returned to the file */
	bool is_removable; /* will become padding if quiescence is proved */
	int frames;        /* its number in frames.c; negative: none */
} springboards[SPRINGBOARDS_MAX];
static size_t nr_springboards;
uint64_t side_probe_pads;

/* The sorted addresses of those that are to become padding; searched for each word of stacks. */
static uint64_t removable[SPRINGBOARDS_MAX];
static size_t nr_removable;

static struct springboard *springboard_find(uint64_t address)
{
	for (size_t i = 0; i < nr_springboards; i++) {
		if (springboards[i].address == address)
			return &springboards[i];
	}
	return NULL;
}

static struct springboard *springboard_find_or_add(uint64_t address)
{
	struct springboard *springboard = springboard_find(address);

	/* An unused entry that unwinders do not know. */
	for (size_t i = 0; !springboard && i < nr_springboards; i++) {
		if (!springboards[i].address)
			springboard = &springboards[i];
	}
	if (!springboard && nr_springboards < SPRINGBOARDS_MAX)
		springboard = &springboards[nr_springboards++];
	if (springboard && springboard->address != address)
		*springboard = (struct springboard){.address = address, .frames = -1};
	return springboard;
}

static bool springboard_is_free(uint64_t address)
{
	for (unsigned int i = 0; i < PROBE_JUMP_BYTES; i++) {
		if (patch_is_springboard(address + i))
			return false;
	}
	return !patch_is_occupied(address, PROBE_JUMP_BYTES);
}

/* Reads through the kernel, because the memory may be unmapped. */
static bool springboard_read_code(uint64_t address, uint8_t *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)address, size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/*
 * True if side's jump is there, maybe with a breakpoint of a debugger on it. Such a springboard is
 * neither returned to padding nor forgotten.
 */
static bool springboard_has_jump(const struct springboard *springboard, bool *ret_is_covered)
{
	uint8_t bytes[PROBE_JUMP_BYTES];
	int32_t away;

	if (!springboard_read_code(springboard->address, bytes, sizeof(bytes)))
		return false;
	*ret_is_covered = bytes[0] == BREAKPOINT;
	memcpy(&away, bytes + 1, sizeof(away));
	return (*ret_is_covered || bytes[0] == JUMP) &&
			patch_is_trampoline(springboard->address + PROBE_JUMP_BYTES +
					(uint64_t)(int64_t)away);
}

static void springboard_remove(struct springboard *springboard)
{
	springboard->is_written = false;
	patch_frames_springboard(springboard->frames, springboard->address, 0);
}

int patch_springboard_claim(const struct patch *patch, bool *ret_is_written)
{
	const struct probe_site *site = &patch->site;
	uint64_t address = site->springboard + (site->runtime - site->address);
	struct springboard *springboard = springboard_find(address);
	bool is_covered;

	/*
	 * If the file was mapped again, there is padding, which may be a part of another probe's
	 * jump by now.
	 */
	if (springboard && springboard->is_written &&
			!springboard_has_jump(springboard, &is_covered))
		springboard_remove(springboard);
	*ret_is_written = springboard && springboard->is_written &&
			springboard->site == site->runtime;
	if (*ret_is_written)
		return 0;
	if (memcmp((const void *)address, site->springboard_bytes, PROBE_JUMP_BYTES) != 0 ||
			!springboard_is_free(address))
		return -ERANGE;
	springboard = springboard_find_or_add(address);
	if (!springboard)
		return -ERANGE;
	springboard->site = site->runtime;
	springboard->is_written = springboard->copied = true;
	memcpy(springboard->bytes, site->springboard_bytes, sizeof(springboard->bytes));
	memcpy(springboard->site_bytes, site->bytes, sizeof(springboard->site_bytes));
	springboard->frames =
			patch_frames_springboard(springboard->frames, address, springboard->site);
	return 0;
}

void patch_springboard_drop(uint64_t address)
{
	struct springboard *springboard = springboard_find(address);

	if (springboard)
		springboard_remove(springboard);
}

void patch_springboard_forget(uint64_t address)
{
	struct springboard *springboard = springboard_find(address);

	if (!springboard)
		return;
	springboard_remove(springboard);
	if (springboard->frames < 0)
		springboard->address = 0;
}

bool patch_is_springboard(uint64_t address)
{
	for (size_t i = 0; i < nr_springboards; i++) {
		if (springboards[i].is_written &&
				address - springboards[i].address < PROBE_JUMP_BYTES)
			return true;
	}
	return false;
}

/*
 * Also called in signal handlers; a springboard that is added or removed meanwhile may be missed.
 */
bool patch_springboard_at(size_t index, uint64_t *ret_address, uint64_t *ret_site)
{
	if (index >= nr_springboards)
		return false;
	*ret_address = springboards[index].address;
	*ret_site = springboards[index].site;
	return true;
}

/* ---- return to padding ---- */

static bool springboard_is_needed(const struct springboard *springboard)
{
	for (const struct patch *patch = *patch_location_list(springboard->site); patch;
			patch = patch->next) {
		if (patch->armed && patch->method == PROBE_SHORT &&
				patch->slot == springboard->address)
			return true;
	}
	return false;
}

static int springboard_compare_addresses(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* Finds the springboards that may become padding. Returns false if there is none. */
static bool springboard_choose_removable(void)
{
	nr_removable = 0;
	for (size_t i = 0; i < nr_springboards; i++) {
		struct springboard *springboard = &springboards[i];
		uint8_t site_bytes[SITE_BYTES];
		bool is_covered;

		springboard->is_removable = false;
		if (!springboard->is_written || springboard_is_needed(springboard))
			continue;
		/* Other code is there by now. */
		if (!springboard_has_jump(springboard, &is_covered))
			patch_springboard_forget(springboard->address);
		else
			springboard->is_removable = !is_covered &&
					springboard_read_code(springboard->site, site_bytes,
							sizeof(site_bytes)) &&
					!memcmp(site_bytes, springboard->site_bytes,
							sizeof(site_bytes));
		if (springboard->is_removable)
			removable[nr_removable++] = springboard->address;
	}
	qsort(removable, nr_removable, sizeof(*removable), springboard_compare_addresses);
	return nr_removable != 0;
}

/*
 * True for each byte of a springboard: a thread that has met a trap while the jump changed may be
 * after its first byte.
 */
static bool springboard_is_at_removable(uint64_t address)
{
	size_t low = 0, high = nr_removable;

	if (address < removable[0] || address >= removable[nr_removable - 1] + PROBE_JUMP_BYTES)
		return false;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (removable[middle] <= address)
			low = middle;
		else
			high = middle;
	}
	return address - removable[low] < PROBE_JUMP_BYTES;
}

static size_t springboard_count_left(void)
{
	size_t left = 0;

	for (size_t i = 0; i < nr_springboards; i++)
		left += springboards[i].is_written && !springboard_is_needed(&springboards[i]);
	/* Relaxed: for tools that read it from outside. */
	__atomic_store_n(&side_probe_pads, left, __ATOMIC_RELAXED);
	return left;
}

bool patch_springboards_remain(void)
{
	return springboard_count_left() != 0;
}

static void springboard_write_back(struct patch_writer *writer)
{
	for (size_t i = 0; i < nr_springboards; i++) {
		if (springboards[i].is_removable &&
				!patch_write(writer, springboards[i].address, springboards[i].bytes,
						PROBE_JUMP_BYTES))
			springboard_remove(&springboards[i]);
	}
}

size_t patch_springboards_return(struct patch_writer *writer)
{
	struct patch_writer own;

	/* A sandbox may not permit some of these system calls. */
	if (patch_is_guarded() || !springboard_choose_removable() ||
			!patch_all_quiesced(springboard_is_at_removable))
		return springboard_count_left();
	if (writer) {
		springboard_write_back(writer);
	} else {
		patch_writer_open(&own);
		springboard_write_back(&own);
		patch_writer_close(&own);
	}
	return springboard_count_left();
}

void patch_springboards_each(void (*visit)(uint64_t address))
{
	for (size_t i = 0; i < nr_springboards; i++) {
		if (springboards[i].address && springboards[i].copied)
			visit(springboards[i].address);
	}
}

void patch_springboards_settle(void)
{
	for (size_t i = 0; i < nr_springboards; i++)
		springboards[i].copied = springboards[i].is_written;
}
