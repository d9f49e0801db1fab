/* SPDX-License-Identifier: MIT */
/* Parses TSDL types that contain no other types. */
#include <string.h>
#include <strings.h>

#include "ctf/read/tsdl-types.h"

#define TSDL_ALIGN_MAX (1u << 16)

bool tsdl_word(struct tsdl_parser *p, char *word)
{
	if (p->token.kind != TSDL_WORD || p->token.size >= TSDL_NAME_MAX) {
		tsdl_error(p, "a name is missing");
		return false;
	}
	memcpy(word, p->token.text, p->token.size);
	word[p->token.size] = '\0';
	tsdl_next(p);
	return true;
}

/* A value of an attribute: a number, or words with dots between them. */
struct attribute {
	char key[TSDL_NAME_MAX];
	char word[TSDL_NAME_MAX];
	bool is_number;
	uint64_t number;
};

/* Parse the next attribute before the brace; false: none. */
static bool parse_attribute(struct tsdl_parser *p, struct attribute *ret_attribute)
{
	size_t used = 0;

	ret_attribute->word[0] = '\0';
	ret_attribute->is_number = false;
	while (tsdl_accept(p, ';'))
		;
	if (p->failed || tsdl_is(p, '}'))
		return false;
	if (!tsdl_word(p, ret_attribute->key))
		return false;
	tsdl_expect(p, '=');
	if (p->token.kind == TSDL_NUMBER || tsdl_is(p, '-') || tsdl_is(p, '+')) {
		ret_attribute->is_number = tsdl_number(p, &ret_attribute->number);
	} else if (p->token.kind == TSDL_STRING) {
		snprintf(ret_attribute->word, sizeof(ret_attribute->word), "%s", p->token.text);
		tsdl_next(p);
	} else {
		while ((p->token.kind == TSDL_WORD || tsdl_is(p, '.')) &&
				used + p->token.size + 2 < sizeof(ret_attribute->word)) {
			size_t size = p->token.kind == TSDL_WORD ? p->token.size : 1;

			memcpy(ret_attribute->word + used, p->token.text, size);
			used += size;
			ret_attribute->word[used] = '\0';
			tsdl_next(p);
		}
		if (!used)
			tsdl_error(p, "the value of \"%s\" is missing", ret_attribute->key);
	}
	tsdl_expect(p, ';');
	return !p->failed;
}

static bool attribute_bool(struct tsdl_parser *p, const struct attribute *attribute)
{
	if (attribute->is_number)
		return attribute->number;
	if (strcasecmp(attribute->word, "true") == 0)
		return true;
	if (strcasecmp(attribute->word, "false") != 0)
		tsdl_error(p, "\"%s\" must be true or false", attribute->key);
	return false;
}

static bool attribute_big_endian(struct tsdl_parser *p, const struct attribute *attribute)
{
	const char *word = attribute->word;

	if (strcmp(word, "be") == 0 || strcmp(word, "network") == 0)
		return true;
	if (strcmp(word, "native") == 0)
		return p->classes->trace.big_endian;
	if (strcmp(word, "le") != 0)
		tsdl_error(p, "byte_order must be le, be, network or native");
	return false;
}

static uint8_t attribute_base(struct tsdl_parser *p, const struct attribute *attribute)
{
	static const struct {
		const char *names;
		uint8_t base;
	} bases[] = {{" decimal dec d i u ", 10}, {" hexadecimal hex x X p ", 16},
			{" octal oct o ", 8}, {" binary bin b ", 2}};
	char word[TSDL_NAME_MAX + 2];

	if (attribute->is_number) {
		if (attribute->number == 2 || attribute->number == 8 || attribute->number == 10 ||
				attribute->number == 16)
			return (uint8_t)attribute->number;
	} else {
		snprintf(word, sizeof(word), " %s ", attribute->word);
		for (unsigned int i = 0; i < 4; i++) {
			if (strstr(bases[i].names, word))
				return bases[i].base;
		}
	}
	tsdl_error(p, "the base of an integer must be 2, 8, 10 or 16");
	return 10;
}

uint32_t tsdl_align(struct tsdl_parser *p, uint64_t align)
{
	if (!align || align > TSDL_ALIGN_MAX || (align & (align - 1))) {
		tsdl_error(p, "an alignment must be a power of two, at most %u", TSDL_ALIGN_MAX);
		return 1;
	}
	return (uint32_t)align;
}

static uint32_t attribute_align(struct tsdl_parser *p, const struct attribute *attribute)
{
	return tsdl_align(p, attribute->is_number ? attribute->number : 0);
}

/* Parse clock.NAME.value, or clock.NAME. */
static const struct ctf_clock *attribute_clock(
		struct tsdl_parser *p, const struct attribute *attribute)
{
	static const char prefix[] = "clock.", suffix[] = ".value";
	const char *name = attribute->word + sizeof(prefix) - 1;
	size_t size = strlen(attribute->word);

