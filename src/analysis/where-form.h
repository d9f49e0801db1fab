/* SPDX-License-Identifier: MIT */
/* How the values of expressions are shown: their base, and the labels of enumerations. */
#ifndef SIDE_ANALYSIS_WHERE_FORM_H
#define SIDE_ANALYSIS_WHERE_FORM_H

#include <stddef.h>
#include <stdint.h>

struct filter_value;

/* How the value of an expression is shown. */
struct where_form {
	uint8_t base;    /* of integers: 2, 8, 10 or 16 */
	uint8_t address; /* enum address_kind */
};

/* Labels of the value of an enumeration, for filter_loader. */
const char *where_label(
		void *nothing, const struct filter_value *value, uint32_t *at, size_t *ret_size);

#endif /* SIDE_ANALYSIS_WHERE_FORM_H */
