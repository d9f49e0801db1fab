/* SPDX-License-Identifier: MIT */
/*
 * How the values of one event are shown: the SIDE description (JSON in the metadata) laid over
 * the field classes that the reader found. Made once an event, walked for each record.
 */
#ifndef SIDE_ANALYSIS_VIEW_SHOW_H
#define SIDE_ANALYSIS_VIEW_SHOW_H

#include "analysis/address.h"
#include "analysis/view-sink.h"
#include "ctf/ctf.h"

struct json_object;

enum view_show_kind {
	VIEW_SHOW_NULL,
	VIEW_SHOW_BOOL,
	VIEW_SHOW_INTEGER,
	VIEW_SHOW_INT128, /* Two halves. */
	VIEW_SHOW_FLOAT,
	VIEW_SHOW_FLOAT128, /* Its bytes. */
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
	uint64_t begin; /* Signed as two's complement for enumerations. */
	uint64_t end;
};

struct view_show {
	enum view_show_kind kind;
	bool wrapped; /* The value is the second member of a structure, its companion the first. */
	uint8_t base;
	bool big_endian;          /* VIEW_SHOW_FLOAT128 */
	bool single;              /* VIEW_SHOW_FLOAT: 32 bits. */
	bool plain;               /* Neither wrapped nor attributed, and no address. */
	bool unreadable;          /* VIEW_SHOW_OPTIONAL: what is absent could not be read. */
	uint8_t address;          /* enum address_kind of an integer. */
	const char *name;         /* Of a member. */
	unsigned int copy;        /* How many members of this name stand before it, plus one. */
	struct view_word prefix;  /* What stands before a member: separator, name. */
	struct view_show **parts; /* By index of the member or option; NULL: not shown. */
	uint32_t part_count;
	struct view_show *element; /* Of lists, enumerations, bitmaps. */
	struct view_label *labels;
	uint32_t label_count;
	struct view_word attributes; /* As they are shown; empty: none, or not asked for. */
};

/* How one event is shown. */
struct view_event {
	struct json_object *description; /* NULL: the event is shown as plain CTF. */
	const char *loglevel;            /* Its name in SIDE, or NULL. */
	struct view_show *fields;        /* A structure, without the variadic part. */
	uint8_t ip;                      /* enum address_kind of the context `ip`. */
	bool variadic;
	uint32_t variadic_index;     /* The member that holds it. */
	struct view_word attributes; /* As they are shown; empty: none, or not asked for. */
	struct ctf_arena *arena;
};

/*
 * For this kind of sink. NULL only without memory. An event without a description, or with one that does not fit its
 * fields, becomes one with fields == NULL.
 */
struct view_event *view_event_create(
		const struct ctf_event_class *event, const struct view_sink *sink);
void view_event_free(struct view_event *event);

/* Walk a value as its description says; `related` is the hidden field before it or NULL. */
void view_side_value(struct view_sink *sink, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *related);

/* The fields of an event, without its variadic part. */
void view_side_fields(struct view_sink *sink, const struct view_event *event,
		const struct ctf_value *fields);

/*
 * Whether an enumeration or bitmap shows this label of its own for the value, which is the inner one
 * of a wrapped value.
 */
bool view_label_matches(const struct view_show *show, const struct ctf_value *value,
		const struct view_label *label);

/* Whether a member of plain CTF only serves the next one, and is not shown. */
bool view_is_tag(const struct ctf_type *structure, uint32_t index);

/* A list of nodes (section 7 of docs/spec/recording.md). */
void view_dynamic_value(struct view_sink *sink, const struct ctf_value *nodes);

/* A value of another producer, as its field class says. */
void view_plain_value(struct view_sink *sink, const struct ctf_value *value);

/* Attributes as the description has them: [{"key", "type", "value"}]. */
void view_static_attributes(struct view_sink *sink, struct json_object *attributes);

#endif /* SIDE_ANALYSIS_VIEW_SHOW_H */
