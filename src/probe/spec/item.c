/* SPDX-License-Identifier: MIT */
/* Loads an item, and steps from it to its own members and along plain pointers and arrays. */
#include "item.h"

#include "base/nearest/nearest.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define MEMBERS_MAX 10000
#define DEPTH_MAX 8

int item_too_long(struct error *error)
{
	return error_set(error, -E2BIG, "", "reading it takes too many steps");
}

/* Rust's debug information gives references the name of their type in the source. */
static bool is_borrowed(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return dwarf_tag(type) == DW_TAG_pointer_type && name && *name == '&';
}

bool type_is_reference(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type ||
			is_borrowed(type);
}

/* Loads `size` bytes of a piece, from its byte `at` on. */
static int load_piece(const struct located_piece *piece, uint64_t at, unsigned int size,
		struct fetch *ret_fetch)
{
	*ret_fetch = piece->fetch;
	if (piece->kind == LOCATED_VALUE)
		return at ? fetch_op(ret_fetch, PROBE_FETCH_SHIFT_RIGHT, 0, 8 * (unsigned int)at, 0)
			  : 0;
	if (fetch_add(ret_fetch, (int64_t)at))
		return -E2BIG;
	return fetch_op(ret_fetch, PROBE_FETCH_LOAD, 0, size, 0);
}

/* Shift a part to its position in the whole, and combine both. */
static int join_piece(struct fetch *whole, struct fetch *part, unsigned int at, unsigned int size)
{
	struct fetch left = {.nr_ops = 0};
	int ret = fetch_op(part, PROBE_FETCH_ZERO_EXTEND, 0, 8 * size, 0);

	(void)fetch_op(&left, PROBE_FETCH_CONSTANT, 0, 0, 8 * (int64_t)at);
	if (!ret && at)
		ret = fetch_calculate(part, PROBE_SUM_LEFT, &left);
	if (ret)
		return ret;
	if (at)
		return fetch_calculate(whole, PROBE_SUM_OR, part);
	*whole = *part;
	return 0;
}

static int part_not_kept(struct error *error)
{
	return error_set(error, -ENOENT, "probe another location, or compile with -O0 or -Og",
			"the compiler has optimized this part of it out at this location");
}

/* Loads bytes of an item that is in several pieces. */
static int load_pieces(struct item *item, unsigned int size, struct error *error)
{
	struct fetch whole = {.nr_ops = 0}, part;
	unsigned int done = 0;

	for (uint32_t i = 0; i < item->where.nr_pieces && done < size; i++) {
		const struct located_piece *piece = &item->where.pieces[i];
		uint64_t begin = item->at + done, inside = begin - piece->offset, remainder;
		unsigned int length;

		if (begin < piece->offset || inside >= piece->size)
			continue;
		if (piece->kind == LOCATED_NOWHERE)
			return part_not_kept(error);
		remainder = piece->size - inside;
		length = remainder < size - done ? (unsigned int)remainder : size - done;
		if (piece->kind == LOCATED_MEMORY && (length & (length - 1)))
			return error_set(error, -ENOTSUP, "write it as TYPE:NAME:ADDR",
					"its bytes are in several pieces");
		if (load_piece(piece, inside, length, &part) ||
				(length < size && join_piece(&whole, &part, done, length)))
			return item_too_long(error);
		if (length == size)
			whole = part;
		done += length;
	}
	if (done < size)
		return part_not_kept(error);
	item->where.fetch = whole;
	return 0;
}

/* A vector register has 16 bytes; a fetch reads one half of it. */
static void enter_vector(struct item *item)
{
	struct probe_fetch_op *op = item->where.fetch.ops;

	if (item->where.fetch.nr_ops != 1 || op->code != PROBE_FETCH_VECTOR || op->value ||
			item->at < 8 || item->at >= 16)
		return;
	op->value = 8;
	item->at -= 8;
}

int item_load(struct item *item, unsigned int size, struct error *error)
{
	int ret = 0;

	switch (item->where.kind) {
	case LOCATED_MEMORY:
		ret = fetch_op(&item->where.fetch, PROBE_FETCH_LOAD, 0, size, 0)
				? item_too_long(error)
				: 0;
		break;
	case LOCATED_VALUE:
		enter_vector(item);
		if (item->at > 8 || item->at + size > 8)
			ret = part_not_kept(error);
		else if (item->at &&
				fetch_op(&item->where.fetch, PROBE_FETCH_SHIFT_RIGHT, 0,
						8 * (unsigned int)item->at, 0))
			ret = item_too_long(error);
		break;
	case LOCATED_PIECES: ret = load_pieces(item, size, error); break;
	default:
		ret = error_set(error, -ENOENT, "request what it points to, as in `*p`",
				"it points to a variable that the compiler keeps in registers, so the pointer has no value");
	}
	item->where.kind = LOCATED_VALUE;
	item->at = 0;
	return ret;
}

