/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_FRAME_H
#define SIDE_SESSIONS_FRAME_H

/*
 * Messages over a socket of type SOCK_SEQPACKET: JSON objects, long ones in pieces
 * (docs/spec/control-protocol.md). The functions never wait: they queue what the socket does not
 * accept yet.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct json_object;

#define FRAME_MAX 65536 /* bytes of one message */
#define FRAME_REQUEST_MAX (1u << 20)
#define FRAME_ANSWER_MAX (16u << 20)

/* Messages that wait until the socket accepts them. */
struct frame_message;
struct frame_out {
	struct frame_message *first, **end;
	size_t size; /* bytes of all messages */
};

/* Pieces received so far, and the descriptor received with one of them. */
struct frame_in {
	char *text;
	size_t size;
	bool more;
	bool takes_fd; /* accept a descriptor; else the kernel closes it */
	bool has_fd;
	int fd;
};

void frame_out_init(struct frame_out *out);
void frame_out_free(struct frame_out *out);

/* Appends an object. Returns 0, -ENOMEM, or -E2BIG for more than FRAME_ANSWER_MAX bytes. */
int frame_put(struct frame_out *out, struct json_object *object);
/* The same with a descriptor, which the caller keeps. Can also return -EMFILE. */
int frame_put_with(struct frame_out *out, struct json_object *object, int fd);

/*
 * Sends as much as the socket accepts. Returns 0 if everything was sent, -EAGAIN if messages
 * remain, or another negative errno of the socket.
 */
int frame_send(struct frame_out *out, int socket);

/*
 * Receives one message. Returns 1 with a complete *ret_object, 0 if pieces are missing, -EAGAIN if
 * there is no message, -EPIPE at the end of the connection, or -EPROTO, -E2BIG or -EINVAL (no JSON)
 * with *error filled in.
 */
int frame_receive(struct frame_in *in, int socket, size_t max, struct json_object **ret_object,
		struct error *error);
void frame_in_free(struct frame_in *in);
/*
 * Returns the descriptor that was received with the object, which the caller then owns, or -1. Of
 * several descriptors, it is the last one.
 */
int frame_take_fd(struct frame_in *in);

#endif
