/* SPDX-License-Identifier: MIT */
/*
 * Applies one instruction of x86-64 to what is known.
 *
 * The instructions by which compilers build arguments are interpreted; what all other instructions
 * write becomes unknown.
 */
#include "calls.h"

#include <string.h>

#include <Zydis/Zydis.h>

struct instruction {
	ZydisDecodedInstruction head;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t next; /* address of the following instruction */
	struct calls_state *state;
	struct image *image;
};

bool calls_read_constant(struct image *image, uint64_t address, void *to, size_t size)
{
	size_t nr;
	const struct image_segment *segments = image_segments(image, &nr);

	for (size_t i = 0; i < nr; i++)
		if (!segments[i].writable && address >= segments[i].address &&
				address - segments[i].address < segments[i].memory_size)
			return !image_read(image, address, to, size);
	return false;
}

/* ---- registers ---- */

/* Returns the number of a general-purpose register, or -1. The name must include its low bytes. */
static int calls_step_gp_register(ZydisRegister name)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);

	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return -1;
	return whole - ZYDIS_REGISTER_RAX;
}

static bool calls_step_is_high_byte(ZydisRegister name)
{
	return name >= ZYDIS_REGISTER_AH && name <= ZYDIS_REGISTER_BH;
}

static int calls_step_vector_register(ZydisRegister name)
{
	if (name >= ZYDIS_REGISTER_XMM0 && name <= ZYDIS_REGISTER_XMM15)
		return name - ZYDIS_REGISTER_XMM0;
	if (name >= ZYDIS_REGISTER_YMM0 && name <= ZYDIS_REGISTER_YMM15)
		return name - ZYDIS_REGISTER_YMM0;
	if (name >= ZYDIS_REGISTER_ZMM0 && name <= ZYDIS_REGISTER_ZMM15)
		return name - ZYDIS_REGISTER_ZMM0;
	return -1;
}

static struct calls_value calls_step_truncate_value(struct calls_value value, unsigned int size)
{
	if (size >= 8)
		return value;
	if (value.kind != KNOWN_BYTES)
		return calls_unknown;
	value.mask &= (uint8_t)((1u << size) - 1);
	value.number = (int64_t)((uint64_t)value.number & ((1ull << (8 * size)) - 1));
	return value;
}

static void calls_step_set_register(
		const struct instruction *i, ZydisRegister name, struct calls_value value)
{
	int number = calls_step_gp_register(name);
	unsigned int size = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, name) / 8;

	if (calls_step_vector_register(name) >= 0)
		i->state->vectors[calls_step_vector_register(name)][0] =
				i->state->vectors[calls_step_vector_register(name)][1] =
						calls_unknown;
	if (number < 0)
		return;
	if (calls_step_is_high_byte(name) || size < 4) {
		value = calls_unknown;
	} else if (size == 4) {
		value = calls_step_truncate_value(value, 4);
		value.mask |= 0xf0; /* A write of 4 bytes clears the upper half. */
	}
	i->state->registers[number] = value;
}

/* ---- memory ---- */

static struct calls_value calls_step_add_offset(struct calls_value one, struct calls_value other)
{
	const struct calls_value *frame = one.kind != KNOWN_BYTES ? &one : &other;
	const struct calls_value *addend = frame == &one ? &other : &one;
	struct calls_value sum = *frame;

	if (!calls_is_constant(addend, 8)) {
		if (frame->kind == KNOWN_STACK || frame->kind == KNOWN_ABOVE ||
				addend->kind == KNOWN_STACK || addend->kind == KNOWN_ABOVE)
			return (struct calls_value){KNOWN_ABOVE, 0, INT32_MIN};
		return calls_unknown;
	}
	if (frame->kind == KNOWN_BYTES)
		return calls_is_constant(frame, 8)
				? calls_constant((uint64_t)frame->number + (uint64_t)addend->number,
						  8)
				: calls_unknown;
	if (frame->kind == KNOWN_FIRST && addend->number)
		return calls_unknown;
	sum.number = (int64_t)((uint64_t)sum.number + (uint64_t)addend->number);
	return sum;
}

