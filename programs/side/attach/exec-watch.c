/* SPDX-License-Identifier: MIT */
/*
 * The helper process of the daemon that attaches to programs when they execute a file
 * (sessions/exec-watch.h).
 *
 * The kernel (fanotify) delays each exec of a watched file until this process has answered. It
 * answers as soon as a process of its own has seized the thread (attach/exec.h), and after ANSWER_MAX_MS
 * in any case. If this process ends, the kernel answers. The daemon's supervisor kills it if it does
 * not write its pulse.
 *
 * Where the kernel refuses fanotify, it reports each exec of the machine instead (the proc
 * connector), and programs are attached to while they run.
 *
 * This process does not raise its priority, although programs wait for it: where the kernel shares
 * the processors between groups of processes, it would take them from the rest of its group, the
 * daemon and the processes that attach, for seconds.
 */
#include "attach/exec.h"
#include "attach/inject.h"
#include "exec-watch.h"
#include "sessions/exec-events.h"
#include "sessions/exec-watch.h"

#include "recorder/core/session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define ANSWER_MAX_MS 250 /* the longest delay of an exec */
#define EXEC_ATTEMPTS 16  /* programs that are attached to at the same time */
#define EXEC_ATTEMPTS_PER_PROCESSOR 2
#define EXEC_WAITING_MAX 64  /* delayed programs that wait for one of these */
#define EVENTS_SIZE 8192     /* bytes of changes of files */
#define PROCESSES_AT_ONCE 64 /* reports of the proc connector */
#define EVENTS_AT_ONCE 64    /* execs that are read at once, each with a descriptor */
_Static_assert(EVENTS_AT_ONCE + EXEC_WAITING_MAX + 2 * EXEC_ATTEMPTS + 32 < EXEC_WATCH_DESCRIPTORS,
		"the kernel refuses no exec");
