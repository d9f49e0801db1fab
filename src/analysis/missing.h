/* SPDX-License-Identifier: MIT */
/* Fields and contexts that an expression names and no event has: the names that exist, and what was probably meant. */
#ifndef SIDE_ANALYSIS_MISSING_H
#define SIDE_ANALYSIS_MISSING_H

#include "analysis/where.h"
#include "base/nearest/nearest.h"

#include <stdbool.h>
#include <stddef.h>

struct missing {
	bool is_bound;  /* some class of events has all that the expression names */
	char name[128]; /* "size", "$ctx.vtid": the first name that a class did not have; or "" */
	char fields[512];
	size_t nr_fields;
	struct nearest nearest;
};

/* where_bind() to the class of one more event; `missing` may be NULL, and must not move after the first. */
int missing_bind(struct missing *missing, const struct where *where, const struct ctf_item *item,
		const struct view_event *event, struct where_bound **bound);

/* No class of events can have a value of the expression, because of that name. */
bool missing_is_known(const struct missing *missing);

/* Writes the reason, such as "no event has `prize`: there is table, price". Returns `text`. */
#define MISSING_TEXT_SIZE 768
const char *missing_text(const struct missing *missing, char text[MISSING_TEXT_SIZE]);
/* "did you mean `price`?", "record with `--context vtid`"; NULL if there is neither. */
const char *missing_hint(const struct missing *missing, char hint[NEAREST_TEXT_SIZE]);

#endif /* SIDE_ANALYSIS_MISSING_H */
