/* SPDX-License-Identifier: MIT */
/*
 * A full disk. What finds no room stays in its ring, where new records follow as long as there is
 * room (then they are lost, and counted, as in any full ring); once a second one more packet is
 * tried. The writer has cut off what of it was written, so that the traces stay readable.
 *
 * Who reads a trace sees the hole in the packet that comes after it: it says how many records its
 * stream has lost since the one before. Only the end of the recording does not wait: what finds no
 * room then is lost.
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

/* The disk, a quota on it: both may find room again. A limit of our own (EFBIG) does not. */
static bool is_full(int code)
{
	return code == -ENOSPC || code == -EDQUOT;
}

bool full_waits(const struct session *session)
{
	const struct full *full = &session->full;

	return full->code && !full->last && clock_monotonic_ns() < full->retry;
}

/* The state that is shown is the lock's. */
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
			"the disk of %s is full (%s): records wait in their rings, and are lost when those are full, too\nfree some space there",
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
				"the disk of %s is still full, after %llu.%llu s: what waits in the rings is written as far as there is room",
				session->output.path, (unsigned long long)(tenths / 10),
				(unsigned long long)(tenths % 10));
	else
		report(session, false,
				"the disk of %s was full %u time%s, %llu.%llu s in all; recording went on when there was room",
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
			"%llu record%s of %u ring%s found no space in the rings while the disk was full, and are among those that were lost",
			(unsigned long long)full->lost, full->lost == 1 ? "" : "s", full->streams,
			full->streams == 1 ? "" : "s");
}
