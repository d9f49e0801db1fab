/* SPDX-License-Identifier: MIT */
/* TSDL blocks: trace, env, clock, stream, event; the rest is skipped. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "ctf/tsdl.h"

#define TSDL_KEY_MAX 128

/* ---- entries of blocks ---- */

/* `key = value;` or `key := type;` */
struct entry {
	char key[TSDL_KEY_MAX]; /* Dots included. */
	const char *text;       /* A string, or words. */
	bool is_string;
	bool is_number;
	uint64_t number;
	struct ctf_type *type;
};

static void parse_entry_key(struct tsdl_parser *p, struct entry *entry)
{
	size_t used = 0;

	while (!p->failed && (p->token.kind == TSDL_WORD || tsdl_is(p, '.'))) {
		size_t size = p->token.kind == TSDL_WORD ? p->token.size : 1;

		if (used + size >= sizeof(entry->key)) {
			tsdl_error(p, "a key is too long");
			return;
		}
		memcpy(entry->key + used, p->token.text, size);
		used += size;
		tsdl_next(p);
	}
	entry->key[used] = '\0';
	if (!used)
		tsdl_error(p, "a key is missing");
}

static void parse_entry_value(struct tsdl_parser *p, struct entry *entry)
{
	if (p->token.kind == TSDL_STRING || p->token.kind == TSDL_WORD) {
		entry->is_string = p->token.kind == TSDL_STRING;
		entry->text = tsdl_copy_token(p);
		tsdl_next(p);
		/* The rest of a dotted value says nothing to us. */
		while (!entry->is_string && (p->token.kind == TSDL_WORD || tsdl_is(p, '.')))
			tsdl_next(p);
	} else {
		entry->is_number = tsdl_number(p, &entry->number);
	}
}

/* The next entry of a block, or false at its end. Declarations between are taken. */
static bool parse_entry(struct tsdl_parser *p, struct entry *entry)
{
	*entry = (struct entry){0};
	while (!p->failed && tsdl_at_declaration(p))
		tsdl_declaration(p);
	if (p->failed || tsdl_is(p, '}'))
		return false;
	parse_entry_key(p, entry);
	if (p->token.kind == TSDL_ASSIGN_TYPE) {
		tsdl_next(p);
		entry->type = tsdl_type(p);
	} else {
		tsdl_expect(p, '=');
		parse_entry_value(p, entry);
	}
	tsdl_expect(p, ';');
	return !p->failed;
}

static void begin_block(struct tsdl_parser *p, struct tsdl_scope *scope)
{
	tsdl_next(p);
	tsdl_expect(p, '{');
	tsdl_scope_open(p, scope, 16);
}

static void end_block(struct tsdl_parser *p)
{
	tsdl_scope_close(p);
	tsdl_expect(p, '}');
	/* The last block is whole without a token behind it. */
	if (!tsdl_is(p, ';'))
		tsdl_error(p, "\";\" is missing");
}

static struct ctf_type *scope_type(struct tsdl_parser *p, const struct entry *entry)
{
	if (entry->type && entry->type->kind != CTF_STRUCT)
		return tsdl_error(p, "\"%s\" must be a structure", entry->key);
	return entry->type;
}

/* Grow an array of pointers in the arena. */
static void *add_pointer(struct tsdl_parser *p, void *array, uint32_t *count, void *pointer)
{
	void **pointers = array;

	if (!(*count & (*count - 1))) { /* 0, 1, 2, 4, … */
		pointers = tsdl_alloc(p, *count ? *count * 2 : 1, sizeof(*pointers));
		if (!pointers)
			return array;
		if (*count)
			memcpy(pointers, array, *count * sizeof(*pointers));
	}
	if (!p->failed)
		pointers[(*count)++] = pointer;
	return pointers;
}

/* ---- blocks ---- */

static bool parse_uuid(const char *text, uint8_t uuid[16])
{
	unsigned int digits = 0;

	memset(uuid, 0, 16);
	for (; *text; text++) {
		unsigned int value;

		if (*text == '-')
			continue;
		if (digits == 32 || sscanf(text, "%1x", &value) != 1)
			return false;
		uuid[digits / 2] = (uint8_t)(uuid[digits / 2] << 4 | value);
		digits++;
	}
	return digits == 32;
}

