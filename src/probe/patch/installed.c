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

void patch_locations_each(void (*visit)(struct patch *probe))
{
	for (size_t i = 0; lists && i < LISTS; i++) {
		for (struct patch *probe = lists[i]; probe; probe = probe->next)
			visit(probe);
	}
}

struct patch *patch_locations_find(bool (*is)(struct patch *probe, void *user), void *user)
{
	for (size_t i = 0; lists && i < LISTS; i++) {
		for (struct patch *probe = lists[i]; probe; probe = probe->next) {
			if (is(probe, user))
				return probe;
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

unsigned int patch_bytes(const struct patch *probe)
{
	return probe->method == PROBE_BREAKPOINT ? 1 : probe->site.patched;
}

/*
 * Number of bytes that must not change, or are executed elsewhere; with a punned jump, the bytes
 * after it are part of its distance.
 */
static unsigned int extent(const struct patch *probe)
{
	unsigned int patched =
			probe->method == PROBE_PUNNED ? PROBE_JUMP_BYTES : patch_bytes(probe);

	return probe->site.displaced > patched ? probe->site.displaced : patched;
}

bool patch_is_occupied(uint64_t from, unsigned int size)
{
	uint64_t first = from - PROBE_BYTES_MAX + 1;

	for (uint64_t at = first & ~(BESIDE - 1); at < from + size; at += BESIDE) {
		for (const struct patch *probe = *patch_location_list(at); probe;
				probe = probe->next) {
			uint64_t have = probe->site.runtime;

			if (probe->armed && have >= first && have < from + size &&
					have + extent(probe) > from)
				return true;
		}
	}
	return false;
}

static bool any_armed(bool breakpoint)
{
	for (size_t i = 0; lists && i < LISTS; i++) {
		for (const struct patch *probe = lists[i]; probe; probe = probe->next) {
			if (probe->armed && (!breakpoint || probe->method == PROBE_BREAKPOINT))
				return true;
		}
	}
	return false;
}

bool patch_any_breakpoint(void)
{
	return any_armed(true);
}

bool patch_any_armed(void)
{
	return any_armed(false);
}

/* Reads through the kernel, because the memory may be unmapped. */
static bool patch_site_read_bytes(const struct patch *probe, uint8_t bytes[PROBE_JUMP_BYTES])
{
	struct iovec local = {bytes, patch_bytes(probe)},
		     remote = {(void *)probe->site.runtime, patch_bytes(probe)};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)patch_bytes(probe);
}

/* True only if the page is not mapped, not if it is merely unreadable. */
static bool is_unmapped(const struct patch *probe)
{
	unsigned char unused;

	return mincore((void *)(probe->site.runtime & ~(PAGE - 1)), PAGE, &unused) &&
			errno == ENOMEM;
}

bool patch_stands(struct patch *probe)
{
	uint8_t bytes[PROBE_JUMP_BYTES];
	bool there = patch_site_read_bytes(probe, bytes);

	probe->gone = !there && is_unmapped(probe);
	return there && !memcmp(bytes, probe->bytes, patch_bytes(probe));
}

bool patch_leaves_traps(const struct patch *probe)
{
	uint8_t bytes[PROBE_JUMP_BYTES];

	if (probe->gone)
		return false;
	/* The memory may be unreadable now. */
	if (!patch_site_read_bytes(probe, bytes))
		return true;
	for (unsigned int i = 1; i < probe->site.nr_pieces; i++) {
		unsigned int at = probe->site.pieces[i].at;

		if (at < patch_bytes(probe) && bytes[at] == probe->bytes[at])
			return true;
	}
	return false;
}

static void patch_site_release(struct patch *probe)
{
	/* Another file may be mapped there by now, with a probe of its own. */
	if (!patch_is_occupied(probe->site.runtime, PROBE_JUMP_BYTES)) {
		patch_trap_remove(probe->site.runtime);
		for (unsigned int i = 1; i < probe->site.nr_pieces; i++)
			patch_trap_remove(probe->site.runtime + probe->site.pieces[i].at);
	}
	/* The springboard of a short jump has vanished with the file. */
	if (probe->method == PROBE_SHORT)
		patch_springboard_forget(probe->slot);
	else if (probe->slot)
		patch_slot_return(probe->slot);
	/* Relaxed: see patch_was_location(). */
	__atomic_store_n(&patch_trampoline_past(probe->trampoline)->what, 0, __ATOMIC_RELAXED);
	patch_trampoline_return(probe->trampoline);
	memset(probe->hot, 0, sizeof(*probe->hot));
	memset(probe, 0, sizeof(*probe));
}

void patch_release_gone(struct patch *const *probes, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any |= probes[i]->gone;
	for (size_t i = 0; any && i < LISTS; i++) {
		struct patch **link = &lists[i];

		while (*link) {
			struct patch *probe = *link;

			/*
			 * Also for probes that were removed before: their location has not been
			 * checked since.
			 */
			if (probe->armed || !is_unmapped(probe)) {
				link = &probe->next;
				continue;
			}
			*link = probe->next;
			patch_site_release(probe);
		}
	}
}
