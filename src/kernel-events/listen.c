/* SPDX-License-Identifier: MIT */
/* Each record to somebody who listens, who also says which events are switched on: no trace, and no thread. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "kernel-events/tasks.h"

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
			(struct kernel_bytes){converted->context->data, converted->context->size},
			(struct kernel_bytes){converted->fields->data, converted->fields->size});
}

/* Which events they were, the events themselves say. */
static void kernel_listen_count_lost(struct kernel_record *record, uint32_t cpu, uint64_t count)
{
	(void)cpu;
	record->lost_some = true;
	record->lost_unnamed += count;
}

static void kernel_listen_flush(struct kernel_record *record, uint32_t cpu)
{
	(void)record;
	(void)cpu;
}

const struct sink sink_listener = {
		.describe = kernel_listen_describe,
		.put = kernel_listen_deliver_event,
		.discard = kernel_listen_count_lost,
		.flush = kernel_listen_flush,
		.chooses = true,
		.gone = kernel_listen_notify_gone,
};

/* ---- losses ---- */

static uint64_t tell_losses_of(struct kernel_record *record, struct kind *kind)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < record->nr_cpus; i++) {
		uint64_t lost = record->way->lost(record, kind, i);

		if (lost <= kind->told[i])
			continue;
		record->listener.lost(record->listener.user, &kind->event, i, lost - kind->told[i]);
		sum += lost - kind->told[i];
		kind->told[i] = lost;
	}
	return sum;
}

/* Kernels before Linux 6.0 do not say of which events they were. */
static void tell_losses(struct kernel_record *record)
{
	uint64_t told = 0;
	struct kind *kind;

	for (kind = record->kinds; kind; kind = kind->next)
		if (kind->on || record->way == &way_instance)
			told += tell_losses_of(record, kind);
	if (record->lost_unnamed > record->lost_named + told) {
		record->listener.lost(record->listener.user, NULL, 0,
				record->lost_unnamed - record->lost_named - told);
		record->lost_named = record->lost_unnamed;
	} else {
		record->lost_named += told;
	}
	record->lost_some = false;
}

/* ---- what is wanted ---- */

static void free_choices(struct kernel_record_choice *choices, size_t nr)
{
	size_t i;

	for (i = 0; choices && i < nr; i++) {
		free((void *)(uintptr_t)choices[i].pattern);
		free((void *)(uintptr_t)choices[i].expression);
	}
	free(choices);
}

static bool copy_choice(
		struct kernel_record_choice *copy, const struct kernel_record_choice *choice)
{
	copy->pattern = strdup(choice->pattern);
	copy->expression = choice->expression ? strdup(choice->expression) : NULL;
	return copy->pattern && (copy->expression || !choice->expression);
}

/* What was asked of the kernel until now may be less than what is wanted. */
static void ask_more(struct kernel_record *record)
{
	struct kernel_record_error ignored;
	struct kind *kind;

	for (kind = record->kinds; kind; kind = kind->next) {
		if (!kind->on || !kernel_ask_more(record, kind))
			continue;
		/* Else without asking; between the two there is a moment. */
		(void)kernel_listen_switch(record, &kind->event, false, &ignored);
		kernel_ask_end(kind);
		if (!record->way->add(record, kind, &ignored))
			kind->on = true;
	}
}

int kernel_listen_open(const struct kernel_record_options *options,
		const struct kernel_listener *listener, struct kernel_record **result,
		struct kernel_record_error *error)
{
	struct kernel_record_options machine = *options;
	struct kernel_record *record;
	int ret;

	machine.machine |= !options->nr_choices;
	ret = kernel_record_prepare(&machine, &sink_listener, listener, &record, error);
	*result = NULL;
	if (ret)
		return ret;
	ret = record->way->start(record);
	if (ret) {
		kernel_record_close(record);
		return record_fail(error, ret, NULL, "cannot switch on the kernel's events: %s",
				strerror(-ret));
	}
	/* Of a command all is heard of. */
	if (machine.machine)
		tasks_look_around(record->tasks);
	kernel_notice_open(record);
	*result = record;
	return 0;
}

