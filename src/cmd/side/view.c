/* SPDX-License-Identifier: MIT */
/* The verb `view`: the events of a recording, a line each, in the order of time. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/side/view-colours.h"
#include "cmd/side/view-show.h"
#include "cmd/side/view.h"
#include "ctf/ctf.h"

#define SECOND 1000000000

/* What stands in ctf_event_class.user, from the first record of the event on. */
struct view_class {
	bool wanted;
	struct view_event *event; /* NULL without memory, and when it is not wanted. */
};

struct view {
	const struct view_options *options;
	struct view_sink sink;
	FILE *out;
	bool damaged;
	bool no_memory;
	int write_error; /* errno */
	bool has_last;
	int64_t last_ns; /* Of the event shown last. */
	uint64_t shown;
	uint64_t discarded; /* Events lost, as the packets say … */
	uint64_t lost;      /* … and as the recorder says: mostly the same ones. */
	/* The broken-down second that was printed last. */
	bool has_second;
	int64_t second;
	char second_text[32];
};

/* ---- small parts of a line ---- */

static void put(struct view *view, const char *text)
{
	fputs_unlocked(text, view->out);
}

static void put_colour(struct view *view, const char *colour)
{
	if (view->sink.colour)
		put(view, colour);
}

/* Floor division, so that times before 1970 have a positive rest. */
static int64_t second_of(int64_t ns, int64_t *rest)
{
	int64_t second = ns / SECOND;

	*rest = ns % SECOND;
	if (*rest < 0) {
		*rest += SECOND;
		second--;
	}
	return second;
}

/* HH:MM:SS of here for people, the whole in UTC for programs. */
static const char *second_text(struct view *view, int64_t second)
{
	time_t time = (time_t)second;
	struct tm parts;

	if (view->has_second && view->second == second)
		return view->second_text;
	if (view->options->json) {
		if (!gmtime_r(&time, &parts) ||
				!strftime(view->second_text, sizeof(view->second_text),
						"%Y-%m-%dT%H:%M:%S", &parts))
			view->second_text[0] = '\0';
	} else if (!localtime_r(&time, &parts) ||
			!strftime(view->second_text, sizeof(view->second_text), "%H:%M:%S",
					&parts)) {
		strcpy(view->second_text, "??:??:??");
	}
	view->has_second = true;
	view->second = second;
	return view->second_text;
}

static void put_time(struct view *view, int64_t ns)
{
	int64_t rest, second = second_of(ns, &rest);

	fprintf(view->out, "%s.%09" PRId64, second_text(view, second), rest);
}

static void put_delta(struct view *view, const struct ctf_item *item)
{
	uint64_t delta;

	if (!view->has_last || !item->timed) {
		put(view,
				"(+?."
				"?????????"
				")");
	} else {
		bool back = item->ns < view->last_ns;

		delta = back ? (uint64_t)view->last_ns - (uint64_t)item->ns
			     : (uint64_t)item->ns - (uint64_t)view->last_ns;
		fprintf(view->out, "(%c%" PRIu64 ".%09" PRIu64 ")", back ? '-' : '+',
				delta / SECOND, delta % SECOND);
	}
	if (item->timed) {
		view->has_last = true;
		view->last_ns = item->ns;
	}
}

static void put_process(struct view *view, const struct ctf_item *item)
{
	const struct ctf_trace *trace = item->trace;

	if (trace->procname)
		view_text_plain(view->out, trace->procname, strlen(trace->procname));
	if (trace->vpid >= 0)
		fprintf(view->out, "%s%" PRId64, trace->procname ? ":" : "", trace->vpid);
	if (!trace->procname && trace->vpid < 0 && trace->hostname)
		view_text_plain(view->out, trace->hostname, strlen(trace->hostname));
}

static bool has_process(const struct ctf_trace *trace)
{
	return trace->procname || trace->vpid >= 0 || trace->hostname;
}

/* ---- fields ---- */

/* How the event is shown; NULL: not at all. */
static struct view_class *class_of(struct view *view, struct ctf_event_class *class)
{
	const struct view_options *options = view->options;
	struct view_class *shown = class->user;

	if (__builtin_expect(shown != NULL, 1))
		return shown;
	shown = calloc(1, sizeof(*shown));
	if (!shown)
		return NULL;
	shown->wanted = !options->wanted ||
			options->wanted(options->wanted_context, class->name, class->loglevel);
	if (shown->wanted)
		shown->event = view_event_create(class);
	class->user = shown;
	return shown;
}

