/* SPDX-License-Identifier: MIT */
/*
 * Read memory of the program at a hit, where it may be unmapped.
 *
 * The page of the stack pointer is always mapped. Other memory is read by loads whose faults are
 * caught (probe/patch/reading.c), or, where these are not possible, by a system call, which fails
 * where a load would fault. In a sandbox that call could end the program, so such memory counts as
 * unreadable there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "tracers/agent/context/values.h"
#include "tracers/agent/probes/probes.h"
#include "tracers/agent/context/context.h"
#include "probe/patch/call.h"
#include "base/inside/raw.h"

#define PAGE 4096u
#define LITTLE 64u

/* Plain loops: libc's functions use vector registers. */
static void probes_read_copy_memory(void *to, uint64_t from, size_t size)
{
	const volatile unsigned char *bytes = (const volatile unsigned char *)(uintptr_t)from;

	for (size_t i = 0; i < size; i++)
		((unsigned char *)to)[i] = bytes[i];
}

static long own_pid(void)
{
	return patch_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static long probes_read_pieces(void *to, size_t size, const struct iovec *remote, size_t nr)
{
	struct iovec local = {.iov_base = to, .iov_len = size};

	return patch_system_call(SYS_process_vm_readv, own_pid(), (long)&local, 1, (long)remote,
			(long)nr, 0);
}

static __attribute__((noinline)) long read_remote(void *to, uint64_t from, size_t size)
{
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};

	return probes_read_pieces(to, size, &remote, 1);
}

bool probe_are_there(uint64_t from, size_t nr, void *memory)
{
	struct iovec *pieces = memory;

	for (size_t i = 0; i < nr; i++) {
		pieces[i].iov_base = (void *)(uintptr_t)(from + i * PAGE);
		pieces[i].iov_len = 1;
	}
	return probes_read_pieces(pieces + nr, nr, pieces, nr) == (long)nr;
}

bool probe_is_first_thread(void)
{
	return patch_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0) == own_pid();
}

static bool probes_read_is_in_range(uint64_t address, const uint64_t *stack)
{
	return address / PAGE == (uintptr_t)stack / PAGE;
}

/* No program has memory here. Values that are not pointers are mostly small numbers. */
static inline bool is_nowhere(uint64_t from)
{
	return from < PAGE || from >> PATCH_ADDRESS_BITS;
}

bool probe_read(void *to, uint64_t from, size_t size, const uint64_t *stack,
		struct patch_reading **reading)
{
	if (size && size <= PAGE && probes_read_is_in_range(from, stack) &&
			probes_read_is_in_range(from + size - 1, stack)) {
		if (size == 8)
			*(uint64_t *)to = *(const volatile uint64_t *)(uintptr_t)from;
		else
			probes_read_copy_memory(to, from, size);
		return true;
	}
	if (is_nowhere(from) || (!*reading && !context_may_ask()))
		return false;
	if (patch_read(to, from, size, reading))
		return true;
	if (read_remote(to, from, size) != (long)size)
		return false;
	patch_note_read(from, size);
	return true;
}

bool probe_read_by_call(void *to, uint64_t from, size_t size)
{
	return !is_nowhere(from) && context_may_ask() && read_remote(to, from, size) == (long)size;
}

/*
 * Reads up to a NUL, at most `wanted` bytes of one page. Returns whether a NUL was found.
 * `*ret_got`: number of bytes before it, or of all bytes read; negative: nothing can be read.
 */
static bool probes_read_text(char *to, uint64_t from, size_t wanted, long *ret_got,
		struct patch_reading **reading)
{
	long is_read, i = 0;

	*ret_got = patch_read_text(to, from, wanted, reading);
	if (*ret_got >= 0)
		return *ret_got < (long)wanted;
	/* Read a few bytes first: most texts are short. */
	is_read = read_remote(to, from, wanted < LITTLE ? wanted : LITTLE);
	if (is_read <= 0)
		return false;
	patch_note_read(from, (size_t)is_read);
	while (i < is_read && to[i])
		i++;
	*ret_got = i;
	return i < is_read;
}

/* Returns the number of bytes before the NUL, or before the first byte that cannot be read. */
static size_t read_string(char *to, uint64_t from, size_t size, bool *ret_is_there,
		struct patch_reading **reading)
{
	size_t filled = 0;

	while (filled < size - 1 && !is_nowhere(from + filled) && (*reading || context_may_ask())) {
		/* One page at a time: the next one may be unmapped. */
		size_t wanted = PAGE - (from + filled) % PAGE;
		long got;
		bool ends;

		if (wanted > size - 1 - filled)
			wanted = size - 1 - filled;
		ends = probes_read_text(to + filled, from + filled, wanted, &got, reading);
		if (got < 0)
			break;
		filled += (size_t)got;
		*ret_is_there = true;
		if (ends)
			break;
	}
	to[filled] = 0;
	return filled;
}

