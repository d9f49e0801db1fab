/* SPDX-License-Identifier: MIT */
/*
 * Files that the test writes byte by byte: the file that is used, the function at an address, and
 * the search for debug files.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbolize/module.h"

#define SYMBOLS 80

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	Elf64_Shdr sections[6];
	char names[64];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[20];
	} note;
	char link[20]; /* a name, zeros, a sum */
	char texts[128];
	Elf64_Sym symbols[SYMBOLS];
};

static char directory[] = "/tmp/side-test-symbols-XXXXXX";
static char reported[2048];
static unsigned int nr_reported;

static void report(void *user, const char *sentence)
{
	assert_string_equal(user, "user");
	snprintf(reported, sizeof(reported), "%s", sentence);
	nr_reported++;
}

static const char *in_directory(const char *name)
{
	static char paths[4][256];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(*paths), "%s/%s", directory, name);
	return path;
}

/*
 * Sections: names, build ID, debug link, texts, symbols. Two segments with code, at different
 * offsets.
 */
static void make_image(struct image *image)
{
	static const char names[] = "\0.names\0.note\0.gnu_debuglink\0.texts\0.symbols";
	const struct {
		uint32_t name, type;
		const void *begin;
		size_t size;
	} sections[] = {{0, SHT_NULL, image, 0},
			{1, SHT_STRTAB, image->names, sizeof(image->names)},
			{8, SHT_NOTE, &image->note, sizeof(image->note)},
			{14, SHT_PROGBITS, image->link, sizeof(image->link)},
			{29, SHT_STRTAB, image->texts, sizeof(image->texts)},
			{36, SHT_SYMTAB, image->symbols, 0}};

	memset(image, 0, sizeof(*image));
	image->header = (Elf64_Ehdr){.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phoff = offsetof(struct image, segments),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3,
			.e_shoff = offsetof(struct image, sections),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 6,
			.e_shstrndx = 1};
	memcpy(image->header.e_ident, ELFMAG, SELFMAG);
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->header.e_ident[EI_VERSION] = EV_CURRENT;
	image->segments[0] = (Elf64_Phdr){.p_type = PT_NULL, .p_offset = 0, .p_filesz = 1 << 20};
	image->segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_offset = 0x100,
			.p_vaddr = 0x40100,
			.p_filesz = 0x200,
			.p_memsz = 0x300,
			.p_align = 0x1000};
	image->segments[2] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_offset = 0x300,
			.p_vaddr = 0x51300,
			.p_filesz = 0x80,
			.p_memsz = 0x80,
			.p_align = 0x1000};
	for (unsigned int i = 0; i < 6; i++)
		image->sections[i] = (Elf64_Shdr){.sh_name = sections[i].name,
				.sh_type = sections[i].type,
				.sh_offset = (uint64_t)((const char *)sections[i].begin -
						(const char *)image),
				.sh_size = sections[i].size,
				.sh_addralign = 1};
	image->sections[5].sh_link = 4;
	image->sections[5].sh_entsize = sizeof(Elf64_Sym);
	memcpy(image->names, names, sizeof(names));
	image->note.header = (Elf64_Nhdr){.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID};
	memcpy(image->note.name, "GNU", 4);
	for (unsigned int i = 0; i < 20; i++)
		image->note.id[i] = (uint8_t)(0xa0 + i);
	image->sections[3].sh_type = SHT_NOBITS;
}

static void add_symbol(struct image *image, const char *name, unsigned int type,
		unsigned int section, uint64_t begin, uint64_t size)
{
	size_t used = 1, number = image->sections[5].sh_size / sizeof(Elf64_Sym);

	assert_true(number < SYMBOLS);
	/* Equal names share their bytes. */
	while (image->texts[used] && strcmp(image->texts + used, name) != 0)
		used += strlen(image->texts + used) + 1;
	assert_true(used + strlen(name) < sizeof(image->texts));
	strcpy(image->texts + used, name);
	image->symbols[number] = (Elf64_Sym){.st_name = *name ? (uint32_t)used : 0,
			.st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type),
			.st_shndx = (uint16_t)section,
			.st_value = begin,
			.st_size = size};
	image->sections[5].sh_size += sizeof(Elf64_Sym);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

