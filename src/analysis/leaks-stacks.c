/* SPDX-License-Identifier: MIT */
/* The stacks of events: each different one has a number. */
#include "analysis/leaks-stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report-walk.h"
#include "analysis/trace-symbols.h"
#include "analysis/where-path.h"

/* A stack as a key; a shorter key has fewer addresses. */
struct leaks_stack_key {
	uint64_t trace;
	uint64_t addresses[LEAKS_FRAMES_MAX];
};

/* ---- symbols ---- */

static void leaks_stacks_print_message(void *user, const char *text)
{
	const struct analysis_listener *listener = user;

	if (listener->report)
		listener->report(listener->user, ANALYSIS_NOTE, NULL, text);
}

bool leaks_stacks_start(struct leaks_stacks *stacks, bool debuginfod,
		const struct analysis_listener *listener)
{
	struct leaks_stack_key others = {.trace = UINT64_MAX};

	stacks->keys.limit = LEAKS_STACKS_MAX;
	stacks->symbols = trace_symbols_start(
			debuginfod, leaks_stacks_print_message, (void *)(uintptr_t)listener);
	stacks->times = calloc(1, sizeof(*stacks->times));
	return stacks->symbols && stacks->times &&
			keys_add(&stacks->keys, &others, sizeof(others.trace)) ==
			LEAKS_STACK_OTHERS;
}

int leaks_stacks_read(struct leaks_stacks *stacks, const char *dir)
{
	return trace_symbols_read(stacks->symbols, dir);
}

void leaks_stacks_free(struct leaks_stacks *stacks)
{
	keys_free(&stacks->keys);
	free(stacks->times);
	if (stacks->symbols)
		symbols_free(stacks->symbols);
	*stacks = (struct leaks_stacks){0};
}

/* ---- the stack of an event ---- */

static const struct ctf_value *leaks_stack_scope(int scope, const struct ctf_item *item)
{
	switch (scope) {
	case LEAKS_SCOPE_COMMON: return item->common_context;
	case LEAKS_SCOPE_CONTEXT: return item->context;
	case LEAKS_SCOPE_FIELDS: return item->fields;
	default: return NULL;
	}
}

/* A sequence or an array of integers, or an integer. */
static bool leaks_stack_find(const struct ctf_item *item, const char *name, bool is_list, int scope,
		uint32_t *ret_index)
{
	const struct ctf_value *structure = leaks_stack_scope(scope, item);
	const struct ctf_type *type = structure ? structure->type : NULL;

	for (uint32_t i = 0; type && i < type->member_count; i++) {
		enum ctf_kind kind = type->members[i].type->kind;

		if (!where_same_name(type->members[i].name, name))
			continue;
		*ret_index = i;
		return is_list ? kind == CTF_SEQUENCE || kind == CTF_ARRAY : kind == CTF_INTEGER;
	}
	return false;
}

static void leaks_stack_know(struct leaks_stack_class *class, const struct ctf_item *item)
{
	class->known = true;
	for (int scope = LEAKS_SCOPE_COMMON; scope <= LEAKS_SCOPE_FIELDS; scope++) {
		if (leaks_stack_find(item, "backtrace", true, scope, &class->backtrace.index))
			class->backtrace.scope = scope;
		if (leaks_stack_find(item, "caller", false, scope, &class->caller.index))
			class->caller.scope = scope;
	}
}

static uint32_t leaks_stack_read(const struct ctf_value *list, uint64_t addresses[LEAKS_FRAMES_MAX])
{
	const struct ctf_value *element;
	struct ctf_cursor cursor;
	uint32_t count = 0;

	if (list->packed)
		return ctf_value_integers(list, 0, addresses, LEAKS_FRAMES_MAX);
	ctf_cursor_start(&cursor, list);
	while (count < LEAKS_FRAMES_MAX && (element = ctf_cursor_next(&cursor)))
		if (element->type->kind == CTF_INTEGER)
			addresses[count++] = element->u;
	return count;
}

static uint32_t leaks_stack_intern(
		struct leaks_stacks *stacks, const void *key, size_t size, int64_t ns)
{
	uint32_t count = stacks->keys.count, number;

	stacks->times = keys_add_item(
			&stacks->keys, stacks->times, sizeof(*stacks->times), key, size, &number);
	if (number == KEYS_NONE)
		return stacks->keys.no_memory ? LEAKS_STACK_NONE : LEAKS_STACK_OTHERS;
	if (number == count)
		stacks->times[number] = ns;
	return number;
}

uint32_t leaks_stack_add(struct leaks_stacks *stacks, struct leaks_stack_class *class,
		const struct ctf_item *item)
{
	struct leaks_stack_key key;
	const struct ctf_value *scope, *value;
	uint32_t count = 0;

	if (!class->known)
		leaks_stack_know(class, item);
	key.trace = item->trace->index;
	scope = leaks_stack_scope(class->backtrace.scope, item);
	value = scope ? walk_member_at(scope, class->backtrace.index) : NULL;
	if (value)
		count = leaks_stack_read(value, key.addresses);
	scope = leaks_stack_scope(class->caller.scope, item);
	value = scope && !count ? walk_member_at(scope, class->caller.index) : NULL;
	if (value)
		key.addresses[count++] = value->u;
	return leaks_stack_intern(
			stacks, &key, sizeof(key.trace) + count * sizeof(*key.addresses), item->ns);
}

/* ---- frames ---- */

uint32_t leaks_stack_depth(const struct leaks_stacks *stacks, uint32_t stack)
{
	return stack < stacks->keys.count
			? (uint32_t)(stacks->keys.entries[stack].size / sizeof(uint64_t)) - 1
			: 0;
}

uint64_t leaks_stack_address(const struct leaks_stacks *stacks, uint32_t stack, uint32_t frame)
{
	uint64_t address;

	memcpy(&address, stacks->keys.entries[stack].bytes + ((size_t)frame + 1) * sizeof(address),
			sizeof(address));
	return address;
}

const struct symbol *leaks_stack_symbol(
		const struct leaks_stacks *stacks, uint32_t stack, uint32_t frame)
{
	uint64_t trace;

	memcpy(&trace, stacks->keys.entries[stack].bytes, sizeof(trace));
	return symbols_find(stacks->symbols, (uint32_t)trace, stacks->times[stack],
			leaks_stack_address(stacks, stack, frame), true);
}
