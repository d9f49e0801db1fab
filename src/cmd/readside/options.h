/* SPDX-License-Identifier: MIT */
/* The command line of readside. */
#ifndef SIDE_CMD_READSIDE_OPTIONS_H
#define SIDE_CMD_READSIDE_OPTIONS_H

#include "readside.h"

#include "protocol/pattern.h"

enum mode { MODE_LIST, MODE_CHECK, MODE_DIFF };

/* Most options hold for the files after them. */
struct options {
	enum mode mode; /* this, strict and quiet hold for all */
	bool strict;
	bool verbose;
	enum form_kind form;
	struct walk_options walk;
	struct pattern *patterns;
	size_t nr_patterns;
	const char **providers;
	size_t nr_providers;
	const char *output;
	const char **outputs; /* of the whole command line; options_scan() finds them */
	size_t nr_outputs;
	bool is_end; /* only files follow */
};

enum step {
	STEP_FILE,  /* *path is to be read, with the options as they are now */
	STEP_END,   /* there is no more */
	STEP_LEAVE, /* help or the like: all is said */
	STEP_USAGE, /* a mistake, said */
};

/* The modes and what holds for all, before any file is read. */
enum step options_scan(int argc, char **argv, struct options *options);
/* Up to the next file. */
enum step options_next(int argc, char **argv, struct options *options, const char **path);
void options_free(struct options *options);

#endif /* SIDE_CMD_READSIDE_OPTIONS_H */
