/* SPDX-License-Identifier: MIT */
/* Decides when a screen reads a recording again that grows. */
#ifndef PROGRAMS_SIDE_EXPLORE_LIVE_H
#define PROGRAMS_SIDE_EXPLORE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

struct live {
	int end; /* at its end of file when the recording has ended; -1: the trace is complete */
	bool is_growing;
	uint64_t read_ns;  /* how long the last reading took; 0: not read yet */
	uint64_t ended_ns; /* when it ended */
};

void live_start(struct live *live, int end);
/*
 * Finds out whether the recording goes on, and returns it. Call this before reading: if it has
 * ended, the reading that follows has all events.
 */
bool live_check(struct live *live);
/* Notes a reading that began at `begin_ns` of the monotonic clock. */
void live_note_reading(struct live *live, uint64_t begin_ns);
bool live_is_due(const struct live *live);

#endif /* PROGRAMS_SIDE_EXPLORE_LIVE_H */
