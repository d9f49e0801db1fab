/* SPDX-License-Identifier: MIT */
/*
 * The rings of processes, and the session's limit on all of them together.
 *
 * A process gets rings of the sizes asked for while there is plenty. Once it would take more than 1/32 of what its
 * user can still take of the session's limit (shares.h), all its rings are halved, down to the minimum, so that
 * some hundred programs fit that record. Idle programs need nothing (leases.c): if there is not enough for the smallest rings, memory of
 * idle programs of the same user is taken back. If that is too little, the process begins without memory, and gets it with its first
 * event. A process that cannot do that is refused; it asks again later.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/core/channels.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/core/memory.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

#define SHARE_OF_WHAT_IS_LEFT 32
#define SHARE_OF_FLOOR 4 /* of a user's first process */
#define PLENTY 4         /* so often the rings asked for are left */
#define WAIT_FOR_MEMORY_NS 300000000
#define HALVINGS_MAX 32

static struct ring_geometry geometry_of(
		const struct session *session, const struct channel *channel, unsigned int halvings)
{
	uint64_t size = channel->ring_size >> halvings;
	struct ring_geometry geometry = {
			.rings = channel->rings,
			.event_slots = EVENT_SLOTS,
			.size = size > SESSION_RING_MIN ? size : SESSION_RING_MIN,
			.mode = channel->mode,
			.clock = session->clock.kind,
			.placement = channel->placement,
			.flags = session->memory.prefault ? RING_PREFAULT : 0,
			.block_timeout_us = channel->block_timeout_us,
	};

	if (channel->counts) {
		geometry.event_slots = 1;
		geometry.size = SESSION_RING_MIN;
		geometry.flags = RING_COUNTS;
		return geometry;
	}
	/* Files have the pages of their file system. */
	if (session->memory.huge_pages && !session->buffers.path &&
			geometry.size >= ring_huge_page_size())
		geometry.flags |= RING_HUGE_PAGES;
	return geometry;
}

/* What one process takes with rings halved so often; 0: more than can be counted. */
static uint64_t process_memory(const struct session *session, unsigned int halvings)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < session->nr_all_channels; i++) {
		struct ring_geometry geometry =
				geometry_of(session, &session->channels[i], halvings);
		uint64_t size = ring_memory_size(&geometry);

		if (!size || sum + size < sum)
			return 0;
		sum += size;
	}
	return sum;
}

static bool are_smallest(const struct session *session, unsigned int halvings)
{
	uint32_t i;

	for (i = 0; i < session->nr_channels; i++)
		if (session->channels[i].ring_size >> halvings > SESSION_RING_MIN)
			return false;
	return true;
}

/* The part of its user's remaining memory that a process may take. A single process may take all of it. */
static uint64_t record_memory_process_share(
		const struct session *session, const struct instance *instance)
{
	const struct shares *shares = &session->memory.shares;
	uint64_t left = shares_left(shares, instance->account);
	uint64_t revoked = leases_revoked(session, instance->account);

	/* Memory that was taken back is asked for again: rings are as small as if all had it. */
	left = left > revoked ? left - revoked : 0;
	if (shares_used(shares, instance->account))
		return left / SHARE_OF_WHAT_IS_LEFT;
	/* With floors, other users can have taken all but one of them. */
	return shares->nr_floors ? left / SHARE_OF_FLOOR : left;
}

/*
 * The largest rings that the memory left allows, with the lock held. False: not even the smallest.
 * *plenty: waiting for the memory of processes that have ended is not worth it.
 */
static bool fit_memory(struct session *session, struct instance *instance, bool *plenty)
{
	uint64_t left = shares_left(&session->memory.shares, instance->account);
	uint64_t part = record_memory_process_share(session, instance);
	unsigned int halvings;
	bool fits;
	uint32_t i;

	for (halvings = 0;; halvings++) {
		instance->memory = process_memory(session, halvings);
		fits = instance->memory && instance->memory <= left;
		if (are_smallest(session, halvings) || (fits && instance->memory <= part))
			break;
	}
	for (i = 0; i < instance->nr_all_channels; i++) {
		struct instance_channel *channel = &instance->channels[i];

		channel->geometry = geometry_of(session, channel->channel, halvings);
		channel->memory = ring_memory_size(&channel->geometry);
		if (instance->takes_leases && !channel->geometry.flags)
			channel->geometry.flags = RING_LEASED;
	}
	*plenty = fits && (!halvings || process_memory(session, 0) <= left / PLENTY);
	return fits;
}

/* The same, with memory of idle processes. */
static bool fit_with_idle(struct session *session, struct instance *instance, bool *plenty)
{
	uint64_t left = shares_left(&session->memory.shares, instance->account);
	bool fits = fit_memory(session, instance, plenty);

	if (fits || instance->memory <= left)
		return fits;
	leases_reclaim(session, instance->account, instance->memory - left);
	return fit_memory(session, instance, plenty);
}