static void parse_trace(struct tsdl_parser *p)
{
	struct ctf_trace_classes *classes = p->classes;
	struct tsdl_scope scope;
	struct entry entry;

	if (classes->has_trace) {
		tsdl_error(p, "there is more than one trace block");
		return;
	}
	begin_block(p, &scope);
	while (parse_entry(p, &entry)) {
		if (strcmp(entry.key, "packet.header") == 0) {
			classes->packet_header = scope_type(p, &entry);
		} else if (strcmp(entry.key, "uuid") == 0 && entry.text) {
			classes->has_uuid = parse_uuid(entry.text, classes->trace.uuid);
			if (!classes->has_uuid)
				tsdl_error(p, "the UUID of the trace is none");
		} else if (strcmp(entry.key, "byte_order") == 0 && entry.text) {
			classes->has_byte_order = strcmp(entry.text, "le") == 0 ||
					strcmp(entry.text, "be") == 0;
		}
	}
	end_block(p);
	if (!classes->has_byte_order)
		tsdl_error(p, "the trace block has no byte_order (le or be)");
	classes->has_trace = !p->failed;
	if (!p->failed && classes->packet_header) {
		struct ctf_type *scopes[CTF_SCOPE_COUNT] = {classes->packet_header};

		p->failed = ctf_resolve(classes, scopes, CTF_SCOPE_PACKET_HEADER, p->error);
	}
}

static void parse_env(struct tsdl_parser *p)
{
	struct ctf_trace *trace = &p->classes->trace;
	struct tsdl_scope scope;
	struct entry entry;
	uint32_t room = trace->environment_count;

	begin_block(p, &scope);
	while (parse_entry(p, &entry)) {
		char *key = tsdl_alloc(p, strlen(entry.key) + 1, 1);

		if (trace->environment_count == room) {
			struct ctf_environment *grown;

			room = room ? room * 2 : 16;
			grown = tsdl_alloc(p, room, sizeof(*grown));
			if (!grown)
				return;
			if (trace->environment_count)
				memcpy(grown, p->classes->env,
						trace->environment_count * sizeof(*grown));
			p->classes->env = grown;
			trace->environment = grown;
		}
		if (!key)
			return;
		strcpy(key, entry.key);
		p->classes->env[trace->environment_count++] =
				(struct ctf_environment){key, entry.text, (int64_t)entry.number};
	}
	end_block(p);
}

static void parse_clock(struct tsdl_parser *p)
{
	struct ctf_clock *clock = tsdl_alloc(p, 1, sizeof(*clock));
	struct tsdl_scope scope;
	struct entry entry;

	if (!clock)
		return;
	clock->frequency = 1000000000;
	begin_block(p, &scope);
	while (parse_entry(p, &entry)) {
		if (strcmp(entry.key, "name") == 0)
			clock->name = entry.text;
		else if (strcmp(entry.key, "description") == 0)
			clock->description = entry.text;
		else if (strcmp(entry.key, "uuid") == 0 && entry.text)
			snprintf(clock->uuid, sizeof(clock->uuid), "%s", entry.text);
		else if (strcmp(entry.key, "freq") == 0)
			clock->frequency = entry.number;
		else if (strcmp(entry.key, "offset_s") == 0)
			clock->offset_s = (int64_t)entry.number;
		else if (strcmp(entry.key, "offset") == 0)
			clock->offset = entry.number;
		else if (strcmp(entry.key, "precision") == 0)
			clock->precision = entry.number;
		else if (strcmp(entry.key, "absolute") == 0)
			clock->absolute = entry.text ? strcasecmp(entry.text, "true") == 0
						     : entry.number;
	}
	end_block(p);
	if (!clock->name)
		tsdl_error(p, "a clock has no name");
	if (!clock->frequency)
		tsdl_error(p, "a clock has the frequency 0");
	if (p->failed)
		return;
	p->classes->clocks = add_pointer(p, p->classes->clocks, &p->classes->clock_count, clock);
	p->classes->trace.clock = p->classes->clocks[0];
}

