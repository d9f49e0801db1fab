/* SPDX-License-Identifier: MIT */
/* Wrong descriptions: each is refused with a message about the problem and its location. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abi/visit.h"

static int failures;

static struct side_event_description event;
static struct side_event_field fields[2];
static struct side_type inner;
static struct side_attr_fill {
	struct side_type_raw_string key;
	struct side_attr_value value;
} SIDE_PACKED attr;

/* An event with a u32 field "a" and a second field "b" of this label, otherwise zero. */
static struct side_type *fresh(unsigned int label)
{
	memset(&event, 0, sizeof(event));
	memset(fields, 0, sizeof(fields));
	memset(&inner, 0, sizeof(inner));
	memset(&attr, 0, sizeof(attr));
	event.struct_size = sizeof(event);
	side_ptr_set(event.provider_name, "p");
	side_ptr_set(event.event_name, "e");
	side_ptr_set(event.fields.elements, fields);
	event.fields.length = 2;
	side_ptr_set(fields[0].field_name, "a");
	side_ptr_set(fields[1].field_name, "b");
	fields[0].side_type.type.v = SIDE_TYPE_U32;
	fields[0].side_type.u.side_integer.integer_size = 4;
	fields[1].side_type.type.v = (uint16_t)label;
	inner.type.v = SIDE_TYPE_U8;
	inner.u.side_integer.integer_size = 1;
	side_ptr_set(attr.key.p, "k");
	attr.key.unit_size = 1;
	return &fields[1].side_type;
}

static void expect_flags(unsigned int flags, int code, const char *sentence, int line)
{
	struct visit_error error = {.what = ""};
	char text[800] = "";
	int ret = visit_description_check(&event, flags, &error);

	if (ret) {
		/*
		 * The hint is compared where readside and the validator print it
		 * (tests/readside/wrong.py).
		 */
		if (!error.hint[0]) {
			fprintf(stderr, "%s:%d: there is no hint\n", __FILE__, line);
			failures++;
		}
		error.hint[0] = '\0';
		visit_error_sentence(&error, text, sizeof(text));
	}
	if (ret != code || strcmp(text, sentence)) {
		fprintf(stderr, "%s:%d: %d \"%s\", expected %d \"%s\"\n", __FILE__, line, ret, text,
				code, sentence);
		failures++;
	}
}

#define expect(code, sentence) expect_flags(0, code, sentence, __LINE__)
#define expect_strict(sentence)                                                \
	do {                                                                   \
		expect_flags(0, 0, "", __LINE__);                              \
		expect_flags(VISIT_CHECK_STRICT, -EINVAL, sentence, __LINE__); \
	} while (0)

static struct side_type *integer(unsigned int label, unsigned int size)
{
	struct side_type *type = fresh(label);

	type->u.side_integer.integer_size = (uint16_t)size;
	return type;
}

static void scalars(void)
{
	struct side_type *type;

	integer(SIDE_TYPE_U8, 1);
	expect(0, "");
	integer(SIDE_TYPE_U32, 3);
	expect(-EINVAL, "an integer cannot have 3 bytes (in p:e, field: \"b\")");
	integer(SIDE_TYPE_S8, 1);
	expect_strict("the signedness is not that of S8 (in p:e, field: \"b\")");
	integer(SIDE_TYPE_U8, 4);
	expect_strict("4 bytes are not the size of U8 (in p:e, field: \"b\")");
	type = integer(SIDE_TYPE_U16, 2);
	type->u.side_integer.len_bits = 17;
	expect(-EINVAL,
			"17 bits from bit 0 on exceed the 16 bits of the value (in p:e, field: "
			"\"b\")");
	type = integer(SIDE_TYPE_U128, 16);
	type->u.side_integer.len_bits = 127;
	expect(-EINVAL, "a 128-bit integer cannot have 127 bits at bit 0 (in p:e, field: \"b\")");
	type = integer(SIDE_TYPE_U16, 2);
	type->u.side_integer.byte_order.v = 2;
	expect(-EINVAL, "the byte order 2 is unknown (in p:e, field: \"b\")");
	type->u.side_integer.byte_order.v = 0;
	type->u.side_integer.signedness = 2;
	expect(-EINVAL, "the signedness 2 is unknown (in p:e, field: \"b\")");
	type = fresh(SIDE_TYPE_BOOL);
	type->u.side_bool.bool_size = 16;
	expect(-EINVAL, "a boolean cannot have 16 bytes (in p:e, field: \"b\")");
	type = fresh(SIDE_TYPE_FLOAT_BINARY64);
	type->u.side_float.float_size = 10;
	expect(-EINVAL, "a float cannot have 10 bytes (in p:e, field: \"b\")");
	type = fresh(SIDE_TYPE_STRING_UTF8);
	type->u.side_string.unit_size = 3;
	expect(-EINVAL, "a string cannot have units of 3 bytes (in p:e, field: \"b\")");
	fresh(SIDE_TYPE_DYNAMIC_NULL);
	expect(-EINVAL, "DYNAMIC_NULL is not possible in a description (in p:e, field: \"b\")");
	fresh(99);
	expect(-ENOTSUP, "the type label 99 is unknown (in p:e, field: \"b\")");
}

