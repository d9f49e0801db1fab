/* SPDX-License-Identifier: MIT */
/* One item of a trace as one line. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/format.h"
#include "analysis/event-member.h"
#include "analysis/view-colours.h"
#include "analysis/view-line.h"
#include "analysis/view-syscall.h"
#include "analysis/where.h"

#define SECOND 1000000000

/* Kept in ctf_event_class.user from the first record of the event on. */
struct view_class {
	bool wanted;
	bool lost_record; /* a record of lost events, written by the recorder */
	uint8_t call;     /* enum view_call */
	struct view_tree_class tree;
	struct view_event *event;
	struct where_bound *where; /* NULL: no condition */
	struct view_out head;      /* text: the process and more precede it */
	struct view_word tail;
};

static bool is_json(const struct view_line *line)
{
	return line->sink.ops->json;
}

static struct view_out *out_of(struct view_line *line)
{
	return line->sink.out;
}

/* ---- times ---- */

/* Floor division, so that times before 1970 have a positive remainder. */
static int64_t second_of(int64_t ns, uint32_t *ret_remainder)
{
	int64_t second = ns / SECOND, left = ns % SECOND;

	if (left < 0) {
		left += SECOND;
		second--;
	}
	*ret_remainder = (uint32_t)left;
	return second;
}

/* Local HH:MM:SS in text; date and time in UTC in JSON. */
static __attribute__((noinline)) void note_second(struct view_line *line, int64_t second)
{
	time_t time = (time_t)second;
	struct tm parts;

	line->second_text[0] = '\0';
	if (is_json(line)) {
		if (!gmtime_r(&time, &parts) ||
				!strftime(line->second_text, sizeof(line->second_text),
						"%Y-%m-%dT%H:%M:%S", &parts))
			line->second_text[0] = '\0';
	} else if (!localtime_r(&time, &parts) ||
			!strftime(line->second_text, sizeof(line->second_text), "%H:%M:%S",
					&parts)) {
		strcpy(line->second_text, "??:??:??");
	}
	line->second_size = strlen(line->second_text);
	line->has_second = true;
	line->second = second;
}

static void view_line_write_time(struct view_line *line, int64_t ns)
{
	struct view_out *out = out_of(line);
	uint32_t remainder;
	int64_t second = second_of(ns, &remainder);

	if (!line->has_second || line->second != second)
		note_second(line, second);
	if (!view_out_reserve(out, sizeof(line->second_text) + 16))
		return;
	memcpy(out->at, line->second_text, line->second_size);
	out->at += line->second_size;
	*out->at++ = '.';
	out->at = view_nine_digits(out->at, remainder);
}

static inline __attribute__((always_inline)) void json_time(
		struct view_line *line, const char *prefix, int64_t ns)
{
	struct view_out *out = out_of(line);

	view_out_text(out, ",\"");
	view_out_text(out, prefix);
	view_out_text(out, "time\":\"");
	view_line_write_time(line, ns);
	view_out_text(out, "Z\",\"");
	view_out_text(out, prefix);
	view_out_text(out, "ns\":");
	view_out_signed(out, ns);
}

/* ---- what lines begin with ---- */

static void view_line_write_colour(struct view_line *line, const char *colour)
{
	if (line->sink.colour)
		view_out_put(out_of(line), colour, strlen(colour));
}

static bool has_process(const struct ctf_trace *trace)
{
	return trace->procname || trace->vpid >= 0 || trace->hostname;
}

static void view_line_write_process(struct view_line *line, const struct ctf_trace *trace)
{
	struct view_out *out = out_of(line);

	if (trace->procname)
		view_text_plain(out, trace->procname, strlen(trace->procname));
	if (trace->vpid >= 0) {
		if (trace->procname)
			view_out_char(out, ':');
		view_out_signed(out, trace->vpid);
	}
	if (!trace->procname && trace->vpid < 0 && trace->hostname)
		view_text_plain(out, trace->hostname, strlen(trace->hostname));
}

static void json_text_member(
		struct view_line *line, const char *name, const char *text, size_t size)
{
	struct view_out *out = out_of(line);

	view_out_text(out, ",\"");
	view_out_put(out, name, strlen(name));
	view_out_text(out, "\":");
	view_json_quoted(out, text, size);
}

