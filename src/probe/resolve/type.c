/* SPDX-License-Identifier: MIT */
/* From a thing to its members, elements, and what it points to; and what of it a field of an event can hold. */
#include "type.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MEMBERS_MAX 10000
#define DEPTH_MAX 8
#define STRING_STANDARD 256

static int too_long(struct resolve_error *error)
{
	return resolve_fail(error, -E2BIG, "", "that takes too many steps to fetch");
}

static bool is_reference(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

/* The number of a pointer on the top, whatever it was in. */
static int load(struct item *item, unsigned int size, struct resolve_error *error)
{
	if (item->where.kind == LOCATED_MEMORY &&
			fetch_op(&item->where.fetch, PROBE_FETCH_LOAD, 0, size, 0))
		return too_long(error);
	item->where.kind = LOCATED_VALUE;
	return 0;
}

static int follow(struct item *item, struct resolve_error *error)
{
	Dwarf_Die target;
	int ret = load(item, 8, error);

	if (ret)
		return ret;
	if (!type_of(&item->type, &target))
		return resolve_fail(
				error, -EINVAL, "", "a pointer to void points to nothing known");
	item->type = target;
	item->where.kind = LOCATED_MEMORY;
	return 0;
}

int item_follow_reference(struct item *item, struct resolve_error *error)
{
	return is_reference(&item->type) ? follow(item, error) : 0;
}

int item_dereference(struct item *item, struct resolve_error *error)
{
	int tag = dwarf_tag(&item->type);
	Dwarf_Die element;

	if (item->is_address) {
		item->is_address = false;
		item->where.kind = LOCATED_MEMORY;
		return 0;
	}
	if (tag == DW_TAG_array_type && type_of(&item->type, &element)) {
		item->type = element;
		return 0;
	}
	if (tag != DW_TAG_pointer_type)
		return resolve_fail(error, -EINVAL, "", "what is not a pointer points to nothing");
	return follow(item, error);
}

int item_address(struct item *item, struct resolve_error *error)
{
	if (item->where.kind != LOCATED_MEMORY || item->bits || item->is_address)
		return resolve_fail(error, -EINVAL, "leave the `&` out",
				"what is in a register has no address");
	item->where.kind = LOCATED_VALUE;
	item->is_address = true;
	return 0;
}

int item_index(struct item *item, uint64_t index, struct resolve_error *error)
{
	Dwarf_Word size;
	int ret = item_dereference(item, error);

	if (ret)
		return ret;
	if (dwarf_aggregate_size(&item->type, &size) || size > INT32_MAX)
		return resolve_fail(error, -EINVAL, "", "the elements have no size that is known");
	if (item->where.kind != LOCATED_MEMORY)
		return resolve_fail(error, -ENOTSUP, "", "the array is in registers");
	return fetch_add(&item->where.fetch, (int64_t)(size * index)) ? too_long(error) : 0;
}

/* ---- members ---- */

struct member_search {
	const char *name;
	Dwarf_Die found;
	uint64_t offset; /* bytes */
	struct suggestion suggestion;
};

static uint64_t member_offset(Dwarf_Die *member)
{
	Dwarf_Attribute attribute;
	Dwarf_Word at = 0;

	if (dwarf_attr_integrate(member, DW_AT_data_member_location, &attribute))
		(void)dwarf_formudata(&attribute, &at);
	return at;
}

/* Also of what it is derived from, and of members without a name. */
static bool search_members(Dwarf_Die *type, struct member_search *search, unsigned int depth)
{
	unsigned int count = 0;
	Dwarf_Die child, inner;

	if (depth > DEPTH_MAX || dwarf_child(type, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);
		const char *name = dwarf_diename(&child);

		if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
			continue;
		if (name && tag == DW_TAG_member)
			suggest_offer(&search->suggestion, name);
		if (name && tag == DW_TAG_member && !strcmp(name, search->name)) {
			search->found = child;
			search->offset += member_offset(&child);
			return true;
		}
		if ((!name || tag == DW_TAG_inheritance) && type_of(&child, &inner) &&
				search_members(&inner, search, depth + 1)) {
			search->offset += member_offset(&child);
			return true;
		}
	} while (count++ < MEMBERS_MAX && !dwarf_siblingof(&child, &child));
	return false;
}

/* In a structure that is in registers. */
static int move_in_registers(struct item *item, uint64_t offset, struct resolve_error *error)
{
	if (item->where.kind == LOCATED_PARTS && offset >= 8) {
		item->where.fetch = item->where.upper;
		offset -= 8;
	}
	if (offset >= 8)
		return resolve_fail(
				error, -ENOTSUP, "", "the member is not where its structure is");
	item->where.kind = LOCATED_VALUE;
	return offset &&
					fetch_op(&item->where.fetch, PROBE_FETCH_SHIFT_RIGHT, 0,
							8 * (unsigned int)offset, 0)
			? too_long(error)
			: 0;
}

static bool number_of(Dwarf_Die *die, unsigned int name, Dwarf_Word *number)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, name, &attribute) && !dwarf_formudata(&attribute, number);
}

/* Counted from the begin of the structure; in older forms from the highest bit of what is stored. */
static void read_bits(struct item *item, Dwarf_Die *member, uint64_t *offset)
{
	Dwarf_Word bits, first, size, stored;

	if (!number_of(member, DW_AT_bit_size, &bits) || !bits || bits > 64 ||
			dwarf_aggregate_size(&item->type, &size) || !size || size > 8)
		return;
	if (number_of(member, DW_AT_data_bit_offset, &first)) {
		*offset += first / (8 * size) * size;
		first %= 8 * size;
	} else if (number_of(member, DW_AT_bit_offset, &first)) {
		if (!number_of(member, DW_AT_byte_size, &stored))
			stored = size;
		first = 8 * stored - first - bits;
	} else {
		first = 0;
	}
	if (first >= 64)
		return;
	item->bits = (unsigned int)bits;
	item->bit = (unsigned int)first;
}

