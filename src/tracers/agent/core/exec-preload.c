/* SPDX-License-Identifier: MIT */
/*
 * Puts side's libraries back into the LD_PRELOAD of a program that this one starts, or there in the
 * first place: `side trace -p --follow-exec` records the programs that an attached one starts.
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
#include <unistd.h>

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

/* ---- an attached program ---- */

#define EXEC_SANITIZER "ASAN_OPTIONS"
#define EXEC_SANITIZER_VALUE "verify_asan_link_order=0" /* as in recorder/spawn.c */

/* Texts that never change. A request replaces them, but a call may still use the earlier ones. */
struct exec_carried {
	char socket[EXEC_PRELOAD_MAX / 2], preload[EXEC_PRELOAD_MAX / 2];
};
static struct exec_carried *exec_carried; /* NULL: programs are started unchanged */

static struct exec_carried *exec_get_carried(void)
{
	/* Acquire: the texts. Pairs with the release in exec_carry(). */
	return __atomic_load_n(&exec_carried, __ATOMIC_ACQUIRE);
}

int exec_carry(const char *preload, size_t preload_size, const char *socket)
{
	struct exec_carried *new;

	if (preload_size >= sizeof(new->preload) || strlen(socket) >= sizeof(new->socket))
		return -ENAMETOOLONG;
	new = exec_map(sizeof(*new));
	if (!new)
		return -ENOMEM;
	memcpy(new->preload, preload, preload_size);
	strcpy(new->socket, socket);
	/* Release: the texts. Pairs with the acquire in exec_get_carried(). */
	__atomic_store_n(&exec_carried, new, __ATOMIC_RELEASE);
	return 0;
}

void exec_carry_end(const char *socket)
{
	const struct exec_carried *now = exec_get_carried();

	if (now && (!socket || !strcmp(now->socket, socket)))
		/* Release: as in exec_carry(). Calls that run may still use the former texts. */
		__atomic_store_n(&exec_carried, NULL, __ATOMIC_RELEASE);
}

enum exec_carried_variable {
	EXEC_CARRIED_PRELOAD,
	EXEC_CARRIED_SOCKET,
	EXEC_CARRIED_SANITIZER,
	EXEC_CARRIED_NR,
};

static const char *const exec_carried_names[EXEC_CARRIED_NR] = {
		"LD_PRELOAD", WIRE_SOCKET_ENV, EXEC_SANITIZER};

/* The variables in an environment (NULL: it has none), and how many it has in all. */
struct exec_carried_found {
	const char *values[EXEC_CARRIED_NR];
	size_t nr;
};

/* False: the environment cannot be read, or is too large. */
static bool exec_find_carried(char *const environment[], struct exec_carried_found *ret_found)
{
	struct exec_reader array = {.page = EXEC_NO_PAGE, .is_sandboxed = agent_is_sandboxed()};
	struct exec_reader texts = array;
	bool is_readable = true;

	*ret_found = (struct exec_carried_found){.nr = 0};
	for (; exec_may_read(&array, environment, sizeof(*environment)); environment++) {
		if (!*environment)
			return true;
		if (++ret_found->nr > EXEC_VARIABLES_MAX)
			return false;
		for (size_t i = 0; i < EXEC_CARRIED_NR; i++) {
			const char *name = exec_carried_names[i];

			if (ret_found->values[i] ||
					!exec_is_variable(&texts, *environment, name, &is_readable))
				continue;
			ret_found->values[i] = *environment + strlen(name) + 1;
			is_readable = exec_is_readable_text(&texts, *environment);
		}
		if (!is_readable)
			return false;
	}
	return false;
}

/* The recorder removes its socket. A child that was forked before gets no request to end. */
static bool exec_has_recorder(const struct exec_carried *carried)
{
	return agent_is_sandboxed() || !raw_call(SYS_access, carried->socket, F_OK);
}

bool exec_is_carried(char *const environment[])
{
	const struct exec_carried *carried = exec_get_carried();
	const int saved_errno = errno;
	struct exec_carried_found found;
	bool ret = carried && environment && exec_has_recorder(carried) &&
			exec_find_carried(environment, &found);
	const char *socket = ret ? found.values[EXEC_CARRIED_SOCKET] : NULL;

	/* A program that was started so has passed it on. */
	if (socket && strstr(socket, carried->socket))
		ret = false;
	errno = saved_errno;
	return ret;
}

/* "NAME=VALUE:" and the earlier value. */
static char *exec_write_variable(char *to, const char *name, const char *value, const char *earlier)
{
	to = stpcpy(stpcpy(stpcpy(to, name), "="), value);
	if (earlier && *earlier)
		to = stpcpy(stpcpy(to, ":"), earlier);
	return to + 1;
}

static const char *exec_carried_value(
		const struct exec_carried *carried, enum exec_carried_variable number)
{
	return number == EXEC_CARRIED_PRELOAD           ? carried->preload
			: number == EXEC_CARRIED_SOCKET ? carried->socket
							: EXEC_SANITIZER_VALUE;
}

