/* SPDX-License-Identifier: MIT */
/*
 * Units, scopes and lines of a file: the test simulates libdw, and each of its calls fails once. It
 * includes the file, so that it can call its static functions.
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../called.h"
#include "../../resources.h"

#include "probe/spec/debug.h"
#include "probe/spec/parts.h"

/* ---- opening ---- */

static const char *failing; /* the function that fails; NULL: none */

static bool is_failing(const char *name)
{
	called("%s ", name);
	return failing && !strcmp(failing, name);
}

static int the_dwfl, the_module, the_dwarf;
static int given_fd; /* the descriptor that libdw received, which it closes */

static Dwfl *played_begin(const Dwfl_Callbacks *of)
{
	assert_non_null(of->find_debuginfo);
	return is_failing("begin") ? NULL : (Dwfl *)&the_dwfl;
}

static bool is_first; /* the copied descriptor is 0 */
static int closed;

static int played_dup(int fd)
{
	if (is_first)
		return 0;
	return is_failing("dup") ? -1 : dup(fd);
}

static int played_close(int fd)
{
	closed = fd;
	return is_first ? 0 : close(fd);
}

static Dwfl_Module *played_offline(Dwfl *dwfl, const char *name, const char *path, int fd)
{
	assert_ptr_equal(dwfl, &the_dwfl);
	assert_string_equal(name, "kitchen");
	assert_string_equal(path, "/bin/kitchen");
	assert_true(fcntl(fd, F_GETFD) >= 0);
	given_fd = fd;
	return is_failing("offline") ? NULL : (Dwfl_Module *)&the_module;
}

static int played_report_end(Dwfl *dwfl, void *removed, void *user)
{
	assert_ptr_equal(dwfl, &the_dwfl);
	assert_true(!removed && !user);
	called("reported ");
	return 0;
}

static void played_report_begin(Dwfl *dwfl)
{
	assert_ptr_equal(dwfl, &the_dwfl);
	called("report ");
}

static Dwarf *played_dwarf(Dwfl_Module *module, Dwarf_Addr *bias)
{
	assert_ptr_equal(module, &the_module);
	*bias = 0;
	return is_failing("dwarf") ? NULL : (Dwarf *)&the_dwarf;
}

static Dwarf_CFI *played_frames(Dwfl_Module *module, Dwarf_Addr *bias)
{
	assert_ptr_equal(module, &the_module);
	*bias = 0;
	return (Dwarf_CFI *)&the_dwfl;
}

static Dwarf_CFI *played_debug_frames(Dwfl_Module *module, Dwarf_Addr *bias)
{
	return played_frames(module, bias) ? (Dwarf_CFI *)&the_dwarf : NULL;
}

static void played_end(Dwfl *dwfl)
{
	assert_ptr_equal(dwfl, &the_dwfl);
	called("end ");
}

static void played_around_free(struct scope_index *around)
{
	called("around %d ", around != NULL);
}

static void *played_calloc(size_t count, size_t size)
{
	return is_failing("calloc") ? NULL : calloc(count, size);
}

/* ---- units and scopes ---- */

struct tree {
	int tag;
	const char *name, *part;
	unsigned int part_attribute;
	uint8_t type; /* of the unit */
	uint64_t begin, end;
	size_t child, next, split; /* 0: none */
	int inlined;
};

static struct tree trees[64];
static size_t nr_trees;
static struct {
	uint64_t offset, next, header;
	size_t tree; /* 0: its first entry cannot be read */
} headers[4];
static size_t nr_headers;
static unsigned int nr_around; /* scopes of debug_scope_chain() */
static bool unknown_units;

static struct tree *tree_of(Dwarf_Die *die)
{
	return die->addr;
}

static Dwarf_Die die_of(size_t index)
{
	return (Dwarf_Die){.addr = &trees[index], .cu = (struct Dwarf_CU *)&trees[index]};
}

static int played_next(Dwarf *dwarf, Dwarf_Off offset, Dwarf_Off *next, size_t *header)
{
	assert_ptr_equal(dwarf, &the_dwarf);
	for (size_t i = 0; i < nr_headers; i++) {
		if (headers[i].offset != offset)
			continue;
		*next = headers[i].next;
		*header = headers[i].header;
		return 0;
	}
	return 1;
}

