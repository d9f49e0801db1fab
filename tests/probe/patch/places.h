/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROBE_PATCH_PLACES_H
#define TESTS_PROBE_PATCH_PLACES_H

/* Functions that tests probe, and how to find their sites. */

#include "probe/patch/patch.h"

#ifdef __cplusplus
extern "C" {
#endif

int place_one(int value);
int place_five(int value);
int place_three(int value);
int place_four(int value);
int place_two(int value);
int place_bare(int value);
int place_relative(int value);
int place_call(int value);
int place_padding(int value);
int place_short(int value);
int place_shorter(int value);
int place_punned(int value);
int place_tail(int value);
int place_tail_deep(int value);
void place_registers(unsigned long long *output);
void place_call_with(unsigned long long *output, const unsigned long long *input);

/*
 * places.cpp: calls `inner` twice, once in the scope of a handler that catches what `inner` throws.
 */
int place_catch(int value);
int place_throw(int value);
extern int place_destroyed;

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

#endif /* TESTS_PROBE_PATCH_PLACES_H */
