/* SPDX-License-Identifier: MIT */
/*
 * The verb `report`: what report.c counts, and what report-text.c and report-json.c print of it.
 *
 * The trace is read once, in the order of time; only `--around` reads it a second time. Memory does
 * not grow with the number of events: tables have limits (REPORT_…_MAX), and what did not fit is
 * counted and said.
 */
#ifndef SIDE_ANALYSIS_REPORT_H
#define SIDE_ANALYSIS_REPORT_H

#include <stdio.h>

#include "analysis/missing.h"
#include "analysis/report-calls.h"
#include "analysis/report-distribution.h"
#include "analysis/report-keys.h"
#include "analysis/report-options.h"
#include "analysis/report-pair.h"
#include "analysis/report-walk.h"
#include "analysis/report-identity.h"
#include "analysis/trace-symbols.h"

/* Version of the JSON report, in each of its lines (docs/spec/report-json.md). */
#define REPORT_JSON_SCHEMA 1

#define REPORT_GROUPS_MAX 10000 /* Values of --by; all further ones are one group. */
#define REPORT_CALLERS_MAX 500000
#define REPORT_SLOWEST_MAX 10000
#define REPORT_AROUND_MAX 10000
#define REPORT_HISTOGRAMS_MAX 64

/* Numbers of groups. Real ones are those of keys. */
#define GROUP_NONE UINT32_MAX         /* There is no --by, or the event has no such value. */
#define GROUP_OTHERS (UINT32_MAX - 1) /* One of those that were too many. */

/* ---- events over time ---- */

#define TIMELINE_BINS 64

/* Bins of equal width; when the last is passed, each two become one. */
struct timeline {
	bool started;
	int64_t begin;
	unsigned int shift; /* The width is 1 << shift nanoseconds. */
	uint32_t used;
	uint64_t bins[TIMELINE_BINS];
};

void timeline_add(struct timeline *timeline, int64_t ns);

/* ---- tables ---- */

/* An event name, in one group. */
struct report_row {
	uint32_t name;
	uint32_t group;
	uint64_t count;
	int64_t first_ns, last_ns;
	bool timed;
};

struct report_process {
	uint64_t events;
	uint64_t lost;    /* As the recorder says … */
	uint64_t counted; /* … and as the packets say: mostly the same ones. */
};

struct report_loss {
	uint64_t count;
	bool packets, bytes; /* That is what the count counts, and not events. */
	uint32_t process;
	const char *ring, *event, *reason; /* Inside the key. */
};

/* Where the caller of an event is recorded; the first that an event has counts. */
enum {
	CALLER_FIELD, /* The field `caller`. */
	CALLER_FRAME, /* `backtrace[0]` */
	CALLER_IP,    /* The context `ip`. A wrapper's is a location in the wrapper. */
	CALLER_SOURCES
};

#define REPORT_CALLERS_SHOWN 10 /* If `--callers` has no number. */

struct report_caller {
	uint64_t count;
	uint32_t process;
	struct address address;
};

/* A distribution in one group: of a value (--histogram) or of durations (--pair). */
struct report_stats {
	uint32_t which; /* Number of the histogram or rule. */
	uint32_t group;
	struct stats stats;
};

/* One of the slowest pairs. */
struct report_slow {
	uint64_t duration;
	uint64_t order; /* When it ended, in events: of equal ones the first counts. */
	struct pair_open begin;
	int64_t end_ns;
	uint32_t end_scope; /* And where its end stands in the events of that thread. */
	uint64_t end_number;
	uint32_t end_process;
	int64_t end_thread;
	int32_t end_cpu;
};

/* A heap, the fastest first; sorted at the end, the slowest first. */
struct report_slowest {
	struct report_slow *items;
	uint32_t count;
};

/* ---- the whole ---- */

enum report_by { BY_NOTHING, BY_EVENT, BY_PROCESS, BY_THREAD, BY_CPU, BY_VALUE };

/* Expressions that can name a field which no event has. */
enum report_missing { MISSING_BY, MISSING_KEY, MISSING_HISTOGRAMS };

struct report {
	const struct report_options *options;
	bool json, colour;
	bool counts, losses; /* The sections that are printed. */
	struct report_walk walk;
	struct identity identity;

	uint64_t events;
	uint64_t untimed;
	int64_t first_ns, last_ns;
	struct timeline timeline;
	uint64_t lost_packets, lost_bytes;
	struct report_process *processes;
	uint32_t process_capacity;

	enum report_by by;
	struct where by_value;
	struct keys names;
	struct keys groups;   /* See group_text(). */
	int64_t *group_times; /* When a group was first seen. */
	bool any_address_group;
	struct keys row_keys;
	struct report_row *rows;

	struct where *histograms;
	uint32_t histogram_count;
	struct keys histogram_keys;
	struct report_stats *histogram_stats;
	uint64_t *not_numbers; /* A histogram. */

	struct missing *missing; /* An expression: enum report_missing. */

	struct report_pairs pairs;
	struct keys pair_keys;
	struct report_stats *pair_stats;
	struct report_slowest *slowest; /* A rule. */

