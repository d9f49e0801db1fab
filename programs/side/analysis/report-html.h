/* SPDX-License-Identifier: MIT */
/* The option `--html` of the verb `report`. */
#ifndef PROGRAMS_SIDE_ANALYSIS_REPORT_HTML_H
#define PROGRAMS_SIDE_ANALYSIS_REPORT_HTML_H

struct parsed;

/* Writes the page. Returns the exit status. */
int report_html(const struct parsed *parsed);

#endif /* PROGRAMS_SIDE_ANALYSIS_REPORT_HTML_H */
