/* SPDX-License-Identifier: MIT */
/*
 * --diff: compares types: whether a reader of the old type's values can read those of the new type.
 */
#include "diff.h"

#include "form.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The type of value that a reader gets, independently of how the program passes it. */
enum sort {
	SORT_NULL,
	SORT_BOOL,
	SORT_INTEGER,
	SORT_BYTE,
	SORT_POINTER,
	SORT_FLOAT,
	SORT_STRING,
	SORT_STRUCT,
	SORT_VARIANT,
	SORT_OPTIONAL,
	SORT_ARRAY,
	SORT_SEQUENCE,
	SORT_ENUM,
	SORT_BITMAP,
	SORT_DYNAMIC,
};

/* The properties of a type that readers depend on, common to stack-copy and gather types. */
struct diff_type_shape {
	enum sort sort;
	unsigned int bits; /* integers, pointers, floats */
	bool is_signed;
	const struct side_event_field *fields; /* structures */
	uint32_t nr_fields;
	const struct side_type *element;
	uint32_t count; /* arrays */
};

#define LOCATION_MAX 512

/*
 * Fields, labels and options that are compared for one event: limits files that are made to take
 * long.
 */
#define WORK_MAX (50u << 20)

static void diff_type(struct diff *diff, const char *location, const struct side_type *before,
		const struct side_type *after);

/* Returns false if the budget of this event is spent. */
static bool diff_types_spend_budget(struct diff *diff, const char *location, uint64_t work)
{
	bool was_enough = diff->work > WORK_MAX;

	diff->work += work;
	if (!was_enough && diff->work > WORK_MAX)
		diff_report(diff, VERDICT_INCOMPATIBLE, location,
				"the types are too large to compare");
	return diff->work <= WORK_MAX;
}

static void diff_types_report_out_of_memory(struct diff *diff, const char *location)
{
	diff_report(diff, VERDICT_INCOMPATIBLE, location, "out of memory: cannot compare it");
}

static struct diff_type_shape diff_types_shape_of_integer(
		enum sort sort, const struct side_type_integer *type)
{
	return (struct diff_type_shape){.sort = sort,
			.bits = type->len_bits ? type->len_bits : 8u * type->integer_size,
			.is_signed = type->signedness != 0};
}

static struct diff_type_shape diff_types_shape_of_float(const struct side_type_float *type)
{
	return (struct diff_type_shape){.sort = SORT_FLOAT, .bits = 8u * type->float_size};
}

static struct diff_type_shape diff_types_shape_of_struct(const struct side_type_struct *type)
{
	return (struct diff_type_shape){.sort = SORT_STRUCT,
			.fields = side_array_elements(&type->fields),
			.nr_fields = side_array_length(&type->fields)};
}

static struct diff_type_shape diff_types_shape_of_array(const struct side_type_array *type)
{
	return (struct diff_type_shape){.sort = SORT_ARRAY,
			.count = type->length,
			.element = side_ptr_get(type->elem_type)};
}

static struct diff_type_shape diff_types_shape_of_gather(const struct side_type *type)
{
	const struct side_type_gather *gather = &type->u.side_gather;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL: return (struct diff_type_shape){.sort = SORT_BOOL};
	case SIDE_TYPE_GATHER_INTEGER:
		return diff_types_shape_of_integer(SORT_INTEGER, &gather->u.side_integer.type);
	case SIDE_TYPE_GATHER_BYTE: return (struct diff_type_shape){.sort = SORT_BYTE};
	case SIDE_TYPE_GATHER_POINTER:
		return diff_types_shape_of_integer(SORT_POINTER, &gather->u.side_integer.type);
	case SIDE_TYPE_GATHER_FLOAT: return diff_types_shape_of_float(&gather->u.side_float.type);
	case SIDE_TYPE_GATHER_STRING: return (struct diff_type_shape){.sort = SORT_STRING};
	case SIDE_TYPE_GATHER_STRUCT:
		return diff_types_shape_of_struct(side_ptr_get(gather->u.side_struct.type));
	case SIDE_TYPE_GATHER_ARRAY: return diff_types_shape_of_array(&gather->u.side_array.type);
	case SIDE_TYPE_GATHER_VLA:
		return (struct diff_type_shape){.sort = SORT_SEQUENCE,
				.element = side_ptr_get(gather->u.side_vla.type.elem_type)};
	default: /* GATHER_ENUM */ return (struct diff_type_shape){.sort = SORT_ENUM};
	}
}

