/* SPDX-License-Identifier: MIT */
/* Makes arguments for a description: locations, pointers, and stack copies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mutate-parts.h"

#define BLOCK_SIZE (4u << 20)
#define STEPS_MAX 20u /* the validator prints the innermost 24 */

/* Two pages, the second of which cannot be read. */
static unsigned char *edge;
static size_t page;

void mutate_init(struct mutate *mutate)
{
	memset(mutate, 0, sizeof(*mutate));
	mutate->size = BLOCK_SIZE;
	mutate->block = malloc(BLOCK_SIZE);
	if (!edge) {
		page = (size_t)sysconf(_SC_PAGESIZE);
		edge = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				0);
		if (edge == MAP_FAILED || mprotect(edge + page, page, PROT_NONE))
			abort();
		memset(edge, 'x', page);
	}
	if (!mutate->block)
		abort();
}

uint32_t mutate_below(struct mutate *mutate, uint32_t below)
{
	uint64_t x = mutate->state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	mutate->state = x;
	return (uint32_t)((x * 0x2545f4914f6cdd1d >> 32) * below >> 32);
}

/* At any address, because all structures of the ABI are packed. */
void *mutate_take(struct mutate *mutate, size_t size)
{
	unsigned char *memory;
	size_t i;

	mutate->used += mutate_below(mutate, 8);
	if (mutate->used > mutate->size || mutate->size - mutate->used < size)
		longjmp(mutate->full, 1);
	memory = mutate->block + mutate->used;
	mutate->used += size;
	/* Bytes that no description mentions are arbitrary. */
	for (i = 0; i < size; i++)
		memory[i] = (unsigned char)(mutate->used * 31 + i * 7);
	return memory;
}

struct where mutate_where(const struct where *up, const char *format, unsigned int index)
{
	struct where where = {.up = up, .depth = up ? up->depth + 1 : 1};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(where.text, sizeof(where.text), format, index);
#pragma GCC diagnostic pop
	return where;
}

static void write_path(char *to, size_t size, const struct where *where, const char *extra)
{
	const struct where *steps[STEPS_MAX + 1];
	unsigned int nr = 0;
	size_t used = 0;

	for (; where && nr <= STEPS_MAX; where = where->up)
		steps[nr++] = where;
	*to = '\0';
	while (nr--)
		used += (size_t)snprintf(
				to + used, size - used, "%s%s", used ? ", " : "", steps[nr]->text);
	if (extra)
		(void)snprintf(to + used, size - used, "%s%s", used ? ", " : "", extra);
}

bool mutate_point(struct mutate *mutate, const struct where *where, const char *extra,
		const char *what)
{
	if ((where && where->depth >= STEPS_MAX) || mutate->points++ != mutate->target)
		return false;
	mutate->what = what;
	write_path(mutate->expected, sizeof(mutate->expected), where, extra);
	return true;
}

void *mutate_wild(struct mutate *mutate)
{
	switch (mutate_below(mutate, 4)) {
	case 0: return (void *)(uintptr_t)0x10;
	case 1: return (void *)(UINTPTR_MAX - 7);
	case 2: return edge + page;
	default: return (void *)(uintptr_t)0x6161616161616161u;
	}
}

void *mutate_nowhere(struct mutate *mutate)
{
	return mutate_below(mutate, 2) ? NULL : mutate_wild(mutate);
}

/* In units of any size. */
void *mutate_endless(void)
{
	return edge + page - 12;
}

/* ---- what is copied from the stack ---- */

static void argument(struct mutate *mutate, const struct where *where, const struct side_type *type,
		struct side_arg *arg);

enum side_visitor_status mutate_visit(const struct side_tracer_visitor_ctx *tracer, void *app)
{
	struct mutate_visited visited;
	uint32_t i;

