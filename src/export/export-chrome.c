/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace events: a JSON object with an array of them, one event per line.
 *
 * Times are microseconds with three decimals since the first event. Readers store them as doubles,
 * which cannot represent nanoseconds since 1970. `start_ns` in otherData is the time of the first
 * event. There is no displayTimeUnit, because some readers use it as the unit of times.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"

struct chrome {
	struct keys lanes;
	struct keys named; /* processes and threads that have been named */
	bool any;
	bool started;
	int64_t start_ns;
	int64_t last_ns;
};

static void export_chrome_write_text(struct export *export, const char *text)
{
	view_json_quoted(&export->out, text, strlen(text));
}

static int export_chrome_start(struct export *export)
{
	export->state = calloc(1, sizeof(struct chrome));
	view_out_text(&export->out, "{\"traceEvents\":[\n");
	return export->state ? 0 : -ENOMEM;
}

static void export_chrome_begin_event(
		struct export *export, const char *kind, int64_t pid, int64_t tid)
{
	struct chrome *state = export->state;

	if (state->any)
		view_out_text(&export->out, ",\n");
	state->any = true;
	view_out_format(&export->out, "{\"ph\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64, kind,
			pid, tid);
}

static void export_chrome_print_time(struct export *export, int64_t ns)
{
	const struct chrome *state = export->state;
	uint64_t since = (uint64_t)ns - (uint64_t)state->start_ns;

	view_out_format(&export->out, ",\"ts\":%" PRIu64 ".%03" PRIu64, since / 1000, since % 1000);
}

static void export_chrome_write_time(struct export *export, const struct ctf_item *item)
{
	struct chrome *state = export->state;

	if (item->timed) {
		if (!state->started)
			state->start_ns = item->ns;
		state->started = true;
		state->last_ns = item->ns > state->start_ns ? item->ns : state->start_ns;
	}
	export_chrome_print_time(export, state->last_ns);
}

