/* SPDX-License-Identifier: MIT */
/*
 * Names of events, names of functions and mappings of a process, part by part. The test includes
 * the files.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../check.h"
#include "../../resources.h"

#include "probe/spec/event-names.c"
#include "probe/spec/modules.c"
#include "probe/spec/spec.c"

/* ---- names of events ---- */

static void take(struct event_names *separate, const char *name, const char *wanted)
{
	char text[EVENT_NAME_MAX];

	snprintf(text, sizeof(text), "%s", name);
	event_names_add(separate, text);
	CHECK(!strcmp(text, wanted));
}

static void names_of_events(void)
{
	struct event_names separate;
	char text[EVENT_NAME_MAX], name[EVENT_NAME_MAX], wanted[EVENT_NAME_MAX];

	CHECK(event_names_begin(&separate, 8) && separate.capacity == 16 && !separate.count);
	take(&separate, "a", "a");
	take(&separate, "b", "b");
	take(&separate, "a", "a_2");
	take(&separate, "a", "a_3");
	take(&separate, "b", "b_2");
	/* A name that ends with a number. */
	take(&separate, "a_2", "a_2_2");
	take(&separate, "b_3", "b_3");
	take(&separate, "b", "b_4");
	CHECK(separate.count == 8);
	event_names_end(&separate);
	CHECK(event_names_begin(&separate, 9) && separate.capacity == 32);
	/* 200 characters of a numbered name are kept. */
	memset(name, 'n', 210);
	name[210] = '\0';
	take(&separate, name, name);
	snprintf(wanted, sizeof(wanted), "%.200s_2", name);
	take(&separate, name, wanted);
	event_names_end(&separate);
	CHECK(event_names_begin(&separate, 3000) && separate.capacity == 8192);
	for (unsigned int i = 0; i < 1500; i++) {
		snprintf(text, sizeof(text), "name%u", i);
		take(&separate, text, text);
		snprintf(wanted, sizeof(wanted), "name%u_2", i);
		take(&separate, text, wanted);
	}
	event_names_end(&separate);
}

/* ---- names of functions ---- */

static void versions(void)
{
	CHECK(spec_name_fits_pattern("f", false, "f") &&
			!spec_name_fits_pattern("f", false, "ff") &&
			!spec_name_fits_pattern("f*", false, "ff") &&
			spec_name_fits_pattern("f*", true, "ff"));
	CHECK(!spec_name_fits_pattern("g*", true, "ff") &&
			spec_name_fits_pattern("f@V1", false, "f@@V1") &&
			!spec_name_fits_pattern("f@V1", false, "f@@V2") &&
			!spec_name_fits_pattern("f@V1", false, "f@V2"));
	CHECK(!spec_name_fits_pattern("@V1", false, "@@V1") &&
			!spec_name_fits_pattern("f@@V1", false, "f@@@V1") &&
			spec_name_fits_pattern("f@@V1", false, "f@@V1"));
	CHECK(!spec_name_fits_pattern("f@V1", false, "g@@V1") &&
			!spec_name_fits_pattern("f@V1", true, "f@@V1") &&
			!spec_name_fits_pattern("ff@V1", false, "f@@V1"));
	CHECK(names_is_cold("f.cold") && names_is_cold("f.cold.1") && !names_is_cold("f.colder") &&
			!names_is_cold("f") && !names_is_cold("cold"));
	CHECK(spec_name_ends_with("a::b", "b") && spec_name_ends_with("a::b::c", "b::c") &&
			!spec_name_ends_with("ab", "b") && !spec_name_ends_with("::b", "b"));
	CHECK(!spec_name_ends_with("a:b", "b") && !spec_name_ends_with("a::b", "c") &&
			!spec_name_ends_with("b", "a::b") && spec_name_ends_with("x::b", "b"));
}

static bool reads(const char *wanted, bool glob, const char *readable, bool whole)
{
	struct parsed_spec spec = {.name = NULL, .glob = glob};
	char text[256];

	snprintf(text, sizeof(text), "%s", readable);
	return readable_fits(&spec, wanted, text, whole);
}

