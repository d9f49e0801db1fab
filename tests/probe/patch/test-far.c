/* SPDX-License-Identifier: MIT */
/*
 * A site whose jump has a fixed distance uses a slot, which may be almost 2 GiB away. When it is
 * set again with other registers, it gets another trampoline, here on the other side of the site
 * and too far from that slot. All addresses around the site are mapped, except those where slots
 * and trampolines shall be.
 */
#include "probe/patch/patch.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HANDLER __attribute__((target("general-regs-only")))

#define PLACE 0x600000000000ULL
#define AROUND 0xc0000000ULL
#define CODE_BYTES 65536ULL
#define SLOTS_BELOW 0x7d000000ULL
#define TRAMPOLINES_BELOW 0x30000000ULL
#define TRAMPOLINES_ABOVE 0x30000000ULL
#define WINDOW 262144ULL
#define ARENA 65536ULL
#define FILLERS 1007 /* with the first one: the capacity of an arena */
#define FILLER_BYTES 16

/* xor %eax,%eax; add $7,%eax; ret: a thread may be between the two. */
static const uint8_t probed_code[] = {0x31, 0xc0, 0x83, 0xc0, 0x07, 0xc3};
/* mov $1,%eax; ret */
static const uint8_t filler_code[] = {0xb8, 1, 0, 0, 0, 0xc3};

static unsigned int hits;

static HANDLER void on_hit(const struct patch_hit *hit)
{
	(*(unsigned int *)hit->user)++;
}

static struct probe_site site_of(uint64_t at, const uint8_t *code, unsigned int first)
{
	struct probe_site site = {.address = at,
			.runtime = at,
			.method = PROBE_JUMP,
			.displaced = 5,
			.patched = 5};

	site.nr_pieces = first < 5 ? 2 : 1;
	site.pieces[0].length = (uint8_t)first;
	site.pieces[1].at = (uint8_t)first;
	site.pieces[1].length = (uint8_t)(5 - first);
	site.nr_bytes = 5;
	memcpy(site.bytes, code, 5);
	return site;
}

static int fail(const char *what)
{
	printf("%s\n", what);
	return 1;
}

static bool take(uint64_t from, uint64_t to, int protection)
{
	void *taken = mmap((void *)from, to - from, protection,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	return (uint64_t)(uintptr_t)taken == from;
}

static bool make_code(void)
{
	uint8_t *code = (uint8_t *)PLACE;

	if (!take(PLACE, PLACE + CODE_BYTES, PROT_READ | PROT_WRITE))
		return false;
	memcpy(code, probed_code, sizeof(probed_code));
	for (unsigned int i = 1; i <= FILLERS; i++)
		memcpy(code + (size_t)i * FILLER_BYTES, filler_code, sizeof(filler_code));
	return !mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC);
}

/* Sets the probe, calls the site, and removes the probe. */
static int try_site(unsigned int flags, unsigned int wanted)
{
	struct probe_site site = site_of(PLACE, probed_code, 2);
	struct patch_setup setup = {.site = &site, .entry = on_hit, .user = &hits, .flags = flags};
	int (*location)(void);

	*(void **)&location = (void *)PLACE;
	if (patch_set(&setup, 1) || setup.method != PROBE_JUMP)
		return fail("there is no jump at the site");
	if (location() != 7 || hits != wanted)
		return fail("the site has changed");
	if (patch_remove(&setup.patch, 1))
		return fail("the probe cannot be removed");
	return location() != 7 || hits != wanted || memcmp((void *)PLACE, probed_code, 5) != 0
			? fail("the site was not restored")
			: 0;
}

static int fill(void)
{
	for (unsigned int i = 1; i <= FILLERS; i++) {
		struct probe_site site =
				site_of(PLACE + (uint64_t)i * FILLER_BYTES, filler_code, 5);
		struct patch_setup setup = {.site = &site, .entry = on_hit, .user = &hits};

		if (patch_set(&setup, 1))
			return fail("the memory for codes is not filled");
	}
	return 0;
}

int main(void)
{
	struct patch_stats before, after;

	if (patch_start(false)) {
		printf("this kernel has no barrier for code: nothing can be tested\n");
		return 77;
	}
	if (!make_code() || !take(PLACE - AROUND, PLACE, PROT_NONE) ||
			!take(PLACE + CODE_BYTES, PLACE + AROUND, PROT_NONE)) {
		printf("other things lie there: nothing can be tested\n");
		return 77;
	}
	munmap((void *)(PLACE - SLOTS_BELOW), WINDOW);
	munmap((void *)(PLACE - TRAMPOLINES_BELOW), ARENA);
	if (try_site(0, 1) || fill())
		return 1;
	munmap((void *)(PLACE + TRAMPOLINES_ABOVE), WINDOW);
	patch_stats(&before);
	if (try_site(PATCH_ALL, 2))
		return 1;
	patch_stats(&after);
	/* Otherwise nothing was far. */
	if (after.bytes == before.bytes)
		return fail("the second trampoline found space near the first one");
	return try_site(0, 3) || try_site(PATCH_ALL, 4);
}