static uint64_t inode_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_ino;
}

static struct module *open_module(const struct module_name *name, const char *folders)
{
	static char user[] = "user";
	const struct symbols_options options = {.path = folders, .report = report, .user = user};
	struct module *module = module_create(name);

	assert_non_null(module);
	*reported = '\0';
	module_open(module, &options);
	return module;
}

/* ---- files ---- */

static void test_files(void **unused)
{
	struct symbols_file file;
	struct image image;
	const char *path = in_directory("file");
	uint8_t id[SYMBOLS_BUILD_ID_MAX];
	uint32_t sum;
	int fd;

	(void)unused;
	assert_false(file_open(&file, in_directory("missing")));
	assert_int_equal(file.fd, -1);
	assert_false(file_open(&file, directory));
	assert_false(file_open(&file, "/dev/zero"));
	write_file(path, "no ELF file at all", 18);
	assert_false(file_open(&file, path));
	assert_int_equal(file.fd, -1);
	assert_null(file.elf);
	make_image(&image);
	write_file(path, &image, sizeof(image));
	assert_true(file_open(&file, path));
	assert_int_equal(file_inode(&file), inode_of(path));
	assert_int_equal(fcntl(file.fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(file.fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY | O_NONBLOCK);
	assert_true(file_has_section(file.elf, ".texts"));
	assert_false(file_has_section(file.elf, ".text"));
	assert_false(file_has_section(file.elf, ".gnu_debuglink")); /* without content */
	assert_int_equal(file_build_id(file.elf, id), 20);
	assert_memory_equal(id, image.note.id, 20);
	file_close(&file);
	assert_int_equal(file.fd, -1);
	/*
	 * A directory and a descriptor that is not open have no sum: a part of a file would be
	 * another file's.
	 */
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(file_sum(fd, &sum), -EISDIR);
	close(fd);
	assert_int_equal(file_sum(-1, &sum), -EBADF);
	/* The check value of CRC-32, and the sum of an empty file. */
	write_file(path, "123456789", 9);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(file_sum(fd, &sum), 0);
	assert_int_equal(sum, 0xcbf43926u);
	close(fd);
	write_file(path, "", 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(file_sum(fd, &sum), 0);
	assert_int_equal(sum, 0);
	close(fd);
	/* A debug link with a name of 11 bytes and a sum has 16 bytes. Other sizes are damaged. */
	for (unsigned int i = 0; i < 6; i++) {
		static const struct {
			const char *name;
			size_t size;
			bool ok;
		} links[] = {{"elevenbytes", 16, true}, {"elevenbytes", 15, false},
				{"twelve bytes", 20, true}, {"twelve bytes", 19, false},
				{"", 8, false}, {"elevenbytes", 11, false}};
		const char *link;

		make_image(&image);
		image.sections[3].sh_type = SHT_PROGBITS;
		image.sections[3].sh_size = links[i].size;
		strcpy(image.link, links[i].name);
		memcpy(image.link + (strlen(links[i].name) + 4) / 4 * 4, "\x78\x56\x34\x12", 4);
		write_file(path, &image, sizeof(image));
		assert_true(file_open(&file, path));
		link = file_debug_link(file.elf, &sum);
		assert_int_equal(link != NULL, links[i].ok);
		if (link) {
			assert_string_equal(link, links[i].name);
			assert_int_equal(sum, 0x12345678);
		}
		file_close(&file);
	}
	unlink(path);
}

static void test_build_ids(void **unused)
{
	const char *path = in_directory("id");
	struct symbols_file file;
	uint8_t id[SYMBOLS_BUILD_ID_MAX + 8];

	(void)unused;
	for (unsigned int i = 0; i < 8; i++) {
		static const size_t wanted[] = {20, 0, 0, 0, 20, 0, 64, 0};
		struct image image;

		make_image(&image);
		if (i == 1)
			image.note.header.n_type++;
		if (i == 2)
			image.note.name[0] = 'g';
		if (i == 3)
			image.note.header.n_namesz = 3;
		/* Without sections: in a segment of notes, and in a segment of another type. */
		if (i == 4 || i == 5) {
			image.sections[2].sh_type = SHT_PROGBITS;
			image.segments[0] = (Elf64_Phdr){.p_type = i == 4 ? PT_NOTE : PT_LOAD,
					.p_offset = offsetof(struct image, note),
					.p_filesz = sizeof(image.note),
					.p_align = 4};
		}
		/* The longest ID, which includes the bytes after the short one, and a longer ID. */
		if (i >= 6) {
			image.note.header.n_descsz = 58 + i;
			image.sections[2].sh_size += 48;
		}
		write_file(path, &image, sizeof(image));
		assert_true(file_open(&file, path));
		memset(id, 0, sizeof(id));
		assert_int_equal(file_build_id(file.elf, id), wanted[i]);
		if (wanted[i])
			assert_memory_equal(id, image.note.id, 20);
		file_close(&file);
	}
	unlink(path);
}

/* ---- functions ---- */

static void assert_function(
		struct module *module, uint64_t address, const char *name, uint64_t inside)
{
	struct symbol symbol = {.function = NULL};

	module_find(module, address, &symbol);
	if (!name != !symbol.function || (name && strcmp(name, symbol.function) != 0))
		fail_msg("%llx: %s, expected %s", (unsigned long long)address,
				symbol.function ? symbol.function : "none", name ? name : "none");
	assert_int_equal(symbol.inside, inside);
	assert_null(symbol.file);
	free((void *)(uintptr_t)symbol.function);
}

static void test_functions(void **unused)
{
	const char *path = in_directory("functions");
	struct module_name name = {.path = path};
	struct module *module;
	struct image image;
	uint64_t address;

	(void)unused;
	make_image(&image);
	add_symbol(&image, "", STT_FUNC, 1, 0x100, 0x10);
	add_symbol(&image, "later", STT_FUNC, 1, 0x300, 0x20);
	add_symbol(&image, "first@@V1", STT_FUNC, 1, 0x200, 0x40);
	add_symbol(&image, "inner", STT_GNU_IFUNC, 1, 0x210, 8);
	add_symbol(&image, "absent", STT_FUNC, SHN_UNDEF, 0x500, 0x20);
	add_symbol(&image, "data", STT_OBJECT, 1, 0x600, 0x20);
	add_symbol(&image, "_Z3foov", STT_FUNC, 1, 0x700, 4);
	add_symbol(&image, "small", STT_FUNC, 1, 0x900, 4);
	add_symbol(&image, "large", STT_FUNC, 1, 0x900, 0x100);
	write_file(path, &image, sizeof(image));
	module = open_module(&name, NULL);
	assert_int_equal(nr_reported, 0);
	assert_int_equal(module->functions.count, 7 - 1);
	assert_function(module, 0x1ff, NULL, 0);
	assert_function(module, 0x200, "first", 0);
	assert_function(module, 0x20f, "first", 0xf);
	assert_function(module, 0x210, "inner", 0);
	assert_function(module, 0x217, "inner", 7);
	assert_function(module, 0x218, "first", 0x18);
	assert_function(module, 0x23f, "first", 0x3f);
	assert_function(module, 0x240, NULL, 0);
	assert_function(module, 0x300, "later", 0);
	assert_function(module, 0x31f, "later", 0x1f);
	assert_function(module, 0x320, NULL, 0);
	assert_function(module, 0x100, NULL, 0);
	assert_function(module, 0x508, NULL, 0);
	assert_function(module, 0x608, NULL, 0);
	assert_function(module, 0x702, "foo()", 2);
	assert_function(module, 0x903, "small", 3);
	assert_function(module, 0x904, "large", 4);
	assert_function(module, 0, NULL, 0);
	assert_function(module, UINT64_MAX, NULL, 0);
	/* Offsets in the file: only bytes of segments have addresses. */
	assert_false(module_address(module, 0xff, &address));
	assert_true(module_address(module, 0x100, &address));
	assert_int_equal(address, 0x40100);
	assert_true(module_address(module, 0x2ff, &address));
	assert_int_equal(address, 0x402ff);
	assert_true(module_address(module, 0x300, &address));
	assert_int_equal(address, 0x51300);
	assert_true(module_address(module, 0x37f, &address));
	assert_false(module_address(module, 0x380, &address));
	assert_true(module->first_known);
	assert_int_equal(module->first, 0x40000);
	/* A second call does not open the file again. */
	module_open(module, NULL);
	module_free(module);
	/* A first segment at the beginning of the table. */
	image.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_vaddr = 0x30000,
			.p_filesz = 0x90,
			.p_memsz = 0x90,
			.p_align = 0x1000};
	write_file(path, &image, sizeof(image));
	module = open_module(&name, NULL);
	assert_int_equal(module->first, 0x30000);
	assert_true(module_address(module, 0x8f, &address));
	assert_int_equal(address, 0x3008f);
	assert_false(module_address(module, 0x90, &address));
	module_free(module);
	/* The search skips up to 64 functions inside of another one. */
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		make_image(&image);
		add_symbol(&image, "outer", STT_FUNC, 1, 0x1000, 0x1000);
		for (unsigned int i = 1; i < 64 + beyond; i++)
			add_symbol(&image, "in", STT_FUNC, 1, 0x1000 + 4 * i, 4);
		write_file(path, &image, sizeof(image));
		module = open_module(&name, NULL);
		assert_function(module, 0x1800, beyond ? NULL : "outer", beyond ? 0 : 0x800);
		module_free(module);
	}
	unlink(path);
}

/* ---- the file that was recorded, or another one ---- */

static void assert_used(const struct module_name *name, bool used, const char *sentence)
{
	struct module *module = open_module(name, NULL);

	assert_int_equal(module->file.elf != NULL, used);
	assert_string_equal(reported, sentence);
	module_free(module);
}

static void test_replaced(void **unused)
{
	const char *path = in_directory("replaced");
	struct module_name name = {.path = path, .build_id_size = 20};
	struct module *module;
	struct image image;
	char sentence[512];

	(void)unused;
	make_image(&image);
	write_file(path, &image, sizeof(image));
	memcpy(name.build_id, image.note.id, 20);
	assert_used(&name, true, "");
	snprintf(sentence, sizeof(sentence),
			"addresses in %s have no symbols: the file was replaced after the recording (its build id differs)",
			path);
	name.build_id[19]++;
	assert_used(&name, false, sentence);
	name.build_id[19]--;
	name.build_id_size = 19;
	assert_used(&name, false, sentence);
	/* With the inode, if the trace has no build ID. */
	name.build_id_size = 0;
	name.inode = inode_of(path);
	module = open_module(&name, NULL);
	assert_non_null(module->file.elf);
	assert_int_equal(module->name.build_id_size, 20);
	assert_memory_equal(module->name.build_id, image.note.id, 20);
	module_free(module);
	name.inode++;
	snprintf(sentence, sizeof(sentence),
			"addresses in %s have no symbols: the file was replaced after the recording",
			path);
	assert_used(&name, false, sentence);
	/* Without both, any file is accepted. A relative path is not opened. */
	name.inode = 0;
	assert_used(&name, true, "");
	name.path = "relative";
	assert_used(&name, false, "");
	unlink(path);
}

/* ---- debug files ---- */

static void make_folders(const char *path)
{
	char part[256];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		(void)mkdir(part, 0700);
	}
}

