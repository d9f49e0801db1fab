/* SPDX-License-Identifier: MIT */
/* The beginning and the end of process images. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/core/memory.h"
#include "recorder/core/peer.h"
#include "recorder/core/shares.h"
#include "recorder/core/watch.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

/*
 * Returns a copy of the name, at most 64 bytes, with only characters that are safe in a file name
 * and in a terminal.
 */
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

/* Returns a copy of the path without control characters: messages print it to terminals. */
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
	bool lives = instance->state == INSTANCE_LIVE, asks = leases_has_revoked(instance);

	if (lives && watch_add(session, &instance->watch))
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
	/*
	 * The drain thread must listen to this instance now, because its first event can request
	 * memory.
	 */
	if (session->drain.bells && asks)
		ring_bells_ring(session->drain.bells);
	return true;
}

/*
 * A process that connects for the first time with a known pid has executed another program, so the
 * older instance has ended. The same holds if the pid was reused.
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
	instance->watch = (struct recorder_watch){.kind = WATCH_INSTANCE, .fd = -1};
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

/* Returns the instance of the parent process, if it is known and runs. */
struct instance *instance_find_parent(const struct session *session, const struct wire_hello *hello)
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
	struct instance *instance = instance_find_parent(session, hello);

	/*
	 * Else count it for the oldest running process: in a recording of a command, the command
	 * itself.
	 */
	if (!instance)
		for (instance = session->instances.live; instance && instance->next_live;)
			instance = instance->next_live;
	/* Relaxed: a statistics counter. */
	if (instance)
		__atomic_fetch_add(&instance->refused, 1, __ATOMIC_RELAXED);
}

/* Compares the peer as well, so that a process can access only its own instance. */
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

/* ---- the end of an instance ---- */

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
	if (instance->watch.fd >= 0) {
		/*
		 * A connection of the process can have a copy of the descriptor (handle_hello()).
		 * Closing it here would then not remove its events, and they point to the instance,
		 * which is freed before the connection is closed.
		 */
		watch_remove(session, &instance->watch);
		close(instance->watch.fd);
	}
	instance->watch.fd = -1;
	if (session->drain.bells)
		ring_bells_ring(session->drain.bells);
}

/* The caller holds the lock. After it, no other thread can reach the instance. */
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
