/* SPDX-License-Identifier: MIT */
/* Tables of text whose columns are as wide as their widest field. */
#ifndef SIDE_ANALYSIS_REPORT_TABLE_H
#define SIDE_ANALYSIS_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/view-out.h"

struct table_column {
	const char *title;
	bool right;         /* for numbers */
	const char *colour; /* NULL: none */
};

struct report_table {
	const struct table_column *columns;
	unsigned int count;
	bool colour;
	char **entries;
	size_t used, capacity;
	bool failed; /* an allocation failed; remains set */
};

/* Adds a field: row by row, from left to right. Control characters become visible. */
void table_put(struct report_table *table, const char *text);
void table_format(struct report_table *table, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
/* Prints the titles and all rows. Afterwards the table is empty. */
void table_print(struct report_table *table, struct view_out *out);

#endif /* SIDE_ANALYSIS_REPORT_TABLE_H */
