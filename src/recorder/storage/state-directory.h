/* SPDX-License-Identifier: MIT */
#ifndef SESSION_PLACE_H
#define SESSION_PLACE_H

/*
 * A session's place: a directory in which everything stands that a later recorder needs in order to
 * go on where one was killed. Private to the room.
 *
 *	PLACE/session				clock, output, generation; text
 *	PLACE/totals				figures of processes that have ended; text
 *	PLACE/<procname>-<pid>-<n>/		a process, as --buffers has it (buffers.c), and
 *		journal, told			what of it is in which file (journal.c)
 *
 * The order in session_open():
 *
 *	clock, channels, limits		as ever
 *	place_open()			locks it; takes the clock of the former recorder
 *	output_create()			where the caller says, else place_output(), with force
 *	place_save()
 *	adopt_all()			former processes become instances, dead ones and living ones
 *	drain_start()
 *
 * place_save() again when the generation has changed; place_remove() when the session has ended in
 * an orderly way. The directory is locked (flock) as long as a recorder has it.
 *
 * Programs of the same user can write there. What stands in a folder is checked and can spoil
 * nothing but what that process has recorded.
 */
#include "recorder/core/parts.h"

/* Makes the directory when it is not there. */
/* The owner that it must have: a directory of another user is refused. */
int place_open(struct session *session, const char *path, uid_t owner, struct session_error *error);
/* Whether somebody was here before. */
bool place_is_adopted(const struct session *session);
/* Output directory of the recorder before, or NULL. */
const char *place_output(const struct session *session);
/* The owner of the directory and of its content. */
uid_t place_owner(const struct session *session);
/* Generation that was saved last; 0: none. */
uint64_t place_generation(const struct session *session);
/* Number of the last chunk that was there before the session. */
unsigned int place_first_chunk(const struct session *session);
/* Write down output and generation. 0 or a negative errno. */
int place_save(struct session *session, uint64_t generation);
/* Nothing is recorded any more: all of it goes, but what could not be written. */
void place_remove(struct session *session);
void place_close(struct session *session);

/* Folders that are no use are said; the rest goes on. Fails only without memory. */
int adopt_all(struct session *session, struct session_error *error);
/*
 * Where programs make folders by themselves: those that have come since. It looks now and then, or `now`.
 * adopt_forget(): what it remembers.
 */
void adopt_new(struct session *session, bool now);
void adopt_forget(struct session *session);

/* Parts of it. A descriptor that can write, for one that cannot, of rings: that or a negative errno. */
int adopt_open_writable(int fd);
/* An instance with rings and events, and its pidfd, or -1 for one that has ended. */
void adopt_add(struct session *session, struct instance *instance, int process);
/* It counts ticks of this clock of this boot. 0 or a negative errno. */
int adopt_clock_of(const struct session *session, struct instance *instance, enum ring_clock kind);

/*
 * adopt-mapped.c: recordings in the memory of processes that live, which are in no place. How many, or a negative
 * errno: it may not be looked at.
 */
int adopt_mapped(struct session *session, pid_t pid);
void adopt_mapped_all(struct session *session);

/*
 * adopt-process.c: the process that has this file mapped and is `pid` in its own namespace, as we see it; 0: there
 * is none, -1: it cannot be told. `likely` is tried first.
 */
struct stat;
pid_t adopt_find_mapper(const struct stat *file, uint32_t pid, pid_t likely);

/* adopt-chunks.c: a part of it; and the number of the last chunk that is there, 0: none. */
void adopt_chunks(struct session *session);
unsigned int adopt_last_chunk(const char *output);

/* This boot of the machine, as the kernel names it; "" when it does not. */
void place_boot(char boot[40]);

/* ---- journal.c: by the main thread before the instance is in the list, then by the drain thread ---- */

#define TOTALS_FILE "totals"
#define JOURNAL_FILE "journal"
#define TOLD_FILE "told"
#define TOLD_FILE_NEW ".told.new"

/* For a new instance. Channels have their geometry. */
int journal_make(struct instance *instance, int folder);
/* The trace that is written from now on: a path below the session's output. */
int journal_begin_trace(const struct session *session, struct instance *instance, const char *path);
/* Before its directory is made: whoever comes after a kill removes it, if nothing is in it. */
void journal_expect_trace(
		const struct session *session, const struct instance *instance, const char *path);
/* Everything up to this position of the ring is in the trace, or counted as unwritten. */
int journal_note(struct instance *instance, uint32_t channel, uint32_t ring, uint64_t position);
/* What was lost stands in the present trace, as far as `told` goes, which losses_take_told() gets. */
int journal_tell(const struct session *session, const struct instance *instance, const void *told,
		size_t size);
/* All of it is in the trace. */
int journal_finish(struct instance *instance);
/*
 * What the former recorder left: its trace is cut to what the rings say was written, and the rest of
 * the rings comes into a trace of its own. 1: everything was written.
 */
int journal_adopt(struct session *session, struct instance *instance, int folder,
		struct ctf_error *error);
/*
 * For somebody who only reads: what a trace below `output` has already is passed over in the rings, which
 * are a copy. 1: everything was written; or -ENOMEM.
 */
int journal_look(struct instance *instance, int folder, const char *output);
void journal_close(struct instance *instance);
/* Recorders that this instance has had, with us. */
uint32_t journal_life(const struct instance *instance);

#endif
