/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_PROBES_H
#define SIDE_RECORDER_CORE_PROBES_H

/*
 * Probes of a session. Whoever asks for them has made a table of them (src/probe/table/table.h); the
 * session gives it, unread, to each program that is meant, and keeps what the program says of it. What a
 * probe's event records, and where, is said by the rules of the channels, as of any other event.
 *
 * A program has the tables of the session's newest generation that it has asked for: those that it had
 * and that are not among them any more it takes out. While a session is stopped they rest: a program
 * has its own bytes then.
 *
 * For a session with a command: in its options, for all programs or those of a file:
 *
 *	struct session_probe probe = {.number = 1, .table = fd, .exe = "/usr/bin/redis-server"};
 *	options.probes = &probe;
 *	options.nr_probes = 1;
 *	session_create(&options, ...); ... session_run();
 *	session_probe_answers(session, &answers, &nr);
 *
 * and a rule of a channel that names its events, or one that takes everything.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/core/session.h"
#include "protocol/protocol.h"

#define SESSION_PROBES_MAX WIRE_TABLES_MAX

struct session_probe {
	uint32_t number;  /* the caller's, not 0: the same number is the same table, for good */
	int table;        /* sealed memfd; it stays the caller's */
	uint32_t pid;     /* this process, and what it forks from now on; 0: see exe */
	uint64_t started; /* session_process_start() of pid: nobody else that has the number later */
	const char *exe;  /* each program of this file; NULL (and no pid): all */
	/*
	 * With exe, where something else sees to a part of it in the command's process (struct session_companion): the table for all others,
	 * and for that process when it executes the file again. It stays the caller's, too.
	 */
	bool has_others;
	int others;
	/* Only processes of this user. A session that is not root's gives probes to those of its own anyway. */
	bool of_user;
	uint32_t uid;
	/* Also compare the group, as the kernel requires it for ptrace(). */
	bool has_gid;
	uint32_t gid;
};

/*
 * These instead of those that are there, for each program from the next session_change() on; if that
 * fails, everything stays as it is. 0 or a negative errno with *error filled in.
 */
int session_set_probes(struct session *session, const struct session_probe *probes, size_t nr,
		struct session_error *error);

#define SESSION_PROBE_REFUSALS 256 /* runs of places that are told of one table in one program */

/* Places of a table that stand behind each other and cannot be had, all for one reason. */
struct session_probe_refusal {
	uint32_t first, count; /* as the table counts its probes */
	uint32_t error;        /* wire_probe_error_text() */
};

/* What one program has said of one table. */
struct session_probe_answer {
	uint32_t number; /* of the probe */
	int32_t pid;     /* as we see it */
	char *procname;
	bool ended;
	bool answered;      /* else it has the table, and has said nothing yet */
	uint32_t error;     /* why the whole table is of no use to it; 0: it is */
	uint32_t locations; /* of the table */
	uint32_t states[WIRE_NR_PROBE_STATES]; /* how many of them are so */
	/* Of the whole program since it began: struct wire_probed. */
	uint64_t cut, lost, unseen, abandoned, traps, code_bytes;
	struct session_probe_refusal *refusals;
	uint32_t nr_refusals;
};

/*
 * Of all programs that have been given a table, with all that they have said until now; of those that
 * have ended some, and in a session with a command all. -ENOMEM.
 */
int session_probe_answers(
		struct session *session, struct session_probe_answer **answers, size_t *nr);
void session_probe_answers_free(struct session_probe_answer *answers, size_t nr);

#endif
