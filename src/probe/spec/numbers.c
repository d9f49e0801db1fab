/* SPDX-License-Identifier: MIT */
/*
 * Recognizes number types, which DWARF distinguishes by encoding, size and name, and converts
 * numbers to fields.
 */
#include "numbers.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WIDE_BYTES 16

static bool spec_number_has_encoding(const char *text, const char *part)
{
	return text && strstr(text, part);
}

/*
 * binary128 and the 80 bits of the x87 both have 16 bytes in debug information: only their names
 * differ.
 */
static bool is_named_quad(const char *name)
{
	return spec_number_has_encoding(name, "128") || spec_number_has_encoding(name, "kind=16") ||
			spec_number_has_encoding(name, "(16)") ||
			spec_number_has_encoding(name, "*16") ||
			spec_number_has_encoding(name, "quad");
}

/* gcc records its options; with this one, long double is binary128. */
static bool has_quad_long_double(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Die unit;

	return dwarf_diecu(type, &unit, NULL, NULL) &&
			dwarf_attr_integrate(&unit, DW_AT_producer, &attribute) &&
			spec_number_has_encoding(dwarf_formstring(&attribute), "-mlong-double-128");
}

static enum number_form float_form(Dwarf_Die *type, uint64_t size)
{
	const char *name = dwarf_diename(type);

	switch (size) {
	case 2:
		return spec_number_has_encoding(name, "bf16") ||
						spec_number_has_encoding(name, "bfloat16")
				? NUMBER_BFLOAT
				: NUMBER_HALF;
	case 4:
	case 8: return NUMBER_PLAIN;
	case 16:
		if (is_named_quad(name) ||
				(spec_number_has_encoding(name, "long double") &&
						has_quad_long_double(type)))
			return NUMBER_QUAD;
		return NUMBER_EXTENDED;
	default: return NUMBER_UNKNOWN;
	}
}

static Dwarf_Word spec_number_get_encoding(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = DW_ATE_signed;

	if (dwarf_attr_integrate(type, DW_AT_encoding, &attribute))
		(void)dwarf_formudata(&attribute, &encoding);
	return encoding;
}

enum number_form number_form(Dwarf_Die *type)
{
	uint64_t size;

	if (dwarf_tag(type) != DW_TAG_base_type || !type_size(type, &size))
		return NUMBER_NONE;
	switch (spec_number_get_encoding(type)) {
	case DW_ATE_float: return float_form(type, size);
	case DW_ATE_complex_float: return NUMBER_COMPLEX;
	case DW_ATE_decimal_float: return NUMBER_DECIMAL;
	case DW_ATE_signed:
	case DW_ATE_unsigned: return size == WIDE_BYTES ? NUMBER_WIDE : NUMBER_PLAIN;
	case DW_ATE_boolean:
	case DW_ATE_address:
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
	case DW_ATE_UCS:
	case DW_ATE_ASCII: return NUMBER_PLAIN;
	default: return NUMBER_UNKNOWN;
	}
}

enum number_form number_part(Dwarf_Die *type, uint64_t *ret_size)
{
	const char *name = dwarf_diename(type);

	*ret_size = 0;
	if (number_form(type) != NUMBER_COMPLEX || !type_size(type, ret_size))
		return NUMBER_NONE;
	*ret_size /= 2;
	/* clang gives each complex type the name "complex". */
	if (*ret_size == WIDE_BYTES && name && !strcmp(name, "complex"))
		return NUMBER_UNKNOWN;
	return float_form(type, *ret_size);
}

static enum probe_field_type number_base_type(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = DW_ATE_signed;

	if (dwarf_attr_integrate(type, DW_AT_encoding, &attribute))
		(void)dwarf_formudata(&attribute, &encoding);
	switch (encoding) {
	case DW_ATE_boolean: return PROBE_FIELD_BOOL;
	case DW_ATE_float: return PROBE_FIELD_FLOAT;
	case DW_ATE_signed:
	case DW_ATE_signed_char: return PROBE_FIELD_SIGNED;
	case DW_ATE_address: return PROBE_FIELD_HEX;
	default: return PROBE_FIELD_UNSIGNED;
	}
}

static enum probe_field_type number_enumeration_type(Dwarf_Die *type)
{
	Dwarf_Die underlying;

	return type_of(type, &underlying) && dwarf_tag(&underlying) == DW_TAG_base_type
			? number_base_type(&underlying)
			: PROBE_FIELD_UNSIGNED;
}

enum probe_field_type number_field_type(Dwarf_Die *type, uint64_t size)
{
	enum probe_field_type number;

	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type: return PROBE_FIELD_HEX;
	case DW_TAG_base_type:
		if (number_form(type) != NUMBER_PLAIN)
			return 0;
		number = number_base_type(type);
		break;
	case DW_TAG_enumeration_type: number = number_enumeration_type(type); break;
	default: return 0;
	}
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return 0;
	return number == PROBE_FIELD_BOOL ? PROBE_FIELD_UNSIGNED : number;
}

/* ---- as the value of a field ---- */

int number_value(struct item *item, struct value *value, enum probe_field_type type,
		unsigned int size, struct error *error)
{
	unsigned int extend = type == PROBE_FIELD_SIGNED ? PROBE_FETCH_SIGN_EXTEND
							 : PROBE_FETCH_ZERO_EXTEND;
	int ret = item_load(item, size, error);

	value->type = (uint8_t)type;
	value->size = (uint8_t)size;
	if (!ret && item->bits && item->bit &&
			fetch_op(&item->where.fetch, PROBE_FETCH_SHIFT_RIGHT, 0, item->bit, 0))
		ret = item_too_long(error);
	if (!ret && item->bits &&
			fetch_op(&item->where.fetch, (enum probe_fetch_code)extend, 0, item->bits,
					0))
		ret = item_too_long(error);
	value->fetch = item->where.fetch;
	return ret;
}