int kernel_listen_choose(struct kernel_record *record, const struct kernel_record_choice *choices,
		size_t nr, struct kernel_record_error *error)
{
	struct kernel_record_choice *copy = calloc(nr + 1, sizeof(*copy));
	size_t i;
	int ret;

	for (i = 0; copy && i < nr; i++) {
		if (!copy_choice(&copy[i], &choices[i])) {
			free_choices(copy, i + 1);
			copy = NULL;
		}
	}
	if (!copy)
		return record_fail(error, -ENOMEM, NULL, "out of memory");
	/* All of these were made here, or by copy_options(). */
	free_choices((struct kernel_record_choice *)(uintptr_t)record->options.choices,
			record->options.nr_choices);
	record->options.choices = copy;
	record->options.nr_choices = nr;
	ret = kernel_kinds_take_choices(record, error);
	if (ret)
		return ret;
	ask_more(record);
	return kernel_kinds_look(record, false, error);
}

bool kernel_listen_look(struct kernel_record *record)
{
	struct kernel_record_error ignored;

	(void)kernel_kinds_look(record, true, &ignored);
	return record->waits_for_late;
}

bool kernel_listen_is_told(struct kernel_record *record)
{
	return kernel_notice_take(record);
}

void kernel_listen_seen(struct kernel_record *record)
{
	kernel_notice_answer(record);
}

/* ---- switching ---- */

static struct kind *kernel_listen_find_class(
		struct kernel_record *record, const struct kernel_event *event)
{
	struct kind *kind = record->kinds;

	while (kind && &kind->event != event)
		kind = kind->next;
	return kind;
}

int kernel_listen_switch(struct kernel_record *record, const struct kernel_event *event, bool on,
		struct kernel_record_error *error)
{
	struct kind *kind = kernel_listen_find_class(record, event);
	int ret = 0;

	if (!kind || kind->on == on)
		return 0;
	if (on) {
		kernel_ask_begin(record, kind);
		ret = record->way->add(record, kind, error);
		/* It is a help, and no condition. */
		if (ret && kind->asked) {
			kernel_ask_end(kind);
			ret = record->way->add(record, kind, error);
		}
	} else {
		(void)tell_losses_of(record, kind);
		memset(kind->told, 0, record->nr_cpus * sizeof(*kind->told));
		record->way->remove(record, kind);
		kernel_ask_end(kind);
	}
	kind->on = on && !ret;
	return ret;
}

void kernel_listen_each(struct kernel_record *record,
		void (*call)(void *user, const struct kernel_event *event, bool on), void *user)
{
	const struct kind *kind;

	for (kind = record->kinds; kind; kind = kind->next)
		call(user, &kind->event, kind->on);
}

/* ---- listening ---- */

void kernel_listen_wait(struct kernel_record *record, int fd, int timeout_ms)
{
	record->also = fd;
	record->way->wait(record, timeout_ms);
}

bool kernel_listen_knows(const struct kernel_record *record, const char *pattern)
{
	return kernel_kinds_knows(record, pattern);
}

bool kernel_listen_drain(struct kernel_record *record, bool losses)
{
	bool found = record->way->drain(record);

	if (losses || record->lost_some || (found && record->way == &way_instance))
		tell_losses(record);
	return found;
}

uint32_t kernel_listen_filtered(const struct kernel_record *record)
{
	const struct kind *kind;
	uint32_t nr = 0;

	for (kind = record->kinds; kind; kind = kind->next)
		nr += kind->on && kind->asked;
	return nr;
}

uint64_t kernel_listen_kinds(const struct kernel_record *record)
{
	return record->summary.kinds;
}

const struct kernel_record_summary *kernel_listen_end(struct kernel_record *record)
{
	kernel_record_drain_all(record);
	tell_losses(record);
	record->summary.way = record->way->name(record);
	record->summary.why = record->why;
	record->summary.problem = record->problem;
	record->summary.problem_hint = record->problem_hint;
	return &record->summary;
}
