/* SPDX-License-Identifier: MIT */
/*
 * What `side list` found: event descriptions with the place where they stand, whoever found them
 * (files, a process, a command), and the forms in which they are printed.
 */
#ifndef SIDE_CMD_LISTING_H
#define SIDE_CMD_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct image;
struct pattern;
struct side_event_description;
struct visit_memory;
struct visit_owned;

/* Who listens to an event, in a running process. */
struct listing_state {
	bool known;
	uint32_t tracers; /* callbacks registered by libraries in the process */
	bool kernel;      /* user_events */
	bool debugger;
	bool enabled; /* the enabled word is not zero */
};

struct listing_event {
	const struct side_event_description *description;
	struct visit_owned *owned; /* of description; NULL: it belongs to someone else */
	size_t source;             /* index in sources */
	size_t order;              /* in which it was found */
	struct listing_state state;
};

struct listing {
	const struct pattern *patterns;
	size_t nr_patterns;
	char **sources;
	size_t nr_sources;
	struct listing_event *events;
	size_t nr_events, events_room;
	size_t nr_seen;     /* before patterns were applied */
	uint64_t bytes;     /* encoded, as a measure of memory */
	size_t nr_failures; /* events and tables that could not be read; each was said */
};

/* What the next events belong to. 0 or -ENOMEM. */
int listing_source(struct listing *listing, const char *path);

/* Take an event if the patterns want it. Takes over @owned (which may be NULL) in any case. */
int listing_add(struct listing *listing, const struct side_event_description *description,
		struct visit_owned *owned, const struct listing_state *state);

/*
 * Read the descriptions that all tables of @image point to, through @memory, which has them @bias
 * higher. @live: with their states. Says what could not be read. 0 or -ENOMEM, -E2BIG.
 */
int listing_add_tables(struct listing *listing, const struct image *image,
		const struct visit_memory *memory, uint64_t bias, bool live);

enum listing_form { LISTING_TEXT, LISTING_NAMES, LISTING_JSON };

void listing_sort(struct listing *listing);
int listing_print(const struct listing *listing, FILE *out, enum listing_form form, bool color);
void listing_free(struct listing *listing);

#endif /* SIDE_CMD_LISTING_H */
