/* SPDX-License-Identifier: MIT */
/* Directories that are there only while a verb runs, in $TMPDIR or /tmp. */
#ifndef PROGRAMS_SIDE_CLI_TEMPORARY_DIRECTORY_H
#define PROGRAMS_SIDE_CLI_TEMPORARY_DIRECTORY_H

/* NAME-XXXXXX, for the user alone; `what` it is for. 0 or an exit status: said. */
int made_directory(const char *name, const char *what, char **made);
/* With all that is in it; *made becomes NULL. NULL in it is accepted. */
void made_remove(char **made);

#endif /* PROGRAMS_SIDE_CLI_TEMPORARY_DIRECTORY_H */
