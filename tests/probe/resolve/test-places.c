/* SPDX-License-Identifier: MIT */
/*
 * From a probe spec to locations: which files are searched, in which order, and each refusal with
 * its hint. The test simulates files, functions, lines and markers. It includes the file, so that
 * it can call its static functions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../called.h"

#include "probe/spec/debug.h"
#include "probe/spec/debug-package.h"
#include "probe/spec/parts.h"
#include "probe/spec/spec.h"

#define MODULES 4
#define FUNCTIONS 4

/* ---- simulated files ---- */

struct code_file {
	struct code_function functions[FUNCTIONS];
	const char *names[FUNCTIONS];
	size_t count;
	bool lacks_debug_file;
};

static struct code_file files[MODULES];
static struct resolve_module modules[MODULES];
static struct resolve all = {.modules = modules, .memory = -1};
static int opened[MODULES]; /* the result of opening the file */
static int named;           /* the result of spec_find_functions() */
static size_t capacity;     /* locations that can be added */
static int add_error;       /* the result of adding one more */
static struct resolve_choices chosen;
static bool has_debug, is_inlined;
static unsigned int nr_inlined_counts; /* calls of locations_count_inlined() */
static int debug_error;
static int nearest_line;
static struct resolve_marker the_marker;

static int played_code(struct resolve_module *module, struct error *error)
{
	int ret = opened[module - modules];

	called("open %s\n", module->name);
	module->refused |= ret != 0;
	return ret ? error_set(error, ret, "the hint of opening", "cannot open %s", module->name)
		   : 0;
}

static bool played_is(const struct resolve_module *module, const char *library)
{
	return !strncmp(module->name, library, strlen(library)) &&
			!strncmp(module->name + strlen(library), ".so", 3);
}

static size_t played_functions(const struct code_file *file, const struct code_function **functions)
{
	*functions = file->functions;
	return file->count;
}

static const char *played_name(
		const struct code_file *file, const struct code_function *function, size_t index)
{
	assert_int_equal(index, 0);
	return file->names[function - file->functions];
}

static const struct code_function *played_function_at(
		const struct code_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->count; i++) {
		if (address >= file->functions[i].address &&
				address - file->functions[i].address < file->functions[i].size)
			return &file->functions[i];
	}
	return NULL;
}

static int played_add(struct locations *locations, const struct location *location)
{
	if (locations->count == capacity)
		return add_error;
	locations->items = realloc(locations->items, (locations->count + 1) * sizeof(*location));
	assert_non_null(locations->items);
	locations->items[locations->count++] = *location;
	return 0;
}

/* Functions with exactly this name, or all for a glob. */
static int played_find(struct resolve_module *module, const struct parsed_spec *spec,
		struct locations *locations)
{
	const struct code_file *file = module->code;

	for (size_t i = 0; i < file->count && !named; i++) {
		struct location location = {.module = module,
				.function = &file->functions[i],
				.address = file->functions[i].address,
				.name = file->names[i],
				.entry = true};
		int ret = spec->glob || !strcmp(spec->name, file->names[i])
				? played_add(locations, &location)
				: 0;

		if (ret)
			return ret;
	}
	return named;
}

static void played_choose(struct resolve *resolve, struct resolve_module *module,
		const struct code_function *function, struct resolve_choices *ret_choices)
{
	assert_ptr_equal(resolve, &all);
	called("choose %s %llx\n", module->name, (unsigned long long)function->address);
	*ret_choices = chosen;
}

static char *played_choose_text(const struct resolve_module *module,
		const struct code_function *chooser, const char *name,
		const struct resolve_choices *of)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "%s %s %llx of %zu", module->name, name,
			(unsigned long long)chooser->address, of->count);
	return strdup(text);
}

static struct debug *played_debug(struct resolve_module *module)
{
	module->debug_error = debug_error;
	return has_debug ? (struct debug *)module : NULL;
}

static int played_inlined(struct debug *debug, const struct inlined_query *query,
		int (*each)(void *user, uint64_t address, Dwarf_Die *copy), void *user)
{
	const struct resolve_module *module = (const void *)debug;

	assert_int_equal(query->nr_names, 1);
	assert_int_equal(query->most_bytes, 0);
	called("inlined %s in %s\n", query->names[0], module->name);
	return is_inlined && module->executable ? each(user, 0x1110, NULL) : 0;
}

static void played_count_inlined(struct locations *locations)
{
	locations->nr_inlined = 100 * nr_inlined_counts++ + locations->count;
}

/* Two statements in each of two functions, and one outside of functions. */
static int played_lines(struct debug *debug, const char *source, int line,
		int (*each)(void *user, uint64_t address), void *user, int *nearest)
{
	static const uint64_t addresses[] = {0x1120, 0x1110, 0x1118, 0x1205, 0x1200, 0x1500};
	int ret = 0;

	called("lines %s:%d in %s\n", source, line, ((struct resolve_module *)debug)->name);
	*nearest = nearest_line;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses) && !ret && !nearest_line &&
			line == 7;
			i++)
		ret = each(user, addresses[i]);
	return ret;
}

