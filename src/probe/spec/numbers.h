/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_NUMBERS_H
#define SIDE_PROBE_SPEC_NUMBERS_H

/* Numbers that are not just bytes of 1, 2, 4 or 8. */

#include "type.h"

enum number_form {
	NUMBER_NONE,     /* no number of the machine: a structure, a pointer, … */
	NUMBER_PLAIN,    /* an integer of at most 8 bytes, a float or a double */
	NUMBER_HALF,     /* _Float16: recorded as a float */
	NUMBER_BFLOAT,   /* __bf16, likewise */
	NUMBER_EXTENDED, /* the x87's: recorded as a double */
	NUMBER_QUAD,     /* _Float128: recorded as it is */
	NUMBER_WIDE,     /* __int128, likewise */
	NUMBER_COMPLEX,  /* two numbers: recorded as a structure of `real` and `imag` */
	NUMBER_DECIMAL,  /* refused */
	NUMBER_UNKNOWN,  /* likewise: complex integers, fixed-point, packed decimals, … */
};

enum number_form number_form(Dwarf_Die *type);
/* The form of each part of a complex number, and its size; NUMBER_NONE: not a complex number. */
enum number_form number_part(Dwarf_Die *type, uint64_t *size);

/* A number of any form but plain ones as a field, or the reason why it cannot be one. */
int number_form_value(struct item *item, enum number_form form, struct value *value,
		struct resolve_error *error);
/* From a complex number to one of its parts; then as a field. */
int number_enter(struct item *item, bool imaginary, struct resolve_error *error);
int number_part_value(struct item *item, struct value *value, struct resolve_error *error);

#endif /* SIDE_PROBE_SPEC_NUMBERS_H */
