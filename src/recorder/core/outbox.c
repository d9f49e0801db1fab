/* SPDX-License-Identifier: MIT */
/*
 * Messages that wait until the socket of a connection takes them.
 */
#include "recorder/core/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/protocol.h"

struct outbox_message {
	struct outbox_message *next;
	size_t size;
	int fd; /* a duplicate that this struct owns, or -1 */
	char bytes[];
};

static size_t outbox_weight(size_t size, int fd)
{
	return size + (fd >= 0 ? OUTBOX_FD_BYTES : 0);
}

static int outbox_keep(struct outbox *outbox, const void *bytes, size_t size, int fd, size_t limit)
{
	struct outbox_message *message;

	if (outbox->size + outbox_weight(size, fd) > limit)
		return -ENOBUFS;
	message = malloc(sizeof(*message) + size);
	if (!message)
		return -ENOMEM;
	*message = (struct outbox_message){.size = size, .fd = -1};
	memcpy(message->bytes, bytes, size);
	if (fd >= 0) {
		message->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (message->fd < 0) {
			int ret = -errno;

			free(message);
			return ret;
		}
	}
	if (outbox->last)
		outbox->last->next = message;
	else
		outbox->first = message;
	outbox->last = message;
	outbox->size += outbox_weight(size, fd);
	return 0;
}

static void outbox_drop_first(struct outbox *outbox)
{
	struct outbox_message *message = outbox->first;

	outbox->first = message->next;
	if (!outbox->first)
		outbox->last = NULL;
	outbox->size -= outbox_weight(message->size, message->fd);
	if (message->fd >= 0)
		close(message->fd);
	free(message);
}

bool outbox_is_empty(const struct outbox *outbox)
{
	return !outbox->first;
}

int outbox_send(struct outbox *outbox, int socket, const void *bytes, size_t size, int fd,
		size_t limit)
{
	int ret = outbox_is_empty(outbox) ? wire_send(socket, bytes, size, &fd, fd >= 0, 0)
					  : -EAGAIN;

	/* The kernel is out of memory for the message: treat this as a full socket. */
	return ret == -EAGAIN || ret == -ENOBUFS ? outbox_keep(outbox, bytes, size, fd, limit)
						 : ret;
}

int outbox_flush(struct outbox *outbox, int socket)
{
	while (outbox->first) {
		const struct outbox_message *message = outbox->first;
		int ret = wire_send(socket, message->bytes, message->size, &message->fd,
				message->fd >= 0, 0);

		if (ret)
			return ret == -ENOBUFS ? -EAGAIN : ret;
		outbox_drop_first(outbox);
	}
	return 0;
}

void outbox_free(struct outbox *outbox)
{
	while (outbox->first)
		outbox_drop_first(outbox);
}
