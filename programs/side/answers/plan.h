/* SPDX-License-Identifier: MIT */
/* What a verb that answers a question records, and what it does with the recording. */
#ifndef PROGRAMS_SIDE_ANSWERS_PLAN_H
#define PROGRAMS_SIDE_ANSWERS_PLAN_H

#include "programs/common/command.h"

#define ANSWER_FURTHER_COUNT 2 /* further recordings of a plan */

/* A recording that a screen shows. */
struct answer_recording {
	const char *dir; /* does not exist until the recording has begun */
	int end;         /* a descriptor at its end of file when the recording has ended */
	int messages;    /* a file with the messages of the recorder, for pread() */
};

struct answer_screen {
	struct answer_recording recording, further[ANSWER_FURTHER_COUNT];
	/* A byte that is written here begins the further recording of this number, once. */
	int requests;
	const char *temporary; /* the directory of further recordings */
};

struct answer_plan {
	/* The verb that records, `record` or `trace`, and its options; ends with NULL. */
	const char *const *command_args; /* for a command */
	const char *const *process_args; /* for a running process */
	/*
	 * A command waits while a ring is full, instead of losing events. Verbs that measure times
	 * do not set this, because the times would contain these waits. A running process never
	 * waits.
	 */
	bool command_blocks;
	/* The answer does not use the threads of probe events: they are not recorded. */
	bool no_threads;
	/* Adds options from the command line; NULL: none. False: out of memory. */
	bool (*add_args)(const struct parsed *parsed, char ***args);
	/* Answers from the trace. Returns an exit status. For a recording, in another process. */
	int (*answer)(const struct parsed *parsed, const char *dir);
	/*
	 * Shows the trace of a running process while it is recorded; NULL: `answer` follows the
	 * recording. The function runs in another process; when it returns, all recordings end.
	 */
	int (*watch)(const struct parsed *parsed, const struct answer_screen *screen);
	/* Plans of recordings of the same process that the screen can begin; NULL: no further one. */
	const struct answer_plan *further[ANSWER_FURTHER_COUNT];
};

#endif /* PROGRAMS_SIDE_ANSWERS_PLAN_H */
