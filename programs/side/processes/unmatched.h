/* SPDX-License-Identifier: MIT */
/* Explains patterns that match no event: the reason, the existing events, and the nearest names. */
#ifndef PROGRAMS_SIDE_PROCESSES_UNMATCHED_H
#define PROGRAMS_SIDE_PROCESSES_UNMATCHED_H

#include <stddef.h>

#define UNMATCHED_TEXT_SIZE 2048

struct unmatched {
	const char *pattern; /* the first pattern that matches nothing, as typed */
	const char *option;  /* "-e ": the option of the pattern */
	/* Provider:event of the existing events; may contain duplicates. */
	const char *const *names;
	size_t nr_names;
	const char *owner; /* "the trace", "server" */
	const char *noun;  /* "event" of programs, "event class" of traces */
};

/*
 * Writes the reason, such as "no colon, so it names a provider: the trace has 2 event classes:
 * db:open, db:close", and the hint, such as "did you mean `-e db:open`?" or "".
 */
void unmatched_explain(const struct unmatched *unmatched, char reason[UNMATCHED_TEXT_SIZE],
		char hint[UNMATCHED_TEXT_SIZE]);

#endif /* PROGRAMS_SIDE_PROCESSES_UNMATCHED_H */
