/* SPDX-License-Identifier: MIT */
/* TSDL types: specifiers, declarators, named types and their scopes. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "ctf/tsdl.h"

#define TSDL_ALIGN_MAX (1u << 16)
#define TSDL_NAME_MAX 256

static struct ctf_type *parse_specifier(struct tsdl_parser *p, char *declarator);

/* ---- scopes ---- */

struct tsdl_name {
	struct tsdl_name *next;
	const char *name; /* "struct x", "enum x", "variant x", or an alias as it is written. */
	struct ctf_type *type;
};

static uint32_t name_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash ^ hash >> 15;
}

bool tsdl_scope_open(struct tsdl_parser *p, struct tsdl_scope *scope, uint32_t buckets)
{
	*scope = (struct tsdl_scope){.up = p->scope, .bucket_count = buckets};
	p->scope = scope;
	return true;
}

void tsdl_scope_close(struct tsdl_parser *p)
{
	p->scope = p->scope->up;
}

static struct ctf_type *find_name(struct tsdl_parser *p, const char *name)
{
	uint32_t hash = name_hash(name);

	for (struct tsdl_scope *scope = p->scope; scope; scope = scope->up) {
		if (!scope->buckets)
			continue;
		for (struct tsdl_name *at = scope->buckets[hash % scope->bucket_count]; at;
				at = at->next) {
			if (strcmp(at->name, name) == 0)
				return at->type;
		}
	}
	return NULL;
}

static void define_name(struct tsdl_parser *p, const char *name, struct ctf_type *type)
{
	struct tsdl_scope *scope = p->scope;
	struct tsdl_name *entry = tsdl_alloc(p, 1, sizeof(*entry));
	char *copy = tsdl_alloc(p, strlen(name) + 1, 1);

	if (!scope->buckets)
		scope->buckets = tsdl_alloc(p, scope->bucket_count, sizeof(*scope->buckets));
	if (!entry || !copy || !scope->buckets || !type)
		return;
	strcpy(copy, name);
	*entry = (struct tsdl_name){
			scope->buckets[name_hash(name) % scope->bucket_count], copy, type};
	scope->buckets[name_hash(name) % scope->bucket_count] = entry;
}

/*
 * References inside a named structure are resolved where it is used, so each use has a copy of
 * its own. Scalars are shared.
 */
static struct ctf_type *copy_type(struct tsdl_parser *p, const struct ctf_type *type)
{
	struct ctf_type *copy;

	if (type->kind != CTF_STRUCT && type->kind != CTF_VARIANT && type->kind != CTF_ARRAY &&
			type->kind != CTF_SEQUENCE)
		return (struct ctf_type *)(uintptr_t)type;
	copy = tsdl_alloc(p, 1, sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = *type;
	if (type->element) {
		copy->element = copy_type(p, type->element);
		return copy->element ? copy : NULL;
	}
	copy->members = tsdl_alloc(p, type->member_count, sizeof(*copy->members));
	if (!copy->members)
		return NULL;
	for (uint32_t i = 0; i < type->member_count; i++) {
		copy->members[i] = type->members[i];
		copy->members[i].type = copy_type(p, type->members[i].type);
		if (!copy->members[i].type)
			return NULL;
	}
	return copy;
}

static struct ctf_type *use_name(struct tsdl_parser *p, const char *prefix, const char *name)
{
	char full[TSDL_NAME_MAX + 16];
	struct ctf_type *type;

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	type = find_name(p, full);
	return type ? copy_type(p, type) : tsdl_error(p, "the type \"%s\" is not known", full);
}

/* ---- scalars ---- */

static bool parse_word(struct tsdl_parser *p, char *word)
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

/* A value of an attribute: a number, or words with dots between. */
struct attribute {
	char key[TSDL_NAME_MAX];
	char word[TSDL_NAME_MAX];
	bool is_number;
	uint64_t number;
};

static bool parse_attribute(struct tsdl_parser *p, struct attribute *attribute)
{
	size_t used = 0;

	attribute->word[0] = '\0';
	attribute->is_number = false;
	if (!parse_word(p, attribute->key))
		return false;
	tsdl_expect(p, '=');
	if (p->token.kind == TSDL_NUMBER || tsdl_is(p, '-') || tsdl_is(p, '+')) {
		attribute->is_number = tsdl_number(p, &attribute->number);
	} else if (p->token.kind == TSDL_STRING) {
		snprintf(attribute->word, sizeof(attribute->word), "%s", p->token.text);
		tsdl_next(p);
	} else {
		while ((p->token.kind == TSDL_WORD || tsdl_is(p, '.')) &&
				used + p->token.size + 2 < sizeof(attribute->word)) {
			size_t size = p->token.kind == TSDL_WORD ? p->token.size : 1;

			memcpy(attribute->word + used, p->token.text, size);
			used += size;
			attribute->word[used] = '\0';
			tsdl_next(p);
		}
		if (!used)
			tsdl_error(p, "the value of \"%s\" is missing", attribute->key);
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
		const char *words;
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
			if (strstr(bases[i].words, word))
				return bases[i].base;
		}
	}
	tsdl_error(p, "the base of an integer must be 2, 8, 10 or 16");
	return 10;
}

