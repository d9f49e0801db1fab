/* SPDX-License-Identifier: MIT */
/*
 * What the unwinder's data says of each instruction of a function: where its frame begins, and whether its return address is
 * where calls put it. Read for that only, so rules of other registers are passed over.
 */
#include "parts.h"

#include <string.h>

#define RETURN_COLUMN 16
#define KEPT_MAX 8

/* Operations with their operand in their low bits. */
enum { ADVANCE = 1, OFFSET = 2, RESTORE = 3 };

enum {
	SET_LOCATION = 0x01,
	ADVANCE_1 = 0x02,
	ADVANCE_2 = 0x03,
	ADVANCE_4 = 0x04,
	OFFSET_EXTENDED = 0x05,
	RESTORE_EXTENDED = 0x06,
	UNDEFINED = 0x07,
	SAME_VALUE = 0x08,
	REGISTER = 0x09,
	REMEMBER = 0x0a,
	BRING_BACK = 0x0b,
	DEFINE = 0x0c,
	DEFINE_REGISTER = 0x0d,
	DEFINE_OFFSET = 0x0e,
	DEFINE_EXPRESSION = 0x0f,
	EXPRESSION = 0x10,
	OFFSET_SIGNED = 0x11,
	DEFINE_SIGNED = 0x12,
	DEFINE_OFFSET_SIGNED = 0x13,
	VALUE_OFFSET = 0x14,
	VALUE_OFFSET_SIGNED = 0x15,
	VALUE_EXPRESSION = 0x16,
	ARGUMENTS = 0x2e,
};

static uint64_t take(struct code_rows *rows, unsigned int width)
{
	uint64_t value;

	if (width > rows->size - rows->at) {
		rows->at = rows->size;
		rows->row.known = false;
		return 0;
	}
	value = code_read(rows->bytes + rows->at, width);
	rows->at += width;
	return value;
}

static uint64_t take_leb(struct code_rows *rows, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)take(rows, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return value;
}

static void pass(struct code_rows *rows, uint64_t size)
{
	if (size > rows->size - rows->at) {
		rows->row.known = false;
		size = rows->size - rows->at;
	}
	rows->at += (size_t)size;
}

static void saved_at(struct code_rows *rows, uint64_t reg, uint64_t offset)
{
	if (reg == RETURN_COLUMN)
		rows->row.returns = (int64_t)offset * rows->data_factor == -8;
}

/* Some other rule for a register. */
static void otherwise(struct code_rows *rows, uint64_t reg)
{
	if (reg == RETURN_COLUMN)
		rows->row.returns = false;
}

static void define(struct code_rows *rows, uint64_t reg, int64_t offset)
{
	rows->row.reg = (unsigned int)reg;
	rows->row.offset = offset;
	rows->row.known = true;
}

static void apply_frame(struct code_rows *rows, unsigned int operation)
{
	uint64_t reg;

	switch (operation) {
	case DEFINE:
		reg = take_leb(rows, false);
		define(rows, reg, (int64_t)take_leb(rows, false));
		break;
	case DEFINE_SIGNED:
		reg = take_leb(rows, false);
		define(rows, reg, (int64_t)take_leb(rows, true) * rows->data_factor);
		break;
	case DEFINE_REGISTER: rows->row.reg = (unsigned int)take_leb(rows, false); break;
	case DEFINE_OFFSET: rows->row.offset = (int64_t)take_leb(rows, false); break;
	case DEFINE_OFFSET_SIGNED:
		rows->row.offset = (int64_t)take_leb(rows, true) * rows->data_factor;
		break;
	case DEFINE_EXPRESSION:
		pass(rows, take_leb(rows, false));
		rows->row.known = false;
		break;
	case REMEMBER:
		if (rows->nr_kept < KEPT_MAX)
			rows->kept[rows->nr_kept] = rows->row;
		rows->nr_kept++;
		break;
	case BRING_BACK:
		if (!rows->nr_kept || --rows->nr_kept >= KEPT_MAX)
			rows->row.known = false;
		else
			rows->row = rows->kept[rows->nr_kept];
		break;
	default: break;
	}
}

