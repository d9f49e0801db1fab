/* SPDX-License-Identifier: MIT */
/*
 * The output formats of a listing. describe.c walks over a description and passes its parts to a
 * format, with keys that all formats share; form-json.c, form-text.c and form-sexpr.c print them.
 */
#ifndef PROGRAMS_READSIDE_FORM_H
#define PROGRAMS_READSIDE_FORM_H

#include "readside.h"

enum form_list {
	FORM_OBJECT,     /* the properties of a type: element, selector, length, gather */
	FORM_ATTRIBUTES, /* attributes */
	FORM_FIELDS,     /* FORM_FIELD items */
	FORM_FIELD,      /* the key is the field's name; the first item is its type */
	FORM_OPTIONS,    /* FORM_OPTION items */
	FORM_OPTION,     /* the key is the range; the first item is its type */
	FORM_MAPPINGS,   /* mappings */
};

struct form {
	FILE *out;
	const struct form_ops *ops;
	unsigned int depth;
	bool first;    /* the innermost list is still empty */
	bool typeless; /* S-expressions: the option that was just opened has no type yet */
	bool in_field;
	size_t nr_events;
	char *path; /* of the previous events; NULL: none yet */
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
	/* Begin and end of the range are decimal digits. */
	void (*mapping)(struct form *form, const char *label, size_t size, const char *begin,
			const char *end);
};

extern const struct form_ops form_json, form_text, form_sexpr;

/* Location of a gather type's value. Enumerations have none: their element has it. */
struct form_access {
	uint64_t offset;
	unsigned int mode; /* enum side_type_gather_access_mode */
	int32_t bits;      /* -1: the type has no bit offset */
	int64_t bytes;     /* size of a structure; -1: the type itself has a size */
};

struct form_access form_access(const struct side_type *type);

/*
 * Returns a string of any encoding as UTF-8, which the caller frees; NULL if the pointer is NULL,
 * or if out of memory.
 */
char *form_utf8(const struct visit_text *text, size_t *ret_size);

/*
 * Print an attribute's number, boolean or float in a form for JSON and for people. Not for strings
 * and null.
 */
void form_scalar(FILE *out, const struct visit_value *value);

/* Print the event between event_begin and event_end. */
void form_event(struct form *form, const struct readside_event *event);

#endif /* PROGRAMS_READSIDE_FORM_H */
