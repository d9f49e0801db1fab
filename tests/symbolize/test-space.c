/* SPDX-License-Identifier: MIT */
/*
 * Which file is at an address at a time, and how often it is looked up: functions of this test
 * replace the process that reads files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "symbolize/worker.h"

/* ---- replaces worker.c ---- */

static unsigned int nr_asked;
static struct worker_question asked; /* the last one */
static struct module_name asked_name;
static bool is_lost;
static int nr_workers;
static char reported[2048];
static unsigned int nr_reported;

struct symbol_worker *worker_create(const struct symbols_options *options)
{
	struct symbol_worker *worker = malloc(1);

	(void)options;
	nr_workers += worker != NULL;
	return worker;
}

void worker_free(struct symbol_worker *worker)
{
	nr_workers--;
	free(worker);
}

bool worker_ask(struct symbol_worker *worker, const struct worker_question *question,
		struct symbol *symbol)
{
	assert_non_null(worker);
	nr_asked++;
	asked = *question;
	asked_name = *question->name;
	if (is_lost)
		return false;
	symbol->function = strdup("function");
	symbol->file = strdup("file");
	symbol->line = 77;
	symbol->offset = question->offset + 0x1000;
	return true;
}

/* ---- helpers ---- */

static void note(void *user, const char *sentence)
{
	assert_string_equal(user, "user");
	snprintf(reported, sizeof(reported), "%s", sentence);
	nr_reported++;
}

static struct symbols *make(void)
{
	static char user[] = "user";
	const struct symbols_options options = {.report = note, .user = user};
	struct symbols *symbols = symbols_create(&options);

	assert_non_null(symbols);
	nr_asked = nr_reported = 0;
	is_lost = false;
	return symbols;
}

static void load(
		struct symbols *symbols, int64_t ns, const char *path, uint64_t base, uint64_t size)
{
	const struct symbols_library library = {.path = path, .base = base, .size = size};

	assert_int_equal(symbols_load(symbols, 3, ns, &library), 0);
}

/* Compares the file at the address of process 3, and the offset in it. */
static void assert_at(struct symbols *symbols, int64_t ns, uint64_t address, bool call,
		const char *path, uint64_t offset)
{
	const struct symbol *symbol = symbols_find(symbols, 3, ns, address, call);

	if (!path) {
		assert_null(symbol->module);
		assert_null(symbol->function);
		return;
	}
	assert_non_null(symbol->module);
	assert_string_equal(symbol->module, path);
	assert_int_equal(symbol->offset, offset + 0x1000);
	assert_string_equal(symbol->function, "function");
	assert_string_equal(symbol->file, "file");
	assert_int_equal(symbol->line, 77);
}

static void assert_data_at(struct symbols *symbols, uint64_t address, uint64_t offset)
{
	const struct symbol *symbol = symbols_find_data(symbols, 3, 100, address);

	assert_true(asked.data);
	assert_false(asked.call);
	assert_int_equal(asked.offset, offset);
	assert_string_equal(symbol->function, "function");
	assert_int_equal(symbol->offset, offset + 0x1000);
}

/* ---- libraries ---- */

