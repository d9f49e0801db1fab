/* SPDX-License-Identifier: MIT */
/*
 * Arenas: memory near code, in gaps of the address space, and data that belongs to it: a struct
 * patch for each trampoline, and what is kept of it while no probe is set. All of it is mapped, and
 * none is on the program's heap, so that it can be released.
 */
#include "arena.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENAS_MAX 1024
#define NEAR 0x40000000LL /* leaves space for what the code refers to */
/*
 * If nothing nearer is free: kernels map the heap of a program with fixed addresses up to 1 GiB
 * after it.
 */
#define FAR 0x70000000LL
#define REUSE_TRIES 64
#define OWNED_MAX (ARENAS_MAX + 64)
#define SCAN_PAGES 256
#define COUNTED_MAX 8

#define WHOLE_PAGES(bytes) (((bytes) + PATCH_PAGE - 1) & ~(PATCH_PAGE - 1))
#define HOT_BYTES PATCH_ARENA_BYTES

struct patch_arena patch_arenas[ARENAS_MAX];
size_t patch_nr_arenas;
static uint64_t *returned; /* trampolines */
static size_t nr_returned, returned_capacity;
static uint64_t address_space; /* changed atomically: hits add to it */
static uint64_t kept_code;     /* while no probe is set */

/* All that was mapped, except arenas. */
static struct {
	void *at;
	size_t size;
} owned[OWNED_MAX];
static size_t nr_owned;

/* Memory of other parts of the tracer, which exists until the process ends. */
static struct {
	uintptr_t at;
	size_t size;
} counted[COUNTED_MAX];
static size_t nr_counted;

uint64_t side_probe_kept;

