/* SPDX-License-Identifier: MIT */
/*
 * Restores the program's bytes in copies of probed code. A program that copies its own code to
 * other memory copies the jumps and breakpoints of probes too. There a jump leads to unmapped
 * memory, and a breakpoint has no entry in the table of traps.
 *
 *	jump         the thread faults at the target. For each probe, the target determines where
 *	             such a jump would be; the bytes there are compared
 *	breakpoint   the thread traps at an address without a probe: the bytes after it are those
 *	             of a probed location
 *	removal      search copies in executable memory of no file, because later there is no
 *	             handler
 *
 * In each case the copy gets the program's own bytes, and the thread executes them: copies have no
 * probes. Any other fault or trap belongs to the program.
 *
 * Called in signal handlers: takes no lock of other files, and allocates nothing.
 */
#include "arena.h"
#include "base/inside/search.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

/*
 * Wrappers recognize a call of a tracer by its return address, so the last call of a function must
 * not become a jump.
 */
#define NO_TAIL_CALL() __asm__ volatile("")

#define JUMP 0xe9
#define SHORT_JUMP 0xeb
#define TRAP_BYTE 0xcc
#define INVALID 0x06     /* instead of a breakpoint, at sites that the kernel watches */
#define CONTEXT_BYTES 16 /* bytes of a breakpoint's copy that must match */
#define DISTINCT_BYTES 6 /* of these, bytes that are no padding */
#define WALKS 2          /* another thread may change the lists meanwhile */
#define SCORE_BYTES 64
#define HEALED_KEPT 256
#define SPINS 100000
#define CHUNK 65536u

static int is_healing;   /* 1 while a thread changes a copy, */
static uint64_t healing; /* and the address of that copy */

/* The last copies that were healed: threads that executed the former bytes may arrive late. */
static uint64_t healed[HEALED_KEPT];
static unsigned int nr_healed;

static bool patch_copied_read_memory(uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	return patch_system_call(SYS_process_vm_readv,
			       patch_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0), (long)&local, 1,
			       (long)&remote, 1, 0) == (long)size;
}

static void patch_copied_sync_cores(void)
{
	patch_system_call(
			SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0, 0, 0);
}

/* ---- the program's bytes ---- */

/*
 * One thread at a time: a page is writable only while a thread writes to it. A handler that
 * interrupts this thread waits in vain and then continues, because the interrupted thread cannot
 * continue meanwhile.
 */
