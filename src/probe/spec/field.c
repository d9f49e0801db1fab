/* SPDX-License-Identifier: MIT */
/* Converts an item to the value of an event field. */
#include "field.h"

#include "library.h"
#include "numbers.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STRING_DEFAULT 256
#define SEVERAL_DEFAULT 64 /* maximum number of elements if the source does not limit it */

static bool spec_field_is_text(Dwarf_Die *type)
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

/* If one piece contains the whole value, uses only this piece. */
static void spec_field_use_whole_piece(struct item *item, uint64_t size)
{
	for (uint32_t i = 0; item->where.kind == LOCATED_PIECES && i < item->where.nr_pieces; i++) {
		struct located_piece *piece = &item->where.pieces[i];

		if (piece->kind != LOCATED_MEMORY || item->at < piece->offset ||
				item->at + size > (uint64_t)piece->offset + piece->size ||
				fetch_add(&piece->fetch, (int64_t)(item->at - piece->offset)))
			continue;
		item->where.fetch = piece->fetch;
		item->where.kind = LOCATED_MEMORY;
		item->at = 0;
	}
}

/* Writes the hint "request its members: `a`, `b`, …", with at most four of them. */
static void spec_field_list_members(struct item *item, char *text, size_t capacity)
{
	unsigned int count = 0;
	size_t used = (size_t)snprintf(text, capacity, "request its members");
	Dwarf_Die child;

	if (dwarf_child(&item->type, &child))
		return;
	do {
		const char *name = dwarf_diename(&child);

		if (dwarf_tag(&child) != DW_TAG_member || !name ||
				dwarf_hasattr(&child, DW_AT_external))
			continue;
		used += (size_t)snprintf(text + used, capacity - used, "%s `%.40s`",
				count ? "," : ":", name);
		count++;
	} while (count < 4 && !dwarf_siblingof(&child, &child));
}

/*
 * Makes a field of text or bytes: its fetch computes the address, and the agent copies the bytes.
 */
static int spec_field_memory_value(struct item *item, struct value *value, uint64_t size, bool text,
		struct error *error)
{
	char members[256];

	spec_field_use_whole_piece(item, size);
	spec_field_list_members(item, members, sizeof(members));
	if (item->where.kind != LOCATED_MEMORY)
		return error_set(error, -ENOTSUP,
				text ? "request its elements, as in `a[0]`" : members,
				"it is %s in registers, which a field cannot hold",
				text ? "text" : "a structure");
	/* The last member of a structure may be an array without size. */
	if (!size && text)
		size = STRING_DEFAULT;
	if (!size && dwarf_hasattr(&item->type, DW_AT_declaration))
		return error_set(error, -ENODATA,
				"compile with -fstandalone-debug, or install the debug symbols of the library that has it",
				"the debug information does not contain the members of `%.128s`",
				dwarf_diename(&item->type) ? dwarf_diename(&item->type)
							   : "value of that type");
	if (!size)
		return error_set(error, -EINVAL, "", "its size is unknown");
	value->type = text ? PROBE_FIELD_STRING : PROBE_FIELD_BYTES;
	value->size = 1;
	value->limit = (uint16_t)(size < PROBE_TABLE_TEXT_MAX ? size : PROBE_TABLE_TEXT_MAX);
	value->fetch = item->where.fetch;
	return 0;
}

static int spec_field_pointer_value(struct item *item, struct value *value, struct error *error)
{
	Dwarf_Die target;

	if (!type_of(&item->type, &target) || !spec_field_is_text(&target))
		return number_value(item, value, PROBE_FIELD_HEX, 8, error);
	value->type = PROBE_FIELD_STRING;
	value->size = 1;
	value->limit = STRING_DEFAULT;
	if (item_load(item, 8, error))
		return -E2BIG;
	value->fetch = item->where.fetch;
	return 0;
}

