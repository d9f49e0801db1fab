/* SPDX-License-Identifier: MIT */
/*
 * Links a program to one event: converts its instructions to operations.
 *
 * A program is a sequence of blocks. Each one begins with an empty stack and ends with a test or
 * the end of the program. Blocks are linked in order, and only those that can be reached. A block
 * whose test can never be true (a missing field, a label that does not exist) is left out; jumps to
 * it go to its "no" target. If no accepting block is left, the event can never match.
 *
 * Linking is done twice, first without memory to compute the size. It runs inside traced programs
 * and calls no function of the C library.
 */
#include <errno.h>
#include <stdarg.h>

#include "filter/link.h"
#include "filter/memory.h"

/* ---- memory and errors ---- */

size_t filter_link_take(struct filter_linker *linker, size_t size)
{
	size_t offset = linker->used;

	linker->used += (size + 7) & ~(size_t)7;
	if (linker->used > linker->needed)
		linker->needed = linker->used;
	if (linker->used > linker->peak)
		linker->peak = linker->used;
	if (linker->memory && linker->used > linker->capacity && !linker->failed)
		linker->failed = -ENOSPC;
	if (linker->used > UINT32_MAX && !linker->failed)
		linker->failed = -E2BIG;
	return offset;
}

void *filter_link_at(const struct filter_linker *linker, size_t offset)
{
	return linker->memory && !linker->failed ? linker->memory + offset : NULL;
}

size_t filter_link_text(struct filter_linker *linker, const struct filter_text *text)
{
	size_t offset = filter_link_take(linker, text->size + 1);
	char *to = filter_link_at(linker, offset);
	uint32_t i;

	for (i = 0; to && i <= text->size; i++)
		to[i] = text->bytes[i];
	return offset;
}

static void filter_link_set_error(
		struct filter_error *error, unsigned int column, const char *text, size_t *size)
{
	if (!error)
		return;
	error->column = column;
	for (; *text && *size < sizeof(error->text) - 1; text++)
		error->text[(*size)++] = *text;
	error->text[*size] = '\0';
}

bool filter_link_reason(struct filter_linker *linker, int reason, unsigned int column,
		const char *first, ...)
{
	const char *text;
	size_t size = 0;
	va_list list;

	/* Among the options of a variant, "no such member" is a better reason than "no members". */
	if (linker->reason && !(linker->reason == -EINVAL && reason == -ENOENT))
		return false;
	linker->reason = reason;
	filter_link_hint(linker, "");
	va_start(list, first);
	for (text = first; text; text = va_arg(list, const char *))
		filter_link_set_error(linker->error, column, text, &size);
	va_end(list);
	return true;
}

void filter_link_hint(struct filter_linker *linker, const char *hint)
{
	size_t size = 0;

	if (!linker->error)
		return;
	for (; *hint && size < sizeof(linker->error->hint) - 1; hint++)
		linker->error->hint[size++] = *hint;
	linker->error->hint[size] = '\0';
}

/* ---- blocks ---- */

/* Static properties of a value on the stack. */
struct slot {
	uint8_t kinds; /* enum filter_kinds; 0: never a value */
	bool never;    /* it can never be true */
};

struct filter_block {
	struct filter_linker *linker;
	struct slot stack[FILTER_STACK_MAX + 1];
	unsigned int depth;
	struct filter_op *ops; /* where operations are stored, or NULL */
	uint32_t nr_ops;
	uint32_t at, end; /* instructions */
};

static struct filter_instruction instruction_at(const struct filter_block *block, uint32_t index)
{
	return filter_program_at(&block->linker->program, index);
}

static void filter_link_emit_op(struct filter_block *block, const struct filter_op *op)
{
	if (block->ops && !block->linker->failed)
		block->ops[block->nr_ops] = *op;
	block->nr_ops++;
}

static void filter_link_emit_push(struct filter_block *block, unsigned int kinds, bool never)
{
	block->stack[block->depth++] = (struct slot){.kinds = (uint8_t)kinds, .never = never};
}

static void filter_link_emit_constant(
		struct filter_block *block, enum filter_kind kind, uint64_t value, bool is_unsigned)
{
	struct filter_op op = {
			.code = FILTER_OP_CONSTANT,
			.kind = (uint8_t)kind,
			.is_unsigned = is_unsigned,
			.value = value,
	};

