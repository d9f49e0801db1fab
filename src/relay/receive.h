/* SPDX-License-Identifier: MIT */
/* Writes the traces that arrive in a stream of frames (docs/spec/byte-stream.md). */
#ifndef SIDE_RELAY_RECEIVE_H
#define SIDE_RELAY_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/send.h"

struct receive;
struct receive_source;

struct receive_options {
	const char *output;          /* An existing directory. */
	send_report_fn *log_message; /* May be NULL. */
	void *user;
};

struct receive_summary {
	uint64_t sessions; /* Number of senders. */
	uint64_t unended;  /* Sessions whose end was not received: their last losses are unknown. */
	uint64_t frames;   /* Valid frames, each counted once. */
	uint64_t lost_frames;
	uint64_t repeated_frames;
	uint64_t garbage; /* Bytes that belonged to no valid frame. */
	uint64_t traces;
	uint64_t packets;
	uint64_t lost_packets;
	uint64_t events;
	uint64_t lost_events;     /* Lost between sender and receiver. */
	uint64_t unplaced_events; /* Lost events in streams of which nothing was received. */
	uint64_t earlier_packets; /* Acknowledged by receivers before this one. */
	uint64_t earlier_events;
	uint64_t dropped_events; /* Dropped by the senders, because their spool was full. */
	uint64_t incomplete;     /* Traces whose metadata has a gap. */
	bool failed;             /* A write failed. */
	bool out_of_memory;      /* some of the received data was discarded */
};

/* 0 or -ENOMEM. */
int receive_create(const struct receive_options *options, struct receive **ret_receive);
void receive_destroy(struct receive *receive);

/* Add a source of bytes. `answers`: the sender reads receive_answer(). NULL: out of memory. */
struct receive_source *receive_source_open(struct receive *receive, bool answers);
/* The source has ended. Frees it. */
void receive_source_close(struct receive_source *source);

/* True if it has delivered a frame of a session. */
bool receive_source_is_known(const struct receive_source *source);

/* Process the next bytes. 0 or -ENOMEM. */
int receive_bytes(struct receive_source *source, const void *bytes, size_t size);

/* Write the acknowledgement that the sender should get. Returns its size, or 0 if there is none. */
#define RECEIVE_ANSWER_MAX 64
size_t receive_answer(struct receive_source *source, unsigned char answer[RECEIVE_ANSWER_MAX]);

/* True if there was at least one sender and every sender has ended its session. */
bool receive_is_over(const struct receive *receive);

/* After the last source: write the losses at the ends of streams, and fill the summary. */
void receive_finish(struct receive *receive, struct receive_summary *ret_summary);

/* Report the losses of each stream; after receive_finish(). */
typedef void receive_loss(void *user, const char *trace, const char *stream, uint64_t packets,
		uint64_t events, uint64_t dropped_events);
void receive_each_loss(const struct receive *receive, receive_loss *loss, void *user);

#endif /* SIDE_RELAY_RECEIVE_H */
