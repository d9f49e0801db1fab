/* SPDX-License-Identifier: MIT */
/*
 * What the program says about itself: errors, notes, details, on standard error, as sentences or as
 * JSON. Data is printed by the verbs.
 */
#ifndef PROGRAMS_COMMON_MESSAGE_H
#define PROGRAMS_COMMON_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/format.h"
#include "command.h"

struct error;

/* The version of what --json prints; every line has it. */
#define OUTPUT_JSON_SCHEMA 1

void output_start(const struct common_options *common, const char *verb);

/* Whether colours may be used on that stream, by --color, NO_COLOR, TERM and where it leads. */
bool output_has_color(FILE *stream, int mode);

/* "side:", as it stands before a message, for lines that a verb prints itself on standard error. */
const char *message_label(bool severe);
/* "hint:" in the same way. */
const char *message_hint_label(void);

/* From now on standard output is a pipe to a pager, which is shown on a terminal. */
void output_set_paged(void);
bool output_is_json(void);
bool output_is_silent(void);

/*
 * "side: PROBLEM: REASON", and below it a line "hint: ..." for each line of @hint, which may be NULL or "". Returns
 * @status, so that a verb can `return say_error(...)`.
 */
int message_error(enum command_status status, const char *hint, const char *format, ...)
		__attribute__((format(printf, 3, 4)));

/*
 * The same about a location in a text that the user wrote (column from 1, in bytes): the text follows the
 * message, with a mark below that column.
 */
int message_error_at(enum command_status status, const char *hint, const char *text,
		unsigned int column, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Prints an error of a library, with its hint and its position. Returns the exit status for its kind. */
int message_library_error(const struct error *error);

/* Something that the user should know, though nothing failed. Not with --quiet. */
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message_note_hint(const char *hint, const char *format, ...)
		__attribute__((format(printf, 2, 3)));

/* Only with --verbose. */
void message_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The member "hint", and the deprecated key "mend" with the same value, which the next release does not print. */
void print_json_hint(FILE *out, const char *hint);

/* Reports that running_find() failed with this negative errno. Returns the status of the command. */
int print_search_error(int ret);

/* 0, or a failure said: what was printed has not all arrived (disk full, closed pipe). */
int output_flush(FILE *out);

#endif /* SIDE_CMD_SAY_H */
