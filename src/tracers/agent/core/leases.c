/* SPDX-License-Identifier: MIT */
/*
 * Ring memory that a recorder recalls, because other programs of the same user need it and this one
 * has recorded nothing for a while (ring/lease.h). The control thread checks that when it has
 * received nothing for some seconds. The next event takes the memory again.
 */
#include <side/tracer-extensions.h>

#include <stdbool.h>
#include <stdint.h>

#include "tracers/agent/core/leases.h"
#include "ring/ring.h"
#include "tracers/agent/core/session.h"

/* With the event lock. True: some rings are closed, and their calls must be waited for. */
static bool leases_close(void)
{
	const struct agent_session *session;
	bool any = false;
	uint32_t i;

	agent_each_session(session)
		for (i = 0; i < session->nr_channels; i++)
			if (session->channels[i].producer)
				any |= ring_producer_leave(session->channels[i].producer);
	return any;
}

static void leases_return(void)
{
	const struct agent_session *session;
	uint32_t i;

	agent_each_session(session)
		for (i = 0; i < session->nr_channels; i++)
			if (session->channels[i].producer)
				ring_producer_left(session->channels[i].producer);
}

void agent_leases_check(void)
{
	bool any;

	if (!side_tracer_trylock())
		return;
	any = leases_close();
	side_tracer_unlock();
	/* Records are made in calls of events, or with the event lock. */
	if (!any || side_tracer_synchronize() != SIDE_ERROR_OK)
		return;
	side_tracer_lock();
	leases_return();
	side_tracer_unlock();
}
