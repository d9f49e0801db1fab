/* SPDX-License-Identifier: MIT */
/*
 * Reads the events of a trace for `report` and `export`: selects them by patterns, an expression
 * and times, and merges them by time. The listener gets a message about each part that cannot be
 * read.
 */
#ifndef SIDE_ANALYSIS_REPORT_WALK_H
#define SIDE_ANALYSIS_REPORT_WALK_H

#include "analysis/listener.h"
#include "base/text-list.h"
#include "analysis/view-time.h"
#include "analysis/view-show.h"
#include "analysis/where.h"
#include "ctf/ctf.h"

struct error;
struct report_walk;

/* Kept in ctf_event_class.user from the first record of the event on. */
struct walk_class {
	bool wanted;
	bool lost; /* a record of lost events, written by the recorder */
	struct view_event *view;
	struct where_bound *where; /* NULL although there is an expression: no record is wanted */
	void *user_data;           /* the result of create_user_data() */
};

struct report_walk_options {
	const char *verb; /* for messages: "cannot VERB DIR" */
	const char *dir;
	const struct text_list *patterns;
	const char *where; /* an expression; NULL: all events */
	struct time_range times;
	struct analysis_listener listener;
};

struct report_walk {
	struct report_walk_options options;
	struct ctf_reader *reader;
	struct pattern *patterns;
	struct where where;
	bool is_second;  /* a second walk, which reports nothing */
	bool damaged;    /* a part of the trace could not be read, which was reported */
	int64_t from_ns; /* wanted times in ns since 1970, both included */
	int64_t to_ns;
	uint64_t nr_events; /* number of wanted events so far */
	uint64_t nr_items;  /* number of items so far */
	struct view_out scratch;
	/* The format of values in view_event: JSON, unless it is changed before the first event. */
	struct view_sink sink;

	/*
	 * The caller may set these functions after walk_open(). walk_next() calls
	 * create_user_data() for the first record of each event; it returns NULL if out of memory.
	 */
	void *(*create_user_data)(
			void *user, struct walk_class *class, const struct ctf_item *item);
	void (*free_user_data)(void *user_data);
	void *user;
};

/* Whether the patterns select an event with this name and LTTng log level (-1: none). */
bool walk_pattern_wants(
		const struct pattern *patterns, size_t count, const char *event, int loglevel);
/* Checks that the directory can be opened. Returns 0 or a negative errno. */
int walk_check(const struct report_walk_options *options, struct error *error);
/*
 * Parses the options and checks the directory. Returns 0 or a negative errno; call walk_close() in
 * both cases.
 */
int walk_prepare(struct report_walk *walk, const struct report_walk_options *options,
		struct error *error);
/*
 * Opens the trace. From this call on, no file outside the directory is opened, so the caller may
 * confine the process first. Returns 0 or a negative errno.
 */
int walk_open(struct report_walk *walk, struct error *error);
/*
 * Opens the trace for a second walk. It calls no listener and creates no user data
 * (create_user_data is NULL). Returns 0 or a negative errno.
 */
int walk_open_again(struct report_walk *walk, const struct report_walk *first, struct error *error);
void walk_close(struct report_walk *walk);

/*
 * Reads the next wanted event, record of losses (class->lost), or loss that the packets counted
 * (class NULL). Returns 1, 0 at the end, or -ENOMEM.
 */
int walk_next(struct report_walk *walk, struct ctf_item *ret_item, struct walk_class **ret_class);

/* Returns the number of lost events or bytes in a record of losses. */
uint64_t walk_lost_count(const struct ctf_item *item);
/* True if the record counts bytes instead of events. */
bool walk_lost_is_bytes(const struct ctf_item *item);
/*
 * Returns the text field `name` of the record ("ring", "event" or "reason"), without a NUL at its
 * end; "" if it has none.
 */
const char *walk_lost_text(const struct ctf_item *item, const char *name, size_t *ret_size);

/* Returns the member of a structure with this index. */
const struct ctf_value *walk_member_at(const struct ctf_value *structure, uint32_t index);

/*
 * Writes the contexts, the fields and the variadic part as `"fields":{…},…`
 * (docs/spec/view-json.md).
 */
void walk_json_values(
		struct view_out *out, const struct walk_class *class, const struct ctf_item *item);
/* The same with the symbols and the buffer of this sink. */
void walk_json_values_to(const struct view_sink *sink, const struct walk_class *class,
		const struct ctf_item *item);
/* Writes the same values as text. */
void walk_text_values(struct view_out *out, const struct walk_class *class,
		const struct ctf_item *item, bool colour);

/* Writes "2026-11-21T10:11:12.123456789Z", or local time as "10:11:12.123456789". */
void walk_put_time(struct view_out *out, int64_t ns, bool utc);

#endif /* SIDE_ANALYSIS_REPORT_WALK_H */
