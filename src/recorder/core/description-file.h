/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_DESCRIPTION_FILE_H
#define SIDE_RECORDER_CORE_DESCRIPTION_FILE_H

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
