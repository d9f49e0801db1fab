/* SPDX-License-Identifier: MIT */
/*
 * Damaged tables of lines: the validator looks up addresses in them, and finds a line or none. Run
 * it with files as arguments; under libFuzzer (-DFUZZ_TARGET) the input is the file.
 */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../elf/damage.h"
#include "tracers/validate/line.h"

#define ADDRESSES 24u

static size_t next_check(const void *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char path[64], location[VALIDATE_LINE_MAX];
	size_t found = 0, i;
	ElfW(Ehdr) header;

	memset(&header, 0, sizeof(header));
	memcpy(&header, bytes, size < sizeof(header) ? size : sizeof(header));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* The header of the file must equal the one in memory. */
	if (fd >= 0 && size >= sizeof(header) && write(fd, bytes, size) == (ssize_t)size) {
		for (i = 0; i < ADDRESSES; i++) {
			if (validate_line_find(path, bytes, header.e_entry + 32 * i, location))
				found += strlen(location) > 2;
		}
	}
	close(fd);
	return found;
}

#ifdef FUZZ_TARGET

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	next_check(data, size);
	return 0;
}

#else

int main(int argc, char **argv)
{
	const char *duration = getenv("SIDE_TEST_LONG");
	unsigned int rounds = duration && !strcmp(duration, "1") ? 50000 : 1000;
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= damaged_copies(argv[i], rounds, next_check);
	return failed;
}

#endif
