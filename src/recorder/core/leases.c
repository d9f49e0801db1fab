/* SPDX-License-Identifier: MIT */
/*
 * Ring memory of programs that record nothing: taken back when other programs of the same user need it, and provided again with the
 * next event (ring/lease.h).
 *
 *	no event described	after MATCH_NS; provided when one is described, or with the first record
 *	never used, or left	when another program of the user needs memory, oldest first
 *	used, and idle		the program is asked to leave it when its user's share is nearly used up
 *
 * Only memory without records is taken back: everything was written out, or, in a channel that overwrites, nothing was ever recorded.
 * Memory of one user never goes to another one: a user's floor stays what it was (shares.h).
 *
 * A program that does not leave its memory is charged with it until it ends. So is a program that writes to memory that was taken back:
 * a memfd keeps its size, and a program can enlarge a file of which it has a descriptor.
 *
 * Main thread and drain thread both change leases, always with the session's lock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/core/live.h"
#include "recorder/core/memory.h"
#include "recorder/core/report.h"
#include "recorder/core/shares.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

#define MATCH_NS UINT64_C(2000000000)
#define IDLE_NS UINT64_C(5000000000)
#define SCAN_NS UINT64_C(1000000000)
#define LOW_SHARE 8 /* of the session's limit: below that a share is nearly used up */
#define NO_MEMORY "the session's ring memory is used up (--memory-limit)"
#define NO_SPACE "the state directory of the session has no space for its rings"

static bool lease_is_open(const struct instance_channel *channel)
{
	return channel->rings && channel->ring_fd >= 0;
}

/*
 * With the lock. Of a process that has ended, memory_trim() has charged only the memory that it holds, perhaps before its end is handled: its leases
 * do not change any more.
 */
static bool lease_is_live(const struct instance *instance)
{
	return instance->state == INSTANCE_LIVE && !instance->trimmed;
}

/* So many bytes of the channel are taken back from now on. */
static void lease_charge(struct session *session, struct instance *instance,
		struct instance_channel *channel, uint64_t revoked)
{
	uint64_t before = channel->revoked;

	channel->revoked = revoked;
	session->memory.used += before - revoked;
	instance->memory += before - revoked;
	if (revoked > before)
		shares_give_back(&session->memory.shares, instance->account, revoked - before);
	else
		shares_charge(&session->memory.shares, instance->account, before - revoked);
	if (session->memory.used > session->memory.peak)
		session->memory.peak = session->memory.used;
}

/* ---- taking back ---- */

/* The bytes that were freed. */
static uint64_t lease_revoke(struct session *session, struct instance *instance,
		struct instance_channel *channel)
{
	uint64_t kept;

	if (!lease_is_live(instance) || !lease_is_open(channel) || channel->revoked ||
			channel->refuses)
		return 0;
	kept = ring_lease_revoke(channel->rings, channel->ring_fd);
	if (!kept)
		return 0;
	channel->unmatched = !channel->ids_capacity;
	lease_charge(session, instance, channel, channel->memory - kept);
	return channel->revoked;
}

/* Of programs that have described no event of the channel, or of those that have. */
static uint64_t lease_reclaim_from(
		struct session *session, uid_t account, uint64_t bytes, bool is_matched)
{
	struct instance *instance;
	uint64_t freed = 0;
	uint32_t i;

	for (instance = session->instances.list; instance && freed < bytes;
			instance = instance->next)
		for (i = 0; instance->account == account && i < instance->nr_channels &&
				freed < bytes;
				i++)
			if ((instance->channels[i].ids_capacity != 0) == is_matched)
				freed += lease_revoke(session, instance, &instance->channels[i]);
	return freed;
}

void leases_reclaim(struct session *session, uid_t account, uint64_t bytes)
{
	uint64_t freed = lease_reclaim_from(session, account, bytes, false);

	if (freed < bytes)
		lease_reclaim_from(session, account, bytes - freed, true);
}