static struct diff_type_shape diff_types_shape_of_compound(const struct side_type *type)
{
	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_STRUCT: return diff_types_shape_of_struct(side_ptr_get(type->u.side_struct));
	case SIDE_TYPE_VARIANT: return (struct diff_type_shape){.sort = SORT_VARIANT};
	case SIDE_TYPE_OPTIONAL:
		return (struct diff_type_shape){.sort = SORT_OPTIONAL,
				.element = side_ptr_get(
						side_ptr_get(type->u.side_optional)->elem_type)};
	case SIDE_TYPE_ARRAY: return diff_types_shape_of_array(side_ptr_get(type->u.side_array));
	case SIDE_TYPE_VLA:
		return (struct diff_type_shape){.sort = SORT_SEQUENCE,
				.element = side_ptr_get(side_ptr_get(type->u.side_vla)->elem_type)};
	case SIDE_TYPE_VLA_VISITOR:
		return (struct diff_type_shape){.sort = SORT_SEQUENCE,
				.element = side_ptr_get(
						side_ptr_get(type->u.side_vla_visitor)->elem_type)};
	case SIDE_TYPE_ENUM: return (struct diff_type_shape){.sort = SORT_ENUM};
	case SIDE_TYPE_ENUM_BITMAP: return (struct diff_type_shape){.sort = SORT_BITMAP};
	default: return (struct diff_type_shape){.sort = SORT_DYNAMIC};
	}
}

static struct diff_type_shape diff_types_shape_of(const struct side_type *type)
{
	unsigned int label = side_enum_get(type->type);

	switch (label) {
	case SIDE_TYPE_NULL: return (struct diff_type_shape){.sort = SORT_NULL};
	case SIDE_TYPE_BOOL: return (struct diff_type_shape){.sort = SORT_BOOL};
	case SIDE_TYPE_BYTE: return (struct diff_type_shape){.sort = SORT_BYTE};
	case SIDE_TYPE_POINTER:
		return diff_types_shape_of_integer(SORT_POINTER, &type->u.side_integer);
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128: return diff_types_shape_of_float(&type->u.side_float);
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32: return (struct diff_type_shape){.sort = SORT_STRING};
	default: break;
	}
	if (visit_label_is_gather(label))
		return diff_types_shape_of_gather(type);
	if (visit_label_is_integer(label))
		return diff_types_shape_of_integer(SORT_INTEGER, &type->u.side_integer);
	return diff_types_shape_of_compound(type);
}

/* ---- scalars ---- */

/* Report "was u32, is string", followed by a remark on the change. */
static void diff_types_report_types(struct diff *diff, enum verdict verdict, const char *location,
		const struct side_type *before, const struct side_type *after, const char *reason)
{
	struct visit_buffer was, is;

	visit_buffer_heap(&was);
	visit_buffer_heap(&is);
	if (!visit_type_text(before, &was) && !visit_type_text(after, &is))
		diff_report(diff, verdict, location, "was %.*s, is %.*s%s", (int)was.size, was.data,
				(int)is.size, is.data, reason);
	else
		diff_report(diff, verdict, location, "the type has changed%s", reason);
	visit_buffer_free(&was);
	visit_buffer_free(&is);
}

static void diff_integer(struct diff *diff, const char *location, const struct side_type *before,
		const struct side_type *after, const struct diff_type_shape *was,
		const struct diff_type_shape *is)
{
	unsigned int old_bits = was->bits, new_bits = is->bits;
	bool old_sign = was->is_signed, new_sign = is->is_signed;

	if (old_sign == new_sign && old_bits == new_bits)
		return;
	if (old_sign && !new_sign)
		diff_types_report_types(diff, VERDICT_INCOMPATIBLE, location, before, after,
				", which has no negative numbers");
	else if (!old_sign && new_sign && new_bits <= old_bits)
		diff_types_report_types(diff, VERDICT_INCOMPATIBLE, location, before, after,
				", which cannot hold its largest values");
	else if (new_bits < old_bits)
		diff_types_report_types(diff, VERDICT_INCOMPATIBLE, location, before, after,
				", which is narrower");
	else
		diff_types_report_types(diff, VERDICT_COMPATIBLE, location, before, after,
				", which can hold all its values");
}

