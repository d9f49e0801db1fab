/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_ITEM_STEPS_H
#define SIDE_PROBE_SPEC_ITEM_STEPS_H

/* Applies `*`, `[]` and `.` to an item. */

#include "item.h"

int item_dereference(struct item *item, struct error *error);
int item_index(struct item *item, uint64_t index, struct error *error);
int item_member(struct item *item, const char *name, struct error *error);

#endif /* SIDE_PROBE_SPEC_ITEM_STEPS_H */
