/* SPDX-License-Identifier: MIT */
/*
 * A growing buffer for output. The usual path of each function is a comparison and a copy, without
 * format strings, locks or calls.
 */
#ifndef SIDE_ANALYSIS_VIEW_OUT_H
#define SIDE_ANALYSIS_VIEW_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct view_out {
	char *begin;
	char *at;
	char *end;
	bool failed; /* an allocation failed, and bytes are missing; remains set */
};

void view_out_free(struct view_out *out);
/* Makes space for this many bytes. False: out of memory. */
bool view_out_grow(struct view_out *out, size_t size);

static inline size_t view_out_size(const struct view_out *out)
{
	return (size_t)(out->at - out->begin);
}

static inline bool view_out_reserve(struct view_out *out, size_t size)
{
	if (__builtin_expect((size_t)(out->end - out->at) >= size, 1))
		return true;
	return view_out_grow(out, size);
}

static inline void view_out_put(struct view_out *out, const char *bytes, size_t size)
{
	if (!size ||
			!view_out_reserve(out,
					size)) /* memcpy() must not get a null pointer, not even for zero bytes. */
		return;
	memcpy(out->at, bytes, size);
	out->at += size;
}

/* For string literals: the compiler knows the length. */
static inline __attribute__((always_inline)) void view_out_text(
		struct view_out *out, const char *text)
{
	view_out_put(out, text, strlen(text));
}

static inline void view_out_char(struct view_out *out, char c)
{
	if (view_out_reserve(out, 1))
		*out->at++ = c;
}

/* Writes digits at `to`, which has space for 64 bytes. Each returns the end of the digits. */
char *view_decimal(char *to, uint64_t number);
char *view_hexadecimal(char *to, uint64_t number);
/* Exactly nine digits. */
char *view_nine_digits(char *to, uint32_t number);

void view_out_unsigned(struct view_out *out, uint64_t number);
void view_out_signed(struct view_out *out, int64_t number);
/* "0x7f" */
void view_out_hexadecimal(struct view_out *out, uint64_t number);
void view_out_fill(struct view_out *out, char c, size_t count);

/* The slow functions below are for answers, not for each event. */

void view_out_format(struct view_out *out, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
/* Writes the buffer to a stream if it is large, and empties it. For answers of many lines. */
void view_out_pass(struct view_out *out, FILE *stream);
/*
 * Writes the buffer to a stream without flushing it, unless `ret` is an error, and frees it.
 * Returns `ret`, or -ENOMEM if bytes are missing.
 */
int view_out_end(struct view_out *out, FILE *stream, int ret);

#endif /* SIDE_ANALYSIS_VIEW_OUT_H */
