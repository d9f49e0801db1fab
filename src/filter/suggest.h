/* SPDX-License-Identifier: MIT */
/* "Did you mean": the nearest of several words, private to this room. Nothing of the C library. */
#ifndef SIDE_FILTER_SUGGEST_H
#define SIDE_FILTER_SUGGEST_H

#include <stddef.h>

#include "filter/filter.h"

/*
 * How many letters must be changed, added, left out or exchanged to make b of a, whatever
 * their case. Words longer than 40 bytes are never near: a large number.
 */
unsigned int filter_distance(const char *a, const char *b);

/* Is this near enough to be what was meant? */
int filter_is_near(const char *word, unsigned int distance);

/* Writes "did you mean `PREFIXword`?" with the nearest of the NULL-terminated words, or "" if none is near. Returns hint. */
const char *filter_hint(const char *word, const char *const *names, const char *prefix,
		char hint[FILTER_HINT_MAX]);

/* The same for one word that the caller has chosen (NULL: ""). */
const char *filter_hint_word(const char *word, const char *prefix, char hint[FILTER_HINT_MAX]);

#endif /* SIDE_FILTER_SUGGEST_H */
