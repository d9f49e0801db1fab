/* SPDX-License-Identifier: MIT */
/*
 * Filters over scalars of every type and location, driven by test-evaluate.py, line by line:
 *
 *	clear
 *	field NAME WHERE KIND SIZE BITS SHIFT SIGNED ORDER HEX
 *		WHERE: arg, gather, pointer (gathered through one), dynamic, variadic
 *		KIND: int, bool, byte, float, text (HEX with its terminator; SIZE: unit)
 *		ORDER: 0 little, 1 big
 *	expr TEXT	prints, for the filter linked to this event and for one bound to its values:
 *		parse COLUMN TEXT | never ERRNO TEXT
 *		| value MATCHES VALUE		VALUE: none, int N, wide HIGH LOW, double BITS
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/abi/event-description.h>
#include <side/abi/type-argument.h>

#include "filter/filter.h"
#include "abi/visit.h"

#define FIELDS_MAX 64

static struct side_event_field fields[FIELDS_MAX];
static struct side_arg args[FIELDS_MAX];
static struct side_arg_dynamic_field variadic_fields[FIELDS_MAX];
static struct side_arg_vec vector = {.sav = SIDE_PTR_INIT(args)};
static struct side_arg_dynamic_struct variadic = {.fields = SIDE_PTR_INIT(variadic_fields)};
static struct side_event_description description = {
		.struct_size = 112,
		.fields = {.elements = SIDE_PTR_INIT(fields)},
		.flags = SIDE_EVENT_FLAG_VARIADIC,
		.nr_side_type_label = _NR_SIDE_TYPE_LABEL,
		.nr_side_attr_type = _NR_SIDE_ATTR_TYPE,
		.provider_name = SIDE_PTR_INIT("p"),
		.event_name = SIDE_PTR_INIT("e"),
};
static unsigned char memory[FIELDS_MAX][1100];
static const void *pointers[FIELDS_MAX][2];
static char names[FIELDS_MAX][32];

struct spec {
	char name[32], where[16], kind[16];
	unsigned int size, bits, shift, is_signed, order;
};

static unsigned int log2_of(unsigned int size)
{
	return (unsigned int)__builtin_ctz(size);
}

static struct side_type_integer integer_type(const struct spec *spec)
{
	struct side_type_integer type = {
			.integer_size = (uint16_t)spec->size,
			.len_bits = (uint16_t)spec->bits,
			.signedness = (uint8_t)spec->is_signed,
	};

	type.byte_order.v = (uint8_t)spec->order;
	return type;
}

static struct side_type_bool bool_type(const struct spec *spec)
{
	struct side_type_bool type = {
			.bool_size = (uint16_t)spec->size, .len_bits = (uint16_t)spec->bits};

	type.byte_order.v = (uint8_t)spec->order;
	return type;
}

static struct side_type_float float_type(const struct spec *spec)
{
	struct side_type_float type = {.float_size = (uint16_t)spec->size};

	type.byte_order.v = (uint8_t)spec->order;
	return type;
}

static struct side_type_string string_type(const struct spec *spec)
{
	struct side_type_string type = {.unit_size = (uint8_t)spec->size};

	type.byte_order.v = (uint8_t)spec->order;
	return type;
}

/* Makes a stack-copy type and its argument. */
static void make_argument(const struct spec *spec, struct side_type *type, struct side_arg *arg,
		const unsigned char *bytes)
{
	unsigned int label;

	if (!strcmp(spec->kind, "int")) {
		label = (spec->is_signed ? SIDE_TYPE_S8 : SIDE_TYPE_U8) + log2_of(spec->size);
		type->u.side_integer = integer_type(spec);
	} else if (!strcmp(spec->kind, "bool")) {
		label = SIDE_TYPE_BOOL;
		type->u.side_bool = bool_type(spec);
	} else if (!strcmp(spec->kind, "byte")) {
		label = SIDE_TYPE_BYTE;
	} else if (!strcmp(spec->kind, "float")) {
		label = SIDE_TYPE_FLOAT_BINARY16 + log2_of(spec->size) - 1;
		type->u.side_float = float_type(spec);
	} else {
		label = SIDE_TYPE_STRING_UTF8 + log2_of(spec->size);
		type->u.side_string = string_type(spec);
	}
	type->type.v = (uint16_t)label;
	arg->type.v = (uint16_t)label;
	if (!strcmp(spec->kind, "text"))
		side_ptr_set(arg->u.side_static.string_value, bytes);
	else
		memcpy(&arg->u.side_static, bytes, spec->size);
}