static void test_libraries(void **unused)
{
	struct symbols *symbols = make();

	(void)unused;
	load(symbols, 100, "/a", 0x1000, 0x200);
	assert_at(symbols, 100, 0xfff, false, NULL, 0);
	assert_at(symbols, 100, 0x1000, false, "/a", 0);
	assert_int_equal(asked.offset, 0);
	assert_false(asked.call);
	assert_at(symbols, 100, 0x11ff, false, "/a", 0x1ff);
	assert_at(symbols, 100, 0x1200, false, NULL, 0);
	/* The return address of a call belongs to the call's function. */
	assert_at(symbols, 100, 0x1000, true, NULL, 0);
	assert_at(symbols, 100, 0x1200, true, "/a", 0x200);
	assert_true(asked.call);
	assert_int_equal(asked.offset, 0x200);
	assert_at(symbols, 100, 0x1201, true, NULL, 0);
	/* The library was there before it was recorded. */
	assert_at(symbols, 99, 0x1000, false, "/a", 0);
	assert_at(symbols, INT64_MIN, 0x1000, false, "/a", 0);
	assert_null(symbols_find(symbols, 3, 100, 0, false)->module);
	assert_null(symbols_find(symbols, 2, 100, 0x1000, false)->module);
	assert_null(symbols_find(symbols, 4, 100, 0x1000, false)->module);
	assert_null(symbols_find(symbols, UINT32_MAX, 100, 0x1000, false)->module);
	/* Until it is unloaded: from the same address, and not before it was loaded. */
	symbols_unload(symbols, 3, 200, 0x1001);
	symbols_unload(symbols, 3, 99, 0x1000);
	symbols_unload(symbols, 4, 200, 0x1000);
	assert_at(symbols, 300, 0x1004, false, "/a", 4);
	symbols_unload(symbols, 3, 200, 0x1000);
	symbols_unload(symbols, 3, 150, 0x1000);
	assert_at(symbols, 199, 0x1004, false, "/a", 4);
	assert_at(symbols, 200, 0x1004, false, NULL, 0);
	/* Another one at the same address; before it, the first of the two later ones. */
	load(symbols, 400, "/c", 0x1100, 0x100);
	load(symbols, 300, "/b", 0x1000, 0x300);
	assert_at(symbols, 299, 0x1180, false, "/b", 0x180);
	assert_at(symbols, 250, 0x1280, false, "/b", 0x280);
	assert_at(symbols, 450, 0x1180, false, "/c", 0x80);
	symbols_free(symbols);
	assert_int_equal(nr_workers, 0);
	symbols_free(NULL);
}

static uint32_t generation(struct symbols *symbols, int64_t ns, uint64_t one, uint64_t other)
{
	const uint64_t addresses[] = {one, other};

	return symbols_generation(symbols, 3, ns, addresses, 2);
}

static void test_generations(void **unused)
{
	struct symbols *symbols = make();

	(void)unused;
	load(symbols, 100, "/a", 0x1000, 0x200);
	load(symbols, 100, "/stays", 0x5000, 0x200);
	assert_int_equal(generation(symbols, 1000, 0x1000, 0x5000), 0);
	symbols_unload(symbols, 3, 200, 0x1000);
	assert_int_equal(generation(symbols, 199, 0x1000, 0x5000), 0);
	assert_int_equal(generation(symbols, 200, 0x1000, 0x5000), 1);
	assert_int_equal(generation(symbols, 200, 0x11ff, 0x1000), 2);
	assert_int_equal(generation(symbols, 200, 0x1200, 0xfff), 0);
	/* Another range that overlaps, and the same one again; a load without an unload ends it. */
	load(symbols, 300, "/b", 0x1100, 0x200);
	symbols_unload(symbols, 3, 400, 0x1100);
	load(symbols, 500, "/c", 0x1000, 0x200);
	load(symbols, 600, "/d", 0x1000, 0x200);
	assert_int_equal(generation(symbols, 399, 0x1180, 0x5000), 1);
	assert_int_equal(generation(symbols, 400, 0x1180, 0x5000), 2);
	assert_int_equal(generation(symbols, 599, 0x1180, 0x5000), 2);
	assert_int_equal(generation(symbols, 600, 0x1180, 0x5000), 3);
	assert_int_equal(generation(symbols, 600, 0x1080, 0x1280), 3);
	/* Other processes have none. */
	assert_int_equal(symbols_generation(symbols, 2, 600, (uint64_t[]){0x1000}, 1), 0);
	assert_int_equal(symbols_generation(symbols, 4, 600, (uint64_t[]){0x1000}, 1), 0);
	symbols_free(symbols);
}

/* Ranges before an address are checked up to a limit. */
static void test_most_unloaded(void **unused)
{
	struct symbols *symbols = make();

	(void)unused;
	for (unsigned int i = 0; i < SYMBOLS_UNLOADED_MAX + 1; i++) {
		load(symbols, i, "/a", 0x1000 + i, 0x1000);
		symbols_unload(symbols, 3, i, 0x1000 + i);
	}
	assert_int_equal(generation(symbols, 1000, 0x1800, 0), SYMBOLS_UNLOADED_MAX);
	assert_int_equal(generation(symbols, 1000, 0x1000 + SYMBOLS_UNLOADED_MAX - 1, 0),
			SYMBOLS_UNLOADED_MAX);
	symbols_free(symbols);
}

