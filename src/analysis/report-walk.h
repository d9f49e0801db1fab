/* SPDX-License-Identifier: MIT */
/*
 * The events of a trace as `report` and `export` take them: opened, chosen by `-e` and `--filter`,
 * merged by time. What cannot be read is said here.
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

/* What stands in ctf_event_class.user, from the first record of the event on. */
struct walk_class {
	bool wanted;
	bool lost; /* The recorder's own record of losses. */
	struct view_event *view;
	struct where_bound *where; /* NULL though there is an expression: never wanted. */
	void *own;                 /* What `own_create` made. */
};

struct report_walk_options {
	const char *verb; /* "report" */
	const char *dir;
	const struct text_list *patterns;
	const char *where; /* NULL: all. */
	struct time_range times;
	struct analysis_listener listener;
};

struct report_walk {
	struct report_walk_options options;
	struct ctf_reader *reader;
	struct pattern *patterns;
	struct where where;
	bool again;      /* A second walk: what is to be said has been said. */
	bool damaged;    /* Something could not be read, and was said. */
	int64_t from_ns; /* What is wanted lies between these, both included. */
	int64_t to_ns;
	uint64_t events; /* Wanted so far. */
	uint64_t read;   /* Items so far. */
	struct view_out scratch;
	/* What the values of events are made for: JSON, or what is set before the first event. */
	struct view_sink sink;

	/* Set by the user of the walk after walk_open(). NULL from create: no memory. */
	void *(*own_create)(void *user, struct walk_class *class, const struct ctf_item *item);
	void (*own_free)(void *own);
	void *user;
};

/* Whether the patterns want an event of this name and LTTng log level (-1: none). */
bool walk_pattern_wants(
		const struct pattern *patterns, size_t count, const char *event, int loglevel);
/* Whether the directory is there. 0, or an exit status: said. */
int walk_check(const struct report_walk_options *options, struct error *error);
/* 0, or an exit status: said. */
int walk_prepare(struct report_walk *walk, const struct report_walk_options *options,
		struct error *error);
/* Then read what the trace has. 0 or an exit status. */
int walk_open(struct report_walk *walk, struct error *error);
/* From the beginning, saying nothing again. The user's functions must be set anew. */
int walk_open_again(struct report_walk *walk, const struct report_walk *first, struct error *error);
void walk_close(struct report_walk *walk);

/*
 * The next wanted event, record of losses (class->lost) or loss counted by the packets (class
 * NULL). 1, 0 at the end, -ENOMEM.
 */
int walk_next(struct report_walk *walk, struct ctf_item *item, struct walk_class **class);

/* A count of a record of losses. */
uint64_t walk_lost_count(const struct ctf_item *item);
/* What it counts are bytes, not events. */
bool walk_lost_is_bytes(const struct ctf_item *item);
/* A text of it: "ring", "event", "reason". Never NULL. */
const char *walk_lost_text(const struct ctf_item *item, const char *name, size_t *size);

/* A value of a structure by its position, however wide those before it are. */
const struct ctf_value *walk_member_at(const struct ctf_value *structure, uint32_t index);

/* `"fields":{…},…` as docs/spec/view-json.md has them: contexts, fields, variadic part. */
void walk_json_values(
		struct view_out *out, const struct walk_class *class, const struct ctf_item *item);
/* The same as text. */
void walk_text_values(struct view_out *out, const struct walk_class *class,
		const struct ctf_item *item, bool colour);

/* "2026-11-21T10:11:12.123456789Z", or in local time as "10:11:12.123456789". */
void walk_put_time(struct view_out *out, int64_t ns, bool utc);

#endif /* SIDE_ANALYSIS_REPORT_WALK_H */