	filter_link_emit_op(block, &op);
}

/* ---- pushes ---- */

/* Push a context, or a field of a schema. */
static void link_foreign(struct filter_block *block, const struct filter_instruction *instruction)
{
	struct filter_linker *linker = block->linker;
	struct filter_path_reader reader =
			filter_program_path(&linker->program, instruction->value);
	struct filter_step steps[FILTER_STEPS_MAX];
	struct filter_path path = {
			.root = reader.root,
			.ask = instruction->flag,
			.steps = steps,
	};
	struct filter_op op = {
			.code = linker->description ? FILTER_OP_CONTEXT : FILTER_OP_BOUND,
			.goal = instruction->flag,
			.index = -1,
	};

	while (filter_path_next(&reader, &steps[path.nr_steps]))
		path.nr_steps++;
	if (!linker->description)
		op.index = linker->schema->resolve(linker->schema->user, &path);
	else if (linker->names)
		op.index = linker->names->resolve(linker->names->user, steps[0].name);
	if (op.index >= 0) {
		filter_link_emit_op(block, &op);
		filter_link_emit_push(block,
				op.goal == FILTER_GOAL_VALUE ? FILTER_KIND_ANY : FILTER_KIND_INT,
				false);
		return;
	}
	filter_link_reason(linker, -ENOENT, instruction->column,
			path.root == FILTER_CONTEXT ? "there is no context \""
						    : "the event has no field \"",
			steps[0].name, "\"", NULL);
	if (op.goal == FILTER_GOAL_PRESENCE)
		filter_link_emit_constant(block, FILTER_INT, 0, false);
	else
		filter_link_emit_constant(block, FILTER_NONE, 0, false);
	filter_link_emit_push(block, op.goal == FILTER_GOAL_PRESENCE ? FILTER_KIND_INT : 0, true);
}

/* Push a field of the description, as a value, a length, a presence, or compared with a text. */
static void link_field(struct filter_block *block, const struct filter_want *want)
{
	struct filter_linker *linker = block->linker;
	struct filter_op op = {.code = FILTER_OP_LOAD, .goal = (uint8_t)want->goal};
	size_t used = linker->used;
	unsigned int kinds;
	bool never;

	if (want->goal == FILTER_GOAL_TEXT) {
		op.text = (uint32_t)filter_link_text(linker, &want->text);
		op.size = want->text.size;
		op.is_glob = want->is_glob;
	}
	kinds = filter_link_path(linker, want, &op, &never);
	if (kinds) {
		filter_link_emit_op(block, &op);
	} else {
		linker->used = used;
		never = true;
		if (want->goal == FILTER_GOAL_PRESENCE) {
			filter_link_emit_constant(block, FILTER_INT, 0, false);
			kinds = FILTER_KIND_INT;
		} else {
			filter_link_emit_constant(block, FILTER_NONE, 0, false);
		}
	}
	filter_link_emit_push(block, kinds, never);
}

static bool is_own_field(
		const struct filter_block *block, const struct filter_instruction *instruction)
{
	return block->linker->description && instruction->code == FILTER_CODE_FIELD &&
			filter_program_path(&block->linker->program, instruction->value).root ==
			FILTER_FIELD;
}

/*
 * Link the comparison of a field of the description with a text. It is one operation, because its
 * meaning depends on the field's type: three instructions, the field or the text first.
 */
static bool link_compared_text(struct filter_block *block)
{
	struct filter_instruction first, second, compare;
	struct filter_want want = {.goal = FILTER_GOAL_TEXT};
	const struct filter_instruction *text;
	struct filter_op invert = {.code = FILTER_OP_UNARY, .inner = FILTER_CODE_NOT};

	if (block->end - block->at < 3)
		return false;
	first = instruction_at(block, block->at);
	second = instruction_at(block, block->at + 1);
	compare = instruction_at(block, block->at + 2);
	if (compare.code != FILTER_CODE_EQUAL && compare.code != FILTER_CODE_UNEQUAL)
		return false;
	want.field = first.code == FILTER_CODE_TEXT ? &second : &first;
	text = want.field == &first ? &second : &first;
	if (text->code != FILTER_CODE_TEXT || !is_own_field(block, want.field) ||
			want.field->flag != FILTER_ASK_VALUE)
		return false;
	want.text = filter_program_text(&block->linker->program, text->value);
	want.is_glob = text->flag;
	link_field(block, &want);
	if (compare.code == FILTER_CODE_UNEQUAL) {
		filter_link_emit_op(block, &invert);
		block->stack[block->depth - 1].never = !block->stack[block->depth - 1].kinds;
	}
	block->at += 3;
	return true;
}

