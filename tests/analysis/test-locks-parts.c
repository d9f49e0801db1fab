/* SPDX-License-Identifier: MIT */
/* The state of locks, one event after the other, and its limits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/locks-state.h"
#include "base/error.h"
#include "tests/check.h"

#define MUTEX 0x1000
#define SECOND 0x2000

static const struct locks_operation lock = {
		"pthread_mutex_lock", LOCKS_MUTEX, LOCKS_WAIT, false, false};
static const struct locks_operation timed = {
		"pthread_mutex_timedlock", LOCKS_MUTEX, LOCKS_WAIT, false, true};
static const struct locks_operation try = {
		"pthread_mutex_trylock", LOCKS_MUTEX, LOCKS_TRY, false, false};
static const struct locks_operation unlock = {
		"pthread_mutex_unlock", LOCKS_MUTEX, LOCKS_RELEASE, false, false};
static const struct locks_operation init = {
		"pthread_mutex_init", LOCKS_MUTEX, LOCKS_INIT, false, false};
static const struct locks_operation destroy = {
		"pthread_mutex_destroy", LOCKS_MUTEX, LOCKS_DESTROY, false, false};
static const struct locks_operation read_lock = {
		"pthread_rwlock_rdlock", LOCKS_RWLOCK, LOCKS_WAIT, true, false};
static const struct locks_operation write_lock = {
		"pthread_rwlock_wrlock", LOCKS_RWLOCK, LOCKS_WAIT, false, false};
static const struct locks_operation rwlock_unlock = {
		"pthread_rwlock_unlock", LOCKS_RWLOCK, LOCKS_RELEASE, false, false};

static const struct locks_options no_options = {.rows = 0};
static int64_t now;

/* A program of this many threads, without a trace. */
static struct locks *begin(uint32_t threads)
{
	struct locks *locks = calloc(1, sizeof(*locks));

	CHECK(locks);
	now = 1000;
	locks->options = &no_options;
	locks->pair_keys.limit = LOCKS_PAIRS_MAX;
	locks->place_keys.limit = LOCKS_PLACES_MAX;
	locks->releases = malloc(1);
	CHECK(locks->releases);
	*locks->releases = 0xff;
	for (uint32_t i = 0; i < threads; i++) {
		uint32_t number;

		locks->threads = keys_add_item(&locks->thread_keys, locks->threads,
				sizeof(*locks->threads), &i, sizeof(i), &number);
		CHECK(number == i);
		locks->threads[i].id = i;
	}
	return locks;
}

static void end(struct locks *locks)
{
	locks_free(locks);
	free(locks);
}

/* One event, 10 ns after the one before. */
static void act(struct locks *locks, uint32_t thread, const struct locks_operation *operation,
		enum locks_phase phase, uint64_t object, int64_t result)
{
	const struct locks_class class = {.operation = operation, .phase = phase};
	struct locks_event event = {.operation = operation,
			.thread = thread,
			.ns = now += 10,
			.object = object,
			.has_object = true,
			.result = result,
			.stack = LOCKS_NONE,
			.place = 0x4000 + thread};

	CHECK(!locks_take(locks, &class, &event));
	locks->last_ns = now;
}

static void ask(struct locks *locks, uint32_t thread, uint64_t object)
{
	act(locks, thread, &lock, LOCKS_REQUEST, object, 0);
}

static void take(struct locks *locks, uint32_t thread, uint64_t object)
{
	ask(locks, thread, object);
	act(locks, thread, &lock, LOCKS_RESULT, object, 0);
}

static void drop(struct locks *locks, uint32_t thread, uint64_t object)
{
	act(locks, thread, &unlock, LOCKS_SINGLE, object, 0);
}

static const struct locks_row *row_of(const struct locks *locks, uint64_t address)
{
	for (uint32_t i = 0; i < locks->row_keys.count; i++)
		if (locks->rows[i].address == address)
			return &locks->rows[i];
	abort();
}

/* ---- waits and holds ---- */

