/* SPDX-License-Identifier: MIT */
/* What is exported, and how. Texts belong to the caller and live as long as the export. */
#ifndef SIDE_EXPORT_EXPORT_OPTIONS_H
#define SIDE_EXPORT_EXPORT_OPTIONS_H

#include <stdbool.h>

#include "analysis/view-time.h"
#include "base/text-list.h"

enum export_format {
	EXPORT_PERFETTO,
	EXPORT_CHROME,
	EXPORT_CSV,
	EXPORT_JSONL,
	EXPORT_CTF1,
	EXPORT_CTF2,
	EXPORT_FOLDED,
	EXPORT_SPEEDSCOPE,
	EXPORT_PPROF,
	EXPORT_SVG,
};

struct export_options {
	struct text_list patterns; /* of events; none: all */
	const char *filter;        /* an expression, or NULL */
	struct time_range times;
	int format; /* enum export_format */
	/* a directory: for tables (CSV) and CTF; else only the caller uses it */
	const char *output;
	struct text_list pairs; /* patterns: begin, end, begin, end, … */
	const char *key;        /* of pairs: an expression; NULL: the thread */
	bool across;            /* a key means the same in all processes */
	bool symbols;           /* write addresses of code as symbols */
	bool debuginfod;        /* servers may be asked for debug files */
	/* of flame graphs: folded, speedscope, pprof, svg */
	int weight; /* enum flame_weight */
	int by;     /* enum flame_by */
};

#endif /* SIDE_EXPORT_EXPORT_OPTIONS_H */
