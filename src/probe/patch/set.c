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
#define OVER 0x06 /* traps at sites where the kernel would take a breakpoint for its own */
#define JUMP 0xe9
#define SHORT_JUMP 0xeb
#define SCANS_MAX 50
#define YIELDS 10
#define GRACE_US 100
#define AT_ONCE 512
#define PAST_METHOD (PATCH_PAST_BITS + 8)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t generations;
static bool rested;
/* Springboards without a probe were returned to padding, for this patch_set() */
static bool springboards_asked;
/* a removed location may still have trapping bytes, because others have changed it */
static bool stranded;
uint64_t side_probe_traps;

/* Bytes that trap when they are executed: the breakpoint, and invalid instructions. */
static const uint8_t traps[] = {BREAKPOINT, 0x3f, 0x2f, 0x1e, 0x06};

static int patch_set_sync_cores(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) ? -ENOSYS
											 : 0;
}

/* If the first barrier succeeds, later ones do not fail. */
static int register_barrier(void)
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
static void cut_to_first(struct probe_site *site)
{
	if (site->nr_pieces == 1)
		return;
	site->nr_pieces = 1;
	site->displaced = site->pieces[0].length;
	site->ends = false;
}

static bool wants_distance(const struct patch *probe, uint8_t trap, struct patch_distance *distance)
{
	const struct probe_site *site = &probe->site;
	bool any = false;

	memset(distance, 0, sizeof(*distance));
	for (unsigned int i = 1; i < site->nr_pieces; i++) {
		unsigned int at = site->pieces[i].at;

		if (at >= PROBE_JUMP_BYTES)
			continue;
		distance->fixed[at - 1] = any = true;
		distance->value[at - 1] = trap;
	}
	if (site->method != PROBE_PUNNED)
		return any;
	for (unsigned int i = site->patched; i < PROBE_JUMP_BYTES; i++) {
		distance->fixed[i - 1] = true;
		distance->value[i - 1] = site->bytes[i];
	}
	return true;
}

static bool jump_reaches(uint64_t from, uint64_t to)
{
	int64_t away = (int64_t)(to - (from + PROBE_JUMP_BYTES));

	return away == (int32_t)away;
}

static int write_jump(struct patch_writer *writer, uint64_t from, uint64_t to)
{
	uint8_t bytes[PROBE_JUMP_BYTES] = {JUMP};
	int32_t distance = (int32_t)(to - (from + PROBE_JUMP_BYTES));

	if (!jump_reaches(from, to))
		return -ERANGE;
	memcpy(bytes + 1, &distance, 4);
	return patch_write(writer, from, bytes, sizeof(bytes));
}

