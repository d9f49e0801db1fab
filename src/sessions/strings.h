/* SPDX-License-Identifier: MIT */
/* Arrays of texts. */
#ifndef SIDE_SESSIONS_STRINGS_H
#define SIDE_SESSIONS_STRINGS_H

#include <stdbool.h>
#include <stddef.h>

/* An array of `count` texts, owned by the struct; each is from malloc(). */
struct definition_strings {
	char **items;
	size_t count;
};

/* Functions return false if out of memory; then nothing is changed. */
bool strings_add(struct definition_strings *strings, const char *text);
bool strings_copy(struct definition_strings *ret_copy, const struct definition_strings *from);
bool strings_have(const struct definition_strings *strings, const char *text);
bool strings_same(const struct definition_strings *one, const struct definition_strings *other);
bool strings_remove(struct definition_strings *strings, const char *text);
void strings_free(struct definition_strings *strings);

#endif /* SIDE_SESSIONS_STRINGS_H */
