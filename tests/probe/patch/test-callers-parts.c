/* SPDX-License-Identifier: MIT */
/*
 * Exact values of the code whose calls are watched: ranges of a mapping between holes of the unwind
 * data, names that show what a library does with the stack, limits at the last entry and one more.
 * The test includes the file, so that it can call its static functions.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "probe/patch/parts.h"

#include "../../check.h"

/* Code that unwinds, the notes of libraries that copy stacks, and the mappings of the process. */
static uint64_t asked_from, asked_to;
static bool has_calls;
static unsigned int copies[4], nr_copies;
static char *played_maps; /* NULL: those of the process */

static bool played_calls(uint64_t from, uint64_t to)
{
	asked_from = from;
	asked_to = to;
	return has_calls;
}

static void played_copies(enum patch_copies how)
{
	CHECK(nr_copies < 4);
	copies[nr_copies++] = how;
}

static FILE *played_open(const char *path, const char *mode)
{
	CHECK(!strcmp(path, "/proc/self/maps") && !strcmp(mode, "re"));
	if (!played_maps)
		return fopen(path, mode);
	return *played_maps ? fmemopen(played_maps, strlen(played_maps), "r") : NULL;
}

#define patch_calls_for_frames played_calls
#define patch_hit_copies played_copies
#define fopen played_open
#include "probe/patch/callers.c"
#undef fopen
#undef patch_hit_copies
#undef patch_calls_for_frames

#include "../../resources.h"

static void begin(void)
{
	memset(ranges, 0, sizeof(ranges));
	memset(mapping_of, 0, sizeof(mapping_of));
	memset(mappings, 0, sizeof(mappings));
	nr_ranges = nr_mappings = 0;
	ended = false;
}

static bool is_range(uint32_t at, uint64_t start, uint64_t size)
{
	if (at < nr_ranges && ranges[at].start == start && ranges[at].size == size)
		return true;
	fprintf(stderr, "%u of %u: %lx+%lx\n", at, nr_ranges, ranges[at].start, ranges[at].size);
	return false;
}

static void test_ranges(void)
{
	begin();
	patch_callers_add_range(3, 0x1000, 0x1000);
	patch_callers_add_range(3, 0x1001, 0x1000);
	CHECK(!nr_ranges);
	patch_callers_add_range(3, 0x1000, 0x1001);
	patch_callers_add_range(4, 0x2000, 0x3000);
	CHECK(is_range(0, 0x1000, 1) && is_range(1, 0x2000, 0x1000) && mapping_of[0] == 3 &&
			mapping_of[1] == 4);
	CHECK(patch_caller(0x1000) == ranges && !patch_caller(0x1001) && !patch_caller(0xfff) &&
			patch_caller(0x2fff) == ranges + 1 && !patch_caller(0x3000));
	/*
	 * The ranges of a mapping that is gone have no size, and are used for the same code again.
	 */
	mappings[4].inode = 9;
	patch_callers_clear(4);
	CHECK(!mappings[4].inode && is_range(1, 0x2000, 0) && is_range(0, 0x1000, 1) &&
			!patch_caller(0x2000));
	patch_callers_add_range(5, 0x2008, 0x2010);
	CHECK(is_range(2, 0x2008, 8));
	patch_callers_add_range(6, 0x2000, 0x2800);
	CHECK(is_range(1, 0x2000, 0x800) && mapping_of[1] == 6 && nr_ranges == 3);
	/* A range that has a size is not reused. */
	patch_callers_add_range(7, 0x2000, 0x2900);
	CHECK(is_range(3, 0x2000, 0x900) && is_range(1, 0x2000, 0x800));
	/* The last entry, and no free entry. */
	nr_ranges = RANGES_MAX - 1;
	for (uint32_t i = 4; i < nr_ranges; i++)
		ranges[i] = (struct patch_code){0x10000 + i, 1};
	patch_callers_add_range(8, 0x900000, 0x900010);
	CHECK(nr_ranges == RANGES_MAX && is_range(RANGES_MAX - 1, 0x900000, 16));
	patch_callers_add_range(8, 0x910000, 0x910010);
	CHECK(nr_ranges == RANGES_MAX && !patch_caller(0x910000));
	/* No call is watched any more. */
	patch_callers_end();
	CHECK(!patch_caller(0x1000) && !patch_caller(0x900000));
	nr_ranges = 0;
	patch_callers_add_range(1, 0x5000, 0x6000);
	CHECK(nr_ranges == 1 && !ranges[0].size && !patch_caller(0x5000));
}

