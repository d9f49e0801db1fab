/* SPDX-License-Identifier: MIT */
/*
 * Records a command or a running process for a verb that answers a question, or takes a trace that
 * exists, and passes the trace to the verb.
 *
 * The recording is made by another process of `side`. It goes to the directory of `-o`, or to a
 * temporary one that is removed afterwards, also after a signal.
 */
#ifndef PROGRAMS_SIDE_ANSWERS_RUN_H
#define PROGRAMS_SIDE_ANSWERS_RUN_H

#include "programs/common/command.h"

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
	 * recording. The descriptor `recording` is at its end of file when the recording has ended.
	 * The function runs in another process; when it returns, the recording ends.
	 */
	int (*watch)(const struct parsed *parsed, const char *dir, int recording);
};

/* When the recording was ended, in ns since 1970; 0: not known, because a trace was given. */
int64_t answer_end_ns(void);

/* True if a signal ended the recorder: the recording ends before the program. */
bool answer_is_cut(void);
/* Whether the operand is a trace: a directory cannot be executed. */
bool answer_is_trace(const struct parsed *parsed);

/* Returns the exit status of the command, or of the answer if that is not 0. */
int answer_run(const struct parsed *parsed, const struct answer_options *options,
		const struct answer_plan *plan);

#endif /* PROGRAMS_SIDE_ANSWERS_RUN_H */
