/* SPDX-License-Identifier: MIT */
/* Traces out of a stream of frames (docs/spec/byte-stream.md). */
#ifndef SIDE_RELAY_RECEIVE_H
#define SIDE_RELAY_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/send.h"

struct receive;
struct receive_source;

struct receive_options {
	const char *output;          /* A directory that is there. */
	send_report_fn *log_message; /* NULL: nobody listens. */
	void *user;
};

struct receive_summary {
	uint64_t sessions; /* Senders. */
	uint64_t unended;  /* Of which no end was received: what they sent last is not known. */
	uint64_t frames;   /* Received whole, each once. */
	uint64_t lost_frames;
	uint64_t repeated_frames;
	uint64_t garbage; /* Bytes that belonged to no whole frame. */
	uint64_t traces;
	uint64_t packets;
	uint64_t lost_packets;
	uint64_t events;
	uint64_t lost_events;     /* On the way. */
	uint64_t unplaced_events; /* Of those: in streams of which nothing has come. */
	uint64_t earlier_packets; /* Acknowledged by receivers before this one. */
	uint64_t earlier_events;
	uint64_t dropped_events; /* By the senders, whose spool was full. */
	uint64_t incomplete;     /* Traces whose metadata has a hole. */
	bool failed;             /* Something could not be written. */
	bool out_of_memory;      /* some of the received data was discarded */
};

/* 0 or -ENOMEM. */
int receive_create(const struct receive_options *options, struct receive **receive);
void receive_destroy(struct receive *receive);

/* A source of bytes; `answers`: the sender reads receive_answer(). NULL: out of memory. */
struct receive_source *receive_source_open(struct receive *receive, bool answers);
/* All that it brought has come. */
void receive_source_close(struct receive_source *source);

/* Has it delivered a frame of a session? */
bool receive_source_is_known(const struct receive_source *source);

/* The next bytes. 0 or -ENOMEM. */
int receive_bytes(struct receive_source *source, const void *bytes, size_t size);

/* What there is to answer, if somebody can hear it: its size, or 0. */
#define RECEIVE_ANSWER_MAX 64
size_t receive_answer(struct receive_source *source, unsigned char answer[RECEIVE_ANSWER_MAX]);

/* Somebody has sent, and everybody who did has said that it was all. */
bool receive_is_over(const struct receive *receive);

/* After the last source: what is missing at the ends, and the figures. */
void receive_finish(struct receive *receive, struct receive_summary *summary);

/* What is missing, stream by stream; after receive_finish(). */
typedef void receive_loss(void *user, const char *trace, const char *stream, uint64_t packets,
		uint64_t events, uint64_t dropped_events);
void receive_each_loss(const struct receive *receive, receive_loss *loss, void *user);

#endif /* SIDE_RELAY_RECEIVE_H */
