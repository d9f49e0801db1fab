/* SPDX-License-Identifier: MIT */
/* Patterns that match no event: the reason, the events that exist, and what was probably meant. */
#ifndef PROGRAMS_SIDE_PROCESSES_UNMATCHED_H
#define PROGRAMS_SIDE_PROCESSES_UNMATCHED_H

#include <stddef.h>

#define UNMATCHED_TEXT_SIZE 2048

struct unmatched {
	const char *pattern;      /* the first one that matches nothing, as it was typed */
	const char *option;       /* "-e ": how the pattern is given */
	const char *const *names; /* provider:event of the events that exist; may have equal ones */
	size_t nr_names;
	const char *owner; /* "the trace", "server" */
	const char *noun;  /* "event" of programs, "event class" of traces */
};

/*
 * Writes the reason, such as "no colon, so it names a provider: the trace has 2 event classes: db:open, db:close", and the hint, such as
 * "did you mean `-e db:open`?" or "".
 */
void unmatched_parts(const struct unmatched *unmatched, char reason[UNMATCHED_TEXT_SIZE],
		char hint[UNMATCHED_TEXT_SIZE]);

#endif /* PROGRAMS_SIDE_PROCESSES_UNMATCHED_H */
