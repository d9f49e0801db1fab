/* SPDX-License-Identifier: MIT */
/*
 * Sums of statistics over processes whose traces are complete. A live session frees those
 * processes. If several recorders serve a session one after the other, the file "totals" in the
 * state directory keeps the sums:
 *
 *     sums 3 1200 0 48000 0 0    processes, events recorded, events lost, bytes, bytes unwritten,
 *                                bytes overwritten
 *     channel 0 1200 0 48000     channel number: events recorded, events lost, bytes
 *     last NAME                  folder of the last process that was added
 *     sums ..., channel ...      the sums without this process
 *
 * It is written when all records of a process are in its trace, before its journal records this. A
 * recorder killed between the two leaves a folder whose journal will be replayed: totals_reopen()
 * then subtracts its process.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/core/facts.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/core/totals.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

#define FIRST_LINE "side-totals 1"
#define LIMIT_TOTALS ((size_t)1 << 16)

/* ---- sums ---- */

/*
 * Returns the index of the session's channel with this name, or SESSION_CHANNELS_MAX if there is
 * none.
 */
static uint32_t totals_get_channel(
		const struct session *session, const struct instance *instance, uint32_t channel)
{
	const char *name = instance->channels[channel].channel->name;
	uint32_t i;

	if (!instance->own_channels)
		return channel;
	for (i = 0; i < session->nr_channels; i++)
		if (!strcmp(session->channels[i].name, name))
			return i;
	return SESSION_CHANNELS_MAX;
}

/* Counts losses both before and after the rings are freed. */
static uint64_t lost_of(const struct instance_channel *channel)
{
	uint64_t lost = channel->lost;
	uint32_t ring;

	for (ring = 0; channel->rings && ring < channel->geometry.rings; ring++)
		lost += ring_consumer_lost_total(channel->rings, ring);
	return lost;
}

void totals_add_channels(const struct session *session, const struct instance *instance,
		struct totals *totals)
{
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++) {
		const struct instance_channel *channel = &instance->channels[i];
		uint32_t at = totals_get_channel(session, instance, i);

		if (at == SESSION_CHANNELS_MAX)
			continue;
		totals->channels[at].recorded += channel->recorded;
		totals->channels[at].bytes += channel->written;
		totals->channels[at].lost += lost_of(channel);
	}
}

/* Adds an instance whose records are all written, and whose rings still exist. */
static void totals_add_instance(const struct session *session, const struct instance *instance,
		struct totals *totals)
{
	uint32_t i, ring;

	totals->processes++;
	totals->recorded += instance->recorded;
	totals->bytes += instance->written;
	totals->lost += instance->lost;
	totals->overwritten += instance->overwritten;
	for (i = 0; i < instance->nr_channels; i++)
		for (ring = 0; ring < instance->channels[i].geometry.rings; ring++)
			totals->unwritten += instance->channels[i].each[ring].unwritten;
	totals_add_channels(session, instance, totals);
}

/* ---- the file ---- */

struct totals_state {
	const struct session *session;
	const struct totals *now, *before;
	const char *last;
};

static void totals_write_sums(
		FILE *file, const struct session *session, const struct totals *totals)
{
	uint32_t i;

	fprintf(file,
			"sums %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			"\n",
			totals->processes, totals->recorded, totals->lost, totals->bytes,
			totals->unwritten, totals->overwritten);
	for (i = 0; i < session->nr_channels; i++)
		fprintf(file, "channel %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", (unsigned int)i,
				totals->channels[i].recorded, totals->channels[i].lost,
				totals->channels[i].bytes);
}

static void totals_write_state(FILE *file, const void *user)
{
	const struct totals_state *state = user;

	totals_write_sums(file, state->session, state->now);
	facts_put_line(file, "last", state->last);
	totals_write_sums(file, state->session, state->before);
}

struct totals_reader {
	struct totals sums[2]; /* with the last process, and without it */
	unsigned int nr;       /* sums that the file has begun */
	char *last;
};

static bool take_sums(struct totals_reader *reading, const char *value)
{
	struct totals *totals;

	if (reading->nr == 2)
		return false;
	totals = &reading->sums[reading->nr++];
	return sscanf(value, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
			       &totals->processes, &totals->recorded, &totals->lost, &totals->bytes,
			       &totals->unwritten, &totals->overwritten) == 6;
}

static bool totals_parse_channel(struct totals_reader *reading, const char *value)
{
	uint64_t recorded, lost, bytes;
	struct totals *totals;
	unsigned int i;

	if (!reading->nr ||
			sscanf(value, "%u %" SCNu64 " %" SCNu64 " %" SCNu64, &i, &recorded, &lost,
					&bytes) != 4 ||
			i >= SESSION_CHANNELS_MAX)
		return false;
	totals = &reading->sums[reading->nr - 1];
	totals->channels[i].recorded = recorded;
	totals->channels[i].lost = lost;
	totals->channels[i].bytes = bytes;
	return true;
}

static bool totals_parse_line(void *user, const char *word, char *value)
{
	struct totals_reader *reading = user;

	if (!strcmp(word, "sums"))
		return take_sums(reading, value);
	if (!strcmp(word, "channel"))
		return totals_parse_channel(reading, value);
	if (strcmp(word, "last") != 0 || reading->last || !facts_unescape(value))
		return false;
	reading->last = strdup(value);
	return reading->last;
}

void totals_read(struct session *session)
{
	struct totals_reader reading = {.nr = 0};
	char *text = NULL;
	size_t size;

	if (facts_read_file(session->buffers.fd, TOTALS_FILE, LIMIT_TOTALS, &text, &size))
		return;
	if (facts_parse(text, size, FIRST_LINE, totals_parse_line, &reading) && reading.nr == 2 &&
			reading.last) {
		session->totals.ended = reading.sums[0];
		session->totals.before = reading.sums[1];
		session->totals.last = reading.last;
		reading.last = NULL;
	} else {
		report(session, true,
				"%s/" TOTALS_FILE
				" is damaged: what ended processes have recorded is counted from now on",
				session->buffers.path);
	}
	free(reading.last);
	free(text);
}

void totals_reopen(struct session *session, const struct instance *instance)
{
	if (!session->totals.last || !instance->folder ||
			strcmp(session->totals.last, instance->folder) != 0)
		return;
	session->totals.ended = session->totals.before;
	free(session->totals.last);
	session->totals.last = NULL;
}

/* ---- the end of an instance ---- */

void totals_end(struct session *session, struct instance *instance, bool stays)
{
	struct totals now = session->totals.ended;
	const struct totals_state state = {session, &now, &session->totals.ended, instance->folder};
	int ret = 0;

	totals_add_instance(session, instance, &now);
	/* If the folder stays, the next recorder reads its journal and adds the process then. */
	if (session->state_dir && instance->folder && !stays)
		ret = facts_write_file(session->buffers.fd, TOTALS_FILE, FIRST_LINE,
				totals_write_state, &state);
	if (ret && !session->totals.unnoted) {
		session->totals.unnoted = true;
		report(session, true, "cannot save the totals in %s: %s", session->buffers.path,
				strerror(-ret));
	}
	session->totals.next = now;
}
