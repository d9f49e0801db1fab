/* SPDX-License-Identifier: MIT */
/*
 * Arguments into bytes: the machine for argument cells.
 *
 * plan_serialize_reason() is the whole way of most events: runs of scalars, UTF-8 strings, gathered
 * memory without holes. It has no calls and no state in memory. Events with anything else take
 * serialize_slow(), which does the same operations and all others.
 */
#include <errno.h>

#include "agent/plan/bytes.h"
#include "agent/plan/op.h"

static uint8_t *write_cells(struct plan_output *output, const struct plan_op *op,
		const struct plan_op *stop, const struct side_arg *cell, uint8_t *to);

static const void *cell_pointer(const struct side_arg *cell)
{
	return side_ptr_get(cell->u.side_static.side_struct);
}

/* Scalars of one label and size, any number. */
static uint8_t *write_scalars(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint32_t count, uint8_t *to)
{
	if (!plan_room(output, to, (uint64_t) count * op->size))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	switch (op->code) {
	case PLAN_SCALAR_0: to = plan_copy_cells(0, op->label, cell, count, to); break;
	case PLAN_SCALAR_1: to = plan_copy_cells(1, op->label, cell, count, to); break;
	case PLAN_SCALAR_2: to = plan_copy_cells(2, op->label, cell, count, to); break;
	case PLAN_SCALAR_4: to = plan_copy_cells(4, op->label, cell, count, to); break;
	case PLAN_SCALAR_8: to = plan_copy_cells(8, op->label, cell, count, to); break;
	default: to = plan_copy_cells(16, op->label, cell, count, to); break;
	}
	return to ? to : plan_fail(output, PLAN_REASON_ARGUMENT_LABEL);
}

/* Elements, all described by the operation `op`. */
static uint8_t *write_elements(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint32_t count, uint8_t *to)
{
	if (op->code <= PLAN_SCALAR_16)
		return write_scalars(output, op, cell, count, to);
	for (; count && to; count--, cell++)
		to = write_cells(output, op, op + op->skip, cell, to);
	return to;
}

/* The arguments of a vector, NULL with the reason set when there are not `count` of them. */
static const struct side_arg *vector_cells(
		struct plan_output *output, const struct side_arg_vec *vector, uint32_t count)
{
	static const struct side_arg none;
	const struct side_arg *cells = side_ptr_get(vector->sav);

	if (vector->len != count) {
		output->reason = PLAN_REASON_LENGTH;
		return NULL;
	}
	if (!count)
		return &none;
	if (!cells)
		output->reason = PLAN_REASON_NULL_POINTER;
	return cells;
}

static uint8_t *write_struct(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint8_t *to)
{
	const struct side_arg_vec *vector = cell_pointer(cell);

	if (!vector)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	if (vector->len != op->count)
		return plan_fail(output, PLAN_REASON_ARGUMENT_COUNT);
	cell = vector_cells(output, vector, op->count);
	return cell ? write_cells(output, op + 1, op + op->skip, cell, to) : NULL;
}

static uint8_t *write_array(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint8_t *to)
{
	const struct side_arg_vec *vector = cell_pointer(cell);

	if (!vector)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	cell = vector_cells(output, vector, op->count);
	return cell ? write_elements(output, op + 1, cell, op->count, to) : NULL;
}

static bool length_fits(const struct plan_op *op, uint32_t length)
{
	return op->width >= 4 || length >> (op->width * 8) == 0;
}

static uint8_t *write_vla(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint8_t *to)
{
	const struct side_arg_vec *vector = cell_pointer(cell);
	uint32_t length;

	if (!vector)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	length = vector->len;
	if (!length_fits(op, length))
		return plan_fail(output, PLAN_REASON_LENGTH);
	cell = vector_cells(output, vector, length);
	if (!cell)
		return NULL;
	if (!plan_room(output, to, op->width))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	plan_store(to, length, op->width);
	return write_elements(output, op + 1, cell, length, to + op->width);
}

