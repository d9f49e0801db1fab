/* SPDX-License-Identifier: MIT */
/* Binds programs to records of traces: uses the same linker, with a schema instead of an event. */
#include <errno.h>
#include <stdlib.h>

#include "filter/link.h"

int filter_bind(const void *program, size_t size, const struct filter_schema *schema,
		struct filter **ret_filter, struct filter_error *error)
{
	struct filter_linker linker = {.schema = schema, .error = error};
	int ret = filter_link_program(&linker, program, size);

	*ret_filter = NULL;
	if (ret)
		return ret;
	linker = (struct filter_linker){
			.schema = schema,
			.error = error,
			.capacity = linker.peak,
			.memory = malloc(linker.peak),
	};
	if (!linker.memory)
		return -ENOMEM;
	ret = filter_link_program(&linker, program, size);
	if (ret)
		free(linker.memory);
	else
		*ret_filter = (struct filter *)(void *)linker.memory;
	return ret;
}

/* ---- by path ---- */

/* A handle is the offset of the path in the pool, times 4, plus enum filter_ask. */
struct by_path {
	struct filter_program program;
	const struct filter_source *source;
};

static void filter_bind_get_path(const struct filter_program *program, int handle,
		struct filter_step *steps, struct filter_path *ret_path)
{
	struct filter_path_reader reader = filter_program_path(program, (unsigned int)handle / 4);

	*ret_path = (struct filter_path){
			.root = reader.root,
			.ask = (unsigned int)handle % 4,
			.steps = steps,
	};
	while (filter_path_next(&reader, &steps[ret_path->nr_steps]))
		ret_path->nr_steps++;
}

static bool filter_bind_load_value(void *user, int handle, struct filter_value *value)
{
	const struct by_path *by_path = user;
	struct filter_step steps[FILTER_STEPS_MAX];
	struct filter_path path;

	filter_bind_get_path(&by_path->program, handle, steps, &path);
	return by_path->source->load(by_path->source->user, &path, value);
}

/* The names of a path point into the program, so the address of the first one gives the offset of
   the path. */
static int resolve_path(void *user, const struct filter_path *path)
{
	const struct by_path *by_path = user;
	/* u8 root, u8 steps, u8 0, u16 size precede the first name */
	size_t offset = (size_t)((const uint8_t *)path->steps[0].name - by_path->program.pool) - 5;

	return (int)(offset * 4 + path->ask);
}

static const char *label_path(
		void *user, const struct filter_value *value, uint32_t *ret_at, size_t *ret_size)
{
	const struct by_path *by_path = user;

	return by_path->source->label(by_path->source->user, value, ret_at, ret_size);
}

bool filter_matches_source(const void *program, size_t size, const struct filter_source *source)
{
	struct by_path by_path = {.source = source};
	struct filter_schema schema = {.resolve = resolve_path, .user = &by_path};
	struct filter_loader loader = {.load = filter_bind_load_value, .user = &by_path};
	struct filter *filter;
	bool matches;

	if (filter_verify(program, size, NULL))
		return false;
	filter_program_open(program, &by_path.program);
	if (source->label)
		loader.label = label_path;
	if (filter_bind(program, size, &schema, &filter, NULL))
		return false;
	matches = filter_bound_matches(filter, &loader);
	free(filter);
	return matches;
}