static void json_count(struct view_line *line, const char *name, uint64_t count)
{
	struct view_out *out = out_of(line);

	view_out_text(out, ",\"");
	view_out_put(out, name, strlen(name));
	view_out_text(out, "\":");
	view_out_unsigned(out, count);
}

static void view_line_format_origin(
		struct view_line *line, const struct ctf_trace *trace, int64_t cpu)
{
	struct view_out *before = out_of(line), *out = &line->location;

	out->at = out->begin;
	line->sink.out = out;
	if (is_json(line)) {
		if (trace->hostname)
			json_text_member(
					line, "hostname", trace->hostname, strlen(trace->hostname));
		if (trace->procname)
			json_text_member(
					line, "procname", trace->procname, strlen(trace->procname));
		if (trace->vpid >= 0)
			json_count(line, "vpid", (uint64_t)trace->vpid);
		if (cpu >= 0)
			json_count(line, "cpu", (uint64_t)cpu);
	} else {
		if (has_process(trace)) {
			view_line_write_colour(line, VIEW_COLOUR_PROCESS);
			view_line_write_process(line, trace);
			view_line_write_colour(line, VIEW_COLOUR_END);
			view_out_char(out, ' ');
		}
		if (cpu >= 0) {
			view_out_text(out, "cpu");
			view_out_signed(out, cpu);
			view_out_char(out, ' ');
		}
	}
	line->sink.out = before;
	line->trace = trace;
	line->cpu = cpu;
}

/* The process and the CPU: usually those of the previous line. */
static inline void view_line_put_location(struct view_line *line, const struct ctf_item *item)
{
	int64_t cpu = item->stream ? item->stream->cpu : -1;

	if (__builtin_expect(line->trace != item->trace || line->cpu != cpu, 0))
		view_line_format_origin(line, item->trace, cpu);
	view_out_put(out_of(line), line->location.begin, view_out_size(&line->location));
}

/* The first members of all objects. */
static inline __attribute__((always_inline)) void json_begin(
		struct view_line *line, const struct ctf_item *item, const char *type)
{
	struct view_out *out = out_of(line);

	view_out_text(out, "{\"schema\":1,\"type\":\"");
	view_out_text(out, type);
	view_out_text(out, "\"");
	if (item->timed)
		json_time(line, "", item->ns);
	view_line_put_location(line, item);
}

/* ---- classes of events ---- */

/* Text: name and attributes, up to the fields. JSON: the members between `cpu` and the fields. */
static void make_head(struct view_line *line, struct view_class *class,
		const struct ctf_event_class *event)
{
	struct view_out *before = out_of(line);
	const struct view_event *shown = class->event;

	line->sink.out = &class->head;
	if (is_json(line)) {
		json_text_member(line, "event", event->name, strlen(event->name));
		if (shown->loglevel) {
			json_text_member(
					line, "loglevel", shown->loglevel, strlen(shown->loglevel));
		} else if (event->loglevel >= 0) {
			view_out_text(&class->head, ",\"loglevel_value\":");
			view_out_signed(&class->head, event->loglevel);
		}
		/* The end of the attributes is the end of their object. */
		class->tail = (struct view_word)VIEW_WORD("}");
		if (shown->attributes.size)
			class->tail = shown->attributes;
	} else {
		view_line_write_colour(line, VIEW_COLOUR_EVENT);
		view_text_plain(&class->head, event->name, strlen(event->name));
		view_line_write_colour(line, VIEW_COLOUR_END);
		view_out_put(&class->head, shown->attributes.text, shown->attributes.size);
		view_out_text(&class->head, ": ");
	}
	line->sink.out = before;
}

static void view_line_free_class(struct view_class *class)
{
	if (!class)
		return;
	view_event_free(class->event);
	where_bound_free(class->where);
	view_out_free(&class->head);
	free(class);
}

static struct view_class *view_line_make_class(struct view_line *line, const struct ctf_item *item)
{
	const struct ctf_event_class *event = item->event;
	const struct ctf_trace *trace = item->trace;
	const struct view_options *options = line->lines->options;
	struct view_class *class = calloc(1, sizeof(*class));
	int ret = 0;

