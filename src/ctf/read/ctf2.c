/* SPDX-License-Identifier: MIT */
/*
 * Reads the fragments of CTF 2 metadata in order.
 *
 * An invalid fragment is skipped, and the following ones are read nevertheless, so that data stays
 * readable as far as it is described. The first error is reported.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "ctf/read/ctf2.h"

#define SEPARATOR '\x1e'
#define MEMORY_BASE (64u << 20)
#define MEMORY_FACTOR 96u

/* ---- errors, memory, properties ---- */

void *ctf2_error(struct ctf2_reader *r, const char *format, ...)
{
	char text[300];
	va_list arguments;

	if (r->first_error)
		return NULL;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	r->first_error =
			error_set(r->error, -EINVAL, NULL, "the metadata cannot be read: %s", text);
	return NULL;
}

void *ctf2_alloc(struct ctf2_reader *r, size_t count, size_t size)
{
	void *memory;

	if (r->first_error)
		return NULL;
	if (ctf_arena_used(r->arena) > r->classes->memory_max)
		return ctf2_error(r, "its field classes take too much memory");
	memory = ctf_arena_alloc(r->arena, count, size);
	if (!memory)
		r->first_error = ctf_metadata_set_no_memory(r->error);
	return memory;
}

char *ctf2_copy(struct ctf2_reader *r, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = ctf2_alloc(r, size, 1);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

const char *ctf2_text(struct ctf2_reader *r, const struct ctf2_json *object, const char *key)
{
	const struct ctf2_json *value = json_member(object, key);

	if (!value)
		return NULL;
	if (value->kind != JSON_STRING)
		return ctf2_error(r, "\"%s\" must be a text", key);
	return value->text;
}

/* Signed numbers are returned as two's complement. */
static uint64_t any_number(struct ctf2_reader *r, const struct ctf2_json *object, const char *key,
		bool is_signed)
{
	const struct ctf2_json *value = json_member(object, key);

	if (!value)
		return 0;
	if (value->kind != JSON_INTEGER || (value->negative && !is_signed)) {
		ctf2_error(r, "\"%s\" must be an integer%s", key,
				is_signed ? "" : " that is not negative");
		return 0;
	}
	return value->number;
}

uint64_t ctf2_number(struct ctf2_reader *r, const struct ctf2_json *object, const char *key,
		uint64_t default_value)
{
	return json_member(object, key) ? any_number(r, object, key, false) : default_value;
}

void ctf2_check_extensions(struct ctf2_reader *r, const struct ctf2_json *object)
{
	const struct ctf2_json *extensions = json_member(object, "extensions");
	const struct ctf2_json *first = extensions ? extensions->first : NULL;

	if (extensions && (extensions->kind != JSON_OBJECT || first))
		ctf2_error(r, "it uses the extension \"%s\", which this version does not know",
				first && first->key ? first->key : "");
}

/* Grow an array of pointers in the arena. */
static void *ctf2_read_grow_pointers(
		struct ctf2_reader *r, void *array, uint32_t *count, void *pointer)
{
	void **pointers = array;

	if (!(*count & (*count - 1))) { /* 0, 1, 2, 4, … */
		pointers = ctf2_alloc(r, *count ? *count * 2 : 1, sizeof(*pointers));
		if (!pointers)
			return array;
		if (*count)
			memcpy(pointers, array, *count * sizeof(*pointers));
	}
	if (!r->first_error)
		pointers[(*count)++] = pointer;
	return pointers;
}

/* ---- preamble, trace, clocks, aliases ---- */

static void read_preamble(struct ctf2_reader *r, const struct ctf2_json *json)
{
	const struct ctf2_json *uuid = json_member(json, "uuid");
	struct ctf_trace_classes *classes = r->classes;
	unsigned int at = 0;

	if (r->has_preamble) {
		ctf2_error(r, "there is more than one preamble");
		return;
	}
	if (ctf2_number(r, json, "version", 0) != 2) {
		ctf2_error(r, "it has another version than 2");
		return;
	}
	r->has_preamble = true;
	if (!uuid)
		return;
	for (const struct ctf2_json *byte = uuid->first; byte && at < 16; byte = byte->next) {
		if (byte->kind == JSON_INTEGER && byte->number <= 255)
			classes->trace.uuid[at++] = (uint8_t)byte->number;
	}
	if (uuid->kind != JSON_ARRAY || at != 16 || uuid->count != 16)
		ctf2_error(r, "the UUID of the preamble is not valid");
	else
		classes->has_uuid = true;
}

static void read_environment(struct ctf2_reader *r, const struct ctf2_json *json)
{
	struct ctf_trace *trace = &r->classes->trace;

	if (json->kind != JSON_OBJECT) {
		ctf2_error(r, "the environment must be an object");
		return;
	}
	r->classes->env = ctf2_alloc(r, json->count, sizeof(*r->classes->env));
	trace->environment = r->classes->env;
	for (const struct ctf2_json *entry = json->first; entry && !r->first_error;
			entry = entry->next) {
		struct ctf_environment *env = &r->classes->env[trace->environment_count];

		if (entry->kind != JSON_STRING && entry->kind != JSON_INTEGER)
			continue;
		env->key = ctf2_copy(r, entry->key);
		env->text = entry->kind == JSON_STRING ? ctf2_copy(r, entry->text) : NULL;
		env->number = (int64_t)entry->number;
		trace->environment_count += !r->first_error;
	}
}

/* The reader finds the magic number of damaged packets in this byte order. */
static void note_magic(struct ctf_trace_classes *classes)
{
	const struct ctf_type *header = classes->packet_header;

	for (uint32_t i = 0; header && i < header->member_count; i++) {
		if (header->members[i].role == CTF_ROLE_MAGIC)
			classes->trace.big_endian = header->members[i].type->big_endian;
	}
}

static void read_trace(struct ctf2_reader *r, const struct ctf2_json *json)
{
	const struct ctf2_json *header = json_member(json, "packet-header-field-class");
	const struct ctf2_json *environment = json_member(json, "environment");
	struct ctf_trace_classes *classes = r->classes;
	struct ctf_type *scopes[CTF_SCOPE_COUNT] = {0};

	if (classes->has_trace || classes->stream_count) {
		ctf2_error(r,
				classes->has_trace ? "there is more than one trace class"
						   : "the trace class follows a data stream class");
		return;
	}
	classes->has_trace = true;
	if (environment)
		read_environment(r, environment);
	if (!header || r->first_error)
		return;
	scopes[CTF_SCOPE_PACKET_HEADER] = ctf2_scope_type(r, header, CTF_SCOPE_PACKET_HEADER, NULL);
	if (!r->first_error)
		r->first_error = ctf_resolve(classes, scopes, CTF_SCOPE_PACKET_HEADER, r->error);
	if (r->first_error)
		return;
	classes->packet_header = scopes[CTF_SCOPE_PACKET_HEADER];
	note_magic(classes);
}

static void ctf2_read_clock(struct ctf2_reader *r, const struct ctf2_json *json)
{
	const struct ctf2_json *origin = json_member(json, "origin");
	const struct ctf2_json *offset = json_member(json, "offset-from-origin");
	const char *id = ctf2_text(r, json, "id"), *name = ctf2_text(r, json, "name");
	const char *description = ctf2_text(r, json, "description");
	struct ctf_trace_classes *classes = r->classes;
	struct ctf_clock *clock = ctf2_alloc(r, 1, sizeof(*clock));
	struct ctf2_clock *entry = ctf2_alloc(r, 1, sizeof(*entry));

	if (!id)
		ctf2_error(r, "a clock class has no id");
	if (r->first_error || !clock || !entry)
		return;
	clock->name = ctf2_copy(r, name ? name : id);
	clock->description = description ? ctf2_copy(r, description) : NULL;
	clock->frequency = any_number(r, json, "frequency", false);
	clock->precision = any_number(r, json, "precision", false);
	clock->offset_s = (int64_t)any_number(r, offset, "seconds", true);
	clock->offset = any_number(r, offset, "cycles", false);
	clock->absolute = origin && origin->kind == JSON_STRING &&
			strcmp(origin->text, "unix-epoch") == 0;
	if (!clock->frequency)
		ctf2_error(r, "the clock class \"%s\" has no frequency", id);
	*entry = (struct ctf2_clock){r->clocks, ctf2_copy(r, id), clock};
	if (r->first_error)
		return;
	r->clocks = entry;
	classes->clocks = ctf2_read_grow_pointers(r, classes->clocks, &classes->clock_count, clock);
	if (!r->first_error)
		classes->trace.clock = classes->clocks[0];
}

/* Returns true if it keeps the fragment's arena. */
static bool read_alias(
		struct ctf2_reader *r, const struct ctf2_json *json, struct ctf_arena *fragment)
{
	const char *name = ctf2_text(r, json, "name");
	const struct ctf2_json *class = json_member(json, "field-class");
	struct ctf2_alias *alias = ctf2_alloc(r, 1, sizeof(*alias));

	if (!name || !class)
		ctf2_error(r, "a field class alias has no name or no field-class");
	if (r->first_error || !alias)
		return false;
	*alias = (struct ctf2_alias){r->aliases, name, class, fragment};
	r->aliases = alias;
	return true;
}

/* ---- data stream classes ---- */

static const struct ctf_clock *default_clock(struct ctf2_reader *r, const struct ctf2_json *json)
{
	const char *id = ctf2_text(r, json, "default-clock-class-id");

	for (const struct ctf2_clock *clock = r->clocks; id && clock; clock = clock->next) {
		if (strcmp(clock->id, id) == 0)
			return clock->clock;
	}
	return id ? ctf2_error(r, "the clock class \"%s\" is not known", id) : NULL;
}

/* Parse one scope and prepare it; `scopes` contains the earlier ones. */
static void read_scope(struct ctf2_reader *r, const struct ctf2_json *json, const char *key,
		struct ctf_type **scopes, enum ctf_scope scope, const struct ctf_clock *clock)
{
	const struct ctf2_json *class = json_member(json, key);

	if (!class || r->first_error)
		return;
	scopes[scope] = ctf2_scope_type(r, class, scope, clock);
	if (!r->first_error)
		r->first_error = ctf_resolve(r->classes, scopes, scope, r->error);
}

/* No role denotes the CPU of a packet, so use the name that all tracers use. */
static void note_cpu(struct ctf_type *context)
{
	for (uint32_t i = 0; context && i < context->member_count; i++) {
		struct ctf_member *member = &context->members[i];

		if (member->role == CTF_ROLE_NONE && strcmp(member->name, "cpu_id") == 0 &&
				member->type->kind <= CTF_ENUM && member->type->kind != CTF_FLOAT)
			member->role = CTF_ROLE_CPU_ID;
	}
}

static void read_stream(struct ctf2_reader *r, const struct ctf2_json *json)
{
	struct ctf_trace_classes *classes = r->classes;
	struct ctf_type *scopes[CTF_SCOPE_COUNT] = {
			[CTF_SCOPE_PACKET_HEADER] = classes->packet_header};
	struct ctf_stream_class *stream = ctf2_alloc(r, 1, sizeof(*stream));

	if (!stream)
		return;
	stream->id = any_number(r, json, "id", false);
	stream->clock = default_clock(r, json);
	if (ctf_stream_class_find(classes, stream->id))
		ctf2_error(r, "the data stream class %" PRIu64 " is defined twice", stream->id);
	read_scope(r, json, "packet-context-field-class", scopes, CTF_SCOPE_PACKET_CONTEXT,
			stream->clock);
	read_scope(r, json, "event-record-header-field-class", scopes, CTF_SCOPE_EVENT_HEADER,
			stream->clock);
	read_scope(r, json, "event-record-common-context-field-class", scopes,
			CTF_SCOPE_STREAM_EVENT_CONTEXT, NULL);
	if (r->first_error)
		return;
	stream->packet_context = scopes[CTF_SCOPE_PACKET_CONTEXT];
	stream->event_header = scopes[CTF_SCOPE_EVENT_HEADER];
	stream->event_context = scopes[CTF_SCOPE_STREAM_EVENT_CONTEXT];
	note_cpu(stream->packet_context);
	classes->streams = ctf2_read_grow_pointers(
			r, classes->streams, &classes->stream_count, stream);
	classes->has_trace = true; /* The trace class is optional. */
}

/* ---- event record classes ---- */

/* The log level on LTTng's scale, -1 for none. */
static int read_log_level(const struct ctf2_json *attributes)
{
	static const char *const namespaces[] = {"babeltrace.org,2020", "lttng.org,2009"};
	static const char *const levels[] = {"emergency", "alert", "critical", "error", "warning",
			"notice", "info", "debug:system", "debug:program", "debug:process",
			"debug:module", "debug:unit", "debug:function", "debug:line", "debug"};

	for (unsigned int i = 0; i < 2; i++) {
		const struct ctf2_json *own = json_member(attributes, namespaces[i]);
		const struct ctf2_json *level = json_member(own, "log-level");

		for (int k = 0; level && level->kind == JSON_STRING && k < 15; k++) {
			if (strcmp(level->text, levels[k]) == 0)
				return k;
		}
	}
	return -1;
}

/* Keep the source of the description, {"side": {"event": {…}}}. */
static void keep_description(struct ctf2_reader *r, const struct ctf2_json *attributes,
		struct ctf_event_class *event)
{
	const struct ctf2_json *json = json_member(json_member(attributes, "side"), "event");
	size_t size;
	char *copy;

	if (!json || json->kind != JSON_OBJECT)
		return;
	size = (size_t)(json->end - json->begin);
	copy = ctf2_alloc(r, size + 1, 1);
	if (copy)
		memcpy(copy, json->begin, size);
	event->side_event = copy;
}

static void ctf2_read_event(struct ctf2_reader *r, const struct ctf2_json *json)
{
	struct ctf_trace_classes *classes = r->classes;
	const struct ctf2_json *attributes = json_member(json, "attributes");
	const char *name = ctf2_text(r, json, "name");
	struct ctf_event_class *event = ctf2_alloc(r, 1, sizeof(*event));
	struct ctf_type *scopes[CTF_SCOPE_COUNT] = {0};
	struct ctf_stream_class *stream;
	char number[24];

	if (!event)
		return;
	event->id = any_number(r, json, "id", false);
	event->stream_id = any_number(r, json, "data-stream-class-id", false);
	snprintf(number, sizeof(number), "%" PRIu64, event->id);
	event->name = ctf2_copy(r, name ? name : number);
	event->loglevel = read_log_level(attributes);
	keep_description(r, attributes, event);
	stream = ctf_stream_class_find(classes, event->stream_id);
	if (!stream) {
		ctf2_error(r,
				"the event \"%s\" belongs to the data stream class %" PRIu64
				", which is not known",
				event->name ? event->name : "", event->stream_id);
		return;
	}
	scopes[CTF_SCOPE_PACKET_HEADER] = classes->packet_header;
	scopes[CTF_SCOPE_PACKET_CONTEXT] = stream->packet_context;
	scopes[CTF_SCOPE_EVENT_HEADER] = stream->event_header;
	scopes[CTF_SCOPE_STREAM_EVENT_CONTEXT] = stream->event_context;
	read_scope(r, json, "specific-context-field-class", scopes, CTF_SCOPE_EVENT_CONTEXT, NULL);
	read_scope(r, json, "payload-field-class", scopes, CTF_SCOPE_EVENT_FIELDS, NULL);
	if (r->first_error)
		return;
	event->context = scopes[CTF_SCOPE_EVENT_CONTEXT];
	event->fields = scopes[CTF_SCOPE_EVENT_FIELDS];
	event->index = classes->event_count;
	stream->events = ctf2_read_grow_pointers(r, stream->events, &stream->event_count, event);
	classes->events = ctf2_read_grow_pointers(r, classes->events, &classes->event_count, event);
}

/* ---- the whole metadata ---- */

/* Read one fragment. Returns true if its arena is still needed. */
static bool ctf2_read_object(
		struct ctf2_reader *r, const struct ctf2_json *json, struct ctf_arena *fragment)
{
	static const struct {
		const char *type;
		void (*read)(struct ctf2_reader *r, const struct ctf2_json *json);
	} fragments[] = {
			{"preamble", read_preamble},
			{"trace-class", read_trace},
			{"clock-class", ctf2_read_clock},
			{"data-stream-class", read_stream},
			{"event-record-class", ctf2_read_event},
	};
	const char *type = ctf2_text(r, json, "type");

	ctf2_check_extensions(r, json);
	if (!type)
		ctf2_error(r, "a fragment has no type");
	if (r->first_error || !type)
		return false;
	if (!r->has_preamble && strcmp(type, "preamble") != 0) {
		ctf2_error(r, "it does not begin with a preamble");
		return false;
	}
	if (strcmp(type, "field-class-alias") == 0)
		return read_alias(r, json, fragment);
	for (unsigned int i = 0; i < sizeof(fragments) / sizeof(fragments[0]); i++) {
		if (strcmp(type, fragments[i].type) == 0) {
			fragments[i].read(r, json);
			return false;
		}
	}
	ctf2_error(r, "the fragment type \"%s\" is not known", type);
	return false;
}

static unsigned int ctf2_read_line_number(const char *text, const char *at)
{
	unsigned int line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

static void read_fragment(struct ctf2_reader *r, const char *whole, const char *text, size_t size)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct json_error error;
	struct ctf2_json *json;

	if (!arena) {
		r->first_error = ctf_metadata_set_no_memory(r->error);
		return;
	}
	json = json_parse(arena, text, size, MEMORY_BASE + size * MEMORY_FACTOR, &error);
	if (!json && error.why)
		ctf2_error(r, "line %u is not JSON: %s", ctf2_read_line_number(whole, error.at),
				error.why);
	else if (!json)
		r->first_error = ctf_metadata_set_no_memory(r->error);
	if (!json || !ctf2_read_object(r, json, arena))
		ctf_arena_destroy(arena);
}

static void free_aliases(struct ctf2_reader *r)
{
	while (r->aliases) {
		struct ctf2_alias *alias = r->aliases;

		r->aliases = alias->next;
		ctf_arena_destroy(alias->arena); /* The alias itself is in the classes' arena. */
	}
}

/* Read all fragments. Returns the first error; -ENOMEM ends the loop. */
static int read_fragments(struct ctf2_reader *r, const char *text, size_t size, struct error *error)
{
	const char *at = text, *end = text + size;
	int first = 0;

	while (at < end && first != -ENOMEM) {
		const char *next = memchr(at + 1, SEPARATOR, (size_t)(end - at) - 1);

		next = next ? next : end;
		r->first_error = 0;
		r->error = first ? NULL : error;
		read_fragment(r, text, at + 1, (size_t)(next - at) - 1);
		first = first ? first : r->first_error;
		if (!first)
			r->classes->good_size = (size_t)(next - text);
		if (!r->has_preamble)
			break;
		at = next;
	}
	return first;
}

int ctf2_parse(struct ctf_trace_classes *classes, const char *text, size_t size,
		struct error *error)
{
	struct ctf2_reader reader = {.classes = classes};
	int ret;

	classes->arena = ctf_arena_create();
	if (!classes->arena)
		return ctf_metadata_set_no_memory(error);
	classes->memory_max = MEMORY_BASE + size * MEMORY_FACTOR;
	classes->is_ctf2 = true;
	classes->trace.big_endian = CTF_HOST_BIG_ENDIAN;
	reader.arena = classes->arena;
	ret = read_fragments(&reader, text, size, error);
	free_aliases(&reader);
	if (!ret && !ctf_tsdl_usable(classes))
		ret = error_set(error, -EINVAL, NULL,
				"the metadata cannot be read: there is no data stream class");
	for (uint32_t i = 0; i < classes->stream_count; i++) {
		int code = ctf_stream_class_index(classes->streams[i], ret ? NULL : error);

		ret = ret ? ret : code;
	}
	ctf_trace_note_environment(&classes->trace);
	return ret;
}
