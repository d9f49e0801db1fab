/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROTOCOL_FUZZ_CONTEXT_H
#define TESTS_PROTOCOL_FUZZ_CONTEXT_H

/*
 * The checks that both the libFuzzer target and the mutation test make on a text: an accepted text
 * has names that are accepted again with the same meaning, and fields that are valid in CTF; a
 * refused text has an error with a column in the text and a reason of one line.
 */

#include "protocol/context.h"

#include <stdlib.h>
#include <string.h>

static inline void fuzz_expect(bool condition)
{
	if (!condition)
		abort();
}

/* Returns whether it was accepted. */
static inline bool fuzz_context(const uint8_t *data, size_t size)
{
	static const char field_bytes[] =
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	struct context_spec specs[4], again;
	struct context_error error;
	char *text = malloc(size + 1);
	int nr, i;

	if (!text)
		return false;
	memcpy(text, data, size);
	text[size] = 0;
	nr = context_parse_list(text, specs, 4, &error);
	if (nr < 0) {
		const char *c;

		fuzz_expect(error.column >= 1 && error.column <= strlen(text) + 1);
		fuzz_expect(*error.text && strlen(error.text) < sizeof(error.text));
		for (c = error.text; *c; c++)
			fuzz_expect(*c >= 32 && *c < 127);
	}
	for (i = 0; i < nr; i++) {
		fuzz_expect(!context_parse(specs[i].name, &again, &error));
		fuzz_expect(context_same(&specs[i], &again));
		fuzz_expect(!strcmp(specs[i].name, again.name));
		fuzz_expect(strspn(specs[i].field, field_bytes) == strlen(specs[i].field));
		fuzz_expect(*specs[i].field);
	}
	free(text);
	return nr > 0;
}

#endif