	struct keys scopes; /* Threads, for --around: how many events each has had. */
	uint64_t *scope_events;

	struct keys caller_keys;
	struct report_caller *callers;
	struct where caller_sources[CALLER_SOURCES];
	uint64_t caller_events; /* That have an address … */
	uint64_t exact_events;  /* … which is the location of a probe, and not of its caller. */
	bool any_probe;         /* Some event is that of a probe. */
	struct symbols *symbols;

	struct report_calls calls;
	struct gaps gaps; /* For calls and pairs. */

	struct keys loss_keys;
	struct report_loss *loss_items;
};

/* The state of a class of events. */
struct report_class {
	struct identity_class identity;
	struct pair_class pair;
	struct calls_class calls;
	uint32_t name;
	bool has_row; /* Of the last record: its group and its place in the table. */
	uint32_t row_group;
	uint32_t row;
	struct where_bound *by;
	struct where_form by_form;
	struct where_bound *callers[CALLER_SOURCES];
	uint8_t caller_kinds[CALLER_SOURCES]; /* enum address_kind */
	struct where_bound **histograms_end;
	struct where_bound *histograms[];
};

/*
 * report.c: a report from begin to end. A zeroed report with `json` and `colour` set is prepared, opened, read, printed, and freed in any
 * case. The functions return 0 or a negative errno with the error filled in; the kind is ERROR_USAGE for an invalid option.
 */

/*
 * Parses the options, checks the directory, and starts the process that reads debug files. Afterwards the caller can give up its rights:
 * the other functions read the trace only. Options, directory and listener's user must live as long as the report.
 */
int report_prepare(struct report *report, const struct report_options *options, const char *dir,
		const struct analysis_listener *listener, struct error *error);
int report_open(struct report *report, struct error *error);
/* Counts all events. */
int report_read(struct report *report, struct error *error);
/* Writes the whole report to the stream, and does not flush it. */
int report_print(struct report *report, FILE *out, struct error *error);
void report_free(struct report *report);

/* report-count.c */
int report_take(struct report *report, const struct ctf_item *item, struct walk_class *class);
int report_take_loss(
		struct report *report, const struct ctf_item *item, const struct walk_class *class);
/* What a group is called; "(others)", "-" when an event has none. */
void report_group_text(const struct report *report, uint32_t group, char *text, size_t size);
/* As a JSON value. */
void report_group_json(const struct report *report, uint32_t group, struct view_out *out);
/* The thread (or process) of an event, for --around. KEYS_NONE: no memory. */
uint32_t report_scope(struct keys *scopes, uint32_t process, int64_t thread);

/* report-slow.c */
int report_slow_add(struct report *report, unsigned int rule, const struct report_slow *slow);
void report_slow_sort(struct report_slowest *slowest);

/* The events around the slowest, from a second reading: lines of text or JSON. */
struct report_line {
	int64_t ns;
	uint64_t number;
	uint32_t scope;
	char *text;
};
struct report_around {
	struct report_line *lines; /* By scope, then by number. */
	size_t count;
	struct keys scopes;
};
int report_around_read(struct report_around *around, struct report *report, struct error *error);
void report_around_free(struct report_around *around);
/* The first line of a scope from this number on. */
size_t report_around_find(const struct report_around *around, uint32_t scope, uint64_t number);

/* report-caller.c: the callers of events, and symbols of addresses. */
/* What `--callers` and `--by` need: an expression for each source, and the process that reads debug files. 0 or a negative errno. */
int report_callers_start(struct report *report, struct error *error);
/* 0 or -ENOMEM. */
int report_callers_bind(struct report *report, struct report_class *own,
		const struct ctf_item *item, const struct view_event *event);
void report_callers_unbind(struct report_class *own);
int report_take_caller(struct report *report, const struct report_class *own,
		const struct ctf_item *item, uint32_t process);
/* Read what the trace has about its processes, before symbols are printed. 0 or -ENOMEM. */
int report_symbols_read(struct report *report);
/* "function+0x12 (module)", "module+0x12"; false: nothing is known. */
bool report_symbol_text(const struct symbol *symbol, char *text, size_t size);
void report_callers_free(struct report *report);

/* report-text.c, report-json.c: the whole report to a stream. 0 or -ENOMEM. */
int report_print_text(struct report *report, const struct report_around *around, FILE *out);
int report_print_json(struct report *report, const struct report_around *around, FILE *out);

/* What both print, in the order in which they print it: indexes, malloc'ed; NULL without memory. */
uint32_t *report_row_order(const struct report *report);
uint32_t *report_stats_order(const struct report_stats *items, uint32_t count);
uint32_t *report_caller_order(const struct report *report, uint32_t *count);
/* Not what the packets counted, where the recorder says more. */
uint32_t *report_loss_order(const struct report *report, uint32_t *count);
uint64_t report_process_lost(const struct report_process *process);
uint64_t report_lost(const struct report *report);
bool report_is_process(const struct report *report, uint32_t number);
uint32_t report_process_count(const struct report *report);
/* Events a second; negative when there is no time between the first and the last. */
double report_rate(const struct report *report, uint64_t count);

#endif /* SIDE_ANALYSIS_REPORT_H */
