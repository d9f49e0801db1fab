/* SPDX-License-Identifier: MIT */
/* Sleeps until a deadline. */
#include <time.h>

#include "base/clock.h"

int deadline_sleep(uint64_t deadline)
{
	const struct timespec until = deadline_timespec(deadline);

	return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}
