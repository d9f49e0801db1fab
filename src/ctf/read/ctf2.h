/* SPDX-License-Identifier: MIT */
/* Reading CTF 2 metadata: fragments of JSON → the same trees that TSDL makes. */
#ifndef SIDE_CTF_READ_CTF2_H
#define SIDE_CTF_READ_CTF2_H

#include "ctf/read/ctf2-json.h"
#include "ctf/tsdl.h"

struct ctf2_alias {
	struct ctf2_alias *next;
	const char *name;
	const struct ctf2_json *class;
	struct ctf_arena *arena; /* Of the fragment. */
};

struct ctf2_clock {
	struct ctf2_clock *next;
	const char *id;
	struct ctf_clock *clock;
};

struct ctf2_reader {
	struct ctf_trace_classes *classes;
	struct ctf_arena *arena; /* Of the classes. */
	struct ctf2_alias *aliases;
	struct ctf2_clock *clocks;
	const struct ctf_clock *clock; /* Of the scope that is being read. */
	enum ctf_scope scope;
	unsigned int depth;
	bool has_preamble;
	bool has_magic;
	struct ctf_error *error;
	int failed; /* The first error of this fragment. */
};

/* Parse the text into classes, as ctf_tsdl_parse() does. */
int ctf2_parse(struct ctf_trace_classes *classes, const char *text, size_t size,
		struct ctf_error *error);

/* Note the first error of the fragment; returns NULL. */
void *ctf2_error(struct ctf2_reader *r, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
void *ctf2_alloc(struct ctf2_reader *r, size_t count, size_t size);
char *ctf2_copy(struct ctf2_reader *r, const char *text);

/* A text or a number of an object: absent, `otherwise`; of another kind, an error. */
const char *ctf2_text(struct ctf2_reader *r, const struct ctf2_json *object, const char *key);
uint64_t ctf2_number(struct ctf2_reader *r, const struct ctf2_json *object, const char *key,
		uint64_t otherwise);

/* Nothing that changes decoding and that we do not know. */
void ctf2_check_extensions(struct ctf2_reader *r, const struct ctf2_json *object);

/* The structure of a scope, NULL after an error. */
struct ctf_type *ctf2_scope_type(struct ctf2_reader *r, const struct ctf2_json *class,
		enum ctf_scope scope, const struct ctf_clock *clock);

#endif /* SIDE_CTF_READ_CTF2_H */