static void test_mappings(void)
{
	begin();
	patch_callers_add_mapping(0x1000, 0x2000, 7, 0);
	patch_callers_add_mapping(0x2000, 0x3000, 7, 0);
	CHECK(nr_mappings == 2 && mappings[0].is_mapped && mappings[1].start == 0x2000 &&
			mappings[1].inode == 7);
	mappings[0].is_mapped = mappings[1].is_mapped = false;
	patch_callers_add_mapping(0x1000, 0x2000, 7, 0);
	CHECK(nr_mappings == 2 && mappings[0].is_mapped && !mappings[1].is_mapped);
	/* Another file, or another size. */
	patch_callers_add_mapping(0x2000, 0x3000, 8, 0);
	patch_callers_add_mapping(0x2000, 0x3001, 7, 0);
	patch_callers_add_mapping(0x2001, 0x3000, 7, 0);
	CHECK(nr_mappings == 5 && !mappings[1].is_mapped);
	mappings[2].inode = 0;
	patch_callers_add_mapping(0x9000, 0xa000, 5, 0);
	CHECK(nr_mappings == 5 && mappings[2].start == 0x9000);
	nr_mappings = MAPPINGS_MAX - 1;
	for (uint32_t i = 5; i < nr_mappings; i++)
		mappings[i].inode = 1;
	patch_callers_add_mapping(0xb000, 0xc000, 5, 0);
	CHECK(nr_mappings == MAPPINGS_MAX && mappings[MAPPINGS_MAX - 1].start == 0xb000);
	patch_callers_add_mapping(0xd000, 0xe000, 5, 0);
	CHECK(nr_mappings == MAPPINGS_MAX);
	begin();
}

/* ---- the unwind data ---- */

static struct {
	uint8_t head[TABLE_HEAD];
	struct eh_frame_hdr_row rows[2 * AT_ONCE + 2];
	struct eh_frame_entry entries[4];
} data __attribute__((aligned(4096)));

#define CODE_AT 0x1000000 /* after the data */

static uint64_t table_at(void)
{
	return (uint64_t)(uintptr_t)&data;
}

static void put_row(unsigned int index, int32_t code, unsigned int entry, uint32_t size)
{
	int32_t at = (int32_t)((uint8_t *)&data.entries[entry] - (uint8_t *)&data);

	data.rows[index] = (struct eh_frame_hdr_row){CODE_AT + code, at};
	data.entries[entry] = (struct eh_frame_entry){.code = CODE_AT + code - at -
					(int32_t)offsetof(struct eh_frame_entry, code),
			.size = size};
}

