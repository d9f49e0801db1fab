/* SPDX-License-Identifier: MIT */
/*
 * The drain thread moves records from rings to traces. It sleeps at the doorbells of all rings: a
 * program rings one when it has filled another part of its ring. The thread also scans all rings a
 * few times a second. So slow programs appear in their traces, too, and a program that corrupts its
 * doorbell does not stop the thread.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/clock.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/core/report.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/drain.h"
#include "recorder/refusals.h"
#include "recorder/rotation/rotate.h"
#include "recorder/rotation/snapshot.h"
#include "recorder/rotation/trace-end.h"
#include "recorder/rotation/trigger.h"
#include "recorder/session-state.h"
#include "recorder/storage/disk-full.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

#define CHECK_EVERY_MS 200
/* Fraction of a second. */
#define ROUND_MARGIN 10

struct drainer {
	struct session *session;
	struct instance *active;
	/* ended instances with open files, oldest first */
	struct instance *ended[LIMIT_OPEN_WRITERS];
	unsigned int nr_ended;
	uint32_t nr_ended_files;
	uint32_t snapshots;   /* requests that were handled */
	uint32_t begins;      /* of snapshots with a state dump */
	uint32_t finishes;    /* of automatic snapshots */
	uint64_t round_begun; /* ticks at the start of the last round; 0: there was none */
};

static uint32_t files_of(const struct instance *instance)
{
	return instance->nr_streams + TRACE_FILES;
}

/* If out of memory, the rings are only scanned a few times a second. */
static void drainer_listen_to(struct session *session, const struct instance *instance)
{
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++)
		if (!channel_overwrites(instance->channels[i].channel) ||
				instance->channels[i].ring_fd >= 0)
			ring_bells_add(session->drain.bells, instance->channels[i].rings);
}

static void take_new(struct drainer *drainer)
{
	struct session *session = drainer->session;

	pthread_mutex_lock(&session->lock);
	while (session->instances.fresh) {
		struct instance *instance = session->instances.fresh;

		session->instances.fresh = instance->next_active;
		instance->next_active = drainer->active;
		drainer->active = instance;
		drainer_listen_to(session, instance);
	}
	pthread_mutex_unlock(&session->lock);
}

static bool drainer_has_ended(struct session *session, const struct instance *instance)
{
	bool ended;

	pthread_mutex_lock(&session->lock);
	ended = instance->state != INSTANCE_LIVE;
	pthread_mutex_unlock(&session->lock);
	return ended;
}

/* The drain thread does not use the instance after this call. */
static void drainer_set_finished(struct session *session, struct instance *instance)
{
	pthread_mutex_lock(&session->lock);
	instance->finished = true;
	pthread_mutex_unlock(&session->lock);
	atomic_fetch_add_explicit(&session->instances.nr_finished, 1, memory_order_relaxed);
}

/* Closes the trace of the instance that ended first, with the current conversion of the clock. */
static void close_oldest(struct drainer *drainer)
{
	struct session *session = drainer->session;
	struct ctf_clock clock;
	bool refined = !session_refined_clock(session, &clock);

	drainer->nr_ended_files -= files_of(drainer->ended[0]);
	trace_close(session, drainer->ended[0], refined ? &clock : NULL);
	drainer_set_finished(session, drainer->ended[0]);
	drainer->nr_ended--;
	memmove(&drainer->ended[0], &drainer->ended[1],
			drainer->nr_ended * sizeof(drainer->ended[0]));
}

/* Returns the number of files that ended instances and a snapshot may still open. */
static uint32_t drainer_spare_files(const struct drainer *drainer)
{
	const struct session *session = drainer->session;
	uint32_t files = drainer->nr_ended_files + snapshot_files(session);

	return files < session->files.max_ended ? session->files.max_ended - files : 0;
}

/*
 * Files of ended instances stay open until the clock's final conversion is known, so that all
 * traces of a session agree. When there are too many, the oldest are closed.
 */
static void keep_open(struct drainer *drainer, struct instance *instance)
{
	if (!instance->writer) {
		drainer_set_finished(drainer->session, instance);
		return;
	}
	while (drainer->nr_ended &&
			(drainer->nr_ended == LIMIT_OPEN_WRITERS ||
					files_of(instance) > drainer_spare_files(drainer)))
		close_oldest(drainer);
	drainer->ended[drainer->nr_ended++] = instance;
	drainer->nr_ended_files += files_of(instance);
}

/* Runs one round over all rings. */
static void drain_round(struct drainer *drainer, bool stop)
{
	struct session *session = drainer->session;
	struct instance **at = &drainer->active;

	/* Everything stays in the state directory, for the next recorder. */
	if (session->service && session->service->keep)
		stop = false;
	take_new(drainer);
	while (*at) {
		struct instance *instance = *at;

		/*
		 * Check for the exit before reading the rings, so that the round finds all records
		 * published before the exit.
		 */
		if (!stop && !drainer_has_ended(session, instance)) {
			trace_drain(session, instance);
			at = &instance->next_active;
		} else if ((!stop && trigger_holds(session, instance)) ||
				!trace_end(session, instance)) {
			at = &instance->next_active;
		} else {
			*at = instance->next_active;
			keep_open(drainer, instance);
		}
	}
}

