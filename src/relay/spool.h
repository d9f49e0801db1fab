/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RELAY_SPOOL_H
#define SIDE_RELAY_SPOOL_H

/*
 * Shares of a spool: whose packets are dropped if it is full.
 *
 * The user of a trace is in its file CTF_USER_FILE, which the recorder writes. The first users with packets that wait have an entry each, all further
 * users share one. Packets of the entry with most bytes are dropped. A full spool has one with more than spool_floor() bytes, so an entry
 * with less never loses a packet, whatever the others record. A user without packets that wait gives its entry up.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "relay/follow.h"
#include "relay/send.h"

struct spool_entry {
	uid_t uid;
	bool is_used;
	bool is_tried;    /* Nothing of it can be dropped now. */
	bool is_reported; /* It was reported that its packets are dropped. */
	uint64_t pending;
};

struct spool {
	struct spool_entry entries[SEND_SPOOL_USERS]; /* The last one: all further users. */
};

/* Bytes that are left to each entry. */
uint64_t spool_floor(uint64_t limit);
/* Count the bytes that wait; false: at most `limit`. */
bool spool_is_full(struct spool *spool, struct follow *follow, uint64_t limit);
/* The entry to drop a packet of, or NULL: nothing can be dropped. */
struct spool_entry *spool_choose(struct spool *spool, uint64_t limit);
bool spool_has(const struct spool *spool, const struct spool_entry *entry,
		const struct follow_trace *trace);
/* Note a packet that was dropped in the status, by its user. */
void spool_note(const struct follow_trace *trace, uint64_t events, uint64_t bytes,
		struct send_status *status);

#endif /* SIDE_RELAY_SPOOL_H */
