/* SPDX-License-Identifier: MIT */
/*
 * Changes bytes of code while threads execute them, at many sites at once and without stopping a
 * thread.
 *
 * The bytes of most sites lie in one aligned word of 16 bytes, because functions begin at such
 * words. One store changes them, so a thread sees either the old or the new bytes. A thread that
 * begins the function meets no trap. This matters because it may block the signals of traps, as
 * libc does when it creates and ends threads; the kernel would then kill the program. Other sites
 * change in steps:
 *
 *	setting                                    a thread that arrives       a thread that is inside
 *	1  a breakpoint on the first byte, a       traps: to the trampoline    continues, or traps at the next
 *	   trap on each inner begin of an                                      instruction: to its copy
 *	   instruction
 *	   barrier in all threads: no thread has the old instructions any more
 *	2  the other bytes of the distance         traps                       traps
 *	   barrier
 *	3  the jump's first byte                   jumps                       traps, now or hours later
 *	   barrier
 *
 * In both cases the distance of the jump is chosen so that the traps are bytes of it and remain. A
 * thread that was interrupted inside of the site therefore continues in the copy whenever it runs
 * again. Removal is the reverse: a breakpoint, the bytes between, the inner begins, the first byte,
 * with barriers between them.
 *
 * A trampoline is kept as long as its location is mapped, and the next probe there uses it again: a
 * thread may be in its instructions, which are not counted. Handlers are counted (hit.c), so they
 * may be freed. All generated code is at most 64 MiB (memory.c). When no probe is set,
 * patch_quiesce() can release all else: the data of probes becomes zeros, so a thread that arrives
 * late finds no handler, and a few words remain by which the trampolines are found again.
 */
#include "parts.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The wrappers recognize a tracer's call by its return address, so the last call of a function must
 * not be a jump.
 */
#define NO_TAIL_CALL() __asm__ volatile("")

#define BREAKPOINT 0xcc
#define INVALID 0x06 /* traps at sites where the kernel would take a breakpoint for its own */
#define JUMP 0xe9
#define SHORT_JUMP 0xeb
#define SCANS_MAX 50
#define YIELDS 10
#define GRACE_US 100
#define AT_ONCE 512
#define PAST_METHOD (PATCH_PAST_BITS + 8)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t generations;
static bool is_quiesced;
/* Springboards without a probe were returned to padding, for this patch_set() */
static bool has_returned_springboards;
/* a removed location may still have trapping bytes, because others have changed it */
static bool has_lost_traps;
uint64_t side_probe_traps;

/* Bytes that trap when they are executed: the breakpoint, and invalid instructions. */
static const uint8_t traps[] = {BREAKPOINT, 0x3f, 0x2f, 0x1e, 0x06};

static int patch_set_sync_cores(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) ? -ENOSYS
											 : 0;
}

/* If the first barrier succeeds, later ones do not fail. */
static int patch_set_register_barrier(void)
{
	static bool registered;

	if (registered)
		return 0;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) ||
			patch_set_sync_cores())
		return -ENOSYS;
	registered = true;
	return 0;
}

/* ---- preparation ---- */

/* Reduces the site to its first instruction. */
static void patch_set_cut_to_first(struct probe_site *site)
{
	if (site->nr_pieces == 1)
		return;
	site->nr_pieces = 1;
	site->displaced = site->pieces[0].length;
	site->ends = false;
}

static bool patch_set_constrain_distance(
		const struct patch *patch, uint8_t trap, struct patch_distance *ret_distance)
{
	const struct probe_site *site = &patch->site;
	bool any = false;

	memset(ret_distance, 0, sizeof(*ret_distance));
	for (unsigned int i = 1; i < site->nr_pieces; i++) {
		unsigned int at = site->pieces[i].at;

		if (at >= PROBE_JUMP_BYTES)
			continue;
		ret_distance->fixed[at - 1] = any = true;
		ret_distance->value[at - 1] = trap;
	}
	if (site->method != PROBE_PUNNED)
		return any;
	for (unsigned int i = site->patched; i < PROBE_JUMP_BYTES; i++) {
		ret_distance->fixed[i - 1] = true;
		ret_distance->value[i - 1] = site->bytes[i];
	}
	return true;
}

static bool patch_set_jump_reaches(uint64_t from, uint64_t to)
{
	int64_t away = (int64_t)(to - (from + PROBE_JUMP_BYTES));

	return away == (int32_t)away;
}

static int patch_set_write_jump(struct patch_writer *writer, uint64_t from, uint64_t to)
{
	uint8_t bytes[PROBE_JUMP_BYTES] = {JUMP};
	int32_t distance = (int32_t)(to - (from + PROBE_JUMP_BYTES));

	if (!patch_set_jump_reaches(from, to))
		return -ERANGE;
	memcpy(bytes + 1, &distance, 4);
	return patch_write(writer, from, bytes, sizeof(bytes));
}

