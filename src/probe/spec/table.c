/* SPDX-License-Identifier: MIT */
/*
 * Make the probe table of a spec: its locations, the fetches at each, and its one or two events.
 *
 * All locations of a spec have the same events, unless the spec requests an event for each
 * function. So the first location decides the fields of the events, and a location where a field
 * has another type is refused. If a spec may have several locations, its events have a field that
 * names the location.
 */
#include "parts.h"

#include "symbolize/demangle.h"
#include "labels.h"
#include "operand.h"
#include "operand-values.h"
#include "typed-values.h"
#include "variable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS_MAX \
	40 /* members of a structure that is requested as a whole: leaves fields for other values */
#define LEFT_OUT \
	"some members of a structure are left out: they do not fit, or cannot be read; request them by name, as in `p->name`"
#define SOME_LEFT_OUT \
	"some variables are left out: the compiler has optimized them out, the kernel cannot read them, or they do not fit; request one by name to see the reason"
#define RESULT_LEFT_OUT "the return value is left out: no field can hold its type"
#define LEVEL 6 /* SIDE_LOGLEVEL_INFO */

struct values {
	struct value items[PROBE_TABLE_FIELDS_MAX];
	size_t count;
};

struct table_builder {
	const struct probe_spec *spec;
	struct probe_table_writer *writer;
	resolve_refused_fn *refused;
	void *user;
	struct error *error;
	struct locations locations;
	bool are_several; /* events have a field with the location */
	bool separate;
	bool has_same_result;     /* all functions return values of the same type, or none */
	struct event_names names; /* of the events, with `separate` */
	bool has_events;
	bool sign[OPERANDS_MAX]; /* whether an operand of the marker is signed, at any location */
	size_t nr_operands;
	struct values entry, exit; /* the fields of the events */
	uint32_t entry_event, exit_event;
	uint64_t added;
	bool has_warned; /* the note about exceptions was reported */
};

static void refuse_with_hint(const struct table_builder *builder, const struct location *location,
		const char *reason, const char *hint, enum resolve_refused what)
{
	const struct resolve_refusal refusal = {.what = what,
			.module = location->module->name,
			.function = location->name,
			.reason = reason,
			.hint = hint,
			.address = location->address};

	if (builder->refused)
		builder->refused(builder->user, &refusal);
}

static void spec_table_add_refusal(const struct table_builder *builder,
		const struct location *location, const char *reason, enum resolve_refused what)
{
	refuse_with_hint(builder, location, reason, NULL, what);
}

/* ---- values at a location ---- */

/* Returns the number of values: the value itself and the members in it. */
static size_t spec_table_values_of(const struct value *value)
{
	return value->type == PROBE_FIELD_STRUCT ? 1u + value->size : 1;
}

/* Whether two values, with their members, are equal. */
static bool same_values(const struct value *one, const struct value *other)
{
	size_t count = spec_table_values_of(one);

	for (size_t i = 0; i < count; i++)
		if (one[i].type != other[i].type || one[i].size != other[i].size ||
				one[i].fetch.nr_ops != other[i].fetch.nr_ops ||
				memcmp(one[i].fetch.ops, other[i].fetch.ops,
						one[i].fetch.nr_ops * sizeof(*one[i].fetch.ops)))
			return false;
	return true;
}

/* Add a value, or a structure with its members. */
static int spec_table_add_value(
		struct values *values, const struct value *value, struct error *error)
{
	struct value *added = &values->items[values->count];
	size_t count = spec_table_values_of(value), i = 0;
	unsigned int number = 1;

	if (values->count + count > PROBE_TABLE_FIELDS_MAX)
		return error_set(error, -E2BIG, "request fewer values",
				"an event has at most %d fields", PROBE_TABLE_FIELDS_MAX);
	memcpy(added, value, count * sizeof(*value));
	while (i < values->count) {
		const struct value *other = &values->items[i];

		i += spec_table_values_of(other);
		if (strcmp(other->name, added->name) != 0)
			continue;
		/* The spec requests it twice. */
		if (same_values(other, value))
			return 0;
		snprintf(added->name, sizeof(added->name), "%.100s_%u", value->name, ++number);
		i = 0;
	}
	values->count += count;
	return 0;
}

static int add_simple(struct values *values, const char *name, enum probe_field_type type,
		enum probe_fetch_code code, struct error *error)
{
	struct value value = {.type = (uint8_t)type, .size = 8};

	if (type == PROBE_FIELD_STRING) {
		value.size = 1;
		value.limit = 256;
	}
	snprintf(value.name, sizeof(value.name), "%s", name);
	(void)fetch_op(&value.fetch, code, 0, 0, 0);
	return spec_table_add_value(values, &value, error);
}