static int played_markers(struct resolve_module *module,
		int (*each)(void *user, const struct resolve_marker *marker), void *user)
{
	called("markers of %s\n", module->name);
	return module->executable && the_marker.name ? each(user, &the_marker) : 0;
}

static bool played_lacks(const struct code_file *file, struct code_debug_file *ret_debug)
{
	*ret_debug = (struct code_debug_file){.asked_server = false};
	return file->lacks_debug_file;
}

static const char *played_package_hint(
		const char *path, const struct code_debug_file *debug, char *hint, size_t size)
{
	size_t used = strlen(hint);

	(void)debug;
	(void)snprintf(hint + used, size - used, "%sinstall the package of %s", used ? "\n" : "",
			path);
	return ": it is stripped, and its debug file is not installed";
}

#define code_lacks_debug_file played_lacks
#define debug_package_hint played_package_hint
#define module_code played_code
#define module_is played_is
#define code_functions played_functions
#define code_name played_name
#define code_function_at played_function_at
#define locations_add played_add
#define spec_find_functions played_find
#define ifunc_targets played_choose
#define ifunc_note played_choose_text
#define module_debug played_debug
#define debug_inlined played_inlined
#define locations_count_inlined played_count_inlined
#define debug_lines played_lines
#define module_markers played_markers
#include "probe/spec/locations.c"

/* ---- helpers ---- */

static struct locations locations;
static struct error the_error;

static void add_function(size_t module, const char *name, uint64_t address, uint64_t size)
{
	struct code_file *file = &files[module];

	file->names[file->count] = name;
	file->functions[file->count++] =
			(struct code_function){.address = address, .size = size, .nr_names = 1};
}

/* A program with three libraries. */
static void begin(void)
{
	static const char *const names[] = {
			"kitchen", "libstove.so.1", "libpot.so", "ld-linux-x86-64.so.2"};

	memset(files, 0, sizeof(files));
	memset(opened, 0, sizeof(opened));
	for (size_t i = 0; i < MODULES; i++)
		modules[i] = (struct resolve_module){.name = names[i],
				.executable = !i,
				.code = &files[i],
				.loaded = true,
				.begin = 0x10000 * (i + 1),
				.end = 0x10000 * (i + 1) + 0x2000,
				.bias = 0xf000 + 0x10000 * i};
	all.nr_modules = MODULES;
	add_function(0, "cook", 0x1100, 0x40);
	add_function(0, "serve", 0x1200, 0x20);
	add_function(1, "heat", 0x1300, 0x30);
	add_function(2, "boil", 0x1400, 0x30);
	add_function(3, "resolve", 0x1500, 0x30);
	named = 0;
	capacity = 100;
	add_error = -ENOMEM;
	chosen = (struct resolve_choices){.count = 0};
	has_debug = is_inlined = false;
	debug_error = 0;
	nearest_line = 0;
	the_marker = (struct resolve_marker){.name = NULL};
	free(locations.items);
	free(locations.note);
	locations = (struct locations){.count = 0};
	the_error = (struct error){.code = 0};
	*calls = '\0';
}

static int find_kind(enum resolve_kind kind, const char *location_text)
{
	const struct probe_spec request = {.kind = kind, .location_text = location_text};

	free(locations.items);
	free(locations.note);
	locations = (struct locations){.count = 0};
	the_error = (struct error){.code = 0};
	*calls = '\0';
	return locations_find(&all, &request, &locations, &the_error);
}

static int find(const char *location_text)
{
	return find_kind(RESOLVE_LOCATION, location_text);
}

static void expect_error(int ret, int wanted, const char *text, const char *hint)
{
	assert_int_equal(ret, wanted);
	assert_string_equal(the_error.text, text);
	assert_string_equal(the_error.hint, hint);
}

/* The first location that is too many is refused, and memory is not the reason. */
static void expect_too_many(int ret, const char *what)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "more than 200000 %s match", what);
	expect_error(ret, -E2BIG, text, "select fewer functions");
}

static void expect_place(
		size_t index, size_t module, uint64_t address, const char *name, bool entry)
{
	const struct location *location = &locations.items[index];

	assert_true(index < locations.count);
	assert_ptr_equal(location->module, &modules[module]);
	assert_int_equal(location->address, address);
	assert_string_equal(location->name, name);
	assert_int_equal(location->entry, entry);
}

/* ---- files ---- */