static Dwarf_Die *played_die(Dwarf *dwarf, Dwarf_Off offset, Dwarf_Die *die)
{
	assert_ptr_equal(dwarf, &the_dwarf);
	for (size_t i = 0; i < nr_headers; i++) {
		if (headers[i].offset + headers[i].header == offset && headers[i].tree) {
			*die = die_of(headers[i].tree);
			return die;
		}
	}
	return NULL;
}

static int played_unit_info(Dwarf_CU *unit, Dwarf_Half *version, uint8_t *type, Dwarf_Die *split)
{
	const struct tree *tree = (const void *)unit;

	*version = 5;
	*type = tree->type;
	if (split)
		*split = die_of(tree->split);
	return unknown_units ? -1 : 0;
}

static int played_tag(Dwarf_Die *die)
{
	return tree_of(die)->tag;
}

static Dwarf_Attribute *played_attribute(
		Dwarf_Die *die, unsigned int name, Dwarf_Attribute *attribute)
{
	attribute->valp = (unsigned char *)tree_of(die);
	return tree_of(die)->part_attribute == name ? attribute : NULL;
}

static const char *played_text(Dwarf_Attribute *attribute)
{
	return ((const struct tree *)(const void *)attribute->valp)->part;
}

static int played_child(Dwarf_Die *die, Dwarf_Die *child)
{
	size_t index = tree_of(die)->child;

	*child = die_of(index);
	return index ? 0 : 1;
}

static int played_sibling(Dwarf_Die *die, Dwarf_Die *next)
{
	size_t index = tree_of(die)->next;

	*next = die_of(index);
	return index ? 0 : 1;
}

static int played_has(Dwarf_Die *die, Dwarf_Addr address)
{
	const struct tree *tree = tree_of(die);

	return tree->end == 1 ? -1 : address >= tree->begin && address < tree->end;
}

static bool played_unit(struct debug *debug, uint64_t address, Dwarf_Die *unit)
{
	(void)debug;
	*unit = die_of(1);
	return address == 0x1234;
}

static unsigned int played_around(
		struct debug *debug, uint64_t address, Dwarf_Die scopes[DEBUG_SCOPES_MAX])
{
	(void)debug;
	assert_int_equal(address, 0x1234);
	for (unsigned int i = 0; i < nr_around; i++)
		scopes[i] = die_of(i + 1);
	return nr_around;
}

/* ---- lines ---- */

struct played_line {
	const char *path;
	int number; /* -1: it cannot be read; likewise for the other members */
	int statement, end;
	uint64_t address; /* 1: it cannot be read */
};

static const char *source_files[4]; /* of the unit; NULL: has no name */
static size_t nr_files;
static const struct played_line *played_lines;
static size_t nr_lines;
static int files_result, lines_result;

static int played_files(Dwarf_Die *unit, Dwarf_Files **files, size_t *count)
{
	assert_non_null(unit->addr);
	*files = NULL;
	*count = nr_files;
	return files_result;
}

static const char *played_file(Dwarf_Files *files, size_t index)
{
	assert_null(files);
	return source_files[index];
}

static int played_source_lines(Dwarf_Die *unit, Dwarf_Lines **lines, size_t *count)
{
	called("lines of %s ", tree_of(unit)->name);
	*lines = NULL;
	*count = nr_lines;
	return lines_result;
}

static const struct played_line *line_of(Dwarf_Line *line)
{
	return (const void *)line;
}

static Dwarf_Line *played_one(Dwarf_Lines *lines, size_t index)
{
	assert_null(lines);
	return (Dwarf_Line *)(uintptr_t)&played_lines[index];
}

static const char *played_line_path(Dwarf_Line *line)
{
	return line_of(line)->path;
}

static int played_number(Dwarf_Line *line, int *number)
{
	*number = line_of(line)->number;
	return *number < 0;
}

static int played_statement(Dwarf_Line *line, bool *is)
{
	*is = line_of(line)->statement != 0;
	return line_of(line)->statement < 0;
}

