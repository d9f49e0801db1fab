/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_RECOVERED_H
#define SIDE_RECORDER_RECOVERY_RECOVERED_H

/*
 * Helpers for the parts that load ended instances from folders and core dumps.
 *
 * Callers: buffers, core dumps, adoption. Called by the only thread that uses the instance. No
 * lock.
 */
#include <stdbool.h>

#include "protocol/protocol.h"

struct channel;
struct instance;
struct instance_channel;
struct session;

struct recovered {
	struct session *session;
	struct instance *instance;
	unsigned int refused; /* event classes that were refused */
};

/* Maps rings from a copy of their memory. */
int recover_map(struct instance_channel *channel, struct channel *own, int fd);
/* A class_visit: `user` is a struct recovered. */
bool recover_class(void *user, const struct wire_event_head *head, const void *bytes,
		enum wire_refusal refusal);
/* Writes the trace of the instance. Takes ownership of it. */
void recover_add(struct session *session, struct instance *instance);

#endif
