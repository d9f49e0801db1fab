/* SPDX-License-Identifier: MIT */
/* Temporary directories of a verb, in $TMPDIR or /tmp. */
#ifndef PROGRAMS_SIDE_CLI_TEMPORARY_DIRECTORY_H
#define PROGRAMS_SIDE_CLI_TEMPORARY_DIRECTORY_H

/*
 * Makes the directory NAME-XXXXXX, accessible for the user only. `purpose` is for
 * messages. The caller owns *ret_path. Returns 0 or an exit status, after a message.
 */
int temporary_directory_make(const char *name, const char *purpose, char **ret_path);
/* Removes the directory with all its files, and sets *path to NULL. Does nothing if it is NULL. */
void temporary_directory_remove(char **path);

#endif /* PROGRAMS_SIDE_CLI_TEMPORARY_DIRECTORY_H */
