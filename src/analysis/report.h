/* SPDX-License-Identifier: MIT */
/*
 * Reports: what report.c counts, and what report-text.c and report-json.c print.
 *
 * The trace is read once, ordered by time; only `--around` reads it a second time. Memory does not
 * grow with the number of events: tables have limits (REPORT_…_MAX). What exceeds a limit is
 * counted and reported.
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
#include "analysis/stacks.h"
#include "analysis/report-identity.h"
#include "analysis/trace-symbols.h"

#define REPORT_GROUPS_MAX 10000 /* values of --by; all further values are one group */
#define REPORT_CALLERS_MAX 500000
#define REPORT_SLOWEST_MAX 10000
#define REPORT_AROUND_MAX 10000
#define REPORT_HISTOGRAMS_MAX 64

/* Numbers of groups that are not keys. */
#define GROUP_NONE UINT32_MAX         /* without --by, or for an event that has no value */
#define GROUP_OTHERS (UINT32_MAX - 1) /* a value beyond REPORT_GROUPS_MAX */

/* ---- events over time ---- */

#define TIMELINE_BINS 64

/* Bins of equal width. If an event is after the last bin, each two bins become one. */
struct timeline {
	bool started;
	int64_t begin;
	unsigned int shift; /* the width is 1 << shift ns */
	uint32_t used;
	uint64_t bins[TIMELINE_BINS];
};

void timeline_add(struct timeline *timeline, int64_t ns);

/* ---- tables ---- */

/* The events with one name, in one group. */
struct report_row {
	uint32_t name;
	uint32_t group;
	uint64_t count;
	int64_t first_ns, last_ns;
	bool timed;
};

struct report_process {
	uint64_t events;
	uint64_t lost;    /* reported by the recorder … */
	uint64_t counted; /* … and counted by the packets: mostly the same events */
};

struct report_loss {
	uint64_t count;
	bool packets, bytes; /* `count` counts these instead of events */
	uint32_t process;
	const char *ring, *event, *reason; /* point into the key */
};

/* Sources of an event's caller. The first source that an event has counts. */
enum {
	CALLER_FIELD, /* the field `caller` */
	CALLER_FRAME, /* the field `backtrace[0]` */
	CALLER_IP,    /* the context `ip`; for a wrapper it is a location in the wrapper */
	CALLER_SOURCES
};

#define REPORT_CALLERS_SHOWN 10 /* callers that are listed if `--callers` has no number */

struct report_caller {
	uint64_t count;
	uint32_t process;
	struct address address;
};

/* A distribution in one group: of a value (--histogram) or of durations (--pair). */
struct report_stats {
	uint32_t which; /* index of the histogram or rule */
	uint32_t group;
	struct stats stats;
};

/* One of the slowest pairs. */
struct report_slow {
	uint64_t duration;
	/* number of events before its end: the earlier one of two equal durations counts */
	uint64_t order;
	struct pair_open begin;
	int64_t end_ns;
	uint32_t end_scope; /* the thread of its end, and the number of that event in the thread */
	uint64_t end_number;
	uint32_t end_process;
	int64_t end_thread;
	int32_t end_cpu;
};

/* A heap with the fastest pair first. report_slow_sort() puts the slowest first. */
struct report_slowest {
	struct report_slow *items;
	uint32_t count;
};

/* ---- the whole ---- */

enum report_by {
	BY_NOTHING,
	BY_EVENT,
	BY_PROCESS,
	BY_THREAD,
	BY_CPU,
	BY_CALLER, /* the first frame of the stack */
	BY_STACK,
	BY_VALUE
};

/* Expressions that can name a field which no event has. */
enum report_missing { MISSING_BY, MISSING_KEY, MISSING_HISTOGRAMS };

struct report_class;

