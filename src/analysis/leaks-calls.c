/* SPDX-License-Identifier: MIT */
/* The calls of an allocator: what the events mean, and calls that have not returned yet. */
#include "analysis/leaks-calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report-walk.h"

/* How long a search for a slot is: a full neighbourhood drops its oldest call. */
#define LEAKS_CALLS_STEPS 8

/* The functions of an allocator, and the fields of the wrappers' events. */
static const struct leaks_function {
	const char *name;
	const char *size, *count;
	const char *freed;  /* the field with the block that the function frees; NULL: none */
	const char *block;  /* the field with the block that it returns; NULL: none */
	const char *status; /* the field whose value is 0 if the function succeeded; NULL: none */
} leaks_functions[] = {
		{"malloc", "size", NULL, NULL, "result", NULL},
		{"calloc", "size", "count", NULL, "result", NULL},
		{"realloc", "size", NULL, "ptr", "result", NULL},
		{"reallocarray", "size", "count", "ptr", "result", NULL},
		{"free", NULL, NULL, "ptr", NULL, NULL},
		{"cfree", NULL, NULL, "ptr", NULL, NULL},
		{"posix_memalign", "size", NULL, NULL, "ptr", "result"},
		{"aligned_alloc", "size", NULL, NULL, "result", NULL},
		{"memalign", "size", NULL, NULL, "result", NULL},
		{"valloc", "size", NULL, NULL, "result", NULL},
		{"pvalloc", "size", NULL, NULL, "result", NULL},
};

/* ---- classes ---- */

struct event_member leaks_member_find(const struct ctf_item *item, const char *name)
{
	struct event_member member = {EVENT_NOWHERE, 0, 0};

	if (name && event_member_find(&member, EVENT_FIELDS, item, name) &&
			item->fields->type->members[member.index].type->kind != CTF_INTEGER)
		member.scope = EVENT_NOWHERE;
	return member;
}

static const struct leaks_function *leaks_function_find(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(leaks_functions) / sizeof(*leaks_functions); i++)
		if (strlen(leaks_functions[i].name) == length &&
				memcmp(leaks_functions[i].name, name, length) == 0)
			return &leaks_functions[i];
	return NULL;
}

static void leaks_form_find_whole(struct leaks_form_class *class,
		const struct leaks_function *function, const struct ctf_item *item)
{
	class->block = leaks_member_find(item, function->block);
	class->status = leaks_member_find(item, function->status);
	class->hides_block = class->allocates && !event_member_exists(&class->block);
	class->form = LEAKS_FORM_WHOLE;
}

static void leaks_form_find_return(struct leaks_form_class *class,
		const struct leaks_function *function, const struct ctf_item *item)
{
	const char *block = function->status ? "block" : "return_value";

	class->block = leaks_member_find(item, block);
	if (function->status)
		class->status = leaks_member_find(item, "return_value");
	class->hides_block = class->allocates && !event_member_exists(&class->block);
	class->form = LEAKS_FORM_RETURN;
}

const char *leaks_event_plain(const char *name)
{
	if (strncmp(name, "libc:", 5) != 0 && strncmp(name, "probe:", 6) != 0)
		return NULL;
	return strchr(name, ':') + 1;
}

/* The function whose event has the name, or NULL. */
static const struct leaks_function *leaks_event_function(const char *name, bool *ret_is_return)
{
	static const char suffix[] = "_return";
	const size_t cut = sizeof(suffix) - 1;
	const char *plain = leaks_event_plain(name);
	size_t length = plain ? strlen(plain) : 0;

	*ret_is_return = length > cut && strcmp(plain + length - cut, suffix) == 0;
	return plain ? leaks_function_find(plain, *ret_is_return ? length - cut : length) : NULL;
}

bool leaks_event_is_known(const char *name)
{
	bool is_return;

	return leaks_event_function(name, &is_return) != NULL;
}

void leaks_form_find(struct leaks_form_class *class, const struct ctf_item *item)
{
	bool is_return;
	const struct leaks_function *function = leaks_event_function(item->event->name, &is_return);

	*class = (struct leaks_form_class){0};
	if (!function)
		return;
	class->allocates = function->block != NULL;
	class->is_free = !class->allocates;
	class->call = leaks_member_find(item, "call");
	class->size = leaks_member_find(item, function->size);
	class->count = leaks_member_find(item, function->count);
	class->freed = leaks_member_find(item, function->freed);
	if (is_return && event_member_exists(&class->call))
		leaks_form_find_return(class, function, item);
	else if (event_member_exists(&class->call) && class->allocates)
		class->form = LEAKS_FORM_BEGIN;
	else if (!is_return)
		leaks_form_find_whole(class, function, item);
	if (class->is_free && !event_member_exists(&class->freed))
		class->form = LEAKS_FORM_NONE;
}

uint64_t leaks_member_number(const struct event_member *member, const struct ctf_item *item)
{
	uint64_t number;

	return event_member_number(member, item, &number) ? number : 0;
}

uint64_t leaks_form_size(const struct leaks_form_class *class, const struct ctf_item *item)
{
	uint64_t size = leaks_member_number(&class->size, item);

	if (event_member_exists(&class->count) &&
			__builtin_mul_overflow(
					size, leaks_member_number(&class->count, item), &size))
		return UINT64_MAX;
	return size;
}

/* ---- calls that have begun ---- */

static struct leaks_call *leaks_calls_at(
		const struct leaks_calls *calls, uint32_t image, uint64_t number, unsigned int step)
{
	uint64_t hash = (number ^ (uint64_t)image << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return &calls->slots[((hash >> 40) + step) % LEAKS_CALLS_MAX];
}

int leaks_calls_begin(struct leaks_calls *calls, const struct leaks_call *call)
{
	struct leaks_call *oldest = NULL;

	if (!calls->slots)
		calls->slots = calloc(LEAKS_CALLS_MAX, sizeof(*calls->slots));
	if (!calls->slots)
		return -ENOMEM;
	for (unsigned int step = 0; step < LEAKS_CALLS_STEPS; step++) {
		struct leaks_call *slot = leaks_calls_at(calls, call->image, call->number, step);

		if (!slot->number || (slot->number == call->number && slot->image == call->image)) {
			*slot = *call;
			return 0;
		}
		if (!oldest || slot->ns < oldest->ns)
			oldest = slot;
	}
	calls->dropped++;
	*oldest = *call;
	return 0;
}

bool leaks_calls_return(struct leaks_calls *calls, uint32_t image, uint64_t number,
		struct leaks_call *ret_call)
{
	for (unsigned int step = 0; calls->slots && number && step < LEAKS_CALLS_STEPS; step++) {
		struct leaks_call *slot = leaks_calls_at(calls, image, number, step);

		if (slot->number != number || slot->image != image)
			continue;
		*ret_call = *slot;
		slot->number = 0;
		return true;
	}
	return false;
}

void leaks_calls_free(struct leaks_calls *calls)
{
	free(calls->slots);
	*calls = (struct leaks_calls){0};
}
