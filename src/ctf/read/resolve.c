/* SPDX-License-Identifier: MIT */
/*
 * Prepares a scope for the decoder: computes alignments and least sizes, and binds lengths and tags
 * to the fields that contain them; in TSDL also roles, by name.
 *
 * A bound field gets a slot: the decoder stores its value there, and the sequence or variant reads
 * it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/tsdl.h"

/* A structure that encloses the current position, and how many of its members precede it. */
struct resolve_level {
	const struct resolve_level *up;
	struct ctf_type *type;
	uint32_t before;
};

struct resolver {
	struct ctf_trace_classes *classes;
	struct ctf_type *const *scopes;
	enum ctf_scope scope;
	struct error *error;
};

const char *const ctf_scope_prefixes[CTF_SCOPE_COUNT] = {
		[CTF_SCOPE_PACKET_HEADER] = "trace.packet.header.",
		[CTF_SCOPE_PACKET_CONTEXT] = "stream.packet.context.",
		[CTF_SCOPE_EVENT_HEADER] = "stream.event.header.",
		[CTF_SCOPE_STREAM_EVENT_CONTEXT] = "stream.event.context.",
		[CTF_SCOPE_EVENT_CONTEXT] = "event.context.",
		[CTF_SCOPE_EVENT_FIELDS] = "event.fields.",
};

/* ---- references ---- */

static struct ctf_member *ctf_resolve_find_member(
		const struct ctf_type *type, uint32_t count, const char *name, size_t size)
{
	for (uint32_t i = count; i-- > 0;) {
		const char *at = type->members[i].name;

		if (strncmp(at, name, size) == 0 && !at[size])
			return &type->members[i];
	}
	return NULL;
}

/* The level of a structure that encloses the current position, or NULL. */
static const struct resolve_level *find_level(
		const struct resolve_level *level, const struct ctf_type *type)
{
	while (level && level->type != type)
		level = level->up;
	return level;
}

/* The number of members that a path can use. In a structure that encloses the current position:
   those before it, and, for a step that is not the last, the enclosing member. */
static uint32_t visible_members(
		const struct resolve_level *level, const struct ctf_type *type, bool last)
{
	const struct resolve_level *here = find_level(level, type);
	uint32_t count = here ? here->before + !last : type->member_count;

	return count > type->member_count ? type->member_count : count;
}

#define PATH_VARIANTS_MAX 16

/* A field that a path names, and the variants that contain it. */
struct resolved_field {
	struct ctf_member *member;
	struct ctf_type *variants[PATH_VARIANTS_MAX];
	unsigned int variant_count;
};

/* Find a.b.c, beginning in a structure: members, and options of variants. */
static void ctf_resolve_dotted(const struct resolve_level *level, struct ctf_type *type,
		const char *path, struct resolved_field *ret_found)
{
	ret_found->member = NULL;
	ret_found->variant_count = 0;
	for (;;) {
		size_t size = strcspn(path, ".");
		bool last = !path[size];
		uint32_t count = type->member_count;

		if (type->kind == CTF_STRUCT)
			count = visible_members(level, type, last);
		else if (type->kind != CTF_VARIANT || ret_found->variant_count == PATH_VARIANTS_MAX)
			break;
		else
			ret_found->variants[ret_found->variant_count++] = type;
		ret_found->member = ctf_resolve_find_member(type, count, path, size);
		if (!ret_found->member || last)
			return;
		path += size + 1;
		type = ret_found->member->type;
	}
	ret_found->member = NULL;
}

static void find_reference(const struct resolver *r, const struct resolve_level *level,
		const char *reference, struct resolved_field *ret_found)
{
	for (const struct resolve_level *around = level; around; around = around->up) {
		ctf_resolve_dotted(level, around->type, reference, ret_found);
		if (ret_found->member)
			return;
	}
	for (enum ctf_scope scope = 0; scope <= r->scope; scope++) {
		size_t size = strlen(ctf_scope_prefixes[scope]);

		if (!r->scopes[scope] || strncmp(reference, ctf_scope_prefixes[scope], size) != 0)
			continue;
		ctf_resolve_dotted(level, r->scopes[scope], reference + size, ret_found);
		return;
	}
}

/* Decoding a variant first stores an impossible value; the option with the field replaces it. */
static int guard_slot(const struct resolver *r, struct ctf_type *variant, int32_t slot)
{
	struct ctf_guard *guard = ctf_arena_alloc(r->classes->arena, 1, sizeof(*guard));

	if (!guard)
		return ctf_metadata_set_no_memory(r->error);
	*guard = (struct ctf_guard){variant->guards, slot};
	variant->guards = guard;
	return 0;
}