static struct calls_value calls_step_register_value(const struct instruction *i, ZydisRegister name)
{
	int number = calls_step_gp_register(name);

	return number < 0 ? calls_unknown : i->state->registers[number];
}

/*
 * Returns the address of a memory operand. `*ret_steps` is not 0 if an address in the frame has an
 * unknown index, with this scale.
 */
static struct calls_value calls_step_operand_address(const struct instruction *i,
		const ZydisDecodedOperand *operand, unsigned int *ret_steps)
{
	const ZydisDecodedOperandMem *memory = &operand->mem;
	struct calls_value sum = calls_constant((uint64_t)memory->disp.value, 8), index;

	*ret_steps = 0;
	if (memory->segment == ZYDIS_REGISTER_FS || memory->segment == ZYDIS_REGISTER_GS)
		return calls_unknown;
	if (memory->base == ZYDIS_REGISTER_RIP)
		sum = calls_step_add_offset(sum, calls_constant(i->next, 8));
	else if (memory->base != ZYDIS_REGISTER_NONE)
		sum = calls_step_add_offset(calls_step_register_value(i, memory->base), sum);
	if (memory->index == ZYDIS_REGISTER_NONE)
		return sum;
	index = calls_step_register_value(i, memory->index);
	if (calls_is_constant(&index, 8))
		return calls_step_add_offset(
				sum, calls_constant((uint64_t)index.number * memory->scale, 8));
	if (sum.kind == KNOWN_STACK && index.kind == KNOWN_BYTES) {
		*ret_steps = memory->scale;
		return (struct calls_value){KNOWN_ABOVE, 0, sum.number};
	}
	return calls_step_add_offset(sum, index);
}

static struct calls_value calls_step_load_operand(const struct instruction *i,
		const ZydisDecodedOperand *operand, unsigned int from, unsigned int size)
{
	unsigned int steps;
	struct calls_value at = calls_step_operand_address(i, operand, &steps);
	uint64_t number = 0;

	if (at.kind == KNOWN_STACK)
		return calls_load(i->state, at.number + from, size);
	if (calls_is_constant(&at, 8) &&
			calls_read_constant(i->image, (uint64_t)at.number + from, &number, size))
		return calls_constant(number, size);
	return calls_unknown;
}

static bool calls_step_is_frame(const struct calls_value *value)
{
	return value->kind == KNOWN_STACK || value->kind == KNOWN_ABOVE;
}

static void calls_step_store_operand(const struct instruction *i,
		const ZydisDecodedOperand *operand, unsigned int from, unsigned int size,
		struct calls_value value)
{
	unsigned int steps;
	struct calls_value at = calls_step_operand_address(i, operand, &steps);
	struct calls_state *state = i->state;

	if (at.kind == KNOWN_STACK) {
		calls_store(state, at.number + from, size, value);
	} else if (at.kind == KNOWN_ABOVE) {
		/*
		 * Compilers clear the remainder of an argument, or of the head of the array, in
		 * loops. Any other write with an unknown index or pointer may reach all higher
		 * addresses.
		 */
		bool clears = size == 8 && calls_is_constant(&value, 8) && !value.number;

		if (clears && steps == 8)
			calls_forget(state, at.number, at.number + 56);
		else if (clears && at.number > -state->below)
			calls_forget(state, at.number, at.number + 16);
		else if (steps)
			calls_forget(state, at.number, state->above);
		else
			calls_forget_all(state);
		state->escaped |= calls_step_is_frame(&value);
	} else {
		if (state->escaped)
			calls_forget_all(state);
		state->escaped |= calls_step_is_frame(&value);
	}
}

/* ---- operands ---- */

static unsigned int calls_step_operand_size(const ZydisDecodedOperand *operand)
{
	return operand->size / 8;
}

