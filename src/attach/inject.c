/* SPDX-License-Identifier: MIT */
/*
 * Attaches to a program: examines it, writes code into it, creates a thread, has the thread load
 * the agent and call its function, and removes everything again.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/inject.h"
#include "attach/parts.h"
#include "base/error.h"
#include "base/process-root.h"

#define AGENT_PATH_MAX 1500 /* bytes */
#define LOCK_WAIT_MS 5000
/* Of one function without CPU time: dlopen() waits for other threads that load libraries. */
#define CALL_MS 15000
#define LEFT_MS 30000
#define LAST_MS 2000 /* for the end of the new thread */
#define PATH_AT 2048 /* in the scratch memory's text, after the argument */
#define THREAD_NAME "side-attach"
#define FACTOR_MAX 3600 /* the same as in the agent (tracers/agent/core/start.c) */

struct injection {
	struct inject_target target;
	const struct inject_request *request;
	struct inject_site site;
	struct inject_code code;
	uint8_t *overwritten; /* the bytes that the code replaced */
	char name[16];        /* of the new thread */
	uint32_t command;
	int lock;
};

static int attach_inject_set_error(
		struct injection *injection, enum inject_kind kind, const char *what)
{
	char name[64];
	pid_t pid = injection->target.pid;

	return inject_fail(&injection->target, kind, "cannot attach to %d (%s): %s", pid,
			inject_name(pid, name, sizeof(name)), what);
}

/* ---- mutual exclusion ---- */

/*
 * Bind an abstract socket address for this process: only one process can have it, and the kernel
 * frees it if that process is killed.
 */
static int attach_inject_acquire_lock(struct injection *injection)
{
	uint64_t until = inject_now() + LOCK_WAIT_MS * UINT64_C(1000000);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t size;

	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			(size_t)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
					"side-attach-%d", injection->target.pid));
	injection->lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (injection->lock < 0)
		return attach_inject_set_error(injection, INJECT_FAILED, strerror(errno));
	while (bind(injection->lock, (struct sockaddr *)&address, size)) {
		if (errno != EADDRINUSE)
			return attach_inject_set_error(injection, INJECT_FAILED, strerror(errno));
		if (inject_now() > until)
			return attach_inject_set_error(injection, INJECT_FAILED,
					"another `side attach` is already attaching to it");
		inject_pause_us(2000);
	}
	return 0;
}

/* ---- the new thread ---- */

/*
 * Returns 1 if the thread's name begins with `name`, 0 if not, or a negative errno if it cannot be
 * read.
 */
static int attach_inject_has_name(pid_t pid, pid_t thread, const char *name)
{
	char text[32];

	errno = 0;
	(void)inject_thread_name(pid, thread, text, sizeof(text));
	/* Any other error means that the thread has ended. */
	if (errno == EIO || error_is_lack_of_resources(errno))
		return -errno;
	return !strncmp(text, name, strlen(name));
}

/*
 * Returns a thread whose name begins with `name`, 0 if there is none, or a negative errno if there
 * may be one.
 */
static pid_t attach_inject_find_thread(pid_t pid, const char *name)
{
	struct dirent *entry;
	char path[64];
	pid_t found = 0;
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT ? 0 : -errno;
	while (!found) {
		pid_t thread;

		errno = 0;
		entry = readdir(tasks);
		if (!entry) {
			/* ENOENT, ESRCH: the program has ended. */
			found = errno == ENOENT || errno == ESRCH ? 0 : -errno;
			break;
		}
		thread = (pid_t)strtol(entry->d_name, NULL, 10);
		if (thread <= 0)
			continue;
		found = attach_inject_has_name(pid, thread, name);
		if (found > 0)
			found = thread;
	}
	closedir(tasks);
	return found;
}

/* ---- space for the code ---- */

/* True if the memory equals the file. If not, it may hold code that a killed tracer left. */
static bool attach_inject_is_unmodified(const struct injection *injection,
		const struct inject_mapping *mapping, int fd, uint64_t at)
{
	uint8_t here[INJECT_PAGE], there[INJECT_PAGE];
	size_t size = injection->code.size;
	ssize_t got;

	if (size > sizeof(here) || !inject_read(&injection->target, at, here, size))
		return false;
	got = pread(fd, there, size, (off_t)(mapping->offset + (at - mapping->begin)));
	if (got < 0)
		return false;
	/* After the end of the file, a page is zero. */
	memset(there + got, 0, size - (size_t)got);
	return !memcmp(here, there, size);
}

