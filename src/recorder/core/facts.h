/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_FACTS_H
#define SIDE_RECORDER_CORE_FACTS_H

/*
 * Facts in text files: each line has a keyword and its values. In values, non-printable bytes,
 * blanks and "%" are written as %XX.
 *
 * Callers: buffers, state directory, totals, journal and recovery. Any thread: the functions keep
 * no state, so no lock is needed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "ctf/ctf.h"
#include "ring/ring.h"

#define FACTS_LAST_LINE "end"

/* Write " VALUE" with escapes, or a whole line. */
void facts_put_value(FILE *file, const char *text);
void facts_put_line(FILE *file, const char *word, const char *value);
/* Decodes a value in place. Returns false if facts_put_value() cannot have written it. */
bool facts_unescape(char *text);
/*
 * Reads a regular file of at most `limit` bytes and appends a terminating zero. Follows no symbolic
 * link and never blocks, because another user may own the file.
 */
int facts_read_file(int folder, const char *name, size_t limit, char **ret_bytes, size_t *ret_size);
/*
 * Calls take_line() for each line between the first and the last line, which must both exist.
 * Returns false if they do not, or if take_line() returns false. facts_write_file() replaces a file
 * atomically: readers see a complete file or none.
 */
typedef bool facts_take_line(void *user, const char *word, char *value);
bool facts_parse(
		char *text, size_t size, const char *first, facts_take_line *take_line, void *user);
/* Frees the name: removes a file, and renames a directory that is not empty. */
void facts_clear_path(int folder, const char *name);
typedef void facts_write_lines(FILE *file, const void *user);
int facts_write_file(int folder, const char *name, const char *first,
		facts_write_lines *write_lines, const void *user);

/*
 * Write and read the conversion of a clock as four numbers: kind, frequency, offset in seconds,
 * offset in ticks.
 */
void facts_put_clock(FILE *file, enum ring_clock kind, const struct ctf_clock *clock);
bool facts_take_clock(const char *value, enum ring_clock *ret_kind, struct ctf_clock *ret_clock);

#endif
