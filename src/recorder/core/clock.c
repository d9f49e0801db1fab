/* SPDX-License-Identifier: MIT */
/*
 * The clock of all traces of a session: measured at its beginning, and corrected if the conversion
 * leads to wrong times.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "ctf/ctf.h"
#include "recorder/core/clock.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

void session_fill_clock(
		struct ctf_clock *ret_clock, const struct ring_clock_calibration *calibration)
{
	*ret_clock = (struct ctf_clock){
			.name = "monotonic",
			.description = "Unix time of the recording machine",
			.frequency = calibration->frequency,
			.offset_s = calibration->offset_s,
			.offset = calibration->offset,
			.precision = 1,
			.absolute = true,
	};
}

int session_begin_clock(struct session *session, struct error *error)
{
	struct ring_clock_calibration calibration;
	int ret;

	session->clock.kind = session->clock.monotonic ? RING_CLOCK_MONOTONIC : ring_clock_choose();
	ret = ring_clock_sample(session->clock.kind, &session->clock.begin);
	if (!ret)
		ret = ring_clock_calibrate(
				session->clock.kind, &session->clock.begin, NULL, &calibration);
	if (ret)
		return error_set_kind(error, report_error_kind(ret), ret, NULL,
				"cannot read the clock: %s", strerror(-ret));
	session_fill_clock(&session->clock.first, &calibration);
	return 0;
}

static int64_t session_clock_unix_ns(const struct ctf_clock *clock, uint64_t ticks)
{
	const struct ring_clock_calibration calibration = {
			.frequency = clock->frequency,
			.offset_s = clock->offset_s,
			.offset = clock->offset,
	};

	return ring_clock_unix_ns(&calibration, ticks);
}

/*
 * Measures the clock over the whole session. Returns true if the conversion in use now gives wrong
 * times.
 */
static bool measure_clock(struct session *session, struct ctf_clock *ret_clock)
{
	const struct ctf_clock *used = session->clock.is_corrected ? &session->clock.corrected
								   : &session->clock.first;
	struct ring_clock_calibration calibration;
	struct ring_clock_sample now;
	int64_t difference;

	if (ring_clock_sample(session->clock.kind, &now) ||
			ring_clock_calibrate(session->clock.kind, &session->clock.begin, &now,
					&calibration))
		return false;
	session_fill_clock(ret_clock, &calibration);
	difference = session_clock_unix_ns(ret_clock, now.ticks) -
			session_clock_unix_ns(used, now.ticks);
	return difference > LIMIT_CLOCK_ERROR_NS || difference < -LIMIT_CLOCK_ERROR_NS;
}

/*
 * All readers must convert the time of an event to the same value: in a growing trace, in a
 * snapshot and in the closed trace. So a conversion that is exact enough is kept, although a longer
 * measurement differs by some nanoseconds.
 */
int session_refined_clock(struct session *session, struct ctf_clock *ret_clock)
{
	struct ctf_clock measured;

	/* Earlier traces of the session are closed with the first conversion: all must agree. */
	if (session->clock.is_inherited)
		return -ENODATA;
	if (measure_clock(session, &measured)) {
		session->clock.corrected = measured;
		session->clock.is_corrected = true;
	}
	if (!session->clock.is_corrected)
		return -ENODATA;
	*ret_clock = session->clock.corrected;
	return 0;
}

int session_clock(const struct session *session, struct ctf_clock *ret_clock)
{
	*ret_clock = session->clock.has_final ? session->clock.final : session->clock.first;
	return (int)session->clock.kind;
}
