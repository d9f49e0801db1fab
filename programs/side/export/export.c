/* SPDX-License-Identifier: MIT */
/* The verb `export`: checks the options, and makes the output file or directory. */
#include "export/export.h"
#include "export/flame-export.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/patterns.h"
#include "analysis/view.h"
#include "base/error.h"
#include "base/nearest/nearest.h"
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "programs/common/progress.h"
#include "programs/side/analysis/flame-notes.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/analysis/select.h"
#include "programs/side/cli/confine.h"
#include "programs/side/cli/output-file.h"

/* ---- the file ---- */

static int export_print_cannot_write(const struct output_file *output, int code)
{
	/* The reader closed the pipe (`| head`), which is no error. */
	if (code == -EPIPE)
		return COMMAND_SIGNAL + SIGPIPE;
	return output_file_print_error(output, code);
}

static int export_open_output(struct output_file *output, const struct export_options *options)
{
	const char *path = options->output;
	int ret;

	if (!path || !strcmp(path, "-")) {
		if (options->format == EXPORT_PERFETTO && isatty(STDOUT_FILENO))
			return message_error(COMMAND_USAGE, "add `-o FILE`",
					"cannot write a Perfetto trace to a terminal");
		if (options->format == EXPORT_PPROF && isatty(STDOUT_FILENO))
			return message_error(COMMAND_USAGE, "add `-o FILE`",
					"cannot write a profile for pprof to a terminal");
	}
	ret = output_file_open(output, path);
	return ret ? export_print_cannot_write(output, ret) : COMMAND_DONE;
}

/* Makes the directory for tables. The helper process removes it if it remains empty. */
static int export_make_directory(struct output_file *output, const char *path)
{
	int ret;

	output->path = path;
	if (mkdir(path, CTF_DIRECTORY_MODE))
		return errno == EEXIST ? COMMAND_DONE : export_print_cannot_write(output, -errno);
	ret = keeper_start(&output->keeper, path, NULL);
	if (!ret)
		return COMMAND_DONE;
	rmdir(path);
	return export_print_cannot_write(output, ret);
}

static int export_close_output(struct output_file *output, bool good)
{
	int ret = output_file_close(output, good);

	return good && ret ? export_print_cannot_write(output, ret) : COMMAND_DONE;
}

/* ---- formats of the library ---- */

static int export_print_error(const struct error *error)
{
	return error->code == -EPIPE ? COMMAND_SIGNAL + SIGPIPE : message_library_error(error);
}

static int export_items(const struct export_options *options, const char *dir)
{
	const struct analysis_listener listener = command_listener("export");
	const bool tables = options->format == EXPORT_CSV && export_is_directory(options->output);
	struct output_file output = OUTPUT_FILE_NONE;
	struct export export;
	struct error error = {.code = 0};
	int status = COMMAND_DONE, closed;

	if (export_prepare(&export, options, dir, &listener, &error))
		status = message_library_error(&error);
	if (!status)
		status = tables ? export_make_directory(&output, options->output)
				: export_open_output(&output, options);
	confine(dir, tables ? options->output : NULL);
	if (!status && export_write(&export, output.fd, output.path, &error))
		status = export_print_error(&error);
	progress_clear();
	if (!status && !export.walk.nr_events)
		command_note_no_event(&export.walk);
	if (!status && export_lacks_threads(&export))
		message_note("%s", PAIRS_NO_THREAD);
	closed = export_close_output(&output, !status);
	status = status ? status : closed;
	if (!status && export.walk.damaged)
		status = COMMAND_FAILED;
	export_free(&export);
	return status;
}

static int export_flame_read(struct flame *flame)
{
	struct error error = {.code = 0};

	if (flame_open(flame, &error) || flame_read(flame, &error))
		return message_library_error(&error);
	return COMMAND_DONE;
}

static int export_flame(
		const struct export_options *options, enum flame_format format, const char *dir)
{
	const struct flame_options flame_options = {.patterns = options->patterns,
			.filter = options->filter,
			.times = options->times,
			.pairs = options->pairs,
			.key = options->key,
			.across = options->across,
			.weight = options->weight,
			.by = options->by,
			.in_order = format == FLAME_FORMAT_SPEEDSCOPE,
			.debuginfod = options->debuginfod};
	const struct analysis_listener listener = command_listener("export");
	struct output_file output = OUTPUT_FILE_NONE;
	struct flame flame = {0};
	struct error error = {.code = 0};
	int status = COMMAND_DONE, closed;

	if (flame_prepare(&flame, &flame_options, "export", dir, &listener, &error))
		status = message_library_error(&error);
	if (!status)
		status = export_open_output(&output, options);
	confine(dir, NULL);
	if (!status)
		status = export_flame_read(&flame);
	if (!status && flame_export(&flame, format, output.fd, output.path, &error))
		status = export_print_error(&error);
	progress_clear();
	if (!status)
		flame_notes_print(&flame);
	closed = export_close_output(&output, !status);
	status = status ? status : closed;
	if (!status && flame.walk.damaged)
		status = COMMAND_FAILED;
	flame_free(&flame);
	return status;
}

