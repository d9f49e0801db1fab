/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_RECORD_PRIVATE_DIRECTORY_H
#define PROGRAMS_SIDE_RECORD_PRIVATE_DIRECTORY_H

/*
 * Before a command of root's starts: a note if other users cannot load the recorder, and the command names a program
 * that changes the user; with --verbose also if it names none.
 */
void record_note_private(char *const *command);

#endif /* PROGRAMS_SIDE_RECORD_PRIVATE_DIRECTORY_H */
