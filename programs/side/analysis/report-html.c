/* SPDX-License-Identifier: MIT */
/* The option `--html` of the verb `report`: makes the file, and writes the page into it. */
#include "programs/side/analysis/report-html.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/report.h"
#include "base/error.h"
#include "export/html/html.h"
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "programs/common/progress.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/analysis/report-notes.h"
#include "programs/side/cli/confine.h"
#include "programs/side/cli/keeper.h"

struct report_html_file {
	FILE *stream;
	const char *path;
	char *partial; /* the name of the file until it is complete, or NULL */
	struct keeper keeper;
};

static int report_html_print_cannot_write(const struct report_html_file *file, int code)
{
	return message_error(COMMAND_FAILED,
			code == -ENOSPC ? "free some space there, or write to another directory"
					: NULL,
			"cannot write %s: %s", file->path, strerror(-code));
}

/* The file appears complete or not at all: a helper process renames or removes it. */
static int report_html_open_partial(struct report_html_file *file)
{
	int ret;

	if (asprintf(&file->partial, "%s.partial", file->path) < 0) {
		file->partial = NULL;
		return report_html_print_cannot_write(file, -ENOMEM);
	}
	file->stream = fopen(file->partial, "we");
	if (!file->stream)
		return report_html_print_cannot_write(file, -errno);
	ret = keeper_start(&file->keeper, file->partial, file->path);
	if (!ret)
		return COMMAND_DONE;
	unlink(file->partial);
	return report_html_print_cannot_write(file, ret);
}

static int report_html_open(struct report_html_file *file)
{
	struct stat status;

	if (!strcmp(file->path, "-")) {
		file->path = "to standard output";
		file->stream = stdout;
		return COMMAND_DONE;
	}
	/* A pipe or a device cannot be renamed. */
	if (stat(file->path, &status) || S_ISREG(status.st_mode))
		return report_html_open_partial(file);
	file->stream = fopen(file->path, "we");
	return file->stream ? COMMAND_DONE : report_html_print_cannot_write(file, -errno);
}

/* Renames the file if `is_whole`, else removes it. */
static int report_html_close(struct report_html_file *file, bool is_whole)
{
	int error = 0, renamed;

	if (file->stream == stdout)
		return is_whole ? output_flush(stdout) : COMMAND_DONE;
	if (file->stream && (ferror(file->stream) | fclose(file->stream)))
		error = errno ? -errno : -EIO;
	renamed = keeper_end(&file->keeper, is_whole && !error);
	error = error ? error : renamed;
	free(file->partial);
	return is_whole && error ? report_html_print_cannot_write(file, error) : COMMAND_DONE;
}

static int report_html_check(const struct parsed *parsed)
{
	if (!html_is_available())
		return message_error(COMMAND_FAILED,
				"install node-d3 and build side with `meson setup -Dhtml=enabled`",
				"cannot make a page: side was built without d3");
	if (parsed->common.json)
		return message_error(COMMAND_USAGE, "run `side report` twice",
				"cannot use `--html` together with `--json`");
	return COMMAND_DONE;
}

int report_html(const struct parsed *parsed)
{
	const struct report_options *options = &parsed->options.report;
	const struct analysis_listener listener = command_listener("report");
	const char *dir = parsed->operands[0];
	struct report_html_file file = {.path = options->html, .keeper = {.socket = -1}};
	struct html *html = NULL;
	struct error error = {.code = 0};
	int status = report_html_check(parsed), closed;

	if (status)
		return status;
	if (html_prepare(&html, options, dir, SIDE_VERSION, &listener, &error))
		status = message_library_error(&error);
	if (!status)
		status = report_html_open(&file);
	confine(dir, NULL);
	if (!status && html_write(html, file.stream, &error))
		status = message_library_error(&error);
	progress_clear();
	if (!status)
		report_notes_print(html_report(html));
	closed = report_html_close(&file, !status);
	status = status ? status : closed;
	if (!status && html_report(html)->walk.damaged)
		status = COMMAND_FAILED;
	html_free(html);
	return status;
}
