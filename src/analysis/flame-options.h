/* SPDX-License-Identifier: MIT */
/* Options of a flame graph. Texts belong to the caller and live as long as the flame graph. */
#ifndef SIDE_ANALYSIS_FLAME_OPTIONS_H
#define SIDE_ANALYSIS_FLAME_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/view-time.h"
#include "base/text-list.h"

/* The weight of a call path. */
enum flame_weight {
	FLAME_WEIGHT_AUTO,  /* time if the trace has calls of functions or pairs, otherwise count */
	FLAME_WEIGHT_TIME,  /* of calls, without called functions; or of pairs */
	FLAME_WEIGHT_COUNT, /* of events with a stack, or of calls */
	FLAME_WEIGHT_BYTES, /* that were allocated */
	FLAME_WEIGHT_WAIT,  /* time from the request for a lock to its result */
	FLAME_WEIGHT_ON_CPU,  /* the part of the time of calls with a processor … */
	FLAME_WEIGHT_OFF_CPU, /* … and without one */
};

enum flame_by { FLAME_BY_NOTHING, FLAME_BY_PROCESS, FLAME_BY_THREAD };

struct flame_options {
	struct text_list patterns; /* of events; none: all */
	const char *filter;        /* an expression, or NULL */
	struct time_range times;
	struct text_list pairs; /* patterns: begin, end, begin, end, … */
	const char *key;        /* of pairs: an expression; NULL: the thread */
	bool across;            /* a key means the same in all processes */
	int weight;             /* enum flame_weight */
	int by;                 /* enum flame_by: the outermost level of the tree */
	bool in_order;          /* keep calls in the order of time, without `weight` and `by` */
	bool debuginfod;        /* servers may be asked for symbols */
};

#endif /* SIDE_ANALYSIS_FLAME_OPTIONS_H */