static void link_push(struct filter_block *block, const struct filter_instruction *instruction)
{
	struct filter_linker *linker = block->linker;
	struct filter_want want = {.field = instruction, .goal = instruction->flag};
	struct filter_op op = {.code = FILTER_OP_TEXT};
	struct filter_text text;

	switch (instruction->code) {
	case FILTER_CODE_INT:
		filter_link_emit_constant(block, FILTER_INT, instruction->value, instruction->flag);
		filter_link_emit_push(block, FILTER_KIND_INT, !instruction->value);
		break;
	case FILTER_CODE_DOUBLE:
		filter_link_emit_constant(block, FILTER_DOUBLE, instruction->value, false);
		filter_link_emit_push(block, FILTER_KIND_DOUBLE,
				filter_double_is_zero(instruction->value));
		break;
	case FILTER_CODE_TEXT:
		text = filter_program_text(&linker->program, instruction->value);
		op.text = (uint32_t)filter_link_text(linker, &text);
		op.size = text.size;
		op.is_glob = instruction->flag;
		filter_link_emit_op(block, &op);
		filter_link_emit_push(block, FILTER_KIND_TEXT, false);
		break;
	default:
		if (is_own_field(block, instruction))
			link_field(block, &want);
		else
			link_foreign(block, instruction);
		break;
	}
}

/* ---- operations ---- */

static const char *filter_link_operation_name(unsigned int code)
{
	return code == FILTER_CODE_INVERT || code >= FILTER_CODE_REMAINDER
			? "an operation of integers has another operand"
			: "an operation of numbers has another operand";
}

/* The possible kinds of the result of a calculation. */
static unsigned int filter_link_result_types(unsigned int code, unsigned int a, unsigned int b)
{
	if (code == FILTER_CODE_INVERT ||
			(code >= FILTER_CODE_REMAINDER && code <= FILTER_CODE_RIGHT))
		return a & b & FILTER_KIND_INT;
	if (!(a & FILTER_KIND_NUMBER) || !(b & FILTER_KIND_NUMBER))
		return 0;
	return (a & b & FILTER_KIND_INT) | ((a | b) & FILTER_KIND_DOUBLE);
}

/* True if the two can be compared. With a loader, integers may have labels. */
static bool can_compare(
		const struct filter_block *block, unsigned int code, unsigned int a, unsigned int b)
{
	bool labels = !block->linker->description && code <= FILTER_CODE_UNEQUAL;

	if ((a & FILTER_KIND_NUMBER && b & FILTER_KIND_NUMBER) || (a & b & FILTER_KIND_TEXT))
		return true;
	return labels && (a | b) & FILTER_KIND_INT && (a | b) & FILTER_KIND_TEXT;
}

static void link_compute(struct filter_block *block, const struct filter_instruction *instruction)
{
	unsigned int code = instruction->code, takes = filter_code_takes(code), kinds;
	struct filter_op op = {.code = FILTER_OP_BINARY, .inner = (uint8_t)code};
	unsigned int a, b;

	block->depth -= takes;
	a = block->stack[block->depth].kinds;
	b = takes == 2 ? block->stack[block->depth + 1].kinds : a;
	if (code >= FILTER_CODE_AND || code == FILTER_CODE_NOT) {
		/* Truths; if one operand is unknown, the other may decide. */
		kinds = (a | b) & FILTER_KIND_NUMBER ? FILTER_KIND_INT : 0;
		if (!kinds && a && b)
			filter_link_reason(block->linker, -EINVAL, instruction->column,
					"a string is neither true nor false", NULL);
	} else if (filter_code_compares(code)) {
		op.code = FILTER_OP_COMPARE;
		kinds = can_compare(block, code, a, b) ? FILTER_KIND_INT : 0;
		if (!kinds && a && b)
			filter_link_reason(block->linker, -EINVAL, instruction->column,
					"a string is compared with a number", NULL);
	} else {
		kinds = filter_link_result_types(code, a, b);
		if (!kinds && a && b)
			filter_link_reason(block->linker, -EINVAL, instruction->column,
					filter_link_operation_name(code), NULL);
	}
	if (takes == 1)
		op.code = FILTER_OP_UNARY;
	filter_link_emit_op(block, &op);
	filter_link_emit_push(block, kinds, !kinds);
}

