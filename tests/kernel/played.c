/* SPDX-License-Identifier: MIT */
/* A simulated kernel: see played.h. */
#include "played.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRACEFS "/sys/kernel/tracing"
#define DEBUGFS "/sys/kernel/debug"
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define FDS 1024

struct played_perf played_perfs[PLAYED_EVENTS];
unsigned int played_nr_perfs;
char played_log[16384], played_root[64];
int played_open_errors[PLAYED_CPUS], played_event_error, played_output_error, played_enable_error,
		played_refusal;
bool played_without_lost, played_no_conversion, played_no_tracefs, played_no_processes;
size_t played_map_max;
const char *played_refused;

static char paths[FDS][300]; /* of open files of tracefs */

/* The function of the C library: the definition here replaces it. */
#define REAL(name, symbol)               \
	static __typeof__(&(name)) real; \
	if (!real)                       \
	*(void **)(void *)&real = dlsym(RTLD_NEXT, symbol)

/* ---- files ---- */

static const char *moved(const char *path, char to[400])
{
	if (!strncmp(path, DEBUGFS, strlen(DEBUGFS)))
		(void)snprintf(to, 400, "%s/none", played_root);
	else if (!strncmp(path, TRACEFS, strlen(TRACEFS)))
		(void)snprintf(to, 400, "%s%s", played_root, path + strlen(TRACEFS));
	else if (!strcmp(path, PARANOID))
		(void)snprintf(to, 400, "%s/paranoid", played_root);
	else
		return path;
	return to;
}

static void note(const char *mark, const char *path, const char *text)
{
	size_t used = strlen(played_log);

	(void)snprintf(played_log + used, sizeof(played_log) - used, "%s%s%s;", mark, path, text);
}

int open(const char *path, int flags, ...)
{
	char to[400];
	va_list arguments;
	mode_t mode;
	int fd;
	REAL(open, "open64");

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	fd = real(moved(path, to), flags, mode);
	if (fd >= 0 && fd < FDS && (flags & O_ACCMODE) == O_WRONLY && moved(path, to) == to)
		(void)snprintf(paths[fd], sizeof(paths[fd]), "%s", path + strlen(TRACEFS) + 1);
	return fd;
}

ssize_t write(int fd, const void *from, size_t size)
{
	char text[300];
	REAL(write, "write");

	if (fd < 0 || fd >= FDS || !*paths[fd])
		return real(fd, from, size);
	(void)snprintf(text, sizeof(text), "=%.*s", (int)size, (const char *)from);
	note("", paths[fd], text);
	if (played_refused && strlen(paths[fd]) >= strlen(played_refused) &&
			!strcmp(paths[fd] + strlen(paths[fd]) - strlen(played_refused),
					played_refused)) {
		errno = played_refusal;
		return -1;
	}
	return (ssize_t)size;
}

ssize_t read(int fd, void *to, size_t size)
{
	REAL(read, "read");

	for (unsigned int i = 0; i < played_nr_perfs; i++)
		if (played_perfs[i].fd == fd && !played_perfs[i].closed) {
			const uint64_t values[2] = {1000, played_perfs[i].lost};

			memcpy(to, values, size < sizeof(values) ? size : sizeof(values));
			return (ssize_t)(size < sizeof(values) ? size : sizeof(values));
		}
	return real(fd, to, size);
}

int close(int fd)
{
	REAL(close, "close");

	for (unsigned int i = 0; i < played_nr_perfs; i++)
		if (played_perfs[i].fd == fd)
			played_perfs[i].closed = true;
	if (fd >= 0 && fd < FDS)
		*paths[fd] = '\0';
	return real(fd);
}

int access(const char *path, int mode)
{
	char to[400];
	REAL(access, "access");

	if (played_no_tracefs && moved(path, to) == to) {
		errno = played_refusal;
		return -1;
	}
	return real(moved(path, to), mode);
}

DIR *opendir(const char *path)
{
	char to[400];
	REAL(opendir, "opendir");

	if (played_no_processes && !strcmp(path, "/proc")) {
		errno = EACCES;
		return NULL;
	}
	return real(moved(path, to));
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)where;
	REAL(rmdir, "rmdir");
	return type == FTW_DP ? real(path) : unlink(path);
}