static void *patch_memory_map_at(uint64_t address, size_t size, int protection, int flags)
{
	void *memory = mmap((void *)address, size, protection,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (address && (uint64_t)memory != address) {
		/* An old kernel takes the address as a hint. */
		munmap(memory, size);
		return NULL;
	}
	if (nr_owned < OWNED_MAX) {
		owned[nr_owned].at = memory;
		owned[nr_owned++].size = size;
	}
	if (protection != PROT_NONE)
		patch_memory_accessible(size);
	return memory;
}

void patch_memory_accessible(size_t size)
{
	/* Relaxed: a statistics counter. */
	__atomic_fetch_add(&address_space, size, __ATOMIC_RELAXED);
}

/* Undoes the latest patch_memory_map_at(). */
static void patch_memory_unmap_latest(void *memory, size_t size)
{
	munmap(memory, size);
	if (nr_owned && owned[nr_owned - 1].at == memory)
		nr_owned--;
	/* Relaxed: a statistics counter. */
	__atomic_fetch_sub(&address_space, size, __ATOMIC_RELAXED);
}

void *patch_memory_anywhere(size_t size, int protection)
{
	return patch_memory_map_at(0, size, protection, 0);
}

void *patch_memory_low(size_t size, int protection)
{
	return patch_memory_map_at(0, size, protection, MAP_32BIT);
}

void *patch_memory_reserve(uint64_t address, size_t size)
{
	struct patch_gap gap;
	void *memory = NULL;

	for (size_t i = 0; !memory && patch_gap(i, &gap); i++) {
		uint64_t low = address > FAR ? address - FAR : 0;
		uint64_t start = (gap.start > low ? gap.start : low) + PATCH_PAGE - 1;

		start &= ~(PATCH_PAGE - 1);
		if (start + size > gap.end || !patch_reaches(address, start + size, FAR))
			continue;
		memory = patch_memory_map_at(start, size, PROT_NONE, MAP_FIXED_NOREPLACE);
		/* Used now, or mapped by the program since the gaps were read. */
		patch_gaps_cut(start, start + size);
	}
	return memory;
}

/* Number of bytes of these pages that are resident. */
static uint64_t patch_memory_resident(uintptr_t at, size_t size)
{
	unsigned char there[SCAN_PAGES];
	uint64_t bytes = 0;

	for (size_t done = 0; done < size; done += SCAN_PAGES * PATCH_PAGE) {
		size_t some = size - done < SCAN_PAGES * PATCH_PAGE ? size - done
								    : SCAN_PAGES * PATCH_PAGE;

		if (mincore((void *)(at + done), some, there))
			break;
		for (size_t i = 0; i < (some + PATCH_PAGE - 1) / PATCH_PAGE; i++)
			bytes += there[i] & 1 ? PATCH_PAGE : 0;
	}
	return bytes;
}

void patch_memory_drop(void *memory, size_t size)
{
	uintptr_t begin = ((uintptr_t)memory + PATCH_PAGE - 1) & ~(uintptr_t)(PATCH_PAGE - 1);
	uintptr_t end = ((uintptr_t)memory + size) & ~(uintptr_t)(PATCH_PAGE - 1);

	/* If the program has locked the memory, it remains resident and is cleared. */
	if (begin < end && madvise((void *)begin, end - begin, MADV_DONTNEED))
		memset((void *)begin, 0, end - begin);
}

static size_t patch_memory_nr_trampolines(const struct patch_arena *arena)
{
	return arena->kind.bytes ? PATCH_ARENA_BYTES / arena->kind.bytes : 0;
}

static size_t patch_memory_past_bytes(const struct patch_arena *arena)
{
	return WHOLE_PAGES(patch_memory_nr_trampolines(arena) * sizeof(struct patch_past));
}

static size_t patch_memory_patches_bytes(const struct patch_arena *arena)
{
	return WHOLE_PAGES(patch_memory_nr_trampolines(arena) * sizeof(struct patch));
}

static size_t patch_memory_data_bytes(const struct patch_arena *arena)
{
	return patch_memory_past_bytes(arena) + HOT_BYTES + patch_memory_patches_bytes(arena);
}

/* Maps the data of an arena; arrays are indexed like its trampolines. */
static bool patch_memory_map_data(struct patch_arena *arena)
{
	uint8_t *data;

	if (!arena->kind.bytes) {
		arena->taken = patch_memory_anywhere(
				patch_taken_bytes(arena), PROT_READ | PROT_WRITE);
		return arena->taken != NULL;
	}
	data = patch_memory_anywhere(patch_memory_data_bytes(arena), PROT_READ | PROT_WRITE);
	if (!data)
		return false;
	arena->past = (struct patch_past *)(void *)data;
	arena->hot = (struct patch_hot *)(void *)(data + patch_memory_past_bytes(arena));
	arena->patches =
			(struct patch *)(void *)(data + patch_memory_past_bytes(arena) + HOT_BYTES);
	return true;
}

static bool patch_memory_write_heads(struct patch_arena *arena)
{
	uint8_t heads[HEADS_BYTES];
	struct patch_writer writer;
	int ret;

	if (!arena->kind.bytes)
		return true;
	patch_heads_write(heads, arena->kind.follows, arena->hot);
	arena->used = HEADS_BYTES;
	patch_writer_open(&writer);
	ret = patch_write(&writer, arena->start, heads, sizeof(heads));
	patch_writer_close(&writer);
	return !ret;
}

struct patch_arena *patch_arena_map(uint64_t start, uint64_t size, struct patch_kind kind)
{
	struct patch_arena *arena = &patch_arenas[patch_nr_arenas];
	void *memory;

	if (patch_nr_arenas == ARENAS_MAX)
		return NULL;
	/* Used now, or mapped by the program since the gaps were read. */
	patch_gaps_cut(start, start + size);
	memory = mmap((void *)start, size, PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	if ((uint64_t)memory != start) {
		/* An old kernel takes the address as a hint. */
		munmap(memory, size);
		return NULL;
	}
	*arena = (struct patch_arena){.start = start, .size = size, .kind = kind};
	if (!patch_memory_map_data(arena)) {
		munmap(memory, size);
		return NULL;
	}
	if (!patch_memory_write_heads(arena)) {
		patch_memory_unmap_latest(arena->past, patch_memory_data_bytes(arena));
		munmap(memory, size);
		return NULL;
	}
	if (kind.bytes)
		patch_frames_add(start, size, kind, arena->patches, arena->hot);
	else
		patch_frames_add_slots(start, size);
	patch_memory_accessible(size);
	/* Release: all of it. Pairs with the acquire in patch_was_location(). */
	__atomic_store_n(&patch_nr_arenas, patch_nr_arenas + 1, __ATOMIC_RELEASE);
	return arena;
}

uint64_t patch_memory_bytes(void)
{
	/* Relaxed: a statistics counter. */
	return __atomic_load_n(&address_space, __ATOMIC_RELAXED);
}

/* ---- trampolines ---- */

static struct patch_arena *patch_memory_new_trampolines(
		uint64_t near, int64_t reach, struct patch_kind kind)
{
	struct patch_arena *arena = NULL;
	struct patch_gap gap;

	/* Gaps below the address first, from the nearest on; then those above. */
	for (size_t i = patch_gaps(); !arena && i-- > 0 && patch_gap(i, &gap);) {
		uint64_t start = (gap.end - PATCH_ARENA_BYTES) & ~(PATCH_ARENA_BYTES - 1);

		if (gap.end <= near && start >= gap.start && patch_reaches(near, start, reach))
			arena = patch_arena_map(start, PATCH_ARENA_BYTES, kind);
	}
	for (size_t i = 0; !arena && patch_gap(i, &gap); i++) {
		uint64_t start = (gap.start + PATCH_ARENA_BYTES - 1) & ~(PATCH_ARENA_BYTES - 1);

		if (gap.start > near && start + PATCH_ARENA_BYTES <= gap.end &&
				patch_reaches(near, start, reach))
			arena = patch_arena_map(start, PATCH_ARENA_BYTES, kind);
	}
	return arena;
}

static bool patch_memory_is_same_kind(struct patch_kind a, struct patch_kind b)
{
	return a.bytes == b.bytes && a.follows == b.follows;
}

static struct patch_arena *patch_memory_find_trampolines(
		uint64_t near, int64_t reach, struct patch_kind kind)
{
	for (size_t i = 0; i < patch_nr_arenas; i++) {
		struct patch_arena *arena = &patch_arenas[i];

		if (patch_memory_is_same_kind(arena->kind, kind) &&
				arena->used + kind.bytes <= arena->size &&
				patch_reaches(near, arena->start, reach))
			return arena;
	}
	return patch_memory_new_trampolines(near, reach, kind);
}

/* Uses a returned trampoline again, if one of the latest is in reach. */
static uint64_t patch_memory_reuse_trampoline(uint64_t near, struct patch_kind kind)
{
	for (size_t i = nr_returned; i > 0 && i + REUSE_TRIES > nr_returned; i--) {
		uint64_t trampoline = returned[i - 1];

		if (patch_reaches(near, trampoline, NEAR) &&
				patch_memory_is_same_kind(
						patch_trampoline_kind(trampoline), kind)) {
			returned[i - 1] = returned[--nr_returned];
			return trampoline;
		}
	}
	return 0;
}

uint64_t patch_trampoline_memory(uint64_t near, struct patch_kind kind)
{
	uint64_t trampoline = patch_memory_reuse_trampoline(near, kind);
	struct patch_arena *found =
			trampoline ? NULL : patch_memory_find_trampolines(near, NEAR, kind);

	if (trampoline)
		return trampoline;
	if (!found)
		found = patch_memory_find_trampolines(near, FAR, kind);
	if (!found)
		return 0;
	found->used += kind.bytes;
	return found->start + found->used - kind.bytes;
}

/* The arena of a trampoline that was allocated. */
static struct patch_arena *patch_memory_arena_of(uint64_t trampoline)
{
	size_t i = 0;

	while (!patch_arenas[i].kind.bytes ||
			trampoline - patch_arenas[i].start >= patch_arenas[i].size)
		i++;
	return &patch_arenas[i];
}

struct patch_kind patch_trampoline_kind(uint64_t trampoline)
{
	return patch_memory_arena_of(trampoline)->kind;
}

struct patch *patch_trampoline_patch(uint64_t trampoline)
{
	struct patch_arena *arena = patch_memory_arena_of(trampoline);
	struct patch *patch = &arena->patches[(trampoline - arena->start) / arena->kind.bytes];

	patch->hot = &arena->hot[(trampoline - arena->start) / TRAMPOLINE_BYTES];
	return patch;
}

struct patch_past *patch_trampoline_past(uint64_t trampoline)
{
	struct patch_arena *arena = patch_memory_arena_of(trampoline);

	return &arena->past[(trampoline - arena->start) / arena->kind.bytes];
}

void patch_trampoline_return(uint64_t trampoline)
{
	struct patch_arena *arena = patch_memory_arena_of(trampoline);
	uint64_t *more;

	if (trampoline == arena->start + arena->used - arena->kind.bytes) {
		arena->used -= arena->kind.bytes;
		return;
	}
	if (nr_returned == returned_capacity) {
		more = reallocarray(returned, returned_capacity ? returned_capacity * 2 : 64,
				sizeof(*more));
		if (!more)
			return;
		returned = more;
		returned_capacity = returned_capacity ? returned_capacity * 2 : 64;
	}
	returned[nr_returned++] = trampoline;
}

/* ---- while no probe is set ---- */

/* Of the library that contains this code. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static uint64_t patch_memory_own_variables(void)
{
	uintptr_t start = (uintptr_t)&__ehdr_start;
	const ElfW(Phdr) *parts = (const ElfW(Phdr) *)(const void *)(start + __ehdr_start.e_phoff);
	/*
	 * Addresses in the headers are relative to the file in a library, and absolute in a program
	 * with fixed addresses.
	 */
	uintptr_t bias = __ehdr_start.e_type == ET_DYN ? start : 0;
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < __ehdr_start.e_phnum; i++) {
		uintptr_t from = bias + parts[i].p_vaddr,
			  page = from & ~(uintptr_t)(PATCH_PAGE - 1);

		if (parts[i].p_type == PT_LOAD && (parts[i].p_flags & PF_W))
			bytes += patch_memory_resident(page, from + parts[i].p_memsz - page);
	}
	return bytes;
}

