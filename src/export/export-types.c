/* SPDX-License-Identifier: MIT */
/* Field classes of one CTF format converted to the other. */
#include "export/export-types.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/arena.h"

struct export_tag {
	int32_t slot;
	struct ctf_member *member;
	const char *path; /* from the scope on: "event.fields._a._length" */
	const struct ctf_type *parent;
	bool chosen; /* it is already a selector with labels */
};

/* The structures around a member, the innermost first. */
struct export_type_level {
	const struct export_type_level *up;
	const struct ctf_type *type;
	const char *path; /* NULL: inside an array or a variant, which no absolute path reaches */
};

static int export_types_convert_type(struct export_types *types,
		const struct export_type_level *level, const struct ctf_type *from,
		struct ctf_type **ret_type);

void export_types_start(struct export_types *types, enum ctf_format format)
{
	*types = (struct export_types){.format = format, .arena = ctf_arena_create()};
}

void export_types_free(struct export_types *types)
{
	ctf_arena_destroy(types->arena);
	free(types->tags);
}

static int cannot(struct export_types *types, const char *why)
{
	types->why = why;
	return -ENOTSUP;
}

/* ---- what no record of ours can hold, or CTF 1.8 cannot say ---- */

static int export_types_check(struct export_types *types, const struct ctf_type *type)
{
	bool old = types->format == CTF_FORMAT_1;

	if (type->align > 8)
		return cannot(types, "fields that are aligned to more than a byte");
	if (old && (type->leb128 || type->reversed))
		return cannot(types, "integers that only CTF 2 knows");
	if (old && type->encoding != CTF_UTF8)
		return cannot(types, "strings in UTF-16 or UTF-32, which CTF 1.8 does not know");
	if (type->element)
		return export_types_check(types, type->element);
	for (uint32_t i = 0; i < type->member_count; i++) {
		int ret = export_types_check(types, type->members[i].type);

		if (ret)
			return ret;
	}
	return 0;
}

/* ---- names ---- */

static bool is_identifier(const char *name)
{
	for (const char *at = name; *at; at++) {
		if (!(*at >= '0' && *at <= '9' && at != name) && *at != '_' &&
				!((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z'))
			return false;
	}
	return *name;
}

static bool export_types_name_is_used(const struct ctf_type *in, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++) {
		if (in->members[i].name && strcmp(in->members[i].name, name) == 0)
			return true;
	}
	return false;
}

/* A name that TSDL accepts and that no earlier member has. */
static const char *clean_name(struct export_types *types, const struct ctf_type *in, uint32_t count,
		const char *name)
{
	size_t size = strlen(name);
	char *clean;

	if (is_identifier(name) && !export_types_name_is_used(in, count, name))
		return name;
	clean = ctf_arena_alloc(types->arena, size + 16, 1);
	if (!clean)
		return NULL;
	clean[0] = '_';
	for (size_t i = 0; i < size; i++) {
		char one[2] = {name[i], '\0'};

		clean[i + 1] = name[i] == '_' || (one[0] >= '0' && one[0] <= '9') ||
						is_identifier(one)
				? name[i]
				: '_';
	}
	for (uint32_t i = 2; export_types_name_is_used(in, count, clean); i++)
		snprintf(clean + size + 1, 15, "_%" PRIu32, i);
	return clean;
}

/* ---- lengths and selectors ---- */

static struct export_tag *find_tag(const struct export_types *types, int32_t slot)
{
	for (uint32_t i = types->tag_count; i-- > 0;) {
		if (types->tags[i].slot == slot)
			return &types->tags[i];
	}
	return NULL;
}

static int add_tag(struct export_types *types, const struct export_type_level *level,
		struct ctf_member *member, int32_t slot)
{
	struct export_tag *grown = realloc(types->tags, (types->tag_count + 1) * sizeof(*grown));
	size_t size = level->path ? strlen(level->path) : 0;
	char *path = ctf_arena_alloc(types->arena, size + strlen(member->name) + 1, 1);

	if (!grown || !path) {
		types->tags = grown ? grown : types->tags;
		return -ENOMEM;
	}
	if (level->path)
		memcpy(path, level->path, size);
	strcpy(path + size, member->name);
	types->tags = grown;
	grown[types->tag_count++] = (struct export_tag){
			slot, member, level->path ? path : NULL, level->type, false};
	return 0;
}

/* TSDL searches a name from the innermost structure outwards. */
static int refer(struct export_types *types, const struct export_type_level *level,
		struct ctf_type *to, struct export_tag **ret_tag)
{
	*ret_tag = find_tag(types, to->slot);
	if (!*ret_tag)
		return cannot(types, "lengths or selectors in the header of records");
	to->location = NULL;
	to->reference = (*ret_tag)->member->name;
	for (; level; level = level->up) {
		if (level->type == (*ret_tag)->parent)
			return 0;
		if (level->type && level->type->kind == CTF_STRUCT &&
				export_types_name_is_used(level->type, level->type->member_count,
						to->reference))
			break; /* Another member hides it. */
	}
	to->reference = (*ret_tag)->path;
	return to->reference ? 0 : cannot(types, "a selector inside a list, used outside of it");
}

/* The part of a range that no earlier option covers, as labels. */
static uint32_t add_labels(struct ctf_label *labels, uint32_t count, const struct ctf_type *variant,
		uint32_t at, __int128 begin, __int128 end)
{
	const struct ctf_option_range *range = &variant->ranges[at];

	for (uint32_t i = 0; i < at && begin <= end; i++) {
		const struct ctf_option_range *before = &variant->ranges[i];
		__int128 from = variant->tag_signed ? (__int128)(int64_t)before->begin
						    : (__int128)before->begin;
		__int128 to = variant->tag_signed ? (__int128)(int64_t)before->end
						  : (__int128)before->end;

		if (to < begin || from > end)
			continue;
		/* Splits the range: the part before the option, and the part after it. */
		if (from > begin)
			count = add_labels(labels, count, variant, at, begin, from - 1);
		begin = to + 1;
	}
	if (begin > end)
		return count;
	if (labels)
		labels[count] = (struct ctf_label){variant->members[range->option].name,
				(uint64_t)begin, (uint64_t)end};
	return count + 1;
}

/* Visits each range. Without labels it only counts. */
static uint32_t all_labels(struct ctf_label *labels, const struct ctf_type *variant)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < variant->range_count; i++) {
		const struct ctf_option_range *range = &variant->ranges[i];

		count = add_labels(labels, count, variant, i,
				variant->tag_signed ? (__int128)(int64_t)range->begin
						    : (__int128)range->begin,
				variant->tag_signed ? (__int128)(int64_t)range->end
						    : (__int128)range->end);
	}
	return count;
}

