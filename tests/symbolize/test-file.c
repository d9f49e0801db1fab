/* SPDX-License-Identifier: MIT */
/*
 * The parts of one file: limits of functions, names and sizes, and lines of this program, also
 * without the index of addresses.
 */
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "symbolize/module.c" /* NOLINT(bugprone-suspicious-include): reaches static functions */
#include "symbolize/symbol-table.c" /* NOLINT(bugprone-suspicious-include): the same */

static char directory[] = "/tmp/side-test-file-XXXXXX";

/* ---- symbols ---- */

static void test_order(void **unused)
{
	const struct table_symbol symbols[] = {{1, 9, "a"}, {2, 9, "b"}, {2, 8, "c"}, {2, 8, "d"}};

	(void)unused;
	assert_int_equal(symbol_table_compare(&symbols[0], &symbols[1]), -1);
	assert_int_equal(symbol_table_compare(&symbols[1], &symbols[0]), 1);
	/* The smaller one is behind the larger one, because the search goes backwards. */
	assert_int_equal(symbol_table_compare(&symbols[1], &symbols[2]), -1);
	assert_int_equal(symbol_table_compare(&symbols[2], &symbols[1]), 1);
	assert_int_equal(symbol_table_compare(&symbols[2], &symbols[3]), 0);
}

static void test_growth(void **unused)
{
	struct symbol_table table = {.count = 0};
	GElf_Sym symbol;

	(void)unused;
	/* Memory for 1, 2, 4, 8, 16 symbols. */
	failing_arm(6);
	for (unsigned int i = 0; i < 16; i++) {
		symbol = (GElf_Sym){.st_value = 100 + i, .st_size = 200 + i};
		assert_true(symbol_table_add(&table, &symbol, "f"));
	}
	assert_false(failing_has_failed());
	failing_arm(1);
	assert_false(symbol_table_add(&table, &symbol, "f"));
	assert_true(failing_has_failed());
	assert_int_equal(table.count, 16);
	for (unsigned int i = 0; i < 16; i++) {
		assert_int_equal(table.symbols[i].begin, 100 + i);
		assert_int_equal(table.symbols[i].size, 200 + i);
		assert_string_equal(table.symbols[i].name, "f");
	}
	symbol_table_free(&table);
}

/* The symbols before the last ones are never read, so they need no memory. */
static void test_most_symbols(void **unused)
{
	const size_t most = (size_t)1 << 24, size = most * sizeof(struct table_symbol);
	struct symbol_table table = {.count = most - 2};
	const GElf_Sym symbol = {.st_value = 5, .st_size = 1};

	(void)unused;
	table.symbols = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(table.symbols, MAP_FAILED);
	assert_true(symbol_table_add(&table, &symbol, "f"));
	assert_false(symbol_table_add(&table, &symbol, "f"));
	assert_int_equal(table.count, most);
	assert_int_equal(table.symbols[most - 1].begin, 5);
	munmap(table.symbols, size);
}

static void test_creation(void **unused)
{
	const struct module_name name = {
			.path = "/a", .inode = 7, .build_id = {1, 2}, .build_id_size = 2};
	struct module *module;

	(void)unused;
	for (unsigned int number = 1; number <= 4; number++) {
		failing_arm(number);
		module = module_create(&name);
		assert_int_equal(failing_has_failed(), number < 4);
		assert_int_equal(module == NULL, number < 4);
	}
	assert_string_equal(module->name.path, "/a");
	assert_string_equal(module->name.debug_link, "");
	assert_int_equal(module->name.inode, 7);
	assert_int_equal(module->name.build_id_size, 2);
	assert_int_equal(module->name.build_id[1], 2);
	assert_int_equal(module->file.fd, -1);
	assert_int_equal(module->debug.fd, -1);
	module_free(module);
}

/* ---- names ---- */

static void assert_readable(const char *name, const char *expected)
{
	char *found = module_readable(name);

	assert_non_null(found);
	assert_string_equal(found, expected);
	free(found);
}

