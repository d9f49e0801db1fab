/* SPDX-License-Identifier: MIT */
/* What a report contains. Texts belong to the caller and live as long as the report. */
#ifndef SIDE_ANALYSIS_REPORT_OPTIONS_H
#define SIDE_ANALYSIS_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/view-time.h"
#include "base/text-list.h"

struct report_options {
	struct text_list patterns;
	const char *filter;
	struct time_range times;
	const char *by;
	struct text_list histograms;
	struct text_list pairs; /* begin, end, begin, end, … */
	const char *key;
	uint64_t slowest;
	uint64_t around;
	uint64_t callers;
	uint64_t rows;
	bool across;
	bool calls, tree;
	bool counts;
	bool losses;
	bool debuginfod;
};

#endif /* SIDE_ANALYSIS_REPORT_OPTIONS_H */
