/* SPDX-License-Identifier: MIT */
/* The locks and threads of a trace while it is read. Private to locks*.c, except for the classes. */
#ifndef SIDE_ANALYSIS_LOCKS_STATE_H
#define SIDE_ANALYSIS_LOCKS_STATE_H

#include "analysis/event-member.h"
#include "analysis/locks.h"

enum locks_action {
	LOCKS_INIT,
	LOCKS_DESTROY,
	LOCKS_WAIT, /* two events: the request and the result */
	LOCKS_TRY,
	LOCKS_RELEASE,
	LOCKS_CREATE, /* of a thread; LOCKS_CREATE and LOCKS_EXIT are no operations of locks … */
	LOCKS_EXIT    /* … but show which threads have ended */
};

/* A function of the thread library. */
struct locks_operation {
	const char *function;
	enum locks_kind kind;
	enum locks_action action;
	bool is_read;  /* shared with other readers */
	bool is_timed; /* ends after a time, so it cannot be part of a deadlock */
};

enum locks_phase { LOCKS_REQUEST, LOCKS_RESULT, LOCKS_SINGLE };

/* Identifies a thread. */
struct locks_thread_key {
	int64_t id;
	uint32_t process, trace;
};

/* What the events of a class are. */
struct locks_class {
	const struct locks_operation *operation; /* NULL: no operation of locks */
	enum locks_phase phase;
	struct identity_class identity;
	struct event_member object, mutex, start, result, call;
	struct event_stack_class stack;
};

/* One event. */
struct locks_event {
	const struct locks_operation *operation;
	uint32_t process, trace, thread;
	int64_t ns;
	uint64_t object, mutex, start, call;
	bool has_object;
	int64_t result;
	uint32_t stack;
	uint64_t place; /* the innermost address of the stack */
};

/* locks-class.c. NULL: out of memory. */
struct locks_class *locks_class_create(const struct ctf_item *item, const struct view_event *view);
/* The kinds of locks whose releases a trace records, as bits. */
uint8_t locks_class_releases(const struct ctf_trace *trace);
/* True if the trace describes an operation of locks, even if the program has none. */
bool locks_class_is_described(const struct ctf_trace *trace);
/* False: the event has no object, and no number of its call. */
bool locks_class_read(const struct locks_class *class, const struct ctf_item *item,
		struct locks_event *event);
/* locks-rows.c. LOCKS_NONE: beyond a limit, or out of memory. */
uint32_t locks_row_of(struct locks *locks, const struct locks_event *event, enum locks_kind kind,
		uint64_t address, bool is_init);
/* 0 or -ENOMEM. */
int locks_add_wait(struct locks *locks, uint32_t row, const struct locks_pending *pending,
		int64_t ns, bool is_contended, uint32_t holder);
int locks_add_hold(struct locks *locks, uint32_t row, int64_t begin_ns, int64_t ns);

/* locks-table.c: locks that exist, and holds. */
/* Indexes in `all`. LOCKS_NONE: there is none; beyond the limit; or out of memory. */
uint32_t locks_find(const struct locks *locks, const struct locks_event *event,
		enum locks_kind kind, uint64_t address);
uint32_t locks_get(struct locks *locks, const struct locks_event *event, enum locks_kind kind,
		uint64_t address, bool is_init);
void locks_forget(struct locks *locks, uint32_t lock);
/* The hold of a thread, or LOCKS_NONE. */
uint32_t locks_hold_of(const struct locks *locks, uint32_t lock, uint32_t thread);
/* A hold of another thread that excludes this one, or LOCKS_NONE. */
uint32_t locks_conflict(const struct locks *locks, uint32_t lock, uint32_t thread, bool is_read);
/* Adds a hold. It is not followed beyond the limit. 0 or -ENOMEM. */
int locks_hold(struct locks *locks, uint32_t lock, const struct locks_event *event, bool is_write);
void locks_unhold(struct locks *locks, uint32_t hold);

/* locks-events.c: what one event changes. 0 or -ENOMEM. */
int locks_take(struct locks *locks, const struct locks_class *class, struct locks_event *event);

/* Counts the attempts that are open at the end of the trace. 0 or -ENOMEM. */
int locks_count_open(struct locks *locks);
/* The hold that keeps this waiting thread from its lock, or LOCKS_NONE. */
uint32_t locks_obstacle_of(const struct locks *locks, const struct locks_thread *thread,
		const struct locks_pending *pending);

/* The row of the object that a thread waits for; NULL: not followed. */
const struct locks_row *locks_awaited_row(
		const struct locks *locks, const struct locks_thread *thread);

/* locks-threads.c: which threads have ended. */
/* A thread was created or exits. `id` is the thread of the event. 0 or -ENOMEM. */
int locks_note_thread(struct locks *locks, const struct locks_event *event, int64_t id);
/* The thread `event->object` has been joined. */
void locks_note_join(struct locks *locks, const struct locks_event *event);
/*
 * Whether the trace proves that a thread has ended. `stack` is one of its stacks. After
 * trace_symbols_read().
 */
bool locks_has_ended(struct locks *locks, uint32_t thread, uint32_t stack);
/* Whether a thread waits at the end of the trace. */
bool locks_is_waiting(struct locks *locks, uint32_t thread);

/* locks-deadlock.c: finds deadlocks after the last event. 0 or -ENOMEM. */
int locks_find_deadlocks(struct locks *locks);

/* locks-text.c and locks-json.c. 0 or -ENOMEM. */
int locks_print_text(struct locks *locks, FILE *out);
int locks_print_json(struct locks *locks, FILE *out);

/* The word for a kind: "mutex". */
const char *locks_kind_name(enum locks_kind kind);
/*
 * The name of a lock: the variable or member at its address. NULL: not known, or several locks share
 * the row.
 */
const struct symbol *locks_variable(const struct locks *locks, const struct locks_row *row);

#endif /* SIDE_ANALYSIS_LOCKS_STATE_H */