static int played_sequence(Dwarf_Line *line, bool *is)
{
	*is = line_of(line)->end > 0;
	return line_of(line)->end < 0;
}

static int played_address(Dwarf_Line *line, Dwarf_Addr *address)
{
	*address = line_of(line)->address;
	return *address == 1;
}

/* ---- inlined functions ---- */

static size_t inlined_scopes[8], nr_inlined_scopes; /* of each function; the first is itself */
static bool is_reference_lost;

static int played_entry(Dwarf_Die *die, Dwarf_Addr *address)
{
	*address = tree_of(die)->begin;
	return *address ? 0 : -1;
}

static const char *played_name(Dwarf_Die *die)
{
	return tree_of(die)->name;
}

static int played_inline(Dwarf_Die *die)
{
	return tree_of(die)->inlined;
}

static int played_scopes(Dwarf_Die *die, Dwarf_Die **scopes)
{
	size_t count = nr_inlined_scopes;

	*scopes = malloc((count + 1) * sizeof(**scopes));
	assert_non_null(*scopes);
	(*scopes)[0] = *die;
	for (size_t i = 1; i < count; i++)
		(*scopes)[i] = die_of(inlined_scopes[i]);
	return (int)count;
}

static Dwarf_Die *played_reference(Dwarf_Attribute *attribute, Dwarf_Die *die)
{
	*die = die_of((size_t)((struct tree *)(void *)attribute->valp - trees));
	return is_reference_lost ? NULL : die;
}

/* Its children are its instances. */
static int played_instances(Dwarf_Die *die, int (*each)(Dwarf_Die *, void *), void *user)
{
	for (size_t i = tree_of(die)->child; i; i = trees[i].next) {
		Dwarf_Die one = die_of(i);

		if (each(&one, user) != DWARF_CB_OK)
			return DWARF_CB_ABORT;
	}
	return DWARF_CB_OK;
}

static ptrdiff_t played_functions(Dwarf_Die *unit, int (*each)(Dwarf_Die *, void *), void *user)
{
	called("functions of %s ", tree_of(unit)->name);
	return played_instances(unit, each, user);
}

#define dup played_dup
#define close played_close
#define calloc played_calloc
#define dwfl_begin played_begin
#define dwfl_report_begin played_report_begin
#define dwfl_report_offline played_offline
#define dwfl_report_end(dwfl, removed, user) played_report_end(dwfl, removed, user)
#define dwfl_module_getdwarf played_dwarf
#define dwfl_module_eh_cfi played_frames
#define dwfl_module_dwarf_cfi played_debug_frames
#define dwfl_end played_end
#define scope_index_free played_around_free
#define dwarf_nextcu(dwarf, offset, next, header, a, b, c) played_next(dwarf, offset, next, header)
#define dwarf_offdie played_die
#define dwarf_cu_info(unit, version, type, die, split, a, b, c) \
	played_unit_info(unit, version, type, split)
#define dwarf_tag played_tag
#define dwarf_attr played_attribute
#define dwarf_attr_integrate played_attribute
#define dwarf_formstring played_text
#define dwarf_child played_child
#define dwarf_siblingof played_sibling
#define dwarf_haspc played_has
#define debug_unit played_unit
#define debug_scope_chain played_around
#define dwarf_getsrcfiles played_files
#define dwarf_filesrc(files, index, a, b) played_file(files, index)
#define dwarf_getsrclines played_source_lines
#define dwarf_onesrcline played_one
#define dwarf_linesrc(line, a, b) played_line_path(line)
#define dwarf_lineno played_number
#define dwarf_linebeginstatement played_statement
#define dwarf_lineendsequence played_sequence
#define dwarf_lineaddr played_address
#define dwarf_entrypc played_entry
#define dwarf_getscopes_die played_scopes
#define dwarf_formref_die played_reference
#define dwarf_diename played_name
#define dwarf_func_inline played_inline
#define dwarf_func_inline_instances played_instances
#define dwarf_getfuncs(unit, each, user, offset) played_functions(unit, each, user)
#include "probe/spec/debug.c"
#include "probe/spec/inlined.c"
#undef dup
#undef close
#undef calloc

