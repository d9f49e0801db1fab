/* SPDX-License-Identifier: MIT */
/*
 * Where values are written: text for people, or JSON for programs.
 *
 * The walkers call these functions in document order. `index` counts members, elements or labels
 * from 0, so that the sink knows where a comma is needed. A failed allocation remains noted in the
 * buffer.
 */
#ifndef SIDE_ANALYSIS_VIEW_SINK_H
#define SIDE_ANALYSIS_VIEW_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/view-out.h"
#include "abi/visit.h"

struct symbols;
struct view_sink;

/* Bytes that are always the same. */
struct view_word {
	const char *text;
	size_t size;
};
#define VIEW_WORD(literal)                   \
	{                                    \
		literal, sizeof(literal) - 1 \
	}

struct view_sink_ops {
	bool json;

	/* around integers and floats, and around strings: colours */
	struct view_word number_begin, number_end, text_begin, text_end;
	struct view_word null, absent, unreadable, bool_words[2]; /* words: false, true */
	struct view_word struct_begin, struct_end, list_begin, list_end;
	struct view_word item[2]; /* before the first element, and before all others */

	void (*member)(struct view_sink *sink, uint32_t index, const char *name, size_t size,
			unsigned int copy);
	/* a string with its quotes */
	void (*quoted)(struct view_out *out, const char *text, size_t size);
	/* integers wider than 64 bits, and floats */
	void (*number)(struct view_sink *sink, const struct visit_value *value, unsigned int base);
	void (*real)(struct view_sink *sink, const struct visit_value *value);
	/* a number as text in a description */
	void (*digits)(struct view_sink *sink, const char *digits, bool quoted);

	/* labels_begin, label…, labels_end, the value, labelled_end */
	void (*labels_begin)(struct view_sink *sink);
	void (*label)(struct view_sink *sink, uint32_t index, const char *text, size_t size);
	void (*labels_end)(struct view_sink *sink, uint32_t count, bool bitmap);
	void (*labelled_end)(struct view_sink *sink);

	/* a selector that selects no option: begin, the value of the selector, end */
	void (*no_option_begin)(struct view_sink *sink);
	void (*no_option_end)(struct view_sink *sink);

	/* a value with attributes: begin, the value, list, (attribute, its value, end)…, end */
	void (*attributed_begin)(struct view_sink *sink);
	void (*attributes_begin)(struct view_sink *sink);
	void (*attribute_begin)(
			struct view_sink *sink, uint32_t index, const char *key, size_t size);
	void (*attribute_end)(struct view_sink *sink);
	void (*attributes_end)(struct view_sink *sink);
};

struct view_sink {
	const struct view_sink_ops *ops;
	struct view_out *out;
	bool colour;
	bool attributes;         /* attributes are wanted */
	struct symbols *symbols; /* NULL: addresses are numbers */
	/* JSON: a buffer to format addresses and pointers as texts. NULL: they are numbers. */
	struct view_out *addresses;
	uint32_t trace; /* the trace whose process has the addresses … */
	int64_t ns;     /* … at this time */
	uint8_t ip;     /* enum address_kind of the context `ip`; 0: ADDRESS_RETURN */
	/* enum view_call (view-syscall.h), if the fields are those of a system call */
	uint8_t call;
};

extern const struct view_sink_ops view_text_ops;
extern const struct view_sink_ops view_colour_ops;
extern const struct view_sink_ops view_json_ops;

static inline void view_put_word(struct view_sink *sink, const struct view_word *word)
{
	view_out_put(sink->out, word->text, word->size);
}

static inline void view_put_text(struct view_sink *sink, const char *text, size_t size)
{
	view_put_word(sink, &sink->ops->text_begin);
	sink->ops->quoted(sink->out, text, size);
	view_put_word(sink, &sink->ops->text_end);
}

/* An integer of up to 64 bits, sign-extended if it is signed. */
void view_put_integer(struct view_sink *sink, uint64_t number, bool is_signed, unsigned int bits,
		unsigned int base);

/* A string with quotes. Quotes, control characters and invalid UTF-8 are escaped. */
void view_text_quoted(struct view_out *out, const char *text, size_t size);
/* The same without quotes. */
void view_text_plain(struct view_out *out, const char *text, size_t size);
/* The same, but line feeds and tabs are kept. */
void view_text_field(struct view_out *out, const char *text, size_t size);
/* Text: the name of a member and " = ". */
void view_text_assign(struct view_sink *sink, const char *name, size_t size);
void view_json_quoted(struct view_out *out, const char *text, size_t size);

/*
 * Writes the shortest decimal number that is read back as the same float; "nan", "inf", "-inf".
 * Returns its length.
 */
size_t view_real_digits(const struct visit_value *value, char out[VISIT_FLOAT_DIGITS_MAX]);

/* The value of an integer, float or enumeration of CTF of up to 64 bits. */
struct ctf_value;
struct visit_value view_number_of(const struct ctf_value *value);

#endif /* SIDE_ANALYSIS_VIEW_SINK_H */