/* Only of an event that is being shown. */
static const struct view_event *event_of(const struct ctf_event_class *class)
{
	const struct view_class *shown = class->user;

	return shown->event;
}

static const struct ctf_value *member_at(const struct ctf_value *structure, uint32_t index)
{
	const struct ctf_value *member = NULL;
	struct ctf_cursor cursor;

	ctf_cursor_start(&cursor, structure);
	for (uint32_t i = 0; i <= index; i++)
		member = ctf_cursor_next(&cursor);
	return member;
}

/* A group of fields: `, { … }` or `,"name":{…}`. */
static void put_group(struct view *view, const char *name, bool *first)
{
	if (view->options->json)
		fprintf(view->out, ",\"%s\":", name);
	else if (!*first)
		put(view, ", ");
	*first = false;
}

static void put_plain_group(
		struct view *view, const char *name, const struct ctf_value *group, bool *first)
{
	if (!group)
		return;
	put_group(view, name, first);
	view_plain_value(&view->sink, group);
}

static void put_fields(struct view *view, const struct ctf_item *item)
{
	const struct view_event *event = event_of(item->event);
	bool first = true;

	put_plain_group(view, "stream_context", item->common_context, &first);
	put_plain_group(view, "context", item->context, &first);
	if (!event || !event->fields) {
		put_plain_group(view, "fields", item->fields, &first);
		return;
	}
	put_group(view, "fields", &first);
	view_side_fields(&view->sink, event, item->fields);
	if (event->variadic) {
		put_group(view, "variadic", &first);
		view_dynamic_value(&view->sink, member_at(item->fields, event->variadic_index));
	}
}

/* ---- events ---- */

static void text_event(struct view *view, const struct ctf_item *item)
{
	const struct view_event *event = event_of(item->event);

	if (item->timed) {
		put_colour(view, VIEW_COLOUR_TIME);
		put(view, "[");
		put_time(view, item->ns);
		put(view, "] ");
		put_delta(view, item);
		put_colour(view, VIEW_COLOUR_END);
		put(view, " ");
	}
	if (has_process(item->trace)) {
		put_colour(view, VIEW_COLOUR_PROCESS);
		put_process(view, item);
		put_colour(view, VIEW_COLOUR_END);
		put(view, " ");
	}
	if (item->stream->cpu >= 0)
		fprintf(view->out, "cpu%" PRId64 " ", item->stream->cpu);
	put_colour(view, VIEW_COLOUR_EVENT);
	view_text_plain(view->out, item->event->name, strlen(item->event->name));
	put_colour(view, VIEW_COLOUR_END);
	if (view->sink.attributes && event && event->attributes)
		view_static_attributes(&view->sink, event->attributes);
	put(view, ": ");
	put_fields(view, item);
	put(view, "\n");
}

static void json_text_member(struct view *view, const char *name, const char *text)
{
	fprintf(view->out, ",\"%s\":", name);
	view_json_quoted(view->out, text, strlen(text));
}

static void json_time(struct view *view, const char *prefix, int64_t ns)
{
	fprintf(view->out, ",\"%stime\":\"", prefix);
	put_time(view, ns);
	fprintf(view->out, "Z\",\"%sns\":%" PRId64, prefix, ns);
}

/* What all kinds of objects begin with. */
static void json_begin(struct view *view, const struct ctf_item *item, const char *type)
{
	const struct ctf_trace *trace = item->trace;

	fprintf(view->out, "{\"schema\":1,\"type\":\"%s\"", type);
	if (item->timed)
		json_time(view, "", item->ns);
	if (trace->hostname)
		json_text_member(view, "hostname", trace->hostname);
	if (trace->procname)
		json_text_member(view, "procname", trace->procname);
	if (trace->vpid >= 0)
		fprintf(view->out, ",\"vpid\":%" PRId64, trace->vpid);
	if (item->stream && item->stream->cpu >= 0)
		fprintf(view->out, ",\"cpu\":%" PRId64, item->stream->cpu);
}

