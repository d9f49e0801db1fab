/* SPDX-License-Identifier: MIT */
/*
 * Detect that libraries are loaded or unloaded.
 *
 * The loader calls an empty function, for debuggers, whenever it has changed its list and the list
 * is consistent: before the constructors of a library, and after it is unmapped. The agent sets a
 * probe on that function.
 *
 * The handler runs in the thread that loads, while it holds the loader's lock, as libside's own
 * notifications do, which come from constructors. It may take the event lock, because no code calls
 * the loader while it holds the event lock.
 */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/probes/probes.h"
#include "tracers/agent/core/debug.h"

/*
 * The bytes that assemblers insert after a lone return, up to the next function. Four bytes are
 * enough to recognize them.
 */
static const char *const paddings[] = {"\x66\x66\x2e\x0f", "\x66\x2e\x0f\x1f", "\x0f\x1f\x80\x00",
		"\x0f\x1f\x40\x00", "\x66\x0f\x1f\x44", "\x0f\x1f\x44\x00", "\x90\x90\x90\x90",
		"\xcc\xcc\xcc\xcc"};

#define RETURN 0xc3

static struct patch *probe;

static bool is_lone_return(const uint8_t *code)
{
	unsigned int i;

	if (code[0] != RETURN)
		return false;
	for (i = 0; i < sizeof(paddings) / sizeof(paddings[0]); i++)
		if (!memcmp(code + 1, paddings[i], 4))
			return true;
	return false;
}

/*
 * The removal of the probe waits for its handlers, with the event lock, for which a handler may be
 * waiting. So the probe is removed only while no handler waits, and none begins to.
 */
static unsigned int nr_inside;
static bool is_stopping;

static void loader_list_changed(const struct patch_hit *hit)
{
	(void)hit;
	if (_r_debug.r_state != RT_CONSISTENT)
		return;
	/*
	 * Sequentially consistent: either this thread sees the stop, or the stop sees this one.
	 * Pairs with the store and the load in probes_loader_stop().
	 */
	__atomic_fetch_add(&nr_inside, 1, __ATOMIC_SEQ_CST);
	/* Sequentially consistent: pairs with the store in probes_loader_stop(). */
	if (!__atomic_load_n(&is_stopping, __ATOMIC_SEQ_CST))
		probe_hit_saved(agent_probes_libraries_changed);
	/* Relaxed: a stop that sees it later tries again. */
	__atomic_fetch_sub(&nr_inside, 1, __ATOMIC_RELAXED);
}

void probes_loader_start(void)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)_r_debug.r_brk;
	struct probe_site site = {.runtime = (uintptr_t)code,
			.address = (uintptr_t)code,
			.method = PROBE_PADDING,
			.displaced = 1,
			.patched = PROBE_JUMP_BYTES,
			.ends = true,
			.nr_pieces = 1,
			.pieces = {{.length = 1}},
			.nr_bytes = PROBE_JUMP_BYTES};
	struct patch_setup setup = {.site = &site, .entry = loader_list_changed};

	/* The loader has another form: libraries are then found only when rules change. */
	if (probe || !code || !is_lone_return(code))
		return;
	memcpy(site.bytes, code, PROBE_JUMP_BYTES);
	if (patch_set(&setup, 1))
		agent_debug("cannot watch for libraries that are loaded later: error %d",
				-setup.error);
	probe = setup.patch;
}

bool probes_loader_stop(void)
{
	bool is_free;

	/* Sequentially consistent: pairs with loader_list_changed(). */
	__atomic_store_n(&is_stopping, true, __ATOMIC_SEQ_CST);
	/* Sequentially consistent: pairs with loader_list_changed(). */
	is_free = !__atomic_load_n(&nr_inside, __ATOMIC_SEQ_CST);
	if (is_free && probe && !patch_remove(&probe, 1))
		probe = NULL;
	/* Sequentially consistent: pairs with loader_list_changed(). */
	__atomic_store_n(&is_stopping, false, __ATOMIC_SEQ_CST);
	return is_free;
}

void probes_loader_forked(void)
{
	/* Relaxed: the child has one thread, which is in no handler. */
	__atomic_store_n(&nr_inside, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&is_stopping, false, __ATOMIC_RELAXED);
}
