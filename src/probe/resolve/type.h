/* SPDX-License-Identifier: MIT */
#ifndef PROBE_RESOLVE_TYPE_H
#define PROBE_RESOLVE_TYPE_H

/* A thing with a type at a place, and the ways from it to others. */

#include "locate.h"

struct item {
	const struct locate_place *place;
	struct located where;
	uint64_t at;            /* of a value or pieces: the byte of it where this begins */
	Dwarf_Die type;         /* plain */
	unsigned int dimension; /* of an array of several: how many indexes have been said */
	bool is_address; /* the value is an address that was taken; of what does not matter */
	unsigned int bits, bit; /* of a bit field: how many, and from which on; else 0 */
};

int item_follow_reference(struct item *item, struct resolve_error *error);
int item_dereference(struct item *item, struct resolve_error *error);
int item_address(struct item *item, struct resolve_error *error);
int item_index(struct item *item, uint64_t index, struct resolve_error *error);
int item_member(struct item *item, const char *name, struct resolve_error *error);
/* This unit may only know that there is such a structure, and another one what is in it. */
void item_complete(struct item *item);
/* To a member, or to what it is derived from, as debug information has it. */
int item_enter(struct item *item, Dwarf_Die *member, struct resolve_error *error);
/* As the value of a field, all but its name. */
int item_value(struct item *item, struct value *value, struct resolve_error *error);

/*
 * members.c: a structure as a field and, behind it, its members, which may be structures, too; all else as one value. At most
 * `room` values. *left_out: some members are not among them.
 */
int item_values(struct item *item, struct value *values, size_t room, size_t *count, bool *left_out,
		struct resolve_error *error);

/* labels.c: of an enumeration, as a table has them, to be freed; those that are too many are left out. NULL: no memory. */
char *item_labels(Dwarf_Die *enumeration);

#endif /* PROBE_RESOLVE_TYPE_H */