/* The same where threads may be: the springboard of a location had a probe with other code. */
static int change_jump(struct patch_writer *writer, uint64_t from, uint64_t to)
{
	uint8_t bytes[PROBE_JUMP_BYTES] = {JUMP}, trap = BREAKPOINT;
	int32_t distance = (int32_t)(to - (from + PROBE_JUMP_BYTES));
	int ret;

	if (!jump_reaches(from, to))
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
static uint64_t inherited_slot(const struct patch *probe)
{
	for (const struct patch *other = *patch_location_list(probe->site.runtime); other;
			other = other->next) {
		if (other->site.runtime == probe->site.runtime && other->method == probe->method &&
				other->slot)
			return other->slot;
	}
	return 0;
}

/*
 * Writes the jump in its springboard, where there may be padding, or a jump to another trampoline
 * of the location.
 */
static int patch_set_install_springboard(const struct patch *probe, struct patch_writer *writer)
{
	bool stands = false;
	int ret;

	if (!jump_reaches(probe->slot, probe->trampoline))
		return -ERANGE;
	ret = patch_springboard_claim(probe, &stands);
	if (ret)
		return ret;
	if (stands)
		return change_jump(writer, probe->slot, probe->trampoline);
	ret = write_jump(writer, probe->slot, probe->trampoline);
	if (ret)
		patch_springboard_drop(probe->slot);
	return ret;
}

static int make_short(struct patch *probe, struct patch_writer *writer)
{
	uint64_t springboard =
			probe->site.springboard + (probe->site.runtime - probe->site.address);

	/* A thread inside could not be caught: the bytes of a short distance cannot be chosen. */
	if (probe->site.nr_pieces > 1)
		return -ERANGE;
	probe->slot = springboard;
	probe->bytes[0] = SHORT_JUMP;
	probe->bytes[1] = (uint8_t)(springboard - (probe->site.runtime + 2));
	return patch_set_install_springboard(probe, writer);
}

/* Makes the bytes of the jump at the site. It leads to a slot if its distance is constrained. */
static int make_jump(struct patch *probe, struct patch_writer *writer)
{
	uint64_t to = probe->trampoline, at = probe->site.runtime;
	struct patch_distance distance;
	bool ours = false;
	int32_t away;
	int ret;

	if (wants_distance(probe, traps[0], &distance)) {
		to = inherited_slot(probe);
		/*
		 * Another trampoline of the location may be on its other side, too far for one
		 * jump.
		 */
		if (to && !jump_reaches(to, probe->trampoline))
			to = 0;
		ours = to != 0;
		for (unsigned int i = 0; !to && i < sizeof(traps); i++) {
			wants_distance(probe, traps[i], &distance);
			to = patch_slot_memory(at, probe->trampoline, &distance);
			if (probe->site.nr_pieces == 1)
				break;
		}
		if (!to)
			return -ERANGE;
		probe->slot = to;
		ret = ours ? change_jump(writer, to, probe->trampoline)
			   : write_jump(writer, to, probe->trampoline);
		if (ret)
			return ret;
	}
	if (!jump_reaches(at, to))
		return -ERANGE;
	away = (int32_t)(to - (at + PROBE_JUMP_BYTES));
	probe->bytes[0] = JUMP;
	memcpy(probe->bytes + 1, &away, 4);
	return 0;
}

static int write_trampoline(struct patch *probe, struct patch_writer *writer)
{
	struct patch_kind kind = patch_trampoline_kind(probe->trampoline);
	uint8_t bytes[TRAMPOLINE_BYTES_MAX];
	int ret;

	ret = patch_trampoline_of(probe, kind, bytes);
	if (!ret)
		patch_trampoline_locations(probe);
	if (!ret)
		ret = patch_write(writer, probe->trampoline, bytes, kind.bytes);
	return ret;
}

static int add_traps(const struct patch *probe)
{
	for (unsigned int i = 1; i < probe->site.nr_pieces; i++) {
		if (probe->site.pieces[i].at < PROBE_JUMP_BYTES &&
				patch_trap_add(probe->site.runtime + probe->site.pieces[i].at,
						probe->hot->copy + probe->map[i]))
			return -ENOMEM;
	}
	return 0;
}

static int make_with(struct patch *probe, struct patch_writer *writer, enum probe_method method)
{
	int ret;

	probe->method = method;
	probe->slot = 0;
	if (method == PROBE_BREAKPOINT) {
		cut_to_first(&probe->site);
		probe->bytes[0] = BREAKPOINT;
	}
	ret = write_trampoline(probe, writer);
	if (!ret && method == PROBE_SHORT)
		ret = make_short(probe, writer);
	else if (!ret && method != PROBE_BREAKPOINT)
		ret = make_jump(probe, writer);
	return ret ? ret : add_traps(probe);
}

/*
 * True if threads inside of the site may meet this jump: at each inner begin of an instruction it
 * has a trap or the program's byte.
 */
static bool bytes_fit(const struct patch *probe)
{
	const struct probe_site *site = &probe->site;

	for (unsigned int i = 1; i < site->nr_pieces; i++) {
		if (site->pieces[i].at < PROBE_JUMP_BYTES &&
				!memchr(traps, probe->bytes[site->pieces[i].at], sizeof(traps)))
			return false;
	}
	for (unsigned int i = site->patched; site->method == PROBE_PUNNED && i < PROBE_JUMP_BYTES;
			i++) {
		if (probe->bytes[i] != site->bytes[i])
			return false;
	}
	return true;
}

static void patch_set_make_jump(struct patch *probe)
{
	uint64_t to = probe->slot ? probe->slot : probe->trampoline;
	int32_t away = (int32_t)(to - (probe->site.runtime + PROBE_JUMP_BYTES));

	if (probe->method == PROBE_BREAKPOINT) {
		probe->bytes[0] = BREAKPOINT;
	} else if (probe->method == PROBE_SHORT) {
		probe->bytes[0] = SHORT_JUMP;
		probe->bytes[1] = (uint8_t)(to - (probe->site.runtime + 2));
	} else {
		probe->bytes[0] = JUMP;
		memcpy(probe->bytes + 1, &away, 4);
	}
}

/*
 * For a probe from before patch_quiesce(), of which only the trampoline is known. It can be used
 * again if the code that would be generated for the site is equal byte for byte: then a thread that
 * executes it is not affected.
 */
static bool is_revived(struct patch *probe, const struct probe_site *site)
{
	struct patch_kind kind = patch_trampoline_kind(probe->trampoline);
	struct patch same = *probe;
	uint8_t bytes[TRAMPOLINE_BYTES_MAX];

	same.site = *site;
	if (same.method == PROBE_BREAKPOINT)
		cut_to_first(&same.site);
	else if (same.method != site->method)
		return false;
	if (same.method == PROBE_SHORT &&
			probe->slot != site->springboard + (site->runtime - site->address))
		return false;
	patch_set_make_jump(&same);
	if (patch_trampoline_of(&same, kind, bytes) ||
			memcmp(bytes, (const void *)probe->trampoline, kind.bytes) != 0 ||
			(same.method != PROBE_BREAKPOINT && !bytes_fit(&same)))
		return false;
	patch_trampoline_locations(&same);
	*probe = same;
	return true;
}

/* True if the probe was made for the same displaced bytes. */
static bool patch_set_belongs_to(struct patch *probe, const struct probe_site *site)
{
	if (!probe->site.nr_pieces)
		return is_revived(probe, site);
	return !memcmp(probe->site.bytes, site->bytes, sizeof(site->bytes));
}

/*
 * Makes a probe with a trampoline of so many bytes. Returns 0 or negative errno; -E2BIG: the code
 * is longer.
 */
static int patch_set_make_probe(const struct patch_setup *setup, unsigned int flags,
		unsigned int bytes, struct patch_writer *writer, struct patch **result)
{
	struct patch_kind kind = {.bytes = bytes, .follows = flags & PATCH_EXIT};
	enum probe_method method = flags & PATCH_TRAP ? PROBE_BREAKPOINT : setup->site->method;
	struct patch *probe;
	uint64_t trampoline;
	int ret;

	if (method == PROBE_BREAKPOINT && !patch_traps_return())
		return -ESHUTDOWN;
	trampoline = patch_trampoline_memory(setup->site->runtime, kind);
	if (!trampoline)
		return -ERANGE;
	probe = patch_trampoline_probe(trampoline);
	*probe = (struct patch){.site = *setup->site,
			.flags = flags,
			.trampoline = trampoline,
			.hot = probe->hot};
	*probe->hot = (struct patch_hot){.address = setup->site->runtime, .caller = &patch_no_code};
	ret = make_with(probe, writer, method);
	if (ret && ret != -EPERM && ret != -E2BIG && method != PROBE_BREAKPOINT)
		ret = patch_traps_return() ? make_with(probe, writer, PROBE_BREAKPOINT)
					   : -ESHUTDOWN;
	if (ret) {
		memset(probe->hot, 0, sizeof(*probe->hot));
		memset(probe, 0, sizeof(*probe));
		patch_trampoline_return(trampoline);
		return ret;
	}
	*result = probe;
	return 0;
}

/* Finds the probe of that location with such code, or makes one. */
static int find_probe(const struct patch_setup *setup, unsigned int flags,
		struct patch_writer *writer, struct patch **result)
{
	struct patch **location = patch_location_list(setup->site->runtime), *probe;
	int ret;

	for (probe = *location; probe; probe = probe->next) {
		if (probe->site.runtime == setup->site->runtime && probe->flags == flags &&
				patch_set_belongs_to(probe, setup->site)) {
			*result = probe;
			break;
		}
	}
	ret = probe && probe->slot && probe->method != PROBE_SHORT
			? change_jump(writer, probe->slot, probe->trampoline)
			: 0;
	if (probe && probe->method == PROBE_SHORT)
		ret = patch_set_install_springboard(probe, writer);
	/* The padding is used by other code now. */
	if (ret == -ERANGE && !(flags & PATCH_TRAP))
		return find_probe(setup, flags | PATCH_TRAP, writer, result);
	if (probe)
		return ret;
	ret = patch_set_make_probe(setup, flags, TRAMPOLINE_BYTES, writer, &probe);
	if (ret == -E2BIG)
		ret = patch_set_make_probe(setup, flags, TRAMPOLINE_BYTES_MAX, writer, &probe);
	if (ret)
		return ret;
	probe->next = *location;
	*location = probe;
	*result = probe;
	return 0;
}

/*
 * Number of bytes that must be those of the file: those that are changed, executed elsewhere, or
 * part of the distance.
 */
static unsigned int bytes_needed(const struct probe_site *site, bool breakpoint)
{
	unsigned int patched = site->method == PROBE_PUNNED ? PROBE_JUMP_BYTES : site->patched;

	if (breakpoint)
		return site->pieces[0].length;
	return site->displaced > patched ? site->displaced : patched;
}

static bool stands_as_in_file(const struct probe_site *site, bool breakpoint)
{
	unsigned int size = bytes_needed(site, breakpoint);

	return size <= site->nr_bytes && !memcmp((void *)site->runtime, site->bytes, size);
}

/* The same, but a breakpoint may be on the first byte. */
static bool stands_below_breakpoint(const struct probe_site *site)
{
	const uint8_t *there = (const uint8_t *)site->runtime;
	unsigned int size = bytes_needed(site, true);

	return size <= site->nr_bytes && (there[0] == site->bytes[0] || there[0] == BREAKPOINT) &&
			!memcmp(there + 1, site->bytes + 1, size - 1);
}

/*
 * True if all bytes that differ belong to a springboard, or are a breakpoint of the kernel after
 * the first instruction.
 */
static bool patch_set_is_beside_springboards(const struct probe_site *site)
{
	unsigned int size = bytes_needed(site, false);

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
	if (!springboards_asked && patch_springboards_remain())
		patch_springboards_return(writer);
	springboards_asked = true;
	return stands_as_in_file(site, false);
}

/*
 * True if there is a breakpoint of the kernel or a debugger, or the call that the kernel writes
 * instead of a long nop (Linux 6.18). The nop may follow another one, as in markers.
 */
static bool is_watched(const struct probe_site *site)
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
static uint32_t patch_set_inherit_generation(const struct patch *probe)
{
	const struct patch *last = probe;
	struct patch *other;

	for (other = *patch_location_list(probe->site.runtime); other; other = other->next) {
		if (other->site.runtime != probe->site.runtime)
			continue;
		if ((int32_t)(other->hot->generation - last->hot->generation) > 0)
			last = other;
		/* Relaxed: a return before this probe is set has no exit handler. */
		if (other != probe)
			__atomic_store_n(&other->hot->successor, (int32_t)(probe->hot - other->hot),
					__ATOMIC_RELAXED);
	}
	return last->flags & PATCH_EXIT ? last->hot->since : generations + 1;
}

static int patch_set_prepare_probe(struct patch_setup *setup, struct patch_writer *writer)
{
	const struct probe_site *site = setup->site;
	bool over = setup->flags & PATCH_OVER;
	unsigned int flags = (setup->flags & (PATCH_ALL | PATCH_TRAP | PATCH_EXIT)) |
			(over ? PATCH_TRAP : 0);
	struct patch *probe;
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
	if (patch_is_occupied(site->runtime, bytes_needed(site, flags & PATCH_TRAP)))
		flags |= PATCH_TRAP;
	if (patch_is_occupied(site->runtime, bytes_needed(site, flags & PATCH_TRAP)))
		return -EBUSY;
	/*
	 * Use a trap also if another probe has its springboard in the padding, or if the kernel
	 * watches the code behind the first instruction.
	 */
	if (!stands_as_in_file(site, flags & PATCH_TRAP) &&
			patch_set_is_beside_springboards(site) &&
			(setup->flags & PATCH_READY ||
					!patch_set_is_free_without_springboards(site, writer)))
		flags |= PATCH_TRAP;
	if (!(over ? stands_below_breakpoint(site) : stands_as_in_file(site, flags & PATCH_TRAP)))
		return is_watched(site) ? -EADDRINUSE : -ESTALE;
	if (setup->flags & PATCH_EXIT) {
		ret = patch_hit_follow();
		if (ret)
			return ret;
	}
	ret = find_probe(setup, flags, writer, &probe);
	if (ret)
		return ret;
	if (setup->flags & PATCH_READY)
		return -EALREADY;
	if (probe->method == PROBE_BREAKPOINT)
		probe->bytes[0] = over ? OVER : BREAKPOINT;
	/* Traps of this location lead to this trampoline from now on. */
	if (patch_trap_add(site->runtime, probe->trampoline) || add_traps(probe))
		return -ENOMEM;
	/* Relaxed, all: the barrier before the first jump makes them visible to all threads. */
	__atomic_store_n(&probe->hot->since,
			setup->flags & PATCH_GOES_ON ? patch_set_inherit_generation(probe)
						     : generations + 1,
			__ATOMIC_RELAXED);
	__atomic_store_n(&probe->hot->successor, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&probe->hot->generation, ++generations, __ATOMIC_RELAXED);
	__atomic_store_n(&probe->hot->user, setup->user, __ATOMIC_RELAXED);
	__atomic_store_n(&probe->hot->follows, setup->flags & PATCH_EXIT, __ATOMIC_RELAXED);
	__atomic_store_n(&probe->hot->entry, setup->entry, __ATOMIC_RELAXED);
	/* Release: the data of the calls that it takes over. Pairs with the acquire in leave(). */
	__atomic_store_n(&probe->hot->exit, setup->exit, __ATOMIC_RELEASE);
	probe->armed = true;
	setup->patch = probe;
	setup->method = probe->method;
	return 0;
}

/* ---- changing bytes ---- */

static bool is_inner_begin(const struct patch *probe, unsigned int at)
{
	for (unsigned int i = 1; i < probe->site.nr_pieces; i++) {
		if (probe->site.pieces[i].at == at)
			return true;
	}
	return false;
}

enum which { FIRST, INNER, BETWEEN };

/* Writes those bytes of the site; one at a time where a thread may execute them. */
static int patch_set_write_bytes(struct patch_writer *writer, const struct patch *probe,
		const uint8_t *bytes, enum which which)
{
	int ret = 0;

	if (which == FIRST)
		return patch_write(writer, probe->site.runtime, bytes, 1);
	for (unsigned int i = 1; !ret && i < patch_bytes(probe); i++) {
		unsigned int last = i;

		if (is_inner_begin(probe, i) != (which == INNER))
			continue;
		while (which == BETWEEN && last + 1 < patch_bytes(probe) &&
				!is_inner_begin(probe, last + 1))
			last++;
		ret = patch_write(writer, probe->site.runtime + i, bytes + i, last - i + 1);
		i = last;
	}
	return ret;
}

static int write_breakpoint(struct patch_writer *writer, const struct patch *probe)
{
	const uint8_t byte = BREAKPOINT;

	return patch_write(writer, probe->site.runtime, &byte, 1);
}

/*
 * A handler takes nanoseconds, unless its thread was preempted. So poll a few times first, then
 * yield the processor, and only then sleep.
 */
static void wait_until_left(const struct patch *probe)
{
	for (unsigned int i = 0; patch_hit_is_inside(probe->hot); i++) {
		if (i < SCANS_MAX)
			__builtin_ia32_pause();
		else if (i < SCANS_MAX + YIELDS)
			sched_yield();
		else
			usleep(GRACE_US);
	}
}

/* Removes the handlers of probes that are not set, and waits until no thread is in one. */
static void patch_set_free_probes(struct patch *const *probes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (probes[i]->armed)
			continue;
		/* Relaxed: ordered by the barrier, see hit.c. */
		__atomic_store_n(&probes[i]->hot->entry, NULL, __ATOMIC_RELAXED);
		__atomic_store_n(&probes[i]->hot->exit, NULL, __ATOMIC_RELAXED);
		__atomic_store_n(&probes[i]->hot->follows, false, __ATOMIC_RELAXED);
	}
	patch_set_sync_cores();
	for (size_t i = 0; i < count; i++) {
		if (!probes[i]->armed)
			wait_until_left(probes[i]);
	}
}

