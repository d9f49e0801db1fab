/* SPDX-License-Identifier: MIT */
/* Finds suspicious parts of a description: the event, its fields, and the walk (lint.h). */
#include "abi/lint.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/check.h"

/* ---- reports ---- */

static void abi_lint_append(char *to, size_t size, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
static void abi_lint_append(char *to, size_t size, const char *format, ...)
{
	size_t used = strlen(to);
	va_list args;

	va_start(args, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is initialized */
	(void)vsnprintf(to + used, size - used, format, args);
	va_end(args);
}

/* Write the path in the format of visit_fail(): one step a line, the outermost first. */
static void lint_write_node(const struct visit_node *node, char *to, size_t size)
{
	if (node->up)
		lint_write_node(node->up, to, size);
	switch (node->role) {
	case VISIT_ROLE_FIELD: abi_lint_append(to, size, "\nfield: \"%.60s\"", node->name); break;
	case VISIT_ROLE_ELEMENT: abi_lint_append(to, size, "\nelement"); break;
	case VISIT_ROLE_LENGTH: abi_lint_append(to, size, "\nlength"); break;
	case VISIT_ROLE_SELECTOR: abi_lint_append(to, size, "\nselector"); break;
	case VISIT_ROLE_OPTION:
		abi_lint_append(to, size, "\noption: %u", (unsigned int)node->index);
		break;
	}
}

void lint_report(struct lint *lint, enum visit_severity severity, const struct visit_node *node,
		const char *format, ...)
{
	struct visit_error error;
	va_list args;

	va_start(args, format);
	visit_error_format(&error, format, args);
	va_end(args);
	abi_lint_append(error.where, sizeof(error.where), "%.80s:%.80s",
			side_ptr_get(lint->desc->provider_name),
			side_ptr_get(lint->desc->event_name));
	if (node)
		lint_write_node(node, error.where, sizeof(error.where));
	if (severity == VISIT_ERROR)
		lint->errors++;
	lint->report(lint->priv, severity, node, &error);
}

/* ---- the event ---- */

static void lint_name(struct lint *lint, const char *name, const char *what)
{
	if (!*name)
		lint_report(lint, VISIT_ERROR, NULL, "%s is empty\nprovider and event need a name",
				what);
	else if (!lint_is_utf8(name))
		lint_report(lint, VISIT_WARNING, NULL, "%s is not UTF-8\nwrite it in UTF-8", what);
}

static void lint_head(struct lint *lint)
{
	const struct side_event_description *desc = lint->desc;
	uint64_t unknown = desc->flags & ~(uint64_t)SIDE_EVENT_FLAG_VARIADIC;

	lint_name(lint, side_ptr_get(desc->provider_name), "the name of its provider");
	lint_name(lint, side_ptr_get(desc->event_name), "its name");
	if (side_enum_get(desc->loglevel) > SIDE_LOGLEVEL_DEBUG)
		lint_report(lint, VISIT_ERROR, NULL,
				"the log level %u is unknown\nuse a level up to DEBUG, which is %d",
				(unsigned int)side_enum_get(desc->loglevel), SIDE_LOGLEVEL_DEBUG);
	if (unknown)
		lint_report(lint, VISIT_WARNING, NULL,
				"the flags 0x%" PRIx64
				" are unknown\nset SIDE_EVENT_FLAG_VARIADIC or 0",
				unknown);
	if (desc->nr_side_type_label > _NR_SIDE_TYPE_LABEL ||
			desc->nr_side_attr_type > _NR_SIDE_ATTR_TYPE)
		lint_report(lint, VISIT_WARNING, NULL,
				"it was compiled with %u types and %u attribute types, of which %u and %u are known\nuse a newer libside, or set the numbers of its headers",
				desc->nr_side_type_label, desc->nr_side_attr_type,
				_NR_SIDE_TYPE_LABEL, _NR_SIDE_ATTR_TYPE);
}

/* Compare the declared numbers of types with the types that the walk has found. */
static void lint_numbers(struct lint *lint)
{
	const struct side_event_description *desc = lint->desc;

	if (lint->label >= desc->nr_side_type_label)
		lint_report(lint, VISIT_WARNING, NULL,
				"it declares %u types, and has type %u (%s)\n"
				"set nr_side_type_label to _NR_SIDE_TYPE_LABEL",
				desc->nr_side_type_label, lint->label,
				visit_label_name(lint->label));
	if (lint->highest_attribute_type >= desc->nr_side_attr_type)
		lint_report(lint, VISIT_WARNING, NULL,
				"it declares %u types of attributes, and has type %u (%s)\nset nr_side_attr_type to _NR_SIDE_ATTR_TYPE",
				desc->nr_side_attr_type, lint->highest_attribute_type,
				visit_attribute_type_name(lint->highest_attribute_type));
}

/* ---- fields ---- */

static int abi_lint_compare_text(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* The number of fields with this name that need a unique name. */
static unsigned int lint_count_owners(
		const struct side_event_field *fields, uint32_t nr, const char *name)
{
	unsigned int owners = 0;

	for (uint32_t i = 0; i < nr; i++)
		owners += visit_field_needs_own_name(&fields[i]) &&
				!strcmp(name, side_ptr_get(fields[i].field_name));
	return owners;
}

/* Several enumeration bitmaps, or one field and bitmaps, may share a name: only a warning. */
static void lint_duplicate(struct lint *lint, const struct side_event_field *fields, uint32_t nr,
		const char *name, const struct visit_node *node)
{
	lint_report(lint, lint_count_owners(fields, nr, name) > 1 ? VISIT_ERROR : VISIT_WARNING,
			node,
			"several fields are called \"%.100s\"\n"
			"give each a name of its own",
			name);
}

/* False: too many fields for the remaining checks. */
static bool lint_fields(struct lint *lint, const struct side_event_field *fields, uint32_t nr,
		const struct visit_node *node)
{
	const char *names[LINT_FIELDS_MAX];
	uint32_t i;

	if (nr > LINT_FIELDS_MAX) {
		lint_report(lint, VISIT_ERROR, node,
				"it has %" PRIu32 " fields, which is too many\nuse at most %d", nr,
				LINT_FIELDS_MAX);
		return false;
	}
	for (i = 0; i < nr; i++) {
		names[i] = side_ptr_get(fields[i].field_name);
		if (!*names[i])
			lint_report(lint, VISIT_ERROR, node,
					"the name of field %" PRIu32 " is empty\ngive it a name",
					i);
		else if (!lint_is_utf8(names[i]))
			lint_report(lint, VISIT_WARNING, node,
					"the name of field %" PRIu32
					" is not UTF-8\nwrite it in UTF-8",
					i);
	}
	if (nr)
		qsort(names, nr, sizeof(*names), abi_lint_compare_text);
	for (i = 1; i < nr; i++) {
		if (*names[i] && !strcmp(names[i - 1], names[i]) &&
				(i < 2 || strcmp(names[i - 2], names[i])))
			lint_duplicate(lint, fields, nr, names[i], node);
	}
	return true;
}

/* ---- types ---- */

static void lint_length(
		struct lint *lint, uint32_t length, uint32_t most, const struct visit_node *node)
{
	if (!length)
		lint_report(lint, VISIT_WARNING, node,
				"the array has no elements\nset its length, or describe a VLA");
	else if (length > most)
		lint_report(lint, VISIT_ERROR, node,
				"the array has %" PRIu32
				" elements, which is too many\nuse at most %" PRIu32,
				length, most);
}

static void lint_pointer(struct lint *lint, const struct side_type_integer *type,
		const struct visit_node *node)
{
	if (type->integer_size != lint->pointer_size)
		lint_report(lint, VISIT_WARNING, node,
				"a pointer of %u bytes is described in a program whose pointers have %u\nset its integer_size to sizeof(void *)",
				type->integer_size, lint->pointer_size);
	if (type->signedness)
		lint_report(lint, VISIT_WARNING, node,
				"a pointer is described as a signed number\nset its signedness to 0");
}

/* Whether label and members agree. */
static void abi_lint_scalar(
		struct lint *lint, const struct side_type *type, const struct visit_node *node)
{
	struct visit_error error;
	struct checker checker = {.flags = VISIT_CHECK_STRICT, .error = &error};

	if (visit_check_label_agrees(&checker, type, NULL))
		lint_report(lint, VISIT_ERROR, node, "%s\n%s", error.what, error.hint);
}

/* A result other than 0 ends the walk. */
static int lint_type(void *priv, const struct visit_node *node)
{
	struct lint *lint = priv;
	const struct side_type *type = node->type;
	const struct side_type_struct *structure = NULL;
	unsigned int label = side_enum_get(type->type);

	if (label > lint->label)
		lint->label = label;
	lint_attributes(lint, visit_type_attributes(type), node);
	abi_lint_scalar(lint, type, node);
	if (visit_label_is_gather(label))
		lint_gather(lint, type, node);
	switch (label) {
	case SIDE_TYPE_POINTER: lint_pointer(lint, &type->u.side_integer, node); break;
	case SIDE_TYPE_GATHER_POINTER:
		lint_pointer(lint, &type->u.side_gather.u.side_integer.type, node);
		break;
	case SIDE_TYPE_STRUCT: structure = side_ptr_get(type->u.side_struct); break;
	case SIDE_TYPE_GATHER_STRUCT:
		structure = side_ptr_get(type->u.side_gather.u.side_struct.type);
		break;
	case SIDE_TYPE_ARRAY:
		lint_length(lint, side_ptr_get(type->u.side_array)->length, LINT_ELEMENTS_MAX,
				node);
		break;
	case SIDE_TYPE_GATHER_ARRAY:
		lint_length(lint, type->u.side_gather.u.side_array.type.length, LINT_GATHERED_MAX,
				node);
		break;
	case SIDE_TYPE_VARIANT: lint_variant(lint, side_ptr_get(type->u.side_variant), node); break;
	case SIDE_TYPE_ENUM:
	case SIDE_TYPE_GATHER_ENUM: lint_enum(lint, &type->u.side_enum, node); break;
	case SIDE_TYPE_ENUM_BITMAP: lint_bitmap(lint, &type->u.side_enum_bitmap, node); break;
	default: break;
	}
	if (!structure)
		return 0;
	return lint_fields(lint, side_array_elements(&structure->fields),
			       side_array_length(&structure->fields), node)
			? 0
			: 1;
}

void visit_description_lint(const struct side_event_description *desc, unsigned int pointer_size,
		visit_finding_func report, void *priv)
{
	static const struct visit_description_ops ops = {.type_begin = lint_type};
	struct lint lint = {
			.desc = desc, .pointer_size = pointer_size, .report = report, .priv = priv};
	struct visit_error error;

	lint_head(&lint);
	lint_attributes(&lint, visit_attributes_of(&desc->attributes), NULL);
	if (lint_fields(&lint, side_array_elements(&desc->fields), side_array_length(&desc->fields),
			    NULL) &&
			!visit_description(desc, &ops, &lint, NULL))
		lint_numbers(&lint);
	/* Report what only the strict check refuses. */
	if (!lint.errors && visit_description_check(desc, VISIT_CHECK_STRICT, &error))
		report(priv, VISIT_ERROR, NULL, &error);
}
