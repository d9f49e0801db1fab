/* SPDX-License-Identifier: MIT */
/*
 * Calls of functions, as probes with `--exit` record them: an event NAME at the entry, one NAME_return at the return, both
 * with a number `call`, the latter with `duration`. Put together here: how often each function was called, how long
 * it took, with and without what it called, and who called whom.
 *
 * Calls nest by thread. The upper 16 bits of `call` are one thread's in its process (probe/patch), so a trace needs no
 * context vtid for that; if it has one, it counts, too. What has no return (it was left by longjmp(), or runs on) ends with
 * the call around it, or with the last event of its thread. If the process lost events meanwhile, the return may have been
 * among them: then it is not known how long the call took.
 */
#ifndef SIDE_ANALYSIS_REPORT_CALLS_H
#define SIDE_ANALYSIS_REPORT_CALLS_H

#include "analysis/report-gaps.h"
#include "analysis/report-keys.h"
#include "ctf/ctf.h"

#include <stdbool.h>
#include <stdint.h>

#define CALLS_BRANCHES_MAX 200000 /* Of the tree; calls from others are in the functions only. */
#define CALLS_DEPTH_MAX 16384     /* Open calls of one thread; the deepest ones are in no tree. */

/* Of a function, or of a branch of the tree. */
struct calls_stats {
	uint64_t calls; /* All that began. */
	uint64_t timed; /* Of these, those of which it is known how long they took … */
	uint64_t total_ns; /* … all together; of calls within calls of the same function only the outer ones. */
	uint64_t self_ns; /* Without the calls that they made. */
	uint64_t min_ns, max_ns;
	uint64_t sum_ns;     /* Of all, also the inner ones: for the mean. */
	uint64_t unfinished; /* Of those that are timed: they had no return. */
	uint64_t lost;       /* Not timed: no return, and events were lost meanwhile. */
};

struct calls_branch {
	uint32_t parent;   /* KEYS_NONE: nobody that is known. */
	uint32_t function; /* Number in `functions`. */
	uint32_t depth;
	struct calls_stats stats;
};

struct calls_thread;

/* All zero is an empty one. */
struct report_calls {
	struct keys functions; /* By name. */
	struct calls_stats *stats;
	struct keys branch_keys;
	struct calls_branch *branches;
	struct keys thread_keys;
	struct calls_thread *threads;
	const struct gaps *gaps;
	uint64_t unbegun; /* Returns whose entry is not in the trace. */
	uint64_t too_deep;
};

enum calls_kind { CALLS_NONE, CALLS_ENTRY, CALLS_RETURN };

/* What an event is, by its fields. All zero before the first record of the class. */
struct calls_class {
	bool known;
	enum calls_kind kind;
	uint32_t call, duration,
			function; /* Members; function: KEYS_NONE if the event's name is it. */
	uint32_t name;            /* The function then. */
};

/* 0 or -ENOMEM. `thread`: -1 if it is not recorded. */
int calls_take(struct report_calls *calls, struct calls_class *class, const struct ctf_item *item,
		uint32_t process, int64_t thread);
/* What is still open ends. */
void calls_finish(struct report_calls *calls);
void calls_free(struct report_calls *calls);

const char *calls_name(const struct report_calls *calls, uint32_t function);
/* Indexes, malloc'ed; NULL without memory. By total time, then calls, then name. */
uint32_t *calls_function_order(const struct report_calls *calls);
/* Each branch behind its parent, those of one parent in the same order. */
uint32_t *calls_branch_order(const struct report_calls *calls);

#endif /* SIDE_ANALYSIS_REPORT_CALLS_H */
