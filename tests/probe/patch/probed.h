/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROBE_PATCH_PROBED_H
#define TESTS_PROBE_PATCH_PROBED_H

/* Functions that tests probe, and how to find their sites. */

#include "probe/patch/patch.h"

#ifdef __cplusplus
extern "C" {
#endif

int probed_one(int value);
int probed_five(int value);
int probed_three(int value);
int probed_four(int value);
int probed_two(int value);
int probed_bare(int value);
int probed_relative(int value);
int probed_call(int value);
int probed_padding(int value);
int probed_short(int value);
int probed_shorter(int value);
int probed_punned(int value);
int probed_tail(int value);
int probed_tail_deep(int value);
void probed_registers(unsigned long long *output);
void probed_call_with(unsigned long long *output, const unsigned long long *input);

/*
 * probed.cpp: calls `inner` twice, once in the scope of a handler that catches what `inner` throws.
 */
int probed_catch(int value);
int probed_throw(int value);
extern int probed_destroyed;

/* sites.c: returns the site of this function of the program; exits if there is none. */
struct probe_site site_of(const char *name);
/*
 * Returns the site of the instruction that begins at this offset; its method is PROBE_NONE if none
 * does.
 */
struct probe_site site_at(const char *name, unsigned int offset);

#ifdef __cplusplus
}
#endif

#endif /* TESTS_PROBE_PATCH_PROBED_H */