static void test_readable(void **unused)
{
	static char name[8192], expected[8192];

	(void)unused;
	assert_readable("fclose@@GLIBC_2.2.5", "fclose");
	assert_readable("fclose@GLIBC_2.2.5", "fclose");
	assert_readable("plain", "plain");
	assert_readable("@", "");
	assert_readable("_Z3foov", "foo()");
	assert_readable("_Z3foov@@V1", "foo()");
	/* A name of 4095 bytes is demangled. Of a longer one the first 4096 bytes are printed. */
	for (size_t letters = 4078; letters <= 4080; letters++) {
		size_t used = (size_t)snprintf(name, sizeof(name), "_RNvC7mycrate%zu", letters);

		memset(name + used, 'n', letters);
		name[used + letters] = '\0';
		if (letters == 4078)
			snprintf(expected, sizeof(expected), "mycrate::%.4078s", name + used);
		else
			snprintf(expected, sizeof(expected), "%.4096s", name);
		assert_int_equal(strlen(name), letters + 17);
		assert_readable(name, expected);
	}
	/* A demangled name of 4095 bytes; a longer one is printed as in the file. */
	for (unsigned int letters = 7; letters <= 8; letters++) {
		size_t used = (size_t)snprintf(name, sizeof(name), "_Z%u%.*s509", letters,
				(int)letters, "ffffffff");

		memset(name + used, 'A', 509);
		strcpy(name + used + 509, "S_S_S_S_S_S_S_");
		snprintf(expected, sizeof(expected),
				"fffffff(%1$.509s, %1$.509s, %1$.509s, %1$.509s, %1$.509s, %1$.509s, %1$.509s, %1$.509s)",
				name + used);
		assert_int_equal(strlen(expected), 4095);
		assert_readable(name, letters == 7 ? expected : name);
	}
	/* The name itself; the demangled name. */
	failing_arm(1);
	assert_null(module_readable("plain"));
	assert_true(failing_has_failed());
}

/* ---- files ---- */

static void copy_to(const char *path, const char *section, off_t size)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
	    to = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	struct stat status;
	char *bytes;

	assert_true(from >= 0 && to >= 0);
	assert_int_equal(fstat(from, &status), 0);
	bytes = malloc((size_t)status.st_size);
	assert_non_null(bytes);
	assert_int_equal(read(from, bytes, (size_t)status.st_size), status.st_size);
	if (section) {
		const ElfW(Ehdr) *header = (const void *)bytes;
		ElfW(Shdr) *sections = (void *)(bytes + header->e_shoff);
		const char *names = bytes + sections[header->e_shstrndx].sh_offset;

		for (unsigned int i = 0; i < header->e_shnum; i++)
			if (!strcmp(names + sections[i].sh_name, section))
				sections[i].sh_name++; /* without its first letter */
	}
	assert_int_equal(write(to, bytes, (size_t)status.st_size), status.st_size);
	if (size)
		assert_int_equal(ftruncate(to, size), 0);
	free(bytes);
	close(from);
	close(to);
}

static void test_sizes(void **unused)
{
	const int64_t most = (int64_t)16 << 30;
	struct symbols_file file;
	char path[64];

	(void)unused;
	snprintf(path, sizeof(path), "%s/large", directory);
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		copy_to(path, NULL, most - 1 + beyond);
		assert_int_equal(file_open(&file, path), !beyond);
		file_close(&file);
	}
	unlink(path);
	/* A closed file has no inode. */
	assert_int_equal(file_inode(&file), 0);
}

/* A file with descriptor 0 works like any other. */
static void test_first_descriptor(void **unused)
{
	int kept = fcntl(0, F_DUPFD_CLOEXEC, 3);
	struct symbols_file file;
	bool is_open;
	char path[64];
	int other;

	(void)unused;
	snprintf(path, sizeof(path), "%s/text", directory);
	other = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(other, "text", 4), 4);
	close(other);
	assert_true(kept >= 3);
	close(0);
	is_open = file_open(&file, "/proc/self/exe");
	assert_true(is_open);
	assert_int_equal(file.fd, 0);
	file_close(&file);
	assert_int_equal(file.fd, -1);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	assert_false(file_open(&file, path));
	assert_int_equal(fcntl(0, F_GETFD), -1);
	assert_int_equal(dup2(kept, 0), 0);
	close(kept);
	unlink(path);
}

/* Bytes that use each entry of the table, and more bytes than one read returns. */
static void test_sums(void **unused)
{
	const size_t size = ((size_t)1 << 20) + 1;
	unsigned char *bytes = malloc(size);
	char path[64];
	uint32_t sum;
	int fd;

	(void)unused;
	assert_non_null(bytes);
	snprintf(path, sizeof(path), "%s/sum", directory);
	fd = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	for (unsigned int i = 0; i < 256; i++)
		bytes[i] = (unsigned char)i;
	assert_int_equal(write(fd, bytes, 256), 256);
	assert_int_equal(file_sum(fd, &sum), 0);
	assert_int_equal(sum, 0x29058c73);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(7 * i + i / 4096);
	assert_int_equal(pwrite(fd, bytes, size, 0), (ssize_t)size);
	assert_int_equal(file_sum(fd, &sum), 0);
	assert_int_equal(sum, 0x4c169396);
	close(fd);
	unlink(path);
	free(bytes);
}

static void count(void *user, const char *sentence)
{
	(void)sentence;
	++*(unsigned int *)user;
}

/*
 * A missing file does not count as a replaced one. A relative path is not opened, even if there is
 * a file.
 */