/* ---- ranges ---- */

static uint64_t width_mask(unsigned int bits)
{
	return ~(uint64_t)0 >> (64 - bits);
}

/* The constant integer that the instruction pushes. False: it pushes none. */
static bool filter_link_get_constant(
		const struct filter_instruction *instruction, struct filter_value *ret_value)
{
	if (instruction->code != FILTER_CODE_INT)
		return false;
	*ret_value = (struct filter_value){
			.kind = FILTER_INT,
			.is_unsigned = instruction->flag,
			.u = instruction->value,
	};
	return true;
}

/* Set the range from low to high, as the integer's own bits. */
static void set_range(struct filter_op *op, uint64_t low, uint64_t high)
{
	op->low = low;
	op->span = high - low;
}

static void set_none(struct filter_op *op, unsigned int bits)
{
	set_range(op, 0, width_mask(bits));
	op->negated = !op->negated;
}

/* The limits of an integer type, and how to order its values. */
struct limits {
	bool is_signed;
	unsigned int bits;
	uint64_t bias; /* bits + bias are in order, modulo the width */
};

/*
 * Compare a constant with the limits of the type: -1 below all values, 1 above all, 0 within them,
 * with its position in order in *ret_biased.
 */
static int filter_link_compare_limits(const struct limits *limits,
		const struct filter_value *constant, uint64_t *ret_biased)
{
	struct filter_value least = {.kind = FILTER_INT}, most = {.kind = FILTER_INT};

	most.u = width_mask(limits->bits);
	most.is_unsigned = true;
	if (limits->is_signed) {
		most.u >>= 1;
		least.s = -(int64_t)most.u - 1;
	}
	if (filter_compare(FILTER_CODE_LESS, constant, &least, NULL) > 0)
		return -1;
	if (filter_compare(FILTER_CODE_GREATER, constant, &most, NULL) > 0)
		return 1;
	*ret_biased = (constant->u + limits->bias) & width_mask(limits->bits);
	return 0;
}

/* Set the range of values for which "value code constant" is true. */
static void range_of_comparison(struct filter_op *op, unsigned int code,
		const struct limits *limits, const struct filter_value *constant)
{
	uint64_t last = width_mask(limits->bits), at = 0, low, high;
	int position = filter_link_compare_limits(limits, constant, &at);
	bool is_less = code == FILTER_CODE_LESS || code == FILTER_CODE_LESS_EQUAL;

	if (code == FILTER_CODE_UNEQUAL) {
		op->negated = !op->negated;
		code = FILTER_CODE_EQUAL;
	}
	if (position) {
		if (code == FILTER_CODE_EQUAL || is_less == (position < 0))
			set_none(op, limits->bits);
		else
			set_range(op, 0, last);
		return;
	}
	low = is_less ? 0 : at;
	high = is_less || code == FILTER_CODE_EQUAL ? at : last;
	if ((code == FILTER_CODE_LESS && !at) || (code == FILTER_CODE_GREATER && at == last)) {
		set_none(op, limits->bits);
		return;
	}
	if (code == FILTER_CODE_LESS)
		high--;
	if (code == FILTER_CODE_GREATER)
		low++;
	set_range(op, low - limits->bias, high - limits->bias);
}

