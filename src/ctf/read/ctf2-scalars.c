/* SPDX-License-Identifier: MIT */
/* Parses CTF 2 field classes that contain no others, and the properties that all classes share. */
#include <inttypes.h>
#include <string.h>

#include "ctf/read/ctf2-types.h"

#define ALIGN_MAX (1u << 16)

/* ---- properties of classes ---- */

bool ctf2_is_event_scope(enum ctf_scope scope)
{
	return scope >= CTF_SCOPE_STREAM_EVENT_CONTEXT;
}

char *ctf2_tree_name(struct ctf2_reader *r, const char *name, bool underscore)
{
	size_t size = strlen(name);
	char *copy = ctf2_alloc(r, size + 2, 1);

	if (!copy)
		return NULL;
	snprintf(copy, size + 2, "%s%s", underscore ? "_" : "", name);
	return copy;
}

struct ctf_type *ctf2_new_type(struct ctf2_reader *r, enum ctf_kind kind, uint32_t align)
{
	struct ctf_type *type = ctf2_alloc(r, 1, sizeof(*type));

	if (!type)
		return NULL;
	type->kind = kind;
	type->align = align;
	type->base = 10;
	type->slot = -1;
	type->depth = 1;
	return type;
}

uint32_t ctf2_align(struct ctf2_reader *r, const struct ctf2_json *json, const char *key)
{
	uint64_t align = ctf2_number(r, json, key, 1);

	if (!align || align > ALIGN_MAX || (align & (align - 1))) {
		ctf2_error(r, "an alignment must be a power of two, at most %u", ALIGN_MAX);
		return 1;
	}
	return (uint32_t)align;
}

static bool ctf2_scalar_is_keyword(const char *text, const char *word)
{
	return text && strcmp(text, word) == 0;
}

static bool parse_integer(const struct ctf2_json *json, __int128 *ret_number)
{
	if (!json || json->kind != JSON_INTEGER)
		return false;
	*ret_number = json->negative ? (__int128)(int64_t)json->number : (__int128)json->number;
	return true;
}

bool ctf2_bounds(
		struct ctf2_reader *r, const struct ctf2_json *json, struct ctf2_bounds *ret_bounds)
{
	bool good = json->kind == JSON_ARRAY && json->count == 2 &&
			parse_integer(json->first, &ret_bounds->begin) &&
			parse_integer(json->first->next, &ret_bounds->end) &&
			ret_bounds->begin <= ret_bounds->end;

	if (!good)
		ctf2_error(r, "a range must be two integers, the lower one first");
	return good;
}

/* Clip a range to the values of an integer; false: nothing remains. */
static bool ctf2_scalar_clip_range(
		struct ctf2_bounds *ret_bounds, bool is_signed, unsigned int size)
{
	__int128 low = is_signed ? -((__int128)1 << (size - 1)) : 0;
	__int128 high = ((__int128)1 << (size - is_signed)) - 1;

	ret_bounds->begin = ret_bounds->begin < low ? low : ret_bounds->begin;
	ret_bounds->end = ret_bounds->end > high ? high : ret_bounds->end;
	return ret_bounds->begin <= ret_bounds->end;
}

/* Parse {"label": [[1, 2], …], …} of integers and bit maps. */
static void ctf2_scalar_parse_labels(struct ctf2_reader *r, const struct ctf2_json *json,
		struct ctf_type *type, bool is_signed, unsigned int size)
{
	uint32_t count = 0;

	if (json->kind != JSON_OBJECT) {
		ctf2_error(r, "the labels of an integer must be an object");
		return;
	}
	for (const struct ctf2_json *label = json->first; label; label = label->next)
		count += label->count;
	type->labels = ctf2_alloc(r, count, sizeof(*type->labels));
	for (const struct ctf2_json *label = json->first; label && !r->first_error;
			label = label->next) {
		const char *text = ctf2_copy(r, label->key);
		const struct ctf2_json *range = label->kind == JSON_ARRAY ? label->first : NULL;

		if (label->kind != JSON_ARRAY)
			ctf2_error(r, "the ranges of a label must be an array");
		for (; range && !r->first_error; range = range->next) {
			struct ctf2_bounds bounds;

			if (!ctf2_bounds(r, range, &bounds) ||
					!ctf2_scalar_clip_range(&bounds, is_signed, size))
				continue;
			type->labels[type->label_count++] = (struct ctf_label){
					text, (uint64_t)bounds.begin, (uint64_t)bounds.end};
		}
	}
}

