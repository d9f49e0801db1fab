/* SPDX-License-Identifier: MIT */
/* Shows long output on a terminal in the user's pager. */
#ifndef PROGRAMS_SIDE_CLI_PAGER_H
#define PROGRAMS_SIDE_CLI_PAGER_H

struct common_options;

/*
 * If standard output is a terminal, starts the pager (SIDE_PAGER, PAGER, less) and returns in a
 * child process whose output the pager shows. The original process waits for both and exits with
 * the status of the child, so the child may drop its rights afterwards. Call it before the first
 * output, before threads, and before sandboxes.
 */
void pager_start(const struct common_options *common);

#endif /* PROGRAMS_SIDE_CLI_PAGER_H */
