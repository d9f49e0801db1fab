/* SPDX-License-Identifier: MIT */
/*
 * How the values of one event are shown: the SIDE description (JSON in the metadata) combined with
 * the field classes of the reader. It is made once for an event class and walked for each record.
 */
#ifndef SIDE_ANALYSIS_VIEW_SHOW_H
#define SIDE_ANALYSIS_VIEW_SHOW_H

#include "analysis/address.h"
#include "analysis/view-format.h"
#include "analysis/view-sink.h"
#include "ctf/ctf.h"

struct json_object;

enum view_show_kind {
	VIEW_SHOW_NULL,
	VIEW_SHOW_BOOL,
	VIEW_SHOW_INTEGER,
	VIEW_SHOW_INT128, /* two halves */
	VIEW_SHOW_FLOAT,
	VIEW_SHOW_FLOAT128, /* its bytes */
	VIEW_SHOW_STRING,
	VIEW_SHOW_STRUCT,
	VIEW_SHOW_LIST,
	VIEW_SHOW_ENUM,
	VIEW_SHOW_BITMAP,
	VIEW_SHOW_OPTIONAL,
	VIEW_SHOW_VARIANT,
	VIEW_SHOW_DYNAMIC,
};

struct view_label {
	const char *text;
	uint64_t begin; /* signed as two's complement in enumerations */
	uint64_t end;
};

struct view_show {
	enum view_show_kind kind;
	bool wrapped; /* the value is the second member of a structure, the first one is hidden */
	uint8_t base;
	bool big_endian;          /* VIEW_SHOW_FLOAT128 */
	bool single;              /* VIEW_SHOW_FLOAT: 32 bits */
	bool plain;               /* neither wrapped nor with attributes, and no address */
	bool is_pointer;          /* VIEW_SHOW_INTEGER: an address, of code or data */
	bool unreadable;          /* VIEW_SHOW_OPTIONAL: an absent value could not be read */
	uint8_t address;          /* enum address_kind of an integer */
	const char *name;         /* name of a member */
	unsigned int copy;        /* number of earlier members with this name, plus one */
	struct view_word prefix;  /* the bytes before a member: separator and name */
	struct view_show **parts; /* one for each member or option; NULL: not shown */
	uint32_t part_count;
	struct view_show *element; /* of lists, enumerations, bitmaps */
	struct view_label *labels;
	uint32_t label_count;
	struct view_word attributes; /* attributes as they are shown; empty: none, or not wanted */
};

/* How one event is shown. */
struct view_event {
	struct json_object *description; /* NULL: the event is shown as plain CTF */
	const char *loglevel;            /* name in SIDE, or NULL */
	struct view_show *fields;        /* a structure, without the variadic part */
	uint8_t ip;                      /* enum address_kind of the context `ip` */
	bool variadic;
	uint32_t variadic_index; /* index of its member */
	/* index of a text that is a format for the variadic part; UINT32_MAX: none */
	uint32_t format_index;
	struct view_word attributes; /* attributes as they are shown; empty: none, or not wanted */
	struct ctf_arena *arena;
};

/*
 * Combines both for this type of sink. NULL: out of memory. For an event without a description, or
 * with one that does not fit its fields, `fields` is NULL.
 */
struct view_event *view_event_create(
		const struct ctf_event_class *event, const struct view_sink *sink);
void view_event_free(struct view_event *event);

/* Walks a value as its description says. `related` is the hidden field before it, or NULL. */
void view_side_value(struct view_sink *sink, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *related);

/* Walks the fields of an event without its variadic part. */
void view_side_fields(struct view_sink *sink, const struct view_event *event,
		const struct ctf_value *fields);
/* The same without the format. False: there are no other fields, and nothing is written. */
bool view_side_other_fields(struct view_sink *sink, const struct view_event *event,
		const struct ctf_value *fields);

/*
 * Whether an enumeration or bitmap shows this label for the value. Of a wrapped value, it is the
 * inner one.
 */
bool view_label_matches(const struct view_show *show, const struct ctf_value *value,
		const struct view_label *label);

/* Whether a member of plain CTF only describes the next member, and is not shown. */
bool view_is_tag(const struct ctf_type *structure, uint32_t index);

/* Walks a list of nodes (docs/spec/recording.md, section 7). */
void view_dynamic_value(struct view_sink *sink, const struct ctf_value *nodes);

/*
 * The members of a list of nodes as arguments of a format. UINT32_MAX: they are too many, or one is
 * no number and no text.
 */
uint32_t view_dynamic_arguments(const struct ctf_value *nodes,
		struct view_format_argument arguments[VIEW_FORMAT_ARGUMENTS_MAX]);

/* Walks a value of another tracer, as its field class says. */
void view_plain_value(struct view_sink *sink, const struct ctf_value *value);
/* The same for a member with this name, which can be an address. */
void view_plain_member(struct view_sink *sink, const struct ctf_value *value, const char *name);

/*
 * Whether a member of plain CTF with this name is an address: a context such as `ip`, or a number of
 * 64 bits whose class is hexadecimal. The kind of a pointer to data is ADDRESS_NONE.
 */
bool view_plain_is_address(const struct view_sink *sink, const struct ctf_value *value,
		const char *name, enum address_kind *ret_kind);
/* Whether a member of plain CTF with this name is a list of return addresses. */
bool view_plain_is_backtrace(const struct ctf_value *value, const char *name);
/* Writes "function+0x12 (file:line)" or another form of the symbol, or "0x7f…", without quotes. */
void view_address_text(const struct view_sink *sink, struct view_out *out, uint64_t number,
		enum address_kind kind);

/* Walks attributes as the description has them: [{"key", "type", "value"}]. */
void view_static_attributes(struct view_sink *sink, struct json_object *attributes);

#endif /* SIDE_ANALYSIS_VIEW_SHOW_H */