static void test_contention(void)
{
	struct locks *locks = begin(2);
	const struct locks_row *row;

	take(locks, 0, MUTEX);
	ask(locks, 1, MUTEX);
	drop(locks, 0, MUTEX);
	act(locks, 1, &lock, LOCKS_RESULT, MUTEX, 0);
	drop(locks, 1, MUTEX);
	/* The holder gets the lock after the other thread's request. */
	ask(locks, 1, MUTEX);
	take(locks, 0, MUTEX);
	drop(locks, 0, MUTEX);
	act(locks, 1, &lock, LOCKS_RESULT, MUTEX, 0);
	drop(locks, 1, MUTEX);
	row = row_of(locks, MUTEX);
	CHECK(row->attempts == 4 && row->contended == 2 && row->wait.count == 2);
	CHECK(row->waited_ns == 20 + 40 && row->hold.count == 4);
	CHECK((uint64_t)row->hold.sum == 20 + 10 + 10 + 10);
	CHECK(!locks->unknown_ends && !locks->contradictory);
	end(locks);
}

/* A thread that locks again at once is not contended by itself. */
static void test_alone(void)
{
	struct locks *locks = begin(1);

	for (int i = 0; i < 10; i++) {
		now -= i ? 10 : 0; /* The same time as that of the unlocking. */
		take(locks, 0, MUTEX);
		drop(locks, 0, MUTEX);
	}
	CHECK(row_of(locks, MUTEX)->attempts == 10 && !row_of(locks, MUTEX)->contended);
	end(locks);
}

static void test_recursion(void)
{
	struct locks *locks = begin(2);

	take(locks, 0, MUTEX);
	take(locks, 0, MUTEX);
	drop(locks, 0, MUTEX);
	act(locks, 1, &try, LOCKS_SINGLE, MUTEX, 16);
	drop(locks, 0, MUTEX);
	act(locks, 1, &try, LOCKS_SINGLE, MUTEX, 0);
	drop(locks, 1, MUTEX);
	CHECK(row_of(locks, MUTEX)->hold.count == 2 && row_of(locks, MUTEX)->busy == 1);
	CHECK(row_of(locks, MUTEX)->attempts == 4 && row_of(locks, MUTEX)->contended == 1);
	end(locks);
}

/* Results that are no success, and EOWNERDEAD, which is one. */
static void test_results(void)
{
	struct locks *locks = begin(2);

	take(locks, 0, MUTEX);
	act(locks, 1, &timed, LOCKS_REQUEST, MUTEX, 0);
	act(locks, 1, &timed, LOCKS_RESULT, MUTEX, 110);
	ask(locks, 0, MUTEX);
	act(locks, 0, &lock, LOCKS_RESULT, MUTEX, 35);
	CHECK(row_of(locks, MUTEX)->timeouts == 1 && row_of(locks, MUTEX)->errors == 1);
	/* The holder has exited. */
	ask(locks, 1, MUTEX);
	act(locks, 1, &lock, LOCKS_RESULT, MUTEX, 130);
	CHECK(locks->contradictory == 1);
	ask(locks, 0, MUTEX);
	CHECK(locks->threads[0].pending[0].is_blocked);
	end(locks);
}

/* The trace begins while the lock is held. */
static void test_middle(void)
{
	struct locks *locks = begin(2);

	ask(locks, 1, MUTEX);
	CHECK(!locks->threads[1].pending[0].is_blocked);
	drop(locks, 0, MUTEX);
	act(locks, 1, &lock, LOCKS_RESULT, MUTEX, 0);
	CHECK(locks->unknown_ends == 1 && row_of(locks, MUTEX)->contended == 1);
	/* The result of a call that began before. */
	act(locks, 0, &lock, LOCKS_RESULT, SECOND, 0);
	CHECK(locks->unknown_ends == 2 && !row_of(locks, SECOND)->attempts);
	drop(locks, 0, SECOND);
	CHECK(row_of(locks, SECOND)->hold.count == 1);
	/* A thread unlocks what another one locked: nobody is known to hold it. */
	drop(locks, 0, MUTEX);
	CHECK(locks->unknown_ends == 3 && locks_conflict(locks, 0, 9, false) == LOCKS_NONE);
	end(locks);
}

