/* SPDX-License-Identifier: MIT */
/* Named TSDL types and their scopes. */
#include <string.h>

#include "base/inside/hash.h"
#include "ctf/read/tsdl-types.h"

struct tsdl_name {
	struct tsdl_name *next;
	const char *name; /* "struct x", "enum x", "variant x", or an alias as written. */
	struct ctf_type *type;
};

static uint32_t name_hash(const char *name)
{
	uint32_t hash = hash_fnv1a_32_text(HASH_FNV1A_32_BEGIN, name);

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

static struct ctf_type *find_in_scope(const struct tsdl_scope *scope, const char *name)
{
	uint32_t hash = name_hash(name);

	if (!scope->buckets)
		return NULL;
	for (struct tsdl_name *at = scope->buckets[hash % scope->bucket_count]; at; at = at->next) {
		if (strcmp(at->name, name) == 0)
			return at->type;
	}
	return NULL;
}

static struct ctf_type *find_name(struct tsdl_parser *p, const char *name)
{
	struct ctf_type *type = NULL;

	for (struct tsdl_scope *scope = p->scope; scope && !type; scope = scope->up)
		type = find_in_scope(scope, name);
	return type;
}

bool tsdl_knows_name(struct tsdl_parser *p, const char *name)
{
	return find_name(p, name) != NULL;
}

void tsdl_define_name(struct tsdl_parser *p, const char *name, struct ctf_type *type)
{
	struct tsdl_scope *scope = p->scope;
	struct tsdl_name *entry = tsdl_alloc(p, 1, sizeof(*entry));
	char *copy = tsdl_alloc(p, strlen(name) + 1, 1);

	if (!scope->buckets)
		scope->buckets = tsdl_alloc(p, scope->bucket_count, sizeof(*scope->buckets));
	if (!entry || !copy || !scope->buckets || !type)
		return;
	if (find_in_scope(scope, name)) {
		tsdl_error(p, "the type \"%s\" is defined twice", name);
		return;
	}
	strcpy(copy, name);
	*entry = (struct tsdl_name){
			scope->buckets[name_hash(name) % scope->bucket_count], copy, type};
	scope->buckets[name_hash(name) % scope->bucket_count] = entry;
}

/*
 * References in a named structure are resolved at each use, so each use has its own copy. Scalars
 * are shared.
 */
struct ctf_type *tsdl_copy_type(struct tsdl_parser *p, const struct ctf_type *type)
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
		copy->element = tsdl_copy_type(p, type->element);
		return copy->element ? copy : NULL;
	}
	copy->members = tsdl_alloc(p, type->member_count, sizeof(*copy->members));
	if (!copy->members)
		return NULL;
	for (uint32_t i = 0; i < type->member_count; i++) {
		copy->members[i] = type->members[i];
		copy->members[i].type = tsdl_copy_type(p, type->members[i].type);
		if (!copy->members[i].type)
			return NULL;
	}
	return copy;
}

struct ctf_type *tsdl_use_name(struct tsdl_parser *p, const char *prefix, const char *name)
{
	char full[TSDL_NAME_MAX + 16];
	struct ctf_type *type;

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	type = find_name(p, full);
	return type ? tsdl_copy_type(p, type) : tsdl_error(p, "the type \"%s\" is not known", full);
}
