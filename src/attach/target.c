/* SPDX-License-Identifier: MIT */
/*
 * Examines the program from outside, and refuses programs to which side cannot attach.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "attach/inject.h"
#include "attach/parts.h"

#define MAPPINGS_MAX 65536u
#define STATUS_MAX 65536 /* bytes of /proc/PID/status, including a 0 */
/* a socket, a descriptor received over it, and a library that is being loaded */
#define FILES_MIN 8

uint64_t inject_now(void)
{
	return clock_monotonic_ns();
}

void inject_pause_us(long us)
{
	const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	nanosleep(&time, NULL);
}

int inject_fail(struct inject_target *target, enum inject_kind kind, const char *format, ...)
{
	va_list arguments;

	target->report->kind = kind;
	*target->report->hint = '\0';
	va_start(arguments, format);
	(void)vsnprintf(target->report->text, sizeof(target->report->text), format, arguments);
	va_end(arguments);
	return -1;
}

int inject_hint(struct inject_target *target, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(target->report->hint, sizeof(target->report->hint), format, arguments);
	va_end(arguments);
	return -1;
}

/* ---- /proc ---- */

/* Read a small file and append a 0. Returns false with errno, ENODATA for an empty file. */
static bool attach_target_read_small_file(const char *path, char *text, size_t capacity)
{
	ssize_t size = io_read_text(path, text, capacity);

	if (size <= 0)
		errno = size < 0 ? (int)-size : ENODATA;
	return size > 0;
}

bool inject_status(pid_t pid, pid_t thread, const char *name, char *text, size_t capacity)
{
	/* A user can be in thousands of groups, whose line precedes that of seccomp. */
	char path[64], all[STATUS_MAX], line[64];
	const char *at;
	size_t size;

	if (thread)
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, thread);
	else
		(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	(void)snprintf(line, sizeof(line), "\n%s:", name);
	*text = 0;
	if (!attach_target_read_small_file(path, all, sizeof(all)))
		return false;
	at = strstr(all, line);
	if (!at) {
		errno = strlen(all) + 1 == sizeof(all) ? EOVERFLOW : ENODATA;
		return false;
	}
	at += strlen(line);
	at += strspn(at, " \t");
	size = strcspn(at, "\n");
	size = size < capacity ? size : capacity - 1;
	memcpy(text, at, size);
	text[size] = 0;
	return true;
}

const char *inject_name(pid_t pid, char *text, size_t capacity)
{
	return inject_thread_name(pid, pid, text, capacity);
}

const char *inject_thread_name(pid_t pid, pid_t thread, char *text, size_t capacity)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, thread);
	if (!attach_target_read_small_file(path, text, capacity))
		(void)snprintf(text, capacity, "?");
	text[strcspn(text, "\n")] = 0;
	return text;
}

/* ---- memory ---- */

/*
 * Check the result of a copy, which may be a negative errno. If the program has no memory any more,
 * the kernel copies 0 bytes without an error.
 */
static bool attach_target_copy_is_complete(ssize_t copied, size_t size)
{
	if (copied != (ssize_t)size)
		errno = copied < 0 ? (int)-copied : copied ? EIO : ESRCH;
	return copied == (ssize_t)size;
}

bool inject_read(const struct inject_target *target, uint64_t address, void *bytes, size_t size)
{
	errno = EIO;
	return address <= INT64_MAX &&
			attach_target_copy_is_complete(
					io_read_at(target->memory, bytes, size, address), size);
}

bool inject_write(const struct inject_target *target, uint64_t address, const void *bytes,
		size_t size)
{
	ssize_t copied;

	errno = EIO;
	if (address > INT64_MAX)
		return false;
	/* Not io_write_all_at(), whose error for 0 bytes is EIO. */
	do
		copied = pwrite(target->memory, bytes, size, (off_t)address);
	while (copied < 0 && errno == EINTR);
	return attach_target_copy_is_complete(copied < 0 ? -errno : copied, size);
}