static int export_make_trace(const char *path, struct keeper *keeper)
{
	int ret;

	if (mkdir(path, CTF_DIRECTORY_MODE))
		return message_error(COMMAND_FAILED,
				errno == EEXIST ? "name a directory that does not exist yet" : NULL,
				"cannot make %s: %s", path, strerror(errno));
	ret = keeper_start(keeper, path, NULL);
	if (!ret)
		return COMMAND_DONE;
	rmdir(path);
	return message_error(COMMAND_FAILED, NULL, "cannot make %s: %s", path, strerror(-ret));
}

static int export_trace(const struct export_options *options, const char *dir)
{
	const struct analysis_listener listener = command_listener("export");
	struct keeper keeper = {.socket = -1};
	struct error error = {.code = 0};
	struct export_ctf *ctf;
	int status = COMMAND_DONE;

	if (export_ctf_prepare(&ctf, options, dir, &listener, &error))
		return message_library_error(&error);
	status = export_make_trace(options->output, &keeper);
	confine(dir, options->output);
	if (!status && export_ctf_write(ctf, &error))
		status = message_library_error(&error);
	progress_clear();
	if (!status && !export_ctf_walk(ctf)->nr_events)
		command_note_no_event(export_ctf_walk(ctf));
	(void)keeper_end(&keeper, !status);
	if (!status && export_ctf_walk(ctf)->damaged)
		status = COMMAND_FAILED;
	export_ctf_free(ctf);
	return status;
}

/* ---- JSON lines: the output of view ---- */

struct export_json_lines {
	struct pattern *patterns;
	size_t count;
};

static bool export_event_is_selected(void *context, const char *name, int loglevel)
{
	const struct export_json_lines *lines = context;

	return walk_pattern_wants(lines->patterns, lines->count, name, loglevel);
}

struct export_source {
	const struct export_options *options;
	const char *dir;
};

static void export_note_nothing(void *context, const struct ctf_reader *reader)
{
	const struct export_source *source = context;

	command_note_no_match(reader,
			&(const struct report_walk_options){.verb = "export",
					.dir = source->dir,
					.patterns = &source->options->patterns,
					.times = source->options->times},
			source->options->filter);
}

static int export_write_lines(struct output_file *output, struct view_options *view)
{
	int status;

	view->out = output->fd == STDOUT_FILENO ? stdout : fdopen(output->fd, "w");
	if (!view->out)
		return export_print_cannot_write(output, -errno);
	status = command_view(view);
	if (view->out == stdout)
		return status;
	output->fd = STDOUT_FILENO; /* fclose() closes it. */
	if (fclose(view->out) && !status)
		status = export_print_cannot_write(output, -errno);
	return status;
}

static int export_lines(const struct export_options *options, const char *dir)
{
	struct export_source source = {.options = options, .dir = dir};
	struct output_file output = OUTPUT_FILE_NONE;
	struct export_json_lines lines = {.count = options->patterns.count};
	struct view_options view = {.dir = dir,
			.json = true,
			.symbols = options->symbols,
			.debuginfod = options->debuginfod,
			.confine = confine,
			.listener = command_write_listener("export"),
			.nothing = export_note_nothing,
			.nothing_context = &source};
	struct where where = {0};
	struct error error = {.code = 0};
	int status = command_select(&options->patterns, &lines.patterns), closed;

	if (!status && options->filter) {
		status = command_parse_where("filter", options->filter, &where);
		view.where = &where;
	}
	if (!status)
		status = command_read_times(&options->times, &view.from, &view.to);
	if (!status &&
			walk_check(&(struct report_walk_options){.verb = "export", .dir = dir},
					&error))
		status = message_library_error(&error);
	if (!status)
		status = export_open_output(&output, options);
	if (!status) {
		if (lines.count)
			view.wanted = export_event_is_selected;
		view.wanted_context = &lines;
		status = export_write_lines(&output, &view);
	}
	/* The readable part of a damaged trace is kept. */
	closed = export_close_output(&output, status == COMMAND_DONE || status == COMMAND_FAILED);
	where_free(&where);
	free(lines.patterns);
	return status ? status : closed;
}