static const struct ctf_clock *find_clock(const struct ctf_type *type)
{
	const struct ctf_clock *clock = type ? type->clock : NULL;

	for (uint32_t i = 0; type && !clock && i < type->member_count; i++)
		clock = find_clock(type->members[i].type);
	return clock;
}

static void resolve_stream(struct tsdl_parser *p, struct ctf_stream_class *stream)
{
	struct ctf_type *scopes[CTF_SCOPE_COUNT] = {
			[CTF_SCOPE_PACKET_HEADER] = p->classes->packet_header,
			[CTF_SCOPE_PACKET_CONTEXT] = stream->packet_context,
			[CTF_SCOPE_EVENT_HEADER] = stream->event_header,
			[CTF_SCOPE_STREAM_EVENT_CONTEXT] = stream->event_context,
	};

	for (enum ctf_scope scope = CTF_SCOPE_PACKET_CONTEXT;
			!p->failed && scope <= CTF_SCOPE_STREAM_EVENT_CONTEXT; scope++) {
		if (scopes[scope])
			p->failed = ctf_resolve(p->classes, scopes, scope, p->error);
	}
	stream->clock = find_clock(stream->event_header);
	if (!stream->clock)
		stream->clock = find_clock(stream->packet_context);
}

static void parse_stream(struct tsdl_parser *p)
{
	struct ctf_stream_class *stream = tsdl_alloc(p, 1, sizeof(*stream));
	struct tsdl_scope scope;
	struct entry entry;

	if (!stream)
		return;
	begin_block(p, &scope);
	while (parse_entry(p, &entry)) {
		if (strcmp(entry.key, "id") == 0)
			stream->id = entry.number;
		else if (strcmp(entry.key, "packet.context") == 0)
			stream->packet_context = scope_type(p, &entry);
		else if (strcmp(entry.key, "event.header") == 0)
			stream->event_header = scope_type(p, &entry);
		else if (strcmp(entry.key, "event.context") == 0)
			stream->event_context = scope_type(p, &entry);
	}
	end_block(p);
	if (!p->failed && ctf_stream_class_find(p->classes, stream->id))
		tsdl_error(p, "the stream %" PRIu64 " is defined twice", stream->id);
	resolve_stream(p, stream);
	if (!p->failed)
		p->classes->streams = add_pointer(
				p, p->classes->streams, &p->classes->stream_count, stream);
}

/* A trace with one kind of stream may do without its block. */
static struct ctf_stream_class *stream_of_event(struct tsdl_parser *p, uint64_t id, bool has_id)
{
	struct ctf_stream_class *stream;

	if (!has_id && p->classes->stream_count == 1)
		return p->classes->streams[0];
	stream = ctf_stream_class_find(p->classes, id);
	if (stream || has_id || p->classes->stream_count)
		return stream;
	stream = tsdl_alloc(p, 1, sizeof(*stream));
	if (stream)
		p->classes->streams = add_pointer(
				p, p->classes->streams, &p->classes->stream_count, stream);
	return stream;
}

static void add_event(struct tsdl_parser *p, struct ctf_event_class *event, bool has_stream)
{
	struct ctf_trace_classes *classes = p->classes;
	struct ctf_stream_class *stream = stream_of_event(p, event->stream_id, has_stream);
	struct ctf_type *scopes[CTF_SCOPE_COUNT] = {0};

	if (!stream) {
		tsdl_error(p,
				"the event \"%s\" belongs to the stream %" PRIu64
				", which is not known",
				event->name, event->stream_id);
		return;
	}
	event->stream_id = stream->id;
	scopes[CTF_SCOPE_PACKET_HEADER] = classes->packet_header;
	scopes[CTF_SCOPE_PACKET_CONTEXT] = stream->packet_context;
	scopes[CTF_SCOPE_EVENT_HEADER] = stream->event_header;
	scopes[CTF_SCOPE_STREAM_EVENT_CONTEXT] = stream->event_context;
	scopes[CTF_SCOPE_EVENT_CONTEXT] = event->context;
	scopes[CTF_SCOPE_EVENT_FIELDS] = event->fields;
	if (event->context)
		p->failed = ctf_resolve(classes, scopes, CTF_SCOPE_EVENT_CONTEXT, p->error);
	if (!p->failed && event->fields)
		p->failed = ctf_resolve(classes, scopes, CTF_SCOPE_EVENT_FIELDS, p->error);
	if (p->failed)
		return;
	event->index = classes->event_count;
	stream->events = add_pointer(p, stream->events, &stream->event_count, event);
	classes->events = add_pointer(p, classes->events, &classes->event_count, event);
}

