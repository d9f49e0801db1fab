/* SPDX-License-Identifier: MIT */
/* Names for the places in the code that `--callers` lists. */
#include "cmd/side/report.h"
#include "cmd/side/say.h"

static void say_sentence(void *user, const char *sentence)
{
	(void)user;
	say_note("%s", sentence);
}

struct symbols *report_symbols_open(const struct report *report)
{
	return trace_symbols_open(
			report->walk.options.dir, report->options->debuginfod, say_sentence, NULL);
}
