/* SPDX-License-Identifier: MIT */
/*
 * Reads TSDL: text → tokens → types and blocks → the classes of one trace.
 *
 * The text is not trusted: memory, nesting and copies of named types are limited.
 */
#ifndef SIDE_CTF_TSDL_H
#define SIDE_CTF_TSDL_H

#include <sys/types.h>

#include "ctf/type.h"

enum tsdl_token_kind {
	TSDL_END,
	TSDL_WORD,
	TSDL_NUMBER,
	TSDL_STRING,
	TSDL_PUNCT,       /* One character, or one of the next two. */
	TSDL_ASSIGN_TYPE, /* := */
	TSDL_RANGE,       /* ... */
	TSDL_BAD,
};

struct tsdl_token {
	enum tsdl_token_kind kind;
	char punct;
	const char *text; /* Words: in the source. Strings: unescaped, in the arena. */
	size_t size;
	uint64_t number;
	unsigned int line;
	bool is_character; /* TSDL_STRING: a character constant, between apostrophes. */
};

struct tsdl_lexer {
	const char *at;
	const char *end;
	unsigned int line;
	struct ctf_arena *arena;
	const char *side_event; /* The last comment that contains a description. */
	size_t side_event_size;
	bool is_out_of_memory; /* the reason of a TSDL_BAD */
};

/* Read the next token. After TSDL_END or TSDL_BAD the parser must stop. */
void tsdl_lex(struct tsdl_lexer *lexer, struct tsdl_token *ret_token);

/* ---- definitions of the text ---- */

struct ctf_stream_class {
	uint64_t id;
	struct ctf_type *packet_context;
	struct ctf_type *event_header;
	struct ctf_type *event_context;
	const struct ctf_clock *clock; /* The clock of its records and packets, or NULL. */
	/* By id: indexed by id if the ids are dense, else sorted. */
	struct ctf_event_class **events;
	uint32_t event_count;
	uint32_t event_capacity;
	bool direct;
};

/* The directory of a trace, which is renamed when its chunk is finished. */
struct ctf_trace_dir {
	struct ctf_trace_dir *next;
	dev_t device;
	ino_t inode;
	int fd; /* Or -1: opened by its name. */
};

struct ctf_trace_classes {
	struct ctf_trace trace; /* First member: the public part. */
	struct ctf_arena *arena;
	bool has_uuid;
	bool has_trace;
	bool has_byte_order;
	bool is_whole; /* The metadata has no error, though it may define no stream. */
	bool is_ctf2;  /* The metadata has roles; in TSDL a field's name defines its meaning. */
	struct ctf_type *packet_header;
	struct ctf_clock **clocks;
	uint32_t clock_count;
	struct ctf_stream_class **streams;
	uint32_t stream_count;
	struct ctf_event_class **events;
	uint32_t event_count;
	struct ctf_environment *env;
	int32_t slot_count;
	size_t good_size; /* Size of the text up to the end of the last complete block. */
	size_t memory_max;

	/* For a trace that is being recorded (follow.c). */
	struct ctf_metadata_seen {
		uint64_t inode;
		int64_t size;
		int64_t ns;
	} seen;
	const struct ctf_trace_dir *dir;
	struct ctf_trace_classes *newer; /* Read later: new packets use these. */
	struct ctf_trace_classes *older; /* In the list of replaced ones. */
};

/*
 * Parse the text into classes (with an existing arena). 0, -ENOMEM or -EINVAL with a sentence.
 * After -EINVAL the classes contain the definitions before the error, if ctf_tsdl_usable() is
 * true.
 */
int ctf_tsdl_parse(struct ctf_trace_classes *classes, const char *text, size_t size,
		struct error *error);
bool ctf_tsdl_usable(const struct ctf_trace_classes *classes);

/* Find a class by its id. NULL: not found. */
struct ctf_event_class *ctf_event_class_find(const struct ctf_stream_class *stream, uint64_t id);
struct ctf_stream_class *ctf_stream_class_find(
		const struct ctf_trace_classes *classes, uint64_t id);