static void readable_names(void)
{
	static const char method[] = "int a::b<char>::c(int) const";

	CHECK(reads("a::b<char>::c", false, method, true) &&
			reads("a::b<char>::c(int)", false, method, true));
	CHECK(reads("int a::b<char>::c(int)const", false, method, true) &&
			reads("int a::b<char>::c", false, method, true));
	CHECK(!reads("c", false, method, true) && !reads("b", false, method, true) &&
			!reads("a::b<char>::d", false, method, true));
	CHECK(reads("c", false, method, false) && reads("c(int)", false, method, false) &&
			!reads("b", false, method, false));
	CHECK(reads("a::*", true, method, true) && !reads("x::*", true, method, true));
	CHECK(reads("f", false, "f(int)", true) && reads("f(int)", false, "f(int)", true) &&
			!reads("f(char)", false, "f(int)", true));
	CHECK(reads("f", false, "void f<int>(int)", true) &&
			!reads("f<char>", false, "void f<int>(int)", true));
}

static void added_places(void)
{
	struct resolve_module modules[2];
	struct locations locations = {.count = 0};
	struct location location = {.module = &modules[0], .address = 1};

	CHECK(!locations_add(&locations, &location) && locations.count == 1 &&
			locations.capacity == 64);
	CHECK(!locations_add(&locations, &location) && locations.count == 1);
	location.module = &modules[1];
	CHECK(!locations_add(&locations, &location) && locations.count == 2);
	for (uint64_t i = 2; i <= 64; i++) {
		location.address = i;
		CHECK(!locations_add(&locations, &location) && locations.count == i + 1);
	}
	CHECK(locations.capacity == 128 && locations.items[64].address == 64);
	/* The last 63 are compared. */
	location.address = 2;
	CHECK(!locations_add(&locations, &location) && locations.count == 65);
	location.address = 1;
	CHECK(!locations_add(&locations, &location) && locations.count == 66);
	while (locations.count < RESOLVE_LOCATIONS_MAX) {
		location.address = 1000 + locations.count;
		CHECK(!locations_add(&locations, &location));
	}
	location.address = 1000 + locations.count;
	CHECK(locations_add(&locations, &location) == -E2BIG &&
			locations.count == RESOLVE_LOCATIONS_MAX);
	location.address--;
	CHECK(!locations_add(&locations, &location));
	free(locations.items);
}

static void former_versions(void)
{
	static struct code_function functions[4];
	struct location items[4];
	struct locations locations = {.items = items};
	const struct code_function *const former[] = {&functions[1], &functions[3]};

	for (unsigned int before = 0; before < 3; before++) {
		for (unsigned int i = 0; i < 4; i++)
			items[i] = (struct location){.function = &functions[i], .address = i};
		locations.count = 4;
		spec_name_drop_old_versions(&locations, before, former, 0);
		CHECK(locations.count == 4);
		spec_name_drop_old_versions(&locations, before, former, 2);
		/* Only those after `before` remain. */
		CHECK(locations.count == (before == 2 ? 4 : before == 1 ? 3 - 1 : 2));
		CHECK(items[1].address == (before == 0 ? 2 : before == 1 ? 2 : 1));
	}
	locations.count = 2;
	spec_name_drop_old_versions(&locations, 1, former, 1);
	CHECK(locations.count == 2);
}

/* ---- mappings ---- */

static void mapping_lines(void)
{
	char line[] = "7f00-7f80 r-xp 00012000 08:01 4711    /a/b c\n",
	     anonymous[] = "7f00-7f80 rw-p 00000000 00:00 0 \n";
	char short_line[] = "7f00-7f80 rw-p 00000000 00:00\n";
	struct module_mapping mapping;

	memset(&mapping, 0xff, sizeof(mapping));
	CHECK(spec_module_parse_mapping(line, &mapping) && mapping.begin == 0x7f00 &&
			mapping.end == 0x7f80 && mapping.offset == 0x12000);
	CHECK(mapping.inode == 4711 && mapping.is_code && !strcmp(mapping.path, "/a/b c") &&
			!mapping.head);
	CHECK(spec_module_parse_mapping(anonymous, &mapping) && !mapping.is_code &&
			!*mapping.path && !mapping.inode);
	CHECK(!spec_module_parse_mapping(short_line, &mapping));
}