/* Without the memory that it can ask for later, with the lock held. False: there is not even so much, or it cannot ask. */
static bool fit_without_rings(const struct session *session, struct instance *instance)
{
	uint32_t i;

	instance->memory = 0;
	for (i = 0; i < instance->nr_all_channels; i++) {
		struct instance_channel *channel = &instance->channels[i];

		if (channel->geometry.flags & RING_LEASED)
			channel->revoked = channel->memory - ring_memory_kept(&channel->geometry);
		instance->memory += channel->memory - channel->revoked;
	}
	return instance->memory &&
			instance->memory <= shares_left(&session->memory.shares, instance->account);
}

void memory_trim(struct session *session, struct instance *instance)
{
	uint64_t bytes = 0;
	uint32_t i;

	/* Files have all of their bytes on the disk. */
	if (instance->trimmed || session->buffers.path || !instance->memory)
		return;
	for (i = 0; i < instance->nr_all_channels; i++)
		if (instance->channels[i].rings)
			bytes += ring_consumer_resident(instance->channels[i].rings);
	pthread_mutex_lock(&session->lock);
	if (bytes < instance->memory) {
		session->memory.used -= instance->memory - bytes;
		shares_give_back(&session->memory.shares, instance->account,
				instance->memory - bytes);
		if (instance->state == INSTANCE_ENDED)
			session->memory.ended -= instance->memory - bytes;
		instance->memory = bytes;
	}
	instance->trimmed = true;
	pthread_mutex_unlock(&session->lock);
}

/* Ended processes that are kept until messages of other processes are handled. */
static void trim_dead(struct session *session)
{
	struct instance *instance;

	for (instance = session->instances.live; instance; instance = instance->next_live) {
		struct pollfd ended = {.fd = instance->watch.fd, .events = POLLIN};

		if (!instance->trimmed && ended.fd >= 0 && poll(&ended, 1, 0) > 0)
			memory_trim(session, instance);
	}
}

/* With the lock held. */
static void count_memory(struct session *session, uint64_t bytes)
{
	session->memory.used += bytes;
	if (session->memory.used > session->memory.peak)
		session->memory.peak = session->memory.used;
}

/*
 * Take ring memory from the session's. False: there is not enough for the smallest rings. Processes
 * that come faster than the drain thread can close those that have gone wait for it a little.
 */
bool memory_take(struct session *session, struct instance *instance)
{
	struct timespec until;
	bool fits, plenty;

	pthread_mutex_lock(&session->lock);
	(void)fit_memory(session, instance, &plenty);
	pthread_mutex_unlock(&session->lock);
	if (!plenty)
		trim_dead(session);
	until = deadline_timespec(deadline_after_ns(WAIT_FOR_MEMORY_NS));
	pthread_mutex_lock(&session->lock);
	for (;;) {
		fits = fit_with_idle(session, instance, &plenty);
		if (plenty || !session->memory.ended ||
				pthread_cond_clockwait(&session->memory.back, &session->lock,
						CLOCK_MONOTONIC, &until))
			break;
	}
	fits = fits || fit_without_rings(session, instance);
	fits = fits && shares_take(&session->memory.shares, instance->account, instance->memory);
	if (fits)
		count_memory(session, instance->memory);
	else
		instance->memory = 0;
	pthread_mutex_unlock(&session->lock);
	return fits;
}

bool memory_take_found(struct session *session, struct instance *instance)
{
	uint64_t sum = 0;
	bool fits;
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++) {
		instance->channels[i].memory = ring_memory_size(&instance->channels[i].geometry);
		sum += instance->channels[i].memory - instance->channels[i].revoked;
	}
	pthread_mutex_lock(&session->lock);
	fits = sum <= session->memory.limit - session->memory.used;
	/* It is recorded already, so its user's share does not matter. */
	if (fits) {
		instance->memory = sum;
		shares_charge(&session->memory.shares, instance->account, sum);
		count_memory(session, sum);
	}
	pthread_mutex_unlock(&session->lock);
	return fits;
}

void memory_give_back(struct session *session, struct instance *instance)
{
	pthread_mutex_lock(&session->lock);
	session->memory.used -= instance->memory;
	shares_give_back(&session->memory.shares, instance->account, instance->memory);
	if (instance->state == INSTANCE_ENDED)
		session->memory.ended -= instance->memory;
	instance->memory = 0;
	pthread_cond_signal(&session->memory.back);
	pthread_mutex_unlock(&session->lock);
}

bool memory_make_tables(struct instance_channel *channel)
{
	channel->each = calloc(channel->geometry.rings, sizeof(*channel->each));
	return channel->each;
}

/* ---- before anything starts ---- */

uint64_t memory_least(const struct session *session)
{
	unsigned int halvings = 0;

	while (!are_smallest(session, halvings))
		halvings++;
	return process_memory(session, halvings);
}

uint64_t memory_most(const struct session *session)
{
	return process_memory(session, 0);
}

