/* SPDX-License-Identifier: MIT */
/*
 * A recording of the kernel's events: chooses the backend, and runs the draining thread.
 *
 * One thread at a time owns the whole state: the opening thread until the draining thread starts,
 * then the draining thread, then the stopping thread after it has joined the draining thread.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "kernel-events/kernel-events.h"
#include "kernel-events/parts.h"

#define ROUND_MS 100
#define DYNAMIC_SCAN_MS 50 /* interval of the scans for events that programs have registered */

/* ---- options ---- */

static char *kernel_record_copy_text(const char *text)
{
	return text ? strdup(text) : NULL;
}

static int kernel_record_copy_options(
		struct kernel_record *record, const struct kernel_record_options *options)
{
	struct kernel_record_choice *choices = calloc(options->nr_choices + 1, sizeof(*choices));
	size_t i;

	record->options = *options;
	record->options.choices = choices;
	record->options.directory =
			kernel_record_copy_text(options->directory ? options->directory : "");
	record->options.hostname =
			kernel_record_copy_text(options->hostname ? options->hostname : "");
	if (!choices || !record->options.directory || !record->options.hostname)
		return -ENOMEM;
	for (i = 0; i < options->nr_choices; i++) {
		choices[i].pattern = kernel_record_copy_text(options->choices[i].pattern);
		choices[i].filter = kernel_record_copy_text(options->choices[i].filter);
		if (!choices[i].pattern || (options->choices[i].filter && !choices[i].filter))
			return -ENOMEM;
	}
	if (!options->buffer_size)
		record->options.buffer_size = KERNEL_RECORD_BUFFER_DEFAULT;
	/* perf needs a power of two. */
	for (uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);; size *= 2)
		if (size >= record->options.buffer_size || size >= (uint64_t)1 << 30) {
			record->options.buffer_size = size;
			return 0;
		}
}

static void kernel_record_free_options(struct kernel_record *record)
{
	struct kernel_record_options *options = &record->options;
	size_t i;

	/* kernel_record_copy_options() allocated all of these; free() takes no pointer to const. */
	for (i = 0; options->choices && i < options->nr_choices; i++) {
		free((void *)(uintptr_t)options->choices[i].pattern);
		free((void *)(uintptr_t)options->choices[i].filter);
		free((void *)(uintptr_t)options->choices[i].expression);
	}
	free((void *)(uintptr_t)options->choices);
	free((void *)(uintptr_t)options->directory);
	free((void *)(uintptr_t)options->hostname);
}

/* ---- the backend ---- */

static const char *kernel_record_backend_word(const struct kernel_backend *backend)
{
	return backend == &backend_perf ? "perf" : "tracefs";
}

/* Prefer perf: the kernel frees its buffers even if the recorder is killed. */
static int kernel_record_choose_backend(struct kernel_record *record, struct error *error)
{
	static const struct kernel_backend *const backends[] = {&backend_perf, &backend_instance};
	enum kernel_record_backend wanted = record->options.backend;
	struct error first = {.code = 0};
	size_t i;
	int ret = 0;

	/*
	 * Clean up whichever backend is used: an abandoned instance slows down the whole machine.
	 */
	kernel_instances_clean(record);
	for (i = 0; i < 2; i++) {
		if ((wanted == KERNEL_RECORD_PERF && i) || (wanted == KERNEL_RECORD_TRACEFS && !i))
			continue;
		record->backend = backends[i];
		ret = record->backend->open(record, error);
		if (!ret && (!record->sink->chooses || record->enables_found))
			ret = kernel_classes_scan(record, false, error);
		if (!ret || ret == -EINVAL)
			break;
		record->backend->close(record);
		kernel_classes_forget(record);
		if (!first.code)
			first = *error;
	}
	if (!ret && first.code)
		(void)snprintf(record->why, sizeof(record->why), "%s", first.text);
	else if (!ret && wanted != KERNEL_RECORD_BEST)
		(void)snprintf(record->why, sizeof(record->why), "%s was requested",
				kernel_record_backend_word(record->backend));
	else if (ret && ret != -EINVAL && first.code) {
		*error = first;
		ret = first.code;
	}
	if (ret) {
		record->backend->close(record);
		record->backend = NULL;
	}
	return ret;
}

int kernel_record_prepare(const struct kernel_record_options *options,
		const struct kernel_sink *sink, const struct kernel_listener *listener,
		struct kernel_record **ret_record, struct error *error)
{
	struct kernel_record *record = calloc(1, sizeof(*record));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int ret;

	*ret_record = NULL;
	error_clear(error);
	if (!record)
		return error_set_no_memory(error);
	record->sink = sink;
	if (listener)
		record->listener = *listener;
	record->enables_found = listener && options->nr_choices;
	record->wake = record->extra_fd = record->notice = -1;
	record->nr_cpus = cpus > 0 ? (uint32_t)cpus : 1;
	record->by_id = calloc(EVENT_CLASS_IDS, sizeof(struct kernel_event_class *));
	record->tasks = tasks_create();
	record->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (kernel_record_copy_options(record, options) || !record->by_id || !record->tasks ||
			record->wake < 0)
		ret = error_set_no_memory(error);
	else
		ret = tracefs_find(record->tracefs, sizeof(record->tracefs), error);
	if (!ret)
		ret = kernel_classes_take_choices(record, error);
	if (!ret)
		ret = kernel_record_choose_backend(record, error);
	if (ret)
		kernel_record_close(record);
	else
		*ret_record = record;
	return ret;
}