static void own_mappings(void)
{
	static const struct {
		const char *path;
		uint64_t inode;
		bool is_ours;
	} cases[] = {{"/a/libside-agent.so", 1, true}, {"/a/libside-agent.so.1", 1, false},
			{"/a/libside.so", 1, true}, {"/a/libside.so.0", 1, true},
			{"/a/libside-x.so", 1, false}, {"/memfd:x", 1, true},
			{"/memfd:x", 7, false}, {"/memfdx", 1, false}, {"/a/b", 7, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char path[64];
		struct module_mapping mapping = {.path = path, .inode = cases[i].inode};

		snprintf(path, sizeof(path), "%s", cases[i].path);
		CHECK(spec_module_is_own_mapping(&mapping, 7) == cases[i].is_ours);
	}
}

static void library_names(void)
{
	char path[] = "/usr/lib/libfoo-1.2.so";
	struct resolve_module module = {.path = path, .name = "libfoo-1.2.so"};

	CHECK(module_is(&module, "libfoo-1.2.so") && module_is(&module, "libfoo") &&
			module_is(&module, "libfoo*") && module_is(&module, "libfoo-1.2"));
	CHECK(!module_is(&module, "libfo") && !module_is(&module, "foo") &&
			module_is(&module, "/usr/lib/*") &&
			!module_is(&module, "lib/libfoo-1.2.so"));
	module.name = "libc.so.6";
	CHECK(module_is(&module, "libc") && module_is(&module, "libc.so.6") &&
			!module_is(&module, "libc.so.5") && !module_is(&module, "lib"));
	module.name = "libc-x";
	CHECK(!module_is(&module, "libc"));
}

static char file_path[] = "/tmp/side-mapped-XXXXXX";
static uint64_t file_inode;

static int add(struct resolve *resolve, struct mapping_run *run, const char *path, uint64_t begin,
		uint64_t end, uint64_t offset, bool is_code)
{
	char text[128];
	struct module_mapping mapping = {.begin = begin,
			.end = end,
			.offset = offset,
			.inode = file_inode,
			.is_code = is_code,
			.path = text};

	snprintf(text, sizeof(text), "%s", path);
	return module_add_mapping(resolve, getpid(), &mapping, run, 1);
}

static void expect_module(const struct resolve *resolve, uint64_t begin, uint64_t end,
		uint64_t offset, uint64_t head)
{
	const struct resolve_module *module = resolve->modules;

	CHECK(resolve->nr_modules == 1 && module->begin == begin && module->end == end &&
			module->offset == offset && module->head == head);
	CHECK(module->loaded && !module->executable && !strcmp(module->path, file_path) &&
			!module->our_path && module->fd >= 0);
}

static void added_mappings(void)
{
	unsigned int before = resources_descriptors();
	struct resolve *resolve = resolve_new();
	struct mapping_run run = {.path = NULL};
	char deleted[64];

	/* Code in two pieces, and memory after it that does not belong to the file. */
	CHECK(resolve && !add(resolve, &run, file_path, 0x1000, 0x2000, 0, false) &&
			!resolve->nr_modules);
	CHECK(!add(resolve, &run, file_path, 0x2000, 0x5000, 0x1000, true));
	expect_module(resolve, 0x2000, 0x5000, 0x1000, 0);
	CHECK(!add(resolve, &run, file_path, 0x6000, 0x7000, 0x5000, true));
	expect_module(resolve, 0x2000, 0x7000, 0x1000, 0);
	CHECK(run.end == 0x7000 && !add(resolve, &run, "", 0x7000, 0x8000, 0, true));
	CHECK(!add(resolve, &run, file_path, 0x3000, 0x4000, 0x5000, true));
	expect_module(resolve, 0x2000, 0x7000, 0x1000, 0);
	free(run.path);
	resolve_free(resolve);
	CHECK(resources_descriptors() == before);
	/* Code that was moved to other pages, in two pieces. */
	resolve = resolve_new();
	run = (struct mapping_run){.path = NULL};
	CHECK(resolve && !add(resolve, &run, "", 0, 0x1000, 0, true) &&
			!add(resolve, &run, file_path, 0x1000, 0x2000, 0, false));
	CHECK(!add(resolve, &run, "", 0x2001, 0x5000, 0, true) &&
			!add(resolve, &run, "", 0x2000, 0x5000, 0, false));
	CHECK(!add(resolve, &run, "[heap]", 0x2000, 0x5000, 0, true) && !resolve->nr_modules);
	CHECK(!add(resolve, &run, "", 0x2000, 0x5000, 0, true));
	expect_module(resolve, 0x2000, 0x5000, 0, 0x1000);
	CHECK(!add(resolve, &run, "/anon_hugepage (deleted)", 0x5000, 0x6000, 0, true));
	expect_module(resolve, 0x5000, 0x6000, 0, 0x1000);
	free(run.path);
	resolve_free(resolve);
	/* A file that was deleted, and one that cannot be opened. */
	resolve = resolve_new();
	run = (struct mapping_run){.path = NULL};
	snprintf(deleted, sizeof(deleted), "%s (deleted)", file_path);
	CHECK(resolve && !add(resolve, &run, "/nowhere", 0x1000, 0x2000, 0x1000, true) &&
			!resolve->nr_modules);
	CHECK(!add(resolve, &run, deleted, 0x2000, 0x5000, 0x1000, true));
	expect_module(resolve, 0x2000, 0x5000, 0x1000, 0);
	resolve_free(resolve);
	CHECK(resources_descriptors() == before);
}

/* ---- files ---- */

/* Finds the file of a mapping if its path leads to no file or to another one. */
static void lost_files(void)
{
	unsigned int before = resources_descriptors();
	char other_path[] = "/tmp/side-mapped-XXXXXX", nowhere[] = "/nowhere", exe[64], *path;
	struct module_mapping mapping = {.path = nowhere};
	struct stat status, file_status, found;
	int other = mkstemp(other_path), file = open(file_path, O_RDONLY | O_CLOEXEC),
	    own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd;

	CHECK(other >= 0 && file >= 0 && own >= 0 && !fstat(own, &status) &&
			!fstat(file, &file_status));
	CHECK(spec_module_is_file_of(file_path, &file_status) &&
			!spec_module_is_file_of(other_path, &file_status) &&
			!spec_module_is_file_of("/nowhere", &file_status));
	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)getpid());
	mapping.inode = status.st_ino;
	fd = spec_module_open_mapped(getpid(), &mapping, &found);
	CHECK(fd >= 0 && spec_module_is_file_of("/proc/self/exe", &found) &&
			fcntl(fd, F_GETFD) == FD_CLOEXEC && !close(fd));
	path = module_path_from_here(getpid(), &mapping, &status);
	CHECK(path && !strcmp(path, exe));
	free(path);
	mapping.inode = 0;
	CHECK(spec_module_open_mapped(getpid(), &mapping, &found) == -1 &&
			!module_path_from_here(getpid(), &mapping, &file_status));
	mapping.path = file_path;
	CHECK(!module_path_from_here(getpid(), &mapping, &file_status) &&
			spec_module_open_mapped(getpid(), &mapping, &found) == -1);
	mapping.inode = file_inode;
	fd = spec_module_open_mapped(getpid(), &mapping, &found);
	CHECK(fd >= 0 && spec_module_is_file_of(file_path, &found) && !close(fd));
	/* A process that does not exist: the path may still lead to the file. */
	fd = spec_module_open_mapped(0x7fffffff, &mapping, &found);
	CHECK(fd >= 0 && spec_module_is_file_of(file_path, &found) && !close(fd));
	mapping.path = other_path;
	CHECK(spec_module_open_mapped(0x7fffffff, &mapping, &found) == -1);
	CHECK(!close(other) && !close(file) && !close(own) && !unlink(other_path) &&
			resources_descriptors() == before);
}

