/* SPDX-License-Identifier: MIT */
/* Makes a structure of the contexts of a channel or an event: docs/spec/recording.md, section 8. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctf/write/describe.h"
#include "ctf/names.h"
#include "protocol/context.h"

/* Indexed by the tag, enum context_application_tag. `string` is a keyword of TSDL. */
static const char *const application_options[] = {
		[CONTEXT_TAG_NONE] = "none",
		[CONTEXT_TAG_INT64] = "int64",
		[CONTEXT_TAG_UINT64] = "uint64",
		[CONTEXT_TAG_FLOAT64] = "float64",
		[CONTEXT_TAG_STRING] = "utf8",
		[CONTEXT_TAG_BOOLEAN] = "boolean",
};

#define APPLICATION_OPTIONS (sizeof(application_options) / sizeof(application_options[0]))

static struct ctf_type *application_option(struct ctf_arena *arena, unsigned int tag)
{
	switch (tag) {
	case CONTEXT_TAG_INT64: return ctf_type_integer(arena, 64, true);
	case CONTEXT_TAG_UINT64: return ctf_type_integer(arena, 64, false);
	case CONTEXT_TAG_FLOAT64: return ctf_type_float(arena, 64);
	case CONTEXT_TAG_STRING: return ctf_type_string(arena);
	case CONTEXT_TAG_BOOLEAN: return ctf_describe_bool(arena);
	default: return ctf_type_struct(arena, 0);
	}
}

/* A value of the application may have another type in each record: a tag and a variant. */
static int describe_application(struct ctf_arena *arena, const char *tag_name,
		struct ctf_type **ret_tag, struct ctf_type **ret_variant)
{
	struct ctf_type *u8 = ctf_type_integer(arena, 8, false);

	*ret_tag = u8 ? ctf_type_enum(arena, u8, APPLICATION_OPTIONS) : NULL;
	*ret_variant = ctf_type_variant(arena, APPLICATION_OPTIONS, tag_name);
	if (!*ret_tag || !*ret_variant)
		return -ENOMEM;
	for (uint32_t i = 0; i < APPLICATION_OPTIONS; i++) {
		struct ctf_type *option = application_option(arena, i);

		if (!option)
			return -ENOMEM;
		(*ret_tag)->labels[i] = (struct ctf_label){application_options[i], i, i};
		ctf_member_set(&(*ret_variant)->members[i], application_options[i], option, false);
	}
	return 0;
}

static struct ctf_type *describe_address(struct ctf_arena *arena)
{
	struct ctf_type *type = ctf_type_integer(arena, 64, false);

	if (type)
		type->base = 16;
	return type;
}

/* The number of addresses precedes them. */
static int describe_addresses(struct ctf_arena *arena, const char *length_name,
		struct ctf_type **ret_length, struct ctf_type **ret_addresses)
{
	struct ctf_type *address = describe_address(arena);

	*ret_length = ctf_type_integer(arena, 8, false);
	*ret_addresses = address ? ctf_type_sequence(arena, address, length_name) : NULL;
	return *ret_length && *ret_addresses ? 0 : -ENOMEM;
}

static struct ctf_type *describe_scalar(struct ctf_arena *arena, enum context_type context)
{
	switch (context) {
	case CONTEXT_U32: return ctf_type_integer(arena, 32, false);
	case CONTEXT_S32: return ctf_type_integer(arena, 32, true);
	case CONTEXT_U64: return ctf_type_integer(arena, 64, false);
	case CONTEXT_POINTER: return describe_address(arena);
	default: return ctf_type_string(arena);
	}
}

/* The name of the hidden member before a context: of its tag or its length. */
static const char *context_selector_name(struct ctf_arena *arena, struct ctf_names *names,
		const char *name, const char *suffix)
{
	size_t size = strlen(name) + strlen(suffix) + sizeof("_");
	char *text = ctf_arena_alloc(arena, size, 1);

	if (!text)
		return NULL;
	snprintf(text, size, "_%s%s", name, suffix);
	return ctf_names_reserve(names, text);
}

/* Whether a hidden member precedes it. */
static bool context_has_selector(enum context_type type)
{
	return type == CONTEXT_APPLICATION || type == CONTEXT_ADDRESSES;
}

static int describe_selected(struct ctf_arena *arena, struct ctf_names *names, const char *name,
		enum context_type context, struct ctf_member *ret_selector,
		struct ctf_type **ret_value)
{
	bool is_list = context == CONTEXT_ADDRESSES;
	const char *selector =
			context_selector_name(arena, names, name, is_list ? "_length" : "_tag");
	struct ctf_type *type;
	int ret = -ENOMEM;

	if (selector && is_list)
		ret = describe_addresses(arena, selector, &type, ret_value);
	else if (selector)
		ret = describe_application(arena, selector, &type, ret_value);
	if (!ret)
		ctf_member_set(ret_selector, selector, type, true);
	return ret;
}

int ctf_describe_contexts(struct ctf_arena *arena, const struct context_spec *contexts,
		uint32_t count, struct ctf_type **ret_type)
{
	struct ctf_names names = {0};
	uint32_t members = 0, more = 0;
	int ret = -ENOMEM;

	*ret_type = NULL;
	if (!count)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		more += context_has_selector(contexts[i].type);
	*ret_type = ctf_type_struct(arena, count + more);
	if (!*ret_type || ctf_names_init(&names, arena, (count + more) * 2))
		goto out;
	for (uint32_t i = 0; i < count; i++) {
		const char *name = ctf_name_escape(arena, contexts[i].field);
		struct ctf_type *value;

		name = name ? ctf_names_reserve(&names, name) : NULL;
		if (!name)
			goto out;
		if (!context_has_selector(contexts[i].type))
			value = describe_scalar(arena, contexts[i].type);
		else if (describe_selected(arena, &names, name, contexts[i].type,
					 &(*ret_type)->members[members++], &value))
			goto out;
		if (!value)
			goto out;
		ctf_member_set(&(*ret_type)->members[members++], name, value, false);
	}
	ret = 0;
out:
	ctf_names_free(&names);
	return ret;
}
