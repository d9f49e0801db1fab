/* SPDX-License-Identifier: MIT */
/* Walks a description: checks every member that a reader relies on, and calls operations. */
#include <errno.h>
#include <string.h>

#include "abi/check.h"

/* The types that are allowed in a position. */
enum check_allowed {
	ALLOW_ANY,     /* stack-copy, gather, dynamic */
	ALLOW_INTEGER, /* U8..S128: lengths, selectors, enumerations */
	ALLOW_BITMAP,  /* byte, unsigned integer, array or VLA of them */
	ALLOW_BITMAP_ITEM,
	ALLOW_GATHER,         /* member of a gather struct */
	ALLOW_GATHER_ELEMENT, /* the same without VLA */
	ALLOW_GATHER_INTEGER, /* length of a gather VLA, element of a gather enumeration */
};

static int check_type(struct checker *checker, const struct side_type *type,
		enum check_allowed allowed, const struct visit_step *step, struct visit_node node);

/* ---- compounds ---- */

static struct visit_node check_node_inside(const struct visit_node *up, enum visit_role role)
{
	return (struct visit_node){.role = role, .depth = up->depth + 1, .up = up};
}

static int check_field_names(struct checker *checker, const struct side_event_field *fields,
		uint32_t nr, const struct visit_step *step)
{
	const char *name;
	uint32_t i, j;

	for (i = 0; i < nr; i++) {
		name = side_ptr_get(fields[i].field_name);
		if (!name)
			return visit_fail(checker->error, step, -EFAULT,
					"the name of field %u is NULL\n"
					"give each field a name",
					(unsigned int)i);
		if (!(checker->flags & VISIT_CHECK_STRICT))
			continue;
		if (!*name)
			return visit_fail(checker->error, step, -EINVAL,
					"the name of field %u is empty\n"
					"give each field a name",
					(unsigned int)i);
		for (j = 0; j < i; j++) {
			if (!strcmp(name, side_ptr_get(fields[j].field_name)) &&
					visit_field_needs_own_name(&fields[i]) &&
					visit_field_needs_own_name(&fields[j]))
				return visit_fail(checker->error, step, -EINVAL,
						"two fields are called \"%.100s\"\n"
						"give each a name of its own",
						name);
		}
	}
	return 0;
}

static int abi_check_fields(struct checker *checker, const struct side_event_field *fields,
		uint32_t nr, enum check_allowed allowed, const struct visit_step *up,
		struct visit_node node)
{
	uint32_t i;
	int ret;

	if (!nr)
		return 0;
	if (!fields)
		return visit_fail(checker->error, up, -EFAULT,
				"the field list is NULL\n"
				"point at the fields, or set their number to 0");
	ret = visit_check_spend(checker, up, nr);
	if (!ret)
		ret = check_field_names(checker, fields, nr, up);
	for (i = 0; !ret && i < nr; i++) {
		struct visit_step step = {
				.up = up,
				.kind = VISIT_STEP_FIELD,
				.name = side_ptr_get(fields[i].field_name),
		};

		node.role = VISIT_ROLE_FIELD;
		node.name = step.name;
		node.index = i;
		ret = check_type(checker, &fields[i].side_type, allowed, &step, node);
	}
	return ret;
}

static int check_struct(struct checker *checker, const struct side_type_struct *type,
		enum check_allowed allowed, const struct visit_step *up,
		const struct visit_node *node)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = "struct"};
	int ret;

	if (!type)
		return visit_fail(checker->error, up, -EFAULT,
				"the structure is NULL\n"
				"point at a struct side_type_struct");
	ret = visit_check_attributes(checker, visit_attributes_of(&type->attributes), &step);
	return ret ? ret
		   : abi_check_fields(checker, side_array_elements(&type->fields),
				     side_array_length(&type->fields), allowed, &step,
				     check_node_inside(node, VISIT_ROLE_FIELD));
}

static int check_inner(struct checker *checker, const struct side_type *type,
		enum check_allowed allowed, enum visit_role role, const char *word,
		const struct visit_step *up, const struct visit_node *node)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = word};

	return check_type(checker, type, allowed, &step, check_node_inside(node, role));
}