static void test_missing(void **unused)
{
	static const char *const paths[] = {
			"/nowhere/at/all", "../../../../../../../../../../proc/self/exe"};
	unsigned int nr_sentences = 0;
	const struct symbols_options options = {.report = count, .user = &nr_sentences};

	(void)unused;
	for (unsigned int i = 0; i < 2; i++) {
		const struct module_name name = {.path = paths[i], .build_id_size = i ? 0 : 20};
		struct module *module = module_create(&name);

		module_open(module, &options);
		assert_null(module->file.elf);
		assert_int_equal(module->functions.count, 0);
		assert_int_equal(nr_sentences, 0);
		module_free(module);
	}
}

/* Without memory for a function, the functions after it are not read. */
static void test_no_memory(void **unused)
{
	const struct module_name name = {.path = "/proc/self/exe"};
	const struct symbols_options options = {.report = NULL};
	size_t count_of_all = 0;

	(void)unused;
	for (unsigned int number = 0; number < 100; number++) {
		struct module *module = module_create(&name);

		failing_arm(number);
		module_open(module, &options);
		if (!number)
			count_of_all = module->functions.count;
		if (failing_has_failed() && !strcmp(failing_name, "realloc")) {
			assert_true(count_of_all > 64);
			assert_true(module->functions.count < count_of_all / 2);
			number = 100;
		}
		assert_true(number || count_of_all);
		module_free(module);
	}
}

/* ---- lines ---- */

/* A macro, so that the whole function is on one line. */
#define DEFINE_MARKED(number)                                     \
	static const unsigned int marked_line = (number);         \
	static __attribute__((noinline)) const void *marked(void) \
	{                                                         \
		return __builtin_return_address(0);               \
	}
DEFINE_MARKED(__LINE__)

/* Code of the first line of this file. */
extern const char first_line[];
static __attribute__((noinline)) void numbered(void)
{
	__asm__ volatile(".loc 1 1\nfirst_line: nop");
}

static int find_base(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uintptr_t *)base = info->dlpi_addr;
	return 1;
}

static void assert_line(const char *path, bool has_lines, bool has_index)
{
	const struct module_name name = {.path = path};
	const struct symbols_options options = {.path = NULL};
	struct module *module = module_create(&name);
	struct symbol symbol = {.function = NULL};
	uintptr_t base = 0;
	Dwarf_Die unit;

	(void)dl_iterate_phdr(find_base, &base);
	module_open(module, &options);
	module_find(module, (uintptr_t)marked - base, &symbol);
	assert_string_equal(symbol.function, "marked");
	assert_int_equal(symbol.inside, 0);
	assert_int_equal(symbol.file != NULL, has_lines);
	if (has_lines) {
		const char *ending = strstr(symbol.file, "/tests/symbolize/test-file.c");

		assert_int_equal(*symbol.file, '/');
		assert_non_null(ending);
		assert_string_equal(ending, "/tests/symbolize/test-file.c");
		assert_int_equal(symbol.line, marked_line);
		assert_int_equal(dwarf_addrdie(module->dwarf, (uintptr_t)marked - base, &unit) !=
						NULL,
				has_index);
		assert_true(module_find_unit(module->dwarf, (uintptr_t)marked - base, &unit));
		assert_false(module_find_unit(module->dwarf, 1, &unit));
		free((void *)(uintptr_t)symbol.file);
		symbol.file = module_whole_path(&unit, "/whole/path");
		assert_string_equal(symbol.file, "/whole/path");
	}
	free((void *)(uintptr_t)symbol.function);
	free((void *)(uintptr_t)symbol.file);
	symbol = (struct symbol){.function = NULL};
	if (has_lines) {
		assert_true(module_find_unit(module->dwarf, (uintptr_t)first_line - base, &unit));
		symbol_module_find_line(&unit, (uintptr_t)first_line - base, &symbol);
		assert_non_null(symbol.file);
		assert_int_equal(symbol.line, 1);
	}
	free((void *)(uintptr_t)symbol.file);
	/* Not in a function, not in a unit. */
	symbol = (struct symbol){.function = NULL};
	module_find(module, 1, &symbol);
	assert_null(symbol.function);
	assert_null(symbol.file);
	module_free(module);
}

static void test_lines(void **unused)
{
	char path[64];

	(void)unused;
	(void)marked();
	snprintf(path, sizeof(path), "%s/copy", directory);
	copy_to(path, NULL, 0);
	assert_line(path, true, true);
	copy_to(path, ".debug_aranges", 0);
	assert_line(path, true, false);
	copy_to(path, ".debug_line", 0);
	assert_line(path, false, false);
	numbered();
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_order),
			cmocka_unit_test(test_growth),
			cmocka_unit_test(test_most_symbols),
			cmocka_unit_test(test_creation),
			cmocka_unit_test(test_readable),
			cmocka_unit_test(test_sizes),
			cmocka_unit_test(test_first_descriptor),
			cmocka_unit_test(test_sums),
			cmocka_unit_test(test_missing),
			cmocka_unit_test(test_no_memory),
			cmocka_unit_test(test_lines),
	};
	int ret;

	if (!mkdtemp(directory))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(directory);
	return ret;
}