static struct resolve_module the_owner;
static struct debug debug_of = {.owner = &the_owner, .dwarf = (Dwarf *)&the_dwarf};

static void begin(void)
{
	failing = NULL;
	memset(trees, 0, sizeof(trees));
	nr_trees = 1;
	nr_headers = nr_files = nr_lines = 0;
	files_result = lines_result = 0;
	nr_around = 0;
	unknown_units = false;
	*calls = '\0';
}

static size_t add(size_t parent, int tag, const char *name)
{
	size_t *link = &trees[parent].child;

	trees[nr_trees] = (struct tree){.tag = tag, .name = name};
	while (parent && *link)
		link = &trees[*link].next;
	if (parent)
		*link = nr_trees;
	return nr_trees++;
}

/* Each unit has 100 bytes more than the one before it, and begins at its end. */
static size_t add_unit(const char *name)
{
	uint64_t offset = nr_headers ? headers[nr_headers - 1].next : 0;
	size_t unit = add(0, DW_TAG_compile_unit, name);

	headers[nr_headers].offset = offset;
	headers[nr_headers].next = offset + 100 * (nr_headers + 1);
	headers[nr_headers].header = 11;
	headers[nr_headers++].tree = unit;
	return unit;
}

/* ---- opening ---- */

static void test_open(void **state)
{
	static const char *const functions[] = {"calloc", "begin", "dup", "offline", "dwarf"};
	static const char *const wanted[] = {"calloc ", "calloc dup begin around 0 ",
			"calloc dup around 0 ",
			"calloc dup begin report offline reported around 0 end ",
			"calloc dup begin report offline reported dwarf around 0 end "};
	static const char no_memory[] =
			"cannot read the debug information of kitchen: out of memory";
	static const char *const texts[] = {no_memory, no_memory,
			"cannot read the debug information of kitchen: Too many open files"};
	static const int errors[] = {-ENOMEM, -ENOMEM, -EMFILE, 0, 0};
	char path[] = "/bin/kitchen";
	struct error error = {.text = ""};
	struct resolve_module module = {.name = "kitchen", .path = path};
	struct debug *debug;
	size_t before = 0;
	int lowest;

	(void)state;
	begin();
	module.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	lowest = dup(0);
	close(lowest);
	debug = module_debug(&module);
	assert_non_null(debug);
	assert_called("calloc dup begin report offline reported dwarf ");
	assert_int_equal(given_fd, lowest);
	assert_ptr_equal(debug->owner, &module);
	assert_ptr_equal(debug->dwfl, &the_dwfl);
	assert_ptr_equal(debug->dwarf, &the_dwarf);
	assert_ptr_equal(debug->frames[0], &the_dwfl);
	assert_ptr_equal(debug->frames[1], &the_dwarf);
	assert_ptr_equal(module_debug(&module), debug);
	assert_called("");
	debug_close(debug);
	assert_called("around 0 end ");
	debug_close(NULL);
	assert_called("");
	close(given_fd);
	/* The C library keeps some freed blocks at first. */
	for (unsigned int round = 0; round < 20; round++) {
		module.debug_tried = false;
		debug_close(module_debug(&module));
		close(given_fd);
		before = round == 10 ? resources_memory() : before;
	}
	assert_int_equal(resources_memory(), before);
	*calls = '\0';
	for (size_t i = 0; i < 5; i++) {
		module.debug_tried = false;
		failing = functions[i];
		errno = EMFILE;
		assert_null(module_debug(&module));
		assert_called(wanted[i]);
		assert_int_equal(module.debug_error, errors[i]);
		assert_int_equal(debug_failed(&module, &error), errors[i]);
		assert_string_equal(error.text, i < 3 ? texts[i] : "");
		assert_string_equal(error.hint, "");
		*error.text = '\0';
		/* After an error the next request tries again. */
		errno = EMFILE;
		assert_null(module_debug(&module));
		assert_called(i < 3 ? wanted[i] : "");
		/* libdw owns the descriptor once it has the file. */
		assert_int_equal(fcntl(lowest, F_GETFD), i == 4 ? 0 : -1);
	}
	close(lowest);
	/* The copy is closed or used, even if it is descriptor 0. */
	is_first = true;
	closed = -1;
	for (size_t i = 0; i < 2; i++) {
		module.debug_tried = false;
		failing = i ? "begin" : NULL;
		debug = module_debug(&module);
		assert_int_equal(module.debug_error, i ? -ENOMEM : 0);
		assert_int_equal(closed, i ? 0 : -1);
		assert_int_equal(debug == NULL, i);
		debug_close(debug);
	}
	is_first = false;
	*calls = '\0';
	close(module.fd);
}