/* A std::string of libstdc++ begins with a pointer to text that ends with a NUL. */
static bool spec_field_string_value(struct item *item, struct value *value)
{
	struct error ignored;
	struct item text = *item;

	if (!item_own_member(&text, "_M_dataplus") && !item_own_member(&text, "_M_p"))
		return !spec_field_pointer_value(&text, value, &ignored) &&
				value->type == PROBE_FIELD_STRING;
	/* clang records only a declaration of this type. */
	if (!type_is_standard_string(&item->type) || item->where.kind != LOCATED_MEMORY)
		return false;
	text = *item;
	value->type = PROBE_FIELD_STRING;
	value->size = 1;
	value->limit = STRING_DEFAULT;
	if (item_load(&text, 8, &ignored))
		return false;
	value->fetch = text.where.fetch;
	return true;
}

/* ---- several ---- */

/*
 * Makes a fetch that computes the length, the number of elements times `factor`, and then the
 * address of the first element. If the number is constant, the fetch only computes the address.
 */
static int spec_field_count_and_address(const struct item *first, const struct item_count *count,
		uint64_t factor, struct value *value, struct error *error)
{
	struct fetch right = {.nr_ops = 0}, *fetch = &value->fetch;
	int ret;

	if (count->known) {
		*fetch = first->where.fetch;
		return 0;
	}
	*fetch = count->fetch;
	ret = fetch_op(&right, PROBE_FETCH_CONSTANT, 0, 0, (int64_t)factor);
	if (!ret && factor > 1)
		ret = fetch_calculate(fetch, PROBE_SUM_TIMES, &right);
	if (!ret)
		ret = fetch_op(fetch, PROBE_FETCH_LENGTH, 0, 0, 0);
	for (uint32_t i = 0; i < first->where.fetch.nr_ops && !ret; i++) {
		const struct probe_fetch_op *op = &first->where.fetch.ops[i];

		ret = fetch_op(fetch, (enum probe_fetch_code)op->code, op->reg, op->size,
				op->value);
	}
	return ret ? item_too_long(error) : 0;
}

static uint16_t spec_field_limit(uint64_t count, uint64_t size)
{
	uint64_t most = PROBE_TABLE_TEXT_MAX / (size ? size : 1);

	return (uint16_t)(count < most ? count : most);
}

static int spec_field_not_in_memory(struct error *error)
{
	return error_set(error, -ENOTSUP, "request single ones, as in `a[0]`",
			"they are in registers, which a field cannot hold");
}

/* True if several of these bytes are text in C++ or Rust. */
static bool spec_field_is_letter(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return spec_field_is_text(type) || (name && !strcmp(name, "u8"));
}

static int spec_field_sized_value(const struct item *first, const struct item_count *count,
		uint64_t factor, uint64_t default_limit, struct value *value, struct error *error)
{
	struct item_count bytes = *count;

	if (first->where.kind != LOCATED_MEMORY)
		return spec_field_not_in_memory(error);
	value->size = 1;
	value->limit = spec_field_limit(bytes.known ? bytes.known * factor : default_limit, 1);
	return spec_field_count_and_address(first, &bytes, factor, value, error);
}

static int spec_field_text_value(struct item *item, const struct item_count *count,
		struct value *value, struct error *error)
{
	/* Without a count, the text ends with its NUL. */
	value->type = PROBE_FIELD_STRING;
	return spec_field_sized_value(item, count, 1, STRING_DEFAULT, value, error);
}

int item_several(struct item *item, const struct item_count *count, struct value *value,
		struct error *error)
{
	uint64_t size = 0;
	const char *name;

	if (item->where.kind != LOCATED_MEMORY || item->bits || item->is_address)
		return spec_field_not_in_memory(error);
	if (spec_field_is_letter(&item->type))
		return spec_field_text_value(item, count, value, error);
	name = dwarf_diename(&item->type);
	if (!item->dimension && type_size(&item->type, &size))
		value->type = (uint8_t)number_field_type(&item->type, size);
	if (!value->type)
		return error_set(error, -ENOTSUP,
				"request one of them, as in `a[0]`, or their members",
				"each of them is %s%.128s, not a number",
				name ? "a " : "a type without a name", name ? name : "");
	value->size = (uint8_t)size;
	value->limit = spec_field_limit(count->known ? count->known : SEVERAL_DEFAULT, size);
	return spec_field_count_and_address(item, count, 1, value, error);
}

