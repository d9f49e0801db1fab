/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_PROBE_TABLES_H
#define SIDE_RECORDER_CORE_PROBE_TABLES_H

/*
 * Probe tables: which tables the session has, which programs get them, and what programs report
 * about them. probes.h is the public part.
 *
 * Callers: the session's start and changes, instances and connections. Main thread only, so no lock
 * is needed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/probe-answer.h"
#include "recorder/core/session.h"
#include "recorder/core/table-target.h"

struct instance;
struct wire_probed;

/* A table of probes that the session sends to programs. */
struct session_table {
	uint32_t number;
	/* `others`: table for all processes except the command's (probes.h), or -1 */
	int fd, others;
	uint64_t size, size_of_others;
	/* Owns `exe`. `of_user` is also true if the session's user is not root. */
	struct table_target target;
};

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
		struct session_error *error);
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
int probes_choose(
		struct session *session, struct instance *instance, struct session_table **tables);
/* True if a table selects programs by the instance's executable file. */
bool probes_has_exe(const struct session *session, const struct instance *instance);
/* Stores a report of the program about a table that it was sent. Returns 0 or -EPROTO. */
int probes_hear(struct instance *instance, const struct wire_probed *probed);
void probes_forget(struct instance *instance);

#endif
