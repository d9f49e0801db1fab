/* SPDX-License-Identifier: MIT */
/* The events of a trace as `report` and `export` read them. */
#include "analysis/report-walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/patterns.h"
#include "analysis/view-time.h"
#include "base/error.h"
#include "protocol/pattern.h"

/* ---- opening ---- */

/* Checked first, because these errors have better hints than those of the reader. */
int walk_check(const struct report_walk_options *options, struct error *error)
{
	int fd = open(options->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	switch (errno) {
	case EACCES:
		return error_set(error, -EACCES, "permission to read the directory is needed",
				"cannot %s %s: %s", options->verb, options->dir, strerror(EACCES));
	case ENOTDIR:
		return error_set(error, -ENOTDIR, "give the directory that `side record -o` wrote",
				"cannot %s %s: it is not a directory", options->verb, options->dir);
	default:
		fd = -errno;
		return error_set_kind(error, ERROR_FAILED, fd, NULL, "cannot %s %s: %s",
				options->verb, options->dir, strerror(-fd));
	}
}

static int report_walk_open_reader(struct report_walk *walk, struct error *error)
{
	struct view_time from = {0}, to = {0};
	struct error reason;
	int ret = view_times_read(&walk->options.times, &from, &to, error);

	if (ret)
		return ret;
	walk->sink = (struct view_sink){.ops = &view_json_ops, .out = &walk->scratch};
	ret = ctf_reader_open(walk->options.dir, &walk->reader, &reason);
	if (ret)
		return error_set_kind(error, ERROR_FAILED, ret, NULL, "%s", reason.text);
	view_times_resolve(walk->options.dir, &from, &to, &walk->from_ns, &walk->to_ns);
	if (from.kind || to.kind)
		ctf_reader_set_times(walk->reader, walk->from_ns, walk->to_ns);
	return 0;
}

static int report_walk_parse(struct report_walk *walk, struct error *error)
{
	int ret = patterns_parse(walk->options.patterns, &walk->patterns, error);

	if (!ret && walk->options.where)
		ret = where_parse("filter", walk->options.where, &walk->where, error);
	return ret;
}

int walk_prepare(struct report_walk *walk, const struct report_walk_options *options,
		struct error *error)
{
	int ret;

	*walk = (struct report_walk){.options = *options};
	ret = report_walk_parse(walk, error);
	return ret ? ret : walk_check(options, error);
}

int walk_open(struct report_walk *walk, struct error *error)
{
	return report_walk_open_reader(walk, error);
}

int walk_open_again(struct report_walk *walk, const struct report_walk *first, struct error *error)
{
	int ret;

	*walk = (struct report_walk){.options = first->options, .is_second = true};
	ret = report_walk_parse(walk, error);
	return ret ? ret : report_walk_open_reader(walk, error);
}

static void free_classes(struct report_walk *walk)
{
	for (uint32_t t = 0; t < ctf_reader_trace_count(walk->reader); t++) {
		const struct ctf_trace *trace = ctf_reader_trace(walk->reader, t);

		for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++) {
			struct ctf_event_class *event = ctf_trace_event(trace, i);
			struct walk_class *class = event->user;

			if (!class)
				continue;
			if (class->user_data && walk->free_user_data)
				walk->free_user_data(class->user_data);
			where_bound_free(class->where);
			view_event_free(class->view);
			free(class);
			event->user = NULL;
		}
	}
}

void walk_close(struct report_walk *walk)
{
	if (walk->reader) {
		free_classes(walk);
		ctf_reader_close(walk->reader);
	}
	where_free(&walk->where);
	free(walk->patterns);
	view_out_free(&walk->scratch);
}

/* ---- choosing ---- */

bool walk_pattern_wants(
		const struct pattern *patterns, size_t count, const char *event, int loglevel)
{
	const char *colon = strchr(event, ':'), *name = event;
	/* The debug levels of LTTng are 7 to 14. A pattern has one level for all of them. */
	unsigned int level = loglevel < 0 || loglevel > 7 ? 7 : (unsigned int)loglevel;
	char provider[512] = "";

	if (colon && (size_t)(colon - event) < sizeof(provider)) {
		memcpy(provider, event, (size_t)(colon - event));
		provider[colon - event] = '\0';
		name = colon + 1;
	}
	return pattern_set_wants(patterns, count, provider, name, level);
}