static void test_overlaps(void **unused)
{
	struct symbols *symbols = make();

	(void)unused;
	/*
	 * A library that overlaps an earlier one ends it; neighbours and the same library do not.
	 */
	load(symbols, 10, "/low", 0x1000, 0x100);
	load(symbols, 10, "/middle", 0x1100, 0x100);
	load(symbols, 10, "/high", 0x1200, 0x100);
	load(symbols, 20, "/new", 0x1100, 0x100);
	assert_at(symbols, 19, 0x1180, false, "/middle", 0x80);
	assert_at(symbols, 20, 0x1180, false, "/new", 0x80);
	assert_at(symbols, 20, 0x10ff, false, "/low", 0xff);
	assert_at(symbols, 20, 0x1200, false, "/high", 0);
	load(symbols, 30, "/new", 0x1100, 0x100);
	load(symbols, 40, "/one", 0x11ff, 2);
	assert_at(symbols, 39, 0x1180, false, "/new", 0x80);
	assert_at(symbols, 40, 0x1180, false, NULL, 0);
	assert_at(symbols, 40, 0x1280, false, NULL, 0);
	/* An earlier record that arrives later ends nothing. */
	load(symbols, 5, "/early", 0x11f0, 0x20);
	assert_at(symbols, 40, 0x11ff, false, "/one", 0);
	/* No library can have size 0, or end after the address space. */
	load(symbols, 50, "/none", 0x5000, 0);
	load(symbols, 50, "/wrapped", UINT64_MAX - 9, 10);
	load(symbols, 50, "/last", UINT64_MAX - 9, 9);
	assert_at(symbols, 50, 0x5000, false, NULL, 0);
	assert_at(symbols, 50, UINT64_MAX - 1, false, "/last", 8);
	symbols_free(symbols);
}

/* ---- files ---- */

static void test_names(void **unused)
{
	struct symbols *symbols = make();
	uint8_t id[SYMBOLS_BUILD_ID_MAX + 1];
	uint32_t numbers[6];
	struct symbols_library library = {.path = "/a", .size = 0x100, .build_id = id};

	(void)unused;
	for (unsigned int i = 0; i < sizeof(id); i++)
		id[i] = (uint8_t)(i + 1);
	for (unsigned int i = 0; i < 6; i++) {
		static const size_t sizes[] = {20, 20, 19, 64, 65, 20};

		library.base = 0x1000 * (i + 1);
		library.build_id_size = sizes[i];
		library.debug_link = i ? NULL : "a.debug";
		id[0] = i == 5;
		assert_int_equal(symbols_load(symbols, 3, 0, &library), 0);
		assert_at(symbols, 0, library.base + 1, false, "/a", 1);
		assert_int_equal(asked_name.build_id_size, sizes[i] == 65 ? 0 : sizes[i]);
		assert_memory_equal(asked_name.build_id, id, asked_name.build_id_size);
		assert_string_equal(asked_name.debug_link, i < 2 ? "a.debug" : "");
		assert_int_equal(asked_name.inode, 0);
		numbers[i] = asked.module;
	}
	/* The second is the first one at another address, whose answer is known. */
	assert_int_equal(nr_asked, 5);
	for (unsigned int i = 1; i < 6; i++)
		assert_int_equal(numbers[i], i - 1);
	symbols_free(symbols);
}

