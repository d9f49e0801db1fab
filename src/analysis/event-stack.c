/* SPDX-License-Identifier: MIT */
/* Finds the stack of an event: its backtrace, else its caller, else its instruction pointer. */
#include "analysis/stacks.h"

#include <string.h>

#include "analysis/view-show.h"
#include "ctf/ctf.h"

static const char *const names[EVENT_STACK_SOURCES] = {
		[EVENT_STACK_BACKTRACE] = "backtrace",
		[EVENT_STACK_CALLER] = "caller",
		[EVENT_STACK_IP] = "ip",
};

/* ---- classes ---- */

static bool event_stack_is_list(const struct ctf_type *type)
{
	return (type->kind == CTF_SEQUENCE || type->kind == CTF_ARRAY) &&
			type->element->kind == CTF_INTEGER;
}

static bool event_stack_fits(const struct ctf_type *type, unsigned int source)
{
	return source == EVENT_STACK_BACKTRACE ? event_stack_is_list(type)
					       : type->kind == CTF_INTEGER;
}

/* A value that could not be read is an option without content. */
static bool event_stack_may_fit(const struct ctf_type *type, unsigned int source)
{
	for (uint32_t i = 0; type->kind == CTF_VARIANT && i < type->member_count; i++)
		if (event_stack_fits(type->members[i].type, source))
			return true;
	return event_stack_fits(type, source);
}

/* False: the scope has no such member. */
static bool event_stack_find(struct event_stack_location *location, enum event_scope scope,
		const struct ctf_item *item, unsigned int source)
{
	struct event_member *member = &location->member;
	const struct ctf_value *value;

	if (!event_member_find(member, scope, item, names[source]))
		return false;
	value = event_member_scope(scope, item);
	if (event_stack_may_fit(value->type->members[member->index].type, source))
		return true;
	member->scope = EVENT_NOWHERE;
	return false;
}

/* What the description says about the first address in a field. */
static bool event_stack_is_exact(const struct view_event *event, uint32_t index)
{
	const struct view_show *part = event && event->fields && index < event->fields->part_count
			? event->fields->parts[index]
			: NULL;

	if (part && part->kind == VIEW_SHOW_OPTIONAL && part->part_count)
		part = part->parts[part->part_count - 1];
	if (part && part->kind == VIEW_SHOW_LIST)
		part = part->element;
	return part && part->address == ADDRESS_EXACT;
}

void event_stack_bind(struct event_stack_class *class, const struct ctf_item *item,
		const struct view_event *event)
{
	*class = (struct event_stack_class){0};
	for (unsigned int i = 0; i < EVENT_STACK_SOURCES; i++) {
		struct event_stack_location *location = &class->sources[i];
		bool is_ip_of_probe = i == EVENT_STACK_IP && event && event->ip == ADDRESS_EXACT;

		if (event_stack_find(location, EVENT_FIELDS, item, i))
			location->is_exact = event_stack_is_exact(event, location->member.index);
		else if (event_stack_find(location, EVENT_CONTEXT, item, i) ||
				event_stack_find(location, EVENT_COMMON_CONTEXT, item, i))
			location->is_exact = is_ip_of_probe;
	}
}

/* ---- records ---- */

static uint32_t event_stack_read_list(
		const struct ctf_value *list, uint64_t addresses[STACK_ADDRESSES_MAX])
{
	const struct ctf_value *element;
	struct ctf_cursor cursor;
	uint32_t count = 0;

	if (list->packed)
		return ctf_value_integers(list, 0, addresses, STACK_ADDRESSES_MAX);
	ctf_cursor_start(&cursor, list);
	while (count < STACK_ADDRESSES_MAX && (element = ctf_cursor_next(&cursor)))
		addresses[count++] = element->u;
	return count;
}

bool event_stack_read(const struct event_stack_class *class, const struct ctf_item *item,
		struct stack *ret_stack)
{
	ret_stack->symbols = NULL;
	ret_stack->trace = item->trace->index;
	ret_stack->ns = item->ns;
	for (unsigned int i = 0; i < EVENT_STACK_SOURCES; i++) {
		const struct event_stack_location *location = &class->sources[i];
		const struct ctf_value *value = event_member_value(&location->member, item);

		if (value && value->type->kind == CTF_VARIANT)
			value++;
		if (!value || !event_stack_fits(value->type, i))
			continue;
		ret_stack->is_exact = location->is_exact;
		ret_stack->count = 1;
		if (i == EVENT_STACK_BACKTRACE)
			ret_stack->count = event_stack_read_list(value, ret_stack->addresses);
		else
			ret_stack->addresses[0] = value->u;
		if (ret_stack->count && ret_stack->addresses[0])
			return true;
	}
	ret_stack->count = 0;
	return false;
}
