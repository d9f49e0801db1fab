/* SPDX-License-Identifier: MIT */
/*
 * Recognizes copies and pieces that compilers make of a function, by suffixes of the symbol such as
 * `.constprop.0`.
 *
 * gcc makes copies of a function that have fewer arguments (isra, constprop). The linker renames
 * functions that have the same name in several files (lto_priv). clang specializes functions
 * (specialized), and renames local functions of other files (llvm, __uniq). A call of any of these
 * is a call of the function. A piece (part) contains the end of a function whose beginning is
 * inlined in its callers.
 */
#include "demangle.h"

#include <string.h>

/* The length of `.WORD.NUMBER` at `text`, or 0. */
static size_t suffix_length(const char *text, const char *word)
{
	size_t length = strlen(word), digits;

	if (strncmp(text, word, length) != 0)
		return 0;
	digits = strspn(text + length, "0123456789");
	return digits && (!text[length + digits] || text[length + digits] == '.') ? length + digits
										  : 0;
}

enum names_copy names_copy(const char *symbol, size_t *ret_length)
{
	static const char *const names[] = {".isra.", ".constprop.", ".specialized.", ".llvm.",
			".lto_priv.", ".__uniq.", ".part."};
	const size_t nr_words = sizeof(names) / sizeof(names[0]);
	enum names_copy found = NAMES_NO_COPY;
	const char *at = strchr(symbol, '.');

	*ret_length = strlen(symbol);
	while (at) {
		size_t length = 0, i = 0;

		while (i < nr_words && !(length = suffix_length(at, names[i])))
			i++;
		if (i == nr_words) {
			/* This dot belongs to the name itself, as in names of Go and Fortran. */
			found = NAMES_NO_COPY;
			at = strchr(at + 1, '.');
			continue;
		}
		if (found == NAMES_NO_COPY)
			*ret_length = (size_t)(at - symbol);
		if (found != NAMES_PIECE)
			found = i == nr_words - 1 ? NAMES_PIECE : NAMES_COPY;
		at = at[length] ? at + length : NULL;
	}
	if (found == NAMES_NO_COPY)
		*ret_length = strlen(symbol);
	return *ret_length ? found : NAMES_NO_COPY;
}

bool names_is_cold(const char *symbol)
{
	const char *dot = strstr(symbol, ".cold");

	return dot && (!dot[5] || dot[5] == '.');
}

char *names_without_copy(const char *symbol)
{
	size_t length;

	(void)names_copy(symbol, &length);
	return strndup(symbol, length);
}