/* Gets each event and each loss after the report has counted it. 0 or -ENOMEM. */
struct report_observer {
	int (*event)(void *user, const struct report_class *class, const struct ctf_item *item,
			uint32_t process, int64_t thread);
	/* `class` is NULL for a loss that the packets counted. */
	int (*loss)(void *user, const struct walk_class *class, const struct ctf_item *item,
			uint32_t process);
	void *user;
};

struct report {
	const struct report_options *options;
	/* Set by the caller: an observer of the events, and whether this is for a page. */
	struct report_observer observer;
	bool for_page;
	bool json, colour;
	bool counts, losses; /* the sections to print */
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
	struct keys groups;   /* group_text() describes them */
	int64_t *group_times; /* the time at which each group was first seen */
	bool any_address_group;
	struct keys row_keys;
	struct report_row *rows;

	struct where *histograms;
	uint32_t histogram_count;
	bool histogram_is_hexadecimal[REPORT_HISTOGRAMS_MAX]; /* of addresses, as in `view` */
	struct keys histogram_keys;
	struct report_stats *histogram_stats;
	uint64_t *not_numbers; /* one for each histogram */

	struct missing *missing; /* one for each expression: enum report_missing */

	struct report_pairs pairs;
	struct keys pair_keys;
	struct report_stats *pair_stats;
	struct report_slowest *slowest; /* one for each rule */

	struct keys scopes; /* threads, and how many events each has had: for --around */
	uint64_t *scope_events;

	struct keys caller_keys;
	struct report_caller *callers;
	struct where caller_sources[CALLER_SOURCES];
	uint64_t caller_events; /* events with an address … */
	uint64_t exact_events;  /* … that is the location of a probe instead of its caller */
	bool any_probe;         /* some event is the event of a probe */
	struct stacks stacks;   /* BY_CALLER, BY_STACK */
	struct symbols *symbols;
	bool symbols_read;

	struct report_calls calls;
	struct gaps gaps; /* for calls and pairs */

	struct keys loss_keys;
	struct report_loss *loss_items;

	/* Set by the caller: called for each counted event, in the order of time; or NULL. */
	void (*observe)(void *user, const struct ctf_item *item);
	void *observe_user;
};

/* The state of an event class. */
struct report_class {
	struct identity_class identity;
	struct pair_class pair;
	struct calls_class calls;
	uint32_t name;
	bool has_row; /* the group and the row of the last record */
	uint32_t row_group;
	uint32_t row;
	struct where_bound *by;
	struct where_form by_form;
	struct event_stack_class stack;
	struct where_bound *callers[CALLER_SOURCES];
	uint8_t caller_kinds[CALLER_SOURCES]; /* enum address_kind */
	struct where_bound **histograms_end;
	struct where_bound *histograms[];
};

/*
 * report.c: a report from the first step to the last one.
 *
 * The caller sets `json` and `colour` in a zeroed report. Then it calls report_prepare(),
 * report_open(), report_read(), report_print(), and report_free() in any case. The functions return
 * 0 or a negative errno and set the error; the kind is ERROR_USAGE for an invalid option.
 */

/*
 * Parses the options, checks the directory, and starts the process that reads debug files.
 * Afterwards the caller can drop its privileges, because the other functions only read the trace.
 * The options, the directory and the user of the listener must live as long as the report.
 */
int report_prepare(struct report *report, const struct report_options *options, const char *dir,
		const struct analysis_listener *listener, struct error *error);
int report_open(struct report *report, struct error *error);
/* Counts all events. */
int report_read(struct report *report, struct error *error);
/* Writes the whole report to the stream without flushing it. */
int report_print(struct report *report, FILE *out, struct error *error);
void report_free(struct report *report);

/* report-count.c */
int report_take(struct report *report, const struct ctf_item *item, struct walk_class *class);
int report_take_loss(
		struct report *report, const struct ctf_item *item, const struct walk_class *class);