uint64_t inject_mapping_find_space(const struct inject_target *target,
		const struct inject_mapping *mapping, size_t size, int *ret_file)
{
	struct inject_elf elf;
	uint64_t bias, at = 0;
	int file;

	if (strcmp(mapping->access, "r-xp") != 0 || !mapping->inode)
		return 0;
	file = inject_mapping_open(target, mapping);
	if (file < 0)
		return 0;
	if (!inject_elf_read(file, &elf)) {
		at = inject_elf_find_space(&elf, size);
		if (at && inject_elf_bias(&elf, mapping->offset, mapping->begin, &bias))
			at += bias;
		else
			at = 0;
		inject_elf_free(&elf);
	}
	if (at < mapping->begin || at + size > mapping->end) {
		close(file);
		return 0;
	}
	*ret_file = file;
	return at;
}

static uint64_t attach_inject_space_in(
		struct injection *injection, const struct inject_mapping *mapping, bool clean)
{
	int fd;
	uint64_t at = inject_mapping_find_space(
			&injection->target, mapping, injection->code.size, &fd);

	if (!at)
		return 0;
	if (attach_inject_is_unmodified(injection, mapping, fd, at) != clean)
		at = 0;
	close(fd);
	return at;
}

/* True if the code of a killed tracer at this address is no longer in use by any thread. */
static bool attach_inject_is_abandoned(const struct injection *injection, uint64_t at)
{
	struct inject_values values;
	uint32_t state;

	return inject_read(&injection->target, at, &values, sizeof(values)) &&
			!inject_read(&injection->target, values.scratch, &state, sizeof(state)) &&
			!attach_inject_find_thread(injection->target.pid, THREAD_NAME) &&
			inject_no_thread_at(injection->target.pid, at, at + injection->code.size);
}

/*
 * Set the address of the code. Returns true if a killed tracer left code that may still be in use.
 */
static bool attach_inject_find_code_space(struct injection *injection)
{
	const struct inject_target *target = &injection->target;
	bool left = false;
	uint64_t at;
	size_t i;

	for (i = 0; i < target->nr_mappings && !injection->site.code; i++)
		injection->site.code =
				attach_inject_space_in(injection, &target->mappings[i], true);
	for (i = 0; i < target->nr_mappings && !injection->site.code; i++) {
		at = attach_inject_space_in(injection, &target->mappings[i], false);
		left |= at != 0;
		if (at && attach_inject_is_abandoned(injection, at))
			injection->site.code = at;
	}
	return left;
}

static int attach_inject_find_space(struct injection *injection)
{
	uint64_t until = inject_now() + LEFT_MS * UINT64_C(1000000);
	bool left;
	struct inject_target *target = &injection->target;
	uint64_t end = INJECT_PAGE * 32, best = 0;
	size_t i;

	/* Code of a killed tracer becomes reusable when its thread has exited. */
	do {
		left = attach_inject_find_code_space(injection);
		if (left && !injection->site.code)
			inject_pause_us(50000);
	} while (left && !injection->site.code && inject_now() < until);
	if (!injection->site.code)
		return attach_inject_set_error(injection, INJECT_UNSUITABLE,
				"none of its code pages has space for the bytes that load the agent");
	/* Put the scratch memory into the largest gap between mappings. */
	for (i = 0; i < target->nr_mappings; i++) {
		uint64_t begin = target->mappings[i].begin;

		if (begin < (UINT64_C(1) << 47) && begin > end && begin - end > best) {
			best = begin - end;
			injection->site.scratch =
					(end + best / 2) & ~(uint64_t)(INJECT_SCRATCH_SIZE - 1);
		}
		end = target->mappings[i].end;
	}
	return best > INJECT_SCRATCH_SIZE * 4
			? 0
			: attach_inject_set_error(injection, INJECT_FAILED, "out of memory");
}

static uint64_t attach_inject_find_function(const struct injection *injection, const char *name)
{
	uint64_t value = inject_elf_function(&injection->target.libc, name);

	return value ? value + injection->target.libc_bias : 0;
}

