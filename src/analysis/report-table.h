/* SPDX-License-Identifier: MIT */
/* Lines of cells, made as wide as they must be. */
#ifndef SIDE_ANALYSIS_REPORT_TABLE_H
#define SIDE_ANALYSIS_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/view-out.h"

struct table_column {
	const char *title;
	bool right;         /* Numbers stand on the right. */
	const char *colour; /* NULL: none. */
};

struct report_table {
	const struct table_column *columns;
	unsigned int count;
	bool colour;
	char **cells;
	size_t used, capacity;
	bool failed; /* No memory: sticks. */
};

/* A cell, row by row from left to right. What a terminal would obey is made visible. */
void table_put(struct report_table *table, const char *text);
void table_format(struct report_table *table, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
/* A title line and all rows; then the table is empty. */
void table_print(struct report_table *table, struct view_out *out);

#endif /* SIDE_ANALYSIS_REPORT_TABLE_H */
