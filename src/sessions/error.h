/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_ERROR_H
#define SIDE_SESSIONS_ERROR_H

/*
 * What is wrong with a request, for a person: the thing and the reason in `text`, the mend in `hint`.
 * A sub-header of its own because definitions, connections and the daemon all speak it.
 */

/* The words of "kind" in an answer. */
enum control_kind {
	CONTROL_DONE,
	CONTROL_FAILED,     /* "failed" */
	CONTROL_USAGE,      /* "usage" */
	CONTROL_PERMISSION, /* "permission" */
	CONTROL_NOT_FOUND,  /* "not-found" */
	CONTROL_BUSY,       /* "busy" */
	CONTROL_NR_KINDS
};

struct control_error {
	enum control_kind kind;
	int code; /* negative errno value, as the function returned it */
	char text[1024];
	char hint[512]; /* may be empty */
	/* Where in what the user wrote: a filter, a pattern or contexts, and a column from 1. */
	char where[512]; /* empty: nowhere */
	unsigned int column;
};

const char *control_kind_name(enum control_kind kind);
/* CONTROL_FAILED for a word that is not known. */
enum control_kind control_kind_of(const char *word);

/* Fills *error in and returns `code`, which is negative. `hint` may be NULL. */
int control_fail(struct control_error *error, enum control_kind kind, int code, const char *hint,
		const char *format, ...) __attribute__((format(printf, 5, 6)));
int control_no_memory(struct control_error *error);

#endif