static int spec_table_add_site(const struct table_builder *builder, struct values *values)
{
	if (!builder->are_several || builder->separate)
		return 0;
	return add_simple(values, "function", PROBE_FIELD_STRING, PROBE_FETCH_FUNCTION,
			       builder->error) ||
					add_simple(values, "address", PROBE_FIELD_HEX,
							PROBE_FETCH_SITE, builder->error)
			? -E2BIG
			: 0;
}

/* Reads the operands at a location: as many as any location of the marker has, with equal types. */
static int spec_table_read_operands(const struct table_builder *builder,
		const struct location *location, struct value operands[OPERANDS_MAX])
{
	size_t count;
	int ret = operands_read(
			location->operands, location->module, operands, &count, builder->error);

	for (size_t i = 0; i < builder->nr_operands && !ret; i++) {
		/* Another location of the marker may have fewer operands. */
		if (i >= count) {
			operands[i] = (struct value){.type = PROBE_FIELD_UNSIGNED, .size = 8};
			snprintf(operands[i].name, sizeof(operands[i].name), "arg%zu", i + 1);
			(void)fetch_op(&operands[i].fetch, PROBE_FETCH_CONSTANT, 0, 0, 0);
		}
		if (operands[i].type == PROBE_FIELD_UNSIGNED && builder->sign[i])
			operands[i].type = PROBE_FIELD_SIGNED;
	}
	return ret;
}

/* Whether the spec selects operands of the marker; otherwise all of them are recorded. */
static bool spec_table_selects_operands(const struct probe_spec *spec)
{
	for (size_t i = 0; i < spec->nr_arguments; i++) {
		if (operand_is_named(spec->arguments[i]))
			return true;
	}
	return false;
}

static int spec_table_add_operands(const struct table_builder *builder,
		const struct location *location, struct values *values)
{
	struct value operands[OPERANDS_MAX];
	int ret = spec_table_read_operands(builder, location, operands);

	for (size_t i = 0; i < builder->nr_operands && !ret; i++)
		ret = spec_table_add_value(values, &operands[i], builder->error);
	return ret;
}

/* Adds a value that the spec describes by operands. */
static int spec_table_add_operand(const struct table_builder *builder,
		const struct location *location, const char *text, struct values *values)
{
	struct value operands[OPERANDS_MAX], value;
	int ret = spec_table_read_operands(builder, location, operands);

	if (!ret)
		ret = operand_value(text, operands, builder->nr_operands, &value, builder->error);
	return ret ? ret : spec_table_add_value(values, &value, builder->error);
}

static int add_variable(const struct table_builder *builder, const struct location *location,
		const char *text, bool exit, struct values *values)
{
	size_t capacity = PROBE_TABLE_FIELDS_MAX - values->count, count;
	struct value *found = calloc(capacity + 1, sizeof(*found));
	bool left_out;
	int ret;

	if (!found)
		return error_set_no_memory(builder->error);
	ret = variable_values(location, text, exit, found,
			capacity < MEMBERS_MAX ? capacity : MEMBERS_MAX, &count, &left_out,
			builder->error);
	if (!ret)
		ret = spec_table_add_value(values, found, builder->error);
	if (!ret && left_out && !builder->has_events)
		spec_table_add_refusal(builder, location, LEFT_OUT, RESOLVE_NOTE);
	free(found);
	return ret;
}

static bool are_of_kernel(const struct values *values, size_t from)
{
	for (size_t i = from; i < values->count; i++)
		if (!fetch_is_of_kernel(&values->items[i].fetch))
			return false;
	return true;
}

/* Add all values of $params or $vars that are available there, and report if some are left out. */
static int add_several(const struct table_builder *builder, const struct location *location,
		const char *text, struct values *values)
{
	struct variable_names names;
	size_t missing = 0;
	int ret = variable_names(location, text, &names, builder->error);

	/*
	 * Of many functions, some are usually of the compiler's own files, which have no debug
	 * information.
	 */
	if (ret == -ENODATA && builder->separate)
		return 0;
	for (size_t i = 0; i < names.count && !ret; i++) {
		size_t before = values->count;

		ret = add_variable(builder, location, names.names[i], false, values);
		if (ret == -ENOMEM)
			return ret;
		if (builder->spec->kernel && !are_of_kernel(values, before)) {
			values->count = before;
			ret = -ENOTSUP;
		}
		missing += ret != 0;
		ret = 0;
	}
	if (!ret && (missing || names.left_out))
		spec_table_add_refusal(builder, location, SOME_LEFT_OUT, RESOLVE_NOTE);
	return ret;
}

