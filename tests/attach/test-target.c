/* SPDX-License-Identifier: MIT */
/*
 * Why a program may be refused, before one of its threads is stopped. The test provides the files
 * of a program: its state, its executable, its mappings and its memory. It includes the file, so
 * that it can call its static functions.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"

#include "attach/inject.h"
#include "attach/parts.h"

#define PROGRAM 4711
#define DEBUGGER 4712

/* ---- files ---- */

struct played_file {
	const char *path;
	const void *bytes;
	size_t size;
	int error; /* of opening it */
};

static struct played_file played[24];
static size_t nr_played;
static const char *link_text; /* of /proc/PID/exe; NULL: it cannot be read */
static struct rlimit file_limit;
static uid_t user_id;

static void put(const char *path, const void *bytes, size_t size, int error)
{
	size_t i = 0;

	while (i < nr_played && strcmp(played[i].path, path) != 0)
		i++;
	nr_played += i == nr_played;
	CHECK(nr_played <= sizeof(played) / sizeof(*played));
	played[i] = (struct played_file){path, bytes, size, error};
}

static void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text), 0);
}

static int played_open(const char *path, int flags)
{
	CHECK(flags & O_CLOEXEC);
	for (size_t i = 0; i < nr_played; i++) {
		int fd;

		if (strcmp(played[i].path, path) != 0)
			continue;
		if (played[i].error) {
			errno = played[i].error;
			return -1;
		}
		fd = memfd_create("played", MFD_CLOEXEC);
		CHECK(fd >= 0 &&
				pwrite(fd, played[i].bytes, played[i].size, 0) ==
						(ssize_t)played[i].size);
		return fd;
	}
	errno = ENOENT;
	return -1;
}

static FILE *played_fopen(const char *path, const char *mode)
{
	int fd = played_open(path, O_CLOEXEC);

	CHECK(!strcmp(mode, "re"));
	return fd < 0 ? NULL : fdopen(fd, "r");
}

static ssize_t played_readlink(const char *path, char *text, size_t size)
{
	CHECK(!strcmp(path, "/proc/4711/exe") && size == PATH_MAX - 1);
	if (!link_text)
		return -1;
	memcpy(text, link_text, strlen(link_text));
	return (ssize_t)strlen(link_text);
}

static int played_prlimit(pid_t pid, int resource, const void *set, struct rlimit *limit)
{
	CHECK(pid == PROGRAM && resource == RLIMIT_NOFILE && !set);
	*limit = file_limit;
	return file_limit.rlim_cur == 999 ? -1 : 0;
}

static uid_t played_user(void)
{
	return user_id;
}

static struct timespec slept;

static int played_clock(clockid_t clock, struct timespec *time)
{
	CHECK(clock == CLOCK_MONOTONIC);
	*time = (struct timespec){.tv_sec = 3, .tv_nsec = 7};
	return 0;
}

static int played_sleep(const struct timespec *time, struct timespec *remaining)
{
	CHECK(!remaining);
	slept = *time;
	return 0;
}

#define clock_gettime played_clock
#define nanosleep played_sleep
#define open played_open
#define fopen played_fopen
#define readlink played_readlink
#define prlimit played_prlimit
#define geteuid played_user
#include "base/io.c"
#include "attach/target.c"
#undef open

static struct inject_report the_report;

static bool is_refused(int ret, enum inject_kind kind, const char *text, const char *hint)
{
	if (ret == -1 && the_report.kind == kind && !strcmp(the_report.text, text) &&
			!strcmp(the_report.hint, hint))
		return true;
	(void)fprintf(stderr, "%d, %d: %s; %s\n", ret, (int)the_report.kind, the_report.text,
			the_report.hint);
	return false;
}

static struct inject_target new_target(void)
{
	the_report = (struct inject_report){.kind = INJECT_DONE};
	return (struct inject_target){.pid = PROGRAM, .memory = -1, .report = &the_report};
}

/* ---- images ---- */

