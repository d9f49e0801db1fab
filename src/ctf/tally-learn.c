/* SPDX-License-Identifier: MIT */
/* Converts field classes to steps for tally.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/tally.h"
#include "ctf/tally-steps.h"
#include "ctf/type.h"

/* Larger than any record that fits a ring. */
#define BYTES_MAX (1u << 30)
#define STEPS_MAX (1u << 22)

/* The state of converting a tree. Consecutive constant bytes become one step. */
struct course {
	struct ctf_tally *tally;
	uint32_t begin; /* steps before it belong to another sequence */
	unsigned int depth;
};

static int tally_learn_add_type(struct course *course, const struct ctf_type *type);

/* Add a step. Constant bytes directly before it become a part of it. */
static int tally_learn_add_step(
		struct course *course, struct ctf_tally_step step, uint32_t *ret_index)
{
	struct ctf_tally *tally = course->tally;

	if (tally->nr_steps > course->begin &&
			tally->steps[tally->nr_steps - 1].kind == CTF_STEP_BYTES)
		step.before += tally->steps[--tally->nr_steps].before;
	if (tally->nr_steps == tally->steps_capacity) {
		uint32_t capacity = tally->steps_capacity ? tally->steps_capacity * 2 : 64;
		struct ctf_tally_step *grown = capacity > STEPS_MAX
				? NULL
				: realloc(tally->steps, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		tally->steps = grown;
		tally->steps_capacity = capacity;
	}
	*ret_index = tally->nr_steps;
	step.end = *ret_index + 1;
	tally->steps[tally->nr_steps++] = step;
	return step.before > BYTES_MAX ? -ENOTSUP : 0;
}

static int tally_learn_add_bytes(struct course *course, uint64_t bytes)
{
	uint32_t index;

	if (bytes > BYTES_MAX)
		return -ENOTSUP;
	return bytes ? tally_learn_add_step(course,
				       (struct ctf_tally_step){.kind = CTF_STEP_BYTES,
						       .before = (uint32_t)bytes},
				       &index)
		     : 0;
}

/* Add a separate sequence: its steps are not merged with steps before and behind it. */
static int tally_learn_add_row(struct course *course, const struct ctf_type *type)
{
	int ret;

	course->begin = course->tally->nr_steps;
	ret = tally_learn_add_type(course, type);
	course->begin = course->tally->nr_steps;
	return ret;
}

/* The size of a sequence, if it is constant. */
static bool is_fixed(
		const struct ctf_tally *tally, uint32_t first, uint32_t end, uint32_t *ret_bytes)
{
	*ret_bytes = first == end ? 0 : tally->steps[first].before;
	return first == end || (end - first == 1 && tally->steps[first].kind == CTF_STEP_BYTES);
}

static int tally_learn_add_array(struct course *course, const struct ctf_type *type)
{
	struct ctf_tally *tally = course->tally;
	uint32_t begin = course->begin, at, bytes;
	int ret;

	if (!type->length)
		return 0;
	ret = tally_learn_add_step(course, (struct ctf_tally_step){.kind = CTF_STEP_ARRAY}, &at);
	if (!ret)
		ret = tally_learn_add_row(course, type->element);
	if (ret)
		return ret;
	if (is_fixed(tally, at + 1, tally->nr_steps, &bytes)) {
		/* The array has a constant size: merge it with the bytes before it. */
		tally->nr_steps = at;
		course->begin = begin;
		if (type->length > BYTES_MAX && bytes)
			return -ENOTSUP;
		return tally_learn_add_bytes(
				course, tally->steps[at].before + bytes * type->length);
	}
	if (type->length > BYTES_MAX)
		return -ENOTSUP;
	tally->steps[at].count = (uint32_t)type->length;
	tally->steps[at].end = tally->nr_steps;
	return 0;
}

/* True for whole bytes with the bits in the normal order. */
static bool tally_learn_is_plain(const struct ctf_type *type)
{
	return !type->leb128 && !type->reversed && type->align == 8 &&
			(type->size == 8 || type->size == 16 || type->size == 32 ||
					type->size == 64);
}

static struct ctf_tally_step step_of(enum ctf_tally_step_kind kind, const struct ctf_type *integer)
{
	return (struct ctf_tally_step){
			.kind = (uint8_t)kind,
			.size = integer->size / 8,
			.is_signed = integer->is_signed,
			.swapped = integer->big_endian != CTF_HOST_BIG_ENDIAN,
	};
}

static int tally_learn_add_sequence(
		struct course *course, const struct ctf_type *length, const struct ctf_type *type)
{
	struct ctf_tally *tally = course->tally;
	uint32_t at, bytes;
	int ret = tally_learn_add_step(course, step_of(CTF_STEP_ROWS, length), &at);

