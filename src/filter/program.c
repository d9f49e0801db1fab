/* SPDX-License-Identifier: MIT */
/*
 * Verifies and reads programs.
 *
 * filter_verify() checks everything that comes from a socket or a file. The readers of an accepted
 * program make no further checks, so filter_verify() checks every byte that they read.
 */
#include <errno.h>

#include "filter/program.h"

/* ---- reading ---- */

void filter_program_open(const void *bytes, struct filter_program *program)
{
	const uint8_t *at = bytes;

	program->nr = filter_get16(at + 6);
	program->code = at + PROGRAM_HEADER;
	program->pool = program->code + program->nr * PROGRAM_INSTRUCTION;
	program->pool_size =
			filter_get32(at + 8) - PROGRAM_HEADER - program->nr * PROGRAM_INSTRUCTION;
}

struct filter_instruction filter_program_at(const struct filter_program *program, uint32_t index)
{
	const uint8_t *at = program->code + index * PROGRAM_INSTRUCTION;

	return (struct filter_instruction){
			.code = at[0],
			.flag = at[1],
			.yes = (uint16_t)filter_get16(at + 2),
			.no = (uint16_t)filter_get16(at + 4),
			.column = (uint16_t)filter_get16(at + 6),
			.value = filter_get64(at + 8),
	};
}

static struct filter_text filter_program_get_text(const uint8_t *at)
{
	return (struct filter_text){.bytes = (const char *)at + 2, .size = filter_get16(at)};
}

struct filter_text filter_program_text(const struct filter_program *program, uint64_t offset)
{
	return filter_program_get_text(program->pool + offset);
}

struct filter_path_reader filter_program_path(const struct filter_program *program, uint64_t offset)
{
	const uint8_t *at = program->pool + offset;

	return (struct filter_path_reader){.at = at + 2, .root = at[0], .left = at[1]};
}

bool filter_path_next(struct filter_path_reader *path, struct filter_step *ret_step)
{
	struct filter_text name;

	if (!path->left)
		return false;
	path->left--;
	if (*path->at) {
		ret_step->name = NULL;
		ret_step->index = filter_get32(path->at + 1);
		path->at += 5;
	} else {
		name = filter_program_get_text(path->at + 1);
		ret_step->name = name.bytes;
		ret_step->index = 0;
		path->at += 1 + 2 + name.size + 1;
	}
	return true;
}

/* ---- verifying ---- */

/* The pool, which the checks access by offsets, so that no pointer is formed out of bounds. */
struct pool {
	const uint8_t *bytes;
	uint32_t size;
};

/* The offset behind the text, or 0. */
static uint32_t check_text(const struct pool *pool, uint64_t offset)
{
	uint32_t size, i;

	if (offset > pool->size || pool->size - offset < 3)
		return 0;
	size = filter_get16(pool->bytes + offset);
	if (size > FILTER_TEXT_MAX || pool->size - offset - 3 < size)
		return 0;
	for (i = 0; i < size; i++) {
		if (!pool->bytes[offset + 2 + i])
			return 0;
	}
	if (pool->bytes[offset + 2 + size])
		return 0;
	return (uint32_t)offset + 3 + size;
}

/* A glob must not end with a backslash that quotes the next byte. */
static bool check_glob(const struct pool *pool, uint64_t offset)
{
	struct filter_text text = filter_program_get_text(pool->bytes + offset);
	uint32_t i;

	for (i = 0; i < text.size; i++) {
		if (text.bytes[i] == '\\' && ++i == text.size)
			return false;
	}
	return true;
}

static bool filter_program_check_path(const struct pool *pool, uint64_t offset)
{
	const uint8_t *at;
	uint32_t i, nr, next;

	if (offset > pool->size || pool->size - offset < 2)
		return false;
	at = pool->bytes + offset;
	nr = at[1];
	if (at[0] > FILTER_CONTEXT || !nr || nr > FILTER_STEPS_MAX)
		return false;
	if (at[0] == FILTER_CONTEXT && nr != 1)
		return false;
	next = (uint32_t)offset + 2;
	for (i = 0; i < nr; i++) {
		if (next >= pool->size || pool->bytes[next] > 1)
			return false;
		if (pool->bytes[next]) {
			if (!i || pool->size - next < 5)
				return false;
			next += 5;
		} else {
			next = check_text(pool, next + 1);
			if (!next)
				return false;
		}
	}
	return true;
}

/* Check the operand of one instruction, except jumps and stack. */
static const char *check_operand(
		const struct filter_instruction *instruction, const struct pool *pool)
{
	if (instruction->code != FILTER_CODE_TEST && (instruction->yes || instruction->no))
		return "an instruction that does not jump has a target";
	switch (instruction->code) {
	case FILTER_CODE_INT:
		return instruction->flag > 1 ? "an integer has an unknown flag" : NULL;
	case FILTER_CODE_DOUBLE: return instruction->flag ? "a float has a flag" : NULL;
	case FILTER_CODE_TEXT:
		if (instruction->flag > 1)
			return "a text has an unknown flag";
		if (!check_text(pool, instruction->value))
			return "a text is not within the program";
		if (instruction->flag && !check_glob(pool, instruction->value))
			return "a pattern ends in a backslash";
		return NULL;
	case FILTER_CODE_FIELD:
		if (instruction->flag > FILTER_ASK_PRESENCE)
			return "a path has an unknown step";
		return filter_program_check_path(pool, instruction->value)
				? NULL
				: "a path is damaged or not within the program";
	case FILTER_CODE_TEST:
		return instruction->flag > 1 || instruction->value ? "a test has an unknown flag"
								   : NULL;
	default:
		return instruction->flag || instruction->value
				? "an instruction has an operand that it does not take"
				: NULL;
	}
}

