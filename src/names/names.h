/* SPDX-License-Identifier: MIT */
#ifndef NAMES_NAMES_H
#define NAMES_NAMES_H

/*
 * Names of functions as their sources have them.
 *
 *	readable.c   of C++, and of Rust's older scheme, which is made of that
 *	rust.c       of Rust's newer scheme (v0)
 */

/* To be freed; NULL: it is that already, or nobody knows it. Symbols are not trusted. */
char *names_readable(const char *symbol);

/* The symbols that begin with _R. */
char *names_rust(const char *symbol);

#endif /* NAMES_NAMES_H */