/* The selector becomes an enumeration whose labels are the names of the options. */
static int export_types_choose_name(
		struct export_types *types, struct export_tag *tag, const struct ctf_type *variant)
{
	struct ctf_type *type = ctf_arena_alloc(types->arena, 1, sizeof(*type));

	if (tag->chosen)
		return cannot(types, "two variants with one selector");
	if (!type)
		return -ENOMEM;
	*type = *tag->member->type;
	type->kind = CTF_ENUM;
	type->boolean = type->bitmap = false;
	type->label_count = all_labels(NULL, variant);
	type->labels = ctf_arena_alloc(types->arena, type->label_count + 1u, sizeof(*type->labels));
	if (!type->labels)
		return -ENOMEM;
	all_labels(type->labels, variant);
	tag->member->type = type;
	tag->chosen = true;
	return 0;
}

/* ---- types ---- */

static int convert_members(struct export_types *types, const struct export_type_level *up,
		const char *path, const struct ctf_type *from, struct ctf_type *to)
{
	struct export_type_level level = {up, to, path};
	int ret = 0;

	to->members = ctf_arena_alloc(types->arena, from->member_count + 1u, sizeof(*to->members));
	if (!to->members)
		return -ENOMEM;
	for (uint32_t i = 0; !ret && i < from->member_count; i++) {
		struct ctf_member *member = &to->members[i];
		size_t size = path ? strlen(path) : 0;
		struct export_type_level inner = level;
		char *longer = NULL;

		*member = from->members[i];
		member->name = clean_name(types, to, i, from->members[i].name);
		if (!member->name)
			return -ENOMEM;
		if (path && member->type->kind == CTF_STRUCT) {
			longer = ctf_arena_alloc(types->arena, size + strlen(member->name) + 2, 1);
			if (!longer)
				return -ENOMEM;
			sprintf(longer, "%s%s.", path, member->name);
		}
		inner.path = longer;
		ret = export_types_convert_type(
				types, &inner, from->members[i].type, &member->type);
		if (!ret && from->members[i].slot >= 0)
			ret = add_tag(types, &level, member, from->members[i].slot);
	}
	return ret;
}

static int export_types_convert_type(struct export_types *types,
		const struct export_type_level *level, const struct ctf_type *from,
		struct ctf_type **ret_type)
{
	struct ctf_type *to = ctf_arena_alloc(types->arena, 1, sizeof(*to));
	struct export_type_level nowhere = {
			level ? level->up : NULL, level ? level->type : NULL, NULL};
	struct export_tag *tag;
	int ret = 0;

	if (!to)
		return -ENOMEM;
	*to = *from;
	to->clock = NULL;
	*ret_type = to;
	switch (from->kind) {
	case CTF_STRUCT: return convert_members(types, level, level ? level->path : NULL, from, to);
	case CTF_VARIANT:
		ret = convert_members(types, &nowhere, NULL, from, to);
		if (!ret && from->location) {
			ret = refer(types, level, to, &tag);
			if (!ret)
				ret = export_types_choose_name(types, tag, to);
		}
		return ret;
	case CTF_SEQUENCE:
		if (from->location)
			ret = refer(types, level, to, &tag);
		return ret ? ret
			   : export_types_convert_type(
					     types, &nowhere, from->element, &to->element);
	case CTF_ARRAY:
		return export_types_convert_type(types, &nowhere, from->element, &to->element);
	default: return 0;
	}
}

int export_types_convert(struct export_types *types, const char *scope, const struct ctf_type *type,
		const struct ctf_type **ret_converted)
{
	struct ctf_type *copy = NULL;
	struct export_type_level level = {.path = scope};
	int ret;

	*ret_converted = type;
	if (!types->arena)
		return -ENOMEM;
	if (!type)
		return 0;
	ret = export_types_check(types, type);
	if (ret || types->format == CTF_FORMAT_2)
		return ret;
	ret = export_types_convert_type(types, &level, type, &copy);
	*ret_converted = copy;
	return ret;
}
