/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_PROBE_TABLES_H
#define SIDE_RECORDER_CORE_PROBE_TABLES_H

/*
 * Probe tables: which ones exist, which programs get them, and what programs report of them. probes.h has what others may call.
 *
 * Callers: the life of a session, instances and connections. Main thread. No lock: all of it is the main thread's.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/access.h"
#include "recorder/core/probes.h"
#include "recorder/core/session.h"

struct instance;
struct wire_probed;

/* A table of probes that the session sends to programs. */
struct session_table {
	uint32_t number;
	int fd, others; /* others: -1, or for all but the command's process (probes.h) */
	uint64_t size, size_of_others;
	uint32_t pid; /* 0: see exe */
	uint64_t started;
	char *exe;    /* NULL: all, unless there is a pid */
	bool of_user; /* only of processes that this user may probe: */
	struct access access;
};

struct session_tables {
	struct session_table *list;
	size_t nr;
	bool set;
};

/* A table that an instance was sent last, and what the program reported of it. */
struct installed_table {
	struct session_probe_answer answer; /* without a name */
	uint32_t sequence;                  /* of the answer that is arriving */
	uint32_t next;                      /* probe that it reports next */
};

/* Those of the options; from now on those of session_set_probes(), or never. */
int probes_take(struct session *session, const struct session_options *options,
		struct session_error *error);
void probes_change(struct session *session, bool holds);
void probes_free(struct session *session);
/* The instance was forked from `parent` (NULL: it was not, or from an unknown process). */
void probes_inherit(
		struct session *session, struct instance *instance, const struct instance *parent);
/*
 * The tables that the instance must get, SESSION_PROBES_MAX at most: their number, or -ENOMEM. From now on the instance counts as one that
 * has them.
 */
int probes_choose(
		struct session *session, struct instance *instance, struct session_table **tables);
/* Whether there are any for programs of its file. */
bool probes_has_exe(const struct session *session, const struct instance *instance);
/* What it reports of one that it has been sent. 0 or -EPROTO. */
int probes_hear(struct instance *instance, const struct wire_probed *probed);
void probes_forget(struct instance *instance);

#endif
