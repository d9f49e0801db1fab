/* SPDX-License-Identifier: MIT */
/*
 * Records the kernel's events through an ftrace instance of its own, where perf_event_open() is not
 * permitted but tracefs is writable.
 *
 * An instance outlives the process that created it. Its name, side-PID-START, identifies that
 * process. The next recording removes the instances whose process has exited, and no others.
 *
 * The recorder's own system calls are excluded, because they would fill the buffers. The buffers do
 * not overwrite, so the kernel counts the records that it discards. Names and processes of threads
 * are read from /proc when a record is drained: threads that have exited by then have none.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel-events/parts.h"

#define PREFIX "side-"
#define PAGE_MAX ((size_t)64 << 10)
#define POLL_MS 20
/* pages of a CPU in one round: draining itself may create more records than it reads */
#define ROUND_PAGES 256

/* The layout of records in a page; events/header_page and events/header_event describe it. */
#define PAGE_HEADER 16
#define COMMIT_MASK 0xfffffu
#define TYPE_PADDING 29
#define TYPE_EXTEND 30
#define TYPE_STAMP 31
#define DELTA_BITS 27
#define STAMP_BITS 59

struct tracefs_instance {
	char path[200];
	char name[100];
	int *pipes; /* one for each CPU */
	uint8_t *page;
	bool is_created;
	bool makes_system_calls; /* system calls are enabled, and draining makes some */
	bool foreign;            /* another process has created a record */
	bool is_excluded;        /* the recorder's own threads are excluded */
	bool is_reader_excluded; /* at least the draining thread is excluded */
	pid_t pid;               /* read once: each getpid() would be a further record */
	pid_t opener;            /* the thread that opened the instance and starts the command */
};

/* ---- instances of processes that have exited ---- */

/*
 * Read the start time of a process, in clock ticks since boot (field 22 of its stat). Returns 0 if
 * the process does not exist.
 */
static unsigned long long kernel_instance_process_start_time(long pid)
{
	char path[64], *text = NULL, *at;
	unsigned long long start = 0;
	int field;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	/* tracefs_read() allocates the text even if the file is empty. */
	if (tracefs_read(path, &text) <= 0) {
		free(text);
		return 0;
	}
	at = strrchr(text, ')');
	/* A zombie has exited, even if its parent has not waited for it yet. */
	if (at && (!strncmp(at, ") Z", 3) || !strncmp(at, ") X", 3)))
		at = NULL;
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at, NULL, 10);
	free(text);
	return start;
}

static void kernel_instance_remove(const char *path)
{
	char file[500];

	(void)snprintf(file, sizeof(file), "%s/events/enable", path);
	(void)tracefs_write(file, "0");
	(void)rmdir(path);
}

void kernel_instances_clean(const struct kernel_record *record)
{
	char folder[100], path[400];
	struct dirent *entry;
	DIR *instances;

	(void)snprintf(folder, sizeof(folder), "%s/instances", record->tracefs);
	instances = opendir(folder);
	while (instances && (entry = readdir(instances))) {
		unsigned long long start;
		long pid;
		char end;

		if (sscanf(entry->d_name, PREFIX "%ld-%llu%c", &pid, &start, &end) != 2 ||
				pid <= 0 || kernel_instance_process_start_time(pid) == start)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		kernel_instance_remove(path);
	}
	if (instances)
		closedir(instances);
}

/* ---- opening ---- */

static int kernel_instance_write_file(
		const struct tracefs_instance *instance, const char *file, const char *text)
{
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/%s", instance->path, file);
	return tracefs_write(path, text);
}

