/* SPDX-License-Identifier: MIT */
/*
 * Tables in the form of RFC 4180: a line of titles, CR LF after each line, doubled quotes. This
 * file writes fields, and one table of all events, with contexts and fields as JSON.
 *
 * Text comes from traced programs. Control characters become escapes, so that a terminal does not
 * obey them. A text that begins like a formula gets an apostrophe in front, so that a spreadsheet
 * does not evaluate it.
 */
#include <errno.h>
#include <string.h>

#include "export/export-csv.h"

/* ---- fields ---- */

static void export_csv_write_column(struct view_out *out, const char *text, size_t size)
{
	bool quotes = memchr(text, '"', size) || memchr(text, ',', size) ||
			memchr(text, '\n', size) || memchr(text, '\r', size);

	if (!quotes) {
		view_out_put(out, text, size);
		return;
	}
	view_out_char(out, '"');
	while (size) {
		const char *quote = memchr(text, '"', size);
		size_t part = quote ? (size_t)(quote - text) + 1 : size;

		view_out_put(out, text, part);
		if (quote)
			view_out_char(out, '"');
		text += part;
		size -= part;
	}
	view_out_char(out, '"');
}

static bool export_csv_char_is_in_set(char c, const char *set)
{
	return c && strchr(set, c);
}

/*
 * Whether a spreadsheet would evaluate the text as a formula. A number is not a formula, not even
 * with a sign.
 */
static bool is_formula(const char *text, size_t size)
{
	if (!size || !export_csv_char_is_in_set(*text, "=+-@"))
		return false;
	if (*text == '=' || *text == '@')
		return true;
	for (size_t i = 1; i < size; i++) {
		if (!export_csv_char_is_in_set(text[i], "0123456789.,eE+-"))
			return true;
	}
	return false;
}

void csv_put_from(struct view_out *out, struct view_out *scratch, size_t begin)
{
	size_t end = view_out_size(scratch), size = end - begin, printable;

	if (size && !scratch->failed && view_out_reserve(scratch, 4 * size + 1)) {
		printable = end;
		if (is_formula(scratch->begin + begin, size))
			view_out_char(scratch, '\'');
		view_text_field(scratch, scratch->begin + begin, size);
		export_csv_write_column(out, scratch->begin + printable,
				view_out_size(scratch) - printable);
		scratch->at = scratch->begin + begin;
	}
	if (scratch->failed)
		out->failed = true;
}

void csv_put_json(struct view_out *out, struct view_out *scratch, bool scalar)
{
	const char *text = scratch->begin;
	size_t size = view_out_size(scratch);

	if (scratch->failed)
		out->failed = true;
	if (scratch->failed || !size)
		return;
	if (scalar && size >= 2 && *text == '"')
		export_csv_write_column(out, text + 1, size - 2);
	else if (!scalar || size != 4 || memcmp(text, "null", 4) != 0)
		export_csv_write_column(out, text, size);
	scratch->at = scratch->begin;
}

void csv_put_text(struct view_out *out, struct view_out *scratch, const char *text, size_t size)
{
	size_t begin = view_out_size(scratch);

	export_put_utf8(scratch, text, size);
	csv_put_from(out, scratch, begin);
}

const char csv_first_columns[] = "ns,time,hostname,procname,vpid,vtid,cpu";

void csv_put_first(struct export *export, struct view_out *out, const struct ctf_item *item,
		const struct export_class *own)
{
	const struct identity_process *process = &export->identity.processes[own->process];
	struct view_out *scratch = &export->walk.scratch;

	if (item->timed)
		view_out_signed(out, item->ns);
	view_out_char(out, ',');
	if (item->timed)
		walk_put_time(out, item->ns, true);
	view_out_char(out, ',');
	if (process->hostname)
		csv_put_text(out, scratch, process->hostname, strlen(process->hostname));
	view_out_char(out, ',');
	if (process->name)
		csv_put_text(out, scratch, process->name, strlen(process->name));
	view_out_char(out, ',');
	if (process->pid >= 0)
		view_out_signed(out, process->pid);
	view_out_char(out, ',');
	if (own->thread >= 0)
		view_out_signed(out, own->thread);
	view_out_char(out, ',');
	if (item->stream->cpu >= 0)
		view_out_signed(out, item->stream->cpu);
}

/* ---- one table for all ---- */

static int start_one(struct export *export)
{
	view_out_text(&export->out, csv_first_columns);
	view_out_text(&export->out, ",event,loglevel,context,fields\r\n");
	return 0;
}

/* Contexts, or fields followed by the variadic part, as one object. */
static void put_contexts(struct view_sink *sink, const struct ctf_item *item)
{
	const struct ctf_value *common = item->common_context, *own = item->context;
	struct view_out *out = sink->out;
	size_t end;

	if (common)
		view_plain_value(sink, common);
	if (!own)
		return;
	end = view_out_size(out);
	view_plain_value(sink, own);
	if (!common || out->failed)
		return;
	/* Joins two objects: `{"a":1}{"b":2}`. */
	if (end >= 2 && out->begin[end - 2] != '{' && out->begin[end + 1] != '}') {
		out->begin[end - 1] = ',';
		memmove(out->begin + end, out->begin + end + 1, view_out_size(out) - end - 1);
		out->at--;
	} else if (out->begin[end - 2] == '{') {
		memmove(out->begin + end - 2, out->begin + end, view_out_size(out) - end);
		out->at -= 2;
	} else {
		out->at = out->begin + end;
	}
}

static void export_csv_write_fields(
		struct view_sink *sink, const struct walk_class *class, const struct ctf_item *item)
{
	const struct view_event *event = class->view;
	struct view_out *out = sink->out;

	if (!event || !event->fields) {
		if (item->fields)
			view_plain_value(sink, item->fields);
		return;
	}
	view_side_fields(sink, event, item->fields);
	if (!event->variadic || out->failed)
		return;
	out->at--; /* The closing brace. */
	view_out_text(out, out->at[-1] == '{' ? "\"(variadic)\":" : ",\"(variadic)\":");
	view_dynamic_value(sink, walk_member_at(item->fields, event->variadic_index));
	view_out_char(out, '}');
}

static int event_in_one(struct export *export, const struct ctf_item *item,
		struct walk_class *class, const struct export_slice *slice)
{
	struct view_out *out = &export->out, *scratch = &export->walk.scratch;
	struct view_sink sink = export_sink(export, scratch, class, item);
	const struct view_event *event = class->view;

	(void)slice;
	csv_put_first(export, out, item, class->user_data);
	view_out_char(out, ',');
	csv_put_text(out, scratch, item->event->name, strlen(item->event->name));
	view_out_char(out, ',');
	if (event && event->loglevel)
		csv_put_text(out, scratch, event->loglevel, strlen(event->loglevel));
	else if (item->event->loglevel >= 0)
		view_out_signed(out, item->event->loglevel);
	view_out_char(out, ',');
	put_contexts(&sink, item);
	csv_put_json(out, scratch, false);
	view_out_char(out, ',');
	export_csv_write_fields(&sink, class, item);
	csv_put_json(out, scratch, false);
	view_out_text(out, "\r\n");
	return out->failed ? -ENOMEM : 0;
}

const struct export_ops export_csv = {.start = start_one, .event = event_in_one};
