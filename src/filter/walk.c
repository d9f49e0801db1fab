/* SPDX-License-Identifier: MIT */
/*
 * Follows the moves of a linked filter: from an argument inwards to one value.
 *
 * Only pointers that are not NULL are trusted: labels, lengths and selectors are checked before
 * use, and any unexpected one means that there is no value.
 *
 * The elements of an application's visitor are valid only during its callback. So the moves behind
 * a visitor run inside it, and the callback then returns an error to stop it; a string found there
 * can be compared and measured, but not returned.
 */
#include "filter/memory.h"
#include "filter/text.h"

struct filter_value_walk {
	const struct filter_run *run;
	const struct filter_op *op;
	struct filter_value *value;
	bool in_visitor;
};

static bool filter_walk_arg(struct filter_value_walk *walk, const struct filter_move *move,
		const struct side_arg *arg);
static bool walk_dynamic(struct filter_value_walk *walk, const struct filter_move *step,
		uint32_t left, const struct side_arg *arg);

/* ---- leaves ---- */

static bool finish_text(
		struct filter_value_walk *walk, const struct filter_move *leaf, const void *text)
{
	const struct filter_op *op = walk->op;
	struct filter_value *value = walk->value, wanted;
	bool equal;

	value->kind = FILTER_STRING;
	value->is_unsigned = false;
	value->unit_size = leaf->size;
	value->byte_order = leaf->flags & FILTER_SWAP ? !SIDE_TYPE_BYTE_ORDER_HOST
						      : SIDE_TYPE_BYTE_ORDER_HOST;
	value->text = text;
	value->size = FILTER_TERMINATED;
	value->labels = NULL;
	switch (op->goal) {
	case FILTER_GOAL_TEXT:
		filter_value_text(&wanted, filter_at(walk->run->body, op->text), op->size);
		if (op->is_glob)
			equal = filter_text_glob(&wanted, value);
		else
			equal = filter_text_equals(&wanted, value);
		filter_set_truth(value, equal);
		return true;
	case FILTER_GOAL_LENGTH:
		filter_value_unsigned(value, filter_text_length(value));
		return true;
	default: return !walk->in_visitor;
	}
}

/*
 * True if the integer of this leaf fits the signed 64 bits of ranges. Unsigned integers of 64 bits
 * count as negative from 2^63 on; such values of a signed type do not fit.
 */
static bool fits_ranges(const struct filter_move *leaf, const struct filter_value *value)
{
	return value->kind == FILTER_INT && !(leaf->flags & FILTER_SIGNED && value->is_unsigned);
}

/* Set the truth: whether one of the ranges of labels contains the value. */
static void finish_labels(struct filter_value_walk *walk, const struct filter_move *leaf)
{
	const struct filter_range *range = filter_at(walk->run->body, leaf->ranges);
	struct filter_value *value = walk->value;
	bool found = false;
	uint32_t i;

	if (fits_ranges(leaf, value)) {
		for (i = 0; i < leaf->count && !found; i++)
			found = (int64_t)range[i].begin <= value->s &&
					value->s <= (int64_t)range[i].end;
	}
	filter_set_truth(value, found);
}

/* Load a scalar from an address. */
static bool finish_scalar(
		struct filter_value_walk *walk, const struct filter_move *leaf, const void *at)
{
	struct filter_value *value = walk->value;

	switch (leaf->code) {
	case FILTER_LEAF_INTEGER:
		filter_load_integer(leaf, at, value);
		if (leaf->flags & FILTER_LABELS)
			finish_labels(walk, leaf);
		return true;
	case FILTER_LEAF_BOOL:
		filter_load_integer(leaf, at, value);
		filter_set_truth(value, value->u != 0);
		return true;
	case FILTER_LEAF_FLOAT: filter_load_float(leaf, at, value); return true;
	default: return false;
	}
}

static bool filter_walk_set_count(struct filter_value_walk *walk, uint64_t count)
{
	filter_value_unsigned(walk->value, count);
	return true;
}

static bool set_present(struct filter_value_walk *walk)
{
	filter_set_truth(walk->value, 1);
	return true;
}

/* ---- visitors of the application ---- */

