/* SPDX-License-Identifier: MIT */
/*
 * Intercepts execve(), execv(), execvp(), execvpe() and posix_spawn(). A new program that cannot load
 * the agent may have no loader to report this. Then the program that starts it reports it.
 *
 * Side's libraries are put back into a replaced LD_PRELOAD (exec-preload.c). Nothing else of a call
 * changes.
 *
 * Both need the socket of `side record` or `side run` in the environment. Otherwise, the calls are
 * only forwarded. Into an attached program whose recording follows them (exec_carry()), the agent
 * was not preloaded: then interpose.c redirects its imports here.
 *
 * Not seen: execl(), execle(), execlp() unless the program is attached, fexecve(), system(), popen(),
 * and system calls that the program makes itself. Part of the shared library only.
 *
 * The child of a vfork() runs here in the memory of its parent, and a signal handler may execute a
 * program, too. So these functions keep errno, and change no memory but the stack's and what they
 * map. The stack may be a small one, so paths are not on it.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/environment/environment.h"
#include "base/inside/own-table.h"
#include "base/inside/raw.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/exec-preload.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/unsupported.h"

#define EXPORT __attribute__((visibility("default")))
#define EXEC_LINE 256 /* as much as the kernel reads of a script's first line */
#define EXEC_PATH_DEFAULT "/bin:/usr/bin"

typedef int exec_inherit_function(const char *path, char *const args[]);

static exec_function *exec_next_execve, *exec_next_execvpe;
static exec_inherit_function *exec_next_execv, *exec_next_execvp;
static exec_spawn_function *exec_next_spawn, *exec_next_spawnp;

static void exec_find_function(const char *name, void *ret_function)
{
	void *found = dlsym(RTLD_NEXT, name);

	memcpy(ret_function, &found, sizeof(found));
}

/* Early, because dlsym() must not be called after vfork(), nor in a signal handler. */
static __attribute__((constructor(101))) void exec_find_all(void)
{
	const char *list = environment_get("LD_PRELOAD");

	if (list)
		exec_keep_preload(list);
	exec_find_function("execve", &exec_next_execve);
	exec_find_function("execvpe", &exec_next_execvpe);
	exec_find_function("execv", &exec_next_execv);
	exec_find_function("execvp", &exec_next_execvp);
	exec_find_function("posix_spawn", &exec_next_spawn);
	exec_find_function("posix_spawnp", &exec_next_spawnp);
}

/* ---- the file ---- */

struct exec_paths {
	char searched[PATH_MAX], file[PATH_MAX];
};
_Static_assert(PATH_MAX >= OWN_TABLE_TEXT, "exec_check() lends the memory of a path");

static bool exec_read(int fd, void *to, size_t size, uint64_t offset)
{
	return raw_call(SYS_pread64, fd, to, size, offset) == (long)size;
}

/* If the headers cannot be read, the program is not reported. */
static bool exec_has_loader(int fd, uint64_t offset, unsigned int nr, unsigned int size)
{
	for (unsigned int i = 0; i < nr; i++) {
		uint32_t type;

		if (!exec_read(fd, &type, sizeof(type), offset + (uint64_t)i * size))
			return true;
		if (type == PT_INTERP)
			return true;
	}
	return false;
}

static bool exec_gains_rights(int fd)
{
	struct statfs mount;
	struct stat status;

	if (raw_call(SYS_fstatfs, fd, &mount) || (mount.f_flags & ST_NOSUID) ||
			raw_call(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L) ||
			raw_call(SYS_fstat, fd, &status))
		return false;
	if ((status.st_mode & S_ISUID) && status.st_uid != (uid_t)raw_call(SYS_getuid))
		return true;
	if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) &&
			status.st_gid != (gid_t)raw_call(SYS_getgid))
		return true;
	return raw_call(SYS_getuid) &&
			raw_call(SYS_fgetxattr, fd, "security.capability", NULL, 0L) > 0;
}

/* Programs of other processors run only through binfmt_misc, usually by QEMU. */
static uint32_t exec_reason_of_processor(void)
{
	return raw_call(SYS_access, "/proc/sys/fs/binfmt_misc/status", F_OK)
			? 0
			: WIRE_UNRECORDED_STARTS_PROCESSOR;
}

static uint32_t exec_reason_of_32(int fd)
{
	Elf32_Ehdr head;

	if (!exec_read(fd, &head, sizeof(head), 0))
		return 0;
	if (head.e_machine == EM_X86_64)
		return WIRE_UNRECORDED_STARTS_X32;
	if (head.e_machine != EM_386)
		return exec_reason_of_processor();
	/* With a loader, the preloaded shim reports it. */
	return exec_has_loader(fd, head.e_phoff, head.e_phnum, head.e_phentsize)
			? 0
			: WIRE_UNRECORDED_STARTS_STATIC;
}