/* The files that the kernel makes in a new instance. */
static void fill_instance(const char *name)
{
	static const char *const files[] = {"trace_clock", "buffer_size_kb", "options/overwrite",
			"options/event-fork", "tracing_on", "set_event_pid",
			"set_event_notrace_pid", "events/enable", "events/sched/switch/enable",
			"events/sched/switch/filter", "events/raw/one/enable",
			"events/raw/one/filter", "events/syscalls/sys_enter_x/enable",
			"per_cpu/cpu0/stats", "per_cpu/cpu1/stats"};
	char path[400];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", name, files[i]);
		played_file(path, "");
	}
	for (int cpu = 0; cpu < PLAYED_CPUS; cpu++) {
		(void)snprintf(path, sizeof(path), "%s/%s/per_cpu/cpu%d/trace_pipe_raw",
				played_root, name, cpu);
		if (mkfifo(path, 0600))
			abort();
	}
}

int mkdir(const char *path, mode_t mode)
{
	char to[400];
	int ret;
	REAL(mkdir, "mkdir");

	if (played_refused && moved(path, to) == to && !strcmp(played_refused, "instances")) {
		errno = played_refusal;
		return -1;
	}
	ret = real(moved(path, to), mode);
	if (!ret && moved(path, to) == to) {
		note("+", path + strlen(TRACEFS) + 1, "");
		fill_instance(path + strlen(TRACEFS) + 1);
	}
	return ret;
}

