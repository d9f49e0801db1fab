/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_FRAME_H
#define SIDE_SESSIONS_FRAME_H

/*
 * Messages over a socket of type SOCK_SEQPACKET: JSON objects, long ones in pieces
 * (docs/spec/control-protocol.md). A sub-header of the room and of the daemon, which never waits: it
 * keeps what does not fit until the socket takes it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sessions/error.h"

struct json_object;

#define FRAME_MAX 65536 /* bytes of one message */
#define FRAME_REQUEST_MAX (1u << 20)
#define FRAME_ANSWER_MAX (16u << 20)

/* Messages that wait to be sent. */
struct frame_message;
struct frame_out {
	struct frame_message *first, **end;
	size_t size; /* bytes in all of them */
};

/* Pieces that have come so far, and the descriptor that came with one of them. */
struct frame_in {
	char *text;
	size_t size;
	bool more;
	bool takes_fd; /* the owner wants one; else the kernel drops what comes */
	bool has_fd;
	int fd;
};

void frame_out_init(struct frame_out *out);
void frame_out_free(struct frame_out *out);

/* Add an object at the end. 0, -ENOMEM, or -E2BIG for more than FRAME_ANSWER_MAX. */
int frame_put(struct frame_out *out, struct json_object *object);
/* The same with a descriptor, which stays the caller's. Also -EMFILE. */
int frame_put_with(struct frame_out *out, struct json_object *object, int fd);

/* Send what the socket takes. 0: all of it, -EAGAIN: the rest later, or what the socket says. */
int frame_send(struct frame_out *out, int socket);

/*
 * Take one message from the socket. 1: *object is one that is whole; 0: pieces are missing; -EAGAIN:
 * nothing is there; -EPIPE: the end; -EPROTO, -E2BIG, -EINVAL (no JSON) with *error filled in.
 */
int frame_receive(struct frame_in *in, int socket, size_t max, struct json_object **object,
		struct control_error *error);
void frame_in_free(struct frame_in *in);
/* The descriptor that came with the object, now the caller's, or -1. Of several the last one. */
int frame_take_fd(struct frame_in *in);

#endif
