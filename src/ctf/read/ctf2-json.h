/* SPDX-License-Identifier: MIT */
/*
 * Parses the JSON of CTF 2 metadata into a tree in an arena.
 *
 * A separate parser, because metadata needs: exact integers from -2^63 to 2^64 - 1, the source of a
 * value (descriptions are kept in their original form), limits of depth and memory.
 */
#ifndef SIDE_CTF_READ_CTF2_JSON_H
#define SIDE_CTF_READ_CTF2_JSON_H

#include "ctf/arena.h"

enum json_kind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_INTEGER,
	JSON_NUMBER, /* Not an integer of that range; its value is not kept. */
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct ctf2_json {
	enum json_kind kind;
	bool negative;  /* JSON_INTEGER: number is two's complement. */
	uint32_t count; /* JSON_ARRAY, JSON_OBJECT. */
	uint64_t number;
	const char *text;        /* JSON_STRING: UTF-8; U+0000 and lone surrogates become U+FFFD. */
	const char *key;         /* For members of an object. */
	struct ctf2_json *first; /* JSON_ARRAY, JSON_OBJECT. */
	struct ctf2_json *next;
	const char *begin; /* Its source text. */
	const char *end;
};

/* The error and its position. */
struct json_error {
	const char *why;
	const char *at;
};

/*
 * Parse one value, surrounded only by white space. memory_max limits the arena. NULL with *error
 * set; why is NULL if out of memory.
 */
struct ctf2_json *json_parse(struct ctf_arena *arena, const char *text, size_t size,
		size_t memory_max, struct json_error *error);

/* The member of an object (the last one of that name), or NULL; also NULL if `object` is no
   object. */
const struct ctf2_json *json_member(const struct ctf2_json *object, const char *key);

#endif /* SIDE_CTF_READ_CTF2_JSON_H */
