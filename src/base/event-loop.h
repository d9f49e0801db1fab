/* SPDX-License-Identifier: MIT */
/*
 * An event loop: calls functions when descriptors are ready, when timers expire, and when signals
 * arrive.
 *
 * A round (event_loop_turn) waits, calls the functions of at most EVENT_LOOP_BATCH descriptors,
 * then those of the timers that have expired, then the functions that were deferred. A timer that
 * is set by a callback expires in a later round, even with a time of 0: no callback can keep the
 * others waiting.
 *
 * Sources and timers are members of their owner's struct, and the loop allocates nothing: neither a
 * timer nor a deferred call can fail. Each callback may remove, change and free any source and
 * timer, including its own: the loop reads none of them afterwards. An owner whose memory callers
 * further up the stack still use frees it in a deferred call.
 *
 * A callback returns 0, or a negative errno, which ends the round at once. event_loop_turn()
 * returns that error, and the next round goes on: epoll reports the other descriptors again, and
 * the other timers are still set.
 *
 * Not safe among threads: all functions are called by the thread that runs the loop.
 */
#ifndef SIDE_BASE_EVENT_LOOP_H
#define SIDE_BASE_EVENT_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#define EVENT_LOOP_BATCH 64
#define EVENT_LOOP_SIGNAL_BATCH 16 /* signals of one source in a round */

struct event_loop;
struct event_source;
struct event_timer;
struct event_signals;
struct event_deferred;

/* `events`: EPOLLIN and others. */
typedef int event_source_fn(struct event_loop *loop, struct event_source *source, uint32_t events);
typedef int event_timer_fn(struct event_loop *loop, struct event_timer *timer);
typedef int event_signals_fn(struct event_loop *loop, struct event_signals *signals,
		const struct signalfd_siginfo *info);
typedef void event_deferred_fn(struct event_loop *loop, struct event_deferred *deferred);

/* All zero: not added. */
struct event_source {
	bool is_added;
	int fd;
	uint32_t events;
	event_source_fn *ready;
};

/* All zero: not set. */
struct event_timer {
	bool is_set;
	uint64_t deadline; /* ns of CLOCK_MONOTONIC */
	uint64_t serial;   /* orders equal deadlines */
	event_timer_fn *expired;
	/*
	 * A pairing heap: the first child, the next sibling, and the sibling before it or, of a
	 * first child, the parent.
	 */
	struct event_timer *child, *next, *previous;
};

struct event_signals {
	struct event_source source;
	event_signals_fn *arrived;
};

struct event_deferred {
	bool is_queued;
	event_deferred_fn *run;
	struct event_deferred *next;
};

struct event_loop {
	int epoll;
	bool is_stopped;
	/* Events of this round that have not been handled; NULL between rounds. */
	struct epoll_event *batch;
	int nr_batch;
	bool *signals_removed; /* the source whose signals are being handled was removed */
	struct event_source *signals_handled;
	struct event_timer *timers; /* the first to expire, or NULL */
	uint64_t next_serial;
	struct event_deferred *deferred, **last_deferred;
};

/* 0 or a negative errno. */
int event_loop_open(struct event_loop *loop);
/* Runs the deferred calls. Closes no descriptor of a source. */
void event_loop_close(struct event_loop *loop);

/*
 * Can be polled by an outer loop: readable when a source is ready. Timers do not make it readable.
 */
int event_loop_fd(const struct event_loop *loop);
/* The timeout of an outer loop in milliseconds: 0, up to INT_MAX, or -1 if no timer is set. */
int event_loop_timeout_ms(const struct event_loop *loop);

/*
 * One round. Waits for at most timeout_ms (-1: without limit) for the first event or timer. Returns
 * 0, also after a signal handler; the error of a callback or of the wait; -EDEADLK from a callback.
 * If the wait fails, timers expire nevertheless.
 */
int event_loop_turn(struct event_loop *loop, int timeout_ms);
/* Rounds until event_loop_stop(), which ends it after the present round, or an error. */
int event_loop_run(struct event_loop *loop);
void event_loop_stop(struct event_loop *loop);

/* 0 or a negative errno: -EEXIST if the source or the descriptor is added already. */
int event_source_add(struct event_loop *loop, struct event_source *source, int fd, uint32_t events,
		event_source_fn *ready);
/* After an error the source is removed. Does nothing if it is not added. */
int event_source_change(struct event_loop *loop, struct event_source *source, uint32_t events);
/* Returns the descriptor, which stays open, or -1 if the source was not added. */
int event_source_remove(struct event_loop *loop, struct event_source *source);
/* The same, and closes the descriptor. */
void event_source_close(struct event_loop *loop, struct event_source *source);

/* A timer that is set already is set anew. DEADLINE_NEVER cancels it. */
void event_timer_set(struct event_loop *loop, struct event_timer *timer, uint64_t deadline,
		event_timer_fn *expired);
void event_timer_set_ms(struct event_loop *loop, struct event_timer *timer, uint64_t ms,
		event_timer_fn *expired);
void event_timer_cancel(struct event_loop *loop, struct event_timer *timer);

/*
 * Blocks these signals in the calling thread: before it starts others, because they inherit the
 * mask. 0 or a negative errno.
 */
int event_signals_add(struct event_loop *loop, struct event_signals *signals, const sigset_t *set,
		event_signals_fn *arrived);
/* The signals stay blocked. */
void event_signals_remove(struct event_loop *loop, struct event_signals *signals);

/* Calls the function once, at the end of the round. Does nothing if it is queued already. */
void event_loop_defer(
		struct event_loop *loop, struct event_deferred *deferred, event_deferred_fn *run);

#endif /* SIDE_BASE_EVENT_LOOP_H */
