/* SPDX-License-Identifier: MIT */
/* Conversions, deadlines and timeouts, at their limits. */
#include <errno.h>
#include <limits.h>

#include "../check.h"
#include "base/clock.h"

static void test_sums(void)
{
	CHECK(clock_add(1, 2) == 3);
	CHECK(clock_add(UINT64_MAX - 1, 1) == UINT64_MAX);
	CHECK(clock_add(UINT64_MAX, 1) == UINT64_MAX);
	CHECK(clock_ns_from_ms(UINT64_MAX / 1000000) == UINT64_MAX / 1000000 * 1000000);
	CHECK(clock_ns_from_ms(UINT64_MAX / 1000000 + 1) == UINT64_MAX);
	CHECK(clock_ms_from_ns(0) == 0 && clock_ms_from_ns(1) == 1);
	CHECK(clock_ms_from_ns(1000000) == 1 && clock_ms_from_ns(1000001) == 2);
	CHECK(clock_ms_from_ns(UINT64_MAX) == UINT64_MAX / 1000000 + 1);
}

static void test_timespec(void)
{
	const struct timespec time = {.tv_sec = 3, .tv_nsec = 999999999};
	struct timespec back = clock_timespec_from_ns(3999999999);

	CHECK(clock_ns_from_timespec(&time) == 3999999999);
	CHECK(back.tv_sec == 3 && back.tv_nsec == 999999999);
	back = deadline_timespec(4000000000);
	CHECK(back.tv_sec == 4 && back.tv_nsec == 0);
	back = deadline_timespec(DEADLINE_NEVER);
	CHECK(back.tv_sec > 2000000000 && back.tv_nsec >= 0 && back.tv_nsec < 1000000000);
}

static void test_remaining(void)
{
	const uint64_t limit = (uint64_t)INT_MAX * 1000000;

	CHECK(!deadline_is_over_at(6, 5) && deadline_is_over_at(5, 5));
	CHECK(!deadline_is_over_at(DEADLINE_NEVER, UINT64_MAX));
	CHECK(deadline_remaining_ns_at(6, 5) == 1 && deadline_remaining_ns_at(5, 6) == 0);
	CHECK(deadline_remaining_ns_at(DEADLINE_NEVER, 5) == DEADLINE_NEVER);
	CHECK(deadline_remaining_ms_at(5, 5) == 0 && deadline_remaining_ms_at(6, 5) == 1);
	CHECK(deadline_remaining_ms_at(1000000, 0) == 1);
	CHECK(deadline_remaining_ms_at(limit, 0) == INT_MAX);
	CHECK(deadline_remaining_ms_at(limit + 1, 0) == INT_MAX);
	CHECK(deadline_remaining_ms_at(DEADLINE_NEVER - 1, 0) == INT_MAX);
	CHECK(deadline_remaining_ms_at(DEADLINE_NEVER, 0) == -1);
	CHECK(deadline_remaining_ms(0) == 0 && deadline_remaining_ns(0) == 0);
}

static void test_clocks(void)
{
	uint64_t before = clock_monotonic_ns(), deadline = deadline_after_ms(5);

	CHECK(before && deadline >= before + 5000000);
	CHECK(clock_monotonic_ms() >= before / 1000000);
	CHECK(clock_boottime_ns() >= before && clock_realtime_ns());
	CHECK(clock_read_ns((clockid_t)1000) == 0);
	CHECK(deadline_after_ms(-1) == DEADLINE_NEVER);
	CHECK(deadline_after_ms(INT64_MAX) == DEADLINE_NEVER);
	CHECK(!deadline_sleep(deadline) && deadline_is_over(deadline));
	CHECK(!deadline_sleep(0) && deadline_is_over(0) && !deadline_is_over(DEADLINE_NEVER));
}

int main(void)
{
	test_sums();
	test_timespec();
	test_remaining();
	test_clocks();
	return 0;
}
