/* SPDX-License-Identifier: MIT */
/*
 * Checks whether this process can read an address.
 *
 * process_vm_readv() on the own process returns EFAULT where a load would raise SIGSEGV. This needs
 * no signal handler, which belongs to the program. Where the call is forbidden (seccomp), all
 * memory counts as readable: a wild pointer is then as fatal as with any recorder.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracers/validate/memory.h"

#define PAGE 4096u
#define PAGES_AT_ONCE 64u

/* Returns the number of bytes read, or -1 with errno set. */
static ssize_t validate_memory_read_self(
		const struct iovec *to, const struct iovec *from, unsigned long nr)
{
	return process_vm_readv(getpid(), to, 1, from, nr, 0);
}

/*
 * True if the kernel can read the address on behalf of this process. process_vm_readv() cannot read
 * memory such as a device's or that of memfd_secret(), although its process can. If it fails with
 * EFAULT, this makes a system call that reads a signal set before it refuses its first argument.
 */
static bool validate_memory_is_read_by_itself(const void *address)
{
#ifdef __mips__ /* its signal sets have another size, and the size is checked first */
	(void)address;
	return false;
#else
	return syscall(SYS_rt_sigprocmask, -1, (uintptr_t)address & ~(uintptr_t)7, NULL, 8) < 0 &&
			errno == EINVAL;
#endif
}

/* Returns the start of the next page, or `end` if there is none. */
static uintptr_t validate_memory_next_page(uintptr_t at, uintptr_t end)
{
	at = (at | (PAGE - 1)) + 1;
	/* 0: `at` was in the last page of the address space. */
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
	got = validate_memory_read_self(&local, &remote, 1);
	if (got < 0 && errno != EFAULT) {
		memcpy(to, remote.iov_base, size);
		got = (ssize_t)size;
	}
	errno = saved;
	return got >= 0 && (size_t)got == size ? 0 : -EFAULT;
}

/* Read one byte of each page in the range, many pages with one system call. */
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
			at = validate_memory_next_page(at, end);
		}
		local.iov_len = nr;
		got = validate_memory_read_self(&local, pages, nr);
		if (got < 0 && errno != EFAULT)
			continue;
		got = got < 0 ? 0 : got;
		if ((unsigned long)got == nr)
			continue;
		/* Continue after the first page that was not read. */
		fault = !validate_memory_is_read_by_itself(pages[got].iov_base);
		at = validate_memory_next_page((uintptr_t)pages[got].iov_base, end);
	}
	errno = saved;
	return !fault;
}

/* Ends at the latest at the end of the address space. */
bool validate_memory_text(const void *text, unsigned int unit_size)
{
	uintptr_t at = (uintptr_t)text, known = at;
	unsigned char bytes[4];
	unsigned int i;

	for (;; at += unit_size) {
		if (at + unit_size < at)
			return false;
		/* Known to be readable up to the end of the page in which the last unit ends. */
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
