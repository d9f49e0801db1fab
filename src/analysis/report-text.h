/* SPDX-License-Identifier: MIT */
/* The text report while it is written. Private to report-text*.c, except for its formats. */
#ifndef SIDE_ANALYSIS_REPORT_TEXT_H
#define SIDE_ANALYSIS_REPORT_TEXT_H

#include "analysis/report.h"
#include "base/format.h"
#include "analysis/view-colours.h"

struct report_text_writer {
	const struct report *report;
	struct view_out out;
	bool any; /* a section was printed: an empty line precedes the next one */
};

/* The escape sequence, or "" without colours. */
const char *text_colour(const struct report_text_writer *text, const char *code);
void text_begin_section(struct report_text_writer *text);
void text_put_time(struct report_text_writer *text, int64_t ns);
/*
 * Writes four significant digits: "950 ns", "12.34 us", "1.500 ms", "75.0 s". Returns `duration`.
 */
const char *text_duration(double ns, char duration[FORMAT_NUMBER_MAX]);
/* True if the locale of the environment is one of UTF-8. */
bool text_is_utf8(void);

/* How many of `count` rows are printed, and the line about the others. */
uint32_t text_rows_shown(const struct report *report, uint32_t count);
void text_print_remainder(struct report_text_writer *text, uint32_t shown, uint32_t count);

/* report-text-calls.c. 0 or -ENOMEM. */
int text_print_calls(struct report_text_writer *text);
int text_print_tree(struct report_text_writer *text);

/* report-text-distributions.c. 0 or -ENOMEM. */
int text_print_histograms(struct report_text_writer *text);
int text_print_pairs(struct report_text_writer *text, const struct report_around *around);

#endif /* SIDE_ANALYSIS_REPORT_TEXT_H */
