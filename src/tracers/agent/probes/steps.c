/* SPDX-License-Identifier: MIT */
/* Decide once for each location how the fields of an event become the bytes of a record. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracers/agent/probes/probes.h"
#include "tracers/agent/core/memory.h"

#define STORED_BYTES 8 /* bytes that a step stores, whatever the size of the value */
#define TOO_MANY (PROBES_RECORD_MAX + 1)

/*
 * Returns the offset in the hit of a value that is recorded unchanged; negative: the value must be
 * computed.
 */
static int probes_step_hit_offset(bool leaves, const struct probe_fetch *fetch)
{
	if (fetch->nr_ops != 1)
		return -1;
	switch (fetch->ops->code) {
	case PROBE_FETCH_REGISTER: return probe_fetch_offset(fetch->ops->reg, leaves);
	case PROBE_FETCH_SITE: return (int)offsetof(struct patch_hit, address);
	case PROBE_FETCH_CALL: return (int)offsetof(struct patch_hit, call);
	case PROBE_FETCH_DURATION: return leaves ? (int)offsetof(struct patch_hit, elapsed) : -1;
	default: return -1;
	}
}

/* At an entry, the page of the stack pointer is mapped, and the word may be a gate's address. */
static bool probes_step_is_top(
		bool leaves, const struct probe_table_field *field, const struct probe_fetch *fetch)
{
	return !leaves && !field->guarded && field->size == sizeof(uint64_t) &&
			fetch->nr_ops == 2 && fetch->ops[0].code == PROBE_FETCH_REGISTER &&
			fetch->ops[0].reg == PROBE_STACK_POINTER &&
			fetch->ops[1].code == PROBE_FETCH_LOAD &&
			fetch->ops[1].size == sizeof(uint64_t);
}

static bool is_name(const struct probe_fetch *fetch)
{
	return fetch->nr_ops == 1 && fetch->ops->code == PROBE_FETCH_FUNCTION;
}

/* Make the step of a field. Returns the most bytes that it can store, without a name. */
static size_t make_plain_step(bool leaves, struct probes_step *ret_step,
		const struct probe_table_field *field, const struct probe_fetch *fetch)
{
	int offset = probes_step_hit_offset(leaves, fetch);

	/* If the value is in a register, the selector is written here, too. */
	if (field->guarded) {
		offset = -1;
		ret_step->from = 1;
	}
	if (probe_field_is_array(field)) {
		ret_step->kind = PROBES_STEP_GATHERED;
		return 8 + (size_t)field->size * field->limit;
	}
	switch (field->type) {
	case PROBE_FIELD_BOOL: ret_step->kind = PROBES_STEP_BOOL; return 1;
	case PROBE_FIELD_STRING:
		if (is_name(fetch) && !field->guarded) {
			ret_step->kind = PROBES_STEP_NAME;
			return 0;
		}
		ret_step->kind = PROBES_STEP_STRING;
		return field->limit + 1u;
	case PROBE_FIELD_STRUCT: ret_step->kind = PROBES_STEP_NOTHING; return 0;
	default: break;
	}
	if (field->size > sizeof(uint64_t)) {
		ret_step->kind = PROBES_STEP_WIDE;
		return field->size;
	}
	ret_step->kind = offset < 0 ? PROBES_STEP_VALUE : PROBES_STEP_PLAIN;
	if (offset >= 0)
		ret_step->from = (uint16_t)offset;
	else if (probes_step_is_top(leaves, field, fetch))
		ret_step->kind = PROBES_STEP_TOP;
	ret_step->size = field->size;
	return field->size;
}

static size_t make_step(bool leaves, struct probes_step *ret_step,
		const struct probe_table_field *field, const struct probe_fetch *fetch)
{
	return make_plain_step(leaves, ret_step, field, fetch) + field->guarded;
}