/* ---- return addresses ---- */

/*
 * While side watches a call, the slot of its return address contains the address of a gate instead.
 * A value that is read from such a slot, or from a part of it, is that of the return address, as
 * the program expects it there. It can be the slot of the call that the hit begins, of any caller,
 * or of a call on another stack. Slots have the alignment of the stack pointer at the hit.
 */
#define SLOT sizeof(uint64_t)

/* A part of one slot: bytes `begin` to `end` - 1 of it. */
struct slot_part {
	uint64_t slot;
	unsigned int begin, end;
};

static uint64_t slot_of(const struct probes_event_hit *event_hit, uint64_t address)
{
	return address - (address - (uintptr_t)event_hit->hit->stack) % SLOT;
}

static bool is_returning_slot(const struct probes_event_hit *event_hit, uint64_t slot)
{
	return event_hit->layout->leaves && event_hit->hit->call &&
			slot == (uintptr_t)patch_returning_slot(event_hit->hit);
}

static uint64_t join_bytes(const char *bytes, unsigned int nr)
{
	uint64_t value = 0;

	/* Most values are a whole word. */
	if (nr == sizeof(value)) {
		memcpy(&value, bytes, sizeof(value));
		return value;
	}
	while (nr-- > 0)
		value = value << 8 | (unsigned char)bytes[nr];
	return value;
}

/* Most values do not contain these bytes of any gate's address, so the slot need not be read. */
static bool may_be_gate(uint64_t value, const struct slot_part *part)
{
	uint64_t first = patch_gate_range.first >> 8 * part->begin,
		 last = patch_gate_range.last >> 8 * part->begin,
		 unused = 64 - 8 * (part->end - part->begin);

	return (value - first) << unused >> unused <= last - first;
}

/*
 * Returns false if the slot contains what the program stored there. `value`: the bytes that were
 * read from it.
 */
static bool find_return_address(struct probes_event_hit *event_hit, const struct slot_part *part,
		uint64_t value, uint64_t *ret_address)
{
	uint64_t word = value;

	if (is_returning_slot(event_hit, part->slot)) {
		*ret_address = patch_return_address(event_hit->hit->returns_to);
		return true;
	}
	if (!may_be_gate(value, part))
		return false;
	if (part->end - part->begin < SLOT &&
			!probe_read(&word, part->slot, SLOT, event_hit->hit->stack,
					&event_hit->reading))
		return false;
	*ret_address = patch_return_address(word);
	return *ret_address != word;
}

static void restore_part(struct probes_event_hit *event_hit, const struct slot_part *part, char *to)
{
	uint64_t address, value = join_bytes(to, part->end - part->begin);

	if (!find_return_address(event_hit, part, value, &address))
		return;
	for (unsigned int i = part->begin; i < part->end; i++)
		*to++ = (char)(address >> 8 * i);
}

bool probe_read_as_program(struct probes_event_hit *event_hit, void *to, uint64_t from, size_t size)
{
	uint64_t end = from + size;

	if (!probe_read(to, from, size, event_hit->hit->stack, &event_hit->reading))
		return false;
	if (!patch_gate_range.last)
		return true;
	for (uint64_t slot = slot_of(event_hit, from); slot < end; slot += SLOT) {
		uint64_t begin = slot < from ? from : slot;
		struct slot_part part = {slot, (unsigned int)(begin - slot),
				end - slot < SLOT ? (unsigned int)(end - slot) : SLOT};

		restore_part(event_hit, &part, (char *)to + (begin - from));
	}
	return true;
}

/*
 * The highest byte of a gate's address is 0, so a text that contains bytes of one ends there.
 * `filled`: number of bytes before its end.
 */
static void restore_string(struct probes_event_hit *event_hit, char *to, uint64_t from,
		size_t filled, size_t size)
{
	uint64_t slot = slot_of(event_hit, from + filled), begin = slot < from ? from : slot,
		 address;
	/* Include the text's NUL, but not one that was added at the end of `to`. */
	uint64_t end = from + filled + (filled < size - 1);
	struct slot_part part = {slot, (unsigned int)(begin - slot), (unsigned int)(end - slot)};
	size_t at = begin - from;

	if (begin == end ||
			!find_return_address(event_hit, &part,
					join_bytes(to + at, part.end - part.begin), &address))
		return;
	for (unsigned int i = part.begin; i < SLOT && at < size - 1; i++) {
		to[at] = (char)(address >> 8 * i);
		if (!to[at])
			break;
		at++;
	}
	to[at] = 0;
}

bool probe_read_string(struct probes_event_hit *event_hit, char *to, uint64_t from, size_t size)
{
	bool is_there = false;
	size_t filled = read_string(to, from, size, &is_there, &event_hit->reading);

	if (is_there && patch_gate_range.last)
		restore_string(event_hit, to, from, filled, size);
	return is_there;
}
