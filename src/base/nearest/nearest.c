/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean": the optimal string alignment distance (insertions, deletions, changes and swaps
 * of neighbours), without regard to case, and with `-` and `_` alike.
 */
#include "base/nearest/nearest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 64
#define COST_NONE UINT32_MAX
#define COST_CHANGE 256u

static char nearest_fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '-' ? '_' : c;
}

static unsigned int nearest_least(unsigned int one, unsigned int other)
{
	return one < other ? one : other;
}

static unsigned int nearest_distance(const char *word, const char *name)
{
	const size_t height = strlen(word), width = strlen(name);
	unsigned int rows[3][WORD_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2];

	if (height > WORD_MAX || width > WORD_MAX)
		return COST_NONE;
	for (size_t x = 0; x <= width; x++)
		last[x] = (unsigned int)x;
	for (size_t y = 1; y <= height; y++) {
		const char here = nearest_fold(word[y - 1]);
		unsigned int *const oldest = before;

		row[0] = (unsigned int)y;
		for (size_t x = 1; x <= width; x++) {
			const char there = nearest_fold(name[x - 1]);

			row[x] = nearest_least(last[x - 1] + (here != there),
					nearest_least(last[x], row[x - 1]) + 1);
			if (y > 1 && x > 1 && here == nearest_fold(name[x - 2]) &&
					nearest_fold(word[y - 2]) == there)
				row[x] = nearest_least(row[x], before[x - 2] + 1);
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[width];
}

/* The letters that a beginning or a part of the name lacks: less than one change. */
static unsigned int nearest_missing(const char *name, size_t length)
{
	return (unsigned int)(strlen(name) - length) % COST_CHANGE;
}

/* A beginning of at least two letters costs one change, a part of at least four letters two. */
static unsigned int nearest_cost(const char *word, const char *name)
{
	const size_t length = strlen(word);
	const size_t size = strlen(name), most = 1 + size / 3;
	unsigned int cost;

	if (length >= 2 && !strncmp(word, name, length))
		return COST_CHANGE + nearest_missing(name, length);
	if (length >= 4 && strstr(name, word))
		return 2 * COST_CHANGE + nearest_missing(name, length);
	/* At most a third of the letters, and never all of them. */
	if (length > size + most || size > length + most)
		return COST_NONE;
	cost = nearest_distance(word, name);
	return cost > most || cost >= length ? COST_NONE : cost * COST_CHANGE;
}

void nearest_begin(struct nearest *nearest, const char *word)
{
	nearest->word = word;
	nearest->count = 0;
}

void nearest_offer(struct nearest *nearest, const char *name)
{
	unsigned int cost;
	size_t at;

	if (!name || !*name || strlen(name) >= NEAREST_NAME_SIZE || !strcmp(name, nearest->word))
		return;
	cost = nearest_cost(nearest->word, name);
	if (cost == COST_NONE)
		return;
	for (size_t i = 0; i < nearest->count; i++) {
		if (!strcmp(nearest->names[i].name, name))
			return;
	}
	for (at = nearest->count; at && nearest->names[at - 1].cost > cost; at--)
		if (at < NEAREST_MAX)
			nearest->names[at] = nearest->names[at - 1];
	if (at == NEAREST_MAX)
		return;
	nearest->names[at].cost = cost;
	snprintf(nearest->names[at].name, sizeof(nearest->names[at].name), "%s", name);
	if (nearest->count < NEAREST_MAX)
		nearest->count++;
}

const char *nearest_best(const struct nearest *nearest)
{
	return nearest->count ? nearest->names[0].name : NULL;
}

size_t nearest_likely(const struct nearest *nearest)
{
	size_t count = 0;

	while (count < nearest->count && nearest->names[count].cost == nearest->names[0].cost)
		count++;
	return count;
}

bool nearest_text(const struct nearest *nearest, const char *prefix, char *text, size_t size)
{
	const size_t count = nearest_likely(nearest);
	size_t used;

	*text = '\0';
	if (!count)
		return false;
	used = (size_t)snprintf(text, size, "did you mean ");
	for (size_t i = 0; i < count && used < size; i++) {
		const char *between = !i ? "" : i + 1 < count ? ", " : " or ";

		used += (size_t)snprintf(text + used, size - used, "%s`%s%s`", between, prefix,
				nearest->names[i].name);
	}
	if (used < size)
		snprintf(text + used, size - used, "?");
	return true;
}
