/* SPDX-License-Identifier: MIT */
/*
 * The traces of a directory while they grow: what is there, what was handed on, what arrived.
 *
 * The order is that of recording.md, section 6: the sizes of streams are looked at before the metadata, which then
 * describes all that is read. What wakes us is inotify; that a recorder has ended shows in its locks,
 * which nobody tells of, so they are tried twice a second.
 */
#ifndef SEND_FOLLOW_H
#define SEND_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctf/ctf.h"

/* A place between two packets of a stream. */
struct follow_mark {
	uint64_t offset; /* In the file. */
	uint64_t packets;
	uint64_t events; /* If the sink counts them. */
};

struct follow_stream {
	struct follow_stream *next;
	struct follow_trace *trace;
	char *name;  /* Of the file. */
	char *plain; /* Without the suffix of compressed ones. */
	uint32_t number;
	bool damaged;          /* What stands at `at` is no packet: nothing more comes of it. */
	uint64_t size;         /* Of the file, as it was looked at. */
	struct follow_mark at; /* Handed on up to here … */
	struct follow_mark delivered; /* … and arrived. */
	uint64_t freed;               /* Bytes of the front whose blocks the disk has back. */
	uint64_t dropped_packets;
	uint64_t dropped_events;
	/* Of the packet that was read last: what an end mark needs. */
	struct ctf_packet last; /* Without its bytes, and as it stands in the file. */
	size_t header_size;
	uint64_t begin; /* Of the first one. */
	bool seen;
	/* The sink's own. */
	uint64_t handle;
	uint64_t sent;         /* Packets on this connection. */
	uint64_t told_dropped; /* Dropped events that the last packet tells of. */
	uint64_t beaten;       /* Ticks of the last sign of life. */
	uint64_t added;        /* Packets on this connection that the file does not have. */
	int64_t held;          /* Since when its next packet has been waiting, in ms; or 0. */
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
	uint64_t since_repeat; /* Bytes of packets since the metadata was sent as a whole. */
	uint64_t sent_blocks;  /* Of the metadata. */
	bool examined;
	bool announced;
};

struct follow {
	char *dir;
	int inotify; /* -1: there is none, everything is looked at again and again. */
	bool walk;   /* The directories have changed. */
	bool lame;   /* A watch could not be made. */
	struct follow_trace *traces;
	struct follow_trace **last;
	uint32_t nr_traces;
	uint64_t vanished; /* Bytes that were removed before they arrived. */
	char *gone;        /* Name of the last trace of which that is true. */
};

int follow_open(const char *dir, struct follow *follow);
void follow_close(struct follow *follow);

/* Whether nobody records there any more. Asked before follow_look(), it says that this was the last one. */
bool follow_is_over(const struct follow *follow);

/* See what is new. `over`: nobody writes any more. 0 or -ENOMEM. */
int follow_look(struct follow *follow, bool over);

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

/* Give the disk back what arrived, until no more than `bytes` are left or nothing else can go. */
void follow_free(struct follow *follow, uint64_t bytes);

#endif /* SEND_FOLLOW_H */
