/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_RECOVER_FOLDER_H
#define SIDE_RECORDER_RECOVERY_RECOVER_FOLDER_H

/*
 * Loads a folder of buffers.
 *
 * Callers: recover.c. Called by the only thread that uses the instance. No lock.
 */
#include "ctf/ctf.h"

struct instance;
struct session;

/* Returns the folder as an ended instance, or NULL. */
struct instance *buffers_load(
		struct session *session, int state_dir, const char *name, struct error *error);

#endif
