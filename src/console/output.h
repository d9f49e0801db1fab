/* SPDX-License-Identifier: MIT */
/* Lines of text, built on the stack and written whole. */
#ifndef CONSOLE_OUTPUT_H
#define CONSOLE_OUTPUT_H

#include "visit/visit.h"

/*
 * A line under way. Short lines need no memory but this; long ones take pages from the kernel, so
 * that lines can be built in signal handlers and inside malloc.
 */
struct output_line {
	struct visit_buffer text; /* first */
	unsigned char memory[2048];
};

#define OUTPUT_PUT(line, literal) visit_buffer_append(&(line)->text, literal, sizeof(literal) - 1)

void output_begin(struct output_line *line);

/*
 * Write the line to fd in one write(2) and drop it. Lines of several threads never mix. Keeps
 * errno. What cannot be written, or was not complete for want of memory, is dropped.
 */
void output_end(struct output_line *line, int fd);

/* Drop the line. */
void output_drop(struct output_line *line);

#endif /* CONSOLE_OUTPUT_H */
