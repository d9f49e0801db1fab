/* SPDX-License-Identifier: MIT */
/* The state of `side system`: whether /etc/ld.so.preload has the line, and whether it works. */
#ifndef PROGRAMS_SIDE_SYSTEM_STATE_H
#define PROGRAMS_SIDE_SYSTEM_STATE_H

#include "base/error.h"

#include <stdbool.h>

struct system_state {
	bool is_on;
	bool is_mixed; /* the library is named, but not in a line of its own */
	char *line;    /* the first line of side, or NULL */
	char *file;    /* the library of 64-bit programs, or NULL */
	bool exists;
	bool loads;
	struct error problem; /* why it does not exist, or does not load */
};

/* Returns 0, or a negative errno with *error filled in. */
int system_state_read(struct system_state *ret_state, struct error *error);
void system_state_free(struct system_state *state);

#endif /* PROGRAMS_SIDE_SYSTEM_STATE_H */