/*
 * Set the error for inaccessible memory: the program has ended, or the new thread has unmapped the
 * scratch memory after some time without a command.
 */
static int attach_inject_set_no_memory(struct injection *injection)
{
	char text[128];
	int code = errno;

	if (code == ESRCH || (kill(injection->target.pid, 0) && errno == ESRCH))
		return inject_not_permitted(&injection->target, 0, ESRCH);
	(void)snprintf(text, sizeof(text), "its memory cannot be accessed: %s", strerror(code));
	return attach_inject_set_error(injection, INJECT_FAILED, text);
}

static int attach_inject_write_code(struct injection *injection)
{
	struct inject_values *values = &injection->site.values;
	char text[192];

	values->scratch = injection->site.scratch;
	values->states = inject_code_states();
	values->errno_location = attach_inject_find_function(injection, "__errno_location");
	values->attr_init = attach_inject_find_function(injection, "pthread_attr_init");
	values->attr_setdetachstate =
			attach_inject_find_function(injection, "pthread_attr_setdetachstate");
	values->attr_setstacksize =
			attach_inject_find_function(injection, "pthread_attr_setstacksize");
	values->attr_destroy = attach_inject_find_function(injection, "pthread_attr_destroy");
	values->create = attach_inject_find_function(injection, "pthread_create");
	values->pause[1] = 50000;
	values->own = injection->target.own;
	if (!values->states)
		return attach_inject_set_error(
				injection, INJECT_UNSUITABLE, "the processor has no XSAVE");
	if (!values->errno_location || !values->attr_init || !values->attr_setdetachstate ||
			!values->attr_setstacksize || !values->attr_destroy || !values->create)
		return attach_inject_set_error(injection, INJECT_UNSUITABLE,
				"its C library lacks a function that the agent needs");
	(void)snprintf(injection->name, sizeof(injection->name), THREAD_NAME "%04x",
			(unsigned int)getpid() & 0xffff);
	injection->overwritten = malloc(injection->code.size);
	if (!injection->overwritten)
		return attach_inject_set_error(injection, INJECT_FAILED, "out of memory");
	if (!inject_read(&injection->target, injection->site.code, injection->overwritten,
			    injection->code.size))
		return attach_inject_set_no_memory(injection);
	if (!inject_write(&injection->target, injection->site.code, injection->code.bytes,
			    injection->code.size) ||
			!inject_write(&injection->target,
					injection->site.code + injection->code.name,
					injection->name, sizeof(injection->name))) {
		(void)snprintf(text, sizeof(text),
				"its memory cannot be written: %s (does the kernel forbid it, proc_mem.force_override?)",
				strerror(errno));
		(void)inject_write(&injection->target, injection->site.code, injection->overwritten,
				injection->code.size);
		return attach_inject_set_error(injection, INJECT_FAILED, text);
	}
	return 0;
}

/* ---- calls in the new thread ---- */

static bool attach_inject_read_scratch(
		const struct injection *injection, size_t offset, void *bytes, size_t size)
{
	return inject_read(&injection->target, injection->site.scratch + offset, bytes, size);
}

static bool attach_inject_write_scratch(
		const struct injection *injection, size_t offset, const void *bytes, size_t size)
{
	return inject_write(&injection->target, injection->site.scratch + offset, bytes, size);
}

/*
 * Write a string to the scratch memory, and get its address in the program. On failure the caller
 * must not call the function: it would get NULL.
 */
static int attach_inject_write_text(
		struct injection *injection, size_t at, const char *text, uint64_t *ret_address)
{
	size_t offset = offsetof(struct inject_scratch, text) + at;

	*ret_address = injection->site.scratch + offset;
	return attach_inject_write_scratch(injection, offset, text, strlen(text) + 1)
			? 0
			: attach_inject_set_no_memory(injection);
}

/* Returns the CPU time of a thread in nanoseconds. */
static uint64_t attach_inject_cpu_time(pid_t pid, pid_t thread)
{
	unsigned long long time = 0;
	char path[64];
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, thread);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%llu", &time) != 1)
		time = 0;
	(void)fclose(file);
	return time;
}

/*
 * True if the thread has had CPU time since the last call. Enabling tens of thousands of probes
 * takes long on a busy machine: a thread that runs does not hang.
 */