static void test_described_ranges(void)
{
	const uint64_t code = table_at() + CODE_AT;

	begin();
	mappings[2] = (struct callers_mapping){code, code + 0x10000, 1, true};
	/* One function at the begin, one after a hole, and a hole up to the end. */
	put_row(0, 0, 0, 0x100);
	put_row(1, 0x5000, 1, 0x200);
	CHECK(patch_callers_end_of_code(table_at(), &data.rows[0], 1) == code + 0x100);
	patch_callers_add_described(2, table_at(), 2);
	CHECK(nr_ranges == 2 && is_range(0, code, 0x100) && is_range(1, code + 0x5000, 0x200));
	/* A gap that is not larger than padding is no hole. */
	begin();
	mappings[2] = (struct callers_mapping){code, code + 0x3000, 1, true};
	put_row(0, 0, 0, 0x100);
	put_row(1, 0x1000, 1, 0x100);
	put_row(2, 0x2000, 2, 0x100);
	patch_callers_add_described(2, table_at(), 3);
	CHECK(nr_ranges == 1 && is_range(0, code, 0x3000));
	begin();
	mappings[2] = (struct callers_mapping){code, code + 0x3100, 1, true};
	patch_callers_add_described(2, table_at(), 3);
	CHECK(nr_ranges == 1 && is_range(0, code, 0x3100));
	begin();
	mappings[2] = (struct callers_mapping){code, code + 0x3101, 1, true};
	patch_callers_add_described(2, table_at(), 3);
	CHECK(nr_ranges == 1 && is_range(0, code, 0x2100));
	begin();
	mappings[2] = (struct callers_mapping){code, code + 0x3000, 1, true};
	put_row(1, 0x1101, 1, 0x100);
	patch_callers_add_described(2, table_at(), 3);
	CHECK(nr_ranges == 2 && is_range(0, code, 0x100) && is_range(1, code + 0x1101, 0x1eff));
	/* A damaged entry has no end, so there is no hole. */
	begin();
	mappings[2] = (struct callers_mapping){code, code + 0x3000, 1, true};
	data.entries[0].code++;
	CHECK(patch_callers_end_of_code(table_at(), &data.rows[0], 77) == 77);
	patch_callers_add_described(2, table_at(), 3);
	CHECK(nr_ranges == 1 && is_range(0, code, 0x3000));
	/* Functions of another mapping of the file do not count. */
	begin();
	mappings[2] = (struct callers_mapping){code + 0x2000, code + 0x3000, 1, true};
	patch_callers_add_described(2, table_at(), 3);
	CHECK(nr_ranges == 1 && is_range(0, code + 0x2000, 0x1000));
	begin();
	mappings[2] = (struct callers_mapping){code + 0x8000, code + 0xa001, 1, true};
	patch_callers_add_described(2, table_at(), 0);
	CHECK(!nr_ranges);
	/* A function that begins where the mapping ends, and one that ends where it begins. */
	begin();
	mappings[2] = (struct callers_mapping){code + 0x1000, code + 0x7000, 1, true};
	put_row(0, 0, 0, 0x1000);
	put_row(1, 0x1000, 1, 0x100);
	put_row(2, 0x7000, 2, 0x100);
	patch_callers_add_described(2, table_at(), 3);
	CHECK(nr_ranges == 1 && is_range(0, code + 0x1000, 0x100));
	/* The table is read in parts. */
	begin();
	mappings[2] = (struct callers_mapping){code, code + 0x100000, 1, true};
	for (unsigned int i = 0; i < 2 * AT_ONCE + 2; i++)
		put_row(i, (int32_t)(i * 0x100), 3, 0x100);
	put_row(AT_ONCE - 1, (AT_ONCE - 1) * 0x100, 0, 0x100);
	put_row(AT_ONCE, AT_ONCE * 0x100 + 0x2000, 1, 0x100);
	for (unsigned int i = AT_ONCE + 1; i < 2 * AT_ONCE + 2; i++)
		put_row(i, (int32_t)(i * 0x100 + 0x2000), 3, 0x100);
	patch_callers_add_described(2, table_at(), 2 * AT_ONCE + 2);
	CHECK(nr_ranges == 2 && is_range(0, code, AT_ONCE * 0x100) &&
			is_range(1, code + AT_ONCE * 0x100 + 0x2000, (AT_ONCE + 2) * 0x100));
}

/* ---- files ---- */

static struct {
	Elf64_Ehdr elf;
	Elf64_Phdr segments[SEGMENTS_MAX + 1];
	Elf64_Dyn dynamic[4];
	char names[2 * TEXT_AT_ONCE];
} image __attribute__((aligned(4096)));

static uint64_t image_at(const void *part)
{
	return 0x10000 + (uint64_t)((const uint8_t *)part - (const uint8_t *)&image);
}

static void make_image(void)
{
	memset(&image, 0, sizeof(image));
	memcpy(image.elf.e_ident, ELFMAG, SELFMAG);
	image.elf.e_phoff = (uint64_t)((uint8_t *)image.segments - (uint8_t *)&image);
	image.elf.e_phnum = 3;
	image.segments[0] = (Elf64_Phdr){
			.p_type = PT_LOAD, .p_vaddr = 0x10000, .p_filesz = sizeof(image)};
	image.segments[1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x90000, .p_offset = 0x5000};
	image.segments[2] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = image_at(image.dynamic)};
	image.dynamic[0] = (Elf64_Dyn){DT_STRTAB, {image_at(image.names)}};
	image.dynamic[1] = (Elf64_Dyn){DT_STRSZ, {sizeof(image.names)}};
	image.dynamic[2] = (Elf64_Dyn){DT_SONAME, {1}};
}