/* ---- locations of CTF 2 ---- */

/*
 * The structure in a member: arrays, optionals and options of variants are no steps of a path. Of
 * several options, the path means the one that encloses the current position.
 */
static const struct ctf_type *inner_struct(
		const struct resolve_level *level, const struct ctf_type *type)
{
	const struct ctf_type *first = NULL;

	while (type->kind == CTF_ARRAY || type->kind == CTF_SEQUENCE)
		type = type->element;
	if (type->kind == CTF_STRUCT)
		return type;
	for (uint32_t i = 0; type->kind == CTF_VARIANT && i < type->member_count; i++) {
		const struct ctf_type *inner = inner_struct(level, type->members[i].type);

		if (inner && find_level(level, inner))
			return inner;
		if (inner && inner->member_count && !first)
			first = inner;
	}
	return first;
}

static struct ctf_member *find_location(const struct resolver *r, const struct resolve_level *level,
		const struct ctf_location *location)
{
	const struct resolve_level *around = level;
	const struct ctf_type *type;
	struct ctf_member *member = NULL;
	uint32_t at = 0;

	if (location->origin > (int)r->scope)
		return NULL;
	for (; around && at < location->count && !location->path[at]; at++)
		around = around->up;
	type = location->origin >= 0 ? r->scopes[location->origin] : around ? around->type : NULL;
	for (; type && at < location->count; at++) {
		const char *name = location->path[at];
		bool last = at + 1 == location->count;
		uint32_t count = visible_members(level, type, last);

		member = ctf_resolve_find_member(type, count, name, strlen(name));
		if (!member || last)
			return member;
		type = inner_struct(level, member->type);
	}
	return NULL;
}

static struct ctf_option_range *add_range(
		struct ctf_type *type, __int128 begin, __int128 end, uint32_t option)
{
	__int128 low = type->tag_signed ? INT64_MIN : 0;
	__int128 high = type->tag_signed ? INT64_MAX : (__int128)UINT64_MAX;

	begin = begin < low ? low : begin;
	end = end > high ? high : end;
	if (begin <= end)
		type->ranges[type->range_count++] =
				(struct ctf_option_range){(uint64_t)begin, (uint64_t)end, option};
	return type->ranges;
}

/* An optional is `some` if its selector is in its ranges, or is true if it is a boolean; else
   `none`. */
static int bind_ranges(const struct resolver *r, struct ctf_type *type, const struct ctf_type *tag)
{
	const struct ctf_location *location = type->location;
	const __int128 most = (__int128)UINT64_MAX;

	type->range_count = 0;
	type->tag_signed = tag->is_signed;
	type->ranges = ctf_arena_alloc(
			r->classes->arena, location->range_count + 2u, sizeof(*type->ranges));
	if (!type->ranges)
		return ctf_metadata_set_no_memory(r->error);
	for (uint32_t i = 0; i < location->range_count; i++)
		add_range(type, location->ranges[i].begin, location->ranges[i].end,
				location->ranges[i].option);
	if (type->optional && !location->range_count)
		add_range(type, 1, most, 1);
	if (type->optional)
		add_range(type, -most, most, 0);
	return 0;
}

/* ---- lengths and tags ---- */

static const char *location_name(const struct ctf_location *location)
{
	const char *name = location->count ? location->path[location->count - 1] : NULL;

	return name ? name : "";
}

static int bind(const struct resolver *r, const struct resolve_level *level, struct ctf_type *type,
		const struct ctf_type **ret_target)
{
	struct resolved_field found = {0};
	struct ctf_member *member;
	int ret = 0;
	const char *name = type->location ? location_name(type->location) : type->reference;

	if (!name)
		return error_set(r->error, -EINVAL, NULL,
				"the metadata has a variant without a tag");
	if (type->location)
		found.member = find_location(r, level, type->location);
	else
		find_reference(r, level, name, &found);
	member = found.member;
	if (!member)
		return error_set(r->error, -EINVAL, NULL,
				"the metadata uses the field \"%s\", which is not defined before",
				name);
	if (type->kind == CTF_SEQUENCE &&
			(member->type->is_signed ||
					(member->type->kind != CTF_INTEGER &&
							member->type->kind != CTF_ENUM)))
		return error_set(r->error, -EINVAL, NULL,
				"the length \"%s\" in the metadata is not an unsigned integer",
				name);
	if (type->kind == CTF_VARIANT && member->type->kind != CTF_ENUM &&
			!(type->location && member->type->kind == CTF_INTEGER))
		return error_set(r->error, -EINVAL, NULL,
				"the tag \"%s\" in the metadata is not of type %s", name,
				type->location ? "integer" : "enumeration");
	if (member->slot < 0)
		member->slot = r->classes->slot_count++;
	type->slot = member->slot;
	*ret_target = member->type;
	for (unsigned int i = 0; !ret && i < found.variant_count; i++)
		ret = guard_slot(r, found.variants[i], type->slot);
	return ret;
}

