/* SPDX-License-Identifier: MIT */
/*
 * Memory of the program that may not be there, read where a probe hits: by a system call, which fails where an
 * instruction would fault. The page of the stack pointer is there, and most of what is asked for is in it.
 */
#include <string.h>
#include <sys/uio.h>

#include "agent/probes.h"
#include "probe/patch/call.h"
#include "wire/raw.h"

#define PAGE 4096u

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

static long read_remote(void *to, uint64_t from, size_t size)
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

bool probe_read(void *to, uint64_t from, size_t size, const uint64_t *stack)
{
	if (size && size <= PAGE && is_near(from, stack) && is_near(from + size - 1, stack)) {
		if (size == 8)
			*(uint64_t *)to = *(const volatile uint64_t *)(uintptr_t)from;
		else
			copy(to, from, size);
		return true;
	}
	return read_remote(to, from, size) == (long)size;
}

bool probe_read_string(char *to, uint64_t from, size_t size)
{
	size_t filled = 0;

	while (filled < size - 1) {
		/* A page at a time, and a little at first: most strings are short, and what follows may be missing. */
		size_t wanted = PAGE - (from + filled) % PAGE, i;
		long got;

		if (wanted > 64 && !filled)
			wanted = 64;
		if (wanted > size - 1 - filled)
			wanted = size - 1 - filled;
		got = read_remote(to + filled, from + filled, wanted);
		if (got <= 0)
			break;
		for (i = 0; i < (size_t)got; i++)
			if (!to[filled + i])
				return true;
		filled += (size_t)got;
	}
	to[filled] = 0;
	return filled > 0;
}