static void diff_float(struct diff *diff, const char *location, const struct side_type *before,
		const struct side_type *after, const struct diff_type_shape *was,
		const struct diff_type_shape *is)
{
	if (was->bits == is->bits)
		return;
	if (is->bits < was->bits)
		diff_types_report_types(diff, VERDICT_INCOMPATIBLE, location, before, after,
				", which is less exact");
	else
		diff_types_report_types(diff, VERDICT_COMPATIBLE, location, before, after,
				", which can hold all its values");
}

/* ---- attributes ---- */

static bool diff_types_same_attribute(const struct side_attr *one, const struct side_attr *other)
{
	struct visit_value a = {0}, b = {0};

	if (!visit_raw_string_same(&one->key, &other->key) ||
			side_enum_get(one->value.type) != side_enum_get(other->value.type))
		return false;
	if (side_enum_get(one->value.type) == SIDE_ATTR_TYPE_STRING)
		return visit_raw_string_same(
				&one->value.u.string_value, &other->value.u.string_value);
	return !visit_load_attribute(&one->value, &a) && !visit_load_attribute(&other->value, &b) &&
			a.lo == b.lo && a.hi == b.hi && !memcmp(a.bytes, b.bytes, sizeof(a.bytes));
}

void diff_attributes(struct diff *diff, const char *location, struct visit_attributes before,
		struct visit_attributes after)
{
	bool same = before.nr == after.nr;

	for (uint32_t i = 0; i < before.nr && same; i++)
		same = diff_types_same_attribute(&before.attr[i], &after.attr[i]);
	if (!same)
		diff_report(diff, VERDICT_COMPATIBLE, location, "the attributes have changed");
}

/* ---- labels and options ---- */

static bool diff_types_name_labels(
		struct diff_names *ret_names, const struct side_enum_mappings *mappings)
{
	if (!names_start(ret_names, side_array_length(&mappings->mappings)))
		return false;
	for (uint32_t i = 0; i < side_array_length(&mappings->mappings); i++) {
		const struct side_enum_mapping *mapping = side_array_at(&mappings->mappings, i);
		const struct visit_text text = {side_ptr_get(mapping->label.p),
				mapping->label.unit_size, side_enum_get(mapping->label.byte_order)};
		size_t size;
		char *label = form_utf8(&text, &size);

		names_add(ret_names, label, size);
	}
	names_sort(ret_names);
	return true;
}

/* Check a label of the old table: the new table must have it for all its values. */
static void diff_label(struct diff *diff, const char *location, const struct diff_name *label,
		const struct side_enum_mappings *before, const struct side_enum_mappings *after,
		const struct diff_names *is)
{
	const struct side_enum_mapping *old = side_array_at(&before->mappings, label->index);
	const struct diff_name *found = names_find(is, label->text ? label->text : "", label->size);
	int shown = label->size < 200 ? (int)label->size : 200;

	if (!found) {
		diff_report(diff, VERDICT_INCOMPATIBLE, location, "the label \"%.*s\" was removed",
				shown, label->text ? label->text : "");
		return;
	}
	for (; found < is->names + is->nr && found->size == label->size &&
			!memcmp(found->text ? found->text : "", label->text ? label->text : "",
					label->size);
			found++) {
		const struct side_enum_mapping *new = side_array_at(&after->mappings, found->index);

		if (new->range_begin == old->range_begin &&new->range_end == old->range_end)
			return;
	}
	diff_report(diff, VERDICT_INCOMPATIBLE, location, "the label \"%.*s\" has other values",
			shown, label->text ? label->text : "");
}