int rmdir(const char *path)
{
	char to[400];
	REAL(rmdir, "rmdir");

	if (moved(path, to) == path)
		return real(path);
	note("-", path + strlen(TRACEFS) + 1, "");
	return nftw(to, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void played_file(const char *name, const char *text)
{
	char path[400];
	FILE *file;
	REAL(mkdir, "mkdir");

	(void)snprintf(path, sizeof(path), "%s/%s", played_root, name);
	for (char *at = path + strlen(played_root) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		(void)real(path, 0700);
	}
	file = fopen(path, "we");
	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

void played_remove(const char *name)
{
	char path[400];

	(void)snprintf(path, sizeof(path), "%s/%s", played_root, name);
	(void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void played_event(const char *system, const char *name, unsigned int id, const char *fields)
{
	char text[4000], path[300], copy[2000], *rest, *line;
	int used = snprintf(text, sizeof(text),
			"name: %s\nID: %u\nformat:\n"
			"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
			name, id);

	(void)snprintf(copy, sizeof(copy), "%s", fields);
	for (line = strtok_r(copy, "|", &rest); line; line = strtok_r(NULL, "|", &rest)) {
		char declaration[100];
		unsigned int offset, size, is_signed;

		if (sscanf(line, "%99[^;];%u;%u;%u", declaration, &offset, &size, &is_signed) != 4)
			abort();
		used += snprintf(text + used, sizeof(text) - (size_t)used,
				"\tfield:%s;\toffset:%u;\tsize:%u;\tsigned:%u;\n", declaration,
				offset, size, is_signed);
	}
	(void)snprintf(text + used, sizeof(text) - (size_t)used, "\nprint fmt: \"x\"\n");
	(void)snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	played_file(path, text);
	(void)snprintf(path, sizeof(path), "events/%s/%s/id", system, name);
	(void)snprintf(text, sizeof(text), "%u\n", id);
	played_file(path, text);
}

void played_page(const char *instance, int cpu, const void *page, size_t size)
{
	char path[400];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/instances/%s/per_cpu/cpu%d/trace_pipe_raw",
			played_root, instance, cpu);
	/* Stays open until played_end(): the reader would get the end of the file. */
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || write(fd, page, size) != (ssize_t)size)
		abort();
	close(fd);
}

/* ---- perf ---- */

long syscall(long number, ...)
{
	const struct perf_event_attr *attr;
	struct played_perf *perf = &played_perfs[played_nr_perfs];
	va_list list;
	long given[6];
	int error;
	REAL(syscall, "syscall");

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		given[i] = va_arg(list, long);
	va_end(list);
	if (number != SYS_perf_event_open)
		return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
	attr = (const void *)given[0];
	error = attr->type == PERF_TYPE_TRACEPOINT ? played_event_error
			: (int)given[2] >= 0       ? played_open_errors[(int)given[2]]
						   : 0;
	if (!error && played_without_lost && attr->read_format & PERF_FORMAT_LOST)
		error = EINVAL;
	if (played_nr_perfs == PLAYED_EVENTS)
		error = ENOSPC;
	errno = error;
	if (error)
		return -1;
	*perf = (struct played_perf){
			.attr = *attr, .pid = (int)given[1], .cpu = (int)given[2], .output = -1};
	perf->fd = memfd_create("perf", MFD_CLOEXEC);
	played_nr_perfs++;
	return perf->fd;
}

static struct played_perf *perf_of(int fd)
{
	for (unsigned int i = 0; i < played_nr_perfs; i++)
		if (played_perfs[i].fd == fd && !played_perfs[i].closed)
			return &played_perfs[i];
	return NULL;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct played_perf *perf = perf_of(fd);
	va_list list;
	long given;

	va_start(list, request);
	given = va_arg(list, long);
	va_end(list);
	errno = ENOTTY;
	if (!perf)
		return -1;
	errno = 0;
	switch (request) {
	case PERF_EVENT_IOC_SET_FILTER:
		(void)snprintf(perf->filter, sizeof(perf->filter), "%s", (const char *)given);
		errno = strstr(perf->filter, "bad") ? EINVAL : 0;
		break;
	case PERF_EVENT_IOC_SET_OUTPUT:
		perf->output = (int)given;
		errno = played_output_error;
		break;
	case PERF_EVENT_IOC_ENABLE:
		perf->enabled++;
		errno = played_enable_error;
		break;
	case PERF_EVENT_IOC_DISABLE: perf->disabled++; break;
	default: errno = ENOTTY;
	}
	return errno ? -1 : 0;
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	struct played_perf *perf = fd >= 0 ? perf_of(fd) : NULL;
	void *memory;
	REAL(mmap, "mmap64");

	if (!perf)
		return real(at, size, protection, flags, fd, offset);
	errno = EPERM;
	if ((played_map_max && size > played_map_max) || ftruncate(fd, (off_t)size))
		return MAP_FAILED;
	memory = real(at, size, PROT_READ | PROT_WRITE, flags, fd, offset);
	if (memory == MAP_FAILED)
		return memory;
	perf->page = memory;
	perf->size = size;
	perf->page->cap_user_time = perf->page->cap_user_time_zero = !played_no_conversion;
	perf->page->time_shift = 3;
	perf->page->time_mult = 2;
	perf->page->time_zero = 1000;
	return memory;
}

int munmap(void *at, size_t size)
{
	REAL(munmap, "munmap");

	for (unsigned int i = 0; i < played_nr_perfs; i++)
		if (played_perfs[i].page == at && played_perfs[i].size == size)
			played_perfs[i].page = NULL;
	return real(at, size);
}

long sysconf(int name)
{
	REAL(sysconf, "sysconf");

	return name == _SC_NPROCESSORS_CONF ? PLAYED_CPUS : real(name);
}

/* ---- the test's side ---- */

struct played_perf *played_buffer(int cpu, bool names)
{
	for (unsigned int i = 0; i < played_nr_perfs; i++) {
		struct played_perf *perf = &played_perfs[i];

		if (!perf->closed && perf->attr.type == PERF_TYPE_SOFTWARE && perf->cpu == cpu &&
				perf->attr.task == names)
			return perf;
	}
	return NULL;
}

struct played_perf *played_find(uint64_t id, int cpu)
{
	for (unsigned int i = played_nr_perfs; i-- > 0;) {
		struct played_perf *perf = &played_perfs[i];

		if (!perf->closed && perf->attr.type == PERF_TYPE_TRACEPOINT &&
				perf->attr.config == id && perf->cpu == cpu)
			return perf;
	}
	return NULL;
}

void played_put(struct played_perf *buffer, const void *record, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), capacity = buffer->size - page;
	uint8_t *data = (uint8_t *)buffer->page + page;

	for (size_t i = 0; i < size; i++)
		data[(buffer->page->data_head + i) & (capacity - 1)] = ((const uint8_t *)record)[i];
	__atomic_store_n(
			&buffer->page->data_head, buffer->page->data_head + size, __ATOMIC_RELEASE);
}

unsigned int played_nr_open(void)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < played_nr_perfs; i++)
		nr += !played_perfs[i].closed + (played_perfs[i].page != NULL);
	return nr;
}

void played_begin(void)
{
	(void)snprintf(played_root, sizeof(played_root), "/tmp/side-played-XXXXXX");
	if (!mkdtemp(played_root))
		abort();
	played_nr_perfs = 0;
	*played_log = '\0';
	memset(played_open_errors, 0, sizeof(played_open_errors));
	played_event_error = played_output_error = played_enable_error = 0;
	played_without_lost = played_no_conversion = played_no_tracefs = played_no_processes =
			false;
	played_map_max = 0;
	played_refused = NULL;
	played_file("events/header_page", "");
	played_file("events/enable", "0");
	played_file("instances/.keep", "");
	played_file("paranoid", "3\n");
	played_event("sched", "switch", 11, "u32 a;8;4;0|u16 b;12;2;0");
	played_event("raw", "one", 12, "char text[4];8;4;0");
	played_event("syscalls", "sys_enter_x", 13, "u8 c;8;1;0");
	played_event("ftrace", "function", 1, "u8 c;8;1;0");
}

void played_end(void)
{
	(void)nftw(played_root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
