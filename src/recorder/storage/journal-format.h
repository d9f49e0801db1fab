/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_JOURNAL_FORMAT_H
#define SIDE_RECORDER_STORAGE_JOURNAL_FORMAT_H

/*
 * The layout of a journal.
 *
 * Callers: journal.c, which writes and adopts it, and journal-scan.c, which only reads it. Called
 * by the thread that owns the instance. No lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/core/session.h"

struct instance;

#define JOURNAL_MAGIC UINT64_C(0x4c4e4f4a45444953)
#define JOURNAL_VERSION 1
#define HEAD_BYTES 4096
#define PATH_BYTES 1024
#define SESSION_STREAM "side_session"
#define MAPS_FILE ".maps"
#define LIMIT_MAPS ((size_t)8 << 20)
#define LOSSES_MAGIC UINT64_C(0x444c4f5445444953)
#define LIMIT_LOSSES_FILE ((size_t)4 << 20)

struct journal_head {
	uint64_t magic;
	uint32_t version;
	uint32_t rings; /* of all channels */
	uint32_t done;  /* everything is in the trace */
	uint32_t life;  /* number of recorders until now */
	uint32_t serial;
	uint32_t reserved;
	char traces[2][PATH_BYTES]; /* paths; the current trace is that of `serial` */
};
_Static_assert(sizeof(struct journal_head) <= HEAD_BYTES, "journal_head");

struct journal_slot {
	uint64_t position; /* in the ring: all records before it are written */
	uint64_t size;     /* of the stream's file at that position */
	uint64_t end_timestamp;
	uint64_t discarded; /* loss counter in its last packet */
	uint64_t unwritten; /* bytes */
	uint32_t serial;    /* of the trace that contains the file; 0: there was none */
	uint32_t reserved;
	/* of two slots with the same position, the larger count is the later slot */
	uint64_t count;
	uint64_t recorded; /* records of the ring in the files of all traces */
};
_Static_assert(sizeof(struct journal_slot) == 64, "a slot lies in one page");

/* The open journal of an instance. */
struct journal {
	int fd;
	uint32_t serial, life;
	uint64_t count; /* notes written */
	uint32_t rings;
	uint32_t first[SESSION_CHANNELS_MAX]; /* index of the first ring of each channel */
	unsigned char *which;                 /* index of the valid slot of each ring */
};

/* The file "told": this head, and an array of struct reported_loss. */
struct losses_file_head {
	uint64_t magic;
	uint32_t serial; /* of the last trace that contains these losses */
	uint32_t size;   /* bytes after the head */
};

/*
 * Allocates a journal for the rings of all channels, whose geometry must be known; does not open
 * it. NULL: out of memory.
 */
struct journal *journal_allocate(const struct instance *instance);
/* Returns 0, or a negative errno if the file is not a journal of this instance. */
int journal_read_head(const struct journal *journal, struct journal_head *head);
/* Finds the slot for the ring's position. Returns false if there is none. */
bool journal_find_slot(struct journal *journal, uint32_t index, uint64_t position,
		struct journal_slot *slot, unsigned char *ret_which);

#endif
