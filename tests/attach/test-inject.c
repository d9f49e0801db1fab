/* SPDX-License-Identifier: MIT */
/*
 * What an attach reads before it stops a thread: ELF files, mappings, states, limits, frames of a
 * stack, and the copies of the agent in the program's root directory. The test includes the files,
 * so that it can call their static functions.
 */
#include "attach/copy.c"
#include "attach/elf.c"
#include "attach/safe.c"
#include "attach/target.c"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "../resources.h"

#include "../check.h"

static struct inject_report report;

static bool is_refused(int ret, enum inject_kind kind, const char *text, const char *hint)
{
	if (ret == -1 && report.kind == kind && strstr(report.text, text) &&
			(!*hint ? !*report.hint : !!strstr(report.hint, hint)))
		return true;
	fprintf(stderr, "%d, %d: %s; %s\n", ret, (int)report.kind, report.text, report.hint);
	return false;
}

/* ---- ELF files ---- */

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[5];
	char names[32];
};

static Elf64_Sym symbol(
		uint32_t name, uint64_t value, uint64_t size, unsigned char type, uint16_t section)
{
	return (Elf64_Sym){.st_name = name,
			.st_value = value,
			.st_size = size,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, type),
			.st_shndx = section};
}

static struct image make_image(void)
{
	struct image image = {
			.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
					.e_type = ET_DYN,
					.e_machine = EM_X86_64,
					.e_phoff = offsetof(struct image, segments),
					.e_phnum = 3,
					.e_phentsize = sizeof(Elf64_Phdr),
					.e_shoff = offsetof(struct image, sections),
					.e_shnum = 3,
					.e_shentsize = sizeof(Elf64_Shdr)}};

	image.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_R,
			.p_offset = 0x1234,
			.p_vaddr = 0x5234,
			.p_filesz = 0x800,
			.p_memsz = 0x800};
	image.segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = 0x3000,
			.p_vaddr = 0x8000,
			.p_filesz = 0x1f01,
			.p_memsz = 0x1f01};
	image.segments[2].p_type = PT_INTERP;
	image.sections[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct image, names),
			.sh_size = sizeof(image.names)};
	image.sections[2] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
			.sh_link = 1,
			.sh_offset = offsetof(struct image, symbols),
			.sh_size = sizeof(image.symbols)};
	memcpy(image.names, "\0cook\0kettle\0serve\0", 19);
	image.symbols[1] = symbol(1, 0x100, 0x10, STT_FUNC, 1);
	image.symbols[2] = symbol(6, 0x200, 0x20, STT_OBJECT, 1);
	image.symbols[3] = symbol(13, 0x300, 0x30, STT_FUNC, SHN_UNDEF);
	image.symbols[4] = symbol(32, 0x400, 0x40, STT_FUNC, 1);
	return image;
}

static int read_image(const struct image *image, struct inject_elf *elf)
{
	int fd = memfd_create("image", MFD_CLOEXEC), ret;

	CHECK(fd >= 0 && write(fd, image, sizeof(*image)) == sizeof(*image));
	ret = inject_elf_read(fd, elf);
	close(fd);
	return ret;
}

static void test_symbols(void)
{
	struct image image = make_image();
	struct inject_elf elf;

	CHECK(!read_image(&image, &elf) && elf.machine == EM_X86_64 && elf.type == ET_DYN &&
			elf.class == ELFCLASS64);
	CHECK(elf.interpreter && elf.nr_headers == 3 && elf.nr_symbols == 5 &&
			elf.names_size == 32);
	CHECK(inject_elf_function(&elf, "cook") == 0x100 && !inject_elf_function(&elf, "kettle"));
	CHECK(inject_elf_object(&elf, "kettle") == 0x200 && !inject_elf_object(&elf, "cook"));
	CHECK(!inject_elf_function(&elf, "serve") && !inject_elf_function(&elf, "coo"));
	CHECK(inject_elf_function(&elf, "") == 0x400);
	CHECK(!strcmp(inject_elf_name(&elf, 0x100), "cook") &&
			!strcmp(inject_elf_name(&elf, 0x10f), "cook"));
	CHECK(!inject_elf_name(&elf, 0xff) && !inject_elf_name(&elf, 0x110) &&
			!inject_elf_name(&elf, 0x200));
	CHECK(!strcmp(inject_elf_name(&elf, 0x400), ""));
	inject_elf_free(&elf);
	CHECK(!elf.headers && !elf.symbols && !elf.names && elf.machine == EM_NONE);
}

