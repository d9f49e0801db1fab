/* SPDX-License-Identifier: MIT */
/*
 * Writing to code: by way of /proc/self/mem, which needs no permission of the page, or by a store. Only a store changes
 * several bytes at once for those who execute them, so for such a change a page is writable and executable until the
 * next page is written or the writer is closed. It is for as long as a write takes where /proc/self/mem cannot be used.
 *
 * Code that the program itself has made writable stays writable.
 */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The wrappers recognize a tracer's call by its return address, so the last call of a function must not be a jump. */
#define NO_TAIL_CALL() __asm__ volatile("")

#define PAGE 4096ULL
#define WORD 16ULL

bool patch_writer_plain;

static bool add_writable(const struct patch_mapping *mapping, void *user)
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

/* Code that is writable, as the kernel has it now; read once for each writer, when its first page is opened. */
static void read_writable(struct patch_writer *writer)
{
	writer->has_read_writable = true;
	writer->nr_writable = 0;
	writer->knows_writable = patch_maps_each(add_writable, writer);
}

static bool is_writable(const struct patch_writer *writer, uint64_t page)
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

static void close_page(struct patch_writer *writer)
{
	if (writer->page && !is_writable(writer, writer->page))
		mprotect((void *)writer->page, PAGE, PROT_READ | PROT_EXEC);
	writer->page = 0;
}

void patch_writer_close(struct patch_writer *writer)
{
	close_page(writer);
	if (writer->memory >= 0)
		close(writer->memory);
	NO_TAIL_CALL();
}

static int open_page(struct patch_writer *writer, uint64_t page)
{
	if (writer->page == page)
		return 0;
	close_page(writer);
	if (!writer->has_read_writable)
		read_writable(writer);
	/* Too many to know them all: one byte at a time, which needs no permission. */
	if (!writer->knows_writable && writer->memory >= 0)
		return -EPERM;
	if (!is_writable(writer, page) &&
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
		int ret = open_page(writer, (address + i) & ~(PAGE - 1));

		if (ret)
			return ret;
		/* Relaxed: other processors see it when the barrier of who writes has been passed. */
		__atomic_store_n((uint8_t *)address + i, ((const uint8_t *)bytes)[i],
				__ATOMIC_RELAXED);
	}
	return 0;
}

/* The 16 bytes that stand there become others, if they are still these. */
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
	ret = open_page(writer, address & ~(PAGE - 1));
	if (ret)
		return ret;
	memcpy(expected, (const void *)word, WORD);
	do {
		memcpy(wanted, expected, WORD);
		memcpy((char *)wanted + (address - word), bytes, size);
	} while (!patch_write_exchange((void *)word, expected, wanted));
	return 0;
}
