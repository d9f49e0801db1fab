/* SPDX-License-Identifier: MIT */
/*
 * Messages of the program: errors, notes and details, on standard error, as text or as JSON. Verbs
 * print data themselves.
 */
#ifndef PROGRAMS_COMMON_MESSAGE_H
#define PROGRAMS_COMMON_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/format.h"
#include "command.h"

struct error;

/* The version of the --json output. Each line contains it. */
#define OUTPUT_JSON_SCHEMA 1

void output_start(const struct common_options *common, const char *verb);

/*
 * True if colours may be used on that stream, according to --color, NO_COLOR, TERM and the file
 * behind the stream.
 */
bool output_has_color(FILE *stream, int mode);

/* The prefix "side:" of messages, for lines that a verb prints on standard error itself. */
const char *message_label(bool severe);
/* The same for "hint:". */
const char *message_hint_label(void);

/*
 * Call it when standard output has become a pipe to a pager: the pager shows the output on a
 * terminal.
 */
void output_set_paged(void);
bool output_is_json(void);
bool output_is_silent(void);

/*
 * Prints "side: PROBLEM: REASON", and below it a line "hint: ..." for each line of `hint`, which
 * may be NULL or "". Returns `status`, so that a verb can `return message_error(...)`.
 */
int message_error(enum command_status status, const char *hint, const char *format, ...)
		__attribute__((format(printf, 3, 4)));

/*
 * The same for a position in a text that the user wrote (column from 1, in bytes). The text follows
 * the message, with a mark below that column.
 */
int message_error_at(enum command_status status, const char *hint, const char *text,
		unsigned int column, const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * Prints an error of a library, with its hint and its position. Returns the exit
 * status for its kind.
 */
int message_library_error(const struct error *error);
/* The same with another exit status, which it returns. */
int message_error_status(enum command_status status, const struct error *error);

/* Prints information that is not an error. Prints nothing with --quiet. */
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message_note_hint(const char *hint, const char *format, ...)
		__attribute__((format(printf, 2, 3)));

/* Prints with --verbose only. */
void message_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Prints the member "hint", and the deprecated key "mend" with the same value, which the next
 * release removes.
 */
void print_json_hint(FILE *out, const char *hint);

/*
 * Reports that running_find() failed with this negative errno. Returns the status
 * of the command.
 */
int message_search_error(int ret);

/*
 * Returns 0, or an exit status after a message: some of the output was not written (disk full,
 * closed pipe).
 */
int output_flush(FILE *out);

#endif /* PROGRAMS_COMMON_MESSAGE_H */