static int check_array(struct checker *checker, const struct side_type_array *type,
		enum check_allowed allowed, const struct visit_step *step,
		const struct visit_node *node)
{
	int ret;

	if (!type)
		return visit_fail(checker->error, step, -EFAULT,
				"the array is NULL\n"
				"point at a struct side_type_array");
	ret = visit_check_attributes(checker, visit_attributes_of(&type->attributes), step);
	return ret ? ret
		   : check_inner(checker, side_ptr_get(type->elem_type), allowed,
				     VISIT_ROLE_ELEMENT, "element", step, node);
}

static int check_vla(struct checker *checker, const struct side_type *length,
		const struct side_type *elem, struct visit_attributes attributes,
		enum check_allowed length_allowed, enum check_allowed allowed,
		const struct visit_step *step, const struct visit_node *node)
{
	int ret = visit_check_attributes(checker, attributes, step);

	if (!ret)
		ret = check_inner(checker, length, length_allowed, VISIT_ROLE_LENGTH, "length",
				step, node);
	return ret ? ret
		   : check_inner(checker, elem, allowed, VISIT_ROLE_ELEMENT, "element", step, node);
}

static int check_variant(struct checker *checker, const struct side_type_variant *type,
		const struct visit_step *up, const struct visit_node *node)
{
	const struct side_variant_option *options;
	uint32_t nr, i;
	int ret;

	if (!type)
		return visit_fail(checker->error, up, -EFAULT,
				"the variant is NULL\n"
				"point at a struct side_type_variant");
	options = side_array_elements(&type->options);
	nr = side_array_length(&type->options);
	if (nr && !options)
		return visit_fail(checker->error, up, -EFAULT,
				"the option list is NULL\n"
				"point at the options, or set their number to 0");
	ret = visit_check_attributes(checker, visit_attributes_of(&type->attributes), up);
	if (!ret)
		ret = check_inner(checker, &type->selector, ALLOW_INTEGER, VISIT_ROLE_SELECTOR,
				"selector", up, node);
	if (!ret)
		ret = visit_check_spend(checker, up, nr);
	for (i = 0; !ret && i < nr; i++) {
		struct visit_step step = {.up = up, .kind = VISIT_STEP_OPTION, .index = i};
		struct visit_node option = check_node_inside(node, VISIT_ROLE_OPTION);

		option.index = i;
		if ((checker->flags & VISIT_CHECK_STRICT) &&
				options[i].range_begin > options[i].range_end)
			return visit_fail(checker->error, &step, -EINVAL,
					"the range ends before it begins\n"
					"exchange its ends");
		ret = check_type(checker, &options[i].side_type, ALLOW_ANY, &step, option);
	}
	return ret;
}

/* Enumerations and bitmaps; their mappings differ only in the signedness of the range. */
static int check_mappings(struct checker *checker, const struct side_enum_mappings *mappings,
		bool is_bitmap, const struct visit_step *step)
{
	const struct side_enum_mapping *mapping;
	uint32_t nr, i;
	int ret;

	if (!mappings)
		return visit_fail(checker->error, step, -EFAULT,
				"the label table is NULL\n"
				"point at the mappings of the enumeration");
	mapping = side_array_elements(&mappings->mappings);
	nr = side_array_length(&mappings->mappings);
	if (nr && !mapping)
		return visit_fail(checker->error, step, -EFAULT,
				"the label list is NULL\n"
				"point at the mappings, or set their number to 0");
	ret = visit_check_spend(checker, step, nr);
	for (i = 0; !ret && i < nr; i++) {
		int64_t begin = mapping[i].range_begin, end = mapping[i].range_end;

		ret = visit_check_raw_string(checker, &mapping[i].label, step, "a label", false);
		if (!ret && (checker->flags & VISIT_CHECK_STRICT) &&
				(is_bitmap ? (uint64_t)end < (uint64_t)begin : end < begin))
			ret = visit_fail(checker->error, step, -EINVAL,
					"the range of label %u ends before it begins\n"
					"exchange its ends",
					(unsigned int)i);
	}
	return ret ? ret
		   : visit_check_attributes(
				     checker, visit_attributes_of(&mappings->attributes), step);
}

static int check_enum(struct checker *checker, const struct side_type *type,
		enum check_allowed elem, const struct visit_step *step,
		const struct visit_node *node)
{
	int ret = check_mappings(checker, side_ptr_get(type->u.side_enum.mappings), false, step);

	return ret ? ret
		   : check_inner(checker, side_ptr_get(type->u.side_enum.elem_type), elem,
				     VISIT_ROLE_ELEMENT, "element", step, node);
}

