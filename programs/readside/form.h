/* SPDX-License-Identifier: MIT */
/*
 * The forms of a listing. describe.c walks over a description and says what is there, in words that all
 * forms share; each form (form-json.c, form-text.c, form-sexpr.c) writes it in its own way.
 */
#ifndef PROGRAMS_READSIDE_FORM_H
#define PROGRAMS_READSIDE_FORM_H

#include "readside.h"

enum form_list {
	FORM_OBJECT,     /* the properties of a type: element, selector, length, gather */
	FORM_ATTRIBUTES, /* of attributes */
	FORM_FIELDS,     /* of FORM_FIELD */
	FORM_FIELD,      /* the key is the name of the field; its type comes first in it */
	FORM_OPTIONS,    /* of FORM_OPTION */
	FORM_OPTION,     /* the key is the range; its type comes first in it */
	FORM_MAPPINGS,   /* of mappings */
};

struct form {
	FILE *out;
	const struct form_ops *ops;
	unsigned int depth;
	bool first;    /* nothing stands in the innermost list yet */
	bool typeless; /* s-expressions: of the field or option that was just opened */
	bool in_field;
	size_t nr_events;
	char *path; /* of the events before; NULL: none yet */
};

struct form_ops {
	void (*begin)(struct form *form, const char *path); /* events of another file follow */
	void (*end)(struct form *form);
	void (*finish)(struct form *form); /* the listing ends */
	void (*event_begin)(struct form *form, const char *path);
	void (*event_end)(struct form *form);
	void (*name)(struct form *form, const char *key, const char *text);
	void (*word)(struct form *form, const char *key, const char *word);
	void (*number)(struct form *form, const char *key, uint64_t number);
	void (*flag)(struct form *form, const char *key, bool flag);
	void (*open)(struct form *form, enum form_list list, const char *key, uint32_t count);
	void (*close)(struct form *form, enum form_list list, uint32_t count);
	void (*attribute)(struct form *form, const char *key, size_t size,
			const struct visit_value *value);
	/* The ends of the range as decimal digits. */
	void (*mapping)(struct form *form, const char *label, size_t size, const char *begin,
			const char *end);
};

extern const struct form_ops form_json, form_text, form_sexpr;

/* Where a gather type finds its value; not of enumerations, whose element says it. */
struct form_access {
	uint64_t offset;
	unsigned int mode; /* enum side_type_gather_access_mode */
	int32_t bits;      /* -1: such a type does not begin within a byte */
	int64_t bytes;     /* of a structure; -1: the type says it itself */
};

struct form_access form_access(const struct side_type *type);

/* Text of any kind as UTF-8, to be freed; NULL: it is a NULL pointer, or out of memory. */
char *form_utf8(const struct visit_text *text, size_t *size);

/* A number of an attribute, bool or float as JSON and people write it; not for strings and null. */
void form_scalar(FILE *out, const struct visit_value *value);

/* All of an event between event_begin and event_end. */
void form_event(struct form *form, const struct readside_event *event);

#endif /* PROGRAMS_READSIDE_FORM_H */
