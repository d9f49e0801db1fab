/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_DESCRIPTION_FILE_H
#define SIDE_RECORDER_CORE_DESCRIPTION_FILE_H

/*
 * The file that contains the descriptions of an instance, each in the form in which the program
 * sent it.
 *
 * Callers: event classes. Main thread only, so no lock is needed.
 */
#include "protocol/protocol.h"

struct instance;

/* Appends a description. Returns 0, also if the instance has no such file, or a negative errno. */
int buffers_note_class(
		struct instance *instance, const struct wire_event_head *head, const void *bytes);

#endif
