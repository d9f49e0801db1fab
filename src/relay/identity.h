/* SPDX-License-Identifier: MIT */
/* Gives a received trace that is not the complete trace of its sender a UUID of its own, of the
   same printed length. */
#ifndef SIDE_RELAY_IDENTITY_H
#define SIDE_RELAY_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

struct identity {
	bool is_own;              /* The trace gets a UUID of its own. */
	bool is_known;            /* Both UUIDs are known. */
	unsigned char sender[16]; /* The UUID in the received data. */
	unsigned char own[16];    /* The UUID that is written instead. */
};

/* Replace the UUID at the beginning of a metadata file, CTF 1.8 or 2, if the trace gets one of its
   own. */
void identity_replace_in_metadata(struct identity *identity, unsigned char *bytes, size_t size);

/* Replace the UUID of a packet. */
void identity_replace(struct identity *identity, unsigned char uuid[16]);

#endif /* SIDE_RELAY_IDENTITY_H */
