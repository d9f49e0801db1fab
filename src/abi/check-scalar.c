/* SPDX-License-Identifier: MIT */
/* Checks the parts of a description that hold no other types: strings, attributes, scalars. */
#include <errno.h>

#include "abi/check.h"

int visit_check_spend(struct checker *checker, const struct visit_step *step, uint32_t nodes)
{
	if (checker->nodes < nodes)
		return visit_fail(checker->error, step, -E2BIG,
				"the description has more than %u parts\nmake it smaller, or check the lengths",
				VISIT_NODES_MAX);
	checker->nodes -= nodes;
	return 0;
}

int visit_check_raw_string(struct checker *checker, const struct side_type_raw_string *string,
		const struct visit_step *step, const char *what, bool null_allowed)
{
	unsigned int unit = string->unit_size;

	if (!side_ptr_get(string->p) && !null_allowed)
		return visit_fail(checker->error, step, -EFAULT,
				"%s is NULL\n"
				"give it a text (an empty one will do)",
				what);
	if (unit != 1 && unit != 2 && unit != 4)
		return visit_fail(checker->error, step, -EINVAL,
				"%s has units of %u bytes, not 1, 2 or 4\n"
				"set unit_size to the bytes of a unit",
				what, unit);
	if (string->byte_order.v > 1)
		return visit_fail(checker->error, step, -EINVAL,
				"%s has the unknown byte order %u\n"
				"0 is little endian, 1 is big endian",
				what, string->byte_order.v);
	return 0;
}

int visit_check_attributes(struct checker *checker, struct visit_attributes attributes,
		const struct visit_step *step)
{
	uint32_t i;
	int ret;

	if (!attributes.nr)
		return 0;
	if (!attributes.attr)
		return visit_fail(checker->error, step, -EFAULT,
				"the attribute list is NULL\n"
				"point at the attributes, or set their number to 0");
	ret = visit_check_spend(checker, step, attributes.nr);
	for (i = 0; !ret && i < attributes.nr; i++) {
		const struct side_attr *attr = &attributes.attr[i];

		ret = visit_check_raw_string(
				checker, &attr->key, step, "the key of an attribute", false);
		if (!ret && attr->value.type.v >= _NR_SIDE_ATTR_TYPE)
			ret = visit_fail(checker->error, step, -ENOTSUP,
					"attribute %u has the unknown type %u\n"
					"use a type of enum side_attr_type, or a newer libside",
					(unsigned int)i, attr->value.type.v);
		if (!ret && attr->value.type.v == SIDE_ATTR_TYPE_STRING)
			ret = visit_check_raw_string(checker, &attr->value.u.string_value, step,
					"the string value of an attribute", true);
	}
	return ret;
}

static int check_byte_order(
		struct checker *checker, unsigned int byte_order, const struct visit_step *step)
{
	if (byte_order > 1)
		return visit_fail(checker->error, step, -EINVAL,
				"the byte order %u is unknown\n"
				"0 is little endian, 1 is big endian",
				byte_order);
	return 0;
}

int visit_check_access(struct checker *checker, unsigned int mode, const struct visit_step *step)
{
	if (mode > 1)
		return visit_fail(checker->error, step, -EINVAL,
				"the access mode %u is unknown\n"
				"0 is direct, 1 is through a pointer",
				mode);
	return 0;
}

/* Check offset_bits and len_bits for a storage of size bytes. */
static int check_bits(struct checker *checker, unsigned int size, unsigned int offset_bits,
		unsigned int len_bits, const struct visit_step *step)
{
	unsigned int len = len_bits ? len_bits : 8 * size;

	if (offset_bits + len > 8 * size)
		return visit_fail(checker->error, step, -EINVAL,
				"%u bits from bit %u on exceed the %u bits of the value\n"
				"offset_bits and len_bits must stay within its size (len_bits 0 is all of it)",
				len, offset_bits, 8 * size);
	if (size == 16 && (offset_bits || len != 128))
		return visit_fail(checker->error, step, -EINVAL,
				"a 128-bit integer cannot have %u bits at bit %u\nuse an integer of at most 64 bits for that",
				len, offset_bits);
	return 0;
}

