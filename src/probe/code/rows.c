/* SPDX-License-Identifier: MIT */
/*
 * Interprets the unwind data of a function for each instruction: the base of its frame, whether the
 * return address is in its usual position, and the position of the caller's frame pointer. Rules
 * for other registers are skipped.
 */
#include "rows.h"

#define FRAME_POINTER 6
#define STACK_POINTER 7
#define RETURN_COLUMN 16

/* Operations with an operand in their low bits. */
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
	REMEMBER_STATE = 0x0a,
	RESTORE_STATE = 0x0b,
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

/* Operations of expressions. */
enum {
	DEREFERENCE = 0x06,
	REGISTER_AND = 0x70, /* plus the register's number */
};

#define SLOT_EXPRESSION_BYTES 11
#define LITERAL 0x30

static uint64_t rows_take_leb(struct code_rows *rows)
{
	return code_take_leb(&rows->rules, false);
}

static int64_t rows_take_signed_leb(struct code_rows *rows)
{
	return (int64_t)code_take_leb(&rows->rules, true);
}

static void rows_set_saved(struct code_rows *rows, uint64_t reg, int64_t factored)
{
	int64_t offset = factored * rows->data_factor;

	if (reg == RETURN_COLUMN) {
		rows->row.returns = offset == -8;
		rows->row.last = false;
	} else if (reg == FRAME_POINTER) {
		rows->row.frame_pointer = CODE_AT_FRAME;
		rows->row.frame_pointer_at = offset;
	}
}

/* Applies any other rule for a register. */
static void rows_set_other(struct code_rows *rows, uint64_t reg, enum code_saved saved)
{
	if (reg == RETURN_COLUMN)
		rows->row.returns = false;
	else if (reg == FRAME_POINTER)
		rows->row.frame_pointer = saved;
}

static void rows_restore_register(struct code_rows *rows, uint64_t reg)
{
	if (reg == RETURN_COLUMN) {
		rows->row.returns = rows->initial.returns;
		rows->row.last = rows->initial.last;
	} else if (reg == FRAME_POINTER) {
		rows->row.frame_pointer = rows->initial.frame_pointer;
		rows->row.frame_pointer_at = rows->initial.frame_pointer_at;
	}
}

static void rows_define_base(struct code_rows *rows, uint64_t reg, int64_t offset)
{
	rows->row.reg = (unsigned int)reg;
	rows->row.offset = offset;
	rows->row.base = CODE_BASE_PLAIN;
}

/* Reads the length and the expression, and moves the cursor after it. */
static struct code_cursor rows_take_expression(struct code_rows *rows)
{
	uint64_t size = rows_take_leb(rows);
	struct code_cursor inner = rows->rules;

	code_skip(&rows->rules, size);
	inner.bad |= rows->rules.bad;
	inner.size = rows->rules.at;
	return inner;
}

/*
 * True for the expression of linkage tables, as linkers write it: rsp + 8, and 8 more after their
 * instruction has pushed a word.
 */
static bool rows_is_slot(const struct code_cursor *expression, uint8_t *ret_slot)
{
	static const uint8_t form[SLOT_EXPRESSION_BYTES] = {
			0x77, 8, 0x80, 0, 0x3f, 0x1a, LITERAL, 0x2a, 0x33, 0x24, 0x22};
	const uint8_t *bytes = expression->bytes + expression->at;

	if (expression->bad || expression->size - expression->at != SLOT_EXPRESSION_BYTES)
		return false;
	for (unsigned int i = 0; i < SLOT_EXPRESSION_BYTES; i++)
		if (bytes[i] != form[i] && form[i] != LITERAL)
			return false;
	*ret_slot = bytes[6] - LITERAL;
	return *ret_slot > 0 && *ret_slot < 16;
}

