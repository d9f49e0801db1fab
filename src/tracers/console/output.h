/* SPDX-License-Identifier: MIT */
/* Lines of text, built on the stack and written whole. */
#ifndef SIDE_TRACERS_CONSOLE_OUTPUT_H
#define SIDE_TRACERS_CONSOLE_OUTPUT_H

#include "abi/visit.h"

/*
 * A line under way. Short lines need no memory but this; long ones take pages from the kernel, so
 * that lines can be built in signal handlers and inside malloc.
 */
struct console_line {
	struct visit_buffer text; /* first */
	unsigned char memory[2048];
};

#define CONSOLE_PUT(line, literal) visit_buffer_append(&(line)->text, literal, sizeof(literal) - 1)

void console_line_begin(struct console_line *line);

/*
 * Write the line to fd in one write(2) and drop it. Lines of several threads never mix. Keeps
 * errno. What cannot be written, or was not complete for want of memory, is dropped.
 */
void console_line_end(struct console_line *line, int fd);

/* Drop the line. */
void console_line_drop(struct console_line *line);

#endif /* SIDE_TRACERS_CONSOLE_OUTPUT_H */
