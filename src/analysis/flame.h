/* SPDX-License-Identifier: MIT */
/*
 * Flame graphs: a trace as a tree of call paths with weights.
 *
 * Call traces have paths of their own: the open calls of a thread. In other traces, each event has
 * a stack (stacks.h), whose addresses become functions after the last event. The trace is read
 * once. Memory does not grow with the number of events: beyond the limits, weights count for
 * FLAME_TREE_OTHERS.
 *
 *     struct flame flame = {0};
 *     flame_prepare(&flame, &options, "export", dir, &listener, &error);
 *     flame_open(&flame, &error);
 *     flame_read(&flame, &error);         makes flame.tree
 *     flame_free(&flame);                 in any case
 *
 * The functions return 0 or a negative errno and set the error; its kind is ERROR_USAGE for an
 * invalid option.
 */
#ifndef SIDE_ANALYSIS_FLAME_H
#define SIDE_ANALYSIS_FLAME_H

#include "analysis/flame-options.h"
#include "analysis/flame-slices.h"
#include "analysis/flame-tree.h"
#include "analysis/report-calls.h"
#include "analysis/report-gaps.h"
#include "analysis/report-identity.h"
#include "analysis/report-pair.h"
#include "analysis/report-walk.h"
#include "analysis/stacks.h"
#include "analysis/switches.h"

struct error;

#define FLAME_SITES_MAX 500000 /* different stacks of different groups */
#define FLAME_GROUPS_MAX 10000 /* processes or threads with paths of their own */
#define FLAME_WAITS_MAX 250000 /* threads whose waits are measured */

/* The weight of one stack in one group. */
struct flame_site {
	uint32_t stack; /* its number in `stacks` */
	uint32_t group;
	uint64_t count, weight;
};

/* A process or a thread, as a key. Its name is known after the last event. */
struct flame_group {
	int64_t thread; /* -1: unknown, or any */
	uint32_t process;
	uint32_t unused;
};

/* A request of a thread for a lock. */
struct flame_wait {
	bool is_open;
	const void *operation;
	uint64_t call; /* the number of a probe's call; 0: none */
	int64_t ns;
	uint32_t site;
};

struct flame {
	const struct flame_options *options;
	struct report_walk walk;
	struct identity identity;
	struct symbols *symbols;
	struct stacks stacks;
	struct keys site_keys;
	struct flame_site *sites;
	struct report_calls calls;
	struct gaps gaps;
	struct switches switches;
	struct report_pairs pairs;
	struct keys wait_keys;
	struct flame_wait *waits;
	struct keys group_keys; /* struct flame_group */
	bool any_call;
	bool any_backtrace;
	bool has_cpu;                         /* some call has a processor time */
	bool is_calls;                        /* the tree comes from `calls`, not from stacks */
	uint64_t lost_reported, lost_counted; /* by the recorder, and by the packets */

	/* Set by flame_read(). */
	struct flame_tree tree;
	/* With options->in_order, of a call trace. Their functions are frames of `tree`. */
	struct flame_slices slices;
	enum flame_weight weight; /* not FLAME_WEIGHT_AUTO */
	int64_t first_ns, last_ns;
	uint64_t events;                      /* events with a weight in the tree */
	uint64_t stackless, stackless_weight; /* events without a stack, and their weight */
	uint64_t lost;                        /* events that the recording lost */
	uint64_t unknown_cpu_ns;              /* time of calls whose processor time is unknown */
	uint64_t unfinished;                  /* waits, pairs or calls without an end */
};

/*
 * `verb` is for messages: "cannot VERB DIR". Afterwards the caller can drop its privileges. If
 * flame->symbols is set, this starts no process that reads debug files. The caller has then dropped
 * its privileges before, and has kept the symbols of the same trace.
 */
int flame_prepare(struct flame *flame, const struct flame_options *options, const char *verb,
		const char *dir, const struct analysis_listener *listener, struct error *error);
int flame_open(struct flame *flame, struct error *error);
/*
 * Makes the tree. The trace may have no event with a weight: then the error reports what to record,
 * and the code is -ENODATA.
 */
int flame_read(struct flame *flame, struct error *error);
void flame_free(struct flame *flame);
/* "server:5, thread 12": the name of the thread of a call. */
void flame_slice_name(const struct flame *flame, const struct calls_slice *slice, char *text,
		size_t size);

/* Whether the unit of the weight is ns; otherwise bytes, or a number of events or calls. */
bool flame_weight_is_time(enum flame_weight weight);
/* "time", "count", "bytes", "wait", "on-cpu", "off-cpu" */
const char *flame_weight_name(enum flame_weight weight);
/* "nanoseconds", "bytes" or "count" */
const char *flame_weight_unit(enum flame_weight weight);

/* ---- flame-events.c ---- */

/* Takes one event. 0 or -ENOMEM. */
int flame_take(struct flame *flame, const struct ctf_item *item, struct walk_class *class);
void *flame_class_create(void *user, struct walk_class *walk, const struct ctf_item *item);
void flame_class_free(void *class);

#endif /* SIDE_ANALYSIS_FLAME_H */
