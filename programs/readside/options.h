/* SPDX-License-Identifier: MIT */
/* The command line of readside. */
#ifndef PROGRAMS_READSIDE_OPTIONS_H
#define PROGRAMS_READSIDE_OPTIONS_H

#include "readside.h"

#include "protocol/pattern.h"

enum mode { MODE_LIST, MODE_CHECK, MODE_DIFF };

/* Most options hold for the files after them. */
struct readside_options {
	enum mode mode; /* this, strict and quiet hold for all */
	bool strict;
	bool verbose;
	enum form_kind form;
	struct readside_walk_options walk;
	struct pattern *patterns;
	size_t nr_patterns;
	const char **providers;
	size_t nr_providers;
	const char *output;
	const char **outputs; /* of the whole command line; options_scan() finds them */
	size_t nr_outputs;
	bool is_end; /* only files follow */
};

enum readside_step {
	STEP_FILE,  /* *path is to be read, with the options as they are now */
	STEP_END,   /* there is no more */
	STEP_LEAVE, /* help or the like: all is said */
	STEP_USAGE, /* a mistake, said */
};

/* The modes and what holds for all, before any file is read. */
enum readside_step options_scan(int argc, char **argv, struct readside_options *options);
/* Up to the next file. */
enum readside_step options_next(
		int argc, char **argv, struct readside_options *options, const char **path);
void options_free(struct readside_options *options);

#endif /* PROGRAMS_READSIDE_OPTIONS_H */