uint64_t leases_revoked(const struct session *session, uid_t account)
{
	const struct instance *instance;
	uint64_t sum = 0;
	uint32_t i;

	for (instance = session->instances.list; instance; instance = instance->next)
		for (i = 0; instance->account == account && instance->state == INSTANCE_LIVE &&
				i < instance->nr_channels;
				i++)
			sum += instance->channels[i].revoked;
	return sum;
}

/* ---- providing ---- */

/* 0 or a negative errno. */
static int lease_provide(struct session *session, struct instance *instance,
		struct instance_channel *channel)
{
	uint64_t bytes = channel->revoked;
	int ret;

	if (bytes > shares_left(&session->memory.shares, instance->account))
		return -ENOMEM;
	ret = ring_lease_grant(channel->rings, channel->ring_fd);
	if (ret)
		return ret;
	lease_charge(session, instance, channel, 0);
	channel->unmatched = false;
	return 0;
}

void leases_matched(struct session *session, struct instance *instance)
{
	uint32_t i;

	pthread_mutex_lock(&session->lock);
	for (i = 0; i < instance->nr_channels && lease_is_live(instance); i++) {
		struct instance_channel *channel = &instance->channels[i];

		/* If there is not enough now, its first event asks. */
		if (lease_is_open(channel) && channel->revoked && channel->unmatched &&
				channel->ids_capacity)
			(void)lease_provide(session, instance, channel);
	}
	pthread_mutex_unlock(&session->lock);
}

/* ---- programs that ask ---- */

/* True if this is the first time. */
static bool lease_deny(struct session *session, struct instance *instance,
		struct instance_channel *channel, int code)
{
	bool is_first = !instance->counted_denied;

	instance->denied = code == -ENOMEM ? NO_MEMORY : NO_SPACE;
	instance->counted_denied = true;
	session->leases.nr_denied += is_first;
	/* Last: the program goes on then. */
	ring_lease_deny(channel->rings);
	return is_first;
}

/* One round over all programs. */
struct lease_round {
	bool is_dry; /* of this user there is nothing to take back: */
	uid_t account;
};

static void lease_answer(struct session *session, struct instance *instance,
		struct instance_channel *channel, struct lease_round *round)
{
	uint64_t left;
	bool reports = false;
	int ret;

	pthread_mutex_lock(&session->lock);
	/* It waits no more. A question without an answer would keep the drain thread awake. */
	if (!lease_is_live(instance)) {
		ring_lease_deny(channel->rings);
		pthread_mutex_unlock(&session->lock);
		return;
	}
	left = shares_left(&session->memory.shares, instance->account);
	if (channel->revoked > left && !(round->is_dry && round->account == instance->account)) {
		leases_reclaim(session, instance->account, channel->revoked - left);
		round->is_dry = channel->revoked >
				shares_left(&session->memory.shares, instance->account);
		round->account = instance->account;
	}
	ret = lease_provide(session, instance, channel);
	if (ret)
		reports = lease_deny(session, instance, channel, ret);
	else
		instance->denied = NULL;
	pthread_mutex_unlock(&session->lock);
	if (reports)
		report_instance(session, instance, true,
				"events of process %d (%s) are not recorded: %s",
				(int)instance->peer, instance->procname,
				ret == -ENOMEM ? NO_MEMORY : NO_SPACE);
}

/* ---- programs that are idle ---- */

/* The share of this user is nearly used up: less than a part of the limit is left, or than its next program may need. */
static bool lease_share_is_low(const struct session *session, const struct instance *instance)
{
	uint64_t least = session->memory.limit / LOW_SHARE, rings = memory_most(session);

	return shares_left(&session->memory.shares, instance->account) <
			(rings > least ? rings : least);
}

