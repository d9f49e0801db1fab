/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_MEMBERS_H
#define SIDE_PROBE_SPEC_MEMBERS_H

/* A structure as several fields. */

#include "item.h"

/*
 * Converts a structure to a field and, after it, the fields of its members, which may be
 * structures too; anything else becomes one value. At most `capacity` values. `*ret_left_out`: some
 * members are missing.
 */
int item_values(struct item *item, struct value *ret_values, size_t capacity, size_t *ret_count,
		bool *ret_left_out, struct error *error);

#endif /* SIDE_PROBE_SPEC_MEMBERS_H */