static void test_everywhere(void **state)
{
	(void)state;
	begin();
	assert_int_equal(find("cook"), 0);
	assert_called("open kitchen\n");
	assert_int_equal(locations.count, 1);
	expect_place(0, 0, 0x1100, "cook", true);
	assert_true(locations.one_name);
	/* The program first, then each library except the loader. */
	assert_int_equal(find("boil"), 0);
	assert_called("open kitchen\nopen libstove.so.1\nopen libpot.so\n");
	expect_place(0, 2, 0x1400, "boil", true);
	add_function(1, "boil", 0x1340, 8);
	expect_error(find("boil"), -EEXIST, "`boil` is in libstove.so.1 and in libpot.so",
			"name one of them, as LIBRARY:SYMBOL");
	/* A file that cannot be read is skipped, and a refused one is not opened. */
	opened[1] = -ENOEXEC;
	assert_int_equal(find("boil"), 0);
	expect_place(0, 2, 0x1400, "boil", true);
	opened[1] = 0;
	modules[1].refused = true;
	assert_int_equal(find("boil"), 0);
	assert_called("open kitchen\nopen libpot.so\n");
	modules[3].name = "ld-musl-x86_64.so.1";
	expect_error(find("resolve"), -ENOENT, "kitchen has no function `resolve`",
			"`side probe list` lists its functions");
	begin();
	named = -ENOMEM;
	expect_error(find("cook"), -ENOMEM, "out of memory", "");
	assert_called("open kitchen\n");
	named = -E2BIG;
	expect_error(find("heat"), -E2BIG, "more than 200000 functions match",
			"select fewer functions");
	/* A glob selects functions of the program. */
	named = 0;
	assert_int_equal(find("*"), 0);
	assert_int_equal(locations.count, 2);
	assert_false(locations.one_name);
	assert_called("open kitchen\n");
	/* Out of memory in a library: the search ends. */
	capacity = 0;
	expect_error(find("heat"), -ENOMEM, "out of memory", "");
	assert_called("open kitchen\nopen libstove.so.1\n");
}

static void test_libraries(void **state)
{
	(void)state;
	begin();
	assert_int_equal(find("libpot:boil"), 0);
	assert_called("open libpot.so\n");
	expect_place(0, 2, 0x1400, "boil", true);
	expect_error(find("libpot:boi"), -ENOENT, "libpot has no function `boi`",
			"did you mean `boil`?");
	expect_error(find("libpo:boil"), -ENOENT, "kitchen has not loaded `libpo`",
			"did you mean `libpot`?");
	expect_error(find("libfoundation:boil"), -ENOENT, "kitchen has not loaded `libfoundation`",
			"the loaded ones are libstove, libpot, ld-linux-x86-64");
	modules[1].name = "stove";
	expect_error(find("libfoundation:boil"), -ENOENT, "kitchen has not loaded `libfoundation`",
			"the loaded ones are libpot, ld-linux-x86-64");
	all.nr_modules = 2;
	expect_error(find("libfoundation:boil"), -ENOENT, "kitchen has not loaded `libfoundation`",
			"`ldd` lists what a program will load");
	modules[0].executable = false;
	expect_error(find("libfoundation:boil"), -ENOENT,
			"the program has not loaded `libfoundation`",
			"`ldd` lists what a program will load");
	begin();
	named = -ENOMEM;
	modules[2].name = "libstove.so.2";
	expect_error(find("libstove:boil"), -ENOMEM, "out of memory", "");
	assert_called("open libstove.so.1\n");
	named = 0;
	assert_int_equal(find("libstove:boil"), 0);
	assert_called("open libstove.so.1\nopen libstove.so.2\n");
	modules[2].refused = true;
	assert_int_equal(find("libstove:heat"), 0);
	assert_called("open libstove.so.1\n");
}

/* ---- libraries that are loaded later ---- */

static int later_result; /* of the search; 0: it names the files of later_named */
static unsigned int later_named;

static int played_later(
		void *user, struct resolve *resolve, const char *library, struct error *error)
{
	assert_ptr_equal(user, &later_named);
	assert_ptr_equal(resolve, &all);
	called("later %s\n", library);
	for (size_t i = 0; i < MODULES; i++)
		modules[i].named = later_named & 1u << i;
	return later_result && later_result != -ENOENT
			? error_set(error, later_result, "the hint", "cannot search %s", library)
			: later_result;
}

static void begin_later(void)
{
	begin();
	modules[2].later = true;
	later_result = 0;
	later_named = 1u << 2;
	all.later = played_later;
	all.later_user = &later_named;
}

static void test_later(void **state)
{
	(void)state;
	begin_later();
	assert_int_equal(find("/plugs/libpot.so:boil"), 0);
	assert_called("later /plugs/libpot.so\nopen libpot.so\n");
	expect_place(0, 2, 0x1400, "boil", true);
	/* A file that another spec has named. */
	assert_int_equal(find("libpot:boil"), 0);
	assert_called("open libpot.so\n");
	/* Only a spec with LIB: selects it. */
	expect_error(find("boil"), -ENOENT, "kitchen has no function `boil`",
			"`side probe list` lists its functions");
	assert_false(modules[2].named);
	expect_error(find("./libpot.so:boi"), -ENOENT, "./libpot.so has no function `boi`",
			"did you mean `boil`?");
	later_result = -ENOENT;
	expect_error(find("/plugs/x:boil"), -ENOENT,
			"kitchen has not loaded `/plugs/x`, and there is no such file",
			"the loaded ones are libstove, ld-linux-x86-64");
	expect_error(find("./x:boil"), -ENOENT, "kitchen has not loaded `./x`",
			"the loaded ones are libstove, ld-linux-x86-64\nif the program loads it later, name its file: `/DIRECTORY/LIBRARY:NAME`");
	later_result = -ENOMEM;
	expect_error(find("x:boil"), -ENOMEM, "cannot search x", "the hint");
	all.later = NULL;
}