static bool is_lost_record(const struct ctf_item *item)
{
	return item->trace->is_side && item->fields &&
			strncmp(item->stream->name, "side_session", 12) == 0 &&
			strcmp(item->event->name, "side:lost") == 0;
}

static struct walk_class *report_walk_make_class(
		struct report_walk *walk, const struct ctf_item *item)
{
	struct walk_class *class = calloc(1, sizeof(*class));

	if (!class)
		return NULL;
	item->event->user = class;
	class->lost = is_lost_record(item);
	class->wanted = class->lost || !walk->options.patterns->count ||
			walk_pattern_wants(walk->patterns, walk->options.patterns->count,
					item->event->name, item->event->loglevel);
	if (!class->wanted || class->lost)
		return class;
	class->view = view_event_create(item->event, &walk->sink);
	if (!class->view)
		return NULL;
	if (walk->options.where) {
		if (where_bind(&walk->where, item, class->view, &class->where, NULL))
			return NULL;
		class->wanted = class->where != NULL;
	}
	if (class->wanted && walk->create_user_data) {
		class->user_data = walk->create_user_data(walk->user, class, item);
		if (!class->user_data)
			return NULL;
	}
	return class;
}

/* A power of two. */
#define PROGRESS_INTERVAL 4096

static void report_walk_show_progress(const struct report_walk *walk)
{
	const struct analysis_listener *listener = &walk->options.listener;

	if (listener->progress)
		listener->progress(listener->user, walk->nr_items);
}

static void report_walk_report(const struct report_walk *walk, const struct ctf_item *item)
{
	const struct analysis_listener *listener = &walk->options.listener;
	bool is_damage = item->kind == CTF_ITEM_DAMAGE;

	if (listener->report)
		listener->report(listener->user, is_damage ? ANALYSIS_ERROR : ANALYSIS_NOTE,
				is_damage && item->cut
						? "`side view --repair` shortens the file to its last complete event"
						: NULL,
				item->text);
}

int walk_next(struct report_walk *walk, struct ctf_item *ret_item, struct walk_class **ret_class)
{
	struct walk_class *class;
	int ret;

	while ((ret = ctf_reader_next(walk->reader, ret_item)) > 0) {
		*ret_class = NULL;
		walk->nr_items++;
		if (__builtin_expect(walk->nr_items % PROGRESS_INTERVAL == 0, 0))
			report_walk_show_progress(walk);
		if (__builtin_expect(ret_item->ns < walk->from_ns || ret_item->ns > walk->to_ns,
				    0) &&
				ret_item->timed && ret_item->kind != CTF_ITEM_DAMAGE)
			continue;
		if (__builtin_expect(ret_item->kind == CTF_ITEM_EVENT, 1)) {
			class = ret_item->event->user;
			if (__builtin_expect(!class, 0)) {
				class = report_walk_make_class(walk, ret_item);
				if (!class)
					return -ENOMEM;
			}
			if (!class->wanted)
				continue;
			if (class->where && !where_matches(class->where, ret_item))
				continue;
			*ret_class = class;
			walk->nr_events += !class->lost;
			return 1;
		}
		if (ret_item->kind == CTF_ITEM_DISCARDED || ret_item->kind == CTF_ITEM_LOST_PACKETS)
			return 1;
		if (ret_item->kind == CTF_ITEM_DAMAGE)
			walk->damaged = true;
		if (!walk->is_second)
			report_walk_report(walk, ret_item);
	}
	return ret;
}

/* ---- losses ---- */

uint64_t walk_lost_count(const struct ctf_item *item)
{
	const struct ctf_value *count = ctf_value_member(item->fields, "_count");

	if (!count)
		count = ctf_value_member(item->fields, "count");
	return count && count->type->kind == CTF_INTEGER ? count->u : 0;
}

