/* SPDX-License-Identifier: MIT */
/* Compares the known arguments of one call with the description of its event. */
#include "calls.h"

#include <string.h>

#define DEPTH_MAX 8

struct compare {
	struct image *image;
	const struct calls_state *state;
	struct calls_problem *problem;
	char location[200];
};

static struct calls_value calls_compare_load_value(const struct compare *compare,
		const struct calls_value *base, uint64_t offset, unsigned int size)
{
	uint64_t number = 0;

	if (base->kind == KNOWN_STACK)
		return calls_load(compare->state, base->number + (int64_t)offset, size);
	if (calls_is_constant(base, 8) && base->number &&
			calls_read_constant(compare->image, (uint64_t)base->number + offset,
					&number, size))
		return calls_constant(number, size);
	return calls_unknown;
}

/* Returns the label of arguments of this type. */
static unsigned int calls_compare_find_label(const struct side_type *type)
{
	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_ENUM: return side_enum_get(side_ptr_get(type->u.side_enum.elem_type)->type);
	case SIDE_TYPE_ENUM_BITMAP:
		return side_enum_get(side_ptr_get(type->u.side_enum_bitmap.elem_type)->type);
	case SIDE_TYPE_GATHER_ENUM: return SIDE_TYPE_GATHER_INTEGER;
	default: return side_enum_get(type->type);
	}
}

static enum calls_verdict calls_compare_mismatch(const struct compare *compare)
{
	snprintf(compare->problem->field, sizeof(compare->problem->field), "%s", compare->location);
	return VERDICT_WRONG;
}

static enum calls_verdict calls_compare_vector(struct compare *compare,
		const struct calls_value *vector, const struct side_type *type, unsigned int depth);

/* Compare the vector of a struct or array inside an argument. */
static enum calls_verdict calls_compare_inside(struct compare *compare,
		const struct calls_value *argument, uint64_t offset, const struct side_type *type,
		unsigned int depth)
{
	struct calls_value vector = calls_compare_load_value(compare, argument,
			offset + offsetof(struct side_arg, u.side_static.side_struct), 8);

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_STRUCT:
	case SIDE_TYPE_ARRAY:
	case SIDE_TYPE_VLA:
		return depth < DEPTH_MAX ? calls_compare_vector(compare, &vector, type, depth)
					 : VERDICT_UNKNOWN;
	default: return VERDICT_FITS;
	}
}

static enum calls_verdict calls_compare_argument(struct compare *compare,
		const struct calls_value *arguments, uint32_t index, const struct side_type *type,
		unsigned int depth)
{
	uint64_t offset = (uint64_t)index * sizeof(struct side_arg);
	struct calls_value label = calls_compare_load_value(compare, arguments, offset, 2);
	unsigned int expected = calls_compare_find_label(type), found;

	if (!calls_is_constant(&label, 2))
		return VERDICT_UNKNOWN;
	found = (unsigned int)label.number & 0xffff;
	if (expected == SIDE_TYPE_DYNAMIC ? visit_label_is_dynamic(found) : found == expected)
		return calls_compare_inside(compare, arguments, offset, type, depth);
	snprintf(compare->problem->text, sizeof(compare->problem->text), "expected %s, found %s",
			visit_label_name(expected), visit_label_name(found));
	return calls_compare_mismatch(compare);
}

static enum calls_verdict calls_compare_fields(struct compare *compare,
		const struct calls_value *vector, const struct side_event_field *fields,
		uint32_t nr, const char *what, unsigned int depth)
{
	struct calls_value arguments = calls_compare_load_value(
			compare, vector, offsetof(struct side_arg_vec, sav), 8);
	struct calls_value length = calls_compare_load_value(
			compare, vector, offsetof(struct side_arg_vec, len), 4);
	enum calls_verdict verdict = VERDICT_FITS;
	size_t used = strlen(compare->location);

	if (!calls_is_constant(&length, 4))
		return VERDICT_UNKNOWN;
	if ((uint32_t)length.number != nr) {
		snprintf(compare->problem->text, sizeof(compare->problem->text),
				"expected %u arguments, as many as %s has fields, found %u", nr,
				what, (uint32_t)length.number);
		return calls_compare_mismatch(compare);
	}
	for (uint32_t i = 0; i < nr; i++) {
		enum calls_verdict one;

		snprintf(compare->location + used, sizeof(compare->location) - used, "%s%s",
				used ? "." : "", side_ptr_get(fields[i].field_name));
		one = calls_compare_argument(compare, &arguments, i, &fields[i].side_type, depth);
		compare->location[used] = '\0';
		if (one == VERDICT_WRONG)
			return one;
		if (one == VERDICT_UNKNOWN)
			verdict = VERDICT_UNKNOWN;
	}
	return verdict;
}

static enum calls_verdict calls_compare_elements(struct compare *compare,
		const struct calls_value *vector, const struct side_type *element, int64_t expected,
		unsigned int depth)
{
	struct calls_value arguments = calls_compare_load_value(
			compare, vector, offsetof(struct side_arg_vec, sav), 8);
	struct calls_value length = calls_compare_load_value(
			compare, vector, offsetof(struct side_arg_vec, len), 4);
	enum calls_verdict verdict = VERDICT_FITS;
	size_t used = strlen(compare->location);

	if (!calls_is_constant(&length, 4))
		return VERDICT_UNKNOWN;
	if (expected >= 0 && (uint32_t)length.number != (uint32_t)expected) {
		snprintf(compare->problem->text, sizeof(compare->problem->text),
				"expected an array of %u elements, found one of %u",
				(uint32_t)expected, (uint32_t)length.number);
		return calls_compare_mismatch(compare);
	}
	for (uint32_t i = 0; i < (uint32_t)length.number && i < 1024; i++) {
		enum calls_verdict one;

		snprintf(compare->location + used, sizeof(compare->location) - used, "[%u]", i);
		one = calls_compare_argument(compare, &arguments, i, element, depth);
		compare->location[used] = '\0';
		if (one == VERDICT_WRONG)
			return one;
		if (one == VERDICT_UNKNOWN)
			verdict = one;
	}
	return verdict;
}

static enum calls_verdict calls_compare_vector(struct compare *compare,
		const struct calls_value *vector, const struct side_type *type, unsigned int depth)
{
	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_STRUCT: {
		const struct side_type_struct *described = side_ptr_get(type->u.side_struct);

		return calls_compare_fields(compare, vector,
				side_array_elements(&described->fields),
				side_array_length(&described->fields), "the structure", depth + 1);
	}
	case SIDE_TYPE_ARRAY: {
		const struct side_type_array *described = side_ptr_get(type->u.side_array);

		return calls_compare_elements(compare, vector, side_ptr_get(described->elem_type),
				(int64_t)described->length, depth + 1);
	}
	case SIDE_TYPE_VLA:
		return calls_compare_elements(compare, vector,
				side_ptr_get(side_ptr_get(type->u.side_vla)->elem_type), -1,
				depth + 1);
	default: return VERDICT_UNKNOWN;
	}
}

enum calls_verdict calls_compare(struct image *image, const struct calls_state *state,
		const struct calls_value *arguments,
		const struct side_event_description *description, struct calls_problem *problem)
{
	struct compare compare = {.image = image, .state = state, .problem = problem};

	return calls_compare_fields(&compare, arguments, side_array_elements(&description->fields),
			side_array_length(&description->fields), "the event", 0);
}