/* ---- units ---- */

static int each_result;

static int note_unit(void *user, Dwarf_Die *unit)
{
	assert_ptr_equal(user, &each_result);
	called("%s ", tree_of(unit)->name);
	return each_result;
}

static void test_units(void **state)
{
	size_t one, part;

	(void)state;
	begin();
	each_result = 0;
	one = add_unit("one");
	(void)add_unit("two");
	(void)add_unit("three");
	assert_int_equal(debug_units(&debug_of, note_unit, &each_result), 0);
	assert_called("one two three ");
	each_result = 5;
	assert_int_equal(debug_units(&debug_of, note_unit, &each_result), 5);
	assert_called("one ");
	each_result = 0;
	headers[0].tree = 0;
	assert_int_equal(debug_units(&debug_of, note_unit, &each_result), 0);
	assert_called("two three ");
	/* A unit that ends where it starts. */
	headers[1].next = 100;
	assert_int_equal(debug_units(&debug_of, note_unit, &each_result), 0);
	assert_called("");
	/* Most of a unit. */
	headers[1].next = 300;
	headers[0].tree = one;
	part = add(0, DW_TAG_compile_unit, "part");
	trees[one].split = part;
	assert_int_equal(debug_units(&debug_of, note_unit, &each_result), 0);
	assert_called("one two three ");
	trees[one].type = DW_UT_skeleton;
	assert_int_equal(debug_units(&debug_of, note_unit, &each_result), 0);
	assert_called("part two three ");
	unknown_units = true;
	assert_int_equal(debug_units(&debug_of, note_unit, &each_result), 0);
	assert_called("one two three ");
	unknown_units = false;
	trees[part].tag = DW_TAG_type_unit;
	assert_int_equal(debug_units(&debug_of, note_unit, &each_result), 0);
	assert_called("one two three ");
}

static void test_missing_part(void **state)
{
	(void)state;
	begin();
	trees[add_unit("one")].part = "one.dwo";
	trees[1].type = DW_UT_skeleton;
	assert_null(debug_missing_part(&debug_of, 0x1234));
	trees[1].part_attribute = DW_AT_dwo_name;
	assert_string_equal(debug_missing_part(&debug_of, 0x1234), "one.dwo");
	trees[1].part_attribute = DW_AT_GNU_dwo_name;
	assert_string_equal(debug_missing_part(&debug_of, 0x1234), "one.dwo");
	assert_null(debug_missing_part(&debug_of, 0x1235));
	unknown_units = true;
	assert_null(debug_missing_part(&debug_of, 0x1234));
	unknown_units = false;
	trees[1].type = DW_UT_compile;
	assert_null(debug_missing_part(&debug_of, 0x1234));
}

/* ---- scopes ---- */

static void expect_scopes(bool entry, const char *wanted)
{
	char text[1024] = "";
	Dwarf_Die *scopes;
	int count = debug_scopes(&debug_of, 0x1234, entry, &scopes);

	for (int i = 0; i < count; i++)
		sprintf(text + strlen(text), "%s ", tree_of(&scopes[i])->name);
	assert_string_equal(text, wanted);
	assert_int_equal(count, *wanted ? count : -1);
	free(scopes);
}