/* A file of this path can exist now. */
#define DIRECTORY_EVENTS \
	(IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
/* The path can lead to another file, or the file has changed. A link count is an attribute. */
#define FILE_EVENTS (IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF)

struct watched_file {
	char *path;
	/* the inotify watch of the file, or of its nearest directory if it is missing; or -1 */
	int change;
	bool is_directory;
	bool is_awaited; /* it is missing, and the kernel delays each exec in its directory */
	bool is_marked;
	struct stat status; /* of the marked file */
	char reason[256];   /* why no program of it can be attached to */
	bool is_reported;   /* the daemon knows the reason, and whether the file is marked */
	/* results that the daemon does not know, and the last reason */
	unsigned int nr_attached, nr_joined, nr_failed;
	char failure[INJECT_TEXT_MAX + INJECT_HINT_MAX + 4];
};

/* An exec that the kernel delays, or a program that is attached to. */
struct exec_attempt {
	int event;         /* the descriptor of the kernel's event; -1: answered */
	int report;        /* of inject_exec_begin(); -1: none */
	pid_t child;       /* its process */
	pid_t thread;      /* that executes the file */
	uint64_t deadline; /* of the answer */
	struct stat status;
	char *path;
};

struct exec_watch {
	int kernel, changes; /* fanotify or the proc connector, and inotify */
	bool is_after;       /* the kernel reports execs, and does not delay them */
	char *agent, *libside;
	char socket[128], argument[160];
	struct watched_file files[EXEC_WATCH_FILES_MAX], next[EXEC_WATCH_FILES_MAX];
	size_t nr_files, nr_next;
	struct exec_attempt attempts[EXEC_ATTEMPTS], waiting[EXEC_WAITING_MAX];
	size_t nr_waiting;
	size_t nr_attempts; /* at the same time: EXEC_ATTEMPTS at most */
	char ready[32];     /* the serial that the daemon must be sent; "": none */
	uint64_t checked;   /* when the files were compared with the marks */
	bool is_alive;      /* the last pulse */
};

/* ---- messages to the daemon ---- */

static int exec_watch_report(const char *what, const char *path, const char *first, const char *why)
{
	const char *const texts[] = {what, path, first, why, NULL};

	return exec_watch_send(EXEC_WATCH_SOCKET, texts);
}

static void exec_watch_report_results(struct watched_file *file)
{
	char numbers[64];

	if (!file->nr_attached && !file->nr_joined && !file->nr_failed)
		return;
	(void)snprintf(numbers, sizeof(numbers), "%u %u %u", file->nr_attached, file->nr_joined,
			file->nr_failed);
	if (!exec_watch_report("results", file->path, numbers, file->failure))
		file->nr_attached = file->nr_joined = file->nr_failed = 0;
}

/* What does not fit into the queue is sent later. */
static void exec_watch_flush(struct exec_watch *watch)
{
	for (size_t i = 0; i < watch->nr_files; i++) {
		struct watched_file *file = &watch->files[i];

		if (!file->is_reported)
			file->is_reported = !exec_watch_report("state", file->path, file->reason,
					file->is_marked ? "1" : "0");
		exec_watch_report_results(file);
	}
	if (*watch->ready && !exec_watch_report("ready", watch->ready, NULL, NULL))
		*watch->ready = '\0';
}

static void exec_watch_pulse(struct exec_watch *watch)
{
	const char state = watch->nr_files ? EXEC_WATCH_ALIVE : EXEC_WATCH_IDLE;

	/* A full pipe has enough pulses. */
	if ((watch->nr_files || watch->is_alive) && write(EXEC_WATCH_PULSE, &state, 1) < 0 &&
			errno == EPIPE)
		_exit(EXIT_FAILURE);
	watch->is_alive = watch->nr_files;
}

/* ---- answers to the kernel ---- */

static void exec_watch_answer(const struct exec_watch *watch, struct exec_attempt *attempt)
{
	const struct fanotify_response response = {.fd = attempt->event, .response = FAN_ALLOW};

	if (attempt->event < 0)
		return;
	while (write(watch->kernel, &response, sizeof(response)) < 0 && errno == EINTR)
		;
	close(attempt->event);
	attempt->event = -1;
}

static void exec_watch_drop(const struct exec_watch *watch, struct exec_attempt *attempt)
{
	exec_watch_answer(watch, attempt);
	free(attempt->path);
	attempt->path = NULL;
}

/* ---- programs ---- */

/* The file of an attempt, unless it has left the list. */
static struct watched_file *exec_watch_file_of(
		struct exec_watch *watch, const struct exec_attempt *attempt)
{
	for (size_t i = 0; i < watch->nr_files; i++)
		if (!strcmp(watch->files[i].path, attempt->path))
			return &watch->files[i];
	return NULL;
}

static void exec_watch_count_failure(
		struct exec_watch *watch, const struct exec_attempt *attempt, const char *why)
{
	struct watched_file *file = exec_watch_file_of(watch, attempt);

	if (!file)
		return;
	file->nr_failed++;
	(void)snprintf(file->failure, sizeof(file->failure), "%s", why);
}

static void exec_watch_count(struct exec_watch *watch, const struct exec_attempt *attempt,
		const struct inject_report *report)
{
	char why[INJECT_TEXT_MAX + INJECT_HINT_MAX + 4];
	struct watched_file *file = exec_watch_file_of(watch, attempt);
	int result = report->result == -EALREADY ? 0 : report->result;

	if (!file || report->kind == INJECT_GONE)
		return;
	if (report->kind == INJECT_DONE && report->was_loaded && !report->stops) {
		file->nr_joined++;
	} else if (report->kind == INJECT_DONE && !result) {
		file->nr_attached++;
	} else if (report->kind == INJECT_DONE) {
		(void)snprintf(why, sizeof(why), "%d cannot reach the daemon: %s", attempt->thread,
				strerror(-result));
		exec_watch_count_failure(watch, attempt, why);
	} else {
		(void)snprintf(why, sizeof(why), "%s%s%s", report->text, *report->hint ? "; " : "",
				report->hint);
		exec_watch_count_failure(watch, attempt, why);
	}
}

/* The first byte permits the exec; then comes the report. */
static void exec_watch_continue(struct exec_watch *watch, struct exec_attempt *attempt)
{
	struct inject_report report;
	char byte;

	if (attempt->event >= 0 && read(attempt->report, &byte, 1) == 1) {
		exec_watch_answer(watch, attempt);
		return;
	}
	exec_watch_answer(watch, attempt);
	inject_end(attempt->report, attempt->child, &report);
	attempt->report = -1;
	exec_watch_count(watch, attempt, &report);
	exec_watch_drop(watch, attempt);
}

/* The time is over: the process that attaches must not seize a program that runs already. */
static void exec_watch_give_up(struct exec_watch *watch, struct exec_attempt *attempt)
{
	exec_watch_answer(watch, attempt);
	if (attempt->report >= 0) {
		struct inject_report report;

		(void)kill(attempt->child, SIGKILL);
		inject_end(attempt->report, attempt->child, &report);
		attempt->report = -1;
	}
	exec_watch_count_failure(watch, attempt, "too many programs start at the same time");
	exec_watch_drop(watch, attempt);
}

static void exec_watch_begin(struct exec_watch *watch, struct exec_attempt *attempt)
{
	const struct inject_request request = {.agent = watch->agent,
			.libside = watch->libside,
			.function = "side_agent_request",
			.argument = watch->argument};
	const struct inject_exec exec = {.thread = attempt->thread,
			.device = attempt->status.st_dev,
			.inode = attempt->status.st_ino,
			.request = &request,
			.visible = watch->socket,
			.unused = watch->kernel,
			.after = watch->is_after};

	attempt->report = inject_exec_begin(&exec, &attempt->child);
	if (attempt->report >= 0)
		return;
	exec_watch_count_failure(watch, attempt, strerror(-attempt->report));
	attempt->report = -1;
	exec_watch_drop(watch, attempt);
}

/* Starts to attach to the program that has waited longest, while there is capacity. */
static void exec_watch_begin_waiting(struct exec_watch *watch)
{
	for (size_t i = 0; i < watch->nr_attempts && watch->nr_waiting; i++) {
		struct exec_attempt *attempt = &watch->attempts[i];

		if (attempt->path)
			continue;
		*attempt = watch->waiting[0];
		watch->nr_waiting--;
		memmove(watch->waiting, watch->waiting + 1,
				watch->nr_waiting * sizeof(*watch->waiting));
		exec_watch_begin(watch, attempt);
	}
}

static void exec_watch_check_deadlines(struct exec_watch *watch, uint64_t now)
{
	for (size_t i = 0; i < EXEC_ATTEMPTS; i++)
		if (watch->attempts[i].path && watch->attempts[i].event >= 0 &&
				now >= watch->attempts[i].deadline)
			exec_watch_give_up(watch, &watch->attempts[i]);
	while (watch->nr_waiting && now >= watch->waiting[0].deadline) {
		exec_watch_give_up(watch, &watch->waiting[0]);
		watch->nr_waiting--;
		memmove(watch->waiting, watch->waiting + 1,
				watch->nr_waiting * sizeof(*watch->waiting));
	}
}

/* ---- files ---- */

static bool exec_watch_uses(const struct exec_watch *watch, int change)
{
	for (size_t i = 0; i < watch->nr_files; i++)
		if (watch->files[i].change == change)
			return true;
	return false;
}

static void exec_watch_unwatch_changes(struct exec_watch *watch, struct watched_file *file)
{
	int change = file->change;

	file->change = -1;
	if (change >= 0 && !exec_watch_uses(watch, change))
		(void)inotify_rm_watch(watch->changes, change);
}

/* Removes the last name of a path. Returns false if there is none. */
static bool exec_watch_to_directory(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !slash[1])
		return false;
	slash[slash == path] = '\0';
	return true;
}