/* A long attempt without a holder is not called contended. */
static void test_unexplained(void)
{
	struct locks *locks = begin(1);

	ask(locks, 0, MUTEX);
	now += LOCKS_UNEXPLAINED_NS - 10;
	act(locks, 0, &lock, LOCKS_RESULT, MUTEX, 0);
	drop(locks, 0, MUTEX);
	ask(locks, 0, MUTEX);
	now += LOCKS_UNEXPLAINED_NS - 11;
	act(locks, 0, &lock, LOCKS_RESULT, MUTEX, 0);
	CHECK(!row_of(locks, MUTEX)->contended && row_of(locks, MUTEX)->unexplained == 1);
	CHECK(row_of(locks, MUTEX)->unexplained_ns == LOCKS_UNEXPLAINED_NS);
	CHECK(row_of(locks, MUTEX)->waited_ns == LOCKS_UNEXPLAINED_NS);
	end(locks);
}

static void test_readers(void)
{
	struct locks *locks = begin(3);

	for (uint32_t i = 0; i < 2; i++) {
		act(locks, i, &read_lock, LOCKS_REQUEST, MUTEX, 0);
		act(locks, i, &read_lock, LOCKS_RESULT, MUTEX, 0);
	}
	act(locks, 2, &write_lock, LOCKS_REQUEST, MUTEX, 0);
	act(locks, 0, &rwlock_unlock, LOCKS_SINGLE, MUTEX, 0);
	act(locks, 1, &rwlock_unlock, LOCKS_SINGLE, MUTEX, 0);
	act(locks, 2, &write_lock, LOCKS_RESULT, MUTEX, 0);
	CHECK(row_of(locks, MUTEX)->contended == 1 && row_of(locks, MUTEX)->wait.most == 30);
	act(locks, 0, &read_lock, LOCKS_REQUEST, MUTEX, 0);
	CHECK(locks->threads[0].pending[0].is_blocked);
	act(locks, 2, &rwlock_unlock, LOCKS_SINGLE, MUTEX, 0);
	act(locks, 0, &read_lock, LOCKS_RESULT, MUTEX, 0);
	/* The release of a reader does not concern a reader. */
	act(locks, 1, &read_lock, LOCKS_REQUEST, MUTEX, 0);
	act(locks, 0, &rwlock_unlock, LOCKS_SINGLE, MUTEX, 0);
	act(locks, 1, &read_lock, LOCKS_RESULT, MUTEX, 0);
	CHECK(row_of(locks, MUTEX)->attempts == 5 && row_of(locks, MUTEX)->contended == 2);
	end(locks);
}

/* An address that is initialised by other code is another lock. */
static void test_lives(void)
{
	struct locks *locks = begin(2);

	for (uint32_t i = 0; i < 6; i++) {
		act(locks, i / 3, &init, LOCKS_SINGLE, MUTEX, 0);
		take(locks, i / 3, MUTEX);
		/* Without unlocking: the lock does not exist any more. */
		if (i % 2)
			act(locks, i / 3, &destroy, LOCKS_SINGLE, MUTEX, 0);
	}
	CHECK(locks->row_keys.count == 2 && locks->rows[0].nr_locks == 3 &&
			locks->rows[1].nr_locks == 3 && locks->nr_all == 0);
	act(locks, 0, &destroy, LOCKS_SINGLE, SECOND, 0);
	act(locks, 0, &init, LOCKS_SINGLE, SECOND, 22);
	CHECK(locks->row_keys.count == 2);
	end(locks);
}

/* Without events of releases, nothing is known to be held. */
static void test_without_releases(void)
{
	struct locks *locks = begin(2);

	*locks->releases = 0;
	take(locks, 0, MUTEX);
	ask(locks, 1, MUTEX);
	CHECK(!locks->threads[1].pending[0].is_blocked);
	end(locks);
}

/* ---- deadlocks ---- */

static uint32_t deadlocks(struct locks *locks)
{
	CHECK(!locks_find_deadlocks(locks));
	return locks->nr_deadlocks;
}

static struct locks *deadlock(void)
{
	struct locks *locks = begin(4);

	take(locks, 0, MUTEX);
	take(locks, 1, SECOND);
	ask(locks, 0, SECOND);
	ask(locks, 1, MUTEX);
	/* Waits behind the deadlock, and is no part of it. */
	ask(locks, 2, MUTEX);
	return locks;
}

static void test_deadlock(void)
{
	struct locks *locks = deadlock();

	CHECK(deadlocks(locks) == 1 && locks->deadlocks[0].count == 2);
	CHECK(locks->edges[0].thread == 0 && locks->holds[locks->edges[0].hold].thread == 1);
	CHECK(locks->edges[1].thread == 1 && locks->holds[locks->edges[1].hold].thread == 0);
	end(locks);
}

