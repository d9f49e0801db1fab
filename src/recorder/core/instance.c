/* SPDX-License-Identifier: MIT */
/*
 * Process images: how one begins, and how it ends.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/connection.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/core/maps.h"
#include "recorder/core/memory.h"
#include "recorder/core/peer.h"
#include "recorder/core/probe-offers.h"
#include "recorder/core/session-state.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "recorder/core/watch.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/journal.h"
#include "ring/ring.h"

/* Only what is harmless in a file name and in a terminal. */
char *instance_clean_name(const char *name)
{
	char *clean = strndup(name, 64);
	char *at;

	for (at = clean; at && *at; at++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-",
				    *at) ||
				(at == clean && (*at == '.' || *at == '-')))
			*at = '_';
	if (clean && !*clean) {
		free(clean);
		clean = strdup("unknown");
	}
	return clean;
}

/* A path is shown to people: nothing in it may speak to their terminals. */
static char *clean_path(const char *path)
{
	char *clean = strdup(path);
	char *at;

	for (at = clean; at && *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	return clean;
}

bool instance_link(struct session *session, struct instance *instance)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &instance->watch};
	bool lives = instance->state == INSTANCE_LIVE, asks = leases_has_revoked(instance);

	if (lives && epoll_ctl(session->loop.epoll, EPOLL_CTL_ADD, instance->watch.fd, &event))
		return false;
	pthread_mutex_lock(&session->lock);
	*session->instances.end = instance;
	session->instances.end = &instance->next;
	instance->next_active = session->instances.fresh;
	session->instances.fresh = instance;
	session->instances.nr++;
	session->instances.nr_live += lives;
	if (lives)
		shares_charge(&session->instances.shares, instance->account, 1);
	if (!lives)
		session->memory.ended += instance->memory;
	pthread_mutex_unlock(&session->lock);
	if (!lives)
		return true;
	instance->next_live = session->instances.live;
	session->instances.live = instance;
	/* Its first event may ask for memory at once: the drain thread must listen to it. */
	if (session->drain.bells && asks)
		ring_bells_ring(session->drain.bells);
	return true;
}

/*
 * A process that speaks for the first time under a pid we know has become another program by
 * exec(): what it was has ended. (Or the pid was used again: then too.)
 */
void instance_end_predecessor(struct session *session, pid_t peer)
{
	struct instance *instance, *next;

	for (instance = session->instances.live; instance; instance = next) {
		next = instance->next_live;
		if (instance->peer == peer)
			instance_end(session, instance);
	}
}

struct instance *instance_allocate(const char *procname, const char *exe,
		const struct channel *channels, uint32_t nr_channels)
{
	struct instance *instance = calloc(1, sizeof(*instance));
	uint32_t i;

	if (!instance)
		return NULL;
	instance->watch = (struct watch){.kind = WATCH_INSTANCE, .fd = -1};
	instance->described_fd = -1;
	instance->procname = instance_clean_name(procname);
	instance->exe = clean_path(exe);
	instance->channels = calloc(nr_channels + 1, sizeof(*instance->channels));
	for (i = 0; instance->channels && i < nr_channels; i++)
		instance->channels[i] =
				(struct instance_channel){.channel = &channels[i], .ring_fd = -1};
	instance->nr_all_channels = instance->channels ? nr_channels : 0;
	for (i = 0; i < instance->nr_all_channels && !channels[i].counts; i++)
		instance->nr_channels++;
	if (instance->procname && instance->exe && instance->channels)
		return instance;
	free(instance->procname);
	free(instance->exe);
	free(instance->channels);
	free(instance);
	return NULL;
}

/* The process that forked it, if it is known and runs. */
static struct instance *find_parent(const struct session *session, const struct wire_hello *hello)
{
	struct instance *instance = session->instances.live;

	if (!(hello->features & WIRE_FEATURE_FORKED) || !hello->parent_token)
		return NULL;
	while (instance && instance->token != hello->parent_token)
		instance = instance->next_live;
	return instance;
}

void instance_count_refused(const struct session *session, const struct wire_hello *hello)
{
	struct instance *instance = find_parent(session, hello);

	/* Otherwise the oldest one that runs: in a recording of a command, the command itself. */
	if (!instance)
		for (instance = session->instances.live; instance && instance->next_live;)
			instance = instance->next_live;
	/* Relaxed: a statistics counter. */
	if (instance)
		__atomic_fetch_add(&instance->refused, 1, __ATOMIC_RELAXED);
}

