/* SPDX-License-Identifier: MIT */
/*
 * Function calls, as probes with `--exit` record them.
 *
 * The entry of a function is an event NAME, the return is an event NAME_return. Both have a field
 * `call`, a number; the return also has `duration`. This module counts for each function how often
 * it was called, and how long it ran with and without its callees. It also makes the tree of
 * callers.
 *
 * Calls nest within a thread. The upper 16 bits of `call` identify the thread in its process
 * (probe/patch), so that the trace needs no context vtid. If the trace has this context, it also
 * identifies the thread. A call without a return (longjmp(), an exception, exit(), or still
 * running) has no duration, because no event shows when it ended. If the process lost events during
 * the call, the return may be among them.
 */
#ifndef SIDE_ANALYSIS_REPORT_CALLS_H
#define SIDE_ANALYSIS_REPORT_CALLS_H

#include "analysis/calls-detail.h"
#include "analysis/event-member.h"
#include "analysis/report-gaps.h"
#include "analysis/report-keys.h"
#include "ctf/ctf.h"

#include <stdbool.h>
#include <stdint.h>

#define CALLS_BRANCHES_MAX 200000 /* branches of the tree; further calls are in the list only */
#define CALLS_DEPTH_MAX 16384     /* open calls of one thread; deeper calls are in no tree */
#define CALLS_DETAILS_MAX 4096    /* functions with percentiles; further ones have totals only */

/* Statistics of a function, or of a branch of the tree. Times are in ns. */
struct calls_stats {
	uint64_t calls;    /* all calls */
	uint64_t timed;    /* calls with a return, whose duration is known … */
	uint64_t total_ns; /* … and their time; of recursive calls only the outermost one counts */
	uint64_t self_ns;  /* the time without callees */
	uint64_t min_ns, max_ns;
	uint64_t sum_ns; /* the time of all calls, recursive ones included: for the mean */
	/* calls that are not timed: they have no return … */
	uint64_t unfinished;
	uint64_t lost;               /* … and events were lost meanwhile */
	struct calls_detail *detail; /* NULL: none. Branches have none. */
};

struct calls_branch {
	uint32_t parent;   /* KEYS_NONE: no known caller */
	uint32_t function; /* index in `functions` */
	uint32_t depth;
	uint32_t root; /* the group of its threads */
	struct calls_stats stats;
	/* The time without callees, of calls whose processor time is known. */
	uint64_t on_cpu_ns, off_cpu_ns;
};

struct calls_thread;

/* One call with a return. */
struct calls_slice {
	int64_t begin_ns;
	uint64_t duration_ns;
	int64_t thread;   /* -1: not recorded; then `part` distinguishes the threads of a process */
	uint32_t process; /* as calls_take() got it */
	uint32_t part;    /* the number of the thread in the number of the call */
	uint32_t function, depth;
};

/* All zero is an empty one. */
struct report_calls {
	struct keys functions; /* names of functions */
	struct calls_stats *stats;
	struct keys branch_keys;
	struct calls_branch *branches;
	struct keys thread_keys;
	struct calls_thread *threads;
	const struct gaps *gaps;
	bool detailed;         /* set by the caller: functions have details */
	bool with_cpu;         /* set by the caller: branches have processor times */
	bool with_selves;      /* set by the caller: details count times without callees instead */
	bool without_branches; /* set by the caller: there are no branches, which saves time */
	/*
	 * Set by the caller before each call of calls_take(): the group of the event's thread.
	 * Calls of different groups have branches of their own.
	 */
	uint32_t root;
	/* Set likewise: a clock that advances while the thread has a processor, and its trace. */
	bool has_clock;
	uint64_t clock_ns;
	uint32_t clock_trace;
	uint32_t nr_details; /* number of functions with details */
	uint64_t undetailed; /* calls of functions beyond CALLS_DETAILS_MAX */
	uint64_t unbegun;    /* returns whose entry is not in the trace */
	uint64_t too_deep;
	/* Set by the caller: gets each call that returns. NULL: not needed. 0 or -ENOMEM. */
	int (*end)(void *user, const struct calls_slice *slice);
	void *end_user;
};

enum calls_kind { CALLS_NONE, CALLS_ENTRY, CALLS_RETURN };

/*
 * What the events of a class are, according to their fields. All zero before the first record of
 * the class.
 */
struct calls_class {
	bool known;
	enum calls_kind kind;
	/* Without `function`, the name of the event is the function: its index in `functions`. */
	struct event_member call, duration, function;
	uint32_t name;
	struct event_member result; /* the returned value */
	struct event_member cpu;    /* the context with the thread's processor time */
};

/* True if the trace describes events of calls, even if the program has none. */
bool calls_are_described(const struct ctf_trace *trace);
/* Counts one event. `thread` is -1 if it is not recorded. 0 or -ENOMEM. */
int calls_take(struct report_calls *calls, struct calls_class *class, const struct ctf_item *item,
		uint32_t process, int64_t thread);
/* Counts all open calls as calls without a return. After the last event. */
void calls_finish(struct report_calls *calls);
void calls_free(struct report_calls *calls);

const char *calls_name(const struct report_calls *calls, uint32_t function);
/*
 * The order of functions: by total time, then calls, then name. The caller frees the indexes; NULL:
 * out of memory.
 */
uint32_t *calls_function_order(const struct report_calls *calls);
/* The same by self time, then calls, then name. */
uint32_t *calls_self_order(const struct report_calls *calls);
/* The order of branches: each one after its parent, siblings in the same order as functions. */
uint32_t *calls_branch_order(const struct report_calls *calls);

#endif /* SIDE_ANALYSIS_REPORT_CALLS_H */
