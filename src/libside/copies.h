/* SPDX-License-Identifier: MIT */
/*
 * Detects the copies of libside in a process, so that only one of them is used.
 *
 * A program or library that is linked with libside.a contains a copy of libside, in addition to the
 * libside.so.0 that the agent is linked with. An ELF note in the file leads to a table of the
 * copy's functions.
 */
#ifndef SIDE_LIBSIDE_COPIES_H
#define SIDE_LIBSIDE_COPIES_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#define COPY_NOTE_OWNER "SIDE"
#define COPY_NOTE_TYPE 1
#define COPY_TABLE_VERSION 1

/* The note. `table` is the distance from that member to the table. */
struct copy_note {
	uint32_t version;
	int32_t table;
};

struct copy_function {
	const char *name;
	const void *address;
};

struct copy_table {
	uint32_t version, count;
	const struct copy_function *functions;
};

/* Headers of a file may name notes that no segment loads: the loader does not read them, either. */
static inline bool copy_note_is_loaded(
		const ElfW(Phdr) * headers, unsigned int nr, const ElfW(Phdr) * note)
{
	for (unsigned int i = 0; i < nr; i++) {
		const ElfW(Phdr) *segment = &headers[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) &&
				note->p_vaddr >= segment->p_vaddr &&
				note->p_vaddr - segment->p_vaddr <= segment->p_filesz &&
				note->p_memsz <= segment->p_filesz -
								(note->p_vaddr - segment->p_vaddr))
			return true;
	}
	return false;
}

/*
 * Called by the constructor of libside.so.0: decide which copy is used, that of the program, or
 * else of the first library that has one. Make all loaded objects that use libside.so.0 use the
 * copy instead, so that the process has one registry of events. False: no copy is used, now and
 * later.
 */
bool copies_decide(void);

#endif /* SIDE_LIBSIDE_COPIES_H */