	if (!ret)
		ret = tally_learn_add_row(course, type->element);
	if (ret)
		return ret;
	if (is_fixed(tally, at + 1, tally->nr_steps, &bytes)) {
		tally->nr_steps = course->begin = at + 1;
		tally->steps[at].kind = CTF_STEP_RUN;
		tally->steps[at].count = bytes;
	}
	tally->steps[at].end = tally->nr_steps;
	return 0;
}

static int add_option(struct ctf_tally *tally, const struct ctf_tally_option *option)
{
	if (tally->nr_options == tally->options_capacity) {
		uint32_t capacity = tally->options_capacity ? tally->options_capacity * 2 : 64;
		struct ctf_tally_option *grown = capacity > STEPS_MAX
				? NULL
				: realloc(tally->options, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		tally->options = grown;
		tally->options_capacity = capacity;
	}
	tally->options[tally->nr_options++] = *option;
	return 0;
}

/* Add the ranges of the labels with the names of the options, which are in the same order. */
static int put_ranges(struct ctf_tally *tally, const struct ctf_type *tag,
		const struct ctf_type *type, const struct ctf_tally_option *rows)
{
	const uint64_t flip = ctf_tally_flip(tag->is_signed);
	uint32_t at = 0;

	for (uint32_t i = 0; i < tag->label_count; i++) {
		const struct ctf_label *label = &tag->labels[i];
		struct ctf_tally_option option;
		uint32_t tries = 0;

		while (tries < type->member_count &&
				strcmp(type->members[at].name, label->text) != 0) {
			at = at + 1 == type->member_count ? 0 : at + 1;
			tries++;
		}
		if (tries == type->member_count)
			continue;
		option = rows[at];
		option.begin = label->begin ^ flip;
		option.last = label->end ^ flip;
		if (add_option(tally, &option))
			return -ENOMEM;
	}
	return 0;
}

static int tally_learn_compare_begin(const void *one, const void *other)
{
	const struct ctf_tally_option *a = one, *b = other;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int tally_learn_add_variant(
		struct course *course, const struct ctf_type *tag, const struct ctf_type *type)
{
	struct ctf_tally *tally = course->tally;
	struct ctf_tally_option *rows = calloc((size_t)type->member_count + 1, sizeof(*rows));
	uint32_t at, first;
	int ret = rows ? tally_learn_add_step(course, step_of(CTF_STEP_VARIANT, tag), &at)
		       : -ENOMEM;

	for (uint32_t i = 0; !ret && i < type->member_count; i++) {
		rows[i].first = tally->nr_steps;
		ret = tally_learn_add_row(course, type->members[i].type);
		rows[i].end = tally->nr_steps;
	}
	/* Add them behind the options of inner variants, so that they are consecutive. */
	first = tally->nr_options;
	if (!ret)
		ret = put_ranges(tally, tag, type, rows);
	free(rows);
	if (ret)
		return ret;
	/* The ranges are disjoint: see recording.md, section 5. */
	if (tally->nr_options > first)
		qsort(tally->options + first, tally->nr_options - first, sizeof(*tally->options),
				tally_learn_compare_begin);
	tally->steps[at].first = first;
	tally->steps[at].count = tally->nr_options - first;
	tally->steps[at].end = tally->nr_steps;
	course->begin = tally->nr_steps;
	return 0;
}

/* True for a length or selector with the member that it describes: they become one step. */
static bool is_pair(const struct ctf_member *one, const struct ctf_member *next)
{
	return (next->type->kind == CTF_SEQUENCE || next->type->kind == CTF_VARIANT) &&
			(one->type->kind == CTF_INTEGER || one->type->kind == CTF_ENUM) &&
			next->type->reference && !strcmp(next->type->reference, one->name) &&
			tally_learn_is_plain(one->type);
}

static int tally_learn_add_struct(struct course *course, const struct ctf_type *type)
{
	int ret = 0;

	for (uint32_t i = 0; i < type->member_count && !ret; i++) {
		const struct ctf_member *member = &type->members[i], *next = member + 1;

		if (i + 1 == type->member_count || !is_pair(member, next)) {
			ret = tally_learn_add_type(course, member->type);
			continue;
		}
		ret = next->type->kind == CTF_SEQUENCE
				? tally_learn_add_sequence(course, member->type, next->type)
				: tally_learn_add_variant(course, member->type, next->type);
		i++;
	}
	return ret;
}

static int tally_learn_put_class(struct course *course, const struct ctf_type *type)
{
	uint32_t index;

	switch (type->kind) {
	case CTF_INTEGER:
	case CTF_ENUM:
	case CTF_FLOAT:
		return tally_learn_is_plain(type) ? tally_learn_add_bytes(course, type->size / 8)
						  : -ENOTSUP;
	case CTF_STRING:
		if (type->encoding != CTF_UTF8)
			return -ENOTSUP;
		return tally_learn_add_step(
				course, (struct ctf_tally_step){.kind = CTF_STEP_STRING}, &index);
	case CTF_STRUCT: return tally_learn_add_struct(course, type);
	case CTF_ARRAY: return tally_learn_add_array(course, type);
	case CTF_SEQUENCE:
	case CTF_VARIANT: break; /* The length or selector directly before it is missing. */
	}
	return -ENOTSUP;
}

static int tally_learn_add_type(struct course *course, const struct ctf_type *type)
{
	int ret;

	if (course->depth == CTF_DEPTH_MAX)
		return -ENOTSUP;
	course->depth++;
	ret = tally_learn_put_class(course, type);
	course->depth--;
	return ret;
}

static bool tally_learn_is_flat(const struct ctf_tally *tally, uint32_t first, uint32_t end)
{
	for (; first < end; first++)
		if (tally->steps[first].kind > CTF_STEP_RUN)
			return false;
	return true;
}

static bool tally_learn_is_text(const struct ctf_tally *tally, uint32_t first, uint32_t end)
{
	const struct ctf_tally_step *step = &tally->steps[first];

	return step->kind == CTF_STEP_STRING &&
			(end - first == 1 || (end - first == 2 && step[1].kind == CTF_STEP_BYTES));
}

static int tally_learn_ensure_capacity(struct ctf_tally *tally, uint32_t id)
{
	uint32_t capacity = tally->nr_classes ? tally->nr_classes : 64;
	struct ctf_tally_class *classes;

	if (id < tally->nr_classes)
		return 0;
	while (capacity <= id && capacity < 1u << 31)
		capacity *= 2;
	classes = capacity > id ? realloc(tally->classes, capacity * sizeof(*classes)) : NULL;
	if (!classes)
		return -ENOMEM;
	memset(classes + tally->nr_classes, 0, (capacity - tally->nr_classes) * sizeof(*classes));
	tally->classes = classes;
	tally->nr_classes = capacity;
	return 0;
}

int ctf_tally_learn(struct ctf_tally *tally, uint32_t id, const struct ctf_type *const trees[],
		unsigned int nr_trees)
{
	struct course course = {.tally = tally, .begin = tally->nr_steps};
	uint32_t first = tally->nr_steps, options = tally->nr_options;
	struct ctf_tally_class *kind;
	uint32_t bytes;
	int ret = tally_learn_ensure_capacity(tally, id);

	if (ret)
		return ret;
	for (unsigned int i = 0; i < nr_trees && !ret; i++)
		if (trees[i])
			ret = tally_learn_add_type(&course, trees[i]);
	kind = &tally->classes[id];
	*kind = (struct ctf_tally_class){.first = first, .end = tally->nr_steps};
	if (!ret && !is_fixed(tally, first, tally->nr_steps, &bytes)) {
		kind->known = tally_learn_is_text(tally, first, tally->nr_steps) ? CTF_TALLY_TEXT
				: tally_learn_is_flat(tally, first, tally->nr_steps)
				? CTF_TALLY_FLAT
				: CTF_TALLY_STEPS;
		return 0;
	}
	if (!ret)
		kind->known = CTF_TALLY_BYTES + bytes;
	/* The steps are not needed. */
	tally->nr_steps = first;
	tally->nr_options = options;
	return ret == -ENOMEM ? ret : 0;
}

void ctf_tally_free(struct ctf_tally *tally)
{
	free(tally->classes);
	free(tally->steps);
	free(tally->options);
	*tally = (struct ctf_tally){0};
}
