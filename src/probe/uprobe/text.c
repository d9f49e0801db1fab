/* SPDX-License-Identifier: MIT */
/*
 * Writes a side as the arguments of a definition in tracefs. Such a definition reads memory through
 * registers, several levels deep, but does not calculate: the operations after the last read of a
 * fetch are executed when the hit is read.
 */
#include "parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXPRESSION_MAX 64 /* of the kernel */
#define ARRAY_MAX 64      /* elements, of the kernel */
#define ARGUMENTS_MAX 120

#if defined(__x86_64__)
static const char *const registers[] = {"ax", "dx", "cx", "bx", "si", "di", "bp", "sp", "r8", "r9",
		"r10", "r11", "r12", "r13", "r14", "r15", "ip"};
#else
static const char *const registers[] = {NULL};
#endif
#define NR_REGISTERS (sizeof(registers) / sizeof(*registers))

static int uprobe_text_set_unsupported(struct error *error, const struct global_field *field)
{
	return error_set(error, -ENOTSUP, "",
			"`%.128s` cannot be expressed in a definition of tracefs",
			field->field.name);
}

static bool text_is_address(const struct global_field *field)
{
	return field->capacity != 0;
}

uint32_t text_nr_executed(const struct probe_fetch *fetch)
{
	uint32_t done = 1;

	for (uint32_t i = 0; i < fetch->nr_ops; i++)
		if (fetch->ops[i].code == PROBE_FETCH_LOAD)
			done = i + 1;
	return done;
}

/* Writes the first operation, and sets the offset that later operations must add. */
static bool uprobe_text_begin_fetch(const struct global_side *side, const struct probe_fetch_op *op,
		char *text, int64_t *ret_added)
{
	*ret_added = 0;
	switch (op->code) {
	case PROBE_FETCH_REGISTER:
		if (op->reg >= NR_REGISTERS || !registers[op->reg])
			return false;
		(void)snprintf(text, EXPRESSION_MAX, "%%%s", registers[op->reg]);
		return true;
	case PROBE_FETCH_MODULE:
		*ret_added = op->value - (int64_t)side->address;
		(void)snprintf(text, EXPRESSION_MAX, "%%ip");
		return !side->exit;
	case PROBE_FETCH_SITE: (void)snprintf(text, EXPRESSION_MAX, "%%ip"); return !side->exit;
	case PROBE_FETCH_RETURN:
		(void)snprintf(text, EXPRESSION_MAX, side->exit ? "%%ip" : "+0(%%sp)");
		return true;
	default: return false;
	}
}

/* Wraps the expression: the memory at its value plus `added`, as in "+8(%di)". */
static bool uprobe_text_wrap_deref(char *text, int64_t added)
{
	char before[32];
	size_t begin = (size_t)snprintf(before, sizeof(before), "%+" PRId64 "(", added);
	size_t length = strlen(text);

	if (begin + length + 2 > EXPRESSION_MAX)
		return false;
	memmove(text + begin, text, length);
	memcpy(text, before, begin);
	memcpy(text + begin + length, ")", 2);
	return true;
}

/* Writes an expression such as "+8(+16(%di)):u32". */
static int text_write_expression(const struct global_side *side, const struct global_field *field,
		char *text, struct error *error)
{
	const struct probe_fetch *fetch = &field->fetch;
	uint32_t end = text_is_address(field) ? fetch->nr_ops : text_nr_executed(fetch);
	unsigned int size = 8;
	bool fits = fetch->nr_ops > 0;
	int64_t added = 0;

	fits = fits && uprobe_text_begin_fetch(side, &fetch->ops[0], text, &added);
	/* An offset can only be added to an address that is read. */
	fits = fits && (end > 1 || !added || text_is_address(field));
	for (uint32_t i = 1; i < end && fits; i++) {
		const struct probe_fetch_op *op = &fetch->ops[i];

		if (op->code == PROBE_FETCH_ADD) {
			added += op->value;
		} else if (op->code == PROBE_FETCH_LOAD && size == 8) {
			fits = uprobe_text_wrap_deref(text, added);
			size = op->size;
			added = 0;
		} else {
			fits = false;
		}
	}
	for (uint32_t i = end; i < fetch->nr_ops && fits; i++)
		fits = fetch->ops[i].code != PROBE_FETCH_ADD_REGISTER &&
				fetch->ops[i].code < PROBE_FETCH_PUSH;
	if (text_is_address(field))
		fits = fits && size == 8 && uprobe_text_wrap_deref(text, added) &&
				(field->field.type == PROBE_FIELD_STRING ||
						field->field.limit * field->field.size <=
								ARRAY_MAX);
	if (!fits)
		return uprobe_text_set_unsupported(error, field);
	if (field->field.type == PROBE_FIELD_STRING)
		(void)snprintf(text + strlen(text), 16, ":string");
	else if (text_is_address(field))
		(void)snprintf(text + strlen(text), 16, ":u8[%u]",
				(unsigned int)field->field.limit * field->field.size);
	else
		(void)snprintf(text + strlen(text), 16, ":u%u", 8 * size);
	return 0;
}

int text_arguments(const struct global_side *side, char *text, size_t capacity, struct error *error)
{
	size_t used = (size_t)snprintf(text, capacity, " stack=%%sp:u64 name=$comm:string");

	for (uint32_t i = 0; i < side->nr_fields; i++) {
		char operand[EXPRESSION_MAX + 24];
		int ret;

		if (side->fields[i].source != GLOBAL_FETCHED)
			continue;
		ret = text_write_expression(side, &side->fields[i], operand, error);
		if (ret)
			return ret;
		used += (size_t)snprintf(text + used, capacity - used, " f%u=%s", i, operand);
		if (used >= capacity || i >= ARGUMENTS_MAX)
			return error_set(error, -E2BIG, "request fewer values",
					"the recorded fields are too many for a definition of tracefs");
	}
	return 0;
}
