/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_STATE_DIRECTORY_H
#define SIDE_RECORDER_STORAGE_STATE_DIRECTORY_H

/*
 * A session's state directory: it has all that a later recorder needs in order to go on where one was killed.
 *
 * Callers: the life of a live session, adoption, journal, totals and chunks. Main thread, while the drain thread does not run;
 * state_directory_is_adopted() and the other readers by both. No lock.
 *
 *	PLACE/session				clock, output, generation; text
 *	PLACE/totals				figures of processes that have ended; text
 *	PLACE/<procname>-<pid>-<n>/		a process, as --buffers has it (buffers.c), and
 *		journal, told			what of it is in which file (journal.c)
 *
 * The order in session_open():
 *
 *	clock, channels, limits		as ever
 *	state_directory_open_session()			locks it; takes the clock of the former recorder
 *	output_create()			where the caller says, else state_directory_output(), with force
 *	state_directory_save()
 *	adopt_all()			former processes become instances, dead ones and living ones
 *	drain_start()
 *
 * state_directory_save() again when the generation has changed; state_directory_remove() when the session has ended in
 * an orderly way. The directory is locked (flock) as long as a recorder has it.
 *
 * Programs of the same user can write there. What stands in a folder is checked and can spoil
 * nothing but what that process has recorded.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/session.h"

/* Makes the directory if it does not exist. `owner` must have it: a directory of another user is refused. */
int state_directory_open_session(struct session *session, const char *path, uid_t owner,
		struct session_error *error);
/* Whether an earlier recorder has left its state here. */
bool state_directory_is_adopted(const struct session *session);
/* Output directory of the recorder before, or NULL. */
const char *state_directory_output(const struct session *session);
/* The owner of the directory and of its content. */
uid_t state_directory_owner(const struct session *session);
/* Generation that was saved last; 0: none. */
uint64_t state_directory_generation(const struct session *session);
/* Number of the last chunk that was there before the session. */
unsigned int state_directory_first_chunk(const struct session *session);
/* Write down output and generation. 0 or a negative errno. */
int state_directory_save(struct session *session, uint64_t generation);
/* Nothing is recorded any more: all of it goes, but what could not be written. */
void state_directory_remove(struct session *session);
void state_directory_close(struct session *session);

/* This boot of the machine, as the kernel names it; "" when it does not. */
void state_directory_boot(char boot[40]);

#endif
