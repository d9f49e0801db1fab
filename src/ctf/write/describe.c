/* SPDX-License-Identifier: MIT */
/*
 * Converts a SIDE description to a tree of field classes: docs/spec/recording.md, sections 2 and
 * 3.
 *
 * The plan in the traced program writes bytes by the same document; a change of a rule here needs
 * the same change there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/write/describe.h"
#include "ctf/names.h"
#include "abi/visit.h"

struct ctf_describer {
	struct ctf_arena *arena;
	struct error *error;
	struct ctf_type *node; /* Shared by all dynamic fields. */
	unsigned int depth;
};

/* A type, and the hidden field that must precede it, if it needs one. */
struct described_type {
	struct ctf_type *type; /* Its reference is set when the hidden field has a name. */
	struct ctf_type *related;
	const char *related_suffix; /* "_length" */
	const char *wrapped_name;   /* "_elements" */
};

static int ctf_describe_type(struct ctf_describer *d, const struct side_type *type,
		struct described_type *ret_described);

static int described(struct ctf_type *type, struct described_type *ret_described)
{
	*ret_described = (struct described_type){.type = type};
	return type ? 0 : -ENOMEM;
}

/* ---- scalars ---- */

/* The program extracts the value and records it in host order, so its own byte order is not
   needed. */
static bool describe_partial(unsigned int size, unsigned int len_bits, unsigned int offset_bits)
{
	return offset_bits || (len_bits && len_bits != size * 8);
}

static bool describe_big_endian(uint8_t byte_order)
{
	return byte_order == SIDE_TYPE_BYTE_ORDER_BE;
}

static int describe_integer(struct ctf_describer *d, const struct side_type_integer *integer,
		unsigned int offset_bits, unsigned int base, struct described_type *ret_described)
{
	bool partial = describe_partial(integer->integer_size, integer->len_bits, offset_bits);
	bool big_endian = partial ? CTF_HOST_BIG_ENDIAN
				  : describe_big_endian(side_enum_get(integer->byte_order));
	struct ctf_type *type;

	base = visit_attribute_base(visit_attributes_of(&integer->attributes), base);
	if (integer->integer_size == 16)
		return described(ctf_describe_int128(
						 d->arena, integer->signedness, big_endian, base),
				ret_described);
	type = ctf_type_integer(d->arena, integer->integer_size * 8u, integer->signedness);
	if (!type)
		return -ENOMEM;
	type->base = (uint8_t)base;
	type->big_endian = big_endian;
	return described(type, ret_described);
}

static int describe_byte(struct ctf_describer *d, struct described_type *ret_described)
{
	struct ctf_type *type = ctf_type_integer(d->arena, 8, false);

	if (type) {
		type->base = 16;
		type->byte = true;
	}
	return described(type, ret_described);
}

static int describe_float(struct ctf_describer *d, const struct side_type_float *floating,
		struct described_type *ret_described)
{
	bool big_endian = describe_big_endian(side_enum_get(floating->byte_order));
	struct ctf_type *type;

	if (floating->float_size == 16)
		return described(ctf_describe_float128(d->arena), ret_described);
	if (floating->float_size == 2) /* Converted to binary32 in host order. */
		return described(ctf_type_float(d->arena, 32), ret_described);
	type = ctf_type_float(d->arena, floating->float_size * 8u);
	if (type)
		type->big_endian = big_endian;
	return described(type, ret_described);
}

/* ---- compounds ---- */

/* Describe an element, which can have no hidden field before it: if it needs one, make a structure
   of both. */
static int describe_element(struct ctf_describer *d, const struct side_type *side_type,
		struct ctf_type **ret_type)
{
	struct described_type inner = {0};
	int ret = ctf_describe_type(d, side_type, &inner);

