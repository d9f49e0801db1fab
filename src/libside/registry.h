/* SPDX-License-Identifier: MIT */
/* Registers batches of events, and notifies tracers of them. */
#ifndef SIDE_LIBSIDE_REGISTRY_H
#define SIDE_LIBSIDE_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "functions.h"

typedef struct side_events_register_handle *register_function(
		struct side_event_description **events, uint32_t nr_events);

/*
 * Not NULL if another copy of libside has the registry of the process (copies.h). Set in the
 * constructor only.
 */
extern register_function *registry_redirect;

/*
 * In the child of a fork during a notification: complete the work of the notifying thread, which
 * does not exist in the child. With the lock of the registry held.
 */
void registry_continue_notifications(void);

/* Notify tracers of the end of all batches and remove their callbacks. False: done before. */
bool registry_finish(void);

#endif /* SIDE_LIBSIDE_REGISTRY_H */
