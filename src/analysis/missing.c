/* SPDX-License-Identifier: MIT */
/* Names in expressions that no event has. */
#include "analysis/missing.h"

#include "analysis/view-show.h"
#include "ctf/ctf.h"
#include "protocol/context.h"

#include <stdio.h>
#include <string.h>

#define FIELDS_SHOWN 8

static const char context_prefix[] = "$ctx.";

static void missing_add_field(struct missing *missing, const char *prefix, const char *member)
{
	const size_t used = strlen(missing->fields);
	char name[160], between[168];

	snprintf(name, sizeof(name), "%s%.128s", prefix, member + (*member == '_'));
	nearest_offer(&missing->nearest, name);
	snprintf(between, sizeof(between), ", %s,", name);
	if (strstr(missing->fields, between) ||
			used + strlen(between) + 8 > sizeof(missing->fields))
		return;
	if (missing->nr_fields++ < FIELDS_SHOWN)
		snprintf(missing->fields + used, sizeof(missing->fields) - used, "%s%s,",
				used ? " " : ", ", name);
}

static void missing_add_fields(
		struct missing *missing, const char *prefix, const struct ctf_value *value)
{
	for (uint32_t i = 0;
			value && value->type->kind == CTF_STRUCT && i < value->type->member_count;
			i++)
		if (!view_is_tag(value->type, i))
			missing_add_field(missing, prefix, value->type->members[i].name);
}

int missing_bind(struct missing *missing, const struct where *where, const struct ctf_item *item,
		const struct view_event *event, struct where_bound **ret_bound)
{
	struct where_reason why;
	int ret = where_bind(where, item, event, ret_bound, &why);

	if (ret || !missing)
		return ret;
	missing->is_bound |= *ret_bound != NULL;
	if (!*missing->name && *why.missing) {
		snprintf(missing->name, sizeof(missing->name), "%s", why.missing);
		nearest_begin(&missing->nearest, missing->name);
	}
	if (*missing->name) {
		missing_add_fields(missing, "", item->fields);
		missing_add_fields(missing, context_prefix, item->common_context);
		missing_add_fields(missing, context_prefix, item->context);
	}
	return 0;
}

bool missing_is_known(const struct missing *missing)
{
	return !missing->is_bound && *missing->name;
}

const char *missing_text(const struct missing *missing, char text[MISSING_TEXT_SIZE])
{
	const int used = (int)strlen(missing->fields);

	snprintf(text, MISSING_TEXT_SIZE, "no event has `%s`: there is %.*s%s", missing->name,
			used ? used - 3 : 8, used ? missing->fields + 2 : "no field",
			missing->nr_fields > FIELDS_SHOWN ? ", ..." : "");
	return text;
}

/* A context that can be recorded but was not. */
static const char *known_context(const char *name)
{
	const size_t length = sizeof(context_prefix) - 1;

	if (strncmp(name, context_prefix, length) != 0)
		return NULL;
	for (size_t i = 0; context_name(i); i++) {
		if (!strcmp(context_name(i), name + length))
			return context_name(i);
	}
	return NULL;
}

/*
 * Suggests the nearest context ("did you mean `$ctx.vpid`?"). False: a context has this name, or
 * none is similar.
 */
static bool suggest_context(const char *name, char hint[NEAREST_TEXT_SIZE])
{
	const size_t length = sizeof(context_prefix) - 1;
	struct nearest nearest;

	if (strncmp(name, context_prefix, length) != 0)
		return false;
	nearest_begin(&nearest, name + length);
	for (size_t i = 0; context_name(i); i++)
		nearest_offer(&nearest, context_name(i));
	return nearest_text(&nearest, context_prefix, hint, NEAREST_TEXT_SIZE);
}

const char *missing_hint(const struct missing *missing, char hint[NEAREST_TEXT_SIZE])
{
	const char *context = known_context(missing->name);

	if (context)
		snprintf(hint, NEAREST_TEXT_SIZE, "record with `--context %s`", context);
	else if (suggest_context(missing->name, hint))
		return hint;
	else if (!nearest_text(&missing->nearest, "", hint, NEAREST_TEXT_SIZE))
		return NULL;
	return hint;
}