/* The same where threads may be: the springboard of a location had a probe with other code. */
static int patch_set_change_jump(struct patch_writer *writer, uint64_t from, uint64_t to)
{
	uint8_t bytes[PROBE_JUMP_BYTES] = {JUMP}, trap = BREAKPOINT;
	int32_t distance = (int32_t)(to - (from + PROBE_JUMP_BYTES));
	int ret;

	if (!patch_set_jump_reaches(from, to))
		return -ERANGE;
	memcpy(bytes + 1, &distance, 4);
	if (!memcmp((const void *)from, bytes, sizeof(bytes)))
		return 0;
	ret = patch_trap_add(from, to);
	if (!ret)
		ret = patch_write(writer, from, &trap, 1);
	if (ret)
		return ret;
	patch_set_sync_cores();
	patch_write(writer, from + 1, bytes + 1, 4);
	patch_set_sync_cores();
	return patch_write(writer, from, bytes, 1);
}

/*
 * Returns the slot of another probe of this location with the same method, which this probe takes
 * over; 0: none.
 */
static uint64_t patch_set_inherited_slot(const struct patch *patch)
{
	for (const struct patch *other = *patch_location_list(patch->site.runtime); other;
			other = other->next) {
		if (other->site.runtime == patch->site.runtime && other->method == patch->method &&
				other->slot)
			return other->slot;
	}
	return 0;
}

/*
 * Writes the jump in its springboard, where there may be padding, or a jump to another trampoline
 * of the location.
 */
static int patch_set_install_springboard(const struct patch *patch, struct patch_writer *writer)
{
	bool is_written = false;
	int ret;

	if (!patch_set_jump_reaches(patch->slot, patch->trampoline))
		return -ERANGE;
	ret = patch_springboard_claim(patch, &is_written);
	if (ret)
		return ret;
	if (is_written)
		return patch_set_change_jump(writer, patch->slot, patch->trampoline);
	ret = patch_set_write_jump(writer, patch->slot, patch->trampoline);
	if (ret)
		patch_springboard_drop(patch->slot);
	return ret;
}

static int patch_set_prepare_short(struct patch *patch, struct patch_writer *writer)
{
	uint64_t springboard =
			patch->site.springboard + (patch->site.runtime - patch->site.address);

	/* A thread inside could not be caught: the bytes of a short distance cannot be chosen. */
	if (patch->site.nr_pieces > 1)
		return -ERANGE;
	patch->slot = springboard;
	patch->bytes[0] = SHORT_JUMP;
	patch->bytes[1] = (uint8_t)(springboard - (patch->site.runtime + 2));
	return patch_set_install_springboard(patch, writer);
}

/* Makes the bytes of the jump at the site. It leads to a slot if its distance is constrained. */
static int patch_set_prepare_jump(struct patch *patch, struct patch_writer *writer)
{
	uint64_t to = patch->trampoline, at = patch->site.runtime;
	struct patch_distance distance;
	bool is_inherited = false;
	int32_t away;
	int ret;

	if (patch_set_constrain_distance(patch, traps[0], &distance)) {
		to = patch_set_inherited_slot(patch);
		/*
		 * Another trampoline of the location may be on its other side, too far for one
		 * jump.
		 */
		if (to && !patch_set_jump_reaches(to, patch->trampoline))
			to = 0;
		is_inherited = to != 0;
		for (unsigned int i = 0; !to && i < sizeof(traps); i++) {
			patch_set_constrain_distance(patch, traps[i], &distance);
			to = patch_slot_memory(at, patch->trampoline, &distance);
			if (patch->site.nr_pieces == 1)
				break;
		}
		if (!to)
			return -ERANGE;
		patch->slot = to;
		ret = is_inherited ? patch_set_change_jump(writer, to, patch->trampoline)
				   : patch_set_write_jump(writer, to, patch->trampoline);
		if (ret)
			return ret;
	}
	if (!patch_set_jump_reaches(at, to))
		return -ERANGE;
	away = (int32_t)(to - (at + PROBE_JUMP_BYTES));
	patch->bytes[0] = JUMP;
	memcpy(patch->bytes + 1, &away, 4);
	return 0;
}

static int patch_set_write_trampoline(struct patch *patch, struct patch_writer *writer)
{
	struct patch_kind kind = patch_trampoline_kind(patch->trampoline);
	uint8_t bytes[TRAMPOLINE_BYTES_MAX];
	int ret;

	ret = patch_trampoline_generate(patch, kind, bytes);
	if (!ret)
		patch_trampoline_locations(patch);
	if (!ret)
		ret = patch_write(writer, patch->trampoline, bytes, kind.bytes);
	return ret;
}

static int patch_set_add_traps(const struct patch *patch)
{
	for (unsigned int i = 1; i < patch->site.nr_pieces; i++) {
		if (patch->site.pieces[i].at < PROBE_JUMP_BYTES &&
				patch_trap_add(patch->site.runtime + patch->site.pieces[i].at,
						patch->hot->copy + patch->map[i]))
			return -ENOMEM;
	}
	return 0;
}