/* What the application's visitor hands back to us through its context. */
struct visit_state {
	struct plan_output *output;
	const struct plan_op *element;
	uint8_t *to; /* NULL after an error, with the reason in output */
	uint32_t length;
};

static enum side_visitor_status visit_element(
		const struct side_tracer_visitor_ctx *context, const struct side_arg *cell)
{
	struct visit_state *state = context->priv;

	if (!state->to)
		return SIDE_VISITOR_STATUS_ERROR;
	if (!cell)
		state->to = plan_fail(state->output, PLAN_REASON_NULL_POINTER);
	else if (state->length == UINT32_MAX)
		state->to = plan_fail(state->output, PLAN_REASON_LENGTH);
	else
		state->to = write_elements(state->output, state->element, cell, 1, state->to);
	state->length++;
	return state->to ? SIDE_VISITOR_STATUS_OK : SIDE_VISITOR_STATUS_ERROR;
}

static uint8_t *write_vla_visitor(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint8_t *to)
{
	const struct side_arg_vla_visitor *argument = cell_pointer(cell);
	struct visit_state state = { output, op + 1, to + op->width, 0 };
	const struct side_tracer_visitor_ctx context = { visit_element, &state };

	if (!argument)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	if (!plan_room(output, to, op->width))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	if (op->visitor(&context, side_ptr_get(argument->app_ctx)) != SIDE_VISITOR_STATUS_OK &&
			state.to)
		return plan_fail(output, PLAN_REASON_VISITOR);
	/* An error of ours counts even if the visitor did not care. */
	if (!state.to)
		return NULL;
	if (!length_fits(op, state.length))
		return plan_fail(output, PLAN_REASON_LENGTH);
	plan_store(to, state.length, op->width);
	return state.to;
}

static uint8_t *write_optional(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint8_t *to)
{
	const struct side_arg_optional *optional = cell_pointer(cell);

	if (!optional)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	if (!plan_room(output, to, 1))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	*to = optional->selector != SIDE_OPTIONAL_DISABLED;
	if (!*to++)
		return to;
	return write_cells(output, op + 1, op + op->skip, &optional->side_static, to);
}

/* Write the selector as its type, 128 bits as 64, and give its value as the ranges compare it. */
static uint8_t *write_selector(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, int64_t *selector, uint8_t *to)
{
	const uint8_t *from = (const uint8_t *) &cell->u;
	unsigned int size = op->size == 16 ? 8 : op->size;
	struct plan_integer value;

	if (cell->type.v != op->label)
		return plan_fail(output, PLAN_REASON_ARGUMENT_LABEL);
	if (!plan_room(output, to, size))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	value = plan_load_integer(op, from);
	*selector = (int64_t) value.low;
	if (op->size == 16) {
		uint64_t high = op->flags & PLAN_SIGNED ? (uint64_t) (*selector >> 63) : 0;

		if (value.high != high)
			return plan_fail(output, PLAN_REASON_SELECTOR);
		plan_store_64(to, value.low);
	} else if (op->code == PLAN_INTEGER) {
		plan_store(to, value.low, size);
	} else {
		plan_store(to, plan_load(from, size, false), size);
	}
	return to + size;
}

static uint8_t *write_variant(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint8_t *to)
{
	const struct side_arg_variant *variant = cell_pointer(cell);
	const struct plan_op *option = op + 2, *stop = op + op->skip;
	int64_t selector;

	if (!variant)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	to = write_selector(output, op + 1, &variant->selector, &selector, to);
	if (!to)
		return NULL;
	for (; option != stop; option += option->skip) {
		if (selector >= option->begin && selector <= option->end)
			return write_cells(output, option + 1, option + option->skip,
					&variant->option, to);
	}
	return to; /* an unknown selector: recorded, without a value */
}

