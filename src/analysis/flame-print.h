/* SPDX-License-Identifier: MIT */
/* The answer of `side flame`: the tree of call paths as text or JSON. */
#ifndef SIDE_ANALYSIS_FLAME_PRINT_H
#define SIDE_ANALYSIS_FLAME_PRINT_H

#include <stdio.h>

#include "analysis/flame.h"
#include "base/format.h"

struct flame_print {
	const struct flame *flame;
	const char *base; /* the trace whose weights flame_tree_add_base() has added; NULL: none */
	uint64_t rows;    /* rows of the text, the largest weights; 0: FLAME_ROWS_SHOWN */
	bool colour;
};

#define FLAME_ROWS_SHOWN 40

/* Returns the text: a time, a size or a number. */
const char *flame_print_weight(
		const struct flame *flame, uint64_t weight, char text[FORMAT_NUMBER_MAX]);

/* Writes to the stream without flushing it. 0 or -ENOMEM. */
int flame_print_text(const struct flame_print *print, FILE *out);
int flame_print_json(const struct flame_print *print, FILE *out);

#endif /* SIDE_ANALYSIS_FLAME_PRINT_H */