static int patch_set_prepare_method(
		struct patch *patch, struct patch_writer *writer, enum probe_method method)
{
	int ret;

	patch->method = method;
	patch->slot = 0;
	if (method == PROBE_BREAKPOINT) {
		patch_set_cut_to_first(&patch->site);
		patch->bytes[0] = BREAKPOINT;
	}
	ret = patch_set_write_trampoline(patch, writer);
	if (!ret && method == PROBE_SHORT)
		ret = patch_set_prepare_short(patch, writer);
	else if (!ret && method != PROBE_BREAKPOINT)
		ret = patch_set_prepare_jump(patch, writer);
	return ret ? ret : patch_set_add_traps(patch);
}

/*
 * True if threads inside of the site may meet this jump: at each inner begin of an instruction it
 * has a trap or the program's byte.
 */
static bool patch_set_bytes_fit(const struct patch *patch)
{
	const struct probe_site *site = &patch->site;

	for (unsigned int i = 1; i < site->nr_pieces; i++) {
		if (site->pieces[i].at < PROBE_JUMP_BYTES &&
				!memchr(traps, patch->bytes[site->pieces[i].at], sizeof(traps)))
			return false;
	}
	for (unsigned int i = site->patched; site->method == PROBE_PUNNED && i < PROBE_JUMP_BYTES;
			i++) {
		if (patch->bytes[i] != site->bytes[i])
			return false;
	}
	return true;
}

static void patch_set_restore_bytes(struct patch *patch)
{
	uint64_t to = patch->slot ? patch->slot : patch->trampoline;
	int32_t away = (int32_t)(to - (patch->site.runtime + PROBE_JUMP_BYTES));

	if (patch->method == PROBE_BREAKPOINT) {
		patch->bytes[0] = BREAKPOINT;
	} else if (patch->method == PROBE_SHORT) {
		patch->bytes[0] = SHORT_JUMP;
		patch->bytes[1] = (uint8_t)(to - (patch->site.runtime + 2));
	} else {
		patch->bytes[0] = JUMP;
		memcpy(patch->bytes + 1, &away, 4);
	}
}

/*
 * For a probe from before patch_quiesce(), of which only the trampoline is known. It can be used
 * again if the code that would be generated for the site is equal byte for byte: then a thread that
 * executes it is not affected.
 */
static bool patch_set_revive(struct patch *patch, const struct probe_site *site)
{
	struct patch_kind kind = patch_trampoline_kind(patch->trampoline);
	struct patch same = *patch;
	uint8_t bytes[TRAMPOLINE_BYTES_MAX];

	same.site = *site;
	if (same.method == PROBE_BREAKPOINT)
		patch_set_cut_to_first(&same.site);
	else if (same.method != site->method)
		return false;
	if (same.method == PROBE_SHORT &&
			patch->slot != site->springboard + (site->runtime - site->address))
		return false;
	patch_set_restore_bytes(&same);
	if (patch_trampoline_generate(&same, kind, bytes) ||
			memcmp(bytes, (const void *)patch->trampoline, kind.bytes) != 0 ||
			(same.method != PROBE_BREAKPOINT && !patch_set_bytes_fit(&same)))
		return false;
	patch_trampoline_locations(&same);
	*patch = same;
	return true;
}

/* True if the probe was made for the same displaced bytes. */
static bool patch_set_belongs_to(struct patch *patch, const struct probe_site *site)
{
	if (!patch->site.nr_pieces)
		return patch_set_revive(patch, site);
	return !memcmp(patch->site.bytes, site->bytes, sizeof(site->bytes));
}

/*
 * Makes a probe with a trampoline of so many bytes. Returns 0 or negative errno; -E2BIG: the code
 * is longer.
 */
static int patch_set_make_patch(const struct patch_setup *setup, unsigned int flags,
		unsigned int bytes, struct patch_writer *writer, struct patch **ret_patch)
{
	struct patch_kind kind = {.bytes = bytes, .follows = flags & PATCH_EXIT};
	enum probe_method method = flags & PATCH_TRAP ? PROBE_BREAKPOINT : setup->site->method;
	struct patch *patch;
	uint64_t trampoline;
	int ret;

	if (method == PROBE_BREAKPOINT && !patch_traps_return())
		return -ESHUTDOWN;
	trampoline = patch_trampoline_memory(setup->site->runtime, kind);
	if (!trampoline)
		return -ERANGE;
	patch = patch_trampoline_patch(trampoline);
	*patch = (struct patch){.site = *setup->site,
			.flags = flags,
			.trampoline = trampoline,
			.hot = patch->hot};
	*patch->hot = (struct patch_hot){.address = setup->site->runtime, .caller = &patch_no_code};
	ret = patch_set_prepare_method(patch, writer, method);
	if (ret && ret != -EPERM && ret != -E2BIG && method != PROBE_BREAKPOINT)
		ret = patch_traps_return()
				? patch_set_prepare_method(patch, writer, PROBE_BREAKPOINT)
				: -ESHUTDOWN;
	if (ret) {
		memset(patch->hot, 0, sizeof(*patch->hot));
		memset(patch, 0, sizeof(*patch));
		patch_trampoline_return(trampoline);
		return ret;
	}
	*ret_patch = patch;
	return 0;
}