static void test_later_markers(void **state)
{
	(void)state;
	begin_later();
	the_marker = (struct resolve_marker){
			.provider = "plate", .name = "full", .arguments = "", .address = 0x1120};
	/* The simulated marker is in the program. */
	assert_int_equal(find_kind(RESOLVE_MARKER, "kitchen:plate:full"), -ENOENT);
	assert_true(strstr(calls, "later kitchen\nopen libpot.so\nmarkers of libpot.so\n") != NULL);
	assert_null(locations.marker);
	later_named = 1;
	assert_int_equal(find_kind(RESOLVE_MARKER, "kitchen:plate:full"), 0);
	expect_place(0, 0, 0x1120, "cook", false);
	assert_string_equal(locations.marker, "plate:full");
	expect_error(find_kind(RESOLVE_MARKER, "kitchen:plate:ful"), -ENOENT,
			"kitchen and its libraries have no marker `kitchen:plate:ful`",
			"did you mean `plate:full`?");
	/* A library that is loaded. */
	assert_int_equal(find_kind(RESOLVE_MARKER, "libstove:plate:full"), -ENOENT);
	assert_null(strstr(calls, "later"));
	later_result = -EIO;
	expect_error(find_kind(RESOLVE_MARKER, "x:plate:full"), -EIO, "cannot search x",
			"the hint");
	all.later = NULL;
}

/* ---- no function ---- */

static void test_no_symbol(void **state)
{
	(void)state;
	begin();
	expect_error(find("cool"), -ENOENT, "kitchen has no function `cool`",
			"did you mean `cook`?");
	/* Names of libraries are offered after those of the program. */
	expect_error(find("heap"), -ENOENT, "kitchen has no function `heap`",
			"did you mean `heat`?");
	expect_error(find("something_else"), -ENOENT, "kitchen has no function `something_else`",
			"`side probe list` lists its functions");
	expect_error(find("libpot:something_else"), -ENOENT,
			"libpot has no function `something_else`",
			"`side probe list` lists its functions");
	modules[1].code = NULL;
	opened[1] = -ENOEXEC;
	expect_error(find("heap"), -ENOENT, "kitchen has no function `heap`",
			"`side probe list` lists its functions");
	modules[0].unread = -EIO;
	expect_error(find("heap"), -EIO, "cannot read the functions of kitchen: Input/output error",
			"");
	expect_error(find("libpot:heap"), -ENOENT, "libpot has no function `heap`",
			"`side probe list` lists its functions");
	modules[2].unread = -EMFILE;
	expect_error(find("libpot:heap"), -EMFILE,
			"cannot read the functions of libpot.so: Too many open files", "");
	begin();
	modules[2].unread = -EMFILE;
	expect_error(find("cool"), -ENOENT, "kitchen has no function `cool`",
			"did you mean `cook`?");
	/* The names of the loader are offered, too, if its code has been read. */
	expect_error(find("resolv"), -ENOENT, "kitchen has no function `resolv`",
			"did you mean `resolve`?");
}

/* The hint names the package of each stripped file that the spec selects. */
static void test_stripped(void **state)
{
	(void)state;
	begin();
	modules[0].path = (char[]){"/kitchen"};
	modules[2].path = (char[]){"/libpot.so"};
	files[0].lacks_debug_file = true;
	expect_error(find("cool"), -ENOENT,
			"kitchen has no function `cool`: it is stripped, and its debug file is not installed",
			"did you mean `cook`?\ninstall the package of /kitchen");
	expect_error(find("something_else"), -ENOENT,
			"kitchen has no function `something_else`: it is stripped, and its debug file is not installed",
			"install the package of /kitchen");
	expect_error(find("libpot:something_else"), -ENOENT,
			"libpot has no function `something_else`",
			"`side probe list` lists its functions");
	files[0].lacks_debug_file = false;
	files[2].lacks_debug_file = true;
	expect_error(find("cool"), -ENOENT, "kitchen has no function `cool`",
			"did you mean `cook`?");
	expect_error(find("libpot:something_else"), -ENOENT,
			"libpot has no function `something_else`: it is stripped, and its debug file is not installed",
			"install the package of /libpot.so");
}