static uint32_t exec_reason_of_64(int fd)
{
	Elf64_Ehdr head;

	if (!exec_read(fd, &head, sizeof(head), 0))
		return 0;
	if (head.e_machine != EM_X86_64)
		return exec_reason_of_processor();
	return exec_has_loader(fd, head.e_phoff, head.e_phnum, head.e_phentsize)
			? 0
			: WIRE_UNRECORDED_STARTS_STATIC;
}

/* Returns a reason of WIRE_UNRECORDED_STARTS_*, or 0. */
static uint32_t exec_reason(int fd, const char first[EXEC_LINE])
{
	if (memcmp(first, ELFMAG, SELFMAG) != 0)
		return 0;
	if (exec_gains_rights(fd))
		return WIRE_UNRECORDED_STARTS_RIGHTS;
	return first[EI_CLASS] == ELFCLASS32 ? exec_reason_of_32(fd) : exec_reason_of_64(fd);
}

/* The text of "#!": terminates the name of the interpreter in `line`, and returns it. */
static const char *exec_interpreter(char line[EXEC_LINE])
{
	char *name = line + 2;

	line[EXEC_LINE - 1] = '\0';
	name += strspn(name, " \t");
	name[strcspn(name, " \t\n")] = '\0';
	return name;
}

/* "/proc/thread-self/fd/" and the number. */
static void exec_link(char ret_link[40], int fd)
{
	char digits[16], *end = stpcpy(ret_link, "/proc/thread-self/fd/");
	int nr = 0;

	do {
		digits[nr++] = (char)('0' + fd % 10);
		fd /= 10;
	} while (fd);
	while (nr)
		*end++ = digits[--nr];
	*end = '\0';
}

static void exec_report(int fd, uint32_t reason, char path[PATH_MAX])
{
	char link[40];
	const char *name;
	long size;

	exec_link(link, fd);
	size = raw_call(SYS_readlink, link, path, (size_t)PATH_MAX - 1);
	if (size <= 0)
		return;
	path[size] = '\0';
	/* The loader itself can be executed, too; it loads the agent. */
	name = strrchr(path, '/');
	if (reason == WIRE_UNRECORDED_STARTS_STATIC && name && !strncmp(name, "/ld-", 4))
		return;
	agent_report_started(environment_get(WIRE_SOCKET_ENV), reason, path);
	agent_report_started(environment_get(WIRE_REPORT_ENV), reason, path);
}

/* The file is executable; otherwise the call fails, or execvp() goes on with the next directory. */
static bool exec_file(const char *path, struct exec_paths *paths, bool is_interpreter)
{
	char first[EXEC_LINE] = "";
	uint32_t reason;
	int fd;

	if (raw_call(SYS_access, path, X_OK))
		return false;
	fd = (int)raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
			0L);
	if (fd < 0)
		return true;
	if (raw_call(SYS_pread64, fd, first, sizeof(first), 0L) >= (long)sizeof(Elf32_Ehdr) ||
			first[0] == '#') {
		reason = exec_reason(fd, first);
		if (reason)
			exec_report(fd, reason, paths->file);
	}
	raw_close(fd);
	if (!is_interpreter && first[0] == '#' && first[1] == '!')
		(void)exec_file(exec_interpreter(first), paths, true);
	return true;
}

/* ---- the report ---- */

static bool exec_join(char ret_path[PATH_MAX], const char *directory, size_t size, const char *name)
{
	const size_t name_size = strlen(name);

	if (size >= PATH_MAX || name_size >= PATH_MAX || size + name_size + 2 > PATH_MAX)
		return false;
	memcpy(ret_path, directory, size);
	if (size)
		ret_path[size++] = '/';
	memcpy(ret_path + size, name, name_size + 1);
	return true;
}

/* Searches like execvp() and posix_spawnp(). */
static void exec_search(const char *name, struct exec_paths *paths)
{
	const char *list = environment_get("PATH");

	list = list ? list : EXEC_PATH_DEFAULT;
	for (;;) {
		const size_t size = strcspn(list, ":");

		if (exec_join(paths->searched, list, size, name) &&
				exec_file(paths->searched, paths, false))
			return;
		list += size;
		if (!*list)
			return;
		list++;
	}
}

/* Is there a socket to report to? `side record` and `side run` have one each. */
static bool exec_is_reported(void)
{
	const char *recorders = environment_get(WIRE_SOCKET_ENV);
	const char *runs = environment_get(WIRE_REPORT_ENV);

	return (recorders && *recorders) || (runs && *runs);
}

struct exec_request {
	const char *name;
	bool searches;
	struct exec_paths *paths;
};

static void exec_check_file(void *argument)
{
	const struct exec_request *request = argument;

	if (request->searches && !strchr(request->name, '/'))
		exec_search(request->name, request->paths);
	else
		(void)exec_file(request->name, request->paths, false);
}

/*
 * Does nothing in a sandbox, where a system call could end the program. The program may hold POSIX
 * locks on the file, or on the interpreter of a script.
 */
