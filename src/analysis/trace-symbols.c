/* SPDX-License-Identifier: MIT */
/*
 * Symbols of the addresses in a trace.
 *
 * The channels with base address records are read an additional time before: a record can apply to
 * events that are shown earlier.
 */
#include "analysis/trace-symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/json-line.h"
#include "analysis/listener.h"
#include "analysis/view-sink.h"
#include "ctf/ctf.h"

#define PATH_ENV "SIDE_DEBUG_PATH"
#define LOAD "side:library_load"
#define UNLOAD "side:library_unload"

/* ---- records ---- */

/* True if a stream class, or any one for `stream` NULL, has records. A channel is a stream class. */
static bool trace_symbols_has_records(const struct ctf_trace *trace, const uint64_t *stream)
{
	for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++) {
		const struct ctf_event_class *event = ctf_trace_event(trace, i);

		if (trace->is_side && (!stream || event->stream_id == *stream) &&
				!strcmp(event->name, LOAD))
			return true;
	}
	return false;
}

static bool trace_symbols_is_record(const struct ctf_item *item)
{
	return item->kind == CTF_ITEM_EVENT && item->fields &&
			(!strcmp(item->event->name, LOAD) || !strcmp(item->event->name, UNLOAD));
}

static uint64_t trace_symbols_get_number(const struct ctf_value *fields, const char *name)
{
	const struct ctf_value *value = ctf_value_member(fields, name);

	return value && value->type->kind == CTF_INTEGER ? value->u : 0;
}

/*
 * Copies a text of a record, which has no terminating NUL. The caller frees it. NULL: the record
 * has none. 0 or -ENOMEM.
 */
static int trace_symbols_get_text(const struct ctf_value *fields, const char *name, char **ret_text)
{
	const struct ctf_value *value = ctf_value_member(fields, name);
	bool is_there = value && value->is_text;

	*ret_text = is_there ? strndup(value->text, value->size) : NULL;
	return is_there && !*ret_text ? -ENOMEM : 0;
}

static size_t trace_symbols_get_bytes(const struct ctf_value *fields, const char *name,
		uint8_t bytes[SYMBOLS_BUILD_ID_MAX])
{
	const struct ctf_value *value = ctf_value_member(fields, name);
	const struct ctf_value *element;
	struct ctf_cursor cursor;
	size_t size = 0;

	if (!value || (value->type->kind != CTF_SEQUENCE && value->type->kind != CTF_ARRAY))
		return 0;
	ctf_cursor_start(&cursor, value);
	while ((element = ctf_cursor_next(&cursor))) {
		if (size == SYMBOLS_BUILD_ID_MAX || element->type->kind != CTF_INTEGER)
			return 0;
		bytes[size++] = (uint8_t)element->u;
	}
	return size;
}

static int trace_symbols_add_module(struct symbols *symbols, const struct ctf_item *item)
{
	uint8_t build_id[SYMBOLS_BUILD_ID_MAX];
	struct symbols_library library = {
			.base = trace_symbols_get_number(item->fields, "_base"),
			.size = trace_symbols_get_number(item->fields, "_size"),
			.build_id = build_id,
			.build_id_size = trace_symbols_get_bytes(
					item->fields, "_build_id", build_id),
	};
	char *path, *link = NULL;
	int ret = trace_symbols_get_text(item->fields, "_path", &path);

	if (!ret)
		ret = trace_symbols_get_text(item->fields, "_debug_link", &link);
	library.path = path;
	library.debug_link = link;
	if (!ret && path)
		ret = symbols_load(symbols, item->trace->index, item->ns, &library);
	free(path);
	free(link);
	return ret;
}

int trace_symbols_add(struct symbols *symbols, const struct ctf_item *item)
{
	if (item->kind != CTF_ITEM_EVENT || !item->trace->is_side || !item->fields)
		return 0;
	if (!strcmp(item->event->name, LOAD))
		return trace_symbols_add_module(symbols, item);
	if (!strcmp(item->event->name, UNLOAD))
		return symbols_unload(symbols, item->trace->index, item->ns,
				trace_symbols_get_number(item->fields, "_base"));
	return 0;
}

/* A stream of a trace, at its next record. */
struct trace_symbols_stream {
	uint32_t index;
	const struct ctf_item *item; /* NULL: the stream has no more records */
};

/* Skips a stream without records at its first event. 0 or -ENOMEM. */
static int trace_symbols_advance(struct ctf_reader *reader, struct trace_symbols_stream *stream)
{
	const struct ctf_item *item;
	bool is_first = !stream->item;
	int ret;

	stream->item = NULL;
	while ((ret = ctf_reader_stream_next(reader, stream->index, &item)) > 0) {
		if (trace_symbols_is_record(item)) {
			stream->item = item;
			return 0;
		}
		if (is_first && item->kind == CTF_ITEM_EVENT &&
				!trace_symbols_has_records(item->trace, &item->event->stream_id))
			return 0;
		is_first &= item->kind != CTF_ITEM_EVENT;
	}
	return ret;
}

/* The stream with the earliest record. NULL: there are no more records. */
static struct trace_symbols_stream *trace_symbols_first(
		struct trace_symbols_stream *streams, uint32_t nr)
{
	struct trace_symbols_stream *first = NULL;

	for (uint32_t i = 0; i < nr; i++)
		if (streams[i].item && (!first || streams[i].item->ns < first->item->ns))
			first = &streams[i];
	return first;
}

/* Adds the records of one trace in the order of their times. */
static int trace_symbols_add_trace(struct symbols *symbols, struct ctf_reader *reader,
		struct trace_symbols_stream *streams, uint32_t nr)
{
	struct trace_symbols_stream *first;
	int ret = 0;

