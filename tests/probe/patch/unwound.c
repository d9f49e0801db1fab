/* SPDX-License-Identifier: MIT */
/*
 * For test-unwind.py: stops once in a handler, once in a function whose callers' returns are
 * watched, and once in the handler of a probe that is in the middle of a function.
 */
#include "probed.h"

#include <stdio.h>

#define HANDLER __attribute__((target("general-regs-only"), noinline))
#ifdef __clang__
#define NEVER_INLINE __attribute__((noinline, optnone))
#else
#define NEVER_INLINE __attribute__((noipa))
#endif

/* A debugger sets breakpoints on both. */
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

/* Its stack pointer is elsewhere in its middle. */
static NEVER_INLINE int unwound_middle(int value)
{
	volatile int some[20];

	some[value] = value;
	__asm__ volatile("" ::: "rbx", "r12", "r13");
	return some[value];
}

/* A debugger sets a breakpoint there. */
__attribute__((used)) static uint64_t unwound_springboard;

static NEVER_INLINE int unwound_short(int value)
{
	int got = probed_short(value) + 1;

	__asm__ volatile("" : "+r"(got)::"memory");
	return got;
}

/* The first site after all instructions that move the stack pointer. */
static struct probe_site middle_of(const char *name)
{
	struct probe_site site;
	unsigned int at = 16;

	do
		site = site_at(name, at++);
	while (!site.nr_pieces || site.method == PROBE_NONE);
	return site;
}

int main(void)
{
	struct probe_site middle = middle_of("unwound_middle");
	struct patch_setup inside = {.site = &middle, .entry = stop_handler};
	struct probe_site at_short = site_of("probed_short");
	struct patch_setup setup = {.site = &at_short, .entry = stop_handler};
	struct probe_site inner = site_of("unwound_inner"), outer = site_of("unwound_outer");
	struct patch_setup setups[2] = {
			{.site = &inner, .entry = stop_handler, .flags = PATCH_EXIT},
			{.site = &outer, .flags = PATCH_EXIT}};

	if (patch_start(false))
		return 77;
	if (patch_set(setups, 2) || patch_set(&inside, 1) || patch_set(&setup, 1))
		return 1;
	unwound_springboard = at_short.runtime + (at_short.springboard - at_short.address);
	printf("%d\n", unwound_outer(1) + unwound_middle(0) + unwound_short(0));
	return 0;
}