/* The nearest directory that exists: the missing ones can be created in it. */
static void exec_watch_watch_directory(struct exec_watch *watch, struct watched_file *file)
{
	char path[PATH_MAX];
	int change = -1;

	(void)snprintf(path, sizeof(path), "%s", file->path);
	while (change < 0 && exec_watch_to_directory(path))
		change = inotify_add_watch(watch->changes, path, DIRECTORY_EVENTS);
	if (change == file->change)
		return;
	exec_watch_unwatch_changes(watch, file);
	file->change = change;
	file->is_directory = true;
}

/* A directory has many more events than a file, so it is watched only if there is no file. */
static void exec_watch_watch_changes(struct exec_watch *watch, struct watched_file *file)
{
	if (file->change >= 0 && !file->is_directory)
		return;
	exec_watch_unwatch_changes(watch, file);
	file->is_directory = false;
	file->change = inotify_add_watch(watch->changes, file->path, FILE_EVENTS);
}

/* The proc connector needs no marks. */
static int exec_watch_mark(
		const struct exec_watch *watch, unsigned int how, uint64_t events, const char *path)
{
	return watch->is_after ? 0 : fanotify_mark(watch->kernel, how, events, AT_FDCWD, path);
}

static void exec_watch_mark_directory(
		struct exec_watch *watch, const struct watched_file *file, unsigned int how)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s", file->path);
	if (exec_watch_to_directory(path))
		(void)exec_watch_mark(watch, how | FAN_MARK_ONLYDIR,
				FAN_OPEN_EXEC_PERM | FAN_EVENT_ON_CHILD, path);
}

