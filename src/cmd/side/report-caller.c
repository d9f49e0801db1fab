/* SPDX-License-Identifier: MIT */
/* Names for the places in the code that `--callers` lists. */
#include "cmd/side/report.h"
#include "cmd/side/say.h"

static void say_sentence(void *user, const char *sentence)
{
	(void)user;
	say_note("%s", sentence);
}

int report_symbols_start(struct report *report)
{
	if (!report->options->callers)
		return COMMAND_DONE;
	report->symbols = trace_symbols_start(report->options->debuginfod, say_sentence, NULL);
	return report->symbols ? COMMAND_DONE : say_error(COMMAND_FAILED, NULL, "out of memory");
}

struct symbols *report_symbols(const struct report *report)
{
	return trace_symbols_read(report->symbols, report->walk.options.dir) ? NULL
									     : report->symbols;
}
