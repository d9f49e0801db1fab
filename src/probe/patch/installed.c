/* SPDX-License-Identifier: MIT */
/*
 * The probes that are set, and those that were. The struct and the trampoline of a probe remain,
 * because threads may be in the trampoline, until its file is unmapped: then no thread can be in
 * it, because it could not return to the site.
 */
#include "parts.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define LISTS 8192
#define BESIDE 4ULL /* addresses that share a list */
#define PAGE 4096ULL

static struct patch **lists;

int patch_locations_start(void)
{
	lists = patch_memory_anywhere(LISTS * sizeof(*lists), PROT_READ | PROT_WRITE);
	return lists ? 0 : -ENOMEM;
}

void patch_locations_each(void (*visit)(struct patch *patch))
{
	for (size_t i = 0; lists && i < LISTS; i++) {
		for (struct patch *patch = lists[i]; patch; patch = patch->next)
			visit(patch);
	}
}

struct patch *patch_locations_find(bool (*is)(struct patch *patch, void *user), void *user)
{
	for (size_t i = 0; lists && i < LISTS; i++) {
		for (struct patch *patch = lists[i]; patch; patch = patch->next) {
			if (is(patch, user))
				return patch;
		}
	}
	return NULL;
}

void patch_locations_forget(void)
{
	if (lists)
		patch_memory_drop(lists, LISTS * sizeof(*lists));
}

struct patch **patch_location_list(uint64_t address)
{
	return &lists[address / BESIDE % LISTS];
}

unsigned int patch_bytes(const struct patch *patch)
{
	return patch->method == PROBE_BREAKPOINT ? 1 : patch->site.patched;
}

/*
 * Number of bytes that must not change, or are executed elsewhere; with a punned jump, the bytes
 * after it are part of its distance.
 */
static unsigned int patch_site_extent(const struct patch *patch)
{
	unsigned int patched =
			patch->method == PROBE_PUNNED ? PROBE_JUMP_BYTES : patch_bytes(patch);

	return patch->site.displaced > patched ? patch->site.displaced : patched;
}

bool patch_is_occupied(uint64_t from, unsigned int size)
{
	uint64_t first = from - PROBE_BYTES_MAX + 1;

	for (uint64_t at = first & ~(BESIDE - 1); at < from + size; at += BESIDE) {
		for (const struct patch *patch = *patch_location_list(at); patch;
				patch = patch->next) {
			uint64_t have = patch->site.runtime;

			if (patch->armed && have >= first && have < from + size &&
					have + patch_site_extent(patch) > from)
				return true;
		}
	}
	return false;
}

static bool patch_site_any_armed(bool breakpoint)
{
	for (size_t i = 0; lists && i < LISTS; i++) {
		for (const struct patch *patch = lists[i]; patch; patch = patch->next) {
			if (patch->armed && (!breakpoint || patch->method == PROBE_BREAKPOINT))
				return true;
		}
	}
	return false;
}

bool patch_any_breakpoint(void)
{
	return patch_site_any_armed(true);
}

bool patch_any_armed(void)
{
	return patch_site_any_armed(false);
}

/* Reads through the kernel, because the memory may be unmapped. */
static bool patch_site_read_bytes(const struct patch *patch, uint8_t bytes[PROBE_JUMP_BYTES])
{
	struct iovec local = {bytes, patch_bytes(patch)},
		     remote = {(void *)patch->site.runtime, patch_bytes(patch)};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)patch_bytes(patch);
}

/* True only if the page is not mapped, not if it is merely unreadable. */
static bool patch_site_is_unmapped(const struct patch *patch)
{
	unsigned char unused;

	return mincore((void *)(patch->site.runtime & ~(PAGE - 1)), PAGE, &unused) &&
			errno == ENOMEM;
}

bool patch_is_intact(struct patch *patch)
{
	uint8_t bytes[PROBE_JUMP_BYTES];
	bool there = patch_site_read_bytes(patch, bytes);

	patch->is_unmapped = !there && patch_site_is_unmapped(patch);
	return there && !memcmp(bytes, patch->bytes, patch_bytes(patch));
}

bool patch_leaves_traps(const struct patch *patch)
{
	uint8_t bytes[PROBE_JUMP_BYTES];

	if (patch->is_unmapped)
		return false;
	/* The memory may be unreadable now. */
	if (!patch_site_read_bytes(patch, bytes))
		return true;
	for (unsigned int i = 1; i < patch->site.nr_pieces; i++) {
		unsigned int at = patch->site.pieces[i].at;

		if (at < patch_bytes(patch) && bytes[at] == patch->bytes[at])
			return true;
	}
	return false;
}

static void patch_site_release(struct patch *patch)
{
	/* Another file may be mapped there by now, with a probe of its own. */
	if (!patch_is_occupied(patch->site.runtime, PROBE_JUMP_BYTES)) {
		patch_trap_remove(patch->site.runtime);
		for (unsigned int i = 1; i < patch->site.nr_pieces; i++)
			patch_trap_remove(patch->site.runtime + patch->site.pieces[i].at);
	}
	/* The springboard of a short jump has vanished with the file. */
	if (patch->method == PROBE_SHORT)
		patch_springboard_forget(patch->slot);
	else if (patch->slot)
		patch_slot_return(patch->slot);
	/* Relaxed: see patch_was_location(). */
	__atomic_store_n(&patch_trampoline_past(patch->trampoline)->packed, 0, __ATOMIC_RELAXED);
	patch_trampoline_return(patch->trampoline);
	memset(patch->hot, 0, sizeof(*patch->hot));
	memset(patch, 0, sizeof(*patch));
}

void patch_release_gone(struct patch *const *patches, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any |= patches[i]->is_unmapped;
	for (size_t i = 0; any && i < LISTS; i++) {
		struct patch **link = &lists[i];

		while (*link) {
			struct patch *patch = *link;

			/*
			 * Also for probes that were removed before: their location has not been
			 * checked since.
			 */
			if (patch->armed || !patch_site_is_unmapped(patch)) {
				link = &patch->next;
				continue;
			}
			*link = patch->next;
			patch_site_release(patch);
		}
	}
}
