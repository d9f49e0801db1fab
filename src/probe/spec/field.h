/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_FIELD_H
#define SIDE_PROBE_SPEC_FIELD_H

/* The value of an event field, all but its name, from an item. */

#include "item.h"

int item_value(struct item *item, struct value *value, struct error *error);

/*
 * Whether the structure is recorded as one value: a library type, or an enum of Rust with variants.
 */
bool item_is_single(struct item *item);

/* A number of elements: constant, or computed by a fetch. */
struct item_count {
	uint64_t known; /* 0: computed by `fetch` */
	struct fetch fetch;
};

/* Converts `count` elements, beginning with the item. */
int item_several(struct item *item, const struct item_count *count, struct value *value,
		struct error *error);
/*
 * Converts to text or bytes, at the address that the item has or points to. `count` may be NULL:
 * the item's own length.
 */
int item_text(struct item *item, const struct item_count *count, struct value *value,
		struct error *error);
int item_bytes(struct item *item, const struct item_count *count, struct value *value,
		struct error *error);

#endif /* SIDE_PROBE_SPEC_FIELD_H */
