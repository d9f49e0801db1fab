/* SPDX-License-Identifier: MIT */
/* For test-unwind.py: stops once in a handler, and once in a function whose callers' returns are watched. */
#include "places.h"

#include <stdio.h>

#define HANDLER __attribute__((target("general-regs-only"), noinline))
#ifdef __clang__
#define NEVER_INLINE __attribute__((noinline, optnone))
#else
#define NEVER_INLINE __attribute__((noipa))
#endif

/* A debugger has breakpoints on both. */
static NEVER_INLINE int stop_inside(int value)
{
	return value + 1;
}

static HANDLER void stop_handler(const struct patch_hit *hit)
{
	__asm__ volatile("" ::"r"(hit) : "memory");
}

static NEVER_INLINE int unwound_inner(int value)
{
	int got = stop_inside(value) + 1;

	__asm__ volatile("" : "+r"(got)::"memory");
	return got;
}

static NEVER_INLINE int unwound_outer(int value)
{
	int got = unwound_inner(value) + 1;

	__asm__ volatile("" : "+r"(got)::"memory");
	return got;
}

int main(void)
{
	struct probe_site inner = site_of("unwound_inner"), outer = site_of("unwound_outer");
	struct patch_request requests[2] = {
			{.site = &inner, .entry = stop_handler, .flags = PATCH_EXIT},
			{.site = &outer, .flags = PATCH_EXIT}};

	if (patch_start(false))
		return 77;
	if (patch_set(requests, 2))
		return 1;
	printf("%d\n", unwound_outer(1));
	return 0;
}