static void patch_copied_begin_healing(uint64_t copy)
{
	int expected = 0;

	/*
	 * Acquire: what the last thread has written. Pairs with the release in
	 * patch_copied_end_healing().
	 */
	for (unsigned int i = 0; i < SPINS &&
			!__atomic_compare_exchange_n(&is_healing, &expected, 1, false,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
			i++) {
		expected = 0;
		patch_system_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	/* Release: before the trap. Pairs with the acquire in patch_copied_is_healed(). */
	__atomic_store_n(&healing, copy, __ATOMIC_RELEASE);
}

static void patch_copied_end_healing(uint64_t copy)
{
	/*
	 * Release, all 3: the bytes. Pairs with the acquires in patch_copied_is_healed() and
	 * patch_copied_begin_healing().
	 */
	__atomic_store_n(&healed[nr_healed++ % HEALED_KEPT], copy, __ATOMIC_RELEASE);
	__atomic_store_n(&healing, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&is_healing, 0, __ATOMIC_RELEASE);
}

static bool patch_copied_is_healed(uint64_t at)
{
	/*
	 * Acquire, both: the bytes. Pairs with the releases in patch_copied_begin_healing() and
	 * patch_copied_end_healing().
	 */
	bool found = __atomic_load_n(&healing, __ATOMIC_ACQUIRE) == at;

	for (unsigned int i = 0; i < HEALED_KEPT && !found; i++)
		found = __atomic_load_n(&healed[i], __ATOMIC_ACQUIRE) == at;
	return at && found;
}

/*
 * Reads the bytes of a possible copy. *ret_healed: another thread has healed it, or does so now, so
 * its bytes may be neither those of a probe nor the program's. The thread returns to the copy,
 * where it finds the program's bytes, or a trap. Returns false if the bytes cannot be read.
 */
static bool patch_copied_read_copy(uint64_t copy, uint8_t *there, size_t size, const uint8_t *own,
		unsigned int nr_own, bool *ret_healed)
{
	bool before = patch_copied_is_healed(copy), after;

	if (!patch_copied_read_memory(copy, there, size))
		return false;
	after = patch_copied_is_healed(copy);
	/*
	 * Acquire: the bytes. Pairs with the release in patch_copied_begin_healing(). An entry that
	 * was there before may be of earlier bytes.
	 */
	*ret_healed = after &&
			(!before || !memcmp(there, own, nr_own) ||
					__atomic_load_n(&healing, __ATOMIC_ACQUIRE) == copy);
	return true;
}

/* Writes the bytes in steps. Other threads that execute the copy meanwhile trap, and try again. */
static int patch_copied_heal_in_steps(
		struct patch_writer *writer, uint64_t copy, const uint8_t *bytes, unsigned int size)
{
	const uint8_t trap = TRAP_BYTE;
	int ret = patch_write(writer, copy, &trap, 1);

	if (!ret && size > 1) {
		patch_copied_sync_cores();
		ret = patch_write(writer, copy + 1, bytes + 1, size - 1);
		patch_copied_sync_cores();
	}
	if (!ret)
		ret = patch_write(writer, copy, bytes, 1);
	patch_copied_sync_cores();
	return ret;
}

/*
 * Restores the bytes if they are still those of `former`. Returns true if they are restored, by
 * this thread or another one.
 */
static bool patch_copied_heal(
		uint64_t copy, const uint8_t *former, const uint8_t *bytes, unsigned int size)
{
	uint8_t there[PROBE_JUMP_BYTES];
	struct patch_writer writer;
	bool done = true;

	patch_copied_begin_healing(copy);
	if (patch_copied_read_memory(copy, there, size) && !memcmp(there, former, size)) {
		patch_writer_open(&writer);
		done = !patch_exchange(&writer, copy, bytes, size) ||
				!patch_copied_heal_in_steps(&writer, copy, bytes, size);
		patch_writer_close(&writer);
	}
	patch_copied_end_healing(copy);
	return done;
}

/* ---- likeness ---- */

/*
 * A site and the bytes after it: as they are now, with the program's bytes, and with the bytes of
 * probes. Each byte of a copy may be any of these.
 */
struct code_of_site {
	unsigned int size;
	uint8_t now[SCORE_BYTES], own[SCORE_BYTES], probed[SCORE_BYTES];
};

static void patch_copied_strip_probe(
		struct code_of_site *code, uint64_t at, const struct patch *patch)
{
	int64_t away = (int64_t)(patch->site.runtime - at);

	for (unsigned int i = 0; i < patch_bytes(patch); i++) {
		int64_t index = away + i;

		if (index < 0 || index >= code->size)
			continue;
		code->own[index] = patch->site.bytes[i];
		code->probed[index] = patch->bytes[i];
	}
}

static void patch_copied_read_site(uint64_t at, unsigned int size, struct code_of_site *code)
{
	code->size = size;
	/* Fewer at the end of the mapping. */
	while (code->size && !patch_copied_read_memory(at, code->now, code->size))
		code->size /= 2;
	memcpy(code->own, code->now, code->size);
	memcpy(code->probed, code->now, code->size);
	for (uint64_t near = at - PROBE_JUMP_BYTES; near < at + code->size; near++) {
		for (const struct patch *patch = *patch_location_list(near); patch;
				patch = patch->next) {
			if (patch->site.runtime == near)
				patch_copied_strip_probe(code, at, patch);
		}
	}
}

static bool patch_copied_matches(const struct code_of_site *code, unsigned int at, uint8_t byte)
{
	return byte == code->now[at] || byte == code->own[at] || byte == code->probed[at];
}

/* ---- jumps ---- */

/* Returns the distance from the end of the jump to its target. */
static int64_t patch_copied_read_distance(const struct patch *patch)
{
	uint64_t from = patch->method == PROBE_SHORT ? patch->slot : patch->site.runtime;
	uint64_t to = patch->method == PROBE_SHORT || !patch->slot ? patch->trampoline
								   : patch->slot;

	return (int64_t)(to - (from + PROBE_JUMP_BYTES));
}

static bool patch_copied_is_jump(const struct patch *patch)
{
	return patch->method >= PROBE_JUMP && patch->method <= PROBE_PUNNED &&
			patch->site.runtime && patch->trampoline;
}

/* Number of bytes by which a copy is recognized: a punned jump ends with bytes of the program. */
static unsigned int patch_copied_jump_bytes(const struct patch *patch)
{
	return patch->method == PROBE_SHORT ? patch_bytes(patch) : PROBE_JUMP_BYTES;
}

/* The address that a thread reached by a jump in a copy, and the copy that matches best. */
struct arrival {
	uint64_t at;
	uint64_t copy; /* 0: none */
	bool is_healed, is_ambiguous;
	unsigned int score, bytes;
	uint8_t former[PROBE_JUMP_BYTES], own[PROBE_JUMP_BYTES];
};

/*
 * Counts the matching bytes of a copy. Jumps of several probes may have the same distance, because
 * their arenas have the same layout. The bytes after the jump in the copy equal those at the site,
 * as far as both are code of that function.
 */
static unsigned int patch_copied_score(const struct patch *patch, uint64_t copy)
{
	struct code_of_site code = {.size = 0};
	uint8_t there[SCORE_BYTES] = {0};
	unsigned int size, i = patch_copied_jump_bytes(patch);

	patch_copied_read_site(patch->site.runtime, SCORE_BYTES, &code);
	for (size = code.size; size > i && !patch_copied_read_memory(copy, there, size);)
		size /= 2;
	while (i < size && patch_copied_matches(&code, i, there[i]))
		i++;
	return i;
}

/* Stores the best match in `user`; never returns true. */
static bool patch_copied_note_arrival(struct patch *patch, void *user)
{
	struct arrival *arrival = user;
	uint8_t there[PROBE_BYTES_MAX] = {0}, wanted[PROBE_JUMP_BYTES] = {0};
	unsigned int size = patch_copied_jump_bytes(patch), own = patch_bytes(patch), score;
	bool healed_there;
	uint64_t copy;

	if (!patch_copied_is_jump(patch) || patch->site.nr_bytes < size)
		return false;
	copy = arrival->at - PROBE_JUMP_BYTES - (uint64_t)patch_copied_read_distance(patch);
	if (patch->method == PROBE_SHORT)
		copy -= patch->slot - patch->site.runtime;
	if (copy == patch->site.runtime ||
			!patch_copied_read_copy(copy, there, patch->site.nr_bytes,
					patch->site.bytes, own, &healed_there))
		return false;
	/* Another thread may have been here first. */
	if (healed_there) {
		arrival->copy = copy;
		arrival->is_healed = true;
	}
	memcpy(wanted, patch->site.bytes, size);
	memcpy(wanted, patch->bytes, own);
	score = arrival->is_healed || memcmp(there, wanted, size) != 0
			? 0
			: patch_copied_score(patch, copy);
	if (!score || score < arrival->score)
		return false;
	arrival->is_ambiguous = score == arrival->score &&
			(copy != arrival->copy || own != arrival->bytes ||
					memcmp(arrival->own, patch->site.bytes, own) != 0);
	arrival->score = score;
	arrival->copy = copy;
	arrival->bytes = own;
	memcpy(arrival->former, there, own);
	memcpy(arrival->own, patch->site.bytes, own);
	return false;
}

/*
 * Finds copies of short jumps whose springboard was not copied: the thread is at the same distance
 * from the copy as the springboard is from the site.
 */
static void patch_copied_note_short(struct arrival *arrival)
{
	uint64_t springboard, site;

	for (size_t i = 0; patch_springboard_at(i, &springboard, &site); i++) {
		struct patch *patch = site ? *patch_location_list(site) : NULL;
		uint64_t copy = arrival->at - (springboard - site);
		uint8_t there[2];
		bool healed_there;

		while (patch && (patch->site.runtime != site || patch->method != PROBE_SHORT))
			patch = patch->next;
		if (!patch || copy == site ||
				!patch_copied_read_copy(copy, there, sizeof(there),
						patch->site.bytes, sizeof(there), &healed_there))
			continue;
		if (healed_there) {
			arrival->copy = copy;
			arrival->is_healed = true;
		} else if (!memcmp(there, patch->bytes, sizeof(there)) &&
				patch_copied_score(patch, copy) >= sizeof(there) + DISTINCT_BYTES) {
			arrival->copy = copy;
			arrival->bytes = sizeof(there);
			memcpy(arrival->former, there, sizeof(there));
			memcpy(arrival->own, patch->site.bytes, sizeof(there));
		}
	}
}

static bool patch_copied_has_left_short(uint64_t at, uint64_t *ret_copy)
{
	struct arrival arrival = {.at = at};

	patch_copied_note_short(&arrival);
	*ret_copy = arrival.copy;
	return arrival.is_healed ||
			(arrival.copy &&
					patch_copied_heal(arrival.copy, arrival.former, arrival.own,
							arrival.bytes));
}

static bool patch_copied_has_arrived(uint64_t at, uint64_t *ret_copy)
{
	for (unsigned int i = 0; i < WALKS; i++) {
		struct arrival arrival = {.at = at};

		patch_locations_find(patch_copied_note_arrival, &arrival);
		*ret_copy = arrival.copy;
		if (arrival.is_healed ||
				(arrival.copy && !arrival.is_ambiguous &&
						patch_copied_heal(arrival.copy, arrival.former,
								arrival.own, arrival.bytes)))
			return true;
	}
	return false;
}

bool patch_copied_fault(const siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t at = (uint64_t)registers[REG_RIP], copy;
	int error = errno;
	bool found;
	/* The fetch has faulted: the address is not mapped, or not executable. */
	bool is_fetch = (info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR) &&
			(uint64_t)(uintptr_t)info->si_addr == at;

	if (info->si_code <= 0 || (!is_fetch && !patch_springboard_at(0, &copy, &copy)) ||
			patch_caller(at) || patch_is_guarded())
		return false;
	found = patch_copied_has_left_short(at, &copy) ||
			(is_fetch && patch_copied_has_arrived(at, &copy));
	if (found)
		registers[REG_RIP] = (greg_t)copy;
	errno = error;
	return found;
}

/* ---- breakpoints ---- */

static bool patch_copied_is_padding(uint8_t byte)
{
	return byte == TRAP_BYTE || byte == 0x90 || !byte;
}

/* True if the bytes after the first one match, and are not all common ones. */
static bool patch_copied_is_trap(
		const struct patch *patch, uint64_t at, const uint8_t there[CONTEXT_BYTES])
{
	struct code_of_site code = {.size = 0};
	unsigned int distinct = 0;

	if (patch->method != PROBE_BREAKPOINT || !patch->site.runtime ||
			at == patch->site.runtime ||
			(there[0] != patch->bytes[0] && there[0] != TRAP_BYTE))
		return false;
	patch_copied_read_site(patch->site.runtime, CONTEXT_BYTES, &code);
	if (code.size < CONTEXT_BYTES)
		return false;
	for (unsigned int i = 1; i < CONTEXT_BYTES; i++) {
		if (!patch_copied_matches(&code, i, there[i]))
			return false;
		distinct += !patch_copied_is_padding(code.own[i]);
	}
	return distinct >= DISTINCT_BYTES;
}

struct trapped {
	uint64_t at;
	uint8_t bytes[CONTEXT_BYTES];
};

static bool patch_copied_has_trapped(struct patch *patch, void *user)
{
	const struct trapped *trapped = user;

	return patch_copied_is_trap(patch, trapped->at, trapped->bytes) &&
			patch_copied_heal(trapped->at, trapped->bytes, patch->site.bytes, 1);
}

bool patch_copied_trap(uint64_t at, uint64_t *ret_copy)
{
	struct trapped trapped = {.at = at};
	int error = errno;
	bool found = patch_copied_is_healed(at), guarded = !found && patch_is_guarded();

	*ret_copy = at;
	for (unsigned int i = 0; i < WALKS && !found && !guarded &&
			patch_copied_read_memory(at, trapped.bytes, CONTEXT_BYTES);
			i++)
		found = patch_locations_find(patch_copied_has_trapped, &trapped) != NULL;
	if (!found && !guarded)
		found = patch_copied_has_left_short(at, ret_copy);
	/* Another thread has healed it since the first check. */
	if (!found && patch_copied_is_healed(at)) {
		*ret_copy = at;
		found = true;
	}
	errno = error;
	return found;
}

/* ---- copies that no thread has executed ---- */

/* The search key: the four bytes after the first one. Several probes may have the same key. */
struct code_pattern {
	uint32_t behind;
	uint8_t first;
	struct patch *patch;
};

struct patterns {
	struct code_pattern *items;
	size_t count, bytes;
};

static int patch_copied_compare_patterns(const void *left, const void *right)
{
	const struct code_pattern *one = left, *other = right;

	return one->behind < other->behind ? -1 : one->behind > other->behind;
}

static void patch_copied_add_pattern(
		struct patterns *patterns, struct patch *patch, const uint8_t *bytes)
{
	struct code_pattern *pattern = &patterns->items[patterns->count++];

	*pattern = (struct code_pattern){.first = patch->bytes[0], .patch = patch};
	memcpy(&pattern->behind, bytes + 1, sizeof(pattern->behind));
}

/* Adds the pattern with the bytes of probes after it, and the pattern without them. */
static void patch_copied_add_patterns(struct patterns *patterns, struct patch *patch)
{
	struct code_of_site code = {.size = 0};
	uint8_t bytes[PROBE_JUMP_BYTES];

	if (!patch->site.runtime || patch->site.nr_bytes < sizeof(bytes))
		return;
	memcpy(bytes, patch->site.bytes, sizeof(bytes));
	memcpy(bytes, patch->bytes, patch_bytes(patch));
	patch_copied_add_pattern(patterns, patch, bytes);
	patch_copied_read_site(patch->site.runtime, sizeof(bytes), &code);
	if (code.size == sizeof(bytes) && memcmp(code.probed, bytes, sizeof(bytes)) != 0)
		patch_copied_add_pattern(patterns, patch, code.probed);
}

static bool patch_copied_make_patterns(
		struct patterns *patterns, struct patch *const *patches, size_t count)
{
	patterns->bytes = 2 * count * sizeof(*patterns->items);
	patterns->items = mmap(NULL, patterns->bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (patterns->items == MAP_FAILED)
		return false;
	for (size_t i = 0; i < count; i++)
		patch_copied_add_patterns(patterns, patches[i]);
	qsort(patterns->items, patterns->count, sizeof(*patterns->items),
			patch_copied_compare_patterns);
	return true;
}

/* Returns how many bytes match those of a probe and after it; 0: not a copy. */
static unsigned int patch_copied_likeness(
		const struct code_pattern *pattern, uint64_t at, const uint8_t *bytes)
{
	const struct patch *patch = pattern->patch;
	uint8_t there[CONTEXT_BYTES] = {0};
	unsigned int score;

	if (bytes[0] != pattern->first || at == patch->site.runtime)
		return 0;
	if (patch->method == PROBE_BREAKPOINT)
		return patch_copied_read_memory(at, there, sizeof(there)) &&
						patch_copied_is_trap(patch, at, there)
				? CONTEXT_BYTES
				: 0;
	score = patch_copied_score(patch, at);
	return score > PROBE_JUMP_BYTES ? score : 0;
}

static void patch_copied_heal_found(
		const struct patterns *patterns, uint64_t at, const uint8_t *bytes)
{
	const struct code_pattern *best = NULL;
	size_t low;
	unsigned int score = 0;
	uint32_t behind;

	memcpy(&behind, bytes + 1, sizeof(behind));
	low = search_leading(i, patterns->count, patterns->items[i].behind < behind);
	for (; low < patterns->count && patterns->items[low].behind == behind; low++) {
		unsigned int is = patch_copied_likeness(&patterns->items[low], at, bytes);

		if (is > score) {
			score = is;
			best = &patterns->items[low];
		}
	}
	if (best)
		patch_copied_heal(at, bytes, best->patch->site.bytes, patch_bytes(best->patch));
}

static void patch_copied_search_memory(const struct patterns *patterns, uint64_t from, uint64_t to)
{
	static uint8_t bytes[CHUNK];

	while (from + PROBE_JUMP_BYTES <= to) {
		size_t size = to - from < CHUNK ? to - from : CHUNK;

		if (!patch_copied_read_memory(from, bytes, size))
			return;
		for (size_t i = 0; i + PROBE_JUMP_BYTES <= size; i++) {
			if (bytes[i] == JUMP || bytes[i] == SHORT_JUMP ||
					((bytes[i] == TRAP_BYTE || bytes[i] == INVALID) &&
							bytes[i + 1] != TRAP_BYTE))
				patch_copied_heal_found(patterns, from + i, bytes + i);
		}
		from += size - (size > PROBE_JUMP_BYTES ? PROBE_JUMP_BYTES - 1 : 0);
		if (size < CHUNK)
			return;
	}
}

static bool patch_copied_is_own_code(uint64_t address)
{
	for (size_t i = 0; i < patch_nr_arenas; i++) {
		if (address - patch_arenas[i].start < patch_arenas[i].size)
			return true;
	}
	return patch_is_memory(address) || address - (uintptr_t)patch_gates < GATES_BYTES;
}

/* Searches a mapping if it is executable and of no file. */
static bool patch_copied_search_mapping(const struct patch_mapping *mapping, void *user)
{
	const struct patterns *patterns = user;
	const char *path;

	if (!mapping->readable || !mapping->executable || patch_copied_is_own_code(mapping->start))
		return true;
	path = strpbrk(mapping->remainder, "/[");
	if (!path || !strncmp(path, "[anon", 5) || !strncmp(path, "/memfd:", 7) ||
			!strncmp(path, "/dev/", 5) || !strncmp(path, "/SYSV", 5) ||
			!strncmp(path, "[heap]", 6))
		patch_copied_search_memory(patterns, mapping->start, mapping->end);
	return true;
}

void patch_copied_removed(struct patch *const *patches, size_t count)
{
	struct patterns patterns = {.count = 0};

	if (!count || patch_is_guarded() || !patch_copied_make_patterns(&patterns, patches, count))
		return;
	(void)patch_maps_each(patch_copied_search_mapping, &patterns);
	munmap(patterns.items, patterns.bytes);
	NO_TAIL_CALL();
}