/* A glob that the program does not have, and a library has. */
static void test_no_glob(void **state)
{
	struct parsed_spec spec = {.kind = SPEC_SYMBOL, .name = (char[]){"b*"}, .glob = true};
	struct location_search finding = {.resolve = &all,
			.spec = &spec,
			.locations = &locations,
			.error = &the_error};
	char hint[512];

	(void)state;
	begin();
	expect_error(no_symbol(&finding), -ENOENT, "kitchen has no function that matches `b*`",
			"`--function 'libpot:b*'` probes those of the library");
	assert_called("open libstove.so.1\nopen libpot.so\n");
	spec.name = (char[]){"r*"};
	expect_error(no_symbol(&finding), -ENOENT, "kitchen has no function that matches `r*`",
			"`side probe list` lists its functions; use LIBRARY:GLOB for libraries");
	assert_called("open libstove.so.1\nopen libpot.so\n");
	spec.library = (char[]){"libpot"};
	expect_error(no_symbol(&finding), -ENOENT, "libpot has no function that matches `r*`",
			"`side probe list` lists its functions");
	assert_called("");
	spec.library = NULL;
	spec.name = (char[]){"b*"};
	modules[2].refused = true;
	assert_false(hint_at_libraries(&finding, hint, sizeof(hint)));
	assert_called("open libstove.so.1\n");
	modules[2].refused = false;
	opened[2] = -ENOEXEC;
	assert_false(hint_at_libraries(&finding, hint, sizeof(hint)));
	opened[2] = 0;
	spec.name = (char[]){"c*"};
	assert_false(hint_at_libraries(&finding, hint, sizeof(hint)));
	*calls = '\0';
}

static void test_no_functions(void **state)
{
	(void)state;
	begin();
	files[0].count = files[2].count = 0;
	expect_error(find("cook"), -ENOENT,
			"kitchen has neither symbols nor .eh_frame, so none of its functions is known",
			"addresses can be probed (--probe 0xADDR)");
	expect_error(find("libpot:cook"), -ENOENT,
			"libpot has neither symbols nor .eh_frame, so none of its functions is known",
			"addresses can be probed (--probe 0xADDR)");
	modules[0].executable = false;
	expect_error(find("cook"), -ENOENT,
			"the program's code is not mapped from its file, so its functions cannot be found",
			"`side probe list PID` lists the files whose functions are known");
	expect_error(find("libpot:cook"), -ENOENT,
			"libpot has neither symbols nor .eh_frame, so none of its functions is known",
			"addresses can be probed (--probe 0xADDR)");
}

static void test_pieces(void **state)
{
	struct parsed_spec spec = {.kind = SPEC_SYMBOL, .name = (char[]){"cook"}};
	struct location_search finding = {.resolve = &all,
			.spec = &spec,
			.locations = &locations,
			.error = &the_error};
	char hint[512];

	(void)state;
	begin();
	locations.piece = (struct location){.module = &modules[0], .name = "cook.part.0"};
	expect_error(no_symbol(&finding), -ENOENT,
			"kitchen has only a piece of `cook`, `cook.part.0`: the beginning is inlined in callers",
			"`--function 'cook.part.0'` probes it");
	locations.piece.module = &modules[2];
	expect_error(no_symbol(&finding), -ENOENT,
			"libpot.so has only a piece of `cook`, `cook.part.0`: the beginning is inlined in callers",
			"`--function 'libpot.so:cook.part.0'` probes it");
	assert_ptr_equal(piece_hint(&locations.piece, hint, sizeof(hint)), hint);
	locations.piece.name = NULL;
	/* Functions that were put into others. */
	is_inlined = has_debug = true;
	assert_int_equal(find("stir"), 0);
	expect_place(0, 0, 0x1110, "cook", false);
	assert_true(locations.items[0].inlined);
	assert_int_equal(locations.count, 1);
	assert_called("open kitchen\nopen libstove.so.1\nopen libpot.so\nopen kitchen\ninlined stir in kitchen\n");
	nr_inlined_counts = 1;
	assert_int_equal(find_kind(RESOLVE_FUNCTION, "stir"), 0);
	assert_int_equal(locations.nr_inlined, 0);
	/* Inlined calls of a function are counted for its name only, and if it is probed itself. */
	assert_int_equal(find_kind(RESOLVE_LOCATION, "cook"), 0);
	assert_int_equal(locations.nr_inlined, 0);
	assert_int_equal(find_kind(RESOLVE_FUNCTION, "c*k"), 0);
	assert_int_equal(locations.nr_inlined, 0);
	assert_int_equal(find_kind(RESOLVE_FUNCTION, "cook"), 0);
	assert_int_equal(locations.nr_inlined, 101);
	expect_error(find("stir+4"), -ENOENT, "kitchen has no function `stir`",
			"`side probe list` lists its functions");
	capacity = 0;
	expect_error(find("stir"), -ENOMEM, "out of memory", "");
	capacity = 100;
	has_debug = false;
	expect_error(find("stir"), -ENOENT, "kitchen has no function `stir`",
			"`side probe list` lists its functions");
}

/* ---- offsets and addresses ---- */

static void test_offsets(void **state)
{
	(void)state;
	begin();
	assert_int_equal(find("cook+1"), 0);
	expect_place(0, 0, 0x1101, "cook", false);
	assert_int_equal(find("cook+0x3f"), 0);
	expect_place(0, 0, 0x113f, "cook", false);
	expect_error(find("cook+0x40"), -ERANGE, "`cook` has only 0x40 bytes", "");
	assert_int_equal(find("cook+0"), 0);
	expect_place(0, 0, 0x1100, "cook", true);
	expect_error(find_kind(RESOLVE_FUNCTION, "cook+1"), -EINVAL,
			"`cook+1` is not the start of a function",
			"`--probe` accepts locations inside of functions");
	assert_int_equal(find_kind(RESOLVE_FUNCTION, "cook"), 0);
	add_function(0, "cook", 0x1240, 0x40);
	assert_int_equal(find("cook"), 0);
	assert_int_equal(locations.count, 2);
	expect_error(find("cook+1"), -EINVAL, "there are 2 functions `cook`",
			"write the address of one of them, as in `side probe list`");
}

