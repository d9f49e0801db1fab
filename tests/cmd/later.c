/* SPDX-License-Identifier: MIT */
/* Preloaded: each question for the time is two seconds later, so that all work is long. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
	static _Thread_local time_t added;
	int ret = (int)syscall(SYS_clock_gettime, clock, time);

	if (!ret && clock == CLOCK_MONOTONIC)
		time->tv_sec += added += 2;
	return ret;
}