/* The state for callbacks of the application's visitor. */
struct visiting {
	struct filter_value_walk *walk;
	const struct filter_move *next; /* for static elements */
	const struct filter_move *step; /* for dynamic elements */
	uint32_t left;                  /* remaining steps behind it */
	uint32_t index;
	uint32_t seen;
	bool found;
};

/* True if this is the requested element. Counts it. */
static bool filter_walk_matches(struct visiting *visiting, const void *thing)
{
	if (visiting->seen == UINT32_MAX || !thing)
		return false;
	return visiting->seen++ == visiting->index;
}

static enum side_visitor_status see_element(
		const struct side_tracer_visitor_ctx *ctx, const struct side_arg *element)
{
	struct visiting *visiting = ctx->priv;

	if (!filter_walk_matches(visiting, element))
		return visiting->found ? SIDE_VISITOR_STATUS_ERROR : SIDE_VISITOR_STATUS_OK;
	visiting->walk->in_visitor = true;
	if (visiting->next)
		visiting->found = filter_walk_arg(visiting->walk, visiting->next, element);
	else
		visiting->found = walk_dynamic(
				visiting->walk, visiting->step, visiting->left, element);
	return SIDE_VISITOR_STATUS_ERROR;
}

/* Visit the elements of a static or dynamic VLA; index UINT32_MAX: only count them. */
static bool visit_elements(struct visiting *visiting, side_visitor_func visitor, void *app_ctx)
{
	struct side_tracer_visitor_ctx ctx = {.write_elem = see_element, .priv = visiting};
	enum side_visitor_status status;

	if (!visitor)
		return false;
	status = visitor(&ctx, app_ctx);
	if (visiting->index != UINT32_MAX)
		return visiting->found;
	return status == SIDE_VISITOR_STATUS_OK &&
			filter_walk_set_count(visiting->walk, visiting->seen);
}

/* ---- dynamic values ---- */

static bool filter_walk_same_name(const char *name, const char *wanted)
{
	if (!name)
		return false;
	while (*name && *name == *wanted) {
		name++;
		wanted++;
	}
	return *name == *wanted;
}

static bool finish_dynamic(struct filter_value_walk *walk, const struct side_arg *arg)
{
	const union side_arg_dynamic *u = &arg->u.side_dynamic;
	unsigned int label = arg->type.v;
	struct visiting counting = {.walk = walk, .index = UINT32_MAX};
	struct filter_move leaf = {.code = FILTER_LEAF_THING};
	const void *at = NULL;
	bool fits = false;

	if (label < SIDE_TYPE_DYNAMIC_NULL || label > SIDE_TYPE_DYNAMIC_VLA_VISITOR)
		return false;
	if (walk->op->goal == FILTER_GOAL_PRESENCE)
		return set_present(walk);
	switch (label) {
	case SIDE_TYPE_DYNAMIC_BOOL:
		fits = filter_leaf_bool(&leaf, &u->side_bool.type, 0);
		at = &u->side_bool.value;
		break;
	case SIDE_TYPE_DYNAMIC_INTEGER:
	case SIDE_TYPE_DYNAMIC_POINTER:
		fits = filter_leaf_integer(&leaf, &u->side_integer.type, 0);
		at = &u->side_integer.value;
		break;
	case SIDE_TYPE_DYNAMIC_BYTE:
		if (walk->op->goal != FILTER_GOAL_VALUE)
			return false;
		return filter_walk_set_count(walk, u->side_byte.value);
	case SIDE_TYPE_DYNAMIC_FLOAT:
		fits = filter_leaf_float(&leaf, &u->side_float.type);
		at = &u->side_float.value;
		break;
	case SIDE_TYPE_DYNAMIC_STRING:
		return filter_leaf_text(&leaf, &u->side_string.type) &&
				finish_text(walk, &leaf,
						(const void *)(uintptr_t)u->side_string.value);
	case SIDE_TYPE_DYNAMIC_VLA:
		return walk->op->goal == FILTER_GOAL_LENGTH && side_ptr_get(u->side_dynamic_vla) &&
				filter_walk_set_count(walk, side_ptr_get(u->side_dynamic_vla)->len);
	case SIDE_TYPE_DYNAMIC_VLA_VISITOR: {
		const struct side_arg_dynamic_vla_visitor *visitor =
				side_ptr_get(u->side_dynamic_vla_visitor);

		return walk->op->goal == FILTER_GOAL_LENGTH && visitor &&
				visit_elements(&counting, side_ptr_get(visitor->visitor),
						side_ptr_get(visitor->app_ctx));
	}
	default: break; /* null, structures */
	}
	return fits && walk->op->goal == FILTER_GOAL_VALUE && finish_scalar(walk, &leaf, at);
}