	if (ret)
		return ret;
	if (!inner.related) {
		*ret_type = inner.type;
		return 0;
	}
	*ret_type = ctf_type_struct(d->arena, 2);
	if (!*ret_type)
		return -ENOMEM;
	ctf_member_set(&(*ret_type)->members[0], inner.related_suffix, inner.related, true);
	ctf_member_set(&(*ret_type)->members[1], inner.wrapped_name, inner.type, false);
	inner.type->reference = inner.related_suffix;
	return 0;
}

/* Describe the fields of a structure or an event; `variadic` adds one more at the end. */
static int describe_members(struct ctf_describer *d, const struct side_event_field *fields,
		uint32_t count, bool variadic, struct ctf_type **ret_type)
{
	uint32_t total = count + (variadic ? 1 : 0), members = 0;
	struct described_type *inner = calloc(total ? total : 1, sizeof(*inner));
	const char **visible = calloc(total ? total : 1, sizeof(*visible));
	struct ctf_names names = {0};
	int ret = -ENOMEM;

	if (!inner || !visible || ctf_names_init(&names, d->arena, total * 2))
		goto out;
	for (uint32_t i = 0; i < total; i++) {
		const char *name = i < count ? side_ptr_get(fields[i].field_name) : "variadic";
		static const struct side_type dynamic = {.type = SIDE_ENUM_INIT(SIDE_TYPE_DYNAMIC)};
		const char *escaped = ctf_name_escape(d->arena, name);

		visible[i] = escaped ? ctf_names_reserve(&names, escaped) : NULL;
		ret = visible[i] ? ctf_describe_type(d, i < count ? &fields[i].side_type : &dynamic,
						   &inner[i])
				 : -ENOMEM;
		if (ret)
			goto out;
		members += inner[i].related ? 2 : 1;
	}
	ret = -ENOMEM;
	*ret_type = ctf_type_struct(d->arena, members);
	if (!*ret_type)
		goto out;
	members = 0;
	for (uint32_t i = 0; i < total; i++) {
		if (inner[i].related) {
			size_t size = strlen(visible[i]) + strlen(inner[i].related_suffix) + 2;
			char *related = ctf_arena_alloc(d->arena, size, 1);
			const char *taken;

			if (!related)
				goto out;
			snprintf(related, size, "_%s%s", visible[i], inner[i].related_suffix);
			taken = ctf_names_reserve(&names, related);
			if (!taken)
				goto out;
			ctf_member_set(&(*ret_type)->members[members++], taken, inner[i].related,
					true);
			inner[i].type->reference = taken;
		}
		ctf_member_set(&(*ret_type)->members[members++], visible[i], inner[i].type, false);
	}
	ret = 0;
out:
	ctf_names_free(&names);
	free(visible);
	free(inner);
	return ret;
}

static int describe_struct(struct ctf_describer *d, const struct side_type_struct *structure,
		struct described_type *ret_described)
{
	struct ctf_type *type = NULL;
	int ret = describe_members(d, side_array_elements(&structure->fields),
			side_array_length(&structure->fields), false, &type);

	return ret ? ret : described(type, ret_described);
}

static int describe_array(struct ctf_describer *d, const struct side_type_array *array,
		struct described_type *ret_described)
{
	struct ctf_type *element;
	int ret = describe_element(d, side_ptr_get(array->elem_type), &element);

	return ret ? ret
		   : described(ctf_type_array(d->arena, element, array->length), ret_described);
}

/*
 * Lengths are recorded unsigned, in host order, in as many bytes as the length type has, at most
 * 8.
 */
static int describe_vla(struct ctf_describer *d, const struct side_type *element_type,
		const struct side_type *length_type, struct described_type *ret_described)
{
	const struct side_type_integer *integer =
			side_enum_get(length_type->type) == SIDE_TYPE_GATHER_INTEGER
			? &length_type->u.side_gather.u.side_integer.type
			: &length_type->u.side_integer;
	unsigned int size = integer->integer_size > 8 ? 8 : integer->integer_size;
	struct ctf_type *element;
	int ret = describe_element(d, element_type, &element);

	if (ret)
		return ret;
	*ret_described = (struct described_type){
			.type = ctf_type_sequence(d->arena, element, NULL),
			.related = ctf_type_integer(d->arena, size * 8, false),
			.related_suffix = "_length",
			.wrapped_name = "_elements",
	};
	return ret_described->type && ret_described->related ? 0 : -ENOMEM;
}

