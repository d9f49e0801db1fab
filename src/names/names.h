/* SPDX-License-Identifier: MIT */
#ifndef NAMES_NAMES_H
#define NAMES_NAMES_H

/*
 * Names of functions as their sources have them.
 *
 *	readable.c   of C++, and of Rust's older scheme, which is made of that
 *	rust.c       of Rust's newer scheme (v0)
 *	copies.c     of copies and pieces that compilers make of a function
 */

#include <stddef.h>

/* To be freed; NULL: it is that already, or nobody knows it. Symbols are not trusted. */
char *names_readable(const char *symbol);

/* The symbols that begin with _R. */
char *names_rust(const char *symbol);

enum names_copy {
	NAMES_NO_COPY,
	NAMES_COPY, /* each call of it is a call of the function */
	NAMES_PIECE, /* it has a part of the function's code, so that calls of it are no calls of the function */
};

/* Whether the symbol is that of a copy or a piece, and the length of the function's name in it. */
enum names_copy names_copy(const char *symbol, size_t *ret_length);
/* The function's name of any symbol, to be freed; NULL: out of memory. */
char *names_without_copy(const char *symbol);

#endif /* NAMES_NAMES_H */