static void test_scopes(void **state)
{
	size_t function, block, other;
	Dwarf_Die found;

	(void)state;
	begin();
	expect_scopes(false, "");
	assert_false(debug_function(&debug_of, 0x1234, &found));
	(void)add(0, DW_TAG_compile_unit, "unit");
	function = add(1, DW_TAG_subprogram, "cook");
	nr_around = 2;
	assert_true(debug_function(&debug_of, 0x1234, &found));
	assert_ptr_equal(found.addr, &trees[function]);
	expect_scopes(true, "cook unit ");
	expect_scopes(false, "cook unit ");
	other = add(function, DW_TAG_lexical_block, "other");
	trees[other].begin = 0x1235;
	trees[other].end = 0x2000;
	other = add(function, DW_TAG_variable, "salt");
	trees[other].begin = 0x1000;
	trees[other].end = 0x2000;
	block = add(function, DW_TAG_lexical_block, "block");
	trees[block].begin = 0x1000;
	trees[block].end = 0x1235;
	other = add(block, DW_TAG_inlined_subroutine, "stir");
	trees[other].begin = 0x1234;
	trees[other].end = 0x1235;
	expect_scopes(true, "cook unit ");
	expect_scopes(false, "stir block cook unit ");
	/* It is unknown whether the address is in it. */
	trees[block].end = 1;
	expect_scopes(false, "cook unit ");
	trees[block].end = 0x1235;
	the_owner.debug_error = 0;
	failing = "calloc";
	expect_scopes(false, "");
	assert_int_equal(the_owner.debug_error, -ENOMEM);
	failing = NULL;
	/* At most 24 scopes. */
	for (int i = 0; i < 30; i++) {
		other = add(other, DW_TAG_lexical_block, "b");
		trees[other].begin = 0x1234;
		trees[other].end = 0x1235;
	}
	{
		Dwarf_Die *scopes;

		assert_int_equal(debug_scopes(&debug_of, 0x1234, false, &scopes), 24);
		free(scopes);
	}
}

/* ---- lines ---- */

static int note_address(void *user, uint64_t address)
{
	assert_ptr_equal(user, &each_result);
	called("%llx ", (unsigned long long)address);
	return each_result;
}

static int note_copy(void *user, uint64_t address, Dwarf_Die *copy)
{
	assert_int_equal(tree_of(copy)->tag, DW_TAG_inlined_subroutine);
	return note_address(user, address);
}

static int inlined_of(const char *name, uint64_t most_bytes)
{
	const struct inlined_query query = {
			.names = &name, .nr_names = 1, .most_bytes = most_bytes};

	return debug_inlined(&debug_of, &query, note_copy, &each_result);
}

static int find_line(const char *source, int line)
{
	int nearest = 0;
	int ret = debug_lines(&debug_of, source, line, note_address, &each_result, &nearest);

	called("nearest %d", nearest);
	return ret;
}

static void test_sources(void **state)
{
	(void)state;
	assert_true(spec_debug_is_source("dir/file.c", "file.c") &&
			spec_debug_is_source("file.c", "file.c"));
	assert_true(spec_debug_is_source("dir/file.c", "/file.c") &&
			spec_debug_is_source("dir/file.c", "dir/file.c"));
	assert_false(spec_debug_is_source("dir/file.c", "le.c") ||
			spec_debug_is_source("file.c", "a/file.c"));
	assert_false(spec_debug_is_source("dir/file.c", "ile.c") ||
			spec_debug_is_source("dir/file.c", "file.h"));
}

