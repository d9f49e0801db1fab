/* SPDX-License-Identifier: MIT */
/* Emits events of the kernel as SIDE events: process, thread and its name, then the fields. */
#include "kernel.h"

#include "programs/replay/replay.h"
#include "ctf/type.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN_FIELDS 3 /* pid, tid, comm */
#define OWN_NAME 32

struct side_kernel_event {
	struct side_builder *builder;
	uint32_t nr_fields, nr_context; /* without OWN_FIELDS */
	struct side_arg arguments[];
};

struct side_kernel_events {
	struct scratch scratch;
	struct side_builder *hello, *lost;
	agent_replay_fn *replay;
	/* the listener's times are CLOCK_MONOTONIC, and the ring has another clock */
	bool monotonic;
	uint64_t nr_reported, nr_lost;
};

/* ---- descriptions ---- */

/*
 * The event's own fields keep their names; if one is called pid, tid or comm, the field of
 * side-kernel is renamed.
 */
static void side_kernel_event_name_own_field(
		const struct kernel_event *event, const char *name, char text[OWN_NAME])
{
	const struct ctf_type *const parts[] = {event->context, event->fields};

	(void)snprintf(text, OWN_NAME, "%s", name);
	for (size_t k = 0; k < 2; k++)
		for (uint32_t i = 0; parts[k] && i < parts[k]->member_count; i++) {
			const char *other = parts[k]->members[i].name;

			if (!strcmp(other + (*other == '_'), name))
				(void)snprintf(text, OWN_NAME, "current_%s", name);
		}
}

static void side_kernel_event_add_own_fields(
		struct side_builder *builder, const struct kernel_event *event)
{
	char name[OWN_NAME];

	side_kernel_event_name_own_field(event, "pid", name);
	(void)side_builder_add_field(builder, NULL, name,
			side_builder_integer(builder, 4, 1, SIDE_TYPE_BYTE_ORDER_HOST));
	side_kernel_event_name_own_field(event, "tid", name);
	(void)side_builder_add_field(builder, NULL, name,
			side_builder_integer(builder, 4, 1, SIDE_TYPE_BYTE_ORDER_HOST));
	side_kernel_event_name_own_field(event, "comm", name);
	(void)side_builder_add_field(builder, NULL, name,
			side_builder_string(builder, 1, SIDE_TYPE_BYTE_ORDER_HOST));
}

static struct side_builder *side_kernel_event_make_builder(const struct kernel_event *event)
{
	struct side_builder *builder = side_builder_create(event->system, event->name,
			event->level < 0 ? SIDE_LOGLEVEL_INFO : (enum side_loglevel)event->level,
			0);

	if (!builder)
		return NULL;
	side_kernel_event_add_own_fields(builder, event);
	if (!values_add_fields(builder, event->context) &&
			!values_add_fields(builder, event->fields) &&
			side_builder_register(builder) == SIDE_ERROR_OK)
		return builder;
	(void)side_builder_destroy(builder);
	return NULL;
}

static int side_kernel_event_found(void *user, struct kernel_event *described)
{
	uint32_t context = values_count(described->context),
		 fields = values_count(described->fields);
	struct side_kernel_event *event = calloc(1,
			sizeof(*event) +
					(size_t)(OWN_FIELDS + context + fields) *
							sizeof(struct side_arg));

	(void)user;
	if (!event)
		return -ENOMEM;
	event->nr_context = context;
	event->nr_fields = fields;
	event->arguments[0].type.v = event->arguments[1].type.v = SIDE_TYPE_S32;
	event->arguments[2].type.v = SIDE_TYPE_STRING_UTF8;
	event->builder = side_kernel_event_make_builder(described);
	if (!event->builder) {
		free(event);
		return -EINVAL;
	}
	described->listener_data = event;
	return 0;
}

static void side_kernel_event_free_class(void *user, struct kernel_event *described)
{
	struct side_kernel_event *event = described->listener_data;

	(void)user;
	if (!event)
		return;
	(void)side_builder_destroy(event->builder);
	free(event);
}

bool events_wanted(const struct kernel_event *described)
{
	const struct side_kernel_event *event = described->listener_data;

	return event && side_builder_enabled(event->builder);
}

/* ---- calls ---- */

static void side_kernel_event_emit(
		const struct side_builder *builder, const struct side_arg *arguments, uint32_t nr)
{
	struct side_arg_vec vector = {.len = nr};

	side_ptr_set(vector.sav, arguments);
	side_call(side_builder_state(builder), &vector);
}

static void side_kernel_event_report_lost(
		struct side_kernel_events *events, const char *name, uint64_t count)
{
	struct side_arg arguments[] = {{.flags = 0}, {.flags = 0}};

	if (!side_builder_enabled(events->lost))
		return;
	arguments[0].type.v = SIDE_TYPE_STRING_UTF8;
	side_ptr_set(arguments[0].u.side_static.string_value, (const void *)name);
	arguments[1].type.v = SIDE_TYPE_U64;
	arguments[1].u.side_static.integer_value.side_u64 = count;
	side_kernel_event_emit(events->lost, arguments, 2);
}

