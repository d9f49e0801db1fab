/* SPDX-License-Identifier: MIT */
/*
 * Names of the copies and pieces that compilers make of a function: its symbol and suffixes such as `.constprop.0`.
 *
 * gcc replaces a function by copies with fewer arguments (isra, constprop), and the linker renames one that several files have (lto_priv).
 * clang specializes functions (specialized) and names those of other files apart (llvm, __uniq). Each of these has calls of the whole
 * function. A piece (part) has the end of a function whose beginning is inlined in its callers.
 */
#include "names.h"

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
	static const char *const words[] = {".isra.", ".constprop.", ".specialized.", ".llvm.",
			".lto_priv.", ".__uniq.", ".part."};
	const size_t nr_words = sizeof(words) / sizeof(words[0]);
	enum names_copy found = NAMES_NO_COPY;
	const char *at = strchr(symbol, '.');

	*ret_length = strlen(symbol);
	while (at) {
		size_t length = 0, i = 0;

		while (i < nr_words && !(length = suffix_length(at, words[i])))
			i++;
		if (i == nr_words) {
			/* A dot of the name itself, as those of Go and Fortran have. */
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

char *names_without_copy(const char *symbol)
{
	size_t length;

	(void)names_copy(symbol, &length);
	return strndup(symbol, length);
}