static int check_bitmap(struct checker *checker, const struct side_type *type,
		const struct visit_step *step, const struct visit_node *node)
{
	/* Both mapping tables have the same layout; members of 64 bits stay 64 bits. */
	const struct side_enum_mappings *mappings =
			(const struct side_enum_mappings *)(const void *)side_ptr_get(
					type->u.side_enum_bitmap.mappings);
	int ret = check_mappings(checker, mappings, true, step);

	_Static_assert(sizeof(struct side_enum_bitmap_mapping) == sizeof(struct side_enum_mapping),
			"one layout");
	return ret ? ret
		   : check_inner(checker, side_ptr_get(type->u.side_enum_bitmap.elem_type),
				     ALLOW_BITMAP, VISIT_ROLE_ELEMENT, "element", step, node);
}

/* ---- types ---- */

static int check_gather(struct checker *checker, const struct side_type *type,
		const struct visit_step *step, const struct visit_node *node)
{
	const struct side_type_gather *gather = &type->u.side_gather;
	int ret;

	switch (type->type.v) {
	case SIDE_TYPE_GATHER_BOOL:
		ret = visit_check_access(checker, gather->u.side_bool.access_mode.v, step);
		return ret ? ret
			   : visit_check_bool(checker, &gather->u.side_bool.type,
					     gather->u.side_bool.offset_bits, step);
	case SIDE_TYPE_GATHER_BYTE:
		ret = visit_check_access(checker, gather->u.side_byte.access_mode.v, step);
		return ret ? ret
			   : visit_check_attributes(checker, visit_type_attributes(type), step);
	case SIDE_TYPE_GATHER_FLOAT:
		ret = visit_check_access(checker, gather->u.side_float.access_mode.v, step);
		return ret ? ret : visit_check_float(checker, &gather->u.side_float.type, step);
	case SIDE_TYPE_GATHER_STRING:
		ret = visit_check_access(checker, gather->u.side_string.access_mode.v, step);
		return ret ? ret : visit_check_string(checker, &gather->u.side_string.type, step);
	case SIDE_TYPE_GATHER_STRUCT:
		ret = visit_check_access(checker, gather->u.side_struct.access_mode.v, step);
		return ret ? ret
			   : check_struct(checker, side_ptr_get(gather->u.side_struct.type),
					     ALLOW_GATHER, step, node);
	case SIDE_TYPE_GATHER_ARRAY:
		ret = visit_check_access(checker, gather->u.side_array.access_mode.v, step);
		return ret ? ret
			   : check_array(checker, &gather->u.side_array.type, ALLOW_GATHER_ELEMENT,
					     step, node);
	case SIDE_TYPE_GATHER_VLA:
		ret = visit_check_access(checker, gather->u.side_vla.access_mode.v, step);
		return ret ? ret
			   : check_vla(checker, side_ptr_get(gather->u.side_vla.type.length_type),
					     side_ptr_get(gather->u.side_vla.type.elem_type),
					     visit_attributes_of(
							     &gather->u.side_vla.type.attributes),
					     ALLOW_GATHER_INTEGER, ALLOW_GATHER_ELEMENT, step,
					     node);
	case SIDE_TYPE_GATHER_ENUM:
		return check_enum(checker, type, ALLOW_GATHER_INTEGER, step, node);
	default: /* GATHER_INTEGER, GATHER_POINTER */
		ret = visit_check_access(checker, gather->u.side_integer.access_mode.v, step);
		return ret ? ret
			   : visit_check_integer(checker, &gather->u.side_integer.type,
					     gather->u.side_integer.offset_bits, step);
	}
}