struct ctf_option_name {
	const char *name;
	uint32_t index;
};

static int compare_option_names(const void *a, const void *b)
{
	return strcmp(((const struct ctf_option_name *)a)->name,
			((const struct ctf_option_name *)b)->name);
}

/* Bind tag values to options: by the labels that have the names of options. */
static int bind_options(const struct resolver *r, struct ctf_type *type, const struct ctf_type *tag)
{
	struct ctf_option_name *names;

	if (ctf_arena_used(r->classes->arena) > r->classes->memory_max)
		return error_set(r->error, -EINVAL, NULL,
				"the types of the metadata take too much memory");
	names = calloc((size_t)type->member_count + 1, sizeof(*names));
	if (!names)
		return ctf_metadata_set_no_memory(r->error);
	for (uint32_t i = 0; i < type->member_count; i++)
		names[i] = (struct ctf_option_name){type->members[i].name, i};
	qsort(names, type->member_count, sizeof(*names), compare_option_names);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): bind() has set tag, or failed. */
	type->ranges = ctf_arena_alloc(r->classes->arena, tag->label_count, sizeof(*type->ranges));
	type->range_count = 0;
	type->tag_signed = tag->is_signed;
	for (uint32_t i = 0; type->ranges && i < tag->label_count; i++) {
		const struct ctf_label *label = &tag->labels[i];
		struct ctf_option_name key = {label->text, 0};
		const struct ctf_option_name *found = bsearch(&key, names, type->member_count,
				sizeof(*names), compare_option_names);

		if (found)
			type->ranges[type->range_count++] = (struct ctf_option_range){
					label->begin, label->end, found->index};
	}
	free(names);
	return type->ranges ? 0 : ctf_metadata_set_no_memory(r->error);
}

/* ---- sizes ---- */

