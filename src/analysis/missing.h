/* SPDX-License-Identifier: MIT */
/*
 * Names in expressions that no event has: which fields exist, and which name the user probably
 * meant.
 */
#ifndef SIDE_ANALYSIS_MISSING_H
#define SIDE_ANALYSIS_MISSING_H

#include "analysis/where.h"
#include "base/nearest/nearest.h"

#include <stdbool.h>
#include <stddef.h>

struct missing {
	bool is_bound; /* some event class has all names of the expression */
	/* the first name that an event class did not have, such as "size" or "$ctx.vtid"; or "" */
	char name[128];
	char fields[512];
	size_t nr_fields;
	struct nearest nearest;
};

/*
 * Calls where_bind() for one more event class. `missing` may be NULL. It must not move after the
 * first call.
 */
int missing_bind(struct missing *missing, const struct where *where, const struct ctf_item *item,
		const struct view_event *event, struct where_bound **ret_bound);

/* No event class can have a value of the expression, because none has that name. */
bool missing_is_known(const struct missing *missing);

/* Writes the reason, such as "no event has `prize`: there is table, price". Returns `text`. */
#define MISSING_TEXT_SIZE 768
const char *missing_text(const struct missing *missing, char text[MISSING_TEXT_SIZE]);
/* Returns "did you mean `price`?" or "record with `--context vtid`" in `hint`, or NULL. */
const char *missing_hint(const struct missing *missing, char hint[NEAREST_TEXT_SIZE]);

#endif /* SIDE_ANALYSIS_MISSING_H */