	memcpy(&visited, app, sizeof(visited));
	if (visited.writes_null)
		return tracer->write_elem(tracer, NULL);
	for (i = 0; i < visited.nr; i++) {
		if (tracer->write_elem(tracer, &visited.elements[i]) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return visited.status;
}

/* A label that is wrong and, for dynamic types, not dynamic. */
static void wrong_label(struct mutate *mutate, struct side_arg *arg)
{
	unsigned int label = arg->type.v, other;

	do {
		other = mutate_below(mutate, 8) ? mutate_below(mutate, SIDE_TYPE_DYNAMIC_NULL)
						: 60 + mutate_below(mutate, 65000);
	} while (other == label);
	arg->type.v = (uint16_t)other;
}

static void label(struct mutate *mutate, const struct where *where, struct side_arg *arg,
		unsigned int right)
{
	arg->type.v = (uint16_t)right;
	if (mutate_point(mutate, where, NULL, "label"))
		wrong_label(mutate, arg);
}

/* The list of elements exists unless nr is 0. */
static struct side_arg_vec *vec_of(struct mutate *mutate, const struct where *where,
		const char *extra, struct side_arg *sav, uint32_t nr)
{
	struct side_arg_vec *vec = mutate_take(mutate, sizeof(*vec));

	side_ptr_set(vec->sav, sav);
	vec->len = nr;
	if (nr && mutate_point(mutate, where, extra, "list"))
		side_ptr_set(vec->sav, (const struct side_arg *)mutate_nowhere(mutate));
	return vec;
}

static struct side_arg_vec *fields(struct mutate *mutate, const struct where *up,
		const struct side_event_field *field, uint32_t nr)
{
	struct side_arg *sav = mutate_take(mutate, (nr + 1) * sizeof(*sav));
	struct side_arg_vec *vec = vec_of(mutate, up, NULL, sav, nr);
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct where where = mutate_where(up, "\"?\"", 0);

		where.text[1] = side_ptr_get(field[i].field_name)[0];
		argument(mutate, &where, &field[i].side_type, &sav[i]);
	}
	if (mutate_point(mutate, up, NULL, "number"))
		vec->len = mutate_below(mutate, 2) ? nr + 1 : UINT32_MAX - mutate_below(mutate, 9);
	if (nr && mutate_point(mutate, up, NULL, "truncated"))
		vec->len = mutate_below(mutate, nr);
	return vec;
}

static struct side_arg *elements(struct mutate *mutate, const struct where *up,
		const struct side_type *type, uint32_t nr)
{
	struct side_arg *sav = mutate_take(mutate, (nr + 1) * sizeof(*sav));
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct where where = mutate_where(up, "index: %u", i);

		argument(mutate, &where, type, &sav[i]);
	}
	return sav;
}

static void array(struct mutate *mutate, const struct where *where, const struct side_type *elem,
		uint32_t nr, struct side_arg *arg)
{
	struct side_arg *sav = elements(mutate, where, elem, nr);
	struct side_arg_vec *vec = vec_of(mutate, where, NULL, sav, nr);

	if (mutate_point(mutate, where, NULL, "number"))
		vec->len = mutate_below(mutate, 2) ? nr + 1 : UINT32_MAX;
	side_ptr_set(arg->u.side_static.side_array, vec);
	if (mutate_point(mutate, where, NULL, "pointer"))
		side_ptr_set(arg->u.side_static.side_array,
				(const struct side_arg_vec *)mutate_nowhere(mutate));
}

static void vla(struct mutate *mutate, const struct where *where, const struct side_type_vla *type,
		struct side_arg *arg)
{
	uint32_t nr = mutate_below(mutate, 3);
	struct side_arg *sav = elements(mutate, where, side_ptr_get(type->elem_type), nr);
	struct side_arg_vec *vec = vec_of(mutate, where, NULL, sav, nr);

	if (mutate_point(mutate, where, NULL, "length")) {
		vec->len = UINT32_MAX - mutate_below(mutate, 1000);
		side_ptr_set(vec->sav, sav);
	}
	if (side_ptr_get(type->length_type)->u.side_integer.integer_size == 1 &&
			mutate_point(mutate, where, NULL, "length type")) {
		vec->len = 256 + mutate_below(mutate, 9);
		side_ptr_set(vec->sav,
				(const struct side_arg *)mutate_take(
						mutate, 300 * sizeof(struct side_arg)));
	}
	side_ptr_set(arg->u.side_static.side_vla, vec);
	if (mutate_point(mutate, where, NULL, "pointer"))
		side_ptr_set(arg->u.side_static.side_vla,
				(const struct side_arg_vec *)mutate_nowhere(mutate));
}

static void visitor(struct mutate *mutate, const struct where *where,
		const struct side_type_vla_visitor *type, struct side_arg *arg)
{
	struct side_arg_vla_visitor *app = mutate_take(mutate, sizeof(*app));
	struct mutate_visited visited = {.nr = mutate_below(mutate, 3)}, *memory;

	visited.elements = elements(mutate, where, side_ptr_get(type->elem_type), visited.nr);
	if (mutate_point(mutate, where, NULL, "status"))
		visited.status = SIDE_VISITOR_STATUS_ERROR;
	if (mutate_point(mutate, where, NULL, "NULL element"))
		visited.writes_null = true;
	memory = mutate_take(mutate, sizeof(visited));
	memcpy(memory, &visited, sizeof(visited));
	side_ptr_set(app->app_ctx, (void *)memory);
	side_ptr_set(arg->u.side_static.side_vla_visitor, app);
	if (mutate_point(mutate, where, NULL, "pointer"))
		side_ptr_set(arg->u.side_static.side_vla_visitor,
				(struct side_arg_vla_visitor *)mutate_nowhere(mutate));
}