/*
 * A program that is executed as soon as the file exists is then not missed. This is repeated:
 * another directory can have this path.
 */
static void exec_watch_await(struct exec_watch *watch, struct watched_file *file)
{
	exec_watch_mark_directory(watch, file, FAN_MARK_ADD);
	file->is_awaited = true;
}

static bool exec_watch_is_beside(const struct watched_file *file, const struct watched_file *other)
{
	size_t length = (size_t)(strrchr(file->path, '/') - file->path);

	return !strncmp(file->path, other->path, length + 1) &&
			!strchr(other->path + length + 1, '/');
}

static void exec_watch_await_no_more(struct exec_watch *watch, struct watched_file *file)
{
	if (!file->path || !file->is_awaited)
		return;
	file->is_awaited = false;
	for (size_t i = 0; i < watch->nr_files; i++)
		if (watch->files[i].path && watch->files[i].is_awaited &&
				exec_watch_is_beside(file, &watch->files[i]))
			return;
	exec_watch_mark_directory(watch, file, FAN_MARK_REMOVE);
}

static bool exec_watch_is_changed(const struct watched_file *file, const struct stat *status)
{
	return !file->is_marked || file->status.st_dev != status->st_dev ||
			file->status.st_ino != status->st_ino ||
			file->status.st_size != status->st_size ||
			file->status.st_ctim.tv_sec != status->st_ctim.tv_sec ||
			file->status.st_ctim.tv_nsec != status->st_ctim.tv_nsec;
}

static void exec_watch_set_state(struct watched_file *file, bool is_marked, const char *reason)
{
	if (file->is_marked != is_marked || strcmp(file->reason, reason) != 0)
		file->is_reported = false;
	file->is_marked = is_marked;
	(void)snprintf(file->reason, sizeof(file->reason), "%s", reason);
}

static bool exec_watch_exists(const struct watched_file *file, struct stat *ret_status)
{
	return !stat(file->path, ret_status) && S_ISREG(ret_status->st_mode);
}

/*
 * Programs are known by the path of the file that they execute. One that is reached by a link has
 * another path, so it would get the agent, but no probe.
 */
static bool exec_watch_is_linked(const struct watched_file *file, char *ret_reason, size_t capacity)
{
	char *target = realpath(file->path, NULL);
	bool is_linked = target && strcmp(target, file->path) != 0;

	if (is_linked)
		(void)snprintf(ret_reason, capacity,
				"it is reached by a symbolic link; name the file %s", target);
	free(target);
	return is_linked;
}

/* Returns false, with the reason, if the kernel does not report the execs of the file. */
static bool exec_watch_mark_file(const struct exec_watch *watch, const struct watched_file *file,
		char *ret_reason, size_t capacity)
{
	if (exec_watch_is_linked(file, ret_reason, capacity))
		return false;
	if (!exec_watch_mark(watch, FAN_MARK_ADD, FAN_OPEN_EXEC_PERM, file->path))
		return true;
	(void)snprintf(ret_reason, capacity, "it cannot be watched: %s", strerror(errno));
	return false;
}

static void exec_watch_check_programs(const struct exec_watch *watch,
		const struct watched_file *file, char *ret_reason, size_t capacity)
{
	int opened;

	if (!watch->agent || !watch->libside) {
		(void)snprintf(ret_reason, capacity,
				"libside-agent.so or libside.so.0 is not installed beside the daemon");
		return;
	}
	opened = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (opened < 0)
		return;
	(void)inject_exec_suits(opened, ret_reason, capacity);
	close(opened);
}