static void json_event(struct view *view, const struct ctf_item *item)
{
	const struct view_event *event = event_of(item->event);

	json_begin(view, item, "event");
	json_text_member(view, "event", item->event->name);
	if (event && event->loglevel)
		json_text_member(view, "loglevel", event->loglevel);
	else if (item->event->loglevel >= 0)
		fprintf(view->out, ",\"loglevel_value\":%d", item->event->loglevel);
	put_fields(view, item);
	/* The end of the attributes is the end of the object that they belong to. */
	if (view->sink.attributes && event && event->attributes)
		view_static_attributes(&view->sink, event->attributes);
	else
		put(view, "}");
	put(view, "\n");
}

/* ---- losses ---- */

static void text_lost_begin(struct view *view, const struct ctf_item *item)
{
	put_colour(view, VIEW_COLOUR_LOST);
	if (item->timed) {
		put(view, "[");
		put_time(view, item->ns);
		put(view, "] ");
	}
	put(view, "*** ");
}

static void text_lost_end(struct view *view, const struct ctf_item *item)
{
	if (has_process(item->trace)) {
		put(view, " of ");
		put_process(view, item);
	}
	put(view, " ***");
	put_colour(view, VIEW_COLOUR_END);
	put(view, "\n");
}

static void text_discarded(struct view *view, const struct ctf_item *item)
{
	const char *what = item->kind == CTF_ITEM_DISCARDED ? "event" : "packet";

	text_lost_begin(view, item);
	fprintf(view->out, "%" PRIu64 " %s%s lost", item->count, what, item->count == 1 ? "" : "s");
	if (item->timed) {
		put(view, " since ");
		put_time(view, item->begin_ns);
	}
	put(view, " in ");
	view_text_plain(view->out, item->stream->name, strlen(item->stream->name));
	text_lost_end(view, item);
}

static void json_discarded(struct view *view, const struct ctf_item *item)
{
	json_begin(view, item, item->kind == CTF_ITEM_DISCARDED ? "discarded" : "lost_packets");
	if (item->timed)
		json_time(view, "begin_", item->begin_ns);
	json_text_member(view, "stream", item->stream->name);
	fprintf(view->out, ",\"count\":%" PRIu64 "}\n", item->count);
}

/* The recorder's own record of what was lost: which events, and why. */
static bool is_lost_record(const struct ctf_item *item)
{
	return item->trace->is_side && item->event->stream_id == 1 && item->fields &&
			strcmp(item->event->name, "side:lost") == 0;
}

static void lost_text(
		struct view *view, const struct ctf_item *item, const char *name, const char *label)
{
	const struct ctf_value *value = ctf_value_member(item->fields, name);

	if (!value || !value->is_text)
		return;
	if (view->options->json) {
		fprintf(view->out, ",\"%s\":", label);
		view_json_quoted(view->out, value->text, value->size);
	} else if (value->size) {
		put(view, label);
		view_text_plain(view->out, value->text, value->size);
	}
}

static void lost_record(struct view *view, const struct ctf_item *item)
{
	const struct ctf_value *count = ctf_value_member(item->fields, "_count");
	uint64_t lost = count && count->type->kind == CTF_INTEGER ? count->u : 0;

	view->lost += lost;
	if (view->options->json) {
		json_begin(view, item, "lost");
		lost_text(view, item, "_ring", "ring");
		lost_text(view, item, "_event", "event");
		lost_text(view, item, "_reason", "reason");
		fprintf(view->out, ",\"count\":%" PRIu64 "}\n", lost);
		return;
	}
	text_lost_begin(view, item);
	fprintf(view->out, "%" PRIu64 " event%s lost", lost, lost == 1 ? "" : "s");
	lost_text(view, item, "_event", ": ");
	lost_text(view, item, "_ring", " in ");
	lost_text(view, item, "_reason", ": ");
	text_lost_end(view, item);
}

/* ---- what is said beside ---- */

static void say(struct view *view, enum view_message kind, const char *mend, const char *sentence)
{
	fflush(view->out);
	if (view->options->say)
		view->options->say(kind, mend, sentence);
	else
		fprintf(stderr, "side: %s%s%s\n", sentence, mend ? "; " : "", mend ? mend : "");
}