/* Finds the probe of that location with such code, or makes one. */
static int patch_set_find_patch(const struct patch_setup *setup, unsigned int flags,
		struct patch_writer *writer, struct patch **ret_patch)
{
	struct patch **location = patch_location_list(setup->site->runtime), *patch;
	int ret;

	for (patch = *location; patch; patch = patch->next) {
		if (patch->site.runtime == setup->site->runtime && patch->flags == flags &&
				patch_set_belongs_to(patch, setup->site)) {
			*ret_patch = patch;
			break;
		}
	}
	ret = patch && patch->slot && patch->method != PROBE_SHORT
			? patch_set_change_jump(writer, patch->slot, patch->trampoline)
			: 0;
	if (patch && patch->method == PROBE_SHORT)
		ret = patch_set_install_springboard(patch, writer);
	/* The padding is used by other code now. */
	if (ret == -ERANGE && !(flags & PATCH_TRAP))
		return patch_set_find_patch(setup, flags | PATCH_TRAP, writer, ret_patch);
	if (patch)
		return ret;
	ret = patch_set_make_patch(setup, flags, TRAMPOLINE_BYTES, writer, &patch);
	if (ret == -E2BIG)
		ret = patch_set_make_patch(setup, flags, TRAMPOLINE_BYTES_MAX, writer, &patch);
	if (ret)
		return ret;
	patch->next = *location;
	*location = patch;
	*ret_patch = patch;
	return 0;
}

/*
 * Number of bytes that must be those of the file: those that are changed, executed elsewhere, or
 * part of the distance.
 */
static unsigned int patch_set_bytes_needed(const struct probe_site *site, bool breakpoint)
{
	unsigned int patched = site->method == PROBE_PUNNED ? PROBE_JUMP_BYTES : site->patched;

	if (breakpoint)
		return site->pieces[0].length;
	return site->displaced > patched ? site->displaced : patched;
}

static bool patch_set_is_as_in_file(const struct probe_site *site, bool breakpoint)
{
	unsigned int size = patch_set_bytes_needed(site, breakpoint);

	return size <= site->nr_bytes && !memcmp((void *)site->runtime, site->bytes, size);
}

/* The same, but a breakpoint may be on the first byte. */
static bool patch_set_is_below_breakpoint(const struct probe_site *site)
{
	const uint8_t *there = (const uint8_t *)site->runtime;
	unsigned int size = patch_set_bytes_needed(site, true);

	return size <= site->nr_bytes && (there[0] == site->bytes[0] || there[0] == BREAKPOINT) &&
			!memcmp(there + 1, site->bytes + 1, size - 1);
}

/*
 * True if all bytes that differ belong to a springboard, or are a breakpoint of the kernel after
 * the first instruction.
 */
static bool patch_set_is_beside_springboards(const struct probe_site *site)
{
	unsigned int size = patch_set_bytes_needed(site, false);

	for (unsigned int i = 0; i < size && i < site->nr_bytes; i++) {
		const uint8_t *there = (const uint8_t *)site->runtime + i;

		if (*there != site->bytes[i] && !patch_is_springboard(site->runtime + i) &&
				(*there != BREAKPOINT || i < site->pieces[0].length))
			return false;
	}
	return true;
}

/*
 * Returns unused springboards to padding to free their bytes, once for all sites of a patch_set().
 */
static bool patch_set_is_free_without_springboards(
		const struct probe_site *site, struct patch_writer *writer)
{
	if (!has_returned_springboards && patch_springboards_remain())
		patch_springboards_return(writer);
	has_returned_springboards = true;
	return patch_set_is_as_in_file(site, false);
}

/*
 * True if there is a breakpoint of the kernel or a debugger, or the call that the kernel writes
 * instead of a long nop (Linux 6.18). The nop may follow another one, as in markers.
 */
static bool patch_set_is_watched(const struct probe_site *site)
{
	const unsigned char *there = (const unsigned char *)site->runtime;

	for (unsigned int i = 0; i < site->nr_bytes && i < 2; i++)
		if (there[i] != site->bytes[i])
			return there[i] == 0xcc || (there[i] == 0xe8 && site->bytes[i] == 0x0f);
	return false;
}

/*
 * Returns the generation since which calls belong to the probe that was set last at this location,
 * if it watched returns. Calls of all other probes of the location go to this one now.
 */