static const struct {
	const char *name;
	enum ctf_role role;
	enum ctf_scope scope;
} roles[] = {
		{"packet-magic-number", CTF_ROLE_MAGIC, CTF_SCOPE_PACKET_HEADER},
		{"metadata-stream-uuid", CTF_ROLE_UUID, CTF_SCOPE_PACKET_HEADER},
		{"data-stream-class-id", CTF_ROLE_STREAM_ID, CTF_SCOPE_PACKET_HEADER},
		{"data-stream-id", CTF_ROLE_STREAM_INSTANCE_ID, CTF_SCOPE_PACKET_HEADER},
		{"packet-total-length", CTF_ROLE_PACKET_SIZE, CTF_SCOPE_PACKET_CONTEXT},
		{"packet-content-length", CTF_ROLE_CONTENT_SIZE, CTF_SCOPE_PACKET_CONTEXT},
		{"default-clock-timestamp", CTF_ROLE_TIMESTAMP_BEGIN, CTF_SCOPE_PACKET_CONTEXT},
		{"packet-end-default-clock-timestamp", CTF_ROLE_TIMESTAMP_END,
				CTF_SCOPE_PACKET_CONTEXT},
		{"discarded-event-record-counter-snapshot", CTF_ROLE_EVENTS_DISCARDED,
				CTF_SCOPE_PACKET_CONTEXT},
		{"packet-sequence-number", CTF_ROLE_PACKET_SEQ_NUM, CTF_SCOPE_PACKET_CONTEXT},
		{"event-record-class-id", CTF_ROLE_EVENT_ID, CTF_SCOPE_EVENT_HEADER},
};

enum ctf_role ctf2_roles(struct ctf2_reader *r, const struct ctf2_json *json, struct ctf_type *type)
{
	const struct ctf2_json *list = json_member(json, "roles");
	unsigned int best = sizeof(roles) / sizeof(roles[0]);

	if (!list)
		return CTF_ROLE_NONE;
	if (list->kind != JSON_ARRAY) {
		ctf2_error(r, "the roles of a field must be an array");
		return CTF_ROLE_NONE;
	}
	for (const struct ctf2_json *role = list->first; role; role = role->next) {
		if (role->kind != JSON_STRING) {
			ctf2_error(r, "a role must be a text");
			return CTF_ROLE_NONE;
		}
		if (ctf2_scalar_is_keyword(role->text, "default-clock-timestamp") &&
				(r->scope == CTF_SCOPE_PACKET_CONTEXT ||
						r->scope == CTF_SCOPE_EVENT_HEADER))
			type->clock = r->clock;
		for (unsigned int i = 0; i < best; i++) {
			if (roles[i].scope == r->scope && strcmp(role->text, roles[i].name) == 0)
				best = i;
		}
	}
	return best < sizeof(roles) / sizeof(roles[0]) ? roles[best].role : CTF_ROLE_NONE;
}

enum ctf_encoding ctf2_encoding(struct ctf2_reader *r, const struct ctf2_json *json)
{
	static const char *const names[] = {
			"utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be"};
	const char *text = ctf2_text(r, json, "encoding");

	for (unsigned int i = 0; i < 5; i++) {
		if (!text || strcmp(text, names[i]) == 0)
			return (enum ctf_encoding)i;
	}
	ctf2_error(r, "the encoding \"%s\" is not known", text);
	return CTF_UTF8;
}

/* ---- numbers ---- */

static struct ctf_type *parse_fixed(struct ctf2_reader *r, const struct ctf2_json *json)
{
	struct ctf_type *type = ctf2_new_type(r, CTF_INTEGER, 1);
	const char *order = ctf2_text(r, json, "byte-order");
	const char *bits = ctf2_text(r, json, "bit-order");
	uint64_t length = ctf2_number(r, json, "length", 0);
	bool first = ctf2_scalar_is_keyword(bits, "first-to-last");