static int kernel_instance_set_up(struct kernel_record *record, struct tracefs_instance *instance)
{
	char text[64];
	int ret = kernel_instance_write_file(instance, "trace_clock",
			record->options.clock == RING_CLOCK_TSC ? "x86-tsc" : "mono");

	(void)snprintf(text, sizeof(text), "%llu",
			(unsigned long long)record->options.buffer_size >> 10);
	if (!ret)
		ret = kernel_instance_write_file(instance, "buffer_size_kb", text);
	if (!ret)
		ret = kernel_instance_write_file(instance, "options/overwrite", "0");
	/*
	 * Recording starts in kernel_instance_start(): enabling thousands of events takes thousands
	 * of system calls, whose records would fill the buffers.
	 */
	if (!ret)
		ret = kernel_instance_write_file(instance, "tracing_on", "0");
	if (ret || record->options.machine)
		return ret;
	/*
	 * Record this thread and the processes that it starts. The recorder's own records are
	 * excluded later.
	 */
	ret = kernel_instance_write_file(instance, "options/event-fork", "1");
	instance->opener = (pid_t)syscall(SYS_gettid);
	(void)snprintf(text, sizeof(text), "%d", (int)instance->opener);
	return ret ? ret : kernel_instance_write_file(instance, "set_event_pid", text);
}

static void kernel_instance_close(struct kernel_record *record)
{
	struct tracefs_instance *instance = record->backend_state;
	uint32_t i;

	if (!instance)
		return;
	for (i = 0; instance->pipes && i < record->nr_cpus; i++)
		if (instance->pipes[i] >= 0)
			close(instance->pipes[i]);
	if (instance->is_created)
		kernel_instance_remove(instance->path);
	free(instance->pipes);
	free(instance->page);
	free(instance);
	record->backend_state = NULL;
}

/* Set `error`. The caller must then call kernel_instance_close(). */
static int kernel_instance_set_error(struct error *error, int code)
{
	return error_set(error, code, code == -EACCES || code == -EPERM ? "run it as root" : "",
			"cannot create an instance of tracefs: %s", strerror(-code));
}

static int kernel_instance_open(struct kernel_record *record, struct error *error)
{
	struct tracefs_instance *instance = calloc(1, sizeof(*instance));
	char path[300];
	uint32_t i;
	int ret;

	record->backend_state = instance;
	if (!instance)
		return error_set_no_memory(error);
	instance->pipes = calloc(record->nr_cpus, sizeof(*instance->pipes));
	instance->page = malloc(PAGE_MAX);
	instance->pid = getpid();
	if (!instance->pipes || !instance->page)
		return kernel_instance_set_error(error, -ENOMEM);
	for (i = 0; i < record->nr_cpus; i++)
		instance->pipes[i] = -1;
	(void)snprintf(instance->path, sizeof(instance->path), "%s/instances/" PREFIX "%ld-%llu",
			record->tracefs, (long)getpid(),
			kernel_instance_process_start_time(getpid()));
	(void)snprintf(instance->name, sizeof(instance->name), "the tracefs instance %s",
			strrchr(instance->path, '/') + 1);
	if (mkdir(instance->path, 0700))
		return kernel_instance_set_error(error, -errno);
	instance->is_created = true;
	ret = kernel_instance_set_up(record, instance);
	if (ret)
		return kernel_instance_set_error(error, ret);
	for (i = 0; i < record->nr_cpus; i++) {
		(void)snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw",
				instance->path, i);
		instance->pipes[i] = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (instance->pipes[i] < 0 && errno != ENOENT)
			return kernel_instance_set_error(error, -errno);
	}
	return 0;
}

static int kernel_instance_add_class(struct kernel_record *record,
		struct kernel_event_class *event_class, struct error *error)
{
	struct tracefs_instance *instance = record->backend_state;
	char file[600];
	int ret = 0;

	instance->makes_system_calls |= strstr(event_class->system, "syscalls") != NULL;
	if (event_class->filter) {
		(void)snprintf(file, sizeof(file), "%s/events/%.255s/%.120s/filter", instance->path,
				event_class->system, event_class->name);
		ret = tracefs_write(file, event_class->filter);
		if (ret)
			return error_set(error, ret,
					"`cat /sys/kernel/tracing/events/SYSTEM/EVENT/format` shows the fields",
					"the kernel refuses the filter `%s` for %s:%s: %s",
					event_class->filter, event_class->system, event_class->name,
					strerror(-ret));
	}
	/* Records from before the command starts are the recorder's own, which are excluded. */
	(void)snprintf(file, sizeof(file), "%s/events/%.255s/%.120s/enable", instance->path,
			event_class->system, event_class->name);
	ret = tracefs_write(file, "1");
	if (ret)
		return error_set(error, ret, NULL, "cannot record %s:%s: %s", event_class->system,
				event_class->name, strerror(-ret));
	return 0;
}