static void exec_check(const char *name, bool searches)
{
	struct exec_request request = {.name = name, .searches = searches};
	const int saved_errno = errno;
	struct agent_own own;

	if (!name || !exec_is_reported() || agent_is_sandboxed()) {
		errno = saved_errno;
		return;
	}
	agent_own_begin(&own);
	request.paths = exec_map(sizeof(*request.paths));
	if (request.paths) {
		(void)own_table_run(exec_check_file, &request, request.paths->searched);
		raw_munmap(request.paths, sizeof(*request.paths));
	}
	agent_own_end(&own);
	errno = saved_errno;
}

/* Must the program get another environment to be recorded? */
static bool exec_is_changed(char *const environment[])
{
	return exec_is_carried(environment) || exec_is_replaced(environment);
}

/* ---- the functions ---- */

static int exec_with(const char *path, char *const args[], char *const environment[])
{
	if (!exec_next_execve)
		exec_find_all();
	exec_check(path, false);
	if (exec_is_changed(environment))
		return exec_restored(exec_next_execve, path, args, environment);
	return exec_next_execve(path, args, environment);
}

static int exec_inheriting(const char *path, char *const args[])
{
	if (!exec_next_execv)
		exec_find_all();
	exec_check(path, false);
	if (exec_is_changed(environment_inherited()))
		return exec_restored(exec_next_execve, path, args, environment_inherited());
	return exec_next_execv(path, args);
}

static int exec_searching(const char *name, char *const args[])
{
	if (!exec_next_execvp)
		exec_find_all();
	exec_check(name, true);
	if (exec_is_changed(environment_inherited()))
		return exec_restored(exec_next_execvpe, name, args, environment_inherited());
	return exec_next_execvp(name, args);
}

EXPORT int execve(const char *path, char *const args[], char *const environment[])
{
	return exec_with(path, args, environment);
}

EXPORT int execv(const char *path, char *const args[])
{
	return exec_inheriting(path, args);
}

EXPORT int execvp(const char *name, char *const args[])
{
	return exec_searching(name, args);
}

EXPORT int execvpe(const char *name, char *const args[], char *const environment[])
{
	if (!exec_next_execvpe)
		exec_find_all();
	exec_check(name, true);
	if (exec_is_changed(environment))
		return exec_restored(exec_next_execvpe, name, args, environment);
	return exec_next_execvpe(name, args, environment);
}

/* ---- lists of words, which the imports of attached programs lead to ---- */

/* Counts the words of a call, without the NULL behind them. Like the C library, at least one. */
static size_t exec_count_words(va_list words)
{
	size_t nr = 1;

	while (va_arg(words, char *))
		nr++;
	return nr;
}

/* What follows the words of a call. */
enum exec_list_kind { EXEC_LIST, EXEC_LIST_SEARCHING, EXEC_LIST_WITH };

static int exec_words(enum exec_list_kind kind, const char *path, const char *first, va_list words)
{
	va_list counted;
	char **args;
	size_t nr;

	va_copy(counted, words);
	nr = exec_count_words(counted);
	va_end(counted);
	args = alloca((nr + 1) * sizeof(*args));
	args[0] = (char *)(uintptr_t)first;
	/* With the NULL. */
	for (size_t i = 1; i <= nr; i++)
		args[i] = va_arg(words, char *);
	if (kind == EXEC_LIST_WITH)
		return exec_with(path, args, va_arg(words, char *const *));
	return kind == EXEC_LIST ? exec_inheriting(path, args) : exec_searching(path, args);
}

int exec_list(const char *path, const char *first, ...)
{
	va_list words;
	int ret;

	va_start(words, first);
	ret = exec_words(EXEC_LIST, path, first, words);
	va_end(words);
	return ret;
}

int exec_list_searching(const char *name, const char *first, ...)
{
	va_list words;
	int ret;

	va_start(words, first);
	ret = exec_words(EXEC_LIST_SEARCHING, name, first, words);
	va_end(words);
	return ret;
}

int exec_list_with(const char *path, const char *first, ...)
{
	va_list words;
	int ret;

	va_start(words, first);
	ret = exec_words(EXEC_LIST_WITH, path, first, words);
	va_end(words);
	return ret;
}

/* ---- posix_spawn() ---- */

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const args[], char *const environment[])
{
	if (!exec_next_spawn)
		exec_find_all();
	exec_check(path, false);
	if (exec_is_changed(environment))
		return exec_spawn_restored(
				exec_next_spawn, pid, path, actions, attributes, args, environment);
	return exec_next_spawn(pid, path, actions, attributes, args, environment);
}

EXPORT int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const args[], char *const environment[])
{
	if (!exec_next_spawnp)
		exec_find_all();
	exec_check(name, true);
	if (exec_is_changed(environment))
		return exec_spawn_restored(exec_next_spawnp, pid, name, actions, attributes, args,
				environment);
	return exec_next_spawnp(pid, name, actions, attributes, args, environment);
}
