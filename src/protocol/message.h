/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_MESSAGE_H
#define SIDE_PROTOCOL_MESSAGE_H

/* Functions that message.c, message-control.c and message-probes.c share. Private to the module
   protocol. */

#include "protocol/protocol.h"

#define MESSAGE_PROCNAME_MAX 256
#define MESSAGE_EXE_MAX 4096
#define MESSAGE_REASON_MAX 2048

struct message_piece {
	const void *bytes;
	size_t size;
};

ssize_t message_encode(void *message, size_t capacity, enum wire_type type,
		const struct message_piece *pieces, size_t nr_pieces);
int message_decode(const void *message, size_t size, enum wire_type type, void *body,
		size_t body_size, const char **ret_remainder, size_t *ret_remainder_size);
bool message_is_string(const char *bytes, size_t size);
bool message_control_valid(uint32_t control, uint32_t signal);

#endif
