/* SPDX-License-Identifier: MIT */
/*
 * Decides for which callers the return address of a call may be replaced: code that is mapped from
 * an ELF file and that the file's unwind data describes.
 *
 * Programs that generate code (Java and other JIT compilers), and code that such a compiler made at
 * build time (the built-in functions of V8), find their functions by the return addresses of calls:
 * they scan the stack for what they may free, and do not know side's addresses. A call from such
 * code is executed without a replaced return address, and is counted as not watched. If a file has
 * no unwind data at all, all of its code may be watched. Code in files that are not ELF (images of
 * Lisp systems, of .NET) belongs to such programs too. Code of a file that asks unwinders for the
 * frame addresses of its functions (LuaJIT) is not watched either: it relies on the addresses that
 * it would get without probes.
 *
 * Some libraries copy parts of the stack away and back, with the return addresses of calls. They
 * are recognized by symbols, before their constructors run (patch_hit_copies()).
 *
 * Entries of `ranges` are never moved, because probes point to the range of their last caller. An
 * entry that is not mapped any more has the size 0. The size is cleared first and set last.
 */
#include "parts.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define RANGES_MAX 4096
#define MAPPINGS_MAX 2048
#define SEGMENTS_MAX 32
#define AT_ONCE 256
#define DYNAMIC_MAX 256
#define TEXT_AT_ONCE 1024
#define HOLE_BYTES 4096 /* smaller holes are assembly code or padding */

/* The form of .eh_frame_hdr that all linkers write. */
#define TABLE_HEAD 12
static const uint8_t table_forms[] = {1, 0x1b, 0x03, 0x3b};

struct callers_mapping {
	uint64_t start, end;
	unsigned long inode; /* 0: unused */
	bool is_mapped;
};

/* A row of that table: distances from the begin of the table. */
struct eh_frame_hdr_row {
	int32_t code, entry;
};

/* The begin of the FDE that a row refers to. */
struct eh_frame_entry {
	uint32_t length, description;
	int32_t code; /* relative to this member */
	uint32_t size;
};

static struct patch_code ranges[RANGES_MAX];
static uint16_t mapping_of[RANGES_MAX];
static uint32_t nr_ranges;
static bool wanted, ended;
static struct callers_mapping mappings[MAPPINGS_MAX];
static uint32_t nr_mappings;
const struct patch_code patch_no_code;

const struct patch_code *patch_caller(uint64_t address)
{
	/* Acquire: those ranges. Pairs with the release in patch_callers_add_range(). */
	uint32_t count = __atomic_load_n(&nr_ranges, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		if (patch_is_in(&ranges[i], address))
			return &ranges[i];
	}
	return NULL;
}

static void patch_callers_store_range(uint32_t at, uint64_t start, uint64_t size)
{
	ranges[at].start = start;
	/*
	 * Release: the start before the size. A thread that loads an earlier size has seen the
	 * earlier code mapped. Pairs with a call from there, which comes after the code was mapped.
	 */
	__atomic_store_n(&ranges[at].size, size, __ATOMIC_RELEASE);
	/*
	 * Full fence: the size before `ended`. Pairs with the fence in patch_callers_end(). Either
	 * the load below finds `ended`, or that function finds the size and sets it to 0.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&ended, __ATOMIC_RELAXED))
		__atomic_store_n(&ranges[at].size, 0, __ATOMIC_RELAXED);
}

void patch_callers_want(void)
{
	wanted = true;
}

void patch_callers_end(void)
{
	/*
	 * Relaxed, all: a hit that loads an old value is handled like an earlier hit. Full fence:
	 * `ended` before the sizes. Pairs with the fence in patch_callers_store_range().
	 */
	__atomic_store_n(&ended, true, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < RANGES_MAX; i++)
		__atomic_store_n(&ranges[i].size, 0, __ATOMIC_RELAXED);
}

bool patch_callers_wanted(void)
{
	return wanted;
}