/* The checked properties of the stack: its depth, and which values are globs (a bit each). */
struct filter_check_stack {
	unsigned int depth;
	uint32_t globs;
};
_Static_assert(FILTER_STACK_MAX < 32, "a bit each");

static const char *check_stack(
		struct filter_check_stack *stack, const struct filter_instruction *instruction)
{
	unsigned int takes = filter_code_takes(instruction->code);
	uint32_t taken;

	if (stack->depth < takes)
		return "an instruction uses a value that does not exist";
	stack->depth -= takes;
	taken = stack->globs >> stack->depth;
	stack->globs &= ((uint32_t)1 << stack->depth) - 1;
	if (taken) {
		if (instruction->code != FILTER_CODE_EQUAL &&
				instruction->code != FILTER_CODE_UNEQUAL)
			return "a pattern is used as a value";
		if (taken == 3)
			return "two patterns are compared with each other";
	}
	if (filter_code_ends(instruction->code))
		return stack->depth ? "values are left behind" : NULL;
	if (stack->depth == FILTER_STACK_MAX)
		return "it needs too many values at a time";
	if (instruction->code == FILTER_CODE_TEXT && instruction->flag)
		stack->globs |= (uint32_t)1 << stack->depth;
	stack->depth++;
	return NULL;
}

static const char *check_code(const struct filter_program *program)
{
	struct pool pool = {.bytes = program->pool, .size = program->pool_size};
	struct filter_check_stack stack = {0};
	uint32_t targets[(FILTER_INSTRUCTIONS_MAX + 31) / 32] = {1}; /* jump targets */
	const char *why = NULL;
	uint32_t i;

	for (i = 0; !why && i < program->nr; i++) {
		struct filter_instruction instruction = filter_program_at(program, i);

		if (instruction.code >= FILTER_NR_CODES)
			return "it has an unknown instruction";
		/* The stack must be empty at jump targets and at the beginning, and nowhere
		   else. */
		if (targets[i / 32] >> (i % 32) & 1) {
			if (stack.depth)
				return "a jump leads into the middle of an expression";
		} else if (!stack.depth &&
				(!i || filter_code_ends(filter_program_at(program, i - 1).code))) {
			return "an instruction cannot be reached";
		}
		why = check_operand(&instruction, &pool);
		if (!why)
			why = check_stack(&stack, &instruction);
		if (instruction.code == FILTER_CODE_TEST) {
			if (instruction.yes <= i || instruction.yes >= program->nr ||
					instruction.no <= i || instruction.no >= program->nr)
				return "a jump does not lead forward within the program";
			targets[instruction.yes / 32] |= (uint32_t)1 << (instruction.yes % 32);
			targets[instruction.no / 32] |= (uint32_t)1 << (instruction.no % 32);
		}
	}
	if (!why && !filter_code_ends(filter_program_at(program, program->nr - 1).code))
		return "it has no end";
	return why;
}

static const char *filter_program_check_bytecode(const uint8_t *bytes, size_t size)
{
	struct filter_program program;
	uint32_t nr;

	if (size < PROGRAM_HEADER + PROGRAM_INSTRUCTION)
		return "it is too short";
	if (size > FILTER_PROGRAM_MAX)
		return "it is too long";
	if (bytes[0] != 'S' || bytes[1] != 'I' || bytes[2] != 'D' || bytes[3] != 'F')
		return "it does not begin like a filter program";
	if (bytes[4] != PROGRAM_VERSION || bytes[5] || filter_get32(bytes + 12))
		return "its version is unknown";
	nr = filter_get16(bytes + 6);
	if (!nr || nr > FILTER_INSTRUCTIONS_MAX)
		return "it has no instruction, or too many";
	if (filter_get32(bytes + 8) != size || size < PROGRAM_HEADER + nr * PROGRAM_INSTRUCTION)
		return "its size is wrong";
	filter_program_open(bytes, &program);
	return check_code(&program);
}

int filter_verify(const void *program, size_t size, const char **ret_why)
{
	const char *reason = filter_program_check_bytecode(program, size);

	if (ret_why)
		*ret_why = reason ? reason : "";
	return reason ? -EINVAL : 0;
}

/* ---- contexts ---- */

/* The name of the context that instruction i pushes, or NULL. */
static const char *context_at(const struct filter_program *program, uint32_t i)
{
	struct filter_instruction instruction = filter_program_at(program, i);
	struct filter_path_reader path;
	struct filter_step step;

	if (instruction.code != FILTER_CODE_FIELD)
		return NULL;
	path = filter_program_path(program, instruction.value);
	if (path.root != FILTER_CONTEXT || !filter_path_next(&path, &step))
		return NULL;
	return step.name;
}

static bool filter_program_same_name(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static bool is_named_before(const struct filter_program *program, uint32_t i, const char *name)
{
	const char *other;

	while (i--) {
		other = context_at(program, i);
		if (other && filter_program_same_name(other, name))
			return true;
	}
	return false;
}

int filter_each_context(const void *program, size_t size,
		int (*callback)(void *user, const char *name), void *user)
{
	struct filter_program opened;
	uint32_t i;
	int ret = 0;

	(void)size;
	filter_program_open(program, &opened);
	for (i = 0; !ret && i < opened.nr; i++) {
		const char *name = context_at(&opened, i);

		if (name && !is_named_before(&opened, i, name))
			ret = callback(user, name);
	}
	return ret;
}
