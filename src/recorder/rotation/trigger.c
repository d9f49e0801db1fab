/* SPDX-License-Identifier: MIT */
/*
 * Triggers of snapshots, in addition to requests:
 *
 *     event:PATTERN[ where FILTER]       an event that matches
 *     rate:PATTERN[ where FILTER]>N/s    more than N of them within a second
 *     crash                              a recorded process dies of a fault (exit-status.c)
 *     signal:USR1                        always enabled (run-turn.c)
 *
 * Programs count such events in rings that store nothing (RING_COUNTS), with one channel for each
 * trigger. The drain thread reads a few words a few times a second: it decodes nothing, and no
 * event is lost if other rings are full. The program needs no thread for it.
 *
 * Two such snapshots are at least a second apart; later events cause a snapshot after this time. A
 * rate causes one when it rises above its limit. A process that crashed keeps its rings until its
 * snapshot is made.
 *
 * All state belongs to the drain thread, except instance->crash, which the session's lock protects.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/exit-status.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/rotation/snapshot.h"
#include "recorder/rotation/trigger.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

#define PAUSE_NS 1000000000ull
#define SECOND_NS 1000000000ull
#define POLL_NS 10000000ull /* minimum time between two polls */
#define SAMPLE_NS 50000000ull
#define SAMPLES 32

enum trigger_kind { TRIGGER_EVENT, TRIGGER_RATE, TRIGGER_CRASH };

struct trigger {
	enum trigger_kind kind;
	char *text;
	uint32_t channel;
	uint64_t limit;
	uint64_t count; /* events, at the last poll */
	uint64_t done;  /* TRIGGER_EVENT: events that are in a snapshot */
	/* TRIGGER_RATE: samples of `count` in the last second. */
	struct {
		uint64_t time, count;
	} samples[SAMPLES];
	unsigned int nr_samples;
	bool above, due;
};

/* ---- options ---- */

/* `why` may be the text of the same error, whose hint and position do not apply to `text`. */
static int trigger_set_error(struct error *error, const char *text, const char *why)
{
	return error_set_kind(
			error, ERROR_USAGE, -EINVAL, NULL, "--snapshot-on \"%s\": %s", text, why);
}

/* Cuts ">N/s" off the end of the text. */
static int take_limit(struct trigger *trigger, char *text, struct error *error)
{
	char *at = strrchr(text, '>'), *end;

	errno = 0;
	trigger->limit = at && at[1] >= '0' && at[1] <= '9' ? strtoull(at + 1, &end, 10) : 0;
	if (!trigger->limit || errno || strcmp(end, "/s"))
		return trigger_set_error(error, trigger->text,
				"a rate must end in a limit, such as \">1000/s\"");
	*at = '\0';
	return 0;
}

static int take_events(
		struct session *session, struct trigger *trigger, char *text, struct error *error)
{
	char *where = strstr(text, " where ");
	const char *patterns[1] = {text};
	const struct session_rule rule = {.patterns = patterns,
			.nr_patterns = 1,
			.filter = where ? where + strlen(" where ") : NULL};
	int ret;

	if (where)
		*where = '\0';
	ret = channels_add_counter(session, &rule, &trigger->channel, error);
	return ret ? trigger_set_error(error, trigger->text, error->text) : 0;
}

static int take_one(struct session *session, const char *text, struct error *error)
{
	struct trigger *trigger = &session->triggers.list[session->triggers.nr];
	const char *colon = strchr(text, ':');
	char *remainder = strdup(colon ? colon + 1 : "");
	int ret = 0;

	session->triggers.nr++;
	trigger->text = strdup(text);
	if (!remainder || !trigger->text) {
		ret = error_set_no_memory(error);
	} else if (!strcmp(text, "crash")) {
		trigger->kind = TRIGGER_CRASH;
		session->triggers.crash = true;
	} else if (!strncmp(text, "event:", 6) && *remainder) {
		trigger->kind = TRIGGER_EVENT;
		ret = take_events(session, trigger, remainder, error);
	} else if (!strncmp(text, "rate:", 5) && *remainder) {
		trigger->kind = TRIGGER_RATE;
		/* Also count events before the first poll. */
		trigger->samples[0].time = wire_deadline(0);
		trigger->nr_samples = 1;
		ret = take_limit(trigger, remainder, error);
		if (!ret)
			ret = take_events(session, trigger, remainder, error);
	} else {
		ret = trigger_set_error(error, text,
				"write event:PATTERN, event:PATTERN where FILTER, rate:PATTERN>N/s, crash or signal:USR1");
	}
	free(remainder);
	return ret;
}