void patch_memory_count(const void *at, size_t size)
{
	uintptr_t begin = (uintptr_t)at & ~(uintptr_t)(PATCH_PAGE - 1);
	/* Relaxed: it only takes an entry. */
	size_t i = __atomic_fetch_add(&nr_counted, 1, __ATOMIC_RELAXED);

	if (i >= COUNTED_MAX)
		return;
	counted[i].at = begin;
	/*
	 * Release: the address before the size, which makes the entry valid. Pairs with the acquire
	 * in patch_memory_counted_bytes().
	 */
	__atomic_store_n(&counted[i].size, (uintptr_t)at + size - begin, __ATOMIC_RELEASE);
}

static uint64_t patch_memory_counted_bytes(void)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < COUNTED_MAX; i++) {
		/* Acquire: the address. Pairs with the release in patch_memory_count(). */
		size_t size = __atomic_load_n(&counted[i].size, __ATOMIC_ACQUIRE);

		bytes += size ? patch_memory_resident(counted[i].at, size) : 0;
	}
	return bytes;
}

/* Computes side_probe_kept. */
static void patch_memory_report_retained(void)
{
	uint64_t bytes = kept_code + patch_memory_own_variables() + patch_memory_counted_bytes();

	for (size_t i = 0; i < patch_nr_arenas; i++)
		bytes += patch_memory_resident(patch_arenas[i].start, patch_arenas[i].size);
	for (size_t i = 0; i < nr_owned; i++)
		bytes += patch_memory_resident((uintptr_t)owned[i].at, owned[i].size);
	/* Relaxed: a statistics counter, for tools that read it from outside. */
	__atomic_store_n(&side_probe_kept, bytes, __ATOMIC_RELAXED);
}

