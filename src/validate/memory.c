/* SPDX-License-Identifier: MIT */
/*
 * A process may read its own memory with process_vm_readv(), which says EFAULT where a load would be a
 * SIGSEGV. Handlers of signals are the program's own business, so this is the way that changes
 * nothing in it. Where the call is forbidden (seccomp) everything counts as readable: then a wild
 * pointer is as deadly as it is to every recorder.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "validate/memory.h"

#define PAGE 4096u
#define PAGES_AT_ONCE 64u

/* How many of the bytes were read; -1 with errno. */
static ssize_t read_self(const struct iovec *to, const struct iovec *from, unsigned long nr)
{
	return process_vm_readv(getpid(), to, 1, from, nr, 0);
}

static bool is_fault(ssize_t got, size_t wanted)
{
	return got < 0 ? errno == EFAULT : (size_t)got < wanted;
}

int validate_memory_read(void *priv, uint64_t address, void *to, size_t size)
{
	struct iovec local = {.iov_base = to, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
	int saved = errno;
	ssize_t got;

	(void)priv;
	if (!size)
		return 0;
	if ((uintptr_t)address != address || (uintptr_t)address + size < (uintptr_t)address)
		return -EFAULT;
	got = read_self(&local, &remote, 1);
	if (got < 0 && errno != EFAULT) {
		memcpy(to, remote.iov_base, size);
		got = (ssize_t)size;
	}
	errno = saved;
	return got >= 0 && (size_t)got == size ? 0 : -EFAULT;
}

/* One byte of each page that the bytes touch, many pages a system call. */
bool validate_memory_readable(const void *address, size_t size)
{
	uintptr_t at = (uintptr_t)address, end = at + size;
	struct iovec pages[PAGES_AT_ONCE];
	char bytes[PAGES_AT_ONCE];
	struct iovec local = {.iov_base = bytes};
	int saved = errno;
	bool fault = end < at;
	unsigned long nr;

	while (!fault && at < end) {
		for (nr = 0; nr < PAGES_AT_ONCE && at < end; nr++) {
			pages[nr] = (struct iovec){.iov_base = (void *)at, .iov_len = 1};
			at = (at | (PAGE - 1)) + 1;
			/* The last page of the address space. */
			if (!at)
				at = end;
		}
		local.iov_len = nr;
		fault = is_fault(read_self(&local, pages, nr), nr);
	}
	errno = saved;
	return !fault;
}

/* The memory of a process has an end, and so has this loop. */
bool validate_memory_text(const void *text, unsigned int unit_size)
{
	uintptr_t at = (uintptr_t)text, known = at;
	unsigned char bytes[4];
	unsigned int i;

	for (;; at += unit_size) {
		if (at + unit_size < at)
			return false;
		/* Up to the end of the page where the unit ends the bytes can be looked at. */
		if (at + unit_size > known) {
			if (!validate_memory_readable((const void *)at, unit_size))
				return false;
			known = ((at + unit_size - 1) | (PAGE - 1)) + 1;
			if (!known)
				return false;
		}
		memcpy(bytes, (const void *)at, unit_size);
		for (i = 0; i < unit_size && !bytes[i]; i++)
			;
		if (i == unit_size)
			return true;
	}
}
