/* SPDX-License-Identifier: MIT */
/*
 * Splits EventHeader records into their parts, and converts their metadata to fields and CTF types.
 */
#include <errno.h>

#include "ctf/write/describe.h"
#include "ctf/names.h"
#include "kernel-events/eventheader.h"
#include "kernel-events/eventheader-parts.h"

#include <side/abi/type-description.h>

#define FLAG_POINTER64 1
#define FLAG_LITTLE_ENDIAN 2
#define FLAG_EXTENSION 4
#define KIND_METADATA 1
#define KIND_ACTIVITY 2
#define KIND_MASK 0x7fff
#define KIND_MORE 0x8000
#define HEADER_SIZE 8
#define MORE 0x80
#define ENCODING_MASK 0x1f
#define ENCODING_FIXED 0x20
#define ENCODING_COUNTED 0x40

/* ---- the parts of a record ---- */

static int eventheader_read_extension(
		struct eventheader *header, uint16_t kind, const uint8_t *data, size_t size)
{
	switch (kind & KIND_MASK) {
	case 0: return -EINVAL;
	case KIND_METADATA:
		if (header->metadata)
			return -EINVAL;
		header->metadata = data;
		header->metadata_size = size;
		return 0;
	case KIND_ACTIVITY:
		if (header->activity || (size != 16 && size != 32))
			return -EINVAL;
		header->activity = data;
		header->activity_size = size;
		return 0;
	default: return 0;
	}
}

int eventheader_split(const uint8_t *record, size_t size, struct eventheader *ret_header)
{
	size_t at = HEADER_SIZE;
	bool more;

	*ret_header = (struct eventheader){.flags = 0};
	if (size < HEADER_SIZE)
		return -EINVAL;
	ret_header->flags = record[0];
	/*
	 * The other byte order: from an emulated program, or from one that forwards data of another
	 * machine.
	 */
	ret_header->is_swapped = !(ret_header->flags & FLAG_LITTLE_ENDIAN) != CTF_HOST_BIG_ENDIAN;
	ret_header->version = record[1];
	ret_header->id = eventheader_u16(record + 2, ret_header->is_swapped);
	ret_header->tag = eventheader_u16(record + 4, ret_header->is_swapped);
	ret_header->opcode = record[6];
	ret_header->level = record[7];
	/* The pointer size is not needed: each value contains its size. */
	if (ret_header->flags & ~(FLAG_POINTER64 | FLAG_LITTLE_ENDIAN | FLAG_EXTENSION))
		return -EINVAL;
	for (more = ret_header->flags & FLAG_EXTENSION; more;) {
		uint16_t length, kind;

		if (size - at < 4)
			return -EINVAL;
		length = eventheader_u16(record + at, ret_header->is_swapped);
		kind = eventheader_u16(record + at + 2, ret_header->is_swapped);
		at += 4;
		if (size - at < length ||
				eventheader_read_extension(ret_header, kind, record + at, length))
			return -EINVAL;
		at += length;
		more = kind & KIND_MORE;
	}
	ret_header->payload = record + at;
	ret_header->payload_size = size - at;
	return ret_header->metadata ? 0 : -EINVAL;
}

/* ---- fields ---- */

struct eventheader_parser {
	struct ctf_arena *arena;
	const uint8_t *at, *end;
	struct eventheader_node *nodes;
	uint32_t nr_nodes;
	bool is_swapped;
};

/* Read a string. Returns NULL if there is no terminating zero. */
static const char *eventheader_read_text(struct eventheader_parser *d)
{
	const uint8_t *zero = memchr(d->at, 0, (size_t)(d->end - d->at));
	const char *text = (const char *)d->at;

	if (!zero)
		return NULL;
	d->at = zero + 1;
	return text;
}

static bool eventheader_read_bytes(struct eventheader_parser *d, void *to, size_t size)
{
	if ((size_t)(d->end - d->at) < size)
		return false;
	memcpy(to, d->at, size);
	d->at += size;
	return true;
}

static bool eventheader_is_number_format(uint8_t format)
{
	return (format >= EH_FORMAT_UNSIGNED && format <= EH_FORMAT_FLOAT);
}

