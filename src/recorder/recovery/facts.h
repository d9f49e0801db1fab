/* SPDX-License-Identifier: MIT */
#ifndef RECORDER_FACTS_H
#define RECORDER_FACTS_H

/*
 * Facts in text files: one a line, a word and its values. In values, bytes that are not printable,
 * blanks and "%" are written as %XX. And the content of the file "instance" of a folder of buffers.
 *
 * Callers: buffers, state directory, totals, journal and recovery. Any thread: they keep no state. No lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "ctf/ctf.h"
#include "recorder/core/channels.h"
#include "recorder/core/session.h"
#include "ring/ring.h"

struct instance;

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
void facts_make_way(int folder, const char *name);
typedef void facts_write_lines(FILE *file, const void *user);
int facts_write_file(int folder, const char *name, const char *first,
		facts_write_lines *write_lines, const void *user);

/* Clock figures as four numbers: kind, frequency, offset in seconds, and in ticks. */
void facts_put_clock(FILE *file, enum ring_clock kind, const struct ctf_clock *clock);
bool facts_take_clock(const char *value, enum ring_clock *kind, struct ctf_clock *clock);

#define FOUND_FILE "instance"
#define FOUND_FIRST_LINE "side-buffers 1"
#define FOUND_EVENTS "events"
#define FOUND_LIMIT (1u << 20)

struct found {
	char *procname, *exe, *trace;
	char hostname[65];
	uint32_t pid, parent, number;
	enum ring_clock clock_kind;
	struct ctf_clock clock;
	uint64_t begin;
	struct channel channels[SESSION_CHANNELS_MAX];
	uint32_t nr_channels;
	bool has_process, has_clock;

	bool by_agent; /* made by the process itself, before there was a recorder */

	/* In a place: */
	bool has_peer;
	char boot[40];
	pid_t peer;
	uint64_t start; /* session_process_start() */
	uint64_t token;
	uint32_t uid, gid, control, control_signal;
	bool takes_probes;
	uint32_t family; /* struct instance */
	uint64_t family_started;
};

/* 0 or a negative errno with a sentence; found_free() in any case. */
int found_read(int folder, struct found *found, struct ctf_error *error);
void found_free(struct found *found);
/* With channels of its own, which move into it. NULL: no memory. */
struct instance *found_instance(struct found *found);
void found_ring_file(const char *channel, char name[SESSION_CHANNEL_NAME_MAX + 16]);

#endif
