/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_LABELS_H
#define SIDE_PROBE_SPEC_LABELS_H

/* The labels of an enumeration. */

#include "item.h"

/*
 * Returns the labels of an enumeration, or of the variants of a Rust enum, in the form of
 * a table; the caller frees them. Labels that do not fit are left out. NULL: out of memory.
 */
char *item_labels(Dwarf_Die *enumeration);

#endif /* SIDE_PROBE_SPEC_LABELS_H */
