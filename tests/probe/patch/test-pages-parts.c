/* SPDX-License-Identifier: MIT */
/*
 * Exact values of pages that are returned to their file, and of probes whose file is unmapped. The
 * test maps a file of its own, changes its pages, and plays the lists of probes and springboards.
 * It includes the files, so that it can call their static functions.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/patch/parts.h"

#include "../../check.h"
#include "../../resources.h"

static struct patch made[8];
static uint64_t springboards[4];
static unsigned int nr_probes, nr_springboards, nr_settled;
static char calls[512];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t used = strlen(calls);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(calls + used, sizeof(calls) - used, format, arguments);
	va_end(arguments);
}

static void fake_each(void (*visit)(struct patch *patch))
{
	for (unsigned int i = 0; i < nr_probes; i++)
		visit(&made[i]);
}

static void fake_each_springboard(void (*visit)(uint64_t address))
{
	for (unsigned int i = 0; i < nr_springboards; i++)
		visit(springboards[i]);
}

static void fake_settle(void)
{
	nr_settled++;
}

static struct patch_past pasts[8];

static struct patch_past *fake_past(uint64_t trampoline)
{
	return &pasts[trampoline];
}

static void fake_return(uint64_t trampoline)
{
	note("body %u ", (unsigned int)trampoline);
}

static void fake_forget(uint64_t address)
{
	note("springboard %u ", (unsigned int)address);
}

static void fake_slot(uint64_t slot)
{
	note("slot %u ", (unsigned int)slot);
}

static uint64_t base_address;

static void fake_trap(uint64_t address)
{
	note("trap %u ", (unsigned int)(address - base_address));
}

/* Files that are opened, and memory that is mapped. */
static char opened[2][80];
static int opened_flags[2];
static unsigned int nr_opened, nr_mapped;
static size_t mapped_size;
static bool map_fails;

static int hooked_open(const char *file, int flags)
{
	snprintf(opened[nr_opened % 2], sizeof(opened[0]), "%s", file);
	opened_flags[nr_opened++ % 2] = flags;
	return open(file, flags);
}

static void *hooked_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	nr_mapped++;
	mapped_size = size;
	return map_fails ? MAP_FAILED : mmap(at, size, protection, flags, fd, offset);
}

#define open hooked_open
#define mmap hooked_mmap
#define patch_locations_each fake_each
#define patch_springboards_each fake_each_springboard
#define patch_springboards_settle fake_settle
#include "probe/patch/pages.c"
#undef patch_locations_each
#undef open
#undef mmap

#define patch_trampoline_past fake_past
#define patch_trampoline_return fake_return
#define patch_springboard_forget fake_forget
#define patch_slot_return fake_slot
#define patch_trap_remove fake_trap
#include "probe/patch/installed.c"

#define FILE_PAGES 6

static uint8_t *code;
static char path[] = "/tmp/side-test-pages-XXXXXX";

static void write_there(const void *address, const void *bytes, size_t size)
{
	int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	CHECK(memory >= 0 &&
			pwrite(memory, bytes, size, (off_t)(uintptr_t)address) == (ssize_t)size);
	close(memory);
}

/* The process has a private copy of the page; then its bytes are those of the file again. */
static void change(unsigned int page, bool back)
{
	uint8_t *at = code + page * PAGE + 100, before = *at, other = (uint8_t)(before + 1);

	write_there(at, &other, 1);
	if (back)
		write_there(at, &before, 1);
}

static unsigned int private_kilobytes(void)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	unsigned long start, end;
	unsigned int kilobytes = 0, found = 0;
	bool here = false;
	char line[512];

	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = start >= (uintptr_t)code &&
					start < (uintptr_t)code + FILE_PAGES * PAGE;
		else if (here && sscanf(line, "Anonymous: %u", &kilobytes) == 1)
			found += kilobytes;
	}
	(void)fclose(maps);
	return found;
}

static void set(unsigned int index, size_t at)
{
	made[index] = (struct patch){.site = {.runtime = (uintptr_t)code + at}};
	nr_probes = index + 1;
}

static void map_file(void)
{
	uint8_t bytes[FILE_PAGES * PAGE];
	int fd;

	strcpy(path, "/tmp/side-test-pages-XXXXXX");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i / PAGE * 40 + i % 37);
	CHECK(write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes));
	code = mmap(NULL, sizeof(bytes), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(code != MAP_FAILED && !close(fd));
	base_address = (uintptr_t)code;
}

static void unmap_file(void)
{
	munmap(code, FILE_PAGES * PAGE);
	unlink(path);
}