static void test_lines(void **state)
{
	static const struct played_line lines[] = {/*
			 * Line 7 starts three times: the repetition directly after it does not
			 * count.
			 */
			{"a/cook.c", 7, 1, 0, 0x10}, {"a/cook.c", 7, 1, 0, 0x11},
			{"a/cook.c", 9, 1, 0, 0x12}, {"a/cook.c", 7, 1, 0, 0x13},
			/*
			 * Lines of other files, of no statement, at the end of code, and without an
			 * address.
			 */
			{"b/book.c", 7, 1, 0, 0x14}, {"a/cook.c", 7, 1, 0, 0x15},
			{NULL, 7, 1, 0, 0x16}, {"a/cook.c", 7, 0, 0, 0x17},
			{"a/cook.c", 7, 1, 0, 0x18}, {"a/cook.c", 7, 1, 1, 0x19},
			{"a/cook.c", 7, 1, 0, 0x1a}, {"a/cook.c", 7, 1, 0, 1},
			{"a/cook.c", 7, 1, 0, 0x1b},
			/* Entries that cannot be read. */
			{"a/cook.c", -1, 1, 0, 0x1c}, {"a/cook.c", 8, -1, 0, 0x1d},
			{"a/cook.c", 8, 1, -1, 0x1e}, {"a/cook.c", 12, 1, 0, 0x1f},
			{"a/cook.c", 10, 0, 0, 0x20}, {"a/cook.c", 8, 1, 1, 0x21}};

	(void)state;
	begin();
	each_result = 0;
	(void)add_unit("one");
	source_files[0] = NULL;
	source_files[1] = "b/book.c";
	source_files[2] = "a/cook.c";
	nr_files = 3;
	played_lines = lines;
	nr_lines = sizeof(lines) / sizeof(*lines);
	assert_int_equal(find_line("cook.c", 7), 0);
	assert_called("lines of one 10 13 15 18 1a 1b nearest 9");
	assert_int_equal(find_line("cook.c", 8), 0);
	assert_called("lines of one nearest 9");
	assert_int_equal(find_line("cook.c", 9), 0);
	assert_called("lines of one 12 nearest 12");
	assert_int_equal(find_line("cook.c", 12), 0);
	assert_called("lines of one 1f nearest 0");
	assert_int_equal(find_line("book.c", 6), 0);
	assert_called("lines of one nearest 7");
	each_result = 3;
	(void)add_unit("two");
	assert_int_equal(find_line("cook.c", 7), 3);
	assert_called("lines of one 10 nearest 0");
	each_result = 0;
	assert_int_equal(find_line("cook.c", 9), 0);
	assert_called("lines of one 12 lines of two 12 nearest 12");
	/* Lines are read only from units that have the file. */
	nr_files = 2;
	assert_int_equal(find_line("cook.c", 7), 0);
	assert_called("nearest 0");
	nr_files = 3;
	files_result = -1;
	assert_int_equal(find_line("cook.c", 7), 0);
	assert_called("nearest 0");
	files_result = 0;
	lines_result = -1;
	assert_int_equal(find_line("cook.c", 7), 0);
	assert_called("lines of one lines of two nearest 0");
}

/* ---- inlined functions ---- */

static void test_inlined(void **state)
{
	size_t one, two, function, piece;

	(void)state;
	begin();
	each_result = 0;
	one = add_unit("one");
	two = add_unit("two");
	function = add(one, DW_TAG_subprogram, "stir");
	trees[function].inlined = 1;
	for (uint64_t i = 0; i < 3; i++) {
		piece = add(function, DW_TAG_inlined_subroutine, "piece");
		trees[piece].begin = i == 1 ? 0 : 0x100 + i;
	}
	function = add(one, DW_TAG_subprogram, "stir");
	trees[add(function, DW_TAG_inlined_subroutine, "piece")].begin = 0x200;
	function = add(two, DW_TAG_subprogram, NULL);
	trees[function].inlined = 1;
	trees[add(function, DW_TAG_inlined_subroutine, "piece")].begin = 0x300;
	function = add(two, DW_TAG_subprogram, "stirs");
	trees[function].inlined = 1;
	trees[add(function, DW_TAG_inlined_subroutine, "piece")].begin = 0x400;
	function = add(two, DW_TAG_subprogram, "stir");
	trees[function].inlined = 3;
	trees[add(function, DW_TAG_inlined_subroutine, "piece")].begin = 0x500;
	assert_int_equal(inlined_of("stir", 0), 0);
	assert_called("functions of one 100 102 functions of two 500 ");
	each_result = 9;
	assert_int_equal(inlined_of("stir", 0), 9);
	assert_called("functions of one 100 ");
	assert_int_equal(inlined_of("cook", 0), 0);
	assert_called("functions of one functions of two ");
	/* The units end at 200 and 300. */
	each_result = 0;
	assert_int_equal(inlined_of("stir", headers[1].next), 0);
	assert_called("functions of one 100 102 functions of two 500 ");
	assert_int_equal(inlined_of("stir", headers[1].next - 1), -E2BIG);
	assert_called("functions of one 100 102 ");
	/* A symbol, or the readable name with and without parameters. */
	trees[function].part = "_ZN3pot4stirEi";
	trees[function].part_attribute = DW_AT_linkage_name;
	for (size_t i = 0; i < 5; i++) {
		static const char *const names[] = {"_ZN3pot4stirEi", "pot::stir", "pot::stir(int)",
				"pot::stir(long)", "pan::stir"};

		assert_int_equal(inlined_of(names[i], 0), 0);
		assert_called(i < 3 ? "functions of one functions of two 500 "
				    : "functions of one functions of two ");
	}
	/*
	 * Without a symbol, the scopes of its declaration are compared; one has no name. At last,
	 * the declaration of the second function cannot be read.
	 */
	trees[function].part_attribute = DW_AT_specification;
	nr_inlined_scopes = 5;
	inlined_scopes[1] = add(0, DW_TAG_class_type, "Stove");
	inlined_scopes[2] = add(0, DW_TAG_namespace, NULL);
	inlined_scopes[3] = add(0, DW_TAG_namespace, "pan");
	inlined_scopes[4] = one;
	for (size_t i = 0; i < 9; i++) {
		static const char *const names[] = {"pan::Stove::stir", "Stove::stir",
				"an::Stove::stir", "ppan::Stove::stir", "pan::stir",
				"pan:Stove::stir", "pan::Stove:stir", "a::pan::Stove::stir",
				"pan::Stove::stir"};

		is_reference_lost = i == 8;
		assert_int_equal(inlined_of(names[i], 0), 0);
		assert_called(!i ? "functions of one 100 102 functions of two 500 "
						: i == 8
						? "functions of one 100 102 functions of two "
						: "functions of one functions of two ");
	}
	is_reference_lost = false;
	nr_inlined_scopes = 0;
	assert_int_equal(inlined_of("pan::Stove::stir", 0), 0);
	assert_called("functions of one functions of two ");
}

