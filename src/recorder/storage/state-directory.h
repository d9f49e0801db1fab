/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_STATE_DIRECTORY_H
#define SIDE_RECORDER_STORAGE_STATE_DIRECTORY_H

/*
 * The state directory of a session contains everything that a later recorder needs to continue
 * after one was killed.
 *
 * Callers: the start and end of a live session, adoption, journal, totals and chunks. Main thread,
 * while the drain thread does not run; state_directory_is_adopted() and the other readers from both
 * threads. No lock.
 *
 *   STATE/session                    clock, output, generation; text
 *   STATE/totals                     statistics of ended processes; text
 *   STATE/<procname>-<pid>-<n>/      a process, as with --buffers (buffers.c), and
 *       journal, told                which records are in which file (journal.c)
 *
 * The order in session_open():
 *
 *   clock, channels, limits           as in session_create()
 *   state_directory_open_session()    locks the directory; reads the clock of the earlier recorder
 *   output_create()                   path of the caller, else state_directory_output(), with force
 *   state_directory_save()
 *   adopt_all()                       running and dead processes become instances
 *   drain_start()
 *
 * Later, state_directory_save() is called when the generation has changed, and
 * state_directory_remove() when the session has ended regularly. A recorder holds a lock (flock) on
 * the directory.
 *
 * Programs of the same user can write there. The content of a folder is checked and can spoil only
 * the recording of its own process.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/session.h"

/*
 * Creates the directory if it does not exist. `owner` must own it: a directory of another user is
 * refused.
 */
int state_directory_open_session(
		struct session *session, const char *path, uid_t owner, struct error *error);
/* True if the directory contains the state of an earlier recorder. */
bool state_directory_is_adopted(const struct session *session);
/* Returns the output directory of the earlier recorder, or NULL. */
const char *state_directory_output(const struct session *session);
/* Returns the owner of the directory and of its content. */
uid_t state_directory_owner(const struct session *session);
/* Returns the generation that was saved last; 0 if there is none. */
uint64_t state_directory_generation(const struct session *session);
/* Returns the number of the last chunk that existed before the session. */
unsigned int state_directory_first_chunk(const struct session *session);
/* Saves output and generation. Returns 0 or a negative errno. */
int state_directory_save(struct session *session, uint64_t generation);
/* Call when the session has ended: removes everything except records that could not be written. */
void state_directory_remove(struct session *session);
void state_directory_close(struct session *session);

/* Gets the kernel's id of this boot; "" if it is unknown. */
void state_directory_boot(char boot[40]);

#endif