static void patch_callers_add_range(uint32_t mapping, uint64_t start, uint64_t end)
{
	uint32_t at = 0;

	if (end <= start)
		return;
	while (at < nr_ranges && (ranges[at].start != start || ranges[at].size))
		at++;
	if (at == RANGES_MAX)
		return;
	mapping_of[at] = (uint16_t)mapping;
	patch_callers_store_range(at, start, end - start);
	/* Release: the range. Pairs with the acquire in patch_caller(). */
	if (at == nr_ranges)
		__atomic_store_n(&nr_ranges, at + 1, __ATOMIC_RELEASE);
}

/* ---- unwind data ---- */

/* Reads through the kernel: addresses in headers may be wrong. */
static bool patch_callers_read_memory(uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* An ELF file that is mapped. */
struct callers_object {
	Elf64_Phdr segments[SEGMENTS_MAX];
	unsigned int nr_segments;
	uint64_t base, bias;
};

/* Reads the headers of the file that is mapped from its begin at `base`. */
static bool patch_callers_read_object(uint64_t base, struct callers_object *ret_object)
{
	Elf64_Ehdr elf;

	if (!patch_callers_read_memory(base, &elf, sizeof(elf)) ||
			memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_phnum > SEGMENTS_MAX ||
			!patch_callers_read_memory(base + elf.e_phoff, ret_object->segments,
					elf.e_phnum * sizeof(ret_object->segments[0])))
		return false;
	ret_object->nr_segments = elf.e_phnum;
	ret_object->base = base;
	ret_object->bias = 0;
	for (unsigned int i = elf.e_phnum; i-- > 0;) {
		const Elf64_Phdr *segment = &ret_object->segments[i];

		if (segment->p_type == PT_LOAD)
			ret_object->bias = base - (segment->p_vaddr - segment->p_offset);
	}
	return true;
}

/* Returns its address, or 0 if there is none. */
static uint64_t patch_callers_find_segment(const struct callers_object *object, uint32_t type)
{
	for (unsigned int i = 0; i < object->nr_segments; i++) {
		if (object->segments[i].p_type == type)
			return object->segments[i].p_vaddr + object->bias;
	}
	return 0;
}

/* Returns the address of the file's .eh_frame_hdr, or 0 if it has none in the known form. */
static uint64_t patch_callers_find_eh_frame_hdr(
		const struct callers_object *object, uint32_t *ret_count)
{
	uint64_t table = patch_callers_find_segment(object, PT_GNU_EH_FRAME);
	uint8_t head[TABLE_HEAD];

	if (!table || !patch_callers_read_memory(table, head, sizeof(head)) ||
			memcmp(head, table_forms, sizeof(table_forms)) != 0)
		return 0;
	memcpy(ret_count, head + 8, sizeof(*ret_count));
	return table;
}

/* The string table of dynamic symbols and libraries, in memory. */
struct strings {
	uint64_t start, size, own_name;
};

static bool patch_callers_find_strings(
		const struct callers_object *object, struct strings *ret_strings)
{
	uint64_t at = patch_callers_find_segment(object, PT_DYNAMIC);
	Elf64_Dyn entry = {0};

	*ret_strings = (struct strings){.own_name = UINT64_MAX};
	for (unsigned int i = 0; at && i < DYNAMIC_MAX; i++, at += sizeof(entry)) {
		if (!patch_callers_read_memory(at, &entry, sizeof(entry)) || entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_STRTAB)
			ret_strings->start = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRSZ)
			ret_strings->size = entry.d_un.d_val;
		else if (entry.d_tag == DT_SONAME)
			ret_strings->own_name = entry.d_un.d_val;
	}
	/* Some loaders replace the offset by an address. */
	if (ret_strings->start < object->base)
		ret_strings->start += object->bias;
	return ret_strings->start && ret_strings->size;
}

/* Symbols that show how the code of a file uses the stack. */
enum used_name {
	USES_FRAMES,
	/* Used by unwinders; code that contains libgcc needs no symbol to use frames. */
	FINDS_OBJECT,
	FINDS_OBJECTS,
	IS_GREENLET,
	IS_CALLCC, /* of Ruby */
	IS_GUILE,
	USED_NAMES,
};
static const char *const used_names[USED_NAMES] = {"_Unwind_GetCFA", "_dl_find_object",
		"dl_iterate_phdr", "PyInit__greenlet", "Init_continuation",
		"scm_c_with_continuation_barrier"};
#define NAME_MAX_BYTES 64 /* of each of them, at most */

