/* SPDX-License-Identifier: MIT */
/* "Did you mean": the names that are nearest to a word, for all commands. Nothing is allocated. */
#ifndef SIDE_BASE_NEAREST_NEAREST_H
#define SIDE_BASE_NEAREST_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_MAX 3
#define NEAREST_NAME_SIZE 256
/* Enough for NEAREST_MAX names with their prefixes. */
#define NEAREST_TEXT_SIZE 1024

struct nearest {
	const char *word; /* as it was typed */
	size_t count;
	struct {
		char name[NEAREST_NAME_SIZE];
		unsigned int cost;
	} names[NEAREST_MAX]; /* the nearest first */
};

/* The word must stay valid until the last nearest_offer(). */
void nearest_begin(struct nearest *nearest, const char *word);
/* Offers one name that exists. The word itself is not a correction of itself. NULL is ignored. */
void nearest_offer(struct nearest *nearest, const char *name);
/* symbolize/offer.c: the name of a function for people, with its arguments and without them. */
void nearest_offer_function(struct nearest *nearest, const char *symbol);
/* How many names are equally likely: those that need no more changes than the nearest one. */
size_t nearest_likely(const struct nearest *nearest);
/* The nearest name, or NULL if none is near. */
const char *nearest_best(const struct nearest *nearest);
/*
 * "did you mean `PREFIXone`, `PREFIXtwo` or `PREFIXthree`?" with what is equally likely; "" if no
 * name is near. True if there is one.
 */
bool nearest_text(const struct nearest *nearest, const char *prefix, char *text, size_t size);

#endif /* SIDE_BASE_NEAREST_NEAREST_H */
