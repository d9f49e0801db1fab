/* SPDX-License-Identifier: MIT */
/* An entry or a return of a function as parts of a line of the tree of calls. */
#include "analysis/view-tree-line.h"

#include <string.h>

#include "analysis/report-text.h"
#include "analysis/report-walk.h"
#include "analysis/view-colours.h"
#include "analysis/where-path.h"

#define TREE_NONE UINT32_MAX
#define TREE_SUFFIX "_return"
#define TREE_SUFFIX_SIZE (sizeof(TREE_SUFFIX) - 1)

enum view_tree_scope { TREE_NOWHERE, TREE_COMMON_CONTEXT, TREE_CONTEXT, TREE_FIELDS };

/* ---- classes ---- */

static uint32_t view_tree_member(const struct ctf_type *type, const char *name)
{
	if (!type || type->kind != CTF_STRUCT)
		return TREE_NONE;
	for (uint32_t i = 0; i < type->member_count; i++) {
		if (where_same_name(type->members[i].name, name))
			return i;
	}
	return TREE_NONE;
}

static uint32_t view_tree_number(const struct ctf_type *type, const char *name)
{
	uint32_t index = view_tree_member(type, name);

	return type && index != TREE_NONE && type->members[index].type->kind == CTF_INTEGER
			? index
			: TREE_NONE;
}

static bool view_tree_is_return(const struct ctf_event_class *event)
{
	size_t size = strlen(event->name);

	return size > TREE_SUFFIX_SIZE &&
			strcmp(event->name + size - TREE_SUFFIX_SIZE, TREE_SUFFIX) == 0 &&
			view_tree_number(event->fields, "call") != TREE_NONE &&
			view_tree_number(event->fields, "duration") != TREE_NONE;
}

static bool view_tree_is_entry(const struct ctf_event_class *event)
{
	return view_tree_number(event->fields, "call") != TREE_NONE &&
			view_tree_number(event->fields, "duration") == TREE_NONE;
}

static bool view_tree_wants(
		const struct view_tree_wanted *wanted, const struct ctf_event_class *event)
{
	return !wanted->wanted || wanted->wanted(wanted->context, event->name, event->loglevel);
}

/* Whether `end` is the return of the functions whose entries `begin` records. */
static bool view_tree_are_pair(
		const struct ctf_event_class *begin, const struct ctf_event_class *end)
{
	size_t size = strlen(begin->name);

	return strncmp(begin->name, end->name, size) == 0 &&
			strcmp(end->name + size, TREE_SUFFIX) == 0 &&
			begin->stream_id == end->stream_id && view_tree_is_entry(begin) &&
			view_tree_is_return(end);
}

/* The wanted other event of the pair, or NULL. */
static const struct ctf_event_class *view_tree_partner(const struct view_tree_wanted *wanted,
		const struct ctf_trace *trace, const struct ctf_event_class *event)
{
	bool is_return = view_tree_is_return(event);

	if (!is_return && !view_tree_is_entry(event))
		return NULL;
	for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++) {
		const struct ctf_event_class *other = ctf_trace_event(trace, i);

		if (view_tree_are_pair(is_return ? other : event, is_return ? event : other) &&
				view_tree_wants(wanted, other))
			return other;
	}
	return NULL;
}

bool view_tree_is_in(const struct view_tree_wanted *wanted, const struct ctf_reader *reader)
{
	for (uint32_t t = 0; t < ctf_reader_trace_count(reader); t++) {
		const struct ctf_trace *trace = ctf_reader_trace(reader, t);

		for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++) {
			const struct ctf_event_class *event = ctf_trace_event(trace, i);

			if (view_tree_is_return(event) && view_tree_wants(wanted, event) &&
					view_tree_partner(wanted, trace, event))
				return true;
		}
	}
	return false;
}

static void view_tree_know_thread(struct view_tree_class *class, const struct ctf_item *item)
{
	static const char *const names[] = {"vtid", "tid"};
	const struct ctf_value *const scopes[] = {[TREE_COMMON_CONTEXT] = item->common_context,
			[TREE_CONTEXT] = item->context};

	for (unsigned int n = 0; n < 2; n++) {
		for (unsigned int scope = TREE_COMMON_CONTEXT; scope <= TREE_CONTEXT; scope++) {
			const struct ctf_value *values = scopes[scope];

			class->thread = view_tree_number(values ? values->type : NULL, names[n]);
			if (class->thread == TREE_NONE)
				continue;
			class->scope = (uint8_t)scope;
			return;
		}
	}
	if (!item->fields)
		return;
	class->thread = view_tree_number(item->fields->type, "tid");
	class->pid = view_tree_number(item->fields->type, "pid");
	class->comm = view_tree_member(item->fields->type, "comm");
	if (class->thread != TREE_NONE && class->pid != TREE_NONE && class->comm != TREE_NONE)
		class->scope = TREE_FIELDS;
}

