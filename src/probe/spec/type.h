/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_TYPE_H
#define SIDE_PROBE_SPEC_TYPE_H

/* A thing with a type at a place, and the ways from it to others. */

#include "locate.h"

struct item {
	const struct locate_frame *location;
	struct located where;
	uint64_t at;            /* of a value or pieces: the byte of it where this begins */
	Dwarf_Die type;         /* plain */
	unsigned int dimension; /* of an array of several: how many indexes have been said */
	bool is_address; /* the value is an address that was taken; of what does not matter */
	bool is_count;   /* the value is a number of 8 bytes without a sign, likewise */
	bool guarded;    /* a pointer has led there */
	bool is_part;    /* of a complex number (type): one of its two numbers */
	bool borrowed;   /* it is what a reference of Rust refers to, which has been followed */
	unsigned int bits, bit; /* of a bit field: how many, and from which on; else 0 */
};

int item_follow_reference(struct item *item, struct resolve_error *error);
int item_dereference(struct item *item, struct resolve_error *error);
int item_address(struct item *item, struct resolve_error *error);
int item_index(struct item *item, uint64_t index, struct resolve_error *error);
int item_member(struct item *item, const char *name, struct resolve_error *error);
/* Without what libraries do for it, and without a sentence. */
int item_own_member(struct item *item, const char *name);
/* To a member, or to what it is derived from, as debug information has it. */
int item_enter(struct item *item, Dwarf_Die *member, struct resolve_error *error);
/* This unit may only know that there is such a structure, and another one what is in it. */
void item_complete(struct item *item);
/* Bytes of what there is, also of a row of an array. */
bool item_size(struct item *item, uint64_t *size);
/* Its number on the top, whatever it was in. */
int item_load(struct item *item, unsigned int size, struct resolve_error *error);
int item_too_long(struct resolve_error *error);

/* ---- field.c: as the value of a field, all but its name ---- */

int item_value(struct item *item, struct value *value, struct resolve_error *error);

/* Is it one value, though it is a structure: of a library, or one of several ways in which a thing of Rust may be? */
bool item_is_single(struct item *item);
/*
 * members.c: a structure as a field and, behind it, its members, which may be structures, too; all else as one value. At most
 * `capacity` values. *left_out: some members are not among them.
 */
int item_values(struct item *item, struct value *values, size_t capacity, size_t *count,
		bool *left_out, struct resolve_error *error);

/* How many there are of something: a number that is known, or one that is fetched. */
struct item_count {
	uint64_t known; /* 0: it is fetched */
	struct fetch fetch;
};

/* So many from that one on. */
int item_several(struct item *item, const struct item_count *count, struct value *value,
		struct resolve_error *error);
/* As text, as bytes, from where it points to or stands; `count` may be NULL: as it says itself. */
int item_text(struct item *item, const struct item_count *count, struct value *value,
		struct resolve_error *error);
int item_bytes(struct item *item, const struct item_count *count, struct value *value,
		struct resolve_error *error);

/* labels.c: of an enumeration, or of the ways in which a thing of Rust may be, as a table has them, to be freed; those that are too many are left out. NULL: no memory. */
char *item_labels(Dwarf_Die *enumeration);

#endif /* SIDE_PROBE_SPEC_TYPE_H */
