/* SPDX-License-Identifier: MIT */
/*
 * Maps a file of rings once more, so that a core dump of the traced program contains the rings.
 *
 * By default, the kernel leaves shared mappings of a linked file out of a dump (bit 3 of
 * /proc/PID/coredump_filter). It includes a private mapping if a page of it was written. The other
 * pages of that mapping still show the file, so the dump has what the rings contained when the
 * program died. The program never reads the copy.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "ring/layout.h"

/* Gives the mapping a page of its own. */
static void ring_dumped_write(unsigned char *page)
{
	volatile unsigned char *byte = page;

	*byte = *byte;
}

/*
 * gcore leaves out a mapping that has no page of its own, and stops reading a mapping where its
 * file ends. So the memory that can be revoked is a second mapping, which begins with the page
 * before lost_offset.
 */
static bool ring_dumped_map(const struct ring_layout *layout, int fd, unsigned char *base)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *rest = base + layout->lost_offset;
	size_t size = (size_t)layout->total - (size_t)layout->lost_offset + page;

	if (mmap(rest, size, PROT_READ, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, fd,
			    (off_t)(layout->lost_offset - page)) == MAP_FAILED)
		return false;
	size += (size_t)layout->lost_offset;
	/* After mlockall(), the kernel would copy all pages of a private mapping on mprotect(). */
	if (munlock(base, size) || mprotect(base, size, PROT_READ | PROT_WRITE))
		return false;
	ring_dumped_write(base);
	ring_dumped_write(rest);
	return !mprotect(base, size, PROT_READ);
}

void ring_dumped_open(struct ring_memory *memory, int fd)
{
	size_t size = (size_t)memory->layout.total + (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *base = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, fd, 0);

	if (base == MAP_FAILED)
		return;
	if (!ring_dumped_map(&memory->layout, fd, base)) {
		munmap(base, size);
		/* No jump to another library: a wrapper knows its callers by their return addresses. */
		__asm__ volatile("");
		return;
	}
	memory->dumped = base;
	memory->dumped_size = size;
}

void ring_dumped_close(struct ring_memory *memory)
{
	if (memory->dumped)
		munmap(memory->dumped, memory->dumped_size);
	memory->dumped = NULL;
}
