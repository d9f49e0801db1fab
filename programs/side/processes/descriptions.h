/* SPDX-License-Identifier: MIT */
/*
 * What `side list` found: event descriptions with the place where they stand, whoever found them
 * (files, a process, a command), and the forms in which they are printed.
 */
#ifndef PROGRAMS_SIDE_PROCESSES_DESCRIPTIONS_H
#define PROGRAMS_SIDE_PROCESSES_DESCRIPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "abi/visit.h"

struct addresses;
struct image;
struct pattern;
struct side_event_description;

/* Who listens to an event, in a running process. */
struct listing_state {
	bool known;
	uint32_t tracers; /* callbacks registered by libraries in the process */
	bool kernel;      /* user_events */
	bool debugger;
	bool enabled; /* the enabled word is not zero */
};

/* Where an event was found. */
enum listing_origin {
	LISTING_UNKNOWN,  /* a command told of it */
	LISTING_SECTION,  /* the tables of a file */
	LISTING_REGISTRY, /* what a process has registered, and is in no table */
};

struct listing_event {
	const struct side_event_description *description;
	struct visit_owned *owned; /* of description; NULL: it belongs to someone else */
	size_t source;             /* index in sources */
	size_t order;              /* in which it was found */
	enum listing_origin origin;
	struct listing_state state;
};

/* A file, on disk or in a process, or what a process has registered. */
struct listing_source {
	char *path;
	pid_t pid; /* of several processes, the one that it is in; 0: not known */
};

struct listing {
	const struct pattern *patterns;
	size_t nr_patterns;
	struct listing_source *sources;
	size_t nr_sources;
	pid_t pid; /* of sources that are added from now on; 0: files */
	struct listing_event *events;
	size_t nr_events, events_capacity;
	size_t nr_seen; /* events seen, before patterns are applied */
	char **others;  /* provider:event of events that no pattern selects, up to a limit */
	size_t nr_others;
	uint64_t bytes;     /* encoded, as a measure of memory */
	size_t nr_failures; /* events and tables that could not be read; each was reported */
	bool is_silent;     /* do not report failures */
};

/* What the next events belong to. 0 or -ENOMEM. */
int listing_source(struct listing *listing, const char *path);

/* Take an event if the patterns want it. Takes over @owned (which may be NULL) in any case. */
int listing_add(struct listing *listing, const struct side_event_description *description,
		struct visit_owned *owned, enum listing_origin origin,
		const struct listing_state *state);

/* ---- descriptions in memory that is not ours ---- */

struct listing_memory {
	struct visit_memory memory;
	unsigned int pointer_size; /* 4 or 8 */
	bool live;                 /* of a running process: with states */
	struct addresses *seen;    /* descriptions that have been taken; NULL: do not ask */
};

/* An unsigned number of 1 to 8 bytes, and a pointer, as they stand there. */
uint64_t listing_decode(
		const struct listing_memory *from, const unsigned char *bytes, unsigned int size);
uint64_t listing_pointer(const struct listing_memory *from, const unsigned char *bytes);

/*
 * A description that was read but is not listed yet: in a process that goes on, it must first be
 * found out whether it was there all the time.
 */
struct listing_found {
	uint64_t address;
	struct visit_owned *owned; /* NULL: it cannot be read, because of error */
	struct visit_error error;
	struct listing_state state;
	uint64_t bytes;
};

/* 0 or -ENOMEM. */
int listing_read(const struct listing_memory *from, uint64_t address, struct listing_found *found);
/* List it, or say why it cannot be. Takes over what was found. 0 or -ENOMEM, -E2BIG. */
int listing_take(struct listing *listing, const struct listing_memory *from,
		struct listing_found *found, enum listing_origin origin);

/* Say that something of the newest source cannot be read. 0, or -E2BIG when there is too much of it. */
int listing_fail(struct listing *listing, const char *what, const char *why);

/*
 * Read the descriptions that all tables of @image point to, which stand @bias higher. Says what could
 * not be read. 0 or -ENOMEM, -E2BIG.
 */
int listing_add_tables(struct listing *listing, const struct image *image,
		const struct listing_memory *from, uint64_t bias);

#define LISTING_OTHERS_MAX 4096

enum listing_form { LISTING_TEXT, LISTING_NAMES, LISTING_JSON };

void listing_sort(struct listing *listing);
int listing_print(const struct listing *listing, FILE *out, enum listing_form form, bool color);
void listing_free(struct listing *listing);

#endif /* PROGRAMS_SIDE_PROCESSES_DESCRIPTIONS_H */
