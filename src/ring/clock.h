/* SPDX-License-Identifier: MIT */
/*
 * Reading the clock of a ring in the hot paths. Private to this module; others use
 * ring_clock_now().
 */
#ifndef SIDE_RING_CLOCK_H
#define SIDE_RING_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "ring/ring.h"

#if defined(__x86_64__) || defined(__i386__)
#define RING_CLOCK_HAS_TSC 1
#else
#define RING_CLOCK_HAS_TSC 0
#endif

static inline uint64_t ring_clock_read_tsc(void)
{
#if RING_CLOCK_HAS_TSC
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

static inline int64_t ring_clock_read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline uint64_t ring_clock_read(enum ring_clock clock)
{
	return clock == RING_CLOCK_TSC ? ring_clock_read_tsc()
				       : (uint64_t)ring_clock_read_ns(CLOCK_MONOTONIC);
}

/* Whether this process may execute rdtsc (prctl(PR_SET_TSC) can forbid it). */
bool ring_clock_tsc_permitted(void);

#endif /* SIDE_RING_CLOCK_H */
