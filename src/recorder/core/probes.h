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
 *     struct session_table table = {.number = 1, .fd = fd, .target = {.exe = path}};
 *     options.probes = &table;
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

/*
 * A table of probes. The caller of session_create() or session_set_probes() keeps ownership of its
 * descriptors and of `exe`: the session makes copies.
 */
struct session_table {
	uint32_t number; /* chosen by the caller, not 0: a number always means the same table */
	int fd;          /* a sealed memfd */
	/*
	 * With exe, if a helper (struct session_helper) handles a part of the probes in the
	 * command's process: `others` is the table for all other processes, and for the command's
	 * process when it executes the file again.
	 */
	bool has_others;
	int others;
	uint64_t size, size_of_others; /* in bytes; set in the session's copy */
	/* In the session's copy, `of_user` is also true if the session's user is not root. */
	struct table_target target;
};

/*
 * Replaces the session's probes, for each program from the next session_change() on. Returns 0, or
 * a negative errno with *error filled in; then nothing is changed.
 */
int session_set_probes(struct session *session, const struct session_table *tables, size_t nr,
		struct error *error);

/* ranges of refused probes stored for one table in one program */
#define SESSION_PROBE_REFUSALS 256

/*
 * Returns what all programs that were sent a table have reported until now. Of ended programs it
 * includes some; in a session with a command, all. Free the result with
 * session_probe_answers_free(). Returns 0 or -ENOMEM.
 */
int session_probe_answers(
		struct session *session, struct session_probe_answer **ret_answers, size_t *ret_nr);
void session_probe_answers_free(struct session_probe_answer *answers, size_t nr);

/*
 * ---- Inside the recorder ----
 *
 * Callers: the session's start and changes, instances and connections. Main thread only, so no lock
 * is needed.
 */

struct instance;
struct wire_probed;

/* The session's copies of its tables. */
struct session_tables {
	struct session_table *list;
	size_t nr;
	bool set;
};

/* A table that an instance was sent, and what the program reported about it. */
struct installed_table {
	struct session_probe_answer answer; /* without a process name */
	uint32_t sequence;                  /* of the answer that is arriving */
	uint32_t next;                      /* index of the probe that it reports next */
};

/* Takes the probes of the options. session_set_probes() can replace them later. */
int probes_take(struct session *session, const struct session_options *options,
		struct error *error);
void probes_change(struct session *session, bool holds);
void probes_free(struct session *session);
/*
 * Call when the instance was forked from `parent` (NULL: it was not forked, or from an unknown
 * process).
 */
void probes_inherit(
		struct session *session, struct instance *instance, const struct instance *parent);
/*
 * Selects the tables for the instance, SESSION_PROBES_MAX at most. Returns their number or -ENOMEM.
 * From now on these tables count as installed in the instance.
 */
int probes_choose(struct session *session, struct instance *instance,
		struct session_table **ret_tables);
/* Adds tables to those that are in use. Returns 0 or a negative errno. */
int probes_add(struct session *session, const struct session_table *tables, size_t nr,
		struct error *error);
/* Whether a table selects the instance. */
bool probes_select(struct session *session, struct instance *instance);
/* Whether a table selects the instance, which does not have it. */
bool probes_are_new(struct session *session, struct instance *instance);
/* True if a table selects programs by the instance's executable file. */
bool probes_has_exe(const struct session *session, const struct instance *instance);
/* Stores a report of the program about a table that it was sent. Returns 0 or -EPROTO. */
int probes_hear(struct instance *instance, const struct wire_probed *probed);
void probes_forget(struct instance *instance);

#endif