static bool walk_dynamic_fields(struct filter_value_walk *walk, const struct filter_move *step,
		uint32_t left, const struct side_arg_dynamic_struct *structure)
{
	const struct side_arg_dynamic_field *fields;
	const char *name = filter_at(walk->run->body, step->offset);
	uint32_t i;

	if (!structure || step->code != FILTER_MOVE_NAME)
		return false;
	fields = side_ptr_get(structure->fields);
	for (i = 0; fields && i < structure->len; i++) {
		if (filter_walk_same_name(side_ptr_get(fields[i].field_name), name))
			return walk_dynamic(walk, step + 1, left - 1, &fields[i].elem);
	}
	return false;
}

static enum side_visitor_status see_field(const struct side_tracer_dynamic_struct_visitor_ctx *ctx,
		const struct side_arg_dynamic_field *field)
{
	struct visiting *visiting = ctx->priv;
	const char *name = filter_at(visiting->walk->run->body, visiting->step->offset);

	if (!field || !filter_walk_same_name(side_ptr_get(field->field_name), name))
		return SIDE_VISITOR_STATUS_OK;
	visiting->walk->in_visitor = true;
	visiting->found = walk_dynamic(
			visiting->walk, visiting->step + 1, visiting->left - 1, &field->elem);
	return SIDE_VISITOR_STATUS_ERROR;
}

static bool filter_walk_struct_visitor(struct filter_value_walk *walk,
		const struct filter_move *step, uint32_t left,
		const struct side_arg_dynamic_struct_visitor *visitor)
{
	struct visiting visiting = {.walk = walk, .step = step, .left = left};
	struct side_tracer_dynamic_struct_visitor_ctx ctx = {
			.write_field = see_field,
			.priv = &visiting,
	};

	if (!visitor || step->code != FILTER_MOVE_NAME || !side_ptr_get(visitor->visitor))
		return false;
	side_ptr_get(visitor->visitor)(&ctx, side_ptr_get(visitor->app_ctx));
	return visiting.found;
}

/* Follow the `left` remaining steps from this value. There are at most FILTER_STEPS_MAX, which
   bounds the stack. */
static bool walk_dynamic(struct filter_value_walk *walk, const struct filter_move *step,
		uint32_t left, const struct side_arg *arg)
{
	const union side_arg_dynamic *u = &arg->u.side_dynamic;
	struct visiting visiting = {.walk = walk, .step = step + 1, .left = left - 1};
	const struct side_arg_dynamic_vla_visitor *visitor;
	const struct side_arg_dynamic_vla *vla;

	if (!left)
		return finish_dynamic(walk, arg);
	switch (arg->type.v) {
	case SIDE_TYPE_DYNAMIC_STRUCT:
		return walk_dynamic_fields(walk, step, left, side_ptr_get(u->side_dynamic_struct));
	case SIDE_TYPE_DYNAMIC_STRUCT_VISITOR:
		return filter_walk_struct_visitor(
				walk, step, left, side_ptr_get(u->side_dynamic_struct_visitor));
	case SIDE_TYPE_DYNAMIC_VLA:
		vla = side_ptr_get(u->side_dynamic_vla);
		if (!vla || step->code != FILTER_MOVE_INDEX || step->index >= vla->len ||
				!side_ptr_get(vla->sav))
			return false;
		return walk_dynamic(walk, step + 1, left - 1, &side_ptr_get(vla->sav)[step->index]);
	case SIDE_TYPE_DYNAMIC_VLA_VISITOR:
		visitor = side_ptr_get(u->side_dynamic_vla_visitor);
		if (!visitor || step->code != FILTER_MOVE_INDEX || step->index == UINT32_MAX)
			return false;
		visiting.index = step->index;
		return visit_elements(&visiting, side_ptr_get(visitor->visitor),
				side_ptr_get(visitor->app_ctx));
	default: return false;
	}
}