/* The program has written to memory that was taken back, or has enlarged the file again. */
static bool lease_is_refilled(const struct session *session, const struct instance_channel *channel)
{
	uint64_t kept = channel->memory - channel->revoked;
	struct stat status;

	if (!session->buffers.path)
		return ring_consumer_resident(channel->rings) > kept;
	return !fstat(channel->ring_fd, &status) && (uint64_t)status.st_size > kept;
}

static void lease_scan_channel(struct session *session, struct instance *instance,
		struct instance_channel *channel, uint64_t now)
{
	uint64_t activity = ring_lease_activity(channel->rings), idle;

	if (activity != channel->activity || !channel->active_ns) {
		channel->activity = activity;
		channel->active_ns = now;
	}
	idle = now - channel->active_ns;
	if (channel->revoked) {
		if (lease_is_refilled(session, channel)) {
			channel->refuses = true;
			lease_charge(session, instance, channel, 0);
		}
	} else if (!channel->ids_capacity && idle >= MATCH_NS) {
		(void)lease_revoke(session, instance, channel);
	} else if (idle >= IDLE_NS && ring_lease_is_empty(channel->rings) &&
			lease_share_is_low(session, instance)) {
		(void)ring_lease_recall(channel->rings);
	}
}

static void lease_scan(struct session *session, struct instance *active)
{
	struct instance *instance;
	uint64_t now = clock_monotonic_ns();
	uint32_t i;

	if (now < session->leases.next)
		return;
	session->leases.next = now + SCAN_NS;
	pthread_mutex_lock(&session->lock);
	for (instance = active; instance; instance = instance->next_active)
		for (i = 0; i < instance->nr_channels && lease_is_live(instance); i++)
			if (lease_is_open(&instance->channels[i]))
				lease_scan_channel(session, instance, &instance->channels[i], now);
	pthread_mutex_unlock(&session->lock);
}

void leases_turn(struct session *session, struct instance *active)
{
	struct lease_round round = {0};
	struct instance *instance;
	uint32_t i;

	for (instance = active; instance; instance = instance->next_active)
		for (i = 0; i < instance->nr_channels; i++) {
			struct instance_channel *channel = &instance->channels[i];

			if (lease_is_open(channel) && ring_lease_take_question(channel->rings))
				lease_answer(session, instance, channel, &round);
		}
	lease_scan(session, active);
}

/* ---- what is shown ---- */

bool leases_has_revoked(const struct instance *instance)
{
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++)
		if (instance->channels[i].revoked)
			return true;
	return false;
}

/* As many of each user as refusals.c keeps. */
static bool lease_is_shown(const struct session_status *status, uid_t account)
{
	size_t nr = 0;

	for (size_t i = 0; i < status->nr_waiting; i++)
		nr += status->refused[i].uid == account;
	return nr < REFUSALS_OF_USER;
}

static bool lease_add_waiting(struct session_status *status, const struct instance *instance)
{
	struct session_status_refused *more = realloc(status->refused,
						      (status->nr_waiting + 1) * sizeof(*more)),
				      *one;

	if (!more)
		return false;
	status->refused = more;
	one = &more[status->nr_waiting];
	*one = (struct session_status_refused){.peer = instance->peer,
			.uid = instance->account,
			.procname = strdup(instance->procname),
			.reason = instance->denied};
	status->nr_waiting += one->procname != NULL;
	return one->procname;
}

int leases_status(struct session *session, struct session_status *status)
{
	const struct instance *instance;
	int ret = 0;

	pthread_mutex_lock(&session->lock);
	for (instance = session->instances.list; instance && !ret; instance = instance->next) {
		if (instance->state != INSTANCE_LIVE)
			continue;
		if (instance->denied && lease_is_shown(status, instance->account))
			ret = lease_add_waiting(status, instance) ? 0 : -ENOMEM;
		else if (!instance->denied)
			status->nr_idle += leases_has_revoked(instance);
	}
	pthread_mutex_unlock(&session->lock);
	return ret;
}
