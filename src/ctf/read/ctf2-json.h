/* SPDX-License-Identifier: MIT */
/*
 * JSON of CTF 2 metadata as a tree in an arena.
 *
 * A parser of our own, because of what metadata needs: integers from -2^63 to 2^64 - 1 exactly,
 * the source of a value (descriptions are kept as they were written), bounds on depth and memory.
 */
#ifndef SIDE_CTF_READ_CTF2_JSON_H
#define SIDE_CTF_READ_CTF2_JSON_H

#include "ctf/arena.h"

enum json_kind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_INTEGER,
	JSON_NUMBER, /* One that is no integer of the range; its value is not kept. */
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
	const char *key;         /* In an object. */
	struct ctf2_json *first; /* JSON_ARRAY, JSON_OBJECT. */
	struct ctf2_json *next;
	const char *begin; /* The source. */
	const char *end;
};

/* What is wrong, and where it was seen. */
struct json_error {
	const char *why;
	const char *at;
};

/*
 * One value with nothing but white space around it. memory_max bounds the arena. Returns NULL
 * with *error set; why is NULL without memory.
 */
struct ctf2_json *json_parse(struct ctf_arena *arena, const char *text, size_t size,
		size_t memory_max, struct json_error *error);

/* A member of an object (the last one of a name), or NULL; NULL also for what is no object. */
const struct ctf2_json *json_member(const struct ctf2_json *object, const char *key);

#endif /* SIDE_CTF_READ_CTF2_JSON_H */
