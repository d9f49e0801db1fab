/* SPDX-License-Identifier: MIT */
/* Temporary directories of a verb, in $TMPDIR or /tmp. */
#ifndef PROGRAMS_SIDE_CLI_TEMPORARY_DIRECTORY_H
#define PROGRAMS_SIDE_CLI_TEMPORARY_DIRECTORY_H

/*
 * Makes the directory NAME-XXXXXX, accessible for the user only. `what` is its purpose, for
 * messages. The caller owns *made. Returns 0 or an exit status, after a message.
 */
int made_directory(const char *name, const char *what, char **made);
/* Removes the directory with all its files, and sets *made to NULL. Does nothing if it is NULL. */
void made_remove(char **made);

#endif /* PROGRAMS_SIDE_CLI_TEMPORARY_DIRECTORY_H */