static void test_segments(void)
{
	struct image image = make_image();
	struct inject_elf elf;
	uint64_t bias = 0;

	CHECK(!read_image(&image, &elf));
	/* The address counts from the begin of the first page. */
	CHECK(inject_elf_bias(&elf, 0x1000, 0x7f0000, &bias) && bias == 0x7f0000 - 0x5000);
	CHECK(inject_elf_bias(&elf, 0x1a33, 0x7f0a33, &bias) && bias == 0x7f0000 - 0x5000);
	CHECK(!inject_elf_bias(&elf, 0x1a34, 0x7f0000, &bias) &&
			!inject_elf_bias(&elf, 0xfff, 0x7f0000, &bias));
	CHECK(inject_elf_bias(&elf, 0x3000, 0x900000, &bias) && bias == 0x8f8000);
	/* After 0x9f01, rounded up to 16. */
	CHECK(inject_elf_find_space(&elf, 0xf0) == 0x9f10 && !inject_elf_find_space(&elf, 0xf1));
	elf.headers[1].p_flags |= PF_W;
	CHECK(!inject_elf_find_space(&elf, 1));
	elf.headers[1].p_flags = PF_R;
	CHECK(!inject_elf_find_space(&elf, 1));
	elf.headers[1].p_flags = PF_R | PF_X;
	elf.headers[1].p_memsz++;
	CHECK(!inject_elf_find_space(&elf, 1));
	elf.headers[1].p_memsz = elf.headers[1].p_filesz = 0;
	CHECK(!inject_elf_find_space(&elf, 0));
	inject_elf_free(&elf);
}

static void test_broken(void)
{
	struct image image = make_image(), broken = image;
	struct inject_elf elf;

	broken.header.e_ident[3] = 'f';
	CHECK(read_image(&broken, &elf) == -ENOEXEC);
	broken = image;
	broken.header.e_phentsize--;
	CHECK(read_image(&broken, &elf) == -ENOEXEC);
	broken = image;
	broken.header.e_phoff = sizeof(image) - 3 * sizeof(Elf64_Phdr) + 1;
	CHECK(read_image(&broken, &elf) == -ENOEXEC);
	broken.header.e_phoff--;
	CHECK(!read_image(&broken, &elf));
	inject_elf_free(&elf);
	broken.header.e_phoff = UINT64_MAX;
	CHECK(read_image(&broken, &elf) == -ENOEXEC);
	broken = image;
	broken.header.e_phnum = 0;
	CHECK(read_image(&broken, &elf) == -ENOEXEC);
	broken = image;
	broken.header.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK(!read_image(&broken, &elf) && elf.class == ELFCLASS32 && elf.machine == EM_X86_64 &&
			!elf.headers);
	/* Without sections it has no symbols. */
	broken = image;
	broken.header.e_shentsize--;
	CHECK(!read_image(&broken, &elf) && !elf.nr_symbols && elf.nr_headers == 3);
	inject_elf_free(&elf);
	broken = image;
	broken.sections[2].sh_link = 3;
	CHECK(!read_image(&broken, &elf) && !elf.nr_symbols);
	inject_elf_free(&elf);
	broken = image;
	broken.sections[2].sh_size = TABLE_MAX + 1;
	CHECK(!read_image(&broken, &elf) && !elf.nr_symbols);
	inject_elf_free(&elf);
	broken = image;
	broken.segments[2].p_type = PT_NULL;
	CHECK(!read_image(&broken, &elf) && !elf.interpreter);
	inject_elf_free(&elf);
}

/* ---- the program ---- */

static void test_mapping_lines(void)
{
	struct inject_mapping mapping;
	char line[] = "7f00-8f00 r-xp 00001000 fe:01 77                         /a b/c\n",
	     none[] = "7f00-8f00 rw-p 0 00:00 0 \n", bad[] = "nothing\n";

	CHECK(!attach_target_parse_mapping(line, &mapping) && mapping.begin == 0x7f00 &&
			mapping.end == 0x8f00 && mapping.offset == 0x1000);
	CHECK(mapping.inode == 77 && !strcmp(mapping.access, "r-xp") &&
			!strcmp(mapping.path, "/a b/c"));
	free(mapping.path);
	CHECK(!attach_target_parse_mapping(none, &mapping) && !*mapping.path && !mapping.inode);
	free(mapping.path);
	CHECK(attach_target_parse_mapping(bad, &mapping) == -ENODATA);
}

static void test_mappings(void)
{
	struct inject_mapping three[] = {{.begin = 10, .end = 20}, {.begin = 20, .end = 30},
			{.begin = 40, .end = 50}};
	struct inject_target target = {.mappings = three, .nr_mappings = 3};

	CHECK(!inject_mapping_of(&target, 9) && inject_mapping_of(&target, 10) == three &&
			inject_mapping_of(&target, 19) == three);
	CHECK(inject_mapping_of(&target, 20) == three + 1 &&
			inject_mapping_of(&target, 29) == three + 1);
	CHECK(!inject_mapping_of(&target, 30) && !inject_mapping_of(&target, 39) &&
			inject_mapping_of(&target, 40) == three + 2);
	CHECK(inject_mapping_of(&target, 49) == three + 2 && !inject_mapping_of(&target, 50));
	target = (struct inject_target){.pid = getpid()};
	CHECK(!inject_maps_read(&target) && target.nr_mappings > 5);
	CHECK(!inject_maps_read(&target) &&
			inject_mapping_of(&target, (uintptr_t)test_mappings)->access[2] == 'x');
	inject_maps_free(&target);
	CHECK(!target.mappings && !target.nr_mappings);
	target.pid = INT32_MAX;
	CHECK(inject_maps_read(&target) == -ENOENT);
}