/* Marks the file if the path leads to another one than before, and checks it. */
static void exec_watch_check_file(struct exec_watch *watch, struct watched_file *file)
{
	char reason[sizeof(file->reason)] = "";
	struct stat status;
	bool is_marked;

	if (!exec_watch_exists(file, &status)) {
		exec_watch_watch_directory(watch, file);
		exec_watch_await(watch, file);
		/* It can have been created before its directory was watched. */
		if (!exec_watch_exists(file, &status)) {
			exec_watch_set_state(file, false, "");
			return;
		}
	}
	if (!exec_watch_is_changed(file, &status))
		return;
	/* Another file can have this path now. */
	exec_watch_unwatch_changes(watch, file);
	exec_watch_watch_changes(watch, file);
	file->status = status;
	is_marked = exec_watch_mark_file(watch, file, reason, sizeof(reason));
	exec_watch_await_no_more(watch, file);
	if (is_marked)
		exec_watch_check_programs(watch, file, reason, sizeof(reason));
	exec_watch_set_state(file, is_marked, reason);
}

static void exec_watch_check_files(struct exec_watch *watch)
{
	watch->checked = clock_monotonic_ns();
	for (size_t i = 0; i < watch->nr_files; i++)
		exec_watch_check_file(watch, &watch->files[i]);
}

static void exec_watch_read_changes(struct exec_watch *watch)
{
	_Alignas(struct inotify_event) char buffer[EVENTS_SIZE];
	ssize_t size = read(watch->changes, buffer, sizeof(buffer)), at = 0;

	while (at < size) {
		const struct inotify_event *event = (const void *)(buffer + at);

		at += (ssize_t)(sizeof(*event) + event->len);
		if (!(event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)))
			continue;
		for (size_t i = 0; i < watch->nr_files; i++)
			if (watch->files[i].change == event->wd)
				watch->files[i].change = -1;
	}
	exec_watch_check_files(watch);
}

/* ---- events of the kernel ---- */

static const struct watched_file *exec_watch_find(
		const struct exec_watch *watch, const struct stat *status)
{
	for (size_t i = 0; i < watch->nr_files; i++) {
		const struct watched_file *file = &watch->files[i];

		if (file->is_marked && file->status.st_dev == status->st_dev &&
				file->status.st_ino == status->st_ino)
			return file;
	}
	return NULL;
}

/* A program that executes a file which was missing a moment ago. */
static const struct watched_file *exec_watch_find_awaited(
		struct exec_watch *watch, const struct stat *status)
{
	struct stat now;

	for (size_t i = 0; i < watch->nr_files; i++) {
		struct watched_file *file = &watch->files[i];

		if (!file->is_awaited || !exec_watch_exists(file, &now) ||
				now.st_dev != status->st_dev || now.st_ino != status->st_ino)
			continue;
		exec_watch_check_file(watch, file);
		return file->is_marked ? file : NULL;
	}
	return NULL;
}

/* `executed` is the open file. */
static void exec_watch_take(struct exec_watch *watch, struct exec_attempt *attempt, int executed)
{
	const struct watched_file *file = NULL;
	char reason[sizeof(file->reason)];

	attempt->deadline = clock_monotonic_ns() + ANSWER_MAX_MS * CLOCK_NS_PER_MS;
	if (!fstat(executed, &attempt->status)) {
		file = exec_watch_find(watch, &attempt->status);
		file = file ? file : exec_watch_find_awaited(watch, &attempt->status);
	}
	/* The file can have been written since it was marked. */
	if (file && attempt->thread > 0 && watch->agent && watch->libside &&
			inject_exec_suits(executed, reason, sizeof(reason)))
		attempt->path = strdup(file->path);
	if (attempt->path && watch->nr_waiting == EXEC_WAITING_MAX)
		exec_watch_give_up(watch, attempt);
	else if (attempt->path)
		watch->waiting[watch->nr_waiting++] = *attempt;
	else
		exec_watch_drop(watch, attempt);
}

static void exec_watch_take_event(
		struct exec_watch *watch, const struct fanotify_event_metadata *event)
{
	struct exec_attempt attempt = {.event = event->fd, .report = -1, .thread = event->pid};

	if (event->fd >= 0)
		exec_watch_take(watch, &attempt, event->fd);
}

/* A process has executed a file: another one, nearly always. */
static void exec_watch_take_process(struct exec_watch *watch, pid_t pid)
{
	struct exec_attempt attempt = {.event = -1, .report = -1, .thread = pid};
	char path[64];
	int executed;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	executed = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (executed < 0)
		return;
	exec_watch_take(watch, &attempt, executed);
	close(executed);
}

