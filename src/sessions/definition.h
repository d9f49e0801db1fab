/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_DEFINITION_H
#define SIDE_SESSIONS_DEFINITION_H

/*
 * What a session is, as data: its channels and rules, whom it tracks, where its traces go. The daemon
 * holds it, keeps it in a file, and gives it to the process that records; `side save` and `side load`
 * show it to people. Its JSON form is described in docs/spec/control-protocol.md; the members there
 * have the names of the command line's options.
 *
 *   definition_parse() -> definition_options() -> session_open()
 *
 * Whatever comes in is hostile: definition_parse() and the functions that change a definition accept
 * what a session would accept and nothing else, and change nothing when they refuse.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sessions/error.h"
#include "recorder/core/session.h"

struct json_object;

#define DEFINITION_VERSION 1
#define DEFINITION_NAME_MAX 64           /* bytes of a session's name */
#define DEFINITION_TEXT_MAX (256u << 10) /* bytes of JSON of one definition */
#define DEFINITION_TRACKS_MAX 256
#define DEFINITION_TRIGGERS_MAX 32

/* Texts of our own: count of them, each from malloc(). */
struct definition_strings {
	char **items;
	size_t count;
};

struct definition_rule {
	struct definition_strings patterns; /* none: all events */
	char *filter;                       /* NULL: none */
	struct definition_strings contexts; /* of these events, beside the channel's */
};