static int spec_table_add_context(const struct table_builder *builder,
		const struct location *location, const char *text, struct values *values)
{
	struct value found[SPEC_CONTEXT_MAX];
	size_t count;
	int ret = spec_context(text, location->module, found, &count, builder->error);

	for (size_t i = 0; i < count && !ret; i++)
		ret = spec_table_add_value(values, &found[i], builder->error);
	return ret;
}

static int add_argument(const struct table_builder *builder, const struct location *location,
		const char *text, bool exit, struct values *values)
{
	struct value value;
	int ret;

	if (!exit && location->operands && operand_is_named(text))
		return spec_table_add_operand(builder, location, text, values);
	if (!exit && resolve_is_several(text))
		return add_several(builder, location, text, values);
	if (!exit && !strcmp(text, RESOLVE_BACKTRACE))
		return spec_table_add_context(builder, location, text + 1, values);
	if (!spec_seems_value(text))
		return add_variable(builder, location, text, exit, values);
	ret = spec_value(text, location->module, &value, builder->error);
	return ret ? ret : spec_table_add_value(values, &value, builder->error);
}

/* Add the contexts of the entry, or of the exit. */
static int spec_table_add_contexts(const struct table_builder *builder,
		const struct location *location, bool exit, struct values *values)
{
	int ret = 0;

	for (size_t i = 0; i < builder->spec->nr_contexts && !ret; i++) {
		const char *text = builder->spec->contexts[i], *at_exit = spec_at_exit(text);

		if (exit == !!at_exit)
			ret = spec_table_add_context(
					builder, location, exit ? at_exit : text, values);
	}
	return ret;
}

static int make_entry(const struct table_builder *builder, const struct location *location,
		struct values *values)
{
	const struct probe_spec *spec = builder->spec;
	int ret = spec_table_add_site(builder, values);

	if (!ret && spec->exits)
		ret = add_simple(values, "call", PROBE_FIELD_UNSIGNED, PROBE_FETCH_CALL,
				builder->error);
	if (!ret && location->operands && !spec_table_selects_operands(spec))
		ret = spec_table_add_operands(builder, location, values);
	for (size_t i = 0; i < spec->nr_arguments && !ret; i++)
		ret = add_argument(builder, location, spec->arguments[i], false, values);
	return ret ? ret : spec_table_add_contexts(builder, location, false, values);
}

static int make_exit(const struct table_builder *builder, const struct location *location,
		struct values *values)
{
	struct value result[VARIABLE_RESULT_MAX] = {
			{.name = "return_value", .type = PROBE_FIELD_SIGNED, .size = 8}};
	bool nothing = false, left_out = false, is_known = false;
	int ret = spec_table_add_site(builder, values) ||
			add_simple(values, "call", PROBE_FIELD_UNSIGNED, PROBE_FETCH_CALL,
					builder->error) ||
			add_simple(values, "duration", PROBE_FIELD_UNSIGNED, PROBE_FETCH_DURATION,
					builder->error);

	if (ret)
		return -E2BIG;
	/* If functions return different types, record the register. */
	if (!builder->are_several || builder->separate || builder->has_same_result) {
		ret = variable_result(location, result, &nothing, &left_out, builder->error);
		if (ret < 0)
			return ret;
		is_known = ret;
	}
	if (!is_known)
		(void)fetch_op(&result[0].fetch, PROBE_FETCH_REGISTER, 0, 0, 0);
	if (left_out && !builder->has_events)
		spec_table_add_refusal(builder, location, RESULT_LEFT_OUT, RESOLVE_NOTE);
	ret = nothing ? 0 : spec_table_add_value(values, result, builder->error);
	for (size_t i = 0; i < builder->spec->nr_results && !ret; i++)
		ret = add_argument(builder, location, builder->spec->results[i], true, values);
	return ret ? ret : spec_table_add_contexts(builder, location, true, values);
}

/* ---- events ---- */

static void derive_name(char *name, size_t capacity, const char *location_text)
{
	const char *colon = strrchr(location_text, ':'), *plain = location_text;
	char full[FETCH_NAME_MAX];

	if (colon && colon > location_text && colon[-1] != ':' &&
			(colon[1] < '0' || colon[1] > '9'))
		plain = colon + 1;
	fetch_name(full, plain);
	snprintf(name, capacity, "%s", strcmp(full, "_") != 0 ? full : "function");
}

/* Rules that record an event are patterns, in which these characters have a meaning. */
static void replace_each(char *text, const char *characters)
{
	for (text = strpbrk(text, characters); text; text = strpbrk(text, characters))
		*text = '_';
}

