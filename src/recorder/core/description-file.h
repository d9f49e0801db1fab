/* SPDX-License-Identifier: MIT */
#ifndef RECORDER_DESCRIPTION_FILE_H
#define RECORDER_DESCRIPTION_FILE_H

/*
 * The file with the descriptions of an instance: each in the form in which it arrives.
 *
 * Callers: event classes. Main thread. No lock.
 */
#include "protocol/protocol.h"

struct instance;

/* 0, also without such a file, or a negative errno. */
int buffers_note_class(
		struct instance *instance, const struct wire_event_head *head, const void *bytes);

#endif
