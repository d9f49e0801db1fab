/* SPDX-License-Identifier: MIT */
/*
 * Memory of the program that may not be there, read where a probe hits. The page of the stack pointer is there. Other memory is read
 * by loads whose faults are caught (probe/patch/reading.c), or, where these may not be, by a system call, which fails where an instruction would
 * fault. In a sandbox that call could be the program's end, so nothing is there then.
 */
#include <string.h>
#include <sys/uio.h>

#include "agent/context-values.h"
#include "agent/probes.h"
#include "probe/patch/call.h"
#include "wire/raw.h"

#define PAGE 4096u
#define LITTLE 64u

/* Plain loops: what libc has for it uses vector registers. */
static void copy(void *to, uint64_t from, size_t size)
{
	const volatile unsigned char *bytes = (const volatile unsigned char *)(uintptr_t)from;

	for (size_t i = 0; i < size; i++)
		((unsigned char *)to)[i] = bytes[i];
}

static long own_pid(void)
{
	return patch_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static long read_pieces(void *to, size_t size, const struct iovec *remote, size_t nr)
{
	struct iovec local = {.iov_base = to, .iov_len = size};

	return patch_system_call(SYS_process_vm_readv, own_pid(), (long)&local, 1, (long)remote,
			(long)nr, 0);
}

static __attribute__((noinline)) long read_remote(void *to, uint64_t from, size_t size)
{
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};

	return read_pieces(to, size, &remote, 1);
}

bool probe_are_there(uint64_t from, size_t nr, void *memory)
{
	struct iovec *pieces = memory;

	for (size_t i = 0; i < nr; i++) {
		pieces[i].iov_base = (void *)(uintptr_t)(from + i * PAGE);
		pieces[i].iov_len = 1;
	}
	return read_pieces(pieces + nr, nr, pieces, nr) == (long)nr;
}

bool probe_is_first_thread(void)
{
	return patch_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0) == own_pid();
}

static bool is_near(uint64_t address, const uint64_t *stack)
{
	return address / PAGE == (uintptr_t)stack / PAGE;
}

/* Where no program has memory: what is no pointer is mostly a small number. */
static inline bool is_nowhere(uint64_t from)
{
	return from < PAGE || from >> PATCH_ADDRESS_BITS;
}

bool probe_read(void *to, uint64_t from, size_t size, const uint64_t *stack,
		struct patch_reading **reading)
{
	if (size && size <= PAGE && is_near(from, stack) && is_near(from + size - 1, stack)) {
		if (size == 8)
			*(uint64_t *)to = *(const volatile uint64_t *)(uintptr_t)from;
		else
			copy(to, from, size);
		return true;
	}
	if (is_nowhere(from) || (!*reading && !context_may_ask()))
		return false;
	if (patch_read(to, from, size, reading))
		return true;
	if (read_remote(to, from, size) != (long)size)
		return false;
	patch_read_so(from, size);
	return true;
}

/*
 * As much of a page as there is room for, up to a NUL: whether there is one. `got` is how much is before it, or without it; negative:
 * nothing can be read.
 */
static bool read_text(
		char *to, uint64_t from, size_t wanted, long *got, struct patch_reading **reading)
{
	long is_read, i = 0;

	*got = patch_read_text(to, from, wanted, reading);
	if (*got >= 0)
		return *got < (long)wanted;
	/* A little: most strings are short. */
	is_read = read_remote(to, from, wanted < LITTLE ? wanted : LITTLE);
	if (is_read <= 0)
		return false;
	patch_read_so(from, (size_t)is_read);
	while (i < is_read && to[i])
		i++;
	*got = i;
	return i < is_read;
}

bool probe_read_string(char *to, uint64_t from, size_t size, struct patch_reading **reading)
{
	size_t filled = 0;

	while (filled < size - 1 && !is_nowhere(from + filled) && (*reading || context_may_ask())) {
		/* A page at a time: what follows may be missing. */
		size_t wanted = PAGE - (from + filled) % PAGE;
		long got;

		if (wanted > size - 1 - filled)
			wanted = size - 1 - filled;
		if (read_text(to + filled, from + filled, wanted, &got, reading))
			return true;
		if (got < 0)
			break;
		filled += (size_t)got;
	}
	to[filled] = 0;
	return filled > 0;
}
