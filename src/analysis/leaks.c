/* SPDX-License-Identifier: MIT */
/* The answer about leaks from its options to its printed form. */
#include "analysis/leaks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace-symbols.h"
#include "base/error.h"

static void *leaks_class_create(void *user, struct walk_class *walk, const struct ctf_item *item)
{
	struct leaks_class *class = calloc(1, sizeof(*class));

	(void)user;
	if (!class)
		return NULL;
	leaks_form_find(&class->form, item);
	leaks_mapping_find(&class->mapping, item);
	event_stack_bind(&class->stack, item, walk->view);
	return class;
}

int leaks_prepare(struct leaks *leaks, const struct leaks_options *options, const char *dir,
		const struct analysis_listener *listener, struct error *error)
{
	static const struct text_list all_events;
	const struct report_walk_options walk = {
			.verb = "analyse",
			.dir = dir,
			.patterns = &all_events,
			.listener = *listener,
	};
	int ret = walk_prepare(&leaks->walk, &walk, error);

	leaks->options = options;
	if (ret)
		return ret;
	if (!leaks->symbols)
		leaks->symbols = trace_symbols_start(
				options->debuginfod, &leaks->walk.options.listener);
	return leaks->symbols ? 0 : error_set_no_memory(error);
}

int leaks_open(struct leaks *leaks, struct error *error)
{
	int ret = walk_open(&leaks->walk, error);

	leaks->walk.create_user_data = leaks_class_create;
	leaks->walk.free_user_data = free;
	leaks->walk.user = leaks;
	return ret;
}

int leaks_read(struct leaks *leaks, struct error *error)
{
	struct walk_class *class;
	struct ctf_item item;
	int ret = trace_symbols_read(leaks->symbols, leaks->walk.options.dir);

	while (!ret && (ret = walk_next(&leaks->walk, &item, &class)) > 0) {
		ret = class && !class->lost ? leaks_take(leaks, class->user_data, &item)
					    : leaks_take_loss(leaks, &item, class);
		if (ret)
			break;
	}
	if (!ret)
		ret = leaks_finish(leaks);
	if (!ret)
		leaks_doubts_examine(leaks);
	return ret ? error_set_kind(error, ERROR_FAILED, ret, NULL,
				     "cannot continue to read %s: %s", leaks->walk.options.dir,
				     strerror(-ret))
		   : 0;
}

/*
 * Probes also see libc's own calls of free(): a thread that ends returns its cache of freed blocks.
 * Without the name of the function, a caller in libc is assumed to do that.
 */
static bool leaks_free_is_inner(struct leaks *leaks, const struct leaks_free *entry)
{
	static const char *const functions[] = {"tcache_thread_shutdown",
			"__malloc_arena_thread_freeres", "__libc_thread_freeres", "__libc_freeres"};
	uint32_t named = leaks_stack_named(leaks, entry->stack), count;
	const uint32_t *frames = stacks_frames(&leaks->stacks, named, &count);
	const struct stack_frame *frame;
	const char *slash;

	if (!count)
		return false;
	frame = stacks_frame(&leaks->stacks, frames[0]);
	slash = frame->module ? strrchr(frame->module, '/') : NULL;
	if (!slash || (strncmp(slash, "/libc.so", 8) != 0 && strncmp(slash, "/libc-", 6) != 0))
		return false;
	for (size_t i = 0; frame->function && i < sizeof(functions) / sizeof(*functions); i++)
		if (strcmp(frame->function, functions[i]) == 0)
			return true;
	return !frame->function;
}

static void leaks_drop_inner_frees(struct leaks *leaks)
{
	for (uint32_t i = 0; i < leaks->free_keys.count; i++) {
		struct leaks_free *entry = &leaks->frees[i];

		if (!leaks_free_is_inner(leaks, entry))
			continue;
		leaks->nr_frees -= entry->count;
		if (entry->freed_by == LEAKS_STACK_NONE)
			leaks->unknown_frees -= entry->count;
		else
			leaks->double_frees -= entry->count;
		entry->count = 0;
	}
}

static int leaks_set_error(const struct leaks *leaks, int ret, struct error *error)
{
	return ret ? error_set_kind(error, ERROR_FAILED, ret, NULL, "cannot analyse %s: %s",
				     leaks->walk.options.dir, strerror(-ret))
		   : 0;
}

int leaks_resolve(struct leaks *leaks, struct error *error)
{
	leaks_drop_inner_frees(leaks);
	leaks_doubts_check_frees(leaks);
	return leaks_set_error(leaks, leaks_group(leaks), error);
}

int leaks_print(struct leaks *leaks, FILE *out, struct error *error)
{
	int ret = leaks_resolve(leaks, error);

	if (ret)
		return ret;
	ret = leaks->json ? leaks_print_json(leaks, out) : leaks_print_text(leaks, out);
	return leaks_set_error(leaks, ret, error);
}

void leaks_free(struct leaks *leaks)
{
	walk_close(&leaks->walk);
	identity_free(&leaks->identity);
	leaks_blocks_free(&leaks->blocks);
	leaks_calls_free(&leaks->calls);
	leaks_mappings_free(&leaks->mappings);
	stacks_free(&leaks->stacks);
	symbols_free(leaks->symbols);
	free(leaks->groups);
	keys_free(&leaks->image_keys);
	keys_free(&leaks->free_keys);
	free(leaks->images);
	free(leaks->sites);
	free(leaks->frees);
}
