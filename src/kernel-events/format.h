/* SPDX-License-Identifier: MIT */
/*
 * Parses the description of an event in tracefs, its `format` file. Any program may have written
 * the text: nothing in it is trusted.
 */
#ifndef SIDE_KERNEL_EVENTS_FORMAT_H
#define SIDE_KERNEL_EVENTS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORMAT_FIELDS_MAX 1024
#define FORMAT_LABELS_MAX 1024
#define FORMAT_COMMON_SIZE 8 /* the event's number, flags and thread: they precede the fields */

enum format_kind {
	FORMAT_INTEGER,
	FORMAT_POINTER,
	FORMAT_BOOL,
	FORMAT_FLOAT,
	FORMAT_FLOAT128,
	FORMAT_INT128,
	FORMAT_TEXT,     /* char[N] */
	FORMAT_BYTES,    /* only the size is known */
	FORMAT_LOCATION, /* a word with the offset and size of a string or an array */
};

struct format_label {
	char *text;
	uint64_t value;
};

struct format_field {
	char *name;
	enum format_kind kind; /* FORMAT_LOCATION: `element` is the type at that location */
	enum format_kind element;
	uint32_t offset; /* from the start of the record */
	uint32_t size;
	uint32_t unit;  /* bytes of one value */
	uint32_t count; /* elements of an array; 0: not an array */
	bool is_signed;
	bool relative; /* __rel_loc */
	bool flags;    /* the labels are names of bits */
	struct format_label *labels;
	uint32_t nr_labels;
};

struct format {
	uint16_t id;
	char *name;
	struct format_field *fields; /* without the common fields */
	uint32_t nr_fields;
	bool event_header; /* the fields are the header of an EventHeader record */
};

/*
 * Parse a `format` file. Returns 0, -ENOMEM, or -EINVAL if it is malformed. Call
 * kernel_format_free() in any case.
 */
int kernel_format_parse(const char *text, size_t size, struct format *ret_format);
void kernel_format_free(struct format *format);

#endif /* SIDE_KERNEL_EVENTS_FORMAT_H */