static bool attach_inject_has_run(const struct injection *injection, uint64_t *time)
{
	pid_t pid = injection->target.pid, thread = attach_inject_find_thread(pid, injection->name);
	uint64_t before = *time;

	*time = thread > 0 ? attach_inject_cpu_time(pid, thread) : 0;
	return *time > before;
}

/*
 * Returns the nanoseconds after which a function without CPU time has failed. SIDE_TIMEOUT_FACTOR
 * multiplies them on slow or busy machines.
 */
static uint64_t attach_inject_call_timeout(void)
{
	const char *text = getenv("SIDE_TIMEOUT_FACTOR");
	char *end = NULL;
	unsigned long factor = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 1;

	if (!factor || factor > FACTOR_MAX || (end && *end))
		factor = 1;
	return factor * CALL_MS * UINT64_C(1000000);
}

static int attach_inject_call_function(struct injection *injection, uint64_t function,
		const uint64_t arguments[3], uint64_t *ret_value)
{
	const uint64_t timeout = attach_inject_call_timeout();
	uint64_t until = inject_now() + timeout, time = 0;
	uint32_t done = injection->command;

	injection->command++;
	if (!attach_inject_write_scratch(injection, offsetof(struct inject_scratch, arguments),
			    arguments, 3 * sizeof(*arguments)) ||
			!attach_inject_write_scratch(injection,
					offsetof(struct inject_scratch, function), &function,
					sizeof(function)) ||
			!attach_inject_write_scratch(injection,
					offsetof(struct inject_scratch, command),
					&injection->command, sizeof(injection->command)))
		return attach_inject_set_no_memory(injection);
	while (done != injection->command) {
		if (inject_now() > until && attach_inject_has_run(injection, &time))
			until = inject_now() + timeout;
		else if (inject_now() > until)
			return attach_inject_set_error(injection, INJECT_FAILED,
					"loading the agent does not finish (the program may be loading another library all the time)");
		inject_pause_us(20);
		if (!attach_inject_read_scratch(injection, offsetof(struct inject_scratch, done),
				    &done, sizeof(done)))
			return attach_inject_set_no_memory(injection);
	}
	return attach_inject_read_scratch(injection, offsetof(struct inject_scratch, result),
			       ret_value, sizeof(*ret_value))
			? 0
			: attach_inject_set_no_memory(injection);
}

/* ---- the agent ---- */

static void attach_inject_set_not_loaded(struct injection *injection)
{
	char text[400] = "";
	uint64_t at = 0;
	size_t size;
	const uint64_t nothing[3] = {0};

	if (attach_inject_call_function(injection,
			    attach_inject_find_function(injection, "dlerror"), nothing, &at))
		return;
	/* The string may end near the end of its mapping: read as much as possible. */
	for (size = sizeof(text) - 1;
			at && size && !inject_read(&injection->target, at, text, size); size /= 2)
		;
	text[sizeof(text) - 1] = 0;
	(void)attach_inject_set_error(
			injection, INJECT_FAILED, *text ? text : "the agent cannot be loaded");
}

static int attach_inject_load_library(
		struct injection *injection, const char *path, uint64_t *ret_handle)
{
	uint64_t arguments[3] = {0, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE};
	int ret = attach_inject_write_text(injection, PATH_AT, path, &arguments[0]);

	return ret ? ret
		   : attach_inject_call_function(injection,
				     attach_inject_find_function(injection, "dlopen"), arguments,
				     ret_handle);
}

/*
 * Open memory that the program claims to have created. The path is untrusted, and side may have
 * more rights than the program: write only to an empty file without a name.
 */