	if (!type)
		return NULL;
	type->align = ctf2_align(r, json, "alignment");
	type->big_endian = ctf2_scalar_is_keyword(order, "big-endian");
	if (!type->big_endian && !ctf2_scalar_is_keyword(order, "little-endian"))
		return ctf2_error(r, "a field has no byte-order (little-endian or big-endian)");
	if (bits && !first && !ctf2_scalar_is_keyword(bits, "last-to-first"))
		return ctf2_error(r, "the bit-order \"%s\" is not known", bits);
	if (!length || length > 64)
		return ctf2_error(r,
				"a field has a length of %" PRIu64
				" bits; this version reads 1 to 64",
				length);
	type->reversed = bits && first == type->big_endian;
	type->size = (uint8_t)length;
	return type;
}

static uint8_t parse_base(struct ctf2_reader *r, const struct ctf2_json *json)
{
	uint64_t base = ctf2_number(r, json, "preferred-display-base", 10);

	if (base != 2 && base != 8 && base != 10 && base != 16)
		ctf2_error(r, "the base of an integer must be 2, 8, 10 or 16");
	return (uint8_t)base;
}

static void ctf2_scalar_parse_integer_remainder(struct ctf2_reader *r, const struct ctf2_json *json,
		struct ctf_type *type, bool is_signed, enum ctf_role *ret_role)
{
	const struct ctf2_json *mappings = json_member(json, "mappings");

	type->is_signed = is_signed;
	type->base = parse_base(r, json);
	if (mappings) {
		type->kind = CTF_ENUM;
		ctf2_scalar_parse_labels(r, mappings, type, is_signed, type->size);
	}
	if (!is_signed)
		*ret_role = ctf2_roles(r, json, type);
}

struct ctf_type *ctf2_fixed_integer(struct ctf2_reader *r, const struct ctf2_json *json,
		bool is_signed, enum ctf_role *ret_role)
{
	struct ctf_type *type = parse_fixed(r, json);

	if (type)
		ctf2_scalar_parse_integer_remainder(r, json, type, is_signed, ret_role);
	return type;
}

struct ctf_type *ctf2_variable_integer(struct ctf2_reader *r, const struct ctf2_json *json,
		bool is_signed, enum ctf_role *ret_role)
{
	struct ctf_type *type = ctf2_new_type(r, CTF_INTEGER, 8);

	if (!type)
		return NULL;
	type->leb128 = true;
	type->size = 64;
	ctf2_scalar_parse_integer_remainder(r, json, type, is_signed, ret_role);
	return type;
}

struct ctf_type *ctf2_boolean(struct ctf2_reader *r, const struct ctf2_json *json)
{
	struct ctf_type *type = parse_fixed(r, json);

	if (!type)
		return NULL;
	type->kind = CTF_ENUM;
	type->boolean = true;
	type->labels = ctf2_alloc(r, 2, sizeof(*type->labels));
	if (!type->labels)
		return NULL;
	type->label_count = 2;
	type->labels[0] = (struct ctf_label){"false", 0, 0};
	type->labels[1] = (struct ctf_label){"true", 1, UINT64_MAX >> (64 - type->size)};
	return type;
}

/* A bit map is an integer for every user that does not use the names of the bits. */
struct ctf_type *ctf2_bits(
		struct ctf2_reader *r, const struct ctf2_json *json, const struct ctf2_json *flags)
{
	struct ctf_type *type = parse_fixed(r, json);

	if (!type)
		return NULL;
	type->base = 16;
	if (!flags)
		return type;
	type->bitmap = true;
	ctf2_scalar_parse_labels(r, flags, type, false, 6);
	return type;
}

struct ctf_type *ctf2_float(struct ctf2_reader *r, const struct ctf2_json *json)
{
	struct ctf_type *type = parse_fixed(r, json);

	if (!type)
		return NULL;
	type->kind = CTF_FLOAT;
	type->is_signed = true;
	if (type->size != 32 && type->size != 64)
		return ctf2_error(r, "a floating-point number is read with 32 or 64 bits only");
	return type;
}
