/* SPDX-License-Identifier: MIT */
/*
 * readside: the events of ELF files, without running them.
 *
 *	main.c		options, which mode
 *	walk.c		folders, links, needed libraries: which files
 *	source.c	a file or archive: which events
 *	form.h		listings, in the forms of form-*.c
 *	check*.c	--check: descriptions
 *	calls*.c	--check: calls of events in code
 *	diff*.c		--diff
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
			1, /* problems, an incompatible change; when listing: not all could be read */
	READSIDE_TROUBLE = 2, /* the command line; a file that cannot be checked or compared */
};

/* Of each line that programs read. */
#define READSIDE_JSON_SCHEMA 1

/* ---- messages, on standard error ---- */

void message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Also prints "hint: ..." on a line of its own, unless @hint is NULL. */
void message_error_hint(const char *hint, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
void put_hint(FILE *out, const char *hint);
void message_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
void output_set_verbose(bool verbose);
/* Report that the output is incomplete for lack of memory. The exit status is that of trouble. The message is printed once. */
void message_out_of_memory(void);
bool output_is_out_of_memory(void);

/* Text with control characters made visible. */
void put_printable(FILE *out, const char *text, size_t size);
/* What is wrong with a field of that name, or with no field in particular (""): the end of a line. */
void put_at_field(FILE *out, const char *field, const char *text);
/* A JSON string with its quotes. */
void put_json_string(FILE *out, const char *text, size_t size);
void put_json_text(FILE *out, const char *text);

/* ---- which events ---- */

/* Options hold for the files after them, so each file has its own. */
struct file_options {
	const struct pattern *patterns; /* of provider:event */
	size_t nr_patterns;
	const char *const *providers; /* globs; one of them must match, if there are any */
	size_t nr_providers;
};

bool choice_wants(const struct file_options *choice, const char *provider, const char *event,
		unsigned int level);

/* ---- the events of a file ---- */

struct readside_event {
	const char *path; /* of the file; "lib.a(member.o)" */
	uint64_t address;
	struct visit_owned *owned;
	const struct side_event_description *description;
	struct image_state state;
	uint32_t struct_size; /* that the file says */
	unsigned int pointer_size;
};

enum broken_kind {
	BROKEN_EVENT,   /* one event */
	BROKEN_FILE,    /* a file, or a member of an archive, or the rest of it */
	BROKEN_FOREIGN, /* it is something else than an ELF file */
};

/* What cannot be read, and why. */
struct broken {
	const char *path;
	enum broken_kind kind;
	/* Of an event, if they can be read: else "". */
	const char *provider, *event;
	unsigned int level;
	const char *sentence;
	const char *hint; /* or NULL */
};

struct source_ops {
	/* Takes over event->owned, but not event->path. What is not 0 ends the reading. */
	int (*event)(void *priv, struct readside_event *event);
	void (*broken)(void *priv, const struct broken *broken);
	/* Both may be NULL: before the events of the image, and behind them. */
	int (*image)(void *priv, struct image *image, const char *path);
	void (*image_end)(void *priv, struct image *image, const char *path);
	void *priv;
};

/*
 * Read a file. Nothing in it is trusted: time and memory stay in proportion to what real files have, and
 * what is more than that is told as broken.
 */
int source_read(const char *path, const struct source_ops *ops);

/* ---- which files ---- */

struct readside_walk_options {
	bool all;       /* names that begin with a dot, too */
	bool dynamic;   /* libraries that a file needs, too */
	bool links;     /* follow symbolic links in folders */
	bool recursive; /* enter folders in folders */
	unsigned int max_depth;
	const char *match;  /* glob of names; NULL: all */
	const char *ignore; /* glob of names; NULL: none */
};

struct readside_walk {
	const struct readside_walk_options *options;
	struct source_ops ops;
	struct addresses visited; /* files that were read, each once, under whatever name */
	struct library_search *search;
	bool named; /* what is being read was named by the user, not found in a folder */
};

/* What the command line names: a file, or a folder. 0, or what a function of ops returned. */
int walk_path(struct readside_walk *walk, const char *path);
/* For the next path of the command line, files may come again. */
void walk_forget(struct readside_walk *walk);
void walk_free(struct readside_walk *walk);

/* ---- parts of descriptions ---- */

/* "items[].name" for a type, NUL-terminated and cut to @size. Returns @text. */
char *location_text(const struct visit_node *node, char *text, size_t size);

/* ---- modes ---- */

enum form_kind { FORM_JSON, FORM_TEXT, FORM_SEXPR, FORM_EXACT };

/* A listing that is being written. */
struct readside_listing;

struct readside_listing *listing_open(FILE *out, enum form_kind kind);
void listing_event(struct readside_listing *listing, const struct readside_event *event);
/* What belongs behind the events; frees it. @out stays open. */
void listing_close(struct readside_listing *listing);

/* One event, as a line, in the form that loses nothing: that of `side list --json`. */
int exact_event(FILE *out, const struct readside_event *event);

struct check;

struct check *check_open(FILE *out, bool json, bool strict);
void check_event(struct check *check, const struct readside_event *event);
void check_broken(struct check *check, const struct broken *broken);
/* The code of a file that has these events: do its calls of them fit? */
void check_calls(struct check *check, struct image *image, const char *path,
		const struct readside_event *events, size_t nr);
/* Start the process that names locations in files; it must start before this one is confined. */
void check_calls_prepare(void);
void check_calls_finish(void);
/* Says what was found, frees it and returns the exit status. */
int check_close(struct check *check);

struct diff_side {
	struct readside_event *events;
	size_t nr, capacity;
};

int diff_add(struct diff_side *side, struct readside_event *event);
/* Compares, says what has changed, returns the exit status. */
int diff_show(FILE *out, bool json, struct diff_side *before, struct diff_side *after);
void diff_free(struct diff_side *side);

#endif /* PROGRAMS_READSIDE_READSIDE_H */
