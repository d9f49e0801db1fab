/* SPDX-License-Identifier: MIT */
/*
 * A program that has mapped all memory below its libraries, as Java does with its heap, its
 * threads' stacks and its generated code. Only the gap below the stack is free, of which the stack
 * itself needs little. A site gets its jump through that gap.
 */
#include "probe/patch/patch.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define HANDLER __attribute__((target("general-regs-only")))
#define REACH 0x90000000ULL
#define PAGE 4096ULL

/*
 * mov %edi,%eax; xchg %ax,%ax; add $7,%eax; ret: a thread may be before the fifth byte, so the
 * jump's last byte is fixed.
 */
static const uint8_t probed_code[] = {0x89, 0xf8, 0x66, 0x90, 0x83, 0xc0, 0x07, 0xc3};

static unsigned int hits;

static HANDLER void on_hit(const struct patch_hit *hit)
{
	(*(unsigned int *)hit->user)++;
}

/* Returns the begin of the last gap before the stack; all others near it are filled. */
static uint64_t fill_gaps(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long start, end, gaps[1024][2], last = 65536, top = 0;
	unsigned int count = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%llx-%llx", &start, &end) != 2)
			continue;
		if (strstr(line, "[stack]")) {
			top = last;
			break;
		}
		if (start > last && count < 1024) {
			gaps[count][0] = last;
			gaps[count++][1] = start;
		}
		last = end;
	}
	if (maps)
		fclose(maps);
	for (unsigned int i = 0; top && i < count; i++) {
		uint64_t from = gaps[i][0] + REACH < top ? top - REACH : gaps[i][0];

		if (from < gaps[i][1])
			(void)mmap((void *)from, gaps[i][1] - from, PROT_NONE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
							MAP_FIXED_NOREPLACE,
					-1, 0);
	}
	return top;
}

static int fail(const char *what)
{
	printf("%s\n", what);
	return 1;
}

int main(void)
{
	struct probe_site site = {.method = PROBE_JUMP, .displaced = 7, .patched = 5};
	struct patch_setup setup = {.site = &site, .entry = on_hit, .user = &hits};
	struct rlimit limit;
	uint64_t top;
	void *location;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > 1ULL << 40) {
		printf("the stack has no limit here: nothing can be tested\n");
		return 77;
	}
	if (patch_start(false)) {
		printf("this kernel has no barrier for code: nothing can be tested\n");
		return 77;
	}
	top = fill_gaps();
	location = mmap((void *)top, PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (location == MAP_FAILED)
		return fail("no space is free after the last mapping");
	memcpy(location, probed_code, sizeof(probed_code));
	mprotect(location, PAGE, PROT_READ | PROT_EXEC);
	site.address = site.runtime = (uint64_t)location;
	site.nr_pieces = 3;
	site.pieces[0].length = site.pieces[1].length = 2;
	site.pieces[1].at = 2;
	site.pieces[2].at = 4;
	site.pieces[2].length = 3;
	site.nr_bytes = sizeof(probed_code);
	memcpy(site.bytes, location, sizeof(probed_code));
	if (patch_set(&setup, 1))
		return fail("it is not set");
	if (setup.method != PROBE_JUMP)
		return fail("it is no jump");
	if (((int (*)(int))(uintptr_t)location)(5) != 12 || hits != 1)
		return fail("it is not hit, or does something else");
	if (patch_remove(&setup.patch, 1) || ((int (*)(int))(uintptr_t)location)(5) != 12 ||
			hits != 1)
		return fail("it is not removed");
	return 0;
}