static void keep_side_event(struct tsdl_parser *p, struct ctf_event_class *event)
{
	size_t size = p->lexer.side_event_size;
	char *copy;

	if (!p->lexer.side_event)
		return;
	while (size && p->lexer.side_event[size - 1] == ' ')
		size--;
	copy = tsdl_alloc(p, size + 1, 1);
	if (copy)
		memcpy(copy, p->lexer.side_event, size);
	event->side_event = copy;
}

/* Contexts that stand among the fields, because of Babeltrace. */
static void take_context(struct ctf_event_class *event)
{
	struct ctf_type *fields = event->fields;
	const struct ctf_member *first = fields && fields->member_count ? fields->members : NULL;

	if (!first || !event->side_event || event->context || first->type->kind != CTF_STRUCT ||
			strncmp(first->name, CTF_CONTEXT_FIELD, sizeof(CTF_CONTEXT_FIELD) - 1) != 0)
		return;
	event->context = first->type;
	fields->members++;
	fields->member_count--;
}

static void parse_event(struct tsdl_parser *p)
{
	struct ctf_event_class *event = tsdl_alloc(p, 1, sizeof(*event));
	struct tsdl_scope scope;
	struct entry entry;
	bool has_stream = false;

	if (!event)
		return;
	event->loglevel = -1;
	p->lexer.side_event = NULL;
	begin_block(p, &scope);
	while (parse_entry(p, &entry)) {
		if (strcmp(entry.key, "name") == 0) {
			event->name = entry.text;
		} else if (strcmp(entry.key, "id") == 0) {
			event->id = entry.number;
		} else if (strcmp(entry.key, "stream_id") == 0) {
			event->stream_id = entry.number;
			has_stream = true;
		} else if (strcmp(entry.key, "loglevel") == 0) {
			event->loglevel = entry.is_number && entry.number <= 14 ? (int)entry.number
										: -1;
		} else if (strcmp(entry.key, "context") == 0) {
			event->context = scope_type(p, &entry);
		} else if (strcmp(entry.key, "fields") == 0) {
			event->fields = scope_type(p, &entry);
		}
	}
	keep_side_event(p, event);
	take_context(event);
	end_block(p);
	if (!event->name)
		tsdl_error(p, "an event has no name");
	if (!p->failed)
		add_event(p, event, has_stream);
}

/* callsite, and what newer producers may think of. */
static void skip_block(struct tsdl_parser *p)
{
	unsigned int depth = 0;

	while (!p->failed && p->token.kind != TSDL_END) {
		if (tsdl_is(p, '{'))
			depth++;
		if (tsdl_is(p, '}') && !--depth) {
			tsdl_next(p);
			break;
		}
		if (tsdl_is(p, ';') && !depth)
			break;
		tsdl_next(p);
	}
	if (!tsdl_is(p, ';'))
		tsdl_error(p, "\";\" is missing");
}

void tsdl_block(struct tsdl_parser *p)
{
	static const struct {
		const char *word;
		void (*parse)(struct tsdl_parser *p);
	} blocks[] = {
			{"trace", parse_trace},
			{"env", parse_env},
			{"clock", parse_clock},
			{"stream", parse_stream},
			{"event", parse_event},
	};

	for (unsigned int i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		if (tsdl_is_word(p, blocks[i].word)) {
			blocks[i].parse(p);
			return;
		}
	}
	if (p->token.kind == TSDL_WORD)
		skip_block(p);
	else
		tsdl_error(p, "a block is missing here");
}
