/* SPDX-License-Identifier: MIT */
/* The tables of functions of `side calls` and `side slow`, made of a report with details. */
#ifndef SIDE_ANALYSIS_FUNCTION_TABLE_H
#define SIDE_ANALYSIS_FUNCTION_TABLE_H

#include <stdio.h>

struct report;

enum function_table {
	FUNCTION_TABLE_CALLS, /* by total time: calls, errors, mean, percentiles */
	FUNCTION_TABLE_SLOW,  /* by self time: total, self, percentiles, off-CPU share */
};

/*
 * Prints the table as text or JSON. The report has `options->calls` and `calls.detailed`, and
 * report_read() has succeeded. 0 or -ENOMEM.
 */
int function_table_print(struct report *report, enum function_table table, FILE *out);

#endif /* SIDE_ANALYSIS_FUNCTION_TABLE_H */