static int describe_optional(struct ctf_describer *d, const struct side_type_optional *optional,
		struct described_type *ret_described)
{
	struct ctf_type *u8 = ctf_type_integer(d->arena, 8, false);
	struct ctf_type *tag = u8 ? ctf_type_enum(d->arena, u8, 2) : NULL;
	struct ctf_type *variant = ctf_type_variant(d->arena, 2, NULL);
	struct ctf_type *none = ctf_type_struct(d->arena, 0), *some;
	int ret;

	if (!tag || !variant || !none)
		return -ENOMEM;
	ret = describe_element(d, side_ptr_get(optional->elem_type), &some);
	if (ret)
		return ret;
	tag->labels[0] = (struct ctf_label){"none", 0, 0};
	tag->labels[1] = (struct ctf_label){"some", 1, 1};
	variant->optional = true;
	ctf_member_set(&variant->members[0], "none", none, false);
	ctf_member_set(&variant->members[1], "some", some, false);
	*ret_described = (struct described_type){variant, tag, "_tag", "_value"};
	return 0;
}

static const char *describe_option_name(struct ctf_arena *arena, uint32_t index)
{
	char name[16];

	return ctf_arena_copy(arena, name, (size_t)snprintf(name, sizeof(name), "o%u", index));
}

static int describe_variant(struct ctf_describer *d, const struct side_type_variant *variant,
		struct described_type *ret_described)
{
	uint32_t count = side_array_length(&variant->options), kept = 0;
	const struct side_variant_option *options = side_array_elements(&variant->options);
	bool *used = calloc((size_t)count + 1, sizeof(*used));
	struct side_type_integer selector = variant->selector.u.side_integer;
	struct described_type integer;
	struct ctf_type *tag = NULL, *type;
	int ret = -ENOMEM;

	if (!used)
		return -ENOMEM;
	if (selector.integer_size == 16) {
		/* Its low half is recorded, in host order. */
		selector.integer_size = 8;
		selector.len_bits = 0;
		side_enum_set(selector.byte_order, SIDE_TYPE_BYTE_ORDER_HOST);
	}
	ret = describe_integer(d, &selector, 0, 10, &integer);
	if (!ret)
		ret = ctf_describe_tag(d->arena, variant, integer.type, &tag, used);
	if (ret)
		goto out;
	for (uint32_t i = 0; i <= count; i++)
		kept += used[i];
	ret = -ENOMEM;
	type = ctf_type_variant(d->arena, kept, NULL);
	if (!type)
		goto out;
	kept = 0;
	for (uint32_t i = 0; i <= count; i++) {
		const char *name = i < count ? describe_option_name(d->arena, i) : "none";
		struct ctf_type *option = NULL;

		if (!used[i])
			continue;
		ret = i < count ? describe_element(d, &options[i].side_type, &option) : 0;
		if (ret)
			goto out;
		if (i == count)
			option = ctf_type_struct(d->arena, 0);
		ret = -ENOMEM;
		if (!name || !option)
			goto out;
		ctf_member_set(&type->members[kept++], name, option, false);
	}
	*ret_described = (struct described_type){type, tag, "_selector", "_value"};
	ret = 0;
out:
	free(used);
	return ret;
}

static int describe_enum(struct ctf_describer *d, const struct side_enum_mappings *mappings,
		const struct side_type *element, struct described_type *ret_described)
{
	int ret = ctf_describe_type(d, element, ret_described);

	/* 128 bits: only the JSON contains the labels. */
	if (ret || ret_described->type->kind != CTF_INTEGER)
		return ret;
	return ctf_describe_labels(d->arena, mappings, ret_described->type, &ret_described->type);
}