int kernel_record_open(const struct kernel_record_options *options,
		struct kernel_record **ret_record, struct error *error)
{
	struct kernel_record *record;
	int ret = kernel_record_prepare(options, &sink_trace, NULL, &record, error);

	*ret_record = NULL;
	if (!ret)
		ret = kernel_trace_open(record, error);
	if (!ret)
		*ret_record = record;
	else if (record)
		kernel_record_close(record);
	return ret;
}

void kernel_record_backend(
		const struct kernel_record *record, const char **ret_backend, const char **ret_why)
{
	*ret_backend = record->backend->name(record);
	*ret_why = record->why;
}

/* ---- the draining thread ---- */

/* Scan for event classes that a program registered without a notification. */
static void kernel_record_scan_late(struct kernel_record *record)
{
	struct error ignored;
	uint64_t before = record->summary.event_classes;

	if (kernel_notice_take(record))
		return;
	kernel_classes_scan(record, true, &ignored);
	kernel_late_found(&record->late, record->summary.event_classes - before);
}

static void *kernel_record_run_thread(void *user)
{
	struct kernel_record *record = user;
	struct error ignored;
	uint64_t last_scan = 0;

	/*
	 * A recording of a command gets a record of each thread that starts; of the whole machine,
	 * the threads that already run must be read.
	 */
	if (record->options.machine)
		tasks_scan(record->tasks);
	/*
	 * Acquire: pairs with the release in kernel_record_join_thread(): the events before that
	 * store are drained.
	 */
	while (!atomic_load_explicit(&record->stop, memory_order_acquire)) {
		if (clock_monotonic_ms() - last_scan >= DYNAMIC_SCAN_MS) {
			kernel_record_scan_late(record);
			last_scan = clock_monotonic_ms();
		}
		record->backend->wait(
				record, record->waits_for_dynamic ? DYNAMIC_SCAN_MS : ROUND_MS);
		record->backend->drain(record);
		/*
		 * Accept notifications after the drain: the threads that send them are known by
		 * then.
		 */
		if (kernel_notice_take(record)) {
			kernel_classes_scan(record, true, &ignored);
			kernel_late_reported(&record->late);
			kernel_notice_answer(record);
		}
	}
	return NULL;
}

int kernel_record_start(struct kernel_record *record, struct error *error)
{
	sigset_t all, old;
	int ret;

	if (record->waits_for_dynamic)
		kernel_notice_open(record);
	ret = record->backend->start(record);

	if (ret)
		return error_set(error, ret, NULL, "cannot enable kernel events: %s",
				strerror(-ret));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&record->thread, NULL, kernel_record_run_thread, record);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		return error_set(error, -ret, NULL, "cannot start a thread: %s", strerror(ret));
	record->is_running = true;
	pthread_setname_np(record->thread, "side-kernel");
	return 0;
}

static void kernel_record_join_thread(struct kernel_record *record)
{
	uint64_t one = 1;

	if (!record->is_running)
		return;
	/* Release: pairs with the acquire in kernel_record_run_thread(). */
	atomic_store_explicit(&record->stop, true, memory_order_release);
	/* If the write fails, the thread still wakes up at the end of its round. */
	(void)!write(record->wake, &one, sizeof(one));
	pthread_join(record->thread, NULL);
	record->is_running = false;
}

void kernel_record_drain_all(struct kernel_record *record)
{
	record->backend->stop(record);
	while (record->backend->drain(record))
		;
}

const struct kernel_record_summary *kernel_record_stop(
		struct kernel_record *record, const struct ctf_clock *clock)
{
	kernel_record_join_thread(record);
	kernel_record_drain_all(record);
	kernel_trace_end(record, ring_clock_now(record->options.clock), clock);
	record->summary.late = kernel_late_all(&record->late);
	record->summary.backend = record->backend->name(record);
	record->summary.why = record->why;
	record->summary.problem = record->problem;
	record->summary.problem_hint = record->problem_hint;
	return &record->summary;
}

/* Remove the files of the directory, and the directory. */
static void kernel_record_remove_trace(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		(void)unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	(void)rmdir(path);
}

void kernel_record_discard(struct kernel_record *record)
{
	if (!record)
		return;
	kernel_record_join_thread(record);
	kernel_trace_close(record);
	kernel_record_remove_trace(record->options.directory);
	kernel_record_close(record);
}

void kernel_record_close(struct kernel_record *record)
{
	if (!record)
		return;
	kernel_record_join_thread(record);
	kernel_notice_close(record);
	if (record->backend)
		record->backend->close(record);
	kernel_trace_close(record);
	kernel_classes_free(record);
	tasks_free(record->tasks);
	free(record->losses);
	free(record->context.data);
	free(record->fields.data);
	kernel_record_free_options(record);
	if (record->wake >= 0)
		close(record->wake);
	free(record);
}
