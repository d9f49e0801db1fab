/* SPDX-License-Identifier: MIT */
/* Until the room is furnished: every function fails as it may. */
#include <errno.h>

#include "filter/filter.h"

static int not_yet(struct filter_error *error)
{
	static const char text[] = "filters are not built yet";
	unsigned int i;

	error->column = 0;
	for (i = 0; i < sizeof(text); i++)
		error->text[i] = text[i];
	return -EINVAL;
}

int filter_parse(const char *text, void **program, size_t *size, struct filter_error *error)
{
	(void)text;
	*program = NULL;
	*size = 0;
	return not_yet(error);
}

int filter_verify(const void *program, size_t size, const char **why)
{
	(void)program;
	(void)size;
	*why = "filters are not built yet";
	return -EINVAL;
}

int filter_each_context(const void *program, size_t size,
		int (*callback)(void *user, const char *name), void *user)
{
	(void)program;
	(void)size;
	(void)callback;
	(void)user;
	return 0;
}

ssize_t filter_link_size(const void *program, size_t size,
		const struct side_event_description *description, const struct filter_names *names,
		struct filter_error *error)
{
	(void)program;
	(void)size;
	(void)description;
	(void)names;
	return not_yet(error);
}

int filter_link(const void *program, size_t size, const struct side_event_description *description,
		const struct filter_names *names, void *memory, size_t memory_size,
		struct filter **filter, struct filter_error *error)
{
	(void)program;
	(void)size;
	(void)description;
	(void)names;
	(void)memory;
	(void)memory_size;
	*filter = NULL;
	return not_yet(error);
}

int filter_evaluate(const struct filter *filter, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller,
		const struct filter_contexts *contexts, struct filter_value *value)
{
	(void)filter;
	(void)arguments;
	(void)variadic;
	(void)caller;
	(void)contexts;
	value->kind = FILTER_NONE;
	return -ENODATA;
}

int filter_bind(const void *program, size_t size, const struct filter_schema *schema,
		struct filter **filter, struct filter_error *error)
{
	(void)program;
	(void)size;
	(void)schema;
	*filter = NULL;
	return not_yet(error);
}

bool filter_bound_matches(const struct filter *filter, const struct filter_loader *loader)
{
	(void)filter;
	(void)loader;
	return false;
}

int filter_bound_evaluate(const struct filter *filter, const struct filter_loader *loader,
		struct filter_value *value)
{
	(void)filter;
	(void)loader;
	value->kind = FILTER_NONE;
	return -ENODATA;
}

bool filter_matches_source(const void *program, size_t size, const struct filter_source *source)
{
	(void)program;
	(void)size;
	(void)source;
	return false;
}
