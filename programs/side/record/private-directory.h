/* SPDX-License-Identifier: MIT */
#ifndef SIDE_CMD_RECORD_PRIVATE_H
#define SIDE_CMD_RECORD_PRIVATE_H

/*
 * Before a command of root's starts: a note if other users cannot load the recorder, and the command names a program
 * that changes the user; with --verbose also if it names none.
 */
void record_note_private(char *const *command);

#endif /* SIDE_CMD_RECORD_PRIVATE_H */