static void test_returned(void)
{
	struct resources before;
	uint64_t returned = 77;

	map_file();
	/* The program may have a copy of it, made while it was loaded. */
	_r_debug.r_state = RT_CONSISTENT;
	before = resources_now();
	/* No probe: no page is checked. */
	nr_probes = nr_springboards = nr_settled = 0;
	CHECK(patch_pages_give_back(&returned) == 0 && !returned && nr_settled == 1);
	/*
	 * Two probes of one page, one across the end of a page, a springboard. Another page is not
	 * checked.
	 */
	set(0, 10);
	set(1, 2 * PAGE - 4);
	set(2, 100);
	springboards[0] = (uintptr_t)code + 4 * PAGE - 5;
	nr_springboards = 1;
	for (unsigned int i = 0; i < FILE_PAGES; i++)
		change(i, i != 2);
	CHECK(private_kilobytes() == 4 * FILE_PAGES);
	/* Pages 0, 1 and 3 are as in the file; page 2 is not. */
	CHECK(patch_pages_give_back(&returned) == PAGE && returned == 3 * PAGE && nr_settled == 2);
	CHECK(private_kilobytes() == 4 * 3 && resources_are_same(before, resources_now()) &&
			!pages.at);
	CHECK(code[2 * PAGE + 100] == (uint8_t)(80 + (2 * PAGE + 100) % 37 + 1));
	/* The last byte of a springboard is in the next page. */
	springboards[0]++;
	CHECK(patch_pages_give_back(NULL) == PAGE && private_kilobytes() == 4 * 2);
	/* While the loader works, no page is returned. */
	change(0, true);
	nr_springboards = 0;
	nr_probes = 1;
	_r_debug.r_state = RT_ADD;
	CHECK(patch_pages_give_back(&returned) == PAGE && !returned &&
			private_kilobytes() == 4 * 3);
	_r_debug.r_state = RT_CONSISTENT;
	CHECK(patch_pages_give_back(&returned) == 0 && returned == PAGE);
	/* Nor pages that the program has locked, or writable code. */
	change(0, true);
	if (!mlock(code, PAGE)) {
		CHECK(patch_pages_give_back(&returned) == PAGE && !returned);
		munlock(code, PAGE);
	}
	CHECK(!mprotect(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
	CHECK(patch_pages_give_back(&returned) == PAGE && !returned);
	CHECK(!mprotect(code, PAGE, PROT_READ | PROT_EXEC));
	CHECK(patch_pages_give_back(&returned) == 0 && returned == PAGE);
	/* The file has another content by now. */
	{
		int fd = open(path, O_RDWR | O_CLOEXEC);
		uint8_t byte = 99;

		change(0, true);
		CHECK(fd >= 0 && pwrite(fd, &byte, 1, 5) == 1);
		CHECK(patch_pages_give_back(&returned) == PAGE && !returned);
		CHECK(pwrite(fd, &(uint8_t){5}, 1, 5) == 1);
		CHECK(patch_pages_give_back(&returned) == 0 && returned == PAGE);
		close(fd);
	}
	/* Another file has its name. */
	change(0, true);
	{
		int fd;

		CHECK(!unlink(path));
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		CHECK(fd >= 0 && write(fd, code, PAGE) == (ssize_t)PAGE && !close(fd));
	}
	before = resources_now();
	(void)patch_pages_give_back(&returned);
	CHECK(resources_are_same(before, resources_now()));
	unmap_file();
}

/* Two pages for each probe and each springboard. */
static void test_collected(void)
{
	uint64_t returned = 5;

	map_file();
	nr_probes = nr_springboards = nr_mapped = 0;
	CHECK(!patch_pages_collect() && !nr_mapped);
	for (unsigned int i = 0; i < 5; i++)
		set(i, (5 - i) * PAGE - (i == 3 ? 3 : 50));
	springboards[0] = (uintptr_t)code + 10;
	springboards[1] = (uintptr_t)code + 2 * PAGE;
	nr_springboards = 2;
	CHECK(patch_pages_collect() && pages.capacity == 14 && pages.nr == 14 && nr_mapped == 1 &&
			mapped_size == 14 * sizeof(uint64_t) && pages.kept == 5 && !pages.returned);
	for (unsigned int i = 1; i < 14; i++)
		CHECK(pages.at[i - 1] <= pages.at[i]);
	CHECK(pages.at[0] == (uintptr_t)code && pages.at[13] == (uintptr_t)code + 4 * PAGE);
	CHECK(!munmap(pages.at, 14 * sizeof(uint64_t)));
	map_fails = true;
	nr_opened = 0;
	CHECK(patch_pages_give_back(&returned) == 0 && !returned && !pages.at && !nr_opened);
	map_fails = false;
	unmap_file();
}

/* By its name; if that is another file or none, by the mapping. */
static void test_opened(void)
{
	const int flags = O_RDONLY | O_CLOEXEC;
	unsigned int descriptors;
	struct page_mapping mapping;
	char line[300], by_mapping[80];
	int fd;

	map_file();
	snprintf(line, sizeof(line), "%lx-%llx r-xp 0 00:00 0 ", (unsigned long)(uintptr_t)code,
			(unsigned long)(uintptr_t)code + FILE_PAGES * PAGE);
	CHECK(patch_pages_read_line(line, &mapping) && !*mapping.path);
	mapping.path = path;
	{
		FILE *maps = fopen("/proc/self/maps", "re");
		char other[300];
		struct page_mapping found;

		while (fgets(other, sizeof(other), maps)) {
			if (patch_pages_read_line(other, &found) && found.start == (uintptr_t)code)
				strcpy(mapping.identity, found.identity);
		}
		(void)fclose(maps);
	}
	snprintf(by_mapping, sizeof(by_mapping), "/proc/self/map_files/%lx-%llx",
			(unsigned long)(uintptr_t)code,
			(unsigned long)(uintptr_t)code + FILE_PAGES * PAGE);
	descriptors = resources_descriptors();
	nr_opened = 0;
	fd = patch_pages_open_file_of(&mapping);
	CHECK(fd >= 0 && nr_opened == 1 && !strcmp(opened[0], path) &&
			opened_flags[0] == (flags | O_NOCTTY | O_NONBLOCK) && !close(fd));
	/* Another file has the name. The right to open the mapping may be missing. */
	CHECK(!unlink(path));
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, code, PAGE) == (ssize_t)PAGE && !close(fd));
	for (int round = 0; round < 2; round++) {
		nr_opened = 0;
		fd = patch_pages_open_file_of(&mapping);
		CHECK(nr_opened == 2 && !strcmp(opened[1], by_mapping) && opened_flags[1] == flags);
		CHECK(resources_descriptors() == descriptors + (fd >= 0) && (fd < 0 || !close(fd)));
		/* Then the name does not exist. */
		unlink(path);
	}
	/* The mapping is of another file, too. */
	strcpy(mapping.identity, "00:00 1");
	CHECK(patch_pages_open_file_of(&mapping) == -1 && resources_descriptors() == descriptors);
	/* Lines of another form. */
	strcpy(line, "7f00-8f00 r-xp 0 fe:01\n");
	CHECK(!patch_pages_read_line(line, &mapping));
	strcpy(line, "heap");
	CHECK(!patch_pages_read_line(line, &mapping));
	unmap_file();
}

