/* SPDX-License-Identifier: MIT */
/* Expressions over the events of a trace: parsing, binding, evaluation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/where-path.h"
#include "analysis/where.h"
#include "base/error.h"

struct where_bound {
	struct filter *filter;
	struct where_path *paths;
	uint32_t path_count;
};

int where_parse(const char *option, const char *text, struct where *where, struct error *error)
{
	struct filter_error reason = {0};
	int ret;

	*where = (struct where){.text = text};
	ret = filter_parse(text, &where->program, &where->size, &reason);
	if (!ret)
		return 0;
	if (ret == -ENOMEM)
		return error_set_no_memory(error);
	error_set_kind(error, ERROR_USAGE, ret,
			*reason.hint ? reason.hint : "`side help filters` describes the syntax",
			"`--%s`: %s", option, reason.text);
	error_set_position(error, text, 0, reason.column);
	return ret;
}

void where_free(struct where *where)
{
	free(where->program);
	*where = (struct where){0};
}

/* ---- binding ---- */

struct binding {
	struct where_bound *bound;
	const struct ctf_item *item;
	const struct view_event *event;
	bool no_memory;
	struct where_reason *reason;
};

static void free_path(struct where_path *path)
{
	for (uint32_t i = 0; path->steps && i < path->step_count; i++)
		free((void *)(uintptr_t)path->steps[i].name); /* copy_steps() has copied it. */
	free(path->steps);
}

static bool copy_steps(struct where_path *path, const struct filter_path *from)
{
	path->step_count = from->nr_steps;
	path->steps = calloc((size_t)from->nr_steps + 1, sizeof(*path->steps));
	for (uint32_t i = 0; path->steps && i < from->nr_steps; i++) {
		path->steps[i].index = from->steps[i].index;
		if (!from->steps[i].name)
			continue;
		path->steps[i].name = strdup(from->steps[i].name);
		if (!path->steps[i].name)
			return false;
	}
	return path->steps;
}

/* has() accepts any path, so that only a missing value is an error. */
static void set_missing(struct where_reason *reason, const struct filter_path *path)
{
	size_t used;

	if (!reason || *reason->missing || path->ask == FILTER_ASK_PRESENCE || !path->nr_steps ||
			!path->steps[0].name)
		return;
	used = (size_t)snprintf(reason->missing, sizeof(reason->missing), "%s%s",
			path->root == FILTER_CONTEXT && *path->steps[0].name != '$' ? "$ctx." : "",
			path->steps[0].name);
	for (uint32_t i = 1; i < path->nr_steps && used < sizeof(reason->missing); i++) {
		if (path->steps[i].name)
			used += (size_t)snprintf(reason->missing + used,
					sizeof(reason->missing) - used, ".%s", path->steps[i].name);
	}
}

static int resolve(void *user, const struct filter_path *wanted)
{
	struct binding *binding = user;
	struct where_bound *bound = binding->bound;
	struct where_path path = {0}, *paths;

	if (!where_path_find(&path, wanted, binding->item, binding->event)) {
		set_missing(binding->reason, wanted);
		return -1;
	}
	paths = realloc(bound->paths, (bound->path_count + 1) * sizeof(*paths));
	if (paths)
		bound->paths = paths;
	if (!paths || !copy_steps(&path, wanted)) {
		free_path(&path);
		binding->no_memory = true;
		return -1;
	}
	paths[bound->path_count] = path;
	return (int)bound->path_count++;
}

int where_bind(const struct where *where, const struct ctf_item *item,
		const struct view_event *event, struct where_bound **ret_bound,
		struct where_reason *why)
{
	struct where_bound *bound = calloc(1, sizeof(*bound));
	struct binding binding = {bound, item, event, false, why};
	struct filter_schema schema = {resolve, &binding};
	struct filter_error error;
	int ret;

	if (why)
		*why = (struct where_reason){0};
	*ret_bound = NULL;
	if (!bound)
		return -ENOMEM;
	ret = filter_bind(where->program, where->size, &schema, &bound->filter,
			why ? &why->error : &error);
	if (binding.no_memory)
		ret = -ENOMEM;
	if (ret) {
		where_bound_free(bound);
		return ret == -ENOMEM ? ret : 0;
	}
	*ret_bound = bound;
	return 0;
}

void where_bound_free(struct where_bound *bound)
{
	if (!bound)
		return;
	for (uint32_t i = 0; i < bound->path_count; i++)
		free_path(&bound->paths[i]);
	free(bound->paths);
	free(bound->filter);
	free(bound);
}

/* ---- how values are shown ---- */

/* Names, indexes and parentheses: the value is that of the only path, unchanged. */
static bool is_path_alone(const char *text)
{
	static const char characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789_.$[]()\" ";

	return !text[strspn(text, characters)];
}

struct where_form where_form(const struct where *where, const struct where_bound *bound,
		const struct ctf_item *item, const struct view_event *event)
{
	/* A path can be resolved several times. */
	if (!bound || !bound->path_count || bound->paths[0].ask != FILTER_ASK_VALUE ||
			!is_path_alone(where->text))
		return (struct where_form){.base = 10};
	return where_path_form(&bound->paths[0], item, event);
}

/* ---- asking ---- */

struct asking {
	const struct where_bound *bound;
	const struct ctf_item *item;
};

static bool where_load_value(void *user, int handle, struct filter_value *ret_value)
{
	const struct asking *asking = user;

	return where_path_load(&asking->bound->paths[handle], asking->item, ret_value);
}

bool where_matches(const struct where_bound *bound, const struct ctf_item *item)
{
	struct asking asking = {bound, item};
	struct filter_loader loader = {where_load_value, where_label, &asking};

	return filter_bound_matches(bound->filter, &loader);
}

bool where_evaluate(const struct where_bound *bound, const struct ctf_item *item,
		struct filter_value *ret_value)
{
	struct asking asking = {bound, item};
	struct filter_loader loader = {where_load_value, where_label, &asking};

	return filter_bound_evaluate(bound->filter, &loader, ret_value) == 0 &&
			ret_value->kind != FILTER_NONE;
}