/* Waiting with a time limit, or in a line, is no deadlock. */
static void test_no_deadlock(void)
{
	struct locks *locks = begin(4);

	take(locks, 0, MUTEX);
	take(locks, 1, SECOND);
	ask(locks, 0, SECOND);
	act(locks, 1, &timed, LOCKS_REQUEST, MUTEX, 0);
	CHECK(!deadlocks(locks));
	end(locks);
	locks = begin(4);
	take(locks, 0, MUTEX);
	take(locks, 1, SECOND);
	ask(locks, 1, MUTEX);
	ask(locks, 2, SECOND);
	CHECK(!deadlocks(locks));
	end(locks);
	/* The releases of the locks may be among the lost events. */
	locks = deadlock();
	locks->lost_reported = 1;
	CHECK(!deadlocks(locks) && locks->uncertain_deadlocks == 1);
	end(locks);
}

/* A recursive lock is taken at once, but the trace can end between its two events. */
static void test_own_lock(void)
{
	struct locks *locks = begin(2);

	take(locks, 0, MUTEX);
	ask(locks, 0, MUTEX);
	CHECK(!deadlocks(locks));
	locks->last_ns += LOCKS_SELF_NS;
	CHECK(deadlocks(locks) == 1 && locks->deadlocks[0].count == 1);
	end(locks);
}

/* A writer waits for several readers, of which one is in the cycle. */
static void test_readers_in_deadlock(void)
{
	struct locks *locks = begin(3);

	for (uint32_t i = 0; i < 3; i++) {
		act(locks, i, &read_lock, LOCKS_REQUEST, SECOND, 0);
		act(locks, i, &read_lock, LOCKS_RESULT, SECOND, 0);
	}
	act(locks, 2, &rwlock_unlock, LOCKS_SINGLE, SECOND, 0);
	take(locks, 2, MUTEX);
	ask(locks, 0, MUTEX);
	act(locks, 2, &write_lock, LOCKS_REQUEST, SECOND, 0);
	CHECK(deadlocks(locks) == 1 && locks->deadlocks[0].count == 2);
	end(locks);
}

/* ---- limits ---- */

static void test_deadlocks_at_the_limit(void)
{
	struct locks *locks = begin(2 * LOCKS_DEADLOCKS_MAX + 2);

	for (uint32_t i = 0; i < 2 * LOCKS_DEADLOCKS_MAX + 2; i++)
		take(locks, i, MUTEX + i * 64);
	for (uint32_t i = 0; i < 2 * LOCKS_DEADLOCKS_MAX + 2; i++)
		ask(locks, i, MUTEX + (i ^ 1) * 64);
	CHECK(deadlocks(locks) == LOCKS_DEADLOCKS_MAX);
	CHECK(locks->nr_edges == 2 * LOCKS_DEADLOCKS_MAX);
	end(locks);
}

/* Signal handlers can lock while the program waits. */
static void test_nested(void)
{
	struct locks *locks = begin(1);

	for (uint64_t i = 0; i <= LOCKS_NESTED_MAX; i++)
		ask(locks, 0, MUTEX + i);
	CHECK(locks->threads[0].depth == LOCKS_NESTED_MAX);
	for (uint64_t i = LOCKS_NESTED_MAX + 1; i-- > 0;)
		act(locks, 0, &lock, LOCKS_RESULT, MUTEX + i, 0);
	CHECK(!locks->threads[0].depth && locks->unknown_ends == 1);
	/* The results of the inner ones never come, because the handler jumped. */
	ask(locks, 0, MUTEX);
	ask(locks, 0, SECOND);
	act(locks, 0, &lock, LOCKS_RESULT, MUTEX, 0);
	CHECK(!locks->threads[0].depth);
	end(locks);
}