/* From a peer that may be anybody: the reason is for it and for the user. */
static int instance_init(struct session *session, struct instance *instance,
		const struct wire_hello *hello, const struct connection *connection, int *ring_fds,
		const char **reason)
{
	instance->peer = connection->peer;
	instance->uid = instance->account = connection->uid;
	instance->gid = connection->gid;
	instance->control = hello->control;
	instance->control_signal = hello->control_signal;
	instance->pid = hello->pid;
	instance->parent = hello->parent;
	instance->token = hello->token;
	instance->number = session->instances.nr;
	instance->begin_ticks = ring_clock_now(session->clock.kind);
	instance->takes_probes = hello->features & WIRE_FEATURE_PROBES;
	instance->takes_leases = hello->features & WIRE_FEATURE_LEASE;
	instance->is_command = instance->peer == session->command.pid && !session->command.came;
	probes_inherit(session, instance, find_parent(session, hello));
	if (!instance->procname || !instance->exe || !instance->channels)
		return -ENOMEM;
	/* A script's env(1) is nobody whom probes are for: the program that it executes is. */
	session->command.came |= instance->is_command && probes_has_exe(session, instance);
	if (!shares_left(&session->instances.shares, instance->account) ||
			session->instances.nr - session->instances.nr_freed >= LIMIT_INSTANCES) {
		*reason = "the recorder has too many processes";
		return -EMFILE;
	}
	if (session->mode != SESSION_RECORD)
		return 0;
	return memory_make_rings(session, instance, ring_fds, reason);
}

struct instance *instance_create(struct session *session, const struct wire_hello *hello,
		const struct connection *connection, int pidfd, int *ring_fds, const char **reason)
{
	struct instance *instance;
	uint32_t i;

	for (i = 0; i < session->nr_all_channels; i++)
		ring_fds[i] = -1;
	*reason = "the recorder is out of memory";
	instance = instance_allocate(
			hello->procname, hello->exe, session->channels, session->nr_all_channels);
	if (!instance) {
		close(pidfd);
		return NULL;
	}
	instance->watch.fd = pidfd;
	if (!instance_init(session, instance, hello, connection, ring_fds, reason) &&
			instance_link(session, instance))
		return instance;
	for (i = 0; i < session->nr_all_channels; i++) {
		if (ring_fds[i] >= 0)
			close(ring_fds[i]);
		ring_fds[i] = -1;
	}
	buffers_remove(session, instance);
	instance_free(session, instance);
	return NULL;
}

/* Only the process itself may speak for an instance. */
struct instance *instance_find(struct session *session, uint64_t token, pid_t peer)
{
	struct instance *instance;

	for (instance = session->instances.live; instance; instance = instance->next_live)
		if (instance->token == token && instance->peer == peer)
			return instance;
	return NULL;
}

bool instance_has_exited(const struct instance *instance)
{
	return instance->watch.fd < 0 || peer_has_exited(instance->watch.fd);
}

/* ---- the end ---- */

void instance_end(struct session *session, struct instance *instance)
{
	struct instance **at = &session->instances.live;

	while (*at && *at != instance)
		at = &(*at)->next_live;
	if (!*at)
		return;
	*at = instance->next_live;
	memory_trim(session, instance);
	pthread_mutex_lock(&session->lock);
	instance->state = INSTANCE_ENDED;
	session->memory.ended += instance->memory;
	session->instances.nr_live--;
	shares_give_back(&session->instances.shares, instance->account, 1);
	pthread_mutex_unlock(&session->lock);
	if (instance->watch.fd >= 0)
		close(instance->watch.fd);
	instance->watch.fd = -1;
	if (session->drain.bells)
		ring_bells_ring(session->drain.bells);
}

static void instance_free_channel(struct instance_channel *channel)
{
	if (channel->rings)
		ring_consumer_unmap(channel->rings);
	if (channel->ring_fd >= 0)
		close(channel->ring_fd);
	free(channel->by_id);
	free(channel->each);
}

/* The caller has the lock. Nobody but the list leads to it any more. */
static void unlink_instance(struct session *session, struct instance **at)
{
	struct instance *instance = *at;

	*at = instance->next;
	if (session->instances.end == &instance->next)
		session->instances.end = at;
	session->instances.nr_freed++;
	atomic_fetch_sub_explicit(&session->instances.nr_finished, 1, memory_order_relaxed);
}

struct instance *instances_take_finished(struct session *session)
{
	struct instance *finished = NULL, **at = &session->instances.list;

	if (!atomic_load_explicit(&session->instances.nr_finished, memory_order_relaxed))
		return NULL;
	pthread_mutex_lock(&session->lock);
	while (*at) {
		struct instance *instance = *at;

		if (!instance->finished) {
			at = &instance->next;
			continue;
		}
		unlink_instance(session, at);
		instance->next = finished;
		finished = instance;
	}
	pthread_mutex_unlock(&session->lock);
	return finished;
}

void instance_free(struct session *session, struct instance *instance)
{
	uint32_t i;

	kinds_forget(session, instance);
	if (instance->memory)
		memory_give_back(session, instance);
	for (i = 0; i < instance->nr_all_channels; i++) {
		instance_free_channel(&instance->channels[i]);
		if (instance->own_channels)
			channel_free(&instance->own_channels[i]);
	}
	if (instance->watch.fd >= 0)
		close(instance->watch.fd);
	if (instance->described_fd >= 0)
		close(instance->described_fd);
	journal_close(instance);
	free(instance->own_clock);
	free(instance->own_channels);
	free(instance->channels);
	free(instance->folder);
	free(instance->procname);
	free(instance->exe);
	free(instance->directory);
	free(instance->told);
	maps_free(instance);
	probes_forget(instance);
	free(instance);
}
