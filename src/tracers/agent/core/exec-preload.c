/* SPDX-License-Identifier: MIT */
/*
 * Puts side's libraries back into the LD_PRELOAD of a program that this one starts.
 *
 * A program that starts another one with an allocator of its choice (`env LD_PRELOAD=...`) replaces
 * the libraries of `side record`. They are then put before its own ones, where `side record` puts
 * them, too. An empty or removed LD_PRELOAD stays so.
 *
 * Part of the shared library only. Like the functions of exec-watch.c, these change no memory but
 * the stack's and what they map.
 */
#include <alloca.h>
#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "base/inside/raw.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/exec-preload.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/vfork.h"

/* Larger environments are passed on unchanged. */
#define EXEC_VARIABLES_MAX 4096
#define EXEC_STACK_MAX 4096   /* bytes of an environment that may be copied to the stack */
#define EXEC_PAGE 4096        /* the smallest page */
#define EXEC_PRELOAD_MAX 8192 /* bytes of LD_PRELOAD, with the name and the end */

/* Side's libraries in the LD_PRELOAD that this program was started with. Written before main(). */
static char exec_preload[EXEC_PRELOAD_MAX];

static bool exec_is_own_library(const char *path, size_t size)
{
	static const char *const names[] = {
			"libside-agent.so", "libside-wrap-", "libside-preload-"};
	size_t base = size;

	while (base && path[base - 1] != '/')
		base--;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (size - base >= strlen(names[i]) &&
				!memcmp(path + base, names[i], strlen(names[i])))
			return true;
	return false;
}

void exec_keep_preload(const char *list)
{
	size_t used = 0;

	if (*exec_preload)
		return;
	/* Each with a colon behind it. */
	while (*list) {
		const size_t size = strcspn(list, ": ");

		if (exec_is_own_library(list, size) && used + size + 2 <= sizeof(exec_preload)) {
			memcpy(exec_preload + used, list, size);
			used += size;
			exec_preload[used++] = ':';
		}
		list += size + (list[size] != '\0');
	}
	exec_preload[used] = '\0';
}

/* ---- memory of the program ---- */

/*
 * Reads an environment that may be unreadable: then the program's own call fails (EFAULT). A system
 * call checks each page before it is read. In a sandbox, where such a call could end the program, no
 * page is checked.
 */
struct exec_reader {
	uintptr_t page; /* that was read last, or EXEC_NO_PAGE */
	bool is_sandboxed;
};
#define EXEC_NO_PAGE 1

static bool exec_may_read(struct exec_reader *reader, const void *from, size_t size)
{
	const uintptr_t last = (uintptr_t)from + size - 1, page = last / EXEC_PAGE * EXEC_PAGE;
	const bool is_first = page > (uintptr_t)from || page != reader->page;
	char bytes[sizeof(char *)];
	struct iovec local = {.iov_base = bytes, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};

	if (!is_first || reader->is_sandboxed)
		return true;
	if (raw_call(SYS_process_vm_readv, raw_call(SYS_getpid), &local, 1L, &remote, 1L, 0L) !=
			(long)size)
		return false;
	reader->page = page;
	return true;
}

/* The result of a search in an environment, for exec_is_replaced(). */
struct exec_variables {
	char *const *preload;
	size_t nr;
	bool is_recorded;
};

/* Is it the variable? If it cannot be read, returns false and sets `*ret_is_readable` to false. */
static bool exec_is_variable(struct exec_reader *reader, const char *variable, const char *name,
		bool *ret_is_readable)
{
	for (;; variable++, name++) {
		if (!exec_may_read(reader, variable, 1)) {
			*ret_is_readable = false;
			return false;
		}
		if (!*name)
			return *variable == '=';
		if (*variable != *name)
			return false;
	}
}

/* False: the array or a variable cannot be read, or it is too large. */
static bool exec_find_variables(char *const environment[], struct exec_reader *texts,
		struct exec_variables *ret_variables)
{
	struct exec_reader array = {.page = EXEC_NO_PAGE, .is_sandboxed = texts->is_sandboxed};
	bool is_readable = true;

	for (; exec_may_read(&array, environment, sizeof(*environment)); environment++) {
		if (!*environment)
			return true;
		if (++ret_variables->nr > EXEC_VARIABLES_MAX)
			return false;
		if (exec_is_variable(texts, *environment, WIRE_SOCKET_ENV, &is_readable) ||
				(is_readable &&
						exec_is_variable(texts, *environment,
								WIRE_REPORT_ENV, &is_readable)))
			ret_variables->is_recorded = true;
		else if (is_readable && !ret_variables->preload &&
				exec_is_variable(texts, *environment, "LD_PRELOAD", &is_readable))
			ret_variables->preload = environment;
		if (!is_readable)
			return false;
	}
	return false;
}

