/* SPDX-License-Identifier: MIT */
/* Parses TSDL blocks: trace, env, clock, stream, event; others are skipped. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "ctf/tsdl.h"

#define TSDL_KEY_MAX 128

/* ---- entries of blocks ---- */

/* `key = value;` or `key := type;` */
struct tsdl_block_entry {
	char key[TSDL_KEY_MAX]; /* With dots. */
	const char *text;       /* A string, or the first word. */
	bool is_string;
	bool is_number;
	bool is_negative;
	uint64_t number;
	struct ctf_type *type;
};

/* The attributes of a block, each at most once; a NULL key ends the list. */
struct known_entry {
	const char *key;
	enum { VALUE, NUMBER, NATURAL, TEXT, TYPE } kind;
};

static void parse_entry_key(struct tsdl_parser *p, struct tsdl_block_entry *entry)
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

static void parse_entry_value(struct tsdl_parser *p, struct tsdl_block_entry *entry)
{
	if (p->token.kind == TSDL_STRING || p->token.kind == TSDL_WORD) {
		entry->is_string = p->token.kind == TSDL_STRING;
		entry->text = tsdl_copy_token(p);
		tsdl_next(p);
		/* The remainder of a dotted value is not used. */
		while (!entry->is_string && (p->token.kind == TSDL_WORD || tsdl_is(p, '.')))
			tsdl_next(p);
	} else {
		entry->is_negative = tsdl_is(p, '-');
		entry->is_number = tsdl_number(p, &entry->number);
	}
}

/* Parse the next entry of a block; false: the end of the block. Parses the declarations before
   it. */
static bool parse_entry(struct tsdl_parser *p, struct tsdl_block_entry *ret_entry)
{
	*ret_entry = (struct tsdl_block_entry){0};
	while (!p->failed && (tsdl_is(p, ';') || tsdl_at_declaration(p))) {
		if (!tsdl_accept(p, ';'))
			tsdl_declaration(p);
	}
	if (p->failed || tsdl_is(p, '}'))
		return false;
	parse_entry_key(p, ret_entry);
	if (p->token.kind == TSDL_ASSIGN_TYPE) {
		tsdl_next(p);
		ret_entry->type = tsdl_type(p);
	} else {
		tsdl_expect(p, '=');
		parse_entry_value(p, ret_entry);
	}
	tsdl_expect(p, ';');
	return !p->failed;
}

static bool entry_fits(const struct tsdl_block_entry *entry, const struct known_entry *known)
{
	switch (known->kind) {
	case VALUE: return !entry->type;
	case NUMBER: return entry->is_number;
	case NATURAL: return entry->is_number && !entry->is_negative;
	case TEXT: return entry->text && !entry->type;
	case TYPE: return entry->type && entry->type->kind == CTF_STRUCT;
	}
	return false;
}

static const char *kind_text(const struct known_entry *known)
{
	static const char *const texts[] = {[VALUE] = "value",
			[NUMBER] = "number",
			[NATURAL] = "non-negative number",
			[TEXT] = "text",
			[TYPE] = "structure"};

	return texts[known->kind];
}

/* The index of the next entry in the list; -1: the end of the block, or an error. */
static int next_known(struct tsdl_parser *p, const char *block, const struct known_entry *known,
		unsigned int *seen, struct tsdl_block_entry *ret_entry)
{
	if (!parse_entry(p, ret_entry))
		return -1;
	for (int i = 0; known[i].key; i++) {
		if (strcmp(known[i].key, ret_entry->key) != 0)
			continue;
		if (*seen & 1u << i)
			tsdl_error(p, "the %s block has \"%s\" twice", block, ret_entry->key);
		else if (!entry_fits(ret_entry, &known[i]))
			tsdl_error(p, "\"%s\" in the %s block must be a %s", ret_entry->key, block,
					kind_text(&known[i]));
		*seen |= 1u << i;
		return p->failed ? -1 : i;
	}
	tsdl_error(p, "the %s block has the unknown attribute \"%s\"", block, ret_entry->key);
	return -1;
}

static void tsdl_block_begin(struct tsdl_parser *p, struct tsdl_scope *scope)
{
	tsdl_next(p);
	tsdl_expect(p, '{');
	tsdl_scope_open(p, scope, 16);
}