static int spec_field_sequence_value(
		const struct sequence *sequence, struct value *value, struct error *error)
{
	const struct item_count count = {.known = sequence->fixed, .fetch = sequence->count};
	struct item first = sequence->first;
	int ret;

	if (sequence->lost)
		return library_lost(error);
	if (sequence->text)
		return spec_field_text_value(&first, &count, value, error);
	ret = item_several(&first, &count, value, error);
	if (ret && sequence->optional)
		error_set_hint(error, "request `*x` and `x.has_value()`");
	if (!ret && sequence->optional && value->type != PROBE_FIELD_STRING)
		value->limit = 1;
	return ret;
}

/*
 * Replaces a pointer, an array or a library container by its first element in memory. `what` names
 * the elements in messages.
 */
static int spec_field_find_first(struct item *item, struct item_count *ret_count, const char *what,
		struct error *error)
{
	struct sequence sequence;
	uint64_t size = 0;

	ret_count->known = 0;
	if (library_sequence(item, &sequence)) {
		if (sequence.lost)
			return library_lost(error);
		*item = sequence.first;
		*ret_count = (struct item_count){.known = sequence.fixed, .fetch = sequence.count};
		return 0;
	}
	(void)item_size(item, &size);
	if (dwarf_tag(&item->type) == DW_TAG_pointer_type && !item->is_address) {
		int ret;

		if (item->where.kind == LOCATED_POINTER)
			return item_follow(item, error);
		ret = item_load(item, 8, error);
		item->where.kind = LOCATED_MEMORY;
		return ret;
	}
	if (item->is_address) {
		item->where.kind = LOCATED_MEMORY;
		return 0;
	}
	if (item->is_count || number_field_type(&item->type, size))
		return error_set(error, -EINVAL, "", "a number is not the address of %s", what);
	spec_field_use_whole_piece(item, size);
	ret_count->known = size;
	return 0;
}

/*
 * Records the first `count` bytes of the text of a libstdc++ string, not of the object, which only
 * points to the text.
 */
static int spec_field_counted_string(struct item *item, const struct item_count *count,
		struct value *value, struct error *error)
{
	struct value whole = {.type = 0};

	if (!spec_field_string_value(item, &whole))
		return library_lost(error);
	item->where = (struct located){.kind = LOCATED_MEMORY, .fetch = whole.fetch};
	return spec_field_text_value(item, count, value, error);
}

int item_text(struct item *item, const struct item_count *count, struct value *value,
		struct error *error)
{
	struct item_count own = {0};
	int ret;

	item_complete(item);
	if (type_is_string(&item->type) && !item->is_address)
		return count ? spec_field_counted_string(item, count, value, error)
			     : item_value(item, value, error);
	ret = spec_field_find_first(item, &own, "a text", error);
	if (ret)
		return ret;
	if (count)
		own = *count;
	else if (!own.known && !own.fetch.nr_ops)
		own.known = STRING_DEFAULT;
	return spec_field_text_value(item, &own, value, error);
}

int item_bytes(struct item *item, const struct item_count *count, struct value *value,
		struct error *error)
{
	struct item_count own = {.known = 0};
	uint64_t size = 1;
	bool many;
	int ret;

	item_complete(item);
	if (type_is_string(&item->type) && !item->is_address) {
		struct item length = *item;
		struct value number = {.type = 0};

		if (item_own_member(&length, "_M_string_length") ||
				item_value(&length, &number, error) ||
				item_own_member(item, "_M_dataplus") ||
				item_own_member(item, "_M_p") ||
				spec_field_find_first(item, &own, "bytes", error))
			return library_lost(error);
		own.fetch = number.fetch;
	} else {
		struct sequence sequence;

		many = library_sequence(item, &sequence);
		ret = spec_field_find_first(item, &own, "bytes", error);
		if (ret)
			return ret;
		if (many && (!type_size(&item->type, &size) || !size))
			size = 1;
	}
	if (count) {
		own = *count;
		size = 1;
	}
	if (!own.known && !own.fetch.nr_ops)
		return error_set(error, -EINVAL, "write `bytes(p, 16)`, or `bytes(p, n)`",
				"the number of bytes that the pointer leads to is unknown");
	value->type = PROBE_FIELD_BYTES;
	return spec_field_sized_value(item, &own, size, STRING_DEFAULT, value, error);
}