void view_tree_know(struct view_tree_class *class, const struct view_tree_wanted *wanted,
		const struct ctf_item *item)
{
	const struct ctf_event_class *event = item->event;
	const char *colon = strchr(event->name, ':');

	view_tree_know_thread(class, item);
	if (!view_tree_partner(wanted, item->trace, event))
		return;
	class->kind = view_tree_is_return(event) ? VIEW_TREE_RETURN : VIEW_TREE_ENTRY;
	class->call = view_tree_number(event->fields, "call");
	class->duration = view_tree_number(event->fields, "duration");
	class->function = view_tree_member(event->fields, "function");
	class->name = colon ? colon + 1 : event->name;
	class->name_size = strlen(class->name);
	if (class->kind == VIEW_TREE_RETURN)
		class->name_size -= TREE_SUFFIX_SIZE;
}

int64_t view_tree_thread(const struct view_tree_class *class, const struct ctf_item *item)
{
	const struct ctf_value *const scopes[] = {[TREE_COMMON_CONTEXT] = item->common_context,
			[TREE_CONTEXT] = item->context,
			[TREE_FIELDS] = item->fields};
	const struct ctf_value *values = scopes[class->scope];

	if (!values)
		return -1;
	values = walk_member_at(values, class->thread);
	return values && values->type->kind == CTF_INTEGER && values->s >= 0 ? values->s : -1;
}

int64_t view_tree_write_process(struct view_sink *sink, const struct view_tree_class *class,
		const struct ctf_item *item)
{
	const struct ctf_value *pid, *comm;

	if (class->scope != TREE_FIELDS)
		return -1;
	pid = walk_member_at(item->fields, class->pid);
	comm = walk_member_at(item->fields, class->comm);
	if (!pid || pid->type->kind != CTF_INTEGER || pid->s < 0 || !comm || !comm->is_text)
		return -1;
	view_text_plain(sink->out, comm->text, comm->size);
	view_out_char(sink->out, ':');
	view_out_signed(sink->out, pid->s);
	return pid->s;
}

/* ---- values ---- */

static bool view_tree_read_number(const struct ctf_item *item, uint32_t index, uint64_t *ret_number)
{
	const struct ctf_value *value = walk_member_at(item->fields, index);

	if (!value || value->type->kind != CTF_INTEGER)
		return false;
	*ret_number = value->u;
	return true;
}

bool view_tree_read(const struct view_tree_class *class, const struct ctf_item *item,
		struct view_tree_record *record)
{
	record->is_return = class->kind == VIEW_TREE_RETURN;
	return item->timed && item->fields &&
			view_tree_read_number(item, class->call, &record->call) &&
			(!record->is_return ||
					view_tree_read_number(
							item, class->duration, &record->duration));
}

/* The group that a member is written in. */
enum tree_group { TREE_ARGUMENT, TREE_VALUE, TREE_NOTE, TREE_HIDDEN };

static enum tree_group view_tree_group_of(
		const struct view_tree_class *class, uint32_t index, const char *name)
{
	if (class->scope == TREE_FIELDS &&
			(index == class->thread || index == class->pid || index == class->comm))
		return TREE_HIDDEN;
	if (index == class->call || index == class->function || index == class->duration ||
			(class->function != TREE_NONE && strcmp(name, "address") == 0))
		return TREE_HIDDEN;
	if (strcmp(name, "backtrace") == 0 || strcmp(name, "caller") == 0)
		return TREE_NOTE;
	if (class->kind == VIEW_TREE_ENTRY)
		return TREE_ARGUMENT;
	return strcmp(name, "return_value") == 0 ? TREE_VALUE : TREE_NOTE;
}

/* The members of a structure, with or without a description. */
struct tree_members {
	const struct view_show *show; /* NULL: plain CTF */
	const struct ctf_value *structure;
	const struct ctf_value *value, *before;
	uint32_t index;
};

static void view_tree_start_members(struct tree_members *members, const struct view_show *show,
		const struct ctf_value *structure)
{
	*members = (struct tree_members){.show = show, .structure = structure};
}

/* The name of the next member that is shown; NULL: there is none. */
static const char *view_tree_next_member(struct tree_members *members)
{
	const struct ctf_value *structure = members->structure;
	uint32_t count = structure->count;

	if (members->show && members->show->part_count < count)
		count = members->show->part_count;
	for (;;) {
		if (!members->value) {
			members->value = structure + 1;
		} else {
			members->before = members->value;
			members->value += members->value->span;
			members->index++;
		}
		if (members->index >= count)
			return NULL;
		if (members->show && members->show->parts[members->index])
			return members->show->parts[members->index]->name;
		if (!members->show && !view_is_tag(structure->type, members->index))
			return members->value->member->name +
					(*members->value->member->name == '_');
	}
}

