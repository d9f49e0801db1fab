/* SPDX-License-Identifier: MIT */
/*
 * The result of `side list`: event descriptions and their sources (files, a process, a command),
 * and the formats in which they are printed.
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

/* The listeners of an event in a running process. */
struct listing_state {
	bool known;
	uint32_t tracers; /* callbacks registered by libraries in the process */
	bool kernel;      /* user_events */
	bool debugger;
	bool enabled; /* the enabled word is not zero */
};

/* The kind of source. */
enum listing_origin {
	LISTING_UNKNOWN,  /* a command reported it */
	LISTING_SECTION,  /* the event tables of a file */
	LISTING_REGISTRY, /* the registry of a process; in no event table */
};

struct listing_event {
	const struct side_event_description *description;
	/* Owns `description`; NULL: the caller of listing_add() owns it. */
	struct visit_owned *owned;
	size_t source; /* index in listing.sources */
	size_t order;  /* of discovery; keeps the sort stable */
	enum listing_origin origin;
	struct listing_state state;
};

/* A file, on disk or in a process, or the registry of a process. */
struct listing_source {
	char *path;
	pid_t pid; /* the process of the file, if several are listed; 0: unknown */
};

struct listing {
	const struct pattern *patterns;
	size_t nr_patterns;
	struct listing_source *sources;
	size_t nr_sources;
	pid_t pid; /* of the sources that follow; 0: files */
	struct listing_event *events;
	size_t nr_events, events_capacity;
	size_t nr_seen; /* number of events before patterns are applied */
	char **others;  /* provider:event of events that no pattern selects, up to a limit */
	size_t nr_others;
	uint64_t bytes;     /* of encoded descriptions, to bound memory */
	size_t nr_failures; /* events and tables that could not be read; each was reported */
	bool is_silent;     /* do not report failures */
};

/* Adds a source for the events that follow. Returns 0 or -ENOMEM. */
int listing_source(struct listing *listing, const char *path);

/*
 * Adds an event if the patterns select it. Takes ownership of `owned`, which may be NULL, even
 * after a failure. Returns 0 or -ENOMEM.
 */
int listing_add(struct listing *listing, const struct side_event_description *description,
		struct visit_owned *owned, enum listing_origin origin,
		const struct listing_state *state);

/* ---- descriptions in the memory of files and processes ---- */

struct listing_memory {
	struct visit_memory memory;
	unsigned int pointer_size; /* 4 or 8 */
	bool live;                 /* of a running process: its events have states */
	struct addresses *seen;    /* addresses of descriptions that were added; NULL: no check */
};

/* Decode an unsigned number of 1 to 8 bytes, and a pointer, in the byte order of that memory. */
uint64_t listing_decode(
		const struct listing_memory *from, const unsigned char *bytes, unsigned int size);
uint64_t listing_pointer(const struct listing_memory *from, const unsigned char *bytes);

/*
 * A description that was read but not added yet. The reader of a running process must first check
 * that it existed during the whole read.
 */
struct listing_found {
	uint64_t address;
	struct visit_owned *owned; /* NULL: unreadable, for the reason in `error` */
	struct visit_error error;
	struct listing_state state;
	uint64_t bytes;
};

/* Reads a description. An unreadable one is no failure. Returns 0 or -ENOMEM. */
int listing_read(const struct listing_memory *from, uint64_t address,
		struct listing_found *ret_found);
/*
 * Adds the description, or reports why it is unreadable. Takes ownership of found->owned. Returns
 * 0, -ENOMEM or -E2BIG.
 */
int listing_add_found(struct listing *listing, const struct listing_memory *from,
		struct listing_found *found, enum listing_origin origin);

/*
 * Reports a part of the last source that cannot be read. Returns 0, or -E2BIG after too many
 * failures.
 */
int listing_fail(struct listing *listing, const char *what, const char *why);

/*
 * Adds the descriptions of all event tables of the image, which is loaded `bias` bytes above its
 * linked addresses. Reports those that cannot be read. Returns 0, -ENOMEM or -E2BIG.
 */
int listing_add_tables(struct listing *listing, const struct image *image,
		const struct listing_memory *from, uint64_t bias);

#define LISTING_OTHERS_MAX 4096

enum listing_form { LISTING_TEXT, LISTING_NAMES, LISTING_JSON };

void listing_sort(struct listing *listing);
int listing_print(const struct listing *listing, FILE *out, enum listing_form form, bool color);
void listing_free(struct listing *listing);

#endif /* PROGRAMS_SIDE_PROCESSES_DESCRIPTIONS_H */
