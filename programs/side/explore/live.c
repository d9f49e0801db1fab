/* SPDX-License-Identifier: MIT */
/* Decides when a screen reads a recording again that grows. */
#include "programs/side/explore/live.h"

#include <poll.h>

#include "base/clock.h"

#define LIVE_REFRESH_NS UINT64_C(1000000000)
/* A large trace is read again less often: reading takes at most a fifth of the time. */
#define LIVE_REFRESH_FACTOR 4

void live_start(struct live *live, int end)
{
	*live = (struct live){.end = end, .is_growing = end >= 0};
}

bool live_check(struct live *live)
{
	struct pollfd fd = {.fd = live->end, .events = POLLIN};

	live->is_growing = live->end >= 0 && poll(&fd, 1, 0) == 0;
	return live->is_growing;
}

void live_note_reading(struct live *live, uint64_t begin_ns)
{
	live->ended_ns = clock_monotonic_ns();
	live->read_ns = live->ended_ns - begin_ns;
}

bool live_is_due(const struct live *live)
{
	uint64_t pause = live->read_ns * LIVE_REFRESH_FACTOR;

	if (pause < LIVE_REFRESH_NS)
		pause = LIVE_REFRESH_NS;
	return live->is_growing && clock_monotonic_ns() - live->ended_ns >= pause;
}
