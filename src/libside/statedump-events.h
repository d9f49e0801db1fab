/* SPDX-License-Identifier: MIT */
/*
 * The events of the library itself: side:statedump_begin and side:statedump_end.
 */
#ifndef SIDE_LIBSIDE_STATEDUMP_EVENTS_H
#define SIDE_LIBSIDE_STATEDUMP_EVENTS_H

#include <stdint.h>

#include "functions.h"

enum statedump_event {
	STATEDUMP_BEGIN,
	STATEDUMP_END,
	STATEDUMP_NR_EVENTS,
};

extern __attribute__((visibility(
		"hidden"))) struct side_event_description *statedump_events[STATEDUMP_NR_EVENTS];

/*
 * Emit an event for a dump of the state with this name, for the tracers that asked with this key.
 */
void statedump_emit(enum statedump_event event, const char *name, uint64_t key);

#endif /* SIDE_LIBSIDE_STATEDUMP_EVENTS_H */
