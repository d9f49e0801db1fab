/* SPDX-License-Identifier: MIT */
/*
 * The fences between the addition of a range of callers and the end of all ranges. A range that is
 * added at the moment of the end must not stay.
 */
#include "probe/patch/callers.c"

#include "litmus.h"

static void range_reset(void)
{
	__atomic_store_n(&ended, false, __ATOMIC_RELAXED);
	__atomic_store_n(&ranges[0].size, 0, __ATOMIC_RELAXED);
}

static void range_touch(void)
{
	(void)__atomic_load_n(&ended, __ATOMIC_RELAXED);
	(void)__atomic_load_n(&ranges[0].size, __ATOMIC_RELAXED);
}

static void range_put(void)
{
	patch_callers_store_range(0, 0x1000, 0x1000);
}

static bool range_is_left(void)
{
	return __atomic_load_n(&ranges[0].size, __ATOMIC_RELAXED) != 0;
}

static const struct litmus test = {"callers: put, end", range_reset, range_touch, range_put,
		patch_callers_end, range_is_left, false};

int main(void)
{
	setlinebuf(stdout);
	litmus_run(&litmus_plain);
	return litmus_run(&test) != 0;
}
