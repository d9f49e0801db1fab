/* SPDX-License-Identifier: MIT */
/*
 * Where values go to be shown: text for people or JSON for programs.
 *
 * The walkers call these in document order. `index` counts members, elements, labels from 0, so
 * that the sink knows where a comma goes. Errors of the file stay in the file.
 */
#ifndef CMD_SIDE_VIEW_SINK_H
#define CMD_SIDE_VIEW_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "visit/visit.h"

struct view_sink;

struct view_sink_ops {
	void (*null)(struct view_sink *sink);
	void (*absent)(struct view_sink *sink); /* An optional without value. */
	void (*boolean)(struct view_sink *sink, bool value);
	/* Integers, bytes, pointers: kind, lo, hi and size are set. */
	void (*number)(struct view_sink *sink, const struct visit_value *value, unsigned int base);
	void (*real)(struct view_sink *sink, const struct visit_value *value);
	void (*text)(struct view_sink *sink, const char *text, size_t size);
	/* A number as text that stands in a description. */
	void (*digits)(struct view_sink *sink, const char *digits, bool quoted);

	void (*struct_begin)(struct view_sink *sink);
	void (*member)(struct view_sink *sink, uint32_t index, const char *name, size_t size,
			unsigned int copy);
	void (*struct_end)(struct view_sink *sink, uint32_t count);
	void (*list_begin)(struct view_sink *sink);
	void (*item)(struct view_sink *sink, uint32_t index);
	void (*list_end)(struct view_sink *sink, uint32_t count);

	/* labels_begin, label…, labels_end, the value, labelled_end */
	void (*labels_begin)(struct view_sink *sink);
	void (*label)(struct view_sink *sink, uint32_t index, const char *text, size_t size);
	void (*labels_end)(struct view_sink *sink, uint32_t count, bool bitmap);
	void (*labelled_end)(struct view_sink *sink);

	/* A selector that no option belongs to: begin, the selector's value, end. */
	void (*no_option_begin)(struct view_sink *sink);
	void (*no_option_end)(struct view_sink *sink);

	/* A value with attributes: begin, the value, list, (attribute, its value, end)…, end. */
	void (*attributed_begin)(struct view_sink *sink);
	void (*attributes_begin)(struct view_sink *sink);
	void (*attribute_begin)(
			struct view_sink *sink, uint32_t index, const char *key, size_t size);
	void (*attribute_end)(struct view_sink *sink);
	void (*attributes_end)(struct view_sink *sink);
};

struct view_sink {
	const struct view_sink_ops *ops;
	FILE *out;
	bool colour;
	bool attributes; /* Attributes are asked for. */
};

extern const struct view_sink_ops view_text_ops;
extern const struct view_sink_ops view_json_ops;

/* A string with quotes, control characters and bytes that are no UTF-8 escaped. */
void view_text_quoted(FILE *out, const char *text, size_t size);
/* The same without quotes. */
void view_text_plain(FILE *out, const char *text, size_t size);
void view_json_quoted(FILE *out, const char *text, size_t size);

/* The shortest decimal that gives the same float back; "nan", "inf", "-inf". Returns its length. */
size_t view_real_digits(const struct visit_value *value, char out[VISIT_FLOAT_DIGITS_MAX]);

/* The value of an integer, float or enumeration of CTF, up to 64 bits. */
struct ctf_value;
struct visit_value view_number_of(const struct ctf_value *value);

#endif /* CMD_SIDE_VIEW_SINK_H */
