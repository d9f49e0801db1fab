/* SPDX-License-Identifier: MIT */
/*
 * Finds restartable sequences: code that the kernel does not resume after an interruption. It jumps
 * to an abort handler instead, which a signature must precede. Instructions that are executed
 * elsewhere would not be part of the sequence any more, so such code keeps its bytes.
 */
#include "parts.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define DESCRIPTOR_BYTES 32
#define SIGNATURE_BYTES 4
#define WORDS 3 /* of a descriptor, after 8 bytes: start, length, abort handler */

static const char restarted[] = "it is in a sequence that the kernel restarts";

/*
 * Returns the word that a relative relocation writes there, or 0. A file that may be mapped
 * anywhere has its addresses in relocations.
 */
static uint64_t code_sequence_relocated_word(const struct code_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->nr_sections; i++) {
		const struct code_section *section = &file->sections[i];
		size_t size;
		const uint8_t *bytes = section->type == SHT_RELA
				? code_section_bytes(file, section, &size)
				: NULL;

		for (size_t k = 0; bytes && k + sizeof(Elf64_Rela) <= size;
				k += sizeof(Elf64_Rela)) {
			Elf64_Rela relocation;

			memcpy(&relocation, bytes + k, sizeof(relocation));
			if (relocation.r_offset == address &&
					ELF64_R_TYPE(relocation.r_info) == R_X86_64_RELATIVE)
				return (uint64_t)relocation.r_addend;
		}
	}
	return 0;
}

static int add_descriptor(struct code_file *file, const uint8_t *bytes, uint64_t address)
{
	uint64_t words[WORDS];
	int ret;

	for (unsigned int i = 0; i < WORDS; i++) {
		words[i] = code_read(bytes + 8 + 8 * i, 8);
		if (!words[i])
			words[i] = code_sequence_relocated_word(file, address + 8 + 8 * i);
	}
	if (!code_executable(file, words[0]) || words[1] > file->size)
		return 0;
	ret = code_keep(file, words[0], words[0] + words[1], restarted);
	return ret ? ret : code_keep(file, words[2] - SIGNATURE_BYTES, words[2] + 1, restarted);
}

int code_read_sequences(struct code_file *file)
{
	const struct code_section *section = code_section_named(file, "__rseq_cs");
	size_t size;
	const uint8_t *bytes = code_section_bytes(file, section, &size);

	for (size_t i = 0; bytes && i + DESCRIPTOR_BYTES <= size; i += DESCRIPTOR_BYTES) {
		if (add_descriptor(file, bytes + i, section->address + i))
			return -ENOMEM;
	}
	return 0;
}
