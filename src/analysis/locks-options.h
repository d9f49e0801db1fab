/* SPDX-License-Identifier: MIT */
/* What the answer about locks contains. */
#ifndef SIDE_ANALYSIS_LOCKS_OPTIONS_H
#define SIDE_ANALYSIS_LOCKS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: all locks. */
struct locks_options {
	uint64_t rows; /* at most in each table of the text; 0: the standard number */
	/* When recording was ended, in ns since 1970; later events are ignored. 0: not known. */
	int64_t end_ns;
	uint64_t stacks; /* pairs of stacks of each lock in JSON; 0: all */
	bool debuginfod; /* servers may be asked for symbols */
};

#endif /* SIDE_ANALYSIS_LOCKS_OPTIONS_H */
