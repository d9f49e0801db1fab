/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_RECOVER_FOLDER_H
#define SIDE_RECORDER_RECOVERY_RECOVER_FOLDER_H

/*
 * Loads a folder of buffers.
 *
 * Callers: recover.c. One thread, which alone has the instance. No lock.
 */
#include "ctf/ctf.h"

struct instance;
struct session;

/* A folder as an instance that has ended, or NULL. */
struct instance *buffers_load(
		struct session *session, int state_dir, const char *name, struct ctf_error *error);

#endif
