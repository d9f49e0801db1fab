/* SPDX-License-Identifier: MIT */
/*
 * Writes displaced instructions of x86-64 for another address. It needs no decoder: the site
 * describes the instructions.
 */
#include "copy.h"

#include <errno.h>
#include <string.h>

struct code_writer {
	uint8_t *bytes;
	size_t at;
	uint64_t address; /* of bytes[0] */
	bool far;
};

static void x86_copy_emit(struct code_writer *writer, const void *bytes, size_t size)
{
	memcpy(writer->bytes + writer->at, bytes, size);
	writer->at += size;
}

static void x86_copy_emit_byte(struct code_writer *writer, uint8_t byte)
{
	x86_copy_emit(writer, &byte, 1);
}

/*
 * Returns the distance from the end of the instruction to `to`. The distance is a field of 4 bytes,
 * followed by `after` more bytes of the instruction.
 */
static int32_t x86_copy_displacement(
		struct code_writer *writer, size_t field, size_t after, uint64_t to)
{
	int64_t away = (int64_t)(to - (writer->address + field + 4 + after));

	writer->far |= away != (int32_t)away;
	return (int32_t)away;
}

static void x86_copy_emit_distance(struct code_writer *writer, uint64_t to)
{
	int32_t away = x86_copy_displacement(writer, writer->at, 0, to);

	x86_copy_emit(writer, &away, 4);
}

static void x86_copy_emit_jump(struct code_writer *writer, uint64_t to)
{
	x86_copy_emit_byte(writer, 0xe9);
	x86_copy_emit_distance(writer, to);
}

/* Pushes a value without changing flags or registers. */
static void x86_copy_emit_push(struct code_writer *writer, uint64_t value)
{
	uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32);

	x86_copy_emit_byte(writer, 0x68); /* push $low */
	x86_copy_emit(writer, &low, 4);
	if ((uint64_t)(int64_t)(int32_t)low == value)
		return;
	x86_copy_emit(writer, "\xc7\x44\x24\x04", 4); /* movl $high, 4(%rsp) */
	x86_copy_emit(writer, &high, 4);
}

static void x86_copy_emit_relative(struct code_writer *writer, const struct probe_piece *piece,
		const uint8_t *bytes, uint64_t to)
{
	size_t begin = writer->at;
	int32_t away;

	x86_copy_emit(writer, bytes, piece->length);
	if (piece->field) {
		away = x86_copy_displacement(writer, begin + piece->field,
				piece->length - piece->field - 4u, to);
		memcpy(writer->bytes + begin + piece->field, &away, 4);
	}
}

static void x86_copy_emit_piece(struct code_writer *writer, const struct probe_site *site,
		const struct probe_piece *piece)
{
	const uint8_t *bytes = site->bytes + piece->at;
	uint64_t to = piece->target + (site->runtime - site->address);
	uint64_t after = site->runtime + piece->at + piece->length;
	size_t begin;

	switch (piece->kind) {
	case PROBE_RELATIVE: x86_copy_emit_relative(writer, piece, bytes, to); break;
	case PROBE_BRANCH: x86_copy_emit_jump(writer, to); break;
	case PROBE_BRANCH_IF:
		x86_copy_emit_byte(writer, 0x0f);
		x86_copy_emit_byte(writer, 0x80 | piece->detail);
		x86_copy_emit_distance(writer, to);
		break;
	case PROBE_COUNTER:
		/* If the counter's branch is not taken, a short jump skips the long one. */
		x86_copy_emit(writer, bytes, piece->length - 1u);
		x86_copy_emit(writer, "\x02\xeb\x05", 3);
		x86_copy_emit_jump(writer, to);
		break;
	case PROBE_CALL:
		x86_copy_emit_push(writer, after);
		x86_copy_emit_jump(writer, to);
		break;
	case PROBE_CALL_INDIRECT:
		/*
		 * The copy differs from the original in two cases only: if the call itself faults,
		 * its return address is on the stack already; and it must not read its target
		 * directly below the stack. Compilers generate no such calls, and `rsp` as a base
		 * is refused.
		 */
		x86_copy_emit_push(writer, after);
		begin = writer->at;
		x86_copy_emit_relative(writer, piece, bytes, to);
		/* Change the call to a jump. */
		writer->bytes[begin + piece->detail] =
				(uint8_t)((writer->bytes[begin + piece->detail] & ~0x38) | 0x20);
		break;
	default: x86_copy_emit(writer, bytes, piece->length); break;
	}
}

int probe_copy(const struct probe_site *site, uint64_t at, uint8_t ret_copy[PROBE_COPY_MAX],
		uint8_t ret_map[PROBE_PIECES_MAX + 1])
{
	struct code_writer writer = {.bytes = ret_copy, .address = at};

	for (unsigned int i = 0; i < site->nr_pieces; i++) {
		ret_map[i] = (uint8_t)writer.at;
		x86_copy_emit_piece(&writer, site, &site->pieces[i]);
	}
	ret_map[site->nr_pieces] = (uint8_t)writer.at;
	if (!site->ends)
		x86_copy_emit_jump(&writer, site->runtime + site->displaced);
	return writer.far ? -ERANGE : (int)writer.at;
}