static bool is_pending_in(const struct instance *instance)
{
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++)
		if (ring_consumer_pending(instance->channels[i].rings))
			return true;
	return false;
}

static bool drainer_is_pending(const struct drainer *drainer)
{
	struct instance *instance;

	if (full_waits(drainer->session))
		return false;
	for (instance = drainer->active; instance; instance = instance->next_active)
		if (is_pending_in(instance))
			return true;
	return false;
}

static uint32_t snapshots_wanted(const struct drainer *drainer)
{
	/* Acquire: everything published before the request. Pairs with drain_snapshot(). */
	return atomic_load_explicit(&drainer->session->snapshots.wanted, memory_order_acquire);
}

static uint32_t begins_wanted(const struct drainer *drainer)
{
	/* Acquire: everything published before the request. Pairs with drain_begin_snapshot(). */
	return atomic_load_explicit(
			&drainer->session->snapshots.begins_wanted, memory_order_acquire);
}

static uint32_t finishes_wanted(const struct drainer *drainer)
{
	/* Acquire: everything published before the request. Pairs with drain_finish_snapshot(). */
	return atomic_load_explicit(
			&drainer->session->snapshots.finishes_wanted, memory_order_acquire);
}

/* Makes the snapshots that were requested. A request also finishes the one that was begun. */
static void drainer_make_snapshots(struct drainer *drainer, bool stop)
{
	struct session *session = drainer->session;

	for (; drainer->begins != begins_wanted(drainer); drainer->begins++)
		snapshot_begin(session, drainer->active, drainer_spare_files(drainer));
	for (; drainer->finishes != finishes_wanted(drainer); drainer->finishes++)
		snapshot_finish_automatic(session, drainer->active);
	for (; drainer->snapshots != snapshots_wanted(drainer); drainer->snapshots++)
		if (!snapshot_finish(session, drainer->active))
			snapshot_make(session, drainer->active, "");
	snapshot_turn(session, drainer->active, stop);
	session->snapshots.spare_files = drainer_spare_files(drainer);
}

static uint32_t rounds_wanted(const struct session *session)
{
	/* Acquire: everything published before the request. Pairs with drain_ask(). */
	return atomic_load_explicit(&session->drain.rounds_wanted, memory_order_acquire);
}

/* Marks all rounds up to `wanted` as done; `wanted` was read before the round began. */
static void round_done(struct session *session, uint32_t wanted)
{
	/* Records that wait for space on the disk are not in the files. */
	if (wanted == session->drain.rounds_done || session->full.code)
		return;
	pthread_mutex_lock(&session->lock);
	session->drain.rounds_done = wanted;
	pthread_cond_broadcast(&session->drain.round_done);
	pthread_mutex_unlock(&session->lock);
}

/* True if the main thread has a request. */
static bool is_called(struct drainer *drainer)
{
	struct session *session = drainer->session;
	struct instance *instance;
	bool called;

	/* Acquire: the main thread's actions before the request. Pairs with drain_stop(). */
	if (atomic_load_explicit(&session->drain.stop, memory_order_acquire) ||
			snapshots_wanted(drainer) != drainer->snapshots ||
			begins_wanted(drainer) != drainer->begins ||
			finishes_wanted(drainer) != drainer->finishes)
		return true;
	/* While the disk is full, other requests must wait. */
	if (full_waits(session))
		return false;
	if (rounds_wanted(session) != session->drain.rounds_done || rotate_is_called(session))
		return true;
	pthread_mutex_lock(&session->lock);
	called = session->instances.fresh != NULL;
	/* Ended instances that wait for a snapshot are no reason to wake up. */
	for (instance = drainer->active; instance && !called && !session->triggers.holding;
			instance = instance->next_active)
		called = instance->state != INSTANCE_LIVE;
	pthread_mutex_unlock(&session->lock);
	return called;
}

static void drainer_end(struct drainer *drainer)
{
	struct session *session = drainer->session;
	struct ctf_clock clock;
	bool refined = !session_refined_clock(session, &clock);
	unsigned int i;

	if (refined)
		session->clock.final = clock;
	session->clock.has_final = refined;
	for (i = 0; i < drainer->nr_ended; i++)
		trace_close(session, drainer->ended[i], refined ? &clock : NULL);
	full_report(session);
	refusals_report(session);
	leases_report(session);
	report_suppressed(session, true);
	if (!session->service || !session->service->keep)
		rotate_end(session);
}

/*
 * Call at the beginning of a round: the files contain the result of the round before, which will
 * not be truncated.
 */