static void diff_labels(struct diff *diff, const char *location,
		const struct side_enum_mappings *before, const struct side_enum_mappings *after)
{
	struct diff_names was, is;

	if (!diff_types_spend_budget(diff, location,
			    (uint64_t)side_array_length(&before->mappings) +
					    side_array_length(&after->mappings)))
		return;
	if (!diff_types_name_labels(&was, before)) {
		diff_types_report_out_of_memory(diff, location);
		return;
	}
	if (!diff_types_name_labels(&is, after)) {
		names_free(&was);
		diff_types_report_out_of_memory(diff, location);
		return;
	}
	for (uint32_t i = 0; i < was.nr; i++)
		diff_label(diff, location, &was.names[i], before, after, &is);
	for (uint32_t i = 0; i < is.nr; i++) {
		const struct diff_name *label = &is.names[i];
		int shown = label->size < 200 ? (int)label->size : 200;

		if (!names_find(&was, label->text ? label->text : "", label->size))
			diff_report(diff, VERDICT_COMPATIBLE, location, "the label \"%.*s\" is new",
					shown, label->text ? label->text : "");
	}
	names_free(&was);
	names_free(&is);
}

static void diff_enum(struct diff *diff, const char *location, const struct side_type *before,
		const struct side_type *after)
{
	/* Tables of enumerations and bitmaps have the same layout and offset. */
	diff_labels(diff, location, side_ptr_get(before->u.side_enum.mappings),
			side_ptr_get(after->u.side_enum.mappings));
	diff_type(diff, location, side_ptr_get(before->u.side_enum.elem_type),
			side_ptr_get(after->u.side_enum.elem_type));
}

/* Returns the option that the value selects, or NULL. */
static const struct side_variant_option *diff_types_select_option(
		const struct side_type_variant *type, int64_t value)
{
	for (uint32_t i = 0; i < side_array_length(&type->options); i++) {
		const struct side_variant_option *option = side_array_at(&type->options, i);

		if (value >= option->range_begin && value <= option->range_end)
			return option;
	}
	return NULL;
}

static void diff_variant(struct diff *diff, const char *location, const struct side_type *before,
		const struct side_type *after)
{
	const struct side_type_variant *was = side_ptr_get(before->u.side_variant);
	const struct side_type_variant *is = side_ptr_get(after->u.side_variant);
	char inner[LOCATION_MAX];

	snprintf(inner, sizeof(inner), "%s.selector", location);
	diff_type(diff, inner, &was->selector, &is->selector);
	for (uint32_t i = 0; i < side_array_length(&was->options); i++) {
		const struct side_variant_option *old = side_array_at(&was->options, i);
		const struct side_variant_option *new;

		if (!diff_types_spend_budget(
				    diff, location, (uint64_t)2 * side_array_length(&is->options)))
			return;
		new = diff_types_select_option(is, old->range_begin);
		snprintf(inner, sizeof(inner), "%s.option %" PRIu32, location, i);
		if (!new || diff_types_select_option(is, old->range_end) != new)
			diff_report(diff, VERDICT_INCOMPATIBLE, inner,
					"the option of selectors %" PRId64 " to %" PRId64
					" was removed or split",
					old->range_begin, old->range_end);
		else
			diff_type(diff, inner, &old->side_type, &new->side_type);
	}
	if (side_array_length(&is->options) > side_array_length(&was->options))
		diff_report(diff, VERDICT_COMPATIBLE, location, "it has more options");
}

/* ---- types ---- */

static void diff_inside(struct diff *diff, const char *location, const struct side_type *before,
		const struct side_type *after)
{
	const struct diff_type_shape was = diff_types_shape_of(before),
				     is = diff_types_shape_of(after);
	char inner[LOCATION_MAX];

	switch (was.sort) {
	case SORT_INTEGER:
	case SORT_POINTER: diff_integer(diff, location, before, after, &was, &is); return;
	case SORT_FLOAT: diff_float(diff, location, before, after, &was, &is); return;
	case SORT_STRUCT:
		diff_fields(diff, location, was.fields, was.nr_fields, is.fields, is.nr_fields);
		return;
	case SORT_VARIANT: diff_variant(diff, location, before, after); return;
	case SORT_ARRAY:
		if (was.count != is.count)
			diff_report(diff, VERDICT_INCOMPATIBLE, location,
					"had %" PRIu32 " elements, has %" PRIu32, was.count,
					is.count);
		break;
	case SORT_OPTIONAL: diff_type(diff, location, was.element, is.element); return;
	case SORT_ENUM:
	case SORT_BITMAP: diff_enum(diff, location, before, after); return;
	default: break;
	}
	if (!was.element || !is.element)
		return;
	snprintf(inner, sizeof(inner), "%s[]", location);
	diff_type(diff, inner, was.element, is.element);
}