/* A file that is mapped completely at IMAGE_AT + `at`. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[8];
	char names[160];
	uint64_t stats[3];
	uint8_t more[1024];
};
#define IMAGE_AT UINT64_C(0x20000)

static struct image program, libc, agent;
static size_t nr_symbols, names_size;

static void begin_image(struct image *image)
{
	memset(image, 0, sizeof(*image));
	image->header = (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = offsetof(struct image, segments),
			.e_phnum = 2,
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_shoff = offsetof(struct image, sections),
			.e_shnum = 3,
			.e_shentsize = sizeof(Elf64_Shdr)};
	image->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = IMAGE_AT,
			.p_filesz = sizeof(*image),
			.p_memsz = sizeof(*image)};
	image->segments[1].p_type = PT_INTERP;
	image->sections[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct image, names),
			.sh_size = sizeof(image->names)};
	image->sections[2] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
			.sh_link = 1,
			.sh_offset = offsetof(struct image, symbols),
			.sh_size = sizeof(image->symbols)};
	image->stats[0] = 101;
	image->stats[1] = 102;
	image->stats[2] = 103;
	nr_symbols = names_size = 1;
}

static void add_symbol(struct image *image, const char *name, unsigned char type, uint64_t at)
{
	CHECK(nr_symbols < 8 && names_size + strlen(name) < sizeof(image->names));
	strcpy(image->names + names_size, name);
	image->symbols[nr_symbols++] = (Elf64_Sym){.st_name = (uint32_t)names_size,
			.st_value = IMAGE_AT + at,
			.st_size = 8,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, type),
			.st_shndx = 1};
	names_size += strlen(name) + 1;
}

/* ---- a program that is accepted ---- */

static char state_text[512];
static uint8_t memory[0x9000];
static const char maps[] = "1000-2000 r-xp 00000000 08:01 11 /bin/kitchen\n"
			   "not a mapping\n"
			   "3000-4000 rw-p 00000000 00:00 0 \n"
			   "5000-6000 r-xp 00000000 08:01 22 /lib/libc.so.6\n"
			   "7000-8000 r-xp 00000000 08:01 33 /lib/libside-agent.so\n";

static void put_state(
		const char *state, const char *kernel, const char *tracer, const char *sandbox)
{
	(void)snprintf(state_text, sizeof(state_text),
			"Name:\tkitchen\nState:\t%s\nTracerPid:\t%s\nUid:\t77\t0\t0\t0\n%s%s\n%s%s\n",
			state, tracer, *kernel ? "Kthread:\t" : "", kernel,
			*sandbox ? "Seccomp:\t" : "", sandbox);
	put_text("/proc/4711/status", state_text);
}

static void begin(void)
{
	nr_played = 0;
	link_text = "/bin/kitchen";
	file_limit = (struct rlimit){8, 8};
	user_id = 77;
	put_text("/proc/4711/task/4711/comm", "kitchen\n");
	put_text("/proc/4712/task/4712/comm", "gdb\n");
	put_state("S (sleeping)", "0", "0", "0");
	begin_image(&program);
	put("/proc/4711/exe", &program, sizeof(program), 0);
	begin_image(&libc);
	add_symbol(&libc, "dlopen", STT_FUNC, 0x10);
	add_symbol(&libc, "pthread_create", STT_FUNC, 0x20);
	put("/proc/4711/root/lib/libc.so.6", &libc, sizeof(libc), 0);
	begin_image(&agent);
	add_symbol(&agent, "serve", STT_FUNC, 0x30);
	add_symbol(&agent, "side_probe_kept", STT_OBJECT, offsetof(struct image, stats));
	add_symbol(&agent, "side_probe_traps", STT_OBJECT, offsetof(struct image, stats) + 8);
	add_symbol(&agent, "side_probe_pads", STT_OBJECT, offsetof(struct image, stats) + 16);
	put("/proc/4711/root/lib/libside-agent.so", &agent, sizeof(agent), 0);
	memcpy(memory + 0x5000, &libc, sizeof(libc));
	memcpy(memory + 0x7000, &agent, sizeof(agent));
	put("/proc/4711/mem", memory, sizeof(memory), 0);
	put_text("/proc/4711/maps", maps);
}

static int check_all(void)
{
	static const struct inject_request request = {.pid = PROGRAM, .function = "serve"};
	struct inject_target target = new_target();
	int ret = inject_target_open(&target, &request);

	if (!ret) {
		CHECK(target.nr_mappings == 4 && target.libc_bias == 0x5000 - IMAGE_AT);
		CHECK(inject_elf_function(&target.libc, "dlopen") == IMAGE_AT + 0x10);
		CHECK(the_report.was_loaded == (target.agent_function != 0));
		CHECK(!target.agent_function || target.agent_function == 0x7030);
		CHECK(!target.own.begin && !target.own.end && !target.own.thread);
	}
	inject_target_close(&target);
	CHECK(target.memory == -1 && !target.mappings && !target.libc.symbols);
	return ret;
}