static void apply(struct code_rows *rows, unsigned int operation)
{
	uint64_t reg;

	switch (operation) {
	case 0: break;
	case OFFSET_EXTENDED:
		reg = take_leb(rows, false);
		saved_at(rows, reg, take_leb(rows, false));
		break;
	case OFFSET_SIGNED:
		reg = take_leb(rows, false);
		saved_at(rows, reg, take_leb(rows, true));
		break;
	case RESTORE_EXTENDED:
		if (take_leb(rows, false) == RETURN_COLUMN)
			rows->row.returns = rows->initial.returns;
		break;
	case UNDEFINED:
	case SAME_VALUE: otherwise(rows, take_leb(rows, false)); break;
	case REGISTER:
	case VALUE_OFFSET:
	case VALUE_OFFSET_SIGNED:
		otherwise(rows, take_leb(rows, false));
		take_leb(rows, true);
		break;
	case EXPRESSION:
	case VALUE_EXPRESSION:
		otherwise(rows, take_leb(rows, false));
		pass(rows, take_leb(rows, false));
		break;
	case ARGUMENTS: take_leb(rows, false); break;
	case DEFINE:
	case DEFINE_REGISTER:
	case DEFINE_OFFSET:
	case DEFINE_EXPRESSION:
	case DEFINE_SIGNED:
	case DEFINE_OFFSET_SIGNED:
	case REMEMBER:
	case BRING_BACK: apply_frame(rows, operation); break;
	default:
		/* Nobody knows how long it is. */
		rows->at = rows->size;
		rows->row.known = false;
	}
}

static void apply_short(struct code_rows *rows, unsigned int kind, unsigned int operand)
{
	if (kind == OFFSET)
		saved_at(rows, operand, take_leb(rows, false));
	else if (kind == RESTORE && operand == RETURN_COLUMN)
		rows->row.returns = rows->initial.returns;
}

/* The place of which the next rules speak, if that is what the operation says. */
static bool moves(struct code_rows *rows, uint8_t operation, uint64_t *location)
{
	uint64_t by;

	if (operation >> 6 == ADVANCE)
		by = operation & 0x3f;
	else if (operation == ADVANCE_1)
		by = take(rows, 1);
	else if (operation == ADVANCE_2)
		by = take(rows, 2);
	else if (operation == ADVANCE_4)
		by = take(rows, 4);
	else
		return false;
	*location += by * rows->code_factor;
	return true;
}

const struct code_row *code_rows_at(struct code_rows *rows, uint64_t address)
{
	while (rows->at < rows->size) {
		size_t before = rows->at;
		uint8_t operation = (uint8_t)take(rows, 1);
		uint64_t location = rows->location;

		if (moves(rows, operation, &location)) {
			if (location > address) {
				rows->at = before;
				break;
			}
			rows->location = location;
		} else if (operation >> 6) {
			apply_short(rows, operation >> 6, operation & 0x3f);
		} else {
			apply(rows, operation);
		}
	}
	return &rows->row;
}

static const struct code_frame *find(const struct code_file *file, uint64_t address)
{
	size_t low = 0, high = file->nr_frames;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->frames[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - file->frames[low - 1].address >= file->frames[low - 1].size)
		return NULL;
	return &file->frames[low - 1];
}

static unsigned int pointer_bytes(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x02:
	case 0x0a: return 2;
	case 0x03:
	case 0x0b: return 4;
	default: return 8;
	}
}

/* To the rules of a CIE, whose form frames.c has seen to be right. */
static void read_head(struct code_rows *rows, bool *augmented)
{
	const char *text;
	uint8_t version;

	rows->pointer = 0;
	take(rows, 4);
	version = (uint8_t)take(rows, 1);
	text = (const char *)rows->bytes + rows->at;
	while (rows->at < rows->size && take(rows, 1))
		;
	rows->code_factor = take_leb(rows, false);
	rows->data_factor = (int64_t)take_leb(rows, true);
	if (version == 1)
		take(rows, 1);
	else
		take_leb(rows, false);
	*augmented = *text == 'z';
	if (*augmented) {
		size_t end = (size_t)take_leb(rows, false);

		end = end > rows->size - rows->at ? rows->size : rows->at + end;
		for (text++; *text && rows->at < end; text++) {
			uint8_t encoding = *text == 'L' || *text == 'R' || *text == 'P'
					? (uint8_t)take(rows, 1)
					: 0;

			rows->pointer = *text == 'R' ? encoding : rows->pointer;
			if (*text == 'P')
				pass(rows, pointer_bytes(encoding));
		}
		rows->at = end;
	}
}

bool code_rows_open(const struct code_file *file, uint64_t address, struct code_rows *rows)
{
	const struct code_frame *frame = find(file, address);
	bool augmented;

	memset(rows, 0, sizeof(*rows));
	if (!frame)
		return false;
	rows->bytes = file->frame_bytes;
	rows->at = frame->cie;
	rows->size = frame->cie + (size_t)code_read(rows->bytes + frame->cie - 4, 4);
	read_head(rows, &augmented);
	code_rows_at(rows, 0);
	rows->initial = rows->row;
	rows->location = frame->address;
	rows->at = frame->fde;
	rows->size = frame->fde + (size_t)code_read(rows->bytes + frame->fde - 4, 4);
	take(rows, 4);
	take(rows, pointer_bytes(rows->pointer));
	take(rows, pointer_bytes(rows->pointer));
	if (augmented)
		pass(rows, take_leb(rows, false));
	return true;
}