static uint32_t patch_set_inherit_generation(const struct patch *patch)
{
	const struct patch *last = patch;
	struct patch *other;

	for (other = *patch_location_list(patch->site.runtime); other; other = other->next) {
		if (other->site.runtime != patch->site.runtime)
			continue;
		if ((int32_t)(other->hot->generation - last->hot->generation) > 0)
			last = other;
		/* Relaxed: a return before this probe is set has no exit handler. */
		if (other != patch)
			__atomic_store_n(&other->hot->successor, (int32_t)(patch->hot - other->hot),
					__ATOMIC_RELAXED);
	}
	return last->flags & PATCH_EXIT ? last->hot->first_generation : generations + 1;
}

static int patch_set_prepare(struct patch_setup *setup, struct patch_writer *writer)
{
	const struct probe_site *site = setup->site;
	bool is_invalid = setup->flags & PATCH_OVER;
	unsigned int flags = (setup->flags & (PATCH_ALL | PATCH_TRAP | PATCH_EXIT)) |
			(is_invalid ? PATCH_TRAP : 0);
	struct patch *patch;
	int ret;

	if (site->method == PROBE_NONE || !site->nr_pieces || !site->runtime)
		return -EINVAL;
	if (site->method == PROBE_KERNEL)
		return -EREMOTE;
	if ((setup->flags & PATCH_EXIT) && site->no_exit)
		return -EOPNOTSUPP;
	/*
	 * If a neighbouring probe occupies some of the bytes that a jump needs, use a trap, which
	 * needs one byte.
	 */
	if (patch_is_occupied(site->runtime, patch_set_bytes_needed(site, flags & PATCH_TRAP)))
		flags |= PATCH_TRAP;
	if (patch_is_occupied(site->runtime, patch_set_bytes_needed(site, flags & PATCH_TRAP)))
		return -EBUSY;
	/*
	 * Use a trap also if another probe has its springboard in the padding, or if the kernel
	 * watches the code behind the first instruction.
	 */
	if (!patch_set_is_as_in_file(site, flags & PATCH_TRAP) &&
			patch_set_is_beside_springboards(site) &&
			(setup->flags & PATCH_PREPARE ||
					!patch_set_is_free_without_springboards(site, writer)))
		flags |= PATCH_TRAP;
	if (!(is_invalid ? patch_set_is_below_breakpoint(site)
			 : patch_set_is_as_in_file(site, flags & PATCH_TRAP)))
		return patch_set_is_watched(site) ? -EADDRINUSE : -ESTALE;
	if (setup->flags & PATCH_EXIT) {
		ret = patch_hit_follow();
		if (ret)
			return ret;
	}
	ret = patch_set_find_patch(setup, flags, writer, &patch);
	if (ret)
		return ret;
	if (setup->flags & PATCH_PREPARE)
		return -EALREADY;
	if (patch->method == PROBE_BREAKPOINT)
		patch->bytes[0] = is_invalid ? INVALID : BREAKPOINT;
	/* Traps of this location lead to this trampoline from now on. */
	if (patch_trap_add(site->runtime, patch->trampoline) || patch_set_add_traps(patch))
		return -ENOMEM;
	/* Relaxed, all: the barrier before the first jump makes them visible to all threads. */
	__atomic_store_n(&patch->hot->first_generation,
			setup->flags & PATCH_GOES_ON ? patch_set_inherit_generation(patch)
						     : generations + 1,
			__ATOMIC_RELAXED);
	__atomic_store_n(&patch->hot->successor, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&patch->hot->generation, ++generations, __ATOMIC_RELAXED);
	__atomic_store_n(&patch->hot->user, setup->user, __ATOMIC_RELAXED);
	__atomic_store_n(&patch->hot->follows, setup->flags & PATCH_EXIT, __ATOMIC_RELAXED);
	__atomic_store_n(&patch->hot->entry, setup->entry, __ATOMIC_RELAXED);
	/*
	 * Release: the data of the calls that it takes is_invalid. Pairs with the acquire in
	 * patch_hit_leave().
	 */
	__atomic_store_n(&patch->hot->exit, setup->exit, __ATOMIC_RELEASE);
	patch->armed = true;
	setup->patch = patch;
	setup->method = patch->method;
	return 0;
}

/* ---- changing bytes ---- */

static bool patch_set_is_inner_begin(const struct patch *patch, unsigned int at)
{
	for (unsigned int i = 1; i < patch->site.nr_pieces; i++) {
		if (patch->site.pieces[i].at == at)
			return true;
	}
	return false;
}

enum set_bytes { FIRST, INNER, BETWEEN };

/* Writes those bytes of the site; one at a time where a thread may execute them. */
static int patch_set_write_bytes(struct patch_writer *writer, const struct patch *patch,
		const uint8_t *bytes, enum set_bytes which)
{
	int ret = 0;

	if (which == FIRST)
		return patch_write(writer, patch->site.runtime, bytes, 1);
	for (unsigned int i = 1; !ret && i < patch_bytes(patch); i++) {
		unsigned int last = i;

		if (patch_set_is_inner_begin(patch, i) != (which == INNER))
			continue;
		while (which == BETWEEN && last + 1 < patch_bytes(patch) &&
				!patch_set_is_inner_begin(patch, last + 1))
			last++;
		ret = patch_write(writer, patch->site.runtime + i, bytes + i, last - i + 1);
		i = last;
	}
	return ret;
}

