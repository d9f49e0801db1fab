/* SPDX-License-Identifier: MIT */
/* What the two files of --check share: check.c (events, results), check-types.c (types). */
#ifndef SIDE_CMD_READSIDE_CHECK_H
#define SIDE_CMD_READSIDE_CHECK_H

#include "readside.h"

enum severity {
	SEVERITY_WARNING, /* works, but hardly as it was meant */
	SEVERITY_ERROR,   /* cannot be recorded, or not be read afterwards */
};

struct check {
	FILE *out;
	bool json;
	bool strict; /* warnings count, too */
	size_t nr_events, nr_errors, nr_warnings;
	bool trouble; /* a file could not be read */
	const struct event *event;
	unsigned int nr_said; /* of its problems */
	/* Names of the events of one file, to find those that have the same. */
	char *path;
	char **names;
	size_t nr_names, names_room;
};

/* Tell of a problem of the event that is being checked. @node: where; NULL: the event itself. */
void check_say(struct check *check, enum severity severity, const struct visit_node *node,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same of a call of an event, in code. @field: "" for none. */
void check_say_call(struct check *check, const struct event *event, const char *field,
		const char *text);

/* All types of the event. */
void check_types(struct check *check);

/* Attributes of the event, or of a type. */
void check_attributes(struct check *check, struct visit_attributes attributes,
		const struct visit_node *node);

/* The fields of an event or structure: their names. False: there are too many to go on. */
bool check_fields(struct check *check, const struct side_event_field *fields, uint32_t nr,
		const struct visit_node *node);

#endif /* SIDE_CMD_READSIDE_CHECK_H */
