/* SPDX-License-Identifier: MIT */
/*
 * The library that `side system on` names in /etc/ld.so.preload, so the loader adds it to each
 * program. It loads the agent only if a session has probes for the program's file.
 *
 * Otherwise it makes one system call, access(), which the loader has made as well: so no sandbox
 * ends the program for it. It makes none in a program with more privileges than its caller. It
 * defines no symbol and needs no library. The files for 32-bit programs do nothing: they keep the
 * loader from printing an error.
 *
 * A loader can execute the file as a program, which exits with 0: so `side system on` checks that the
 * loader can load it.
 */
#ifdef __x86_64__
__asm__(".text\n"
	".globl side_system_check\n"
	".hidden side_system_check\n"
	".type side_system_check, @function\n"
	"side_system_check:\n"
	"	movl $231, %eax\n" /* exit_group(0) */
	"	xorl %edi, %edi\n"
	"	syscall\n"
	"	hlt\n"
	".size side_system_check, . - side_system_check\n");

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/environment/environment.h"

/* The same as in src/protocol/runtime.h; test-system.py compares them. */
#define SYSTEM_RUNTIME_VARIABLE "SIDE_RUNTIME"
#define SYSTEM_RUNTIME "/run/side"
#define SYSTEM_WANTED "/wanted"
#define SYSTEM_WANTED_MAX 16384

#define SYSTEM_AGENT "/libside-agent.so"
#define SYSTEM_PATH_SIZE 4096
#define SYSTEM_TEXT_SIZE SYSTEM_WANTED_MAX /* of the two files that are read */
#define SYSTEM_USER_DIGITS 10
#define SYSTEM_AT_UID 11

enum {
	SYSTEM_READ = 0,
	SYSTEM_CLOSE = 3,
	SYSTEM_ACCESS = 21,
	SYSTEM_READLINK = 89,
	SYSTEM_OPENAT = 257
};

/* Of the C library. Weak: the program may have another one, or none. */
extern unsigned long getauxval(unsigned long type) __attribute__((weak));
extern int *__errno_location(void) __attribute__((weak));
#pragma weak dladdr
#pragma weak dlerror
#pragma weak dlopen
/* Of the agent. */
extern void side_agent_start(void) __attribute__((weak));

static long system_call(long number, long a, long b, long c)
{
	register long fourth __asm__("r10") = 0; /* the mode of openat() */
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
	return result;
}

/* Appends to a text of that size, which stays terminated. False: it is too long. */
static bool system_append(char *to, size_t capacity, size_t *used, const char *text)
{
	for (; *text; text++) {
		if (*used + 1 >= capacity)
			return false;
		to[(*used)++] = *text;
	}
	to[*used] = '\0';
	return true;
}

static bool system_is_text(const char *text, const char *other)
{
	while (*text && *text == *other) {
		text++;
		other++;
	}
	return *text == *other;
}

/* Reads the beginning of a file. Returns its size, or 0. The loader makes the same system calls. */
static size_t system_read_file(const char *path, char *text, size_t capacity)
{
	long fd = system_call(SYSTEM_OPENAT, -100 /* AT_FDCWD */, (long)path,
			02000000 | 04000 /* O_CLOEXEC, O_NONBLOCK */);
	size_t used = 0;

	if (fd < 0)
		return 0;
	while (used < capacity) {
		long part = system_call(
				SYSTEM_READ, fd, (long)text + (long)used, (long)(capacity - used));

		if (part <= 0)
			break;
		used += (size_t)part;
	}
	(void)system_call(SYSTEM_CLOSE, fd, 0, 0);
	return used;
}

/* ---- the list of the daemon ---- */

/* Does the line, which ends at `end`, consist of these two texts? */
static bool system_line_is(const char *line, const char *end, const char *first, const char *second)
{
	for (; *first && line < end && *line == *first; first++)
		line++;
	if (*first)
		return false;
	for (; *second && line < end && *line == *second; second++)
		line++;
	return !*second && line == end;
}

/* "UID:" of this process. */
static void system_user(char user[SYSTEM_USER_DIGITS + 2])
{
	unsigned long uid = getauxval(SYSTEM_AT_UID);
	char digits[SYSTEM_USER_DIGITS];
	size_t nr = 0, used = 0;

	do {
		digits[nr++] = (char)('0' + uid % 10);
		uid /= 10;
	} while (uid && nr < sizeof(digits));
	while (nr)
		user[used++] = digits[--nr];
	user[used++] = ':';
	user[used] = '\0';
}