/* Keeps a variable that has the value, or that the user has set for the sanitizer. */
static bool exec_is_kept(const struct exec_carried *carried, const struct exec_carried_found *found,
		enum exec_carried_variable number)
{
	const char *value = found->values[number];

	if (!value)
		return false;
	if (number == EXEC_CARRIED_SANITIZER)
		return strstr(value, "verify_asan_link_order");
	return strstr(value, exec_carried_value(carried, number));
}

static size_t exec_carried_size(
		const struct exec_carried *carried, const struct exec_carried_found *found)
{
	size_t size = (found->nr + EXEC_CARRIED_NR + 1) * sizeof(char *);

	for (size_t i = 0; i < EXEC_CARRIED_NR; i++)
		size += strlen(exec_carried_names[i]) + 3 + strlen(exec_carried_value(carried, i)) +
				(found->values[i] ? strlen(found->values[i]) : 0);
	return size;
}

/* Whether the variable of the environment is one that exec_write_carried() writes. */
static bool exec_is_written(const struct exec_carried *carried,
		const struct exec_carried_found *found, const char *variable)
{
	for (size_t i = 0; i < EXEC_CARRIED_NR; i++)
		if (found->values[i] == variable + strlen(exec_carried_names[i]) + 1)
			return !exec_is_kept(carried, found, i);
	return false;
}

/* Copies the environment to exec_carried_size() bytes. */
static char *const *exec_write_carried(void *copy, const struct exec_carried *carried,
		const struct exec_carried_found *found, char *const environment[])
{
	char **variables = copy, *text = (char *)(variables + found->nr + EXEC_CARRIED_NR + 1);
	size_t nr = 0;

	for (; *environment; environment++)
		if (!exec_is_written(carried, found, *environment))
			variables[nr++] = *environment;
	for (size_t i = 0; i < EXEC_CARRIED_NR; i++) {
		if (exec_is_kept(carried, found, i))
			continue;
		variables[nr++] = text;
		text = exec_write_variable(text, exec_carried_names[i],
				exec_carried_value(carried, i), found->values[i]);
	}
	variables[nr] = NULL;
	return variables;
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

/* What a copy of an environment needs. */
struct exec_copy {
	char *const *environment;
	size_t size;
	const struct exec_carried *carried; /* NULL: exec_restore() makes the copy */
	struct exec_carried_found found;
};

/* For an environment for which exec_is_replaced() or exec_is_carried() is true. */
static void exec_prepare_copy(char *const environment[], struct exec_copy *ret_copy)
{
	*ret_copy = (struct exec_copy){.environment = environment, .carried = exec_get_carried()};
	if (ret_copy->carried && !exec_find_carried(environment, &ret_copy->found))
		ret_copy->carried = NULL;
	if (ret_copy->carried)
		ret_copy->size = exec_carried_size(ret_copy->carried, &ret_copy->found);
	else if (exec_is_replaced(environment))
		ret_copy->size = exec_restored_size(environment);
}

static char *const *exec_make_copy(void *memory, const struct exec_copy *copy)
{
	return copy->carried
			? exec_write_carried(memory, copy->carried, &copy->found, copy->environment)
			: exec_restore(memory, copy->size, copy->environment);
}

/* A function of its own: other calls do not use this much of the stack. */
static __attribute__((noinline)) int exec_on_stack(exec_function *next, const char *path,
		char *const args[], const struct exec_copy *copy)
{
	return next(path, args, exec_make_copy(alloca(copy->size), copy));
}

static int exec_on_map(exec_function *next, const char *path, char *const args[],
		const struct exec_copy *copy)
{
	void *memory = exec_map(copy->size);
	int ret, saved_errno;

	if (!memory)
		return next(path, args, copy->environment);
	ret = next(path, args, exec_make_copy(memory, copy));
	saved_errno = errno;
	raw_munmap(memory, copy->size);
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
	const bool maps = !agent_vforked && !agent_is_sandboxed();
	struct exec_copy copy;
	int ret;

	exec_prepare_copy(environment, &copy);
	if (!copy.size || (!maps && copy.size > EXEC_STACK_MAX))
		return next(path, args, environment);
	ret = maps ? exec_on_map(next, path, args, &copy) : exec_on_stack(next, path, args, &copy);
	/* The program's own environment may be small enough. */
	return errno == E2BIG ? next(path, args, environment) : ret;
}

int exec_spawn_restored(exec_spawn_function *next, pid_t *pid, const char *path,
		const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		char *const args[], char *const environment[])
{
	const int saved_errno = errno;
	struct exec_copy copy;
	void *memory;
	int ret = E2BIG;

	exec_prepare_copy(environment, &copy);
	memory = agent_is_sandboxed() || !copy.size ? NULL : exec_map(copy.size);
	if (memory) {
		errno = saved_errno;
		ret = next(pid, path, actions, attributes, args, exec_make_copy(memory, &copy));
		raw_munmap(memory, copy.size);
	}
	errno = saved_errno;
	return ret == E2BIG ? next(pid, path, actions, attributes, args, environment) : ret;
}
