/* SPDX-License-Identifier: MIT */
/*
 * Paths from a record to one of its values, by names and indexes.
 *
 * A SIDE event is walked by its description (struct view_show), dynamic values by their nodes, and
 * everything else (contexts, events of other tracers) by field classes.
 */
#include <string.h>

#include "analysis/where-path.h"
#include "protocol/context.h"

bool where_same_name(const char *member, const char *wanted)
{
	return strcmp(member, wanted) == 0 || (*member == '_' && strcmp(member + 1, wanted) == 0);
}

/* ---- values ---- */

/* A bit of the pointer tells where_label() which structure has the labels. */
#define LABELS_OF_TYPE 1u

static void set_labels_of_show(struct filter_value *value, const struct view_show *show)
{
	value->labels = show;
}

static void set_labels_of_type(struct filter_value *value, const struct ctf_type *type)
{
	value->labels = (const char *)type + LABELS_OF_TYPE;
}

static const char *show_label(
		const struct view_show *show, const struct filter_value *value, uint32_t *at)
{
	while (*at < show->label_count) {
		const struct view_label *label = &show->labels[(*at)++];
		bool wide = show->element->kind == VIEW_SHOW_INT128, matches;

		if (show->kind == VIEW_SHOW_BITMAP)
			matches = label->begin <= label->end && label->begin < 64 &&
					value->u >> label->begin << label->begin
								 << (label->end < 63 ? 63 - label->end
										     : 0);
		else
			/* SIDE compares signed 64-bit numbers. Wider numbers cannot be compared. */
			matches = !(wide && value->is_unsigned && value->u > INT64_MAX) &&
					(int64_t)label->begin <= value->s &&
					value->s <= (int64_t)label->end;
		if (matches)
			return label->text;
	}
	return NULL;
}

static const char *type_label(
		const struct ctf_type *type, const struct filter_value *value, uint32_t *at)
{
	while (*at < type->label_count) {
		const struct ctf_label *label = &type->labels[(*at)++];

		if (type->is_signed ? (int64_t)label->begin <= value->s &&
								value->s <= (int64_t)label->end
				    : label->begin <= value->u && value->u <= label->end)
			return label->text;
	}
	return NULL;
}

const char *where_label(
		void *nothing, const struct filter_value *value, uint32_t *at, size_t *ret_size)
{
	const char *labels = value->labels, *text;

	(void)nothing;
	if ((uintptr_t)labels & LABELS_OF_TYPE)
		text = type_label((const void *)(labels - LABELS_OF_TYPE), value, at);
	else
		text = show_label(value->labels, value, at);
	if (text)
		*ret_size = strlen(text);
	return text;
}

static void set_integer(struct filter_value *ret_value, const struct ctf_value *from)
{
	if (from->type->is_signed)
		filter_value_signed(ret_value, from->s);
	else
		filter_value_unsigned(ret_value, from->u);
}

/* 128 bits: two halves in the byte order of the trace. */
static void set_halves(struct filter_value *ret_value, const struct ctf_value *from)
{
	const struct ctf_value *first = from + 1, *second = first + first->span;
	bool low_first = strcmp(first->member->name, "_lo") == 0;
	const struct ctf_value *low = low_first ? first : second,
			       *high = low_first ? second : first;

	if (high->type->is_signed && high->s == (int64_t)low->u >> 63)
		filter_value_signed(ret_value, low->s);
	else if (!high->u)
		filter_value_unsigned(ret_value, low->u);
	else
		*ret_value = (struct filter_value){.kind = FILTER_WIDE,
				.is_unsigned = !high->type->is_signed,
				.u = low->u,
				.high = high->u};
}

/* Binary128, as 16 bytes in a structure. */
static double double_of_bytes(const struct ctf_value *from, bool big_endian)
{
	struct visit_value number = {.kind = VISIT_FLOAT, .size = 16, .bits = 128};
	bool same = big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	const struct ctf_value *byte;
	struct ctf_cursor cursor;

	ctf_cursor_start(&cursor, from + 1);
	for (unsigned int i = 0; i < 16 && (byte = ctf_cursor_next(&cursor)); i++)
		number.bytes[same ? i : 15 - i] = (unsigned char)byte->u;
	return visit_value_double(&number);
}

