/* SPDX-License-Identifier: MIT */
/*
 * Revokes the ring memory of programs that record nothing when other programs of the same user need
 * it, and provides it again with the next event (ring/lease.h).
 *
 *   no event described   revoked after MATCH_NS; provided when one is described, or with the first
 *                        record
 *   never used, or left  revoked when another program of the user needs memory, oldest first
 *   used, and idle       the program is asked to leave it when its user's share is nearly
 *                        exhausted
 *
 * Only memory without records is revoked: all records were written, or, in overwrite mode, no
 * record was ever made. Memory of one user never goes to another one: a user's floor does not
 * change (shares.h).
 *
 * A program is charged for memory that it does not leave until it ends. So is a program that writes
 * to revoked memory: a memfd keeps its size, and a program can enlarge a file of which it has a
 * descriptor.
 *
 * The main thread and the drain thread change leases, always with the session's lock held.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "recorder/core/instance-state.h"
#include "recorder/core/leases.h"
#include "recorder/core/live.h"
#include "recorder/core/memory-size.h"
#include "recorder/core/report.h"
#include "recorder/core/shares.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

#define MATCH_NS UINT64_C(2000000000)
#define IDLE_NS UINT64_C(5000000000)
#define SCAN_NS UINT64_C(1000000000)
#define LOW_SHARE 8 /* a share is low if less than this part of the limit is left */
#define NO_MEMORY "the session's ring memory is used up (--memory-limit)"
#define NO_SPACE "the state directory of the session has no space for its rings"

static bool lease_is_open(const struct instance_channel *channel)
{
	return channel->rings && channel->ring_fd >= 0;
}

/*
 * The caller holds the lock. For a process that has exited, memory_trim() charges only the memory
 * in use, possibly before the recorder handles the exit: its leases must not change any more.
 */
static bool lease_is_live(const struct instance *instance)
{
	return instance->state == INSTANCE_LIVE && !instance->trimmed;
}

/* Charges the instance with `revoked` bytes less than the channel's whole memory. */
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

/* ---- revoking ---- */

/* Returns the bytes that were freed. */
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

/*
 * Reclaims from programs that have described an event of the channel (is_matched), or from those
 * that have not.
 */
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

/* Returns 0 or a negative errno. */
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

		/*
		 * If there is not enough memory now, the program requests it with its first event.
		 */
		if (lease_is_open(channel) && channel->revoked && channel->unmatched &&
				channel->ids_capacity)
			(void)lease_provide(session, instance, channel);
	}
	pthread_mutex_unlock(&session->lock);
}

/* ---- requests of programs ---- */

/* Refuses a request. Returns true if this is the first refusal for the process. */
static bool lease_deny(struct session *session, struct instance *instance,
		struct instance_channel *channel, int code)
{
	bool is_first = !instance->counted_denied;

	instance->denied = code == -ENOMEM ? NO_MEMORY : NO_SPACE;
	instance->counted_denied = true;
	session->leases.nr_denied += is_first;
	/* Last, because the program continues then. */
	ring_lease_deny(channel->rings);
	return is_first;
}

/* State of one round over all programs. */
struct lease_round {
	bool is_dry; /* nothing is left to reclaim from this user: */
	uid_t account;
};

/* Reports a process whose first request was refused, or keeps the message for leases_report(). */
static void lease_report_denied(
		struct session *session, const struct instance *instance, const char *reason)
{
	int length;

	if (session->service) {
		report_instance(session, instance, true,
				"events of process %d (%s) are not recorded: %s",
				(int)instance->peer, instance->procname, reason);
		return;
	}
	if (session->leases.first_denied)
		return;
	length = asprintf(&session->leases.first_denied, "process %d (%s) are not recorded: %s",
			(int)instance->peer, instance->procname, reason);
	if (length < 0)
		session->leases.first_denied = NULL;
}

static void lease_answer(struct session *session, struct instance *instance,
		struct instance_channel *channel, struct lease_round *round)
{
	uint64_t left;
	bool reports = false;
	int ret;

	pthread_mutex_lock(&session->lock);
	/* The process no longer waits. An unanswered request would keep the drain thread awake. */
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
		lease_report_denied(session, instance, ret == -ENOMEM ? NO_MEMORY : NO_SPACE);
}

/* ---- idle programs ---- */

/*
 * True if the user's share is nearly exhausted: less than a part of the limit is left, or less than
 * the user's next program may need.
 */
static bool lease_share_is_low(const struct session *session, const struct instance *instance)
{
	uint64_t least = session->memory.limit / LOW_SHARE, rings = memory_most(session);

	return shares_left(&session->memory.shares, instance->account) <
			(rings > least ? rings : least);
}

/* True if the program has written to revoked memory, or has enlarged the file again. */
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

/* ---- status ---- */

bool leases_has_revoked(const struct instance *instance)
{
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++)
		if (instance->channels[i].revoked)
			return true;
	return false;
}

/* Limits the entries of each user to the number that refusals.c stores. */
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

/* ---- the end ---- */

void leases_report(struct session *session)
{
	const char *first = session->leases.first_denied;
	size_t nr = session->leases.nr_denied;

	if (!first)
		return;
	if (nr > 1)
		report(session, true,
				"events of %zu processes are not recorded, the first: events of %s",
				nr, first);
	else
		report(session, true, "events of %s", first);
}

void leases_free(struct session *session)
{
	free(session->leases.first_denied);
	session->leases.first_denied = NULL;
}