static void rows_define_base_expression(struct code_rows *rows)
{
	struct code_cursor inner = rows_take_expression(rows);
	unsigned int operation;
	uint8_t slot;

	if (rows_is_slot(&inner, &slot)) {
		rows_define_base(rows, STACK_POINTER, 8);
		rows->row.base = CODE_BASE_SLOT;
		rows->row.slot = slot;
		return;
	}
	rows->row.base = CODE_BASE_UNKNOWN;
	operation = (unsigned int)code_take(&inner, 1);
	if (operation < REGISTER_AND || operation > REGISTER_AND + 15)
		return;
	rows_define_base(rows, operation - REGISTER_AND, (int64_t)code_take_leb(&inner, true));
	rows->row.base = code_take(&inner, 1) == DEREFERENCE && inner.at == inner.size && !inner.bad
			? CODE_BASE_INDIRECT
			: CODE_BASE_UNKNOWN;
}

/*
 * A function that aligns its stack describes the saved frame pointer as the word at the frame
 * pointer.
 */
static void rows_set_saved_expression(struct code_rows *rows)
{
	uint64_t reg = rows_take_leb(rows);
	struct code_cursor inner = rows_take_expression(rows);
	bool itself = inner.size - inner.at == 2 &&
			code_take(&inner, 1) == REGISTER_AND + FRAME_POINTER &&
			code_take(&inner, 1) == 0 && !inner.bad;

	rows_set_other(rows, reg, itself ? CODE_AT_ITSELF : CODE_LOST);
}

static void rows_apply_frame(struct code_rows *rows, unsigned int operation)
{
	uint64_t reg;

	switch (operation) {
	case DEFINE:
		reg = rows_take_leb(rows);
		rows_define_base(rows, reg, (int64_t)rows_take_leb(rows));
		break;
	case DEFINE_SIGNED:
		reg = rows_take_leb(rows);
		rows_define_base(rows, reg, rows_take_signed_leb(rows) * rows->data_factor);
		break;
	case DEFINE_REGISTER: rows->row.reg = (unsigned int)rows_take_leb(rows); break;
	case DEFINE_OFFSET: rows->row.offset = (int64_t)rows_take_leb(rows); break;
	case DEFINE_OFFSET_SIGNED:
		rows->row.offset = rows_take_signed_leb(rows) * rows->data_factor;
		break;
	case DEFINE_EXPRESSION: rows_define_base_expression(rows); break;
	case REMEMBER_STATE:
		if (rows->nr_kept < CODE_ROWS_KEPT)
			rows->kept[rows->nr_kept] = rows->row;
		rows->nr_kept++;
		break;
	case RESTORE_STATE:
		if (!rows->nr_kept || --rows->nr_kept >= CODE_ROWS_KEPT)
			rows->row.base = CODE_BASE_UNKNOWN;
		else
			rows->row = rows->kept[rows->nr_kept];
		break;
	default: break;
	}
}

static void rows_apply_register(struct code_rows *rows, unsigned int operation)
{
	uint64_t reg;

	switch (operation) {
	case OFFSET_EXTENDED:
		reg = rows_take_leb(rows);
		rows_set_saved(rows, reg, (int64_t)rows_take_leb(rows));
		break;
	case OFFSET_SIGNED:
		reg = rows_take_leb(rows);
		rows_set_saved(rows, reg, rows_take_signed_leb(rows));
		break;
	case RESTORE_EXTENDED: rows_restore_register(rows, rows_take_leb(rows)); break;
	case UNDEFINED:
		reg = rows_take_leb(rows);
		rows_set_other(rows, reg, CODE_LOST);
		rows->row.last |= reg == RETURN_COLUMN;
		break;
	case SAME_VALUE: rows_set_other(rows, rows_take_leb(rows), CODE_SAME); break;
	case EXPRESSION: rows_set_saved_expression(rows); break;
	case VALUE_EXPRESSION:
		rows_set_other(rows, rows_take_leb(rows), CODE_LOST);
		rows_take_expression(rows);
		break;
	default: /* a register, or the frame and an offset */
		rows_set_other(rows, rows_take_leb(rows), CODE_LOST);
		rows_take_signed_leb(rows);
		break;
	}
}