/* The lines are "SCOPE:FILE", src/protocol/runtime.h. */
static bool system_has_line(const char *text, size_t size, const char *file)
{
	const char *const files[] = {file, "*"};
	char user[SYSTEM_USER_DIGITS + 2];
	const char *end = text + size;

	system_user(user);
	while (text < end) {
		const char *line = text;

		/* The kernel has written the text, which the analyzer does not see. */
		while (text < end && *text != '\n') /* NOLINT(clang-analyzer-core.*) */
			text++;
		for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
			if (system_line_is(line, text, ":", files[i]) ||
					system_line_is(line, text, user, files[i]))
				return true;
		text++;
	}
	return false;
}

/*
 * A sandbox may end the program for a system call that the loader does not make, such as prctl() or
 * readlink(). So the kernel's file tells whether there is one. If that cannot be read, there may be.
 */
static bool system_is_free(char text[SYSTEM_TEXT_SIZE])
{
	const char *end = text + system_read_file("/proc/self/status", text, SYSTEM_TEXT_SIZE);

	while (text < end) {
		const char *line = text;

		/* The kernel has written the text, which the analyzer does not see. */
		while (text < end && *text != '\n') /* NOLINT(clang-analyzer-core.*) */
			text++;
		if (system_line_is(line, text, "Seccomp:\t", "0"))
			return true;
		text++;
	}
	return false;
}

static bool system_is_wanted(const char *list)
{
	char text[SYSTEM_TEXT_SIZE], file[SYSTEM_PATH_SIZE];
	long size;

	if (!system_is_free(text))
		return false;
	size = system_call(SYSTEM_READLINK, (long)"/proc/self/exe", (long)file, sizeof(file) - 1);
	if (size <= 0)
		return false;
	file[size] = '\0';
	return system_has_line(text, system_read_file(list, text, SYSTEM_WANTED_MAX), file);
}

/* ---- the agent ---- */

/* The agent of the same installation. */
static void system_load_agent(void)
{
	char path[SYSTEM_PATH_SIZE];
	size_t used = 0;
	Dl_info self;

	if (!dladdr(SYSTEM_AGENT, &self) || !self.dli_fname ||
			!system_append(path, sizeof(path), &used, self.dli_fname))
		return;
	/* This library is in side-preload/ below that directory. */
	for (int i = 0; i < 2; i++) {
		while (used && path[used - 1] != '/')
			used--;
		if (!used)
			return;
		used--;
	}
	/* An agent of another installation is loaded already: it has this name, too. */
	if (system_append(path, sizeof(path), &used, SYSTEM_AGENT) &&
			!dlopen(&SYSTEM_AGENT[1], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
		(void)dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	/* An error of these calls must not appear as one of the program's. */
	(void)dlerror();
}

/* Is there a C library that can load the agent, and is it ready? */
static bool system_may_load(void)
{
	return &dladdr && &dlerror && &dlopen && &__errno_location && environment_is_ready();
}

/* A separate function, because it uses much of the stack. */
static __attribute__((noinline)) void system_join(const char *list)
{
	const char *control = environment_get("SIDE_CONTROL");
	int saved_errno = *__errno_location();

	if (control && system_is_text(control, "off"))
		return;
	if (&side_agent_start || !system_is_wanted(list))
		return;
	system_load_agent();
	*__errno_location() = saved_errno;
}

static __attribute__((constructor, used)) void system_loaded(void)
{
	const char *runtime = environment_get(SYSTEM_RUNTIME_VARIABLE);
	char list[128];
	size_t used = 0;

	if (!system_may_load() || !environment_inherited() /* AT_SECURE */)
		return;
	if (!runtime || !*runtime)
		runtime = SYSTEM_RUNTIME;
	if (*runtime != '/' || !system_append(list, sizeof(list), &used, runtime) ||
			!system_append(list, sizeof(list), &used, SYSTEM_WANTED))
		return;
	if (!system_call(SYSTEM_ACCESS, (long)list, 0 /* F_OK */, 0))
		system_join(list);
}
#else
__asm__(".text\n"
	".globl side_system_check\n"
	".hidden side_system_check\n"
	".type side_system_check, @function\n"
	"side_system_check:\n"
	"	movl $252, %eax\n" /* exit_group(0) */
	"	xorl %ebx, %ebx\n"
	"	int $0x80\n"
	"	hlt\n"
	".size side_system_check, . - side_system_check\n");
#endif
