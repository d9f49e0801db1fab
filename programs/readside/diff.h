/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the files of --diff: diff.c (events), diff-types.c (types), names.c (lists of
 * names).
 */
#ifndef PROGRAMS_READSIDE_DIFF_H
#define PROGRAMS_READSIDE_DIFF_H

#include "readside.h"

enum verdict {
	VERDICT_SAME,
	VERDICT_COMPATIBLE,   /* a reader of the old form can read the new one */
	VERDICT_INCOMPATIBLE, /* something was removed or has another meaning */
};

struct diff {
	FILE *out;
	bool json;
	const char *event;    /* "provider:event" */
	enum verdict verdict; /* of the event: the worst one so far */
	unsigned int nr_reported;
	uint64_t work; /* spent on this event */
};

/* Report a change of the event. `location` is "items[].name", or "" for the event itself. */
void diff_report(struct diff *diff, enum verdict verdict, const char *location, const char *format,
		...) __attribute__((format(printf, 4, 5)));

/*
 * Compare two lists of fields of an event or a structure. `location` is what contains them, "" for
 * an event.
 */
void diff_fields(struct diff *diff, const char *location, const struct side_event_field *before,
		uint32_t nr_before, const struct side_event_field *after, uint32_t nr_after);

void diff_attributes(struct diff *diff, const char *location, struct visit_attributes before,
		struct visit_attributes after);

/* ---- lists of names ---- */

/* Sorted by text, then by the original order. */
struct diff_name {
	char *text;
	size_t size;
	uint32_t index;
	uint32_t nr_paired; /* in the first entry with this text: the number of paired ones */
};

struct diff_names {
	struct diff_name *names;
	uint32_t nr;
};

/*
 * names_start() returns false if out of memory. names_add() takes ownership of `text`; NULL stands
 * for an empty text.
 */
bool names_start(struct diff_names *names, uint32_t nr);
void names_add(struct diff_names *names, char *text, size_t size);
void names_sort(struct diff_names *names);
/* Returns the first entry with this text, or NULL. */
const struct diff_name *names_find(const struct diff_names *names, const char *text, size_t size);
/* Returns the first unpaired entry with this text, now marked as paired, or NULL. */
const struct diff_name *names_pair(struct diff_names *names, const char *text, size_t size);
/* Mark all entries as unpaired. */
void names_unpair(struct diff_names *names);
void names_free(struct diff_names *names);

#endif /* PROGRAMS_READSIDE_DIFF_H */