static void test_files(void)
{
	struct inject_target target = {
			.pid = getpid(), .memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC)};
	const struct inject_mapping *mapping;
	struct inject_mapping other;
	char elsewhere[] = "/nowhere/else";
	int fd, word = 5, found = 0;

	CHECK(target.memory >= 0 && !inject_maps_read(&target));
	CHECK(inject_read(&target, (uintptr_t)&word, &found, 4) && found == 5);
	found = 6;
	CHECK(inject_write(&target, (uintptr_t)&word, &found, 4) && word == 6);
	CHECK(!inject_read(&target, 0, &found, 4) && !inject_read(&target, UINT64_MAX, &found, 4) &&
			!inject_write(&target, UINT64_MAX, &found, 4));
	mapping = inject_mapping_of(&target, (uintptr_t)test_files);
	fd = inject_mapping_open(&target, mapping);
	CHECK(fd >= 0 && attach_target_same_file(&target, mapping, fd));
	close(fd);
	other = *mapping;
	other.inode++;
	CHECK(!attach_target_same_file(&target, &other, 0));
	other.path = elsewhere;
	other.begin++;
	CHECK(inject_mapping_open(&target, &other) == -ENOENT);
	CHECK(attach_target_open_same(&target, mapping, "/proc/self") == -ESTALE &&
			attach_target_open_same(&target, mapping, "/nowhere") == -ENOENT);
	/* Another file. */
	CHECK(attach_target_open_same(&target, mapping, "/bin/sh") == -ESTALE);
	inject_maps_free(&target);
	close(target.memory);
}

static void test_status(void)
{
	char text[64], name[64];

	CHECK(prctl(PR_SET_NAME, "one two") == 0);
	CHECK(inject_status(getpid(), 0, "Tgid", text, sizeof(text)) &&
			strtol(text, NULL, 10) == getpid());
	CHECK(inject_status(getpid(), getpid(), "State", text, 3) && !strcmp(text, "R "));
	CHECK(!inject_status(getpid(), 0, "gid", text, sizeof(text)) && !*text);
	CHECK(!inject_status(INT32_MAX, 0, "State", text, sizeof(text)));
	CHECK(!strcmp(inject_name(getpid(), name, sizeof(name)), "one two"));
	CHECK(!strcmp(inject_thread_name(getpid(), getpid(), name, 5), "one ") &&
			!strcmp(inject_name(INT32_MAX, name, sizeof(name)), "?"));
	CHECK(!attach_target_read_small_file("/nowhere", text, sizeof(text)) && !*text);
	CHECK(!attach_target_read_small_file("/dev/null", text, sizeof(text)) && !*text);
}

