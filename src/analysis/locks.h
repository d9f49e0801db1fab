/* SPDX-License-Identifier: MIT */
/*
 * Locks: how long threads waited for each lock, how long it was held, and deadlocks.
 *
 * The trace is read once, ordered by time. Its events are those of `-w pthread`, or those of probes
 * on the same functions that record the object as a field `mutex`, `rwlock`, `cond`, `semaphore`,
 * `spinlock`, `barrier` or `thread`. Each thread has a few open attempts; each lock has holds. Both
 * end with the events of their thread. A trace can begin while locks are held, and events can be
 * lost: what is not known is not counted, and no deadlock is concluded from it.
 *
 * An attempt is contended if another thread of the process held the lock at some time between the
 * request and its result. For a condition, a semaphore, a barrier or a thread to join there is no
 * holder: all waits for them count.
 *
 * Memory is bounded by the limits LOCKS_…_MAX. What exceeds them is counted and reported.
 */
#ifndef SIDE_ANALYSIS_LOCKS_H
#define SIDE_ANALYSIS_LOCKS_H

#include <stdio.h>

#include "analysis/locks-options.h"
#include "analysis/report-distribution.h"
#include "analysis/report-gaps.h"
#include "analysis/report-identity.h"
#include "analysis/report-keys.h"
#include "analysis/report-walk.h"
#include "analysis/stacks.h"
#include "analysis/trace-symbols.h"

#define LOCKS_ROWS_MAX 8192      /* rows of single locks; further locks share rows */
#define LOCKS_PER_PLACE 256      /* locks first used by one caller that have rows of their own */
#define LOCKS_ALIVE_MAX 1000000  /* locks that exist at a time */
#define LOCKS_THREADS_MAX 250000 /* threads of all processes */
#define LOCKS_HOLDS_MAX 1000000  /* locks that are held at a time */
#define LOCKS_PLACES_MAX 100000  /* callers that use locks first */
#define LOCKS_PAIRS_MAX 200000   /* pairs of a waiting and a holding stack */
#define LOCKS_DEADLOCKS_MAX 100  /* deadlocks that are listed */
#define LOCKS_STARTS_MAX 1024    /* functions of threads, to find out which threads have ended */
#define LOCKS_NESTED_MAX 4       /* open attempts of a thread, of which signal handlers nest */

/* An attempt without a known holder that takes this long is reported, but not as contended. */
#define LOCKS_UNEXPLAINED_NS 1000000

/* A thread that waits this long for a lock that it holds itself is in a deadlock. */
#define LOCKS_SELF_NS 10000000

#define LOCKS_NONE UINT32_MAX

enum locks_kind {
	LOCKS_MUTEX,
	LOCKS_RWLOCK,
	LOCKS_SPIN,
	LOCKS_CONDITION,
	LOCKS_SEMAPHORE,
	LOCKS_BARRIER,
	LOCKS_JOIN,
	LOCKS_KINDS
};

/* A lock with an owner, as opposed to an object at which threads wait for an event. */
static inline bool locks_has_owner(enum locks_kind kind)
{
	return kind <= LOCKS_SPIN;
}

/* Durations are in ns. */
struct locks_row {
	enum locks_kind kind;
	uint32_t process, trace;
	uint64_t address; /* of the lock, or of the caller if `is_shared` */
	int64_t ns;       /* when it was first seen */
	bool is_shared;   /* several locks that one caller used first */
	bool is_initialised;
	uint64_t nr_locks;
	uint32_t place; /* the stack that initialised it or used it first, or LOCKS_NONE */
	uint64_t attempts, contended, busy, timeouts, errors;
	uint64_t waited_ns;  /* of contended attempts, and of unexplained ones */
	uint64_t open;       /* of those, attempts without a result … */
	uint64_t open_ns;    /* … and their time until the end of the trace */
	uint64_t attempt_ns; /* of all attempts */
	uint64_t unexplained, unexplained_ns;
	uint64_t uncertain; /* durations that are not counted because events were lost meanwhile */
	struct stats wait;  /* of contended attempts */
	struct stats hold;
};

/* The time that threads waited with one stack while a thread with the other one held the lock. */
struct locks_pair {
	uint32_t row;
	/* Stacks, or LOCKS_NONE; numbers of stacks_named() after the last event. */
	uint32_t waiter, holder;
	uint64_t count, ns, max_ns;
};

struct locks_hold {
	uint32_t lock, thread;
	uint32_t next; /* of the same lock */
	uint32_t stack;
	uint32_t depth; /* of a recursive lock */
	bool is_write;
	int64_t ns;
};

struct locks_lock {
	uint64_t address;
	uint32_t process, trace;
	enum locks_kind kind;
	uint32_t row;
	uint32_t first_hold;
	uint32_t release_stack; /* of the hold that ended last */
	int64_t released_ns;    /* the last release … */
	int64_t unlocked_ns;    /* … and the last one of a lock that was held for writing */
};

struct locks_operation;
struct symbol;

/* An attempt that has no result yet. */
struct locks_pending {
	const struct locks_operation *operation;
	uint64_t address, second, call;
	int64_t ns;
	uint32_t stack;
	uint32_t blocker_stack; /* of the thread that held the lock, or LOCKS_NONE */
	bool is_blocked;
};

