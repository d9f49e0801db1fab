/* SPDX-License-Identifier: MIT */
/*
 * Returns pages of code that were changed and changed back to their files. The kernel has made a
 * private copy of each. If all its bytes equal those of the file again, the copy is released, and
 * the process has the file's page as before. Threads may execute the page meanwhile: they find the
 * same bytes.
 *
 * A page with any other byte is kept, be it a breakpoint of a debugger or of the kernel, a
 * relocation, or a springboard that a thread may be about to execute. Pages are also kept if the
 * file cannot be found or was replaced, or while the loader works. All pages are kept while the
 * process is traced, because the tracer may change one of them at this moment.
 */
#include "parts.h"
#include "base/inside/search.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096ULL
#define IDENTITY_BYTES 40 /* device and inode, as in /proc/self/maps */

static struct {
	uint64_t *at;
	size_t nr, capacity;
	uint64_t kept, returned; /* bytes that are still copies, and that are not any more */
} pages;

/* ---- the pages to check ---- */

static void patch_pages_count_probe(struct patch *patch)
{
	(void)patch;
	pages.capacity += 2;
}

static void patch_pages_count_springboard(uint64_t unused)
{
	(void)unused;
	pages.capacity += 2;
}

static void patch_pages_add_bytes(uint64_t address)
{
	pages.at[pages.nr++] = address & ~(PAGE - 1);
	pages.at[pages.nr++] = (address + PROBE_JUMP_BYTES - 1) & ~(PAGE - 1);
}

static void patch_pages_add_site(struct patch *patch)
{
	patch_pages_add_bytes(patch->site.runtime);
}

static int patch_pages_compare_addresses(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

static bool patch_pages_collect(void)
{
	pages.nr = pages.capacity = pages.kept = pages.returned = 0;
	patch_locations_each(patch_pages_count_probe);
	patch_springboards_each(patch_pages_count_springboard);
	if (!pages.capacity)
		return false;
	pages.at = mmap(NULL, pages.capacity * sizeof(*pages.at), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages.at == MAP_FAILED)
		return false;
	patch_locations_each(patch_pages_add_site);
	patch_springboards_each(patch_pages_add_bytes);
	qsort(pages.at, pages.nr, sizeof(*pages.at), patch_pages_compare_addresses);
	for (size_t i = 0; i < pages.nr; i++)
		pages.kept += !i || pages.at[i] != pages.at[i - 1];
	return true;
}

static bool patch_pages_is_traced(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	int tracer = 0;

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	}
	if (status)
		fclose(status);
	return !status || tracer;
}

/* ---- mappings ---- */

struct page_mapping {
	unsigned long long start, end, offset;
	char rights[8], identity[IDENTITY_BYTES];
	const char *path;
};

static bool patch_pages_read_line(char *line, struct page_mapping *ret_mapping)
{
	char device[16], inode[24];
	int path = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%llx-%llx %7s %llx %15s %23s %n", &ret_mapping->start, &ret_mapping->end,
			    ret_mapping->rights, &ret_mapping->offset, device, inode, &path) != 6 ||
			!path)
		return false;
	snprintf(ret_mapping->identity, sizeof(ret_mapping->identity), "%s %s", device, inode);
	ret_mapping->path = line + path;
	return true;
}

static bool patch_pages_maps_as(const void *there, const char *identity)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool same = false;
	char *line = NULL;
	size_t size = 0;

	while (maps && getline(&line, &size, maps) > 0) {
		struct page_mapping mapping;

		if (!patch_pages_read_line(line, &mapping) || mapping.start > (uintptr_t)there ||
				mapping.end <= (uintptr_t)there)
			continue;
		same = !strcmp(mapping.identity, identity);
		break;
	}
	free(line);
	if (maps)
		fclose(maps);
	return same;
}

/* ---- the file of a mapping ---- */

struct page_file {
	int fd; /* negative: none */
	char identity[IDENTITY_BYTES];
};

/*
 * stat() may return another device or inode than the kernel reports for mappings of the file, so a
 * mapping of it is compared.
 */
static bool patch_pages_is_file_of(int fd, const char *identity)
{
	void *there = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	bool same;

	if (there == MAP_FAILED)
		return false;
	same = patch_pages_maps_as(there, identity);
	munmap(there, PAGE);
	return same;
}

static int patch_pages_open_file_of(const struct page_mapping *mapping)
{
	char map_file[80];
	int fd = open(mapping->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0 && patch_pages_is_file_of(fd, mapping->identity))
		return fd;
	if (fd >= 0)
		close(fd);
	/* The file was deleted or moved. With enough rights it can still be opened. */
	snprintf(map_file, sizeof(map_file), "/proc/self/map_files/%llx-%llx", mapping->start,
			mapping->end);
	fd = open(map_file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && patch_pages_is_file_of(fd, mapping->identity))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void patch_pages_close_file(struct page_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	file->identity[0] = 0;
}

/* Opens the file of a mapping, unless it is open. Mappings of one file follow one another. */
static void patch_pages_select_file(struct page_file *file, const struct page_mapping *mapping)
{
	if (!strcmp(file->identity, mapping->identity))
		return;
	patch_pages_close_file(file);
	file->fd = patch_pages_open_file_of(mapping);
	strcpy(file->identity, mapping->identity);
}

/* ---- return to the file ---- */

static bool patch_pages_is_as_in_file(uint64_t page, int fd, uint64_t offset)
{
	static uint8_t there[PAGE], wanted[PAGE];
	struct iovec local = {there, PAGE}, remote = {(void *)page, PAGE};

	/*
	 * Reads through the kernel, because the page may be unmapped, or the file truncated, at
	 * this moment.
	 */
	return pread(fd, wanted, PAGE, (off_t)offset) == (ssize_t)PAGE &&
			process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)PAGE &&
			!memcmp(there, wanted, PAGE);
}

static void patch_pages_return(const struct page_mapping *mapping, struct page_file *file)
{
	uint64_t last = 0;
	size_t first = search_leading(i, pages.nr, pages.at[i] < mapping->start);

	for (size_t i = first; i < pages.nr && pages.at[i] < mapping->end; i++) {
		uint64_t page = pages.at[i];

		if (page == last)
			continue;
		last = page;
		patch_pages_select_file(file, mapping);
		if (file->fd < 0)
			break;
		if (patch_pages_is_as_in_file(
				    page, file->fd, mapping->offset + (page - mapping->start)) &&
				_r_debug.r_state == RT_CONSISTENT &&
				/* Fails if the program has locked the page. */
				!madvise((void *)page, PAGE, MADV_DONTNEED)) {
			pages.kept--;
			pages.returned++;
		}
	}
}

uint64_t patch_pages_give_back(uint64_t *ret_returned)
{
	FILE *maps = !patch_pages_collect() || patch_pages_is_traced()
			? NULL
			: fopen("/proc/self/maps", "re");
	struct page_file file = {.fd = -1};
	char *line = NULL;
	size_t size = 0;

	while (maps && getline(&line, &size, maps) > 0) {
		struct page_mapping mapping;

		if (patch_pages_read_line(line, &mapping) && !strcmp(mapping.rights, "r-xp") &&
				*mapping.path == '/')
			patch_pages_return(&mapping, &file);
	}
	patch_pages_close_file(&file);
	free(line);
	if (maps)
		fclose(maps);
	if (pages.capacity && pages.at && pages.at != MAP_FAILED)
		munmap(pages.at, pages.capacity * sizeof(*pages.at));
	pages.at = NULL;
	patch_springboards_settle();
	if (ret_returned)
		*ret_returned = pages.returned * PAGE;
	return pages.kept * PAGE;
}
