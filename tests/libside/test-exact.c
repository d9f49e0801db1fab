/* SPDX-License-Identifier: MIT */
/*
 * Exact values inside libside: memory for callbacks, slots of batches, keys, locks and reports. The
 * test includes the files, so that it can use their static functions and variables.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../resources.h"
#include "libside/arrays.c"
#include "libside/batches.c"
#include "libside/lock.c"
#include "libside/report.c"

/* Included last: it has a variable with the same name as parameters in lock.c. */
#include "libside/keys.c"

#include "../check.h"

/* ---- memory for callbacks ---- */

static void test_arrays(void)
{
	char *one = arrays_take(1), *other = arrays_take(33), *third = arrays_take(32), *large;

	CHECK(other == one + 32 && third == other + 64);
	memset(other, 0xff, 64);
	arrays_give_back(other, 33);
	CHECK(arrays_take(32) == third + 32);
	CHECK(arrays_take(64) == other);
	for (int i = 0; i < 64; i++)
		CHECK(!other[i]);
	/* 160 bytes are used; 31 pieces of the largest size fit the chunk. */
	large = arrays_take(2048);
	CHECK(large == one + 160);
	for (int i = 1; i < 31; i++)
		CHECK(arrays_take(2048) == large + (size_t)i * 2048);
	other = arrays_take(2048);
	CHECK(other != large + (size_t)31 * 2048 && !((uintptr_t)other & 4095));
	arrays_give_back(large, 2048);
	arrays_give_back(other, 2048);
	CHECK(arrays_take(2048) == other && arrays_take(2048) == large);
}

/* Each large block has a mapping of its own. */
static void test_large_arrays(void)
{
	struct resources before = resources_now();
	char *large[3];

	errno = 77;
	for (int i = 0; i < 3; i++) {
		CHECK((large[i] = arrays_take(2049)) && !((uintptr_t)large[i] & 4095));
		large[i][2048] = 1;
	}
	CHECK(!arrays_take((size_t)1 << 60) && errno == 77);
	for (int i = 0; i < 3; i++)
		arrays_give_back(large[i], 2049);
	CHECK(errno == 77 && resources_are_same(before, resources_now()));
}

/* ---- positions of batches ---- */

static void test_batches(void)
{
	struct batch_block *free_block = NULL, *block = calloc(1, sizeof(*block));
	struct side_events_register_handle *first, *last = NULL, *next;
	struct side_event_description *events[3];
	uint64_t changes = registry_shown.changes;

	CHECK(block && batches_have_slot() && (first = batches_take(&free_block)));
	CHECK(first == &batches_first_block.batches[1]);
	for (int i = 2; i < BATCHES_IN_BLOCK; i++)
		CHECK((last = batches_take(&free_block)) == &batches_first_block.batches[i]);
	CHECK(!batches_have_slot() && !batches_take(&free_block) &&
			registry_shown.changes == changes);
	free_block = block;
	CHECK((next = batches_take(&free_block)) == &block->batches[0] && !free_block);
	CHECK(block->head.nr_batches == BATCHES_IN_BLOCK &&
			batches_first_block.head.next == &block->head);
	CHECK(batches_have_slot() && batches_take(&free_block) == &block->batches[1]);
	next->number = 55;
	batches_show(next, events, 3);
	CHECK(next->shown.events == events && next->shown.nr_events == 3 && next->shown.id == 55);
	CHECK(registry_shown.changes == changes + 1);
	last->number = 0;
	batches_show(last, events, 2);
	CHECK(last->shown.id == 1 && last->shown.nr_events == 2);
	next->leaving = true;
	batches_give_back(next);
	CHECK(!next->shown.id && !next->leaving && registry_shown.changes == changes + 3);
	batches_give_back(last);
	CHECK(batches_take(&free_block) == last && batches_take(&free_block) == next);
	CHECK(batches_take(&free_block) == &block->batches[2]);
}

/* ---- keys ---- */

static void test_key_numbers(void)
{
	uint64_t key = 0;

	CHECK(side_tracer_request_key(NULL) == SIDE_ERROR_INVAL);
	CHECK(key_is_allocated(SIDE_KEY_MATCH_ALL) && !key_is_allocated(SIDE_KEY_FIRST) &&
			!key_is_allocated(1));
	CHECK(side_tracer_request_key(&key) == SIDE_ERROR_OK && key == SIDE_KEY_FIRST);
	CHECK(key_is_allocated(SIDE_KEY_FIRST) && !key_is_allocated(SIDE_KEY_FIRST + 1) &&
			!key_is_allocated(SIDE_KEY_FIRST - 1));
	CHECK(side_tracer_request_key(&key) == SIDE_ERROR_OK && key == SIDE_KEY_FIRST + 1);
	/* The last key, and no key after it. */
	next_key = UINT64_MAX;
	CHECK(!key_is_allocated(UINT64_MAX) && key_is_allocated(UINT64_MAX - 1));
	CHECK(side_tracer_request_key(&key) == SIDE_ERROR_OK && key == UINT64_MAX);
	key = 5;
	CHECK(side_tracer_request_key(&key) == SIDE_ERROR_NOMEM && key == 5 &&
			key_is_allocated(UINT64_MAX));
	CHECK(!key_is_allocated(1) && futex_trylock(&lock));
	futex_unlock(&lock);
}

/* ---- locks ---- */