static void make_gather(const struct spec *spec, struct side_type *type, struct side_arg *arg,
		const void **pointer, const unsigned char *bytes)
{
	struct side_type_gather *gather = &type->u.side_gather;
	uint8_t mode = !strcmp(spec->where, "pointer");
	unsigned int label;

	/* One pointer after the base, so that offsets matter. */
	pointer[0] = NULL;
	pointer[1] = bytes;
	if (!strcmp(spec->kind, "int")) {
		label = SIDE_TYPE_GATHER_INTEGER;
		gather->u.side_integer.type = integer_type(spec);
		gather->u.side_integer.offset_bits = (uint16_t)spec->shift;
		gather->u.side_integer.access_mode.v = mode;
	} else if (!strcmp(spec->kind, "bool")) {
		label = SIDE_TYPE_GATHER_BOOL;
		gather->u.side_bool.type = bool_type(spec);
		gather->u.side_bool.offset_bits = (uint16_t)spec->shift;
		gather->u.side_bool.access_mode.v = mode;
	} else if (!strcmp(spec->kind, "byte")) {
		label = SIDE_TYPE_GATHER_BYTE;
		gather->u.side_byte.access_mode.v = mode;
	} else if (!strcmp(spec->kind, "float")) {
		label = SIDE_TYPE_GATHER_FLOAT;
		gather->u.side_float.type = float_type(spec);
		gather->u.side_float.access_mode.v = mode;
	} else {
		label = SIDE_TYPE_GATHER_STRING;
		gather->u.side_string.type = string_type(spec);
		gather->u.side_string.access_mode.v = mode;
	}
	gather->u.side_bool.offset = mode ? sizeof(void *) : 3; /* first in all of them */
	type->type.v = (uint16_t)label;
	arg->type.v = (uint16_t)label;
	side_ptr_set(arg->u.side_static.side_struct_gather_ptr,
			mode ? (const void *)pointer : bytes - 3);
}

static void make_dynamic(const struct spec *spec, struct side_arg *arg, const unsigned char *bytes)
{
	union side_arg_dynamic *u = &arg->u.side_dynamic;
	unsigned int label;

	if (!strcmp(spec->kind, "int")) {
		label = SIDE_TYPE_DYNAMIC_INTEGER;
		u->side_integer.type = integer_type(spec);
		memcpy(&u->side_integer.value, bytes, spec->size);
	} else if (!strcmp(spec->kind, "bool")) {
		label = SIDE_TYPE_DYNAMIC_BOOL;
		u->side_bool.type = bool_type(spec);
		memcpy(&u->side_bool.value, bytes, spec->size);
	} else if (!strcmp(spec->kind, "byte")) {
		label = SIDE_TYPE_DYNAMIC_BYTE;
		u->side_byte.value = bytes[0];
	} else if (!strcmp(spec->kind, "float")) {
		label = SIDE_TYPE_DYNAMIC_FLOAT;
		u->side_float.type = float_type(spec);
		memcpy(&u->side_float.value, bytes, spec->size);
	} else {
		label = SIDE_TYPE_DYNAMIC_STRING;
		u->side_string.type = string_type(spec);
		u->side_string.value = (uintptr_t)bytes;
	}
	arg->type.v = (uint16_t)label;
}

static unsigned int nr_all; /* of memory[] */

static void add_field(const struct spec *spec, const char *hex)
{
	unsigned char *bytes = memory[nr_all] + 8;
	const void **pointer = pointers[nr_all];
	uint32_t i = description.fields.length;
	struct side_event_field *field = &fields[i];
	char *name = strcpy(names[nr_all], spec->name);
	unsigned int byte, at = 0;

	for (; sscanf(hex, "%2x", &byte) == 1 && at < 1080; hex += 2)
		bytes[at++] = (unsigned char)byte;
	nr_all++;
	if (!strcmp(spec->where, "variadic")) {
		i = variadic.len++;
		side_ptr_set(variadic_fields[i].field_name, name);
		make_dynamic(spec, (struct side_arg *)(uintptr_t)&variadic_fields[i].elem, bytes);
		return;
	}
	memset(field, 0, sizeof(*field));
	memset(&args[i], 0xee, sizeof(args[i])); /* all other bytes are arbitrary */
	side_ptr_set(field->field_name, name);
	if (!strcmp(spec->where, "arg")) {
		make_argument(spec, &field->side_type, &args[i], bytes);
	} else if (!strcmp(spec->where, "dynamic")) {
		field->side_type.type.v = SIDE_TYPE_DYNAMIC;
		make_dynamic(spec, &args[i], bytes);
	} else {
		make_gather(spec, &field->side_type, &args[i], pointer, bytes);
	}
	description.fields.length++;
	vector.len++;
}

/* ---- expressions ---- */

