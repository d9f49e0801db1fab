/* SPDX-License-Identifier: MIT */
/*
 * Demangles names of C++, and of Rust's legacy scheme: C++ names whose last component is a hash,
 * and in which letters encode punctuation.
 */
#include "demangle.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 4096
#define HASH_BYTES 19 /* "::h" and 16 digits */

/* Declared as in <cxxabi.h> of C++. */
char *__cxa_demangle(const char *mangled, char *out, size_t *size, int *status);

static bool cut_hash(char *name)
{
	size_t length = strlen(name);

	if (length <= HASH_BYTES || strncmp(name + length - HASH_BYTES, "::h", 3) != 0 ||
			strspn(name + length - 16, "0123456789abcdef") != 16)
		return false;
	name[length - HASH_BYTES] = '\0';
	return true;
}

/* The length of an encoded sign such as "$LT$"; 0: there is none. */
static size_t sign_at(const char *from, char *ret_sign)
{
	static const struct {
		const char *text;
		char sign;
	} signs[] = {{"$SP$", '@'}, {"$BP$", '*'}, {"$RF$", '&'}, {"$LT$", '<'}, {"$GT$", '>'},
			{"$LP$", '('}, {"$RP$", ')'}, {"$C$", ','}};
	unsigned long code;
	char *end;

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		*ret_sign = signs[i].sign;
		if (!strncmp(from, signs[i].text, strlen(signs[i].text)))
			return strlen(signs[i].text);
	}
	if (strncmp(from, "$u", 2) != 0)
		return 0;
	code = strtoul(from + 2, &end, 16);
	*ret_sign = (char)code;
	return *end == '$' && end > from + 2 && code >= ' ' && code < 127 ? (size_t)(end + 1 - from)
									  : 0;
}

static void write_signs(char *name)
{
	char *to = name;

	for (const char *from = name; *from;) {
		bool begins = from == name || (from[-1] == ':' && to > name && to[-1] == ':');
		char sign;
		size_t length = sign_at(from, &sign);

		if (length) {
			*to++ = sign;
			from += length;
		} else if (begins && from[0] == '_' && from[1] == '$') {
			from++; /* a name does not begin with a dollar */
		} else if (from[0] == '.' && from[1] == '.') {
			*to++ = ':';
			*to++ = ':';
			from += 2;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* Demangle a gfortran name of a module. */
static char *fortran(const char *symbol, size_t length)
{
	const char *middle = strstr(symbol, "_MOD_");
	char *name;

	if (strncmp(symbol, "__", 2) != 0 || !middle || middle < symbol + 3 || !middle[5])
		return NULL;
	name = malloc(length);
	if (!name)
		return NULL;
	length = (size_t)(middle - symbol) - 2;
	stpcpy(stpcpy(mempcpy(name, symbol + 2, length), "::"), middle + 5);
	return name;
}

char *names_readable(const char *symbol)
{
	size_t length = strnlen(symbol, NAME_BYTES_MAX);
	char *found;
	int status;

	if (length == NAME_BYTES_MAX)
		return NULL;
	if (!strncmp(symbol, "_R", 2))
		return names_rust(symbol);
	if (strncmp(symbol, "_Z", 2) != 0)
		return fortran(symbol, length);
	found = __cxa_demangle(symbol, NULL, NULL, &status);
	if (found && cut_hash(found))
		write_signs(found);
	return found;
}

static bool names_fit(const char *readable, const char *wanted, bool is_glob)
{
	return *readable && (is_glob ? !fnmatch(wanted, readable, 0) : !strcmp(wanted, readable));
}

bool names_readable_fits(const char *symbol, const char *wanted, bool is_glob)
{
	char *readable = names_readable(symbol);
	bool fits = readable && names_fit(readable, wanted, is_glob);

	if (readable && !fits) {
		readable[strcspn(readable, "(")] = '\0';
		fits = names_fit(readable, wanted, is_glob);
	}
	free(readable);
	return fits;
}
