/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_EXEC_WATCH_H
#define SIDE_SESSIONS_EXEC_WATCH_H

/*
 * Messages between the daemon and its helper process that attaches to programs when they execute a
 * file.
 *
 * The daemon starts `side-more` with EXEC_WATCH_NAME as argv[0], a method as argv[1], a socket (SOCK_SEQPACKET) as
 * descriptor EXEC_WATCH_SOCKET, and a pipe as EXEC_WATCH_PULSE. Each message is a list of texts:
 *
 *     to the helper
 *         begin SERIAL SOCKET       a new list of files follows; SOCKET is the daemon's for programs
 *         file PATH
 *         end SERIAL                the list is complete, and replaces the former one
 *     from the helper
 *         hello                     it has started, and has no list
 *         ready SERIAL              it watches the files of this list
 *         state PATH REASON WATCHED why no program of this file can be attached to; "": it can.
 *                                   WATCHED is "1" if the file exists and the kernel reports its execs
 *         results PATH NUMBERS REASON
 *                                   the number of programs of this file that were attached to, that
 *                                   join by themselves, and that could not be attached to, since the
 *                                   last such message; and why the last one could not
 *
 * While it watches files, the helper writes EXEC_WATCH_ALIVE to the pipe every EXEC_WATCH_PULSE_MS.
 * It writes EXEC_WATCH_IDLE when it watches none.
 */

#include <stddef.h>

#define EXEC_WATCH_NAME "side-watch-execs"
/* The kernel delays each exec until the helper has answered (fanotify): each call is recorded. */
#define EXEC_WATCH_ON "on"
/* The kernel reports each exec (the proc connector): first calls can be missed. */
#define EXEC_WATCH_AFTER "after"
#define EXEC_WATCH_SOCKET 3
#define EXEC_WATCH_PULSE 4
#define EXEC_WATCH_PULSE_MS 500
#define EXEC_WATCH_ALIVE 'A'
#define EXEC_WATCH_IDLE 'I'

#define EXEC_WATCH_FILES_MAX 64 /* files of one list */
/*
 * Open files of the helper: a delayed exec is one. The kernel refuses an exec, so that it fails,
 * when the helper cannot open its file.
 */
#define EXEC_WATCH_DESCRIPTORS 256
#define EXEC_WATCH_FIELDS 4
#define EXEC_WATCH_SIZE 8192 /* bytes of a message */

/*
 * Sends a message without waiting. The texts end with NULL. Returns 0, -EAGAIN if the queue is full,
 * or another negative errno.
 */
int exec_watch_send(int fd, const char *const *texts);
/*
 * Receives a message without waiting, and returns the number of its texts, which are in `buffer`.
 * Missing texts are "". Returns 0 if the other process has ended, -EAGAIN if there is no message,
 * or another negative errno.
 */
int exec_watch_receive(
		int fd, char buffer[EXEC_WATCH_SIZE], const char *ret_texts[EXEC_WATCH_FIELDS]);

#endif /* SIDE_SESSIONS_EXEC_WATCH_H */