/* The functions of a spec are counted by their names without the suffixes of copies. */
static void test_count_inlined(void **state)
{
	struct resolve_module module = {.debug = &debug_of, .debug_tried = true};
	struct location items[] = {{.module = &module, .name = "stir.constprop.0"},
			{.module = &module, .name = ""}, {.module = &module, .name = "cook"}};
	struct locations locations = {.items = items, .count = 3};
	size_t function;

	(void)state;
	begin();
	function = add(add_unit("one"), DW_TAG_subprogram, "stir");
	trees[function].inlined = 1;
	for (size_t i = 0; i < 3; i++)
		trees[add(function, DW_TAG_inlined_subroutine, "piece")].begin = 0x100 + i;
	locations_count_inlined(&locations);
	assert_called("functions of one ");
	assert_int_equal(locations.nr_inlined, 3);
	assert_false(locations.is_inlined_unknown);
	/* The unit ends after the limit. */
	for (size_t i = 0; i < 2; i++) {
		headers[0].next = INLINED_BYTES_MAX + i;
		locations.nr_inlined = 0;
		locations_count_inlined(&locations);
		assert_called(i ? "" : "functions of one ");
		assert_int_equal(locations.nr_inlined, i ? 0 : 3);
		assert_int_equal(locations.is_inlined_unknown, i);
	}
	/* No more than INLINED_NAMES_MAX names are compared. */
	headers[0].next = 200;
	for (size_t i = 0; i < 2; i++) {
		struct location many[INLINED_NAMES_MAX + 1];

		for (size_t j = 0; j <= INLINED_NAMES_MAX; j++)
			many[j] = (struct location){.module = &module, .name = "cook"};
		many[INLINED_NAMES_MAX - 1 + i].name = "stir";
		locations = (struct locations){.items = many, .count = INLINED_NAMES_MAX + 1};
		locations_count_inlined(&locations);
		assert_called("functions of one ");
		assert_int_equal(locations.nr_inlined, i ? 0 : 3);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_open),
			cmocka_unit_test(test_units),
			cmocka_unit_test(test_count_inlined),
			cmocka_unit_test(test_missing_part),
			cmocka_unit_test(test_scopes),
			cmocka_unit_test(test_sources),
			cmocka_unit_test(test_lines),
			cmocka_unit_test(test_inlined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