static void kernel_instance_remove_class(
		struct kernel_record *record, struct kernel_event_class *event_class)
{
	const struct tracefs_instance *instance = record->backend_state;
	char file[600];

	(void)snprintf(file, sizeof(file), "%s/events/%.255s/%.120s/enable", instance->path,
			event_class->system, event_class->name);
	(void)tracefs_write(file, "0");
	if (!event_class->filter)
		return;
	(void)snprintf(file, sizeof(file), "%s/events/%.255s/%.120s/filter", instance->path,
			event_class->system, event_class->name);
	(void)tracefs_write(file, "0");
}

/* The kernel replaces one filter by the other. */
static int kernel_instance_widen_filter(struct kernel_record *record,
		struct kernel_event_class *event_class, const char *more, const char *all)
{
	const struct tracefs_instance *instance = record->backend_state;
	char file[600];

	(void)more;
	(void)snprintf(file, sizeof(file), "%s/events/%.255s/%.120s/filter", instance->path,
			event_class->system, event_class->name);
	return tracefs_write(file, all ? all : "0");
}

static int kernel_instance_start(struct kernel_record *record)
{
	return kernel_instance_write_file(record->backend_state, "tracing_on", "1");
}

static void kernel_instance_stop(struct kernel_record *record)
{
	(void)kernel_instance_write_file(record->backend_state, "tracing_on", "0");
}

/* ---- draining ---- */

static void kernel_instance_wait(struct kernel_record *record, int timeout_ms)
{
	struct pollfd wake[3] = {{.fd = record->wake, .events = POLLIN},
			{.fd = record->extra_fd, .events = POLLIN},
			{.fd = record->notice, .events = POLLIN}};

	(void)poll(wake, 3, timeout_ms < POLL_MS ? timeout_ms : POLL_MS);
}

static void kernel_instance_put_record(struct kernel_record *record, uint32_t cpu, uint64_t ticks,
		const uint8_t *data, size_t size)
{
	struct tracefs_instance *instance = record->backend_state;
	const char *comm;
	int32_t tid;
	pid_t pid = -1;

	if (size < FORMAT_COMMON_SIZE)
		return;
	memcpy(&tid, data + 4, sizeof(tid));
	comm = tasks_comm(record->tasks, tid, ticks, cpu, &pid);
	if (!record->options.machine && pid == instance->pid)
		return;
	instance->foreign = true;
	kernel_put(record, cpu, ticks, pid, tid, comm, data, size);
}

static void kernel_instance_put_page(
		struct kernel_record *record, uint32_t cpu, const uint8_t *page, size_t size)
{
	uint64_t ticks, commit;
	size_t at = PAGE_HEADER, end;

	if (size < PAGE_HEADER)
		return;
	memcpy(&ticks, page, sizeof(ticks));
	memcpy(&commit, page + 8, sizeof(commit));
	end = PAGE_HEADER + (commit & COMMIT_MASK);
	if (end > size)
		end = size;
	while (end - at >= 4) {
		uint32_t word, more = 0, type, delta;
		size_t length;

		memcpy(&word, page + at, sizeof(word));
		type = word & 31;
		delta = word >> 5;
		at += 4;
		if (end - at >= 4)
			memcpy(&more, page + at, sizeof(more));
		if (type == TYPE_EXTEND) {
			ticks += (uint64_t)more << DELTA_BITS | delta;
			at += 4;
		} else if (type == TYPE_STAMP) {
			/*
			 * An absolute time has 59 bits; keep the upper bits of the previous time.
			 */
			ticks = (ticks & ~(((uint64_t)1 << STAMP_BITS) - 1)) |
					((uint64_t)more << DELTA_BITS | delta);
			at += 4;
		} else if (type == TYPE_PADDING) {
			if (!delta)
				return;
			ticks += delta;
			at += more;
		} else {
			length = type ? type * 4 : more - 4;
			if (!type) {
				at += 4;
				if (more < 4)
					return;
			}
			ticks += delta;
			if (at > end || length > end - at)
				return;
			kernel_instance_put_record(record, cpu, ticks, page + at, length);
			at += (length + 3) & ~(size_t)3;
		}
		if (at > end)
			return;
	}
}