__attribute__((format(printf, 3, 4))) static void say_format(
		struct view *view, enum view_message kind, const char *format, ...)
{
	char sentence[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	say(view, kind, NULL, sentence);
}

static void sum_up(struct view *view)
{
	uint64_t lost = view->discarded > view->lost ? view->discarded : view->lost;

	if (lost)
		say_format(view, VIEW_NOTE, "%" PRIu64 " event%s lost while recording", lost,
				lost == 1 ? " was" : "s were");
}

static void damage(struct view *view, const struct ctf_item *item)
{
	bool mendable = item->cut && !view->options->repair;

	view->damaged = true;
	say(view, VIEW_ERROR, mendable ? "add --repair to shorten the file to what is whole" : NULL,
			item->text);
	if (view->options->json) {
		json_begin(view, item, "damage");
		json_text_member(view, "text", item->text);
		put(view, "}\n");
	}
}

/* ---- the row of items ---- */

static void show_event(struct view *view, const struct ctf_item *item)
{
	const struct view_class *class;

	if (is_lost_record(item)) {
		lost_record(view, item);
		return;
	}
	class = class_of(view, item->event);
	if (!class || (class->wanted && !class->event)) {
		view->no_memory = true;
		return;
	}
	if (!class->wanted)
		return;
	if (view->options->json)
		json_event(view, item);
	else
		text_event(view, item);
	view->shown++;
}

static void show_item(struct view *view, const struct ctf_item *item)
{
	switch (item->kind) {
	case CTF_ITEM_EVENT: show_event(view, item); break;
	case CTF_ITEM_DISCARDED:
	case CTF_ITEM_LOST_PACKETS:
		if (item->kind == CTF_ITEM_DISCARDED)
			view->discarded += item->count;
		if (view->options->json)
			json_discarded(view, item);
		else
			text_discarded(view, item);
		break;
	case CTF_ITEM_DAMAGE: damage(view, item); break;
	case CTF_ITEM_NOTE: say(view, VIEW_NOTE, NULL, item->text); break;
	}
}

/* 0 at the end, or a negative errno; what cannot be written is in write_error. */
static int show_all(struct view *view, struct ctf_reader *reader)
{
	uint64_t limit = view->options->limit;
	struct ctf_item item;
	int ret;

	while ((ret = ctf_reader_next(reader, &item)) > 0) {
		show_item(view, &item);
		if (__builtin_expect(ferror_unlocked(view->out), 0)) {
			view->write_error = errno ? errno : EIO;
			return 0;
		}
		if (view->no_memory)
			return -ENOMEM;
		if (limit && view->shown >= limit)
			break;
	}
	if (fflush(view->out))
		view->write_error = errno;
	return ret < 0 ? ret : 0;
}

static void free_events(struct ctf_reader *reader)
{
	for (uint32_t t = 0; t < ctf_reader_trace_count(reader); t++) {
		const struct ctf_trace *trace = ctf_reader_trace(reader, t);

		for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++) {
			struct ctf_event_class *class = ctf_trace_event(trace, i);
			struct view_class *shown = class->user;

			if (shown)
				view_event_free(shown->event);
			free(shown);
			class->user = NULL;
		}
	}
}

static void repair(struct view *view)
{
	unsigned int repaired;
	struct ctf_error error;

	if (ctf_repair(view->options->dir, &repaired, &error)) {
		view->damaged = true;
		say(view, VIEW_ERROR, NULL, error.text);
	}
	if (repaired)
		say_format(view, VIEW_NOTE, "%u file%s shortened to what is whole", repaired,
				repaired == 1 ? " was" : "s were");
}

int cmd_view_run(const struct view_options *options)
{
	struct view view = {
			.options = options,
			.out = options->out ? options->out : stdout,
	};
	struct ctf_reader *reader;
	struct ctf_error error;
	int ret;

	if (options->repair)
		repair(&view);
	if (ctf_reader_open(options->dir, &reader, &error)) {
		say(&view, VIEW_ERROR, NULL, error.text);
		return 1;
	}
	view.sink = (struct view_sink){
			.ops = options->json ? &view_json_ops : &view_text_ops,
			.out = view.out,
			.colour = options->colour && !options->json,
			.attributes = options->attributes,
	};
	ret = show_all(&view, reader);
	if (!view.write_error)
		sum_up(&view);
	free_events(reader);
	ctf_reader_close(reader);
	if (ret)
		say_format(&view, VIEW_ERROR, "cannot go on reading %s: %s", options->dir,
				strerror(-ret));
	/* Whoever read the other end had enough (`| head`): the usual end, no message. */
	if (view.write_error == EPIPE)
		return 128 + SIGPIPE;
	if (view.write_error)
		say_format(&view, VIEW_ERROR, "cannot write the events: %s",
				strerror(view.write_error));
	return ret || view.write_error || view.damaged;
}