/* ---- the command line ---- */

static bool export_is_flame(const struct export_options *options)
{
	return options->format == EXPORT_FOLDED || options->format == EXPORT_SPEEDSCOPE ||
			options->format == EXPORT_PPROF || options->format == EXPORT_SVG;
}

static bool export_keeps_bytes(const struct export_options *options)
{
	return options->format == EXPORT_CTF1 || options->format == EXPORT_CTF2;
}

static int export_check_options(const struct export_options *options)
{
	bool flame = export_is_flame(options);
	bool drawn = flame || options->format == EXPORT_PERFETTO ||
			options->format == EXPORT_CHROME;

	if (!flame && (options->weight || options->by))
		return message_error(COMMAND_USAGE,
				"use `--format folded`, `--format speedscope`, `--format pprof` or `--format svg`",
				"`--%s` has no effect with this format",
				options->weight ? "weight" : "by");
	if (options->pairs.count && options->weight > FLAME_WEIGHT_TIME && flame)
		return message_error(COMMAND_USAGE, "leave out `--weight`",
				"`--pair` weighs call paths by the time of pairs, not by `--weight %s`",
				command_flame_weights[options->weight]);
	if (options->pairs.count && !drawn)
		return message_error(COMMAND_USAGE, "use `--format perfetto` or `--format chrome`",
				"cannot use `--pair` with this format: it has no slices");
	if ((options->key || options->across) && !options->pairs.count)
		return message_error(COMMAND_USAGE, "add `--pair BEGIN END`",
				"`--%s` has no effect without `--pair`",
				options->key ? "key" : "across");
	if (options->debuginfod && !options->symbols && !flame)
		return message_error(COMMAND_USAGE, "add `--symbols`",
				"`--debuginfod` has no effect without `--symbols`");
	if (options->symbols && export_keeps_bytes(options))
		return message_error(COMMAND_USAGE, "use another format, or `side view --symbols`",
				"cannot use `--symbols` with this format: it keeps the recorded values");
	if (options->across && !options->key)
		return message_error(COMMAND_USAGE, "add `--key EXPRESSION`",
				"`--across` has no effect without `--key`");
	return COMMAND_DONE;
}

/*
 * Accepts `--to FORMAT` of earlier releases: the name of a format is not a time. False if it may be
 * a time.
 */
static bool export_read_former_format(struct export_options *options)
{
	for (int i = 0; options->times.to && command_export_formats[i]; i++) {
		if (strcmp(options->times.to, command_export_formats[i]) != 0)
			continue;
		options->format = i;
		options->times.to = NULL;
		return true;
	}
	return false;
}

/* Suggests a format for a time that looks like a misspelled one. */
static int export_check_former_format(const struct export_options *options)
{
	char suggestion[NEAREST_TEXT_SIZE];
	struct nearest nearest;

	if (!options->times.to || strpbrk(options->times.to, "0123456789:"))
		return COMMAND_DONE;
	nearest_begin(&nearest, options->times.to);
	for (size_t i = 0; command_export_formats[i]; i++)
		nearest_offer(&nearest, command_export_formats[i]);
	return message_error(COMMAND_USAGE,
			nearest_text(&nearest, "--format ", suggestion, sizeof(suggestion))
					? suggestion
					: "use `--format` perfetto, chrome, csv, jsonl, ctf1, ctf2, folded, speedscope, pprof or svg",
			"`--to %.128s` is not a time", options->times.to);
}

static int export_as(const struct export_options *options, const char *dir)
{
	switch ((enum export_format)options->format) {
	case EXPORT_PERFETTO:
	case EXPORT_CHROME:
	case EXPORT_CSV: return export_items(options, dir);
	case EXPORT_JSONL: return export_lines(options, dir);
	case EXPORT_CTF1:
	case EXPORT_CTF2: return export_trace(options, dir);
	case EXPORT_FOLDED: return export_flame(options, FLAME_FORMAT_FOLDED, dir);
	case EXPORT_SPEEDSCOPE: return export_flame(options, FLAME_FORMAT_SPEEDSCOPE, dir);
	case EXPORT_PPROF: return export_flame(options, FLAME_FORMAT_PPROF, dir);
	case EXPORT_SVG: return export_flame(options, FLAME_FORMAT_SVG, dir);
	}
	return COMMAND_USAGE;
}

int cmd_export(const struct parsed *parsed)
{
	struct export_options options = parsed->options.export;
	int status = export_read_former_format(&options) ? COMMAND_DONE
							 : export_check_former_format(&options);

	if (!status)
		status = export_check_options(&options);
	return status ? status : export_as(&options, parsed->operands[0]);
}