static const char *write_maps(const char *text, size_t size)
{
	static char path[64];
	int fd;

	strcpy(path, "/tmp/side-test-space-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), (ssize_t)size);
	close(fd);
	return path;
}

static void test_maps(void **unused)
{
	static const char text[] =
			"00001000-00002000 r-xp 00000400 fe:00 4711                     /one\n"
			"00002000-00003000 r--p 00000400 fe:00 4711                     /data\n"
			"00003000-00004000 r-xp 00000000 00:00 0 \n"
			"00004000-00005000 r-xp 00000000 00:00 0                        [vdso]\n"
			"no line at all\n"
			"00005000-00006000 r-xp\n"
			"00001800-00001900 rwxp 00000000 fe:00 4712                     /two with a space\n"
			"00006000-00007000 r-xp 00000000 fe:00 4713                     /last";
	struct symbols *symbols = make();
	const char *path = write_maps(text, sizeof(text) - 1);
	char link[80];

	(void)unused;
	snprintf(link, sizeof(link), "%s-link", path);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(symbols_maps(symbols, 3, link), 0);
	assert_int_equal(symbols_maps(symbols, 3, "/nowhere/maps"), 0);
	assert_int_equal(symbols_maps(symbols, 3, "/dev/null"), 0);
	unlink(link);
	assert_at(symbols, 0, 0x1000, false, NULL, 0);
	assert_int_equal(symbols_maps(symbols, 3, path), 0);
	assert_at(symbols, 0, 0xfff, false, NULL, 0);
	assert_at(symbols, 0, 0x1000, false, "/one", 0x400);
	assert_int_equal(asked_name.inode, 4711);
	assert_int_equal(asked_name.build_id_size, 0);
	assert_at(symbols, 0, 0x17ff, false, "/one", 0xbff);
	assert_at(symbols, 0, 0x1800, false, "/two with a space", 0);
	assert_int_equal(asked_name.inode, 4712);
	assert_at(symbols, 0, 0x18ff, false, "/two with a space", 0xff);
	assert_at(symbols, 0, 0x1900, false, "/one", 0xd00);
	assert_at(symbols, 0, 0x2000, true, "/one", 0x1400);
	for (uint64_t address = 0x2000; address < 0x6000; address += 0x1000)
		assert_at(symbols, 0, address, false, NULL, 0);
	assert_at(symbols, 0, 0x6fff, false, "/last", 0xfff);
	assert_at(symbols, 0, 0x7000, false, NULL, 0);
	/* Records of base addresses go first. */
	load(symbols, 0, "/record", 0x6000, 0x10);
	assert_at(symbols, 0, 0x600f, false, "/record", 0xf);
	assert_at(symbols, 0, 0x6010, false, "/last", 0x10);
	unlink(path);
	symbols_free(symbols);
}

static void test_data(void **unused)
{
	static const char text[] =
			"00001000-00002000 r-xp 00000400 fe:00 4711                     /one\n"
			"00008000-00009000 r-xp 00000000 fe:00 4713                     /last\n"
			"00005000-00006000 r-xp 00001000 fe:00 4712                     /two\n";
	struct symbols *symbols = make();
	const char *path = write_maps(text, sizeof(text) - 1);

	(void)unused;
	assert_int_equal(symbols_maps(symbols, 3, path), 0);
	unlink(path);
	/* The data of a file follows its code. */
	assert_data_at(symbols, 0x4fff, 0x43ff);
	assert_string_equal(asked_name.path, "/one");
	assert_int_equal(asked.origin, 0x400);
	assert_data_at(symbols, 0x5000, 0x1000);
	assert_string_equal(asked_name.path, "/two");
	assert_data_at(symbols, 0x7fff, 0x3fff);
	assert_int_equal(asked.origin, 0x1000);
	assert_data_at(symbols, 0x123456, 0x11b456);
	assert_string_equal(asked_name.path, "/last");
	assert_null(symbols_find_data(symbols, 3, 100, 0xfff)->module);
	assert_null(symbols_find_data(symbols, 3, 100, 0)->module);
	assert_null(symbols_find_data(symbols, 4, 100, 0x5000)->module);
	/* Records of base addresses go first, and have the data. */
	load(symbols, 0, "/record", 0x7000, 0x1000);
	assert_data_at(symbols, 0x7fff, 0xfff);
	assert_string_equal(asked_name.path, "/record");
	/* The same address as code is another question. */
	assert_at(symbols, 0, 0x7fff, false, "/record", 0xfff);
	assert_false(asked.data);
	/* Without a name, the file is a guess. */
	is_lost = true;
	assert_null(symbols_find_data(symbols, 3, 100, 0x7010)->module);
	symbols_free(symbols);
}

static void assert_function_at(struct symbols *symbols, uint64_t address, bool call,
		const char *name, uint64_t inside)
{
	const struct symbol *symbol = symbols_find(symbols, 3, 100, address, call);

	assert_string_equal(symbol->module, "[jit]");
	assert_string_equal(symbol->function, name);
	assert_int_equal(symbol->inside, inside);
	assert_int_equal(symbol->offset, address);
	assert_null(symbol->file);
}

static void test_functions(void **unused)
{
	static const char text[] =
			"1000-1100 jit old name\n"
			"1200-1300 jit third\n"
			"1000-1080 jit new name\n"
			"1300-1400 jit \n"
			"1400-1500 jat none\n"
			"1500-1600 jit fourth\n"
			"00001500-00001580 r-xp 00000000 fe:00 4711                     /file\n";
	struct symbols *symbols = make();
	const char *path = write_maps(text, sizeof(text) - 1);

	(void)unused;
	assert_int_equal(symbols_maps(symbols, 3, path), 0);
	unlink(path);
	assert_function_at(symbols, 0x1000, false, "new name", 0);
	assert_function_at(symbols, 0x107f, false, "new name", 0x7f);
	/* Behind the new function, the old one is left. */
	assert_function_at(symbols, 0x1080, false, "old name", 0x80);
	assert_function_at(symbols, 0x1080, true, "new name", 0x80);
	assert_function_at(symbols, 0x1300, true, "third", 0x100);
	assert_int_equal(nr_asked, 0);
	/* Mappings of files go first. */
	assert_at(symbols, 100, 0x157f, false, "/file", 0x7f);
	assert_function_at(symbols, 0x1580, false, "fourth", 0x80);
	assert_null(symbols_find(symbols, 3, 100, 0x1180, false)->module);
	assert_null(symbols_find(symbols, 3, 100, 0x1000, true)->module);
	assert_null(symbols_find(symbols, 3, 100, 0x1350, false)->module);
	assert_null(symbols_find(symbols, 3, 100, 0x1450, false)->module);
	assert_null(symbols_find(symbols, 4, 100, 0x1000, false)->module);
	symbols_free(symbols);
}

static void assert_version(struct symbols *symbols, int64_t ns, uint64_t address, const char *name,
		const char *file, unsigned int line)
{
	const struct symbol *symbol = symbols_find(symbols, 3, ns, address, false);

	assert_string_equal(symbol->module, "[jit]");
	assert_string_equal(symbol->function, name);
	assert_int_equal(symbol->line, line);
	if (file)
		assert_string_equal(symbol->file, file);
	else
		assert_null(symbol->file);
}

/* Functions with times: the one that was at the address at that time, and its lines. */
static void test_versions_of_functions(void **unused)
{
	static const char text[] = "1000-1100 jit@100 one\n"
				   "1000-1100 jit@200 two\n"
				   "1040-1080 jit@300 inner\n"
				   "1000-1100 jit without time\n"
				   "1000-1010 line@100 7 /one.js\n"
				   "1010-1020 line@100 8 /one.js\n"
				   "1000-1020 line@200 9 /two.js\n"
				   "1000-1020 line@250 10 /none.js\n"
				   "1000-1020 line@200\n"
				   "1020-1030 line@x 9 /none.js\n";
	struct symbols *symbols = make();
	const char *path = write_maps(text, sizeof(text) - 1);

	(void)unused;
	assert_int_equal(symbols_maps(symbols, 3, path), 0);
	unlink(path);
	for (unsigned int round = 0; round < 2; round++) { /* then from the cache */
		assert_version(symbols, 99, 0x1000, "without time", NULL, 0);
		assert_version(symbols, 100, 0x1000, "one", "/one.js", 7);
		assert_version(symbols, 199, 0x1010, "one", "/one.js", 8);
		assert_version(symbols, 199, 0x1020, "one", NULL, 0);
		assert_version(symbols, 200, 0x1010, "two", "/two.js", 9);
		assert_version(symbols, INT64_MAX, 0x1010, "two", "/two.js", 9);
		assert_version(symbols, 299, 0x1040, "two", NULL, 0);
		assert_version(symbols, 300, 0x1040, "inner", NULL, 0);
		assert_version(symbols, 300, 0x1080, "two", NULL, 0);
	}
	symbols_free(symbols);
}

/* An event before all functions belongs to the first one: times are not exact. */
static void test_function_after_the_event(void **unused)
{
	static const char text[] = "1000-1100 jit@200 two\n1000-1100 jit@100 one\n";
	struct symbols *symbols = make();
	const char *path = write_maps(text, sizeof(text) - 1);

	(void)unused;
	assert_int_equal(symbols_maps(symbols, 3, path), 0);
	unlink(path);
	assert_version(symbols, 99, 0x1000, "one", NULL, 0);
	symbols_free(symbols);
}

/* Parts of code with a line at their limit, and versions of one address that are searched. */
static void test_most_lines(void **unused)
{
	size_t size = (size_t)(SYMBOLS_LINES_MAX + 1) * 40 + 40, used = 0;
	char *text = malloc(size);
	struct symbols *symbols = make();
	const char *path;

	(void)unused;
	assert_non_null(text);
	used += (size_t)snprintf(text, size, "1000-%x jit@1 f\n", 0x1000 + SYMBOLS_LINES_MAX + 1);
	for (unsigned int i = 0; i <= SYMBOLS_LINES_MAX; i++)
		used += (size_t)snprintf(text + used, size - used, "%x-%x line@1 %u /f\n",
				0x1000 + i, 0x1001 + i, i + 1);
	path = write_maps(text, used);
	assert_int_equal(symbols_maps(symbols, 3, path), 0);
	unlink(path);
	assert_version(symbols, 1, 0x1000 + SYMBOLS_LINES_MAX - 1, "f", "/f", SYMBOLS_LINES_MAX);
	assert_version(symbols, 1, 0x1000 + SYMBOLS_LINES_MAX, "f", NULL, 0);
	symbols_free(symbols);
	free(text);
}

static void test_most_versions(void **unused)
{
	for (unsigned int more = 0; more < 2; more++) {
		char text[20000];
		size_t used = (size_t)sprintf(text, "1000-1100 jit@1 outer\n");
		struct symbols *symbols = make();
		const char *path;

		for (unsigned int i = 1; i < SYMBOLS_VERSIONS_MAX + more; i++)
			used += (size_t)sprintf(text + used, "1001-1002 jit@%u inner\n", i + 1);
		path = write_maps(text, used);
		assert_int_equal(symbols_maps(symbols, 3, path), 0);
		unlink(path);
		if (more)
			assert_null(symbols_find(symbols, 3, 5, 0x1050, false)->module);
		else
			assert_version(symbols, 5, 0x1050, "outer", NULL, 0);
		symbols_free(symbols);
	}
	(void)unused;
}

static void test_many_functions(void **unused)
{
	size_t size = (size_t)(SYMBOLS_FUNCTIONS_MAX + 1) * 32, used = 0;
	char *text = malloc(size);
	struct symbols *symbols = make();
	const char *path;

	(void)unused;
	assert_non_null(text);
	for (unsigned int i = 0; i <= SYMBOLS_FUNCTIONS_MAX; i++)
		used += (size_t)snprintf(text + used, size - used, "%x-%x jit f%u\n", 0x1000 + i,
				0x1001 + i, i);
	path = write_maps(text, used);
	assert_int_equal(symbols_maps(symbols, 3, path), 0);
	unlink(path);
	assert_function_at(symbols, 0x1000 + SYMBOLS_FUNCTIONS_MAX - 1, false, "f99999", 0);
	assert_null(symbols_find(symbols, 3, 100, 0x1000 + SYMBOLS_FUNCTIONS_MAX, false)->module);
	symbols_free(symbols);
	free(text);
}

static void test_many_maps(void **unused)
{
	const size_t width = 52, count = SYMBOLS_LIBRARIES_MAX + 1;
	char *text = malloc(count * width + 1);
	struct symbols *symbols = make();
	const char *path;

	(void)unused;
	assert_non_null(text);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sprintf(text + i * width, "%016zx-%016zx r-xp 0 fe:00 1 /x\n",
						 (i + 1) << 12, ((i + 1) << 12) + 8),
				width);
	path = write_maps(text, strlen(text));
	assert_int_equal(symbols_maps(symbols, 3, path), 0);
	assert_at(symbols, 0, SYMBOLS_LIBRARIES_MAX << 12, false, "/x", 0);
	assert_at(symbols, 0, (uint64_t)(SYMBOLS_LIBRARIES_MAX + 1) << 12, false, NULL, 0);
	unlink(path);
	free(text);
	symbols_free(symbols);
}