int item_member(struct item *item, const char *name, struct resolve_error *error)
{
	struct member_search search = {.name = name};
	char mend[320] = "";
	int ret;

	suggest_begin(&search.suggestion, name);
	/* As gdb and the sources of Rust have it, `.` goes through a pointer, too. */
	if (dwarf_tag(&item->type) == DW_TAG_pointer_type && !item->is_address) {
		ret = item_dereference(item, error);
		if (ret)
			return ret;
	}
	if (!search_members(&item->type, &search, 0)) {
		if (suggest_best(&search.suggestion))
			snprintf(mend, sizeof(mend), "did you mean `%s`?",
					suggest_best(&search.suggestion));
		return resolve_fail(error, -ENOENT, mend, "%s has no member `%.128s`",
				dwarf_diename(&item->type) ? dwarf_diename(&item->type)
							   : "what is there",
				name);
	}
	if (!type_of(&search.found, &item->type))
		return resolve_fail(error, -EINVAL, "", "the member `%.128s` has no type", name);
	read_bits(item, &search.found, &search.offset);
	if (search.offset > INT32_MAX)
		return resolve_fail(
				error, -EINVAL, "", "the member `%.128s` is too far away", name);
	if (item->where.kind != LOCATED_MEMORY)
		ret = move_in_registers(item, search.offset, error);
	else
		ret = fetch_add(&item->where.fetch, (int64_t)search.offset) ? too_long(error) : 0;
	return ret ? ret : item_follow_reference(item, error);
}

/* ---- what a field can hold ---- */

static bool is_text(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0;

	if (dwarf_tag(type) != DW_TAG_base_type || dwarf_bytesize(type) != 1)
		return false;
	if (dwarf_attr_integrate(type, DW_AT_encoding, &attribute))
		(void)dwarf_formudata(&attribute, &encoding);
	return encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char ||
			encoding == DW_ATE_UTF;
}

static enum probe_field_type base_type(Dwarf_Die *type)
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

static enum probe_field_type enumeration_type(Dwarf_Die *type)
{
	Dwarf_Die underlying;

	return type_of(type, &underlying) && dwarf_tag(&underlying) == DW_TAG_base_type
			? base_type(&underlying)
			: PROBE_FIELD_UNSIGNED;
}

/* Text and bytes stay where they are: what is fetched is their address. */
static int memory_value(struct item *item, struct value *value, uint64_t size, bool text,
		struct resolve_error *error)
{
	if (item->where.kind != LOCATED_MEMORY)
		return resolve_fail(error, -ENOTSUP, "ask for its members",
				"it is a structure in registers, which is no value of its own");
	if (!size)
		return resolve_fail(error, -EINVAL, "", "it has no size");
	value->type = text ? PROBE_FIELD_STRING : PROBE_FIELD_BYTES;
	value->size = 1;
	value->limit = (uint16_t)(size < PROBE_TABLE_TEXT_MAX ? size : PROBE_TABLE_TEXT_MAX);
	value->fetch = item->where.fetch;
	return 0;
}

static int number_value(struct item *item, struct value *value, enum probe_field_type type,
		unsigned int size, struct resolve_error *error)
{
	unsigned int extend = type == PROBE_FIELD_SIGNED ? PROBE_FETCH_SIGN_EXTEND
							 : PROBE_FETCH_ZERO_EXTEND;
	int ret = load(item, size, error);

	value->type = (uint8_t)type;
	value->size = (uint8_t)size;
	if (!ret && item->bits && item->bit &&
			fetch_op(&item->where.fetch, PROBE_FETCH_SHIFT_RIGHT, 0, item->bit, 0))
		ret = too_long(error);
	if (!ret && item->bits &&
			fetch_op(&item->where.fetch, (enum probe_fetch_code)extend, 0, item->bits,
					0))
		ret = too_long(error);
	value->fetch = item->where.fetch;
	return ret;
}

static int pointer_value(struct item *item, struct value *value, struct resolve_error *error)
{
	Dwarf_Die target;

	if (!type_of(&item->type, &target) || !is_text(&target))
		return number_value(item, value, PROBE_FIELD_HEX, 8, error);
	value->type = PROBE_FIELD_STRING;
	value->size = 1;
	value->limit = STRING_STANDARD;
	if (load(item, 8, error))
		return -E2BIG;
	value->fetch = item->where.fetch;
	return 0;
}

int item_value(struct item *item, struct value *value, struct resolve_error *error)
{
	int tag = dwarf_tag(&item->type);
	Dwarf_Word size = 0;
	Dwarf_Die element;
	bool scalar;

	if (item->is_address)
		return number_value(item, value, PROBE_FIELD_HEX, 8, error);
	if (tag == DW_TAG_pointer_type)
		return pointer_value(item, value, error);
	if (is_reference(&item->type))
		return number_value(item, value, PROBE_FIELD_HEX, 8, error);
	(void)dwarf_aggregate_size(&item->type, &size);
	scalar = size == 1 || size == 2 || size == 4 || size == 8;
	if (tag == DW_TAG_enumeration_type && scalar)
		return number_value(item, value, enumeration_type(&item->type), (unsigned int)size,
				error);
	if (tag == DW_TAG_base_type && scalar) {
		enum probe_field_type type = base_type(&item->type);

		if (type != PROBE_FIELD_FLOAT || size >= 4)
			return number_value(item, value, type, (unsigned int)size, error);
	}
	return memory_value(item, value, size,
			tag == DW_TAG_array_type && type_of(&item->type, &element) &&
					is_text(&element),
			error);
}