static struct calls_value calls_step_operand_value(
		const struct instruction *i, const ZydisDecodedOperand *operand)
{
	switch (operand->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		if (calls_step_is_high_byte(operand->reg.value))
			return calls_unknown;
		return calls_step_truncate_value(calls_step_register_value(i, operand->reg.value),
				calls_step_operand_size(operand));
	case ZYDIS_OPERAND_TYPE_MEMORY:
		return calls_step_operand_size(operand) <= 8
				? calls_step_load_operand(
						  i, operand, 0, calls_step_operand_size(operand))
				: calls_unknown;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE: return calls_constant(operand->imm.value.u, 8);
	default: return calls_unknown;
	}
}

static void calls_step_assign(const struct instruction *i, const ZydisDecodedOperand *operand,
		struct calls_value value)
{
	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		calls_step_set_register(i, operand->reg.value, value);
	} else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		unsigned int size = calls_step_operand_size(operand);

		if (size <= 8)
			calls_step_store_operand(i, operand, 0, size,
					calls_step_truncate_value(value, size));
		else
			for (unsigned int at = 0; at < size; at += 8)
				calls_step_store_operand(i, operand, at,
						size - at < 8 ? size - at : 8, calls_unknown);
	}
}

/* Everything that the instruction writes becomes unknown. */
static void calls_step_forget_results(const struct instruction *i)
{
	for (unsigned int k = 0; k < i->head.operand_count; k++) {
		const ZydisDecodedOperand *operand = &i->operands[k];

		if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
				i->head.attributes &
						(ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
								ZYDIS_ATTRIB_HAS_REPNE)) {
			/* A register has the number of repetitions. */
			unsigned int steps;
			struct calls_value at = calls_step_operand_address(i, operand, &steps);

			if (calls_step_is_frame(&at) || i->state->escaped)
				calls_forget_all(i->state);
		} else {
			calls_step_assign(i, operand, calls_unknown);
		}
	}
}

/* ---- instructions ---- */

static bool calls_step_is_vector_move(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVDQA:
	case ZYDIS_MNEMONIC_MOVDQU:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVDQA:
	case ZYDIS_MNEMONIC_VMOVDQU:
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_MOVD: return true;
	default: return false;
	}
}

