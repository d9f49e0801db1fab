/* SPDX-License-Identifier: MIT */
/*
 * The answers of `side leaks`, `side locks` and `side flame` as rows, for `side explore`.
 *
 * Each answer reads the trace when it is shown for the first time. Its numbers are those of the
 * verb, because the same code counts them.
 */
#ifndef SIDE_ANALYSIS_EXPLORE_ANSWERS_H
#define SIDE_ANALYSIS_EXPLORE_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/listener.h"

struct error;
struct explore_answers;
struct view_out;

enum explore_answer { EXPLORE_ANSWER_STACKS, EXPLORE_ANSWER_LEAKS, EXPLORE_ANSWER_LOCKS };
#define EXPLORE_ANSWERS 3

/*
 * Starts the processes that read debug files, so call it before this process is confined. Each
 * answer has the directory of its trace, which must live until explore_answers_free(). That is
 * called in any case. 0 or a negative errno.
 */
int explore_answers_create(const char *const dirs[EXPLORE_ANSWERS],
		struct explore_answers **ret_answers, struct error *error);
void explore_answers_free(struct explore_answers *answers);

/* Selects the events of the stacks. The expression must live until the next call. */
void explore_answers_set_filter(struct explore_answers *answers, const char *filter);

/*
 * Reads the trace, if this answer has not done so. Afterwards the answer has rows, after an error
 * none. The listener must live until the end of the call. 0 or a negative errno.
 */
int explore_answers_open(struct explore_answers *answers, enum explore_answer answer,
		const struct analysis_listener *listener, struct error *error);
/*
 * Discards the rows of an answer: the trace grows and is read again. `end_ns`: until when it is
 * complete, in ns since 1970; waits for locks that have not ended count until then. 0: until its
 * last event.
 */
void explore_answers_forget(
		struct explore_answers *answers, enum explore_answer answer, int64_t end_ns);
bool explore_answers_is_open(const struct explore_answers *answers, enum explore_answer answer);

const char *explore_answers_title(enum explore_answer answer);
uint64_t explore_answers_row_count(
		const struct explore_answers *answers, enum explore_answer answer);
/* Writes a row, in which names can contain control characters. */
void explore_answers_row(struct explore_answers *answers, enum explore_answer answer, uint64_t row,
		struct view_out *out);
/* Writes the lines of the stacks of a row; nothing if it has none. */
void explore_answers_detail(struct explore_answers *answers, enum explore_answer answer,
		uint64_t row, struct view_out *out);

#endif /* SIDE_ANALYSIS_EXPLORE_ANSWERS_H */