static int check_stack_copy(struct checker *checker, const struct side_type *type,
		enum check_allowed allowed, const struct visit_step *step,
		const struct visit_node *node)
{
	enum check_allowed elem = allowed == ALLOW_BITMAP ? ALLOW_BITMAP_ITEM : ALLOW_ANY;
	const struct side_type_vla_visitor *visitor;
	const struct side_type_optional *optional;
	const struct side_type_vla *vla;
	int ret;

	switch (type->type.v) {
	case SIDE_TYPE_NULL:
	case SIDE_TYPE_BYTE:
		return visit_check_attributes(checker, visit_type_attributes(type), step);
	case SIDE_TYPE_BOOL: return visit_check_bool(checker, &type->u.side_bool, 0, step);
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128:
		return visit_check_float(checker, &type->u.side_float, step);
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32: return visit_check_string(checker, &type->u.side_string, step);
	case SIDE_TYPE_STRUCT:
		return check_struct(
				checker, side_ptr_get(type->u.side_struct), ALLOW_ANY, step, node);
	case SIDE_TYPE_VARIANT:
		return check_variant(checker, side_ptr_get(type->u.side_variant), step, node);
	case SIDE_TYPE_OPTIONAL:
		optional = side_ptr_get(type->u.side_optional);
		if (!optional)
			return visit_fail(checker->error, step, -EFAULT,
					"the optional is NULL\n"
					"point at a struct side_type_optional");
		ret = visit_check_attributes(
				checker, visit_attributes_of(&optional->attributes), step);
		return ret ? ret
			   : check_inner(checker, side_ptr_get(optional->elem_type), ALLOW_ANY,
					     VISIT_ROLE_ELEMENT, "optional", step, node);
	case SIDE_TYPE_ARRAY:
		return check_array(checker, side_ptr_get(type->u.side_array), elem, step, node);
	case SIDE_TYPE_VLA:
		vla = side_ptr_get(type->u.side_vla);
		if (!vla)
			return visit_fail(checker->error, step, -EFAULT,
					"the VLA is NULL\n"
					"point at a struct side_type_vla");
		return check_vla(checker, side_ptr_get(vla->length_type),
				side_ptr_get(vla->elem_type), visit_attributes_of(&vla->attributes),
				ALLOW_INTEGER, elem, step, node);
	case SIDE_TYPE_VLA_VISITOR:
		visitor = side_ptr_get(type->u.side_vla_visitor);
		if (!visitor)
			return visit_fail(checker->error, step, -EFAULT,
					"the VLA visitor is NULL\n"
					"point at a struct side_type_vla_visitor");
		return check_vla(checker, side_ptr_get(visitor->length_type),
				side_ptr_get(visitor->elem_type),
				visit_attributes_of(&visitor->attributes), ALLOW_INTEGER, ALLOW_ANY,
				step, node);
	case SIDE_TYPE_ENUM: return check_enum(checker, type, ALLOW_INTEGER, step, node);
	case SIDE_TYPE_ENUM_BITMAP: return check_bitmap(checker, type, step, node);
	case SIDE_TYPE_DYNAMIC: return 0;
	default: /* integers, POINTER */
		return visit_check_integer(checker, &type->u.side_integer, 0, step);
	}
}

static const char *const allowed_flags[] = {
		[ALLOW_ANY] = "a description",
		[ALLOW_INTEGER] = "the position of an integer (U8 to S128)",
		[ALLOW_BITMAP] = "a bitmap (BYTE, U8 to U128, ARRAY or VLA of these)",
		[ALLOW_BITMAP_ITEM] = "an item of a bitmap (BYTE, U8 to U128)",
		[ALLOW_GATHER] = "a gather struct (gather types only)",
		[ALLOW_GATHER_ELEMENT] = "a gather array or VLA (gather types except VLA)",
		[ALLOW_GATHER_INTEGER] = "the position of a gather integer",
};

static bool abi_check_is_allowed(unsigned int label, enum check_allowed allowed)
{
	bool is_item = label == SIDE_TYPE_BYTE ||
			(label >= SIDE_TYPE_U8 && label <= SIDE_TYPE_U128);

	switch (allowed) {
	case ALLOW_ANY: return label <= SIDE_TYPE_GATHER_ENUM;
	case ALLOW_INTEGER: return visit_label_is_integer(label);
	case ALLOW_BITMAP: return is_item || label == SIDE_TYPE_ARRAY || label == SIDE_TYPE_VLA;
	case ALLOW_BITMAP_ITEM: return is_item;
	case ALLOW_GATHER: return visit_label_is_gather(label);
	case ALLOW_GATHER_ELEMENT:
		return visit_label_is_gather(label) && label != SIDE_TYPE_GATHER_VLA;
	case ALLOW_GATHER_INTEGER: return label == SIDE_TYPE_GATHER_INTEGER;
	}
	return false;
}