static void kernel_instance_exclude_thread(
		const struct tracefs_instance *instance, const char *thread)
{
	(void)kernel_instance_write_file(instance, "set_event_notrace_pid", thread);
}

/*
 * Exclude the recorder's own threads: draining a page makes two system calls. Children inherit the
 * exclusion, so the thread that starts the command is excluded only once the command exists.
 * Kernels before Linux 5.7 cannot exclude threads.
 */
static void kernel_instance_exclude_recorder(
		struct kernel_record *record, struct tracefs_instance *instance)
{
	pid_t thread = (pid_t)syscall(SYS_gettid);
	const struct dirent *entry;
	DIR *threads;
	char text[16];

	if (instance->is_excluded || !instance->makes_system_calls)
		return;
	if (!record->options.machine && !instance->foreign) {
		if (thread != instance->opener && !instance->is_reader_excluded) {
			(void)snprintf(text, sizeof(text), "%d", (int)thread);
			kernel_instance_exclude_thread(instance, text);
			instance->is_reader_excluded = true;
		}
		return;
	}
	instance->is_excluded = true;
	threads = opendir("/proc/self/task");
	while (threads && (entry = readdir(threads)))
		if (*entry->d_name != '.')
			kernel_instance_exclude_thread(instance, entry->d_name);
	if (threads)
		closedir(threads);
}

/* Read pages, whether full or not. */
static bool kernel_instance_drain(struct kernel_record *record)
{
	struct tracefs_instance *instance = record->backend_state;
	bool found = false;
	uint32_t i;

	kernel_instance_exclude_recorder(record, instance);
	for (i = 0; i < record->nr_cpus; i++) {
		uint32_t pages = 0;
		ssize_t size;

		while (instance->pipes[i] >= 0 && pages++ < ROUND_PAGES &&
				(size = read(instance->pipes[i], instance->page, PAGE_MAX)) > 0) {
			kernel_instance_put_page(record, i, instance->page, (size_t)size);
			found = true;
		}
		record->sink->flush(record, i);
	}
	return found;
}

/* ---- the end ---- */

/* The kernel does not count losses by event: they are reported for the first event class. */
static uint64_t kernel_instance_lost_count(struct kernel_record *record,
		const struct kernel_event_class *event_class, uint32_t cpu)
{
	const struct tracefs_instance *instance = record->backend_state;
	char path[300], *text = NULL, *at;
	uint64_t lost = 0;

	if (event_class != record->event_classes)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/stats", instance->path, cpu);
	if (tracefs_read(path, &text) <= 0) {
		free(text);
		return 0;
	}
	at = strstr(text, "\ndropped events: ");
	if (at)
		lost += strtoull(at + 17, NULL, 10);
	at = strstr(text, "\noverrun: ");
	if (at)
		lost += strtoull(at + 10, NULL, 10);
	free(text);
	return lost;
}

static const char *kernel_instance_backend_name(const struct kernel_record *record)
{
	const struct tracefs_instance *instance = record->backend_state;

	return instance->name;
}

const struct kernel_backend backend_instance = {
		.open = kernel_instance_open,
		.add = kernel_instance_add_class,
		.widen = kernel_instance_widen_filter,
		.remove = kernel_instance_remove_class,
		.start = kernel_instance_start,
		.wait = kernel_instance_wait,
		.drain = kernel_instance_drain,
		.stop = kernel_instance_stop,
		.lost = kernel_instance_lost_count,
		.close = kernel_instance_close,
		.name = kernel_instance_backend_name,
};