static uint32_t attribute_align(struct tsdl_parser *p, const struct attribute *attribute)
{
	uint64_t align = attribute->number;

	if (!attribute->is_number || !align || align > TSDL_ALIGN_MAX || (align & (align - 1))) {
		tsdl_error(p, "an alignment must be a power of two, at most %u", TSDL_ALIGN_MAX);
		return 1;
	}
	return (uint32_t)align;
}

static const struct ctf_clock *attribute_clock(
		struct tsdl_parser *p, const struct attribute *attribute)
{
	char expected[TSDL_NAME_MAX + 16];

	for (uint32_t i = 0; i < p->classes->clock_count; i++) {
		snprintf(expected, sizeof(expected), "clock.%s.value", p->classes->clocks[i]->name);
		if (strcmp(expected, attribute->word) == 0)
			return p->classes->clocks[i];
	}
	return tsdl_error(p, "\"%s\" is no clock that stands before", attribute->word);
}

static bool is_text_encoding(const char *word)
{
	return strcasecmp(word, "utf8") == 0 || strcasecmp(word, "ascii") == 0;
}

static struct ctf_type *parse_integer(struct tsdl_parser *p)
{
	struct ctf_type *type = tsdl_alloc(p, 1, sizeof(*type));
	struct attribute attribute;

