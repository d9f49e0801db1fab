/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_FILE_IDENTITY_H
#define SIDE_SESSIONS_FILE_IDENTITY_H

/*
 * Identifies a file and its content by a text, which definitions store. Equal texts: the same file,
 * maybe by another path, which was not written meanwhile.
 */
#include <stdbool.h>
#include <sys/types.h>

#define FILE_IDENTITY_SIZE 128 /* bytes of a text, with the NUL */

/* Both functions set the text to "" and return false if the file cannot be inspected. */
bool file_identity_of_path(const char *path, char ret_text[FILE_IDENTITY_SIZE]);
/*
 * The same for the file that the process executes. Follows only a link of /proc, and does not wait
 * for the file system, which another user can implement (FUSE).
 */
bool file_identity_of_process(pid_t pid, char ret_text[FILE_IDENTITY_SIZE]);
/* The same for a file whose status is known. */
struct stat;
void file_identity_of_status(const struct stat *status, char ret_text[FILE_IDENTITY_SIZE]);
/* True for a text that these functions can return. */
bool file_identity_is_valid(const char *text);

#endif /* SIDE_SESSIONS_FILE_IDENTITY_H */
