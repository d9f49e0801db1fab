/* SPDX-License-Identifier: MIT */
/* Limits of the threads of locks. It includes a file to call its static functions. */
#include "analysis/locks-walk.c" /* NOLINT(bugprone-suspicious-include): for its static functions */

#include "tests/check.h"

static void test_threads(void)
{
	struct locks locks = {.thread_keys = {.limit = LOCKS_THREADS_MAX}};
	struct locks_event event = {.ns = 0};

	for (int64_t i = 0; i < LOCKS_THREADS_MAX; i++)
		CHECK(!locks_find_thread(&locks, &event, i) && event.thread == (uint32_t)i);
	CHECK(!locks.not_followed);
	CHECK(!locks_find_thread(&locks, &event, LOCKS_THREADS_MAX));
	CHECK(event.thread == KEYS_NONE && locks.not_followed == 1);
	CHECK(!locks_find_thread(&locks, &event, 7) && event.thread == 7);
	free(locks.threads);
	keys_free(&locks.thread_keys);
}

/* Beyond the limit, no thread is known to have ended. */
static void test_functions_of_threads(void)
{
	static const struct locks_operation create = {.action = LOCKS_CREATE};
	struct locks locks = {.start_keys = {.limit = LOCKS_STARTS_MAX},
			.created_keys = {.limit = LOCKS_THREADS_MAX}};
	struct locks_event event = {.operation = &create, .has_object = true};

	for (event.start = 1; event.start <= LOCKS_STARTS_MAX; event.start++) {
		event.object = event.start;
		CHECK(!locks_note_thread(&locks, &event, 1));
	}
	CHECK(locks.start_keys.count == LOCKS_STARTS_MAX && !locks.start_keys.refused);
	event.object = 1;
	locks_note_join(&locks, &event);
	locks_note_join(&locks, &event);
	CHECK(locks.starts[0].created == 1 && locks.starts[0].joined == 1);
	CHECK(!locks_note_thread(&locks, &event, 1));
	CHECK(locks.start_keys.count == LOCKS_STARTS_MAX && locks.start_keys.refused == 1);
	/* The later thread with this pthread_t has an unknown function. */
	locks_note_join(&locks, &event);
	CHECK(locks.starts[0].joined == 1);
	free(locks.starts);
	free(locks.created);
	keys_free(&locks.start_keys);
	keys_free(&locks.created_keys);
}

int main(void)
{
	test_threads();
	test_functions_of_threads();
	return 0;
}