/*
 * Undoes a setup whose steps have begun and cannot be completed: restores the inner begins and the
 * first byte. Nothing else was written.
 */
static void patch_set_abort(struct patch_setup *setup, struct patch_writer *writer, int error)
{
	struct patch *probe = setup->patch;

	patch_set_write_bytes(writer, probe, probe->site.bytes, INNER);
	patch_set_write_bytes(writer, probe, probe->site.bytes, FIRST);
	probe->armed = false;
	patch_set_free_probes(&probe, 1);
	setup->patch = NULL;
	setup->error = error;
}

static bool at_once(struct patch *probe, struct patch_writer *writer, const uint8_t *bytes)
{
	probe->whole = !patch_exchange(writer, probe->site.runtime, bytes, patch_bytes(probe));
	return probe->whole;
}

/* Completes the sites that have begun with a breakpoint. */
static void patch_set_write_steps(
		struct patch_setup *setups, size_t count, struct patch_writer *writer)
{
	patch_set_sync_cores();
	/* The page was just written, so this does not fail any more. */
	for (size_t i = 0; i < count; i++) {
		if (setups[i].patch && !setups[i].patch->whole)
			patch_set_write_bytes(
					writer, setups[i].patch, setups[i].patch->bytes, BETWEEN);
	}
	patch_set_sync_cores();
	for (size_t i = 0; i < count; i++) {
		if (setups[i].patch && !setups[i].patch->whole)
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

		if (!setups[i].patch || at_once(setups[i].patch, writer, setups[i].patch->bytes))
			continue;
		steps = true;
		ret = write_breakpoint(writer, setups[i].patch);
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
static void cancel(struct patch_setup *setups, size_t count, int error)
{
	for (size_t i = 0; i < count; i++) {
		if (!setups[i].patch)
			continue;
		setups[i].patch->armed = false;
		/* Returns of calls that it has taken over may be in its handlers. */
		patch_set_free_probes(&setups[i].patch, 1);
		setups[i].patch = NULL;
		setups[i].error = error;
	}
}

/* Sets at most AT_ONCE probes, so that a thread does not meet many breakpoints. */
static void set_some(struct patch_setup *setups, size_t count, struct patch_writer *writer)
{
	for (size_t i = 0; i < count; i++) {
		setups[i].patch = NULL;
		setups[i].error = patch_set_prepare_probe(&setups[i], writer);
	}
	patch_frames_register();
	if (patch_unblock())
		patch_set_write_all(setups, count, writer);
	else
		cancel(setups, count, -EDEADLK);
}

static bool any_exit(const struct patch_setup *setups, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (setups[i].flags & PATCH_EXIT)
			return true;
	}
	return false;
}

/* Restores what was kept of a probe. */
static void recall(struct patch_past *past, uint64_t trampoline)
{
	uint64_t site = past->what & ((UINT64_C(1) << PATCH_PAST_BITS) - 1);
	struct patch *probe = patch_trampoline_probe(trampoline),
		     **location = patch_location_list(site);

	probe->site.runtime = probe->hot->address = site;
	probe->slot = past->slot;
	probe->flags = past->what >> PATCH_PAST_BITS & 0xff;
	probe->method = (enum probe_method)(past->what >> PAST_METHOD);
	probe->trampoline = trampoline;
	probe->hot->caller = &patch_no_code;
	patch_slot_recall(past->slot);
	probe->next = *location;
	*location = probe;
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
	if (rested)
		patch_memory_recall(recall);
	rested = springboards_asked = false;
	ret = register_barrier();
	patch_memory_scan();
	if (any_exit(setups, count))
		patch_callers_scan();
	patch_writer_open(&writer);
	for (size_t i = 0; i < count; i += AT_ONCE) {
		size_t some = count - i < AT_ONCE ? count - i : AT_ONCE;

		if (!ret)
			set_some(setups + i, some, &writer);
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

void patch_settle(struct patch *const *probes, size_t count)
{
	patch_set_sync_cores();
	for (size_t i = 0; i < count; i++)
		wait_until_left(probes[i]);
}

void patch_change_user(struct patch *probe, void *user)
{
	/* Release: what it points to. Pairs with the acquire in patch_hit_record(). */
	__atomic_store_n(&probe->hot->user, user, __ATOMIC_RELEASE);
}

/* Completes the removal of probes that has begun with a breakpoint. */
static void remove_steps(struct patch *const *probes, size_t count, struct patch_writer *writer)
{
	patch_set_sync_cores();
	for (size_t i = 0; i < count; i++) {
		if (probes[i]->leaves)
			patch_set_write_bytes(writer, probes[i], probes[i]->site.bytes, BETWEEN);
	}
	patch_set_sync_cores();
	for (size_t i = 0; i < count; i++) {
		if (probes[i]->leaves)
			patch_set_write_bytes(writer, probes[i], probes[i]->site.bytes, INNER);
	}
	for (size_t i = 0; i < count; i++) {
		if (probes[i]->leaves)
			patch_set_write_bytes(writer, probes[i], probes[i]->site.bytes, FIRST);
	}
}

static int remove_some(struct patch *const *probes, size_t count, struct patch_writer *writer)
{
	bool steps = false;
	int ret = 0;

	if (!patch_unblock())
		return -EDEADLK;
	for (size_t i = 0; i < count; i++) {
		bool there = probes[i]->armed && patch_stands(probes[i]);
		bool whole = there && at_once(probes[i], writer, probes[i]->site.bytes);
		int error = there && !whole ? write_breakpoint(writer, probes[i]) : 0;

		stranded |= probes[i]->armed && !there && patch_leaves_traps(probes[i]);
		ret = error ? error : ret;
		probes[i]->armed = error != 0;
		probes[i]->leaves = there && !whole && !error;
		steps |= probes[i]->leaves;
	}
	if (steps)
		remove_steps(probes, count, writer);
	return ret;
}

int patch_remove(struct patch *const *probes, size_t count)
{
	struct patch_writer writer;
	int ret = 0;

	patch_unblock_self();
	pthread_mutex_lock(&lock);
	patch_trap_renew();
	patch_writer_open(&writer);
	for (size_t i = 0; i < count; i += AT_ONCE) {
		int error = remove_some(
				probes + i, count - i < AT_ONCE ? count - i : AT_ONCE, &writer);

		ret = error ? error : ret;
	}
	patch_writer_close(&writer);
	patch_set_free_probes(probes, count);
	patch_copied_removed(probes, count);
	patch_release_gone(probes, count);
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

static void patch_set_store_past(struct patch *probe)
{
	struct patch_past *past = patch_trampoline_past(probe->trampoline);

	/* Relaxed, both: see patch_was_location(). */
	__atomic_store_n(&past->slot, probe->slot, __ATOMIC_RELAXED);
	__atomic_store_n(&past->what,
			probe->site.runtime | (uint64_t)probe->flags << PATCH_PAST_BITS |
					(uint64_t)probe->method << PAST_METHOD,
			__ATOMIC_RELAXED);
}

/*
 * Gives the signals back, unless a location that others had changed still has trapping bytes: it is
 * in no list any more.
 */
static void end_traps(void)
{
	bool ended = !stranded && patch_trap_end();

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
	if (!rested)
		return;
	patch_pages_give_back(&returned);
	patch_memory_returned(returned);
}

bool patch_quiesce(void)
{
	uint64_t kept;
	bool over;

	pthread_mutex_lock(&lock);
	over = !patch_any_armed();
	if (over && !rested) {
		patch_springboards_return(NULL);
		kept = patch_pages_give_back(NULL);
		patch_locations_each(patch_set_store_past);
		/* A thread that finds no entry of its trap must find that there was one. */
		patch_set_sync_cores();
		patch_locations_forget();
		patch_trap_quiesce();
		patch_memory_quiesce(kept);
		rested = true;
	} else if (over) {
		patch_set_end_springboards();
	}
	if (over)
		end_traps();
	pthread_mutex_unlock(&lock);
	return over;
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
		patch_signals_pass(ended || sandbox == PATCH_SANDBOX_NO_SIGNALS);
	} else {
		patch_signals_pass(false);
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
	} else if (rested && side_probe_traps) {
		end_traps();
	}
	patch_set_end_springboards();
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL();
}

void patch_forked(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	patch_unwinders_forked();
	patch_signals_forked();
}

void patch_stats(struct patch_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	patch_hit_stats(stats);
	/* Relaxed: a statistics counter. */
	stats->traps = __atomic_load_n(&patch_traps, __ATOMIC_RELAXED);
	stats->bytes = patch_memory_bytes();
	stats->faults = patch_reading_faults();
}
