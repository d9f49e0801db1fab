/* SPDX-License-Identifier: MIT */
/*
 * Deadlines of programs: times of CLOCK_MONOTONIC in nanoseconds, or never.
 *
 * A function whose name ends with _at gets the present time from its caller, the others read the
 * clock.
 */
#ifndef SIDE_BASE_CLOCK_H
#define SIDE_BASE_CLOCK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/inside/clock.h"

#define DEADLINE_NEVER UINT64_MAX

static inline uint64_t deadline_after_ns(uint64_t ns)
{
	return clock_add(clock_monotonic_ns(), ns);
}

/* Negative: never, as for poll(). */
static inline uint64_t deadline_after_ms(int64_t ms)
{
	return ms < 0 ? DEADLINE_NEVER : deadline_after_ns(clock_ns_from_ms((uint64_t)ms));
}

static inline bool deadline_is_over_at(uint64_t deadline, uint64_t now)
{
	return deadline != DEADLINE_NEVER && now >= deadline;
}

static inline bool deadline_is_over(uint64_t deadline)
{
	return deadline_is_over_at(deadline, clock_monotonic_ns());
}

/* 0: it is over; DEADLINE_NEVER: it never is. */
static inline uint64_t deadline_remaining_ns_at(uint64_t deadline, uint64_t now)
{
	if (deadline == DEADLINE_NEVER)
		return DEADLINE_NEVER;
	return deadline > now ? deadline - now : 0;
}

static inline uint64_t deadline_remaining_ns(uint64_t deadline)
{
	return deadline_remaining_ns_at(deadline, clock_monotonic_ns());
}

/*
 * The timeout of poll() and epoll_wait(): -1 is never. Rounds up, because a wait that ends too
 * early would be repeated with a timeout of 0 until the deadline. A wait of INT_MAX ms ends before
 * a later deadline, and is repeated by its caller.
 */
static inline int deadline_remaining_ms_at(uint64_t deadline, uint64_t now)
{
	uint64_t ms;

	if (deadline == DEADLINE_NEVER)
		return -1;
	ms = clock_ms_from_ns(deadline_remaining_ns_at(deadline, now));
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

static inline int deadline_remaining_ms(uint64_t deadline)
{
	return deadline_remaining_ms_at(deadline, clock_monotonic_ns());
}

/* For functions that wait until a time of CLOCK_MONOTONIC, such as pthread_cond_clockwait(). */
static inline struct timespec deadline_timespec(uint64_t deadline)
{
	return clock_timespec_from_ns(deadline);
}

/*
 * Sleeps until the deadline. 0, or -EINTR after the handler of a signal. DEADLINE_NEVER: until a
 * signal.
 */
int deadline_sleep(uint64_t deadline);

#endif /* SIDE_BASE_CLOCK_H */