/* Booleans are 0 or 1, independent of their bits. */
static void range_of_boolean(struct filter_op *op, unsigned int code, unsigned int bits,
		const struct filter_value *constant)
{
	struct filter_value zero = {.kind = FILTER_INT}, one = {.kind = FILTER_INT, .u = 1};
	bool is_for_zero = filter_compare(code, &zero, constant, NULL) > 0;
	bool is_for_one = filter_compare(code, &one, constant, NULL) > 0;

	if (is_for_zero == is_for_one) {
		set_range(op, 0, width_mask(bits));
		op->negated ^= !is_for_zero;
	} else {
		set_range(op, 0, 0);
		op->negated ^= is_for_one;
	}
}

/* Set the range of an enumeration's label. False: the text does not match exactly one range. */
static bool range_of_label(struct filter_op *op, const struct side_enum_mappings *mappings,
		const struct filter_want *want, const struct filter_move *leaf)
{
	struct filter_range range;
	unsigned int bits = leaf->bits;
	int64_t least = 0, most = INT64_MAX;

	if (!mappings || filter_link_labels(mappings, want, NULL, &range) != 1)
		return false;
	/* Unsigned integers of 64 bits are compared as signed, smaller ones have no negative
	   values. */
	if (leaf->flags & FILTER_SIGNED || bits == 64)
		least = -(int64_t)(width_mask(bits) >> 1) - 1;
	if (leaf->flags & FILTER_SIGNED)
		most = (int64_t)(width_mask(bits) >> 1);
	else if (bits < 64)
		most = (int64_t)width_mask(bits);
	if ((int64_t)range.end < least || (int64_t)range.begin > most) {
		set_none(op, bits);
		return true;
	}
	if ((int64_t)range.begin > least)
		least = (int64_t)range.begin;
	if ((int64_t)range.end < most)
		most = (int64_t)range.end;
	set_range(op, (uint64_t)least, (uint64_t)most);
	return true;
}

/* The parts of a block that can be one range operation. */
struct range_shape {
	struct filter_instruction field;
	struct filter_value constant;
	struct filter_want want; /* compared with a text */
	unsigned int code;       /* of the comparison */
	uint64_t mask;
	bool has_mask;
	bool has_text;
};

/*
 * Parse FIELD [INT BIT_AND] [INT compare], either operand first; or FIELD TEXT ==. Without a
 * comparison the test is "not zero".
 */
static bool read_shape(struct filter_block *block, struct range_shape *ret_shape)
{
	uint32_t at = block->at, nr = block->end - block->at;
	struct filter_instruction a, b, code;
	struct filter_value mask;

	*ret_shape = (struct range_shape){.code = FILTER_CODE_UNEQUAL};
	ret_shape->constant.kind = FILTER_INT;
	a = instruction_at(block, at);
	if (nr == 1) {
		ret_shape->field = a;
		return true;
	}
	if (nr != 3 && nr != 5)
		return false;
	b = instruction_at(block, at + 1);
	code = instruction_at(block, at + 2);
	if (nr == 5 || code.code == FILTER_CODE_BIT_AND) {
		if (code.code != FILTER_CODE_BIT_AND ||
				!(filter_link_get_constant(&b, &mask) ||
						filter_link_get_constant(&a, &mask)))
			return false;
		ret_shape->field = b.code == FILTER_CODE_INT ? a : b;
		ret_shape->has_mask = true;
		ret_shape->mask = mask.u;
		if (!mask.is_unsigned && mask.s < 0)
			return false;
		if (nr == 3)
			return true;
		b = instruction_at(block, at + 3);
		code = instruction_at(block, at + 4);
		ret_shape->code = code.code;
		return filter_code_compares(code.code) &&
				filter_link_get_constant(&b, &ret_shape->constant);
	}
	if (!filter_code_compares(code.code))
		return false;
	ret_shape->code = code.code;
	if (filter_link_get_constant(&b, &ret_shape->constant)) {
		ret_shape->field = a;
		return true;
	}
	if (filter_link_get_constant(&a, &ret_shape->constant)) {
		ret_shape->field = b;
		ret_shape->code = filter_code_mirror(code.code);
		return true;
	}
	ret_shape->has_text = (a.code == FILTER_CODE_TEXT || b.code == FILTER_CODE_TEXT) &&
			code.code <= FILTER_CODE_UNEQUAL;
	ret_shape->field = a.code == FILTER_CODE_TEXT ? b : a;
	if (a.code != FILTER_CODE_TEXT)
		a = b;
	if (ret_shape->has_text) {
		ret_shape->want.text = filter_program_text(&block->linker->program, a.value);
		ret_shape->want.is_glob = a.flag;
	}
	return ret_shape->has_text;
}

