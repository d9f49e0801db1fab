/* SPDX-License-Identifier: MIT */
/*
 * A process may read its own memory with process_vm_readv(), which says EFAULT where a load would be a
 * SIGSEGV. Handlers of signals are the program's own business, so this is the way that changes
 * nothing in it. Where the call is forbidden (seccomp) everything counts as readable: then a wild
 * pointer is as deadly as it is to every recorder.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracers/validate/memory.h"

#define PAGE 4096u
#define PAGES_AT_ONCE 64u

/* How many of the bytes were read; -1 with errno. */
static ssize_t read_self(const struct iovec *to, const struct iovec *from, unsigned long nr)
{
	return process_vm_readv(getpid(), to, 1, from, nr, 0);
}

/*
 * Memory that is not the kernel's to hand out (a device's, that of memfd_secret()) counts as unreadable for process_vm_readv(), but its
 * process reads it. So where that says EFAULT another call is asked, which reads a set of signals before it
 * finds that it does not know what to do with it.
 */
static bool is_read_by_itself(const void *address)
{
#ifdef __mips__ /* its sets have another size, and a wrong one is found first */
	(void)address;
	return false;
#else
	return syscall(SYS_rt_sigprocmask, -1, (uintptr_t)address & ~(uintptr_t)7, NULL, 8) < 0 &&
			errno == EINVAL;
#endif
}

/* The begin of the next page, and no more than the end. */
static uintptr_t next_page(uintptr_t at, uintptr_t end)
{
	at = (at | (PAGE - 1)) + 1;
	/* The last page of the address space. */
	return at ? at : end;
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
	ssize_t got;

	while (!fault && at < end) {
		for (nr = 0; nr < PAGES_AT_ONCE && at < end; nr++) {
			pages[nr] = (struct iovec){.iov_base = (void *)at, .iov_len = 1};
			at = next_page(at, end);
		}
		local.iov_len = nr;
		got = read_self(&local, pages, nr);
		if (got < 0 && errno != EFAULT)
			continue;
		got = got < 0 ? 0 : got;
		if ((unsigned long)got == nr)
			continue;
		/* Behind the first that was not read it goes on. */
		fault = !is_read_by_itself(pages[got].iov_base);
		at = next_page((uintptr_t)pages[got].iov_base, end);
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