	if (!class)
		return NULL;
	class->lost_record = trace->is_side && strcmp(event->name, "side:lost") == 0 &&
			event->fields && ctf_trace_session_stream(trace) == event->stream_id;
	class->wanted = !class->lost_record &&
			(!options->wanted ||
					options->wanted(options->wanted_context, event->name,
							event->loglevel));
	if (!class->wanted)
		return class;
	class->call = is_json(line) ? VIEW_CALL_NONE : (uint8_t)view_call_of(event->name);
	if (line->lines->tree)
		view_tree_know(&class->tree,
				&(const struct view_tree_wanted){
						options->wanted, options->wanted_context},
				item);
	class->event = view_event_create(event, &line->sink);
	if (class->event && options->where) {
		ret = where_bind(options->where, item, class->event, &class->where, NULL);
		class->wanted = class->where;
	}
	if (class->event && !ret)
		make_head(line, class, event);
	if (!class->event || ret || class->head.failed) {
		view_line_free_class(class);
		return NULL;
	}
	return class;
}

/* How the event is shown. NULL: out of memory. */
static struct view_class *class_of(struct view_line *line, const struct ctf_item *item)
{
	struct ctf_event_class *event = item->event;
	/*
	 * Acquire: the members of the class. Pairs with the release in class_of() of another
	 * thread.
	 */
	struct view_class *class =
			__atomic_load_n((struct view_class **)&event->user, __ATOMIC_ACQUIRE);

	if (__builtin_expect(class != NULL, 1))
		return class;
	pthread_mutex_lock(&line->lines->mutex);
	class = event->user;
	if (!class) {
		class = view_line_make_class(line, item);
		/* Release: all members before the pointer. Pairs with the acquire in class_of(). */
		__atomic_store_n(&event->user, class, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&line->lines->mutex);
	return class;
}

/* ---- fields ---- */

static const struct ctf_value *member_at(const struct ctf_value *structure, uint32_t index)
{
	const struct ctf_value *member = structure + 1;

	while (index--)
		member += member->span;
	return member;
}

/* A group of fields: `, { … }` or `,"name":{…}`. */
static inline __attribute__((always_inline)) void put_group(
		struct view_line *line, const char *name, bool *first)
{
	struct view_out *out = out_of(line);

	if (is_json(line)) {
		view_out_text(out, ",\"");
		view_out_text(out, name);
		view_out_text(out, "\":");
	} else if (!*first) {
		view_out_text(out, ", ");
	}
	*first = false;
}

/* Writes the format with its arguments, then other fields. False: they do not fit. */
static bool view_line_write_sentence(struct view_line *line, const struct view_event *event,
		const struct ctf_item *item, bool first)
{
	struct view_format_argument arguments[VIEW_FORMAT_ARGUMENTS_MAX];
	const struct ctf_value *format = member_at(item->fields, event->format_index);
	uint32_t count = view_dynamic_arguments(
			member_at(item->fields, event->variadic_index), arguments);
	struct view_out *sentence = &line->sentence, *out = out_of(line);

	sentence->at = sentence->begin;
	if (count == UINT32_MAX || !format->is_text ||
			!view_format_render(sentence, format->text, format->size, arguments, count))
		return false;
	if (!first)
		view_out_text(out, ", ");
	view_text_plain(out, sentence->begin, view_out_size(sentence));
	if (event->fields->part_count > 1) {
		size_t end = view_out_size(out);

		view_out_char(out, ' ');
		if (!view_side_other_fields(&line->sink, event, item->fields))
			out->at = out->begin + end;
	}
	return true;
}

static void view_line_write_fields(
		struct view_line *line, const struct view_class *class, const struct ctf_item *item)
{
	const struct view_event *event = class->event;
	bool first = true;

