/* SPDX-License-Identifier: MIT */
/*
 * Expressions (src/filter) over the events of a trace: `--filter`, `--by`, `--histogram`, `--key`.
 *
 * An expression is parsed once, bound once to each class of events, and then asked for each record.
 * Neither changes afterwards: any number of threads may ask at a time.
 */
#ifndef SIDE_ANALYSIS_WHERE_H
#define SIDE_ANALYSIS_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/ctf.h"
#include "filter/filter.h"

struct error;
struct view_event;

struct where {
	void *program;
	size_t size;
	const char *text; /* As the user wrote it; not copied. */
};

/*
 * `text` must live as long as `where`. `option` is its name in messages: "filter". 0 or a negative errno; the kind is ERROR_USAGE, with a
 * position, for an invalid expression. where_free() in both cases.
 */
int where_parse(const char *option, const char *text, struct where *where, struct error *error);
void where_free(struct where *where);

/*
 * Bind to the class of an event, of which this is a record. @event lays the description over the
 * fields; it must live as long. 0 with *bound NULL: records of this class never have a value (*why
 * has the reason; it may be NULL). -ENOMEM.
 */
struct where_bound;
struct where_reason {
	struct filter_error error;
	char missing[128]; /* the first field or context that the class does not have: "size", "$ctx.vtid"; or "" */
};
int where_bind(const struct where *where, const struct ctf_item *item,
		const struct view_event *event, struct where_bound **bound,
		struct where_reason *why);
void where_bound_free(struct where_bound *bound);

/* How the value of an expression is shown. */
struct where_form {
	uint8_t base;    /* Of integers: 2, 8, 10 or 16. */
	uint8_t address; /* enum address_kind */
};
/* That of the field or context, if the expression is nothing else; @item and @event are those of where_bind(). */
struct where_form where_form(const struct where *where, const struct where_bound *bound,
		const struct ctf_item *item, const struct view_event *event);

bool where_matches(const struct where_bound *bound, const struct ctf_item *item);
/* False: no value here. Strings are UTF-8 inside the item. */
bool where_evaluate(const struct where_bound *bound, const struct ctf_item *item,
		struct filter_value *value);

/* Labels of the value of an enumeration; as filter_loader's. */
const char *where_label(
		void *nothing, const struct filter_value *value, uint32_t *at, size_t *size);

#endif /* SIDE_ANALYSIS_WHERE_H */