/* ---- answers ---- */

static void test_answers(void **unused)
{
	struct symbols *symbols = make();
	const struct symbol *first[1000];

	(void)unused;
	load(symbols, 0, "/a", 0x1000, 0x10000);
	/* Each is looked up once, also after the table has grown. */
	for (unsigned int i = 0; i < 1000; i++)
		first[i] = symbols_find(symbols, 3, 0, 0x1001 + i / 2, i & 1);
	assert_int_equal(nr_asked, 1000);
	for (unsigned int i = 0; i < 1000; i++) {
		assert_ptr_equal(symbols_find(symbols, 3, 9, 0x1001 + i / 2, i & 1), first[i]);
		assert_int_equal(first[i]->offset, 0x1001 + i / 2);
	}
	assert_int_equal(nr_asked, 1000);
	symbols_free(symbols);
}

static void test_open_limit(void **unused)
{
	struct symbols *symbols = make();
	const struct symbol *symbol;

	(void)unused;
	/* 300 files are opened; of others only the path is known. */
	for (unsigned int i = 0; i <= 300; i++) {
		char path[16];

		snprintf(path, sizeof(path), "/%u", i);
		load(symbols, 0, path, 0x1000 * (i + 1), 0x1000);
		symbol = symbols_find(symbols, 3, 0, 0x1000 * (i + 1), false);
		assert_string_equal(symbol->module, path);
		assert_int_equal(symbol->function != NULL, i < 300);
		assert_int_equal(symbol->offset, i < 300 ? 0x1000 : 0);
	}
	assert_int_equal(nr_asked, 300);
	assert_at(symbols, 0, 0x1008, false, "/0", 8);
	symbols_free(symbols);
}

