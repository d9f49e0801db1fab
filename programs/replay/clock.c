/* SPDX-License-Identifier: MIT */
/*
 * Converts CLOCK_MONOTONIC of kernel events to the clock of the rings, by linear interpolation
 * between two samples; the later one is the current one.
 */
#include "replay.h"

#define APART_NS 500000000

/* The line goes through `before` and `now`. `middle` becomes `before` when it is old enough. */
static struct ring_clock_sample before, middle, now;
static int kind = -1; /* enum ring_clock; cached, because ring_clock_choose() makes a system call */

void clock_check(void)
{
	struct ring_clock_sample sample;

	if (kind < 0)
		kind = (int)ring_clock_choose();
	if (ring_clock_sample((enum ring_clock)kind, &sample))
		return;
	now = sample;
	if (!before.ticks)
		before = middle = sample;
	if (now.monotonic_ns - middle.monotonic_ns > APART_NS) {
		before = middle;
		middle = now;
	}
}

uint64_t clock_ticks(uint64_t monotonic_ns)
{
	int64_t span = now.monotonic_ns - before.monotonic_ns;
	int64_t since = (int64_t)monotonic_ns - before.monotonic_ns;

	if (kind == RING_CLOCK_MONOTONIC || span <= 0)
		return monotonic_ns;
	return before.ticks +
			(uint64_t)(int64_t)((__int128)since * (int64_t)(now.ticks - before.ticks) /
					span);
}
