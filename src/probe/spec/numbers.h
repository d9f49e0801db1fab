/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_NUMBERS_H
#define SIDE_PROBE_SPEC_NUMBERS_H

/* Number types, and the values of numbers. */

#include "item.h"

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

/*
 * Returns the field type of a number that an element of a field can be: 1, 2, 4 or 8 bytes, also an
 * enumeration or a pointer. 0: it is none.
 */
enum probe_field_type number_field_type(Dwarf_Die *type, uint64_t size);

/* Loads `size` bytes, or the bits of a bit field, as a number of that type. */
int number_value(struct item *item, struct value *value, enum probe_field_type type,
		unsigned int size, struct error *error);
/* Converts a number of the form NUMBER_PLAIN, or an enumeration, to a field. */
int number_scalar_value(struct item *item, struct value *value, uint64_t size, struct error *error);
/* Converts a number of any form except NUMBER_PLAIN to a field, or reports why it cannot be one. */
int number_form_value(
		struct item *item, enum number_form form, struct value *value, struct error *error);
/* Selects a part of a complex number; number_part_value() converts that part to a field. */
int number_enter(struct item *item, bool imaginary, struct error *error);
int number_part_value(struct item *item, struct value *value, struct error *error);

#endif /* SIDE_PROBE_SPEC_NUMBERS_H */
