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

int main(void)
{
	test_threads();
	return 0;
}
