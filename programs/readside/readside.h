/* SPDX-License-Identifier: MIT */
/*
 * readside: reads the events of ELF files without running them.
 *
 *       main.c      options and modes
 *       walk.c      directories, links, needed libraries: finds the files
 *       source.c    finds the events in a file or archive
 *       form.h      listings, in the formats of form-*.c
 *       check*.c    --check: descriptions
 *       calls*.c    --check: calls of events in code
 *       diff*.c     --diff
 */
#ifndef PROGRAMS_READSIDE_READSIDE_H
#define PROGRAMS_READSIDE_READSIDE_H

#include "elf/addresses.h"
#include "elf/events.h"
#include "abi/visit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pattern;

/* Exit status. */
enum {
	READSIDE_DONE = 0,
	READSIDE_FOUND =
			/*
			 * problems, an incompatible change; when listing: a file could not be read
			 */
	1,
	READSIDE_TROUBLE = 2, /* a wrong command line; a file that cannot be checked or compared */
};

/* The version in each line for programs. */
#define READSIDE_JSON_SCHEMA 1

/* ---- messages, on standard error ---- */

void message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Print an error, and "hint: ..." on a line of its own unless `hint` is NULL. */
void message_error_hint(const char *hint, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
void put_hint(FILE *out, const char *hint);
void message_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
void output_set_verbose(bool verbose);
/*
 * Report that the output is incomplete because memory is out. Prints the message once; the exit
 * status is then READSIDE_TROUBLE.
 */
void message_out_of_memory(void);
bool output_is_out_of_memory(void);

/* Print text with control characters made visible. */
void put_printable(FILE *out, const char *text, size_t size);
/* Print the end of a line: the problem of a field, or of none in particular (""). */
void put_at_field(FILE *out, const char *field, const char *text);
/* Print a JSON string with its quotes. */
void put_json_string(FILE *out, const char *text, size_t size);
void put_json_text(FILE *out, const char *text);

/* ---- selecting events ---- */

/* Options apply to the files after them, so each file has its own. */
struct file_options {
	const struct pattern *patterns; /* of provider:event */
	size_t nr_patterns;
	const char *const *providers; /* globs; if there are any, one of them must match */
	size_t nr_providers;
};

bool choice_wants(const struct file_options *choice, const char *provider, const char *event,
		unsigned int level);

/* ---- the events of a file ---- */

struct readside_event {
	const char *path; /* of the file, or "lib.a(member.o)" */
	uint64_t address;
	struct visit_owned *owned;
	const struct side_event_description *description;
	struct image_state state;
	uint32_t struct_size; /* as the file claims */
	unsigned int pointer_size;
};

enum broken_kind {
	BROKEN_EVENT,   /* one event */
	BROKEN_FILE,    /* a file, a member of an archive, or its remainder */
	BROKEN_FOREIGN, /* not an ELF file */
};

/* An event or file that cannot be read, and why. */
struct broken {
	const char *path;
	enum broken_kind kind;
	/* The event's name, "" if it cannot be read. */
	const char *provider, *event;
	unsigned int level;
	const char *sentence;
	const char *hint; /* or NULL */
};

struct source_ops {
	/*
	 * Takes ownership of event->owned, but not of event->path. A return value other than 0
	 * stops reading.
	 */
	int (*event)(void *priv, struct readside_event *event);
	void (*broken)(void *priv, const struct broken *broken);
	/* Called before and after the events of the image. Both may be NULL. */
	int (*image)(void *priv, struct image *image, const char *path);
	void (*image_end)(void *priv, struct image *image, const char *path);
	void *priv;
};

/*
 * Read a file. Nothing in it is trusted: time and memory have limits that real files do not reach.
 * Parts beyond the limits are reported as broken.
 */
int source_read(const char *path, const struct source_ops *ops);

/* ---- finding files ---- */

struct readside_walk_options {
	bool all;       /* include names that begin with a dot */
	bool dynamic;   /* include the libraries that a file needs */
	bool links;     /* follow symbolic links in directories */
	bool recursive; /* enter subdirectories */
	unsigned int max_depth;
	const char *match;  /* glob of names; NULL: all */
	const char *ignore; /* glob of names; NULL: none */
};

struct readside_walk {
	const struct readside_walk_options *options;
	struct source_ops ops;
	/* files that were read: each is read once, even if it has several names */
	struct addresses visited;
	struct library_search *search;
	bool named; /* the user named the current file; false: found in a directory */
};

/*
 * Read a path of the command line: a file or a directory. Returns 0, or the result of a function of
 * ops.
 */
int walk_path(struct readside_walk *walk, const char *path);
/* Allow files to be read again, for the next path of the command line. */
void walk_forget(struct readside_walk *walk);
void walk_free(struct readside_walk *walk);

/* ---- parts of descriptions ---- */

/*
 * Format the location of a type: "items[].name", NUL-terminated, truncated to `size`. Returns
 * `text`.
 */
char *location_text(const struct visit_node *node, char *text, size_t size);

/* ---- modes ---- */

enum form_kind { FORM_JSON, FORM_TEXT, FORM_SEXPR, FORM_EXACT };

/* A listing under construction. */
struct readside_listing;

struct readside_listing *listing_open(FILE *out, enum form_kind kind);
void listing_event(struct readside_listing *listing, const struct readside_event *event);
/* Write the end of the listing and free it. `out` stays open. */
void listing_close(struct readside_listing *listing);

/* Write one event as a line, in the lossless format of `side list --json`. */
int exact_event(FILE *out, const struct readside_event *event);

struct check;

struct check *check_open(FILE *out, bool json, bool strict);
void check_event(struct check *check, const struct readside_event *event);
void check_broken(struct check *check, const struct broken *broken);
/* Check the calls of these events in the code of the file. */
void check_calls(struct check *check, struct image *image, const char *path,
		const struct readside_event *events, size_t nr);
/* Start the process that finds source lines; it must start before this process is confined. */
void check_calls_prepare(void);
void check_calls_finish(void);
/* Print the summary, free `check` and return the exit status. */
int check_close(struct check *check);

struct diff_side {
	struct readside_event *events;
	size_t nr, capacity;
};

int diff_add(struct diff_side *side, struct readside_event *event);
/* Compare, print the changes, and return the exit status. */
int diff_show(FILE *out, bool json, struct diff_side *before, struct diff_side *after);
void diff_free(struct diff_side *side);

#endif /* PROGRAMS_READSIDE_READSIDE_H */