/* Programs that the kernel has not reported can be of any file. */
static void exec_watch_lose_reports(struct exec_watch *watch)
{
	for (size_t i = 0; i < watch->nr_files; i++) {
		watch->files[i].nr_failed++;
		(void)snprintf(watch->files[i].failure, sizeof(watch->files[i].failure),
				"too many programs start at the same time: the kernel has lost reports of them");
	}
}

static void exec_watch_read_processes(struct exec_watch *watch)
{
	pid_t pid = 1;

	for (int i = 0; i < PROCESSES_AT_ONCE && pid > 0; i++) {
		pid = exec_events_next(watch->kernel);
		if (pid > 0 && watch->nr_files)
			exec_watch_take_process(watch, pid);
		else if (pid == -ENOBUFS)
			exec_watch_lose_reports(watch);
	}
}

static void exec_watch_read_events(struct exec_watch *watch)
{
	struct fanotify_event_metadata events[EVENTS_AT_ONCE], *event = events;
	ssize_t size = read(watch->kernel, events, sizeof(events));

	while (size > 0 && FAN_EVENT_OK(event, size)) {
		exec_watch_take_event(watch, event);
		event = FAN_EVENT_NEXT(event, size);
	}
}

/* ---- the list of files ---- */

static void exec_watch_add_next(struct exec_watch *watch, const char *path)
{
	char *copy = *path == '/' && watch->nr_next < EXEC_WATCH_FILES_MAX ? strdup(path) : NULL;

	if (copy)
		watch->next[watch->nr_next++] = (struct watched_file){.path = copy, .change = -1};
}

static void exec_watch_forget_next(struct exec_watch *watch)
{
	while (watch->nr_next)
		free(watch->next[--watch->nr_next].path);
}

/* A file that is in both lists keeps its mark. */
static void exec_watch_remove_file(struct exec_watch *watch, struct watched_file *file)
{
	for (size_t i = 0; i < watch->nr_next; i++) {
		if (strcmp(watch->next[i].path, file->path) != 0)
			continue;
		free(watch->next[i].path);
		watch->next[i] = *file;
		watch->next[i].is_reported = false;
		file->path = NULL;
		return;
	}
	exec_watch_await_no_more(watch, file);
	if (file->is_marked)
		(void)exec_watch_mark(watch, FAN_MARK_REMOVE, FAN_OPEN_EXEC_PERM, file->path);
	free(file->path);
	file->path = NULL;
}

static void exec_watch_replace(struct exec_watch *watch, const char *serial)
{
	struct watched_file former[EXEC_WATCH_FILES_MAX];
	size_t nr = watch->nr_files;

	for (size_t i = 0; i < nr; i++)
		exec_watch_remove_file(watch, &watch->files[i]);
	memcpy(former, watch->files, sizeof(former));
	memcpy(watch->files, watch->next, sizeof(watch->files));
	watch->nr_files = watch->nr_next;
	watch->nr_next = 0;
	/* A file or directory that has been renamed keeps its mark until here. */
	if (!watch->nr_files)
		(void)exec_watch_mark(watch, FAN_MARK_FLUSH, 0, NULL);
	for (size_t i = 0; i < nr; i++)
		exec_watch_unwatch_changes(watch, &former[i]);
	exec_watch_check_files(watch);
	(void)snprintf(watch->ready, sizeof(watch->ready), "%s", serial);
	exec_watch_pulse(watch);
}

static void exec_watch_hear(struct exec_watch *watch)
{
	const char *texts[EXEC_WATCH_FIELDS];
	char buffer[EXEC_WATCH_SIZE];
	int nr;

	while ((nr = exec_watch_receive(EXEC_WATCH_SOCKET, buffer, texts)) > 0) {
		if (!strcmp(texts[0], "begin")) {
			exec_watch_forget_next(watch);
			(void)snprintf(watch->socket, sizeof(watch->socket), "%s", texts[2]);
			(void)snprintf(watch->argument, sizeof(watch->argument), "daemon %s",
					watch->socket);
		} else if (!strcmp(texts[0], "file")) {
			exec_watch_add_next(watch, texts[1]);
		} else if (!strcmp(texts[0], "end")) {
			exec_watch_replace(watch, texts[1]);
		}
	}
	/* The daemon has ended. The kernel answers what is left. */
	if (nr != -EAGAIN)
		_exit(0);
}

/* ---- the loop ---- */