static void optional(struct mutate *mutate, const struct where *up,
		const struct side_type_optional *type, struct side_arg *arg)
{
	static const uint8_t selectors[] = {0, 1, 7};
	struct side_arg_optional *value = mutate_take(mutate, sizeof(*value));
	struct where where = mutate_where(up, "optional", 0);

	value->selector = selectors[mutate_below(mutate, 3)];
	if (value->selector)
		argument(mutate, &where, side_ptr_get(type->elem_type), &value->side_static);
	side_ptr_set(arg->u.side_static.side_optional, value);
	if (mutate_point(mutate, &where, NULL, "pointer"))
		side_ptr_set(arg->u.side_static.side_optional,
				(const struct side_arg_optional *)mutate_nowhere(mutate));
}

/* A small number in all sizes and byte orders. */
static void write_number(void *to, const struct side_type_integer *type, unsigned char number)
{
	unsigned char *bytes = to;

	memset(bytes, 0, type->integer_size);
	bytes[type->byte_order.v == SIDE_TYPE_BYTE_ORDER_BE ? type->integer_size - 1 : 0] = number;
}

static void variant(struct mutate *mutate, const struct where *up,
		const struct side_type_variant *type, struct side_arg *arg)
{
	struct side_arg_variant *value = mutate_take(mutate, sizeof(*value));
	struct where where = mutate_where(up, "variant", 0);
	uint32_t option = mutate_below(mutate, side_array_length(&type->options));
	unsigned char number = (unsigned char)(10 * option + mutate_below(mutate, 6));

	value->selector.type.v = type->selector.type.v;
	if (mutate_point(mutate, up, "selector", "selector label"))
		wrong_label(mutate, &value->selector);
	if (mutate_point(mutate, &where, NULL, "selector"))
		number = (unsigned char)(10 * option + 6 + mutate_below(mutate, 4));
	write_number(&value->selector.u.side_static.integer_value, &type->selector.u.side_integer,
			number);
	argument(mutate, &where, &side_array_at(&type->options, option)->side_type, &value->option);
	side_ptr_set(arg->u.side_static.side_variant, value);
	if (mutate_point(mutate, &where, NULL, "pointer"))
		side_ptr_set(arg->u.side_static.side_variant,
				(const struct side_arg_variant *)mutate_nowhere(mutate));
}

static void bitmap(struct mutate *mutate, const struct where *where, const struct side_type *elem,
		struct side_arg *arg)
{
	const struct side_type_array *items;

	label(mutate, where, arg, elem->type.v);
	if (side_enum_get(elem->type) != SIDE_TYPE_ARRAY)
		return;
	items = side_ptr_get(elem->u.side_array);
	array(mutate, where, side_ptr_get(items->elem_type), items->length, arg);
}

static void string(struct mutate *mutate, const struct where *where, struct side_arg *arg)
{
	static const uint32_t text[] = {'t', 'e', 'x', 't', 0};

	side_ptr_set(arg->u.side_static.string_value,
			mutate_below(mutate, 4) ? (const void *)text : NULL);
	if (mutate_point(mutate, where, NULL, "string"))
		side_ptr_set(arg->u.side_static.string_value,
				(const void *)(mutate_below(mutate, 2) ? mutate_endless()
								       : mutate_wild(mutate)));
}

static void gathered(struct mutate *mutate, const struct where *where, const struct side_type *type,
		struct side_arg *arg)
{
	unsigned char *base = mutate_take(mutate, 4096);
	unsigned char *length_base = mutate_take(mutate, 4096);