/* Link the whole block as one range operation, if it is simple enough. */
static bool link_range(struct filter_block *block, struct filter_op *op)
{
	const struct side_enum_mappings *mappings;
	struct filter_move leaf;
	struct limits limits;
	struct range_shape shape;
	uint32_t arg;

	if (!read_shape(block, &shape) || !is_own_field(block, &shape.field) ||
			shape.field.flag != FILTER_ASK_VALUE ||
			!filter_link_direct(block->linker, &shape.field, &leaf, &arg, &mappings))
		return false;
	limits.bits = leaf.bits;
	limits.is_signed = leaf.flags & FILTER_SIGNED;
	if (shape.has_mask) {
		if (leaf.code == FILTER_LEAF_BOOL || shape.mask > width_mask(limits.bits))
			return false;
		limits.is_signed = false;
	}
	limits.bias = limits.is_signed ? (uint64_t)1 << (limits.bits - 1) : 0;
	op->code = (uint8_t)(FILTER_OP_RANGE_1 + __builtin_ctz(leaf.size));
	op->label = leaf.label;
	op->arg = arg * (uint32_t)sizeof(struct side_arg);
	op->mask = shape.has_mask ? shape.mask : width_mask(limits.bits);
	if (shape.has_text) {
		if (!range_of_label(op, mappings, &shape.want, &leaf))
			return false;
		op->negated ^= shape.code == FILTER_CODE_UNEQUAL;
	} else if (leaf.code == FILTER_LEAF_BOOL) {
		range_of_boolean(op, shape.code, limits.bits, &shape.constant);
	} else {
		range_of_comparison(op, shape.code, &limits, &shape.constant);
	}
	op->low &= width_mask(limits.bits);
	op->span &= width_mask(limits.bits);
	return arg <= UINT32_MAX / sizeof(struct side_arg);
}

/* ---- the whole program ---- */

/* The state of linking a program. The first block that is not left out becomes the entry. */
struct whole {
	struct filter_linker *linker;
	struct filter_op *ops;
	uint32_t nr_ops;
	uint16_t begin; /* of an evaluation */
	bool can_match;
	uint32_t reachable[(FILTER_INSTRUCTIONS_MAX + 31) / 32];
	/* For the block that begins at an instruction: its first operation, or, if it is skipped,
	   its target. */
	uint16_t position[FILTER_INSTRUCTIONS_MAX];
	uint32_t skipped[(FILTER_INSTRUCTIONS_MAX + 31) / 32];
};

static void set_bit(uint32_t *bits, uint32_t at)
{
	bits[at / 32] |= (uint32_t)1 << (at % 32);
}

static bool has_bit(const uint32_t *bits, uint32_t at)
{
	return bits[at / 32] >> (at % 32) & 1;
}

/* Link all instructions of a block except the last. */
static void link_values(struct filter_block *block)
{
	struct filter_instruction instruction;

	while (block->at < block->end && !block->linker->failed) {
		if (link_compared_text(block))
			continue;
		instruction = instruction_at(block, block->at++);
		if (instruction.code <= FILTER_CODE_FIELD)
			link_push(block, &instruction);
		else
			link_compute(block, &instruction);
	}
}

/* Fuse a comparison with a constant at the end of a block with the load before it. */
static struct filter_op *fuse_comparison(struct filter_block *block)
{
	struct filter_op *last = block->ops + block->nr_ops - 1;
	struct filter_op *load = last - 2, *constant = last - 1;
	unsigned int code = last->inner;

	last->code = FILTER_OP_COMPARE_TEST;
	if (block->nr_ops != 3)
		return last;
	if (load->code == FILTER_OP_CONSTANT) {
		load = constant;
		constant = last - 2;
		code = filter_code_mirror(code);
	}
	if (load->code != FILTER_OP_LOAD || constant->code != FILTER_OP_CONSTANT)
		return last;
	load->code = FILTER_OP_LOAD_COMPARE;
	load->inner = (uint8_t)code;
	load->kind = constant->kind;
	load->is_unsigned = constant->is_unsigned;
	load->value = constant->value;
	*(last - 2) = *load;
	block->nr_ops = 1;
	return last - 2;
}

