/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_SPEC_H
#define SIDE_PROBE_SPEC_SPEC_H

/* Parse the text of a location in a spec, without reading any file. */

#include "probe/spec/resolve.h"

#define SPEC_TEXT_MAX 4096

enum spec_kind {
	SPEC_ADDRESS,
	SPEC_SYMBOL, /* with an optional offset */
	SPEC_LINE,   /* of a source file */
};

struct parsed_spec {
	enum spec_kind kind;
	char *library;   /* a glob, or the beginning of a name; NULL: not given */
	char *name;      /* of the symbol or source file */
	bool glob;       /* the name is a glob */
	uint64_t number; /* address, offset or line */
};

/*
 * Parse an octal number with the prefix 0, a hexadecimal with 0x, or a decimal. Returns false if
 * the text is not one, or if it exceeds 64 bits.
 */
bool spec_number(const char *text, size_t length, uint64_t *ret_number);
/* Call spec_free() also after a failure. */
int spec_parse(const char *text, struct parsed_spec *ret_spec, struct error *error);
void spec_free(struct parsed_spec *spec);

#endif /* SIDE_PROBE_SPEC_SPEC_H */
