/* SPDX-License-Identifier: MIT */
/*
 * Memory into bytes: the machine for gather types.
 *
 * Each operation reads at base + offset. The compiler has folded direct structures into their
 * parents and joined what lies side by side, so a gathered structure is mostly one copy.
 */
#include "tracers/agent/plan/bytes.h"
#include "tracers/agent/plan/op.h"

/* The address that an operation reads at, NULL only in pointer mode. */
plan_inline const uint8_t *address_of(const struct plan_op *op, const uint8_t *base)
{
	base += op->offset;
	return op->flags & PLAN_POINTER ? plan_load_pointer(base) : base;
}

static uint8_t *plan_memory_write_string(struct plan_output *output, const struct plan_op *op,
		const uint8_t *from, uint8_t *to)
{
	uint8_t *behind;

	if (!from)
		return plan_write_null_string(output, to);
	if (op->size != 1)
		return plan_write_wide_string(output, from, op->size, op->flags & PLAN_SWAP,
				&output->consumed, to);
	behind = plan_copy_string(to, output->end, from);
	if (!behind)
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	output->consumed = from + (behind - to);
	return behind;
}

static uint8_t *plan_memory_write_array(struct plan_output *output, const struct plan_op *op,
		const struct plan_op *stop, const uint8_t *base, uint32_t count, uint32_t stride,
		uint8_t *to)
{
	for (; count && to; count--, base += stride)
		to = plan_write_memory(output, op, stop, base, to);
	return to;
}

/*
 * Consecutive strings, or arrays of them. The end of an element is known after it has been read.
 * The offset of the element type is ignored.
 */
static uint8_t *write_strings(struct plan_output *output, const struct plan_op *op,
		const uint8_t *base, uint32_t count, uint8_t *to)
{
	const struct plan_op *element = op + 1;

	for (; count; count--) {
		to = plan_write_memory(output, element, element + element->skip, base, to);
		if (!to)
			return NULL;
		base = output->consumed - element->offset;
	}
	output->consumed = base;
	return to;
}

/* The length comes from its own base: that of the argument, or of the structure around. */
plan_inline uint8_t *write_length(struct plan_output *output, const struct plan_op *op,
		const uint8_t *length_base, uint8_t *to, uint32_t *ret_count)
{
	const struct plan_op *length_op = op + 1;
	const uint8_t *from;
	struct plan_integer length;

	if (!length_base)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	from = address_of(length_op, length_base);
	if (!from)
		return plan_fail(output, PLAN_REASON_NULL_POINTER);
	length = plan_load_integer(length_op, from);
	plan_pin(length.low);
	if (length.high || length.low > UINT32_MAX)
		return plan_fail(output, PLAN_REASON_LENGTH);
	*ret_count = (uint32_t)length.low;
	if (!plan_has_space(output, to, op->width))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	plan_store(to, *ret_count, op->width);
	return to + op->width;
}

/* Where the elements are, or NULL. */
plan_inline const uint8_t *elements_at(
		struct plan_output *output, const struct plan_op *op, const uint8_t *base)
{
	if (base)
		base = address_of(op, base);
	if (!base)
		output->reason = PLAN_REASON_NULL_POINTER;
	return base;
}

uint8_t *plan_write_memory_vla(struct plan_output *output, const struct plan_op *op,
		const uint8_t *base, const uint8_t *length_base, uint8_t *to)
{
	const struct plan_op *element = op + 2, *stop = op + op->skip;
	uint32_t count;

	to = write_length(output, op, length_base, to, &count);
	/* Nothing to read: then neither is there need for memory to read it from. */
	if (!to || !count || element == stop)
		return to;
	base = elements_at(output, op, base);
	if (!base)
		return NULL;
	if (op->flags & PLAN_STRINGS)
		return write_strings(output, op + 1, base, count, to);
	if (!(op->flags & PLAN_FLAT))
		return plan_memory_write_array(output, element, stop, base, count, op->stride, to);
	if (!plan_has_space(output, to, (uint64_t)count * op->stride))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	plan_copy(to, base + element->offset, (size_t)count * op->stride);
	return to + (size_t)count * op->stride;
}

uint8_t *plan_write_memory_vla_span(struct plan_output *output, const struct plan_op *op,
		const uint8_t *base, const uint8_t *length_base, uint8_t *to,
		struct plan_span *ret_span)
{
	uint32_t count;

	*ret_span = (struct plan_span){NULL, 0};
	to = write_length(output, op, length_base, to, &count);
	if (!to || !count)
		return to;
	base = elements_at(output, op, base);
	if (!base)
		return NULL;
	*ret_span = (struct plan_span){base + op[2].offset, (size_t)count * op->stride};
	return to;
}

/* Operations that write `width` bytes made of a value. */
static uint8_t *plan_memory_write_converted(struct plan_output *output, const struct plan_op *op,
		const uint8_t *from, uint8_t *to)
{
	uint16_t half;

	if (!plan_has_space(output, to, op->width))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	switch (op->code) {
	case PLAN_MEMORY_INTEGER: plan_store(to, plan_load_integer(op, from).low, op->size); break;
	case PLAN_MEMORY_BOOL: *to = plan_load_integer(op, from).low != 0; break;
	default: /* PLAN_MEMORY_FLOAT16 */
		half = plan_load_16(from);
		plan_pin(half);
		if (op->flags & PLAN_SWAP)
			half = __builtin_bswap16(half);
		plan_store_32(to, plan_widen_float16(half));
		break;
	}
	return to + op->width;
}

uint8_t *plan_write_memory(struct plan_output *output, const struct plan_op *op,
		const struct plan_op *stop, const uint8_t *base, uint8_t *to)
{
	for (; op != stop && to; op += op->skip) {
		const uint8_t *from = base + op->offset;

		switch (op->code) {
		case PLAN_MEMORY_COPY:
			if (!plan_has_space(output, to, op->count))
				return plan_fail(output, PLAN_REASON_TOO_BIG);
			plan_copy(to, from, op->count);
			to += op->count;
			break;
		case PLAN_MEMORY_STRING:
			to = plan_memory_write_string(output, op, address_of(op, base), to);
			break;
		case PLAN_MEMORY_DEREFERENCE:
			from = plan_load_pointer(from);
			if (!from)
				return plan_fail(output, PLAN_REASON_NULL_POINTER);
			to = plan_write_memory(output, op + 1, op + op->skip, from, to);
			break;
		case PLAN_MEMORY_ARRAY:
			to = plan_memory_write_array(output, op + 1, op + op->skip, from, op->count,
					op->stride, to);
			break;
		case PLAN_MEMORY_STRINGS_ARRAY:
			to = write_strings(output, op, from, op->count, to);
			break;
		case PLAN_MEMORY_VLA: to = plan_write_memory_vla(output, op, base, base, to); break;
		default: to = plan_memory_write_converted(output, op, from, to); break;
		}
	}
	return to;
}