static void test_addresses(void **state)
{
	(void)state;
	begin();
	/* A runtime address. */
	assert_int_equal(find("0x20310"), 0);
	assert_called("open libstove.so.1\n");
	expect_place(0, 1, 0x1310, "heat", false);
	assert_int_equal(find("0x20300"), 0);
	expect_place(0, 1, 0x1300, "heat", true);
	assert_int_equal(find("0x21fff"), 0);
	expect_place(0, 1, 0x2fff, "", false);
	assert_null(locations.items[0].function);
	assert_int_equal(find("0x20000"), 0);
	expect_place(0, 1, 0x1000, "", false);
	/* An address in the file of the program. */
	assert_int_equal(find("0x22000"), 0);
	assert_called("open kitchen\n");
	expect_place(0, 0, 0x22000, "", false);
	assert_int_equal(find("0x1ffff"), 0);
	expect_place(0, 0, 0x1ffff, "", false);
	modules[1].loaded = false;
	assert_int_equal(find("0x20310"), 0);
	expect_place(0, 0, 0x20310, "", false);
	assert_int_equal(find("0x1204"), 0);
	expect_place(0, 0, 0x1204, "serve", false);
	files[0].functions[1].nr_names = 0;
	assert_int_equal(find("0x1200"), 0);
	expect_place(0, 0, 0x1200, "", true);
	/* An address in the file of a library. */
	assert_int_equal(find("libpot:0x1408"), 0);
	assert_called("open libpot.so\n");
	expect_place(0, 2, 0x1408, "boil", false);
	capacity = 0;
	expect_error(find("libpot:0x1408"), -ENOMEM, "out of memory", "");
	expect_error(find("0x1204"), -ENOMEM, "out of memory", "");
	opened[0] = opened[2] = -EIO;
	expect_error(find("0x30310"), -EIO, "cannot open libpot.so", "the hint of opening");
	opened[0] = -EMFILE;
	expect_error(find("0x1204"), -EMFILE, "cannot open kitchen", "the hint of opening");
	/* Each time the error of the named library, and of no other one. */
	expect_error(find("libpot:0x1408"), -EIO, "cannot open libpot.so", "the hint of opening");
	assert_called("open libpot.so\n");
	expect_error(find("libpot:0x1408"), -EIO, "cannot open libpot.so", "the hint of opening");
	capacity = 100;
	assert_int_equal(find("libstove:0x1310"), 0);
	expect_place(0, 1, 0x1310, "heat", false);
	opened[2] = 0;
	expect_error(find("libpot:0x1408"), -ENOENT, "there is no code at `libpot:0x1408`", "");
	modules[0].executable = false;
	expect_error(find("0x1204"), -ENOENT, "there is no code at 0x1204",
			"write LIBRARY:ADDRESS");
}

/* ---- IFUNC resolvers ---- */