static void event_name(const struct table_builder *builder, char provider[256], char name[256])
{
	const struct probe_spec *spec = builder->spec;
	const char *marker = builder->locations.marker,
		   *location_text = spec->name ? spec->name
			: marker               ? marker
					       : spec->location_text;
	/* The provider of a marker may contain colons. */
	const char *colon = spec->name ? strchr(location_text, ':') : strrchr(location_text, ':');
	bool parts = colon && colon > location_text && colon[1];

	snprintf(provider, 256, RESOLVE_PROVIDER);
	if (!spec->name && spec->kind != RESOLVE_MARKER) {
		derive_name(name, EVENT_NAME_MAX, location_text);
		return;
	}
	if (parts)
		snprintf(provider, 256, "%.*s", (int)(colon - location_text), location_text);
	snprintf(name, EVENT_NAME_MAX, "%s", parts ? colon + 1 : location_text);
	if (!spec->name) {
		replace_each(provider, ":[]\\");
		replace_each(name, ":[]\\");
	}
}

/* Name the event after the function, without parameters. */
static void function_name(const struct location *location, char name[256])
{
	char *readable = names_readable(location->name), plain[FETCH_NAME_MAX];

	if (readable)
		readable[strcspn(readable, "(")] = '\0';
	fetch_name(plain, readable && *readable ? readable : location->name);
	free(readable);
	snprintf(name, EVENT_NAME_MAX, "%s", strcmp(plain, "_") != 0 ? plain : "function");
}

static void name_values(struct probe_table_field *field, const struct value *value)
{
	Dwarf_Die enumeration = value->enumeration;

	if (enumeration.addr && value->type != PROBE_FIELD_BOOL)
		field->labels = item_labels(&enumeration);
}

/*
 * Whether it is the word at the stack pointer, `%rsp+0`: at the beginning of a function,
 * its return address. The agent reads it directly; the kernel may fail to read it.
 */
static bool is_top_of_stack(const struct table_builder *builder, const struct value *value)
{
	const struct fetch *fetch = &value->fetch;

	return builder->spec->kind == RESOLVE_FUNCTION && !builder->spec->kernel && !value->limit &&
			fetch->nr_ops == 2 && fetch->ops[0].code == PROBE_FETCH_REGISTER &&
			fetch->ops[0].reg == PROBE_STACK_POINTER &&
			fetch->ops[1].code == PROBE_FETCH_LOAD;
}

/* Registers and the stack can be read; memory behind a pointer may be unmapped. */
static bool is_guarded(const struct value *value)
{
	const struct fetch *fetch = &value->fetch;
	bool loads = false;

	if (value->type == PROBE_FIELD_STRUCT || value->type == PROBE_FIELD_BACKTRACE)
		return false;
	for (uint32_t i = 0; i < fetch->nr_ops; i++)
		loads |= fetch->ops[i].code == PROBE_FETCH_LOAD;
	/*
	 * The address of a text or array is a pointer of the program if it is loaded from memory or
	 * is a register. Any other address is in the function's frame or its module.
	 */
	if (value->limit &&
			(loads ||
					(fetch->nr_ops == 1 &&
							fetch->ops[0].code ==
									PROBE_FETCH_REGISTER)))
		return true;
	return value->guarded;
}

static int spec_table_add_event(struct table_builder *builder, const char *provider,
		const char *name, const struct values *values, uint32_t *ret_number)
{
	struct probe_table_field fields[PROBE_TABLE_FIELDS_MAX];
	const struct probe_table_event event = {.provider = provider,
			.name = name,
			.loglevel = LEVEL,
			.nr_fields = (uint32_t)values->count,
			.fields = fields};
	int64_t added;

	for (size_t i = 0; i < values->count; i++) {
		fields[i] = (struct probe_table_field){.name = values->items[i].name,
				.type = values->items[i].type,
				.size = values->items[i].size,
				.limit = values->items[i].limit,
				.guarded = is_guarded(&values->items[i]) &&
						!is_top_of_stack(builder, &values->items[i])};
		name_values(&fields[i], &values->items[i]);
	}
	added = probe_table_add_event(builder->writer, &event);
	for (size_t i = 0; i < values->count; i++)
		free((char *)(uintptr_t)fields[i].labels);
	if (added < 0)
		return error_set(builder->error, (int)added,
				added == -EINVAL ? "choose another NAME, or request fewer values"
						 : "",
				"cannot define the event %.128s:%.128s with these fields: %s",
				provider, name, strerror((int)-added));
	*ret_number = (uint32_t)added;
	return 0;
}