/* "out of memory for the metadata" with -ENOMEM, which it returns. */
int ctf_metadata_set_no_memory(struct error *error);

/* Sort the events by id. -EINVAL: two have the same id; the first is kept. */
int ctf_stream_class_index(struct ctf_stream_class *stream, struct error *error);
/* Set the members for well-known names of the environment. */
void ctf_trace_note_environment(struct ctf_trace *trace);

/* ---- the parser, private to its files ---- */

struct tsdl_scope {
	struct tsdl_scope *up;
	struct tsdl_name **buckets;
	uint32_t bucket_count;
};

struct tsdl_parser {
	struct tsdl_lexer lexer;
	struct tsdl_token token; /* The current one. */
	struct tsdl_scope *scope;
	struct ctf_trace_classes *classes;
	struct ctf_arena *arena;
	struct error *error;
	unsigned int depth;
	/* Used by a type before their block is parsed. */
	struct tsdl_waiting_clock *waiting_clocks;
	struct tsdl_waiting_event *waiting_events, **last_waiting_event;
	int failed; /* 0, -EINVAL or -ENOMEM; once it is set, there are no more tokens. */
};

void tsdl_next(struct tsdl_parser *p);
/* Store the first error. Always returns NULL. */
void *tsdl_error(struct tsdl_parser *p, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
void *tsdl_alloc(struct tsdl_parser *p, size_t count, size_t size);
bool tsdl_is(const struct tsdl_parser *p, char punct);
bool tsdl_is_word(const struct tsdl_parser *p, const char *word);
bool tsdl_accept(struct tsdl_parser *p, char punct);
void tsdl_expect(struct tsdl_parser *p, char punct);
/* Parse a number with its sign, as two's complement. */
bool tsdl_number(struct tsdl_parser *p, uint64_t *ret_number);
char *tsdl_copy_token(struct tsdl_parser *p);

bool tsdl_scope_open(struct tsdl_parser *p, struct tsdl_scope *scope, uint32_t buckets);
void tsdl_scope_close(struct tsdl_parser *p);

/* True if a type, or a declaration of one, begins at the current token. */
bool tsdl_at_declaration(const struct tsdl_parser *p);
/* Parse typealias, typedef, struct NAME {…}; and so on. */
void tsdl_declaration(struct tsdl_parser *p);
/* Parse one block, up to the `;` behind it. */
void tsdl_block(struct tsdl_parser *p);
/* Parse the type behind `:=`. */
struct ctf_type *tsdl_type(struct tsdl_parser *p);
/* The clock of this name; before its block is parsed, it has only its name. */
struct ctf_clock *tsdl_clock(struct tsdl_parser *p, const char *name, size_t size);
/* At the end of the text: resolve references to later blocks. */
void tsdl_finish_blocks(struct tsdl_parser *p);

/* ---- after parsing ---- */

/* The scopes that a length or tag may be in, in decoding order. */
enum ctf_scope {
	CTF_SCOPE_PACKET_HEADER,
	CTF_SCOPE_PACKET_CONTEXT,
	CTF_SCOPE_EVENT_HEADER,
	CTF_SCOPE_STREAM_EVENT_CONTEXT,
	CTF_SCOPE_EVENT_CONTEXT,
	CTF_SCOPE_EVENT_FIELDS,
	CTF_SCOPE_COUNT,
};

/*
 * Prefix of the first field of an event that contains side's contexts, for metadata in which they
 * must be among its fields (docs/spec/recording.md, section 8).
 */
#define CTF_CONTEXT_FIELD "side_context"

/* "stream.event.context." and so on: TSDL's prefixes of absolute field names. */
extern const char *const ctf_scope_prefixes[CTF_SCOPE_COUNT];

/*
 * Prepare one scope for decoding: alignments, least sizes, references, roles. `scopes` contains the
 * types of the earlier ones.
 */
int ctf_resolve(struct ctf_trace_classes *classes, struct ctf_type *const scopes[CTF_SCOPE_COUNT],
		enum ctf_scope scope, struct error *error);

#endif /* SIDE_CTF_TSDL_H */