static void test_objects(void)
{
	const uint64_t base = (uint64_t)(uintptr_t)&image;
	struct strings strings;
	struct callers_object object;
	uint32_t count = 0;

	make_image();
	CHECK(patch_callers_read_object(base, &object) && object.nr_segments == 3 &&
			object.bias == base - 0x10000 && object.base == base);
	CHECK(patch_callers_find_segment(&object, PT_DYNAMIC) ==
					(uint64_t)(uintptr_t)image.dynamic &&
			!patch_callers_find_segment(&object, PT_INTERP));
	CHECK(patch_callers_find_strings(&object, &strings) &&
			strings.start == (uint64_t)(uintptr_t)image.names &&
			strings.size == sizeof(image.names) && strings.own_name == 1);
	/* A loader has replaced the offset by an address. */
	image.dynamic[0].d_un.d_ptr = (uint64_t)(uintptr_t)image.names;
	CHECK(patch_callers_find_strings(&object, &strings) &&
			strings.start == (uint64_t)(uintptr_t)image.names);
	image.dynamic[1].d_tag = DT_NULL;
	CHECK(!patch_callers_find_strings(&object, &strings));
	CHECK(!patch_callers_find_eh_frame_hdr(&object, &count));
	make_image();
	image.elf.e_ident[1] = 'e';
	CHECK(!patch_callers_read_object(base, &object) && !patch_callers_read_object(16, &object));
	/* Without a part that is loaded, addresses are those of the file. */
	make_image();
	image.segments[0].p_type = image.segments[1].p_type = PT_NOTE;
	object.bias = 77;
	CHECK(patch_callers_read_object(base, &object) && !object.bias && object.base == base);
	make_image();
	image.elf.e_phnum = SEGMENTS_MAX;
	CHECK(patch_callers_read_object(base, &object) && object.nr_segments == SEGMENTS_MAX);
	image.elf.e_phnum++;
	CHECK(!patch_callers_read_object(base, &object));
	/* The table has a form that all linkers write. */
	make_image();
	image.segments[1] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
			.p_vaddr = (uint64_t)(uintptr_t)&data - base + 0x10000};
	CHECK(patch_callers_read_object(base, &object));
	for (unsigned int i = 0; i < 5; i++) {
		memcpy(data.head, table_forms, 4);
		data.head[8] = 77;
		if (i < 4)
			data.head[i]++;
		count = 0;
		CHECK(patch_callers_find_eh_frame_hdr(&object, &count) ==
						(i < 4 ? 0 : table_at()) &&
				count == (i < 4 ? 0 : 77));
	}
}

static unsigned int names_with(const char *name, size_t at, size_t size)
{
	struct strings strings = {(uint64_t)(uintptr_t)image.names, size, UINT64_MAX};

	memset(image.names, 'x', sizeof(image.names));
	memcpy(image.names + at, name, strlen(name) + 1);
	return patch_callers_find_names(&strings);
}

static void test_names(void)
{
	struct strings strings = {(uint64_t)(uintptr_t)image.names, 100, 5};

	for (unsigned int i = 0; i < USED_NAMES; i++) {
		size_t length = strlen(used_names[i]) + 1;

		CHECK(names_with(used_names[i], 0, length) == 1u << i);
		CHECK(names_with(used_names[i], 0, length - 1) == 0);
		/* Across the end of a chunk. */
		for (size_t at = TEXT_AT_ONCE - 2 * NAME_MAX_BYTES; at < TEXT_AT_ONCE + 4; at++)
			CHECK(names_with(used_names[i], at, sizeof(image.names)) == 1u << i);
		CHECK(names_with(used_names[i], sizeof(image.names) - length,
				      sizeof(image.names)) == 1u << i);
	}
	CHECK(names_with("_Unwind_GetCFAs", 0, 100) == 0);
	/* Several names, in one part of the strings and in another one. */
	CHECK(names_with(used_names[3], 10, sizeof(image.names)) == 1u << 3);
	strcpy(image.names + 100, used_names[1]);
	strcpy(image.names + 1500, used_names[0]);
	CHECK(patch_callers_find_names(&(struct strings){strings.start, sizeof(image.names), 0}) ==
			(1u << 3 | 1u << 1 | 1u << 0));
	strcpy(image.names + 5, "libgcc_s.so.1");
	CHECK(patch_callers_is_libgcc(&strings));
	strings.own_name = 6;
	CHECK(!patch_callers_is_libgcc(&strings));
	strings = (struct strings){strings.start, 5, 5};
	CHECK(!patch_callers_is_libgcc(&strings));
}