	for (uint32_t i = 0; i < nr && !ret; i++)
		ret = trace_symbols_advance(reader, &streams[i]);
	while (!ret && (first = trace_symbols_first(streams, nr))) {
		ret = trace_symbols_add(symbols, first->item);
		if (!ret)
			ret = trace_symbols_advance(reader, first);
	}
	return ret;
}

/* The streams of a trace follow each other. */
static int trace_symbols_take_records(struct symbols *symbols, struct ctf_reader *reader)
{
	uint32_t all = ctf_reader_stream_count(reader), begin = 0, end;
	struct trace_symbols_stream *streams = calloc(all ? all : 1, sizeof(*streams));
	int ret = streams ? 0 : -ENOMEM;

	for (; begin < all && !ret; begin = end) {
		const struct ctf_trace *trace = ctf_reader_stream_trace(reader, begin);

		for (end = begin; end < all && ctf_reader_stream_trace(reader, end) == trace; end++)
			streams[end].index = end;
		if (trace_symbols_has_records(trace, NULL))
			ret = trace_symbols_add_trace(
					symbols, reader, &streams[begin], end - begin);
	}
	free(streams);
	return ret;
}

static int trace_symbols_read_maps(struct symbols *symbols, struct ctf_reader *reader)
{
	int ret = 0;

	for (uint32_t t = 0; !ret && t < ctf_reader_trace_count(reader); t++) {
		const struct ctf_trace *trace = ctf_reader_trace(reader, t);
		char *path;

		if (asprintf(&path, "%s/.maps", trace->path) < 0)
			return -ENOMEM;
		ret = symbols_maps(symbols, trace->index, path);
		free(path);
	}
	return ret;
}

static void trace_symbols_report(void *user, const char *sentence)
{
	const struct analysis_listener *listener = user;

	if (listener->report)
		listener->report(listener->user, ANALYSIS_NOTE, NULL, sentence);
}

struct symbols *trace_symbols_start(bool debuginfod, const struct analysis_listener *listener)
{
	const struct symbols_options options = {
			.path = getenv(PATH_ENV),
			.debuginfod = debuginfod,
			.report = trace_symbols_report,
			.user = (void *)(uintptr_t)listener,
	};

	return symbols_create(&options);
}

int trace_symbols_read(struct symbols *symbols, const char *dir)
{
	struct ctf_reader *reader;
	struct error error;
	int ret = ctf_reader_open(dir, &reader, &error);

	/* The caller opens the trace, too, and reports other errors. */
	if (ret)
		return ret == -ENOMEM ? ret : 0;
	ret = trace_symbols_read_maps(symbols, reader);
	if (!ret)
		ret = trace_symbols_take_records(symbols, reader);
	ctf_reader_close(reader);
	return ret;
}

/* ---- showing ---- */

/* " [inlined: inner, outer]" */
static void trace_symbols_put_inlined(struct view_out *out, const struct symbol *symbol)
{
	for (size_t i = 0; i < symbol->nr_inlined; i++) {
		const char *function = symbol->inlined[i].function;

		view_out_text(out, i ? ", " : " [inlined: ");
		view_text_plain(out, function, strlen(function));
	}
	if (symbol->nr_inlined)
		view_out_char(out, ']');
}

void trace_symbol_location_text(struct view_out *out, const char *file, unsigned int line)
{
	if (!file)
		return;
	view_out_text(out, " (");
	view_text_plain(out, file, strlen(file));
	view_out_char(out, ':');
	view_out_unsigned(out, line);
	view_out_char(out, ')');
}

bool trace_symbol_text(struct view_sink *sink, const struct symbol *symbol)
{
	struct view_out *out = sink->out;
	const char *name = symbol->function ? symbol->function : symbol->module;

	if (!name)
		return false;
	view_text_plain(out, name, strlen(name));
	view_out_char(out, '+');
	view_out_hexadecimal(out, symbol->function ? symbol->inside : symbol->offset);
	trace_symbol_location_text(out, symbol->file, symbol->line);
	trace_symbols_put_inlined(out, symbol);
	return true;
}

/* Writes ,"inlined":[{"function":…,"file":…,"line":…},…], innermost first. Lines are those of calls. */
static void trace_symbols_put_inlined_json(struct view_out *out, const struct symbol *symbol)
{
	for (size_t i = 0; i < symbol->nr_inlined; i++) {
		const struct symbol_inlined *inlined = &symbol->inlined[i];

		view_out_text(out, i ? ",{\"function\":" : ",\"inlined\":[{\"function\":");
		view_json_quoted(out, inlined->function, strlen(inlined->function));
		if (inlined->file) {
			json_line_text(out, "file", inlined->file);
			json_line_number(out, "line", inlined->line);
		}
		view_out_char(out, '}');
	}
	if (symbol->nr_inlined)
		view_out_char(out, ']');
}

void trace_symbol_json_members(struct view_out *out, const struct symbol *symbol, bool has_offset)
{
	if (symbol->module) {
		json_line_text(out, "module", symbol->module);
		json_line_number(out, "offset", symbol->offset);
	}
	if (symbol->function)
		json_line_text(out, "function", symbol->function);
	if (symbol->function && has_offset)
		json_line_number(out, "function_offset", symbol->inside);
	if (symbol->file) {
		json_line_text(out, "file", symbol->file);
		json_line_number(out, "line", symbol->line);
	}
	trace_symbols_put_inlined_json(out, symbol);
}

bool trace_symbol_json(struct view_sink *sink, const struct symbol *symbol)
{
	struct view_out *out = sink->out;
	size_t begin = view_out_size(out);

	if (!symbol->module)
		return false;
	trace_symbol_json_members(out, symbol, true);
	if (!out->failed)
		out->begin[begin] = '{'; /* replaces the comma before the first member */
	view_out_char(out, '}');
	return true;
}