static void count_round(struct drainer *drainer)
{
	struct session_rounds *rounds = drainer->session->drain.rounds;
	uint64_t now;

	if (!rounds)
		return;
	/*
	 * Leave time for a thread that was preempted between reading the clock and publishing its
	 * record.
	 */
	now = ring_clock_now(drainer->session->clock.kind) -
			drainer->session->clock.first.frequency / ROUND_MARGIN;
	/*
	 * Sequentially consistent: the time before the count. Pairs with the load in ticks(). The
	 * time is the start of the previous round, if no records remained in rings.
	 */
	if (drainer->round_begun && !drainer->session->full.code)
		__atomic_store_n(&rounds->ticks, drainer->round_begun, __ATOMIC_SEQ_CST);
	drainer->round_begun = now;
	/*
	 * Sequentially consistent: after the notes in the journal. Pairs with the load in rounds().
	 */
	__atomic_fetch_add(&rounds->begun, 1, __ATOMIC_SEQ_CST);
}

static bool has_work(struct drainer *drainer)
{
	return drainer_is_pending(drainer) || is_called(drainer);
}

/*
 * Sleeps until a program or the main thread rings, with a timeout, because programs can corrupt
 * their doorbells.
 */
static void wait_for_bell(struct drainer *drainer)
{
	struct session *session = drainer->session;

	ring_bells_arm(session->drain.bells);
	if (!has_work(drainer))
		ring_bells_wait(session->drain.bells, rotate_timeout(session, CHECK_EVERY_MS));
	ring_bells_disarm(session->drain.bells);
}

static void *drain_thread(void *argument)
{
	struct session *session = argument;
	struct drainer drainer = {.session = session};

	for (;;) {
		/*
		 * Acquire: everything that existed when the stop was requested. The round below
		 * must find it. Pairs with the release in drain_stop().
		 */
		bool stop = atomic_load_explicit(&session->drain.stop, memory_order_acquire);
		uint32_t wanted = rounds_wanted(session), rotations = rotate_wanted(session);

		count_round(&drainer);
		if (stop)
			full_end(session);
		/* Also before the round: the last round frees rings. */
		take_new(&drainer);
		drainer_make_snapshots(&drainer, stop);
		trigger_turn(session, drainer.active, stop);
		leases_turn(session, drainer.active);
		drain_round(&drainer, stop);
		if (stop)
			break;
		rotate_turn(session, rotations);
		round_done(session, wanted);
		/*
		 * Sleep unless another eighth of a ring has been filled meanwhile. Packets of a few
		 * records would cost more than the shorter delay is worth.
		 */
		wait_for_bell(&drainer);
	}
	round_done(session, rounds_wanted(session));
	drainer_end(&drainer);
	return NULL;
}

int drain_start(struct session *session)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	/*
	 * Do not block signals of the thread's own faults, and SIGBUS for rings in files that
	 * another process truncates (ring.h).
	 */
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGFPE);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&session->drain.thread, NULL, drain_thread, session);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		return -ret;
	pthread_setname_np(session->drain.thread, "side-drain");
	session->drain.runs = true;
	return 0;
}

void drain_snapshot(struct session *session)
{
	/* Release: pairs with the acquire in snapshots_wanted(). */
	atomic_fetch_add_explicit(&session->snapshots.wanted, 1, memory_order_release);
	ring_bells_ring(session->drain.bells);
}

void drain_begin_snapshot(struct session *session)
{
	/* Release: pairs with the acquire in begins_wanted(). */
	atomic_fetch_add_explicit(&session->snapshots.begins_wanted, 1, memory_order_release);
	ring_bells_ring(session->drain.bells);
}

void drain_finish_snapshot(struct session *session)
{
	/* Release: pairs with the acquire in finishes_wanted(). */
	atomic_fetch_add_explicit(&session->snapshots.finishes_wanted, 1, memory_order_release);
	ring_bells_ring(session->drain.bells);
}

uint32_t drain_ask(struct session *session)
{
	/* Release: pairs with rounds_wanted(). */
	uint32_t round = atomic_fetch_add_explicit(
			&session->drain.rounds_wanted, 1, memory_order_release);

	ring_bells_ring(session->drain.bells);
	return round + 1;
}

int drain_wait(struct session *session, uint32_t round, unsigned int timeout_ms)
{
	uint64_t deadline = wire_deadline(timeout_ms);
	const struct timespec until = {
			(time_t)(deadline / 1000000000), (long)(deadline % 1000000000)};
	int ret = 0;

	pthread_mutex_lock(&session->lock);
	/* The numbers can wrap around. */
	while ((int32_t)(session->drain.rounds_done - round) < 0 && !ret)
		ret = -pthread_cond_clockwait(&session->drain.round_done, &session->lock,
				CLOCK_MONOTONIC, &until);
	/* Records that wait for space on the disk are not in the files yet. */
	if (!ret)
		ret = session->full.code;
	pthread_mutex_unlock(&session->lock);
	return ret;
}

/* Returns when all records are on disk and all files are closed. */
void drain_stop(struct session *session)
{
	if (!session->drain.runs)
		return;
	/*
	 * Release: all instances are in the list. Pairs with the acquires in is_called() and
	 * drain_thread().
	 */
	atomic_store_explicit(&session->drain.stop, true, memory_order_release);
	ring_bells_ring(session->drain.bells);
	pthread_join(session->drain.thread, NULL);
	session->drain.runs = false;
}