static void test_most_answers(void **unused)
{
	const unsigned int count = 1 << 20;
	struct symbols *symbols = make();

	(void)unused;
	load(symbols, 0, "/a", 0x1000, 0x1000000);
	is_lost = true;
	for (unsigned int i = 0; i < count; i++)
		(void)symbols_find(symbols, 3, 0, 0x1000 + i, false);
	assert_string_equal(symbols_find(symbols, 3, 0, 0x1000, false)->module, "/a");
	assert_string_equal(symbols_find(symbols, 3, 0, 0x1000 + count - 1, false)->module, "/a");
	assert_null(symbols_find(symbols, 3, 0, 0x1000 + count, false)->module);
	symbols_free(symbols);
}

static void test_lost(void **unused)
{
	const struct symbols_options quiet = {.report = NULL};
	struct symbols *symbols = make();
	const struct symbol *symbol;

	(void)unused;
	load(symbols, 0, "/a", 0x1000, 0x100);
	load(symbols, 0, "/b", 0x2000, 0x100);
	assert_at(symbols, 0, 0x1001, false, "/a", 1);
	is_lost = true;
	symbol = symbols_find(symbols, 3, 0, 0x1002, false);
	assert_string_equal(symbol->module, "/a");
	assert_int_equal(symbol->offset, 2);
	assert_null(symbol->function);
	assert_int_equal(nr_reported, 1);
	assert_string_equal(reported,
			"addresses in /a have no symbols: the file, or its debug information, is damaged");
	is_lost = false;
	/* Not looked up any more; other files are. */
	assert_null(symbols_find(symbols, 3, 0, 0x1003, false)->function);
	assert_int_equal(nr_asked, 2);
	assert_at(symbols, 0, 0x2001, false, "/b", 1);
	assert_int_equal(nr_reported, 1);
	symbols_free(symbols);
	symbols = symbols_create(&quiet);
	load(symbols, 0, "/a", 0x1000, 0x100);
	is_lost = true;
	assert_null(symbols_find(symbols, 3, 0, 0x1002, false)->function);
	symbols_free(symbols);
}