int visit_check_integer(struct checker *checker, const struct side_type_integer *type,
		unsigned int offset_bits, const struct visit_step *step)
{
	unsigned int size = type->integer_size;
	int ret;

	if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16)
		return visit_fail(checker->error, step, -EINVAL,
				"an integer cannot have %u bytes\n"
				"give it 1, 2, 4, 8 or 16",
				size);
	if (type->signedness > 1)
		return visit_fail(checker->error, step, -EINVAL,
				"the signedness %u is unknown\n"
				"0 is unsigned, 1 is signed",
				type->signedness);
	ret = check_byte_order(checker, type->byte_order.v, step);
	if (!ret)
		ret = check_bits(checker, size, offset_bits, type->len_bits, step);
	return ret ? ret
		   : visit_check_attributes(checker, visit_attributes_of(&type->attributes), step);
}

int visit_check_bool(struct checker *checker, const struct side_type_bool *type,
		unsigned int offset_bits, const struct visit_step *step)
{
	unsigned int size = type->bool_size;
	int ret;

	if (size != 1 && size != 2 && size != 4 && size != 8)
		return visit_fail(checker->error, step, -EINVAL,
				"a boolean cannot have %u bytes\n"
				"give it 1, 2, 4 or 8",
				size);
	ret = check_byte_order(checker, type->byte_order.v, step);
	if (!ret)
		ret = check_bits(checker, size, offset_bits, type->len_bits, step);
	return ret ? ret
		   : visit_check_attributes(checker, visit_attributes_of(&type->attributes), step);
}

int visit_check_float(struct checker *checker, const struct side_type_float *type,
		const struct visit_step *step)
{
	unsigned int size = type->float_size;
	int ret;

	if (size != 2 && size != 4 && size != 8 && size != 16)
		return visit_fail(checker->error, step, -EINVAL,
				"a float cannot have %u bytes\n"
				"give it 2, 4, 8 or 16",
				size);
	ret = check_byte_order(checker, type->byte_order.v, step);
	return ret ? ret
		   : visit_check_attributes(checker, visit_attributes_of(&type->attributes), step);
}

int visit_check_string(struct checker *checker, const struct side_type_string *type,
		const struct visit_step *step)
{
	unsigned int unit = type->unit_size;
	int ret;

	if (unit != 1 && unit != 2 && unit != 4)
		return visit_fail(checker->error, step, -EINVAL,
				"a string cannot have units of %u bytes\n"
				"give them 1, 2 or 4",
				unit);
	ret = check_byte_order(checker, type->byte_order.v, step);
	return ret ? ret
		   : visit_check_attributes(checker, visit_attributes_of(&type->attributes), step);
}

/* Strict: the members of a stack-copy scalar must agree with its label. */
int visit_check_label_agrees(struct checker *checker, const struct side_type *type,
		const struct visit_step *step)
{
	static const uint8_t sizes[] = {
			[SIDE_TYPE_BOOL] = 1,
			[SIDE_TYPE_U8] = 1,
			[SIDE_TYPE_U16] = 2,
			[SIDE_TYPE_U32] = 4,
			[SIDE_TYPE_U64] = 8,
			[SIDE_TYPE_U128] = 16,
			[SIDE_TYPE_S8] = 1,
			[SIDE_TYPE_S16] = 2,
			[SIDE_TYPE_S32] = 4,
			[SIDE_TYPE_S64] = 8,
			[SIDE_TYPE_S128] = 16,
			[SIDE_TYPE_FLOAT_BINARY16] = 2,
			[SIDE_TYPE_FLOAT_BINARY32] = 4,
			[SIDE_TYPE_FLOAT_BINARY64] = 8,
			[SIDE_TYPE_FLOAT_BINARY128] = 16,
			[SIDE_TYPE_STRING_UTF8] = 1,
			[SIDE_TYPE_STRING_UTF16] = 2,
			[SIDE_TYPE_STRING_UTF32] = 4,
	};
	unsigned int label = type->type.v, size = 0;

	if (!(checker->flags & VISIT_CHECK_STRICT) || label >= sizeof(sizes) || !sizes[label])
		return 0;
	if (visit_label_is_integer(label)) {
		size = type->u.side_integer.integer_size;
		if (type->u.side_integer.signedness != (label >= SIDE_TYPE_S8))
			return visit_fail(checker->error, step, -EINVAL,
					"the signedness is not that of %s\nset it to that of the label, or use another label",
					visit_label_name(label));
	} else if (label >= SIDE_TYPE_STRING_UTF8) {
		size = type->u.side_string.unit_size;
	} else if (label >= SIDE_TYPE_FLOAT_BINARY16) {
		size = type->u.side_float.float_size;
	} else {
		return 0;
	}
	if (size != sizes[label])
		return visit_fail(checker->error, step, -EINVAL,
				"%u bytes are not the size of %s\nset the size to that of the label, or use another label",
				size, visit_label_name(label));
	return 0;
}
