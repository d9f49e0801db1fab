/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_CLI_MORE_H
#define PROGRAMS_SIDE_CLI_MORE_H

/*
 * The command line consists of two programs. `side` has the verbs that send requests to the daemon,
 * and links only the libraries for these, because a short command spends most of its time on
 * loading libraries. All other verbs are in `side-more`, which `side` executes for them.
 */

/*
 * Executes side-more with this command line. Returns only after a failure, with an exit status,
 * after a message.
 */
int more_execute(char **argv);

/*
 * Runs side-more to print notes about the patterns and the filter of a command line for a session,
 * and waits for it. The notes require reading the connected programs, for which `side` lacks the
 * libraries.
 */
void more_explain(char **argv);
/* Argument 0 of side-more for more_explain(). */
#define MORE_EXPLAIN "side-explain"
/* Argument 0 of side-more if it records for a verb that answers a question. */
#define MORE_ANSWER "side-answer"
/* The same for a verb that does not use the threads of events: `side trace` leaves them out. */
#define MORE_ANSWER_NO_THREADS "side-answer-no-threads"

#endif /* PROGRAMS_SIDE_CLI_MORE_H */
