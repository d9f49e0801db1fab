/* SPDX-License-Identifier: MIT */
/* The command line of readside. */
#ifndef PROGRAMS_READSIDE_OPTIONS_H
#define PROGRAMS_READSIDE_OPTIONS_H

#include "readside.h"

#include "protocol/pattern.h"

enum mode { MODE_LIST, MODE_CHECK, MODE_DIFF };

/* Most options apply to the files after them. */
struct readside_options {
	enum mode mode; /* mode, strict and verbose apply to all files */
	bool strict;
	bool verbose;
	enum form_kind form;
	struct readside_walk_options walk;
	struct pattern *patterns;
	size_t nr_patterns;
	const char **providers;
	size_t nr_providers;
	const char *output;
	const char **outputs; /* of the whole command line; set by options_scan() */
	size_t nr_outputs;
	bool is_end; /* only files follow */
};

enum readside_step {
	STEP_FILE,  /* read *path with the current options */
	STEP_END,   /* no more files */
	STEP_LEAVE, /* help or similar was printed: exit */
	STEP_USAGE, /* an error was printed */
};

/* Find the mode and the options that apply to all files, before any file is read. */
enum readside_step options_scan(int argc, char **argv, struct readside_options *ret_options);
/* Parse up to the next file. */
enum readside_step options_next(
		int argc, char **argv, struct readside_options *options, const char **ret_path);
void options_free(struct readside_options *options);

#endif /* PROGRAMS_READSIDE_OPTIONS_H */
