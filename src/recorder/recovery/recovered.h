/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_RECOVERED_H
#define SIDE_RECORDER_RECOVERY_RECOVERED_H

/*
 * Instances that have ended, for the parts that load them from folders and core dumps.
 *
 * Callers: buffers, core dumps, adoption. One thread, which alone has the instance. No lock.
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
	unsigned int refused; /* events */
};

/* Rings from a copy of their memory. */
int recover_map(struct instance_channel *channel, struct channel *own, int fd);
/* A kind_visit: `user` is a struct recovered. */
bool recover_class(void *user, const struct wire_event_head *head, const void *bytes,
		enum wire_refusal refusal);
/* Write its trace. Takes it over. */
void recover_add(struct session *session, struct instance *instance);

#endif
