/* SPDX-License-Identifier: MIT */
/*
 * Compares two traces: durations, numbers of calls and events, allocated bytes.
 *
 * Each measure has a row. Durations are distributions. Their medians and 90th percentiles are
 * compared by confidence intervals of order statistics, which assume no form of the distribution.
 * A change counts if chance explains it in at most one of 10,000 cases. The duration of a call does
 * not include its callees, so the callers of a slow function do not count as slower. Memory is
 * bounded by the limits of reports and flame graphs.
 *
 *     diff_prepare(&diff, &options, before, after, &listener, &error);
 *     diff_read(&diff, &error);
 *     diff_print_text(&diff, rows, colour, stdout);
 *     diff_free(&diff);                              in any case
 *
 * The functions return 0 or a negative errno and set the error.
 */
#ifndef SIDE_ANALYSIS_DIFF_H
#define SIDE_ANALYSIS_DIFF_H

#include <stdio.h>

#include "analysis/diff-options.h"
#include "analysis/flame.h"
#include "analysis/report.h"

#define DIFF_LEAST_STANDARD 20 /* measures with smaller counts are not judged */
#define DIFF_LEAST_NS 20       /* smaller changes of durations are measurement noise */
#define DIFF_LEAST_BYTES 1024  /* the same for allocated bytes */
#define DIFF_ROWS_MAX 200000   /* measures */

/* In the order of the printed tables. */
enum diff_measure { DIFF_TIME, DIFF_PAIR, DIFF_CALLS, DIFF_EVENTS, DIFF_BYTES, DIFF_MEASURES };

enum diff_verdict {
	DIFF_SAME,
	DIFF_WORSE,  /* slower, more frequent, larger */
	DIFF_BETTER, /* the opposite */
	DIFF_NEW,    /* not in the first trace */
	DIFF_GONE,   /* not in the second one */
	DIFF_RARE,   /* too few to judge */
	DIFF_LOST,   /* not judged, because events were lost */
	DIFF_VERDICTS
};

/* The two values of a row are of the first and of the second trace. */
struct diff_row {
	enum diff_measure measure;
	enum diff_verdict verdict;
	const char *name;
	const struct stats *stats[2]; /* of durations; NULL: none */
	uint64_t counts[2];
	double values[2]; /* ns, bytes or a number; with options->rate, of a second */
	bool is_p90;      /* the values are 90th percentiles instead of medians */
	double percent;   /* the change of the values; of new ones, 0 */
	double effect;    /* the change of all calls together, for the order */
};

struct diff {
	const struct diff_options *options;
	struct report_options report_options;
	struct flame_options flame_options;
	struct report reports[2];
	struct flame flames[2];
	struct keys keys; /* the measure and the name of each row */
	struct diff_row *rows;
	uint64_t lost[2];
	double seconds[2]; /* the length of each trace */
	uint64_t verdicts[DIFF_VERDICTS];
	double worst; /* the largest change for the worse, in percent */
};

/* Afterwards the caller can drop its privileges, except for reading the two directories. */
int diff_prepare(struct diff *diff, const struct diff_options *options, const char *before,
		const char *after, const struct analysis_listener *listener, struct error *error);
/* Reads both traces and judges each measure. */
int diff_read(struct diff *diff, struct error *error);
void diff_free(struct diff *diff);

/* "time", "pair", "calls", "events", "bytes" */
const char *diff_measure_name(enum diff_measure measure);

/* diff-print.c: 0 or -ENOMEM. `rows` at most; 0: all. */
int diff_print_text(const struct diff *diff, uint64_t rows, bool colour, FILE *out);
int diff_print_json(const struct diff *diff, FILE *out);

#endif /* SIDE_ANALYSIS_DIFF_H */