static void test_choosers(void **state)
{
	(void)state;
	begin();
	files[0].functions[0].chooses = true;
	expect_error(find("cook"), -ENOTSUP,
			"`cook` of kitchen is a resolver (IFUNC), and side cannot determine which functions it can select",
			"`side probe list` lists the functions that it can select; name one of them by its address");
	assert_called("open kitchen\nchoose kitchen 1100\n");
	chosen.outside = true;
	chosen.count = 1;
	expect_error(find("cook"), -ENOTSUP,
			"`cook` of kitchen is a function of the kernel in this process (vDSO), which no file contains",
			"probe the function that calls it");
	/* All functions of a glob except those. */
	assert_int_equal(find("*"), 0);
	assert_int_equal(locations.count, 1);
	expect_place(0, 0, 0x1200, "serve", true);
	assert_null(locations.note);
	chosen = (struct resolve_choices){.addresses = {0x1200, 0x1700, 0x1210}, .count = 3};
	assert_int_equal(find("cook"), 0);
	assert_int_equal(locations.count, 3);
	expect_place(0, 0, 0x1200, "serve", true);
	expect_place(1, 0, 0x1700, "cook", true);
	assert_null(locations.items[1].function);
	expect_place(2, 0, 0x1210, "serve", true);
	assert_string_equal(locations.note, "kitchen cook 1100 of 3");
	assert_true(locations.one_name);
	/* No location is listed twice. */
	assert_int_equal(find("*"), 0);
	assert_int_equal(locations.count, 3);
	expect_place(0, 0, 0x1200, "serve", true);
	expect_place(1, 0, 0x1700, "cook", true);
	expect_place(2, 0, 0x1210, "serve", true);
	assert_null(locations.note);
	files[0].functions[1].nr_names = 0;
	assert_int_equal(find("cook"), 0);
	expect_place(0, 0, 0x1200, "cook", true);
	/* The first sentence remains. */
	add_function(0, "cook", 0x1240, 0x40);
	files[0].functions[2].chooses = true;
	assert_int_equal(find("cook"), 0);
	assert_int_equal(locations.count, 3);
	assert_string_equal(locations.note, "kitchen cook 1100 of 3");
	assert_called("open kitchen\nchoose kitchen 1100\nchoose kitchen 1240\n");
	capacity = 2;
	expect_error(find("cook"), -ENOMEM, "out of memory", "");
	assert_called("open kitchen\nchoose kitchen 1100\n");
	assert_null(locations.note);
	add_error = -E2BIG;
	expect_too_many(find("cook"), "functions");
	assert_called("open kitchen\nchoose kitchen 1100\n");
	assert_null(locations.note);
	/* The other functions of a glob are copied first. */
	{
		const struct parsed_spec glob = {.glob = true};
		struct location_search search = {.resolve = &all,
				.spec = &glob,
				.locations = &locations,
				.error = &the_error};

		begin();
		files[0].functions[0].chooses = true;
		assert_int_equal(find("libpot:boil"), 0);
		locations.items[0].function = &files[0].functions[1];
		capacity = 2;
		assert_int_equal(
				played_add(&locations,
						&(struct location){.function = files[0].functions}),
				0);
		capacity = 0;
		expect_error(follow_choosers(&search), -ENOMEM, "out of memory", "");
		assert_int_equal(locations.count, 0);
	}
	/* A location in another file is another one. */
	begin();
	locations.items = calloc(1, sizeof(*locations.items));
	locations.items[0] = (struct location){.module = &modules[0], .address = 5};
	locations.count = 1;
	assert_true(spec_location_contains(
			&locations, &(struct location){.module = &modules[0], .address = 5}));
	assert_false(spec_location_contains(
			&locations, &(struct location){.module = &modules[1], .address = 5}));
	assert_false(spec_location_contains(
			&locations, &(struct location){.module = &modules[0], .address = 6}));
}

/* ---- lines ---- */

static void test_lines(void **state)
{
	(void)state;
	begin();
	expect_error(find("cook.c:7"), -ENODATA,
			"there is no debug information for kitchen, so it is unknown where the lines of cook.c are",
			"compile it with -g, or install its package of debug symbols; names and addresses work without");
	expect_error(find("libpot:boil.c:7"), -ENODATA,
			"there is no debug information for libpot, so it is unknown where the lines of boil.c are",
			"compile it with -g, or install its package of debug symbols; names and addresses work without");
	/* Debug information and files that cannot be read. */
	debug_error = -ENOMEM;
	expect_error(find("cook.c:7"), -ENOMEM,
			"cannot read the debug information of kitchen: out of memory", "");
	expect_error(find("libpot:boil.c:7"), -ENOMEM,
			"cannot read the debug information of libpot.so: out of memory", "");
	expect_error(find("fry"), -ENOMEM,
			"cannot read the debug information of kitchen: out of memory", "");
	debug_error = 0;
	opened[2] = -EIO;
	expect_error(find("libpot:boil.c:7"), -EIO, "cannot open libpot.so", "the hint of opening");
	expect_error(find("libstove:heat.c:7"), -ENODATA,
			"there is no debug information for libstove, so it is unknown where the lines of heat.c are",
			"compile it with -g, or install its package of debug symbols; names and addresses work without");
	begin();
	has_debug = true;
	expect_error(find("cook.c:8"), -ENOENT,
			"kitchen has no code after line 8 of a source file cook.c",
			"its debug information has source files by the names that the compiler got");
	expect_error(find("libpot:cook.c:8"), -ENOENT,
			"libpot has no code after line 8 of a source file cook.c",
			"its debug information has source files by the names that the compiler got");
	nearest_line = 19;
	expect_error(find("cook.c:8"), -ENOENT, "line 8 of cook.c has no code",
			"did you mean `cook.c:19`?");
	nearest_line = 0;
	/*
	 * The first statement in each function; the one outside of functions is a separate
	 * location.
	 */
	assert_int_equal(find("cook.c:7"), 0);
	assert_called("open kitchen\nlines cook.c:7 in kitchen\n");
	assert_int_equal(locations.count, 3);
	expect_place(0, 0, 0x1110, "cook", false);
	expect_place(1, 0, 0x1200, "serve", true);
	expect_place(2, 0, 0x1500, "", false);
	expect_error(find_kind(RESOLVE_FUNCTION, "cook.c:7"), -EINVAL,
			"`cook.c:7` is not the start of a function",
			"`--probe` accepts locations inside of functions");
	capacity = 1;
	expect_error(find("cook.c:7"), -ENOMEM, "out of memory", "");
	add_error = -E2BIG;
	expect_too_many(find("cook.c:7"), "locations");
	capacity = 100;
	/* The same function of another file is another one. */
	{
		struct location_search finding = {.resolve = &all,
				.locations = &locations,
				.error = &the_error,
				.module = &modules[1]};

		assert_int_equal(find("cook.c:7"), 0);
		modules[1].code = modules[0].code;
		assert_int_equal(add_statement(&finding, 0x1104), 0);
		assert_int_equal(locations.count, 4);
		expect_place(0, 0, 0x1110, "cook", false);
		expect_place(3, 1, 0x1104, "cook", false);
		assert_int_equal(add_statement(&finding, 0x1100), 0);
		assert_int_equal(locations.count, 4);
		expect_place(3, 1, 0x1100, "cook", true);
		assert_int_equal(add_statement(&finding, 0x1600), 0);
		assert_int_equal(add_statement(&finding, 0x1600), 0);
		assert_int_equal(locations.count, 6);
	}
}

