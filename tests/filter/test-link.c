/* SPDX-License-Identifier: MIT */
/*
 * Random descriptions and paths through them: they are linked or refused with a reason, and run on
 * NULL arguments.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../abi/generate.h"
#include "filter/filter.h"

#define PATH_MAX_BYTES 1024

static struct generator generator;
static char path[PATH_MAX_BYTES];

static void add(const char *text)
{
	if (strlen(path) + strlen(text) < sizeof(path))
		strcat(path, text);
}

static void add_name(const char *name)
{
	add("`");
	if (!strchr(name, '`') && strlen(name) < 200)
		add(name);
	add("`");
}

static void add_index(uint32_t below)
{
	char text[16];

	snprintf(text, sizeof(text), "[%u]", generator_below(&generator, below + 1));
	add(text);
}

/* Adds a step of any kind, valid or not. */
static void add_anything(void)
{
	if (generator_below(&generator, 2))
		add_index(4);
	else
		add(".`x`");
}

static void follow(const struct side_type *type);

static void follow_fields(const struct side_type_struct *structure)
{
	uint32_t nr = side_array_length(&structure->fields);
	const struct side_event_field *field;

	if (!nr)
		return;
	field = side_array_at(&structure->fields, generator_below(&generator, nr));
	add(".");
	add_name(side_ptr_get(field->field_name));
	follow(&field->side_type);
}

static void follow(const struct side_type *type)
{
	const struct side_type_gather *gather = &type->u.side_gather;
	const struct side_type_variant *variant;
	uint32_t nr;

	if (!generator_below(&generator, 12)) {
		add_anything();
		return;
	}
	if (!generator_below(&generator, 6) || strlen(path) > 800)
		return;
	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_STRUCT: follow_fields(side_ptr_get(type->u.side_struct)); break;
	case SIDE_TYPE_GATHER_STRUCT:
		follow_fields(side_ptr_get(gather->u.side_struct.type));
		break;
	case SIDE_TYPE_ARRAY:
		add_index(side_ptr_get(type->u.side_array)->length);
		follow(side_ptr_get(side_ptr_get(type->u.side_array)->elem_type));
		break;
	case SIDE_TYPE_VLA:
		add_index(5);
		follow(side_ptr_get(side_ptr_get(type->u.side_vla)->elem_type));
		break;
	case SIDE_TYPE_VLA_VISITOR:
		add_index(5);
		follow(side_ptr_get(side_ptr_get(type->u.side_vla_visitor)->elem_type));
		break;
	case SIDE_TYPE_GATHER_ARRAY:
		add_index(gather->u.side_array.type.length);
		follow(side_ptr_get(gather->u.side_array.type.elem_type));
		break;
	case SIDE_TYPE_GATHER_VLA:
		add_index(5);
		follow(side_ptr_get(gather->u.side_vla.type.elem_type));
		break;
	case SIDE_TYPE_OPTIONAL:
		follow(side_ptr_get(side_ptr_get(type->u.side_optional)->elem_type));
		break;
	case SIDE_TYPE_VARIANT:
		variant = side_ptr_get(type->u.side_variant);
		nr = side_array_length(&variant->options);
		if (nr)
			follow(&side_array_at(&variant->options, generator_below(&generator, nr))
							->side_type);
		break;
	case SIDE_TYPE_DYNAMIC: add_anything(); break;
	default: break;
	}
}

/* The labels match, everything after them is NULL or zero. */
static void make_arguments(const struct side_event_description *desc, struct side_arg *arguments)
{
	uint32_t i;

	for (i = 0; i < side_array_length(&desc->fields); i++) {
		const struct side_type *type = &side_array_at(&desc->fields, i)->side_type;

		memset(&arguments[i], 0, sizeof(arguments[i]));
		if (type->type.v == SIDE_TYPE_ENUM || type->type.v == SIDE_TYPE_ENUM_BITMAP)
			type = side_ptr_get(type->u.side_enum.elem_type);
		arguments[i].type.v = type->type.v;
		if (type->type.v == SIDE_TYPE_GATHER_ENUM)
			arguments[i].type.v = SIDE_TYPE_GATHER_INTEGER;
		else if (type->type.v == SIDE_TYPE_DYNAMIC)
			arguments[i].type.v = (uint16_t)(SIDE_TYPE_DYNAMIC_NULL +
					generator_below(&generator, 11));
	}
}

static unsigned int counts[2]; /* linked, never */

static int try(const char *text, const struct side_event_description *desc,
		const struct side_arg_vec *args)
{
	struct filter_error error = {.column = 0};
	struct filter *filter;
	struct filter_value value;
	void *program, *memory;
	ssize_t need;
	size_t size;
	int ret;

	if (filter_parse(text, &program, &size, &error)) {
		fprintf(stderr, "%s: %u: %s\n", text, error.column, error.text);
		return 1;
	}
	need = filter_link_size(program, size, desc, NULL, &error);
	if (need < 0) {
		free(program);
		counts[1]++;
		if (!error.text[0] || (need != -ENOENT && need != -EINVAL && need != -E2BIG)) {
			fprintf(stderr, "%s: %d \"%s\"\n", text, (int)need, error.text);
			return 1;
		}
		return 0;
	}
	memory = malloc((size_t)need);
	ret = filter_link(program, size, desc, NULL, memory, (size_t)need, &filter, &error);
	free(program); /* no longer needed */
	if (ret) {
		fprintf(stderr, "%s: %d \"%s\"\n", text, ret, error.text);
		free(memory);
		return 1;
	}
	counts[0]++;
	filter_matches(filter, args, NULL, NULL, NULL);
	filter_evaluate(filter, args, NULL, NULL, NULL, &value);
	free(memory);
	return 0;
}

static int try_all(const struct side_event_description *desc)
{
	static const char *const forms[] = {"has(%s)", "len(%s) >= 0", "%s == 1", "%s != \"*a?\"",
			"%s", "!(%s == \"abc\")"};
	uint32_t nr = side_array_length(&desc->fields), i;
	struct side_arg *arguments = calloc(nr + 1, sizeof(*arguments));
	struct side_arg_vec args = {.sav = SIDE_PTR_INIT(arguments), .len = nr};
	char text[PATH_MAX_BYTES + 64];
	int failures = 0;

	make_arguments(desc, arguments);
	for (i = 0; i < 12 && nr; i++) {
		const struct side_event_field *field =
				side_array_at(&desc->fields, generator_below(&generator, nr));
		const char *form = forms[i % (sizeof(forms) / sizeof(forms[0]))];
		size_t before = strcspn(form, "%");

		path[0] = '\0';
		add_name(side_ptr_get(field->field_name));
		follow(&field->side_type);
		snprintf(text, sizeof(text), "%.*s%s%s", (int)before, form, path,
				form + before + 2);
		failures += try(text, desc, &args);
	}
	free(arguments);
	return failures;
}

int main(void)
{
	uint64_t seed, seeds = getenv("SIDE_TEST_LONG") ? 100000 : 3000;
	int failures = 0;

	for (seed = 1; seed <= seeds && failures < 10; seed++) {
		struct side_event_description *desc;

		generator_init(&generator, seed);
		desc = generate_description(&generator);
		if (desc)
			failures += try_all(desc);
		generator_fini(&generator);
	}
	printf("%u linked, %u never match\n", counts[0], counts[1]);
	return failures || counts[0] < seeds || counts[1] < seeds;
}