static void eventheader_choose_form(struct eventheader_node *node)
{
	static const uint8_t sizes[] = {[EH_VALUE8] = 1,
			[EH_VALUE16] = 2,
			[EH_VALUE32] = 4,
			[EH_VALUE64] = 8,
			[EH_VALUE128] = 16,
			[EH_ZERO8] = 1,
			[EH_ZERO16] = 2,
			[EH_ZERO32] = 4,
			[EH_COUNTED8] = 1,
			[EH_COUNTED16] = 2,
			[EH_COUNTED32] = 4,
			[EH_BINARY] = 1};

	node->size = sizes[node->encoding];
	switch (node->encoding) {
	case EH_STRUCT: node->form = EH_FORM_STRUCT; break;
	case EH_ZERO8:
	case EH_ZERO16:
	case EH_ZERO32:
	case EH_COUNTED16:
	case EH_COUNTED32: node->form = EH_FORM_TEXT; break;
	case EH_COUNTED8:
		node->form = eventheader_is_number_format(node->format) ? EH_FORM_OPTIONAL
				: node->format == EH_FORMAT_HEX_BYTES ||
						node->format >= EH_FORMAT_UUID
				? EH_FORM_BYTES
				: EH_FORM_TEXT;
		break;
	case EH_BINARY:
		node->form = eventheader_is_number_format(node->format) ? EH_FORM_OPTIONAL
				: node->format >= EH_FORMAT_TEXT8 && node->format <= EH_FORMAT_JSON
				? EH_FORM_TEXT
				: EH_FORM_BYTES;
		break;
	default: node->form = EH_FORM_COPY; break;
	}
}

static int eventheader_parse_fields(
		struct eventheader_parser *d, uint32_t most, unsigned int depth);

/* Parse one field and all fields that it contains. */
static int eventheader_parse_field(struct eventheader_parser *d, unsigned int depth)
{
	struct eventheader_node *node = &d->nodes[d->nr_nodes];
	uint8_t encoding, format = 0, count[2];
	uint16_t tag;

	if (d->nr_nodes == EVENTHEADER_NODES_MAX)
		return -EINVAL;
	d->nr_nodes++;
	*node = (struct eventheader_node){.name = eventheader_read_text(d)};
	if (!node->name || !eventheader_read_bytes(d, &encoding, 1))
		return -EINVAL;
	if (encoding & MORE && !eventheader_read_bytes(d, &format, 1))
		return -EINVAL;
	if (format & MORE && !eventheader_read_bytes(d, &tag, 2))
		return -EINVAL;
	if (encoding & ENCODING_FIXED) {
		if (encoding & ENCODING_COUNTED || !eventheader_read_bytes(d, count, 2))
			return -EINVAL;
		node->count = eventheader_u16(count, d->is_swapped);
		if (!node->count)
			return -EINVAL;
		node->array = EH_FIXED_ARRAY;
	} else if (encoding & ENCODING_COUNTED) {
		node->array = EH_COUNTED_ARRAY;
	}
	node->encoding = encoding & ENCODING_MASK;
	node->format = format & ~MORE & 0xff;
	if (node->encoding < EH_STRUCT || node->encoding > EH_BINARY)
		return -EINVAL;
	eventheader_choose_form(node);
	if (node->form == EH_FORM_STRUCT) {
		uint32_t index = d->nr_nodes - 1;
		int ret;

		node->members = node->format;
		ret = node->members && depth < EVENTHEADER_DEPTH_MAX
				? eventheader_parse_fields(d, node->members, depth + 1)
				: -EINVAL;
		if (ret)
			return ret;
		d->nodes[index].end = d->nr_nodes;
		return 0;
	}
	node->end = d->nr_nodes;
	return 0;
}

static int eventheader_parse_fields(struct eventheader_parser *d, uint32_t most, unsigned int depth)
{
	int ret = 0;

	while (!ret && most--)
		ret = d->at == d->end ? -EINVAL : eventheader_parse_field(d, depth);
	return ret;
}

/* ---- types ---- */

static struct ctf_type *eventheader_bytes_type(struct ctf_arena *arena)
{
	struct ctf_type *byte = ctf_type_integer(arena, 8, false);

	if (byte) {
		byte->base = 16;
		byte->byte = true;
	}
	return byte;
}

static struct ctf_type *eventheader_boolean_type(struct ctf_arena *arena, unsigned int bits)
{
	struct ctf_type *integer, *type;

	if (bits == 8)
		return ctf_describe_bool(arena);
	integer = ctf_type_integer(arena, bits, false);
	type = integer ? ctf_type_enum(arena, integer, 2) : NULL;
	if (!type)
		return NULL;
	type->labels[0] = (struct ctf_label){"false", 0, 0};
	type->labels[1] = (struct ctf_label){"true", 1, 1};
	return type;
}

/* Create the type of a number of `bits` bits. */
static struct ctf_type *eventheader_number_type(
		struct ctf_arena *arena, uint8_t format, unsigned int bits)
{
	struct ctf_type *type;