	line->sink.trace = item->trace->index;
	line->sink.ns = item->ns;
	line->sink.ip = event->ip;
	if (item->common_context) {
		put_group(line, "stream_context", &first);
		view_plain_value(&line->sink, item->common_context);
	}
	if (item->context) {
		put_group(line, "context", &first);
		view_plain_value(&line->sink, item->context);
	}
	if (!item->fields)
		return;
	if (event->format_index != UINT32_MAX && !is_json(line) && !line->lines->options->flat &&
			view_line_write_sentence(line, event, item, first))
		return;
	put_group(line, "fields", &first);
	line->sink.call = class->call;
	if (event->fields)
		view_side_fields(&line->sink, event, item->fields);
	else
		view_plain_value(&line->sink, item->fields);
	line->sink.call = VIEW_CALL_NONE;
	if (!event->fields)
		return;
	if (event->variadic) {
		put_group(line, "variadic", &first);
		view_dynamic_value(&line->sink, member_at(item->fields, event->variadic_index));
	}
}

/* ---- events ---- */

static void view_line_write_head(struct view_line *line, const struct ctf_item *item)
{
	struct view_out *out = out_of(line);

	view_line_write_colour(line, VIEW_COLOUR_TIME);
	view_out_char(out, '[');
	view_line_write_time(line, item->ns);
	view_out_text(out, "] ");
}

static void text_event(struct view_line *line, const struct view_class *class,
		const struct ctf_item *item, struct view_entry *entry)
{
	struct view_out *out = out_of(line);
	size_t start = view_out_size(out);

	if (item->timed) {
		view_line_write_head(line, item);
		entry->head = (uint32_t)(view_out_size(out) - start);
		view_line_write_colour(line, VIEW_COLOUR_END);
		view_out_char(out, ' ');
	}
	view_line_put_location(line, item);
	entry->body = (uint32_t)(view_out_size(out) - start);
	view_out_put(out, class->head.begin, view_out_size(&class->head));
	view_line_write_fields(line, class, item);
	view_out_char(out, '\n');
}

/* The process and, if it is not the main thread, the thread. */
static void view_line_write_origin(struct view_line *line, const struct view_class *class,
		const struct ctf_item *item, const struct view_entry *entry, uint64_t call)
{
	struct view_out *out = out_of(line);
	/* The upper bits of the number of a call are those of its thread, from 0 on. */
	uint64_t part = event_call_thread(call);
	int64_t pid;

	view_line_write_colour(line, VIEW_COLOUR_PROCESS);
	pid = view_tree_write_process(&line->sink, &class->tree, item);
	if (pid < 0) {
		pid = item->trace->vpid;
		view_line_write_process(line, item->trace);
	}
	if (entry->thread >= 0 && entry->thread != pid) {
		view_out_char(out, '/');
		view_out_signed(out, entry->thread);
	} else if (entry->thread < 0 && part) {
		view_out_text(out, " #");
		view_out_unsigned(out, part);
	}
	view_line_write_colour(line, VIEW_COLOUR_END);
}

/* False: the event is shown as others are. */
static bool tree_event(struct view_line *line, const struct view_class *class,
		const struct ctf_item *item, struct view_entry *entry)
{
	struct view_tree_record record = {.call = 0};
	struct view_out *out = out_of(line);
	size_t start = view_out_size(out), at;

	entry->trace = item->trace->index;
	entry->thread = view_tree_thread(&class->tree, item);
	if (class->tree.kind == VIEW_TREE_OTHER || !view_tree_read(&class->tree, item, &record))
		return false;
	view_out_put(out, (const char *)&record, sizeof(record));
	at = view_out_size(out);
	view_line_write_head(line, item);
	record.time_size = (uint32_t)(view_out_size(out) - at);
	at = view_out_size(out);
	view_line_write_origin(line, class, item, entry, record.call);
	record.origin_size = (uint32_t)(view_out_size(out) - at);
	line->sink.trace = item->trace->index;
	line->sink.ns = item->ns;
	line->sink.ip = class->event->ip;
	view_tree_write(&line->sink, &class->tree, class->event, item, &record);
	if (!out->failed)
		memcpy(out->begin + start, &record, sizeof(record));
	entry->kind = VIEW_ENTRY_CALL;
	return true;
}

static void json_event(
		struct view_line *line, const struct view_class *class, const struct ctf_item *item)
{
	struct view_out *out = out_of(line);

