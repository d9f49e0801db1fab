/* SPDX-License-Identifier: MIT */
/* Checks of scalar types when a builder finishes, and the path to a type. */
#ifndef SIDE_LIBSIDE_BUILDER_CHECK_H
#define SIDE_LIBSIDE_BUILDER_CHECK_H

#include "builder-nodes.h"

/* The path to the type that builder_layout_type() handles, as a list on the stack. */
struct builder_step {
	const struct builder_step *up;
	const char *word; /* "field", "element", "option", ... */
	const char *name; /* of a field, else NULL */
	uint32_t index;   /* of an option */
	unsigned int level;
};

/* Store the first error, with provider:event and the path. Returns its code. */
int builder_fail_at(struct side_builder *builder, const struct builder_step *step,
		const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Sizes in bytes that a type may have: bit n for n bytes. */
#define SIZES_BOOL (1u << 1 | 1u << 2 | 1u << 4 | 1u << 8)
#define SIZES_INTEGER (SIZES_BOOL | 1u << 16)
#define SIZES_FLOAT (1u << 2 | 1u << 4 | 1u << 8 | 1u << 16)
#define SIZES_UNIT (1u << 1 | 1u << 2 | 1u << 4)

int builder_check_access(
		struct side_builder *builder, const struct builder_step *step, unsigned int mode);
int builder_check_byte_order(struct side_builder *builder, const struct builder_step *step,
		unsigned int byte_order);
int builder_check_size(struct side_builder *builder, const struct builder_step *step,
		const char *what, unsigned int size, uint32_t sizes);
int builder_check_bits(struct side_builder *builder, const struct builder_step *step,
		unsigned int size, unsigned int offset_bits, unsigned int len_bits);
int builder_check_integer(struct side_builder *builder, const struct builder_step *step,
		const struct side_type_integer *type, unsigned int offset_bits);
int builder_check_float(struct side_builder *builder, const struct builder_step *step,
		const struct side_type_float *type);
int builder_check_string(struct side_builder *builder, const struct builder_step *step,
		const struct side_type_string *type);

#endif /* SIDE_LIBSIDE_BUILDER_CHECK_H */
