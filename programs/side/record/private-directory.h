/* SPDX-License-Identifier: MIT */
/* Warns if other users cannot read the recorder's libraries. */
#ifndef PROGRAMS_SIDE_RECORD_PRIVATE_DIRECTORY_H
#define PROGRAMS_SIDE_RECORD_PRIVATE_DIRECTORY_H

/*
 * Call it before a command of root starts. Prints a note if other users cannot load the recorder
 * and the command names a program that changes the user. With --verbose the command may be any.
 */
void record_note_private(char *const *command);

#endif /* PROGRAMS_SIDE_RECORD_PRIVATE_DIRECTORY_H */
