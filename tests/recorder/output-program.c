/* SPDX-License-Identifier: MIT */
/*
 * A program whose recordings need robust recorders.
 *
 *	counters	overwrites the counters of lost records in its rings with numbers that no
 *			program can reach
 *	mappings N LIB	has N mappings of code before it loads a library with events
 *	wait LIB	loads a library with events when it reads a line
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <side/trace.h>

#include "ring/layout.h"

side_static_event(output_event, "output", "event", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("n")));

static void fire(uint64_t n)
{
	side_event(output_event, side_arg_list(side_arg_u64(n)));
}

/* Each counter differently: all bits, and the largest numbers, whose sum exceeds 64 bits. */
static void overwrite(unsigned char *base)
{
	const struct ring_header *header = (const void *)base;
	struct ring_geometry geometry;
	struct ring_layout layout;

	if (ring_header_check(header, &geometry, &layout))
		exit(3);
	for (uint32_t ring = 0; ring < geometry.rings; ring++) {
		struct ring_control *control =
				(struct ring_control *)(void *)(base + RING_HEADER_BYTES) + ring;
		uint64_t *lost = (uint64_t *)(void *)(base + layout.lost_offset +
				ring * layout.lost_stride);

		for (int i = 0; i < 3; i++)
			control->lost[i] = lost[i] = UINT64_MAX >> i;
		control->lost_groups[0] |= 1;
	}
}

static int counters(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], permissions[5], name[256];
	unsigned long begin, end, offset;
	int found = 0;

	fire(1);
	while (maps && fgets(line, sizeof(line), maps)) {
		*name = 0;
		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %255s", &begin, &end, permissions,
				    &offset, name) < 4)
			continue;
		if (permissions[1] == 'w' && permissions[3] == 's' && !offset &&
				strstr(name, "side-ring")) {
			overwrite((unsigned char *)begin); // NOLINT(performance-no-int-to-ptr)
			found++;
		}
	}
	if (maps)
		(void)fclose(maps);
	fire(2);
	return found ? 0 : 4;
}

static int mappings(const char *number, const char *library)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (long i = atol(number); i > 0; i--)
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			return 5;
	fire(1);
	return dlopen(library, RTLD_NOW) ? 0 : 6;
}

static int wait_for_line(const char *library)
{
	char line[16];

	fire(1);
	puts("ready");
	(void)fflush(stdout);
	if (!fgets(line, sizeof(line), stdin) || !dlopen(library, RTLD_NOW))
		return 6;
	fire(2);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "counters"))
		return counters();
	if (argc == 4 && !strcmp(argv[1], "mappings"))
		return mappings(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "wait"))
		return wait_for_line(argv[2]);
	return 2;
}