/* Count the loss in the agent, so the trace shows when the event was lost. */
static void side_kernel_event_lost(
		void *user, const struct kernel_event *described, uint32_t cpu, uint64_t count)
{
	struct side_kernel_events *events = user;
	const struct side_kernel_event *event = described ? described->listener_data : NULL;
	agent_lost_fn *count_lost = agent_find_lost();
	char name[512] = "";

	events->nr_lost += count;
	if (count_lost)
		count_lost(side_builder_description(event ? event->builder : events->lost),
				event != NULL, cpu, count);
	if (described)
		(void)snprintf(name, sizeof(name), "%.200s:%.300s", described->system,
				described->name);
	side_kernel_event_report_lost(events, name, count);
}

static void side_kernel_event_record(void *user, const struct kernel_event *described,
		const struct kernel_moment *moment, struct kernel_payload context,
		struct kernel_payload fields)
{
	struct side_kernel_events *events = user;
	struct side_kernel_event *event = described->listener_data;
	struct side_arg *arguments = event ? event->arguments : NULL;
	const struct ring_replay replay = {
			.ticks = events->monotonic ? clock_ticks(moment->ticks) : moment->ticks,
			.cpu = moment->cpu,
	};

	if (!event || !side_builder_enabled(event->builder))
		return;
	arguments[0].u.side_static.integer_value.side_s32 = moment->pid;
	arguments[1].u.side_static.integer_value.side_s32 = moment->tid;
	side_ptr_set(arguments[2].u.side_static.string_value, (const void *)moment->comm);
	if (values_take(&events->scratch, described->context, context, arguments + OWN_FIELDS) &&
			values_take(&events->scratch, described->fields, fields,
					arguments + OWN_FIELDS + event->nr_context)) {
		if (!events->replay)
			events->replay = agent_find_replay();
		if (events->replay)
			events->replay(&replay);
		side_kernel_event_emit(event->builder, arguments,
				OWN_FIELDS + event->nr_context + event->nr_fields);
		if (events->replay)
			events->replay(NULL);
		events->nr_reported++;
	} else {
		side_kernel_event_lost(user, described, moment->cpu, 1);
	}
	scratch_reset(&events->scratch);
}

void events_listener(struct side_kernel_events *events, struct kernel_listener *ret_listener)
{
	*ret_listener = (struct kernel_listener){.user = events,
			.found = side_kernel_event_found,
			.gone = side_kernel_event_free_class,
			.record = side_kernel_event_record,
			.lost = side_kernel_event_lost};
}

/*
 * `way` and `why` are the former names of `method` and `reason`. They are deprecated: the next
 * release does not have them.
 */
static const char *const hello_fields[] = {"method", "reason", "way", "why"};
#define NR_HELLO (sizeof(hello_fields) / sizeof(hello_fields[0]))

void events_hello(const struct side_kernel_events *events, const char *backend, const char *why)
{
	struct side_arg arguments[NR_HELLO] = {{.flags = 0}};

	if (!side_builder_enabled(events->hello))
		return;
	for (size_t i = 0; i < NR_HELLO; i++) {
		arguments[i].type.v = SIDE_TYPE_STRING_UTF8;
		side_ptr_set(arguments[i].u.side_static.string_value,
				(const void *)(i % 2 ? why : backend));
	}
	side_kernel_event_emit(events->hello, arguments, NR_HELLO);
}

void events_stats(const struct side_kernel_events *events, uint64_t *ret_described,
		uint64_t *ret_lost_count)
{
	*ret_described = events->nr_reported;
	*ret_lost_count = events->nr_lost;
}

/* ---- start and end ---- */

/* Create an event with these fields: strings, and a number if the name is "count". */
static struct side_builder *side_kernel_event_make_own(
		const char *name, const char *const *fields, size_t nr_fields)
{
	struct side_builder *builder =
			side_builder_create("side_kernel", name, SIDE_LOGLEVEL_WARNING, 0);

	if (!builder)
		return NULL;
	for (size_t i = 0; i < nr_fields; i++)
		(void)side_builder_add_field(builder, NULL, fields[i],
				strcmp(fields[i], "count") != 0
						? side_builder_string(builder, 1,
								  SIDE_TYPE_BYTE_ORDER_HOST)
						: side_builder_integer(builder, 8, 0,
								  SIDE_TYPE_BYTE_ORDER_HOST));
	if (side_builder_register(builder) == SIDE_ERROR_OK)
		return builder;
	(void)side_builder_destroy(builder);
	return NULL;
}

bool events_choose_clock(struct kernel_record_options *options)
{
	bool monotonic;

	options->clock = ring_clock_choose();
	monotonic = options->clock != RING_CLOCK_MONOTONIC &&
			options->backend != KERNEL_RECORD_TRACEFS && !kernel_record_knows_tsc();
	if (monotonic)
		options->clock = RING_CLOCK_MONOTONIC;
	return monotonic;
}

int events_create(bool monotonic, struct side_kernel_events **ret_events)
{
	static const char *const lost_fields[] = {"event", "count"};
	struct side_kernel_events *events = calloc(1, sizeof(*events));

	*ret_events = events;
	if (!events)
		return -ENOMEM;
	events->monotonic = monotonic;
	events->lost = side_kernel_event_make_own("lost", lost_fields, 2);
	events->hello = side_kernel_event_make_own("listens", hello_fields, NR_HELLO);
	return events->lost && events->hello ? 0 : -ENOMEM;
}

void events_free(struct side_kernel_events *events)
{
	if (!events)
		return;
	(void)side_builder_destroy(events->hello);
	(void)side_builder_destroy(events->lost);
	scratch_free(&events->scratch);
	free(events);
}