static int exec_watch_timeout(const struct exec_watch *watch, uint64_t now)
{
	uint64_t until = now + EXEC_WATCH_PULSE_MS * CLOCK_NS_PER_MS;
	bool waits = watch->nr_files || *watch->ready;

	for (size_t i = 0; i < EXEC_ATTEMPTS; i++) {
		const struct exec_attempt *attempt = &watch->attempts[i];

		if (!attempt->path || attempt->event < 0)
			continue;
		waits = true;
		until = attempt->deadline < until ? attempt->deadline : until;
	}
	if (watch->nr_waiting && watch->waiting[0].deadline < until)
		until = watch->waiting[0].deadline;
	if (!waits && !watch->nr_waiting)
		return -1;
	return until <= now ? 0 : (int)((until - now) / CLOCK_NS_PER_MS) + 1;
}

static void exec_watch_turn(struct exec_watch *watch)
{
	struct pollfd watched[3 + EXEC_ATTEMPTS] = {{.fd = EXEC_WATCH_SOCKET, .events = POLLIN},
			{.fd = watch->kernel, .events = POLLIN},
			{.fd = watch->changes, .events = POLLIN}};

	for (size_t i = 0; i < EXEC_ATTEMPTS; i++) {
		const struct exec_attempt *attempt = &watch->attempts[i];

		watched[3 + i].fd = attempt->path ? attempt->report : -1;
		watched[3 + i].events = POLLIN;
	}
	if (poll(watched, 3 + EXEC_ATTEMPTS, exec_watch_timeout(watch, clock_monotonic_ns())) < 0)
		return;
	for (size_t i = 0; i < EXEC_ATTEMPTS; i++)
		if (watched[3 + i].revents)
			exec_watch_continue(watch, &watch->attempts[i]);
	exec_watch_check_deadlines(watch, clock_monotonic_ns());
	if (watched[1].revents && watch->is_after)
		exec_watch_read_processes(watch);
	else if (watched[1].revents)
		exec_watch_read_events(watch);
	exec_watch_begin_waiting(watch);
	if (watched[2].revents)
		exec_watch_read_changes(watch);
	if (watched[0].revents)
		exec_watch_hear(watch);
}

static void exec_watch_loop(struct exec_watch *watch)
{
	for (;;) {
		exec_watch_turn(watch);
		if (watch->nr_files &&
				clock_monotonic_ns() - watch->checked >=
						EXEC_WATCH_PULSE_MS * CLOCK_NS_PER_MS) {
			exec_watch_check_files(watch);
			exec_watch_pulse(watch);
		}
		exec_watch_flush(watch);
	}
}

/*
 * With more attempts than the processors can serve, each takes longer, and the programs are held for
 * as long as all of them together.
 */
static size_t exec_watch_capacity(void)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN) * EXEC_ATTEMPTS_PER_PROCESSOR;

	return nr < EXEC_ATTEMPTS_PER_PROCESSOR ? EXEC_ATTEMPTS_PER_PROCESSOR
			: nr > EXEC_ATTEMPTS    ? EXEC_ATTEMPTS
						: (size_t)nr;
}

int exec_watch_run(const char *method)
{
	static struct exec_watch watch;

	prctl(PR_SET_NAME, EXEC_WATCH_NAME);
	signal(SIGPIPE, SIG_IGN);
	watch.nr_attempts = exec_watch_capacity();
	for (size_t i = 0; i < EXEC_ATTEMPTS; i++)
		watch.attempts[i] = (struct exec_attempt){.event = -1, .report = -1};
	watch.is_after = !strcmp(method, EXEC_WATCH_AFTER);
	watch.kernel = watch.is_after
			? exec_events_open()
			: fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK |
							  FAN_REPORT_TID,
					  O_RDONLY | O_LARGEFILE | O_CLOEXEC);
	watch.changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch.kernel < 0 || watch.changes < 0 ||
			fcntl(EXEC_WATCH_SOCKET, F_SETFD, FD_CLOEXEC) ||
			fcntl(EXEC_WATCH_PULSE, F_SETFD, FD_CLOEXEC) ||
			fcntl(EXEC_WATCH_PULSE, F_SETFL, O_NONBLOCK))
		return EXIT_FAILURE;
	watch.agent = session_library("libside-agent.so");
	watch.libside = session_library("libside.so.0");
	if (exec_watch_report("hello", NULL, NULL, NULL))
		return EXIT_FAILURE;
	exec_watch_loop(&watch);
	return 0;
}