/* ---- gathered memory ---- */

/* The address as defined in section 8.6 of the ABI, or NULL. */
static const char *access(const char *base, const struct filter_move *move)
{
	uintptr_t at = (uintptr_t)base + (uintptr_t)move->offset;

	if (!base)
		return NULL;
	if (move->flags & FILTER_POINTER)
		return filter_unaligned((const void *)at)->pointer;
	return (const char *)at;
}

/* Load the length of a VLA by its leaf. */
static bool load_length(const struct filter_move *leaf, const char *base, uint32_t *ret_length)
{
	const char *at = access(base, leaf);
	struct filter_value value;

	if (!at)
		return false;
	filter_load_integer(leaf, at, &value);
	if (value.kind != FILTER_INT || value.u > UINT32_MAX)
		return false;
	*ret_length = (uint32_t)value.u;
	return true;
}

/* Size of a string with its terminator. */
static uintptr_t text_bytes(const char *text, unsigned int unit_size)
{
	uintptr_t size = 0;

	while (filter_load_bytes(text + size, unit_size, false))
		size += unit_size;
	return size + unit_size;
}

/* Distance from an element to the next: the size of the consecutive strings in it. */
static uintptr_t level_bytes(const struct filter_move *level, uint32_t nr, const char *base)
{
	const char *at = (const char *)((uintptr_t)base + (uintptr_t)level->offset);
	uintptr_t size = 0;
	uint32_t i;

	if (nr == 1)
		return text_bytes(at, level->size);
	for (i = 0; i < level->count; i++)
		size += level_bytes(level + 1, nr - 1, at + size);
	return size;
}

static bool finish_memory(struct filter_value_walk *walk, const struct filter_move *leaf,
		const char *base, const char *length_base)
{
	const char *at;
	uint32_t length;

	if (leaf->code == FILTER_LEAF_LENGTH)
		return load_length(leaf, length_base, &length) &&
				filter_walk_set_count(walk, length);
	if (leaf->code == FILTER_LEAF_COUNT)
		return filter_walk_set_count(walk, leaf->count);
	if (!base)
		return false;
	at = access(base, leaf);
	if (leaf->code == FILTER_LEAF_TEXT && walk->op->goal != FILTER_GOAL_PRESENCE)
		return finish_text(walk, leaf, at); /* a NULL member is a NULL string */
	if (walk->op->goal == FILTER_GOAL_PRESENCE)
		return (at || leaf->code == FILTER_LEAF_TEXT) && set_present(walk);
	return at && finish_scalar(walk, leaf, at);
}

static __attribute__((noinline)) bool walk_memory(struct filter_value_walk *walk,
		const struct filter_move *move, const char *base, const char *length_base)
{
	uint32_t length, i;

	for (;; move++) {
		switch (move->code) {
		case FILTER_MOVE_AT:
			base = access(base, move);
			if (!base)
				return false;
			break;
		case FILTER_MOVE_ADD:
			base = (const char *)((uintptr_t)base + (uintptr_t)move->offset);
			break;
		case FILTER_MOVE_MEMORY_VLA:
			if (!load_length(move + 1, length_base, &length) || move->index >= length)
				return false;
			base = access(base, move);
			if (!base)
				return false;
			base = (const char *)((uintptr_t)base +
					(uintptr_t)move->stride * move->index);
			move++;
			break;
		case FILTER_MOVE_TEXTS:
			for (i = 0; i < move->index; i++)
				base += level_bytes(move + 1, move->count, base);
			move += move->count;
			break;
		default: return finish_memory(walk, move, base, length_base);
		}
		length_base = base;
	}
}

/* ---- arguments ---- */

