/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RELAY_SPOOL_H
#define SIDE_RELAY_SPOOL_H

/*
 * Shares of a spool: chooses the packets to drop if it is full.
 *
 * The recorder writes the user of a trace to its file CTF_USER_FILE. The first users with pending
 * packets have an entry each, all further users share one. Packets of the entry with most bytes are
 * dropped. A full spool has an entry with more than spool_floor() bytes, so an entry with less
 * never loses a packet, independent of the other users. A user without pending packets gives up its
 * entry.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "relay/follow.h"
#include "relay/send-status.h"

struct spool_entry {
	uid_t uid;
	bool is_used;
	bool is_tried;    /* None of its packets can be dropped now. */
	bool is_reported; /* The user was notified that its packets are dropped. */
	uint64_t pending;
};

struct spool {
	struct spool_entry entries[SEND_SPOOL_USERS]; /* The last one: all further users. */
};

/* Bytes that each entry may always keep. */
uint64_t spool_floor(uint64_t limit);
/* Count the pending bytes. True if they are more than `limit`. */
bool spool_is_full(struct spool *spool, struct follow *follow, uint64_t limit);
/* The entry whose packet to drop, or NULL: nothing can be dropped. */
struct spool_entry *spool_choose(struct spool *spool, uint64_t limit);
bool spool_has(const struct spool *spool, const struct spool_entry *entry,
		const struct follow_trace *trace);
/* Add a dropped packet to the status, under its user. */
void spool_note(const struct follow_trace *trace, uint64_t events, uint64_t bytes,
		struct send_status *status);

#endif /* SIDE_RELAY_SPOOL_H */