static bool plain_scalar(const struct ctf_value *from, struct filter_value *ret_value)
{
	if (from->is_text) {
		filter_value_text(ret_value, from->text, from->size);
		return true;
	}
	switch (from->type->kind) {
	case CTF_INTEGER:
	case CTF_ENUM:
		set_integer(ret_value, from);
		if (from->type->label_count && from->type->kind == CTF_ENUM)
			set_labels_of_type(ret_value, from->type);
		return true;
	case CTF_FLOAT:
		*ret_value = (struct filter_value){.kind = FILTER_DOUBLE, .f = from->f};
		return true;
	default: return false;
	}
}

/* Answers what the expression asks about the last value of the path, whose type is a scalar. */
static bool where_path_format_scalar(const struct view_show *show, const struct ctf_value *from,
		struct filter_value *ret_value)
{
	switch (show->kind) {
	case VIEW_SHOW_BOOL: filter_value_unsigned(ret_value, from->u != 0); return true;
	case VIEW_SHOW_INTEGER: set_integer(ret_value, from); return true;
	case VIEW_SHOW_INT128: set_halves(ret_value, from); return true;
	case VIEW_SHOW_FLOAT:
		*ret_value = (struct filter_value){.kind = FILTER_DOUBLE, .f = from->f};
		return true;
	case VIEW_SHOW_FLOAT128:
		*ret_value = (struct filter_value){.kind = FILTER_DOUBLE,
				.f = double_of_bytes(from, show->big_endian)};
		return true;
	case VIEW_SHOW_STRING: filter_value_text(ret_value, from->text, from->size); return true;
	case VIEW_SHOW_ENUM:
	case VIEW_SHOW_BITMAP:
		if (!where_path_format_scalar(show->element, from, ret_value) ||
				ret_value->kind != FILTER_INT)
			return ret_value->kind == FILTER_WIDE;
		set_labels_of_show(ret_value, show);
		return true;
	default: return false;
	}
}

/* ---- field classes ---- */

/* The chosen option, of nested variants the innermost one. NULL: the option `none` is chosen. */
static const struct ctf_value *where_path_get_selected(const struct ctf_value *value)
{
	while (value->type->kind == CTF_VARIANT) {
		value = value + 1;
		if (value->type->kind == CTF_STRUCT && !value->type->member_count)
			return NULL; /* the option `none` */
	}
	return value;
}

static const struct ctf_value *inner_at(const struct ctf_value *value, uint32_t index)
{
	const struct ctf_value *inner = NULL;
	struct ctf_cursor cursor;

	if (index >= value->count)
		return NULL;
	ctf_cursor_start(&cursor, value);
	do
		inner = ctf_cursor_next(&cursor);
	while (inner && index--);
	return inner;
}

static const struct ctf_value *plain_step(
		const struct ctf_value *value, const struct filter_step *step)
{
	const struct ctf_type *type = value->type;

	if (!step->name)
		return type->kind == CTF_ARRAY || type->kind == CTF_SEQUENCE
				? inner_at(value, step->index)
				: NULL;
	if (type->kind != CTF_STRUCT)
		return NULL;
	for (uint32_t i = 0; i < type->member_count; i++) {
		if (where_same_name(type->members[i].name, step->name))
			return inner_at(value, i);
	}
	return NULL;
}

/*
 * An element of a packed array belongs to the cursor that found it, so that scalars are read at
 * once.
 */
