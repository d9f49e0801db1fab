/* SPDX-License-Identifier: MIT */
/*
 * The system calls of locks and turnstiles, the lock around keys, and the order of what a fork, the
 * beginning and the end of the library do. The files are included, and each call is noted.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libside/armed.h"
#include "libside/export.h"
#include "libside/rcu.h"
#include "libside/registry-lock.h"
#include "libside/registry.h"
#include "libside/report.h"
#include "libside/statedump-states.h"
#include "libside/statedump.h"

#include "event.h"

static char noted[2048];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t used = strlen(noted);
	va_list list;

	va_start(list, format);
	(void)vsnprintf(noted + used, sizeof(noted) - used, format, list);
	va_end(list);
}

static void is_noted(const char *expected)
{
	if (strcmp(noted, expected))
		fprintf(stderr, "noted \"%s\", expected \"%s\"\n", noted, expected);
	CHECK(!strcmp(noted, expected));
	*noted = '\0';
}

/* ---- locks ---- */

static const uint32_t *last_word;
static void (*on_sleep)(void); /* the actions of another thread meanwhile */

static long noted_call(long number, const uint32_t *word, int operation, long value,
		const struct timespec *timeout, const void *other, int last)
{
	CHECK(number == SYS_futex && !other && !last);
	last_word = word;
	if (operation == FUTEX_WAIT_PRIVATE) {
		note("wait %ld", value);
		if (timeout)
			note(" %ld.%09ld", (long)timeout->tv_sec, timeout->tv_nsec);
		note(", ");
		if (on_sleep)
			on_sleep();
	} else {
		CHECK(operation == FUTEX_WAKE_PRIVATE && !timeout);
		note("wake %ld, ", value);
	}
	errno = EAGAIN;
	return -1;
}

static struct timespec time_now;

static int noted_time(clockid_t id, struct timespec *time)
{
	CHECK(id == CLOCK_MONOTONIC);
	*time = time_now;
	return 0;
}

#define syscall(number, word, operation, value, timeout, other, last) \
	noted_call(number, word, operation, (long)(value), timeout, other, last)
#define clock_gettime noted_time
#include "libside/lock.c"
#undef syscall
#undef clock_gettime

static struct futex_lock one;
static struct owned_lock owned;

static void free_one(void)
{
	CHECK_EQUAL(one.word, 2);
	one.word = 0;
}

static int sleeps_left;

static void free_owned(void)
{
	CHECK_EQUAL(owned.lock.word, 2);
	if (!--sleeps_left)
		owned.lock.word = 0;
}

static void test_locks(void)
{
	errno = E2BIG;
	futex_lock(&one);
	CHECK(one.word == 1 && !futex_trylock(&one));
	is_noted("");
	futex_unlock(&one);
	is_noted("");
	/* While a thread holds it: the next unlock wakes one. */
	one.word = 1;
	on_sleep = free_one;
	futex_lock(&one);
	CHECK(one.word == 2 && last_word == &one.word && errno == E2BIG);
	is_noted("wait 2, ");
	futex_unlock(&one);
	CHECK(one.word == 0 && last_word == &one.word && errno == E2BIG);
	is_noted("wake 1, ");
	on_sleep = NULL;
	/* The maximum number of sleeps, and one more. */
	owned.lock.word = 1;
	CHECK(!owned_lock_acquire_for(&owned, 0) && owned.lock.word == 2 && !owned.depth);
	is_noted("");
	CHECK(!owned_lock_acquire_for(&owned, 2) && !owned.depth && !owned.owner);
	is_noted("wait 2 0.001000000, wait 2 0.001000000, ");
	on_sleep = free_owned;
	sleeps_left = 2;
	CHECK(owned_lock_acquire_for(&owned, 2) && owned.depth == 1 && owned.lock.word == 2);
	is_noted("wait 2 0.001000000, wait 2 0.001000000, ");
	CHECK(last_word == &owned.lock.word && owned_lock_is_mine(&owned));
	CHECK(owned_lock_acquire_for(&owned, 0) && owned.depth == 2);
	owned_lock_release(&owned);
	is_noted("");
	owned_lock_release(&owned);
	is_noted("wake 1, ");
	CHECK(!owned.lock.word && !owned.owner && !owned.depth);
	on_sleep = NULL;
	CHECK(owned_lock_try(&owned) && owned.lock.word == 1 && owned.depth == 1);
	owned_lock_release(&owned);
	is_noted("");
	owned.lock.word = 0;
}

static struct turnstile turnstile = {.turns = 41};

static void check_released(void)
{
	CHECK(!owned.lock.word && !owned.depth && !owned.owner);
}

