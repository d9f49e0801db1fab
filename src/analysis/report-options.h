/* SPDX-License-Identifier: MIT */
/* What a report contains. Texts belong to the caller and live as long as the report. */
#ifndef SIDE_ANALYSIS_REPORT_OPTIONS_H
#define SIDE_ANALYSIS_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/view-time.h"
#include "base/text-list.h"

/* The value of `callers` if the user gave no number: REPORT_CALLERS_SHOWN callers. */
#define REPORT_CALLERS_DEFAULT UINT64_MAX

/* All zero: the overview and the table of events. */
struct report_options {
	struct text_list patterns; /* of events; none: all */
	const char *filter;        /* an expression, or NULL */
	struct time_range times;
	const char *by; /* "event", "process", "thread", "cpu" or an expression; NULL: no groups */
	struct text_list histograms; /* expressions */
	struct text_list pairs;      /* patterns: begin, end, begin, end, … */
	const char *key;             /* of pairs: an expression; NULL: the thread */
	uint64_t slowest;            /* pairs of each rule that are listed; 0: none */
	uint64_t around;             /* events before and after each of these */
	uint64_t callers;            /* that are listed; 0: none */
	uint64_t rows;               /* at most in each table of the text; 0: all */
	bool across;                 /* a key means the same in all processes */
	bool calls, tree;            /* calls of functions, and their tree */
	bool counts;                 /* the table of events, also with other tables */
	bool losses;                 /* the table of losses */
	const char *html;            /* a file for a page instead of the text; NULL: none */
	bool debuginfod;             /* servers may be asked for symbols */
};

#endif /* SIDE_ANALYSIS_REPORT_OPTIONS_H */