/* Describe the record if its bytes are at most two words of the hit. */
static void make_piece(struct probes_layout *layout)
{
	const struct probes_step *steps = layout->steps;

	layout->from = layout->second = 0;
	layout->piece = PROBES_NO_PIECE;
	/* For a function that frees memory: the block and the caller. */
	if (layout->nr_steps == 2 && layout->nr_words == 1 && steps[1].kind == PROBES_STEP_TOP) {
		layout->from = steps[0].from;
		layout->piece = 2 * sizeof(uint64_t);
		layout->second_is_top = true;
		return;
	}
	if (layout->nr_steps != layout->nr_plain || layout->nr_steps > 2 ||
			(layout->nr_steps == 2 && layout->nr_words != 2))
		return;
	layout->piece = 0;
	if (!layout->nr_steps)
		return;
	layout->from = steps[0].from;
	layout->piece = steps[0].size;
	if (layout->nr_steps == 1)
		return;
	layout->piece = 2 * sizeof(uint64_t);
	layout->second = steps[1].from == layout->from + sizeof(uint64_t) ? 0 : steps[1].from;
}

/*
 * Describe the record if it is a name and then words of the hit, as for most events of many
 * functions.
 */
static void make_named(struct probes_layout *layout)
{
	const struct probes_step *steps = layout->steps;
	uint32_t i;

	if (!layout->nr_steps || steps[0].kind != PROBES_STEP_NAME ||
			layout->nr_steps > 1 + PROBES_WORDS_MAX)
		return;
	for (i = 1; i < layout->nr_steps; i++) {
		if (steps[i].kind != PROBES_STEP_PLAIN || steps[i].size != sizeof(uint64_t))
			return;
		layout->words[i - 1] = steps[i].from;
	}
	layout->nr_behind = (uint8_t)(layout->nr_steps - 1);
	layout->named = true;
}

/* Whether the step reads memory other than the word at the stack pointer. */
static bool is_read(const struct probes_step *step, const struct probe_fetch *fetch)
{
	for (uint32_t i = 0; i < fetch->nr_ops; i++)
		if (fetch->ops[i].code == PROBE_FETCH_LOAD ||
				fetch->ops[i].code == PROBE_FETCH_EXTENDED ||
				fetch->ops[i].code == PROBE_FETCH_BLOCK)
			return true;
	return step->kind == PROBES_STEP_STRING || step->kind == PROBES_STEP_GATHERED;
}

/* Returns the latest layout if it is equal. */
static const struct probes_layout *probes_steps_store_layout(struct probes_table *table,
		const struct probes_layout **last, const struct probes_step *made, uint32_t most,
		const struct probes_event *event, bool leaves)
{
	size_t size = (event->nr_fields + 1) * sizeof(*made);
	struct probes_step *steps;
	struct probes_layout *layout;

	if (*last && !memcmp((*last)->steps, made, size))
		return *last;
	steps = agent_memory_take(&table->memory, size);
	layout = agent_memory_take(&table->memory, sizeof(*layout));
	if (!steps || !layout)
		return NULL;
	memcpy(steps, made, size);
	layout->event = event;
	layout->state = event->state;
	layout->leaves = leaves;
	layout->steps = steps;
	layout->most = most;
	layout->nr_steps = (uint16_t)event->nr_fields;
	while (layout->nr_plain < layout->nr_steps &&
			steps[layout->nr_plain].kind == PROBES_STEP_PLAIN)
		layout->nr_plain++;
	while (layout->nr_words < layout->nr_plain &&
			steps[layout->nr_words].size == sizeof(uint64_t))
		layout->nr_words++;
	for (uint32_t i = 0; i < event->nr_fields; i++)
		layout->nr_names =
				(uint16_t)(layout->nr_names + (steps[i].kind == PROBES_STEP_NAME));
	make_piece(layout);
	make_named(layout);
	return *last = layout;
}

const struct probes_layout *probes_steps_make(struct probes_table *table,
		struct probes_event *event, const struct probes_spec_details *details, bool leaves)
{
	const struct probe_fetch *fetches = leaves ? details->exit_fetches : details->entry_fetches;
	struct probes_step steps[PROBE_TABLE_FIELDS_MAX + 1] = {0};
	size_t most = STORED_BYTES;

	for (uint32_t i = 0; i < event->nr_fields; i++) {
		most += make_step(leaves, &steps[i], &event->fields[i].field, &fetches[i]);
		event->wants_reads |= is_read(&steps[i], &fetches[i]);
	}
	return probes_steps_store_layout(table, leaves ? &event->exit : &event->entry, steps,
			most < TOO_MANY ? (uint32_t)most : TOO_MANY, event, leaves);
}
