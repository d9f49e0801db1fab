/* SPDX-License-Identifier: MIT */
/*
 * Texts for people and for JSON: numbers, sizes, control characters made visible.
 *
 * Functions that fill a text of the caller end it with a NUL and return it. They cannot fail.
 */
#ifndef SIDE_BASE_FORMAT_H
#define SIDE_BASE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FORMAT_NUMBER_MAX 40

/* "1,234,567" */
const char *format_number(uint64_t number, char text[FORMAT_NUMBER_MAX]);
/* "1 byte", "12.3 MiB" */
const char *format_size(uint64_t bytes, char text[FORMAT_NUMBER_MAX]);
/* "1,234 events" */
const char *format_events(uint64_t count, char text[FORMAT_NUMBER_MAX]);

/*
 * The text with control characters and invalid UTF-8 as \xNN, cut between characters to `size`
 * bytes with the NUL.
 */
const char *format_printable(const char *text, char *printable, size_t size);
/* The same, written to a stream and not cut. Allocates nothing. */
void print_printable(FILE *out, const char *text);

/* An argument as a shell reads it: quoted if necessary. Cut to `size` bytes with the NUL. */
const char *format_quoted(const char *argument, char *text, size_t size);

/* A JSON string with its quotes. A byte that is not part of UTF-8 becomes \u0080 to \u00ff. */
void print_json_string(FILE *out, const char *text);

/*
 * Closes a stream of open_memstream(). True: *ret_text is whole, and the caller frees it. False: an
 * allocation failed, and *ret_text is NULL.
 */
bool text_stream_end(FILE *out, char **ret_text);

#endif /* SIDE_BASE_FORMAT_H */
