/* SPDX-License-Identifier: MIT */
/*
 * The events of a trace, one line each, ordered by time.
 *
 * view-line.c makes lines of items, view-feed.c makes them ahead in threads, and view-merge.c
 * orders them. view- follow.c shows a trace while it is being recorded.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "analysis/trace-symbols.h"
#include "analysis/view-follow.h"
#include "analysis/view-merge.h"
#include "analysis/view-tree.h"
#include "analysis/view.h"
#include "ctf/ctf.h"

/* A search of this many directories is reported, with the number of traces found. */
#define VIEW_SEARCH_NOTED 1000

__attribute__((format(printf, 3, 4))) static void print_format(
		struct view *view, enum analysis_message kind, const char *format, ...)
{
	char sentence[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	view_report(view, kind, NULL, sentence);
}

static void view_print_summary(struct view *view)
{
	uint64_t lost = view->discarded > view->lost ? view->discarded : view->lost;

	char number[FORMAT_NUMBER_MAX];

	if (lost)
		print_format(view, ANALYSIS_NOTE, "%s event%s lost while recording",
				format_number(lost, number), lost == 1 ? " was" : "s were");
}

static void repair(struct view *view)
{
	unsigned int repaired;
	struct error error = {.text = ""};

	if (ctf_repair(view->options->dir, &repaired, &error)) {
		view->damaged = true;
		view_report(view, ANALYSIS_ERROR, *error.hint ? error.hint : NULL, error.text);
	}
	if (repaired)
		print_format(view, ANALYSIS_NOTE, "%u file%s shortened to the last complete event",
				repaired, repaired == 1 ? " was" : "s were");
}

/* Notes about whole traces, before the events or after them. */
static int show_notes(struct view *view, struct ctf_reader *reader, bool behind)
{
	struct view_entry entry;
	struct view_out out = {0};
	struct view_line line;
	struct ctf_item item;
	int ret = 0;

	view_line_start(&line, &view->lines, &out);
	while (!ret && ctf_reader_note_next(reader, behind, &item) > 0) {
		out.at = out.begin;
		if (item.kind == CTF_ITEM_NOTE) {
			view_report(view, ANALYSIS_NOTE, NULL, item.text);
			continue;
		}
		ret = view_line_item(&line, &item, &entry);
		if (ret > 0)
			view_show_entry(view, &entry, out.begin);
		ret = ret < 0 ? ret : 0;
	}
	view_line_stop(&line);
	view_out_free(&out);
	return ret;
}

static void set_times(struct view *view, struct ctf_reader *reader)
{
	const struct view_time *from = &view->options->from, *to = &view->options->to;

	view->lines.has_times = from->kind || to->kind;
	view_times_resolve(view->options->dir, from, to, &view->lines.from_ns, &view->lines.to_ns);
	if (view->lines.has_times && !view->options->follow)
		ctf_reader_set_times(reader, view->lines.from_ns, view->lines.to_ns);
}

static struct symbols *start_symbols(const struct view_options *options)
{
	return options->symbols ? trace_symbols_start(options->debuginfod, &options->listener)
				: NULL;
}

static int view_read_symbols(struct view *view, struct symbols *symbols)
{
	view->lines.symbols = symbols;
	if (!view->options->symbols)
		return 0;
	return symbols ? trace_symbols_read(symbols, view->options->dir) : -ENOMEM;
}

static int view_print_all(struct view *view, struct ctf_reader *reader)
{
	int ret = show_notes(view, reader, false);

	if (!ret)
		ret = view_find_tree(view, reader);
	if (!ret)
		ret = view->options->follow ? view_follow(view, reader) : view_merge(view, reader);
	if (!ret && !view_is_over(view) && view->tree)
		view_tree_finish(view->tree);
	if (!ret && !view_is_over(view))
		ret = show_notes(view, reader, true);
	view_flush(view);
	return ret;
}

int view_run(const struct view_options *options)
{
	struct view view = {
			.options = options,
			.out = options->out ? options->out : stdout,
	};
	struct symbols *symbols = start_symbols(options);
	struct ctf_reader *reader;
	struct error error;
	int ret;

	if (options->confine)
		options->confine(options->dir, options->repair ? options->dir : NULL);
	if (options->repair)
		repair(&view);
	if (view_open(options->dir, options->follow, &reader, &error)) {
		view_report(&view, ANALYSIS_ERROR, NULL, error.text);
		symbols_free(symbols);
		return -EIO;
	}
	if (ctf_reader_searched(reader) >= VIEW_SEARCH_NOTED)
		print_format(&view, ANALYSIS_NOTE,
				"searched %" PRIu64 " directories of %s: found %" PRIu32 " trace%s",
				ctf_reader_searched(reader), options->dir,
				ctf_reader_trace_count(reader),
				ctf_reader_trace_count(reader) == 1 ? "" : "s");
	view_lines_start(&view.lines, options);
	set_times(&view, reader);
	ret = view_read_symbols(&view, symbols);
	if (!ret)
		ret = view_print_all(&view, reader);
	if (!view.write_error)
		view_print_summary(&view);
	if (!view.shown && !ret && !view.write_error && options->nothing)
		options->nothing(options->nothing_context, reader);
	view_lines_stop(&view.lines, reader);
	ctf_reader_close(reader);
	symbols_free(symbols);
	view_tree_free(view.tree);
	view_out_free(&view.buffer);
	if (ret)
		print_format(&view, ANALYSIS_ERROR, "cannot continue to read %s: %s", options->dir,
				strerror(-ret));
	/* The reader of the output has closed it (`| head`): the usual end, without a message. */
	if (view.write_error == EPIPE)
		return -EPIPE;
	if (view.write_error)
		print_format(&view, ANALYSIS_ERROR, "cannot write the events: %s",
				strerror(view.write_error));
	return ret || view.write_error || view.damaged ? -EIO : 0;
}
