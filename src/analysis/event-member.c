/* SPDX-License-Identifier: MIT */
/* Finds members of events by name, and reads their values. */
#include "analysis/event-member.h"

#include "analysis/report-walk.h"
#include "analysis/where-path.h"
#include "ctf/ctf.h"

const struct ctf_value *event_member_scope(enum event_scope scope, const struct ctf_item *item)
{
	switch (scope) {
	case EVENT_NOWHERE: break;
	case EVENT_FIELDS: return item->fields;
	case EVENT_CONTEXT: return item->context;
	case EVENT_COMMON_CONTEXT: return item->common_context;
	}
	return NULL;
}

static bool event_member_is_scalar(const struct ctf_type *type)
{
	return type->kind == CTF_INTEGER || type->kind == CTF_ENUM || type->kind == CTF_FLOAT ||
			type->kind == CTF_STRING;
}

bool event_member_find(struct event_member *ret_member, enum event_scope scope,
		const struct ctf_item *item, const char *name)
{
	const struct ctf_value *structure = event_member_scope(scope, item);
	const struct ctf_type *type = structure ? structure->type : NULL;
	bool is_fixed = true;

	for (uint32_t i = 0; type && i < type->member_count; i++) {
		if (where_same_name(type->members[i].name, name)) {
			*ret_member = (struct event_member){scope, i, is_fixed ? i + 1 : 0};
			return true;
		}
		is_fixed = is_fixed && event_member_is_scalar(type->members[i].type);
	}
	return false;
}

bool event_member_is_described(const struct ctf_event_class *event, const char *name)
{
	const struct ctf_type *type = event->fields;

	for (uint32_t i = 0; type && type->kind == CTF_STRUCT && i < type->member_count; i++)
		if (where_same_name(type->members[i].name, name))
			return true;
	return false;
}

bool event_member_find_context(
		struct event_member *ret_member, const struct ctf_item *item, const char *name)
{
	return event_member_find(ret_member, EVENT_COMMON_CONTEXT, item, name) ||
			event_member_find(ret_member, EVENT_CONTEXT, item, name);
}

const struct ctf_value *event_member_value(
		const struct event_member *member, const struct ctf_item *item)
{
	const struct ctf_value *scope = event_member_scope(member->scope, item);

	if (!scope)
		return NULL;
	return member->direct ? scope + member->direct : walk_member_at(scope, member->index);
}

bool event_member_number(const struct event_member *member, const struct ctf_item *item,
		uint64_t *ret_number)
{
	const struct ctf_value *value = event_member_value(member, item);

	if (!value || value->type->kind != CTF_INTEGER)
		return false;
	*ret_number = value->u;
	return true;
}
