/* SPDX-License-Identifier: MIT */
/*
 * Reserves the rings of processes within the session's limit for all of them.
 *
 * A process gets rings of the requested sizes if they take at most 1/32 of the memory that its user
 * can still take (shares.h). Otherwise all its rings are halved until they do, or have the minimum
 * size. So some hundred programs fit. Idle programs need no memory (leases.c): if there is not
 * enough for the smallest rings, memory of idle programs of the same user is revoked. If that is
 * not enough, the process starts without memory and gets it with its first event. A process that
 * does not support this is refused; it asks again later.
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
#include "base/error.h"
#include "recorder/core/channels.h"
#include "recorder/core/instance-state.h"
#include "recorder/core/leases.h"
#include "recorder/core/memory-size.h"
#include "recorder/core/memory.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

#define SHARE_OF_WHAT_IS_LEFT 32
#define SHARE_OF_FLOOR 4 /* for a user's first process */
/* memory is plentiful if it suffices for this many processes with the requested rings */
#define PLENTY 4
#define WAIT_FOR_MEMORY_NS 300000000
#define HALVINGS_MAX 32

static bool are_smallest(const struct session *session, unsigned int halvings)
{
	uint32_t i;

	for (i = 0; i < session->nr_channels; i++)
		if (session->channels[i].ring_size >> halvings > SESSION_RING_MIN)
			return false;
	return true;
}

/*
 * Returns the part of the user's remaining memory that a process may take. A user's only process
 * may take all of it.
 */
static uint64_t record_memory_process_share(
		const struct session *session, const struct instance *instance)
{
	const struct shares *shares = &session->memory.shares;
	uint64_t left = shares_left(shares, instance->account);
	uint64_t revoked = leases_revoked(session, instance->account);

	/*
	 * Programs will request their revoked memory again, so rings are sized as if all programs
	 * had theirs.
	 */
	left = left > revoked ? left - revoked : 0;
	if (shares_used(shares, instance->account))
		return left / SHARE_OF_WHAT_IS_LEFT;
	/* With floors, other users can have taken everything except the own floor. */
	return shares->nr_floors ? left / SHARE_OF_FLOOR : left;
}

/*
 * Chooses the largest rings that the remaining memory allows. Returns false if not even the
 * smallest fit. *ret_plenty: enough memory is left, so waiting for that of ended processes is not
 * worthwhile. The caller holds the lock.
 */
static bool fit_memory(struct session *session, struct instance *instance, bool *ret_plenty)
{
	uint64_t left = shares_left(&session->memory.shares, instance->account);
	uint64_t part = record_memory_process_share(session, instance);
	unsigned int halvings;
	bool fits;
	uint32_t i;

	for (halvings = 0;; halvings++) {
		instance->memory = memory_size_of_process(session, halvings);
		fits = instance->memory && instance->memory <= left;
		if (are_smallest(session, halvings) || (fits && instance->memory <= part))
			break;
	}
	for (i = 0; i < instance->nr_all_channels; i++) {
		struct instance_channel *channel = &instance->channels[i];

		channel->geometry = memory_size_geometry(session, channel->channel, halvings);
		channel->memory = ring_memory_size(&channel->geometry);
		if (instance->takes_leases && !channel->geometry.flags)
			channel->geometry.flags = RING_LEASED;
	}
	*ret_plenty = fits && (!halvings || memory_most(session) <= left / PLENTY);
	return fits;
}

/* As fit_memory(), but revokes memory of idle processes if needed. */
static bool fit_with_idle(struct session *session, struct instance *instance, bool *ret_plenty)
{
	uint64_t left = shares_left(&session->memory.shares, instance->account);
	bool fits = fit_memory(session, instance, ret_plenty);

	if (fits || instance->memory <= left)
		return fits;
	leases_reclaim(session, instance->account, instance->memory - left);
	return fit_memory(session, instance, ret_plenty);
}

/*
 * Starts the process without the memory that it can request later. Returns false if not even the
 * remainder is available, or if the process cannot request memory. The caller holds the lock.
 */
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

	/* Files keep all of their bytes on the disk. */
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

/*
 * Trims processes that have exited, but are still live instances until the messages of other
 * processes are handled.
 */
static void trim_dead(struct session *session)
{
	struct instance *instance;

	for (instance = session->instances.live; instance; instance = instance->next_live) {
		struct pollfd ended = {.fd = instance->watch.fd, .events = POLLIN};

		if (!instance->trimmed && ended.fd >= 0 && poll(&ended, 1, 0) > 0)
			memory_trim(session, instance);
	}
}

