/* SPDX-License-Identifier: MIT */
/*
 * The array of operations while it grows, and the checks of scalar types.
 */
#include <errno.h>
#include <string.h>

#include "tracers/agent/plan/build.h"

int plan_refuse(struct plan_builder *builder, int error, const char *message)
{
	if (!builder->message)
		builder->message = message;
	return -error;
}

static void plan_build_store_op(struct plan_builder *builder, uint32_t at, const struct plan_op *op)
{
	builder->last = *op;
	builder->last.skip = 1;
	if (op->code <= PLAN_SCALAR_16)
		builder->last.bytes = op->count * op->size;
	if (builder->ops)
		builder->ops[at] = builder->last;
}

/* Runs of scalars of one kind, memory side by side: one operation. */
static bool plan_build_merge_op(struct plan_builder *builder, const struct plan_op *op)
{
	struct plan_op joined = builder->last;

	if (builder->last_at == UINT32_MAX || joined.code != op->code)
		return false;
	if (op->code <= PLAN_SCALAR_16) {
		if (joined.label != op->label)
			return false;
	} else if (op->code != PLAN_MEMORY_COPY || joined.offset + joined.count != op->offset) {
		return false;
	}
	if (op->count > UINT32_MAX / 16 - joined.count)
		return false;
	joined.count += op->count;
	plan_build_store_op(builder, builder->last_at, &joined);
	return true;
}

int plan_push(struct plan_builder *builder, const struct plan_op *op)
{
	if (plan_build_merge_op(builder, op))
		return 0;
	if (builder->count >= builder->capacity)
		return plan_refuse(builder, E2BIG, "there are too many types");
	builder->last_at = builder->count++;
	if (builder->count > builder->peak)
		builder->peak = builder->count;
	plan_build_store_op(builder, builder->last_at, op);
	return 0;
}

int plan_open(struct plan_builder *builder, const struct plan_op *op, uint32_t *ret_index)
{
	int error;

	*ret_index = builder->count;
	if (builder->depth++ >= PLAN_DEPTH_MAX)
		return plan_refuse(builder, E2BIG, "types are nested too deeply");
	builder->last_at = UINT32_MAX;
	error = plan_push(builder, op);
	builder->last_at = UINT32_MAX;
	return error;
}

void plan_close(struct plan_builder *builder, uint32_t at)
{
	builder->depth--;
	builder->last_at = UINT32_MAX;
	if (builder->ops)
		builder->ops[at].skip = builder->count - at;
}

int plan_collapse(struct plan_builder *builder, uint32_t at, const struct plan_op *op)
{
	builder->depth--;
	builder->last_at = UINT32_MAX;
	builder->count = at;
	return op ? plan_push(builder, op) : 0;
}

bool plan_has_single(const struct plan_builder *builder, uint32_t at)
{
	return builder->count == at + 2 && builder->last_at == at + 1;
}

static int describe_bits(struct plan_builder *builder, unsigned int size, unsigned int bits,
		unsigned int offset_bits, bool swap, struct plan_op *op, bool *ret_partial)
{
	unsigned int width = size * 8;

	if (!bits)
		bits = width;
	if (bits + offset_bits > width)
		return plan_refuse(builder, EINVAL, "its bits do not fit its storage");
	*ret_partial = (bits != width || offset_bits) && size != 16;
	op->size = (uint8_t)size;
	op->shift = (uint8_t)offset_bits;
	op->bits = (uint8_t)bits;
	op->flags = swap ? PLAN_SWAP : 0;
	op->width = (uint8_t)size;
	return 0;
}

int plan_describe_integer(struct plan_builder *builder, const struct side_type_integer *type,
		unsigned int offset_bits, struct plan_op *op, bool *ret_partial)
{
	unsigned int size = type->integer_size;
	int error;

	if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16)
		return plan_refuse(builder, EINVAL, "integers have 1, 2, 4, 8 or 16 bytes");
	if (type->byte_order.v > SIDE_TYPE_BYTE_ORDER_BE)
		return plan_refuse(builder, EINVAL, "its byte order is unknown");
	error = describe_bits(builder, size, type->len_bits, offset_bits,
			type->byte_order.v != SIDE_TYPE_BYTE_ORDER_HOST, op, ret_partial);
	if (type->signedness)
		op->flags |= PLAN_SIGNED;
	return error;
}

/* A bool is copied when it is one whole byte. */
int plan_describe_bool(struct plan_builder *builder, const struct side_type_bool *type,
		unsigned int offset_bits, struct plan_op *op, bool *ret_partial)
{
	unsigned int size = type->bool_size;
	int error;

	if (size != 1 && size != 2 && size != 4 && size != 8)
		return plan_refuse(builder, EINVAL, "booleans have 1, 2, 4 or 8 bytes");
	if (type->byte_order.v > SIDE_TYPE_BYTE_ORDER_BE)
		return plan_refuse(builder, EINVAL, "its byte order is unknown");
	error = describe_bits(builder, size, type->len_bits, offset_bits,
			type->byte_order.v != SIDE_TYPE_BYTE_ORDER_HOST, op, ret_partial);
	if (error)
		return error;
	op->width = 1;
	*ret_partial = *ret_partial || size != 1;
	return 0;
}

int plan_check_float(struct plan_builder *builder, const struct side_type_float *type)
{
	unsigned int size = type->float_size;

	if (size != 2 && size != 4 && size != 8 && size != 16)
		return plan_refuse(builder, EINVAL, "floats have 2, 4, 8 or 16 bytes");
	if (type->byte_order.v > SIDE_TYPE_BYTE_ORDER_BE)
		return plan_refuse(builder, EINVAL, "its byte order is unknown");
	return 0;
}

int plan_check_string(struct plan_builder *builder, const struct side_type_string *type)
{
	if (type->unit_size != 1 && type->unit_size != 2 && type->unit_size != 4)
		return plan_refuse(builder, EINVAL, "strings have units of 1, 2 or 4 bytes");
	if (type->byte_order.v > SIDE_TYPE_BYTE_ORDER_BE)
		return plan_refuse(builder, EINVAL, "its byte order is unknown");
	return 0;
}