static void names_and_attributes(void)
{
	fresh(SIDE_TYPE_DYNAMIC);
	event.version = 1;
	expect(-ENOTSUP, "the description has version 1, only 0 is known");
	fresh(SIDE_TYPE_DYNAMIC);
	event.struct_size = 111;
	expect(-EINVAL, "the description has only 111 bytes (in p:e)");
	event.struct_size = 200; /* a newer producer */
	expect(0, "");
	side_ptr_set(event.event_name, NULL);
	expect(-EFAULT, "the event name is NULL (in p:(null))");
	fresh(SIDE_TYPE_DYNAMIC);
	side_ptr_set(event.provider_name, "");
	expect_strict("the provider name is empty (in :e)");
	fresh(SIDE_TYPE_DYNAMIC);
	side_ptr_set(fields[1].field_name, "a");
	expect_strict("two fields are called \"a\" (in p:e)");
	side_ptr_set(fields[1].field_name, "");
	expect_strict("the name of field 1 is empty (in p:e)");
	side_ptr_set(fields[1].field_name, NULL);
	expect(-EFAULT, "the name of field 1 is NULL (in p:e)");
	side_ptr_set(event.fields.elements, NULL);
	expect(-EFAULT, "the field list is NULL (in p:e)");
	event.fields.length = 0;
	expect(0, "");
	fresh(SIDE_TYPE_DYNAMIC);
	event.attributes.length = 1;
	expect(-EFAULT, "the attribute list is NULL (in p:e)");
	side_ptr_set(event.attributes.elements, (const struct side_attr *)(void *)&attr);
	expect(0, "");
	attr.value.type.v = 17;
	expect(-ENOTSUP, "attribute 0 has the unknown type 17 (in p:e)");
	attr.value.type.v = SIDE_ATTR_TYPE_STRING;
	expect(-EINVAL,
			"the string value of an attribute has units of 0 bytes, not 1, 2 or 4 (in "
			"p:e)");
	attr.value.u.string_value.unit_size = 4;
	expect(0, "");
	attr.key.byte_order.v = 3;
	expect(-EINVAL, "the key of an attribute has the unknown byte order 3 (in p:e)");
	side_ptr_set(attr.key.p, NULL);
	expect(-EFAULT, "the key of an attribute is NULL (in p:e)");
}

static void compounds(void)
{
	static struct side_type_struct structure;
	static struct side_event_field member;
	struct side_type_array array;
	struct side_type_vla vla;
	struct side_type_optional optional;
	struct side_option_fill {
		int64_t begin, end;
		struct side_type type;
	} SIDE_PACKED option;
	struct variant_fill {
		side_array_t(const struct side_variant_option) options;
		struct side_type selector;
		side_array_t(const struct side_attr) attributes;
	} SIDE_PACKED variant;
	struct side_type *type;

	fresh(SIDE_TYPE_STRUCT);
	expect(-EFAULT, "the structure is NULL (in p:e, field: \"b\")");
	type = fresh(SIDE_TYPE_STRUCT);
	memset(&structure, 0, sizeof(structure));
	memset(&member, 0, sizeof(member));
	side_ptr_set(member.field_name, "m");
	member.side_type.type.v = SIDE_TYPE_U8;
	side_ptr_set(structure.fields.elements, &member);
	structure.fields.length = 1;
	side_ptr_set(type->u.side_struct, &structure);
	expect(-EINVAL,
			"an integer cannot have 0 bytes (in p:e, field: \"b\", struct, field: "
			"\"m\")");
	memset(&array, 0, sizeof(array));
	memset(&vla, 0, sizeof(vla));
	memset(&optional, 0, sizeof(optional));
	memset(&option, 0, sizeof(option));
	memset(&variant, 0, sizeof(variant));
	type = fresh(SIDE_TYPE_ARRAY);
	side_ptr_set(type->u.side_array, &array);
	expect(-EFAULT, "the type is NULL (in p:e, field: \"b\", element)");
	type = fresh(SIDE_TYPE_VLA);
	side_ptr_set(type->u.side_vla, &vla);
	side_ptr_set(vla.elem_type, &inner);
	expect(-EFAULT, "the type is NULL (in p:e, field: \"b\", length)");
	side_ptr_set(vla.length_type, &inner);
	expect(0, "");
	inner.type.v = SIDE_TYPE_BYTE;
	expect(-EINVAL,
			"BYTE is not possible in the position of an integer (U8 to S128) "
			"(in p:e, field: \"b\", length)");
	type = fresh(SIDE_TYPE_OPTIONAL);
	side_ptr_set(type->u.side_optional, &optional);
	expect(-EFAULT, "the type is NULL (in p:e, field: \"b\", optional)");
	type = fresh(SIDE_TYPE_VARIANT);
	side_ptr_set(type->u.side_variant, (const struct side_type_variant *)(void *)&variant);
	expect(-EINVAL,
			"NULL is not possible in the position of an integer (U8 to S128) "
			"(in p:e, field: \"b\", selector)");
	variant.selector = inner;
	variant.options.length = 1;
	expect(-EFAULT, "the option list is NULL (in p:e, field: \"b\")");
	side_ptr_set(variant.options.elements, (const struct side_variant_option *)(void *)&option);
	option.begin = 1;
	expect_strict("the range ends before it begins (in p:e, field: \"b\", option: 0)");
	option.type.type.v = SIDE_TYPE_BOOL;
	expect(-EINVAL, "a boolean cannot have 0 bytes (in p:e, field: \"b\", option: 0)");
}