/* The properties that a library's names indicate. */
static void test_used_names(void)
{
	const uint64_t base = (uint64_t)(uintptr_t)&image;
	struct callers_object object;

	make_image();
	CHECK(patch_callers_read_object(base, &object) && !patch_callers_uses_frames(&object));
	strcpy(image.names + 100, "_Unwind_GetCFA");
	CHECK(patch_callers_uses_frames(&object));
	strcpy(image.names + 1, "libgcc_s.so.1");
	CHECK(!patch_callers_uses_frames(&object));
	make_image();
	strcpy(image.names + 100, "_dl_find_object");
	CHECK(!patch_callers_uses_frames(&object));
	begin();
	/* Only private mappings of a file with such code are known. */
	make_image();
	mappings[0] = (struct callers_mapping){0x1000, 0x2000, 1, true};
	patch_callers_add_code(0, base);
	CHECK(nr_ranges == 1 && is_range(0, 0x1000, 0x1000));
	patch_callers_add_code(0, 0);
	CHECK(nr_ranges == 1);
	strcpy(image.names + 100, "_Unwind_GetCFA");
	mappings[1] = (struct callers_mapping){0x3000, 0x4000, 1, true};
	patch_callers_add_code(1, base);
	CHECK(nr_ranges == 1);
	begin();
}

/* The last entry of the dynamic section that is read, and one more. */
static void test_dynamic(void)
{
	static Elf64_Dyn entries[DYNAMIC_MAX + 2];
	struct callers_object object = {.segments = {{.p_type = PT_DYNAMIC,
							.p_vaddr = (uint64_t)(uintptr_t)entries}},
			.nr_segments = 1,
			.base = 0x5000,
			.bias = 0};
	struct strings strings;

	for (unsigned int i = 0; i < DYNAMIC_MAX + 2; i++)
		entries[i].d_tag = DT_DEBUG;
	CHECK(!patch_callers_find_strings(&object, &strings) && !strings.start && !strings.size &&
			strings.own_name == UINT64_MAX);
	entries[0] = (Elf64_Dyn){DT_STRTAB, {0x5001}};
	CHECK(!patch_callers_find_strings(&object, &strings) && strings.start == 0x5001);
	entries[DYNAMIC_MAX - 1] = (Elf64_Dyn){DT_STRSZ, {9}};
	CHECK(DYNAMIC_MAX == 256 && patch_callers_find_strings(&object, &strings) &&
			strings.size == 9);
	entries[DYNAMIC_MAX - 1].d_tag = DT_DEBUG;
	entries[DYNAMIC_MAX] = (Elf64_Dyn){DT_STRSZ, {9}};
	CHECK(!patch_callers_find_strings(&object, &strings) && !strings.size);
	/* An address below the file is an offset. */
	entries[1] = (Elf64_Dyn){DT_STRSZ, {7}};
	object.base = 0x6000;
	object.segments[0].p_vaddr -= 0x1000;
	object.bias = 0x1000;
	CHECK(patch_callers_find_strings(&object, &strings) && strings.start == 0x6001 &&
			strings.size == 7);
	entries[0].d_un.d_ptr = 0x6000;
	CHECK(patch_callers_find_strings(&object, &strings) && strings.start == 0x6000);
	object.nr_segments = 0;
	CHECK(!patch_callers_find_strings(&object, &strings));
}

/* A file whose names show that it finds objects asks for frames if its code calls for them. */
static void test_unwinding_code(void)
{
	const uint64_t base = (uint64_t)(uintptr_t)&image;
	static const char *const finders[] = {"_dl_find_object", "dl_iterate_phdr"};
	struct callers_object object;

	for (unsigned int i = 0; i < 2; i++) {
		make_image();
		strcpy(image.names + 100, finders[i]);
		image.segments[0].p_flags = PF_X;
		CHECK(patch_callers_read_object(base, &object));
		has_calls = true;
		asked_from = asked_to = 0;
		CHECK(patch_callers_uses_frames(&object) && asked_from == base &&
				asked_to == base + sizeof(image));
		has_calls = false;
		CHECK(!patch_callers_uses_frames(&object));
		/* Only code that is loaded counts. */
		has_calls = true;
		object.segments[0].p_flags = PF_R | PF_W;
		CHECK(!patch_callers_uses_frames(&object));
		object.segments[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_flags = PF_X};
		CHECK(!patch_callers_uses_frames(&object));
	}
	make_image();
	image.segments[0].p_flags = PF_X;
	CHECK(patch_callers_read_object(base, &object) && !patch_callers_uses_frames(&object));
	has_calls = false;
}

