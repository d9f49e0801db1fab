/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_FACTS_H
#define SIDE_RECORDER_CORE_FACTS_H

/*
 * Facts in text files: one a line, a word and its values. In values, bytes that are not printable,
 * blanks and "%" are written as %XX.
 *
 * Callers: buffers, state directory, totals, journal and recovery. Any thread: the functions keep no state. No lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "ctf/ctf.h"
#include "ring/ring.h"

#define FACTS_LAST_LINE "end"

/* " VALUE", escaped; and a whole line. */
void facts_put_value(FILE *file, const char *text);
void facts_put_line(FILE *file, const char *word, const char *value);
/* In place. False: no text that facts_put_value() makes. */
bool facts_unescape(char *text);
/* A regular file of at most so many bytes, with a zero behind it; nothing is followed or waited for. */
int facts_read_file(int folder, const char *name, size_t limit, char **bytes, size_t *size);
/*
 * Each line between the first and the last, which must be there. False, too, when take_line() says so.
 * A file appears whole, under this name, or not at all.
 */
typedef bool facts_take_line(void *user, const char *word, char *value);
bool facts_parse(
		char *text, size_t size, const char *first, facts_take_line *take_line, void *user);
/* Whatever stands there gets out of the way: files go, directories with something in them are renamed. */
void facts_clear_path(int folder, const char *name);
typedef void facts_write_lines(FILE *file, const void *user);
int facts_write_file(int folder, const char *name, const char *first,
		facts_write_lines *write_lines, const void *user);

/* Clock figures as four numbers: kind, frequency, offset in seconds, and in ticks. */
void facts_put_clock(FILE *file, enum ring_clock kind, const struct ctf_clock *clock);
bool facts_take_clock(const char *value, enum ring_clock *kind, struct ctf_clock *clock);

#endif
