/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_SPEC_H
#define SIDE_PROBE_SPEC_SPEC_H

/* Take apart the text of a location in a spec. Nothing here reads a file. */

#include "probe/spec/resolve.h"

#define SPEC_TEXT_MAX 4096

enum spec_kind {
	SPEC_ADDRESS,
	SPEC_SYMBOL, /* + offset */
	SPEC_LINE,   /* of a source file */
};

struct parsed_spec {
	enum spec_kind kind;
	char *library;   /* a glob, or a begin of a name; NULL: it is not said */
	char *name;      /* of the symbol or source file */
	bool glob;       /* the name is one */
	uint64_t number; /* address, offset, line */
};

/* Octal with a 0 before it, hexadecimal with 0x, else decimal; false: it is none, or larger than 64 bits. */
bool spec_number(const char *text, size_t length, uint64_t *number);
/* spec_free() in both cases. */
int spec_parse(const char *text, struct parsed_spec *spec, struct resolve_error *error);
void spec_free(struct parsed_spec *spec);

#endif /* SIDE_PROBE_SPEC_SPEC_H */