/* Returns a bit for each of these symbols that the strings contain. */
static unsigned int patch_callers_find_names(const struct strings *strings)
{
	char some[TEXT_AT_ONCE];
	unsigned int found = 0;

	for (uint64_t at = 0; at < strings->size; at += sizeof(some) - NAME_MAX_BYTES) {
		uint64_t left = strings->size - at;
		size_t length = left < sizeof(some) ? (size_t)left : sizeof(some);

		if (!patch_callers_read_memory(strings->start + at, some, length))
			break;
		for (unsigned int i = 0; i < USED_NAMES; i++) {
			if (memmem(some, length, used_names[i], strlen(used_names[i]) + 1))
				found |= 1u << i;
		}
	}
	return found;
}

static bool patch_callers_is_libgcc(const struct strings *strings)
{
	static const char start[] = "libgcc_s.so";
	char name[sizeof(start) - 1];

	return strings->own_name < strings->size &&
			patch_callers_read_memory(
					strings->start + strings->own_name, name, sizeof(name)) &&
			!memcmp(name, start, sizeof(name));
}

static bool patch_callers_calls_for_frames(const struct callers_object *object)
{
	for (unsigned int i = 0; i < object->nr_segments; i++) {
		const Elf64_Phdr *segment = &object->segments[i];
		uint64_t start = segment->p_vaddr + object->bias;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
				patch_calls_for_frames(start, start + segment->p_filesz))
			return true;
	}
	return false;
}

/*
 * Notes whether the file copies stacks. Returns true if its code asks for frame addresses; libgcc
 * only answers such requests.
 */
static bool patch_callers_uses_frames(const struct callers_object *object)
{
	struct strings strings;
	unsigned int names;

	if (!patch_callers_find_strings(object, &strings))
		return false;
	names = patch_callers_find_names(&strings);
	if (names & (1u << IS_CALLCC | 1u << IS_GUILE))
		patch_hit_copies(PATCH_COPIES_OFTEN);
	else if (names & 1u << IS_GREENLET)
		patch_hit_copies(PATCH_COPIES_ONCE);
	if (patch_callers_is_libgcc(&strings))
		return false;
	return names & 1u << USES_FRAMES ||
			(names & (1u << FINDS_OBJECT | 1u << FINDS_OBJECTS) &&
					patch_callers_calls_for_frames(object));
}

/*
 * Returns the end of the code of an FDE, or `next` if the FDE cannot be read: then no hole is
 * assumed.
 */
static uint64_t patch_callers_end_of_code(
		uint64_t table, const struct eh_frame_hdr_row *row, uint64_t next)
{
	uint64_t at = table + (uint64_t)(int64_t)row->entry;
	uint64_t code = table + (uint64_t)(int64_t)row->code;
	struct eh_frame_entry entry;

	if (!patch_callers_read_memory(at, &entry, sizeof(entry)) ||
			at + offsetof(struct eh_frame_entry, code) +
							(uint64_t)(int64_t)entry.code !=
					code)
		return next;
	return code + entry.size;
}

/* Adds the code of a mapping that unwind data describes, as ranges between holes. */
static void patch_callers_add_described(uint32_t mapping, uint64_t table, uint32_t count)
{
	uint64_t begin = mappings[mapping].start, last_end = begin, end = mappings[mapping].end;
	struct eh_frame_hdr_row rows[AT_ONCE + 1];

	for (uint32_t from = 0; from < count; from += AT_ONCE) {
		uint32_t some = count - from < AT_ONCE ? count - from : AT_ONCE;
		/* One more row, for the begin of the next function. */
		uint32_t more = from + some < count ? some + 1 : some;

		if (!patch_callers_read_memory(
				    table + TABLE_HEAD + (uint64_t)from * sizeof(rows[0]), rows,
				    more * sizeof(rows[0])))
			break;
		for (uint32_t i = 0; i < some; i++) {
			uint64_t code = table + (uint64_t)(int64_t)rows[i].code;
			uint64_t next = i + 1 < more ? table + (uint64_t)(int64_t)rows[i + 1].code
						     : end;

			if (code >= end || next <= begin)
				continue;
			if (next > end)
				next = end;
			if (code > last_end + HOLE_BYTES) {
				patch_callers_add_range(mapping, begin, last_end);
				begin = code;
			}
			last_end = next - code > HOLE_BYTES
					? patch_callers_end_of_code(table, &rows[i], next)
					: next;
			/* The code began in the previous mapping, of which this one was a part. */
			if (last_end < begin)
				last_end = begin;
		}
	}
	patch_callers_add_range(mapping, begin, end - last_end > HOLE_BYTES ? last_end : end);
}

