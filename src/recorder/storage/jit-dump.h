/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_JIT_DUMP_H
#define SIDE_RECORDER_STORAGE_JIT_DUMP_H

/*
 * Parses a jitdump file: the functions that a program has generated, with times, files and lines
 * (tools/perf/Documentation/jitdump-specification.txt of Linux, version 1).
 *
 * The traced program writes the file, perhaps at this moment: nothing in it is trusted.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JIT_DUMP_FUNCTIONS_MAX 100000u /* further functions are ignored */
#define JIT_DUMP_LINES_MAX 500000u     /* of all functions */
#define JIT_DUMP_TEXT_MAX (16u << 20)  /* names and files */
#define JIT_DUMP_RECORDS_MAX 1000000u  /* the remainder is not read */
#define JIT_DUMP_NAME_MAX 900u         /* a longer name or file is ignored */

struct jit_dump_function {
	uint64_t begin, size;
	uint64_t index;     /* the number that the program gave it */
	uint64_t timestamp; /* ns of CLOCK_MONOTONIC */
	uint32_t name;      /* where it begins in `text` */
	uint32_t first_line, nr_lines;
};

/* The code from `offset` on belongs to this line, up to the next one of the function. */
struct jit_dump_line {
	uint64_t offset; /* from the begin of the function */
	uint32_t line;
	uint32_t file; /* where its name begins in `text` */
};

struct jit_dump {
	struct jit_dump_function
			*functions; /* in the order of the file, and for each move another */
	size_t nr_functions;
	struct jit_dump_line *lines;
	size_t nr_lines;
	char *text; /* names, each with a NUL; no control characters */
	size_t text_size;
	/* private */
	size_t text_capacity;
	uint32_t *table; /* a hash table by `index`: the last function with it, plus one */
};

/*
 * Reads the file up to its end, or to the first record that is not complete. -EBADMSG: it is no
 * jitdump file of this machine, or its times are those of another clock. -ENOMEM. Call
 * jit_dump_free() in any case.
 */
int jit_dump_parse(FILE *file, struct jit_dump *ret_dump);
void jit_dump_free(struct jit_dump *dump);

#endif