static void test_rows_at_the_limit(void)
{
	struct locks *locks = begin(1);
	uint32_t i = 0;

	/* One caller. */
	for (; i <= LOCKS_PER_PLACE; i++)
		take(locks, 0, MUTEX + i * 64);
	CHECK(locks->row_keys.count == LOCKS_PER_PLACE + 1);
	CHECK(!locks->rows[LOCKS_PER_PLACE - 1].is_shared &&
			locks->rows[LOCKS_PER_PLACE].is_shared);
	take(locks, 0, MUTEX + i * 64);
	CHECK(locks->row_keys.count == LOCKS_PER_PLACE + 1);
	CHECK(locks->rows[LOCKS_PER_PLACE].nr_locks == 2);
	end(locks);
	/* Many callers: up to the limit each lock has a row, then each caller, then all have one. */
	locks = begin(3 * LOCKS_ROWS_MAX);
	for (i = 0; i < 3 * LOCKS_ROWS_MAX; i++) {
		take(locks, i, MUTEX + i * 64);
		CHECK(locks->rows[locks->row_keys.count - 1].is_shared == (i >= LOCKS_ROWS_MAX));
	}
	CHECK(locks->row_keys.count == 2 * LOCKS_ROWS_MAX + 1);
	CHECK(locks->rows[2 * LOCKS_ROWS_MAX].nr_locks == LOCKS_ROWS_MAX);
	end(locks);
}

/* Of the callers beyond the limit, no lock is counted: each has a row of its own. */
static void test_places_at_the_limit(void)
{
	struct locks *locks = begin(1);
	struct locks_event event = {.stack = LOCKS_NONE};

	for (uint64_t i = 0; i < LOCKS_PLACES_MAX; i++)
		CHECK(keys_add(&locks->place_keys, &i, sizeof(i)) == i);
	for (uint64_t i = 0; i <= LOCKS_PER_PLACE; i++)
		CHECK(locks_get(locks, &event, LOCKS_MUTEX, MUTEX + i, false) == i);
	CHECK(locks->row_keys.count == LOCKS_PER_PLACE + 1);
	CHECK(!locks->rows[LOCKS_PER_PLACE].is_shared);
	end(locks);
}

static void test_locks_at_the_limit(void)
{
	struct locks *locks = begin(1);

	for (uint64_t i = 0; i < LOCKS_ALIVE_MAX; i++)
		take(locks, 0, MUTEX + i * 8);
	CHECK(locks->nr_all == LOCKS_ALIVE_MAX && !locks->not_followed);
	CHECK(locks->hold_used == LOCKS_HOLDS_MAX);
	ask(locks, 0, 8);
	CHECK(locks->not_followed == 1);
	/* A lock that is gone makes space. */
	act(locks, 0, &destroy, LOCKS_SINGLE, MUTEX, 0);
	take(locks, 0, 8);
	CHECK(locks->not_followed == 1 && locks->nr_all == LOCKS_ALIVE_MAX);
	end(locks);
}

static void test_holds_at_the_limit(void)
{
	struct locks *locks = begin(1);
	struct locks_event event = {.stack = LOCKS_NONE};
	uint32_t number;

	number = locks_get(locks, &event, LOCKS_RWLOCK, MUTEX, false);
	for (uint32_t i = 0; i < LOCKS_HOLDS_MAX; i++)
		CHECK(!locks_hold(locks, number, &event, false));
	CHECK(!locks->not_followed);
	CHECK(!locks_hold(locks, number, &event, false) && locks->not_followed == 1);
	locks_unhold(locks, locks->all[number].first_hold);
	CHECK(!locks_hold(locks, number, &event, false) && locks->not_followed == 1);
	end(locks);
}

static void test_pairs_at_the_limit(void)
{
	struct locks *locks = begin(1);
	struct locks_pending pending = {.operation = &lock};

	take(locks, 0, MUTEX);
	for (uint32_t i = 0; i <= LOCKS_PAIRS_MAX; i++) {
		pending.stack = i;
		CHECK(!locks_add_wait(locks, 0, &pending, 10, true, LOCKS_NONE));
	}
	CHECK(locks->pair_keys.count == LOCKS_PAIRS_MAX && locks->pair_keys.refused == 1);
	CHECK(locks->rows[0].contended == LOCKS_PAIRS_MAX + 1);
	end(locks);
}

int main(void)
{
	test_contention();
	test_alone();
	test_recursion();
	test_results();
	test_middle();
	test_unexplained();
	test_readers();
	test_lives();
	test_without_releases();
	test_deadlock();
	test_no_deadlock();
	test_own_lock();
	test_readers_in_deadlock();
	test_deadlocks_at_the_limit();
	test_nested();
	test_rows_at_the_limit();
	test_places_at_the_limit();
	test_locks_at_the_limit();
	test_holds_at_the_limit();
	test_pairs_at_the_limit();
	return 0;
}
