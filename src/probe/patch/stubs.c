/* SPDX-License-Identifier: MIT */
/*
 * Redirects calls and jumps through an imported address, where the address itself must not change.
 *
 * If code takes the address of a function and also calls it, linkers make one import for both. The
 * call is a jump in a stub (.plt.got): jmp *distance(%rip). Its distance is replaced, so that it
 * reads a word near the code. All four bytes change by one store; a thread executes the old or the
 * new instruction, which have the same length.
 *
 * A word is never used for anything else, because a thread may be about to read it. The bytes are
 * restored only if they are still those that were written: a probe may have replaced them.
 */
#include "probe/patch/stubs.h"
#include "parts.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define STUBS_MAX 1024
#define STUBS_PAGES_MAX 64
#define STUBS_PAGE 4096u
#define STUBS_REACH 0x7fff0000LL
#define DISTANCE_BYTES 4

struct stub {
	uintptr_t at, slot;
	void **word;
};

static struct stub stubs[STUBS_MAX];
static size_t nr_stubs;

static struct stubs_page {
	void **words;
	size_t used;
} pages[STUBS_PAGES_MAX];
static size_t nr_pages;

static struct patch_writer writer;

static int32_t patch_stub_distance(uintptr_t at, uintptr_t to)
{
	return (int32_t)(uint32_t)(to - (at + DISTANCE_BYTES));
}

static bool patch_stub_reaches(uintptr_t at, uintptr_t to)
{
	const int64_t away = (int64_t)(to - at);

	return away > -STUBS_REACH && away < STUBS_REACH;
}

static void **patch_stub_new_page(uintptr_t at)
{
	void *memory;

	if (nr_pages == STUBS_PAGES_MAX)
		return NULL;
	memory = patch_memory_reserve(at, STUBS_PAGE);
	if (!memory || mprotect(memory, STUBS_PAGE, PROT_READ | PROT_WRITE))
		return NULL;
	patch_memory_accessible(STUBS_PAGE);
	pages[nr_pages++] = (struct stubs_page){.words = memory, .used = 1};
	return memory;
}

static void **patch_stub_new_word(uintptr_t at)
{
	for (size_t i = 0; i < nr_pages; i++)
		if (pages[i].used < STUBS_PAGE / sizeof(void *) &&
				patch_stub_reaches(at, (uintptr_t)pages[i].words))
			return &pages[i].words[pages[i].used++];
	return patch_stub_new_page(at);
}

static struct stub *patch_stub_of(uintptr_t at, uintptr_t slot)
{
	struct stub *stub = NULL;

	for (size_t i = 0; i < nr_stubs; i++)
		if (stubs[i].at == at && stubs[i].slot == slot)
			return &stubs[i];
	if (nr_stubs < STUBS_MAX) {
		stub = &stubs[nr_stubs];
		*stub = (struct stub){.at = at, .slot = slot, .word = patch_stub_new_word(at)};
		nr_stubs += stub->word != NULL;
	}
	return stub && stub->word ? stub : NULL;
}

static bool patch_stub_leads_to(uintptr_t at, uintptr_t to)
{
	const int32_t distance = patch_stub_distance(at, to);

	return !memcmp((const void *)at, &distance, sizeof(distance));
}

static int patch_stub_write(uintptr_t at, uintptr_t to)
{
	const int32_t distance = patch_stub_distance(at, to);

	return patch_exchange(&writer, at, &distance, sizeof(distance));
}

int patch_stub_redirect(uintptr_t at, uintptr_t slot, void *to)
{
	struct stub *stub;

	if (at / 16 != (at + DISTANCE_BYTES - 1) / 16)
		return -EXDEV;
	if (!patch_stub_leads_to(at, slot))
		return -EPERM;
	stub = patch_stub_of(at, slot);
	if (!stub)
		return -ENOSPC;
	/* Relaxed: the store to the code, which is a barrier, comes after it. */
	__atomic_store_n(stub->word, to, __ATOMIC_RELAXED);
	return patch_stub_write(at, (uintptr_t)stub->word);
}

void patch_stubs_restore(uintptr_t begin, uintptr_t end, const void *from)
{
	for (size_t i = 0; i < nr_stubs; i++) {
		const struct stub *stub = &stubs[i];

		if (stub->at < begin || stub->at + DISTANCE_BYTES > end)
			continue;
		/* Relaxed: only compared; written with the same lock. */
		if (__atomic_load_n(stub->word, __ATOMIC_RELAXED) == from &&
				patch_stub_leads_to(stub->at, (uintptr_t)stub->word))
			(void)patch_stub_write(stub->at, stub->slot);
	}
}

void patch_stubs_begin(void)
{
	patch_lock_code();
	patch_memory_scan();
	patch_writer_open(&writer);
}

void patch_stubs_end(void)
{
	patch_writer_close(&writer);
	patch_unlock_code();
}
