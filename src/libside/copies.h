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
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

static inline const struct copy_table *copy_read_note(const struct copy_note *note)
{
	const struct copy_table *table;

	if (note->version != COPY_TABLE_VERSION)
		return NULL;
	table = (const struct copy_table *)((uintptr_t)&note->table +
			(uintptr_t)(intptr_t)note->table);
	return table->version == COPY_TABLE_VERSION ? table : NULL;
}

static inline const struct copy_table *copy_read_notes(uintptr_t at, size_t size)
{
	const ElfW(Nhdr) * header;

	while (size >= sizeof(*header)) {
		size_t name, whole;

		header = (const ElfW(Nhdr) *)at;
		name = (header->n_namesz + 3) & ~(size_t)3;
		whole = sizeof(*header) + name + ((header->n_descsz + 3) & ~(size_t)3);
		if (whole > size)
			return NULL;
		if (header->n_type == COPY_NOTE_TYPE &&
				header->n_namesz == sizeof(COPY_NOTE_OWNER) &&
				header->n_descsz >= sizeof(struct copy_note) &&
				!memcmp(header + 1, COPY_NOTE_OWNER, sizeof(COPY_NOTE_OWNER)))
			return copy_read_note(
					(const struct copy_note *)((uintptr_t)(header + 1) + name));
		at += whole;
		size -= whole;
	}
	return NULL;
}

/* The copy in an object with these program headers; NULL: none, and `ret_notes` is undefined. */
static inline const struct copy_table *copy_find(
		uintptr_t base, const ElfW(Phdr) * headers, unsigned int nr, uintptr_t *ret_notes)
{
	const struct copy_table *table = NULL;

	for (unsigned int i = 0; i < nr && !table; i++) {
		const ElfW(Phdr) *header = &headers[i];

		/* Notes of other alignments have a segment of their own. */
		if (header->p_type == PT_NOTE && header->p_align <= 4 &&
				copy_note_is_loaded(headers, nr, header)) {
			*ret_notes = base + header->p_vaddr;
			table = copy_read_notes(*ret_notes, header->p_memsz);
		}
	}
	return table;
}

/* The address of a function of the copy, or NULL. */
static inline const void *copy_find_function(const struct copy_table *table, const char *name)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (!strcmp(table->functions[i].name, name))
			return table->functions[i].address;
	return NULL;
}

/*
 * Called by the constructor of libside.so.0: decide which copy is used, that of the program, or
 * else of the first library that has one. Make all loaded objects that use libside.so.0 use the
 * copy instead, so that the process has one registry of events. False: no copy is used, now and
 * later.
 */
bool copies_decide(void);

#endif /* SIDE_LIBSIDE_COPIES_H */