	if (size < sizeof(prefix) || memcmp(attribute->word, prefix, sizeof(prefix) - 1) != 0)
		return tsdl_error(p, "\"%s\" is not a clock value", attribute->word);
	size -= sizeof(prefix) - 1;
	if (size >= sizeof(suffix) && strcmp(name + size - (sizeof(suffix) - 1), suffix) == 0)
		size -= sizeof(suffix) - 1;
	return tsdl_clock(p, name, size);
}

static bool attribute_is_text(struct tsdl_parser *p, const struct attribute *attribute)
{
	const char *word = attribute->word;

	if (strcasecmp(word, "utf8") == 0 || strcasecmp(word, "utf-8") == 0 ||
			strcasecmp(word, "ascii") == 0)
		return true;
	if (strcasecmp(word, "none") != 0)
		tsdl_error(p, "the encoding must be none, UTF8 or ASCII");
	return false;
}

/* The index of the attribute in a list that ends with NULL, or -1: unknown or repeated. */
static int attribute_of(struct tsdl_parser *p, const struct attribute *attribute,
		const char *const *known, const char *what, unsigned int *seen)
{
	for (int i = 0; known[i]; i++) {
		if (strcmp(known[i], attribute->key) != 0)
			continue;
		if (*seen & 1u << i) {
			tsdl_error(p, "%s has \"%s\" twice", what, attribute->key);
			return -1;
		}
		*seen |= 1u << i;
		return i;
	}
	tsdl_error(p, "%s has the unknown attribute \"%s\"", what, attribute->key);
	return -1;
}

struct ctf_type *tsdl_integer(struct tsdl_parser *p)
{
	enum { SIZE, ALIGN, SIGNED, ORDER, BASE, ENCODING, MAP };
	static const char *const known[] = {
			"size", "align", "signed", "byte_order", "base", "encoding", "map", NULL};
	struct ctf_type *type = tsdl_alloc(p, 1, sizeof(*type));
	struct attribute attribute;
	unsigned int seen = 0;

	if (!type)
		return NULL;
	*type = (struct ctf_type){.kind = CTF_INTEGER, .base = 10, .slot = -1, .depth = 1};
	type->big_endian = p->classes->trace.big_endian;
	tsdl_expect(p, '{');
	while (parse_attribute(p, &attribute)) {
		switch (attribute_of(p, &attribute, known, "an integer", &seen)) {
		case SIZE:
			if (!attribute.is_number || !attribute.number || attribute.number > 64)
				return tsdl_error(p, "an integer must have 1 to 64 bits");
			type->size = (uint8_t)attribute.number;
			break;
		case ALIGN: type->align = attribute_align(p, &attribute); break;
		case SIGNED: type->is_signed = attribute_bool(p, &attribute); break;
		case ORDER: type->big_endian = attribute_big_endian(p, &attribute); break;
		case BASE: type->base = attribute_base(p, &attribute); break;
		case ENCODING: type->text = attribute_is_text(p, &attribute); break;
		case MAP: type->clock = attribute_clock(p, &attribute); break;
		default: return NULL;
		}
	}
	tsdl_expect(p, '}');
	if (!type->size)
		return tsdl_error(p, "an integer has no size");
	if (!type->align)
		type->align = type->size % 8 ? 1 : 8;
	type->text = type->text && type->size == 8;
	return type;
}

struct ctf_type *tsdl_float(struct tsdl_parser *p)
{
	enum { EXPONENT, MANTISSA, ALIGN, ORDER };
	static const char *const known[] = {"exp_dig", "mant_dig", "align", "byte_order", NULL};
	struct ctf_type *type = tsdl_alloc(p, 1, sizeof(*type));
	struct attribute attribute;
	unsigned int seen = 0;
	uint64_t exponent = 0, mantissa = 0;

	if (!type)
		return NULL;
	*type = (struct ctf_type){
			.kind = CTF_FLOAT, .base = 10, .slot = -1, .depth = 1, .is_signed = true};
	type->big_endian = p->classes->trace.big_endian;
	tsdl_expect(p, '{');
	while (parse_attribute(p, &attribute)) {
		switch (attribute_of(p, &attribute, known, "a floating-point number", &seen)) {
		case EXPONENT: exponent = attribute.is_number ? attribute.number : 0; break;
		case MANTISSA: mantissa = attribute.is_number ? attribute.number : 0; break;
		case ALIGN: type->align = attribute_align(p, &attribute); break;
		case ORDER: type->big_endian = attribute_big_endian(p, &attribute); break;
		default: return NULL;
		}
	}
	tsdl_expect(p, '}');
	if (!(exponent == 8 && mantissa == 24) && !(exponent == 11 && mantissa == 53))
		return tsdl_error(p, "floating_point is read with 32 or 64 bits only");
	type->size = (uint8_t)(exponent + mantissa);
	if (!type->align)
		type->align = 8;
	return type;
}

