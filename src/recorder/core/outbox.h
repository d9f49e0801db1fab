/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_OUTBOX_H
#define SIDE_RECORDER_CORE_OUTBOX_H

/*
 * Messages that wait until the socket of a connection accepts them, so that the recorder never
 * waits for a program to read. Private to this module.
 */

#include <stdbool.h>
#include <stddef.h>

/* Size that a message with a descriptor counts in addition, because descriptors are scarce, too. */
#define OUTBOX_FD_BYTES (64u << 10)

struct outbox_message;
struct outbox {
	struct outbox_message *first, *last;
	size_t size;
};

/*
 * Sends a message, or queues it with a duplicate of the descriptor (-1: none) if the outbox then
 * stays within `limit` bytes. Returns 0, or a negative errno: -ENOBUFS if it does not fit.
 */
int outbox_send(struct outbox *outbox, int socket, const void *bytes, size_t size, int fd,
		size_t limit);
/*
 * Sends as much as the socket accepts. Returns 0 if the outbox is empty, -EAGAIN if messages
 * remain, or the negative errno of the socket.
 */
int outbox_flush(struct outbox *outbox, int socket);
bool outbox_is_empty(const struct outbox *outbox);
void outbox_free(struct outbox *outbox);

#endif
