/* SPDX-License-Identifier: MIT */
/*
 * Handles signals that arrive while a thread executes displaced instructions: the program sees the
 * instruction at its own address.
 *
 * Runtimes have tables of addresses where their code may fault (WebAssembly, HotSpot, CoreCLR), and
 * read the address from the context that the kernel passes to their handler. The address of a copy
 * is in no table. So before the handler is called, the context gets the address of the original
 * instruction, and the stack pointer as it is there. If the handler returns and has changed
 * neither, the thread continues in the copy: at the site it would make a second hit. An address
 * that the handler has chosen is used unchanged: an address within the bytes of the jump traps, and
 * leads to the copy (trap.c).
 *
 * If the default action of a signal ends the process, it leaves a core dump and a message of the
 * kernel. For such signals the program's bytes are restored at the site, and the instruction faults
 * there again.
 *
 * Called in signal handlers: takes no lock, and reads nothing thread-local.
 */
#include "actions.h"
#include "arena.h"

#include <ucontext.h>

/*
 * Relaxed, as all that is read of a probe here: it was complete before its trampoline could be
 * executed.
 */
static struct patch *patch_moved_find_patch(uint64_t at, uint64_t *ret_trampoline)
{
	/* Acquire: the data of the arenas. Pairs with the release in patch_arena_map(). */
	size_t count = __atomic_load_n(&patch_nr_arenas, __ATOMIC_ACQUIRE);

	for (size_t i = 0; i < count; i++) {
		const struct patch_arena *arena = &patch_arenas[i];
		uint64_t away = at - arena->start;
		struct patch *patch;

		if (away >= arena->size)
			continue;
		if (!arena->kind.bytes || away < HEADS_BYTES)
			return NULL;
		*ret_trampoline = at - away % arena->kind.bytes;
		patch = &arena->patches[away / arena->kind.bytes];
		/* While no probe is set, the data is zeros. */
		return patch->site.runtime && patch->trampoline == *ret_trampoline ? patch : NULL;
	}
	return NULL;
}

/*
 * Returns the address of the original of the instruction at this offset of the trampoline.
 * *ret_away is the difference between the stack pointers there and here.
 */
static uint64_t patch_moved_original_of(
		const struct patch *patch, unsigned int at, int64_t *ret_away)
{
	struct patch_kind kind = patch_trampoline_kind(patch->trampoline);
	unsigned int index = 0;

	if (patch->trampoline + at < patch->hot->copy) {
		*ret_away = patch_trampoline_frames(kind.follows)[at] - 8;
		return patch->site.runtime;
	}
	for (unsigned int i = 0; i < PROBE_PIECES_MAX; i++)
		index += at >= patch->begins[i];
	*ret_away = at >= patch->pushed ? 8 : 0;
	return patch->locations[index];
}

bool patch_move_to_site(siginfo_t *info, void *context, struct patch_moved *ret_moved)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t from = (uint64_t)registers[REG_RIP], trampoline;
	struct patch *patch = patch_moved_find_patch(from, &trampoline);
	int64_t away;

	*ret_moved = (struct patch_moved){.patch = patch};
	if (!patch)
		return false;
	ret_moved->from = from;
	ret_moved->to = patch_moved_original_of(patch, (unsigned int)(from - trampoline), &away);
	ret_moved->away = away;
	ret_moved->stack = (uint64_t)(registers[REG_RSP] += away);
	registers[REG_RIP] = (greg_t)ret_moved->to;
	/* Signals whose siginfo_t contains the address of the instruction. */
	if (info->si_code > 0 && (uint64_t)(uintptr_t)info->si_addr == from)
		info->si_addr = (void *)(uintptr_t)ret_moved->to;
	return true;
}

void patch_move_back(void *context, const struct patch_moved *moved)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	if ((uint64_t)registers[REG_RIP] != moved->to ||
			(uint64_t)registers[REG_RSP] != moved->stack)
		return;
	registers[REG_RIP] = (greg_t)moved->from;
	registers[REG_RSP] -= moved->away;
}

bool patch_move_for_good(const struct patch_moved *moved)
{
	const struct patch *patch = moved->patch;
	uint64_t at = patch->site.runtime;
	unsigned int size = patch_bytes(patch);
	struct patch_writer writer;
	bool done = true;

	if (memcmp((const void *)at, patch->site.bytes, size) != 0) {
		patch_writer_open(&writer);
		done = !patch_exchange(&writer, at, patch->site.bytes, size) ||
				!patch_write(&writer, at, patch->site.bytes, size);
		patch_writer_close(&writer);
	}
	return done;
}