static void diff_type(struct diff *diff, const char *location, const struct side_type *before,
		const struct side_type *after)
{
	const struct diff_type_shape was = diff_types_shape_of(before),
				     is = diff_types_shape_of(after);

	diff_attributes(diff, location, visit_type_attributes(before),
			visit_type_attributes(after));
	if (was.sort == is.sort)
		diff_inside(diff, location, before, after);
	else if (is.sort == SORT_OPTIONAL)
		diff_types_report_types(diff, VERDICT_INCOMPATIBLE, location, before, after,
				": it can be absent");
	else
		diff_types_report_types(diff, VERDICT_INCOMPATIBLE, location, before, after, "");
}

/* ---- fields ---- */

static bool diff_types_name_fields(
		struct diff_names *ret_names, const struct side_event_field *fields, uint32_t nr)
{
	if (!names_start(ret_names, nr))
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		const char *name = side_ptr_get(fields[i].field_name);

		char *copy = strdup(name);

		if (!copy)
			message_out_of_memory();
		names_add(ret_names, copy, strlen(name));
	}
	names_sort(ret_names);
	return true;
}

static char *diff_types_member_path(const char *outer, const char *name, char inner[LOCATION_MAX])
{
	snprintf(inner, LOCATION_MAX, "%s%s%s", outer, *outer ? "." : "", name);
	return inner;
}

/* True if the fields that both lists have are in another order. */
static bool diff_types_has_moved(
		const struct side_event_field *before, uint32_t nr_before, struct diff_names *is)
{
	uint32_t last = 0;

	names_unpair(is);
	for (uint32_t i = 0; i < nr_before; i++) {
		const char *name = side_ptr_get(before[i].field_name);
		const struct diff_name *found = names_pair(is, name, strlen(name));

		if (!found)
			continue;
		if (found->index < last)
			return true;
		last = found->index;
	}
	return false;
}

/* Compare fields with the same name in their order, as for events with the same name. */
static void diff_named_fields(struct diff *diff, const char *location,
		const struct side_event_field *before, struct diff_names *was,
		const struct side_event_field *after, struct diff_names *is)
{
	char inner[LOCATION_MAX];

	for (uint32_t i = 0; i < was->nr; i++) {
		const char *name = side_ptr_get(before[i].field_name);
		const struct diff_name *found = names_pair(is, name, strlen(name));

		if (found)
			diff_type(diff, diff_types_member_path(location, name, inner),
					&before[i].side_type, &after[found->index].side_type);
		else
			diff_report(diff, VERDICT_INCOMPATIBLE,
					diff_types_member_path(location, name, inner),
					"the field was removed");
	}
	for (uint32_t i = 0; i < is->nr; i++) {
		const char *name = side_ptr_get(after[i].field_name);

		if (!names_pair(was, name, strlen(name)))
			diff_report(diff, VERDICT_COMPATIBLE,
					diff_types_member_path(location, name, inner),
					"the field is new");
	}
	if (diff_types_has_moved(before, was->nr, is))
		diff_report(diff, VERDICT_COMPATIBLE, location, "fields are in another order");
}

void diff_fields(struct diff *diff, const char *location, const struct side_event_field *before,
		uint32_t nr_before, const struct side_event_field *after, uint32_t nr_after)
{
	struct diff_names was, is;

	if (!diff_types_spend_budget(diff, location, (uint64_t)nr_before + nr_after))
		return;
	if (!diff_types_name_fields(&was, before, nr_before)) {
		diff_types_report_out_of_memory(diff, location);
		return;
	}
	if (!diff_types_name_fields(&is, after, nr_after)) {
		names_free(&was);
		diff_types_report_out_of_memory(diff, location);
		return;
	}
	diff_named_fields(diff, location, before, &was, after, &is);
	names_free(&was);
	names_free(&is);
}