static pid_t start(void (*begin)(void))
{
	int pipes[2];
	pid_t child;
	char byte;

	CHECK(!pipe(pipes));
	child = fork();
	if (!child) {
		begin();
		(void)!write(pipes[1], "", 1);
		for (;;)
			pause();
	}
	CHECK(child > 0 && read(pipes[0], &byte, 1) == 1);
	close(pipes[0]);
	close(pipes[1]);
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void few_files(void)
{
	struct rlimit limit = {FILES_MIN - 1, FILES_MIN - 1};

	CHECK(!prctl(PR_SET_NAME, "kitchen") && !setrlimit(RLIMIT_NOFILE, &limit));
}

static void enough_files(void)
{
	struct rlimit limit = {FILES_MIN, FILES_MIN};

	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
}

static void test_limits(void)
{
	struct inject_target target = {.report = &report, .pid = start(few_files)};
	char hint[64];

	(void)snprintf(hint, sizeof(hint), "`prlimit --pid %d --nofile=8:8`", target.pid);
	CHECK(is_refused(attach_target_check_files(&target), INJECT_UNSUITABLE,
			"(kitchen): it may have at most 7 open files (RLIMIT_NOFILE), and the agent needs 8",
			hint));
	end(target.pid);
	target.pid = start(enough_files);
	CHECK(!attach_target_check_files(&target));
	end(target.pid);
}

static void is_traced(void)
{
	CHECK(!ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static void is_filtered(void)
{
	CHECK(!prctl(PR_SET_SECCOMP, 1));
}

static void nothing(void) {}

static void test_states(void)
{
	struct inject_request request = {0};
	struct inject_target target = {.report = &report, .pid = INT32_MAX};
	pid_t child;
	int pipes[2], status;
	char byte;

	CHECK(is_refused(attach_target_check_state(&target, &request), INJECT_GONE,
			"there is no process 2147483647", ""));
	target.pid = child = start(nothing);
	CHECK(!attach_target_check_state(&target, &request));
	CHECK(!kill(child, SIGSTOP) && waitpid(child, &status, WUNTRACED) == child);
	CHECK(is_refused(attach_target_check_state(&target, &request), INJECT_FAILED,
			"it is stopped", "continue it first: `kill -CONT"));
	kill(child, SIGKILL);
	CHECK(!waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT));
	CHECK(is_refused(attach_target_check_state(&target, &request), INJECT_GONE, "has ended",
			""));
	waitpid(child, NULL, 0);
	target.pid = child = start(is_traced);
	CHECK(is_refused(attach_target_check_state(&target, &request), INJECT_NOT_PERMITTED,
			"(one two) is tracing it, and a program can have only one tracer",
			"end that tracer first"));
	CHECK(is_refused(inject_not_permitted(&target, 0, ESRCH), INJECT_GONE, "has ended", ""));
	end(child);
	CHECK(!pipe(pipes));
	target.pid = child = fork();
	if (!child) {
		is_filtered();
		for (;;)
			if (read(pipes[0], &byte, 1) != 1)
				syscall(SYS_exit, 0);
	}
	while (inject_status(child, 0, "Seccomp", report.text, 32) && *report.text != '1')
		usleep(1000);
	CHECK(is_refused(attach_target_check_state(&target, &request), INJECT_UNSUITABLE,
			"it is in the strict sandbox of seccomp", ""));
	close(pipes[0]);
	close(pipes[1]);
	end(child);
}

/* ---- files that the program has loaded ---- */

/* A library that is mapped completely, at its own address. */
static struct {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[8];
	char names[256];
	uint64_t stats[3];
	uint8_t more[4096];
} library;
static size_t nr_symbols, names_size;

#define LIBRARY_AT 0x10000u

static void begin_library(void)
{
	memset(&library, 0, sizeof(library));
	library.header = (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = offsetof(__typeof__(library), segment),
			.e_phnum = 1,
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_shoff = offsetof(__typeof__(library), sections),
			.e_shnum = 3,
			.e_shentsize = sizeof(Elf64_Shdr)};
	library.segment = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = LIBRARY_AT,
			.p_filesz = sizeof(library),
			.p_memsz = sizeof(library)};
	library.sections[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(__typeof__(library), names),
			.sh_size = sizeof(library.names)};
	library.sections[2] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
			.sh_link = 1,
			.sh_offset = offsetof(__typeof__(library), symbols),
			.sh_size = sizeof(library.symbols)};
	for (unsigned int i = 0; i < 3; i++)
		library.stats[i] = 1001 + i;
	nr_symbols = names_size = 1;
}

static void add_name(const char *name, unsigned char type, uint64_t at)
{
	CHECK(nr_symbols < 8 && names_size + strlen(name) < sizeof(library.names));
	strcpy(library.names + names_size, name);
	library.symbols[nr_symbols++] = symbol((uint32_t)names_size, LIBRARY_AT + at, 8, type, 1);
	names_size += strlen(name) + 1;
}

static void add_figure(const char *name, unsigned int index)
{
	add_name(name, STT_OBJECT, offsetof(__typeof__(library), stats) + 8 * index);
}

static char library_folder[64], library_path[128];

