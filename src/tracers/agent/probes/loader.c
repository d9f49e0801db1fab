/* SPDX-License-Identifier: MIT */
/*
 * Libraries that come and go: the loader calls a function that does nothing, for debuggers, whenever its list has changed and is
 * whole again: before the constructors of a library, and after it is unmapped. A probe of our own is put there.
 *
 * What follows happens in the thread that loads, with the loader's lock: as in notifications of libside, which come from
 * constructors. It may take the event lock, since nobody asks the loader with that.
 */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/probes/probes.h"
#include "tracers/agent/core/debug.h"

/* What stands behind a lone return, up to the next function, as assemblers fill it. Four bytes of it are enough. */
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

static void on_change(const struct patch_hit *hit)
{
	(void)hit;
	if (_r_debug.r_state == RT_CONSISTENT)
		probe_hit_saved(agent_probes_libraries_changed);
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
	struct patch_setup setup = {.site = &site, .entry = on_change};

	/* A loader that is made otherwise: libraries are then looked for with each change of rules only. */
	if (probe || !code || !is_lone_return(code))
		return;
	memcpy(site.bytes, code, PROBE_JUMP_BYTES);
	if (patch_set(&setup, 1))
		agent_debug("libraries that are loaded later are not seen: error %d", -setup.error);
	probe = setup.patch;
}

void probes_loader_stop(void)
{
	if (probe && !patch_remove(&probe, 1))
		probe = NULL;
}