/* ---- markers ---- */

static int find_marker(const char *location_text)
{
	return find_kind(RESOLVE_MARKER, location_text);
}

static void test_markers(void **state)
{
	(void)state;
	begin();
	expect_error(find_marker("serve"), -EINVAL, "`serve` is not the name of a marker",
			"write PROVIDER:NAME");
	expect_error(find_marker("kitchen:plate"), -ENOENT,
			"kitchen and its libraries have no marker `kitchen:plate`",
			"`side probe list` lists markers");
	assert_called("open kitchen\nmarkers of kitchen\nopen libstove.so.1\nmarkers of libstove.so.1\nopen libpot.so\nmarkers of libpot.so\nopen ld-linux-x86-64.so.2\nmarkers of ld-linux-x86-64.so.2\n");
	/* A file that cannot be read may have the marker. A file of an unknown format has none. */
	opened[1] = -ENOEXEC;
	opened[2] = -EIO;
	expect_error(find_marker("kitchen:plate"), -ENOENT,
			"kitchen and its libraries have no marker `kitchen:plate`",
			"`side probe list` lists markers");
	modules[2].unread = -EIO;
	expect_error(find_marker("kitchen:plate"), -EIO, "cannot open libpot.so",
			"the hint of opening");
	begin();
	the_marker = (struct resolve_marker){.provider = "kitchen",
			.name = "plates",
			.arguments = "4@%edi",
			.address = 0x1200,
			.semaphore = 0x4000};
	expect_error(find_marker("kitchen:plate"), -ENOENT,
			"kitchen and its libraries have no marker `kitchen:plate`",
			"did you mean `kitchen:plates`?");
	expect_error(find_marker("kitchens:plates"), -ENOENT,
			"kitchen and its libraries have no marker `kitchens:plates`",
			"did you mean `kitchen:plates`?");
	for (int i = 0; i < 4; i++) {
		static const char *const location_text[] = {
				"kitchen:plates", "kitchen:pl*", "k*:plates", "k*s"};

		modules[1].refused = i > 0;
		opened[2] = i > 1 ? -EIO : 0;
		if (i == 3) {
			expect_error(find_marker(location_text[i]), -EINVAL,
					"`k*s` is not the name of a marker", "write PROVIDER:NAME");
			continue;
		}
		assert_int_equal(find_marker(location_text[i]), 0);
		assert_int_equal(locations.count, 1);
		expect_place(0, 0, 0x1200, "serve", false);
		assert_string_equal(locations.items[0].operands, "4@%edi");
		assert_int_equal(locations.items[0].semaphore, 0x4000);
		assert_int_equal(!strstr(calls, "markers of libstove.so.1"), i > 0);
		assert_int_equal(!strstr(calls, "markers of libpot.so"), i > 1);
	}
	assert_int_equal(find_marker("k*:*"), 0);
	/* Brackets and colons in its names. */
	the_marker.provider = "a:b";
	the_marker.name = "c[d]";
	assert_int_equal(find_marker("a:b:c[d]"), 0);
	assert_int_equal(find_marker("a*[d]"), -EINVAL);
	assert_int_equal(find_marker("a:b:c?d?"), 0);
	capacity = 0;
	expect_error(find_marker("a:b:c[d]"), -ENOMEM, "out of memory", "");
	assert_called("open kitchen\nmarkers of kitchen\n");
	add_error = -E2BIG;
	expect_too_many(find_marker("a:b:c[d]"), "locations");
	assert_called("open kitchen\nmarkers of kitchen\n");
}

static void test_texts(void **state)
{
	(void)state;
	begin();
	assert_true(find("") < 0);
	assert_int_equal(locations.count, 0);
	assert_true(*the_error.text);
	assert_called("");
	free(locations.items);
	free(locations.note);
	locations = (struct locations){.count = 0};
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_everywhere),
			cmocka_unit_test(test_libraries),
			cmocka_unit_test(test_later),
			cmocka_unit_test(test_later_markers),
			cmocka_unit_test(test_no_symbol),
			cmocka_unit_test(test_stripped),
			cmocka_unit_test(test_no_glob),
			cmocka_unit_test(test_no_functions),
			cmocka_unit_test(test_pieces),
			cmocka_unit_test(test_offsets),
			cmocka_unit_test(test_addresses),
			cmocka_unit_test(test_choosers),
			cmocka_unit_test(test_lines),
			cmocka_unit_test(test_markers),
			cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
