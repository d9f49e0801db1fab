/* SPDX-License-Identifier: MIT */
/* Counts the callers of events in a growing trace for `side top --callers`. */
#include "programs/side/watch/top-callers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/listener.h"
#include "analysis/trace-symbols.h"
#include "ctf/ctf.h"
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "symbolize/symbols.h"

static void top_callers_report(
		void *user, enum analysis_message kind, const char *hint, const char *text)
{
	(void)user;
	(void)kind;
	(void)hint;
	message_note("%s", text);
}

static const struct analysis_listener top_callers_listener = {.report = top_callers_report};

int top_callers_start(struct top_callers *callers, const struct top_options *options)
{
	*callers = (struct top_callers){.most = options->callers == OPTION_BARE
					? TOP_CALLERS_DEFAULT
					: options->callers};
	if (!callers->most)
		return 0;
	callers->keys.limit = TOP_CALLERS_MAX;
	callers->symbols = trace_symbols_start(options->debuginfod, &top_callers_listener);
	return callers->symbols ? 0 : -ENOMEM;
}

void top_callers_free(struct top_callers *callers)
{
	symbols_free(callers->symbols);
	keys_free(&callers->keys);
	free(callers->items);
	free(callers->maps);
}

void top_callers_reset(struct top_callers *callers)
{
	for (uint32_t i = 0; i < callers->keys.count; i++)
		callers->items[i].count = 0;
}

void top_callers_forget(struct top_callers *callers)
{
	if (!callers->symbols)
		return;
	symbols_forget(callers->symbols);
	keys_free(&callers->keys);
	callers->keys = (struct keys){.limit = TOP_CALLERS_MAX};
	callers->nr_maps = 0;
}

int top_callers_add_code(struct top_callers *callers, const struct ctf_item *item)
{
	return callers->symbols ? trace_symbols_add(callers->symbols, item) : 0;
}

void top_callers_count(struct top_callers *callers, const struct event_stack_class *class,
		const struct ctf_item *item, uint32_t process, bool now)
{
	struct {
		uint64_t address;
		uint32_t trace, kind;
	} key;
	struct top_caller *caller;
	uint32_t number, before = callers->keys.count;
	struct stack stack;

	if (!callers->symbols || !event_stack_read(class, item, &stack))
		return;
	key.address = stack.addresses[0];
	key.trace = stack.trace;
	key.kind = stack.is_exact ? ADDRESS_EXACT : ADDRESS_RETURN;
	callers->items = keys_add_item(&callers->keys, callers->items, sizeof(*callers->items),
			&key, sizeof(key), &number);
	if (number == KEYS_NONE)
		return;
	caller = &callers->items[number];
	if (number == before)
		*caller = (struct top_caller){.process = process,
				.address = {key.kind, stack.trace, stack.ns, stack.addresses[0]}};
	/* Another program can have code at the address now. */
	if (now)
		caller->address.ns = stack.ns;
	caller->count += now;
	caller->all++;
}

/* ---- mappings ---- */

static int top_callers_grow_maps(struct top_callers *callers, uint32_t count)
{
	struct stat *grown;

	if (count <= callers->nr_maps)
		return 0;
	grown = reallocarray(callers->maps, count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + callers->nr_maps, 0, (count - callers->nr_maps) * sizeof(*grown));
	callers->maps = grown;
	callers->nr_maps = count;
	return 0;
}

int top_callers_read_maps(struct top_callers *callers, const struct ctf_reader *reader)
{
	uint32_t count = callers->symbols ? ctf_reader_trace_count(reader) : 0;
	int ret = top_callers_grow_maps(callers, count);

	for (uint32_t i = 0; !ret && i < count; i++) {
		struct stat status, *known = &callers->maps[i];
		char path[4096 + 8];

		snprintf(path, sizeof(path), "%.4096s/.maps", ctf_reader_trace(reader, i)->path);
		if (stat(path, &status) ||
				(status.st_size == known->st_size &&
						status.st_mtim.tv_sec == known->st_mtim.tv_sec &&
						status.st_mtim.tv_nsec == known->st_mtim.tv_nsec))
			continue;
		*known = status;
		ret = symbols_maps(callers->symbols, i, path);
	}
	return ret;
}

/* ---- the order ---- */

static int top_callers_compare(const void *one, const void *other, void *user)
{
	const struct top_callers *callers = user;
	const struct top_caller *a = &callers->items[*(const uint32_t *)one],
				*b = &callers->items[*(const uint32_t *)other];

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->all != b->all)
		return a->all > b->all ? -1 : 1;
	return a->address.address < b->address.address ? -1
						       : a->address.address > b->address.address;
}

uint32_t *top_callers_order(const struct top_callers *callers, uint32_t *ret_count)
{
	uint32_t count = callers->keys.count;
	uint32_t *order = malloc(((size_t)count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i;
	if (order && count)
		qsort_r(order, count, sizeof(*order), top_callers_compare,
				(void *)(uintptr_t)callers);
	*ret_count = count < callers->most ? count : (uint32_t)callers->most;
	return order;
}