/* Emit the test at the end of a block, fused with the operation before it if possible. */
static void put_test(struct filter_block *block, const struct filter_instruction *test)
{
	struct filter_op op = {
			.code = FILTER_OP_TEST,
			.negated = test->flag,
			.yes = test->yes,
			.no = test->no,
	};
	struct filter_op *last;

	if (!block->ops || block->linker->failed) {
		block->nr_ops++;
		return;
	}
	last = block->ops + block->nr_ops - 1;
	if (last->code == FILTER_OP_UNARY && last->inner == FILTER_CODE_NOT && block->nr_ops > 1 &&
			last[-1].code == FILTER_OP_LOAD) {
		op.negated = !op.negated;
		block->nr_ops--;
		last--;
	}
	if (last->code == FILTER_OP_LOAD)
		last->code = FILTER_OP_LOAD_TEST;
	else if (last->code == FILTER_OP_COMPARE)
		last = fuse_comparison(block);
	else {
		filter_link_emit_op(block, &op);
		return;
	}
	last->negated = op.negated;
	last->yes = op.yes;
	last->no = op.no;
}

/* Link a block that ends with a test. False: the test is never true, so the block is left out. */
static bool link_test(struct filter_block *block, const struct filter_instruction *test)
{
	struct filter_op range = {
			.negated = test->flag,
			.yes = test->yes,
			.no = test->no,
	};
	struct slot slot;

	if (block->linker->description && link_range(block, &range)) {
		filter_link_emit_op(block, &range);
		return true;
	}
	link_values(block);
	slot = block->stack[0];
	if (slot.kinds == FILTER_KIND_TEXT) {
		filter_link_reason(block->linker, -EINVAL, test->column,
				"a string is neither true nor false: compare it with something",
				NULL);
		return false;
	}
	if (!slot.kinds || (slot.never && !test->flag))
		return false;
	put_test(block, test);
	return true;
}

/*
 * Link a block that returns a value. If a range operation can decide whether the event matches,
 * `a & 8` for example, three operations precede the others: the range, accept and reject. A match
 * uses only these, a capture the others.
 */
static void link_return(struct whole *whole, struct filter_block *block)
{
	struct filter_op end = {.code = FILTER_OP_RETURN};
	struct filter_op range = {
			.yes = sizeof(struct filter_op),
			.no = 2 * sizeof(struct filter_op),
	};

	if (!whole->nr_ops && block->linker->description && link_range(block, &range)) {
		filter_link_emit_op(block, &range);
		filter_link_emit_op(block, &(struct filter_op){.code = FILTER_OP_ACCEPT});
		filter_link_emit_op(block, &(struct filter_op){.code = FILTER_OP_REJECT});
		whole->begin = 3;
	}
	link_values(block);
	filter_link_emit_op(block, &end);
	whole->can_match |= block->stack[0].kinds != 0;
}

/* Link the block at instruction `begin`. Returns the instruction behind it. */
static uint32_t link_block(struct whole *whole, uint32_t begin)
{
	struct filter_linker *linker = whole->linker;
	struct filter_block block = {.linker = linker, .at = begin, .end = begin};
	struct filter_instruction last = instruction_at(&block, begin);
	struct filter_op end = {.code = FILTER_OP_ACCEPT};
	size_t used = linker->used;

	while (!filter_code_ends(last.code))
		last = instruction_at(&block, ++block.end);
	if (!has_bit(whole->reachable, begin))
		return block.end + 1;
	whole->position[begin] = (uint16_t)whole->nr_ops;
	block.ops = whole->ops ? whole->ops + whole->nr_ops : NULL;
	if (last.code == FILTER_CODE_TEST) {
		if (!link_test(&block, &last)) {
			linker->used = used;
			set_bit(whole->skipped, begin);
			set_bit(whole->reachable, last.no);
			whole->position[begin] = last.no;
			return block.end + 1;
		}
		set_bit(whole->reachable, last.yes);
		set_bit(whole->reachable, last.no);
	} else if (last.code == FILTER_CODE_RETURN) {
		link_return(whole, &block);
	} else {
		if (last.code == FILTER_CODE_REJECT)
			end.code = FILTER_OP_REJECT;
		else
			whole->can_match = true;
		filter_link_emit_op(&block, &end);
	}
	whole->nr_ops += block.nr_ops;
	return block.end + 1;
}

