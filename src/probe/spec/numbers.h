/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_NUMBERS_H
#define SIDE_PROBE_SPEC_NUMBERS_H

/* Number types other than integers of 1, 2, 4 or 8 bytes, float and double. */

#include "type.h"

enum number_form {
	NUMBER_NONE,     /* not a number of the processor: a structure, a pointer, … */
	NUMBER_PLAIN,    /* an integer of at most 8 bytes, a float or a double */
	NUMBER_HALF,     /* _Float16: recorded as a float */
	NUMBER_BFLOAT,   /* __bf16: recorded as a float */
	NUMBER_EXTENDED, /* long double of the x87: recorded as a double */
	NUMBER_QUAD,     /* _Float128: recorded unchanged */
	NUMBER_WIDE,     /* __int128: recorded unchanged */
	NUMBER_COMPLEX,  /* two numbers: recorded as a structure of `real` and `imag` */
	NUMBER_DECIMAL,  /* not supported */
	NUMBER_UNKNOWN,  /* not supported: complex integers, fixed-point, packed decimals, … */
};

enum number_form number_form(Dwarf_Die *type);
/*
 * Returns the form and the size of each part of a complex number; NUMBER_NONE: not a complex
 * number.
 */
enum number_form number_part(Dwarf_Die *type, uint64_t *ret_size);

/* Convert a number of any form except NUMBER_PLAIN to a field, or report why it cannot be one. */
int number_form_value(
		struct item *item, enum number_form form, struct value *value, struct error *error);
/* Select a part of a complex number; then convert that part to a field. */
int number_enter(struct item *item, bool imaginary, struct error *error);
int number_part_value(struct item *item, struct value *value, struct error *error);

#endif /* SIDE_PROBE_SPEC_NUMBERS_H */