static uint8_t *write_gather(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint8_t *to)
{
	const uint8_t *base = side_ptr_get(cell->u.side_static.side_struct_gather_ptr);
	const struct plan_op *inside = op + 1;

	if (op->skip == 1)
		return to; /* nothing to read */
	if (inside->code == PLAN_MEMORY_VLA)
		return plan_write_memory_vla(output, inside, base,
				side_ptr_get(cell->u.side_static.side_vla_gather.length_ptr), to);
	if (base)
		return plan_write_memory(output, inside, op + op->skip, base, to);
	/* The string itself is what is missing. */
	if (inside->code == PLAN_MEMORY_STRING && !(inside->flags & PLAN_POINTER) &&
			inside->offset == 0)
		return plan_write_null_string(output, to);
	return plan_fail(output, PLAN_REASON_NULL_POINTER);
}

/* Operations that make `width` bytes of the cell's value. */
static uint8_t *write_converted(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint8_t *to)
{
	const uint8_t *from = (const uint8_t *) &cell->u;
	uint16_t half;

	if (!plan_room(output, to, op->width))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	switch (op->code) {
	case PLAN_INTEGER:
		plan_store(to, plan_load_integer(op, from).low, op->size);
		return to + op->size;
	case PLAN_BOOL:
		*to = plan_load_integer(op, from).low != 0;
		return to + 1;
	default: /* PLAN_FLOAT16 */
		half = plan_load_16(from);
		plan_store_32(to,
				plan_widen_float16(op->flags & PLAN_SWAP ? __builtin_bswap16(half)
									 : half));
		return to + 4;
	}
}

static uint8_t *write_string(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint8_t *to)
{
	const uint8_t *from = side_ptr_get(cell->u.side_static.string_value);
	const uint8_t *consumed;

	if (!from)
		return plan_write_null_string(output, to);
	if (op->code == PLAN_WIDE_STRING)
		return plan_write_wide_string(
				output, from, op->size, op->flags & PLAN_SWAP, &consumed, to);
	to = plan_copy_string(to, output->end, from);
	return to ? to : plan_fail(output, PLAN_REASON_TOO_BIG);
}

static uint8_t *write_gather_copy(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint8_t *to)
{
	const uint8_t *base = side_ptr_get(cell->u.side_static.side_struct_gather_ptr);

	if (!base)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	if (!plan_room(output, to, op->count))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	plan_copy(to, base + op->offset, op->count);
	return to + op->count;
}

static uint8_t *write_cell(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *cell, uint8_t *to)
{
	if (op->code == PLAN_DYNAMIC)
		return plan_write_dynamic(output, cell, to);
	if (cell->type.v != op->label)
		return plan_fail(output, PLAN_REASON_ARGUMENT_LABEL);
	switch (op->code) {
	case PLAN_STRING:
	case PLAN_WIDE_STRING: return write_string(output, op, cell, to);
	case PLAN_GATHER_COPY: return write_gather_copy(output, op, cell, to);
	case PLAN_STRUCT: return write_struct(output, op, cell, to);
	case PLAN_ARRAY: return write_array(output, op, cell, to);
	case PLAN_VLA: return write_vla(output, op, cell, to);
	case PLAN_VLA_VISITOR: return write_vla_visitor(output, op, cell, to);
	case PLAN_OPTIONAL: return write_optional(output, op, cell, to);
	case PLAN_VARIANT: return write_variant(output, op, cell, to);
	case PLAN_GATHER: return write_gather(output, op, cell, to);
	default: return write_converted(output, op, cell, to);
	}
}

/* The operations op ... stop on the cells from `cell` on. */
static uint8_t *write_cells(struct plan_output *output, const struct plan_op *op,
		const struct plan_op *stop, const struct side_arg *cell, uint8_t *to)
{
	for (; op != stop && to; op += op->skip) {
		if (op->code <= PLAN_SCALAR_16) {
			to = write_scalars(output, op, cell, op->count, to);
			cell += op->count;
		} else {
			to = write_cell(output, op, cell, to);
			cell++;
		}
	}
	return to;
}

