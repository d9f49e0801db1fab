/* SPDX-License-Identifier: MIT */
/* Checks options with the functions that start a session, but starts no recording. */
#include "recorder/check.h"

#include <errno.h>

#include "base/error.h"
#include "recorder/core/channels.h"
#include "recorder/core/memory.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/rotation/rotate.h"
#include "recorder/rotation/trigger.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

int session_check(const struct session_options *options, struct error *error)
{
	struct session *session = session_allocate();
	struct session_options plain = *options;
	int ret;

	error_clear(error);
	if (!session)
		return session_fail_allocation(error);
	/* A test of huge pages would allocate some, and their lack is no reason to refuse. */
	plain.huge_pages = false;
	session->mode = options->mode;
	/*
	 * Any clock is sufficient: finding the machine's clock takes longer than all other checks.
	 */
	session->clock.kind = RING_CLOCK_MONOTONIC;
	ret = channels_take(session, &plain, error);
	if (!ret && (options->compress < 0 || options->compress > SESSION_COMPRESS_MAX))
		ret = error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"unknown compression level %d: levels are 1 to %d",
				options->compress, SESSION_COMPRESS_MAX);
	if (!ret)
		ret = trigger_take(session, &plain, error);
	if (!ret)
		ret = memory_check(session, &plain, error);
	if (!ret)
		ret = rotate_take(session, &plain, error);
	session_destroy(session);
	return ret;
}
