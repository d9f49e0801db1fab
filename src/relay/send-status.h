/* SPDX-License-Identifier: MIT */
/* What a sender has delivered and dropped. */
#ifndef SIDE_RELAY_SEND_STATUS_H
#define SIDE_RELAY_SEND_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SEND_SPOOL_USERS 16

struct send_status {
	uint64_t packets; /* Delivered, as far as this type of receiver confirms it. */
	uint64_t bytes;   /* Bytes of the delivered packets. */
	/* Events in the delivered packets, if they are counted: not for relay daemons. */
	uint64_t events;
	uint64_t pending;         /* Bytes of packets that are not delivered. */
	uint64_t pending_packets; /* As far as they were counted. */
	uint64_t dropped_packets; /* Dropped because the spool was full. */
	uint64_t dropped_events;
	uint64_t dropped_bytes;
	/* Dropped, by user of the program, since this sender began. The last one: all further
	   users, or not known. */
	struct send_dropped {
		uid_t uid;
		uint64_t packets, events, bytes;
	} dropped_users[SEND_SPOOL_USERS];
	uint32_t nr_dropped_users; /* Without the last one. */
	uint64_t connections;      /* Connections made so far. */
	bool connected;
	/* Everything is delivered or dropped, and the receiver knows it; or the sender gave up. */
	bool over;
	bool failed; /* The sender gave up: something was not delivered. */
	/* Start of the current state (connected or not), in nanoseconds since 1970. */
	int64_t since;
	char why[256]; /* Why it is not connected, as a sentence. */
};

#endif /* SIDE_RELAY_SEND_STATUS_H */
