/* SPDX-License-Identifier: MIT */
/* Send the recorder descriptions of events, or store them for a later recorder. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracers/agent/core/describe.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/boot.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wait.h"

#define DESCRIBE_TRIES 10 /* while recorders of a static configuration begin and exit */

/*
 * In a static configuration: send descriptions to the recorder; if there is none, store them where
 * the next one finds them.
 */
static int describe_boot_events(struct agent_session *session, const void *stream, size_t size,
		void (*refused)(void *user, const struct wire_refused *one), void *user)
{
	unsigned int try;
	int ret = -EAGAIN;

	for (try = 0; try < DESCRIBE_TRIES && ret == -EAGAIN; try++) {
		if (session->socket < 0)
			ret = agent_boot_describe(session, stream, size);
		if (ret == -EAGAIN)
			ret = agent_exchange_send_events(session, stream, size, refused, user);
		if (agent_boot_has_gone(ret))
			ret = -EAGAIN;
	}
	return ret;
}

int agent_send_events(struct agent_session *session, const void *stream, size_t size,
		void (*refused)(void *user, const struct wire_refused *one), void *user)
{
	int ret;

	if (agent_is_sandboxed()) {
		session->gone = true;
		return -EPERM;
	}
	ret = session->boot ? describe_boot_events(session, stream, size, refused, user)
			    : agent_exchange_send_events(session, stream, size, refused, user);
	if (ret) {
		agent_debug("no answer about events: error %d", -ret);
		session->gone = true;
		if (ret == -ETIMEDOUT && !session->is_explicit)
			agent_stalled_note(session->path);
	}
	return ret;
}