/* ---- mappings ---- */

static void patch_callers_add_code(uint32_t mapping, uint64_t base)
{
	uint32_t count = 0;
	struct callers_object object;
	uint64_t table;

	if (!base || !patch_callers_read_object(base, &object) ||
			patch_callers_uses_frames(&object))
		return;
	table = patch_callers_find_eh_frame_hdr(&object, &count);
	if (table)
		patch_callers_add_described(mapping, table, count);
	else
		patch_callers_add_range(mapping, mappings[mapping].start, mappings[mapping].end);
}

static void patch_callers_add_mapping(
		uint64_t start, uint64_t end, unsigned long inode, uint64_t base)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < nr_mappings; i++) {
		struct callers_mapping *each = &mappings[i];

		if (each->start == start && each->end == end && each->inode == inode) {
			each->is_mapped = true;
			return;
		}
	}
	while (at < nr_mappings && mappings[at].inode)
		at++;
	if (at == MAPPINGS_MAX)
		return;
	nr_mappings += at == nr_mappings;
	mappings[at] = (struct callers_mapping){start, end, inode, true};
	patch_callers_add_code(at, base);
}

static void patch_callers_clear(uint32_t mapping)
{
	mappings[mapping].inode = 0;
	for (uint32_t i = 0; i < nr_ranges; i++) {
		/* Relaxed: no code is executed there any more. */
		if (mapping_of[i] == mapping)
			__atomic_store_n(&ranges[i].size, 0, __ATOMIC_RELAXED);
	}
}

/* The file whose mappings are read. */
struct callers_file {
	uint64_t base; /* 0: not known */
	uint64_t end;
	unsigned long inode;
	bool has_code;
};

/*
 * lld does not align segments in the file: the code of a small file is in its first page, which is
 * mapped again directly after the first mapping. If no code precedes it, it is not a second copy of
 * the file.
 */
static bool patch_callers_is_first_again(
		const struct callers_file *file, uint64_t start, unsigned long inode, bool is_code)
{
	return is_code && !file->has_code && file->base && file->inode == inode &&
			file->end == start;
}

/*
 * Writable shared mappings of files are not read: JIT compilers use these to write code at one
 * address and execute it at another. Mappings that are gone are cleared last, so a mapping that
 * only grew or shrank is known throughout.
 */
void patch_callers_scan(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct callers_file file = {0};
	char *line = NULL;
	size_t size = 0;

	if (!maps)
		return;
	for (uint32_t i = 0; i < nr_mappings; i++)
		mappings[i].is_mapped = false;
	while (getline(&line, &size, maps) > 0) {
		unsigned long long start, end, offset;
		char permissions[5];
		unsigned long inode;
		bool is_code;

		if (sscanf(line, "%llx-%llx %4s %llx %*s %lu", &start, &end, permissions, &offset,
				    &inode) != 5 ||
				!inode || permissions[3] != 'p')
			continue;
		is_code = permissions[2] == 'x';
		/* In small files, data may be in the same page of the file. */
		if (!offset && permissions[1] != 'w' &&
				!patch_callers_is_first_again(&file, start, inode, is_code))
			file = (struct callers_file){
					.base = permissions[0] == 'r' ? start : 0, .inode = inode};
		if (inode == file.inode)
			file.end = end;
		/* A small program may have only one mapping. */
		if (is_code) {
			patch_callers_add_mapping(start, end, inode,
					inode == file.inode      ? file.base
							: offset ? 0
								 : start);
			file.has_code = true;
		}
	}
	free(line);
	fclose(maps);
	for (uint32_t i = 0; i < nr_mappings; i++) {
		if (mappings[i].inode && !mappings[i].is_mapped)
			patch_callers_clear(i);
	}
}