static void test_open(void)
{
	begin();
	CHECK(!check_all() && the_report.was_loaded && the_report.kind == INJECT_DONE);
	/* Each file that is missing, in the order in which they are read. */
	put("/proc/4711/maps", "", 0, ENOMEM);
	CHECK(is_refused(check_all(), INJECT_FAILED,
			"cannot attach to 4711 (kitchen): Cannot allocate memory", ""));
	put("/proc/4711/maps", "", 0, 0);
	CHECK(is_refused(check_all(), INJECT_GONE, "cannot attach to 4711 (kitchen): it has ended",
			""));
	put("/proc/4711/mem", "", 0, EMFILE);
	CHECK(is_refused(check_all(), INJECT_FAILED,
			"cannot attach to 4711 (kitchen): Too many open files", ""));
	put("/proc/4711/mem", "", 0, EACCES);
	CHECK(is_refused(check_all(), INJECT_NOT_PERMITTED,
			"cannot attach to 4711 (kitchen): Permission denied: it has privileges that you do not have, or a sandbox forbids you ptrace",
			"run as root (CAP_SYS_PTRACE)"));
	put("/proc/4711/exe", "", 0, EACCES);
	CHECK(is_refused(check_all(), INJECT_NOT_PERMITTED,
			"cannot attach to 4711 (kitchen): Permission denied: it has privileges that you do not have, or a sandbox forbids you ptrace",
			"run as root (CAP_SYS_PTRACE)"));
	file_limit = (struct rlimit){7, 20};
	CHECK(is_refused(check_all(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it may have at most 7 open files (RLIMIT_NOFILE), and the agent needs 8 more for a moment",
			"`prlimit --pid 4711 --nofile=8:20`"));
	put_state("T (stopped)", "0", "0", "0");
	CHECK(is_refused(check_all(), INJECT_FAILED,
			"cannot attach to 4711 (kitchen): it is stopped",
			"continue it first: `kill -CONT 4711`"));
}

static void test_loaded(void)
{
	struct inject_target target;

	/*
	 * Without the agent; with an agent that lacks the function; with an agent whose file was
	 * replaced.
	 */
	begin();
	put_text("/proc/4711/maps",
			"5000-6000 r-xp 00000000 08:01 22 /lib/libc.so.6\n7000-8000 r--p 0 08:01 33 /lib/libside-agent.so\n3000-4000 r--p 0 08:01 33 /b\n8000-8100 r-xp 0 08:01 44 /lib/liba.so\n");
	target = new_target();
	CHECK(!check_all() && !the_report.was_loaded);
	begin();
	agent.names[1] = 'S';
	memcpy(memory + 0x7000, &agent, sizeof(agent));
	CHECK(is_refused(check_all(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it has loaded an agent of another version (/lib/libside-agent.so)",
			"restart the program"));
	begin();
	agent.header.e_ident[EI_PAD] = 1;
	CHECK(is_refused(check_all(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it has loaded an agent of another version (/lib/libside-agent.so)",
			"restart the program"));
	begin();
	put("/proc/4711/root/lib/libside-agent.so", "", 0, ENOENT);
	CHECK(is_refused(check_all(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it has loaded an agent of another version (/lib/libside-agent.so)",
			"restart the program"));
	put("/proc/4711/root/lib/libside-agent.so", "", 0, EIO);
	CHECK(is_refused(check_all(), INJECT_FAILED,
			"cannot attach to 4711 (kitchen): the agent that it has loaded cannot be read: Input/output error",
			""));
	/* The segment of the agent is at another offset. */
	begin();
	agent.segments[0].p_offset = 0x1000;
	memcpy(memory + 0x7000, &agent, sizeof(agent));
	CHECK(is_refused(check_all(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it has loaded an agent of another version (/lib/libside-agent.so)",
			"restart the program"));
	/* The C library. */
	begin();
	libc.header.e_ident[EI_PAD] = 1;
	CHECK(is_refused(check_all(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): its C library was replaced on the disk since it was started",
			"restart the program"));
	begin();
	put("/proc/4711/root/lib/libc.so.6", "", 0, EMFILE);
	CHECK(is_refused(check_all(), INJECT_FAILED,
			"cannot attach to 4711 (kitchen): its C library cannot be read: Too many open files",
			""));
	begin();
	put_text("/proc/4711/maps",
			"5000-6000 r-xp 00000000 08:01 22 /lib/libc.so.6\n7000-8000 r-xp 0 08:01 33 /lib/libtsan.so.2\n");
	CHECK(is_refused(check_all(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it has ThreadSanitizer, which must see the start of each thread",
			"start it with `side record` or `side trace -c`"));
	put_text("/proc/4711/maps", "5000-6000 r--p 00000000 08:01 22 /lib/libc.so.6\n");
	CHECK(is_refused(check_all(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it has not loaded the GNU C library (libc.so.6), which the agent needs",
			""));
	inject_target_close(&target);
}

static void test_kept(void)
{
	struct inject_kept kept;

	begin();
	CHECK(!inject_kept(PROGRAM, &kept) && kept.bytes == 101 && kept.traps == 102 &&
			kept.springboards == 103);
	put("/proc/4711/root/lib/libside-agent.so", "", 0, EMFILE);
	CHECK(inject_kept(PROGRAM, &kept) == -EMFILE && !kept.bytes && !kept.traps &&
			!kept.springboards);
	put_text("/proc/4711/maps", "5000-6000 r--p 00000000 08:01 22 /lib/libc.so.6\n");
	CHECK(!inject_kept(PROGRAM, &kept) && !kept.bytes);
	put("/proc/4711/maps", "", 0, EMFILE);
	CHECK(inject_kept(PROGRAM, &kept) == -EMFILE);
	put("/proc/4711/mem", "", 0, EACCES);
	CHECK(inject_kept(PROGRAM, &kept) == -EACCES);
}

/* ---- its state ---- */

static int check(bool in_sandbox)
{
	const struct inject_request request = {.pid = PROGRAM, .in_sandbox = in_sandbox};
	struct inject_target target = new_target();

	return attach_target_check_state(&target, &request);
}

static void test_state(void)
{
	static const char sandbox[] =
			"cannot attach to 4711 (kitchen): it is in a sandbox (seccomp), whose filter may end it when it loads a library";

	begin();
	CHECK(!check(false));
	/* Older kernels do not have these two. */
	put_state("R (running)", "", "0", "");
	CHECK(!check(false));
	put_state("Z (zombie)", "0", "0", "0");
	CHECK(is_refused(check(true), INJECT_GONE, "cannot attach to 4711 (kitchen): it has ended",
			""));
	put_state("X (dead)", "0", "0", "0");
	CHECK(is_refused(check(true), INJECT_GONE, "cannot attach to 4711 (kitchen): it has ended",
			""));
	put_state("S (sleeping)", "1", "0", "0");
	CHECK(is_refused(check(true), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it is a kernel thread", ""));
	put_state("S (sleeping)", "0", "4712", "0");
	CHECK(is_refused(check(true), INJECT_NOT_PERMITTED,
			"cannot attach to 4711 (kitchen): 4712 (gdb) is tracing it, and a program can have only one tracer",
			"end that tracer first, or detach it"));
	put_state("t (tracing stop)", "0", "0", "1");
	CHECK(is_refused(check(true), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it is in the strict sandbox of seccomp, which would end it at its first call",
			""));
	put_state("S (sleeping)", "0", "0", "2");
	CHECK(is_refused(check(false), INJECT_UNSUITABLE, sandbox,
			"if you know that the filter allows that: `--in-sandbox`"));
	CHECK(!check(true));
	for (int i = 0; i < 3; i++) {
		static const int errors[] = {ENOENT, ESRCH, EMFILE};

		put("/proc/4711/status", "", 0, errors[i]);
		CHECK(is_refused(check(true), i < 2 ? INJECT_GONE : INJECT_FAILED,
				i < 2 ? "there is no process 4711"
				      : "cannot attach to 4711 (kitchen): its state cannot be read: Too many open files",
				""));
	}
}

/*
 * The line of a user's groups is before that of the sandbox. A file that is too long to be read
 * completely does not count as one without a sandbox.
 */
static void test_groups(void)
{
	static const char head[] = "\nState:\tS (sleeping)\nTracerPid:\t0\nGroups:\t",
			  tail[] = "\nKthread:\t0\nSeccomp:\t2\n";
	static char text[STATUS_MAX + 16];
	char found[16];

	begin();
	memset(text, '1', sizeof(text));
	memcpy(text, head, sizeof(head) - 1);
	memcpy(text + STATUS_MAX - sizeof(tail), tail, sizeof(tail) - 1);
	put("/proc/4711/status", text, STATUS_MAX - 1, 0);
	CHECK(check(false) == -1 && the_report.kind == INJECT_UNSUITABLE && !check(true));
	/* The buffer is full: there may be more. */
	CHECK(!inject_status(PROGRAM, 0, "Nothing", found, sizeof(found)) && errno == EOVERFLOW);
	put("/proc/4711/status", text, STATUS_MAX - 2, 0);
	CHECK(!inject_status(PROGRAM, 0, "Nothing", found, sizeof(found)) && errno == ENODATA);
	memset(text + STATUS_MAX - sizeof(tail), '1', sizeof(tail) + 4);
	memcpy(text + STATUS_MAX, tail, 16);
	put("/proc/4711/status", text, sizeof(text), 0);
	CHECK(is_refused(check(true), INJECT_FAILED,
			"cannot attach to 4711 (kitchen): its state cannot be read: Value too large for defined data type",
			""));
}

static void test_limit(void)
{
	struct inject_target target = new_target();

	begin();
	CHECK(!attach_target_check_files(&target));
	/* It cannot be read. */
	file_limit.rlim_cur = 999;
	CHECK(!attach_target_check_files(&target));
	file_limit = (struct rlimit){0, 4};
	CHECK(is_refused(attach_target_check_files(&target), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it may have at most 0 open files (RLIMIT_NOFILE), and the agent needs 8 more for a moment",
			"`prlimit --pid 4711 --nofile=8:8`"));
	file_limit = (struct rlimit){7, 9};
	CHECK(attach_target_check_files(&target) == -1 &&
			!strcmp(the_report.hint, "`prlimit --pid 4711 --nofile=8:9`"));
}

/* ---- permissions ---- */

static int forbidden(void)
{
	struct inject_target target = new_target();

	return inject_not_permitted(&target, 0, EPERM);
}

static void test_permission(void)
{
	static const char scope[] = "/proc/sys/kernel/yama/ptrace_scope";
	static const char rights[] =
			"cannot attach to 4711 (kitchen): Operation not permitted: it has privileges that you do not have, or a sandbox forbids you ptrace";

	begin();
	put_text(scope, "3\n");
	CHECK(is_refused(forbidden(), INJECT_NOT_PERMITTED,
			"cannot attach to 4711 (kitchen): kernel.yama.ptrace_scope is 3, which forbids it to all users until a reboot with another value",
			""));
	put_text(scope, "2\n");
	CHECK(is_refused(forbidden(), INJECT_NOT_PERMITTED,
			"cannot attach to 4711 (kitchen): kernel.yama.ptrace_scope is 2, which requires CAP_SYS_PTRACE",
			"run as root"));
	put_text(scope, "1\n");
	CHECK(is_refused(forbidden(), INJECT_NOT_PERMITTED,
			"cannot attach to 4711 (kitchen): ptrace is limited to child processes here (kernel.yama.ptrace_scope is 1)",
			"run as root (CAP_SYS_PTRACE), or `sudo sysctl kernel.yama.ptrace_scope=0`"));
	put_text(scope, "0\n");
	CHECK(is_refused(
			forbidden(), INJECT_NOT_PERMITTED, rights, "run as root (CAP_SYS_PTRACE)"));
	user_id = 78;
	CHECK(is_refused(forbidden(), INJECT_NOT_PERMITTED,
			"cannot attach to 4711 (kitchen): it belongs to user 77",
			"run as this user or as root (CAP_SYS_PTRACE)"));
	/* Neither is known. */
	put(scope, "", 0, 0);
	put("/proc/4711/status", "", 0, EACCES);
	CHECK(is_refused(
			forbidden(), INJECT_NOT_PERMITTED, rights, "run as root (CAP_SYS_PTRACE)"));
	/* The tracer of one thread. */
	put_text("/proc/4711/task/4720/status", "\nTracerPid:\t4712\n");
	put_text(scope, "3\n");
	{
		struct inject_target target = new_target();

		CHECK(is_refused(inject_not_permitted(&target, 4720, EACCES), INJECT_NOT_PERMITTED,
				"cannot attach to 4711 (kitchen): 4712 (gdb) is tracing it, and a program can have only one tracer",
				"end that tracer first, or detach it"));
	}
}

/* ---- its executable ---- */

static int check_image(void)
{
	struct inject_target target = new_target();

	return attach_target_check_executable(&target);
}

static void test_executable(void)
{
	begin();
	CHECK(!check_image());
	add_symbol(&program, "__tsan_init", STT_FUNC, 0x10);
	CHECK(is_refused(check_image(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it has ThreadSanitizer, which must see the start of each thread",
			"start it with `side record` or `side trace -c`"));
	program.segments[1].p_type = PT_NULL;
	CHECK(is_refused(check_image(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it is linked statically, so it has no dynamic loader that could load the agent",
			"`side trace --global` lets the kernel watch its functions"));
	link_text = "/usr/libexec/valgrind/memcheck-amd64-linux";
	CHECK(is_refused(check_image(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it runs under valgrind, which executes a translation of the program",
			"start it with `side record`, or without valgrind"));
	link_text = NULL;
	CHECK(check_image() == -1 && strstr(the_report.text, "linked statically"));
	program.header.e_machine = EM_AARCH64;
	CHECK(is_refused(check_image(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it is a program for another processor (not x86-64), and the agent is for x86-64, with 64 bits",
			""));
	program.header.e_machine = EM_X86_64;
	program.header.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK(is_refused(check_image(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it is a program for another processor (32 bits), and the agent is for x86-64, with 64 bits",
			""));
	program.header.e_ident[0] = 0;
	CHECK(is_refused(check_image(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): its file is not an ELF file", ""));
	put("/proc/4711/exe", "", 0, ENOENT);
	CHECK(is_refused(check_image(), INJECT_UNSUITABLE,
			"cannot attach to 4711 (kitchen): it is a kernel thread, or has ended",
			""));
	put("/proc/4711/exe", "", 0, ESRCH);
	CHECK(is_refused(check_image(), INJECT_GONE,
			"cannot attach to 4711 (kitchen): it has ended", ""));
	put("/proc/4711/exe", "", 0, EMFILE);
	CHECK(is_refused(check_image(), INJECT_FAILED,
			"cannot attach to 4711 (kitchen): Too many open files", ""));
}

/* ---- files of mappings ---- */

static void test_files(void)
{
	char path[] = "/lib/one.so", other[] = "/lib/other.so";
	struct inject_mapping four[] = {{.begin = 0x1000, .end = 0x2000, .inode = 5, .path = other},
			{.begin = 0x3000, .end = 0x4000, .inode = 6, .path = path},
			{.begin = 0x5000, .end = 0x6000, .inode = 5, .path = path},
			{.begin = 0x6000,
					.end = 0x7000,
					.inode = 5,
					.offset = 0x1000,
					.path = path}};
	struct inject_target target = {.pid = PROGRAM, .mappings = four, .nr_mappings = 4};
	static char bytes[2][1024];
	int fd;

	begin();
	memset(bytes[0], 'a', 1024);
	memset(bytes[1], 'b', 1024);
	memcpy(memory + 0x5000, bytes[0], 1024);
	memcpy(memory + 0x1000, bytes[1], 1024);
	memcpy(memory + 0x3000, bytes[1], 1024);
	target.memory = played_open("/proc/4711/mem", O_CLOEXEC);
	/* The kernel's link, the program's view, and this process's view. */
	put("/proc/4711/map_files/6000-7000", bytes[0], 1024, 0);
	put("/proc/4711/root/lib/one.so", bytes[1], 1024, 0);
	put(path, bytes[1], 1024, 0);
	fd = inject_mapping_open(&target, &four[3]);
	CHECK(fd >= 0 && !close(fd));
	put("/proc/4711/map_files/6000-7000", bytes[1], 1024, 0);
	CHECK(inject_mapping_open(&target, &four[3]) == -ESTALE);
	put("/proc/4711/root/lib/one.so", bytes[0], 1024, 0);
	fd = inject_mapping_open(&target, &four[3]);
	CHECK(fd >= 0 && !close(fd));
	put("/proc/4711/root/lib/one.so", "", 0, EACCES);
	CHECK(inject_mapping_open(&target, &four[3]) == -EACCES);
	/* The error of this process's view counts only if the program's view has no such file. */
	put("/proc/4711/root/lib/one.so", "", 0, ENOENT);
	CHECK(inject_mapping_open(&target, &four[3]) == -ESTALE);
	put(path, bytes[0], 1024, 0);
	fd = inject_mapping_open(&target, &four[3]);
	CHECK(fd >= 0 && !close(fd));
	put("/proc/4711/root/lib/one.so", "", 0, EACCES);
	fd = inject_mapping_open(&target, &four[3]);
	CHECK(fd >= 0 && !close(fd));
	/* A file that is shorter than the compared part, and one that differs in its last byte. */
	put(path, bytes[0], 1023, 0);
	CHECK(inject_mapping_open(&target, &four[3]) == -EACCES);
	bytes[0][1023]++;
	put(path, bytes[0], 1024, 0);
	CHECK(inject_mapping_open(&target, &four[3]) == -EACCES);
	bytes[0][1023]--;
	/* Only the first page of the same file before the mapping is compared. */
	four[2].offset = 1;
	CHECK(inject_mapping_open(&target, &four[3]) == -EACCES);
	four[2].offset = 0;
	four[2].begin = 0x6001;
	CHECK(inject_mapping_open(&target, &four[3]) == -EACCES);
	four[2].begin = 0x6000;
	memcpy(memory + 0x6000, bytes[0], 1024);
	CHECK(pwrite(target.memory, memory, sizeof(memory), 0) == (ssize_t)sizeof(memory));
	fd = inject_mapping_open(&target, &four[3]);
	CHECK(fd >= 0 && !close(fd));
	close(target.memory);
}

/* ---- time ---- */

static void test_time(void)
{
	CHECK(inject_now() == 3000000007);
	inject_pause_us(2000005);
	CHECK(slept.tv_sec == 2 && slept.tv_nsec == 5000);
}

/* ---- lines of /proc ---- */

static void test_lines(void)
{
	char text[8], none[] = "", line[] = "1000-2000 r-xp 10 08:01",
		      path[] = "a-b rwxs f 0:0 9 x";
	struct inject_mapping mapping;

	begin();
	put_text("/proc/4711/status", "A:\t1\nAB:\t22\nC: \t \t333 4\nD:\n");
	CHECK(inject_status(PROGRAM, 0, "AB", text, sizeof(text)) && !strcmp(text, "22"));
	CHECK(inject_status(PROGRAM, 0, "C", text, sizeof(text)) && !strcmp(text, "333 4"));
	CHECK(inject_status(PROGRAM, 0, "C", text, 6) && !strcmp(text, "333 4"));
	CHECK(inject_status(PROGRAM, 0, "C", text, 5) && !strcmp(text, "333 "));
	CHECK(inject_status(PROGRAM, 0, "D", text, sizeof(text)) && !*text);
	/* A hint belongs to the failure before it. */
	{
		struct inject_target target = new_target();

		strcpy(the_report.hint, "old");
		CHECK(inject_fail(&target, INJECT_GONE, "%d", 5) == -1 && !*the_report.hint);
	}
	strcpy(text, "old");
	CHECK(!inject_status(PROGRAM, 0, "A", text, sizeof(text)) && errno == ENODATA && !*text);
	CHECK(!strcmp(inject_name(DEBUGGER, text, 3), "gd"));
	CHECK(attach_target_parse_mapping(none, &mapping) == -ENODATA &&
			attach_target_parse_mapping(line, &mapping) == -ENODATA);
	CHECK(!attach_target_parse_mapping(path, &mapping) && mapping.begin == 10 &&
			mapping.end == 11 && mapping.offset == 15 && mapping.inode == 9 &&
			!strcmp(mapping.access, "rwxs") && !strcmp(mapping.path, "x"));
	free(mapping.path);
}

int main(void)
{
	struct resources before = {0};

	for (int round = 0; round < 3; round++) {
		test_open();
		test_loaded();
		test_kept();
		test_state();
		test_groups();
		test_limit();
		test_permission();
		test_executable();
		test_files();
		test_time();
		test_lines();
		if (round == 1)
			before = resources_now();
	}
	CHECK(resources_are_same(before, resources_now()));
	return 0;
}
