/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_BUFFERS_H
#define SIDE_RECORDER_STORAGE_BUFFERS_H

/*
 * Rings in files of a directory, so that they outlive their processes and the recorder, and the
 * files that a later recorder needs to read them.
 *
 * Callers: memory, event classes, instances, trace, and recovery. Main thread; buffers_stay() and
 * buffers_remove() also from the drain thread. Functions return 0 or a negative errno. Without the
 * session's lock.
 */
#include <stdbool.h>

#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/core/session.h"

struct instance;
struct instance_channel;

/* Main thread only. With a state directory (state-directory.h), the path is that directory. */
struct session_buffers {
	char *path; /* directory of rings in files, or NULL */
	int fd;
	bool ours; /* created by this recorder */
};

int buffers_open(struct session *session, const struct session_options *options,
		struct error *error);
int buffers_make(struct session *session, struct instance *instance);
/* Call when the rings exist, too: marks the folder as complete. */
int buffers_complete(const struct session *session, const struct instance *instance);
int buffers_make_rings(struct session *session, struct instance *instance,
		const struct instance_channel *channel, int *fd);
/*
 * Called by the drain thread when all records are written or lost. True if the folder must stay,
 * because the disk had no space for the windows of overwrite rings.
 */
bool buffers_stay(const struct instance *instance);
void buffers_remove(struct session *session, struct instance *instance);
void buffers_close(struct session *session);
/*
 * Returns 1 if the entry is the folder of an instance, 0 if it is something else or not readable,
 * or a negative errno.
 */
int buffers_is_folder(int state_dir, const char *name);

#endif