/* The operation at which an instruction's block begins. */
static uint32_t filter_link_resolve_position(const struct whole *whole, uint32_t at)
{
	while (has_bit(whole->skipped, at))
		at = whole->position[at];
	return whole->position[at];
}

static bool has_targets(const struct filter_op *op)
{
	return op->code < FILTER_OP_ACCEPT || op->code == FILTER_OP_LOAD_TEST ||
			op->code == FILTER_OP_LOAD_COMPARE || op->code == FILTER_OP_COMPARE_TEST ||
			op->code == FILTER_OP_TEST;
}

/* Convert jump targets to operations, as distances in bytes. */
static void resolve_jumps(const struct whole *whole)
{
	uint32_t i;

	for (i = 0; i < whole->nr_ops; i++) {
		struct filter_op *op = &whole->ops[i];

		if (!has_targets(op) || i < whole->begin)
			continue;
		op->yes = (filter_link_resolve_position(whole, op->yes) - i) *
				(uint32_t)sizeof(*op);
		op->no = (filter_link_resolve_position(whole, op->no) - i) * (uint32_t)sizeof(*op);
	}
}

int filter_link_program(struct filter_linker *linker, const void *program, size_t size)
{
	struct filter_body *body;
	struct whole whole;
	uint32_t i;
	size_t length = 0;
	const char *why;

	if (filter_verify(program, size, &why)) {
		filter_link_set_error(linker->error, 0, "the program is damaged: ", &length);
		filter_link_set_error(linker->error, 0, why, &length);
		return -EINVAL;
	}
	whole.linker = linker;
	whole.ops = NULL;
	whole.nr_ops = 0;
	whole.begin = 0;
	whole.can_match = false;
	for (i = 0; i < (FILTER_INSTRUCTIONS_MAX + 31) / 32; i++)
		whole.reachable[i] = whole.skipped[i] = 0;
	set_bit(whole.reachable, 0);
	filter_program_open(program, &linker->program);
	filter_link_take(linker,
			sizeof(*body) + (linker->program.nr + 3) * sizeof(struct filter_op));
	body = filter_link_at(linker, 0);
	if (body)
		whole.ops = body->ops;
	for (i = 0; i < linker->program.nr && !linker->failed;)
		i = link_block(&whole, i);
	if (linker->failed) {
		filter_link_set_error(linker->error, 0,
				linker->failed == -E2BIG ? "the types of the fields are too complex"
							 : "the memory for the filter is too small",
				&length);
		return linker->failed;
	}
	if (!whole.can_match && linker->reason)
		return linker->reason;
	if (!body)
		return 0;
	resolve_jumps(&whole);
	body->begin = whole.begin;
	body->is_bound = !linker->description;
	body->nr_arguments = 0;
	if (linker->description)
		body->nr_arguments = side_array_length(&linker->description->fields);
	filter_choose_function(body, whole.nr_ops);
	return 0;
}

ssize_t filter_link_size(const void *program, size_t size,
		const struct side_event_description *description, const struct filter_names *names,
		struct filter_error *error)
{
	struct filter_linker linker = {
			.description = description,
			.names = names,
			.error = error,
	};
	int ret = filter_link_program(&linker, program, size);

	return ret ? ret : (ssize_t)linker.peak;
}

int filter_link(const void *program, size_t size, const struct side_event_description *description,
		const struct filter_names *names, void *memory, size_t memory_size,
		struct filter **ret_filter, struct filter_error *error)
{
	struct filter_linker linker = {
			.description = description,
			.names = names,
			.error = error,
			.memory = memory,
			.capacity = memory_size,
	};
	int ret = filter_link_program(&linker, program, size);

	*ret_filter = ret ? NULL : memory;
	return ret;
}