static bool exec_is_readable_text(struct exec_reader *reader, const char *text)
{
	while (exec_may_read(reader, text, 1))
		if (!*text++)
			return true;
	return false;
}

static bool exec_would_lose_agent(char *const environment[])
{
	struct exec_reader reader = {.page = EXEC_NO_PAGE, .is_sandboxed = agent_is_sandboxed()};
	struct exec_variables variables = {0};
	const char *value;

	if (!exec_find_variables(environment, &reader, &variables) || !variables.is_recorded ||
			!variables.preload || !exec_is_readable_text(&reader, *variables.preload))
		return false;
	value = *variables.preload + strlen("LD_PRELOAD=");
	return *value && !strstr(value, "/libside-agent.so") &&
			strlen(*variables.preload) + strlen(exec_preload) < EXEC_PRELOAD_MAX;
}

/* Keeps errno. */
bool exec_is_replaced(char *const environment[])
{
	const int saved_errno = errno;
	const bool ret = *exec_preload && environment && exec_would_lose_agent(environment);

	errno = saved_errno;
	return ret;
}

/* ---- the copy ---- */

/* exec_is_replaced() has found the variable. */
static char *const *exec_find_preload(char *const environment[])
{
	for (;; environment++)
		if (*environment && !strncmp(*environment, "LD_PRELOAD=", strlen("LD_PRELOAD=")))
			return environment;
}

/* Bytes of a copy of an environment for which exec_is_replaced() is true. */
static size_t exec_restored_size(char *const environment[])
{
	size_t nr = 0;

	while (environment[nr])
		nr++;
	return (nr + 1) * sizeof(*environment) + strlen(*exec_find_preload(environment)) +
			strlen(exec_preload) + 1;
}

/* Copies the environment to that many bytes. */
static char *const *exec_restore(void *copy, size_t size, char *const environment[])
{
	char *const *preload = exec_find_preload(environment);
	char **variables = copy;
	char *text = (char *)copy + size - strlen(*preload) - strlen(exec_preload) - 1;
	size_t nr = 0;

	for (; environment[nr]; nr++)
		variables[nr] = &environment[nr] == preload ? text : environment[nr];
	variables[nr] = NULL;
	text = stpcpy(text, "LD_PRELOAD=");
	text = stpcpy(text, exec_preload);
	(void)stpcpy(text, *preload + strlen("LD_PRELOAD="));
	return variables;
}

/* A function of its own: other calls do not use this much of the stack. */
static __attribute__((noinline)) int exec_on_stack(exec_function *next, const char *path,
		char *const args[], char *const environment[], size_t size)
{
	return next(path, args, exec_restore(alloca(size), size, environment));
}

static int exec_on_map(exec_function *next, const char *path, char *const args[],
		char *const environment[], size_t size)
{
	void *copy = exec_map(size);
	int ret, saved_errno;

	if (!copy)
		return next(path, args, environment);
	ret = next(path, args, exec_restore(copy, size, environment));
	saved_errno = errno;
	raw_munmap(copy, size);
	errno = saved_errno;
	return ret;
}

/*
 * The child of a vfork() would leave a mapping to its parent, and a sandbox may forbid one: then
 * the copy is on the stack, if it is small.
 */
int exec_restored(exec_function *next, const char *path, char *const args[],
		char *const environment[])
{
	const size_t size = exec_restored_size(environment);
	const bool maps = !agent_vforked && !agent_is_sandboxed();
	int ret;

	if (!maps && size > EXEC_STACK_MAX)
		return next(path, args, environment);
	ret = maps ? exec_on_map(next, path, args, environment, size)
		   : exec_on_stack(next, path, args, environment, size);
	/* The program's own environment may be small enough. */
	return errno == E2BIG ? next(path, args, environment) : ret;
}

int exec_spawn_restored(exec_spawn_function *next, pid_t *pid, const char *path,
		const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		char *const args[], char *const environment[])
{
	const size_t size = exec_restored_size(environment);
	const int saved_errno = errno;
	void *copy = agent_is_sandboxed() ? NULL : exec_map(size);
	int ret = E2BIG;

	if (copy) {
		errno = saved_errno;
		ret = next(pid, path, actions, attributes, args,
				exec_restore(copy, size, environment));
		raw_munmap(copy, size);
	}
	errno = saved_errno;
	return ret == E2BIG ? next(pid, path, actions, attributes, args, environment) : ret;
}
