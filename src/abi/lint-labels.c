/* SPDX-License-Identifier: MIT */
/* Checks ranges: of the labels of enumerations and bitmaps, and of the options of variants. */
#include <inttypes.h>

#include "abi/lint.h"

/* The integer of an enumeration or selector; NULL if the type is none. */
static const struct side_type_integer *abi_lint_labels_get_integer(const struct side_type *type)
{
	if (side_enum_get(type->type) == SIDE_TYPE_GATHER_INTEGER)
		return &type->u.side_gather.u.side_integer.type;
	return visit_label_is_integer(side_enum_get(type->type)) ? &type->u.side_integer : NULL;
}

/* Whether the integer can have a value in the range. */
static bool lint_labels_is_reachable(
		const struct side_type_integer *type, int64_t begin, int64_t end)
{
	unsigned int bits = type->len_bits ? type->len_bits : 8u * type->integer_size;
	int64_t top;

	/* The range covers all bits: the larger half of 64-bit numbers counts as negative. */
	if (bits >= 64)
		return true;
	if (!type->signedness && end < 0)
		return false;
	top = (int64_t)((UINT64_C(1) << (type->signedness ? bits - 1 : bits)) - 1);
	return begin <= top && (!type->signedness || end >= -top - 1);
}

/* ---- labels ---- */

/*
 * Both tables of mappings have the same layout. Equal texts are only a remark: writers merge such
 * ranges, and the ABI has no other form for a label with several ranges.
 */
static void lint_same_label(struct lint *lint, const struct side_enum_mapping *mappings, uint32_t i,
		const struct visit_node *node)
{
	uint32_t k;

	for (k = 0; k < i && i < LINT_PAIRS_MAX; k++) {
		if (!visit_raw_string_same(&mappings[i].label, &mappings[k].label))
			continue;
		lint_report(lint, VISIT_REMARK, node,
				"labels %" PRIu32 " and %" PRIu32
				" have the same text\ngive each a text of its own, or one range to both",
				k, i);
		return;
	}
}

/*
 * A value of an enumeration has all labels whose range contains it, so a range inside another is a
 * group within it. Two ranges that overlap in part may be a mistake, but the ABI permits them. A
 * bit may be in any number of groups.
 */
static void lint_crossing(struct lint *lint, const struct side_enum_mapping *mappings, uint32_t i,
		const struct visit_node *node)
{
	int64_t begin = mappings[i].range_begin, end = mappings[i].range_end, other, last;
	uint32_t k;

	for (k = 0; k < i && i < LINT_PAIRS_MAX; k++) {
		other = mappings[k].range_begin;
		last = mappings[k].range_end;
		if (other > last || other > end || last < begin)
			continue;
		if ((other >= begin && last <= end) || (begin >= other && end <= last))
			continue;
		lint_report(lint, VISIT_REMARK, node,
				"labels %" PRIu32 " and %" PRIu32 " share the values %" PRId64
				" to %" PRId64 "\nend the one before the other begins",
				k, i, begin > other ? begin : other, end < last ? end : last);
		/* One finding is enough, as with options. */
		return;
	}
}

void lint_enum(struct lint *lint, const struct side_type_enum *type, const struct visit_node *node)
{
	const struct side_enum_mappings *mappings = side_ptr_get(type->mappings);
	const struct side_type_integer *integer =
			abi_lint_labels_get_integer(side_ptr_get(type->elem_type));
	const struct side_enum_mapping *all = side_array_elements(&mappings->mappings);
	uint32_t i, nr = side_array_length(&mappings->mappings);

	if (!nr)
		lint_report(lint, VISIT_WARNING, node,
				"the enumeration has no labels\nadd some, or describe an integer");
	for (i = 0; i < nr; i++) {
		int64_t begin = all[i].range_begin, end = all[i].range_end;

		lint_label(lint, &all[i].label, i, node);
		lint_same_label(lint, all, i, node);
		if (end < begin) {
			lint_report(lint, VISIT_ERROR, node,
					"the range of label %" PRIu32 " ends (%" PRId64
					") before it begins (%" PRId64 ")\nexchange its ends",
					i, end, begin);
			continue;
		}
		lint_crossing(lint, all, i, node);
		if (integer && !lint_labels_is_reachable(integer, begin, end))
			lint_report(lint, VISIT_REMARK, node,
					"label %" PRIu32 " (%" PRId64 " to %" PRId64
					") is outside of the range of its integer\nuse a wider integer, or a value in its range",
					i, begin, end);
	}
}

