/* SPDX-License-Identifier: MIT */
/*
 * Passes each record to a listener, which also chooses the events that are enabled: without a trace
 * and without a thread.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "kernel-events/kernel-events.h"
#include "kernel-events/parts.h"

/* ---- the sink ---- */

static int kernel_listen_describe(struct kernel_record *record, struct kernel_event *event)
{
	return record->listener.found(record->listener.user, event);
}

static void kernel_listen_notify_gone(struct kernel_record *record, struct kernel_event *event)
{
	record->listener.gone(record->listener.user, event);
}

static void kernel_listen_deliver_event(struct kernel_record *record,
		const struct kernel_event *event, const struct converted *converted)
{
	const struct kernel_moment moment = {
			.ticks = converted->ticks,
			.cpu = converted->cpu,
			.pid = converted->pid,
			.tid = converted->tid,
			.comm = converted->comm,
	};

	record->listener.record(record->listener.user, event, &moment,
			(struct kernel_payload){converted->context->data, converted->context->size},
			(struct kernel_payload){converted->fields->data, converted->fields->size});
}

/* The events are not known here; kernel_listen_report_losses() reads their own counters. */
static void kernel_listen_count_lost(struct kernel_record *record, uint32_t cpu, uint64_t count)
{
	(void)cpu;
	record->has_new_losses = true;
	record->lost_unnamed += count;
}

static void kernel_listen_flush(struct kernel_record *record, uint32_t cpu)
{
	(void)record;
	(void)cpu;
}

const struct kernel_sink sink_listener = {
		.describe = kernel_listen_describe,
		.put = kernel_listen_deliver_event,
		.discard = kernel_listen_count_lost,
		.flush = kernel_listen_flush,
		.chooses = true,
		.gone = kernel_listen_notify_gone,
};

/* ---- losses ---- */

static uint64_t kernel_listen_report_losses_of(
		struct kernel_record *record, struct kernel_event_class *event_class)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < record->nr_cpus; i++) {
		uint64_t lost = record->backend->lost(record, event_class, i);

		if (lost <= event_class->reported[i])
			continue;
		record->listener.lost(record->listener.user, &event_class->event, i,
				lost - event_class->reported[i]);
		sum += lost - event_class->reported[i];
		event_class->reported[i] = lost;
	}
	return sum;
}

/*
 * Report new losses by event. Kernels before Linux 6.0 do not count losses by event: the remainder
 * is reported without an event.
 */
static void kernel_listen_report_losses(struct kernel_record *record)
{
	uint64_t reported = 0;
	struct kernel_event_class *event_class;

	for (event_class = record->event_classes; event_class; event_class = event_class->next)
		if (event_class->on || record->backend == &backend_instance)
			reported += kernel_listen_report_losses_of(record, event_class);
	if (record->lost_unnamed > record->lost_named + reported) {
		record->listener.lost(record->listener.user, NULL, 0,
				record->lost_unnamed - record->lost_named - reported);
		record->lost_named = record->lost_unnamed;
	} else {
		record->lost_named += reported;
	}
	record->has_new_losses = false;
}

/* ---- choices ---- */

static void kernel_listen_free_choices(struct kernel_record_choice *choices, size_t nr)
{
	size_t i;

	for (i = 0; choices && i < nr; i++) {
		free((void *)(uintptr_t)choices[i].pattern);
		free((void *)(uintptr_t)choices[i].expression);
	}
	free(choices);
}

static bool kernel_listen_copy_choice(
		struct kernel_record_choice *ret_copy, const struct kernel_record_choice *choice)
{
	ret_copy->pattern = strdup(choice->pattern);
	ret_copy->expression = choice->expression ? strdup(choice->expression) : NULL;
	return ret_copy->pattern && (ret_copy->expression || !choice->expression);
}

/* Widen the kernel's filters: the new choices may accept more than the previous ones. */
static void kernel_listen_widen_filters(struct kernel_record *record)
{
	struct error ignored;
	struct kernel_event_class *event_class;

	for (event_class = record->event_classes; event_class; event_class = event_class->next) {
		if (!event_class->on || !kernel_filter_widen(record, event_class))
			continue;
		/*
		 * The filter cannot be widened: enable the event without one. Events are lost
		 * between the two calls.
		 */
		(void)kernel_listen_switch(record, &event_class->event, false, &ignored);
		kernel_filter_drop(event_class);
		if (!record->backend->add(record, event_class, &ignored))
			event_class->on = true;
	}
}

int kernel_listen_open(const struct kernel_record_options *options,
		const struct kernel_listener *listener, struct kernel_record **ret_record,
		struct error *error)
{
	struct kernel_record_options machine = *options;
	struct kernel_record *record;
	int ret;