static bool plain_load(const struct ctf_value *value, const struct filter_step *steps,
		uint32_t count, enum filter_ask ask, struct filter_value *ret_value)
{
	struct ctf_cursor cursor;

	value = where_path_get_selected(value);
	for (; value && count; steps++, count--) {
		if (!steps->name && value->packed && count == 1 && ask != FILTER_ASK_LENGTH) {
			const struct ctf_value *element = NULL;

			if (steps->index >= value->count)
				return false;
			ctf_cursor_start(&cursor, value);
			for (uint32_t i = 0; i <= steps->index; i++)
				element = ctf_cursor_next(&cursor);
			return element && plain_scalar(element, ret_value);
		}
		if (value->packed)
			return false;
		value = plain_step(value, steps);
		value = value ? where_path_get_selected(value) : NULL;
	}
	if (!value)
		return false;
	if (ask == FILTER_ASK_PRESENCE)
		return true;
	if (ask == FILTER_ASK_LENGTH && !value->is_text) {
		if (value->type->kind != CTF_ARRAY && value->type->kind != CTF_SEQUENCE)
			return false;
		filter_value_unsigned(ret_value, value->count);
		return true;
	}
	return plain_scalar(value, ret_value);
}

/* Whether values of the type can have the rest of the path. */
static bool plain_may_have(
		const struct ctf_type *type, const struct filter_step *steps, uint32_t count)
{
	if (type->kind == CTF_VARIANT) {
		for (uint32_t i = 0; i < type->member_count; i++) {
			if (plain_may_have(type->members[i].type, steps, count))
				return true;
		}
		return false;
	}
	if (!count)
		return true;
	if (!steps->name)
		return (type->kind == CTF_ARRAY || type->kind == CTF_SEQUENCE) &&
				plain_may_have(type->element, steps + 1, count - 1);
	for (uint32_t i = 0; type->kind == CTF_STRUCT && i < type->member_count; i++) {
		if (where_same_name(type->members[i].name, steps->name))
			return plain_may_have(type->members[i].type, steps + 1, count - 1);
	}
	return false;
}

/* ---- dynamic values ---- */

enum { NODE_STRUCT = 21, NODE_ARRAY = 22, NODE_ATTRIBUTES = 23 };

/* A node of the list in docs/spec/recording.md, section 7. NULL: the node is invalid. */
static const struct ctf_value *next_node(struct ctf_cursor *cursor)
{
	const struct ctf_value *node = ctf_cursor_next(cursor);

	if (!node || node->type->kind != CTF_STRUCT || node->count != 4 ||
			node[1].type->kind != CTF_INTEGER || !node[2].is_text ||
			node[3].type->kind != CTF_ENUM || node[4].type->kind != CTF_VARIANT)
		return NULL;
	return node;
}

static const struct ctf_value *child_of(
		struct ctf_cursor *cursor, uint64_t depth, const struct filter_step *step)
{
	const struct ctf_value *node;
	uint32_t index = 0;

	while ((node = next_node(cursor)) && node[1].u > depth) {
		if (node[1].u > depth + 1 || node[3].u == NODE_ATTRIBUTES)
			continue;
		if (step->name ? strlen(step->name) == node[2].size &&
								memcmp(step->name, node[2].text,
										node[2].size) == 0
			       : step->index == index)
			return node;
		index++;
	}
	return NULL;
}

static bool dynamic_load(const struct ctf_value *list, const struct filter_step *steps,
		uint32_t count, enum filter_ask ask, struct filter_value *ret_value)
{
	const struct ctf_value *node, *value;
	struct view_show scalar = {.kind = VIEW_SHOW_INT128};
	struct ctf_cursor cursor;

	ctf_cursor_start(&cursor, list);
	node = next_node(&cursor);
	for (; node && count; steps++, count--) {
		if (node[3].u != (steps->name ? NODE_STRUCT : NODE_ARRAY))
			return false;
		node = child_of(&cursor, node[1].u, steps);
	}
	if (!node || node[3].u == NODE_ATTRIBUTES)
		return false;
	if (ask == FILTER_ASK_PRESENCE)
		return true;
	value = &node[4] + 1;
	if (node[3].u == NODE_STRUCT || node[3].u == NODE_ARRAY) {
		if (ask != FILTER_ASK_LENGTH || node[3].u != NODE_ARRAY || value->count != 1)
			return false;
		filter_value_unsigned(ret_value, value[1].u);
		return true;
	}
	if (value->type->kind != CTF_STRUCT)
		return plain_scalar(value, ret_value);
	if (value->count == 2) {
		scalar.kind = VIEW_SHOW_INT128;
	} else if (value->count == 1 && value[1].packed && value[1].count == 16) {
		scalar.kind = VIEW_SHOW_FLOAT128;
		scalar.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	} else {
		return false;
	}
	return where_path_format_scalar(&scalar, value, ret_value);
}