static bool has_bits(const struct filter_value *item, unsigned int from, unsigned int to)
{
	uint64_t low = item->u, high = 0;

	if (item->kind == FILTER_WIDE)
		high = item->high;
	if (from < 64 && low >> from && (to >= 63 || low >> from << (63 - to + from)))
		return true;
	if (to < 64 || !high)
		return false;
	from = from > 64 ? from - 64 : 0;
	to -= 64;
	return high >> from << (63 - to + from);
}

/* True if any bit of a range is set in the items. */
static bool bits_are_set(const struct filter_move *leaf, const struct filter_range *range,
		const struct side_arg *items, uint32_t nr)
{
	uint64_t i, last = range->end / leaf->item;
	struct filter_value value;

	if (!nr)
		return false;
	if (last >= nr)
		last = nr - 1;
	for (i = range->begin / leaf->item; i <= last; i++) {
		uint64_t base = i * leaf->item;
		uint64_t from = range->begin > base ? range->begin - base : 0;
		uint64_t to = range->end - base < leaf->item ? range->end - base : leaf->item - 1u;

		filter_load_integer(leaf, &items[i].u.side_static, &value);
		if (has_bits(&value, (unsigned int)from, (unsigned int)to))
			return true;
	}
	return false;
}

/* The leaf's index is the type of the argument: SIDE_TYPE_ARRAY, SIDE_TYPE_VLA, or else one
   item. */
static __attribute__((noinline)) bool finish_bitmap(struct filter_value_walk *walk,
		const struct filter_move *leaf, const struct side_arg *arg)
{
	const struct filter_range *ranges = filter_at(walk->run->body, leaf->ranges);
	const struct side_arg_vec *vec;
	uint32_t i, nr = 1;

	if (leaf->index == SIDE_TYPE_ARRAY || leaf->index == SIDE_TYPE_VLA) {
		if (arg->type.v != leaf->index)
			return false;
		vec = side_ptr_get(arg->u.side_static.side_array);
		if (!vec || (vec->len && !side_ptr_get(vec->sav)))
			return false;
		if (leaf->index == SIDE_TYPE_ARRAY && vec->len != leaf->skip)
			return false;
		nr = vec->len;
		arg = side_ptr_get(vec->sav);
	}
	for (i = 0; i < nr; i++) {
		if (arg[i].type.v != leaf->label)
			return false;
	}
	for (i = 0; i < leaf->count; i++) {
		if (bits_are_set(leaf, &ranges[i], arg, nr)) {
			filter_set_truth(walk->value, 1);
			return true;
		}
	}
	filter_set_truth(walk->value, 0);
	return true;
}

/* Count the elements of an array, VLA or visitor in an argument whose label was checked. */
static __attribute__((noinline)) bool finish_count(struct filter_value_walk *walk,
		const struct filter_move *leaf, const struct side_arg *arg)
{
	struct visiting counting = {.walk = walk, .index = UINT32_MAX};
	const struct side_arg_vla_visitor *app;
	const struct side_arg_vec *vec;

	if (leaf->label == SIDE_TYPE_VLA_VISITOR) {
		app = side_ptr_get(arg->u.side_static.side_vla_visitor);
		return app && visit_elements(&counting, leaf->visitor, side_ptr_get(app->app_ctx));
	}
	vec = side_ptr_get(arg->u.side_static.side_array);
	if (!vec || (leaf->label == SIDE_TYPE_ARRAY && vec->len != leaf->count))
		return false;
	return filter_walk_set_count(walk, vec->len);
}

static bool filter_walk_finish_arg(struct filter_value_walk *walk, const struct filter_move *leaf,
		const struct side_arg *arg)
{
	if (leaf->code == FILTER_LEAF_BITMAP)
		return finish_bitmap(walk, leaf, arg);
	if (arg->type.v != leaf->label)
		return false;
	if (walk->op->goal == FILTER_GOAL_PRESENCE)
		return set_present(walk);
	switch (leaf->code) {
	case FILTER_LEAF_TEXT:
		return finish_text(walk, leaf, side_ptr_get(arg->u.side_static.string_value));
	case FILTER_LEAF_COUNT: return finish_count(walk, leaf, arg);
	default: return finish_scalar(walk, leaf, &arg->u.side_static);
	}
}

