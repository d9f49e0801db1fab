/* SPDX-License-Identifier: MIT */
/*
 * Prints each address in the code of an ELF file that a call may return to, one address a line. The
 * check of frame pointers decides.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "probe/unwind/unwind.h"

struct returns_code {
	const uint8_t *bytes;
	uint64_t address, size;
};

static bool returns_read(void *user, uint64_t address, uint64_t *ret_value)
{
	const struct returns_code *code = user;

	if (address < code->address || address + sizeof(*ret_value) > code->address + code->size)
		return false;
	memcpy(ret_value, code->bytes + (address - code->address), sizeof(*ret_value));
	return true;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	const struct unwind_modules none = {.nr = 0};
	const uint8_t *bytes;
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat))
		return 2;
	bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return 2;
	const Elf64_Ehdr *elf = (const void *)bytes;
	const Elf64_Phdr *segments = (const void *)(bytes + elf->e_phoff);

	for (unsigned int i = 0; i < elf->e_phnum; i++) {
		struct returns_code code = {bytes + segments[i].p_offset, segments[i].p_vaddr,
				segments[i].p_filesz};
		const struct unwind_memory memory = {.read_code = returns_read, .user = &code};

		if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_X))
			continue;
		for (uint64_t at = code.address; at <= code.address + code.size; at++)
			if (unwind_is_return_address(&none, &memory, at))
				printf("%" PRIx64 "\n", at);
	}
	return 0;
}