/* The mapping before ends where this one begins; nothing is mapped before the first one. */
static void test_neighbours(void)
{
	struct page_mapping mapping;
	char line[300], first[IDENTITY_BYTES] = "";
	void *before;
	FILE *maps;

	map_file();
	before = mmap(code - PAGE, PAGE, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	maps = fopen("/proc/self/maps", "re");
	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		CHECK(patch_pages_read_line(line, &mapping));
		if (!*first)
			strcpy(first, mapping.identity);
		if (mapping.start == (uintptr_t)code)
			break;
	}
	(void)fclose(maps);
	CHECK(patch_pages_maps_as(code, mapping.identity) &&
			!patch_pages_maps_as((void *)16, first));
	if (before != MAP_FAILED)
		CHECK(patch_pages_maps_as(before, "00:00 0") && !munmap(before, PAGE));
	unmap_file();
}

/* A traced process keeps all pages. */
static void test_traced(void)
{
	int status;
	pid_t child;

	CHECK(!patch_pages_is_traced());
	child = fork();
	if (!child) {
		CHECK(!ptrace(PTRACE_TRACEME, 0, 0, 0));
		_exit(patch_pages_is_traced() ? 3 : 4);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void test_files(void)
{
	struct page_mapping mapping = {.start = 1}, other;
	struct page_file file = {.fd = -1};
	unsigned int descriptors;
	char line[300];
	FILE *maps;

	map_file();
	descriptors = resources_descriptors();
	maps = fopen("/proc/self/maps", "re");
	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (patch_pages_read_line(line, &mapping) && mapping.start == (uintptr_t)code)
			break;
	}
	(void)fclose(maps);
	CHECK(mapping.end == (uintptr_t)code + FILE_PAGES * PAGE && !strcmp(mapping.path, path));
	CHECK(patch_pages_maps_as(code, mapping.identity) &&
			patch_pages_maps_as(code + FILE_PAGES * PAGE - 1, mapping.identity) &&
			!patch_pages_maps_as(code, "00:00 0") &&
			!patch_pages_maps_as(&descriptors, mapping.identity) &&
			!patch_pages_maps_as((void *)16, mapping.identity));
	patch_pages_select_file(&file, &mapping);
	CHECK(file.fd >= 0 && !strcmp(file.identity, mapping.identity) &&
			resources_descriptors() == descriptors + 1);
	CHECK(patch_pages_is_file_of(file.fd, mapping.identity) &&
			!patch_pages_is_file_of(file.fd, "00:00 0") &&
			!patch_pages_is_file_of(-1, mapping.identity));
	CHECK(patch_pages_is_as_in_file((uintptr_t)code + PAGE, file.fd, PAGE) &&
			!patch_pages_is_as_in_file((uintptr_t)code + PAGE, file.fd, 0) &&
			!patch_pages_is_as_in_file((uintptr_t)code, file.fd, FILE_PAGES * PAGE) &&
			!patch_pages_is_as_in_file(16, file.fd, 0));
	patch_pages_select_file(&file, &mapping);
	CHECK(resources_descriptors() == descriptors + 1);
	/* Another file: the former one is closed. */
	other = mapping;
	strcpy(other.identity, "00:00 1");
	patch_pages_select_file(&file, &other);
	CHECK(file.fd == -1 && !strcmp(file.identity, "00:00 1") &&
			resources_descriptors() == descriptors);
	patch_pages_select_file(&file, &mapping);
	patch_pages_close_file(&file);
	CHECK(file.fd == -1 && !*file.identity && resources_descriptors() == descriptors);
	patch_pages_close_file(&file);
	unmap_file();
}

/* ---- probes whose file is unmapped ---- */

static void put(unsigned int index, size_t at, enum probe_method method, uint64_t slot)
{
	struct patch **list = patch_location_list((uintptr_t)code + at);
	static struct patch_hot hots[8];

	set(index, at);
	made[index].trampoline = index;
	made[index].slot = slot;
	made[index].method = method;
	made[index].site.patched = 5;
	made[index].site.displaced = 5;
	made[index].site.nr_pieces = 3;
	made[index].site.pieces[1].at = 2;
	made[index].site.pieces[2].at = 4;
	made[index].hot = &hots[index];
	made[index].next = *list;
	hots[index].generation = 5;
	pasts[index].packed = 9;
	*list = &made[index];
}

static void test_gone(void)
{
	struct patch *const some[] = {&made[0], &made[1], &made[2], &made[3]};

	map_file();
	CHECK(!patch_locations_start());
	put(0, 16, PROBE_JUMP, 0);
	put(1, 17, PROBE_SHORT, 41);
	put(2, 2 * PAGE, PROBE_PUNNED, 42);
	put(3, 5 * PAGE, PROBE_JUMP, 43);
	made[1].armed = true;
	*calls = '\0';
	/* None of these is known to be unmapped. */
	munmap(code, 3 * PAGE);
	patch_release_gone(some, 4);
	CHECK(!*calls && *patch_location_list((uintptr_t)code + 16) == &made[1]);
	CHECK(!patch_is_intact(&made[2]) && made[2].is_unmapped && !patch_leaves_traps(&made[2]));
	/*
	 * Those that are not set and whose location is unmapped; the traps of bytes that belong to
	 * another probe remain.
	 */
	patch_release_gone(some, 2);
	CHECK(!*calls);
	patch_release_gone(some, 3);
	CHECK(!strcmp(calls, "body 0 trap 8192 trap 8194 trap 8196 slot 42 body 2 ") ||
			!strcmp(calls, "trap 8192 trap 8194 trap 8196 slot 42 body 2 body 0 "));
	CHECK(!pasts[0].packed && pasts[1].packed == 9 && !pasts[2].packed && pasts[3].packed == 9);
	CHECK(*patch_location_list((uintptr_t)code + 16) == &made[1] && !made[1].next &&
			!*patch_location_list((uintptr_t)code + 2 * PAGE) &&
			!made[0].site.runtime && !made[0].hot &&
			*patch_location_list((uintptr_t)code + 5 * PAGE) == &made[3] &&
			made[3].hot->generation == 5);
	/* The springboard of a short jump is forgotten, and not returned. */
	*calls = '\0';
	made[1].armed = false;
	made[1].is_unmapped = true;
	patch_release_gone(some + 1, 1);
	CHECK(!strcmp(calls, "trap 17 trap 19 trap 21 springboard 41 body 1 ") &&
			!*patch_location_list((uintptr_t)code + 16));
	/* Memory that cannot be read may still have the traps. */
	CHECK(!mprotect(code + 5 * PAGE, PAGE, PROT_NONE));
	CHECK(!patch_is_intact(&made[3]) && !made[3].is_unmapped && patch_leaves_traps(&made[3]));
	unmap_file();
}

int main(void)
{
	test_traced();
	test_collected();
	test_opened();
	test_neighbours();
	test_files();
	test_returned();
	test_gone();
	return 0;
}