/* Libraries that copy parts of stacks, by their names. */
static void test_copying(void)
{
	static const struct {
		const char *name;
		unsigned int how;
	} cases[] = {{"PyInit__greenlet", PATCH_COPIES_ONCE},
			{"Init_continuation", PATCH_COPIES_OFTEN},
			{"scm_c_with_continuation_barrier", PATCH_COPIES_OFTEN}};
	struct callers_object object;

	CHECK(PATCH_COPIES_ONCE != PATCH_COPIES_OFTEN);
	for (unsigned int i = 0; i < 3; i++) {
		nr_copies = 0;
		make_image();
		strcpy(image.names + 200, cases[i].name);
		CHECK(patch_callers_read_object((uint64_t)(uintptr_t)&image, &object) &&
				!patch_callers_uses_frames(&object));
		CHECK(nr_copies == 1 && copies[0] == cases[i].how);
	}
	/* Of two kinds, the one that copies more often. */
	strcpy(image.names + 300, "PyInit__greenlet");
	CHECK(!patch_callers_uses_frames(&object) && nr_copies == 2 &&
			copies[1] == PATCH_COPIES_OFTEN);
	nr_copies = 0;
	make_image();
	CHECK(!patch_callers_uses_frames(&object) && !nr_copies);
}

/* The unwind data of a file divides its mapping. */
static void test_table_of_file(void)
{
	const uint64_t base = (uint64_t)(uintptr_t)&image, code = table_at() + CODE_AT;

	begin();
	make_image();
	image.segments[1] = (Elf64_Phdr){
			.p_type = PT_GNU_EH_FRAME, .p_vaddr = table_at() - base + 0x10000};
	memcpy(data.head, table_forms, 4);
	memcpy(data.head + 8, &(uint32_t){2}, 4);
	put_row(0, 0, 0, 0x100);
	put_row(1, 0x5000, 1, 0x200);
	mappings[1] = (struct callers_mapping){code, code + 0x10000, 1, true};
	patch_callers_add_code(1, base);
	CHECK(nr_ranges == 2 && is_range(0, code, 0x100) && is_range(1, code + 0x5000, 0x200));
	CHECK(mapping_of[0] == 1 && mapping_of[1] == 1);
	begin();
}

/* ---- lines of mappings ---- */

static void check(const char *text)
{
	static char lines[2048];

	snprintf(lines, sizeof(lines), "%s", text);
	played_maps = lines;
	patch_callers_scan();
	played_maps = NULL;
}

/* A mapping of the image, and then these lines. */
static void next_check(const char *permissions, unsigned int offset, unsigned int inode,
		const char *remainder)
{
	const unsigned long base = (unsigned long)(uintptr_t)&image;
	char lines[1024];

	begin();
	snprintf(lines, sizeof(lines), "%lx-%lx %s %08x 08:01 %u /a\n%s", base, base + 0x1000,
			permissions, offset, inode, remainder);
	check(lines);
}

/* A mapping of the image, and then the first page of a file as code. */
static void next_first_page(const char *permissions, uint64_t start, unsigned int inode)
{
	char line[64];

	snprintf(line, sizeof(line), "%lx-%lx r-xp 00000000 08:01 %u /a\n", start, start + 0x1000,
			inode);
	next_check(permissions, 0, 7, line);
}

