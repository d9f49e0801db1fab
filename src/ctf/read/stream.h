/* SPDX-License-Identifier: MIT */
/* Reads one data stream file as a sequence of items, in the order of the file. */
#ifndef SIDE_CTF_READ_STREAM_H
#define SIDE_CTF_READ_STREAM_H

#include "ctf/read/decode.h"
#include "ctf/read/header-fast.h"
#include "ctf/tsdl.h"
#include "ctf/read/window.h"

enum ctf_stream_state {
	CTF_STREAM_PACKET, /* A packet begins at `packet`. */
	CTF_STREAM_GAP,    /* The packet is open; next, report packets that were lost before it. */
	CTF_STREAM_RECORDS,
	CTF_STREAM_TAIL, /* Its records are read; next, report events that were lost. */
	CTF_STREAM_WAIT, /* Followed: the next data has not been written yet. */
	CTF_STREAM_END,
};

/* The time of tick 0 of a clock. */
struct ctf_origin {
	const struct ctf_clock *clock; /* NULL: not known yet. */
	__int128 ns;                   /* Since the epoch. */
};

struct ctf_stream_reader {
	struct ctf_stream_info info; /* info.name is owned. */
	struct ctf_trace_classes *classes;
	const struct ctf_stream_class *class;
	struct ctf_window window;
	enum ctf_stream_state state;
	uint64_t packet;         /* Byte offset of the current packet. */
	uint64_t next_packet;    /* Byte offset of the next packet. */
	uint64_t content;        /* Bits of the packet's content that the file contains. */
	bool foreign;            /* A packet has another UUID than the metadata. */
	bool foreign_reported;   /* The note about it was reported. */
	bool extended;           /* The file has grown since; the packet ends in the new part. */
	bool grown;              /* At the end: the file has grown beyond what was read. */
	bool follows;            /* Wait for data that is missing or incomplete. */
	bool waits;              /* It has an item in the reader's heap. */
	bool shrink_reported;    /* It was reported that the file has shrunk. */
	bool torn;               /* The file ends before the packet does. */
	bool broken;             /* A record of the packet could not be read. */
	bool header_cut;         /* The file ends within the header of a packet. */
	uint64_t damaged_packet; /* Byte offset of the packet of the last damage. */
	uint64_t good;           /* Bits of this packet up to its last complete record. */
	uint64_t records;        /* Read in this packet. */
	struct ctf_packet_fields fields;
	struct ctf_decoder decoder;
	struct ctf_fast_header fast_header;
	struct ctf_origin origin;
	bool bounded; /* Packets outside of these times are skipped. */
	bool skipped; /* The previous packet was skipped. */
	int64_t from_ns, to_ns;
	int64_t skipped_begin; /* the latest begin of a packet that was skipped; INT64_MIN: none */
	/* For one of several windows over a ring (overlap.c). */
	uint64_t before; /* Show only records before this tick. */
	uint64_t after;  /* If `continues`, show only records after this tick. */
	bool continues;
	bool superseded; /* A later window reports these losses, too. */
	bool shown;      /* A record of it was shown. */
	bool first_known, last_known;
	uint64_t first_cycles, last_cycles;
	bool has_previous;
	uint64_t previous_discarded;
	uint64_t previous_sequence;
	uint64_t previous_end; /* Ticks. */
	struct ctf_item item;  /* The current one. */
	char text[768];
};

/* Open a file, with the result of stat(). 1: a stream; 0: an empty file, or no file; -ENOMEM. */
int ctf_stream_reader_open(struct ctf_stream_reader *stream, struct ctf_trace_classes *classes,
		const char *name, const struct stat *stat);
void ctf_stream_reader_close(struct ctf_stream_reader *stream);

/* Advance. 1: stream->item is set; 0: the end; -ENOMEM. */
int ctf_stream_reader_next(struct ctf_stream_reader *stream);

/* Nanoseconds since the epoch, saturated; the same value that babeltrace2 shows. */
int64_t ctf_clock_ns(const struct ctf_clock *clock, uint64_t cycles);

/* ---- metadata files ---- */

/*
 * Reads and parses DIR/metadata. Returns 0, or a negative errno with a message in *error.
 * *ret_classes is set in both cases, unless out of memory, and may contain usable classes; free it
 * with ctf_metadata_free().
 */
int ctf_metadata_read(int dir_fd, const char *dir, struct ctf_trace_classes **ret_classes,
		struct error *error);
void ctf_metadata_free(struct ctf_trace_classes *classes);

#endif /* SIDE_CTF_READ_STREAM_H */