/* Checks whether a debug file at that path is found for the module. */
static bool is_found(const struct module_name *name, const char *path, const struct image *image,
		const char *folders)
{
	struct module *module;
	bool found;

	make_folders(path);
	write_file(path, image, sizeof(*image));
	module = open_module(name, folders);
	found = module->debug.elf && file_inode(&module->debug) == inode_of(path);
	module_free(module);
	unlink(path);
	return found;
}

static void test_debug_files(void **unused)
{
	const char id[] = "a0/a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3.debug";
	struct module_name name = {.path = "/nowhere/program", .build_id_size = 20};
	struct image image, own;
	char path[256], folders[256], own_path[128];
	struct module *module;
	int fd;

	(void)unused;
	make_image(&image);
	memcpy(name.build_id, image.note.id, 20);
	snprintf(path, sizeof(path), "%s/d/.build-id/%s", directory, id);
	snprintf(folders, sizeof(folders), "/nowhere::%s/d:/else", directory);
	assert_true(is_found(&name, path, &image, folders));
	snprintf(folders, sizeof(folders), "/nowhere:%s/d", directory);
	assert_true(is_found(&name, path, &image, folders));
	assert_false(is_found(&name, path, &image, "/nowhere"));
	assert_false(is_found(&name, path, &image, NULL));
	image.note.id[7]++;
	assert_false(is_found(&name, path, &image, folders));
	image.note.id[7]--;
	/* A build ID of one byte names no file. */
	name.build_id_size = image.note.header.n_descsz = 1;
	snprintf(path, sizeof(path), "%s/d/.build-id/a0/.debug", directory);
	assert_false(is_found(&name, path, &image, folders));
	name.build_id_size = image.note.header.n_descsz = 20;
	snprintf(path, sizeof(path), "%s/d/.build-id/%s", directory, id);
	/* The first segment of a debug file is aligned down. */
	make_folders(path);
	write_file(path, &image, sizeof(image));
	module = open_module(&name, folders);
	assert_true(module->first_known);
	assert_int_equal(module->first, 0x40100 - 0x100);
	module_free(module);
	image.segments[1].p_vaddr = 0x40fff;
	write_file(path, &image, sizeof(image));
	module = open_module(&name, folders);
	assert_int_equal(module->first, 0x40000);
	module_free(module);
	image.segments[1].p_vaddr = 0x40100;
	unlink(path);
	/*
	 * With the link in the trace: in a directory, in the path of the program below it, and
	 * beside the program. A link cannot leave the directory.
	 */
	name.debug_link = "program.debug";
	snprintf(path, sizeof(path), "%s/d/program.debug", directory);
	assert_true(is_found(&name, path, &image, folders));
	snprintf(path, sizeof(path), "%s/d/nowhere/program.debug", directory);
	assert_true(is_found(&name, path, &image, folders));
	name.path = "program";
	snprintf(path, sizeof(path), "%s/dp/program.debug", directory);
	assert_false(is_found(&name, path, &image, folders));
	name.debug_link = "nowhere/program.debug";
	snprintf(path, sizeof(path), "%s/d/nowhere/program.debug", directory);
	assert_false(is_found(&name, path, &image, folders));
	name.debug_link = "program.debug";
	snprintf(own_path, sizeof(own_path), "%s/program", directory);
	name.path = own_path;
	snprintf(path, sizeof(path), "%s/program.debug", directory);
	assert_true(is_found(&name, path, &image, NULL));
	snprintf(path, sizeof(path), "%s/.debug/program.debug", directory);
	assert_true(is_found(&name, path, &image, NULL));
	/* For a file with a link and without a build ID, the sum is compared. */
	make_image(&own);
	own.note.header.n_type = 0;
	own.sections[3].sh_type = SHT_PROGBITS;
	own.sections[3].sh_size = 20;
	name.build_id_size = 0;
	name.debug_link = NULL;
	image.note.header.n_type = 0;
	snprintf(path, sizeof(path), "%s/linked.debug", directory);
	write_file(path, &image, sizeof(image));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (uint32_t wrong = 0; wrong < 2; wrong++) {
		uint32_t sum;

		assert_int_equal(file_sum(fd, &sum), 0);
		sum += wrong;

		strcpy(own.link, "linked.debug");
		memcpy(own.link + 16, &sum, 4);
		write_file(own_path, &own, sizeof(own));
		assert_int_equal(is_found(&name, path, &image, NULL), !wrong);
	}
	close(fd);
	/* A file is not its own debug file. */
	strcpy(own.link, "program");
	write_file(own_path, &own, sizeof(own));
	module = open_module(&name, NULL);
	assert_non_null(module->file.elf);
	assert_null(module->debug.elf);
	module_free(module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_files),
			cmocka_unit_test(test_build_ids),
			cmocka_unit_test(test_functions),
			cmocka_unit_test(test_replaced),
			cmocka_unit_test(test_debug_files),
	};
	char command[128];
	int ret;

	if (!mkdtemp(directory))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command) || ret; /* NOLINT(cert-env33-c): the name is our own. */
}