static void rows_apply(struct code_rows *rows, unsigned int operation)
{
	switch (operation) {
	case 0: break;
	case OFFSET_EXTENDED:
	case OFFSET_SIGNED:
	case RESTORE_EXTENDED:
	case UNDEFINED:
	case SAME_VALUE:
	case REGISTER:
	case VALUE_OFFSET:
	case VALUE_OFFSET_SIGNED:
	case EXPRESSION:
	case VALUE_EXPRESSION: rows_apply_register(rows, operation); break;
	case ARGUMENTS: rows_take_leb(rows); break;
	case DEFINE:
	case DEFINE_REGISTER:
	case DEFINE_OFFSET:
	case DEFINE_EXPRESSION:
	case DEFINE_SIGNED:
	case DEFINE_OFFSET_SIGNED:
	case REMEMBER_STATE:
	case RESTORE_STATE: rows_apply_frame(rows, operation); break;
	default:
		/* The length of an unknown operation is unknown. */
		rows->rules.bad = true;
	}
}

static void rows_apply_short(struct code_rows *rows, unsigned int kind, unsigned int operand)
{
	if (kind == OFFSET)
		rows_set_saved(rows, operand, (int64_t)rows_take_leb(rows));
	else if (kind == RESTORE)
		rows_restore_register(rows, operand);
}

/* Adds to the location of the next rules. Returns false if the operation does not do that. */
static bool rows_advance(
		struct code_cursor *rules, uint8_t operation, uint64_t factor, uint64_t *location)
{
	uint64_t by;

	if (operation >> 6 == ADVANCE)
		by = operation & 0x3f;
	else if (operation == ADVANCE_1)
		by = code_take(rules, 1);
	else if (operation == ADVANCE_2)
		by = code_take(rules, 2);
	else if (operation == ADVANCE_4)
		by = code_take(rules, 4);
	else
		return false;
	*location += by * factor;
	return true;
}

const struct code_row *code_rows_at(struct code_rows *rows, uint64_t address)
{
	while (!rows->rules.bad && rows->rules.at < rows->rules.size) {
		size_t before = rows->rules.at;
		uint8_t operation = (uint8_t)code_take(&rows->rules, 1);
		uint64_t location = rows->location;

		if (rows_advance(&rows->rules, operation, rows->code_factor, &location)) {
			if (location > address) {
				rows->rules.at = before;
				break;
			}
			rows->location = location;
		} else if (operation >> 6) {
			rows_apply_short(rows, operation >> 6, operation & 0x3f);
		} else {
			rows_apply(rows, operation);
		}
	}
	if (rows->rules.bad)
		rows->row.base = CODE_BASE_UNKNOWN;
	return &rows->row;
}

bool code_rows_next(const struct code_rows *rows, uint64_t *ret_address)
{
	struct code_cursor rules = rows->rules;
	uint64_t location = rows->location;

	if (rules.bad || rules.at >= rules.size ||
			!rows_advance(&rules, (uint8_t)code_take(&rules, 1), rows->code_factor,
					&location) ||
			rules.bad)
		return false;
	*ret_address = location;
	return true;
}

void code_rows_begin(const struct code_cursor *all, const struct code_entry *entry,
		struct code_rows *ret_rows)
{
	const struct code_cie *cie = &entry->cie;

	*ret_rows = (struct code_rows){
			.code_factor = cie->code_factor, .data_factor = cie->data_factor};
	ret_rows->rules = (struct code_cursor){
			all->bytes, cie->rules, cie->rules_end, all->address, false};
	code_rows_at(ret_rows, 0);
	ret_rows->initial = ret_rows->row;
	ret_rows->location = entry->address;
	ret_rows->rules.at = entry->rules;
	ret_rows->rules.size = entry->rules_end;
}