/*
 * Integers of a bitmap are shown in hexadecimal, unless the program specifies another base. Only
 * the JSON contains names of bits beyond one integer.
 */
static int describe_bitmap(struct ctf_describer *d, const struct side_type_enum_bitmap *bitmap,
		struct described_type *ret_described)
{
	struct ctf_type *type;
	int ret = ctf_describe_type(d, side_ptr_get(bitmap->elem_type), ret_described);

	if (ret)
		return ret;
	type = ret_described->type;
	if (type->kind == CTF_INTEGER) {
		ret = ctf_describe_flags(d->arena, side_ptr_get(bitmap->mappings), type);
		if (ret)
			return ret;
	}
	if (type->kind == CTF_ARRAY || type->kind == CTF_SEQUENCE)
		type = type->element;
	type->byte = false;
	if (type->kind == CTF_INTEGER && type->base == 10)
		type->base = 16;
	for (uint32_t i = 0; type->kind == CTF_STRUCT && i < type->member_count; i++) {
		if (type->members[i].type->base == 10)
			type->members[i].type->base = 16;
	}
	return 0;
}

static int describe_dynamic(struct ctf_describer *d, struct described_type *ret_described)
{
	if (!d->node)
		d->node = ctf_describe_node(d->arena);
	if (!d->node)
		return -ENOMEM;
	*ret_described = (struct described_type){
			.type = ctf_type_sequence(d->arena, d->node, NULL),
			.related = ctf_type_integer(d->arena, 32, false),
			.related_suffix = "_length",
			.wrapped_name = "_nodes",
	};
	return ret_described->type && ret_described->related ? 0 : -ENOMEM;
}

static int describe_gather(struct ctf_describer *d, const struct side_type *type,
		struct described_type *ret_described)
{
	const struct side_type_gather *gather = &type->u.side_gather;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL: return described(ctf_describe_bool(d->arena), ret_described);
	case SIDE_TYPE_GATHER_INTEGER:
		return describe_integer(d, &gather->u.side_integer.type,
				gather->u.side_integer.offset_bits, 10, ret_described);
	case SIDE_TYPE_GATHER_POINTER:
		return describe_integer(d, &gather->u.side_integer.type,
				gather->u.side_integer.offset_bits, 16, ret_described);
	case SIDE_TYPE_GATHER_BYTE: return describe_byte(d, ret_described);
	case SIDE_TYPE_GATHER_FLOAT:
		return describe_float(d, &gather->u.side_float.type, ret_described);
	case SIDE_TYPE_GATHER_STRING: return described(ctf_type_string(d->arena), ret_described);
	case SIDE_TYPE_GATHER_STRUCT:
		return describe_struct(d, side_ptr_get(gather->u.side_struct.type), ret_described);
	case SIDE_TYPE_GATHER_ARRAY:
		return describe_array(d, &gather->u.side_array.type, ret_described);
	case SIDE_TYPE_GATHER_VLA:
		return describe_vla(d, side_ptr_get(gather->u.side_vla.type.elem_type),
				side_ptr_get(gather->u.side_vla.type.length_type), ret_described);
	case SIDE_TYPE_GATHER_ENUM:
		return describe_enum(d, side_ptr_get(gather->u.side_enum.mappings),
				side_ptr_get(gather->u.side_enum.elem_type), ret_described);
	default:
		return error_set(d->error, -EINVAL, NULL, "type label %u cannot be recorded",
				(unsigned int)side_enum_get(type->type));
	}
}

