/* SPDX-License-Identifier: MIT */
/*
 * Prints the rows of an ELF file, one a line: address, kind, distance, frame. It makes them from
 * the file, as the agent makes them from memory.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "probe/unwind/unwind.h"

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	struct unwind_image image = {0};
	struct unwind_row *rows;
	const uint8_t *bytes;
	struct stat stat;
	size_t nr;

	if (fd < 0 || fstat(fd, &stat))
		return 2;
	bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return 2;
	const Elf64_Ehdr *elf = (const void *)bytes;
	const Elf64_Phdr *segments = (const void *)(bytes + elf->e_phoff);

	image.lowest = UINT64_MAX;
	for (unsigned int i = 0; i < elf->e_phnum; i++) {
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			image.header = segments[i].p_vaddr;
		if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr < image.lowest)
			image.lowest = segments[i].p_vaddr;
	}
	for (unsigned int i = 0; i < elf->e_phnum; i++) {
		if (segments[i].p_type != PT_LOAD ||
				image.header - segments[i].p_vaddr >= segments[i].p_filesz)
			continue;
		image.bytes = bytes + segments[i].p_offset;
		image.size = segments[i].p_filesz;
		image.address = segments[i].p_vaddr;
	}
	rows = calloc(image.size + 1, sizeof(*rows));
	nr = rows ? unwind_build(&image, rows, image.size) : 0;
	for (size_t i = 0; i < nr; i++)
		printf("%" PRIx64 " %u %d %u\n", rows[i].at + image.lowest, rows[i].kind,
				rows[i].distance, rows[i].frame);
	free(rows);
	return 0;
}