	machine.machine |= !options->nr_choices;
	ret = kernel_record_prepare(&machine, &sink_listener, listener, &record, error);
	*ret_record = NULL;
	if (ret)
		return ret;
	ret = record->backend->start(record);
	if (ret) {
		kernel_record_close(record);
		return error_set(error, ret, NULL, "cannot enable kernel events: %s",
				strerror(-ret));
	}
	/*
	 * A listener to a command gets a record of each thread that starts; of the whole machine,
	 * the threads that already run must be read.
	 */
	if (machine.machine)
		tasks_scan(record->tasks);
	kernel_notice_open(record);
	*ret_record = record;
	return 0;
}

int kernel_listen_choose(struct kernel_record *record, const struct kernel_record_choice *choices,
		size_t nr, struct error *error)
{
	struct kernel_record_choice *copy = calloc(nr + 1, sizeof(*copy));
	size_t i;
	int ret;

	for (i = 0; copy && i < nr; i++) {
		if (!kernel_listen_copy_choice(&copy[i], &choices[i])) {
			kernel_listen_free_choices(copy, i + 1);
			copy = NULL;
		}
	}
	if (!copy)
		return error_set_no_memory(error);
	/* Allocated by this function or by copy_options(); free() takes no pointer to const. */
	kernel_listen_free_choices(
			(struct kernel_record_choice *)(uintptr_t)record->options.choices,
			record->options.nr_choices);
	record->options.choices = copy;
	record->options.nr_choices = nr;
	ret = kernel_classes_take_choices(record, error);
	if (ret)
		return ret;
	kernel_listen_widen_filters(record);
	return kernel_classes_scan(record, false, error);
}

bool kernel_listen_scan(struct kernel_record *record)
{
	struct error ignored;

	(void)kernel_classes_scan(record, true, &ignored);
	return record->waits_for_dynamic;
}

bool kernel_listen_is_notified(struct kernel_record *record)
{
	return kernel_notice_take(record);
}

void kernel_listen_seen(struct kernel_record *record)
{
	kernel_notice_answer(record);
}

/* ---- enabling ---- */

static struct kernel_event_class *kernel_listen_find_class(
		struct kernel_record *record, const struct kernel_event *event)
{
	struct kernel_event_class *event_class = record->event_classes;

	while (event_class && &event_class->event != event)
		event_class = event_class->next;
	return event_class;
}

int kernel_listen_switch(struct kernel_record *record, const struct kernel_event *event, bool on,
		struct error *error)
{
	struct kernel_event_class *event_class = kernel_listen_find_class(record, event);
	int ret = 0;

	if (!event_class || event_class->on == on)
		return 0;
	if (on) {
		kernel_filter_set(record, event_class);
		ret = record->backend->add(record, event_class, error);
		/* The filter only saves work: enable the event without it. */
		if (ret && event_class->combined) {
			kernel_filter_drop(event_class);
			ret = record->backend->add(record, event_class, error);
		}
	} else {
		(void)kernel_listen_report_losses_of(record, event_class);
		memset(event_class->reported, 0, record->nr_cpus * sizeof(*event_class->reported));
		record->backend->remove(record, event_class);
		kernel_filter_drop(event_class);
	}
	event_class->on = on && !ret;
	return ret;
}

void kernel_listen_each(struct kernel_record *record,
		void (*call)(void *user, const struct kernel_event *event, bool on), void *user)
{
	const struct kernel_event_class *event_class;

	for (event_class = record->event_classes; event_class; event_class = event_class->next)
		call(user, &event_class->event, event_class->on);
}

/* ---- listening ---- */

void kernel_listen_wait(struct kernel_record *record, int fd, int timeout_ms)
{
	record->extra_fd = fd;
	record->backend->wait(record, timeout_ms);
}

bool kernel_listen_knows(const struct kernel_record *record, const char *pattern)
{
	return kernel_classes_know(record, pattern);
}

bool kernel_listen_drain(struct kernel_record *record, bool losses)
{
	bool found = record->backend->drain(record);

	if (losses || record->has_new_losses || (found && record->backend == &backend_instance))
		kernel_listen_report_losses(record);
	return found;
}

uint32_t kernel_listen_filtered(const struct kernel_record *record)
{
	const struct kernel_event_class *event_class;
	uint32_t nr = 0;

	for (event_class = record->event_classes; event_class; event_class = event_class->next)
		nr += event_class->on && event_class->combined;
	return nr;
}

uint64_t kernel_listen_classes(const struct kernel_record *record)
{
	return record->summary.event_classes;
}

const struct kernel_record_summary *kernel_listen_end(struct kernel_record *record)
{
	kernel_record_drain_all(record);
	kernel_listen_report_losses(record);
	record->summary.backend = record->backend->name(record);
	record->summary.why = record->why;
	record->summary.problem = record->problem;
	record->summary.problem_hint = record->problem_hint;
	return &record->summary;
}
