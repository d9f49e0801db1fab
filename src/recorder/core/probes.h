/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_PROBES_H
#define SIDE_RECORDER_CORE_PROBES_H

/*
 * Probes of a session. The caller makes a table of probes (src/probe/table/table.h). The session
 * sends it, without reading it, to each program that it selects, and stores what the program
 * reports about it. The rules of the channels decide where the events of probes are recorded, as
 * for any other event.
 *
 * When a program asks, it gets the tables of the session's newest generation, and removes the
 * tables that are no longer among them. While a session is stopped, its probes are removed from the
 * code of programs.
 *
 * A session with a command takes probes in its options, for all programs or for those of one file:
 *
 *     struct session_probe probe = {.number = 1, .table = fd, .target = {.exe = path}};
 *     options.probes = &probe;
 *     options.nr_probes = 1;
 *     session_create(&options, ...);
 *     ...
 *     session_run();
 *     session_probe_answers(session, &answers, &nr);
 *
 * A rule of a channel must also select the probe's events.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/core/access.h"
#include "recorder/core/session.h"
#include "protocol/protocol.h"

#define SESSION_PROBES_MAX WIRE_TABLES_MAX

/* The programs that get a table. */
struct table_target {
	uint32_t pid; /* this process and the children that it forks from now on; 0: see exe */
	/* session_process_start() of pid: excludes a later process with the same id */
	uint64_t started;
	char *exe; /* each program of this file; NULL (and no pid): all */
	/*
	 * Only processes of the user `access`. A session of a user other than root probes only
	 * processes of its own user in any case.
	 */
	bool of_user;
	/* With a group, also compares it, as the kernel does for ptrace(). */
	struct access access;
};

struct session_probe {
	uint32_t number; /* chosen by the caller, not 0: a number always means the same table */
	int table;       /* sealed memfd; the caller keeps ownership */
	struct table_target target; /* the caller keeps ownership of `exe` */
	/*
	 * With exe, if a helper (struct session_helper) handles a part of the probes in the
	 * command's process: `others` is the table for all other processes, and for the command's
	 * process when it executes the file again. The caller keeps ownership.
	 */
	bool has_others;
	int others;
};

/*
 * Replaces the session's probes, for each program from the next session_change() on. Returns 0, or
 * a negative errno with *error filled in; then nothing is changed.
 */
int session_set_probes(struct session *session, const struct session_probe *probes, size_t nr,
		struct session_error *error);

/* ranges of refused probes stored for one table in one program */
#define SESSION_PROBE_REFUSALS 256

/* Consecutive probes of a table that the program refused, all for one reason. */
struct session_probe_refusal {
	uint32_t first, count; /* indices into the table */
	uint32_t error;        /* wire_probe_error_text() */
};

/* Report of one program about one table. */
struct session_probe_answer {
	uint32_t number; /* of struct session_probe */
	int32_t pid;     /* process id in the recorder's pid namespace */
	char *procname;
	bool ended;
	bool answered;      /* false: the program has the table, but has not reported yet */
	uint32_t error;     /* why the program cannot use the table at all; 0: it can */
	uint32_t locations; /* in the table */
	uint32_t states[WIRE_NR_PROBE_STATES]; /* number of locations in each state */
	/* Of the whole program since its start: see struct wire_probed. */
	uint64_t cut, lost, unseen, abandoned, traps, code_bytes;
	struct session_probe_refusal *refusals;
	uint32_t nr_refusals;
};

/*
 * Returns what all programs that were sent a table have reported until now. Of ended programs it
 * includes some; in a session with a command, all. Free the result with
 * session_probe_answers_free(). Returns 0 or -ENOMEM.
 */
int session_probe_answers(
		struct session *session, struct session_probe_answer **answers, size_t *nr);
void session_probe_answers_free(struct session_probe_answer *answers, size_t nr);

#endif