/* Is there a huge page at all? */
static void try_huge_pages(struct session *session)
{
	struct ring_geometry geometry = {
			.rings = 1,
			.event_slots = EVENT_SLOTS,
			.size = ring_huge_page_size(),
			.clock = session->clock.kind,
			.flags = RING_HUGE_PAGES,
	};
	bool large = false;
	uint32_t i;
	int ret, fd;

	for (i = 0; i < session->nr_channels; i++)
		large |= session->channels[i].ring_size >= geometry.size;
	if (geometry.size && !large) {
		report(session, false,
				"no ring is as large as a huge page (%llu KiB; --buffer-size): ordinary pages are used",
				(unsigned long long)geometry.size / 1024);
		session->memory.huge_pages = false;
		return;
	}
	ret = geometry.size ? ring_memory_create(&geometry, &fd) : -ENOTSUP;
	if (!ret) {
		close(fd);
		return;
	}
	session->memory.huge_pages = false;
	if (ret == -ENOTSUP)
		report(session, false, "this kernel has no huge pages: ordinary ones are used");
	else
		report(session, false,
				"there are no huge pages (%s): ordinary ones are used\n`sysctl vm.nr_hugepages=N` makes them",
				strerror(-ret));
}

/* Rings are files, so the limit of file size applies to them. */
static int check_file_size(struct session *session, struct session_error *error)
{
	struct rlimit limit;
	uint32_t i;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_max == RLIM_INFINITY)
		return 0;
	for (i = 0; i < session->nr_all_channels; i++) {
		struct ring_geometry geometry = geometry_of(session, &session->channels[i], 0);
		uint64_t size = ring_memory_size(&geometry);

		if (size > limit.rlim_max) {
			session_fail(error, SESSION_ERROR_USAGE, EFBIG,
					"the rings of one process take %llu KiB, and no file may have more than %llu KiB here (ulimit -f)",
					(unsigned long long)size / 1024,
					(unsigned long long)limit.rlim_max / 1024);
			return session_hint(error,
					"`--buffer-size` makes the rings smaller\n`ulimit -f unlimited` raises the limit");
		}
	}
	return 0;
}

/* What one process takes if no ring is larger than `ring_size`. */
static uint64_t capped_memory(const struct session *session, uint64_t ring_size)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < session->nr_all_channels; i++) {
		struct channel channel = session->channels[i];
		struct ring_geometry geometry;

		if (channel.ring_size > ring_size)
			channel.ring_size = ring_size;
		geometry = geometry_of(session, &channel, 0);
		sum += ring_memory_size(&geometry);
	}
	return sum;
}

/* The largest size of a ring with which a process fits the limit; 0: none does. */
static uint64_t largest_ring(const struct session *session)
{
	uint64_t size = 0;
	uint32_t i;

	for (i = 0; i < session->nr_channels; i++)
		if (session->channels[i].ring_size > size)
			size = session->channels[i].ring_size;
	while (size >= SESSION_RING_MIN && capped_memory(session, size) > session->memory.limit)
		size /= 2;
	return size >= SESSION_RING_MIN ? size : 0;
}

static bool has_ring_size(const struct session_options *options)
{
	size_t i;

	for (i = 0; i < options->nr_channels; i++)
		if (options->channels[i].ring_size)
			return true;
	return false;
}

/* Only options that the user gave: not each command has both. `size`: of the rings of a process. */
static void hint_at_memory(const struct session *session, const struct session_options *options,
		uint64_t size, struct session_error *error)
{
	const uint64_t largest = has_ring_size(options) ? largest_ring(session) : 0;
	const bool whole = largest >= 1 << 20;

	if (largest)
		snprintf(error->hint, sizeof(error->hint),
				"`--buffer-size %llu%c` is the largest that fits%s",
				(unsigned long long)(largest >> (whole ? 20 : 10)),
				whole ? 'M' : 'K',
				session->nr_channels > 1 ? ", if no channel has more" : "");
	else if (size && options->memory_limit)
		snprintf(error->hint, sizeof(error->hint),
				"`--memory-limit %lluK` is the smallest that fits",
				(unsigned long long)(size + 1023) / 1024);
}

int memory_check(struct session *session, const struct session_options *options,
		struct session_error *error)
{
	uint64_t size;
	int ret;

	session->memory.prefault = options->prefault;
	session->memory.huge_pages = options->huge_pages;
	session->memory.limit =
			options->memory_limit ? options->memory_limit : SESSION_MEMORY_DEFAULT;
	if (session->memory.huge_pages && options->buffers) {
		report(session, false,
				"rings in files have the pages of their file system: --huge-pages changes nothing");
		session->memory.huge_pages = false;
	}
	if (session->memory.huge_pages)
		try_huge_pages(session);
	size = process_memory(session, 0);
	if (size && size <= session->memory.limit)
		return check_file_size(session, error);
	ret = session_fail(error, SESSION_ERROR_USAGE, EINVAL,
			"the rings of %s of one process take %llu KiB on this machine, more than the session's limit of %llu KiB%s",
			session->nr_channels == 1 ? "the channel" : "all channels",
			(unsigned long long)size / 1024,
			(unsigned long long)session->memory.limit / 1024,
			options->memory_limit ? " (--memory-limit)" : "");
	hint_at_memory(session, options, size, error);
	return ret;
}