static bool is_signal(const char *text)
{
	return !strcmp(text, "signal:USR1") || !strcmp(text, "signal:SIGUSR1");
}

int trigger_take(
		struct session *session, const struct session_options *options, struct error *error)
{
	struct triggers *triggers = &session->triggers;
	size_t i;
	int ret = 0;

	triggers->max = options->snapshot_max ? options->snapshot_max : SESSION_SNAPSHOTS_DEFAULT;
	if (!options->nr_snapshot_on)
		return 0;
	if (!channels_any_overwrites(session))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"cannot use --snapshot-on: no channel has `--mode overwrite`");
	triggers->list = calloc(options->nr_snapshot_on, sizeof(*triggers->list));
	if (!triggers->list)
		return error_set_no_memory(error);
	for (i = 0; i < options->nr_snapshot_on && !ret; i++)
		if (!is_signal(options->snapshot_on[i]))
			ret = take_one(session, options->snapshot_on[i], error);
	return ret;
}

void trigger_free(struct session *session)
{
	uint32_t i;

	for (i = 0; i < session->triggers.nr; i++)
		free(session->triggers.list[i].text);
	free(session->triggers.list);
}

/* ---- counting ---- */

/*
 * Returns the events that occurred. Such a ring discards every record and counts it by reason; two
 * reasons do not count here, because these events were not requested.
 */
static uint64_t counted(const struct instance_channel *channel, uint32_t ring)
{
	return ring_consumer_lost_total(channel->rings, ring) -
			ring_consumer_lost(channel->rings, ring, RING_LOST_OTHER) -
			ring_consumer_lost(channel->rings, ring, RING_LOST_NESTED);
}

/* A program can write any values there. Then it causes snapshots, at most one a second. */
static uint64_t count_channel(const struct instance_channel *channel)
{
	uint64_t sum = 0;
	uint32_t ring;

	for (ring = 0; channel->rings && ring < channel->geometry.rings; ring++) {
		uint64_t now = counted(channel, ring);

		sum += now - channel->each[ring].discarded;
		channel->each[ring].discarded = now;
	}
	return sum;
}

void trigger_count(struct session *session, struct instance *instance)
{
	struct triggers *triggers = &session->triggers;
	uint32_t i;

	for (i = 0; i < triggers->nr; i++) {
		struct trigger *trigger = &triggers->list[i];

		if (trigger->kind != TRIGGER_CRASH && trigger->channel < instance->nr_all_channels)
			trigger->count += count_channel(&instance->channels[trigger->channel]);
	}
}

/* ---- decisions ---- */

/* True if there were more events than the limit in a second, or in a longer time without a poll. */
static bool is_above(const struct trigger *trigger, uint64_t now)
{
	uint64_t time, count;

	time = now - trigger->samples[0].time;
	count = trigger->count - trigger->samples[0].count;
	return count > trigger->limit &&
			(double)count * SECOND_NS > (double)trigger->limit * (double)time;
}

static void trigger_check_rate(struct trigger *trigger, uint64_t now)
{
	unsigned int i = 0;
	bool above;

	while (i + 1 < trigger->nr_samples && now - trigger->samples[i].time > SECOND_NS)
		i++;
	memmove(&trigger->samples[0], &trigger->samples[i],
			(trigger->nr_samples - i) * sizeof(trigger->samples[0]));
	trigger->nr_samples -= i;
	above = is_above(trigger, now);
	trigger->due |= above && !trigger->above;
	trigger->above = above;
	i = trigger->nr_samples;
	if (i == SAMPLES || (i && now - trigger->samples[i - 1].time < SAMPLE_NS))
		return;
	trigger->samples[i].time = now;
	trigger->samples[i].count = trigger->count;
	trigger->nr_samples++;
}