/* The caller holds the lock. */
static void count_memory(struct session *session, uint64_t bytes)
{
	session->memory.used += bytes;
	if (session->memory.used > session->memory.peak)
		session->memory.peak = session->memory.used;
}

/*
 * Reserves ring memory for a process. Returns false if there is not enough for the smallest rings.
 * If processes start faster than the drain thread can close ended ones, it waits for a limited
 * time.
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
	/* The memory exists already, so its user's share does not limit it. */
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

/* ---- checks before the start ---- */

uint64_t memory_least(const struct session *session)
{
	unsigned int halvings = 0;

	while (!are_smallest(session, halvings))
		halvings++;
	return memory_size_of_process(session, halvings);
}

/* Disables huge pages, with a message, if the machine has none. */
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
				"there are no huge pages (%s): ordinary ones are used\n`sysctl vm.nr_hugepages=N` reserves some",
				strerror(-ret));
}

/* If rings are files, the limit of the file size applies to them. */
static int check_file_size(struct session *session, struct error *error)
{
	struct rlimit limit;
	uint32_t i;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_max == RLIM_INFINITY)
		return 0;
	for (i = 0; i < session->nr_all_channels; i++) {
		struct ring_geometry geometry =
				memory_size_geometry(session, &session->channels[i], 0);
		uint64_t size = ring_memory_size(&geometry);

		if (size > limit.rlim_max)
			return error_set_kind(error, ERROR_USAGE, -EFBIG,
					"`--buffer-size` makes the rings smaller\n`ulimit -f unlimited` raises the limit",
					"the rings of one process need %llu KiB, and a file may have at most %llu KiB here (ulimit -f)",
					(unsigned long long)size / 1024,
					(unsigned long long)limit.rlim_max / 1024);
	}
	return 0;
}

/* Returns the memory of one process if no ring is larger than `ring_size`. */
static uint64_t capped_memory(const struct session *session, uint64_t ring_size)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < session->nr_all_channels; i++) {
		struct channel channel = session->channels[i];
		struct ring_geometry geometry;

		if (channel.ring_size > ring_size)
			channel.ring_size = ring_size;
		geometry = memory_size_geometry(session, &channel, 0);
		sum += ring_memory_size(&geometry);
	}
	return sum;
}

/* Returns the largest ring size with which a process fits the limit; 0 if none does. */
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

/*
 * Adds a hint that names only options that the user gave: not every command has both. `size`: bytes
 * of the rings of a process.
 */
static void hint_at_memory(const struct session *session, const struct session_options *options,
		uint64_t size, struct error *error)
{
	const uint64_t largest = has_ring_size(options) ? largest_ring(session) : 0;
	const bool whole = largest >= 1 << 20;

	if (largest)
		error_set_hint(error, "`--buffer-size %llu%c` is the largest that fits%s",
				(unsigned long long)(largest >> (whole ? 20 : 10)),
				whole ? 'M' : 'K',
				session->nr_channels > 1 ? ", if no channel has more" : "");
	else if (size && options->memory_limit)
		error_set_hint(error, "`--memory-limit %lluK` is the smallest that fits",
				(unsigned long long)(size + 1023) / 1024);
}

int memory_check(
		struct session *session, const struct session_options *options, struct error *error)
{
	uint64_t size;
	int ret;

	session->memory.prefault = options->prefault;
	session->memory.huge_pages = options->huge_pages;
	session->memory.limit =
			options->memory_limit ? options->memory_limit : SESSION_MEMORY_DEFAULT;
	if (session->memory.huge_pages && options->buffers) {
		report(session, false,
				"--huge-pages has no effect: rings in files have the page size of their file system");
		session->memory.huge_pages = false;
	}
	if (session->memory.huge_pages)
		try_huge_pages(session);
	size = memory_most(session);
	if (size && size <= session->memory.limit)
		return check_file_size(session, error);
	ret = error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
			"the rings of %s of one process need %llu KiB on this machine, more than the session's limit of %llu KiB%s",
			session->nr_channels == 1 ? "the channel" : "all channels",
			(unsigned long long)size / 1024,
			(unsigned long long)session->memory.limit / 1024,
			options->memory_limit ? " (--memory-limit)" : "");
	hint_at_memory(session, options, size, error);
	return ret;
}