/* Returns false if the instruction is not interpreted. */
static bool calls_step_move_vector(const struct instruction *i)
{
	const ZydisDecodedOperand *to = &i->operands[0], *from = &i->operands[1];
	unsigned int size = calls_step_operand_size(to) < calls_step_operand_size(from)
			? calls_step_operand_size(to)
			: calls_step_operand_size(from);
	struct calls_value parts[2] = {calls_constant(0, 8), calls_constant(0, 8)};
	int number;

	/* AVX-512 has a mask operand between the two. */
	if (i->head.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		return false;
	if (i->head.mnemonic == ZYDIS_MNEMONIC_MOVQ)
		size = 8;
	if (i->head.mnemonic == ZYDIS_MNEMONIC_MOVD)
		size = 4;
	if (size > 16)
		return false;
	for (unsigned int part = 0; part * 8 < size; part++) {
		unsigned int piece = size - part * 8 < 8 ? size : 8;

		if (from->type == ZYDIS_OPERAND_TYPE_MEMORY)
			parts[part] = calls_step_load_operand(i, from, part * 8, piece);
		else if ((number = calls_step_vector_register(from->reg.value)) >= 0)
			parts[part] = calls_step_truncate_value(
					i->state->vectors[number][part], piece);
		else
			parts[part] = calls_step_truncate_value(
					calls_step_register_value(i, from->reg.value), piece);
		if (piece < 8 && parts[part].kind == KNOWN_BYTES)
			parts[part].mask |= 0xf0;
	}
	if (to->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		for (unsigned int part = 0; part * 8 < size; part++)
			calls_step_store_operand(i, to, part * 8, size - part * 8 < 8 ? size : 8,
					calls_step_truncate_value(parts[part],
							size - part * 8 < 8 ? size : 8));
	} else if ((number = calls_step_vector_register(to->reg.value)) >= 0) {
		i->state->vectors[number][0] = parts[0];
		i->state->vectors[number][1] = parts[1];
	} else {
		calls_step_set_register(i, to->reg.value, parts[0]);
	}
	return true;
}

/* True if the instruction combines a register with itself to zero. */
static bool calls_step_is_clearing(const struct instruction *i)
{
	unsigned int last = i->head.operand_count_visible - 1u;

	switch (i->head.mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VXORPS: break;
	default: return false;
	}
	return i->operands[last].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			i->operands[last - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			i->operands[last].reg.value == i->operands[last - 1].reg.value;
}

static void calls_step_clear_register(const struct instruction *i)
{
	ZydisRegister name = i->operands[0].reg.value;

	if (calls_step_vector_register(name) >= 0)
		i->state->vectors[calls_step_vector_register(name)][0] =
				i->state->vectors[calls_step_vector_register(name)][1] =
						calls_constant(0, 8);
	else
		calls_step_set_register(i, name, calls_constant(0, 8));
}

static void calls_step_add_operand(const struct instruction *i, bool negative)
{
	const ZydisDecodedOperand *to = &i->operands[0];
	struct calls_value one = calls_step_operand_value(i, to),
			   other = calls_step_operand_value(i, &i->operands[1]);

	if (calls_step_operand_size(to) != 8) {
		if (calls_is_constant(&one, calls_step_operand_size(to)) &&
				calls_is_constant(&other, calls_step_operand_size(to)))
			calls_step_assign(i, to,
					calls_constant(negative ? (uint64_t)one.number -
											(uint64_t)other.number
								: (uint64_t)one.number +
											(uint64_t)other.number,
							8));
		else
			calls_step_assign(i, to, calls_unknown);
		return;
	}
	if (negative && other.kind == KNOWN_BYTES && calls_is_constant(&other, 8))
		other.number = (int64_t)(0 - (uint64_t)other.number);
	else if (negative)
		other = calls_unknown;
	calls_step_assign(i, to, calls_step_add_offset(one, other));
}

static void calls_step_push_value(const struct instruction *i)
{
	struct calls_value *stack = &i->state->registers[CALLS_RSP];
	struct calls_value value = calls_step_operand_value(i, &i->operands[0]);

	if (stack->kind != KNOWN_STACK || i->head.operand_width == 16) {
		calls_forget_all(i->state);
		*stack = calls_unknown;
		return;
	}
	stack->number -= 8;
	calls_store(i->state, stack->number, 8, value);
}

static void calls_step_pop_value(const struct instruction *i)
{
	struct calls_value *stack = &i->state->registers[CALLS_RSP];
	struct calls_value value = calls_unknown;

	if (stack->kind == KNOWN_STACK) {
		value = calls_load(i->state, stack->number, 8);
		stack->number += 8;
	}
	calls_step_assign(i, &i->operands[0], value);
}

static void calls_step_extend_value(const struct instruction *i)
{
	const ZydisDecodedOperand *from = &i->operands[1];
	struct calls_value value = calls_step_operand_value(i, from);
	unsigned int bits = from->size;
	uint64_t number = (uint64_t)value.number;

	if (!calls_is_constant(&value, bits / 8)) {
		calls_step_assign(i, &i->operands[0], calls_unknown);
		return;
	}
	number &= (1ull << bits) - 1;
	if (i->head.mnemonic != ZYDIS_MNEMONIC_MOVZX && number >> (bits - 1))
		number |= ~((1ull << bits) - 1);
	calls_step_assign(i, &i->operands[0], calls_constant(number, 8));
}

static void calls_step_load_address(const struct instruction *i)
{
	unsigned int steps;
	struct calls_value at = calls_step_operand_address(i, &i->operands[1], &steps);

	/* An unknown index may be negative. */
	if (steps)
		at.number = INT32_MIN;
	calls_step_assign(i, &i->operands[0],
			calls_step_operand_size(&i->operands[0]) == 8 ? at : calls_unknown);
}

/* True if a string instruction writes a known number of times to the frame. */
static bool calls_step_repeats_in_frame(const struct instruction *i)
{
	const struct calls_value *registers = i->state->registers, *count = &registers[1];

	return (i->head.attributes & ZYDIS_ATTRIB_HAS_REP) && calls_is_constant(count, 8) &&
			count->number >= 0 && count->number <= 4096 &&
			registers[CALLS_RDI].kind == KNOWN_STACK;
}

/* Returns false if source or destination is unknown or not in the frame. */
static bool calls_step_copy_value(const struct instruction *i)
{
	struct calls_value *registers = i->state->registers;
	struct calls_value *count = &registers[1], *from = &registers[CALLS_RSI],
			   *to = &registers[CALLS_RDI];
	unsigned int width = calls_step_operand_size(&i->operands[0]);
	int64_t size;

	if (!calls_step_repeats_in_frame(i) || from->kind != KNOWN_STACK)
		return false;
	size = count->number * width;
	for (int64_t at = 0; at < size;) {
		unsigned int piece = size - at < 8 ? width : 8;

		calls_store(i->state, to->number + at, piece,
				calls_load(i->state, from->number + at, piece));
		at += piece;
	}
	from->number += size;
	to->number += size;
	*count = calls_constant(0, 8);
	return true;
}

/* Returns false if the destination is unknown or not in the frame. */
static bool calls_step_fill_frame(const struct instruction *i)
{
	struct calls_value *registers = i->state->registers;
	struct calls_value *count = &registers[1], *to = &registers[CALLS_RDI];
	unsigned int width = calls_step_operand_size(&i->operands[0]);
	struct calls_value value = calls_step_truncate_value(registers[CALLS_RAX], width);

	if (!calls_step_repeats_in_frame(i))
		return false;
	for (int64_t nr = 0; nr < count->number; nr++, to->number += width)
		calls_store(i->state, to->number, width, value);
	*count = calls_constant(0, 8);
	return true;
}

static void calls_step_leave_frame(const struct instruction *i)
{
	struct calls_value *registers = i->state->registers;
	struct calls_value frame = registers[CALLS_RBP];

	registers[CALLS_RBP] = calls_unknown;
	registers[CALLS_RSP] = frame.kind == KNOWN_STACK ? frame : calls_unknown;
	if (frame.kind == KNOWN_STACK) {
		registers[CALLS_RBP] = calls_load(i->state, frame.number, 8);
		registers[CALLS_RSP].number += 8;
	}
}

static void calls_step_execute(const struct instruction *i)
{
	if (calls_step_is_clearing(i)) {
		calls_step_clear_register(i);
		return;
	}
	if (calls_step_is_vector_move(i->head.mnemonic)) {
		if (!calls_step_move_vector(i))
			calls_step_forget_results(i);
		return;
	}
	switch (i->head.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		calls_step_assign(i, &i->operands[0], calls_step_operand_value(i, &i->operands[1]));
		break;
	case ZYDIS_MNEMONIC_LEA: calls_step_load_address(i); break;
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD: calls_step_extend_value(i); break;
	case ZYDIS_MNEMONIC_ADD: calls_step_add_operand(i, false); break;
	case ZYDIS_MNEMONIC_SUB: calls_step_add_operand(i, true); break;
	case ZYDIS_MNEMONIC_PUSH: calls_step_push_value(i); break;
	case ZYDIS_MNEMONIC_POP: calls_step_pop_value(i); break;
	case ZYDIS_MNEMONIC_LEAVE: calls_step_leave_frame(i); break;
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVSQ:
	case ZYDIS_MNEMONIC_MOVSB:
		if (i->operands[0].type != ZYDIS_OPERAND_TYPE_MEMORY || !calls_step_copy_value(i))
			calls_step_forget_results(i);
		break;
	case ZYDIS_MNEMONIC_STOSB:
	case ZYDIS_MNEMONIC_STOSD:
	case ZYDIS_MNEMONIC_STOSQ:
		if (!calls_step_fill_frame(i))
			calls_step_forget_results(i);
		break;
	default: calls_step_forget_results(i); break;
	}
}

/* ---- control flow ---- */

static void calls_step_find_target(const struct instruction *i, struct calls_step *step)
{
	const ZydisDecodedOperand *operand = &i->operands[0];

	if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand->imm.is_relative)
		step->target = i->next + (uint64_t)operand->imm.value.s;
	else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
			operand->mem.base == ZYDIS_REGISTER_RIP &&
			operand->mem.index == ZYDIS_REGISTER_NONE)
		step->slot = i->next + (uint64_t)operand->mem.disp.value;
}