static struct futex_lock word;
static struct owned_lock owned;
static struct turnstile turnstile;

static void *lock_and_leave(void *unused)
{
	(void)unused;
	futex_lock(&word);
	futex_unlock(&word);
	owned_lock_acquire(&owned);
	CHECK(owned.depth == 1);
	owned_lock_release(&owned);
	return NULL;
}

static void *try_all(void *ret)
{
	*(int *)ret = owned_lock_try(&owned) || owned_lock_is_mine(&owned) ||
			owned_lock_acquire_for(&owned, 3);
	return NULL;
}

static void test_locks(void)
{
	pthread_t thread;
	int any = 1;

	CHECK(futex_trylock(&word) && word.word == 1 && !futex_trylock(&word) && word.word == 1);
	CHECK(owned_lock_try(&owned) && owned.depth == 1 && owned_lock_is_mine(&owned));
	/* A second attempt fails, because a handler may have interrupted the owner. */
	CHECK(!owned_lock_try(&owned) && owned.depth == 1);
	CHECK(!pthread_create(&thread, NULL, try_all, &any) && !pthread_join(thread, NULL) && !any);
	CHECK(owned.lock.word == 2);
	owned_lock_acquire(&owned);
	CHECK(owned_lock_acquire_for(&owned, 0) && owned.depth == 3);
	owned_lock_release(&owned);
	owned_lock_release(&owned);
	CHECK(owned.depth == 1 && owned_lock_is_mine(&owned) && owned.lock.word);
	/* A thread that waits for each of them is woken. */
	CHECK(!pthread_create(&thread, NULL, lock_and_leave, NULL));
	while (__atomic_load_n(&word.word, __ATOMIC_RELAXED) != 2)
		sched_yield();
	futex_unlock(&word);
	owned_lock_release(&owned);
	CHECK(!pthread_join(thread, NULL) && !word.word && !owned.lock.word && !owned.owner &&
			!owned.depth);
	CHECK(owned_lock_acquire_for(&owned, 0) && owned.depth == 1);
	owned_lock_release(&owned);
	CHECK(!owned.lock.word);
}

static void *turn(void *unused)
{
	(void)unused;
	owned_lock_acquire(&owned);
	turnstile_turn(&turnstile);
	owned_lock_release(&owned);
	return NULL;
}

static void test_turnstile(void)
{
	int64_t begin = monotonic_ms();
	struct timespec now;
	pthread_t thread;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	CHECK(begin <= (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
	owned_lock_acquire(&owned);
	owned_lock_acquire(&owned);
	begin = monotonic_ms();
	turnstile_wait(&turnstile, &owned, 1030);
	CHECK(monotonic_ms() - begin >= 1029 && owned.depth == 2 && owned_lock_is_mine(&owned) &&
			!turnstile.turns);
	/*
	 * Without a timeout: the other thread gets the lock and releases it, which ends the wait.
	 */
	CHECK(!pthread_create(&thread, NULL, turn, NULL));
	while (!turnstile.turns)
		turnstile_wait(&turnstile, &owned, -1);
	CHECK(turnstile.turns == 1 && owned.depth == 2);
	owned_lock_release(&owned);
	owned_lock_release(&owned);
	CHECK(!pthread_join(thread, NULL) && !owned.lock.word && !owned.owner);
}

/* ---- reports ---- */

static void test_report(void)
{
	char text[2048] = "";
	int pipes[2], saved = dup(2);

	CHECK(!pipe(pipes) && dup2(pipes[1], 2) == 2);
	close(pipes[1]);
	unsetenv("SIDE_DEBUG");
	report_init();
	report_once(REPORT_VARIADIC);
	setenv("SIDE_DEBUG", "1", 1);
	report_init();
	errno = 77;
	report_once(REPORT_NULL_ARGUMENT);
	report_once(REPORT_NULL_ARGUMENT);
	report_once(REPORT_STATE_VERSION);
	report_once(REPORT_DESCRIPTION_VERSION);
	report_once(REPORT_DESCRIPTION_SIZE);
	report_once(REPORT_VARIADIC);
	report_once(REPORT_VARIADIC);
	CHECK(errno == 77 && dup2(saved, 2) == 2);
	CHECK(read(pipes[0], text, sizeof(text) - 1) > 0);
	CHECK(!strcmp(text,
			"side: an event was emitted without state, arguments, variadic part or key (NULL); the call is ignored\n"
			"side: an event's state has a version that this library does not know; the event is ignored\n"
			"hint: use a newer libside\n"
			"side: an event's description has a version that this library does not know; no tracer can use the event\n"
			"hint: use a newer libside\n"
			"side: an event's description is shorter than version 0 requires; no tracer can use the event\n"
			"hint: its producer must set struct_size\n"
			"side: an event was emitted by the wrong function; the call is ignored\n"
			"hint: side_call_variadic is for variadic events, side_call for all others\n"));
	close(pipes[0]);
	/* Standard error may be closed: errno stays, and nothing else happens. */
	close(2);
	memset(reported, 0, sizeof(reported));
	report_once(REPORT_VARIADIC);
	CHECK(errno == 77 && reported[REPORT_VARIADIC]);
	CHECK(dup2(saved, 2) == 2);
	close(saved);
}

int main(void)
{
	test_arrays();
	test_large_arrays();
	test_batches();
	test_key_numbers();
	test_locks();
	test_turnstile();
	test_report();
	return 0;
}