static void test_lines(void)
{
	const uint64_t base = (uint64_t)(uintptr_t)&image;
	struct resources before;
	char none[] = "";

	make_image();
	/* The code of a file follows its begin; all of a small file is one mapping. */
	next_check("r--p", 0, 7, "5000-6000 r-xp 00001000 08:01 7 /a\n");
	CHECK(nr_ranges == 1 && is_range(0, 0x5000, 0x1000) && nr_mappings == 1 &&
			mappings[0].start == 0x5000 && mappings[0].end == 0x6000 &&
			mappings[0].inode == 7);
	next_check("r-xp", 0, 7, "");
	CHECK(nr_ranges == 1 && is_range(0, base, 0x1000));
	/*
	 * The first page of a small file that lld has linked is mapped twice. Behind code, at a
	 * distance, or of another file, it is a begin of its own, which is no ELF file here.
	 */
	next_first_page("r--p", base + 0x1000, 7);
	CHECK(nr_ranges == 1 && is_range(0, base + 0x1000, 0x1000) && nr_mappings == 1);
	next_first_page("r-xp", base + 0x1000, 7);
	CHECK(nr_ranges == 1 && is_range(0, base, 0x1000) && nr_mappings == 2);
	next_first_page("r--p", base + 0x2000, 7);
	CHECK(!nr_ranges && nr_mappings == 1);
	next_first_page("r--p", base + 0x1000, 8);
	CHECK(!nr_ranges && nr_mappings == 1);
	next_check("r--p", 0, 7, "5000-6000 r-xp 00001000 08:01 8 /b\n");
	CHECK(!nr_ranges && nr_mappings == 1 && mappings[0].inode == 8);
	/* The begin is writable, or cannot be read. */
	next_check("rw-p", 0, 7, "5000-6000 r-xp 00001000 08:01 7 /a\n");
	CHECK(!nr_ranges && nr_mappings == 1);
	next_check("--xp", 0, 7, "");
	CHECK(!nr_ranges && nr_mappings == 1);
	next_check("r--p", 0x1000, 7, "5000-6000 r-xp 00001000 08:01 7 /a\n");
	CHECK(!nr_ranges && nr_mappings == 1);
	/*
	 * If the begin of a file is executable, it is code of its mapping also if it is writable.
	 */
	next_check("rwxp", 0, 7, "");
	CHECK(nr_ranges == 1 && is_range(0, base, 0x1000));
	/* Shared, without a file, not code, and short. */
	next_check("r-xs", 0, 7, "");
	CHECK(!nr_mappings);
	next_check("r-xp", 0, 0, "");
	CHECK(!nr_mappings);
	next_check("r--p", 0, 7, "");
	CHECK(!nr_mappings);
	begin();
	check("5000-6000 r-xp 00000000 08:01\n");
	CHECK(!nr_mappings);
	/* A mapping that is gone, and one that remains. */
	begin();
	check("5000-6000 r-xp 00001000 08:01 7 /a\n7000-8000 r-xp 00001000 08:01 9 /b\n");
	CHECK(nr_mappings == 2 && mappings[0].inode == 7 && mappings[1].inode == 9);
	before = resources_now();
	check("7000-8000 r-xp 00001000 08:01 9 /b\n");
	CHECK(nr_mappings == 2 && !mappings[0].inode && mappings[1].inode == 9);
	/* Without the list, all remains unchanged. */
	played_maps = none;
	patch_callers_scan();
	CHECK(nr_mappings == 2 && mappings[1].inode == 9 && mappings[1].is_mapped);
	played_maps = NULL;
	CHECK(resources_are_same(before, resources_now()));
	begin();
}

static int own_function(int value)
{
	return value + 1;
}

static void test_own_mappings(void)
{
	uint64_t here = (uint64_t)(uintptr_t)own_function;

	begin();
	CHECK(!patch_callers_wanted() && !patch_caller(here));
	patch_callers_want();
	CHECK(patch_callers_wanted());
	patch_callers_scan();
	CHECK(patch_caller(here) && patch_caller((uint64_t)(uintptr_t)memcpy) &&
			!patch_caller((uint64_t)(uintptr_t)&image) && own_function(1) == 2);
	{
		struct resources before = resources_now();
		size_t memory = 0;

		/* malloc() keeps some freed blocks of each size, and counts them as used. */
		for (int i = 0; i < 20; i++) {
			patch_callers_scan();
			CHECK(i < 15 || resources_memory() == memory);
			memory = resources_memory();
		}
		CHECK(resources_are_same(before, resources_now()));
	}
	/* Again: there is nothing new. */
	{
		uint32_t count = nr_ranges;

		patch_callers_scan();
		CHECK(nr_ranges == count && patch_caller(here));
	}
}

int main(void)
{
	test_mappings();
	test_described_ranges();
	test_objects();
	test_names();
	test_used_names();
	test_dynamic();
	test_unwinding_code();
	test_copying();
	test_table_of_file();
	test_lines();
	test_own_mappings();
	test_ranges();
	return 0;
}
