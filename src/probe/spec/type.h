/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_TYPE_H
#define SIDE_PROBE_SPEC_TYPE_H

/* An item: an object with a type at one location, and the steps from it to others. */

#include "locate.h"

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

int item_follow_reference(struct item *item, struct error *error);
int item_dereference(struct item *item, struct error *error);
int item_address(struct item *item, struct error *error);
int item_index(struct item *item, uint64_t index, struct error *error);
int item_member(struct item *item, const char *name, struct error *error);
/* Step to a member, ignoring library types, without an error message. Returns 0 or -ENOENT. */
int item_own_member(struct item *item, const char *name);
/* Step to a member or base class of the debug information. */
int item_enter(struct item *item, Dwarf_Die *member, struct error *error);
/* If this unit only declares the item's type, replace it by the definition in another unit. */
void item_complete(struct item *item);
/* Get the size of the item, or of a row of an array, in bytes. Returns false if it is unknown. */
bool item_size(struct item *item, uint64_t *ret_size);
/* Load the item's first `size` bytes as a number, from wherever it is. */
int item_load(struct item *item, unsigned int size, struct error *error);
int item_too_long(struct error *error);

/* ---- field.c: as the value of a field, all but its name ---- */

int item_value(struct item *item, struct value *value, struct error *error);

/*
 * Whether the structure is recorded as one value: a library type, or an enum of Rust with variants.
 */
bool item_is_single(struct item *item);
/*
 * members.c: converts a structure to a field and, after it, the fields of its members, which may be
 * structures too; anything else becomes one value. At most `capacity` values. `*ret_left_out`: some
 * members are missing.
 */
int item_values(struct item *item, struct value *values, size_t capacity, size_t *ret_count,
		bool *ret_left_out, struct error *error);

/* A number of elements: constant, or computed by a fetch. */
struct item_count {
	uint64_t known; /* 0: computed by `fetch` */
	struct fetch fetch;
};

/* Convert `count` elements, beginning with the item. */
int item_several(struct item *item, const struct item_count *count, struct value *value,
		struct error *error);
/*
 * Convert to text or bytes, at the address that the item has or points to. `count` may be NULL: the
 * item's own length.
 */
int item_text(struct item *item, const struct item_count *count, struct value *value,
		struct error *error);
int item_bytes(struct item *item, const struct item_count *count, struct value *value,
		struct error *error);

/*
 * labels.c: returns the labels of an enumeration, or of the variants of a Rust enum, in the form of
 * a table; the caller frees them. Labels that do not fit are left out. NULL: out of memory.
 */
char *item_labels(Dwarf_Die *enumeration);

#endif /* SIDE_PROBE_SPEC_TYPE_H */