void patch_memory_quiesce(uint64_t kept)
{
	for (size_t i = 0; i < patch_nr_arenas; i++) {
		if (!patch_arenas[i].taken)
			patch_memory_drop(patch_arenas[i].hot,
					HOT_BYTES + patch_memory_patches_bytes(&patch_arenas[i]));
		else
			patch_memory_drop(
					patch_arenas[i].taken, patch_taken_bytes(&patch_arenas[i]));
		patch_arenas[i].full = 0;
	}
	patch_gaps_forget();
	kept_code = kept;
	patch_memory_report_retained();
}

void patch_memory_returned(uint64_t code)
{
	kept_code -= code < kept_code ? code : kept_code;
	patch_memory_report_retained();
}

void patch_memory_recall(void (*visit)(struct patch_past *past, uint64_t trampoline))
{
	for (size_t i = 0; i < patch_nr_arenas; i++) {
		const struct patch_arena *arena = &patch_arenas[i];

		for (size_t k = 0; k < patch_memory_nr_trampolines(arena); k++) {
			if (arena->past[k].packed)
				visit(&arena->past[k], arena->start + k * arena->kind.bytes);
		}
	}
	/* Relaxed: as above. */
	__atomic_store_n(&side_probe_kept, 0, __ATOMIC_RELAXED);
}

bool patch_is_trampoline(uint64_t address)
{
	for (size_t i = 0; i < patch_nr_arenas; i++) {
		if (patch_arenas[i].kind.bytes &&
				address - patch_arenas[i].start < patch_arenas[i].size)
			return true;
	}
	return false;
}

bool patch_is_memory(uint64_t address)
{
	for (size_t i = 0; i < nr_owned; i++) {
		if (address - (uintptr_t)owned[i].at < owned[i].size)
			return true;
	}
	return false;
}

bool patch_was_location(uint64_t address)
{
	/* Acquire: pairs with the release in patch_arena_map(). */
	size_t count = __atomic_load_n(&patch_nr_arenas, __ATOMIC_ACQUIRE);

	for (size_t i = 0; i < count; i++) {
		for (size_t at = 0; at < patch_memory_nr_trampolines(&patch_arenas[i]); at++) {
			/*
			 * Relaxed: patch_quiesce() stores them before any trap is removed from the
			 * table.
			 */
			uint64_t packed = __atomic_load_n(
					&patch_arenas[i].past[at].packed, __ATOMIC_RELAXED);
			uint64_t site = packed & ((UINT64_C(1) << PATCH_PAST_BITS) - 1);

			if (site &&
					(address - site < PROBE_JUMP_BYTES ||
							address ==
									__atomic_load_n(&patch_arenas[i].past[at]
													 .slot,
											__ATOMIC_RELAXED)))
				return true;
		}
	}
	return false;
}

int patch_start(bool plain)
{
	static bool started;
	int ret;

	patch_writer_plain = plain;
	if (started)
		return 0;
	patch_unwinders_start();
	ret = patch_hit_start();
	if (!ret)
		ret = patch_locations_start();
	if (!ret)
		ret = -pthread_atfork(
				patch_unwinders_fork, patch_unwinders_fork_done, patch_forked);
	if (!ret)
		ret = patch_trap_start();
	started = !ret;
	return ret;
}
