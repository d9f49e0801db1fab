/* SPDX-License-Identifier: MIT */
/* What the files of --diff share: diff.c (events), diff-types.c (types), names.c (lists of names). */
#ifndef PROGRAMS_READSIDE_DIFF_H
#define PROGRAMS_READSIDE_DIFF_H

#include "readside.h"

enum verdict {
	VERDICT_SAME,
	VERDICT_COMPATIBLE,   /* who reads the old one reads the new one, too */
	VERDICT_INCOMPATIBLE, /* something that was there is gone, or means something else */
};

struct diff {
	FILE *out;
	bool json;
	const char *event;    /* "provider:event" */
	enum verdict verdict; /* of the event, the worst so far */
	unsigned int nr_reported;
	uint64_t work; /* that was spent on the event */
};

/* Tell of a change of the event. @place: "items[].name", or "" for the event itself. */
void diff_report(struct diff *diff, enum verdict verdict, const char *location, const char *format,
		...) __attribute__((format(printf, 4, 5)));

/* Two lists of fields, of an event or a structure; @place is what holds them, "" for an event. */
void diff_fields(struct diff *diff, const char *location, const struct side_event_field *before,
		uint32_t nr_before, const struct side_event_field *after, uint32_t nr_after);

void diff_attributes(struct diff *diff, const char *location, struct visit_attributes before,
		struct visit_attributes after);

/* ---- lists of names ---- */

/* Sorted by text; those with the same text in the order in which they stood. */
struct diff_name {
	char *text;
	size_t size;
	uint32_t index;
	uint32_t nr_paired; /* in the first of its text: how many of them are paired */
};

struct diff_names {
	struct diff_name *names;
	uint32_t nr;
};

/* Takes over @text (which may be NULL: then it is empty). False: no memory. */
bool names_start(struct diff_names *names, uint32_t nr);
void names_add(struct diff_names *names, char *text, size_t size);
void names_sort(struct diff_names *names);
/* The first of that text, or NULL. */
const struct diff_name *names_find(const struct diff_names *names, const char *text, size_t size);
/* The first of that text that was not paired yet, which is paired then, or NULL. */
const struct diff_name *names_pair(struct diff_names *names, const char *text, size_t size);
/* Pair all of them anew. */
void names_unpair(struct diff_names *names);
void names_free(struct diff_names *names);

#endif /* PROGRAMS_READSIDE_DIFF_H */