static void print_value(bool matches, const struct filter_value *value)
{
	printf("value %d ", matches);
	switch (value->kind) {
	case FILTER_INT:
		if (value->is_unsigned)
			printf("int %" PRIu64 "\n", value->u);
		else
			printf("int %" PRId64 "\n", value->s);
		break;
	case FILTER_WIDE:
		printf("wide %d %" PRIx64 " %" PRIx64 "\n", value->is_unsigned, value->high,
				value->u);
		break;
	case FILTER_DOUBLE: printf("double %" PRIx64 "\n", value->u); break;
	case FILTER_STRING: printf("text\n"); break;
	default: printf("none\n"); break;
	}
}

/* The fields that the loader of the bound filter knows: filters that are one field each. */
struct bound_field {
	struct filter *filter;
	enum filter_ask ask;
};
static struct bound_field bound[256];
static int nr_bound;

/* Returns the linked filter; otherwise prints why it cannot be made. */
static struct filter *make_linked(
		const char *text, bool report, struct filter_error *error, int *result)
{
	struct filter *filter = NULL;
	void *program, *at;
	ssize_t need;
	size_t size;

	*result = filter_parse(text, &program, &size, error);
	if (*result) {
		if (report)
			printf("parse %u %s\n", error->column, error->text);
		return NULL;
	}
	need = filter_link_size(program, size, &description, NULL, error);
	if (need < 0) {
		if (report)
			printf("never %d %s\n", (int)-need, error->text);
	} else {
		at = malloc((size_t)need);
		if (filter_link(program, size, &description, NULL, at, (size_t)need, &filter,
				    error))
			abort();
	}
	free(program);
	return filter;
}

static int resolve(void *user, const struct filter_path *path)
{
	struct filter_error error;
	char text[64];
	int result;

	(void)user;
	if (path->ask == FILTER_ASK_LENGTH)
		snprintf(text, sizeof(text), "len(%s)", path->steps[0].name);
	else if (path->ask == FILTER_ASK_PRESENCE)
		snprintf(text, sizeof(text), "has(%s)", path->steps[0].name);
	else
		snprintf(text, sizeof(text), "%s", path->steps[0].name);
	bound[nr_bound].ask = path->ask;
	bound[nr_bound].filter = make_linked(text, false, &error, &result);
	return bound[nr_bound].filter ? nr_bound++ : -1;
}

static bool load(void *user, int handle, struct filter_value *value)
{
	(void)user;
	if (filter_evaluate(bound[handle].filter, &vector, &variadic, NULL, NULL, value))
		return false;
	return bound[handle].ask != FILTER_ASK_PRESENCE || value->u;
}

static void evaluate(const char *text)
{
	static const struct filter_schema schema = {.resolve = resolve};
	static const struct filter_loader loader = {.load = load};
	struct filter_error error;
	struct filter_value value;
	struct filter *filter;
	void *program;
	size_t size;
	int result;

	filter = make_linked(text, true, &error, &result);
	if (filter) {
		bool matches = filter_matches(filter, &vector, &variadic, NULL, NULL);

		filter_evaluate(filter, &vector, &variadic, NULL, NULL, &value);
		print_value(matches, &value);
		free(filter);
	}
	if (result)
		return;
	if (filter_parse(text, &program, &size, &error)) {
		fprintf(stderr, "%s: %s\n", text, error.text);
		abort();
	}
	result = filter_bind(program, size, &schema, &filter, &error);
	if (result) {
		printf("never %d %s\n", -result, error.text);
	} else {
		bool matches = filter_bound_matches(filter, &loader);

		filter_bound_evaluate(filter, &loader, &value);
		print_value(matches, &value);
		free(filter);
	}
	free(program);
	while (nr_bound)
		free(bound[--nr_bound].filter);
}

int main(void)
{
	static char line[65536], hex[4096];
	struct visit_error error;
	struct spec spec;

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "expr ", 5)) {
			if (visit_description_check(&description, VISIT_CHECK_STRICT, &error)) {
				fprintf(stderr, "%s %s\n", error.what, error.where);
				return 1;
			}
			evaluate(line + 5);
		} else if (!strcmp(line, "clear")) {
			nr_all = 0;
			description.fields.length = 0;
			vector.len = 0;
			variadic.len = 0;
		} else if (sscanf(line, "field %31s %15s %15s %u %u %u %u %u %4095s", spec.name,
					   spec.where, spec.kind, &spec.size, &spec.bits,
					   &spec.shift, &spec.is_signed, &spec.order, hex) == 9) {
			add_field(&spec, hex);
		} else {
			fprintf(stderr, "what is \"%s\"?\n", line);
			return 1;
		}
	}
	return 0;
}
