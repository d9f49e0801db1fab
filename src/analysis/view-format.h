/* SPDX-License-Identifier: MIT */
/*
 * A format of printf() with its arguments, as text.
 *
 * Format and arguments come from a trace and can be anything. The text is only made if each
 * conversion has an argument of its type, in the range of its length modifier, and each argument has
 * a conversion. There are no widths from arguments (`*`), numbered arguments (`%1$d`), wide
 * characters and `%n`.
 */
#ifndef SIDE_ANALYSIS_VIEW_FORMAT_H
#define SIDE_ANALYSIS_VIEW_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/view-out.h"

#define VIEW_FORMAT_SIZE_MAX 4096  /* bytes of a format */
#define VIEW_FORMAT_TEXT_MAX 65536 /* bytes of a text */
#define VIEW_FORMAT_ARGUMENTS_MAX 32
#define VIEW_FORMAT_WIDTH_MAX 512    /* of one conversion */
#define VIEW_FORMAT_PRECISION_MAX 64 /* of a number */

enum view_format_type {
	VIEW_FORMAT_SIGNED,
	VIEW_FORMAT_UNSIGNED,
	VIEW_FORMAT_REAL,
	VIEW_FORMAT_TEXT,
};

struct view_format_argument {
	enum view_format_type type;
	uint8_t bits;    /* of an integer */
	uint64_t number; /* sign-extended if it is signed */
	double real;
	const char *text; /* not NUL-terminated */
	size_t size;
};

/*
 * Adds the text. False: the arguments do not fit the format, or it is not supported; nothing is
 * added.
 */
bool view_format_render(struct view_out *out, const char *format, size_t size,
		const struct view_format_argument *arguments, uint32_t count);

#endif /* SIDE_ANALYSIS_VIEW_FORMAT_H */