static void test_turnstiles(void)
{
	errno = E2BIG;
	turnstile_turn(&turnstile);
	CHECK(turnstile.turns == 42 && last_word == &turnstile.turns && errno == E2BIG);
	is_noted("wake 2147483647, ");
	owned_lock_acquire(&owned);
	CHECK(owned.lock.word == 1 && owned.depth == 1);
	owned_lock_acquire(&owned);
	owned_lock_acquire(&owned);
	on_sleep = check_released;
	turnstile_wait(&turnstile, &owned, 2345);
	CHECK(owned.depth == 3 && owned_lock_is_mine(&owned) && last_word == &turnstile.turns);
	is_noted("wait 42 2.345000000, ");
	turnstile_wait(&turnstile, &owned, 999);
	is_noted("wait 42 0.999000000, ");
	turnstile_wait(&turnstile, &owned, 1000);
	is_noted("wait 42 1.000000000, ");
	turnstile_wait(&turnstile, &owned, 0);
	is_noted("wait 42 0.000000000, ");
	turnstile_wait(&turnstile, &owned, -1);
	is_noted("wait 42, ");
	on_sleep = NULL;
	owned_lock_release(&owned);
	owned_lock_release(&owned);
	owned_lock_release(&owned);
	CHECK(!owned.lock.word && errno == E2BIG);
	is_noted("");
	time_now = (struct timespec){7, 999999999};
	CHECK(monotonic_ms() == 7999);
	time_now = (struct timespec){123, 4000000};
	CHECK(monotonic_ms() == 123004);
	time_now = (struct timespec){123, 3999999};
	CHECK(monotonic_ms() == 123003);
}

/* ---- keys ---- */

#define futex_lock(lock) note(lock == &keys_word ? "lock " : "? ")
#define futex_unlock(lock) note(lock == &keys_word ? "unlock " : "? ")
#define lock keys_word
#include "libside/keys.c"
#undef lock
#undef futex_lock
#undef futex_unlock

static void test_key(void)
{
	uint64_t key = 0;

	CHECK_EQUAL(side_tracer_request_key(NULL), SIDE_ERROR_INVAL);
	is_noted("");
	CHECK_EQUAL(side_tracer_request_key(&key), SIDE_ERROR_OK);
	CHECK_EQUAL(key, 8);
	is_noted("lock unlock ");
	keys_lock();
	is_noted("lock ");
	keys_unlock();
	is_noted("unlock ");
}

/* ---- the life of the library ---- */

static void (*fork_handlers[3])(void);

static int noted_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
	note("atfork ");
	fork_handlers[0] = before;
	fork_handlers[1] = in_parent;
	fork_handlers[2] = in_child;
	errno = ENOMEM;
	return 0;
}

static bool is_first_end = true;

static bool noted_finish(void)
{
	note("finish ");
	return is_first_end;
}

#define pthread_atfork noted_atfork
#define report_init() note("reports ")
#define statedump_pause() note("pause-dumps ")
#define registry_lock_for_fork() note("lock-registry ")
#define statedump_lock() note("lock-dumps ")
#define keys_lock() note("lock-keys ")
#define keys_unlock() note("unlock-keys ")
#define statedump_fork_in_parent() note("dumps-in-parent ")
#define registry_unlock_in_parent() note("registry-in-parent ")
#define rcu_after_fork_in_child() note("readers-in-child ")
#define armed_after_fork_in_child() note("hook-in-child ")
#define statedump_fork_in_child() note("dumps-in-child ")
#define registry_unlock_in_child(continues) \
	note((continues) == registry_continue_notifications ? "registry-in-child " : "? ")
#define registry_finish noted_finish
#define statedump_finish() note("end-dumps ")
#undef LIBRARY_BEGIN
#undef LIBRARY_END
static void (*at_exit)(void *argument);

static int noted_at_exit(void (*function)(void *), void *argument, void *object)
{
	CHECK(!argument && !object);
	at_exit = function;
	note("atexit ");
	return 0;
}

#define __cxa_atexit noted_at_exit
#define LIBRARY_BEGIN unused
#define LIBRARY_END unused
#include "libside/lifecycle.c"

static void test_life(void)
{
	errno = E2BIG;
	library_begins();
	CHECK(errno == E2BIG && is_set_up);
	is_noted("reports atfork ");
	side_init();
	library_begins();
	is_noted("");
	fork_handlers[0]();
	is_noted("pause-dumps lock-registry lock-dumps lock-keys ");
	fork_handlers[1]();
	is_noted("unlock-keys dumps-in-parent registry-in-parent ");
	fork_handlers[2]();
	is_noted("readers-in-child hook-in-child unlock-keys dumps-in-child registry-in-child ");
	library_ends();
	is_noted("atexit ");
	at_exit(NULL);
	is_noted("finish end-dumps ");
	is_first_end = false;
	side_exit();
	is_noted("finish ");
}

int main(void)
{
	test_locks();
	test_turnstiles();
	test_key();
	test_life();
	return 0;
}