/* Writes the name of a process or thread before its first event. */
static int export_chrome_write_name(struct export *export, const char *what, int64_t pid,
		int64_t tid, const char *name, size_t size)
{
	struct chrome *state = export->state;
	int64_t key[3] = {pid, tid, *what};
	uint32_t known = state->named.count;
	uint32_t number = keys_add(&state->named, key, sizeof(key));

	if (number == KEYS_NONE)
		return -ENOMEM;
	if (number < known)
		return 0;
	export_chrome_begin_event(export, "M", pid, tid);
	view_out_format(&export->out, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	view_json_quoted(&export->out, name, size);
	view_out_text(&export->out, "}}");
	return 0;
}

static int export_chrome_write_names(struct export *export, const struct ctf_item *item,
		const struct walk_class *class, int64_t pid, int64_t tid)
{
	const struct export_class *own = class->user_data;
	char text[512];
	const char *name;
	size_t size;
	int ret;

	export_process_name(export, own->process, text, sizeof(text));
	ret = export_chrome_write_name(export, "process_name", pid, 0, text, strlen(text));
	if (ret)
		return ret;
	name = identity_thread_name(&own->identity, item, &size);
	if (own->thread >= 0)
		return name ? export_chrome_write_name(export, "thread_name", pid, tid, name, size)
			    : 0;
	if (item->stream->cpu < 0)
		snprintf(text, sizeof(text), "events");
	else
		snprintf(text, sizeof(text), "cpu %" PRId64, item->stream->cpu);
	return export_chrome_write_name(export, "thread_name", pid, tid, text, strlen(text));
}

/*
 * Slices that can overlap get an artificial thread for each lane. All viewers show begins and ends
 * in threads, and some do not know asynchronous slices. 0: out of memory.
 */
static int64_t lane_tid(struct export *export, const struct export_slice *slice, int64_t pid)
{
	struct chrome *state = export->state;
	const struct pair_rule *rule = &export->pairs.rules[slice->rule];
	int64_t thread = export->pairs.has_key ? -1 : slice->thread;
	int64_t key[4] = {slice->process, slice->rule, slice->lane, thread}, tid;
	uint32_t number = keys_add(&state->lanes, key, sizeof(key));
	char name[1024];

	if (number == KEYS_NONE)
		return 0;
	tid = 2 * EXPORT_MADE_UP + (int64_t)number;
	if (thread >= 0)
		snprintf(name, sizeof(name), "%.400s → %.400s, thread %" PRId64, rule->begin_text,
				rule->end_text, thread);
	else
		snprintf(name, sizeof(name), "%.400s → %.400s, %u", rule->begin_text,
				rule->end_text, slice->lane + 1);
	return export_chrome_write_name(export, "thread_name", pid, tid, name, strlen(name)) ? 0
											     : tid;
}

/* The thread of a call whose thread is not recorded. 0: out of memory. */
static int64_t export_chrome_call_tid(
		struct export *export, const struct export_slice *slice, int64_t pid)
{
	struct chrome *state = export->state;
	int64_t key[2] = {slice->process, slice->part}, tid;
	uint32_t number = keys_add(&state->lanes, key, sizeof(key));
	char name[32];

	if (number == KEYS_NONE)
		return 0;
	tid = 2 * EXPORT_MADE_UP + (int64_t)number;
	snprintf(name, sizeof(name), "calls #%" PRIu32, slice->part);
	return export_chrome_write_name(export, "thread_name", pid, tid, name, strlen(name)) ? 0
											     : tid;
}

/* The end of a call. */
static int export_chrome_leave(struct export *export, const struct export_slice *slice, int64_t ns)
{
	const struct chrome *state = export->state;
	int64_t pid = export_pid(export, slice->process);
	int64_t tid = slice->thread >= 0 ? slice->thread
					 : export_chrome_call_tid(export, slice, pid);

	if (!tid)
		return -ENOMEM;
	export_chrome_begin_event(export, "E", pid, tid);
	export_chrome_print_time(export, ns > state->start_ns ? ns : state->start_ns);
	view_out_text(&export->out, ",\"cat\":\"call\",\"name\":");
	export_chrome_write_text(export, slice->name);
	if (slice->unmatched)
		view_out_text(&export->out, ",\"args\":{\"note\":\"no return\"}");
	view_out_char(&export->out, '}');
	return export->out.failed ? -ENOMEM : 0;
}

static int export_chrome_write_event(struct export *export, const struct ctf_item *item,
		struct walk_class *class, const struct export_slice *slice)
{
	const struct export_class *own = class->user_data;
	int64_t pid = export_pid(export, own->process);
	int64_t tid = export_tid(item, own->thread);
	/* An end must have the name and the category of its begin. */
	const char *name = slice ? slice->name : item->event->name, *colon = strchr(name, ':');
	const struct view_sink sink = export_sink(export, &export->out, class, item);
	int ret = export_chrome_write_names(export, item, class, pid, tid);

	if (slice && slice->call && slice->thread < 0) {
		pid = export_pid(export, slice->process);
		tid = export_chrome_call_tid(export, slice, pid);
	} else if (slice && !(slice->nested && slice->thread >= 0)) {
		pid = export_pid(export, slice->process);
		tid = lane_tid(export, slice, pid);
	}
	if (ret || !tid)
		return -ENOMEM;
	export_chrome_begin_event(export, !slice ? "i" : slice->end ? "E" : "B", pid, tid);
	export_chrome_write_time(export, item);
	view_out_text(&export->out, ",\"cat\":");
	if (slice && slice->call)
		view_out_text(&export->out, "\"call\"");
	else
		view_json_quoted(&export->out, name, colon ? (size_t)(colon - name) : 0);
	view_out_text(&export->out, ",\"name\":");
	export_chrome_write_text(export, name);
	if (!slice)
		view_out_text(&export->out, ",\"s\":\"t\"");
	view_out_text(&export->out, ",\"args\":{");
	if (slice && slice->unmatched)
		view_out_text(&export->out, "\"note\":\"no entry\",");
	walk_json_values_to(&sink, class, item);
	view_out_text(&export->out, "}}");
	return export->out.failed ? -ENOMEM : 0;
}

static int export_chrome_write_loss(
		struct export *export, const struct ctf_item *item, const struct walk_class *class)
{
	uint32_t process = identity_of_trace(&export->identity, item->trace);
	const char *names[] = {"ring", "event", "reason"}, *text;
	size_t size;

	export_chrome_begin_event(export, "i", export_pid(export, process), 0);
	export_chrome_write_time(export, item);
	view_out_format(&export->out,
			",\"s\":\"p\",\"cat\":\"side\",\"name\":\"%s\",\"args\":{\"count\":%" PRIu64,
			class                                                 ? "lost"
					: item->kind == CTF_ITEM_LOST_PACKETS ? "lost packets"
									      : "discarded",
			class ? walk_lost_count(item) : item->count);
	for (unsigned int i = 0; class && i < 3; i++) {
		text = walk_lost_text(item, names[i], &size);
		view_out_format(&export->out, ",\"%s\":", names[i]);
		view_json_quoted(&export->out, text, size);
	}
	if (!class) {
		view_out_text(&export->out, ",\"stream\":");
		export_chrome_write_text(export, item->stream->name);
	}
	view_out_text(&export->out, "}}");
	return export->out.failed ? -ENOMEM : 0;
}

static int export_chrome_finish(struct export *export)
{
	struct chrome *state = export->state;

	view_out_format(&export->out, "\n],\"otherData\":{\"start_ns\":\"%" PRId64 "\"}}\n",
			state->start_ns);
	return 0;
}

static void export_chrome_free_state(struct export *export)
{
	struct chrome *state = export->state;

	if (state) {
		keys_free(&state->named);
		keys_free(&state->lanes);
	}
	free(state);
}

const struct export_ops export_chrome = {
		.start = export_chrome_start,
		.event = export_chrome_write_event,
		.loss = export_chrome_write_loss,
		.leave = export_chrome_leave,
		.finish = export_chrome_finish,
		.free = export_chrome_free_state,
};