	switch (format) {
	case EH_FORMAT_SIGNED: return ctf_type_integer(arena, bits, true);
	case EH_FORMAT_ERRNO:
	case EH_FORMAT_PID: return ctf_type_integer(arena, bits, bits >= 32);
	case EH_FORMAT_TIME: return ctf_type_integer(arena, bits, bits >= 32);
	case EH_FORMAT_FLOAT:
		return bits >= 32 ? ctf_type_float(arena, bits)
				  : ctf_type_integer(arena, bits, false);
	case EH_FORMAT_BOOLEAN:
		if (bits <= 32)
			return eventheader_boolean_type(arena, bits);
		break;
	case EH_FORMAT_HEX:
		type = ctf_type_integer(arena, bits, false);
		if (type)
			type->base = 16;
		return type;
	case EH_FORMAT_PORT:
		type = ctf_type_integer(arena, bits, false);
		if (type && bits == 16)
			type->big_endian = true;
		return type;
	case EH_FORMAT_HEX_BYTES:
		type = eventheader_bytes_type(arena);
		return type ? ctf_type_array(arena, type, bits / 8) : NULL;
	case EH_FORMAT_IP:
	case EH_FORMAT_IP_OLD:
		if (bits != 32)
			break;
		type = eventheader_bytes_type(arena);
		return type ? ctf_type_array(arena, type, 4) : NULL;
	default: break;
	}
	return ctf_type_integer(arena, bits, false);
}

static struct ctf_type *eventheader_fields_type(struct ctf_arena *arena,
		const struct eventheader_node *nodes, uint32_t begin, uint32_t end);

static struct ctf_type *eventheader_option_type(struct ctf_arena *arena,
		const struct eventheader_node *node, struct ctf_type **ret_tag)
{
	struct ctf_type *u8 = ctf_type_integer(arena, 8, false);
	struct ctf_type *type = ctf_type_variant(arena, 2, NULL), *none, *some;
	uint8_t format = node->format;

	*ret_tag = u8 ? ctf_type_enum(arena, u8, 2) : NULL;
	none = ctf_type_struct(arena, 0);
	some = format == EH_FORMAT_BOOLEAN ? ctf_describe_bool(arena)
					   : eventheader_number_type(arena, format, 64);
	if (!type || !*ret_tag || !none || !some)
		return NULL;
	(*ret_tag)->labels[0] = (struct ctf_label){"none", 0, 0};
	(*ret_tag)->labels[1] = (struct ctf_label){"some", 1, 1};
	type->optional = true;
	ctf_member_set(&type->members[0], "none", none, false);
	ctf_member_set(&type->members[1], "some", some, false);
	return type;
}

/*
 * Create the type of a value that is not an array. `*ret_related` is the field that must precede it
 * (a length or a tag), or NULL.
 */
static struct ctf_type *eventheader_value_type(struct ctf_arena *arena,
		const struct eventheader_node *nodes, uint32_t index, struct ctf_type **ret_related,
		const char **ret_suffix)
{
	const struct eventheader_node *node = &nodes[index];
	struct ctf_type *type;

	*ret_related = NULL;
	switch (node->form) {
	case EH_FORM_STRUCT: return eventheader_fields_type(arena, nodes, index + 1, node->end);
	case EH_FORM_TEXT: return ctf_type_string(arena);
	case EH_FORM_OPTIONAL:
		*ret_suffix = "_tag";
		return eventheader_option_type(arena, node, ret_related);
	case EH_FORM_BYTES:
		*ret_suffix = "_length";
		*ret_related = ctf_type_integer(arena, 16, false);
		type = eventheader_bytes_type(arena);
		return type && *ret_related ? ctf_type_sequence(arena, type, NULL) : NULL;
	case EH_FORM_COPY: break;
	}
	if (node->encoding != EH_VALUE128)
		return eventheader_number_type(arena, node->format, node->size * 8u);
	type = eventheader_bytes_type(arena);
	return type ? ctf_type_array(arena, type, 16) : NULL;
}

static const char *eventheader_join_names(struct ctf_arena *arena, struct ctf_names *names,
		const char *name, const char *suffix)
{
	size_t size = strlen(name) + strlen(suffix) + 1;
	char *text = ctf_arena_alloc(arena, size, 1);

	if (!text)
		return NULL;
	stpcpy(stpcpy(text, name), suffix);
	return ctf_names_reserve(names, text);
}

