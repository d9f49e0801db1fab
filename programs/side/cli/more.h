/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_CLI_MORE_H
#define PROGRAMS_SIDE_CLI_MORE_H

/*
 * The command line is two programs. `side` has the verbs that ask the daemon, and links what these need:
 * little, for most of the time of a short command is the loading of its libraries. All other verbs are in
 * `side-more`, which `side` becomes when it is asked for one of them.
 */

/*
 * Become side-more with this command line. Returns only with the exit status of a
 * failure, which it has said.
 */
int more_execute(char **argv);

/*
 * Let side-more print notes about the patterns and the filter of a command line for a session, and wait for it. It reads
 * the programs that have joined, which takes what `side` does not link.
 */
void more_explain(char **argv);
/* Argument 0 of a side-more that does this. */
#define MORE_EXPLAIN "side-explain"

#endif /* PROGRAMS_SIDE_CLI_MORE_H */
