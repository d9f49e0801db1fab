/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_DEFINITION_H
#define SIDE_SESSIONS_DEFINITION_H

/*
 * The definition of a session as data: its channels and rules, the processes that it tracks, the
 * directory of its traces. The daemon stores it in a file and sends it to the process that records;
 * `side save` and `side load` print and read it. docs/spec/control-protocol.md describes its JSON
 * form; members have the names of the command line's options.
 *
 *     definition_parse() -> definition_options() -> session_open()
 *
 * Input is not trusted: definition_parse() and the functions that change a definition accept
 * exactly what a session would accept, and change nothing on an error.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sessions/error.h"
#include "recorder/core/probes.h"
#include "recorder/core/session.h"

struct json_object;

#define DEFINITION_VERSION 1
#define DEFINITION_NAME_MAX 64           /* bytes of a session's name */
#define DEFINITION_TEXT_MAX (256u << 10) /* bytes of JSON of one definition */
#define DEFINITION_TRACKS_MAX 256
#define DEFINITION_TRIGGERS_MAX 32

/* An array of `count` texts, owned by the struct; each is from malloc(). */
struct definition_strings {
	char **items;
	size_t count;
};

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
 * yet; "stopped"; "no table": loaded from a file, must be enabled again) and "programs", the report
 * of each program (src/recorder/core/probes.h).
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
	uint32_t table; /* unique number in the session; 0: there is no table */
};

#define DEFINITION_PROBES_MAX 256
#define DEFINITION_PROBE_EVENTS_MAX 16
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

/* Default limit of local files in a directory that the daemon has chosen only for sending. */
#define DEFINITION_SPOOL_STANDARD (UINT64_C(1) << 30)
#define DEFINITION_SEND_TIMEOUT_STANDARD_NS UINT64_C(60000000000)

/* True if local traces are kept only until they are sent. */
static inline bool definition_is_spooled(const struct definition *definition)
{
	return definition->to && !definition->output;
}

/*
 * True for 1 to DEFINITION_NAME_MAX bytes of letters, digits, "_", "." and "-" that do not begin
 * with "." or "-".
 */
bool definition_is_name(const char *name);

/* All of these functions return 0, or a negative errno with *error filled in. */

/* Creates a definition without channels. */
int definition_create(const char *name, struct definition **definition, struct error *error);
void definition_free(struct definition *definition);
int definition_copy(const struct definition *from, struct definition **to, struct error *error);

/*
 * Convert from and to JSON. definition_json() returns an object that the caller puts, or NULL if
 * out of memory.
 */
int definition_parse(struct json_object *json, struct definition **definition, struct error *error);
struct json_object *definition_json(const struct definition *definition);
/* The same for one of its probes. */
struct json_object *definition_probe_json(const struct definition_probe *probe);

/*
 * Checks that a session would accept the whole definition: patterns, filters, contexts, sizes,
 * number of rules. Uses the same code as the start of `side record`.
 */
int definition_check(const struct definition *definition, struct error *error);

/* Converts a session's error. Returns error->code. */
int definition_session_error(const struct session_error *from, struct error *error);

/*
 * Applies a request to a definition. The request is JSON with the names of the command line's
 * options. `fixed`: the session has been started once, so its channels cannot be changed any more.
 *
 *     create           output format compress memory-limit huge-pages prefault symbols
 *                      rotate-size rotate-time retain-size retain-age retain-chunks trigger[]
 *                      to spool speed send-timeout
 *     enable-channel   channel mode buffer-size per-thread block-timeout context[] event[] filter
 *     disable-channel  channel                 the channel records nothing any more
 *     enable-event     channel event[] filter event-context[]
 *     disable-event    channel event[]         none: all events; also removes their probes
 *     enable-probe     as enable-event, and probe pid started exe; its table becomes last_table
 *     disable-probe    channel event[] pid     probes with matching events (only in process pid)
 *     add-context      channel context[] event[]
 *     track, untrack   pid[] uid[] gid[] name[] cgroup[] container[] exclude all
 *
 * The default channel is SESSION_CHANNEL_NAME; enable-event creates it if it does not exist. Sets
 * *changed to false if the definition is unchanged.
 */
int definition_change(struct definition *definition, const char *verb, struct json_object *request,
		bool fixed, bool *changed, struct error *error);
/* True if definition_change() handles this verb. */
bool definition_is_change(const char *verb);

/*
 * The form for the session library. Its pointers refer to *view and to the definition;
 * definition_view_free() frees `view`.
 */
struct definition_view {
	struct session_options options;
	struct session_channel *channels; /* options.channels */
	struct session_rule **rules;      /* of each channel */
};
int definition_options(const struct definition *definition, struct definition_view *view,
		struct error *error);
void definition_view_free(struct definition_view *view);

#endif