void inject_maps_free(struct inject_target *target)
{
	size_t i;

	for (i = 0; i < target->nr_mappings; i++)
		free(target->mappings[i].path);
	free(target->mappings);
	target->mappings = NULL;
	target->nr_mappings = 0;
}

/* Parse a line of maps. Returns 0, -ENODATA for any other line, or -ENOMEM. */
static int attach_target_parse_mapping(char *line, struct inject_mapping *ret_mapping)
{
	unsigned long begin, end, offset, inode;
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%lx-%lx %4s %lx %*x:%*x %lu %n", &begin, &end, ret_mapping->access,
			    &offset, &inode, &at) < 5 ||
			!at)
		return -ENODATA;
	ret_mapping->begin = begin;
	ret_mapping->end = end;
	ret_mapping->offset = offset;
	ret_mapping->inode = inode;
	ret_mapping->path = strdup(line + at);
	return ret_mapping->path ? 0 : -ENOMEM;
}

/* Read the next mapping. Returns 0, -ENODATA at the end of the file, or another negative errno. */
static int attach_target_next_mapping(
		FILE *file, char **line, size_t *size, struct inject_mapping *ret_mapping)
{
	int ret;

	do {
		errno = 0;
		if (getline(line, size, file) <= 0)
			return feof(file) || !errno ? -ENODATA : -errno;
		ret = attach_target_parse_mapping(*line, ret_mapping);
	} while (ret == -ENODATA);
	return ret;
}

int inject_maps_read(struct inject_target *target)
{
	char path[64], *line = NULL;
	size_t capacity = 0, size = 0;
	struct inject_mapping *more;
	int ret = 0;
	FILE *file;

	inject_maps_free(target);
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", target->pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (!ret && target->nr_mappings < MAPPINGS_MAX) {
		if (target->nr_mappings == size) {
			size = size ? size * 2 : 256;
			more = realloc(target->mappings, size * sizeof(*more));
			if (!more) {
				ret = -ENOMEM;
				break;
			}
			target->mappings = more;
		}
		target->mappings[target->nr_mappings] = (struct inject_mapping){0};
		ret = attach_target_next_mapping(
				file, &line, &capacity, &target->mappings[target->nr_mappings]);
		target->nr_mappings += !ret;
	}
	free(line);
	(void)fclose(file);
	if (ret == -ENODATA)
		ret = target->nr_mappings ? 0 : -ESRCH;
	return ret;
}

const struct inject_mapping *inject_mapping_of(const struct inject_target *target, uint64_t address)
{
	size_t low = 0, high = target->nr_mappings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (address < target->mappings[middle].begin)
			high = middle;
		else if (address >= target->mappings[middle].end)
			low = middle + 1;
		else
			return &target->mappings[middle];
	}
	return NULL;
}

int inject_is_mapped(pid_t pid, uint64_t address)
{
	struct inject_target target = {.pid = pid};
	int ret = inject_maps_read(&target);

	if (!ret)
		ret = inject_mapping_of(&target, address) != NULL;
	inject_maps_free(&target);
	return ret;
}

/*
 * True if the file is the mapped one, and not its replacement by an upgrade. Compares the first
 * bytes.
 */
static bool attach_target_same_file(
		const struct inject_target *target, const struct inject_mapping *mapping, int fd)
{
	char here[1024], there[1024];
	size_t i;

	for (i = 0; i < target->nr_mappings; i++) {
		const struct inject_mapping *first = &target->mappings[i];

		if (first->offset || first->inode != mapping->inode ||
				strcmp(first->path, mapping->path) != 0 ||
				first->begin > mapping->begin)
			continue;
		return !io_read_exactly_at(fd, here, sizeof(here), 0) &&
				inject_read(target, first->begin, there, sizeof(there)) &&
				!memcmp(here, there, sizeof(here));
	}
	return false;
}