/* The element of a vector, or NULL. count UINT32_MAX: any number. */
static const struct side_arg *element_of(
		const struct side_arg_vec *vec, uint32_t index, uint32_t count)
{
	if (!vec || index >= vec->len || (count != UINT32_MAX && vec->len != count) ||
			!side_ptr_get(vec->sav))
		return NULL;
	return &side_ptr_get(vec->sav)[index];
}

static __attribute__((noinline)) bool walk_visitor(struct filter_value_walk *walk,
		const struct filter_move *move, const struct side_arg *arg)
{
	const struct side_arg_vla_visitor *app = side_ptr_get(arg->u.side_static.side_vla_visitor);
	struct visiting visiting = {.walk = walk, .next = move + 1, .index = move->index};

	return app && move->index != UINT32_MAX &&
			visit_elements(&visiting, move->visitor, side_ptr_get(app->app_ctx));
}

/* The move behind the option that the selector selects, or NULL. */
static __attribute__((noinline)) const struct filter_move *choose_option(
		const struct filter_move *move, const struct side_arg_variant *variant)
{
	const struct filter_move *selector = move + 1;
	struct filter_value value;

	if (variant->selector.type.v != selector->label)
		return NULL;
	filter_load_integer(selector, &variant->selector.u.side_static, &value);
	if (!fits_ranges(selector, &value))
		return NULL;
	for (move += 2; move->code == FILTER_MOVE_OPTION; move += move->skip) {
		if (move->begin <= value.s && value.s <= move->end)
			return move + 1;
	}
	return NULL;
}

static bool filter_walk_arg(struct filter_value_walk *walk, const struct filter_move *move,
		const struct side_arg *arg)
{
	const struct side_arg_optional *optional;
	const struct side_arg_variant *variant;
	const void *length_base;

	for (;;) {
		if (move->code == FILTER_MOVE_NOTHING)
			return false;
		if (move->code == FILTER_MOVE_DYNAMIC)
			return walk_dynamic(walk, move + 1, move->count, arg);
		if (move->code > FILTER_MOVE_LEVEL)
			return filter_walk_finish_arg(walk, move, arg);
		if (arg->type.v != move->label)
			return false;
		switch (move->code) {
		case FILTER_MOVE_STRUCT:
		case FILTER_MOVE_ARRAY:
		case FILTER_MOVE_VLA: /* all three have their vector at the same offset */
			arg = element_of(side_ptr_get(arg->u.side_static.side_array), move->index,
					move->count);
			if (!arg)
				return false;
			move++;
			break;
		case FILTER_MOVE_OPTIONAL:
			optional = side_ptr_get(arg->u.side_static.side_optional);
			if (!optional || optional->selector == SIDE_OPTIONAL_DISABLED)
				return false;
			arg = &optional->side_static;
			move++;
			break;
		case FILTER_MOVE_VARIANT:
			variant = side_ptr_get(arg->u.side_static.side_variant);
			move = variant ? choose_option(move, variant) : NULL;
			if (!move)
				return false;
			arg = &variant->option;
			break;
		case FILTER_MOVE_GATHER:
			/* All have their base at the same offset; only a VLA has a second one. */
			length_base = NULL;
			if (move->label == SIDE_TYPE_GATHER_VLA)
				length_base = side_ptr_get(
						arg->u.side_static.side_vla_gather.length_ptr);
			return walk_memory(walk, move + 1,
					side_ptr_get(arg->u.side_static.side_vla_gather.ptr),
					length_base);
		default: return walk_visitor(walk, move, arg);
		}
	}
}

bool filter_walk(const struct filter_run *run, const struct filter_op *op,
		struct filter_value *ret_value)
{
	const struct filter_move *move = filter_at(run->body, op->moves);
	struct filter_value_walk walk = {.run = run, .op = op, .value = ret_value};
	bool found;

	if (op->arg_index == UINT32_MAX)
		found = walk_dynamic_fields(&walk, move + 1, move->count, run->variadic);
	else
		found = filter_walk_arg(&walk, move, &run->args[op->arg_index]);
	if (!found)
		filter_set_none(ret_value);
	return found;
}
