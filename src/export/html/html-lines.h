/* SPDX-License-Identifier: MIT */
/*
 * The tables of a page: JSON lines of reports, for an element <script type="application/json">.
 *
 * Each type of line has a budget of bytes, so that a page is small for any trace. Lines beyond the
 * budget are left out and counted. The lines of a type are sorted: the most important ones remain.
 */
#ifndef SIDE_EXPORT_HTML_HTML_LINES_H
#define SIDE_EXPORT_HTML_HTML_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/view-out.h"

#define HTML_LINE_TYPES_MAX 32

struct html_line_type {
	char name[32];
	size_t size, size_max;
	uint64_t omitted; /* lines */
};

/* All zero is an empty one. */
struct html_lines {
	struct view_out out; /* lines with a comma between them */
	struct html_line_type types[HTML_LINE_TYPES_MAX];
	unsigned int nr_types;
};

/* Appends JSON without the character "<", which could end the element. */
void html_put_escaped(struct view_out *out, const char *json, size_t size);

/* Bytes that html_put_escaped() appends. */
size_t html_escaped_size(const char *json, size_t size);

/* Adds lines of JSON objects that begin with {"schema":1,"type":"TYPE". */
void html_lines_add(struct html_lines *lines, const char *text, size_t size);
/* Adds an object {"schema":1,"type":"omitted","of":TYPE,"count":…} for each type that lacks lines. */
void html_lines_add_omitted(struct html_lines *lines);
void html_lines_free(struct html_lines *lines);

/* The sum of all budgets: no page has more bytes of lines. */
size_t html_lines_size_max(void);

#endif /* SIDE_EXPORT_HTML_HTML_LINES_H */
