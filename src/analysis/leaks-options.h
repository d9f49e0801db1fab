/* SPDX-License-Identifier: MIT */
/* What the answer about leaks contains. */
#ifndef SIDE_ANALYSIS_LEAKS_OPTIONS_H
#define SIDE_ANALYSIS_LEAKS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: every block that is alive at the end. */
struct leaks_options {
	uint64_t older_ns; /* only blocks of at least this age at the end of their process */
	uint64_t rows;     /* at most in each table of the text; 0: all */
	uint64_t frames;   /* of each stack in the text; 0: all */
	bool mmap;         /* mappings are blocks, too */
	bool debuginfod;   /* servers may be asked for symbols */
};

#endif /* SIDE_ANALYSIS_LEAKS_OPTIONS_H */
