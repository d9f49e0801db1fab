/* SPDX-License-Identifier: MIT */
/* How the values of expressions are shown. */
#ifndef SIDE_ANALYSIS_WHERE_FORM_H
#define SIDE_ANALYSIS_WHERE_FORM_H

#include <stdint.h>

/* How the value of an expression is shown. */
struct where_form {
	uint8_t base;    /* of integers: 2, 8, 10 or 16 */
	uint8_t address; /* enum address_kind */
};

#endif /* SIDE_ANALYSIS_WHERE_FORM_H */
