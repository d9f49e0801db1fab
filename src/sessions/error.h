/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_ERROR_H
#define SIDE_SESSIONS_ERROR_H

/*
 * Error of a request, for the user: problem and reason in `text`, and a hint in `hint`.
 * Definitions, connections and the daemon use it.
 */

/* The values of "kind" in an answer. */
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
	int code; /* negative errno that the function returned */
	char text[1024];
	char hint[512]; /* may be empty */
	/* Position in the user's input (a filter, a pattern or contexts), with a column from 1. */
	char where[512]; /* empty: no position */
	unsigned int column;
};

const char *control_kind_name(enum control_kind kind);
/* Returns CONTROL_FAILED for an unknown word. */
enum control_kind control_kind_of(const char *word);

/* Fills in *error and returns `code`, which is negative. `hint` can be NULL. */
int control_fail(struct control_error *error, enum control_kind kind, int code, const char *hint,
		const char *format, ...) __attribute__((format(printf, 5, 6)));
int control_no_memory(struct control_error *error);

#endif
