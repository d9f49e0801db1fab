/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_OUTBOX_H
#define SIDE_RECORDER_CORE_OUTBOX_H

/*
 * Messages that wait until the socket of a connection takes them: the recorder never waits for a program to read. Private to the room.
 */

#include <stdbool.h>
#include <stddef.h>

/* A message with a descriptor counts as this many bytes more: descriptors are scarce, too. */
#define OUTBOX_FD_BYTES (64u << 10)

struct outbox_message;
struct outbox {
	struct outbox_message *first, *last;
	size_t size;
};

/*
 * Send a message, or keep it with a duplicate of the descriptor (-1: none), if the outbox does not exceed `limit` then. Returns 0, or a
 * negative errno: -ENOBUFS if it does not fit.
 */
int outbox_send(struct outbox *outbox, int socket, const void *bytes, size_t size, int fd,
		size_t limit);
/* Send as much as the socket takes. 0: all was sent; -EAGAIN: some remains; or the error of the socket. */
int outbox_flush(struct outbox *outbox, int socket);
bool outbox_is_empty(const struct outbox *outbox);
void outbox_free(struct outbox *outbox);

#endif
