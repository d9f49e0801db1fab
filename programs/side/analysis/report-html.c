/* SPDX-License-Identifier: MIT */
/* The option `--html` of the verb `report`: makes the file, and writes the page into it. */
#include "programs/side/analysis/report-html.h"

#include <errno.h>
#include <stdio.h>
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
#include "programs/side/cli/output-file.h"

static int report_html_open(struct output_file *file, const char *path, FILE **ret_stream)
{
	int ret = output_file_open(file, path);

	if (!ret)
		*ret_stream = file->fd == STDOUT_FILENO ? stdout : fdopen(file->fd, "w");
	if (!ret && !*ret_stream)
		ret = -errno;
	return ret ? output_file_print_error(file, ret) : COMMAND_DONE;
}

static int report_html_close(struct output_file *file, FILE *stream, bool is_whole)
{
	int error = 0, closed;

	if (stream == stdout)
		return is_whole ? output_flush(stdout) : COMMAND_DONE;
	if (stream) {
		if (ferror(stream) | fclose(stream))
			error = errno ? -errno : -EIO;
		file->fd = -1;
	}
	closed = output_file_close(file, is_whole && !error);
	error = error ? error : closed;
	return is_whole && error ? output_file_print_error(file, error) : COMMAND_DONE;
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
	struct output_file file = OUTPUT_FILE_NONE;
	FILE *stream = NULL;
	struct html *html = NULL;
	struct error error = {.code = 0};
	int status = report_html_check(parsed), closed;

	if (status)
		return status;
	if (html_prepare(&html, options, dir, SIDE_VERSION, &listener, &error))
		status = message_library_error(&error);
	if (!status)
		status = report_html_open(&file, options->html, &stream);
	confine(dir, NULL);
	if (!status && html_write(html, stream, &error))
		status = message_library_error(&error);
	progress_clear();
	if (!status)
		report_notes_print(html_report(html));
	closed = report_html_close(&file, stream, !status);
	status = status ? status : closed;
	if (!status && html_report(html)->walk.damaged)
		status = COMMAND_FAILED;
	html_free(html);
	return status;
}