/* ---- failing allocations ---- */

static void test_failures(void **unused)
{
	static const char line[] = "00001000-00002000 r-xp 00000400 fe:00 4711 /one\n";
	const struct symbols_options options = {.report = NULL};
	const struct symbols_library library = {.path = "/a", .base = 0x1000, .size = 0x100};
	const char *path = write_maps(line, sizeof(line) - 1);
	struct symbols *symbols;

	(void)unused;
	for (unsigned int number = 1; number <= 3; number++) {
		failing_arm(number);
		symbols = symbols_create(&options);
		assert_int_equal(failing_has_failed(), number < 3);
		assert_int_equal(symbols == NULL, number < 3);
		symbols_free(symbols);
		assert_int_equal(nr_workers, 0);
	}
	/* The processes, the file, its two names, the libraries. */
	for (unsigned int number = 1; number <= 6; number++) {
		symbols = make();
		failing_arm(number);
		assert_int_equal(symbols_load(symbols, 3, 0, &library), number < 6 ? -ENOMEM : 0);
		assert_int_equal(failing_has_failed(), number < 6);
		assert_int_equal(symbols_load(symbols, 3, 0, &library), 0);
		assert_at(symbols, 0, 0x1001, false, "/a", 1);
		symbols_free(symbols);
	}
	/* The same for maps, after the state of the file. */
	for (unsigned int number = 1; number <= 7; number++) {
		symbols = make();
		failing_arm(number);
		assert_int_equal(symbols_maps(symbols, 3, path),
				number == 1 || number == 7 ? 0 : -ENOMEM);
		assert_int_equal(failing_has_failed(), number < 7);
		assert_int_equal(symbols_maps(symbols, 3, path), 0);
		assert_at(symbols, 0, 0x1001, false, "/one", 0x401);
		symbols_free(symbols);
	}
	/* The ranges of unloaded libraries: without them, there is one generation. */
	for (unsigned int number = 1; number <= 4; number++) {
		symbols = make();
		load(symbols, 0, "/a", 0x1000, 0x100);
		symbols_unload(symbols, 3, 1, 0x1000);
		failing_arm(number);
		assert_int_equal(generation(symbols, 1, 0x1000, 0), number == 4);
		assert_int_equal(failing_has_failed(), number < 4);
		symbols_free(symbols);
	}
	/*
	 * The table of answers, and an answer: looked up again later. The message: none is printed.
	 */
	for (unsigned int number = 1; number <= 3; number++) {
		symbols = make();
		load(symbols, 0, "/a", 0x1000, 0x100);
		is_lost = true;
		failing_arm(number);
		assert_int_equal(symbols_find(symbols, 3, 0, 0x1001, false)->module != NULL,
				number == 3);
		assert_true(failing_has_failed());
		assert_int_equal(nr_reported, 0);
		is_lost = false;
		if (number < 3)
			assert_at(symbols, 0, 0x1001, false, "/a", 1);
		symbols_free(symbols);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_libraries),
			cmocka_unit_test(test_generations),
			cmocka_unit_test(test_most_unloaded),
			cmocka_unit_test(test_overlaps),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_maps),
			cmocka_unit_test(test_data),
			cmocka_unit_test(test_functions),
			cmocka_unit_test(test_versions_of_functions),
			cmocka_unit_test(test_function_after_the_event),
			cmocka_unit_test(test_most_lines),
			cmocka_unit_test(test_most_versions),
			cmocka_unit_test(test_many_functions),
			cmocka_unit_test(test_many_maps),
			cmocka_unit_test(test_answers),
			cmocka_unit_test(test_open_limit),
			cmocka_unit_test(test_most_answers),
			cmocka_unit_test(test_lost),
			cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