static void *map_library(const char *name)
{
	void *memory;
	int fd;

	strcpy(library_folder, "/tmp/side-inject-XXXXXX");
	CHECK(mkdtemp(library_folder));
	(void)snprintf(library_path, sizeof(library_path), "%s/%s", library_folder, name);
	fd = open(library_path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	CHECK(fd >= 0 && write(fd, &library, sizeof(library)) == sizeof(library));
	memory = mmap(NULL, sizeof(library), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(memory != MAP_FAILED);
	close(fd);
	return memory;
}

static void unmap_library(void *memory)
{
	munmap(memory, sizeof(library));
	unlink(library_path);
	CHECK(!rmdir(library_folder));
}

/* The statistics of an agent; an older agent has fewer. */
static void test_kept(void)
{
	struct inject_kept kept = {1, 2, 3};
	uint64_t word = 1;
	void *memory;

	CHECK(!inject_kept(getpid(), &kept) && !kept.bytes && !kept.traps && !kept.springboards);
	CHECK(inject_kept(INT32_MAX, &kept) == -ENOENT);
	CHECK(inject_agent_word(INT32_MAX, "side_probe_kept", &word) == -ENOENT && !word);
	CHECK(inject_agent_word(getpid(), "side_probe_kept", &word) == -ENOENT && !word);
	for (unsigned int i = 0; i < 4; i++) {
		begin_library();
		if (i != 0)
			add_figure("side_probe_kept", 0);
		if (i != 1)
			add_figure("side_probe_traps", 1);
		if (i != 2)
			add_figure("side_probe_pads", 2);
		memory = map_library("libside-agent.so.0");
		kept = (struct inject_kept){1, 2, 3};
		CHECK(inject_kept(getpid(), &kept) == (i ? 0 : -ENOENT));
		CHECK(inject_agent_word(getpid(), "side_probe_pads", &word) ==
				(i == 2 ? -ENOENT : 0));
		CHECK(word == (i == 2 ? 0 : 1003));
		CHECK(kept.bytes == (i ? 1001 : 0) && kept.traps == (i > 1 ? 1002 : 0) &&
				kept.springboards == (i == 1 || i == 3 ? 1003 : 0));
		unmap_library(memory);
	}
}

static void open_self(struct inject_target *target)
{
	*target = (struct inject_target){.pid = getpid(),
			.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC),
			.report = &report};
	CHECK(target->memory >= 0 && !inject_maps_read(target));
	report = (struct inject_report){.kind = INJECT_DONE};
}

static void test_statistics(void)
{
	struct inject_target target;
	struct image image = make_image();
	struct inject_elf elf;
	uint64_t word = 55, symbol_value = 0;

	open_self(&target);
	CHECK(!read_image(&image, &elf));
	CHECK(attach_target_read_symbol_value(
			      &target, &elf, (uintptr_t)&word - 0x200, "kettle", &symbol_value) &&
			symbol_value == 55);
	CHECK(!attach_target_read_symbol_value(
			      &target, &elf, (uintptr_t)&word, "nothing", &symbol_value) &&
			!attach_target_read_symbol_value(
					&target, &elf, 0, "kettle", &symbol_value));
	inject_elf_free(&elf);
	inject_target_close(&target);
	CHECK(!target.mappings && !target.nr_mappings && target.memory == -1);
}

static void test_agents(void)
{
	struct inject_target target;
	void *memory;

	open_self(&target);
	CHECK(!attach_target_find_agent(&target, "serve") && !target.agent_function &&
			!report.was_loaded);
	inject_target_close(&target);
	for (unsigned int i = 0; i < 5; i++) {
		uint64_t base;

		begin_library();
		if (i != 3)
			add_name("serve", STT_FUNC, 0x10);
		if (i != 0)
			add_name("side_agent_own_begin", STT_FUNC, 0x20);
		if (i != 1)
			add_name("side_agent_own_end", STT_FUNC, 0x30);
		if (i != 2)
			add_name("side_agent_own_thread", STT_FUNC, 0x40);
		memory = map_library("libside-agent.so");
		base = (uintptr_t)memory;
		open_self(&target);
		if (i == 3) {
			CHECK(is_refused(attach_target_find_agent(&target, "serve"),
					INJECT_UNSUITABLE,
					"it has loaded an agent of another version (/tmp/side-inject-",
					"restart the program"));
		} else {
			CHECK(!attach_target_find_agent(&target, "serve") && report.was_loaded &&
					target.agent_function == base + 0x10);
		}
		CHECK(target.own.begin == (i > 2 ? base + 0x20 : 0) &&
				target.own.end == (i > 2 ? base + 0x30 : 0) &&
				target.own.thread == (i > 2 ? base + 0x40 : 0));
		inject_target_close(&target);
		unmap_library(memory);
	}
}

/* The target has only the mapping of this library. */
static int find_libc_in(struct inject_target *target, const void *memory)
{
	struct inject_mapping mapping = {.path = NULL};
	const struct inject_mapping *found;
	int ret;

	open_self(target);
	found = inject_mapping_of(target, (uintptr_t)memory);
	CHECK(found);
	mapping = *found;
	mapping.path = strdup(found->path);
	inject_maps_free(target);
	target->mappings = malloc(sizeof(mapping));
	*target->mappings = mapping;
	target->nr_mappings = 1;
	ret = attach_target_find_libc(target);
	inject_target_close(target);
	return ret;
}

/* If the kernel gives access to the mapped file itself, that file is read. */
static bool is_replaced(int ret)
{
	if (!ret || strstr(report.text, "older than glibc"))
		return !access("/proc/self/map_files", R_OK);
	return is_refused(ret, INJECT_UNSUITABLE,
			"its C library was replaced on the disk since it was started",
			"restart the program");
}

static void test_libraries(void)
{
	struct inject_target target;
	char other[160];
	void *memory;

	open_self(&target);
	CHECK(!attach_target_find_libc(&target) && inject_elf_function(&target.libc, "dlopen"));
	CHECK(target.libc_bias + inject_elf_function(&target.libc, "getppid") ==
			(uintptr_t)getppid);
	inject_target_close(&target);
	for (unsigned int i = 0; i < 4; i++) {
		begin_library();
		if (i & 1)
			add_name("dlopen", STT_FUNC, 0x10);
		if (i & 2)
			add_name("pthread_create", STT_FUNC, 0x20);
		memory = map_library("libc.so.6");
		if (i == 3)
			CHECK(!find_libc_in(&target, memory));
		else
			CHECK(is_refused(find_libc_in(&target, memory), INJECT_UNSUITABLE,
					"its C library is older than glibc 2.34", ""));
		/* By now another file has its name. */
		(void)snprintf(other, sizeof(other), "%s.new", library_path);
		{
			int fd = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0700);

			library.header.e_ident[EI_PAD] = 1;
			CHECK(fd >= 0 && write(fd, &library, sizeof(library)) == sizeof(library));
			close(fd);
		}
		CHECK(!rename(other, library_path));
		CHECK(is_replaced(find_libc_in(&target, memory)));
		munmap(memory, sizeof(library));
		unlink(library_path);
		CHECK(!rmdir(library_folder));
	}
	begin_library();
	memory = map_library("libm.so.6");
	CHECK(is_refused(find_libc_in(&target, memory), INJECT_UNSUITABLE,
			"it has not loaded the GNU C library (libc.so.6), which the agent needs",
			""));
	unmap_library(memory);
	/* ThreadSanitizer. */
	begin_library();
	for (unsigned int i = 0; i < 2; i++) {
		memory = map_library(i ? "libclang_rt.tsan-x86_64.so" : "libtsan.so.2");
		open_self(&target);
		CHECK(is_refused(attach_target_check_sanitizer(&target), INJECT_UNSUITABLE,
				"it has ThreadSanitizer, which must see the start of each thread",
				"start it with `side record` or `side trace -c`"));
		inject_target_close(&target);
		unmap_library(memory);
	}
	open_self(&target);
	CHECK(!attach_target_check_sanitizer(&target));
	inject_target_close(&target);
}

