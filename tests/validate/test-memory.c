/* SPDX-License-Identifier: MIT */
/*
 * Which memory counts as readable: exactly the memory that the process can load from, even if other
 * calls cannot read it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracers/validate/memory.h"

static int failures;

static void check(const char *what, const void *address, size_t size, bool wanted)
{
	errno = EDOM;
	if (validate_memory_readable(address, size) != wanted || errno != EDOM) {
		printf("%s: %p, %zu bytes\n", what, address, size);
		failures++;
	}
}

/* Data of the kernel for the clock: the process can read it, process_vm_readv() cannot. */
static const void *find_clock(void)
{
	unsigned long begin, found = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[vvar]") && sscanf(line, "%lx", &begin) == 1)
			found = begin;
	}
	if (maps)
		(void)fclose(maps);
	return (const void *)found;
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const unsigned char *clock = find_clock();
	unsigned char *pages = mmap(NULL, 200 * page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return 1;
	check("all of it", pages, 200 * page, true);
	check("nothing", (const void *)16, 0, true);
	check("a wild pointer", (const void *)16, 1, false);
	check("the end of memory", (const void *)~(uintptr_t)0, 1, false);
	check("more than there is", pages, ~(size_t)0, false);
	if (mprotect(pages + 150 * page, page, PROT_NONE) || munmap(pages + 170 * page, page))
		return 1;
	check("up to what is protected", pages, 150 * page, true);
	check("one byte of it", pages, 150 * page + 1, false);
	check("behind it", pages + 151 * page, 19 * page, true);
	check("into a hole", pages + 169 * page, page + 1, false);
	check("over a hole", pages + 169 * page, 3 * page, false);
	check("its last bytes", pages + 150 * page - 4, 8, false);
	if (clock) {
		check("the clock", clock, 4, true);
		check("the clock's first page", clock, page, true);
	} else {
		printf("there is no clock to read\n");
	}
	munmap(pages, 200 * page);
	return failures != 0;
}
