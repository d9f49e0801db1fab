/* SPDX-License-Identifier: MIT */
/* Parses TSDL types that contain others, specifiers, declarators and declarations. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/read/tsdl-types.h"

static struct ctf_type *parse_specifier(struct tsdl_parser *p, char *declarator);

/* ---- structures and variants ---- */

/* Copy a.b.c to the arena. */
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

/* Parse [3] and [length] behind a name, the outermost first. */
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

static void tsdl_type_add_member(struct tsdl_parser *p, struct ctf_type *holder, uint32_t *capacity,
		const char *name, struct ctf_type *type)
{
	size_t size = strlen(name);
	char *copy = tsdl_alloc(p, size + 1, 1);

	if (!copy || !type)
		return;
	memcpy(copy, name, size + 1);
	if (holder->member_count == *capacity) {
		struct ctf_member *members;

		*capacity = *capacity ? *capacity * 2 : 8;
		members = tsdl_alloc(p, *capacity, sizeof(*members));
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

/* Parse one line of members: a type, and its names. */
static void tsdl_type_parse_member(
		struct tsdl_parser *p, struct ctf_type *holder, uint32_t *capacity)
{
	char name[TSDL_NAME_MAX] = "";
	struct ctf_type *base = parse_specifier(p, name);

	if (!base)
		return;
	if (!*name && tsdl_accept(p, ';')) /* `struct x { … };` is only a declaration. */
		return;
	for (;;) {
		struct ctf_type *type;

		while (tsdl_accept(p, '*'))
			;
		if (!*name && !tsdl_word(p, name))
			return;
		type = parse_dimensions(p, base);
		if (!type)
			return;
		tsdl_type_add_member(p, holder, capacity, name, type);
		if (p->failed || !tsdl_accept(p, ','))
			break;
		base = tsdl_copy_type(p, base);
		if (!base)
			return;
		name[0] = '\0';
	}
	tsdl_expect(p, ';');
}

static int tsdl_type_compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_member_names(struct tsdl_parser *p, const struct ctf_type *holder)
{
	const char **names;

	if (p->failed || holder->member_count < 2)
		return;
	names = calloc(holder->member_count, sizeof(*names));
	if (!names) {
		p->failed = ctf_metadata_set_no_memory(p->error);
		p->token.kind = TSDL_END;
		return;
	}
	for (uint32_t i = 0; i < holder->member_count; i++)
		names[i] = holder->members[i].name;
	qsort(names, holder->member_count, sizeof(*names), tsdl_type_compare_names);
	for (uint32_t i = 1; i < holder->member_count; i++) {
		if (strcmp(names[i - 1], names[i]) == 0)
			tsdl_error(p, "a %s has two fields \"%s\"",
					holder->kind == CTF_VARIANT ? "variant" : "structure",
					names[i]);
	}
	free(names);
}

static void parse_members(struct tsdl_parser *p, struct ctf_type *holder)
{
	struct tsdl_scope scope;
	uint32_t capacity = 0;

	holder->depth = 1;
	if (++p->depth > CTF_DEPTH_MAX) {
		tsdl_error(p, "types are nested too deep");
		return;
	}
	tsdl_scope_open(p, &scope, 8);
	tsdl_expect(p, '{');
	while (!p->failed && !tsdl_is(p, '}')) {
		if (tsdl_accept(p, ';'))
			continue;
		if (tsdl_is_word(p, "typealias") || tsdl_is_word(p, "typedef"))
			tsdl_declaration(p);
		else
			tsdl_type_parse_member(p, holder, &capacity);
	}
	tsdl_expect(p, '}');
	tsdl_scope_close(p);
	p->depth--;
	check_member_names(p, holder);
}

static void parse_struct_align(struct tsdl_parser *p, struct ctf_type *type)
{
	uint64_t align = 0;

	if (!tsdl_is_word(p, "align"))
		return;
	tsdl_next(p);
	tsdl_expect(p, '(');
	tsdl_number(p, &align);
	tsdl_expect(p, ')');
	type->align = tsdl_align(p, align);
}

static struct ctf_type *tsdl_type_parse_struct(struct tsdl_parser *p)
{
	char name[TSDL_NAME_MAX] = "", full[TSDL_NAME_MAX + 16];
	struct ctf_type *type;

	if (p->token.kind == TSDL_WORD && !tsdl_word(p, name))
		return NULL;
	if (*name && !tsdl_is(p, '{')) {
		type = tsdl_use_name(p, "struct ", name);
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
		tsdl_define_name(p, full, type);
		type = tsdl_copy_type(p, type);
	}
	return p->failed ? NULL : type;
}

static struct ctf_type *tsdl_type_parse_variant(struct tsdl_parser *p)
{
	char name[TSDL_NAME_MAX] = "", full[TSDL_NAME_MAX + 16];
	const char *tag = NULL;
	struct ctf_type *type;

	if (p->token.kind == TSDL_WORD && !tsdl_word(p, name))
		return NULL;
	if (tsdl_accept(p, '<')) {
		tag = parse_reference(p);
		tsdl_expect(p, '>');
	}
	if (*name && !tsdl_is(p, '{')) {
		type = tsdl_use_name(p, "variant ", name);
		if (type && tag)
			type->reference = tag;
		return type;
	}
	type = tsdl_alloc(p, 1, sizeof(*type));
	if (!type)
		return NULL;
	*type = (struct ctf_type){.kind = CTF_VARIANT, .align = 1, .slot = -1, .reference = tag};
	parse_members(p, type);
	if (!p->failed && !type->member_count)
		return tsdl_error(p, "a variant has no option");
	if (*name && !p->failed) {
		snprintf(full, sizeof(full), "variant %s", name);
		tsdl_define_name(p, full, type);
		type = tsdl_copy_type(p, type);
	}
	return p->failed ? NULL : type;
}

/* ---- specifiers ---- */

/* `unsigned long *x`: an alias with that name; if there is none, the asterisks are ignored. */
static struct ctf_type *parse_pointer(struct tsdl_parser *p, char *full, size_t capacity)
{
	size_t used = strlen(full), names_end = used;

	while (tsdl_accept(p, '*')) {
		if (used + 3 > capacity)
			return tsdl_error(p, "the name of a type is too long");
		memcpy(full + used, " *", 3);
		used += 2;
	}
	if (!tsdl_knows_name(p, full))
		full[names_end] = '\0';
	return tsdl_use_name(p, "", full);
}

/*
 * Parse the words of an alias ("unsigned long"). If declarator is not NULL, the last word before
 * `;`, `[` or `,` is the name of the field.
 */
static struct ctf_type *parse_alias_use(struct tsdl_parser *p, char *declarator)
{
	char full[TSDL_NAME_MAX * 2], last[TSDL_NAME_MAX] = "";
	size_t used = 0, before_last = 0;
	unsigned int names_end = 0;

	full[0] = '\0';
	while (!p->failed && (p->token.kind == TSDL_WORD || (!declarator && tsdl_is(p, '*')))) {
		if (tsdl_is(p, '*')) {
			strcpy(last, "*");
			tsdl_next(p);
		} else if (!tsdl_word(p, last)) {
			return NULL;
		}
		if (strcmp(last, "const") == 0)
			continue;
		if (used + strlen(last) + 2 > sizeof(full))
			return tsdl_error(p, "the name of a type is too long");
		before_last = used;
		used += (size_t)snprintf(
				full + used, sizeof(full) - used, "%s%s", used ? " " : "", last);
		names_end++;
	}
	if (declarator && names_end > 1 &&
			(tsdl_is(p, ';') || tsdl_is(p, '[') || tsdl_is(p, ','))) {
		strcpy(declarator, last);
		full[before_last] = '\0';
	}
	if (!*full)
		return tsdl_error(p, "a type is missing");
	if (declarator && !*declarator && tsdl_is(p, '*'))
		return parse_pointer(p, full, sizeof(full));
	return tsdl_use_name(p, "", full);
}

static struct ctf_type *parse_specifier(struct tsdl_parser *p, char *declarator)
{
	static const struct {
		const char *word;
		struct ctf_type *(*parse)(struct tsdl_parser *p);
	} kinds[] = {
			{"integer", tsdl_integer},
			{"floating_point", tsdl_float},
			{"string", tsdl_string},
			{"enum", tsdl_enum},
			{"struct", tsdl_type_parse_struct},
			{"variant", tsdl_type_parse_variant},
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

	if (type)
		type = parse_dimensions(p, type);
	if (p->token.kind != TSDL_ASSIGN_TYPE)
		tsdl_error(p, ":= is missing");
	tsdl_next(p);
	while (!p->failed && (p->token.kind == TSDL_WORD || tsdl_is(p, '*'))) {
		if (tsdl_is(p, '*')) {
			strcpy(word, "*");
			tsdl_next(p);
		} else if (!tsdl_word(p, word)) {
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
		tsdl_define_name(p, name, type);
}

static void parse_typedef(struct tsdl_parser *p)
{
	char name[TSDL_NAME_MAX] = "";
	struct ctf_type *base = parse_specifier(p, name);

	while (base && !p->failed) {
		struct ctf_type *type;

		while (tsdl_accept(p, '*'))
			;
		if (!*name && !tsdl_word(p, name))
			return;
		type = parse_dimensions(p, base);
		if (type)
			tsdl_define_name(p, name, type);
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
