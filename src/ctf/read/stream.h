/* SPDX-License-Identifier: MIT */
/* One data stream file as a row of items, in the order of the file. */
#ifndef SIDE_CTF_READ_STREAM_H
#define SIDE_CTF_READ_STREAM_H

#include "ctf/read/decode.h"
#include "ctf/read/header-fast.h"
#include "ctf/tsdl.h"
#include "ctf/read/window.h"

enum ctf_stream_state {
	CTF_STREAM_PACKET, /* A packet begins at `packet`. */
	CTF_STREAM_GAP,    /* It is open; were packets lost before it? */
	CTF_STREAM_RECORDS,
	CTF_STREAM_TAIL, /* Its records are over; were events lost? */
	CTF_STREAM_WAIT, /* Followed: what comes next is not there yet. */
	CTF_STREAM_END,
};

/* When tick 0 of a clock is. */
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
	uint64_t packet;         /* Byte offset of the current packet … */
	uint64_t next_packet;    /* … and of the one behind it. */
	uint64_t content;        /* Bits of the packet that hold something and are there. */
	bool foreign;            /* A packet has another UUID than the metadata … */
	bool foreign_reported;   /* … and the note is printed. */
	bool extended;           /* The file has grown since; the packet ends in what was added. */
	bool grown;              /* At the end: more than what was read is there by now. */
	bool follows;            /* What is not there, or not whole, is waited for. */
	bool waits;              /* It has an item, in the reader's heap. */
	bool shrink_reported;    /* The user knows that the file has become shorter. */
	bool torn;               /* The file ends before the packet does. */
	bool broken;             /* A record of the packet could not be read. */
	bool header_cut;         /* The file ends inside the header of a packet. */
	uint64_t damaged_packet; /* Byte offset of the packet of the last damage. */
	uint64_t good;           /* Bits of this packet up to its last whole record. */
	uint64_t records;        /* Read in this packet. */
	struct ctf_packet_fields fields;
	struct ctf_decoder decoder;
	struct ctf_fast_header fast_header;
	struct ctf_origin origin;
	bool bounded; /* Packets with nothing between these times are skipped. */
	bool skipped; /* The one before this was. */
	int64_t from_ns, to_ns;
	int64_t skipped_begin; /* the latest begin of a packet that was skipped; INT64_MIN: none */
	/* One of several windows over a ring (overlap.c). */
	uint64_t before; /* Only records before that tick are shown, … */
	uint64_t after;  /* … and if `continues`, only those after that one. */
	bool continues;
	bool superseded; /* A later window has these losses, too. */
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

/* The file as it was seen. 1: a stream; 0: an empty file, or none; -ENOMEM. */
int ctf_stream_reader_open(struct ctf_stream_reader *stream, struct ctf_trace_classes *classes,
		const char *name, const struct stat *stat);
void ctf_stream_reader_close(struct ctf_stream_reader *stream);

/* Go on: 1: stream->item is there; 0: the end; -ENOMEM. */
int ctf_stream_reader_next(struct ctf_stream_reader *stream);

/* Nanoseconds since the epoch, equal to what babeltrace2 shows, saturated. */
int64_t ctf_clock_ns(const struct ctf_clock *clock, uint64_t cycles);

/* ---- metadata files ---- */

/*
 * Read and parse DIR/metadata. -EINVAL with a sentence; usable classes may be there all the same.
 */
int ctf_metadata_read(int dir_fd, const char *dir, struct ctf_trace_classes **classes,
		struct ctf_error *error);
void ctf_metadata_free(struct ctf_trace_classes *classes);

#endif /* SIDE_CTF_READ_STREAM_H */
