/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SYMBOLIZE_DEMANGLE_H
#define SIDE_SYMBOLIZE_DEMANGLE_H

/*
 * Demangles names of functions.
 *
 *   demangle.c        demangles C++, and Rust's legacy scheme, which is based on that of C++
 *   demangle-rust.c   demangles Rust's scheme v0
 *   copies.c          recognizes copies and pieces that compilers make of a function
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns the demangled symbol; free() it. NULL: the symbol is not mangled, or its mangling is
 * unknown. Symbols are not trusted.
 */
char *names_readable(const char *symbol);

/*
 * Whether the demangled symbol, with or without its parameters, is the wanted name, or fits the
 * wanted glob. False: the symbol cannot be demangled.
 */
bool names_readable_fits(const char *symbol, const char *wanted, bool is_glob);

/* Like names_readable(), for symbols that begin with _R. */
char *names_rust(const char *symbol);

enum names_copy {
	NAMES_NO_COPY,
	NAMES_COPY, /* each call of the copy is a call of the function */
	/* has only a part of the function's code: a call of the piece is not a call of the
	   function */
	NAMES_PIECE,
};

/* Classify a symbol. `*ret_length` is the length of the function's name in it. */
enum names_copy names_copy(const char *symbol, size_t *ret_length);
/* True for the seldom-used part of a function (foo.cold): only jumps of the function lead there. */
bool names_is_cold(const char *symbol);
/* Returns the symbol without the suffixes of a copy or a piece; free() it. NULL: out of memory. */
char *names_without_copy(const char *symbol);

#endif /* SIDE_SYMBOLIZE_DEMANGLE_H */