static int check_type(struct checker *checker, const struct side_type *type,
		enum check_allowed allowed, const struct visit_step *step, struct visit_node node)
{
	unsigned int label;
	int ret;

	if (!type)
		return visit_fail(
				checker->error, step, -EFAULT, "the type is NULL\npoint at a type");
	if (node.depth >= VISIT_DEPTH_MAX)
		return visit_fail(checker->error, step, -ELOOP,
				"types are nested more than %u deep\na type must not contain itself",
				VISIT_DEPTH_MAX);
	ret = visit_check_spend(checker, step, 1);
	if (ret)
		return ret;
	label = type->type.v;
	if (label >= _NR_SIDE_TYPE_LABEL)
		return visit_fail(checker->error, step, -ENOTSUP,
				"the type label %u is unknown\n"
				"use a label of enum side_type_label, or a newer libside",
				label);
	if (!abi_check_is_allowed(label, allowed))
		return visit_fail(checker->error, step, -EINVAL,
				"%s is not possible in %s\n"
				"use a type that is possible there",
				visit_label_name(label), allowed_flags[allowed]);
	node.type = type;
	if (checker->ops && checker->ops->type_begin) {
		ret = checker->ops->type_begin(checker->priv, &node);
		if (ret)
			return ret;
	}
	if (visit_label_is_gather(label))
		ret = check_gather(checker, type, step, &node);
	else
		ret = check_stack_copy(checker, type, allowed, step, &node);
	if (!ret)
		ret = visit_check_label_agrees(checker, type, step);
	if (!ret && checker->ops && checker->ops->type_end)
		ret = checker->ops->type_end(checker->priv, &node);
	return ret;
}

static int abi_check_event(struct checker *checker, const struct side_event_description *desc)
{
	struct visit_step step = {.kind = VISIT_STEP_EVENT};
	int ret;

	if (!desc)
		return visit_fail(checker->error, NULL, -EFAULT,
				"the event description is NULL\nregister only descriptions that exist");
	if (desc->version != SIDE_EVENT_DESCRIPTION_ABI_VERSION)
		return visit_fail(checker->error, NULL, -ENOTSUP,
				"the description has version %u, only %u is known\n"
				"use a newer libside",
				desc->version, SIDE_EVENT_DESCRIPTION_ABI_VERSION);
	step.name = side_ptr_get(desc->provider_name);
	step.name2 = side_ptr_get(desc->event_name);
	if (desc->struct_size < side_offsetofend(struct side_event_description,
						side_event_description_orig_abi_last))
		return visit_fail(checker->error, &step, -EINVAL,
				"the description has only %u bytes\n"
				"set struct_size to the offset of its member end",
				desc->struct_size);
	if (!step.name || !step.name2)
		return visit_fail(checker->error, &step, -EFAULT,
				"the %s name is NULL\n"
				"provider and event need a name",
				step.name ? "event" : "provider");
	if ((checker->flags & VISIT_CHECK_STRICT) && (!*step.name || !*step.name2))
		return visit_fail(checker->error, &step, -EINVAL,
				"the %s name is empty\n"
				"provider and event need a name",
				*step.name ? "event" : "provider");
	ret = visit_check_attributes(checker, visit_attributes_of(&desc->attributes), &step);
	return ret ? ret
		   : abi_check_fields(checker, side_array_elements(&desc->fields),
				     side_array_length(&desc->fields), ALLOW_ANY, &step,
				     (struct visit_node){.role = VISIT_ROLE_FIELD});
}

int visit_description_check(const struct side_event_description *desc, unsigned int flags,
		struct visit_error *error)
{
	struct checker checker = {.flags = flags, .nodes = VISIT_NODES_MAX, .error = error};

	return abi_check_event(&checker, desc);
}

int visit_description(const struct side_event_description *desc,
		const struct visit_description_ops *ops, void *priv, struct visit_error *error)
{
	struct checker checker = {.nodes = VISIT_NODES_MAX, .error = error};
	int ret = abi_check_event(&checker, desc);

	if (ret)
		return ret;
	checker.nodes = VISIT_NODES_MAX;
	checker.ops = ops;
	checker.priv = priv;
	return abi_check_event(&checker, desc);
}