static int spec_table_add_events(struct table_builder *builder, const struct location *location,
		const struct values *entry, const struct values *exit)
{
	char provider[256], name[256];
	int ret;

	builder->entry = *entry;
	builder->exit = *exit;
	builder->entry_event = builder->exit_event = PROBE_TABLE_NONE;
	event_name(builder, provider, name);
	/* The events of one function have no field with its name. */
	if (builder->separate ||
			(builder->locations.is_glob && !builder->are_several &&
					!builder->spec->name && *location->name))
		function_name(location, name);
	/* Equal names get numbers. */
	if (builder->separate)
		event_names_add(&builder->names, name);
	ret = spec_table_add_event(builder, provider, name, entry, &builder->entry_event);
	strcat(name, "_return");
	if (!ret && builder->spec->exits)
		ret = spec_table_add_event(builder, provider, name, exit, &builder->exit_event);
	builder->has_events = !ret;
	return ret;
}

/* Contexts of the exit need a spec with exits. */
static int check_exit(const struct probe_spec *spec, struct error *error)
{
	for (size_t i = 0; i < spec->nr_contexts && !spec->exits; i++) {
		if (spec_at_exit(spec->contexts[i]))
			return error_set(error, -EINVAL,
					spec->kind == RESOLVE_FUNCTION
							? "add `--exit`"
							: "add `--exit`, or leave it out",
					"cannot record `%.128s`: it is a value at the return, and `--exit` is not given",
					spec->contexts[i]);
	}
	return 0;
}

/* Enumerations with different labels are different types, although both are numbers of one size. */
static bool same_labels(const struct value *left, const struct value *right)
{
	Dwarf_Die one = left->enumeration, other = right->enumeration;
	char *labels, *others;
	bool same;

	if (!one.addr || !other.addr || one.addr == other.addr)
		return true;
	labels = item_labels(&one);
	others = item_labels(&other);
	same = labels && others && !strcmp(labels, others);
	free(labels);
	free(others);
	return same;
}

/* Whether the values have the names and types of the event's fields. */
static int same_fields(
		const struct values *wanted, const struct values *values, struct error *error)
{
	for (size_t i = 0; i < wanted->count; i++) {
		const struct value *left = &wanted->items[i], *right = &values->items[i];

		if (i >= values->count || strcmp(left->name, right->name) != 0)
			return error_set(error, -EINVAL, "", "`%s` is missing there", left->name);
		if (left->type != right->type || left->size != right->size ||
				left->limit != right->limit || !same_labels(left, right))
			return error_set(error, -EINVAL, "", "`%s` is of another type there",
					left->name);
	}
	return 0;
}

/* ---- probes ---- */

static int spec_table_add_module(const struct table_builder *builder, struct resolve_module *module)
{
	/* The kernel opens the file in our mount namespace. */
	struct probe_table_module table_module = {.path = builder->spec->kernel && module->our_path
					? module->our_path
					: module->path,
			.name = module->name,
			.flags = module->executable ? PROBE_MODULE_EXECUTABLE : 0,
			.build_id_size = module->build_id_size};
	int64_t number;

	if (module->writer == builder->writer)
		return 0;
	memcpy(table_module.build_id, module->build_id, module->build_id_size);
	number = probe_table_add_module(builder->writer, &table_module);
	if (number < 0)
		return error_set(builder->error, (int)number, "",
				"cannot add %s to the probe table: %s", module->path,
				strerror((int)-number));
	module->writer = builder->writer;
	module->number = (uint32_t)number;
	return 0;
}

static bool copy_fetches(struct probe_fetch *ret_fetches, const struct values *values)
{
	bool all = false;

	for (size_t i = 0; i < values->count; i++) {
		ret_fetches[i].ops = values->items[i].fetch.ops;
		ret_fetches[i].nr_ops = values->items[i].fetch.nr_ops;
		all |= fetch_needs_all(&values->items[i].fetch);
	}
	return all;
}

/*
 * The name of the probed function: readable, as in the file, or the address if there is no name or
 * it is too long for the table. Templates have such names.
 */
static const char *spec_table_function(const char *readable, const char *name, const char *number)
{
	if (readable && *readable && strlen(readable) <= PROBE_TABLE_STRING_MAX)
		return readable;
	return *name && strlen(name) <= PROBE_TABLE_STRING_MAX ? name : number;
}

static int spec_table_add_probe(struct table_builder *builder, const struct location *location,
		const struct probe_site *site, const struct values *entry,
		const struct values *exit)
{
	struct probe_fetch entries[PROBE_TABLE_FIELDS_MAX], exits[PROBE_TABLE_FIELDS_MAX];
	char *readable = names_readable(location->name), number[32];
	struct probe_table_probe probe = {.entry = builder->entry_event,
			.exit = builder->exit_event,
			.semaphore = location->semaphore,
			.site = *site,
			.entry_fetches = entries,
			.exit_fetches = exits};
	int64_t added;

	snprintf(number, sizeof(number), "0x%" PRIx64, site->address);
	probe.function = spec_table_function(readable, location->name, number);
	if (copy_fetches(entries, entry))
		probe.flags |= PROBE_ENTRY_ALL;
	(void)copy_fetches(exits, exit);
	if (site->no_exit)
		probe.exit = PROBE_TABLE_NONE;
	probe.site.runtime = 0;
	added = spec_table_add_module(builder, location->module);
	probe.module = location->module->number;
	if (!added)
		added = probe_table_add_probe(builder->writer, &probe);
	free(readable);
	builder->added += added >= 0;
	return added >= 0 ? 0
			  : error_set(builder->error, (int)added, "",
					    "cannot add the probe at 0x%" PRIx64
					    " to the probe table: %s",
					    site->address, strerror((int)-added));
}

