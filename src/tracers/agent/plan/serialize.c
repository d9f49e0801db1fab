/* SPDX-License-Identifier: MIT */
/*
 * Arguments into bytes: the machine for argument cells.
 *
 * The compiler chooses one of three ways. plan_serialize_run() and plan_serialize_plain() are the
 * whole way of most events and have no calls and no state in memory; plan_serialize_any() does the
 * same operations and all others.
 */
#include <errno.h>

#include "tracers/agent/plan/bytes.h"
#include "tracers/agent/plan/op.h"
#include "tracers/agent/plan/plan.h"

static uint8_t *plan_write_args(struct plan_output *output, const struct plan_op *op,
		const struct plan_op *stop, const struct side_arg *arg, uint8_t *to);

static const void *plan_arg_pointer(const struct side_arg *arg)
{
	return side_ptr_get(arg->u.side_static.side_struct);
}

/* Scalars of one label and size, any number. */
static uint8_t *write_scalars(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *arg, uint32_t count, uint8_t *to)
{
	if (!plan_has_space(output, to, (uint64_t)count * op->size))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	switch (op->code) {
	case PLAN_SCALAR_0: to = plan_copy_args(0, op->label, arg, count, to); break;
	case PLAN_SCALAR_1: to = plan_copy_args(1, op->label, arg, count, to); break;
	case PLAN_SCALAR_2: to = plan_copy_args(2, op->label, arg, count, to); break;
	case PLAN_SCALAR_4: to = plan_copy_args(4, op->label, arg, count, to); break;
	case PLAN_SCALAR_8: to = plan_copy_args(8, op->label, arg, count, to); break;
	default: to = plan_copy_args(16, op->label, arg, count, to); break;
	}
	return to ? to : plan_fail(output, PLAN_REASON_ARGUMENT_LABEL);
}

/* Elements, all described by the operation `op`. */
static uint8_t *write_elements(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *arg, uint32_t count, uint8_t *to)
{
	if (op->code <= PLAN_SCALAR_16)
		return write_scalars(output, op, arg, count, to);
	for (; count && to; count--, arg++)
		to = plan_write_args(output, op, op + op->skip, arg, to);
	return to;
}

/* The arguments of a vector, NULL with the reason set when there are not `count` of them. */
static const struct side_arg *plan_vector_args(
		struct plan_output *output, const struct side_arg_vec *vector, uint32_t count)
{
	static const struct side_arg none;
	const struct side_arg *args = side_ptr_get(vector->sav);

	if (vector->len != count) {
		output->reason = PLAN_REASON_LENGTH;
		return NULL;
	}
	if (!count)
		return &none;
	if (!args)
		output->reason = PLAN_REASON_NULL_POINTER;
	return args;
}

static uint8_t *plan_serialize_write_struct(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *arg, uint8_t *to)
{
	const struct side_arg_vec *vector = plan_arg_pointer(arg);

	if (!vector)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	if (vector->len != op->count)
		return plan_fail(output, PLAN_REASON_ARGUMENT_COUNT);
	arg = plan_vector_args(output, vector, op->count);
	return arg ? plan_write_args(output, op + 1, op + op->skip, arg, to) : NULL;
}

static uint8_t *plan_serialize_write_array(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *arg, uint8_t *to)
{
	const struct side_arg_vec *vector = plan_arg_pointer(arg);

	if (!vector)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	arg = plan_vector_args(output, vector, op->count);
	return arg ? write_elements(output, op + 1, arg, op->count, to) : NULL;
}

static bool length_fits(const struct plan_op *op, uint32_t length)
{
	return op->width >= 4 || length >> (op->width * 8) == 0;
}

static uint8_t *plan_serialize_write_vla(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *arg, uint8_t *to)
{
	const struct side_arg_vec *vector = plan_arg_pointer(arg);
	uint32_t length;

	if (!vector)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	length = vector->len;
	if (!length_fits(op, length))
		return plan_fail(output, PLAN_REASON_LENGTH);
	arg = plan_vector_args(output, vector, length);
	if (!arg)
		return NULL;
	if (!plan_has_space(output, to, op->width))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	plan_store(to, length, op->width);
	return write_elements(output, op + 1, arg, length, to + op->width);
}