/* The group of a stack with this number of stacks_named(). */
uint32_t report_group_of_stack(struct report *report, uint32_t named);
/* Writes the name of a group: "(others)"; "-" for events without a value. */
void report_group_text(const struct report *report, uint32_t group, char *text, size_t size);
/* Writes the name of a group as a JSON value. */
void report_group_json(const struct report *report, uint32_t group, struct view_out *out);
/* The number of the thread (or process) of an event, for --around. KEYS_NONE: out of memory. */
uint32_t report_scope(struct keys *scopes, uint32_t process, int64_t thread);

/* report-slow.c */
int report_slow_add(struct report *report, unsigned int rule, const struct report_slow *slow);
void report_slow_sort(struct report_slowest *slowest);

/* The events around the slowest pairs, read in a second walk: lines of text or JSON. */
struct report_line {
	int64_t ns;
	uint64_t number;
	uint32_t scope;
	char *text;
};
struct report_around {
	struct report_line *lines; /* sorted by scope, then by number */
	size_t count;
	struct keys scopes;
};
int report_around_read(struct report_around *around, struct report *report, struct error *error);
void report_around_free(struct report_around *around);
/* The index of the first line of a scope with this number or a larger one. */
size_t report_around_find(const struct report_around *around, uint32_t scope, uint64_t number);

/* report-caller.c: the callers of events, and symbols of addresses. */
/*
 * Parses an expression for each source of callers, and starts the process that reads debug files,
 * if `--callers` or `--by` needs it. 0 or a negative errno.
 */
int report_callers_start(struct report *report, struct error *error);
/* 0 or -ENOMEM. */
int report_callers_bind(struct report *report, struct report_class *own,
		const struct ctf_item *item, const struct view_event *event);
void report_callers_unbind(struct report_class *own);
int report_take_caller(struct report *report, const struct report_class *own,
		const struct ctf_item *item, uint32_t process);
/*
 * Reads the address spaces of the traced processes. Call it before symbols are printed. 0 or
 * -ENOMEM.
 */
int report_symbols_read(struct report *report);
/* BY_CALLER, BY_STACK: the group of an event. GROUP_NONE: it has no stack. */
uint32_t report_stack_group(
		struct report *report, const struct report_class *own, const struct ctf_item *item);
/* Writes a caller as stacks_print_frame() does, a stack as "main;outer;inner". */
void report_stack_text(const struct report *report, uint32_t named, struct view_out *out);
/* Writes the value of "by" and ,"by_symbol":{…} or ,"by_stack":[…]. */
void report_stack_json(const struct report *report, uint32_t named, struct view_out *out);
/*
 * Writes "function+0x12 (module)" or "module+0x12"; with inlined functions, " [inlined: inner,
 * outer]" follows. False: the symbol is unknown.
 */
bool report_symbol_text(const struct symbol *symbol, char *text, size_t size);
void report_callers_free(struct report *report);

/* report-text.c, report-json.c: the whole report to a stream. 0 or -ENOMEM. */
int report_print_text(struct report *report, const struct report_around *around, FILE *out);
int report_print_json(struct report *report, const struct report_around *around, FILE *out);

/* Prints only the functions and the losses: for function-table.h. 0 or -ENOMEM. */
int report_print_json_functions(struct report *report, bool by_self, FILE *out);

/* The order of tables: indexes that the caller frees; NULL: out of memory. */
uint32_t *report_row_order(const struct report *report);
uint32_t *report_stats_order(const struct report_stats *items, uint32_t count);
uint32_t *report_caller_order(const struct report *report, uint32_t *ret_count);
/* Leaves out what the packets counted if the recorder reported more. */
uint32_t *report_loss_order(const struct report *report, uint32_t *ret_count);
uint64_t report_process_lost(const struct report_process *process);
uint64_t report_lost(const struct report *report);
bool report_is_process(const struct report *report, uint32_t number);
uint32_t report_process_count(const struct report *report);
/* Events per second; negative if the first and the last event have the same time. */
double report_rate(const struct report *report, uint64_t count);

#endif /* SIDE_ANALYSIS_REPORT_H */
