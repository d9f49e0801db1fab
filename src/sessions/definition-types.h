/* SPDX-License-Identifier: MIT */
/* The data of a session's definition (definition.h). */
#ifndef SIDE_SESSIONS_DEFINITION_TYPES_H
#define SIDE_SESSIONS_DEFINITION_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/core/session.h"
#include "recorder/core/table-target.h"
#include "sessions/strings.h"

#define DEFINITION_VERSION 1
#define DEFINITION_NAME_MAX 64           /* bytes of a session's name */
#define DEFINITION_TEXT_MAX (256u << 10) /* bytes of JSON of one definition */
#define DEFINITION_TRACKS_MAX 256
#define DEFINITION_TRIGGERS_MAX 32

struct definition_rule {
	struct definition_strings patterns; /* none: all events */
	char *filter;                       /* NULL: none */
	struct definition_strings contexts; /* for these events, in addition to the channel's */
};

/* A channel without rules records nothing (unlike struct session_channel). */
struct definition_channel {
	char *name;
	enum session_channel_mode mode;
	bool per_thread;
	uint32_t threads_max;      /* 0: default */
	uint64_t ring_size;        /* 0: default */
	uint32_t block_timeout_us; /* 0: default */
	struct definition_strings contexts;
	struct definition_strings
			added; /* contexts added after the first start: each rule gets them */
	struct definition_rule *rules;
	size_t nr_rules;
};

/* In the order of enum session_track_kind. */
enum definition_track_kind {
	DEFINITION_TRACK_PID,
	DEFINITION_TRACK_UID,
	DEFINITION_TRACK_GID,
	DEFINITION_TRACK_NAME,
	DEFINITION_TRACK_CGROUP,
	DEFINITION_TRACK_CONTAINER,
	DEFINITION_NR_TRACKS
};

struct definition_track {
	enum definition_track_kind kind;
	bool exclude;
	char *text;      /* NAME, CGROUP, CONTAINER: a glob; NULL for the others */
	uint64_t number; /* PID, UID, GID */
};

/*
 * Probes of one request: their events, the processes to probe, and the number of a table with
 * locations and fields, which the requester has made (the daemon stores the table separately). A
 * rule of the channel selects the events. In JSON, "probes" of a definition contains:
 *
 *     {"event":["probe:malloc","probe:malloc_return"], "channel":"ring",
 *      "probe":"--function libc:malloc", "pid":4711, "started":812345, "table":3}
 *
 * or with "exe" instead of "pid", or with neither for all programs. Answers and `status` have such
 * objects in "probes", too. There they also have "state" ("set"; "waiting": no program was notified
 * yet; "stopped"; "pending": the file must be executed first; "no table": loaded from a file, must
 * be enabled again) and "programs", the report of each program (src/recorder/core/probes.h).
 */
struct definition_probe {
	struct definition_strings events; /* provider:event; at least one */
	char *channel;
	char *text; /* the user's text */
	/*
	 * Owns `exe`. `of_user`: the requester, who is not root; earlier daemons did not store its
	 * group.
	 */
	struct table_target target;
	/* file_identity_of_path() of `exe` when the table was made; NULL: not known */
	char *file;
	/*
	 * LIB of a probe that is also set in files which programs load later (`--pending`); NULL: it
	 * has none. `is_unloaded`: no file of it is known yet, and the table is empty.
	 */
	char *library;
	bool is_unloaded;
	/*
	 * Of a probe that the daemon has added to such a probe when a program loaded a file of LIB:
	 * the path in that program, and the file's identity. NULL: the user has requested the probe.
	 */
	char *loaded, *loaded_file;
	uint32_t table; /* unique number in the session; 0: there is no table */
};

#define DEFINITION_PROBES_MAX 256
#define DEFINITION_PROBE_EVENTS_MAX 16
#define DEFINITION_PROBE_LINKS_MAX 16            /* paths of one file that get the same probe */
#define DEFINITION_PROBE_LOADED_MAX 64           /* files of one LIB: the oldest one is replaced */
#define DEFINITION_PROBE_TABLE_MAX (32u << 20)   /* bytes of one table */
#define DEFINITION_PROBE_TABLES_MAX (128u << 20) /* bytes of all tables of a session */

struct definition {
	char *name;
	char *output; /* an absolute path; NULL: the daemon chooses one at the first start */
	uint64_t memory_limit;
	enum session_format format;
	int compress; /* level of zstd, 0: none */
	bool huge_pages;
	bool prefault;
	/* also record the agent's events, in the first channel that records anything */
	bool symbols;
	struct definition_channel *channels;
	size_t nr_channels;
	struct definition_track *tracks; /* none: every process */
	size_t nr_tracks;
	/* Rotation and retention; 0: no limit. */
	uint64_t rotate_size;
	uint64_t rotate_time_ns;
	uint64_t retain_size;
	uint64_t retain_age_ns;
	uint32_t retain_chunks;
	struct definition_strings triggers; /* of snapshots: see `side help triggers` */
	/* URL or path to which traces are sent; NULL: they are not sent */
	char *to;
	uint64_t spool;           /* bytes of local files; 0: default */
	uint32_t speed;           /* of a serial line; 0: unchanged */
	uint64_t send_timeout_ns; /* 0: default */
	struct definition_probe *probes;
	size_t nr_probes;
	uint32_t last_table; /* the last number of a table, because none is used twice */
};

#endif /* SIDE_SESSIONS_DEFINITION_TYPES_H */