static void enumerations(void)
{
	static struct side_enum_mappings mappings;
	static struct side_enum_mapping mapping;
	static struct side_type_array array;
	static struct side_type item;
	struct side_type *type = fresh(SIDE_TYPE_ENUM);

	memset(&mappings, 0, sizeof(mappings));
	memset(&mapping, 0, sizeof(mapping));
	expect(-EFAULT, "the label table is NULL (in p:e, field: \"b\")");
	side_ptr_set(type->u.side_enum.mappings, &mappings);
	expect(-EFAULT, "the type is NULL (in p:e, field: \"b\", element)");
	side_ptr_set(type->u.side_enum.elem_type, &inner);
	expect(0, "");
	mappings.mappings.length = 1;
	expect(-EFAULT, "the label list is NULL (in p:e, field: \"b\")");
	side_ptr_set(mappings.mappings.elements, &mapping);
	expect(-EFAULT, "a label is NULL (in p:e, field: \"b\")");
	side_ptr_set(mapping.label.p, "l");
	mapping.label.unit_size = 1;
	mapping.range_begin = 1;
	mapping.range_end = -1;
	expect_strict("the range of label 0 ends before it begins (in p:e, field: \"b\")");
	/* For a bitmap the same bits are the range from 1 to the end. */
	type->type.v = SIDE_TYPE_ENUM_BITMAP;
	expect_flags(VISIT_CHECK_STRICT, 0, "", __LINE__);
	inner.type.v = SIDE_TYPE_S8;
	expect(-EINVAL,
			"S8 is not possible in a bitmap (BYTE, U8 to U128, ARRAY or VLA of these) "
			"(in p:e, field: \"b\", element)");
	inner.type.v = SIDE_TYPE_ARRAY;
	side_ptr_set(inner.u.side_array, &array);
	side_ptr_set(array.elem_type, &item);
	expect(-EINVAL,
			"NULL is not possible in an item of a bitmap (BYTE, U8 to U128) "
			"(in p:e, field: \"b\", element, element)");
	item.type.v = SIDE_TYPE_BYTE;
	expect(0, "");
	type->type.v = SIDE_TYPE_GATHER_ENUM;
	expect(-EINVAL,
			"ARRAY is not possible in the position of a gather integer "
			"(in p:e, field: \"b\", element)");
}

static void gathers(void)
{
	static struct side_type_struct structure;
	struct side_type_gather *gather;
	struct side_type *type = fresh(SIDE_TYPE_GATHER_INTEGER);

	gather = &type->u.side_gather;
	gather->u.side_integer.type.integer_size = 2;
	gather->u.side_integer.offset_bits = 4;
	expect(-EINVAL,
			"16 bits from bit 4 on exceed the 16 bits of the value (in p:e, field: "
			"\"b\")");
	gather->u.side_integer.type.len_bits = 12;
	expect(0, "");
	gather->u.side_integer.access_mode.v = 2;
	expect(-EINVAL, "the access mode 2 is unknown (in p:e, field: \"b\")");
	type = fresh(SIDE_TYPE_GATHER_STRUCT);
	expect(-EFAULT, "the structure is NULL (in p:e, field: \"b\")");
	side_ptr_set(structure.fields.elements, fields);
	structure.fields.length = 1;
	side_ptr_set(type->u.side_gather.u.side_struct.type, &structure);
	expect(-EINVAL,
			"U32 is not possible in a gather struct (gather types only) "
			"(in p:e, field: \"b\", struct, field: \"a\")");
	type = fresh(SIDE_TYPE_GATHER_ARRAY);
	side_ptr_set(type->u.side_gather.u.side_array.type.elem_type, &inner);
	inner.type.v = SIDE_TYPE_GATHER_VLA;
	expect(-EINVAL,
			"GATHER_VLA is not possible in a gather array or VLA (gather types except "
			"VLA) "
			"(in p:e, field: \"b\", element)");
	type = fresh(SIDE_TYPE_GATHER_VLA);
	side_ptr_set(type->u.side_gather.u.side_vla.type.length_type, &inner);
	expect(-EINVAL,
			"U8 is not possible in the position of a gather integer "
			"(in p:e, field: \"b\", length)");
}

int main(void)
{
	struct visit_error error;

	scalars();
	names_and_attributes();
	compounds();
	enumerations();
	gathers();
	if (visit_description_check(NULL, 0, &error) != -EFAULT ||
			visit_description_check(NULL, 0, NULL) != -EFAULT)
		failures++;
	return failures != 0;
}