struct ctf_type *tsdl_string(struct tsdl_parser *p)
{
	static const char *const known[] = {"encoding", NULL};
	struct ctf_type *type = tsdl_alloc(p, 1, sizeof(*type));
	struct attribute attribute;
	unsigned int seen = 0;

	if (!type)
		return NULL;
	*type = (struct ctf_type){.kind = CTF_STRING, .align = 8, .slot = -1, .depth = 1};
	if (tsdl_accept(p, '{')) {
		while (parse_attribute(p, &attribute)) {
			if (attribute_of(p, &attribute, known, "a string", &seen) == 0)
				attribute_is_text(p, &attribute);
		}
		tsdl_expect(p, '}');
	}
	return type;
}

/* ---- enumerations ---- */

static void parse_label(struct tsdl_parser *p, struct ctf_label *ret_label, uint64_t next)
{
	ret_label->begin = next;
	if (p->token.kind == TSDL_WORD ||
			(p->token.kind == TSDL_STRING && !p->token.is_character)) {
		ret_label->text = tsdl_copy_token(p);
		tsdl_next(p);
	} else {
		tsdl_error(p, "a label is missing");
		return;
	}
	if (tsdl_accept(p, '='))
		tsdl_number(p, &ret_label->begin);
	ret_label->end = ret_label->begin;
	if (p->token.kind == TSDL_RANGE) {
		tsdl_next(p);
		tsdl_number(p, &ret_label->end);
	}
}

static bool is_backwards(const struct ctf_type *type, const struct ctf_label *label)
{
	return type->is_signed ? (int64_t)label->begin > (int64_t)label->end
			       : label->begin > label->end;
}

static void tsdl_scalar_parse_labels(struct tsdl_parser *p, struct ctf_type *type)
{
	uint32_t capacity = 0;
	uint64_t next = 0;

	type->labels = NULL;
	type->label_count = 0;
	while (!p->failed && !tsdl_is(p, '}')) {
		if (type->label_count == capacity) {
			struct ctf_label *labels;

			capacity = capacity ? capacity * 2 : 8;
			labels = tsdl_alloc(p, capacity, sizeof(*labels));
			if (!labels)
				return;
			if (type->label_count)
				memcpy(labels, type->labels, type->label_count * sizeof(*labels));
			type->labels = labels;
		}
		parse_label(p, &type->labels[type->label_count], next);
		if (!p->failed && is_backwards(type, &type->labels[type->label_count]))
			tsdl_error(p, "the range of the label \"%s\" ends before it begins",
					type->labels[type->label_count].text);
		next = type->labels[type->label_count].end + 1;
		type->label_count++;
		if (!tsdl_accept(p, ','))
			break;
	}
}

/* True for SIDE's form of a boolean (docs/spec/recording.md, section 3). */
static bool is_boolean(const struct ctf_type *type)
{
	const struct ctf_label *labels = type->labels;

	return type->label_count == 2 && type->size == 8 && !type->is_signed &&
			strcmp(labels[0].text, "false") == 0 && !labels[0].begin &&
			!labels[0].end && strcmp(labels[1].text, "true") == 0 &&
			labels[1].begin == 1 && labels[1].end == 255;
}

struct ctf_type *tsdl_enum(struct tsdl_parser *p)
{
	char name[TSDL_NAME_MAX] = "", full[TSDL_NAME_MAX + 16];
	struct ctf_type *integer, *type;

	if (p->token.kind == TSDL_WORD && !tsdl_word(p, name))
		return NULL;
	if (*name && !tsdl_is(p, ':') && !tsdl_is(p, '{'))
		return tsdl_use_name(p, "enum ", name);
	if (tsdl_accept(p, ':'))
		integer = tsdl_type(p);
	else
		integer = tsdl_use_name(p, "", "int");
	type = tsdl_alloc(p, 1, sizeof(*type));
	if (!integer || !type)
		return NULL;
	if (integer->kind != CTF_INTEGER)
		return tsdl_error(p, "an enumeration must have an integer type");
	*type = *integer;
	type->kind = CTF_ENUM;
	tsdl_expect(p, '{');
	tsdl_scalar_parse_labels(p, type);
	if (!p->failed && !type->label_count)
		return tsdl_error(p, "an enumeration has no label");
	type->boolean = !p->failed && is_boolean(type);
	tsdl_expect(p, '}');
	if (*name) {
		snprintf(full, sizeof(full), "enum %s", name);
		tsdl_define_name(p, full, type);
	}
	return type;
}