/* ---- a single value ---- */

/* Records the discriminant of a Rust enum, as a number with labels. */
static bool spec_field_variant_value(struct item *item, struct value *value)
{
	struct error ignored;
	Dwarf_Attribute attribute;
	Dwarf_Die part, member;
	struct item discriminant = *item;
	uint64_t size;

	if (dwarf_tag(&item->type) != DW_TAG_structure_type || dwarf_child(&item->type, &part))
		return false;
	while (dwarf_tag(&part) != DW_TAG_variant_part)
		if (dwarf_siblingof(&part, &part))
			return false;
	if (!dwarf_attr(&part, DW_AT_discr, &attribute) ||
			!dwarf_formref_die(&attribute, &member) ||
			item_enter(&discriminant, &member, &ignored) ||
			!type_size(&discriminant.type, &size) ||
			!number_field_type(&discriminant.type, size) ||
			number_value(&discriminant, value, PROBE_FIELD_UNSIGNED, (unsigned int)size,
					&ignored))
		return false;
	value->enumeration = part;
	return true;
}

/* Records all numbers of an array with any number of dimensions. */
static bool spec_field_array_value(
		struct item *item, struct value *value, uint64_t size, struct error *error)
{
	struct item first = *item;
	struct item_count count;
	uint64_t each;

	if (dwarf_tag(&item->type) != DW_TAG_array_type || !type_of(&item->type, &first.type) ||
			!type_size(&first.type, &each) || !each || size < each)
		return false;
	first.dimension = 0;
	spec_field_use_whole_piece(&first, size);
	count = (struct item_count){.known = size / each};
	return !spec_field_is_text(&first.type) && number_field_type(&first.type, each) &&
			!item_several(&first, &count, value, error);
}

static int spec_field_plain_value(struct item *item, struct value *value, struct error *error)
{
	struct sequence sequence;
	enum number_form form;
	uint64_t size = 0;
	Dwarf_Die element;

	if (item->is_part)
		return number_part_value(item, value, error);
	if (item->is_address || item->is_count)
		return number_value(item, value,
				item->is_count ? PROBE_FIELD_UNSIGNED : PROBE_FIELD_HEX, 8, error);
	item_complete(item);
	if (!item->dimension && type_is_string(&item->type) && spec_field_string_value(item, value))
		return 0;
	if (library_sequence(item, &sequence))
		return spec_field_sequence_value(&sequence, value, error);
	(void)library_pointer(item);
	if (spec_field_variant_value(item, value))
		return 0;
	if (!item->dimension)
		(void)library_unwrap(item);
	if (dwarf_tag(&item->type) == DW_TAG_pointer_type)
		return spec_field_pointer_value(item, value, error);
	if (type_is_reference(&item->type))
		return number_value(item, value, PROBE_FIELD_HEX, 8, error);
	(void)item_size(item, &size);
	form = item->dimension ? NUMBER_NONE : number_form(&item->type);
	if (form > NUMBER_PLAIN)
		return number_form_value(item, form, value, error);
	if (!item->dimension && number_field_type(&item->type, size))
		return number_scalar_value(item, value, size, error);
	if (spec_field_array_value(item, value, size, error))
		return 0;
	return spec_field_memory_value(item, value, size,
			dwarf_tag(&item->type) == DW_TAG_array_type &&
					type_of(&item->type, &element) &&
					spec_field_is_text(&element),
			error);
}

int item_value(struct item *item, struct value *value, struct error *error)
{
	int ret = spec_field_plain_value(item, value, error);

	value->guarded = item->guarded;
	return ret;
}

bool item_is_single(struct item *item)
{
	struct item copy = *item;
	struct sequence sequence;
	struct value value = {.type = 0};

	return library_sequence(&copy, &sequence) || library_pointer(&copy) ||
			spec_field_variant_value(&copy, &value) || library_unwrap(&copy);
}
