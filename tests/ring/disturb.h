/* SPDX-License-Identifier: MIT */
/* Interrupts a thread by signals, at times that drift relative to its work. */
#ifndef TESTS_RING_DISTURB_H
#define TESTS_RING_DISTURB_H

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "decode.h"

/* Interrupts the calling thread with this signal repeatedly, until timer_delete(). */
static inline timer_t disturb(int signal, long period_ns)
{
	struct itimerspec period = {{0, period_ns}, {0, period_ns}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal};
	timer_t timer;

	event._sigev_un._tid = gettid();
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer");
	CHECK(timer_settime(timer, 0, &period, NULL) == 0, "timer");
	return timer;
}

#endif /* TESTS_RING_DISTURB_H */