/* ---- by the description ---- */

static bool show_load(const struct view_show *show, const struct ctf_value *value,
		const struct filter_step *steps, uint32_t count, enum filter_ask ask,
		struct filter_value *ret_value);

static bool member_load(const struct view_show *show, const struct ctf_value *value,
		const struct filter_step *steps, uint32_t count, enum filter_ask ask,
		struct filter_value *ret_value)
{
	for (uint32_t i = 0; steps->name && i < show->part_count; i++) {
		const struct view_show *part = show->parts[i];
		const struct ctf_value *member;

		if (!part || strcmp(part->name, steps->name) != 0)
			continue;
		member = inner_at(value, i);
		return member && show_load(part, member, steps + 1, count - 1, ask, ret_value);
	}
	return false;
}

static bool element_load(const struct view_show *show, const struct ctf_value *value,
		const struct filter_step *steps, uint32_t count, enum filter_ask ask,
		struct filter_value *ret_value)
{
	const struct ctf_value *element = NULL;
	struct ctf_cursor cursor;

	if (steps->name || steps->index >= value->count)
		return false;
	ctf_cursor_start(&cursor, value);
	for (uint32_t i = 0; i <= steps->index; i++)
		element = ctf_cursor_next(&cursor);
	return element && show_load(show->element, element, steps + 1, count - 1, ask, ret_value);
}

static bool end_load(const struct view_show *show, const struct ctf_value *value,
		enum filter_ask ask, struct filter_value *ret_value)
{
	if (ask == FILTER_ASK_PRESENCE)
		return show->kind != VIEW_SHOW_NULL;
	if (ask == FILTER_ASK_LENGTH && show->kind == VIEW_SHOW_LIST) {
		filter_value_unsigned(ret_value, value->count);
		return true;
	}
	return where_path_format_scalar(show, value, ret_value);
}

static bool show_load(const struct view_show *show, const struct ctf_value *value,
		const struct filter_step *steps, uint32_t count, enum filter_ask ask,
		struct filter_value *ret_value)
{
	const struct view_show *part;

	if (show->wrapped) {
		value++;
		value += value->span;
	}
	switch (show->kind) {
	case VIEW_SHOW_OPTIONAL:
	case VIEW_SHOW_VARIANT:
		value++;
		part = show->parts[value->member - (value - 1)->type->members];
		return part && show_load(part, value, steps, count, ask, ret_value);
	case VIEW_SHOW_DYNAMIC: return dynamic_load(value, steps, count, ask, ret_value);
	case VIEW_SHOW_STRUCT:
		if (count)
			return member_load(show, value, steps, count, ask, ret_value);
		break;
	case VIEW_SHOW_LIST:
		if (count)
			return element_load(show, value, steps, count, ask, ret_value);
		break;
	default: break;
	}
	return !count && end_load(show, value, ask, ret_value);
}

static bool show_may_have(
		const struct view_show *show, const struct filter_step *steps, uint32_t count)
{
	switch (show->kind) {
	case VIEW_SHOW_OPTIONAL:
	case VIEW_SHOW_VARIANT:
		for (uint32_t i = 0; i < show->part_count; i++) {
			if (show->parts[i] && show_may_have(show->parts[i], steps, count))
				return true;
		}
		return false;
	case VIEW_SHOW_DYNAMIC: return true;
	case VIEW_SHOW_STRUCT:
		for (uint32_t i = 0; count && steps->name && i < show->part_count; i++) {
			if (show->parts[i] && strcmp(show->parts[i]->name, steps->name) == 0)
				return show_may_have(show->parts[i], steps + 1, count - 1);
		}
		return !count;
	case VIEW_SHOW_LIST:
		if (count)
			return !steps->name && show_may_have(show->element, steps + 1, count - 1);
		return true;
	default: return !count;
	}
}

/* ---- the scopes of a record ---- */

