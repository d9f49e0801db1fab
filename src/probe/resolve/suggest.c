/* SPDX-License-Identifier: MIT */
/* "Did you mean": the nearest of many names, by how many letters are to be changed. */
#include "parts.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 64

/* Up to `most`; more are one more. */
static unsigned int distance(const char *left, const char *right, unsigned int most)
{
	size_t width = strlen(right), height = strlen(left);
	unsigned int row[WORD_MAX + 1], least;

	if (width > WORD_MAX || height > WORD_MAX || width > height + most || height > width + most)
		return most + 1;
	for (size_t i = 0; i <= width; i++)
		row[i] = (unsigned int)i;
	for (size_t y = 1; y <= height; y++) {
		unsigned int diagonal = row[0];

		least = row[0] = (unsigned int)y;
		for (size_t x = 1; x <= width; x++) {
			unsigned int changed = diagonal + (left[y - 1] != right[x - 1]),
				     best = row[x] < row[x - 1] ? row[x] + 1 : row[x - 1] + 1;

			diagonal = row[x];
			row[x] = changed < best ? changed : best;
			least = row[x] < least ? row[x] : least;
		}
		if (least > most)
			return most + 1;
	}
	return row[width];
}

void suggest_begin(struct suggestion *suggestion, const char *word)
{
	/* A third of the letters may be wrong. */
	*suggestion = (struct suggestion){
			.word = word, .distance = (unsigned int)strlen(word) / 3 + 2};
}

void suggest_offer(struct suggestion *suggestion, const char *candidate)
{
	unsigned int found;

	/* The name itself is not a correction. */
	if (!suggestion->distance || !*candidate || !strcmp(candidate, suggestion->word))
		return;
	found = distance(suggestion->word, candidate, suggestion->distance - 1);
	/* One that goes on where the word ends is what was begun to be written. */
	if (found >= suggestion->distance && strlen(suggestion->word) > 3 && !*suggestion->best &&
			strstr(candidate, suggestion->word))
		snprintf(suggestion->best, sizeof(suggestion->best), "%s", candidate);
	if (found >= suggestion->distance)
		return;
	suggestion->distance = found;
	snprintf(suggestion->best, sizeof(suggestion->best), "%s", candidate);
}

const char *suggest_best(const struct suggestion *suggestion)
{
	return *suggestion->best ? suggestion->best : NULL;
}