static int no_instruction(struct table_builder *builder, const struct location *location)
{
	char hint[128] = "";
	struct probe_site site;

	for (uint64_t back = 1; back < 16 && !*hint; back++) {
		if (!code_site(location->module->code, location->address - back, &site) &&
				site.nr_pieces &&
				site.address + site.pieces[0].length > location->address)
			snprintf(hint, sizeof(hint),
					"one begins at 0x%" PRIx64 ", the next one at 0x%" PRIx64,
					site.address, site.address + site.pieces[0].length);
	}
	return error_set(builder->error, -EINVAL, hint, "no instruction of %s begins at 0x%" PRIx64,
			location->module->name, location->address);
}

static int spec_table_refuse_no_function(
		struct table_builder *builder, const struct location *location)
{
	const struct code_function *functions;

	if (!code_functions(location->module->code, &functions))
		return error_set(builder->error, -ENOENT,
				"install its debug symbols, or use a build of it that is not stripped",
				"%s has neither symbols nor .eh_frame, and side finds no path from its entry to 0x%" PRIx64
				", so an instruction may not begin there",
				location->module->name, location->address);
	return error_set(builder->error, -ENOENT, "`side probe list` shows where functions begin",
			"no known function has code at 0x%" PRIx64 " of %s", location->address,
			location->module->name);
}

#define EXCEPTIONS_END                                                                          \
	"the kernel watches the returns: an exception that leaves one of these functions ends " \
	"the program"

/*
 * The kernel also replaces return addresses, and no unwinder knows them. Nothing shows whether
 * exceptions pass through files without handlers.
 */
static int check_exceptions(struct table_builder *builder, const struct location *location)
{
	if (!builder->spec->kernel || !builder->spec->exits ||
			!code_has_exceptions(location->module->code))
		return 0;
	if (!builder->spec->forced)
		return error_set(builder->error, -ENOTSUP,
				"leave `--exit` out; or, if no exception leaves it, add `--allow-unsafe-exit` (or `--force`, if it need not overwrite a trace)",
				"cannot watch returns from %s: %s handles exceptions, and one that leaves a function whose return the kernel watches ends the program",
				*location->name ? location->name : "that address",
				location->module->name);
	if (!builder->has_warned)
		spec_table_add_refusal(builder, location, EXCEPTIONS_END, RESOLVE_NOTE);
	builder->has_warned = true;
	return 0;
}

/* Find out how the location can be probed. Returns -EINVAL or another error if it cannot. */
static int find_site(struct table_builder *builder, const struct location *location,
		struct probe_site *ret_site)
{
	int ret = location->entry ? code_entry(location->module->code, location->function, ret_site)
				  : code_site(location->module->code, location->address, ret_site);

	if (ret == -EINVAL)
		return no_instruction(builder, location);
	if (ret == -ENOENT)
		return spec_table_refuse_no_function(builder, location);
	if (ret)
		return error_set_no_memory(builder->error);
	if (builder->spec->kernel)
		code_for_kernel(ret_site);
	if (ret_site->method == PROBE_NONE)
		return error_set(builder->error, -ENOTSUP,
				"`side probe list` lists the functions that can be probed",
				"%s at 0x%" PRIx64 " cannot be probed: %s",
				*location->name ? location->name : location->module->name,
				ret_site->address,
				ret_site->reason ? ret_site->reason : "its code is unknown");
	if (builder->spec->exits && location->inlined)
		return error_set(builder->error, -ENOTSUP,
				"leave `--exit` and `--ret` out, or compile it with `-fno-inline`",
				"the compiler has inlined `%.128s` into %s, so its end is unknown",
				builder->spec->location_text,
				*location->name ? location->name : "another function");
	if (builder->spec->exits && ret_site->no_exit && !builder->are_several)
		return error_set(builder->error, -ENOTSUP, "leave `--exit` out",
				"cannot record returns from %s: %s", location->name,
				ret_site->no_exit);
	return 0;
}

