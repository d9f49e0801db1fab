/* SPDX-License-Identifier: MIT */
/* Parses TSDL text as a sequence of declarations and blocks. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "ctf/tsdl.h"

/*
 * Limit of the memory for metadata, plus this many times its size: named types are copied at each
 * use.
 */
#define TSDL_MEMORY_BASE (64u << 20)
#define TSDL_MEMORY_FACTOR 96u

/* ---- tokens ---- */

void *tsdl_error(struct tsdl_parser *p, const char *format, ...)
{
	char what[256];
	va_list arguments;

	if (p->failed)
		return NULL;
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	p->failed = error_set(p->error, -EINVAL, NULL, "line %u of the metadata: %s", p->token.line,
			what);
	p->token.kind = TSDL_END;
	return NULL;
}

void *tsdl_alloc(struct tsdl_parser *p, size_t count, size_t size)
{
	void *memory = NULL;

	if (p->failed)
		return NULL;
	if (ctf_arena_used(p->arena) > p->classes->memory_max)
		return tsdl_error(p, "the types take too much memory");
	memory = ctf_arena_alloc(p->arena, count, size);
	if (!memory) {
		p->failed = ctf_metadata_set_no_memory(p->error);
		p->token.kind = TSDL_END;
	}
	return memory;
}

void tsdl_next(struct tsdl_parser *p)
{
	if (p->failed)
		return;
	tsdl_lex(&p->lexer, &p->token);
	if (p->token.kind == TSDL_BAD && p->lexer.is_out_of_memory)
		p->failed = ctf_metadata_set_no_memory(p->error);
	else if (p->token.kind == TSDL_BAD)
		tsdl_error(p, "this text is not TSDL, or it is truncated");
}

bool tsdl_is(const struct tsdl_parser *p, char punct)
{
	return p->token.kind == TSDL_PUNCT && p->token.punct == punct;
}

bool tsdl_is_word(const struct tsdl_parser *p, const char *word)
{
	return p->token.kind == TSDL_WORD && p->token.size == strlen(word) &&
			memcmp(p->token.text, word, p->token.size) == 0;
}

bool tsdl_accept(struct tsdl_parser *p, char punct)
{
	if (!tsdl_is(p, punct))
		return false;
	tsdl_next(p);
	return true;
}

void tsdl_expect(struct tsdl_parser *p, char punct)
{
	if (!tsdl_accept(p, punct))
		tsdl_error(p, "\"%c\" is missing", punct);
}

bool tsdl_number(struct tsdl_parser *p, uint64_t *ret_number)
{
	bool negative = tsdl_accept(p, '-');

	if (!negative)
		tsdl_accept(p, '+');
	if (p->token.kind != TSDL_NUMBER) {
		tsdl_error(p, "a number is missing");
		return false;
	}
	*ret_number = negative ? 0 - p->token.number : p->token.number;
	tsdl_next(p);
	return true;
}

char *tsdl_copy_token(struct tsdl_parser *p)
{
	char *copy = tsdl_alloc(p, p->token.size + 1, 1);

	if (copy && p->token.size)
		memcpy(copy, p->token.text, p->token.size);
	return copy;
}

/* ---- the whole text ---- */

/* Integers before the trace block have its byte order too, so search for it first. */
static void find_byte_order(struct tsdl_parser *p)
{
	struct tsdl_lexer lexer = p->lexer;
	struct tsdl_token token;
	unsigned int depth = 0;
	int seen = 0; /* 1: trace, 2: its byte_order. */

	for (tsdl_lex(&lexer, &token); token.kind != TSDL_END && token.kind != TSDL_BAD;
			tsdl_lex(&lexer, &token)) {
		bool word = token.kind == TSDL_WORD;

		if (token.kind == TSDL_PUNCT && token.punct == '{') {
			depth++;
		} else if (token.kind == TSDL_PUNCT && token.punct == '}') {
			depth -= depth > 0;
			if (!depth && seen)
				return;
		} else if (word && !depth) {
			seen = token.size == 5 && memcmp(token.text, "trace", 5) == 0;
		} else if (word && depth == 1 && seen == 1 && token.size == 10 &&
				memcmp(token.text, "byte_order", 10) == 0) {
			seen = 2;
		} else if (word && depth == 1 && seen == 2) {
			p->classes->trace.big_endian = *token.text == 'b';
			return;
		}
	}
	if (lexer.is_out_of_memory)
		p->failed = ctf_metadata_set_no_memory(p->error);
}

int ctf_tsdl_parse(struct ctf_trace_classes *classes, const char *text, size_t size,
		struct error *error)
{
	struct tsdl_scope root;
	struct tsdl_parser parser =
					   {
							   .lexer = {.at = text,
									   .end = text + size,
									   .line = 1},
							   .classes = classes,
							   .error = error,
					   },
			   *p = &parser;

	classes->arena = ctf_arena_create();
	if (!classes->arena)
		return ctf_metadata_set_no_memory(error);
	classes->memory_max = TSDL_MEMORY_BASE + size * TSDL_MEMORY_FACTOR;
	p->arena = p->lexer.arena = classes->arena;
	p->last_waiting_event = &p->waiting_events;
	find_byte_order(p);
	tsdl_scope_open(p, &root, 1024);
	tsdl_next(p);
	while (!p->failed && p->token.kind != TSDL_END) {
		if (tsdl_accept(p, ';'))
			continue;
		if (tsdl_at_declaration(p))
			tsdl_declaration(p);
		else
			tsdl_block(p);
		if (tsdl_is(p, ';')) /* The lexer is behind the current token. */
			classes->good_size = (size_t)(p->lexer.at - text);
	}
	if (!p->failed && !classes->has_trace)
		tsdl_error(p, "there is no trace block");
	tsdl_finish_blocks(p);
	classes->is_whole = !p->failed;
	for (uint32_t i = 0; i < classes->stream_count; i++) {
		int ret = ctf_stream_class_index(classes->streams[i], p->failed ? NULL : error);

		p->failed = p->failed ? p->failed : ret;
	}
	ctf_trace_note_environment(&classes->trace);
	return p->failed;
}
