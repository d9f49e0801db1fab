/* SPDX-License-Identifier: MIT */
/* Finds the nearest of several words for a hint; private to this module. Calls no function of the C
   library. */
#ifndef SIDE_FILTER_SUGGEST_H
#define SIDE_FILTER_SUGGEST_H

#include <stddef.h>

#include "filter/filter.h"

/*
 * Edit distance of a and b: changes, insertions and deletions, ignoring case, and swaps of
 * neighbours of the same case. Words longer than 40 bytes are never near: a large number.
 */
unsigned int filter_distance(const char *a, const char *b);

/* True if the distance is small enough for a hint. */
int filter_is_near(const char *word, unsigned int distance);

/* Write "did you mean `PREFIXword`?" with the nearest of the NULL-terminated words, or "" if none
   is near. Returns hint. */
const char *filter_hint(const char *word, const char *const *names, const char *prefix,
		char hint[FILTER_HINT_MAX]);

/* The same for one word that the caller has chosen (NULL: ""). */
const char *filter_hint_word(const char *word, const char *prefix, char hint[FILTER_HINT_MAX]);

#endif /* SIDE_FILTER_SUGGEST_H */
