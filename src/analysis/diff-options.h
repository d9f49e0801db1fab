/* SPDX-License-Identifier: MIT */
/* How two traces are compared. Texts belong to the caller and live as long as the comparison. */
#ifndef SIDE_ANALYSIS_DIFF_OPTIONS_H
#define SIDE_ANALYSIS_DIFF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text-list.h"

struct diff_options {
	struct text_list patterns; /* of events; none: all */
	struct text_list pairs;    /* patterns: begin, end, begin, end, … */
	const char *key;           /* of pairs: an expression; NULL: the thread */
	bool rate;                 /* compare counts and bytes per second */
	bool debuginfod;           /* servers may be asked for symbols */
	double above;              /* smaller changes are ignored, in percent */
	uint64_t least;            /* the least count that is judged; 0: DIFF_LEAST_STANDARD */
};

#endif /* SIDE_ANALYSIS_DIFF_OPTIONS_H */
