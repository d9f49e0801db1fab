/* SPDX-License-Identifier: MIT */
/* Lines of text that are built on the stack and written at once. */
#ifndef SIDE_TRACERS_CONSOLE_OUTPUT_H
#define SIDE_TRACERS_CONSOLE_OUTPUT_H

#include "abi/visit.h"

/*
 * A line under construction. Short lines need only this memory; longer ones take pages from the
 * kernel, so that lines can be built in signal handlers and inside malloc().
 */
struct console_line {
	struct visit_buffer text; /* must be the first member */
	unsigned char memory[2048];
};

#define CONSOLE_PUT(line, literal) visit_buffer_append(&(line)->text, literal, sizeof(literal) - 1)

void console_line_begin(struct console_line *line);

/*
 * Write the line to `fd` with one write(2) and free it. Lines of several threads never mix.
 * Preserves errno. A line that cannot be written, or is incomplete because of missing memory, is
 * dropped.
 */
void console_line_end(struct console_line *line, int fd);

/* Free the line without writing it. */
void console_line_drop(struct console_line *line);

#endif /* SIDE_TRACERS_CONSOLE_OUTPUT_H */