static int patch_set_write_breakpoint(struct patch_writer *writer, const struct patch *patch)
{
	const uint8_t byte = BREAKPOINT;

	return patch_write(writer, patch->site.runtime, &byte, 1);
}

/*
 * A handler takes nanoseconds, unless its thread was preempted. So poll a few times first, then
 * yield the processor, and only then sleep.
 */
static void patch_set_wait_until_left(const struct patch *patch)
{
	for (unsigned int i = 0; patch_hit_is_inside(patch->hot); i++) {
		if (i < SCANS_MAX)
			__builtin_ia32_pause();
		else if (i < SCANS_MAX + YIELDS)
			sched_yield();
		else
			usleep(GRACE_US);
	}
}

/* Removes the handlers of probes that are not set, and waits until no thread is in one. */
static void patch_set_free_patches(struct patch *const *patches, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (patches[i]->armed)
			continue;
		/* Relaxed: ordered by the barrier, see hit.c. */
		__atomic_store_n(&patches[i]->hot->entry, NULL, __ATOMIC_RELAXED);
		__atomic_store_n(&patches[i]->hot->exit, NULL, __ATOMIC_RELAXED);
		__atomic_store_n(&patches[i]->hot->follows, false, __ATOMIC_RELAXED);
	}
	patch_set_sync_cores();
	for (size_t i = 0; i < count; i++) {
		if (!patches[i]->armed)
			patch_set_wait_until_left(patches[i]);
	}
}

/*
 * Undoes a setup whose steps have begun and cannot be completed: restores the inner begins and the
 * first byte. Nothing else was written.
 */
static void patch_set_abort(struct patch_setup *setup, struct patch_writer *writer, int error)
{
	struct patch *patch = setup->patch;

	patch_set_write_bytes(writer, patch, patch->site.bytes, INNER);
	patch_set_write_bytes(writer, patch, patch->site.bytes, FIRST);
	patch->armed = false;
	patch_set_free_patches(&patch, 1);
	setup->patch = NULL;
	setup->error = error;
}

static bool patch_set_write_at_once(
		struct patch *patch, struct patch_writer *writer, const uint8_t *bytes)
{
	patch->is_whole = !patch_exchange(writer, patch->site.runtime, bytes, patch_bytes(patch));
	return patch->is_whole;
}

/* Completes the sites that have begun with a breakpoint. */
static void patch_set_write_steps(
		struct patch_setup *setups, size_t count, struct patch_writer *writer)
{
	patch_set_sync_cores();
	/* The page was just written, so this does not fail any more. */
	for (size_t i = 0; i < count; i++) {
		if (setups[i].patch && !setups[i].patch->is_whole)
			patch_set_write_bytes(
					writer, setups[i].patch, setups[i].patch->bytes, BETWEEN);
	}
	patch_set_sync_cores();
	for (size_t i = 0; i < count; i++) {
		if (setups[i].patch && !setups[i].patch->is_whole)
			patch_set_write_bytes(
					writer, setups[i].patch, setups[i].patch->bytes, FIRST);
	}
}

static void patch_set_write_all(
		struct patch_setup *setups, size_t count, struct patch_writer *writer)
{
	bool steps = false;

	/* No thread may have old instructions in its pipeline from where the new code is. */
	patch_set_sync_cores();
	for (size_t i = 0; i < count; i++) {
		int ret;

		if (!setups[i].patch ||
				patch_set_write_at_once(
						setups[i].patch, writer, setups[i].patch->bytes))
			continue;
		steps = true;
		ret = patch_set_write_breakpoint(writer, setups[i].patch);
		if (!ret)
			ret = patch_set_write_bytes(
					writer, setups[i].patch, setups[i].patch->bytes, INNER);
		if (ret)
			patch_set_abort(&setups[i], writer, ret);
	}
	if (steps)
		patch_set_write_steps(setups, count, writer);
	patch_set_sync_cores();
}

/* Undoes the preparation of setups whose bytes were not changed. */
static void patch_set_cancel(struct patch_setup *setups, size_t count, int error)
{
	for (size_t i = 0; i < count; i++) {
		if (!setups[i].patch)
			continue;
		setups[i].patch->armed = false;
		/* Returns of calls that it has taken over may be in its handlers. */
		patch_set_free_patches(&setups[i].patch, 1);
		setups[i].patch = NULL;
		setups[i].error = error;
	}
}

/* Sets at most AT_ONCE probes, so that a thread does not meet many breakpoints. */
static void patch_set_some(struct patch_setup *setups, size_t count, struct patch_writer *writer)
{
	for (size_t i = 0; i < count; i++) {
		setups[i].patch = NULL;
		setups[i].error = patch_set_prepare(&setups[i], writer);
	}
	patch_frames_register();
	if (patch_unblock())
		patch_set_write_all(setups, count, writer);
	else
		patch_set_cancel(setups, count, -EDEADLK);
}