/* A channel without rules records nothing (unlike struct session_channel). */
struct definition_channel {
	char *name;
	enum session_channel_mode mode;
	bool per_thread;
	uint32_t threads_max;      /* 0: the standard */
	uint64_t ring_size;        /* 0: the standard */
	uint32_t block_timeout_us; /* 0: the standard */
	struct definition_strings contexts;
	struct definition_strings
			added; /* contexts of each rule: those that came after the first start */
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
 * Probes of one request: the events that they make, in whom, and a table of where they are and what
 * they read, which whoever asked has made (the table itself is beside the definition). The events are
 * recorded by a rule of the channel that names them. As JSON, in "probes" of a definition:
 *
 *	{"event":["probe:malloc","probe:malloc_return"], "channel":"ring", "probe":"--function libc:malloc",
 *	 "pid":4711, "started":812345, "table":3}
 *
 * or with "exe", or with neither: all programs. Answers and `status` have such objects in "probes", too, with
 * "state" ("set", "waiting": no program was asked yet, "stopped", "no table": loaded, to be enabled anew) and
 * "programs", what each said (src/recorder/core/probes.h).
 */
struct definition_probe {
	struct definition_strings events; /* provider:event; at least one */
	char *channel;
	char *text;       /* what the user wrote */
	char *exe;        /* of each program of this file; NULL: see pid */
	uint32_t pid;     /* of this process and what it forks; 0: all */
	uint64_t started; /* of pid: session_process_start() */
	uint32_t table;   /* number, counted up in each session; 0: there is none */
	bool of_user;     /* only in processes of this user, who asked for it and is not root */
	uint32_t uid;
	bool has_gid; /* and of this group; a former daemon has not noted it */
	uint32_t gid;
};

#define DEFINITION_PROBES_MAX 256
#define DEFINITION_PROBE_EVENTS_MAX 16
#define DEFINITION_PROBE_TABLE_MAX (32u << 20)   /* bytes of a table */
#define DEFINITION_PROBE_TABLES_MAX (128u << 20) /* of all that a session has */

struct definition {
	char *name;
	char *output; /* an absolute path; NULL: the daemon chooses at the first start */
	uint64_t memory_limit;
	enum session_format format;
	int compress; /* level of zstd, 0: none */
	bool huge_pages;
	bool prefault;
	bool symbols; /* events of the agent's own, too, in the first channel that records something */
	struct definition_channel *channels;
	size_t nr_channels;
	struct definition_track *tracks; /* none: every process */
	size_t nr_tracks;
	/* Rotation and retention; 0: none. */
	uint64_t rotate_size;
	uint64_t rotate_time_ns;
	uint64_t retain_size;
	uint64_t retain_age_ns;
	uint32_t retain_chunks;
	struct definition_strings triggers; /* of snapshots: see `side help triggers` */
	char *to;                           /* URL or path that is sent to; NULL: nothing is sent */
	uint64_t spool;                     /* bytes of local files; 0: the standard */
	uint32_t speed;                     /* of a serial line; 0: as it is */
	uint64_t send_timeout_ns;           /* 0: the standard */
	struct definition_probe *probes;
	size_t nr_probes;
	uint32_t last_table; /* no number is used twice */
};

/* What waits in a directory that the user has not chosen: it is there for this only. */
#define DEFINITION_SPOOL_STANDARD (UINT64_C(1) << 30)
#define DEFINITION_SEND_TIMEOUT_STANDARD_NS UINT64_C(60000000000)

/* Is what is recorded kept here only until it is there? */
static inline bool definition_is_spooled(const struct definition *definition)
{
	return definition->to && !definition->output;
}

/* 1 to DEFINITION_NAME_MAX bytes of letters, digits, "_", "." and "-", not beginning with "." or "-". */
bool definition_is_name(const char *name);

/* All of these return 0 or a negative errno with *error filled in. */

/* A definition without channels. */
int definition_create(
		const char *name, struct definition **definition, struct control_error *error);
void definition_free(struct definition *definition);
int definition_copy(
		const struct definition *from, struct definition **to, struct control_error *error);

/* From and to JSON. definition_json() returns an object that the caller puts, or NULL: no memory. */
int definition_parse(struct json_object *json, struct definition **definition,
		struct control_error *error);
struct json_object *definition_json(const struct definition *definition);
/* One of its probes, likewise. */
struct json_object *definition_probe_json(const struct definition_probe *probe);

/*
 * Is all of it what a session accepts: patterns, filters, contexts, sizes, number of rules? The same
 * code decides as when `side record` begins.
 */
int definition_check(const struct definition *definition, struct control_error *error);

/* What a session says is wrong, in our words. Returns error->code. */
int definition_session_error(const struct session_error *from, struct control_error *error);

/*
 * What a request asks of a definition, as JSON with the names of the command line's options.
 * `fixed`: the session has been started once, so channels cannot be changed any more.
 *
 *   create           output format compress memory-limit huge-pages prefault symbols rotate-size rotate-time
 *                    retain-size retain-age retain-chunks trigger[] to spool speed send-timeout
 *   enable-channel   channel mode buffer-size per-thread block-timeout context[] event[] filter
 *   disable-channel  channel                 the channel records nothing any more
 *   enable-event     channel event[] filter event-context[]
 *   disable-event    channel event[]         none: all of them; probes of these events go
 *   enable-probe     as enable-event, and probe pid started exe; its table becomes last_table
 *   disable-probe    channel event[] pid     probes whose events these patterns match (of this process only)
 *   add-context      channel context[] event[]
 *   track, untrack   pid[] uid[] gid[] name[] cgroup[] container[] exclude all
 *
 * A channel that is not named is SESSION_CHANNEL_NAME; enable-event makes it when it is not there.
 * *changed: false when everything was so already.
 */
int definition_change(struct definition *definition, const char *verb, struct json_object *request,
		bool fixed, bool *changed, struct control_error *error);
/* Is it one of these? */
bool definition_is_change(const char *verb);

/*
 * As the session library wants it. What it points to belongs to *view and the definition; `view` is
 * freed by definition_view_free().
 */
struct definition_view {
	struct session_options options;
	struct session_channel *channels; /* options.channels */
	struct session_rule **rules;      /* of each channel */
};
int definition_options(const struct definition *definition, struct definition_view *view,
		struct control_error *error);
void definition_view_free(struct definition_view *view);

#endif