/* Create the type of an array's element that needs a preceding field: a structure of both. */
static struct ctf_type *eventheader_wrap_element(struct ctf_arena *arena, struct ctf_type *type,
		struct ctf_type *related, const char *suffix)
{
	struct ctf_type *both = ctf_type_struct(arena, 2);

	if (!both)
		return NULL;
	type->reference = suffix;
	ctf_member_set(&both->members[0], suffix, related, true);
	ctf_member_set(&both->members[1], type->kind == CTF_VARIANT ? "_value" : "_elements", type,
			false);
	return both;
}

static int eventheader_add_member(struct ctf_arena *arena, struct ctf_names *names,
		const struct eventheader_node *nodes, uint32_t index, struct ctf_type *into)
{
	const struct eventheader_node *node = &nodes[index];
	const char *name, *suffix = NULL;
	struct ctf_type *related, *type;

	/* The attributes follow the name, after a semicolon. */
	name = ctf_arena_copy(arena, node->name, strcspn(node->name, ";"));
	name = name ? ctf_name_escape(arena, name) : NULL;
	name = name ? ctf_names_reserve(names, name) : NULL;
	type = eventheader_value_type(arena, nodes, index, &related, &suffix);
	if (!name || !type)
		return -ENOMEM;
	if (node->array != EH_NO_ARRAY) {
		if (related)
			type = eventheader_wrap_element(arena, type, related, suffix);
		related = NULL;
		if (type && node->array == EH_COUNTED_ARRAY) {
			suffix = "_length";
			related = ctf_type_integer(arena, 16, false);
			type = related ? ctf_type_sequence(arena, type, NULL) : NULL;
		} else if (type) {
			type = ctf_type_array(arena, type, node->count);
		}
		if (!type)
			return -ENOMEM;
	}
	if (related) {
		type->reference = eventheader_join_names(arena, names, name, suffix);
		if (!type->reference)
			return -ENOMEM;
		ctf_member_set(&into->members[into->member_count++], type->reference, related,
				true);
	}
	ctf_member_set(&into->members[into->member_count++], name, type, false);
	return 0;
}

static struct ctf_type *eventheader_fields_type(struct ctf_arena *arena,
		const struct eventheader_node *nodes, uint32_t begin, uint32_t end)
{
	uint32_t count = 0, i;
	struct ctf_names names;
	struct ctf_type *type;
	int ret;

	for (i = begin; i < end; i = nodes[i].end)
		count += 2;
	type = ctf_type_struct(arena, count);
	ret = ctf_names_init(&names, arena, count * 2);
	if (!type || ret) {
		ctf_names_free(&names);
		return NULL;
	}
	type->member_count = 0;
	for (i = begin; i < end && !ret; i = nodes[i].end)
		ret = eventheader_add_member(arena, &names, nodes, i, type);
	ctf_names_free(&names);
	return ret ? NULL : type;
}

int eventheader_parse(const struct eventheader *header, struct ctf_arena *arena,
		struct eventheader_class *ret_class)
{
	struct eventheader_parser d = {
			.arena = arena,
			.at = header->metadata,
			.end = header->metadata + header->metadata_size,
			.is_swapped = header->is_swapped,
	};
	const char *name = eventheader_read_text(&d);
	size_t most = header->metadata_size / 2 + 1;
	char *copy;
	int ret = 0;

	*ret_class = (struct eventheader_class){.name = NULL};
	if (!name)
		return -EINVAL;
	/* Each field takes at least two bytes of metadata. */
	d.nodes = ctf_arena_alloc(arena,
			most < EVENTHEADER_NODES_MAX ? most : EVENTHEADER_NODES_MAX,
			sizeof(*d.nodes));
	if (!d.nodes)
		return -ENOMEM;
	while (d.at != d.end && !ret)
		ret = eventheader_parse_field(&d, 0);
	if (ret)
		return ret;
	/* The names point into the record, which is released before the class: copy them. */
	for (uint32_t i = 0; i < d.nr_nodes; i++) {
		d.nodes[i].name = ctf_arena_copy(arena, d.nodes[i].name, strlen(d.nodes[i].name));
		if (!d.nodes[i].name)
			return -ENOMEM;
	}
	copy = ctf_arena_copy(arena, name, strcspn(name, ";"));
	ret_class->name =
			copy ? ctf_describe_text(arena, copy, 1, SIDE_TYPE_BYTE_ORDER_HOST) : NULL;
	ret_class->nodes = d.nodes;
	ret_class->nr_nodes = d.nr_nodes;
	ret_class->type = eventheader_fields_type(arena, d.nodes, 0, d.nr_nodes);
	return ret_class->name && ret_class->type ? 0 : -ENOMEM;
}
