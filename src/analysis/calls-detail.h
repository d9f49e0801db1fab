/* SPDX-License-Identifier: MIT */
/* What an answer about functions counts beside their totals: percentiles, errors, off-CPU time. */
#ifndef SIDE_ANALYSIS_CALLS_DETAIL_H
#define SIDE_ANALYSIS_CALLS_DETAIL_H

#include "analysis/report-distribution.h"

#include <stdbool.h>
#include <stdint.h>

#define CALLS_CPU_UNKNOWN UINT64_MAX

/* How a function reports an error by its result. */
enum calls_errors {
	CALLS_ERRORS_UNKNOWN,
	CALLS_ERRORS_INT,     /* an int of -1 */
	CALLS_ERRORS_LONG,    /* a ssize_t or off_t of -1 */
	CALLS_ERRORS_POINTER, /* NULL */
	CALLS_ERRORS_ALL_SET, /* the pointer -1, such as MAP_FAILED */
	CALLS_ERRORS_NUMBER,  /* an int with the number of the error, 0 if there is none */
};

struct calls_detail {
	struct stats durations; /* of all calls with a known duration */
	struct stats selves;    /* the same without called functions, if they are counted */
	enum calls_errors convention;
	uint64_t errors;
	uint64_t results; /* results that were compared */
	/* Time of the outermost calls with a known processor time, and the part without it. */
	uint64_t measured_ns, off_cpu_ns;
};

/* NULL: out of memory. */
struct calls_detail *calls_detail_create(const char *function);
void calls_detail_free(struct calls_detail *detail);
void calls_detail_add_result(struct calls_detail *detail, int64_t result);
/* Processor times of the thread at the entry and at the return, or CALLS_CPU_UNKNOWN. */
void calls_detail_add_cpu(
		struct calls_detail *detail, uint64_t duration, uint64_t begin, uint64_t end);

/* How the function of the C library reports errors. */
enum calls_errors calls_errors_find(const char *function);

#endif /* SIDE_ANALYSIS_CALLS_DETAIL_H */
