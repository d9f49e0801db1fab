/* SPDX-License-Identifier: MIT */
/*
 * The traces of a directory while they grow: what is there, what was handed on, what arrived.
 *
 * The order is that of recording.md, section 6: the sizes of streams are looked at before the metadata, which then
 * describes all that is read. What wakes us is inotify; that a recorder has ended shows in its locks,
 * which nobody tells of, so they are tried twice a second.
 */
#ifndef SIDE_RELAY_FOLLOW_H
#define SIDE_RELAY_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctf/ctf.h"
#include "relay/identity.h"
#include "relay/marks.h"

struct follow_stream {
	struct follow_stream *next;
	struct follow_trace *trace;
	char *name;  /* Of the file. */
	char *plain; /* Without the suffix of compressed ones. */
	uint32_t number;
	bool damaged;             /* What stands at `at` is no packet: nothing more comes of it. */
	uint64_t there;           /* Size of the file, as it was looked at … */
	uint64_t size;            /* … and as far as it will stay. */
	struct marks_position at; /* Handed on up to here … */
	struct marks_position delivered; /* … and arrived. */
	struct marks_position counted; /* Packets were counted up to here, to say how many wait. */
	uint64_t freed;                /* Bytes of the front whose blocks the disk has back. */
	uint64_t dropped_packets;
	uint64_t dropped_events;
	uint64_t dropped_bytes;
	uint32_t slot; /* Of its marks; 0: it has none yet. What stands there: */
	struct marks_position marked;
	uint64_t marked_dropped;
	/* Of the packet that was read last: what an end mark needs. */
	struct ctf_packet last; /* Without its bytes, and as it stands in the file. */
	size_t header_size;
	uint64_t begin; /* Of the first one. */
	bool seen;
	/* The sink's own. */
	uint64_t handle;
	uint64_t sent;             /* Packets on this connection. */
	uint64_t reported_dropped; /* Dropped events that the last packet tells of. */
	uint64_t beaten;           /* Ticks of the last sign of life. */
	uint64_t added;            /* Packets on this connection that the file does not have. */
	int64_t held;              /* Since when its next packet has been waiting, in ms; or 0. */
};

struct follow_trace {
	struct follow_trace *next;
	char *path; /* As it is opened. */
	char *name; /* Below the directory; "" never: the directory's own name then. */
	uint32_t number;
	dev_t device;
	ino_t inode;
	int watch;  /* Of inotify, or -1. */
	bool found; /* By the walk that goes on. */
	bool dirty;
	bool ended;   /* Nobody writes to it any more. */
	bool refused; /* It is not one of ours. */
	bool done;    /* Ended, and the sink knows that it has everything. */
	bool removed;
	int64_t missing; /* Since when it has not been found, in ms; or 0. */
	uint32_t slot;   /* Of its marks; 0: it has none yet. What stands there: */
	uint32_t marked_generation;
	bool marked_done;
	ino_t metadata_inode;
	uint64_t metadata_size;
	uint64_t maps_size;
	struct ctf_counter *counter; /* NULL until it is needed. */
	struct follow_stream *streams;
	uint32_t nr_streams;
	/* The sink's own. */
	uint64_t handle;
	uint32_t generation;
	ino_t sent_inode;
	uint64_t sent_metadata;
	uint64_t sent_maps;
	uint64_t since_repeat;    /* Bytes of packets since the metadata was sent as a whole. */
	uint64_t sent_blocks;     /* Blocks of the metadata that were sent. */
	struct identity identity; /* On this connection. */
	bool examined;
	bool announced;
	/* The user whose program it is of (spool.c), and its entry in the spool's shares. */
	bool has_user;
	uid_t user;
	uint32_t entry;
};

struct follow {
	char *dir;
	int inotify; /* -1: there is none, everything is looked at again and again. */
	bool walk;   /* The directories have changed. */
	bool lame;   /* A watch could not be made. */
	int error;   /* errno of a path that the last follow_scan() could not read, or 0 */
	struct follow_trace *traces;
	struct follow_trace **last;
	uint32_t nr_traces;
	/*
	 * What is at the end of a file may yet be cut off, until follow_settle() is called. False: nobody
	 * does that.
	 */
	bool staged;
	struct marks *marks;    /* NULL: there are none. */
	struct marks_sums past; /* Of traces that are gone. */
	uint64_t vanished;      /* Bytes that were removed before they arrived. */
	char *gone;             /* Name of the last trace of which that is true. */
};

int follow_open(const char *dir, struct follow *follow);
void follow_close(struct follow *follow);

/* Whether nobody records there any more. Asked before follow_scan(), it says that this was the last one. */
bool follow_is_over(const struct follow *follow);

/* See what is new. `over`: nobody writes any more. 0 or -ENOMEM. */
int follow_scan(struct follow *follow, bool over);

/* What was looked at stays as it is. Whether there is something that has not been settled. */
void follow_settle(struct follow *follow);
bool follow_is_unsettled(const struct follow *follow);

/* Write down what has changed. 0 or a negative errno: the rest is written the next time. */
int follow_mark(struct follow *follow);
/* Before it becomes known to others: its number and generation must be known again after a kill. */
int follow_mark_trace(struct follow *follow, struct follow_trace *trace);
int follow_mark_stream(struct follow *follow, struct follow_stream *stream);
/* After the first look: what nobody has taken over is free again. */
int follow_reconcile(struct follow *follow);
/* Traces that are done and removed become sums. */
int follow_forget(struct follow *follow);

/* The packet at stream->at. 1, 0 (there is none), -EBADMSG (the stream is damaged from here on). */
int follow_peek(struct follow_stream *stream, struct ctf_packet *packet);

/* Go past it. */
void follow_pass(struct follow_stream *stream, const struct ctf_packet *packet, uint64_t events);

/* How many events it has, as far as they can be read. */
uint64_t follow_count(struct follow_trace *trace, const struct ctf_packet *packet);

/*
 * What there is of the metadata from `offset` on, up to the end of a block; of .maps: up to the end of a
 * line. malloc'ed; *size 0: nothing.
 */
int follow_text(struct follow_trace *trace, const char *name, uint64_t offset, char **text,
		size_t *size);

/* Bytes of all files that are still there. */
uint64_t follow_bytes(const struct follow *follow);
/* Bytes that have not arrived. */
uint64_t follow_pending(const struct follow *follow);
/* The same of one trace. */
uint64_t follow_pending_of(const struct follow_trace *trace);
/* How many packets these are, as far as `most` more of them are read for it. */
uint64_t follow_pending_packets(
		struct follow *follow, struct ctf_packet *packet, unsigned int most);

/* Give the disk back what arrived, until no more than `bytes` are left or nothing else can go. */
void follow_free(struct follow *follow, uint64_t bytes);

#endif /* SIDE_RELAY_FOLLOW_H */