static void test_programs(void)
{
	struct inject_request request = {.pid = getpid()};
	struct inject_target target = {.pid = getpid(), .memory = -1, .report = &report};
	char link[] = "/tmp/side-inject-XXXXXX", longest[PATH_MAX];
	int fd = mkstemp(link);

	CHECK(fd >= 0 && !close(fd) && !unlink(link));
	CHECK(!attach_target_check_executable(&target));
	CHECK(is_refused(inject_target_open(&target, &request), INJECT_UNSUITABLE,
			": it is this process", ""));
	target.pid = getppid();
	CHECK(is_refused(inject_target_open(&target, &request), INJECT_UNSUITABLE,
			": it is this process", ""));
	target.pid = 0;
	CHECK(is_refused(inject_target_open(&target, &request), INJECT_UNSUITABLE,
			"cannot attach to 0: it is this process", ""));
	target.pid = INT32_MAX;
	CHECK(is_refused(attach_target_check_executable(&target), INJECT_UNSUITABLE,
			"cannot attach to 2147483647 (?): it is a kernel thread, or has ended",
			""));
	CHECK(!symlink("/usr/libexec/valgrind/memcheck-amd64-linux", link) &&
			attach_target_is_valgrind(link) && !unlink(link));
	CHECK(!symlink("/usr/libexec/valgrind/memcheck-amd64-linux2", link) &&
			!attach_target_is_valgrind(link) && !unlink(link));
	CHECK(!symlink("/usr/bin/valgrind-linux", link) && !attach_target_is_valgrind(link) &&
			!unlink(link));
	CHECK(!attach_target_is_valgrind("/nowhere"));
	/* The longest path that a link can have. */
	memset(longest, 'a', sizeof(longest));
	*longest = '/';
	strcpy(longest + sizeof(longest) - 18, "/valgrind/x-linux");
	CHECK(!symlink(longest, link) && attach_target_is_valgrind(link) && !unlink(link));
	CHECK(is_refused(attach_target_fail_valgrind(&target, "x"), INJECT_UNSUITABLE,
			"(x): it runs under valgrind, which executes a translation of the program",
			"start it with `side record`, or without valgrind"));
	CHECK(is_refused(attach_target_fail_static(&target, "x"), INJECT_UNSUITABLE,
			"(x): it is linked statically, so it has no dynamic loader that could load the agent",
			"`side trace --global` lets the kernel watch its functions"));
}

/* ---- frames ---- */

static bool judges(
		struct inject_safe *safe, bool waits, bool in_futex, enum inject_verdict expected)
{
	return attach_safe_judge_frames(safe, waits, in_futex) == expected;
}

