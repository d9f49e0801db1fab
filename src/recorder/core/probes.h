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

#include "recorder/core/probe-answer.h"
#include "recorder/core/session.h"
#include "recorder/core/table-target.h"
#include "protocol/protocol.h"

#define SESSION_PROBES_MAX WIRE_TABLES_MAX

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

/*
 * Returns what all programs that were sent a table have reported until now. Of ended programs it
 * includes some; in a session with a command, all. Free the result with
 * session_probe_answers_free(). Returns 0 or -ENOMEM.
 */
int session_probe_answers(
		struct session *session, struct session_probe_answer **answers, size_t *nr);
void session_probe_answers_free(struct session_probe_answer *answers, size_t nr);

#endif