static void tsdl_block_end(struct tsdl_parser *p)
{
	tsdl_scope_close(p);
	tsdl_expect(p, '}');
	/* The last block is complete without a token behind it. */
	if (!tsdl_is(p, ';'))
		tsdl_error(p, "\";\" is missing");
}

/* Grow an array of pointers in the arena. */
static void *tsdl_block_grow_pointers(
		struct tsdl_parser *p, void *array, uint32_t *count, void *pointer)
{
	void **pointers = array;

	if (!(*count & (*count - 1))) { /* grows at 0, 1, 2, 4, … */
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

static bool parse_uuid(const char *text, uint8_t ret_uuid[16])
{
	unsigned int digits = 0;

	memset(ret_uuid, 0, 16);
	for (; *text; text++) {
		unsigned int value;

		if (*text == '-')
			continue;
		if (digits == 32 || sscanf(text, "%1x", &value) != 1)
			return false;
		ret_uuid[digits / 2] = (uint8_t)(ret_uuid[digits / 2] << 4 | value);
		digits++;
	}
	return digits == 32;
}

static void parse_version(
		struct tsdl_parser *p, const struct tsdl_block_entry *entry, uint64_t wanted)
{
	if (entry->number != wanted)
		tsdl_error(p, "unsupported %s version %" PRIu64 " of the trace: side reads CTF 1.8",
				entry->key, entry->number);
}

static void parse_trace(struct tsdl_parser *p)
{
	enum { TRACE_MAJOR, TRACE_MINOR, TRACE_UUID, TRACE_BYTE_ORDER, TRACE_PACKET_HEADER };
	static const struct known_entry known[] = {{"major", NATURAL}, {"minor", NATURAL},
			{"uuid", TEXT}, {"byte_order", TEXT}, {"packet.header", TYPE},
			{NULL, VALUE}};
	struct ctf_trace_classes *classes = p->classes;
	unsigned int seen = 0;
	struct tsdl_scope scope;
	struct tsdl_block_entry entry;
	int which;

	if (classes->has_trace) {
		tsdl_error(p, "there is more than one trace block");
		return;
	}
	tsdl_block_begin(p, &scope);
	while ((which = next_known(p, "trace", known, &seen, &entry)) >= 0) {
		switch (which) {
		case TRACE_MAJOR: parse_version(p, &entry, 1); break;
		case TRACE_MINOR: parse_version(p, &entry, 8); break;
		case TRACE_UUID:
			classes->has_uuid = parse_uuid(entry.text, classes->trace.uuid);
			if (!classes->has_uuid)
				tsdl_error(p, "the `uuid` of the trace is not a UUID");
			break;
		case TRACE_BYTE_ORDER:
			classes->has_byte_order = strcmp(entry.text, "le") == 0 ||
					strcmp(entry.text, "be") == 0;
			break;
		default: classes->packet_header = entry.type; break;
		}
	}
	tsdl_block_end(p);
	if (!classes->has_byte_order)
		tsdl_error(p, "the trace block has no byte_order (le or be)");
	if ((seen & (1u << TRACE_MAJOR | 1u << TRACE_MINOR)) !=
			(1u << TRACE_MAJOR | 1u << TRACE_MINOR))
		tsdl_error(p, "the trace block has no %s version",
				seen & 1u << TRACE_MAJOR ? "minor" : "major");
	classes->has_trace = !p->failed;
}

static void parse_env(struct tsdl_parser *p)
{
	struct ctf_trace *trace = &p->classes->trace;
	struct tsdl_scope scope;
	struct tsdl_block_entry entry;
	uint32_t capacity = trace->environment_count;

	tsdl_block_begin(p, &scope);
	while (parse_entry(p, &entry)) {
		char *key = tsdl_alloc(p, strlen(entry.key) + 1, 1);

		if (trace->environment_count == capacity) {
			struct ctf_environment *grown;

			capacity = capacity ? capacity * 2 : 16;
			grown = tsdl_alloc(p, capacity, sizeof(*grown));
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
	tsdl_block_end(p);
}

/* Clocks that types use before their block. */
struct tsdl_waiting_clock {
	struct tsdl_waiting_clock *next;
	struct ctf_clock *clock;
	unsigned int line;
};

static bool tsdl_block_has_name(const struct ctf_clock *clock, const char *name, size_t size)
{
	return strlen(clock->name) == size && memcmp(clock->name, name, size) == 0;
}

struct ctf_clock *tsdl_clock(struct tsdl_parser *p, const char *name, size_t size)
{
	struct tsdl_waiting_clock *waiting;
	char *copy;

	for (uint32_t i = 0; i < p->classes->clock_count; i++) {
		if (tsdl_block_has_name(p->classes->clocks[i], name, size))
			return p->classes->clocks[i];
	}
	for (waiting = p->waiting_clocks; waiting; waiting = waiting->next) {
		if (tsdl_block_has_name(waiting->clock, name, size))
			return waiting->clock;
	}
	copy = tsdl_alloc(p, size + 1, 1);
	waiting = tsdl_alloc(p, 1, sizeof(*waiting));
	if (!copy || !waiting)
		return NULL;
	memcpy(copy, name, size);
	waiting->clock = tsdl_alloc(p, 1, sizeof(*waiting->clock));
	if (!waiting->clock)
		return NULL;
	*waiting->clock = (struct ctf_clock){.name = copy, .frequency = 1000000000};
	waiting->line = p->token.line;
	waiting->next = p->waiting_clocks;
	p->waiting_clocks = waiting;
	return waiting->clock;
}

/* Types keep pointers to the clock, so it must not move. */
static struct ctf_clock *take_waiting_clock(struct tsdl_parser *p, struct ctf_clock *clock)
{
	for (struct tsdl_waiting_clock **at = &p->waiting_clocks; *at; at = &(*at)->next) {
		struct ctf_clock *waiting = (*at)->clock;

		if (strcmp(waiting->name, clock->name) != 0)
			continue;
		*waiting = *clock;
		*at = (*at)->next;
		return waiting;
	}
	return clock;
}

static void parse_clock_entries(struct tsdl_parser *p, struct ctf_clock *ret_clock)
{
	enum { NAME, UUID, DESCRIPTION, FREQUENCY, PRECISION, OFFSET_S, OFFSET, ABSOLUTE };
	static const struct known_entry known[] = {{"name", TEXT}, {"uuid", TEXT},
			{"description", TEXT}, {"freq", NATURAL}, {"precision", NATURAL},
			{"offset_s", NUMBER}, {"offset", NATURAL}, {"absolute", VALUE},
			{NULL, VALUE}};
	unsigned int seen = 0;
	struct tsdl_block_entry entry;
	int which;

	while ((which = next_known(p, "clock", known, &seen, &entry)) >= 0) {
		switch (which) {
		case NAME: ret_clock->name = entry.text; break;
		case UUID:
			snprintf(ret_clock->uuid, sizeof(ret_clock->uuid), "%s", entry.text);
			break;
		case DESCRIPTION: ret_clock->description = entry.text; break;
		case FREQUENCY: ret_clock->frequency = entry.number; break;
		case PRECISION: ret_clock->precision = entry.number; break;
		case OFFSET_S: ret_clock->offset_s = (int64_t)entry.number; break;
		case OFFSET: ret_clock->offset = entry.number; break;
		default:
			ret_clock->absolute = entry.text ? strcasecmp(entry.text, "true") == 0
							 : entry.number;
			break;
		}
	}
}

static void parse_clock(struct tsdl_parser *p)
{
	struct ctf_clock *clock = tsdl_alloc(p, 1, sizeof(*clock));
	struct tsdl_scope scope;

	if (!clock)
		return;
	clock->frequency = 1000000000;
	tsdl_block_begin(p, &scope);
	parse_clock_entries(p, clock);
	tsdl_block_end(p);
	if (!clock->name) {
		tsdl_error(p, "a clock has no name");
		return;
	}
	if (!clock->frequency)
		tsdl_error(p, "a clock has the frequency 0");
	if (p->failed)
		return;
	clock = take_waiting_clock(p, clock);
	p->classes->clocks = tsdl_block_grow_pointers(
			p, p->classes->clocks, &p->classes->clock_count, clock);
	if (!p->failed)
		p->classes->trace.clock = p->classes->clocks[0];
}

static const struct ctf_clock *find_clock(const struct ctf_type *type)
{
	const struct ctf_clock *clock = type ? type->clock : NULL;

	for (uint32_t i = 0; type && !clock && i < type->member_count; i++)
		clock = find_clock(type->members[i].type);
	return clock;
}

static int resolve_stream(struct tsdl_parser *p, struct ctf_stream_class *stream)
{
	struct ctf_type *scopes[CTF_SCOPE_COUNT] = {
			[CTF_SCOPE_PACKET_HEADER] = p->classes->packet_header,
			[CTF_SCOPE_PACKET_CONTEXT] = stream->packet_context,
			[CTF_SCOPE_EVENT_HEADER] = stream->event_header,
			[CTF_SCOPE_STREAM_EVENT_CONTEXT] = stream->event_context,
	};
	int ret = 0;

	for (enum ctf_scope scope = CTF_SCOPE_PACKET_CONTEXT;
			!ret && scope <= CTF_SCOPE_STREAM_EVENT_CONTEXT; scope++) {
		if (scopes[scope])
			ret = ctf_resolve(p->classes, scopes, scope, p->error);
	}
	stream->clock = find_clock(stream->event_header);
	if (!stream->clock)
		stream->clock = find_clock(stream->packet_context);
	return ret;
}

static void parse_stream(struct tsdl_parser *p)
{
	enum { ID, PACKET_CONTEXT, EVENT_HEADER, EVENT_CONTEXT };
	static const struct known_entry known[] = {{"id", NATURAL}, {"packet.context", TYPE},
			{"event.header", TYPE}, {"event.context", TYPE}, {NULL, VALUE}};
	struct ctf_stream_class *stream = tsdl_alloc(p, 1, sizeof(*stream));
	unsigned int seen = 0;
	struct tsdl_scope scope;
	struct tsdl_block_entry entry;
	int which;

	if (!stream)
		return;
	tsdl_block_begin(p, &scope);
	while ((which = next_known(p, "stream", known, &seen, &entry)) >= 0) {
		switch (which) {
		case ID: stream->id = entry.number; break;
		case PACKET_CONTEXT: stream->packet_context = entry.type; break;
		case EVENT_HEADER: stream->event_header = entry.type; break;
		default: stream->event_context = entry.type; break;
		}
	}
	tsdl_block_end(p);
	if (!p->failed && ctf_stream_class_find(p->classes, stream->id))
		tsdl_error(p, "the stream %" PRIu64 " is defined twice", stream->id);
	if (!p->failed)
		p->classes->streams = tsdl_block_grow_pointers(
				p, p->classes->streams, &p->classes->stream_count, stream);
}

/* ---- events, whose stream may follow them ---- */

struct tsdl_waiting_event {
	struct tsdl_waiting_event *next;
	struct ctf_event_class *event;
	bool has_stream; /* The block contains a stream_id. */
	unsigned int line;
};

/* A trace with only one stream class may omit its block. */
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
		p->classes->streams = tsdl_block_grow_pointers(
				p, p->classes->streams, &p->classes->stream_count, stream);
	return stream;
}

static int resolve_event(struct tsdl_parser *p, const struct ctf_stream_class *stream,
		struct ctf_event_class *event)
{
	struct ctf_type *scopes[CTF_SCOPE_COUNT] = {
			[CTF_SCOPE_PACKET_HEADER] = p->classes->packet_header,
			[CTF_SCOPE_PACKET_CONTEXT] = stream->packet_context,
			[CTF_SCOPE_EVENT_HEADER] = stream->event_header,
			[CTF_SCOPE_STREAM_EVENT_CONTEXT] = stream->event_context,
			[CTF_SCOPE_EVENT_CONTEXT] = event->context,
			[CTF_SCOPE_EVENT_FIELDS] = event->fields,
	};
	int ret = 0;

	if (event->context)
		ret = ctf_resolve(p->classes, scopes, CTF_SCOPE_EVENT_CONTEXT, p->error);
	if (!ret && event->fields)
		ret = ctf_resolve(p->classes, scopes, CTF_SCOPE_EVENT_FIELDS, p->error);
	return ret;
}

static void tsdl_block_add_event(struct tsdl_parser *p, const struct tsdl_waiting_event *waiting)
{
	struct ctf_trace_classes *classes = p->classes;
	struct ctf_event_class *event = waiting->event;
	struct ctf_stream_class *stream = stream_of_event(p, event->stream_id, waiting->has_stream);

	p->token.line = waiting->line;
	if (!stream) {
		tsdl_error(p,
				"the event \"%s\" belongs to the stream %" PRIu64
				", which is not known",
				event->name, event->stream_id);
		return;
	}
	event->stream_id = stream->id;
	p->failed = resolve_event(p, stream, event);
	if (p->failed)
		return;
	event->index = classes->event_count;
	stream->events = tsdl_block_grow_pointers(p, stream->events, &stream->event_count, event);
	classes->events =
			tsdl_block_grow_pointers(p, classes->events, &classes->event_count, event);
}

static void bind_blocks(struct tsdl_parser *p)
{
	struct ctf_trace_classes *classes = p->classes;
	struct ctf_type *scopes[CTF_SCOPE_COUNT] = {classes->packet_header};

	if (classes->packet_header)
		p->failed = ctf_resolve(classes, scopes, CTF_SCOPE_PACKET_HEADER, p->error);
	for (uint32_t i = 0; !p->failed && i < classes->stream_count; i++)
		p->failed = resolve_stream(p, classes->streams[i]);
	for (struct tsdl_waiting_event *event = p->waiting_events; !p->failed && event;
			event = event->next)
		tsdl_block_add_event(p, event);
	if (!p->failed && p->waiting_clocks) {
		p->token.line = p->waiting_clocks->line;
		tsdl_error(p, "the clock \"%s\" is not defined", p->waiting_clocks->clock->name);
	}
}

/* After an error, bind the blocks before it: they are usable. */
void tsdl_finish_blocks(struct tsdl_parser *p)
{
	struct error first = *p->error;
	int failed = p->failed;

	p->failed = 0;
	bind_blocks(p);
	if (!failed)
		return;
	*p->error = first;
	p->failed = failed;
}

static void tsdl_block_store_side_event(struct tsdl_parser *p, struct ctf_event_class *event)
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

/* Move contexts out of the fields, where the writer put them because of Babeltrace. */
static void tsdl_block_move_context_fields(struct ctf_event_class *event)
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

static void parse_event_entries(
		struct tsdl_parser *p, struct ctf_event_class *event, bool *ret_has_stream)
{
	enum { NAME, ID, STREAM_ID, LOGLEVEL, URI, CONTEXT, FIELDS };
	static const struct known_entry known[] = {{"name", TEXT}, {"id", NATURAL},
			{"stream_id", NATURAL}, {"loglevel", VALUE}, {"model.emf.uri", TEXT},
			{"context", TYPE}, {"fields", TYPE}, {NULL, VALUE}};
	unsigned int seen = 0;
	struct tsdl_block_entry entry;
	int which;

	while ((which = next_known(p, "event", known, &seen, &entry)) >= 0) {
		switch (which) {
		case NAME: event->name = entry.text; break;
		case ID: event->id = entry.number; break;
		case STREAM_ID: event->stream_id = entry.number; break;
		case LOGLEVEL:
			event->loglevel = entry.is_number && entry.number <= 14 ? (int)entry.number
										: -1;
			break;
		case CONTEXT: event->context = entry.type; break;
		case FIELDS: event->fields = entry.type; break;
		default: break; /* A link to a model is not used. */
		}
	}
	*ret_has_stream = seen & 1u << STREAM_ID;
}

static void parse_event(struct tsdl_parser *p)
{
	struct ctf_event_class *event = tsdl_alloc(p, 1, sizeof(*event));
	struct tsdl_waiting_event *waiting = tsdl_alloc(p, 1, sizeof(*waiting));
	struct tsdl_scope scope;

	if (!event || !waiting)
		return;
	*waiting = (struct tsdl_waiting_event){.event = event};
	event->loglevel = -1;
	p->lexer.side_event = NULL;
	tsdl_block_begin(p, &scope);
	parse_event_entries(p, event, &waiting->has_stream);
	tsdl_block_store_side_event(p, event);
	tsdl_block_move_context_fields(event);
	tsdl_block_end(p);
	if (!event->name)
		tsdl_error(p, "an event has no name");
	if (p->failed)
		return;
	waiting->line = p->token.line;
	*p->last_waiting_event = waiting;
	p->last_waiting_event = &waiting->next;
}

/* Skip a callsite block, or a block of newer producers. */
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