	json_begin(line, item, "event");
	view_out_put(out, class->head.begin, view_out_size(&class->head));
	view_line_write_fields(line, class, item);
	view_out_put(out, class->tail.text, class->tail.size);
	view_out_char(out, '\n');
}

/* ---- losses ---- */

static void text_lost_begin(struct view_line *line, const struct ctf_item *item)
{
	struct view_out *out = out_of(line);

	view_line_write_colour(line, VIEW_COLOUR_LOST);
	if (item->timed) {
		view_out_char(out, '[');
		view_line_write_time(line, item->ns);
		view_out_text(out, "] ");
	}
	view_out_text(out, "*** ");
}

static void text_lost_end(struct view_line *line, const struct ctf_item *item)
{
	struct view_out *out = out_of(line);

	if (has_process(item->trace)) {
		view_out_text(out, " of ");
		view_line_write_process(line, item->trace);
	}
	view_out_text(out, " ***");
	view_line_write_colour(line, VIEW_COLOUR_END);
	view_out_char(out, '\n');
}

static void text_many(struct view_line *line, uint64_t count, const char *what)
{
	struct view_out *out = out_of(line);

	view_out_unsigned(out, count);
	view_out_char(out, ' ');
	view_out_put(out, what, strlen(what));
	if (count != 1)
		view_out_char(out, 's');
	view_out_text(out, " lost");
}

static void text_discarded(struct view_line *line, const struct ctf_item *item)
{
	struct view_out *out = out_of(line);

	text_lost_begin(line, item);
	text_many(line, item->count, item->kind == CTF_ITEM_DISCARDED ? "event" : "packet");
	if (item->timed) {
		view_out_text(out, " since ");
		view_line_write_time(line, item->begin_ns);
	}
	view_out_text(out, " in ");
	view_text_plain(out, item->stream->name, strlen(item->stream->name));
	text_lost_end(line, item);
}

static void json_discarded(struct view_line *line, const struct ctf_item *item)
{
	if (item->kind == CTF_ITEM_DISCARDED)
		json_begin(line, item, "discarded");
	else
		json_begin(line, item, "lost_packets");
	if (item->timed)
		json_time(line, "begin_", item->begin_ns);
	json_text_member(line, "stream", item->stream->name, strlen(item->stream->name));
	json_count(line, "count", item->count);
	view_out_text(out_of(line), "}\n");
}

static void lost_text(struct view_line *line, const struct ctf_item *item, const char *name,
		const char *label)
{
	const struct ctf_value *value = ctf_value_member(item->fields, name);
	struct view_out *out = out_of(line);

	if (!value || !value->is_text)
		return;
	if (is_json(line)) {
		json_text_member(line, label, value->text, value->size);
	} else if (value->size) {
		view_out_put(out, label, strlen(label));
		view_text_plain(out, value->text, value->size);
	}
}

/* The number of events. */
static uint64_t lost_record(struct view_line *line, const struct ctf_item *item)
{
	const struct ctf_value *count = ctf_value_member(item->fields, "_count");
	uint64_t lost = count && count->type->kind == CTF_INTEGER ? count->u : 0;
	const struct ctf_value *reason = ctf_value_member(item->fields, "_reason");
	bool bytes = reason && reason->is_text && ctf_lost_is_bytes(reason->text, reason->size);
	char size[FORMAT_NUMBER_MAX];

	if (is_json(line)) {
		json_begin(line, item, "lost");
		lost_text(line, item, "_ring", "ring");
		lost_text(line, item, "_event", "event");
		lost_text(line, item, "_reason", "reason");
		json_count(line, "count", lost);
		if (bytes)
			view_out_text(out_of(line), ",\"in_bytes\":true");
		view_out_text(out_of(line), "}\n");
		return bytes ? 0 : lost;
	}
	text_lost_begin(line, item);
	if (bytes) {
		format_size(lost, size);
		view_out_put(out_of(line), size, strlen(size));
		view_out_text(out_of(line), " of events lost");
	} else {
		text_many(line, lost, "event");
	}
	lost_text(line, item, "_event", ": ");
	lost_text(line, item, "_ring", " in ");
	lost_text(line, item, "_reason", ": ");
	text_lost_end(line, item);
	return bytes ? 0 : lost;
}

/* ---- items ---- */

static int event_item(struct view_line *line, const struct ctf_item *item, struct view_entry *entry)
{
	const struct view_class *class = class_of(line, item);

	if (!class)
		return -ENOMEM;
	if (class->lost_record) {
		entry->kind = VIEW_ENTRY_LOST;
		entry->count = lost_record(line, item);
		return 1;
	}
	if (!class->wanted || (class->where && !where_matches(class->where, item)))
		return 0;
	if (is_json(line))
		json_event(line, class, item);
	else if (!line->lines->tree || !tree_event(line, class, item, entry))
		text_event(line, class, item, entry);
	return 1;
}

static void damage_item(
		struct view_line *line, const struct ctf_item *item, struct view_entry *entry)
{
	size_t size = strlen(item->text);