/* From the beginning: also for plain plans with something unusual in them, as a NULL string. */
static __attribute__((noinline)) ssize_t serialize_slow(const struct plan *plan,
		const struct side_arg_vec *arguments, const struct side_arg_dynamic_struct *variadic,
		void *buffer, size_t capacity, enum plan_reason *reason)
{
	struct plan_output output = { (uint8_t *) buffer + capacity, NULL, PLAN_REASON_NONE };
	const struct side_arg *cell = arguments ? side_ptr_get(arguments->sav) : NULL;
	uint8_t *to = buffer;

	if ((arguments ? arguments->len : 0) != plan->cell_count)
		to = plan_fail(&output, PLAN_REASON_ARGUMENT_COUNT);
	else if (plan->cell_count && !cell)
		to = plan_fail(&output, PLAN_REASON_NULL_POINTER);
	else if (plan->variadic && !variadic)
		to = plan_fail(&output, PLAN_REASON_ARGUMENT_COUNT);
	else
		to = write_cells(&output, plan->ops, plan->ops + plan->op_count - 1, cell, to);
	if (to && plan->variadic)
		to = plan_write_variadic(&output, variadic, to);
	if (to)
		return to - (uint8_t *) buffer;
	if (reason)
		*reason = output.reason;
	return output.reason == PLAN_REASON_TOO_BIG ? -E2BIG : -EINVAL;
}

/* Room for a run of scalars, the run, the cells behind it. */
#define COPY_RUN(bytes)                                                                            \
	do {                                                                                       \
		uint32_t count = op->count;                                                        \
                                                                                                   \
		if ((size_t) (end - to) < (size_t) count * (bytes))                                \
			goto slow;                                                                 \
		to = plan_copy_cells(bytes, op->label, cell, count, to);                           \
		if (!to)                                                                           \
			goto slow;                                                                 \
		cell += count;                                                                     \
	} while (0)

ssize_t plan_serialize_reason(const struct plan *plan, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *buffer, size_t capacity,
		enum plan_reason *reason)
{
	const struct plan_op *op = plan->ops;
	const uint8_t *end = (uint8_t *) buffer + capacity;
	const struct side_arg *cell;
	const uint8_t *from;
	uint8_t *to = buffer;

	/* Whatever is wrong or unusual is done, or found, again by the slow way. */
	if (!plan->plain || !arguments || arguments->len != plan->cell_count)
		goto slow;
	cell = side_ptr_get(arguments->sav);
	if (!cell)
		goto slow;
	for (;; op++) {
		switch (op->code) {
		case PLAN_END: return to - (uint8_t *) buffer;
		case PLAN_SCALAR_0: COPY_RUN(0); break;
		case PLAN_SCALAR_1: COPY_RUN(1); break;
		case PLAN_SCALAR_2: COPY_RUN(2); break;
		case PLAN_SCALAR_4: COPY_RUN(4); break;
		case PLAN_SCALAR_8: COPY_RUN(8); break;
		case PLAN_SCALAR_16: COPY_RUN(16); break;
		case PLAN_STRING:
			from = side_ptr_get(cell->u.side_static.string_value);
			if (cell->type.v != op->label || !from)
				goto slow;
			to = plan_copy_string(to, end, from);
			if (!to)
				goto slow;
			cell++;
			break;
		default: /* PLAN_GATHER_COPY */
			from = side_ptr_get(cell->u.side_static.side_struct_gather_ptr);
			if (cell->type.v != op->label || !from || (size_t) (end - to) < op->count)
				goto slow;
			plan_copy(to, from + op->offset, op->count);
			to += op->count;
			cell++;
			break;
		}
	}
slow:
	return serialize_slow(plan, arguments, variadic, buffer, capacity, reason);
}