struct locks_thread {
	uint32_t process, trace;
	int64_t id;
	char name[16];
	bool has_exited;
	uint32_t depth;
	struct locks_pending pending[LOCKS_NESTED_MAX];
};

/* The threads that run one function. */
struct locks_start {
	uint64_t address;
	uint32_t process, trace;
	int64_t ns;
	const struct symbol *symbol; /* NULL: not resolved yet */
	uint64_t created, joined;
};

/* A thread of a deadlock: it waits for a lock that the next one holds. */
struct locks_edge {
	uint32_t thread;
	uint32_t hold; /* of the next thread */
};

struct locks_deadlock {
	uint32_t first, count; /* in `edges` */
};

struct locks {
	const struct locks_options *options;
	bool json, colour;
	struct report_walk walk;
	struct identity identity;
	struct symbols *symbols;
	struct gaps gaps;

	bool described;  /* a trace has descriptions of operations of locks */
	uint64_t events; /* of locks */
	int64_t first_ns, last_ns;
	uint64_t lost; /* events, as the packets count them */
	uint64_t lost_packets;
	uint64_t lost_reported; /* events or bytes, as the recorder reported them */
	uint8_t *releases;      /* of each trace: a bit for each kind whose releases are recorded */
	uint64_t without_thread;
	uint64_t not_followed;  /* events beyond a limit */
	uint64_t unknown_ends;  /* releases and results whose begin is not in the trace */
	uint64_t contradictory; /* locks that a thread got although another one held them */

	struct keys thread_keys;
	struct locks_thread *threads;
	struct keys start_keys; /* functions of threads */
	struct locks_start *starts;
	struct keys created_keys; /* pthread_t of threads */
	uint32_t *created;        /* for each, the function of the last one: its index plus one */
	struct stacks stacks;
	struct keys place_keys;
	uint64_t *place_locks;
	struct keys row_keys;
	struct locks_row *rows;
	struct keys pair_keys;
	struct locks_pair *pairs;

	struct locks_lock *all; /* the locks that exist; unused ones are linked by first_hold */
	uint32_t all_capacity, all_used, all_free, nr_all;
	uint32_t *slots; /* index in `all` plus one; 0: free */
	uint32_t slot_capacity;
	struct locks_hold *holds; /* unused ones are linked by `next` */
	uint32_t hold_capacity, hold_used, hold_free;

	struct locks_edge *edges;
	uint32_t nr_edges;
	struct locks_deadlock deadlocks[LOCKS_DEADLOCKS_MAX];
	uint32_t nr_deadlocks;
	uint64_t uncertain_deadlocks; /* found, but events were lost meanwhile */
};

/*
 * The caller sets `json` and `colour` in a zeroed struct, and `symbols` if it has some already. Then
 * it calls locks_prepare(), locks_open(), locks_read(), locks_print(), and locks_free() in any case.
 * The functions return 0 or a negative errno and set the error.
 */

/*
 * Checks the directory and starts the process that reads debug files. Afterwards the caller can
 * drop its privileges. Options, directory and the user of the listener must live as long as `locks`.
 */
int locks_prepare(struct locks *locks, const struct locks_options *options, const char *dir,
		const struct analysis_listener *listener, struct error *error);
int locks_open(struct locks *locks, struct error *error);
int locks_read(struct locks *locks, struct error *error);
/* Reads symbols and counts the waits that are open. Call it after locks_read(). */
int locks_resolve(struct locks *locks, struct error *error);
/* Calls locks_resolve() and writes the answer as text or JSON. Does not flush the stream. */
int locks_print(struct locks *locks, FILE *out, struct error *error);
void locks_free(struct locks *locks);

/* The time of the last event, or when recording was ended. */
int64_t locks_end_ns(const struct locks *locks);
/*
 * The order of rows with or without an owner: by waited time, then attempts. The caller frees the
 * indexes; NULL: out of memory.
 */
uint32_t *locks_row_order(const struct locks *locks, bool has_owner, uint32_t *ret_count);
/* The pairs of all rows, by row, then by time. */
uint32_t *locks_pair_order(const struct locks *locks);
/* The first pair of a row in that order, and the number of its pairs. */
uint32_t locks_pairs_of(const struct locks *locks, const uint32_t *order, uint32_t row,
		uint32_t *ret_count);
/* Threads that wait at the end of the trace, the longest wait first. */
uint32_t *locks_waiting_order(struct locks *locks, uint32_t *ret_count);

/* ---- locks-text.c: parts of the text, after locks_resolve() ---- */

#define LOCKS_NAME_BYTES 512

/* Totals, losses and limits. */
void locks_print_summary(struct locks *locks, struct view_out *out);
/* The kind and the variable, or the address and the function that used the lock first. */
void locks_put_name(struct locks *locks, const struct locks_row *row, char name[LOCKS_NAME_BYTES]);
/* Writes all pairs of stacks of a row. `order` comes from locks_pair_order(). */
void locks_print_stacks(
		struct locks *locks, uint32_t row, const uint32_t *order, struct view_out *out);
void locks_print_deadlock(struct locks *locks, uint32_t number, struct view_out *out);
/* A line about a thread of locks_waiting_order(), and the lines of its stack. */
void locks_print_waiter(struct locks *locks, uint32_t thread, struct view_out *out);

#endif /* SIDE_ANALYSIS_LOCKS_H */
