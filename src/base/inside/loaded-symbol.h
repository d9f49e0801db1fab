/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions that one loaded object exports, by its hash table.
 *
 * dlsym() also searches the dependencies of the object, and fails for objects that the loader has
 * loaded at the start of the program. Uses the lists of the loader: call this where they do not
 * change.
 */
#ifndef SIDE_BASE_INSIDE_LOADED_SYMBOL_H
#define SIDE_BASE_INSIDE_LOADED_SYMBOL_H

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* RTLD_DI_PHDR of glibc 2.36, which returns the number; older ones return an error. */
#define LOADED_DLINFO_HEADERS 11

/* `struct r_debug` of the C library; other namespaces of dlmopen() follow from version 2 on. */
struct loaded_namespace {
	struct r_debug debug;
	const struct loaded_namespace *next;
};

static inline const struct loaded_namespace *loaded_next(const struct loaded_namespace *space)
{
	return space->debug.r_version >= 2 ? space->next : NULL;
}

/* The tables of a loaded object; NULL: it has none. */
struct loaded_object {
	const struct link_map *map;
	const ElfW(Sym) * symbols;
	const char *names;
	const char *soname;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
};

/* Most C libraries have added the base to these addresses, but not in the vDSO. */
static inline const void *loaded_address(const struct link_map *map, ElfW(Addr) value)
{
	return (const void *)(value < map->l_addr ? map->l_addr + value : value);
}

static inline struct loaded_object loaded_read(const struct link_map *map)
{
	struct loaded_object object = {.map = map};
	ElfW(Addr) soname = 0;

	for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		const void *at = loaded_address(map, entry->d_un.d_ptr);

		switch (entry->d_tag) {
		case DT_SYMTAB: object.symbols = at; break;
		case DT_STRTAB: object.names = at; break;
		case DT_GNU_HASH: object.gnu_hash = at; break;
		case DT_HASH: object.hash = at; break;
		case DT_SONAME: soname = entry->d_un.d_val; break;
		}
	}
	if (object.names && soname)
		object.soname = object.names + soname;
	return object;
}

static inline const void *loaded_symbol(
		const struct loaded_object *object, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &object->symbols[index];

	if (!symbol->st_shndx || (symbol->st_info & 15) != STT_FUNC ||
			strcmp(object->names + symbol->st_name, name) != 0)
		return NULL;
	return (const void *)(object->map->l_addr + symbol->st_value);
}

/* The table: sizes, a Bloom filter, buckets, and the hashes of each bucket; the last is odd. */
static inline const void *loaded_find_gnu(const struct loaded_object *object, const char *name)
{
	const uint32_t *header = object->gnu_hash;
	uint32_t nr_buckets = header[0], first = header[1], hash = 5381, index;
	const ElfW(Addr) *filter = (const ElfW(Addr) *)(const void *)(header + 4);
	const uint32_t *buckets = (const uint32_t *)(const void *)(filter + header[2]);
	const uint32_t *chain = buckets + nr_buckets;

	for (const char *at = name; *at; at++)
		hash = hash * 33 + (unsigned char)*at;
	index = nr_buckets ? buckets[hash % nr_buckets] : 0;
	if (index < first)
		return NULL;
	for (;; index++) {
		uint32_t other = chain[index - first];
		const void *found = NULL;

		if ((other | 1) == (hash | 1))
			found = loaded_symbol(object, index, name);
		if (found || (other & 1))
			return found;
	}
}

/* NULL: the object exports no function of this name. */
static inline const void *loaded_find(const struct loaded_object *object, const char *name)
{
	const void *found = NULL;

	if (!object->symbols || !object->names)
		return NULL;
	if (object->gnu_hash)
		return loaded_find_gnu(object, name);
	/* The second number of the older table is the number of symbols. */
	for (uint32_t i = 0; object->hash && i < object->hash[1] && !found; i++)
		found = loaded_symbol(object, i, name);
	return found;
}

#endif /* SIDE_BASE_INSIDE_LOADED_SYMBOL_H */