	if (!type)
		return NULL;
	*type = (struct ctf_type){.kind = CTF_INTEGER, .base = 10, .slot = -1, .depth = 1};
	type->big_endian = p->classes->trace.big_endian;
	tsdl_expect(p, '{');
	while (!p->failed && !tsdl_is(p, '}') && parse_attribute(p, &attribute)) {
		if (strcmp(attribute.key, "size") == 0) {
			if (!attribute.is_number || !attribute.number || attribute.number > 64)
				return tsdl_error(p, "an integer must have 1 to 64 bits");
			type->size = (uint8_t)attribute.number;
		} else if (strcmp(attribute.key, "align") == 0) {
			type->align = attribute_align(p, &attribute);
		} else if (strcmp(attribute.key, "signed") == 0) {
			type->is_signed = attribute_bool(p, &attribute);
		} else if (strcmp(attribute.key, "byte_order") == 0) {
			type->big_endian = attribute_big_endian(p, &attribute);
		} else if (strcmp(attribute.key, "base") == 0) {
			type->base = attribute_base(p, &attribute);
		} else if (strcmp(attribute.key, "encoding") == 0) {
			type->text = is_text_encoding(attribute.word);
		} else if (strcmp(attribute.key, "map") == 0) {
			type->clock = attribute_clock(p, &attribute);
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

static struct ctf_type *parse_float(struct tsdl_parser *p)
{
	struct ctf_type *type = tsdl_alloc(p, 1, sizeof(*type));
	struct attribute attribute;
	uint64_t exponent = 0, mantissa = 0;

	if (!type)
		return NULL;
	*type = (struct ctf_type){
			.kind = CTF_FLOAT, .base = 10, .slot = -1, .depth = 1, .is_signed = true};
	type->big_endian = p->classes->trace.big_endian;
	tsdl_expect(p, '{');
	while (!p->failed && !tsdl_is(p, '}') && parse_attribute(p, &attribute)) {
		if (strcmp(attribute.key, "exp_dig") == 0)
			exponent = attribute.is_number ? attribute.number : 0;
		else if (strcmp(attribute.key, "mant_dig") == 0)
			mantissa = attribute.is_number ? attribute.number : 0;
		else if (strcmp(attribute.key, "align") == 0)
			type->align = attribute_align(p, &attribute);
		else if (strcmp(attribute.key, "byte_order") == 0)
			type->big_endian = attribute_big_endian(p, &attribute);
	}
	tsdl_expect(p, '}');
	if (!(exponent == 8 && mantissa == 24) && !(exponent == 11 && mantissa == 53))
		return tsdl_error(p, "floating_point is read with 32 or 64 bits only");
	type->size = (uint8_t)(exponent + mantissa);
	if (!type->align)
		type->align = 8;
	return type;
}

static struct ctf_type *parse_string(struct tsdl_parser *p)
{
	struct ctf_type *type = tsdl_alloc(p, 1, sizeof(*type));
	struct attribute attribute;

	if (!type)
		return NULL;
	*type = (struct ctf_type){.kind = CTF_STRING, .align = 8, .slot = -1, .depth = 1};
	if (tsdl_accept(p, '{')) {
		while (!p->failed && !tsdl_is(p, '}'))
			parse_attribute(p, &attribute);
		tsdl_expect(p, '}');
	}
	return type;
}

/* ---- enumerations ---- */

static void parse_label(struct tsdl_parser *p, struct ctf_label *label, uint64_t next)
{
	label->begin = next;
	if (p->token.kind == TSDL_WORD || p->token.kind == TSDL_STRING) {
		label->text = tsdl_copy_token(p);
		tsdl_next(p);
	} else {
		tsdl_error(p, "a label is missing");
		return;
	}
	if (tsdl_accept(p, '='))
		tsdl_number(p, &label->begin);
	label->end = label->begin;
	if (p->token.kind == TSDL_RANGE) {
		tsdl_next(p);
		tsdl_number(p, &label->end);
	}
}

static void parse_labels(struct tsdl_parser *p, struct ctf_type *type)
{
	uint32_t room = 0;
	uint64_t next = 0;

	type->labels = NULL;
	type->label_count = 0;
	while (!p->failed && !tsdl_is(p, '}')) {
		if (type->label_count == room) {
			struct ctf_label *labels;

			room = room ? room * 2 : 8;
			labels = tsdl_alloc(p, room, sizeof(*labels));
			if (!labels)
				return;
			if (type->label_count)
				memcpy(labels, type->labels, type->label_count * sizeof(*labels));
			type->labels = labels;
		}
		parse_label(p, &type->labels[type->label_count], next);
		next = type->labels[type->label_count].end + 1;
		type->label_count++;
		if (!tsdl_accept(p, ','))
			break;
	}
}

static struct ctf_type *parse_enum(struct tsdl_parser *p)
{
	char name[TSDL_NAME_MAX] = "", full[TSDL_NAME_MAX + 16];
	struct ctf_type *integer, *type;

	if (p->token.kind == TSDL_WORD && !parse_word(p, name))
		return NULL;
	if (*name && !tsdl_is(p, ':') && !tsdl_is(p, '{'))
		return use_name(p, "enum ", name);
	if (tsdl_accept(p, ':'))
		integer = parse_specifier(p, NULL);
	else
		integer = use_name(p, "", "int");
	type = tsdl_alloc(p, 1, sizeof(*type));
	if (!integer || !type)
		return NULL;
	if (integer->kind != CTF_INTEGER)
		return tsdl_error(p, "an enumeration must have an integer type");
	*type = *integer;
	type->kind = CTF_ENUM;
	tsdl_expect(p, '{');
	parse_labels(p, type);
	tsdl_expect(p, '}');
	if (*name) {
		snprintf(full, sizeof(full), "enum %s", name);
		define_name(p, full, type);
	}
	return type;
}

/* ---- structures and variants ---- */

/* a.b.c as text in the arena. */
static const char *parse_reference(struct tsdl_parser *p)
{
	char text[TSDL_NAME_MAX * 4];
	size_t used = 0;
	char *copy;

	while (!p->failed && (p->token.kind == TSDL_WORD || tsdl_is(p, '.'))) {
		size_t size = p->token.kind == TSDL_WORD ? p->token.size : 1;

		if (used + size >= sizeof(text))
			return tsdl_error(p, "a reference is too long");
		memcpy(text + used, p->token.text, size);
		used += size;
		tsdl_next(p);
	}
	if (!used)
		return tsdl_error(p, "a reference to a field is missing");
	copy = tsdl_alloc(p, used + 1, 1);
	if (copy)
		memcpy(copy, text, used);
	return copy;
}

/* [3] and [length] behind a name, the outermost first. */
static struct ctf_type *parse_dimensions(struct tsdl_parser *p, struct ctf_type *type)
{
	struct ctf_type *array, *inner;

	if (!tsdl_accept(p, '['))
		return type;
	if (++p->depth > CTF_DEPTH_MAX)
		return tsdl_error(p, "types are nested too deep");
	array = tsdl_alloc(p, 1, sizeof(*array));
	if (!array)
		return NULL;
	*array = (struct ctf_type){.kind = CTF_SEQUENCE, .slot = -1};
	if (p->token.kind == TSDL_NUMBER) {
		array->kind = CTF_ARRAY;
		array->length = p->token.number;
		tsdl_next(p);
	} else {
		array->reference = parse_reference(p);
	}
	tsdl_expect(p, ']');
	inner = parse_dimensions(p, type);
	p->depth--;
	if (!inner || p->failed)
		return NULL;
	array->element = inner;
	array->depth = inner->depth + 1;
	return array;
}

static void add_member(struct tsdl_parser *p, struct ctf_type *holder, uint32_t *room,
		const char *name, struct ctf_type *type)
{
	size_t size = strlen(name);
	char *copy = tsdl_alloc(p, size + 1, 1);

	if (!copy || !type)
		return;
	memcpy(copy, name, size);
	if (holder->member_count == *room) {
		struct ctf_member *members;

		*room = *room ? *room * 2 : 8;
		members = tsdl_alloc(p, *room, sizeof(*members));
		if (!members)
			return;
		if (holder->member_count)
			memcpy(members, holder->members, holder->member_count * sizeof(*members));
		holder->members = members;
	}
	ctf_member_set(&holder->members[holder->member_count++], copy, type, false);
	if (type->depth >= holder->depth)
		holder->depth = type->depth + 1;
	if (holder->depth > CTF_DEPTH_MAX)
		tsdl_error(p, "types are nested too deep");
}

/* One line of members: a type, and names for it. */
static void parse_member(struct tsdl_parser *p, struct ctf_type *holder, uint32_t *room)
{
	char name[TSDL_NAME_MAX] = "";
	struct ctf_type *base = parse_specifier(p, name);

	if (!base)
		return;
	if (!*name && tsdl_accept(p, ';')) /* `struct x { … };`: only a declaration. */
		return;
	for (;;) {
		struct ctf_type *type;

		while (tsdl_accept(p, '*'))
			;
		if (!*name && !parse_word(p, name))
			return;
		type = parse_dimensions(p, base);
		if (!type)
			return;
		add_member(p, holder, room, name, type);
		if (p->failed || !tsdl_accept(p, ','))
			break;
		base = copy_type(p, base);
		if (!base)
			return;
		name[0] = '\0';
	}
	tsdl_expect(p, ';');
}

static void parse_members(struct tsdl_parser *p, struct ctf_type *holder)
{
	struct tsdl_scope scope;
	uint32_t room = 0;

	holder->depth = 1;
	if (++p->depth > CTF_DEPTH_MAX) {
		tsdl_error(p, "types are nested too deep");
		return;
	}
	tsdl_scope_open(p, &scope, 8);
	tsdl_expect(p, '{');
	while (!p->failed && !tsdl_is(p, '}')) {
		if (tsdl_is_word(p, "typealias") || tsdl_is_word(p, "typedef"))
			tsdl_declaration(p);
		else
			parse_member(p, holder, &room);
	}
	tsdl_expect(p, '}');
	tsdl_scope_close(p);
	p->depth--;
}

static void parse_struct_align(struct tsdl_parser *p, struct ctf_type *type)
{
	struct attribute align = {.is_number = true};

	if (!tsdl_is_word(p, "align"))
		return;
	tsdl_next(p);
	tsdl_expect(p, '(');
	tsdl_number(p, &align.number);
	tsdl_expect(p, ')');
	type->align = attribute_align(p, &align);
}

static struct ctf_type *parse_struct(struct tsdl_parser *p)
{
	char name[TSDL_NAME_MAX] = "", full[TSDL_NAME_MAX + 16];
	struct ctf_type *type;

	if (p->token.kind == TSDL_WORD && !parse_word(p, name))
		return NULL;
	if (*name && !tsdl_is(p, '{')) {
		type = use_name(p, "struct ", name);
		if (type)
			parse_struct_align(p, type);
		return type;
	}
	type = tsdl_alloc(p, 1, sizeof(*type));
	if (!type)
		return NULL;
	*type = (struct ctf_type){.kind = CTF_STRUCT, .align = 1, .slot = -1};
	parse_members(p, type);
	if (!p->failed)
		parse_struct_align(p, type);
	if (*name && !p->failed) {
		snprintf(full, sizeof(full), "struct %s", name);
		define_name(p, full, type);
		type = copy_type(p, type);
	}
	return p->failed ? NULL : type;
}

static struct ctf_type *parse_variant(struct tsdl_parser *p)
{
	char name[TSDL_NAME_MAX] = "", full[TSDL_NAME_MAX + 16];
	const char *tag = NULL;
	struct ctf_type *type;

	if (p->token.kind == TSDL_WORD && !parse_word(p, name))
		return NULL;
	if (tsdl_accept(p, '<')) {
		tag = parse_reference(p);
		tsdl_expect(p, '>');
	}
	if (*name && !tsdl_is(p, '{')) {
		type = use_name(p, "variant ", name);
		if (type && tag)
			type->reference = tag;
		return type;
	}
	type = tsdl_alloc(p, 1, sizeof(*type));
	if (!type)
		return NULL;
	*type = (struct ctf_type){.kind = CTF_VARIANT, .align = 1, .slot = -1, .reference = tag};
	parse_members(p, type);
	if (*name && !p->failed) {
		snprintf(full, sizeof(full), "variant %s", name);
		define_name(p, full, type);
		type = copy_type(p, type);
	}
	return p->failed ? NULL : type;
}

/* ---- specifiers ---- */

/*
 * Words of an alias ("unsigned long"). With a place for the declarator, the last word before `;`,
 * `[` or `,` is the name of the field.
 */
static struct ctf_type *parse_alias_use(struct tsdl_parser *p, char *declarator)
{
	char full[TSDL_NAME_MAX * 2], last[TSDL_NAME_MAX] = "";
	size_t used = 0, before_last = 0;
	unsigned int words = 0;

	full[0] = '\0';
	while (!p->failed && (p->token.kind == TSDL_WORD || (!declarator && tsdl_is(p, '*')))) {
		if (tsdl_is(p, '*')) {
			strcpy(last, "*");
			tsdl_next(p);
		} else if (!parse_word(p, last)) {
			return NULL;
		}
		if (strcmp(last, "const") == 0)
			continue;
		if (used + strlen(last) + 2 > sizeof(full))
			return tsdl_error(p, "the name of a type is too long");
		before_last = used;
		used += (size_t)snprintf(
				full + used, sizeof(full) - used, "%s%s", used ? " " : "", last);
		words++;
	}
	if (declarator && words > 1 && (tsdl_is(p, ';') || tsdl_is(p, '[') || tsdl_is(p, ','))) {
		strcpy(declarator, last);
		full[before_last] = '\0';
	}
	if (!*full)
		return tsdl_error(p, "a type is missing");
	return use_name(p, "", full);
}

static struct ctf_type *parse_specifier(struct tsdl_parser *p, char *declarator)
{
	static const struct {
		const char *word;
		struct ctf_type *(*parse)(struct tsdl_parser *p);
	} kinds[] = {
			{"integer", parse_integer},
			{"floating_point", parse_float},
			{"string", parse_string},
			{"enum", parse_enum},
			{"struct", parse_struct},
			{"variant", parse_variant},
	};

	while (tsdl_is_word(p, "const"))
		tsdl_next(p);
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (tsdl_is_word(p, kinds[i].word)) {
			struct ctf_type *type;

			tsdl_next(p);
			type = kinds[i].parse(p);
			return p->failed ? NULL : type;
		}
	}
	return parse_alias_use(p, declarator);
}

struct ctf_type *tsdl_type(struct tsdl_parser *p)
{
	return parse_specifier(p, NULL);
}

/* ---- declarations ---- */

bool tsdl_at_declaration(const struct tsdl_parser *p)
{
	return tsdl_is_word(p, "typealias") || tsdl_is_word(p, "typedef") ||
			tsdl_is_word(p, "struct") || tsdl_is_word(p, "variant") ||
			tsdl_is_word(p, "enum");
}

static void parse_typealias(struct tsdl_parser *p)
{
	char name[TSDL_NAME_MAX * 2] = "", word[TSDL_NAME_MAX];
	struct ctf_type *type = parse_specifier(p, NULL);
	size_t used = 0;

	if (p->token.kind != TSDL_ASSIGN_TYPE)
		tsdl_error(p, ":= is missing");
	tsdl_next(p);
	while (!p->failed && (p->token.kind == TSDL_WORD || tsdl_is(p, '*'))) {
		if (tsdl_is(p, '*')) {
			strcpy(word, "*");
			tsdl_next(p);
		} else if (!parse_word(p, word)) {
			return;
		}
		if (used + strlen(word) + 2 > sizeof(name)) {
			tsdl_error(p, "the name of a type is too long");
			return;
		}
		used += (size_t)snprintf(
				name + used, sizeof(name) - used, "%s%s", used ? " " : "", word);
	}
	tsdl_expect(p, ';');
	if (!used)
		tsdl_error(p, "the name of a type is missing");
	if (!p->failed)
		define_name(p, name, type);
}

static void parse_typedef(struct tsdl_parser *p)
{
	char name[TSDL_NAME_MAX] = "";
	struct ctf_type *base = parse_specifier(p, name);

	while (base && !p->failed) {
		struct ctf_type *type;

		while (tsdl_accept(p, '*'))
			;
		if (!*name && !parse_word(p, name))
			return;
		type = parse_dimensions(p, base);
		if (type)
			define_name(p, name, type);
		name[0] = '\0';
		if (!tsdl_accept(p, ','))
			break;
	}
	tsdl_expect(p, ';');
}

void tsdl_declaration(struct tsdl_parser *p)
{
	if (tsdl_is_word(p, "typealias")) {
		tsdl_next(p);
		parse_typealias(p);
	} else if (tsdl_is_word(p, "typedef")) {
		tsdl_next(p);
		parse_typedef(p);
	} else {
		parse_specifier(p, NULL);
		tsdl_expect(p, ';');
	}
}