/*
 * Follows a pointer that was optimized out, to an object without address, but with known contents.
 */
static int follow_nowhere(struct item *item, struct error *error)
{
	Dwarf_Die target = item->where.target;
	int64_t offset = item->where.target_offset;
	int ret = locate_variable(item->location, &target, &item->where, error);

	item->at = 0;
	if (ret)
		return ret;
	if (item->where.kind == LOCATED_MEMORY)
		return fetch_add(&item->where.fetch, offset) ? item_too_long(error) : 0;
	if (offset < 0 || (offset && item->where.kind == LOCATED_POINTER))
		return error_set(error, -ENOTSUP, "",
				"it points next to a variable that the compiler keeps in registers");
	item->at = (uint64_t)offset;
	return 0;
}

static int item_resolve(struct item *item, struct error *error)
{
	Dwarf_Die target;
	int ret;

	if (!type_of(&item->type, &target))
		return error_set(error, -EINVAL, "",
				"a pointer to void has no type that could be recorded");
	item->type = target;
	if (item->where.kind == LOCATED_POINTER)
		return follow_nowhere(item, error);
	ret = item_load(item, 8, error);
	item->where.kind = LOCATED_MEMORY;
	item->guarded = true;
	return ret;
}

int item_follow_reference(struct item *item, struct error *error)
{
	bool borrowed = is_borrowed(&item->type);
	int ret = type_is_reference(&item->type) ? item_resolve(item, error) : 0;

	item->borrowed = borrowed;
	return ret;
}

int item_follow(struct item *item, struct error *error)
{
	int tag = dwarf_tag(&item->type);
	Dwarf_Die element;

	if (item->is_address) {
		item->is_address = false;
		item->where.kind = LOCATED_MEMORY;
		return 0;
	}
	if (tag == DW_TAG_array_type && type_of(&item->type, &element)) {
		struct type_dimension dimensions[TYPE_DIMENSIONS_MAX];

		if (++item->dimension < type_dimensions(&item->type, dimensions))
			return 0;
		item->dimension = 0;
		item->type = element;
		return 0;
	}
	/*
	 * `r` of Rust already means the object that the reference refers to, so `*r` is the same.
	 */
	if (item->borrowed) {
		item->borrowed = false;
		return 0;
	}
	if (tag != DW_TAG_pointer_type || item->is_count)
		return error_set(error, -EINVAL, "", "it is not a pointer");
	return item_resolve(item, error);
}

int item_address(struct item *item, struct error *error)
{
	if (item->where.kind != LOCATED_MEMORY || item->bits || item->is_address)
		return error_set(error, -EINVAL, "leave the `&` out",
				"a value in a register has no address");
	item->where.kind = LOCATED_VALUE;
	item->is_address = true;
	return 0;
}

bool item_size(struct item *item, uint64_t *ret_size)
{
	struct type_dimension dimensions[TYPE_DIMENSIONS_MAX];
	unsigned int count;
	Dwarf_Die element;

	if (!item->dimension)
		return type_size(&item->type, ret_size);
	if (!type_of(&item->type, &element) || !type_size(&element, ret_size))
		return false;
	count = type_dimensions(&item->type, dimensions);
	for (unsigned int i = item->dimension; i < count; i++) {
		if (__builtin_mul_overflow(*ret_size, dimensions[i].count, ret_size) ||
				*ret_size > INT32_MAX)
			return false;
	}
	return true;
}

/* ---- members ---- */

struct member_search {
	const char *name;
	struct item_member found;
	struct nearest *nearest;
};

static uint64_t member_offset(Dwarf_Die *member)
{
	Dwarf_Attribute attribute;
	Dwarf_Word at = 0;

	if (dwarf_attr_integrate(member, DW_AT_data_member_location, &attribute))
		(void)dwarf_formudata(&attribute, &at);
	return at;
}

/*
 * A static member belongs to the class. Before DWARF 5 it is a DW_TAG_member like the others, but
 * has no location in an object.
 */
