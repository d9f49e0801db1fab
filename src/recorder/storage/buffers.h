/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_BUFFERS_H
#define SIDE_RECORDER_STORAGE_BUFFERS_H

/*
 * Rings in files of a directory, so that they outlive their processes and the recorder, and beside them what a later reader needs.
 *
 * Callers: memory, event classes, instances, trace, and recovery. Main thread, 0 or a negative errno; buffers_stay() and buffers_remove() by
 * the drain thread, too. Without the session's lock.
 */
#include <stdbool.h>

#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/core/session.h"

struct instance;
struct instance_channel;

/* The main thread's. With a state directory (state-directory.h) it is that. */
struct session_buffers {
	char *path; /* directory of rings in files, or NULL */
	int fd;
	bool ours; /* made by this recorder */
};

int buffers_open(struct session *session, const struct session_options *options,
		struct session_error *error);
int buffers_make(struct session *session, struct instance *instance);
/* The rings exist, too: from now on it is a folder of buffers. */
int buffers_complete(const struct session *session, const struct instance *instance);
int buffers_make_rings(struct session *session, struct instance *instance,
		const struct instance_channel *channel, int *fd);
/* By the drain thread, when everything is on disk, or could not be written: then its folder may stay. */
bool buffers_stay(const struct instance *instance);
void buffers_remove(struct session *session, struct instance *instance);
void buffers_close(struct session *session);
/* 1: the directory of an instance; 0: another entry, or one that is not readable; or a negative errno. */
int buffers_is_folder(int state_dir, const char *name);

#endif