/* Mappings of the program, the C library, the loader and an allocator. */
static void test_frames(void)
{
	static struct inject_safe safe;
	char names[] = "sem_wait\0malloc";
	struct inject_mapping four[] = {{.begin = 0x1000, .end = 0x2000},
			{.begin = 0x2000, .end = 0x3000}, {.begin = 0x3000, .end = 0x4000},
			{.begin = 0x4000, .end = 0x5000}};
	uint8_t classes[] = {INJECT_OTHER, INJECT_LIBC, INJECT_LOADER, INJECT_ALLOCATOR};
	Elf64_Sym symbols[] = {
			symbol(0, 0x100, 0x100, STT_FUNC, 1), symbol(9, 0x200, 0x100, STT_FUNC, 1)};
	struct inject_target target = {.mappings = four,
			.nr_mappings = 4,
			.libc_bias = 0x2000,
			.libc = {.symbols = symbols,
					.nr_symbols = 2,
					.names = names,
					.names_size = 16}};

	safe = (struct inject_safe){.target = &target, .class_of = classes, .nr_frames = 3};
	safe.frames[0] = (struct attach_frame){.pc = 0x2110, .interrupted = true};
	safe.frames[1] = (struct attach_frame){.pc = 0x1100};
	safe.frames[2] = (struct attach_frame){.pc = 0x1200};
	CHECK(judges(&safe, true, false, INJECT_SAFE) &&
			judges(&safe, false, false, INJECT_UNSAFE));
	CHECK(judges(&safe, false, true, INJECT_SAFE) &&
			!strcmp(attach_safe_entry_function(&safe), "sem_wait"));
	safe.frames[0].pc = 0x2210;
	CHECK(judges(&safe, false, true, INJECT_UNSAFE) && judges(&safe, true, true, INJECT_SAFE));
	safe.frames[0].pc = 0x1010;
	CHECK(judges(&safe, false, false, INJECT_SAFE) && judges(&safe, false, true, INJECT_SAFE) &&
			!attach_safe_entry_function(&safe));
	safe.frames[2].pc = 0x3000;
	CHECK(judges(&safe, true, false, INJECT_UNSAFE));
	safe.frames[2].pc = 0x4fff;
	CHECK(judges(&safe, true, false, INJECT_UNSAFE));
	/* All known frames are in the C library: the last one decides. */
	safe.frames[0].pc = safe.frames[1].pc = safe.frames[2].pc = 0x2110;
	safe.frames[3].pc = 0x2210;
	CHECK(!strcmp(attach_safe_entry_function(&safe), "sem_wait"));
	safe.frames[2].pc = 0x2210;
	CHECK(!strcmp(attach_safe_entry_function(&safe), "malloc"));
	safe.frames[0].pc = safe.frames[1].pc = 0x1010;
	/* A signal interrupted the C library further up the stack. */
	safe.frames[2] = (struct attach_frame){.pc = 0x2150, .interrupted = true};
	CHECK(judges(&safe, true, false, INJECT_UNSAFE));
	safe.frames[2].interrupted = false;
	CHECK(judges(&safe, true, false, INJECT_SAFE));
	CHECK(attach_safe_class_at(&safe, 0xfff) == INJECT_NOWHERE &&
			attach_safe_class_at(&safe, 0x2fff) == INJECT_LIBC &&
			attach_safe_class_at(&safe, 0x5000) == INJECT_NOWHERE);
}

static enum inject_class class_of(const char *path, const char *access)
{
	struct inject_mapping mapping = {.path = strdup(path)};
	struct inject_target target = {.pid = getpid(), .memory = -1};
	enum inject_class class;

	strcpy(mapping.access, access);
	class = attach_safe_classify(&target, &mapping);
	free(mapping.path);
	return class;
}

static void test_classes(void)
{
	CHECK(class_of("/lib/libc.so.6", "r-xp") == INJECT_LIBC &&
			class_of("/lib/libc.so.6", "r--p") == INJECT_NOWHERE);
	CHECK(class_of("/lib64/ld-linux-x86-64.so.2", "r-xp") == INJECT_LOADER &&
			class_of("/lib/ld-2.31.so", "r-xp") == INJECT_LOADER);
	CHECK(class_of("", "r-xp") == INJECT_OTHER &&
			class_of("/lib/libcook.so.6", "r-xp") == INJECT_OTHER);
	CHECK(class_of("/lib/ld-3.0.so", "r-xp") == INJECT_OTHER);
	CHECK(attach_safe_waits_for_program_lock("sem_wait") &&
			attach_safe_waits_for_program_lock("syscall") &&
			attach_safe_waits_for_program_lock("pthread_cond_wait"));
	CHECK(!attach_safe_waits_for_program_lock("malloc") &&
			!attach_safe_waits_for_program_lock(NULL) &&
			!attach_safe_waits_for_program_lock("sem_wai"));
	CHECK(inject_call_waits(SYS_poll) == INJECT_WAITS &&
			inject_call_waits(SYS_epoll_wait) == INJECT_WAITS_BRIEFLY);
	CHECK(inject_call_waits(SYS_futex) == INJECT_WAITS_NOT &&
			inject_call_waits(SYS_restart_syscall) == INJECT_WAITS);
	CHECK(inject_call_waits(SYS_mmap) == INJECT_WAITS_NOT &&
			inject_call_waits(SYS_io_getevents) == INJECT_WAITS_BRIEFLY);
}

static void test_words(void)
{
	static struct inject_safe safe;
	struct inject_target target = {.memory = -1};
	Dwarf_Word word = 0, value = 0x1122334455667788;

	safe.target = &target;
	safe.stack_at = 0x1000;
	safe.stack_size = 24;
	memcpy(safe.stack + 16, &value, 8);
	CHECK(attach_safe_read_word(NULL, 0x1010, &word, &safe) && word == value);
	CHECK(!attach_safe_read_word(NULL, 0x1011, &word, &safe) &&
			!attach_safe_read_word(NULL, 0xfff, &word, &safe));
}

/* ---- copies ---- */

static bool has_file(const struct inject_copy *copy, mode_t mode, off_t size)
{
	struct stat status;

	return !stat(copy->path_in_program, &status) && (status.st_mode & 0777) == mode &&
			status.st_size == size;
}

