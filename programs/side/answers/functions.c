/* SPDX-License-Identifier: MIT */
/* The recorded calls of functions as a table: the answer of `side calls` and `side slow`. */
#include "programs/side/answers/functions.h"

#include <errno.h>
#include <string.h>

#include "analysis/report.h"
#include "base/error.h"
#include "programs/common/message.h"
#include "programs/common/progress.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/analysis/report-notes.h"
#include "programs/side/answers/nothing.h"
#include "programs/side/answers/run.h"
#include "programs/side/cli/confine.h"

static bool functions_are_described(const struct report *report)
{
	const struct ctf_reader *reader = report->walk.reader;

	for (uint32_t i = 0; i < ctf_reader_trace_count(reader); i++)
		if (calls_are_described(ctf_reader_trace(reader, i)))
			return true;
	return false;
}

/* Lost events are no calls if no trace describes calls. */
static bool functions_are_empty(const struct report *report)
{
	return !report->calls.functions.count && !report->walk.damaged &&
			!(report_lost(report) && functions_are_described(report));
}

static int functions_run(
		const struct parsed *parsed, struct report *report, enum function_table table)
{
	struct error error = {.code = 0};
	int ret = report_open(report, &error);

	/* A program without calls leaves no trace. */
	if (ret == -ENOENT && answer_end_ns())
		return answer_print_nothing(parsed, "call of a function");
	if (ret || report_read(report, &error))
		return message_library_error(&error);
	if (functions_are_empty(report))
		return answer_print_nothing(parsed, "call of a function");
	progress_clear();
	ret = function_table_print(report, table, stdout);
	if (ret)
		return message_error(
				COMMAND_FAILED, NULL, "cannot print the table: %s", strerror(-ret));
	return output_flush(stdout);
}

static void functions_print_notes(const struct report *report)
{
	uint64_t lost = report_lost(report);
	char number[FORMAT_NUMBER_MAX];

	if (lost)
		message_note_hint("use a larger `--buffer-size`, or select fewer functions",
				"events were lost: %s; numbers of calls and times are too small",
				format_number(lost, number));
	if (report->calls.undetailed)
		message_note("only the first %u functions have percentiles and errors",
				CALLS_DETAILS_MAX);
	report_notes_print(report);
}

int functions_answer(const struct parsed *parsed, const char *dir, enum function_table table)
{
	const struct analysis_listener listener = command_listener(parsed->verb->name);
	const struct report_options options = {
			.calls = true, .rows = parsed->options.functions.rows};
	struct report report = {
			.json = parsed->common.json,
			.colour = !parsed->common.json &&
					output_has_color(stdout, parsed->common.color),
			.calls.detailed = true,
	};
	struct error error = {.code = 0};
	int status = COMMAND_DONE;

	if (report_prepare(&report, &options, dir, &listener, &error))
		status = message_library_error(&error);
	confine(dir, NULL);
	if (!status)
		status = functions_run(parsed, &report, table);
	if (!status && !functions_are_empty(&report))
		functions_print_notes(&report);
	if (!status && report.walk.damaged)
		status = COMMAND_FAILED;
	report_free(&report);
	return status;
}