/* The number of bits of a bitmap; 0: known only in a call. */
static uint64_t abi_lint_labels_get_bits(const struct side_type *type)
{
	const struct side_type_array *array;

	if (side_enum_get(type->type) == SIDE_TYPE_BYTE)
		return 8;
	if (visit_label_is_integer(side_enum_get(type->type)))
		return type->u.side_integer.len_bits ? type->u.side_integer.len_bits
						     : 8u * type->u.side_integer.integer_size;
	if (side_enum_get(type->type) != SIDE_TYPE_ARRAY)
		return 0;
	array = side_ptr_get(type->u.side_array);
	return array->length * abi_lint_labels_get_bits(side_ptr_get(array->elem_type));
}

void lint_bitmap(struct lint *lint, const struct side_type_enum_bitmap *type,
		const struct visit_node *node)
{
	const struct side_enum_bitmap_mappings *mappings = side_ptr_get(type->mappings);
	const struct side_enum_bitmap_mapping *all = side_array_elements(&mappings->mappings);
	uint64_t bits = abi_lint_labels_get_bits(side_ptr_get(type->elem_type));
	uint32_t i, nr = side_array_length(&mappings->mappings);

	_Static_assert(sizeof(*all) == sizeof(struct side_enum_mapping), "one layout");
	if (!nr)
		lint_report(lint, VISIT_WARNING, node,
				"the bitmap has no labels\nadd some, or describe an integer");
	for (i = 0; i < nr; i++) {
		lint_label(lint, &all[i].label, i, node);
		lint_same_label(lint, (const struct side_enum_mapping *)(const void *)all, i, node);
		if (all[i].range_end < all[i].range_begin)
			lint_report(lint, VISIT_ERROR, node,
					"the range of label %" PRIu32 " ends (%" PRIu64
					") before it begins (%" PRIu64 ")\nexchange its ends",
					i, all[i].range_end, all[i].range_begin);
		else if (bits && all[i].range_begin >= bits)
			lint_report(lint, VISIT_REMARK, node,
					"label %" PRIu32 " begins at bit %" PRIu64
					", but the integer has %" PRIu64
					" bits\nuse a wider integer, or a bit that it has",
					i, all[i].range_begin, bits);
	}
}

/* ---- options ---- */

/*
 * The first option that contains the selector is chosen, so an option for all other values may
 * follow those that it contains. Each option is reported with one other only: n options that all
 * overlap would have n * n findings.
 */
static void lint_option(struct lint *lint, const struct side_variant_option *options, uint32_t i,
		const struct visit_node *node)
{
	int64_t begin = options[i].range_begin, end = options[i].range_end, other, last;
	uint32_t k, crossed = i;

	for (k = 0; k < i && i < LINT_PAIRS_MAX; k++) {
		other = options[k].range_begin;
		last = options[k].range_end;
		/* An empty option overlaps with none. */
		if (other > last || other > end || last < begin)
			continue;
		if (other <= begin && end <= last) {
			lint_report(lint, VISIT_WARNING, node,
					"option %" PRIu32 " is never chosen: option %" PRIu32
					", which comes first, has all of its selectors\nput the narrower one first, or remove one",
					i, k);
			return;
		}
		if (crossed == i && (other < begin || last > end))
			crossed = k;
	}
	if (crossed < i)
		lint_report(lint, VISIT_REMARK, node,
				"options %" PRIu32 " and %" PRIu32
				" have selectors in common; the first one is used\ngive each selector to one option",
				crossed, i);
}

void lint_variant(struct lint *lint, const struct side_type_variant *type,
		const struct visit_node *node)
{
	const struct side_type_integer *selector = abi_lint_labels_get_integer(&type->selector);
	const struct side_variant_option *options = side_array_elements(&type->options);
	uint32_t i, nr = side_array_length(&type->options);

	if (!nr)
		lint_report(lint, VISIT_ERROR, node,
				"the variant has no options\nadd one for each selector");
	for (i = 0; i < nr; i++) {
		if (options[i].range_end < options[i].range_begin) {
			lint_report(lint, VISIT_ERROR, node,
					"the range of option %" PRIu32 " ends (%" PRId64
					") before it begins (%" PRId64 ")\nexchange its ends",
					i, options[i].range_end, options[i].range_begin);
			continue;
		}
		lint_option(lint, options, i, node);
		if (selector &&
				!lint_labels_is_reachable(selector, options[i].range_begin,
						options[i].range_end))
			lint_report(lint, VISIT_REMARK, node,
					"option %" PRIu32
					" is outside of the range of the selector\nuse a wider selector, or a value in its range",
					i);
	}
}