/* Each earlier member has exactly one value, so that the distance is fixed. */
static void where_path_set_location(
		struct where_path *path, const struct ctf_type *type, uint32_t index)
{
	path->index = index;
	path->direct = index + 1;
	for (uint32_t i = 0; i < index; i++) {
		enum ctf_kind kind = type->members[i].type->kind;

		if (kind != CTF_INTEGER && kind != CTF_FLOAT && kind != CTF_ENUM &&
				kind != CTF_STRING)
			path->direct = 0;
	}
}

static bool where_path_find_member(struct where_path *path, enum where_scope scope,
		const struct ctf_type *type, const struct filter_step *steps, uint32_t count)
{
	if (!type || type->kind != CTF_STRUCT || !plain_may_have(type, steps, count))
		return false;
	path->scope = scope;
	for (uint32_t i = 0; i < type->member_count; i++) {
		if (where_same_name(type->members[i].name, steps->name)) {
			where_path_set_location(path, type, i);
			return true;
		}
	}
	return false;
}

static bool where_path_find_field(struct where_path *path, const struct filter_path *wanted,
		const struct ctf_item *item, const struct view_event *event)
{
	const struct ctf_type *type = item->fields ? item->fields->type : NULL;
	const struct filter_step *steps = wanted->steps;
	uint32_t count = wanted->nr_steps;

	if (!type || !count || !steps->name)
		return false;
	if (!event || !event->fields)
		return where_path_find_member(path, WHERE_FIELDS, type, steps, count);
	path->scope = WHERE_FIELDS;
	for (uint32_t i = 0; i < event->fields->part_count; i++) {
		const struct view_show *part = event->fields->parts[i];

		if (!part || strcmp(part->name, steps->name) != 0)
			continue;
		where_path_set_location(path, type, i);
		path->show = part;
		return show_may_have(part, steps + 1, count - 1);
	}
	path->scope = WHERE_VARIADIC;
	where_path_set_location(path, type, event->variadic_index);
	return event->variadic;
}

static bool where_path_find_context(struct where_path *path, const struct filter_path *wanted,
		const struct ctf_item *item)
{
	const struct ctf_value *common = item->common_context, *own = item->context;
	struct filter_step step = *wanted->steps;
	struct context_error error;
	struct context_spec spec;

	if (context_parse(step.name, &spec, &error) == 0)
		step.name = spec.field;
	if (where_path_find_member(
			    path, WHERE_COMMON_CONTEXT, common ? common->type : NULL, &step, 1) ||
			where_path_find_member(
					path, WHERE_CONTEXT, own ? own->type : NULL, &step, 1))
		return true;
	/* What the recorder knows about the whole process. */
	if (strcmp(step.name, "procname") == 0 && item->trace->procname)
		path->scope = WHERE_PROCNAME;
	else if (strcmp(step.name, "vpid") == 0 && item->trace->vpid >= 0)
		path->scope = WHERE_VPID;
	else if (strcmp(step.name, "cpu_id") == 0)
		path->scope = WHERE_CPU;
	else
		return false;
	return true;
}

bool where_path_find(struct where_path *ret_path, const struct filter_path *wanted,
		const struct ctf_item *item, const struct view_event *event)
{
	*ret_path = (struct where_path){.ask = wanted->ask};
	if (wanted->root == FILTER_CONTEXT)
		return where_path_find_context(ret_path, wanted, item);
	return where_path_find_field(ret_path, wanted, item, event);
}

static bool where_path_get_member(const struct where_path *path, const struct ctf_value *scope,
		const struct filter_step *steps, uint32_t count, struct filter_value *ret_value)
{
	const struct ctf_value *member;

	if (!scope)
		return false;
	member = path->direct ? scope + path->direct : inner_at(scope, path->index);
	if (!member)
		return false;
	if (path->scope == WHERE_VARIADIC)
		return dynamic_load(member, path->steps, path->step_count, path->ask, ret_value);
	if (path->show)
		return show_load(path->show, member, steps, count, path->ask, ret_value);
	return plain_load(member, steps, count, path->ask, ret_value);
}