static void test_copies(void)
{
	char from[] = "/tmp/side-inject-XXXXXX";
	int fd = mkstemp(from), to = memfd_create("copy", MFD_CLOEXEC);
	static char bytes[70000];
	struct inject_copy copy = {.directory = -1}, second = {.directory = -1};
	struct stat status;

	CHECK(fd >= 0 && to >= 0 && write(fd, bytes, sizeof(bytes)) == sizeof(bytes));
	CHECK(!inject_copy_file(from, to) && !fstat(to, &status) &&
			status.st_size == sizeof(bytes));
	CHECK(inject_copy_file("/nowhere", to) == -ENOENT && inject_copy_file(from, -1) == -EBADF &&
			inject_copy_file("/tmp", to) == -EISDIR);
	close(to);
	CHECK(inject_copy_make(&copy, getpid(), from) && copy.next == 1 &&
			!strncmp(copy.path_in_program, "/tmp/side-agent-", 16));
	CHECK(!strcmp(strrchr(copy.path_in_program, '/'), from + 4) &&
			has_file(&copy, 0755, sizeof(bytes)));
	/* A copy that another process uses stays. */
	second.next = 0;
	CHECK(inject_copy_make(&second, getpid(), from) && has_file(&copy, 0755, sizeof(bytes)));
	inject_copy_remove(&copy);
	CHECK(stat(copy.path_in_program, &status) && errno == ENOENT &&
			has_file(&second, 0755, sizeof(bytes)) && copy.directory == -1);
	inject_copy_remove(&copy);
	*strrchr(copy.path_in_program, '/') = 0;
	CHECK(stat(copy.path_in_program, &status) && errno == ENOENT);
	inject_copy_remove(&second);
	second.next = sizeof(directories) / sizeof(*directories);
	CHECK(!inject_copy_make(&second, getpid(), from));
	CHECK(!attach_copy_create(&second, getpid(), "/tmp", "agent", "/nowhere") &&
			second.directory == -1 && second.created_fd == -1);
	CHECK(!attach_copy_create(&second, INT32_MAX, "/tmp", "agent", from));
	close(fd);
	unlink(from);
}

static void test_no_directory(void)
{
	struct inject_copy copy = {
			.directory = open("/proc/self", O_PATH | O_CLOEXEC), .created_fd = -1};

	CHECK(copy.directory >= 0 && !attach_copy_create_directory(&copy) && !*copy.created_name &&
			copy.created_fd == -1);
	close(copy.directory);
}

/* Only a directory of a killed process is removed, after a minute. */
static void test_abandoned(void)
{
	char folder[] = "/tmp/side-inject-XXXXXX";
	struct inject_copy copy = {.name = "agent"};
	struct timespec old[2] = {{.tv_sec = time(NULL) - COPY_WAITS_S - 1},
			{.tv_sec = time(NULL) - COPY_WAITS_S - 1}};
	struct timespec young[2] = {{.tv_sec = time(NULL) - 10}, {.tv_sec = time(NULL) - 10}};
	int fd;

	CHECK(mkdtemp(folder) && (copy.directory = open(folder, O_RDONLY | O_DIRECTORY)) >= 0);
	CHECK(!mkdirat(copy.directory, COPY_PREFIX "old", 0700) &&
			!mkdirat(copy.directory, COPY_PREFIX "young", 0700));
	CHECK(!mkdirat(copy.directory, COPY_PREFIX "used", 0700) &&
			!mkdirat(copy.directory, "other", 0700));
	fd = openat(copy.directory, COPY_PREFIX "old/agent", O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0 && !close(fd));
	CHECK(!utimensat(copy.directory, COPY_PREFIX "old", old, 0) &&
			!utimensat(copy.directory, COPY_PREFIX "young", young, 0));
	CHECK(!utimensat(copy.directory, COPY_PREFIX "used", old, 0) &&
			!utimensat(copy.directory, "other", old, 0));
	fd = openat(copy.directory, COPY_PREFIX "used", O_RDONLY | O_DIRECTORY);
	CHECK(!flock(fd, LOCK_SH));
	attach_copy_remove_abandoned(&copy);
	CHECK(unlinkat(copy.directory, COPY_PREFIX "old", AT_REMOVEDIR) && errno == ENOENT);
	CHECK(!unlinkat(copy.directory, COPY_PREFIX "young", AT_REMOVEDIR) &&
			!unlinkat(copy.directory, COPY_PREFIX "used", AT_REMOVEDIR));
	CHECK(!unlinkat(copy.directory, "other", AT_REMOVEDIR) && !rmdir(folder));
	close(fd);
	close(copy.directory);
}

int main(void)
{
	struct resources before = {0};

	for (int round = 0; round < 3; round++) {
		test_symbols();
		test_segments();
		test_broken();
		test_mapping_lines();
		test_mappings();
		test_files();
		test_status();
		test_limits();
		test_states();
		test_frames();
		test_classes();
		test_words();
		test_copies();
		test_abandoned();
		test_no_directory();
		test_kept();
		test_statistics();
		test_agents();
		test_libraries();
		test_programs();
		if (round == 1)
			before = resources_now();
	}
	CHECK(resources_are_same(before, resources_now()));
	return 0;
}