static int attach_target_open_same(const struct inject_target *target,
		const struct inject_mapping *mapping, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	int ret = -ESTALE;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		ret = -errno;
	else if (S_ISREG(status.st_mode) && attach_target_same_file(target, mapping, fd))
		return fd;
	close(fd);
	return ret;
}

int inject_mapping_open(const struct inject_target *target, const struct inject_mapping *mapping)
{
	char path[4200];
	int fd, ret;

	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", target->pid,
			(unsigned long)mapping->begin, (unsigned long)mapping->end);
	fd = attach_target_open_same(target, mapping, path);
	if (fd >= 0)
		return fd;
	(void)snprintf(path, sizeof(path), "/proc/%d/root%s", target->pid, mapping->path);
	ret = attach_target_open_same(target, mapping, path);
	if (ret >= 0)
		return ret;
	/*
	 * The kernel reports paths as this process sees them if it can; a program with another root
	 * directory sees them elsewhere.
	 */
	fd = attach_target_open_same(target, mapping, mapping->path);
	return fd >= 0 || ret == -ENOENT ? fd : ret;
}

/* ---- refusals ---- */

static long attach_target_yama_scope(void)
{
	char text[32];

	return attach_target_read_small_file(
			       "/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text))
			? strtol(text, NULL, 10)
			: 0;
}

/* Set the error for a refusal without another tracer: find what forbids it. */
static int attach_target_fail_permission(struct inject_target *target, const char *name, int code)
{
	char uids[64];
	long scope = attach_target_yama_scope();

	if (scope == 3)
		return inject_fail(target, INJECT_NOT_PERMITTED,
				"cannot attach to %d (%s): kernel.yama.ptrace_scope is 3, which forbids it to all users until a reboot with another value",
				target->pid, name);
	if (scope == 2) {
		inject_fail(target, INJECT_NOT_PERMITTED,
				"cannot attach to %d (%s): kernel.yama.ptrace_scope is 2, which requires CAP_SYS_PTRACE",
				target->pid, name);
		return inject_hint(target, "run as root");
	}
	if (scope == 1) {
		inject_fail(target, INJECT_NOT_PERMITTED,
				"cannot attach to %d (%s): ptrace is limited to child processes here (kernel.yama.ptrace_scope is 1)",
				target->pid, name);
		return inject_hint(target,
				"run as root (CAP_SYS_PTRACE), or `sudo sysctl kernel.yama.ptrace_scope=0`");
	}
	if (inject_status(target->pid, 0, "Uid", uids, sizeof(uids)) &&
			strtoul(uids, NULL, 10) != geteuid()) {
		inject_fail(target, INJECT_NOT_PERMITTED,
				"cannot attach to %d (%s): it belongs to user %lu", target->pid,
				name, strtoul(uids, NULL, 10));
		return inject_hint(target, "run as this user or as root (CAP_SYS_PTRACE)");
	}
	inject_fail(target, INJECT_NOT_PERMITTED,
			"cannot attach to %d (%s): %s: it has privileges that you do not have, or a sandbox forbids you ptrace",
			target->pid, name, strerror(code));
	return inject_hint(target, "run as root (CAP_SYS_PTRACE)");
}

int inject_not_permitted(struct inject_target *target, pid_t thread, int code)
{
	char tracer[32], name[64], tracers_name[64];
	pid_t by;

	inject_name(target->pid, name, sizeof(name));
	if (code == ESRCH)
		return inject_fail(target, INJECT_GONE, "cannot attach to %d (%s): it has ended",
				target->pid, name);
	if (code != EPERM && code != EACCES)
		return inject_fail(target, INJECT_FAILED, "cannot attach to %d (%s): %s",
				target->pid, name, strerror(code));
	by = inject_status(target->pid, thread, "TracerPid", tracer, sizeof(tracer))
			? (pid_t)strtol(tracer, NULL, 10)
			: 0;
	if (by) {
		inject_fail(target, INJECT_NOT_PERMITTED,
				"cannot attach to %d (%s): %d (%s) is tracing it, and a program can have only one tracer",
				target->pid, name, by,
				inject_name(by, tracers_name, sizeof(tracers_name)));
		return inject_hint(target, "end that tracer first, or detach it");
	}
	return attach_target_fail_permission(target, name, code);
}

static int attach_target_fail_status(struct inject_target *target, const char *name, int code)
{
	if (code == ENOENT || code == ESRCH)
		return inject_fail(target, INJECT_GONE, "there is no process %d", target->pid);
	return inject_fail(target, INJECT_FAILED,
			"cannot attach to %d (%s): its state cannot be read: %s", target->pid, name,
			strerror(code));
}

static int attach_target_check_state(
		struct inject_target *target, const struct inject_request *request)
{
	enum { STATE, KERNEL, TRACER, SANDBOX, FIELDS };
	static const char *const fields[FIELDS] = {"State", "Kthread", "TracerPid", "Seccomp"};
	char texts[FIELDS][64], name[64];
	pid_t pid = target->pid;

	inject_name(pid, name, sizeof(name));
	/* Older kernels lack some of these fields. */
	for (int i = 0; i < FIELDS; i++)
		if (!inject_status(pid, 0, fields[i], texts[i], sizeof(texts[i])) &&
				errno != ENODATA)
			return attach_target_fail_status(target, name, errno);
	if (*texts[STATE] == 'Z' || *texts[STATE] == 'X')
		return inject_fail(target, INJECT_GONE, "cannot attach to %d (%s): it has ended",
				pid, name);
	if (*texts[STATE] == 'T') {
		inject_fail(target, INJECT_FAILED, "cannot attach to %d (%s): it is stopped", pid,
				name);
		return inject_hint(target, "continue it first: `kill -CONT %d`", pid);
	}
	if (*texts[KERNEL] == '1')
		return inject_fail(target, INJECT_UNSUITABLE,
				"cannot attach to %d (%s): it is a kernel thread", pid, name);
	if (strtol(texts[TRACER], NULL, 10))
		return inject_not_permitted(target, 0, EPERM);
	if (*texts[SANDBOX] == '1')
		return inject_fail(target, INJECT_UNSUITABLE,
				"cannot attach to %d (%s): it is in the strict sandbox of seccomp, which would end it at its first call",
				pid, name);
	if (*texts[SANDBOX] == '2' && !request->in_sandbox) {
		inject_fail(target, INJECT_UNSUITABLE,
				"cannot attach to %d (%s): it is in a sandbox (seccomp), whose filter may end it when it loads a library",
				pid, name);
		return inject_hint(
				target, "if you know that the filter allows that: `--in-sandbox`");
	}
	return 0;
}

/*
 * Check the limit of open files. The new thread gets an empty descriptor table of its own, but the
 * limit of the process applies.
 */
static int attach_target_check_files(struct inject_target *target)
{
	char name[64];
	struct rlimit limit;

	if (prlimit(target->pid, RLIMIT_NOFILE, NULL, &limit) || limit.rlim_cur >= FILES_MIN)
		return 0;
	inject_fail(target, INJECT_UNSUITABLE,
			"cannot attach to %d (%s): it may have at most %llu open files (RLIMIT_NOFILE), and the agent needs %d more for a moment",
			target->pid, inject_name(target->pid, name, sizeof(name)),
			(unsigned long long)limit.rlim_cur, FILES_MIN);
	return inject_hint(target, "`prlimit --pid %d --nofile=%d:%llu`", target->pid, FILES_MIN,
			(unsigned long long)(limit.rlim_max > FILES_MIN ? limit.rlim_max
									: FILES_MIN));
}

/*
 * ThreadSanitizer ends the program if a thread whose creation it has not seen calls its functions.
 */
static int attach_target_fail_sanitizer(struct inject_target *target)
{
	char name[64];

	inject_fail(target, INJECT_UNSUITABLE,
			"cannot attach to %d (%s): it has ThreadSanitizer, which must see the start of each thread",
			target->pid, inject_name(target->pid, name, sizeof(name)));
	return inject_hint(target, "start it with `side record` or `side trace -c`");
}

/*
 * True if the executable is a tool of valgrind, all of which are linked statically. They execute a
 * translation of the program, in which the kernel's breakpoints end the program.
 */
static bool attach_target_is_valgrind(const char *link)
{
	char path[PATH_MAX] = "";

	return readlink(link, path, sizeof(path) - 1) > 0 &&
			!fnmatch("*/valgrind/*-linux", path, 0);
}

static int attach_target_fail_valgrind(struct inject_target *target, const char *name)
{
	inject_fail(target, INJECT_UNSUITABLE,
			"cannot attach to %d (%s): it runs under valgrind, which executes a translation of the program",
			target->pid, name);
	return inject_hint(target, "start it with `side record`, or without valgrind");
}

static int attach_target_fail_static(struct inject_target *target, const char *name)
{
	inject_fail(target, INJECT_UNSUITABLE,
			"cannot attach to %d (%s): it is linked statically, so it has no dynamic loader that could load the agent",
			target->pid, name);
	return inject_hint(target, "`side trace --global` lets the kernel watch its functions");
}

static int attach_target_check_executable(struct inject_target *target)
{
	char path[64], name[64];
	struct inject_elf elf;
	int fd, ret;

	inject_name(target->pid, name, sizeof(name));
	(void)snprintf(path, sizeof(path), "/proc/%d/exe", target->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return inject_fail(target, INJECT_UNSUITABLE,
				"cannot attach to %d (%s): it is a kernel thread, or has ended",
				target->pid, name);
	if (fd < 0)
		return inject_not_permitted(target, 0, errno);
	ret = inject_elf_read(fd, &elf);
	close(fd);
	if (ret == -ENOEXEC)
		inject_fail(target, INJECT_UNSUITABLE,
				"cannot attach to %d (%s): its file is not an ELF file",
				target->pid, name);
	else if (ret)
		inject_fail(target, INJECT_FAILED,
				"cannot attach to %d (%s): its file cannot be read: %s",
				target->pid, name, strerror(-ret));
	else if (elf.class != ELFCLASS64 || elf.machine != EM_X86_64)
		ret = inject_fail(target, INJECT_UNSUITABLE,
				"cannot attach to %d (%s): it is a program for another processor (%s), and the agent is for x86-64, with 64 bits",
				target->pid, name,
				elf.class == ELFCLASS32 ? "32 bits" : "not x86-64");
	else if (attach_target_is_valgrind(path))
		ret = attach_target_fail_valgrind(target, name);
	else if (!elf.interpreter)
		ret = attach_target_fail_static(target, name);
	else if (inject_elf_function(&elf, "__tsan_init"))
		ret = attach_target_fail_sanitizer(target);
	inject_elf_free(&elf);
	return ret ? -1 : 0;
}

/* ---- loaded libraries ---- */

static const char *attach_target_file_name(const struct inject_mapping *mapping)
{
	const char *slash = strrchr(mapping->path, '/');

	return slash ? slash + 1 : mapping->path;
}

static int attach_target_read_object(const struct inject_target *target,
		const struct inject_mapping *mapping, struct inject_elf *ret_elf,
		uint64_t *ret_bias)
{
	int fd = inject_mapping_open(target, mapping), ret;

	if (fd < 0)
		return fd;
	ret = inject_elf_read(fd, ret_elf);
	close(fd);
	if (!ret && inject_elf_bias(ret_elf, mapping->offset, mapping->begin, ret_bias))
		return 0;
	inject_elf_free(ret_elf);
	return ret ? ret : -ENOEXEC;
}

static const struct inject_mapping *attach_target_find_code(
		const struct inject_target *target, const char *name)
{
	size_t i, length = strlen(name);

	for (i = 0; i < target->nr_mappings; i++)
		if (target->mappings[i].access[2] == 'x' &&
				!strncmp(attach_target_file_name(&target->mappings[i]), name,
						length))
			return &target->mappings[i];
	return NULL;
}

static int attach_target_check_sanitizer(struct inject_target *target)
{
	return attach_target_find_code(target, "libtsan.so") ||
					attach_target_find_code(target, "libclang_rt.tsan")
			? attach_target_fail_sanitizer(target)
			: 0;
}

static int attach_target_find_libc(struct inject_target *target)
{
	const struct inject_mapping *mapping = attach_target_find_code(target, "libc.so.6");
	char name[64];
	int ret;

	inject_name(target->pid, name, sizeof(name));
	if (!mapping)
		return inject_fail(target, INJECT_UNSUITABLE,
				"cannot attach to %d (%s): it has not loaded the GNU C library (libc.so.6), which the agent needs",
				target->pid, name);
	ret = attach_target_read_object(target, mapping, &target->libc, &target->libc_bias);
	if (ret == -ESTALE) {
		inject_fail(target, INJECT_UNSUITABLE,
				"cannot attach to %d (%s): its C library was replaced on the disk since it was started",
				target->pid, name);
		return inject_hint(target, "restart the program");
	}
	if (ret)
		return inject_fail(target, INJECT_FAILED,
				"cannot attach to %d (%s): its C library cannot be read: %s",
				target->pid, name, strerror(-ret));
	if (!inject_elf_function(&target->libc, "dlopen") ||
			!inject_elf_function(&target->libc, "pthread_create"))
		return inject_fail(target, INJECT_UNSUITABLE,
				"cannot attach to %d (%s): its C library is older than glibc 2.34",
				target->pid, name);
	return 0;
}

static const struct inject_mapping *attach_target_find_agent_code(
		const struct inject_target *target)
{
	const struct inject_mapping *mapping = attach_target_find_code(target, "libside-agent.so");

	return mapping ? mapping : attach_target_find_code(target, "memfd:libside-agent.so");
}

static bool attach_target_read_symbol_value(const struct inject_target *target,
		const struct inject_elf *elf, uint64_t bias, const char *name,
		uint64_t *ret_symbol_value)
{
	uint64_t where = inject_elf_object(elf, name), found;

	if (!where || !inject_read(target, where + bias, &found, sizeof(found)))
		return false;
	*ret_symbol_value = found;
	return true;
}

/* The agent in a running process. */
struct target_agent {
	struct inject_target target;
	struct inject_elf elf;
	uint64_t bias;
	bool is_loaded; /* otherwise only `target` is valid */
};

/* Close it with attach_target_close_agent(), also after a failure. */
static int attach_target_open_agent(pid_t pid, struct target_agent *ret_agent)
{
	const struct inject_mapping *mapping;
	char path[64];
	int ret;

	*ret_agent = (struct target_agent){.target = {.pid = pid}};
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	ret_agent->target.memory = open(path, O_RDONLY | O_CLOEXEC);
	if (ret_agent->target.memory < 0)
		return -errno;
	ret = inject_maps_read(&ret_agent->target);
	mapping = ret ? NULL : attach_target_find_agent_code(&ret_agent->target);
	if (mapping)
		ret = attach_target_read_object(
				&ret_agent->target, mapping, &ret_agent->elf, &ret_agent->bias);
	ret_agent->is_loaded = mapping && !ret;
	return ret;
}

static void attach_target_close_agent(struct target_agent *agent)
{
	if (agent->is_loaded)
		inject_elf_free(&agent->elf);
	if (agent->target.memory >= 0)
		inject_target_close(&agent->target);
}

static bool attach_target_read_agent(
		const struct target_agent *agent, const char *name, uint64_t *ret_value)
{
	return agent->is_loaded &&
			attach_target_read_symbol_value(
					&agent->target, &agent->elf, agent->bias, name, ret_value);
}

int inject_kept(pid_t pid, struct inject_kept *ret_kept)
{
	struct target_agent agent;
	int ret = attach_target_open_agent(pid, &agent);

	memset(ret_kept, 0, sizeof(*ret_kept));
	if (attach_target_read_agent(&agent, "side_probe_kept", &ret_kept->bytes)) {
		/* Older agents do not have these symbols. */
		(void)attach_target_read_agent(&agent, "side_probe_traps", &ret_kept->traps);
		(void)attach_target_read_agent(&agent, "side_probe_pads", &ret_kept->springboards);
	} else if (agent.is_loaded) {
		ret = -ENOENT;
	}
	attach_target_close_agent(&agent);
	return ret;
}

int inject_agent_word(pid_t pid, const char *symbol, uint64_t *ret_value)
{
	struct target_agent agent;
	int ret = attach_target_open_agent(pid, &agent);

	*ret_value = 0;
	if (!ret && !attach_target_read_agent(&agent, symbol, ret_value))
		ret = -ENOENT;
	attach_target_close_agent(&agent);
	return ret;
}

static int attach_target_find_agent(struct inject_target *target, const char *function)
{
	const struct inject_mapping *mapping = attach_target_find_agent_code(target);
	struct inject_elf elf;
	char name[64];
	uint64_t bias;
	int ret;

	if (!mapping)
		return 0;
	inject_name(target->pid, name, sizeof(name));
	ret = attach_target_read_object(target, mapping, &elf, &bias);
	/* ESTALE, ENOENT: the file was replaced or removed. */
	if (ret && ret != -ESTALE && ret != -ENOENT && ret != -ENOEXEC)
		return inject_fail(target, INJECT_FAILED,
				"cannot attach to %d (%s): the agent that it has loaded cannot be read: %s",
				target->pid, name, strerror(-ret));
	if (!ret) {
		target->agent_function = inject_elf_function(&elf, function);
		target->agent_function += target->agent_function ? bias : 0;
		target->own = (struct inject_own){
				.begin = inject_elf_function(&elf, "side_agent_own_begin"),
				.end = inject_elf_function(&elf, "side_agent_own_end"),
				.thread = inject_elf_function(&elf, "side_agent_own_thread"),
		};
		if (target->own.begin && target->own.end && target->own.thread) {
			target->own.begin += bias;
			target->own.end += bias;
			target->own.thread += bias;
		} else {
			target->own = (struct inject_own){.begin = 0};
		}
		inject_elf_free(&elf);
	}
	if (target->agent_function) {
		target->report->was_loaded = true;
		return 0;
	}
	inject_fail(target, INJECT_UNSUITABLE,
			"cannot attach to %d (%s): it has loaded an agent of another version (%s)",
			target->pid, name, mapping->path);
	return inject_hint(target, "restart the program");
}

int inject_target_open(struct inject_target *target, const struct inject_request *request)
{
	char path[64];
	int ret;

	target->held_begin = request->held_begin;
	target->held_end = request->held_end;
	if (target->pid <= 0 || target->pid == getpid() || target->pid == getppid())
		return inject_fail(target, INJECT_UNSUITABLE,
				"cannot attach to %d: it is this process", target->pid);
	if (attach_target_check_state(target, request) || attach_target_check_files(target) ||
			attach_target_check_executable(target))
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", target->pid);
	target->memory = open(path, O_RDWR | O_CLOEXEC);
	ret = target->memory < 0 ? -errno : inject_maps_read(target);
	if (ret)
		return inject_not_permitted(target, 0, -ret);
	return attach_target_check_sanitizer(target) || attach_target_find_libc(target) ||
					attach_target_find_agent(target, request->function)
			? -1
			: 0;
}

void inject_target_close(struct inject_target *target)
{
	inject_maps_free(target);
	inject_elf_free(&target->libc);
	if (target->memory >= 0)
		close(target->memory);
	target->memory = -1;
}
