/* SPDX-License-Identifier: MIT */
/*
 * Reads clocks and converts times, in code of traced programs and everywhere else.
 *
 * Every function is async-signal-safe, allocates nothing, and reads no thread-local variable but
 * errno. A time is a number of nanoseconds or milliseconds since the epoch of its clock, as its
 * name says. Sums that do not fit are UINT64_MAX.
 */
#ifndef SIDE_BASE_INSIDE_CLOCK_H
#define SIDE_BASE_INSIDE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_NS_PER_S UINT64_C(1000000000)
#define CLOCK_NS_PER_MS UINT64_C(1000000)
#define CLOCK_MS_PER_S UINT64_C(1000)

static inline uint64_t clock_add(uint64_t time, uint64_t duration)
{
	return duration > UINT64_MAX - time ? UINT64_MAX : time + duration;
}

static inline uint64_t clock_ns_from_ms(uint64_t ms)
{
	return ms > UINT64_MAX / CLOCK_NS_PER_MS ? UINT64_MAX : ms * CLOCK_NS_PER_MS;
}

/* Rounds up: a wait for the result does not end before `ns`. */
static inline uint64_t clock_ms_from_ns(uint64_t ns)
{
	return ns / CLOCK_NS_PER_MS + (ns % CLOCK_NS_PER_MS != 0);
}

/* The clocks of the kernel are not negative, and their nanoseconds are below a second. */
static inline uint64_t clock_ns_from_timespec(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * CLOCK_NS_PER_S + (uint64_t)time->tv_nsec;
}

/*
 * UINT64_MAX ns are 584 years, which the 32-bit time_t of some machines cannot hold: it is the last
 * second then.
 */
static inline struct timespec clock_timespec_from_ns(uint64_t ns)
{
	const uint64_t seconds = ns / CLOCK_NS_PER_S;
	const uint64_t last = sizeof(time_t) < 8 ? INT32_MAX : INT64_MAX;
	struct timespec time = {.tv_sec = (time_t)(seconds < last ? seconds : last)};

	time.tv_nsec = (long)(ns % CLOCK_NS_PER_S);
	return time;
}

/* All clocks that are passed exist on every supported kernel. If one does not, the result is 0. */
static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now);
	return clock_ns_from_timespec(&now);
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* Rounds down, as a clock that is read does. */
static inline uint64_t clock_monotonic_ms(void)
{
	return clock_monotonic_ns() / CLOCK_NS_PER_MS;
}

/* Goes on while the machine sleeps, unlike CLOCK_MONOTONIC. */
static inline uint64_t clock_boottime_ns(void)
{
	return clock_read_ns(CLOCK_BOOTTIME);
}

/* Since 1970; an administrator can set this clock back. */
static inline uint64_t clock_realtime_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

#endif /* SIDE_BASE_INSIDE_CLOCK_H */