static bool trigger_is_due(struct trigger *trigger, uint64_t now)
{
	switch (trigger->kind) {
	case TRIGGER_EVENT: return trigger->count != trigger->done;
	case TRIGGER_RATE: trigger_check_rate(trigger, now); return trigger->due;
	case TRIGGER_CRASH: break;
	}
	return false;
}

/* Returns the instance that died first among those without a snapshot. */
static struct instance *find_crashed(struct session *session, struct instance *active)
{
	struct instance *instance, *found = NULL;

	pthread_mutex_lock(&session->lock);
	for (instance = active; instance; instance = instance->next_active)
		if (instance->crash && !instance->crash_pictured)
			found = instance;
	pthread_mutex_unlock(&session->lock);
	return found;
}

static void done(struct session *session, struct instance *active)
{
	struct triggers *triggers = &session->triggers;
	struct instance *instance;
	uint32_t i;

	for (i = 0; i < triggers->nr; i++) {
		triggers->list[i].done = triggers->list[i].count;
		triggers->list[i].due = false;
	}
	pthread_mutex_lock(&session->lock);
	for (instance = active; instance; instance = instance->next_active)
		instance->crash_pictured = instance->crash != 0;
	pthread_mutex_unlock(&session->lock);
}

static bool has_budget(struct session *session)
{
	struct triggers *triggers = &session->triggers;

	if (triggers->made < triggers->max)
		return true;
	if (!triggers->exhausted)
		report(session, false,
				"made %u automatic snapshots: the limit of --snapshot-max is reached, so side makes no more",
				triggers->made);
	triggers->exhausted = true;
	return false;
}

/*
 * Counts the events first and copies the rings then, so that the snapshot contains all counted
 * events.
 */
static void trigger_write_snapshot(struct session *session, struct instance *active,
		const struct trigger *trigger, const struct instance *crashed, bool last)
{
	char name[128] = "", cause[256];
	uint32_t number;

	if (crashed) {
		snprintf(name, sizeof(name), "-%s-%u-SIG%s", crashed->procname, crashed->pid,
				crash_name(crashed->crash));
		snprintf(cause, sizeof(cause), "process %d (%s) died of SIG%s", (int)crashed->peer,
				crashed->procname, crash_name(crashed->crash));
	} else {
		snprintf(cause, sizeof(cause), "%s", trigger->text);
	}
	session->triggers.made++;
	/* The daemon can ask the programs of its sessions for a state dump. */
	if (session->service && !session->snapshots.open && !last) {
		snapshot_begin_automatic(session, active, name, cause);
		return;
	}
	number = snapshot_make(session, active, name);
	if (number)
		report(session, false, "snapshot-%u%s was made: %s", number, name, cause);
}

void trigger_turn(struct session *session, struct instance *active, bool last)
{
	struct triggers *triggers = &session->triggers;
	const struct trigger *due = NULL;
	struct instance *instance, *crashed;
	uint64_t now = wire_deadline(0);
	uint32_t i;

	if (!triggers->nr || (!last && now - triggers->last_poll < POLL_NS))
		return;
	triggers->last_poll = now;
	triggers->holding = false;
	crashed = triggers->crash ? find_crashed(session, active) : NULL;
	for (instance = active; instance; instance = instance->next_active)
		trigger_count(session, instance);
	for (i = 0; i < triggers->nr; i++)
		if (trigger_is_due(&triggers->list[i], now) && !due)
			due = &triggers->list[i];
	if ((!due && !crashed) || (!last && now < triggers->next))
		return;
	if (has_budget(session)) {
		trigger_write_snapshot(session, active, due, crashed, last);
		triggers->next = wire_deadline(0) + PAUSE_NS;
	}
	done(session, active);
}

/* Events shortly before the end of the process must also be in a snapshot. */
bool trigger_holds(struct session *session, struct instance *instance)
{
	struct triggers *triggers = &session->triggers;
	bool holds;
	uint32_t i;

	if (!triggers->nr)
		return false;
	trigger_count(session, instance);
	pthread_mutex_lock(&session->lock);
	holds = instance->crash && !instance->crash_pictured;
	pthread_mutex_unlock(&session->lock);
	for (i = 0; i < triggers->nr && !triggers->exhausted; i++)
		holds |= triggers->list[i].kind == TRIGGER_EVENT &&
				triggers->list[i].count != triggers->list[i].done;
	triggers->holding |= holds;
	return holds;
}