static bool patch_set_any_exit(const struct patch_setup *setups, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (setups[i].flags & PATCH_EXIT)
			return true;
	}
	return false;
}

/* Restores what was kept of a probe. */
static void patch_set_recall(struct patch_past *past, uint64_t trampoline)
{
	uint64_t site = past->packed & ((UINT64_C(1) << PATCH_PAST_BITS) - 1);
	struct patch *patch = patch_trampoline_patch(trampoline),
		     **location = patch_location_list(site);

	patch->site.runtime = patch->hot->address = site;
	patch->slot = past->slot;
	patch->flags = past->packed >> PATCH_PAST_BITS & 0xff;
	patch->method = (enum probe_method)(past->packed >> PAST_METHOD);
	patch->trampoline = trampoline;
	patch->hot->caller = &patch_no_code;
	patch_slot_recall(past->slot);
	patch->next = *location;
	*location = patch;
}

size_t patch_set(struct patch_setup *setups, size_t count)
{
	struct patch_writer writer;
	size_t failed = 0;
	int ret;

	patch_unblock_self();
	pthread_mutex_lock(&lock);
	patch_trap_renew();
	patch_faults_start(PATCH_FAULTS_COPIES);
	if (is_quiesced)
		patch_memory_recall(patch_set_recall);
	is_quiesced = has_returned_springboards = false;
	ret = patch_set_register_barrier();
	patch_memory_scan();
	if (patch_set_any_exit(setups, count))
		patch_callers_scan();
	patch_writer_open(&writer);
	for (size_t i = 0; i < count; i += AT_ONCE) {
		size_t some = count - i < AT_ONCE ? count - i : AT_ONCE;

		if (!ret)
			patch_set_some(setups + i, some, &writer);
		for (size_t k = i; ret && k < i + some; k++) {
			setups[k].patch = NULL;
			setups[k].error = ret;
		}
	}
	patch_writer_close(&writer);
	for (size_t i = 0; i < count; i++)
		failed += setups[i].error != 0;
	pthread_mutex_unlock(&lock);
	return failed;
}

void patch_settle(struct patch *const *patches, size_t count)
{
	patch_set_sync_cores();
	for (size_t i = 0; i < count; i++) {
		/* A removed patch whose code is unmapped was released. It has no handlers. */
		if (patches[i]->hot)
			patch_set_wait_until_left(patches[i]);
	}
}

void patch_change_user(struct patch *patch, void *user)
{
	/* Release: what it points to. Pairs with the acquire in patch_hit_set_probe(). */
	__atomic_store_n(&patch->hot->user, user, __ATOMIC_RELEASE);
}

/* Completes the removal of probes that has begun with a breakpoint. */
static void patch_set_remove_steps(
		struct patch *const *patches, size_t count, struct patch_writer *writer)
{
	patch_set_sync_cores();
	for (size_t i = 0; i < count; i++) {
		if (patches[i]->is_removing)
			patch_set_write_bytes(writer, patches[i], patches[i]->site.bytes, BETWEEN);
	}
	patch_set_sync_cores();
	for (size_t i = 0; i < count; i++) {
		if (patches[i]->is_removing)
			patch_set_write_bytes(writer, patches[i], patches[i]->site.bytes, INNER);
	}
	for (size_t i = 0; i < count; i++) {
		if (patches[i]->is_removing)
			patch_set_write_bytes(writer, patches[i], patches[i]->site.bytes, FIRST);
	}
}

static int patch_set_remove_some(
		struct patch *const *patches, size_t count, struct patch_writer *writer)
{
	bool steps = false;
	int ret = 0;

	if (!patch_unblock())
		return -EDEADLK;
	for (size_t i = 0; i < count; i++) {
		bool is_intact = patches[i]->armed && patch_is_intact(patches[i]);
		bool is_whole = is_intact &&
				patch_set_write_at_once(patches[i], writer, patches[i]->site.bytes);
		int error = is_intact && !is_whole ? patch_set_write_breakpoint(writer, patches[i])
						   : 0;

		has_lost_traps |= patches[i]->armed && !is_intact && patch_leaves_traps(patches[i]);
		ret = error ? error : ret;
		patches[i]->armed = error != 0;
		patches[i]->is_removing = is_intact && !is_whole && !error;
		steps |= patches[i]->is_removing;
	}
	if (steps)
		patch_set_remove_steps(patches, count, writer);
	return ret;
}

int patch_remove(struct patch *const *patches, size_t count)
{
	struct patch_writer writer;
	int ret = 0;

	patch_unblock_self();
	pthread_mutex_lock(&lock);
	patch_trap_renew();
	patch_writer_open(&writer);
	for (size_t i = 0; i < count; i += AT_ONCE) {
		int error = patch_set_remove_some(
				patches + i, count - i < AT_ONCE ? count - i : AT_ONCE, &writer);

		ret = error ? error : ret;
	}
	patch_writer_close(&writer);
	patch_set_free_patches(patches, count);
	patch_copied_removed(patches, count);
	patch_release_gone(patches, count);
	pthread_mutex_unlock(&lock);
	return ret;
}