/* What the application's visitor hands back to us through its context. */
struct serialize_visit_state {
	struct plan_output *output;
	const struct plan_op *element;
	uint8_t *to; /* NULL after an error, with the reason in output */
	uint32_t length;
};

static enum side_visitor_status plan_serialize_visit_element(
		const struct side_tracer_visitor_ctx *context, const struct side_arg *arg)
{
	struct serialize_visit_state *state = context->priv;

	if (!state->to)
		return SIDE_VISITOR_STATUS_ERROR;
	if (!arg)
		state->to = plan_fail(state->output, PLAN_REASON_NULL_POINTER);
	else if (state->length == UINT32_MAX)
		state->to = plan_fail(state->output, PLAN_REASON_LENGTH);
	else
		state->to = write_elements(state->output, state->element, arg, 1, state->to);
	state->length++;
	return state->to ? SIDE_VISITOR_STATUS_OK : SIDE_VISITOR_STATUS_ERROR;
}

static uint8_t *write_vla_visitor(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *arg, uint8_t *to)
{
	const struct side_arg_vla_visitor *argument = plan_arg_pointer(arg);
	struct serialize_visit_state state = {output, op + 1, to + op->width, 0};
	const struct side_tracer_visitor_ctx context = {plan_serialize_visit_element, &state};

	if (!argument)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	if (!plan_has_space(output, to, op->width))
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
		const struct side_arg *arg, uint8_t *to)
{
	const struct side_arg_optional *optional = plan_arg_pointer(arg);

	if (!optional)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	if (!plan_has_space(output, to, 1))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	*to = optional->selector != SIDE_OPTIONAL_DISABLED;
	if (!*to++)
		return to;
	return plan_write_args(output, op + 1, op + op->skip, &optional->side_static, to);
}