static uint64_t saturated_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t saturated_multiply(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static int resolve_type(
		const struct resolver *r, const struct resolve_level *level, struct ctf_type *type);

static int resolve_struct(
		const struct resolver *r, const struct resolve_level *level, struct ctf_type *type)
{
	struct resolve_level inner = {level, type, 0};

	type->min_bits = 0;
	for (uint32_t i = 0; i < type->member_count; i++) {
		struct ctf_type *member = type->members[i].type;
		int ret;

		inner.before = i;
		ret = resolve_type(r, &inner, member);
		if (ret)
			return ret;
		if (member->align > type->align)
			type->align = member->align;
		type->min_bits = saturated_add(type->min_bits, member->min_bits);
	}
	return 0;
}

static int resolve_variant(
		const struct resolver *r, const struct resolve_level *level, struct ctf_type *type)
{
	const struct ctf_type *tag = NULL;
	int ret = bind(r, level, type, &tag);

	if (!ret && tag)
		ret = type->location ? bind_ranges(r, type, tag) : bind_options(r, type, tag);
	type->min_bits = type->member_count ? UINT64_MAX : 0;
	for (uint32_t i = 0; !ret && i < type->member_count; i++) {
		ret = resolve_type(r, level, type->members[i].type);
		if (type->members[i].type->min_bits < type->min_bits)
			type->min_bits = type->members[i].type->min_bits;
	}
	return ret;
}

/* `[env.NAME]`: a number in the environment is the length. */
static int bind_environment(const struct resolver *r, struct ctf_type *type)
{
	static const char prefix[] = "env.";
	const struct ctf_trace *trace = &r->classes->trace;

	if (type->kind != CTF_SEQUENCE || !type->reference ||
			strncmp(type->reference, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	for (uint32_t i = 0; i < trace->environment_count; i++) {
		const struct ctf_environment *env = &trace->environment[i];

		if (strcmp(env->key, type->reference + sizeof(prefix) - 1) != 0)
			continue;
		if (env->text || env->number < 0)
			return error_set(r->error, -EINVAL, NULL,
					"the length \"%s\" in the metadata is not a number of elements",
					type->reference);
		type->kind = CTF_ARRAY;
		type->length = (uint64_t)env->number;
		return 0;
	}
	return error_set(r->error, -EINVAL, NULL,
			"the length \"%s\" in the metadata is not in its env block",
			type->reference);
}

static int resolve_array(
		const struct resolver *r, const struct resolve_level *level, struct ctf_type *type)
{
	const struct ctf_type *length;
	int ret = resolve_type(r, level, type->element);

	if (!ret)
		ret = bind_environment(r, type);
	if (!ret && type->kind == CTF_SEQUENCE)
		ret = bind(r, level, type, &length);
	if (type->align < type->element->align)
		type->align = type->element->align;
	type->min_bits = type->kind == CTF_ARRAY
			? saturated_multiply(type->length, type->element->min_bits)
			: 0;
	return ret;
}

/* The size of an integer that needs only a load, as most of them; else 0. */
static uint8_t fast_of(const struct ctf_type *type)
{
	if (type->kind == CTF_FLOAT || type->clock || type->leb128 || type->reversed ||
			type->align != 8 ||
			(type->size != 8 && type->size != 16 && type->size != 32 &&
					type->size != 64) ||
			(type->size > 8 && type->big_endian != CTF_HOST_BIG_ENDIAN))
		return 0;
	return (uint8_t)(type->size / 8 | (type->is_signed ? 0x80 : 0));
}

static int resolve_type(
		const struct resolver *r, const struct resolve_level *level, struct ctf_type *type)
{
	switch (type->kind) {
	case CTF_INTEGER:
	case CTF_ENUM:
	case CTF_FLOAT:
		type->min_bits = type->leb128 ? 8 : type->size;
		type->fast = fast_of(type);
		return 0;
	case CTF_STRING: type->min_bits = 8; return 0;
	case CTF_STRUCT: return resolve_struct(r, level, type);
	case CTF_VARIANT: return resolve_variant(r, level, type);
	case CTF_ARRAY:
	case CTF_SEQUENCE: return resolve_array(r, level, type);
	}
	return 0;
}

/* ---- roles ---- */

struct role_name {
	const char *name;
	enum ctf_role role;
};

static const struct role_name header_roles[] = {
		{"magic", CTF_ROLE_MAGIC},
		{"uuid", CTF_ROLE_UUID},
		{"stream_id", CTF_ROLE_STREAM_ID},
		{"stream_instance_id", CTF_ROLE_STREAM_INSTANCE_ID},
		{NULL, CTF_ROLE_NONE},
};

static const struct role_name context_roles[] = {
		{"timestamp_begin", CTF_ROLE_TIMESTAMP_BEGIN},
		{"timestamp_end", CTF_ROLE_TIMESTAMP_END},
		{"content_size", CTF_ROLE_CONTENT_SIZE},
		{"packet_size", CTF_ROLE_PACKET_SIZE},
		{"packet_seq_num", CTF_ROLE_PACKET_SEQ_NUM},
		{"events_discarded", CTF_ROLE_EVENTS_DISCARDED},
		{"cpu_id", CTF_ROLE_CPU_ID},
		{NULL, CTF_ROLE_NONE},
};

static const struct role_name event_roles[] = {
		{"id", CTF_ROLE_EVENT_ID},
		{NULL, CTF_ROLE_NONE},
};

static bool role_fits(enum ctf_role role, const struct ctf_type *type)
{
	if (role == CTF_ROLE_UUID)
		return (type->kind == CTF_ARRAY && type->length == 16 &&
				type->element->kind == CTF_INTEGER && type->element->size == 8);
	return type->kind == CTF_INTEGER || type->kind == CTF_ENUM;
}

static void set_roles(struct ctf_type *type, const struct role_name *roles)
{
	if (type->kind != CTF_STRUCT && type->kind != CTF_VARIANT)
		return;
	for (uint32_t i = 0; i < type->member_count; i++) {
		struct ctf_member *member = &type->members[i];

		for (const struct role_name *role = roles; role->name; role++) {
			if (strcmp(member->name, role->name) == 0 &&
					role_fits(role->role, member->type))
				member->role = role->role;
		}
		/* The compact and the extended form of an event header are options of a variant. */
		if (roles == event_roles)
			set_roles(member->type, roles);
	}
}

int ctf_resolve(struct ctf_trace_classes *classes, struct ctf_type *const scopes[CTF_SCOPE_COUNT],
		enum ctf_scope scope, struct error *error)
{
	const struct resolver r = {classes, scopes, scope, error};
	int ret = resolve_type(&r, NULL, scopes[scope]);

	if (ret || classes->is_ctf2)
		return ret;
	if (scope == CTF_SCOPE_PACKET_HEADER)
		set_roles(scopes[scope], header_roles);
	else if (scope == CTF_SCOPE_PACKET_CONTEXT)
		set_roles(scopes[scope], context_roles);
	else if (scope == CTF_SCOPE_EVENT_HEADER)
		set_roles(scopes[scope], event_roles);
	return 0;
}
