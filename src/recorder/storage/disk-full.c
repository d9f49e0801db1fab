/* SPDX-License-Identifier: MIT */
/*
 * Handles a full disk. Records that cannot be written stay in their ring, which accepts new records
 * until it is full; then they are lost and counted. Once a second the drain thread retries one
 * packet. The writer truncates a packet that was written partially, so that traces stay readable.
 *
 * The next packet of a stream contains the number of records that the stream has lost, so readers
 * see the gap. The end of the recording does not wait: records that cannot be written then are
 * lost.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "protocol/protocol.h"
#include "recorder/core/report.h"
#include "recorder/session-state.h"
#include "recorder/storage/disk-full.h"

#define RETRY_MS 1000

/*
 * Space on the disk or in its quota can become available again. A file size limit of the process
 * (EFBIG) does not change.
 */
static bool is_full(int code)
{
	return code == -ENOSPC || code == -EDQUOT;
}

bool full_waits(const struct session *session)
{
	const struct full *full = &session->full;

	return full->code && !full->last && clock_monotonic_ns() < full->retry;
}

/* The main thread reads this state with the lock held. */
static void disk_full_begin_pause(struct session *session, int code)
{
	struct full *full = &session->full;

	pthread_mutex_lock(&session->lock);
	full->code = code;
	full->times++;
	full->since = clock_monotonic_ns();
	pthread_mutex_unlock(&session->lock);
	if (full->times > 1)
		return;
	report(session, false,
			"the disk of %s is full (%s): records stay in the rings, and are lost if the rings are full, too\nfree some space there",
			session->output.path, strerror(-code));
}

bool full_holds(struct session *session, int code)
{
	struct full *full = &session->full;

	if (!is_full(code) || full->last || session->recovers)
		return false;
	if (!full->code)
		disk_full_begin_pause(session, code);
	full->retry = wire_deadline(RETRY_MS);
	return true;
}

void full_over(struct session *session)
{
	struct full *full = &session->full;

	if (!full->code)
		return;
	pthread_mutex_lock(&session->lock);
	full->code = 0;
	full->ns += clock_monotonic_ns() - full->since;
	pthread_mutex_unlock(&session->lock);
}

void full_count(struct session *session, uint64_t lost)
{
	if (!lost)
		return;
	pthread_mutex_lock(&session->lock);
	session->full.lost += lost;
	session->full.streams++;
	pthread_mutex_unlock(&session->lock);
}

void full_end(struct session *session)
{
	struct full *full = &session->full;
	uint64_t ns, tenths;

	full->last = true;
	if (!full->times)
		return;
	ns = full->ns + (full->code ? clock_monotonic_ns() - full->since : 0);
	tenths = ns / 100000000;
	if (full->code)
		report(session, true,
				"the disk of %s is still full, after %llu.%llu s: records in the rings are written as space becomes free",
				session->output.path, (unsigned long long)(tenths / 10),
				(unsigned long long)(tenths % 10));
	else
		report(session, false,
				"the disk of %s was full %u time%s, %llu.%llu s in all; recording continued when there was space",
				session->output.path, full->times, full->times == 1 ? "" : "s",
				(unsigned long long)(tenths / 10),
				(unsigned long long)(tenths % 10));
}

void full_report(struct session *session)
{
	const struct full *full = &session->full;

	if (!full->lost)
		return;
	report_failure(session, -ENOSPC);
	report(session, true,
			"%llu record%s of %u ring%s found no space in the rings while the disk was full, and are lost",
			(unsigned long long)full->lost, full->lost == 1 ? "" : "s", full->streams,
			full->streams == 1 ? "" : "s");
}