static bool is_static(Dwarf_Die *member)
{
	return dwarf_hasattr(member, DW_AT_external) || dwarf_hasattr(member, DW_AT_declaration) ||
			dwarf_hasattr(member, DW_AT_const_value);
}

/* Also search base classes and members without a name. */
static bool search_members(Dwarf_Die *type, struct member_search *search, unsigned int depth)
{
	unsigned int count = 0;
	Dwarf_Die child, inner;

	if (depth > DEPTH_MAX || dwarf_child(type, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);
		const char *name = dwarf_diename(&child);

		/* Members of a variant of a Rust enum are in a part of its own. */
		if ((tag == DW_TAG_variant_part || tag == DW_TAG_variant) &&
				search_members(&child, search, depth + 1))
			return true;
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || is_static(&child))
			continue;
		if (name && tag == DW_TAG_member && search->nearest)
			nearest_offer(search->nearest, name);
		if (name && tag == DW_TAG_member && !strcmp(name, search->name)) {
			search->found.die = child;
			search->found.offset += member_offset(&child);
			return true;
		}
		if ((!name || tag == DW_TAG_inheritance) && type_of(&child, &inner) &&
				search_members(&inner, search, depth + 1)) {
			search->found.offset += member_offset(&child);
			return true;
		}
	} while (count++ < MEMBERS_MAX && !dwarf_siblingof(&child, &child));
	return false;
}

static bool item_read_number(Dwarf_Die *die, unsigned int name, Dwarf_Word *ret_number)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, name, &attribute) &&
			!dwarf_formudata(&attribute, ret_number);
}

/*
 * The offset of a bit field is from the beginning of the structure; in older DWARF from the highest
 * bit of its storage.
 */
static void item_read_bits(struct item *item, Dwarf_Die *member, uint64_t *offset)
{
	Dwarf_Word bits, first, stored;
	uint64_t size;

	if (!item_read_number(member, DW_AT_bit_size, &bits) || !bits || bits > 64 ||
			!type_size(&item->type, &size) || !size || size > 8)
		return;
	if (item_read_number(member, DW_AT_data_bit_offset, &first)) {
		*offset += first / (8 * size) * size;
		first %= 8 * size;
	} else if (item_read_number(member, DW_AT_bit_offset, &first)) {
		if (!item_read_number(member, DW_AT_byte_size, &stored))
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

void item_complete(struct item *item)
{
	Dwarf_Die whole;

	if (item->location && dwarf_hasattr(&item->type, DW_AT_declaration) &&
			debug_type(item->location->debug, &item->type, &whole))
		item->type = whole;
}

static int item_descend(struct item *item, Dwarf_Die *member, uint64_t offset, struct error *error)
{
	const char *name = dwarf_diename(member) ? dwarf_diename(member) : "";

	if (!type_of(member, &item->type))
		return error_set(error, -EINVAL, "", "the member `%.128s` has no type", name);
	item_read_bits(item, member, &offset);
	if (offset > INT32_MAX)
		return error_set(error, -EINVAL, "", "the member `%.128s` is too far away", name);
	if (item->where.kind != LOCATED_MEMORY)
		item->at += offset;
	else if (fetch_add(&item->where.fetch, (int64_t)offset))
		return item_too_long(error);
	return 0;
}

int item_follow_to_members(struct item *item, struct error *error)
{
	bool is_pointer = dwarf_tag(&item->type) == DW_TAG_pointer_type && !item->is_address &&
			!item->is_count;
	int ret = is_pointer ? item_follow(item, error) : 0;

	if (!ret)
		item_complete(item);
	return ret;
}

bool item_find_member(struct item *item, const char *name, struct nearest *nearest,
		struct item_member *ret_member)
{
	struct member_search search = {.name = name, .nearest = nearest};
	bool found = search_members(&item->type, &search, 0);

	*ret_member = search.found;
	return found;
}

int item_enter_member(struct item *item, struct item_member *member, struct error *error)
{
	int ret = item_descend(item, &member->die, member->offset, error);

	return ret ? ret : item_follow_reference(item, error);
}

int item_own_member(struct item *item, const char *name)
{
	struct item_member member;
	struct error ignored;

	if (item_follow_to_members(item, &ignored) || !item_find_member(item, name, NULL, &member))
		return -ENOENT;
	return item_enter_member(item, &member, &ignored) ? -ENOENT : 0;
}

int item_enter(struct item *item, Dwarf_Die *member, struct error *error)
{
	return item_descend(item, member, member_offset(member), error);
}
