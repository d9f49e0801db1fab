/* SPDX-License-Identifier: MIT */
/*
 * Follows the traces of a directory while they grow: what was found, handed on and delivered.
 *
 * The order is that of recording.md, section 6: the sizes of streams are read before the metadata,
 * which then describes everything that is read. inotify wakes the sender. The end of a recorder is
 * visible only in its locks, which send no notification, so they are tried twice a second.
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
	char *name;  /* File name. */
	char *plain; /* File name without the suffix of compressed files. */
	uint32_t number;
	bool damaged;             /* There is no packet at `at`: the stream is read no further. */
	uint64_t there;           /* Size of the file at the last scan. */
	uint64_t size;            /* Size that will not be cut off (see `staged`). */
	struct marks_position at; /* Handed to the sink up to here. */
	struct marks_position delivered; /* Confirmed by the sink up to here. */
	struct marks_position counted;   /* Pending packets were counted up to here. */
	uint64_t freed; /* Bytes at the front whose blocks were freed on the disk. */
	uint64_t dropped_packets;
	uint64_t dropped_events;
	uint64_t dropped_bytes;
	/* Slot of its marks; 0: none yet. The next two members are what the slot contains. */
	uint32_t slot;
	struct marks_position marked;
	uint64_t marked_dropped;
	/* The last packet that was read: an end mark needs it. */
	struct ctf_packet last; /* Without its bytes; values as in the file. */
	size_t header_size;
	uint64_t begin; /* Begin of the first packet. */
	bool seen;
	/* For the sink. */
	uint64_t handle;
	uint64_t sent;             /* Packets sent on this connection. */
	uint64_t reported_dropped; /* Dropped events that the last packet reports. */
	uint64_t beaten;           /* Ticks of the last beacon. */
	uint64_t added;            /* Packets sent on this connection that are not in the file. */
	int64_t held;              /* Since when its next packet has been waiting, in ms; or 0. */
};

struct follow_trace {
	struct follow_trace *next;
	char *path; /* Path to open. */
	char *name; /* Name below the directory; never "": then the directory's own name. */
	uint32_t number;
	dev_t device;
	ino_t inode;
	int watch;  /* inotify watch, or -1. */
	bool found; /* Found by the current walk. */
	bool dirty;
	bool ended;   /* No process writes to it any more. */
	bool refused; /* The trace was not recorded by side. */
	bool done;    /* Ended, and the sink has confirmed everything. */
	bool removed;
	int64_t missing; /* Since when it has not been found, in ms; or 0. */
	/* Slot of its marks; 0: none yet. The next two members are what the slot contains. */
	uint32_t slot;
	uint32_t marked_generation;
	bool marked_done;
	ino_t metadata_inode;
	uint64_t metadata_size;
	uint64_t maps_size;
	struct ctf_counter *counter; /* NULL until it is needed. */
	struct follow_stream *streams;
	uint32_t nr_streams;
	/* For the sink. */
	uint64_t handle;
	uint32_t generation;
	ino_t sent_inode;
	uint64_t sent_metadata;
	uint64_t sent_maps;
	uint64_t since_repeat;    /* Bytes of packets since the complete metadata was last sent. */
	uint64_t sent_blocks;     /* Blocks of the metadata that were sent. */
	struct identity identity; /* On this connection. */
	bool examined;
	bool announced;
	/* The user whose program it traces (spool.c), and its entry in the spool's shares. */
	bool has_user;
	uid_t user;
	uint32_t entry;
};

struct follow {
	char *dir;
	int inotify; /* -1: inotify is not available; every scan reads everything. */
	bool walk;   /* The directories have changed. */
	bool lame;   /* A watch could not be added. */
	int error;   /* errno of a path that the last follow_scan() could not read, or 0 */
	struct follow_trace *traces;
	struct follow_trace **last;
	uint32_t nr_traces;
	/*
	 * A recorder may still cut off the end of a file, until follow_settle() is called. False:
	 * no recorder does that.
	 */
	bool staged;
	struct marks *marks;    /* NULL: no marks are kept. */
	struct marks_sums past; /* Sums of traces that were removed. */
	uint64_t vanished;      /* Bytes that were removed before they were delivered. */
	char *gone;             /* The last trace with removed undelivered bytes. */
};

/* Start to follow a directory. 0 or -ENOMEM. Without inotify, every scan reads everything. */
int follow_open(const char *dir, struct follow *follow);
void follow_close(struct follow *follow);

/* True if no process records there any more. A caller that calls it before follow_scan() and gets
   true knows that this scan was the last one. */
bool follow_is_over(const struct follow *follow);

/* Find new traces, streams and packets. `over`: no process writes any more. 0 or -ENOMEM. */
int follow_scan(struct follow *follow, bool over);

/* Declare that the data of the last scan will not be cut off. follow_is_unsettled(): true if there
   is data that may still be cut off. */
void follow_settle(struct follow *follow);
bool follow_is_unsettled(const struct follow *follow);

/* Write changed marks. 0 or a negative errno: the remaining ones are written by the next call. */
int follow_mark(struct follow *follow);
/* Call it before a receiver learns of the trace: after a kill, the next sender must find its number
   and generation. */
int follow_mark_trace(struct follow *follow, struct follow_trace *trace);
int follow_mark_stream(struct follow *follow, struct follow_stream *stream);
/* After the first scan: release the marks that no trace or stream has taken over. */
int follow_reconcile(struct follow *follow);
/* Turn traces that are done and removed into sums. */
int follow_forget(struct follow *follow);

/* Read the packet at stream->at. Returns 1, 0 (none), or -EBADMSG (the stream is damaged from here
   on). */
int follow_peek(struct follow_stream *stream, struct ctf_packet *packet);

/* Advance past the packet. */
void follow_pass(struct follow_stream *stream, const struct ctf_packet *packet, uint64_t events);

/* The number of its events, as far as they can be read. */
uint64_t follow_count(struct follow_trace *trace, const struct ctf_packet *packet);

/*
 * Read the metadata from `offset` on, up to the end of a block; of .maps: up to the end of a line.
 * The caller frees *ret_text; *ret_size 0: nothing.
 */
int follow_text(struct follow_trace *trace, const char *name, uint64_t offset, char **ret_text,
		size_t *ret_size);

/* Bytes of all files that still exist. */
uint64_t follow_bytes(const struct follow *follow);
/* Bytes that were not delivered. */
uint64_t follow_pending(const struct follow *follow);
/* The same for one trace. */
uint64_t follow_pending_of(const struct follow_trace *trace);
/* The number of undelivered packets. Reads at most `most` more of them to count them. */
uint64_t follow_pending_packets(
		struct follow *follow, struct ctf_packet *packet, unsigned int most);

/* Free disk space of what was delivered, until no more than `bytes` are left or nothing else can be
   freed. */
void follow_free(struct follow *follow, uint64_t bytes);

#endif /* SIDE_RELAY_FOLLOW_H */