static int describe_type(struct ctf_describer *d, const struct side_type *type,
		struct described_type *ret_described)
{
	const struct side_type_vla_visitor *visitor;
	const struct side_type_vla *vla;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_NULL: return described(ctf_type_struct(d->arena, 0), ret_described);
	case SIDE_TYPE_BOOL: return described(ctf_describe_bool(d->arena), ret_described);
	case SIDE_TYPE_BYTE: return describe_byte(d, ret_described);
	case SIDE_TYPE_U8:
	case SIDE_TYPE_U16:
	case SIDE_TYPE_U32:
	case SIDE_TYPE_U64:
	case SIDE_TYPE_U128:
	case SIDE_TYPE_S8:
	case SIDE_TYPE_S16:
	case SIDE_TYPE_S32:
	case SIDE_TYPE_S64:
	case SIDE_TYPE_S128:
		return describe_integer(d, &type->u.side_integer, 0, 10, ret_described);
	case SIDE_TYPE_POINTER:
		return describe_integer(d, &type->u.side_integer, 0, 16, ret_described);
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128:
		return describe_float(d, &type->u.side_float, ret_described);
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32: return described(ctf_type_string(d->arena), ret_described);
	case SIDE_TYPE_STRUCT:
		return describe_struct(d, side_ptr_get(type->u.side_struct), ret_described);
	case SIDE_TYPE_VARIANT:
		return describe_variant(d, side_ptr_get(type->u.side_variant), ret_described);
	case SIDE_TYPE_OPTIONAL:
		return describe_optional(d, side_ptr_get(type->u.side_optional), ret_described);
	case SIDE_TYPE_ARRAY:
		return describe_array(d, side_ptr_get(type->u.side_array), ret_described);
	case SIDE_TYPE_VLA:
		vla = side_ptr_get(type->u.side_vla);
		return describe_vla(d, side_ptr_get(vla->elem_type), side_ptr_get(vla->length_type),
				ret_described);
	case SIDE_TYPE_VLA_VISITOR:
		visitor = side_ptr_get(type->u.side_vla_visitor);
		return describe_vla(d, side_ptr_get(visitor->elem_type),
				side_ptr_get(visitor->length_type), ret_described);
	case SIDE_TYPE_ENUM:
		return describe_enum(d, side_ptr_get(type->u.side_enum.mappings),
				side_ptr_get(type->u.side_enum.elem_type), ret_described);
	case SIDE_TYPE_ENUM_BITMAP:
		return describe_bitmap(d, &type->u.side_enum_bitmap, ret_described);
	case SIDE_TYPE_DYNAMIC: return describe_dynamic(d, ret_described);
	default: return describe_gather(d, type, ret_described);
	}
}

static int ctf_describe_type(struct ctf_describer *d, const struct side_type *type,
		struct described_type *ret_described)
{
	int ret;

	if (d->depth >= VISIT_DEPTH_MAX) {
		error_set(d->error, -EINVAL, NULL, "types are nested deeper than %d",
				VISIT_DEPTH_MAX);
		return -EINVAL;
	}
	d->depth++;
	ret = describe_type(d, type, ret_described);
	d->depth--;
	return ret;
}

int ctf_describe_set_no_memory(struct error *error)
{
	return error_set(error, -ENOMEM, NULL, "out of memory for the description of an event");
}

int ctf_type_from_description(struct ctf_arena *arena,
		const struct side_event_description *description, struct ctf_type **ret_type,
		struct error *error)
{
	struct ctf_describer d = {.arena = arena, .error = error};
	struct visit_error why = {0};
	char sentence[sizeof(error->text)];
	int ret = visit_description_check(description, 0, &why);

	if (ret)
		return error_set(error, ret, NULL, "%s",
				visit_error_sentence(&why, sentence, sizeof(sentence)));
	ret = describe_members(&d, side_array_elements(&description->fields),
			side_array_length(&description->fields),
			description->flags & SIDE_EVENT_FLAG_VARIADIC, ret_type);
	if (ret == -ENOMEM)
		ctf_describe_set_no_memory(error);
	return ret;
}
