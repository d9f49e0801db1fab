/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_JOURNAL_FORMAT_H
#define SIDE_RECORDER_STORAGE_JOURNAL_FORMAT_H

/*
 * The bytes of a journal.
 *
 * Callers: journal.c, which writes and adopts it, and journal-scan.c, which only reads it. The thread that has the instance. No lock.
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
#define COMPRESSED_SUFFIX ".zst"
#define SESSION_STREAM "side_session"
#define MAPS_FILE ".maps"
#define LIMIT_MAPS ((size_t)8 << 20)
#define LOSSES_MAGIC UINT64_C(0x444c4f5445444953)
#define LIMIT_LOSSES_FILE ((size_t)4 << 20)

struct journal_head {
	uint64_t magic;
	uint32_t version;
	uint32_t rings; /* of all channels */
	uint32_t done;  /* all of it is in the trace */
	uint32_t life;  /* recorders so far */
	uint32_t serial;
	uint32_t reserved;
	char traces[2][PATH_BYTES]; /* the present one is that of `serial` */
};
_Static_assert(sizeof(struct journal_head) <= HEAD_BYTES, "journal_head");

struct journal_slot {
	uint64_t position; /* in the ring: everything before is written */
	uint64_t size;     /* of the stream's file then */
	uint64_t end_timestamp;
	uint64_t discarded; /* counter in its last packet */
	uint64_t unwritten; /* bytes */
	uint32_t serial;    /* of the trace that has the file; 0: there was none */
	uint32_t reserved;
	uint64_t count;    /* of two with the same position this says which is the later one */
	uint64_t recorded; /* records of the ring in files, of all traces */
};
_Static_assert(sizeof(struct journal_slot) == 64, "a slot lies in one page");

/* An instance's, opened. */
struct journal {
	int fd;
	uint32_t serial, life;
	uint64_t count; /* notes */
	uint32_t rings;
	uint32_t first[SESSION_CHANNELS_MAX]; /* ring of each channel */
	unsigned char *which;                 /* slot that counts, of each ring */
};

/* The file "told": this, and what losses.c wants to know again. */
struct losses_file_head {
	uint64_t magic;
	uint32_t serial; /* of the trace that told it last */
	uint32_t size;   /* bytes behind it */
};

/* For the rings of all channels, whose geometry is known; closed. NULL: no memory. */
struct journal *journal_allocate(const struct instance *instance);
/* 0, or a negative errno: it is not one of this instance. */
int journal_read_head(const struct journal *journal, struct journal_head *head);
/* The slot that belongs to the ring's position. False: there is none. */
bool journal_find_slot(struct journal *journal, uint32_t index, uint64_t position,
		struct journal_slot *slot, unsigned char *which);

#endif