static void many_modules(void)
{
	struct resolve *resolve = resolve_new();
	char path[64];

	CHECK(resolve);
	for (size_t i = 0; i < MODULES_MAX; i++) {
		snprintf(path, sizeof(path), i % 2 ? "/folder/name%zu" : "name%zu", i);
		CHECK(spec_module_add(resolve, path, -1) == &resolve->modules[i] &&
				resolve->nr_modules == i + 1);
		CHECK(resolve->capacity ==
						(i < 64 ? 64
										: i < 128
										? 128
										: resolve->capacity) &&
				resolve->capacity >= resolve->nr_modules);
		CHECK(!strcmp(resolve->modules[i].path, path) &&
				!strcmp(resolve->modules[i].name, i % 2 ? path + 8 : path));
		CHECK(spec_module_find_known(resolve, path) == &resolve->modules[i]);
	}
	CHECK(!spec_module_add(resolve, "one more", -1) && resolve->nr_modules == MODULES_MAX &&
			!spec_module_find_known(resolve, "one more"));
	resolve_free(resolve);
}

/* The build ID in the memory of this program. */
static int own_note(struct dl_phdr_info *info, size_t size, void *user)
{
	struct resolve_module *module = user;

	(void)size;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const char *at = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
			   *end = at + info->dlpi_phdr[i].p_memsz;

		while (info->dlpi_phdr[i].p_type == PT_NOTE && end - at >= 12) {
			ElfW(Nhdr) note;

			memcpy(&note, at, sizeof(note));
			if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
					!memcmp(at + 12, "GNU", 4)) {
				module->build_id_size = note.n_descsz;
				memcpy(module->build_id, at + 16, note.n_descsz);
			}
			at += 12 + (note.n_namesz + 3u) / 4 * 4 + (note.n_descsz + 3u) / 4 * 4;
		}
	}
	/* The first one is the program. */
	return 1;
}