const char *walk_lost_text(const struct ctf_item *item, const char *name, size_t *ret_size)
{
	char prefixed[32];
	const struct ctf_value *text;

	snprintf(prefixed, sizeof(prefixed), "_%s", name);
	text = ctf_value_member(item->fields, prefixed);
	if (!text)
		text = ctf_value_member(item->fields, name);
	*ret_size = text && text->is_text ? text->size : 0;
	return *ret_size ? text->text : "";
}

bool walk_lost_is_bytes(const struct ctf_item *item)
{
	size_t size;
	const char *reason = walk_lost_text(item, "reason", &size);

	return ctf_lost_is_bytes(reason, size);
}

/* ---- values ---- */

const struct ctf_value *walk_member_at(const struct ctf_value *structure, uint32_t index)
{
	const struct ctf_value *member = NULL;
	struct ctf_cursor cursor;

	ctf_cursor_start(&cursor, structure);
	for (uint32_t i = 0; i <= index; i++)
		member = ctf_cursor_next(&cursor);
	return member;
}

struct report_groups {
	struct view_sink sink;
	bool any;
};

static void begin_group(struct report_groups *groups, const char *name)
{
	struct view_out *out = groups->sink.out;

	if (groups->any)
		view_out_text(out, groups->sink.ops->json ? "," : ", ");
	groups->any = true;
	if (!groups->sink.ops->json)
		return;
	view_out_char(out, '"');
	view_out_put(out, name, strlen(name));
	view_out_text(out, "\":");
}

static void report_walk_add_plain(
		struct report_groups *groups, const char *name, const struct ctf_value *value)
{
	if (!value)
		return;
	begin_group(groups, name);
	view_plain_value(&groups->sink, value);
}

static void put_values(struct report_groups *groups, const struct walk_class *class,
		const struct ctf_item *item)
{
	const struct view_event *event = class->view;

	report_walk_add_plain(groups, "stream_context", item->common_context);
	report_walk_add_plain(groups, "context", item->context);
	if (!event || !event->fields) {
		report_walk_add_plain(groups, "fields", item->fields);
		return;
	}
	begin_group(groups, "fields");
	view_side_fields(&groups->sink, event, item->fields);
	if (event->variadic) {
		begin_group(groups, "variadic");
		view_dynamic_value(
				&groups->sink, walk_member_at(item->fields, event->variadic_index));
	}
}

void walk_json_values(
		struct view_out *out, const struct walk_class *class, const struct ctf_item *item)
{
	walk_json_values_to(&(struct view_sink){.ops = &view_json_ops, .out = out}, class, item);
}

void walk_json_values_to(const struct view_sink *sink, const struct walk_class *class,
		const struct ctf_item *item)
{
	struct report_groups groups = {.sink = *sink};

	put_values(&groups, class, item);
}

void walk_text_values(struct view_out *out, const struct walk_class *class,
		const struct ctf_item *item, bool colour)
{
	struct report_groups groups = {.sink = {.ops = colour ? &view_colour_ops : &view_text_ops,
						       .out = out,
						       .colour = colour}};

	put_values(&groups, class, item);
}

/* ---- time ---- */

#define SECOND 1000000000

void walk_put_time(struct view_out *out, int64_t ns, bool utc)
{
	int64_t remainder = ns % SECOND, second = ns / SECOND;
	struct tm parts;
	char text[64];
	time_t time;
	size_t size;

	if (remainder < 0) {
		remainder += SECOND;
		second--;
	}
	time = (time_t)second;
	if (!(utc ? gmtime_r(&time, &parts) : localtime_r(&time, &parts)) ||
			!(size = strftime(text, sizeof(text),
					  utc ? "%Y-%m-%dT%H:%M:%S" : "%H:%M:%S", &parts)))
		size = (size_t)snprintf(text, sizeof(text), "??:??:??");
	size += (size_t)snprintf(text + size, sizeof(text) - size, ".%09d%s", (int)remainder,
			utc ? "Z" : "");
	view_out_put(out, text, size);
}