bool where_path_load(const struct where_path *path, const struct ctf_item *item,
		struct filter_value *ret_value)
{
	switch (path->scope) {
	case WHERE_FIELDS:
	case WHERE_VARIADIC:
		return where_path_get_member(path, item->fields, path->steps + 1,
				path->step_count - 1, ret_value);
	case WHERE_COMMON_CONTEXT:
		return where_path_get_member(path, item->common_context, NULL, 0, ret_value);
	case WHERE_CONTEXT: return where_path_get_member(path, item->context, NULL, 0, ret_value);
	case WHERE_PROCNAME:
		filter_value_text(ret_value, item->trace->procname, FILTER_TERMINATED);
		return true;
	case WHERE_VPID: filter_value_signed(ret_value, item->trace->vpid); return true;
	case WHERE_CPU:
		if (item->stream->cpu >= 0)
			filter_value_signed(ret_value, item->stream->cpu);
		return item->stream->cpu >= 0;
	}
	return false;
}

/* ---- how values are shown ---- */

static struct where_form show_form(
		const struct view_show *show, const struct filter_step *steps, uint32_t count)
{
	struct where_form form = {.base = 10};

	switch (show->kind) {
	case VIEW_SHOW_OPTIONAL:
	case VIEW_SHOW_VARIANT:
		for (uint32_t i = 0; i < show->part_count; i++) {
			if (show->parts[i] && show_may_have(show->parts[i], steps, count))
				return show_form(show->parts[i], steps, count);
		}
		return form;
	case VIEW_SHOW_STRUCT:
		for (uint32_t i = 0; count && steps->name && i < show->part_count; i++) {
			if (show->parts[i] && strcmp(show->parts[i]->name, steps->name) == 0)
				return show_form(show->parts[i], steps + 1, count - 1);
		}
		return form;
	case VIEW_SHOW_LIST: return count ? show_form(show->element, steps + 1, count - 1) : form;
	case VIEW_SHOW_INTEGER:
		form.base = show->base;
		form.address = show->address;
		return form;
	default: return form;
	}
}

static struct where_form plain_form(const struct ctf_type *type, const char *name,
		const struct filter_step *steps, uint32_t count)
{
	struct where_form form = {.base = 10};

	if (type->kind == CTF_INTEGER && !type->bitmap) {
		form.base = (uint8_t)type->base;
		if (name && !type->is_signed)
			form.address = (uint8_t)address_kind_of_name(name);
		return form;
	}
	if (type->kind == CTF_VARIANT) {
		for (uint32_t i = 0; i < type->member_count; i++) {
			if (type->members[i].type->kind != CTF_STRUCT &&
					plain_may_have(type->members[i].type, steps, count))
				return plain_form(type->members[i].type, name, steps, count);
		}
		return form;
	}
	if (!count)
		return form;
	if (!steps->name)
		return type->element ? plain_form(type->element, NULL, steps + 1, count - 1) : form;
	for (uint32_t i = 0; type->kind == CTF_STRUCT && i < type->member_count; i++) {
		if (where_same_name(type->members[i].name, steps->name))
			return plain_form(type->members[i].type, steps->name, steps + 1, count - 1);
	}
	return form;
}

static struct where_form context_form(const struct where_path *path, const struct ctf_value *scope,
		const struct view_event *event)
{
	const struct ctf_member *member = &scope->type->members[path->index];
	struct where_form form =
			plain_form(member->type, member->name + (*member->name == '_'), NULL, 0);

	if (form.address && event && where_same_name(member->name, "ip"))
		form.address = event->ip;
	return form;
}

struct where_form where_path_form(const struct where_path *path, const struct ctf_item *item,
		const struct view_event *event)
{
	switch (path->scope) {
	case WHERE_FIELDS:
		if (path->show)
			return show_form(path->show, path->steps + 1, path->step_count - 1);
		return plain_form(item->fields->type->members[path->index].type, path->steps->name,
				path->steps + 1, path->step_count - 1);
	case WHERE_COMMON_CONTEXT: return context_form(path, item->common_context, event);
	case WHERE_CONTEXT: return context_form(path, item->context, event);
	default: return (struct where_form){.base = 10};
	}
}
