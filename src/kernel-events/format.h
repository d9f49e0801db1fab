/* SPDX-License-Identifier: MIT */
/* What tracefs says of an event: its `format` file, read. The text may have been chosen by any program. */
#ifndef SIDE_KERNEL_EVENTS_FORMAT_H
#define SIDE_KERNEL_EVENTS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORMAT_FIELDS_MAX 1024
#define FORMAT_LABELS_MAX 1024
#define FORMAT_COMMON_SIZE 8 /* the number of the event, flags, thread: before the fields */

enum format_kind {
	FORMAT_INTEGER,
	FORMAT_POINTER,
	FORMAT_BOOL,
	FORMAT_FLOAT,
	FORMAT_FLOAT128,
	FORMAT_INT128,
	FORMAT_TEXT,     /* char[N] */
	FORMAT_BYTES,    /* nothing is known but the size */
	FORMAT_LOCATION, /* a word that says where a text or an array stands */
};

struct format_label {
	char *text;
	uint64_t value;
};

struct format_field {
	char *name;
	enum format_kind kind; /* FORMAT_LOCATION: `element` says of what */
	enum format_kind element;
	uint32_t offset; /* from the beginning of the record */
	uint32_t size;
	uint32_t unit;  /* bytes of one value */
	uint32_t count; /* of an array; 0: it is none */
	bool is_signed;
	bool relative; /* __rel_loc */
	bool flags;    /* the labels name bits */
	struct format_label *labels;
	uint32_t nr_labels;
};

struct format {
	uint16_t id;
	char *name;
	struct format_field *fields; /* without the common ones */
	uint32_t nr_fields;
	bool event_header; /* the fields are the beginning of an EventHeader record */
};

/* 0, -ENOMEM, or -EINVAL: that is no description. kernel_format_free() in any case. */
int kernel_format_parse(const char *text, size_t size, struct format *format);
void kernel_format_free(struct format *format);

#endif /* SIDE_KERNEL_EVENTS_FORMAT_H */
