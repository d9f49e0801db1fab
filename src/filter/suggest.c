/* SPDX-License-Identifier: MIT */
/* Computes the optimal string alignment distance of two words, for hints. */
#include "filter/suggest.h"

#define WORD_MAX 40

static size_t length(const char *word)
{
	size_t size = 0;

	while (word[size] && size <= WORD_MAX)
		size++;
	return size;
}

static char filter_suggest_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned int filter_suggest_min(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

unsigned int filter_distance(const char *a, const char *b)
{
	size_t size_a = length(a), size_b = length(b), i, j;
	unsigned char rows[3][WORD_MAX + 1];
	unsigned char *before = rows[0], *last = rows[1], *row = rows[2], *free_row;

	if (size_a > WORD_MAX || size_b > WORD_MAX)
		return 1000;
	for (j = 0; j <= size_b; j++)
		last[j] = (unsigned char)j;
	for (i = 1; i <= size_a; i++) {
		row[0] = (unsigned char)i;
		for (j = 1; j <= size_b; j++) {
			unsigned int differs = filter_suggest_lower(a[i - 1]) !=
					filter_suggest_lower(b[j - 1]);
			unsigned int best = filter_suggest_min(last[j] + 1u, row[j - 1] + 1u);

			best = filter_suggest_min(best, last[j - 1] + differs);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = filter_suggest_min(best, before[j - 2] + 1u);
			row[j] = (unsigned char)best;
		}
		free_row = before;
		before = last;
		last = row;
		row = free_row;
	}
	return last[size_b];
}

int filter_is_near(const char *word, unsigned int distance)
{
	size_t size = length(word);

	/* A third of the letters may be wrong, but never all of them. */
	return distance < size && distance <= (size < 4 ? 1 : size < 7 ? 2 : size / 3);
}

const char *filter_hint_word(const char *word, const char *prefix, char hint[FILTER_HINT_MAX])
{
	const char *parts[] = {"did you mean `", prefix, word, "`?"};
	size_t size = 0, i;
	const char *at;

	hint[0] = '\0';
	if (!word || length(word) > WORD_MAX)
		return hint;
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		for (at = parts[i]; *at && size < FILTER_HINT_MAX - 1; at++)
			hint[size++] = *at;
	}
	hint[size] = '\0';
	return hint;
}

const char *filter_hint(const char *word, const char *const *names, const char *prefix,
		char hint[FILTER_HINT_MAX])
{
	const char *nearest = NULL;
	unsigned int best = 1000;

	for (; *names; names++) {
		unsigned int distance = filter_distance(word, *names);

		if (distance < best && filter_is_near(word, distance)) {
			best = distance;
			nearest = *names;
		}
	}
	return filter_hint_word(nearest, prefix, hint);
}