	side_ptr_set(arg->u.side_static.side_vla_gather.ptr, (const void *)base);
	side_ptr_set(arg->u.side_static.side_vla_gather.length_ptr, (const void *)length_base);
	mutate_gather(mutate, where, type, base, length_base);
	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_STRUCT:
		if (mutate_point(mutate, where, NULL, "NULL base"))
			side_ptr_set(arg->u.side_static.side_struct_gather_ptr, (const void *)NULL);
		return;
	case SIDE_TYPE_GATHER_ARRAY:
		if (type->u.side_gather.u.side_array.type.length &&
				mutate_point(mutate, where, NULL, "NULL base"))
			side_ptr_set(arg->u.side_static.side_array_gather_ptr, (const void *)NULL);
		return;
	case SIDE_TYPE_GATHER_VLA:
		if (mutate_point(mutate, where, NULL, "NULL base"))
			side_ptr_set(arg->u.side_static.side_vla_gather.ptr, (const void *)NULL);
		if (mutate_point(mutate, where, NULL, "length base"))
			side_ptr_set(arg->u.side_static.side_vla_gather.length_ptr,
					(const void *)mutate_nowhere(mutate));
		return;
	default:
		if (mutate_point(mutate, where, NULL, "base"))
			side_ptr_set(arg->u.side_static.side_integer_gather_ptr,
					(const void *)mutate_nowhere(mutate));
	}
}

static void compound(struct mutate *mutate, const struct where *up, const struct side_type *type,
		struct side_arg *arg)
{
	const struct side_type_struct *structure;
	struct where where;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_STRUCT:
		structure = side_ptr_get(type->u.side_struct);
		where = mutate_where(up, "struct:", 0);
		side_ptr_set(arg->u.side_static.side_struct,
				fields(mutate, &where, side_array_elements(&structure->fields),
						side_array_length(&structure->fields)));
		if (mutate_point(mutate, &where, NULL, "pointer"))
			side_ptr_set(arg->u.side_static.side_struct,
					(const struct side_arg_vec *)mutate_nowhere(mutate));
		return;
	case SIDE_TYPE_ARRAY:
		array(mutate, up, side_ptr_get(side_ptr_get(type->u.side_array)->elem_type),
				side_ptr_get(type->u.side_array)->length, arg);
		return;
	case SIDE_TYPE_VLA: vla(mutate, up, side_ptr_get(type->u.side_vla), arg); return;
	case SIDE_TYPE_VLA_VISITOR:
		visitor(mutate, up, side_ptr_get(type->u.side_vla_visitor), arg);
		return;
	case SIDE_TYPE_OPTIONAL:
		optional(mutate, up, side_ptr_get(type->u.side_optional), arg);
		return;
	default: variant(mutate, up, side_ptr_get(type->u.side_variant), arg); return;
	}
}

static void argument(struct mutate *mutate, const struct where *where, const struct side_type *type,
		struct side_arg *arg)
{
	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_ENUM:
		label(mutate, where, arg, side_ptr_get(type->u.side_enum.elem_type)->type.v);
		return;
	case SIDE_TYPE_ENUM_BITMAP:
		bitmap(mutate, where, side_ptr_get(type->u.side_enum_bitmap.elem_type), arg);
		return;
	case SIDE_TYPE_GATHER_ENUM:
		label(mutate, where, arg, SIDE_TYPE_GATHER_INTEGER);
		gathered(mutate, where, type, arg);
		return;
	case SIDE_TYPE_DYNAMIC:
		mutate_dynamic(mutate, where, arg, 0);
		if (mutate_point(mutate, where, NULL, "not dynamic"))
			wrong_label(mutate, arg);
		return;
	default: break;
	}
	label(mutate, where, arg, type->type.v);
	if (visit_label_is_gather(type->type.v))
		gathered(mutate, where, type, arg);
	else if (type->type.v >= SIDE_TYPE_STRUCT)
		compound(mutate, where, type, arg);
	else if (type->type.v >= SIDE_TYPE_STRING_UTF8)
		string(mutate, where, arg);
}

uint32_t mutate_arguments(struct mutate *mutate, const struct side_event_description *desc,
		uint64_t seed, uint32_t target, const struct side_arg_vec **args,
		const struct side_arg_dynamic_struct **variadic)
{
	struct where where;

	mutate->state = seed * 0x9e3779b97f4a7c15 + 1;
	mutate->used = 0;
	mutate->points = 0;
	mutate->target = target;
	mutate->has_no_end = false;
	if (setjmp(mutate->full))
		return UINT32_MAX;
	*args = fields(mutate, NULL, side_array_elements(&desc->fields),
			side_array_length(&desc->fields));
	if (mutate_point(mutate, NULL, NULL, "arguments"))
		*args = mutate_wild(mutate);
	*variadic = NULL;
	if (desc->flags & SIDE_EVENT_FLAG_VARIADIC) {
		where = mutate_where(NULL, "variadic", 0);
		*variadic = mutate_dynamic_struct(mutate, &where, NULL, 0);
		if (mutate_point(mutate, NULL, NULL, "variadic"))
			*variadic = mutate_wild(mutate);
	}
	return mutate->points;
}