static enum calls_goes calls_step_control_flow(const struct instruction *i, struct calls_step *step)
{
	switch (i->head.meta.category) {
	case ZYDIS_CATEGORY_CALL: calls_step_find_target(i, step); return GOES_CALL;
	case ZYDIS_CATEGORY_COND_BR: calls_step_find_target(i, step); return GOES_MAYBE;
	case ZYDIS_CATEGORY_UNCOND_BR:
		calls_step_find_target(i, step);
		return step->target ? GOES_TO : GOES_AWAY;
	case ZYDIS_CATEGORY_RET: return GOES_AWAY;
	default: break;
	}
	switch (i->head.mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3: return GOES_AWAY;
	default: return GOES_ON;
	}
}

static int64_t calls_step_frame_offset(const struct instruction *i)
{
	const ZydisDecodedOperand *operands = i->operands;

	if (i->head.mnemonic == ZYDIS_MNEMONIC_PUSH)
		return 8;
	if (i->head.mnemonic == ZYDIS_MNEMONIC_SUB &&
			operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			operands[0].reg.value == ZYDIS_REGISTER_RSP &&
			operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			operands[1].imm.value.s > 0)
		return operands[1].imm.value.s;
	return 0;
}

void calls_step(const uint8_t *bytes, size_t size, uint64_t address, struct calls_state *state,
		struct image *image, struct calls_step *ret_step)
{
	struct instruction i = {.state = state, .image = image};
	ZydisDecoder decoder;

