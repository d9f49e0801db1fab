/* SPDX-License-Identifier: MIT */
/* Reads CTF 2 metadata: converts JSON fragments to the same trees as TSDL. */
#ifndef SIDE_CTF_READ_CTF2_H
#define SIDE_CTF_READ_CTF2_H

#include "ctf/read/ctf2-json.h"
#include "ctf/tsdl.h"

struct ctf2_alias {
	struct ctf2_alias *next;
	const char *name;
	const struct ctf2_json *class;
	struct ctf_arena *arena; /* The arena of the fragment. */
};

struct ctf2_clock {
	struct ctf2_clock *next;
	const char *id;
	struct ctf_clock *clock;
};

struct ctf2_reader {
	struct ctf_trace_classes *classes;
	struct ctf_arena *arena; /* The arena of the classes. */
	struct ctf2_alias *aliases;
	struct ctf2_clock *clocks;
	const struct ctf_clock *clock; /* The clock of the current scope. */
	enum ctf_scope scope;
	unsigned int depth;
	bool has_preamble;
	bool has_magic;
	struct error *error;
	int first_error; /* The first errno of this fragment; 0: none. */
};

/*
 * Parses the text into classes, as ctf_tsdl_parse() does. Returns 0, or a negative errno with a
 * message in *error.
 */
int ctf2_parse(struct ctf_trace_classes *classes, const char *text, size_t size,
		struct error *error);

/* Stores the first error of the fragment. Returns NULL. */
void *ctf2_error(struct ctf2_reader *r, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
void *ctf2_alloc(struct ctf2_reader *r, size_t count, size_t size);
char *ctf2_copy(struct ctf2_reader *r, const char *text);

/*
 * Returns the text or number of a member. A missing member gives NULL or `default_value`. A member
 * of another type stores an error and gives NULL or 0.
 */
const char *ctf2_text(struct ctf2_reader *r, const struct ctf2_json *object, const char *key);
uint64_t ctf2_number(struct ctf2_reader *r, const struct ctf2_json *object, const char *key,
		uint64_t default_value);

/* Reports an extension that changes decoding and is not supported. */
void ctf2_check_extensions(struct ctf2_reader *r, const struct ctf2_json *object);

/* Returns the structure of a scope; NULL after an error. */
struct ctf_type *ctf2_scope_type(struct ctf2_reader *r, const struct ctf2_json *class,
		enum ctf_scope scope, const struct ctf_clock *clock);

#endif /* SIDE_CTF_READ_CTF2_H */