/* Functions that compilers add to every program. A missing return of these is not reported. */
static bool is_of_compiler(const char *name)
{
	static const char *const names[] = {"_start", "_init", "_fini", "frame_dummy",
			"register_tm_clones", "deregister_tm_clones", "__do_global_dtors_aux"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* `entry` and `exit` have space for the values of both events. */
static int spec_table_make_probe(struct table_builder *builder, const struct location *location,
		struct values *entry, struct values *exit)
{
	struct probe_site site = {.reason = NULL};
	int ret = find_site(builder, location, &site);

	if (!ret)
		ret = make_entry(builder, location, entry);
	if (!ret && builder->spec->exits)
		ret = make_exit(builder, location, exit);
	if (!ret && builder->has_events)
		ret = same_fields(&builder->entry, entry, builder->error);
	if (!ret && builder->has_events && builder->spec->exits)
		ret = same_fields(&builder->exit, exit, builder->error);
	if (!ret && !builder->has_events)
		ret = spec_table_add_events(builder, location, entry, exit);
	if (!ret)
		ret = spec_table_add_probe(builder, location, &site, entry, exit);
	if (!ret && builder->spec->exits && site.no_exit && !is_of_compiler(location->name))
		spec_table_add_refusal(builder, location, site.no_exit, RESOLVE_NO_RETURN);
	return ret;
}

static int spec_table_compile_location(
		struct table_builder *builder, const struct location *location)
{
	struct values *values = calloc(2, sizeof(*values));
	int ret;

	if (!values)
		return error_set_no_memory(builder->error);
	builder->has_events &= !builder->separate;
	ret = spec_table_make_probe(builder, location, &values[0], &values[1]);
	free(values);
	return ret;
}

/* Collect the operands of the marker at all locations. */
static int survey_operands(struct table_builder *builder)
{
	struct value *operands = calloc(OPERANDS_MAX, sizeof(*operands));

	if (!operands)
		return error_set_no_memory(builder->error);
	for (size_t i = 0; i < builder->locations.count; i++) {
		const struct location *location = &builder->locations.items[i];
		size_t count;

		if (!location->operands ||
				operands_read(location->operands, location->module, operands,
						&count, builder->error))
			continue;
		builder->nr_operands = count > builder->nr_operands ? count : builder->nr_operands;
		for (size_t j = 0; j < count; j++)
			builder->sign[j] |= operands[j].type == PROBE_FIELD_SIGNED;
	}
	free(operands);
	return 0;
}

#define RESULTS_MAX 64 /* do not compare results of more functions than this */

/*
 * Whether all locations return values of the same type, as copies of one function do. Returns 1, 0
 * or a negative errno.
 */
static int is_same_result(const struct locations *locations, struct error *error)
{
	struct value first[VARIABLE_RESULT_MAX] = {{.type = 0}};
	bool nothing = false, left_out = false;
	int has = 0;

	if (!locations->one_name || locations->count > RESULTS_MAX)
		return 0;
	for (size_t i = 0; i < locations->count; i++) {
		struct value result[VARIABLE_RESULT_MAX] = {{.type = 0}};
		bool none, out;
		int found = variable_result(&locations->items[i], result, &none, &out, error);

		if (found < 0)
			return found;
		if (!i) {
			memcpy(first, result, sizeof(first));
			has = found;
			nothing = none;
			left_out = out;
		} else if (found != has || none != nothing || out != left_out ||
				(found && !none &&
						(!same_values(first, result) ||
								!same_labels(first, result)))) {
			return 0;
		}
	}
	return has || nothing;
}

/*
 * Report a piece, whose calls are not recorded. If the first location is inlined code, it contains
 * the beginning, so nothing is missing and nothing is reported.
 */
static void report_piece(const struct table_builder *builder)
{
	const struct location *piece = &builder->locations.piece;
	char hint[512];

	if (piece->name && !builder->locations.items[0].inlined)
		refuse_with_hint(builder, piece,
				"it is only a piece of the function, whose beginning is inlined in callers",
				piece_hint(piece, hint, sizeof(hint)), RESOLVE_LEFT_OUT);
}

/* Report the inlined calls of a function, which are not recorded. */
static void report_inlined(const struct table_builder *builder)
{
	const struct locations *locations = &builder->locations;
	const struct location *location = &locations->items[0];
	char *symbol = locations->nr_inlined ? names_without_copy(location->name) : NULL;
	char *readable = symbol ? names_readable(symbol) : NULL;
	const char *name = readable ? readable : symbol;
	bool is_one = locations->nr_inlined == 1 && !locations->is_inlined_unknown;
	char text[512], hint[768];

	if (name) {
		snprintf(text, sizeof(text),
				"`%.128s` is also inlined at %" PRIu64
				"%s location%s of %.128s, where it is not recorded",
				name, locations->nr_inlined,
				locations->is_inlined_unknown ? " or more" : "", is_one ? "" : "s",
				location->module->name);
		snprintf(hint, sizeof(hint),
				"`side probe list %.300s '%.300s'` lists them; `--probe 0xADDR` records one",
				location->module->path, name);
		refuse_with_hint(builder, location, text, hint, RESOLVE_NOTE);
	}
	free(readable);
	free(symbol);
}

/* Report each file of the table that the program has not loaded, once for all specs. */
static void report_later(const struct table_builder *builder)
{
	for (size_t i = 0; i < builder->locations.count; i++) {
		const struct location *location = &builder->locations.items[i];
		struct resolve_module *module = location->module;
		char text[512];

		if (!module->later || module->reported || module->writer != builder->writer)
			continue;
		module->reported = true;
		snprintf(text, sizeof(text),
				"pending: %.400s is not loaded yet; its probes are set when it is loaded",
				module->path);
		spec_table_add_refusal(builder, location, text, RESOLVE_NOTE);
	}
}

static int spec_table_make_all(struct table_builder *builder)
{
	int ret = survey_operands(builder);

	if (!ret && builder->spec->exits) {
		ret = is_same_result(&builder->locations, builder->error);
		builder->has_same_result = ret > 0;
		ret = ret < 0 ? ret : 0;
	}
	for (size_t i = 0; i < builder->locations.count && !ret; i++)
		ret = check_exceptions(builder, &builder->locations.items[i]);
	for (size_t i = 0; i < builder->locations.count && !ret; i++) {
		const struct location *location = &builder->locations.items[i];

		ret = spec_table_compile_location(builder, location);
		if (!ret || ret == -ENOMEM || builder->locations.count == 1)
			continue;
		spec_table_add_refusal(builder, location, builder->error->text, RESOLVE_LEFT_OUT);
		ret = 0;
	}
	if (!ret && builder->added && builder->locations.note)
		spec_table_add_refusal(builder, &builder->locations.items[0],
				builder->locations.note, RESOLVE_NOTE);
	if (!ret && builder->added)
		report_later(builder);
	if (!ret && builder->added)
		report_piece(builder);
	if (!ret && builder->added)
		report_inlined(builder);
	/* The error is that of the last location. */
	if (!ret && !builder->added)
		ret = -ENOTSUP;
	return ret;
}

static int spec_table_make(struct table_builder *builder)
{
	builder->are_several = builder->locations.count > 1;
	builder->separate = builder->are_several && builder->spec->separate;
	if (builder->separate && !event_names_begin(&builder->names, builder->locations.count))
		return error_set_no_memory(builder->error);
	return spec_table_make_all(builder);
}

/* The table of a library that is not found has no probes. */
static int spec_table_leave_empty(struct table_builder *builder, struct resolve *resolve)
{
	char *library = resolve_library(builder->spec), text[512];
	struct resolve_refusal note = {
			.what = RESOLVE_NOTE, .module = "", .function = "", .reason = text};

	if (!library)
		return error_set_no_memory(builder->error);
	resolve->has_missing = true;
	snprintf(text, sizeof(text),
			strpbrk(library, "*?[")
					? "pending: no known file of `%.256s` has the location; its probes are set when the program loads a file that has it"
					: "pending: no file of `%.256s` is found; its probes are set when the program loads it",
			library);
	free(library);
	builder->refused(builder->user, &note);
	return 0;
}

int resolve_spec(struct resolve *resolve, const struct probe_spec *spec,
		struct probe_table_writer *writer, resolve_refused_fn *refused, void *user,
		struct error *error)
{
	struct table_builder *builder = calloc(1, sizeof(*builder));
	int ret;

	if (!builder)
		return error_set_no_memory(error);
	*builder = (struct table_builder){.spec = spec,
			.writer = writer,
			.refused = refused,
			.user = user,
			.error = error};
	/* An earlier writer may have had the same address. */
	for (size_t i = 0; i < resolve->nr_modules; i++)
		resolve->modules[i].writer = NULL;
	if (spec->exits && spec->kind != RESOLVE_FUNCTION)
		ret = error_set(error, -EINVAL, "use `--function`", "only functions have an exit");
	else
		ret = check_exit(spec, error);
	if (!ret)
		ret = locations_find(resolve, spec, &builder->locations, error);
	if (ret == -ENOENT && builder->locations.is_missing && resolve->accepts_missing)
		ret = spec_table_leave_empty(builder, resolve);
	else if (!ret)
		ret = spec_table_make(builder);
	event_names_end(&builder->names);
	free(builder->locations.note);
	free(builder->locations.items);
	free(builder);
	return ret;
}