	*ret_step = (struct calls_step){.goes = GOES_NOT};
	if (!ZYAN_SUCCESS(ZydisDecoderInit(
			    &decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
			!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
					&decoder, bytes, size, &i.head, i.operands)))
		return;
	i.next = address + i.head.length;
	ret_step->length = i.head.length;
	ret_step->goes = calls_step_control_flow(&i, ret_step);
	ret_step->frame = calls_step_frame_offset(&i);
	if (state && (ret_step->goes == GOES_ON))
		calls_step_execute(&i);
}

void calls_called(struct calls_state *state)
{
	static const uint8_t argument_registers[] = {CALLS_RDI, CALLS_RSI, 2, 1, 8, 9};
	static const uint8_t lost[] = {CALLS_RAX, 1, 2, CALLS_RSI, CALLS_RDI, 8, 9, 10, 11};
	bool reaches = state->escaped;

	/*
	 * The called function may write to the frame if it gets an address of it, or can reach one
	 * that is stored there.
	 */
	for (unsigned int i = 0; i < sizeof(argument_registers); i++)
		reaches |= calls_step_is_frame(&state->registers[argument_registers[i]]);
	if (reaches)
		calls_forget_all(state);
	for (unsigned int i = 0; i < sizeof(lost); i++)
		state->registers[lost[i]] = calls_unknown;
	for (unsigned int i = 0; i < CALLS_REGISTERS; i++)
		state->vectors[i][0] = state->vectors[i][1] = calls_unknown;
}