void patch_find_unwinder(void)
{
	if (!patch_unwinders_scan())
		return;
	pthread_mutex_lock(&lock);
	patch_unwinders_notify();
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL();
}

void patch_scan(void)
{
	pthread_mutex_lock(&lock);
	if (patch_callers_wanted())
		patch_callers_scan();
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL();
}

static void patch_set_store_past(struct patch *patch)
{
	struct patch_past *past = patch_trampoline_past(patch->trampoline);

	/* Relaxed, both: see patch_was_location(). */
	__atomic_store_n(&past->slot, patch->slot, __ATOMIC_RELAXED);
	__atomic_store_n(&past->packed,
			patch->site.runtime | (uint64_t)patch->flags << PATCH_PAST_BITS |
					(uint64_t)patch->method << PAST_METHOD,
			__ATOMIC_RELAXED);
}

/*
 * Gives the signals back, unless a location that others had changed still has trapping bytes: it is
 * in no list any more.
 */
static void patch_set_end_traps(void)
{
	bool ended = !has_lost_traps && patch_trap_end();

	if (ended)
		patch_faults_end(PATCH_FAULTS_COPIES);
	/* Relaxed: for tools that read it from outside. */
	__atomic_store_n(&side_probe_traps, !ended, __ATOMIC_RELAXED);
}

static void patch_set_end_springboards(void)
{
	uint64_t returned;

	if (!patch_springboards_remain())
		return;
	patch_springboards_return(NULL);
	if (!is_quiesced)
		return;
	patch_pages_give_back(&returned);
	patch_memory_returned(returned);
}

bool patch_quiesce(void)
{
	uint64_t kept;
	bool quiesced;

	pthread_mutex_lock(&lock);
	quiesced = !patch_any_armed();
	if (quiesced && !is_quiesced) {
		patch_springboards_return(NULL);
		kept = patch_pages_give_back(NULL);
		patch_locations_each(patch_set_store_past);
		/* A thread that finds no entry of its trap must find that there was one. */
		patch_set_sync_cores();
		patch_locations_forget();
		patch_trap_quiesce();
		patch_memory_quiesce(kept);
		is_quiesced = true;
	} else if (quiesced) {
		patch_set_end_springboards();
	}
	if (quiesced)
		patch_set_end_traps();
	pthread_mutex_unlock(&lock);
	return quiesced;
}

#define SANDBOX_TRIES 20
#define SANDBOX_PAUSE_NS 1000000

bool patch_traps_are_silent(void)
{
	return patch_resumes();
}

void patch_signals_sandbox(enum patch_sandbox sandbox)
{
	const struct timespec pause = {.tv_nsec = SANDBOX_PAUSE_NS};
	bool ended = false;

	pthread_mutex_lock(&lock);
	if (sandbox != PATCH_SANDBOX_NONE) {
		patch_faults_end(PATCH_FAULTS_LOADS | PATCH_FAULTS_COPIES);
		/* A thread may still be on its way to the handler. */
		for (unsigned int i = 0; !ended && !patch_any_breakpoint() && i < SANDBOX_TRIES;
				i++) {
			if (i)
				patch_system_call(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
			ended = patch_trap_end();
		}
		patch_signals_forward(ended || sandbox == PATCH_SANDBOX_NO_SIGNALS);
	} else {
		patch_signals_forward(false);
		if (patch_any_armed()) {
			patch_trap_renew();
			patch_faults_start(PATCH_FAULTS_COPIES);
		}
	}
	pthread_mutex_unlock(&lock);
}

void patch_check(void)
{
	if (pthread_mutex_trylock(&lock))
		return;
	patch_faults_renew();
	if (patch_any_breakpoint()) {
		patch_trap_renew();
		(void)patch_unblock();
	} else if (is_quiesced && side_probe_traps) {
		patch_set_end_traps();
	}
	patch_set_end_springboards();
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL();
}

void patch_lock_code(void)
{
	pthread_mutex_lock(&lock);
	(void)patch_set_register_barrier();
}

void patch_unlock_code(void)
{
	(void)patch_set_sync_cores();
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL();
}

void patch_forked(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	patch_unwinders_forked();
	patch_signals_forked();
}

void patch_stats(struct patch_stats *ret_stats)
{
	memset(ret_stats, 0, sizeof(*ret_stats));
	patch_hit_stats(ret_stats);
	/* Relaxed: a statistics counter. */
	ret_stats->traps = __atomic_load_n(&patch_traps, __ATOMIC_RELAXED);
	ret_stats->bytes = patch_memory_bytes();
	ret_stats->faults = patch_reading_faults();
}