static void view_tree_write_value(
		struct view_sink *sink, const struct tree_members *members, const char *name)
{
	if (members->show)
		view_side_value(sink, members->show->parts[members->index], members->value,
				members->before);
	else
		view_plain_member(sink, members->value, name);
}

static void view_tree_separate(struct view_sink *sink, uint32_t *count)
{
	if ((*count)++)
		view_out_text(sink->out, ", ");
}

/* Writes the members of one group; returns the number of members that were written. */
static uint32_t view_tree_write_group(struct view_sink *sink, const struct view_tree_class *class,
		const struct view_event *event, const struct ctf_item *item, enum tree_group group,
		uint32_t count)
{
	struct tree_members members;
	const char *name;

	view_tree_start_members(&members, event->fields, item->fields);
	while ((name = view_tree_next_member(&members))) {
		if (view_tree_group_of(class, members.index, name) != group)
			continue;
		view_tree_separate(sink, &count);
		if (group != TREE_VALUE)
			view_text_assign(sink, name, strlen(name));
		view_tree_write_value(sink, &members, name);
	}
	return count;
}

/* A returned value that needs more than 32 bits is most likely an address. */
static bool view_tree_write_address(
		struct view_sink *sink, const struct view_event *event, const struct ctf_item *item)
{
	uint32_t index = view_tree_number(item->fields->type, "return_value");
	const struct view_show *show = event->fields;
	const struct ctf_value *value;

	if (index == TREE_NONE)
		return false;
	value = walk_member_at(item->fields, index);
	if (!value || value->s == (int32_t)value->s || value->u == (uint32_t)value->u)
		return false;
	if (show &&
			(index >= show->part_count || !show->parts[index] ||
					!show->parts[index]->plain ||
					show->parts[index]->kind != VIEW_SHOW_INTEGER))
		return false;
	view_put_integer(sink, value->u, false, 64, 16);
	return true;
}

/* The contexts, except the thread. */
static uint32_t view_tree_write_contexts(struct view_sink *sink,
		const struct view_tree_class *class, const struct ctf_value *context, uint8_t scope,
		uint32_t count)
{
	struct tree_members members;
	const char *name;

	view_tree_start_members(&members, NULL, context);
	while ((name = view_tree_next_member(&members))) {
		if (class->scope == scope && class->thread == members.index)
			continue;
		view_tree_separate(sink, &count);
		view_text_assign(sink, name, strlen(name));
		view_tree_write_value(sink, &members, name);
	}
	return count;
}

const char *view_tree_function(
		const struct view_tree_class *class, const struct ctf_item *item, size_t *ret_size)
{
	const struct ctf_value *text = class->function == TREE_NONE
			? NULL
			: walk_member_at(item->fields, class->function);

	*ret_size = text && text->is_text ? text->size : class->name_size;
	return text && text->is_text ? text->text : class->name;
}

static void view_tree_write_name(struct view_sink *sink, const struct view_tree_class *class,
		const struct ctf_item *item)
{
	size_t size;
	const char *name = view_tree_function(class, item, &size);

	if (sink->colour)
		view_out_text(sink->out, VIEW_COLOUR_EVENT);
	view_text_plain(sink->out, name, size);
	if (sink->colour)
		view_out_text(sink->out, VIEW_COLOUR_END);
}

static uint32_t view_tree_part_size(struct view_sink *sink, size_t *at)
{
	size_t before = *at;

	*at = view_out_size(sink->out);
	return (uint32_t)(*at - before);
}

void view_tree_write(struct view_sink *sink, const struct view_tree_class *class,
		const struct view_event *event, const struct ctf_item *item,
		struct view_tree_record *record)
{
	size_t at = view_out_size(sink->out);
	char duration[FORMAT_NUMBER_MAX];
	uint32_t count;

	view_tree_write_name(sink, class, item);
	record->name_size = view_tree_part_size(sink, &at);
	if (!record->is_return) {
		view_out_char(sink->out, '(');
		view_tree_write_group(sink, class, event, item, TREE_ARGUMENT, 0);
		view_out_char(sink->out, ')');
		record->text_size = view_tree_part_size(sink, &at);
	} else {
		if (!view_tree_write_address(sink, event, item))
			view_tree_write_group(sink, class, event, item, TREE_VALUE, 0);
		record->value_size = view_tree_part_size(sink, &at);
		text_duration((double)record->duration, duration);
		view_out_put(sink->out, duration, strlen(duration));
		record->duration_size = view_tree_part_size(sink, &at);
	}
	count = view_tree_write_group(sink, class, event, item, TREE_NOTE, 0);
	if (item->common_context)
		count = view_tree_write_contexts(
				sink, class, item->common_context, TREE_COMMON_CONTEXT, count);
	if (item->context)
		(void)view_tree_write_contexts(sink, class, item->context, TREE_CONTEXT, count);
	record->notes_size = view_tree_part_size(sink, &at);
}
