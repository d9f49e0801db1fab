/* SPDX-License-Identifier: MIT */
/* The verb `diff`: compares two traces. */
#include "analysis/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "programs/common/progress.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/cli/confine.h"

#define DIFF_ABOVE_STANDARD 5.0

/* Reads "10%" or "10". If `text` is NULL, *ret_percent remains unchanged. */
static int diff_read_percent(const char *option, const char *text, double *ret_percent)
{
	char *end;
	double number;

	if (!text)
		return COMMAND_DONE;
	number = strtod(text, &end);
	if (end == text || (strcmp(end, "") && strcmp(end, "%")) || !isfinite(number) || number < 0)
		return message_error(COMMAND_USAGE, "give a percentage, such as 10%",
				"`--%s` does not accept `%.128s`", option, text);
	*ret_percent = number;
	return COMMAND_DONE;
}

static void diff_print_notes(const struct diff *diff)
{
	static const char *const sides[2] = {"before", "after"};
	char number[FORMAT_NUMBER_MAX];

	for (int i = 0; i < 2; i++) {
		const struct report *report = &diff->reports[i];

		if (diff->lost[i])
			message_note("%s: events were lost: %s; counts and bytes are not compared",
					sides[i], format_number(diff->lost[i], number));
		if (report->calls.undetailed)
			message_note("%s: only the first %u functions have times", sides[i],
					CALLS_DETAILS_MAX);
	}
	if (diff->keys.refused)
		message_note("only the first %u measures were compared", DIFF_ROWS_MAX);
}

static int diff_answer(const struct parsed *parsed, struct diff *diff)
{
	bool colour = !parsed->common.json && output_has_color(stdout, parsed->common.color);
	struct error error = {.code = 0};
	int ret;

	if (diff_read(diff, &error))
		return message_library_error(&error);
	progress_clear();
	ret = parsed->common.json
			? diff_print_json(diff, stdout)
			: diff_print_text(diff, parsed->options.diff.rows, colour, stdout);
	if (ret)
		return message_error(COMMAND_FAILED, NULL, "cannot print the comparison: %s",
				strerror(-ret));
	ret = output_flush(stdout);
	if (!ret)
		diff_print_notes(diff);
	return ret;
}

int cmd_diff(const struct parsed *parsed)
{
	const struct analysis_listener listener = command_listener("compare");
	const char *before = parsed->operands[0], *after = parsed->operands[1];
	struct diff_options options = parsed->options.diff.answer;
	double fail_above = INFINITY;
	struct diff *diff;
	struct error error = {.code = 0};
	int status = diff_read_percent("fail-above", parsed->options.diff.fail_above, &fail_above);

	options.above = DIFF_ABOVE_STANDARD;
	options.least = options.least ? options.least : DIFF_LEAST_STANDARD;
	if (!status)
		status = diff_read_percent("above", parsed->options.diff.above, &options.above);
	if (status)
		return status;
	diff = calloc(1, sizeof(*diff));
	if (!diff)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	if (diff_prepare(diff, &options, before, after, &listener, &error))
		status = message_library_error(&error);
	confine_readers(before, after);
	if (!status)
		status = diff_answer(parsed, diff);
	if (!status && (diff->reports[0].walk.damaged || diff->reports[1].walk.damaged))
		status = COMMAND_FAILED;
	if (!status && parsed->options.diff.fail_above && diff->worst > fail_above)
		status = COMMAND_WORSE;
	diff_free(diff);
	free(diff);
	return status;
}
