/* SPDX-License-Identifier: MIT */
/*
 * Writes to code: through /proc/self/mem, which ignores the permissions of the page, or by a store.
 * Only a store changes several bytes at once for threads that execute them. For such a change the
 * page is writable and executable until the next page is written or the writer is closed. Without
 * /proc/self/mem, each write opens its page in this way.
 *
 * Code that the program itself has made writable remains writable.
 */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Wrappers recognize a call of a tracer by its return address, so the last call of a function must
 * not become a jump.
 */
#define NO_TAIL_CALL() __asm__ volatile("")

#define PAGE 4096ULL
#define WORD 16ULL

bool patch_writer_plain;

static bool patch_write_add_writable(const struct patch_mapping *mapping, void *user)
{
	struct patch_writer *writer = user;

	if (!mapping->writable || !mapping->executable)
		return true;
	if (writer->nr_writable == PATCH_WRITABLE_MAX)
		return false;
	writer->writable[writer->nr_writable].start = mapping->start;
	writer->writable[writer->nr_writable++].end = mapping->end;
	return true;
}

/* Reads which code is writable now; once for each writer, when it opens its first page. */
static void patch_write_read_writable(struct patch_writer *writer)
{
	writer->has_read_writable = true;
	writer->nr_writable = 0;
	writer->knows_writable = patch_maps_each(patch_write_add_writable, writer);
}

static bool patch_write_is_writable(const struct patch_writer *writer, uint64_t page)
{
	for (unsigned int i = 0; i < writer->nr_writable; i++) {
		if (page >= writer->writable[i].start && page < writer->writable[i].end)
			return true;
	}
	return false;
}

void patch_writer_open(struct patch_writer *writer)
{
	writer->page = 0;
	writer->has_read_writable = false;
	writer->memory = patch_writer_plain ? -1 : open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

static void patch_write_close_page(struct patch_writer *writer)
{
	if (writer->page && !patch_write_is_writable(writer, writer->page))
		mprotect((void *)writer->page, PAGE, PROT_READ | PROT_EXEC);
	writer->page = 0;
}

void patch_writer_close(struct patch_writer *writer)
{
	patch_write_close_page(writer);
	if (writer->memory >= 0)
		close(writer->memory);
	NO_TAIL_CALL();
}

static int patch_write_open_page(struct patch_writer *writer, uint64_t page)
{
	if (writer->page == page)
		return 0;
	patch_write_close_page(writer);
	if (!writer->has_read_writable)
		patch_write_read_writable(writer);
	/*
	 * There are too many to know them all. The caller writes one byte at a time, which needs no
	 * permission.
	 */
	if (!writer->knows_writable && writer->memory >= 0)
		return -EPERM;
	if (!patch_write_is_writable(writer, page) &&
			mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return errno == ENOMEM ? -ENOMEM : -EPERM;
	writer->page = page;
	return 0;
}

int patch_write(struct patch_writer *writer, uint64_t address, const void *bytes, size_t size)
{
	if (writer->memory >= 0) {
		if (pwrite(writer->memory, bytes, size, (off_t)address) == (ssize_t)size)
			return 0;
		/* Some kernels forbid it for memory that is not writable. */
		close(writer->memory);
		writer->memory = -1;
	}
	for (size_t i = 0; i < size; i++) {
		int ret = patch_write_open_page(writer, (address + i) & ~(PAGE - 1));

		if (ret)
			return ret;
		/* Relaxed: the caller's barrier makes it visible to other processors. */
		__atomic_store_n((uint8_t *)address + i, ((const uint8_t *)bytes)[i],
				__ATOMIC_RELAXED);
	}
	return 0;
}

/*
 * Replaces the 16 bytes by others, if they are still `expected`. Otherwise stores the present bytes
 * in `expected`.
 */
static bool patch_write_exchange(void *location, uint64_t expected[2], const uint64_t wanted[2])
{
	bool done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*(char(*)[WORD])location), "+a"(expected[0]),
			 "+d"(expected[1])
			 : "b"(wanted[0]), "c"(wanted[1])
			 : "memory");
	return done;
}

int patch_exchange(struct patch_writer *writer, uint64_t address, const void *bytes, size_t size)
{
	uint64_t word = address & ~(WORD - 1), expected[2], wanted[2];
	int ret;

	if (address + size > word + WORD)
		return -EXDEV;
	ret = patch_write_open_page(writer, address & ~(PAGE - 1));
	if (ret)
		return ret;
	memcpy(expected, (const void *)word, WORD);
	do {
		memcpy(wanted, expected, WORD);
		memcpy((char *)wanted + (address - word), bytes, size);
	} while (!patch_write_exchange((void *)word, expected, wanted));
	return 0;
}
