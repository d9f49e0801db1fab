/* SPDX-License-Identifier: MIT */
/* The verb `report`: check the options, run the report, print it. */
#include "analysis/json-line.h"
#include "analysis/report.h"

#include <string.h>

#include "base/error.h"
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "programs/common/progress.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/analysis/report-html.h"
#include "programs/side/analysis/report-notes.h"
#include "programs/side/cli/confine.h"

_Static_assert(JSON_LINE_SCHEMA == OUTPUT_JSON_SCHEMA, "all JSON of `side` has one version");
_Static_assert(REPORT_CALLERS_DEFAULT == OPTION_BARE, "`--callers` without a number");

static int report_check_options(const struct report_options *options)
{
	const char *lone = options->key    ? "key"
			: options->across  ? "across"
			: options->slowest ? "slowest"
					   : NULL;

	if (lone && !options->pairs.count)
		return message_error(COMMAND_USAGE, "add `--pair BEGIN END`",
				"`--%s` has no effect without `--pair`", lone);
	if (options->around && !options->slowest)
		return message_error(COMMAND_USAGE, "add `--slowest COUNT`",
				"`--around` has no effect without `--slowest`");
	if (options->across && !options->key)
		return message_error(COMMAND_USAGE, "add `--key EXPRESSION`",
				"`--across` has no effect without `--key`");
	if (options->slowest > REPORT_SLOWEST_MAX)
		return message_error(COMMAND_USAGE, NULL, "`--slowest` can be %u at most",
				REPORT_SLOWEST_MAX);
	if (options->around > REPORT_AROUND_MAX)
		return message_error(COMMAND_USAGE, NULL, "`--around` can be %u at most",
				REPORT_AROUND_MAX);
	return COMMAND_DONE;
}

static int report_run(struct report *report)
{
	struct error error = {.code = 0};

	if (report_open(report, &error) || report_read(report, &error))
		return message_library_error(&error);
	progress_clear();
	if (report_print(report, stdout, &error))
		return message_library_error(&error);
	return output_flush(stdout);
}

int cmd_report(const struct parsed *parsed)
{
	const struct report_options *options = &parsed->options.report;
	const struct analysis_listener listener = command_listener("report");
	const char *dir = parsed->operands[0];
	struct report report = {
			.json = parsed->common.json,
			.colour = !parsed->common.json &&
					output_has_color(stdout, parsed->common.color),
	};
	struct error error = {.code = 0};
	int status = report_check_options(options);

	if (!status && options->html)
		return report_html(parsed);
	if (!status && report_prepare(&report, options, dir, &listener, &error))
		status = message_library_error(&error);
	confine(dir, NULL);
	if (!status)
		status = report_run(&report);
	if (!status)
		report_notes_print(&report);
	if (!status && report.walk.damaged)
		status = COMMAND_FAILED;
	report_free(&report);
	return status;
}