/* ---- processes ---- */

__thread int test_thread_variable = 7;
int test_variable = 8;
static __attribute__((noinline, used)) int test_local_function(int number)
{
	return number + 1;
}

static void own_process(void)
{
	unsigned int before = resources_descriptors(), nr_executable = 0;
	struct resolve *resolve = resolve_new();
	struct resolve_module own = {.build_id_size = 0};
	struct error error;
	uint64_t address = 1;

	CHECK(resolve && resolve->memory == -1 &&
			resolve_add_process(resolve, 0x7fffffff, &error) == -ESRCH);
	CHECK(!strcmp(error.text, "there is no process 2147483647") &&
			!strcmp(error.hint, "`ps` lists the processes") &&
			error.kind != ERROR_PERMISSION);
	CHECK(!resolve_add_process(resolve, getpid(), &error) && resolve->memory >= 0 &&
			resolve->nr_modules > 1);
	for (size_t i = 0; i < resolve->nr_modules; i++)
		nr_executable += resolve->modules[i].executable;
	CHECK(nr_executable == 1);
	resolve_free(resolve);
	CHECK(resources_descriptors() == before);
	resolve = resolve_new();
	CHECK(resolve && resolve_add_file(resolve, "/nowhere", &error) == -ENOENT);
	CHECK(!strcmp(error.text, "cannot open /nowhere: No such file or directory") &&
			!*error.hint);
	CHECK(!resolve_add_file(resolve, "/proc/self/exe", &error) && resolve->nr_modules == 1 &&
			resolve->modules->executable);
	dl_iterate_phdr(own_note, &own);
	CHECK(module_elf(resolve->modules) && resolve->modules->build_id_size == own.build_id_size);
	CHECK(!memcmp(resolve->modules->build_id, own.build_id, own.build_id_size) &&
			!module_code(resolve->modules, &error));
	CHECK(module_symbol(resolve->modules, "test_variable", &address) && address > 1);
	CHECK(!module_symbol(resolve->modules, "test_thread_variable", &address) &&
			!module_symbol(resolve->modules, "elf_begin", &address));
	CHECK(module_thread_symbol(resolve->modules, "test_thread_variable", &address) &&
			address < 4096);
	CHECK(!module_thread_symbol(resolve->modules, "test_variable", &address));
	CHECK(module_is_local(resolve->modules, "test_local_function") &&
			!module_is_local(resolve->modules, "test_variable"));
	CHECK(!module_is_local(resolve->modules, "no_function"));
	resolve_free(resolve);
	resolve_free(NULL);
	CHECK(resources_descriptors() == before);
	CHECK(error_set(&error, -EACCES, "m", "%d", 1) == -EACCES &&
			error.kind == ERROR_PERMISSION && !strcmp(error.text, "1") &&
			!strcmp(error.hint, "m"));
	CHECK(error_set(&error, -EPERM, "", "2") == -EPERM && error.kind == ERROR_PERMISSION &&
			error_set(&error, -EIO, "", "3") == -EIO && error.kind != ERROR_PERMISSION);
}

int main(void)
{
	struct stat status;
	int fd = mkstemp(file_path);

	CHECK(fd >= 0 && !fstat(fd, &status) && !close(fd) && test_local_function(1) == 2);
	file_inode = status.st_ino;
	names_of_events();
	versions();
	readable_names();
	added_places();
	former_versions();
	mapping_lines();
	own_mappings();
	library_names();
	added_mappings();
	lost_files();
	many_modules();
	own_process();
	CHECK(!unlink(file_path));
	return 0;
}
