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

#include "programs/side/answers/plan.h"

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