	entry->kind = VIEW_ENTRY_DAMAGE;
	entry->cut = item->cut;
	entry->head = (uint32_t)size + 1;
	view_out_put(out_of(line), item->text, size + 1);
	if (is_json(line)) {
		json_begin(line, item, "damage");
		json_text_member(line, "text", item->text, size);
		view_out_text(out_of(line), "}\n");
	}
}

/* The limits apply to all items with a time, except damage. */
static bool is_in_time(const struct view_lines *lines, const struct ctf_item *item)
{
	return !item->timed || item->kind == CTF_ITEM_DAMAGE || item->kind == CTF_ITEM_NOTE ||
			(item->ns >= lines->from_ns && item->ns <= lines->to_ns);
}

int view_line_item(
		struct view_line *line, const struct ctf_item *item, struct view_entry *ret_entry)
{
	size_t start = view_out_size(out_of(line));
	int ret = 1;

	if (line->lines->has_times && !is_in_time(line->lines, item))
		return 0;
	*ret_entry = (struct view_entry){.ns = item->ns,
			.cycles = item->cycles,
			.timed = item->timed,
			.kind = VIEW_ENTRY_EVENT};
	switch (item->kind) {
	case CTF_ITEM_EVENT: ret = event_item(line, item, ret_entry); break;
	case CTF_ITEM_DISCARDED:
	case CTF_ITEM_LOST_PACKETS:
		ret_entry->kind = VIEW_ENTRY_OTHER;
		if (item->kind == CTF_ITEM_DISCARDED)
			ret_entry->kind = VIEW_ENTRY_DISCARDED;
		ret_entry->count = item->count;
		if (is_json(line))
			json_discarded(line, item);
		else
			text_discarded(line, item);
		break;
	case CTF_ITEM_DAMAGE: damage_item(line, item, ret_entry); break;
	case CTF_ITEM_NOTE:
		ret_entry->kind = VIEW_ENTRY_NOTE;
		ret_entry->head = (uint32_t)strlen(item->text) + 1;
		view_out_put(out_of(line), item->text, ret_entry->head);
		break;
	}
	if (out_of(line)->failed || line->location.failed || line->sentence.failed)
		return -ENOMEM;
	ret_entry->size = view_out_size(out_of(line)) - start;
	return ret;
}

/* ---- the whole ---- */

void view_lines_start(struct view_lines *lines, const struct view_options *options)
{
	lines->options = options;
	lines->ops = options->json        ? &view_json_ops
			: options->colour ? &view_colour_ops
					  : &view_text_ops;
	pthread_mutex_init(&lines->mutex, NULL);
}

void view_lines_forget(void *class)
{
	view_line_free_class(class);
}

void view_lines_stop(struct view_lines *lines, struct ctf_reader *reader)
{
	for (uint32_t t = 0; t < ctf_reader_trace_count(reader); t++) {
		const struct ctf_trace *trace = ctf_reader_trace(reader, t);

		for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++) {
			struct ctf_event_class *event = ctf_trace_event(trace, i);

			view_line_free_class(event->user);
			event->user = NULL;
		}
	}
	pthread_mutex_destroy(&lines->mutex);
}

void view_line_start(struct view_line *line, struct view_lines *lines, struct view_out *out)
{
	*line = (struct view_line){
			.lines = lines,
			.sink =
					{
							.ops = lines->ops,
							.out = out,
							.colour = lines->options->colour &&
									!lines->options->json,
							.attributes = lines->options->attributes,
							.symbols = lines->symbols,
					},
	};
}

void view_line_stop(struct view_line *line)
{
	view_out_free(&line->location);
	view_out_free(&line->sentence);
}