int number_scalar_value(struct item *item, struct value *value, uint64_t size, struct error *error)
{
	int tag = dwarf_tag(&item->type);

	if (tag == DW_TAG_enumeration_type) {
		value->enumeration = item->type;
		return number_value(item, value, number_enumeration_type(&item->type),
				(unsigned int)size, error);
	}
	return number_value(item, value, number_base_type(&item->type), (unsigned int)size, error);
}

static int load_at(struct item *item, uint64_t at, unsigned int size, struct fetch *ret_fetch,
		struct error *error)
{
	struct item part = *item;
	int ret = 0;

	if (part.where.kind != LOCATED_MEMORY)
		part.at += at;
	else if (fetch_add(&part.where.fetch, (int64_t)at))
		ret = item_too_long(error);
	if (!ret)
		ret = item_load(&part, size, error);
	*ret_fetch = part.where.fetch;
	return ret;
}

/* Both halves, the lower one first. */
static int wide_value(struct item *item, struct value *value, struct error *error)
{
	struct fetch high;
	int ret = load_at(item, 0, 8, &value->fetch, error);

	if (!ret)
		ret = load_at(item, 8, 8, &high, error);
	value->size = WIDE_BYTES;
	if (ret)
		return ret;
	return fetch_wide(&value->fetch, &high) ? item_too_long(error) : 0;
}

static int half_value(struct item *item, struct value *value, bool brain, struct error *error)
{
	struct fetch bits = {.nr_ops = 0};
	int ret = load_at(item, 0, 2, &value->fetch, error);

	value->type = PROBE_FIELD_FLOAT;
	value->size = sizeof(float);
	if (ret)
		return ret;
	ret = fetch_op(&value->fetch, PROBE_FETCH_ZERO_EXTEND, 0, 16, 0);
	/* A bfloat is the upper half of a float; _Float16 has a format of its own. */
	if (!ret && brain)
		ret = fetch_op(&bits, PROBE_FETCH_CONSTANT, 0, 0, 16) ||
				fetch_calculate(&value->fetch, PROBE_SUM_LEFT, &bits);
	else if (!ret)
		ret = fetch_op(&value->fetch, PROBE_FETCH_HALF, 0, 0, 0);
	return ret ? item_too_long(error) : 0;
}

static int extended_value(struct item *item, struct value *value, struct error *error)
{
	if (item->where.kind != LOCATED_MEMORY)
		return error_set(error, -ENOTSUP, "request it at another location",
				"it is a long double in an x87 register, which probes do not save");
	value->type = PROBE_FIELD_FLOAT;
	value->size = 8;
	value->fetch = item->where.fetch;
	return fetch_op(&value->fetch, PROBE_FETCH_EXTENDED, 0, 0, 0) ? item_too_long(error) : 0;
}

static int spec_number_refuse(struct item *item, const char *what, struct error *error)
{
	const char *name = dwarf_diename(&item->type);
	char hint[64] = "leave it out";
	uint64_t size;

	if (item->where.kind == LOCATED_MEMORY && type_size(&item->type, &size))
		snprintf(hint, sizeof(hint), "request its bytes, as in `bytes(x, %u)`",
				(unsigned int)size);
	return error_set(error, -ENOTSUP, hint, "it is a %.64s, %s", name ? name : "number", what);
}

int number_form_value(
		struct item *item, enum number_form form, struct value *value, struct error *error)
{
	uint64_t size;

	switch (form) {
	case NUMBER_HALF:
	case NUMBER_BFLOAT: return half_value(item, value, form == NUMBER_BFLOAT, error);
	case NUMBER_EXTENDED: return extended_value(item, value, error);
	case NUMBER_QUAD: value->type = PROBE_FIELD_FLOAT; return wide_value(item, value, error);
	case NUMBER_WIDE:
		value->type = spec_number_get_encoding(&item->type) == DW_ATE_unsigned
				? PROBE_FIELD_UNSIGNED
				: PROBE_FIELD_SIGNED;
		return wide_value(item, value, error);
	case NUMBER_COMPLEX:
		if (number_part(&item->type, &size) == NUMBER_UNKNOWN)
			return spec_number_refuse(item,
					"whose numbers have one of two formats, which clang does not distinguish",
					error);
		return spec_number_refuse(item, "two numbers: request `.real` and `.imag`", error);
	case NUMBER_DECIMAL:
		return spec_number_refuse(item,
				"a decimal floating-point number, which a field cannot hold",
				error);
	default:
		return spec_number_refuse(
				item, "a number of a format that a field cannot hold", error);
	}
}

int number_part_value(struct item *item, struct value *value, struct error *error)
{
	uint64_t size;
	enum number_form form = number_part(&item->type, &size);

	if (form != NUMBER_PLAIN)
		return number_form_value(item, form, value, error);
	value->type = PROBE_FIELD_FLOAT;
	value->size = (uint8_t)size;
	return load_at(item, 0, (unsigned int)size, &value->fetch, error);
}

int number_enter(struct item *item, bool imaginary, struct error *error)
{
	uint64_t size;

	(void)number_part(&item->type, &size);
	item->is_part = true;
	if (!imaginary)
		return 0;
	if (item->where.kind != LOCATED_MEMORY)
		item->at += size;
	else if (fetch_add(&item->where.fetch, (int64_t)size))
		return item_too_long(error);
	return 0;
}
