/* SPDX-License-Identifier: MIT */
/*
 * Expressions (src/filter) over the events of a trace: `--filter`, `--by`, `--histogram`, `--key`.
 *
 * An expression is parsed once, bound once to each event class, and then evaluated for each record.
 * Neither result changes afterwards: any number of threads can evaluate it at the same time.
 */
#ifndef SIDE_ANALYSIS_WHERE_H
#define SIDE_ANALYSIS_WHERE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/where-form.h"
#include "ctf/ctf.h"
#include "filter/filter.h"

struct error;
struct view_event;

struct where {
	void *program;
	size_t size;
	const char *text; /* as the user wrote it; not copied */
};

/*
 * Parses an expression. `text` must live as long as `where`. `option` is its name in messages:
 * "filter". 0 or a negative errno; the kind is ERROR_USAGE, with a position, for an invalid
 * expression. Call where_free() in both cases.
 */
int where_parse(const char *option, const char *text, struct where *where, struct error *error);
void where_free(struct where *where);

/*
 * Binds an expression to the event class of `item`. `event` describes the fields, and must live as
 * long as *bound. 0 or -ENOMEM. *bound is NULL if records of this class never have a value; then
 * *why, which may be NULL, has the reason.
 */
struct where_bound;
struct where_reason {
	struct filter_error error;
	/* the first field or context that the class does not have: "size", "$ctx.vtid"; or "" */
	char missing[128];
};
int where_bind(const struct where *where, const struct ctf_item *item,
		const struct view_event *event, struct where_bound **ret_bound,
		struct where_reason *why);
void where_bound_free(struct where_bound *bound);

/*
 * The form of the field or context if the expression consists of one. `item` and `event` are those
 * of where_bind().
 */
struct where_form where_form(const struct where *where, const struct where_bound *bound,
		const struct ctf_item *item, const struct view_event *event);

bool where_matches(const struct where_bound *bound, const struct ctf_item *item);
/* False: the record has no value. Strings are UTF-8 and belong to the item. */
bool where_evaluate(const struct where_bound *bound, const struct ctf_item *item,
		struct filter_value *ret_value);

#endif /* SIDE_ANALYSIS_WHERE_H */