/* Write the selector as its type, 128 bits as 64, and give its value as the ranges compare it. */
static uint8_t *write_selector(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *arg, int64_t *ret_selector, uint8_t *to)
{
	const uint8_t *from = (const uint8_t *)&arg->u;
	unsigned int size = op->size == 16 ? 8 : op->size;
	struct plan_integer value;

	if (arg->type.v != op->label)
		return plan_fail(output, PLAN_REASON_ARGUMENT_LABEL);
	if (!plan_has_space(output, to, size))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	value = plan_load_integer(op, from);
	*ret_selector = (int64_t)value.low;
	if (op->size == 16) {
		uint64_t high = op->flags & PLAN_SIGNED ? (uint64_t)(*ret_selector >> 63) : 0;

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
		const struct side_arg *arg, uint8_t *to)
{
	const struct side_arg_variant *variant = plan_arg_pointer(arg);
	const struct plan_op *option = op + 2, *stop = op + op->skip;
	int64_t selector;

	if (!variant)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	to = write_selector(output, op + 1, &variant->selector, &selector, to);
	if (!to)
		return NULL;
	for (; option != stop; option += option->skip) {
		if (selector >= option->begin && selector <= option->end)
			return plan_write_args(output, option + 1, option + option->skip,
					&variant->option, to);
	}
	return to; /* an unknown selector: recorded, without a value */
}

static uint8_t *write_gather(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *arg, uint8_t *to)
{
	const uint8_t *base = side_ptr_get(arg->u.side_static.side_struct_gather_ptr);
	const struct plan_op *inside = op + 1;

	if (op->skip == 1)
		return to; /* nothing to read */
	/* Only as a field has a VLA a second pointer; in a structure the length is in that. */
	if (op->label == SIDE_TYPE_GATHER_VLA)
		return plan_write_memory_vla(output, inside, base,
				side_ptr_get(arg->u.side_static.side_vla_gather.length_ptr), to);
	if (base)
		return plan_write_memory(output, inside, op + op->skip, base, to);
	/* The string itself is what is missing. */
	if (inside->code == PLAN_MEMORY_STRING && !(inside->flags & PLAN_POINTER) &&
			inside->offset == 0)
		return plan_write_null_string(output, to);
	return plan_fail(output, PLAN_REASON_NULL_POINTER);
}

/* Operations that make `width` bytes of the cell's value. */
static uint8_t *plan_serialize_write_converted(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *arg, uint8_t *to)
{
	const uint8_t *from = (const uint8_t *)&arg->u;
	uint16_t half;

	if (!plan_has_space(output, to, op->width))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	switch (op->code) {
	case PLAN_INTEGER:
		plan_store(to, plan_load_integer(op, from).low, op->size);
		return to + op->size;
	case PLAN_BOOL: *to = plan_load_integer(op, from).low != 0; return to + 1;
	default: /* PLAN_FLOAT16 */
		half = plan_load_16(from);
		plan_store_32(to,
				plan_widen_float16(op->flags & PLAN_SWAP ? __builtin_bswap16(half)
									 : half));
		return to + 4;
	}
}

static uint8_t *plan_serialize_write_string(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *arg, uint8_t *to)
{
	const uint8_t *from = side_ptr_get(arg->u.side_static.string_value);
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
		const struct side_arg *arg, uint8_t *to)
{
	const uint8_t *base = side_ptr_get(arg->u.side_static.side_struct_gather_ptr);

	if (!base)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	if (!plan_has_space(output, to, op->count))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	plan_copy(to, base + op->offset, op->count);
	return to + op->count;
}

static uint8_t *plan_write_arg(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *arg, uint8_t *to)
{
	if (op->code == PLAN_DYNAMIC)
		return plan_write_dynamic(output, arg, to);
	/* The count was checked against the plan.
	   NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	if (arg->type.v != op->label)
		return plan_fail(output, PLAN_REASON_ARGUMENT_LABEL);
	switch (op->code) {
	case PLAN_STRING:
	case PLAN_WIDE_STRING: return plan_serialize_write_string(output, op, arg, to);
	case PLAN_GATHER_COPY: return write_gather_copy(output, op, arg, to);
	case PLAN_STRUCT: return plan_serialize_write_struct(output, op, arg, to);
	case PLAN_ARRAY: return plan_serialize_write_array(output, op, arg, to);
	case PLAN_VLA: return plan_serialize_write_vla(output, op, arg, to);
	case PLAN_VLA_VISITOR: return write_vla_visitor(output, op, arg, to);
	case PLAN_OPTIONAL: return write_optional(output, op, arg, to);
	case PLAN_VARIANT: return write_variant(output, op, arg, to);
	case PLAN_GATHER: return write_gather(output, op, arg, to);
	default: return plan_serialize_write_converted(output, op, arg, to);
	}
}

static uint8_t *write_block(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *args, uint8_t *to)
{
	if (!plan_has_space(output, to, op->bytes))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	if (!plan_copy_block(op, args, to))
		return plan_fail(output, PLAN_REASON_ARGUMENT_LABEL);
	return to + op->bytes;
}

/* The operations op ... stop on the cells from `arg` on. */
static uint8_t *plan_write_args(struct plan_output *output, const struct plan_op *op,
		const struct plan_op *stop, const struct side_arg *arg, uint8_t *to)
{
	for (; op != stop && to; op += op->skip) {
		if (op->code > PLAN_BLOCK) {
			to = plan_write_arg(output, op, arg, to);
			arg++;
			continue;
		}
		if (op->code == PLAN_BLOCK)
			to = write_block(output, op, arg, to);
		else
			to = write_scalars(output, op, arg, op->count, to);
		arg += op->count;
	}
	return to;
}

static int plan_serialize_set_error(enum plan_reason why, enum plan_reason *ret_reason)
{
	if (ret_reason)
		*ret_reason = why;
	return why == PLAN_REASON_TOO_BIG ? -E2BIG : -EINVAL;
}

/* Plans with anything in them. */
ssize_t plan_serialize_any(const struct plan *plan, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *buffer, size_t capacity,
		enum plan_reason *ret_reason)
{
	const struct plan_body *body = (const struct plan_body *)plan;
	struct plan_output output = {(uint8_t *)buffer + capacity, NULL, PLAN_REASON_NONE};
	const struct side_arg *arg = arguments ? side_ptr_get(arguments->sav) : NULL;
	uint8_t *to = buffer;

	if ((arguments ? arguments->len : 0) != body->arg_count)
		to = plan_fail(&output, PLAN_REASON_ARGUMENT_COUNT);
	else if (body->arg_count && !arg)
		to = plan_fail(&output, PLAN_REASON_NULL_POINTER);
	else if (body->variadic && !variadic)
		to = plan_fail(&output, PLAN_REASON_ARGUMENT_COUNT);
	else
		to = plan_write_args(&output, body->ops, body->ops + body->op_count - 1, arg, to);
	if (to && body->variadic)
		to = plan_write_variadic(&output, variadic, to);
	return to ? to - (uint8_t *)buffer : plan_serialize_set_error(output.reason, ret_reason);
}

/* The last field of a plan that has a span; its cell is the last one. */
static uint8_t *plan_serialize_write_span(struct plan_output *output, const struct plan_op *op,
		const struct side_arg *arg, uint8_t *to, struct plan_span *ret_span)
{
	const uint8_t *base = side_ptr_get(arg->u.side_static.side_struct_gather_ptr);
	const uint8_t *length_base = base;

	if (arg->type.v != op->label)
		return plan_fail(output, PLAN_REASON_ARGUMENT_LABEL);
	if (op->code == PLAN_GATHER_COPY) {
		if (!base)
			return plan_fail(output, PLAN_REASON_NULL_POINTER);
		*ret_span = (struct plan_span){base + op->offset, op->count};
		return to;
	}
	if (op->label == SIDE_TYPE_GATHER_VLA)
		length_base = side_ptr_get(arg->u.side_static.side_vla_gather.length_ptr);
	return plan_write_memory_vla_span(output, op + 1, base, length_base, to, ret_span);
}

ssize_t plan_serialize_span(const struct plan *plan, const struct side_arg_vec *arguments,
		void *buffer, size_t capacity, struct plan_span *ret_span)
{
	const struct plan_body *body = (const struct plan_body *)plan;
	struct plan_output output = {(uint8_t *)buffer + capacity, NULL, PLAN_REASON_NONE};
	const struct side_arg *arg = arguments ? side_ptr_get(arguments->sav) : NULL;
	const struct plan_op *last = body->ops + body->span_at;
	uint8_t *to = buffer;

	if (!arg || arguments->len != body->arg_count)
		return -EINVAL;
	if (last != body->ops)
		to = plan_write_args(&output, body->ops, last, arg, to);
	if (to)
		to = plan_serialize_write_span(
				&output, last, arg + body->arg_count - 1, to, ret_span);
	return to ? to - (uint8_t *)buffer : plan_serialize_set_error(output.reason, NULL);
}

/* The arguments of a plan that has some: NULL when something is wrong with the vector. */
plan_inline const struct side_arg *plan_args(
		const struct plan_body *body, const struct side_arg_vec *arguments)
{
	if (__builtin_expect(!arguments || arguments->len != body->arg_count, 0))
		return NULL;
	return side_ptr_get(arguments->sav);
}

/* Plans of one run of scalars. */
#define DEFINE_SERIALIZE_RUN(bytes)                                                               \
	static ssize_t serialize_run_##bytes(const struct plan *plan,                             \
			const struct side_arg_vec *arguments,                                     \
			const struct side_arg_dynamic_struct *variadic, void *buffer,             \
			size_t capacity, enum plan_reason *ret_reason)                            \
	{                                                                                         \
		const struct plan_body *body = (const struct plan_body *)plan;                    \
		const struct side_arg *arg = plan_args(body, arguments);                          \
		uint32_t count = body->arg_count;                                                 \
                                                                                                  \
		if (__builtin_expect(!arg || capacity < (size_t)count * (bytes), 0))              \
			return plan_serialize_any(                                                \
					plan, arguments, variadic, buffer, capacity, ret_reason); \
		if (!plan_copy_args(bytes, body->ops[0].label, arg, count, buffer))               \
			return plan_serialize_set_error(PLAN_REASON_ARGUMENT_LABEL, ret_reason);  \
		return (ssize_t)count * (bytes);                                                  \
	}

DEFINE_SERIALIZE_RUN(1)
DEFINE_SERIALIZE_RUN(2)
DEFINE_SERIALIZE_RUN(4)
DEFINE_SERIALIZE_RUN(8)
DEFINE_SERIALIZE_RUN(16)

/* NULL: there is none for this code. */
plan_serialize_func plan_serialize_run(unsigned int code)
{
	switch (code) {
	case PLAN_SCALAR_1: return serialize_run_1;
	case PLAN_SCALAR_2: return serialize_run_2;
	case PLAN_SCALAR_4: return serialize_run_4;
	case PLAN_SCALAR_8: return serialize_run_8;
	case PLAN_SCALAR_16: return serialize_run_16;
	default: return NULL;
	}
}

/*
 * Plain plans: scalars, UTF-8 strings, and gathered memory without holes.
 *
 * Each operation has a step that ends in a jump to the step of the next operation, with everything
 * in registers. (Without optimisation these are calls; PLAN_STEPS_MAX bounds how deep.)
 */
#define STEP(name)                                                                      \
	ssize_t name(const struct plan_op *op, const struct side_arg *arg, uint8_t *to, \
			const uint8_t *last, uint8_t *start, enum plan_reason *ret_reason)

#define NEXT_STEP(op, arg, to) return (op)->step(op, arg, to, last, start, ret_reason)

/* One cell is the usual run, and then no loop is needed; more go the second way. */
#define STEP_RUN(bytes_each)                                                                     \
	static __attribute__((noinline)) STEP(step_args_##bytes_each)                            \
	{                                                                                        \
		if ((size_t)(last - to + 8) < op->bytes)                                         \
			return plan_serialize_set_error(PLAN_REASON_TOO_BIG, ret_reason);        \
		to = plan_copy_args(bytes_each, op->label, arg, op->count, to);                  \
		if (!to)                                                                         \
			return plan_serialize_set_error(PLAN_REASON_ARGUMENT_LABEL, ret_reason); \
		NEXT_STEP(op + 1, arg + op->count, to);                                          \
	}                                                                                        \
                                                                                                 \
	static STEP(step_run_##bytes_each)                                                       \
	{                                                                                        \
		if (op->count != 1 || (bytes_each) > 8 || to > last)                             \
			return step_args_##bytes_each(op, arg, to, last, start, ret_reason);     \
		if (__builtin_expect(arg->type.v != op->label, 0))                               \
			return step_wrong_label(op, arg, to, last, start, ret_reason);           \
		plan_copy_arg(bytes_each, arg, to);                                              \
		NEXT_STEP(op + 1, arg + 1, to + (bytes_each));                                   \
	}

/* Out of line, so that the steps need no stack. */
static __attribute__((noinline, cold)) STEP(step_wrong_label)
{
	(void)op, (void)arg, (void)to, (void)last, (void)start;
	return plan_serialize_set_error(PLAN_REASON_ARGUMENT_LABEL, ret_reason);
}

STEP_RUN(0)
STEP_RUN(1)
STEP_RUN(2)
STEP_RUN(4)
STEP_RUN(8)
STEP_RUN(16)

static STEP(step_block)
{
	if (__builtin_expect((size_t)(last - to + 8) < op->bytes, 0))
		return plan_serialize_set_error(PLAN_REASON_TOO_BIG, ret_reason);
	if (__builtin_expect(!plan_copy_block(op, arg, to), 0))
		return plan_serialize_set_error(PLAN_REASON_ARGUMENT_LABEL, ret_reason);
	NEXT_STEP(op + op->skip, arg + op->count, to + op->bytes);
}

/* Any string. */
static __attribute__((noinline)) STEP(step_long_string)
{
	const uint8_t *from = side_ptr_get(arg->u.side_static.string_value);

	if (__builtin_expect(arg->type.v != op->label, 0))
		return step_wrong_label(op, arg, to, last, start, ret_reason);
	if (!from)
		from = (const uint8_t *)"(null)";
	to = plan_copy_string(to, last + 8, from);
	if (!to)
		return plan_serialize_set_error(PLAN_REASON_TOO_BIG, ret_reason);
	NEXT_STEP(op + 1, arg + 1, to);
}

/* Up to 15 bytes without a loop; more begin again the long way. */
static STEP(step_string)
{
	const uint8_t *from = side_ptr_get(arg->u.side_static.string_value);
	const uint64_t *constants = plan_nul_constants;
	uint64_t nul;

	if (__builtin_expect(arg->type.v != op->label, 0))
		return step_wrong_label(op, arg, to, last, start, ret_reason);
	if (!from || to + 8 > last || !plan_same_page(from, 16))
		return step_long_string(op, arg, to, last, start, ret_reason);
	plan_pin(constants);
	nul = plan_copy_string_word(to, from, constants);
	if (nul)
		NEXT_STEP(op + 1, arg + 1, plan_behind_nul(to, nul));
	nul = plan_copy_string_word(to + 8, from + 8, constants);
	if (nul)
		NEXT_STEP(op + 1, arg + 1, plan_behind_nul(to + 8, nul));
	return step_long_string(op, arg, to, last, start, ret_reason);
}

static STEP(step_gather_copy)
{
	const uint8_t *from = side_ptr_get(arg->u.side_static.side_struct_gather_ptr);
	uint32_t count = op->count;

	if (__builtin_expect(arg->type.v != op->label, 0))
		return plan_serialize_set_error(PLAN_REASON_ARGUMENT_LABEL, ret_reason);
	if (__builtin_expect(!from, 0))
		return plan_serialize_set_error(PLAN_REASON_NULL_POINTER, ret_reason);
	if (__builtin_expect((size_t)(last - to + 8) < count, 0))
		return plan_serialize_set_error(PLAN_REASON_TOO_BIG, ret_reason);
	plan_copy(to, from + op->offset, count);
	NEXT_STEP(op + 1, arg + 1, to + count);
}

static STEP(step_end)
{
	(void)op, (void)arg, (void)last, (void)ret_reason;
	return to - start;
}

plan_step_func plan_step(unsigned int code)
{
	static const plan_step_func steps[PLAN_END + 1] = {
			[PLAN_END] = step_end,
			[PLAN_SCALAR_0] = step_run_0,
			[PLAN_SCALAR_1] = step_run_1,
			[PLAN_SCALAR_2] = step_run_2,
			[PLAN_SCALAR_4] = step_run_4,
			[PLAN_SCALAR_8] = step_run_8,
			[PLAN_SCALAR_16] = step_run_16,
			[PLAN_BLOCK] = step_block,
			[PLAN_STRING] = step_string,
			[PLAN_GATHER_COPY] = step_gather_copy,
	};

	if (code == PLAN_STRING &&
			(!PLAN_STRING_WORDS ||
					__atomic_load_n(&plan_strings_by_byte, __ATOMIC_RELAXED)))
		return step_long_string;
	return steps[code];
}

ssize_t plan_serialize_plain(const struct plan *plan, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *buffer, size_t capacity,
		enum plan_reason *ret_reason)
{
	const struct plan_body *body = (const struct plan_body *)plan;
	const struct side_arg *arg = plan_args(body, arguments);

	/* The steps count from the last place for a word, so there must be one. */
	if (__builtin_expect(!arg || capacity < 8, 0))
		return plan_serialize_any(plan, arguments, variadic, buffer, capacity, ret_reason);
	return body->ops[0].step(body->ops, arg, buffer, (uint8_t *)buffer + capacity - 8, buffer,
			ret_reason);
}
