/* SPDX-License-Identifier: MIT */
/*
 * A file that a verb writes. It appears complete or not at all: a helper process renames or removes
 * it, because the verb itself parses a trace and is confined.
 */
#ifndef PROGRAMS_SIDE_CLI_OUTPUT_FILE_H
#define PROGRAMS_SIDE_CLI_OUTPUT_FILE_H

#include <stdbool.h>

#include "programs/side/cli/keeper.h"

struct output_file {
	int fd;           /* -1: none, or closed by the caller */
	const char *path; /* for messages */
	char *partial;    /* the name of the file until it is complete, or NULL */
	struct keeper keeper;
};

/* A file that is not open: it can be closed. */
#define OUTPUT_FILE_NONE                            \
	{                                           \
		.fd = -1, .keeper = {.socket = -1 } \
	}

/* Prints why the file cannot be written: a negative errno. Returns the exit status. */
int output_file_print_error(const struct output_file *file, int code);
/* Opens standard output if `path` is NULL or "-". Returns 0 or a negative errno. */
int output_file_open(struct output_file *file, const char *path);
/*
 * Closes the file, and renames it if `is_whole`, else removes it. Standard output stays open.
 * Returns 0 or a negative errno.
 */
int output_file_close(struct output_file *file, bool is_whole);

#endif /* PROGRAMS_SIDE_CLI_OUTPUT_FILE_H */
