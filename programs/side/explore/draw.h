/* SPDX-License-Identifier: MIT */
/* Draws text on the terminal by columns, for screen.c. */
#ifndef PROGRAMS_SIDE_EXPLORE_DRAW_H
#define PROGRAMS_SIDE_EXPLORE_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum draw_style {
	DRAW_PLAIN,
	DRAW_BAR,    /* titles and keys */
	DRAW_CURSOR, /* the selected row */
	DRAW_STYLES
};

/* Call it once after the start of curses. */
void draw_start(bool colour);
/*
 * Draws a line of the screen without the first `skip` columns of the text, cut at the right, and
 * fills the remainder. Bytes that the locale cannot show become question marks.
 */
void draw_line(int line, enum draw_style style, size_t skip, const char *text);
/*
 * Draws the text in as many lines as it needs, from `line` to the line before `end`, without the
 * first *skip lines. Subtracts the lines that it skipped from *skip. Returns the next line.
 */
int draw_wrapped(int line, int end, uint64_t *skip, const char *text);

#endif /* PROGRAMS_SIDE_EXPLORE_DRAW_H */