static int attach_inject_open_memory(const char *path)
{
	int seen = open(path, O_PATH | O_CLOEXEC), fd;
	struct stat status;
	char again[64];

	if (seen < 0)
		return -errno;
	if (fstat(seen, &status) || !S_ISREG(status.st_mode) || status.st_nlink || status.st_size) {
		close(seen);
		return -EPERM;
	}
	(void)snprintf(again, sizeof(again), "/proc/self/fd/%d", seen);
	fd = open(again, O_WRONLY | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	close(seen);
	return fd;
}

/* Pass a file to the program as a memory file, for programs that cannot see this file. */
static int attach_inject_pass_file(
		struct injection *injection, const char *path, int *ret_descriptor)
{
	const char *name = strrchr(path, '/') + 1;
	uint64_t arguments[3] = {SYS_memfd_create, 0, MFD_CLOEXEC};
	pid_t pid = injection->target.pid, thread;
	char there[96];
	uint64_t result = 0;
	int fd, ret;

	ret = attach_inject_write_text(injection, PATH_AT, name, &arguments[1]);
	if (!ret)
		ret = attach_inject_call_function(injection,
				attach_inject_find_function(injection, "syscall"), arguments,
				&result);
	if (ret)
		return ret;
	*ret_descriptor = (int)result;
	if (*ret_descriptor < 0)
		return attach_inject_set_error(injection, INJECT_FAILED,
				"it cannot allocate memory for the agent");
	thread = attach_inject_find_thread(pid, injection->name);
	if (thread < 0)
		return attach_inject_set_error(injection, INJECT_FAILED, strerror(-thread));
	(void)snprintf(there, sizeof(there), "/proc/%d/task/%d/fd/%d", pid, thread,
			*ret_descriptor);
	fd = attach_inject_open_memory(there);
	ret = fd < 0 ? fd : inject_copy_file(path, fd);
	if (fd >= 0)
		close(fd);
	return ret ? attach_inject_set_error(injection, INJECT_FAILED, strerror(-ret)) : 0;
}

static bool attach_inject_has_loaded(const struct inject_target *target, const char *name)
{
	const char *slash;
	size_t i;

	for (i = 0; i < target->nr_mappings; i++) {
		slash = strrchr(target->mappings[i].path, '/');
		if (slash && !strncmp(slash + 1, name, strlen(name)))
			return true;
	}
	return false;
}

/* False if an agent is loaded: it has loaded libside. */
static bool attach_inject_needs_libside(const struct injection *injection)
{
	return !injection->target.agent_function &&
			!attach_inject_has_loaded(&injection->target, "libside.so.0");
}

/*
 * Load libside first, because the agent needs it by its name. Both descriptors stay open until both
 * libraries are loaded.
 */
static int attach_inject_load_from_memory(
		struct injection *injection, const char *file, uint64_t *ret_handle)
{
	const struct inject_request *request = injection->request;
	char path[64];
	int libside = -1, other = -1, ret = 0;
	uint64_t first = 1;

	injection->target.report->from_memory = true;
	if (attach_inject_needs_libside(injection)) {
		ret = attach_inject_pass_file(injection, request->libside, &libside);
		(void)snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", libside);
		if (!ret)
			ret = attach_inject_load_library(injection, path, &first);
	}
	if (!ret && first)
		ret = attach_inject_pass_file(injection, file, &other);
	if (ret || !first)
		return ret;
	(void)snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", other);
	return attach_inject_load_library(injection, path, ret_handle);
}

/* Load a copy of the file, trying each directory until the program can load it. */
static int attach_inject_load_copy(
		struct injection *injection, const char *file, uint64_t *ret_handle)
{
	struct inject_copy copy = {.directory = -1};
	int ret = 0;

	*ret_handle = 0;
	while (!ret && !*ret_handle && inject_copy_make(&copy, injection->target.pid, file)) {
		ret = attach_inject_load_library(injection, copy.path_in_program, ret_handle);
		inject_copy_remove(&copy);
	}
	return ret;
}

static int attach_inject_load_from_copies(
		struct injection *injection, const char *file, uint64_t *ret_handle)
{
	const struct inject_request *request = injection->request;
	uint64_t first = 1;
	int ret = 0;

	if (attach_inject_needs_libside(injection))
		ret = attach_inject_load_copy(injection, request->libside, &first);
	return ret || !first ? ret : attach_inject_load_copy(injection, file, ret_handle);
}

/* True if the path leads to the same file in the program. */
static bool attach_inject_is_same_file(const struct injection *injection, const char *file)
{
	struct stat ours, theirs;

	return !stat(file, &ours) && !process_root_stat(injection->target.pid, file, &theirs) &&
			ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

static int attach_inject_find_loaded(struct injection *injection, uint64_t handle, const char *name,
		uint64_t *ret_function)
{
	uint64_t arguments[3] = {handle};
	int ret = attach_inject_write_text(injection, PATH_AT, name, &arguments[1]);

	return ret ? ret
		   : attach_inject_call_function(injection,
				     attach_inject_find_function(injection, "dlsym"), arguments,
				     ret_function);
}

/*
 * Mark the new thread as the agent's own, immediately after loading: its calls are then not
 * recorded as the program's.
 */
static int attach_inject_mark_thread(struct injection *injection, uint64_t handle)
{
	uint64_t function = 0, result = 0;
	const uint64_t nothing[3] = {0};
	int ret = attach_inject_find_loaded(injection, handle, "side_agent_own_thread", &function);

	return ret || !function
			? ret
			: attach_inject_call_function(injection, function, nothing, &result);
}

/* The handle is 0 if the program cannot load the file. */
static int attach_inject_load(struct injection *injection, const char *file, uint64_t *ret_handle)
{
	int ret = 0;

	*ret_handle = 0;
	if (attach_inject_is_same_file(injection, file))
		ret = attach_inject_load_library(injection, file, ret_handle);
	/* The program has another root directory, or may not read the file. */
	if (!ret && !*ret_handle)
		ret = attach_inject_load_from_memory(injection, file, ret_handle);
	/* The program cannot open a memory file by name: its root directory has no /proc. */
	if (!ret && !*ret_handle)
		ret = attach_inject_load_from_copies(injection, file, ret_handle);
	return ret;
}

static int attach_inject_load_agent(struct injection *injection)
{
	uint64_t handle = 0;
	int ret = attach_inject_load(injection, injection->request->agent, &handle);

	if (ret)
		return ret;
	if (!handle) {
		attach_inject_set_not_loaded(injection);
		return -1;
	}
	ret = attach_inject_mark_thread(injection, handle);
	if (!ret)
		ret = attach_inject_find_loaded(injection, handle, injection->request->function,
				&injection->target.agent_function);
	if (!ret && !injection->target.agent_function)
		attach_inject_set_not_loaded(injection);
	return !ret && injection->target.agent_function ? 0 : -1;
}

static int attach_inject_call_with(struct injection *injection, const char *argument)
{
	uint64_t result = 0, arguments[3] = {0};
	int ret = attach_inject_write_text(injection, 0, argument, &arguments[0]);

	if (!ret)
		ret = attach_inject_call_function(
				injection, injection->target.agent_function, arguments, &result);
	if (!ret)
		injection->target.report->result = (int)result;
	return ret;
}

static int attach_inject_use_library(
		struct injection *injection, const struct inject_library *library)
{
	char argument[INJECT_ARGUMENT_MAX];
	uint64_t handle = 0;
	int ret = attach_inject_load(injection, library->path, &handle);

	if (ret)
		return ret;
	if (!handle) {
		attach_inject_set_not_loaded(injection);
		return -1;
	}
	if (snprintf(argument, sizeof(argument), "%s%" PRIx64 "%s", library->before, handle,
			    library->after) >= (int)sizeof(argument))
		return attach_inject_set_error(injection, INJECT_FAILED, "a path is too long");
	return attach_inject_call_with(injection, argument);
}

/* The report has the result of the last call, which is the first that is not 0. */
static int attach_inject_call_agent(struct injection *injection)
{
	const struct inject_request *request = injection->request;
	int ret = 0;

	if (!injection->target.agent_function)
		ret = attach_inject_load_agent(injection);
	if (!ret)
		ret = attach_inject_call_with(injection, request->argument);
	for (size_t i = 0; !ret && !injection->target.report->result && i < request->nr_libraries;
			i++)
		ret = attach_inject_use_library(injection, &request->libraries[i]);
	return ret;
}

/* ---- the end ---- */

/* End the new thread, then remove the code. If the thread hangs, the code stays. */
static void attach_inject_clean_up(struct injection *injection)
{
	uint64_t until = inject_now() + LAST_MS * UINT64_C(1000000), none = 0;
	bool is_reported = false;
	uint32_t state;

	injection->command++;
	for (;;) {
		/* Repeat a failed write: otherwise the thread would wait for the next command. */
		if (!is_reported)
			is_reported = attach_inject_write_scratch(injection,
						      offsetof(struct inject_scratch, function),
						      &none, sizeof(none)) &&
					attach_inject_write_scratch(injection,
							offsetof(struct inject_scratch, command),
							&injection->command,
							sizeof(injection->command));
		if (!attach_inject_read_scratch(injection, 0, &state, sizeof(state)) &&
				!attach_inject_find_thread(injection->target.pid, injection->name))
			break;
		if (inject_now() > until)
			return;
		inject_pause_us(50);
	}
	(void)inject_write(&injection->target, injection->site.code, injection->overwritten,
			injection->code.size);
}

static int attach_inject_run(struct injection *injection)
{
	/* Before the checks: they refuse a process that another `side` traces meanwhile. */
	int ret = attach_inject_acquire_lock(injection);

	if (!ret)
		ret = inject_target_open(&injection->target, injection->request);
	if (ret)
		return ret;
	if (injection->request->only_if_loaded && !injection->target.agent_function) {
		injection->target.report->result = -ENOENT;
		return 0;
	}
	injection->code = inject_code_get();
	if (!injection->code.bytes)
		return attach_inject_set_error(
				injection, INJECT_UNSUITABLE, "only x86-64 is supported");
	if (strlen(injection->request->argument) >= INJECT_ARGUMENT_MAX ||
			strlen(injection->request->agent) > AGENT_PATH_MAX)
		return attach_inject_set_error(injection, INJECT_FAILED, "a path is too long");
	ret = attach_inject_find_space(injection);
	if (!ret)
		ret = attach_inject_write_code(injection);
	if (ret)
		return ret;
	ret = inject_borrow(&injection->target, &injection->site, injection->request);
	if (ret) {
		if (ret != -ETIMEDOUT && injection->target.report->kind != INJECT_GONE)
			(void)inject_write(&injection->target, injection->site.code,
					injection->overwritten, injection->code.size);
		return ret;
	}
	ret = attach_inject_call_agent(injection);
	attach_inject_clean_up(injection);
	return ret;
}

/* ---- the process that attaches ---- */

void inject_run(const struct inject_request *request, struct inject_report *ret_report)
{
	struct injection injection = {
			.target = {.pid = request->pid, .memory = -1, .report = ret_report},
			.request = request,
			.lock = -1,
	};
	uint64_t began = inject_now();

	*ret_report = (struct inject_report){.kind = INJECT_DONE};
	/*
	 * A stopped thread waits for this process: run it with the highest priority. A thread that
	 * waits at its entry point needs the processor itself, to load the agent.
	 */
	if (!request->held_begin)
		(void)setpriority(PRIO_PROCESS, 0, -20);
	(void)attach_inject_run(&injection);
	ret_report->total_ns = inject_now() - began;
	inject_target_close(&injection.target);
}

static void __attribute__((noreturn))
attach_inject_run_child(const struct inject_request *request, int to)
{
	struct inject_report report;

	inject_run(request, &report);
	if (write(to, &report, sizeof(report)) != (ssize_t)sizeof(report))
		_exit(errno);
	_exit(0);
}

int inject_begin(const struct inject_request *request, pid_t *ret_child)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*ret_child = fork();
	if (*ret_child < 0) {
		close(ends[0]);
		close(ends[1]);
		return -EAGAIN;
	}
	if (!*ret_child) {
		signal(SIGPIPE, SIG_IGN);
		close(ends[0]);
		attach_inject_run_child(request, ends[1]);
	}
	close(ends[1]);
	return ends[0];
}

void inject_end(int fd, pid_t child, struct inject_report *ret_report)
{
	int status = 0, code;
	ssize_t size;

	do
		size = read(fd, ret_report, sizeof(*ret_report));
	while (size < 0 && errno == EINTR);
	code = size < 0 ? errno : 0;
	close(fd);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (size == (ssize_t)sizeof(*ret_report))
		return;
	/* The child exits with the errno of its write(). */
	if (!code && WIFEXITED(status))
		code = WEXITSTATUS(status);
	*ret_report = (struct inject_report){.kind = INJECT_FAILED};
	if (code)
		(void)snprintf(ret_report->text, sizeof(ret_report->text),
				"the result of attaching is unknown: %s", strerror(code));
	else
		(void)snprintf(ret_report->text, sizeof(ret_report->text),
				"attaching was interrupted; the program continues");
}
