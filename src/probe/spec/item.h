/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_ITEM_H
#define SIDE_PROBE_SPEC_ITEM_H

/* An item: an object with a type at one location, and the plain steps from it to others. */

#include "locate.h"

struct nearest;

struct item {
	const struct locate_frame *location;
	struct located where;
	uint64_t at;            /* offset of the item in the value or in the pieces */
	Dwarf_Die type;         /* stripped (type_plain()) */
	unsigned int dimension; /* of an array with several: number of indexes already applied */
	/* the value is an address that was taken with `&`; its type does not matter */
	bool is_address;
	bool is_count; /* the value is an unsigned number of 8 bytes; its type does not matter */
	bool guarded;  /* reached through a pointer, so its memory may be invalid */
	bool is_part;  /* one of the two numbers of a complex number (type) */
	bool borrowed; /* the object that a reference of Rust refers to */
	unsigned int bits, bit; /* of a bit field: number of bits and first bit; otherwise 0 */
};

/* A member of the type of an item, which may be in a base class or in a member without a name. */
struct item_member {
	Dwarf_Die die;
	uint64_t offset; /* in the item, in bytes */
};

/* If the item is a reference, steps to what it refers to. */
int item_follow_reference(struct item *item, struct error *error);
/*
 * Steps from a pointer, an address or an array to what it refers to. Types of libraries are
 * structures here: item_dereference() (item-steps.h) knows them.
 */
int item_follow(struct item *item, struct error *error);
int item_address(struct item *item, struct error *error);
/* Steps to the object whose members `.` selects: as in gdb and Rust, `.` also follows a pointer. */
int item_follow_to_members(struct item *item, struct error *error);
/*
 * Finds a member by name, also in base classes. Offers the names that it compares to `nearest`,
 * which can be NULL.
 */
bool item_find_member(struct item *item, const char *name, struct nearest *nearest,
		struct item_member *ret_member);
/* Steps to that member, and to what it refers to if it is a reference. */
int item_enter_member(struct item *item, struct item_member *member, struct error *error);
/* Steps to a member, ignoring library types, without an error message. Returns 0 or -ENOENT. */
int item_own_member(struct item *item, const char *name);
/* Steps to a member or base class of the debug information. */
int item_enter(struct item *item, Dwarf_Die *member, struct error *error);
/* If this unit only declares the item's type, replaces it by the definition in another unit. */
void item_complete(struct item *item);
/* Gets the size of the item, or of a row of an array, in bytes. Returns false if it is unknown. */
bool item_size(struct item *item, uint64_t *ret_size);
/* Loads the item's first `size` bytes as a number, from wherever it is. */
int item_load(struct item *item, unsigned int size, struct error *error);
int item_too_long(struct error *error);

#endif /* SIDE_PROBE_SPEC_ITEM_H */
