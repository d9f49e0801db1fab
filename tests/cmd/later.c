/* SPDX-License-Identifier: MIT */
/*
 * Preloaded: each query of the clock returns a time that is two seconds later, so that all work
 * takes long.
 */
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
