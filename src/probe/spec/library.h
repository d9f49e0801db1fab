/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_LIBRARY_H
#define SIDE_PROBE_SPEC_LIBRARY_H

/* Values of standard library types: strings, vectors, pointers and others. */

#include "item.h"

/* Consecutive elements in memory. */
struct sequence {
	struct item first;
	struct fetch count; /* computes the number of elements, if `fixed` is 0 */
	uint64_t fixed;     /* constant number of elements; 0: see `count` */
	bool text;          /* the elements are text, whatever their type */
	bool optional;      /* no element or one */
	bool lost; /* it is a sequence, but the compiler has not kept all of it at this location */
};

/* Returns false if the item is not a sequence of a known library. */
bool library_sequence(struct item *item, struct sequence *ret_sequence);
/* Reports that the sequence is lost. Returns -ENOENT. */
int library_lost(struct error *error);
/*
 * Replaces a smart pointer of a library by the plain pointer in it. Returns false if the item is
 * not one.
 */
bool library_pointer(struct item *item);
/*
 * Replaces a smart pointer of a library by the object it points to. Returns false if the item is
 * not one; else `*ret_status` is the result.
 */
bool library_pointee(struct item *item, int *ret_status, struct error *error);
/*
 * Replaces a structure that contains only a number or a pointer, such as an atomic, by that.
 * Returns false if the item is not one.
 */
bool library_unwrap(struct item *item);
/*
 * Applies `*` to an item of a library type. Returns false if it is not one; else `*ret_status` is
 * the result, as of item_dereference().
 */
bool library_dereference(struct item *item, int *ret_status, struct error *error);
/* Applies the method `name` to the item: `item.name()`. */
int library_method(struct item *item, const char *name, struct error *error);

#endif /* SIDE_PROBE_SPEC_LIBRARY_H */
