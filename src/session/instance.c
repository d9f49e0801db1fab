/* SPDX-License-Identifier: MIT */
/*
 * Process images, their memory and the kinds of events they described.
 *
 * Memory: a process gets rings of the session's size while there is plenty; once a process would take
 * more than a quarter of what is left of the session's limit, rings are halved down to the minimum,
 * and when not even those fit the process is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "session/parts.h"

#define SHARE_OF_THE_REST 4
#define WAIT_FOR_MEMORY_NS 300000000

static struct ring_geometry geometry_of(const struct session *session, uint64_t ring_size)
{
	return (struct ring_geometry){
			.rings = ring_possible_cpus(),
			.event_slots = EVENT_SLOTS,
			.size = ring_size,
			.mode = RING_MODE_DISCARD,
			.clock = session->clock,
	};
}

/*
 * The largest rings that the memory left allows, with the lock held. False: not even the smallest.
 * *plenty tells whether they are as large as they should be.
 */
static bool fit_memory(struct session *session, struct instance *instance, bool *plenty)
{
	uint64_t left = session->memory_limit - session->memory_used;
	uint64_t size = session->ring_size;
	bool fits;

	for (;; size /= 2) {
		instance->geometry = geometry_of(session, size);
		instance->memory = ring_memory_size(&instance->geometry);
		fits = instance->memory && instance->memory <= left;
		if (size / 2 < SESSION_RING_MIN || !session->memory_used ||
				(fits && instance->memory <= left / SHARE_OF_THE_REST))
			break;
	}
	*plenty = fits && size == session->ring_size;
	return fits;
}

/*
 * Take ring memory from the session's. False: there is not enough for the smallest rings. Processes
 * that come faster than the drain thread can close those that have gone wait for it a little.
 */
static bool take_memory(struct session *session, struct instance *instance)
{
	struct timespec until;
	bool fits, plenty;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += WAIT_FOR_MEMORY_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&session->lock);
	for (;;) {
		fits = fit_memory(session, instance, &plenty);
		if (plenty || !session->memory_ended ||
				pthread_cond_clockwait(&session->memory_back, &session->lock,
						CLOCK_MONOTONIC, &until))
			break;
	}
	if (fits) {
		session->memory_used += instance->memory;
		if (session->memory_used > session->memory_peak)
			session->memory_peak = session->memory_used;
	} else {
		instance->memory = 0;
	}
	pthread_mutex_unlock(&session->lock);
	return fits;
}

static void give_memory_back(struct session *session, struct instance *instance)
{
	pthread_mutex_lock(&session->lock);
	session->memory_used -= instance->memory;
	instance->memory = 0;
	pthread_mutex_unlock(&session->lock);
}

static int make_rings(struct session *session, struct instance *instance, int *ring_fd,
		const char **reason)
{
	uint32_t cpus;
	int ret;

	if (!take_memory(session, instance)) {
		*reason = "the session's ring memory is used up";
		return -ENOMEM;
	}
	cpus = instance->geometry.rings;
	instance->streams = calloc(cpus, sizeof(*instance->streams));
	instance->discarded = calloc(cpus, sizeof(*instance->discarded));
	instance->unwritten = calloc(cpus, sizeof(*instance->unwritten));
	instance->damaged = calloc(cpus, sizeof(*instance->damaged));
	*reason = "the recorder has no memory";
	if (!instance->streams || !instance->discarded || !instance->unwritten ||
			!instance->damaged)
		return -ENOMEM;
	ret = ring_memory_create(&instance->geometry, ring_fd);
	if (ret)
		return ret;
	return ring_consumer_map(*ring_fd, &instance->geometry, &instance->rings);
}

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

static bool link_instance(struct session *session, struct instance *instance)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &instance->watch};

	if (epoll_ctl(session->epoll, EPOLL_CTL_ADD, instance->watch.fd, &event))
		return false;
	pthread_mutex_lock(&session->lock);
	*session->instances_end = instance;
	session->instances_end = &instance->next;
	session->nr_instances++;
	session->nr_live++;
	pthread_mutex_unlock(&session->lock);
	instance->next_live = session->live;
	session->live = instance;
	return true;
}

/*
 * A process that speaks for the first time under a pid we know has become another program by
 * exec(): what it was has ended. (Or the pid was used again: then too.)
 */
static void end_predecessor(struct session *session, pid_t peer)
{
	struct instance *instance, *next;

	for (instance = session->live; instance; instance = next) {
		next = instance->next_live;
		if (instance->peer == peer)
			instance_end(session, instance);
	}
}

struct instance *instance_create(struct session *session, const struct wire_hello *hello,
		pid_t peer, int pidfd, int *ring_fd, const char **reason)
{
	struct instance *instance;

	*ring_fd = -1;
	*reason = "the recorder has no memory";
	end_predecessor(session, peer);
	instance = calloc(1, sizeof(*instance));
	if (!instance) {
		close(pidfd);
		return NULL;
	}
	instance->watch = (struct watch){.kind = WATCH_INSTANCE, .fd = pidfd};
	instance->peer = peer;
	instance->pid = hello->pid;
	instance->parent = hello->parent;
	instance->token = hello->token;
	instance->number = session->nr_instances;
	instance->procname = instance_clean_name(hello->procname);
	instance->exe = clean_path(hello->exe);
	instance->begin_ticks = ring_clock_now(session->clock);
	if (!instance->procname || !instance->exe)
		goto fail;
	if (session->nr_live >= session->max_live || session->nr_instances >= LIMIT_INSTANCES) {
		*reason = "the recorder has too many processes";
		goto fail;
	}
	if (session->mode == SESSION_RECORD && make_rings(session, instance, ring_fd, reason))
		goto fail;
	if (link_instance(session, instance))
		return instance;
fail:
	if (*ring_fd >= 0)
		close(*ring_fd);
	*ring_fd = -1;
	instance_free(session, instance);
	return NULL;
}

/* Only the process itself may speak for an instance. */
struct instance *instance_find(struct session *session, uint64_t token, pid_t peer)
{
	struct instance *instance;

	for (instance = session->live; instance; instance = instance->next_live)
		if (instance->token == token && instance->peer == peer)
			return instance;
	return NULL;
}

/* ---- kinds of events ---- */

/* Can this consumer write it down? Says so before the program records the first one. */
static enum wire_refusal check_kind(const struct visit_owned *owned)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_error error;
	struct ctf_type *type;
	int ret = -ENOMEM;

	if (arena)
		ret = ctf_type_from_description(arena, owned->desc, &type, &error);
	ctf_arena_destroy(arena);
	return ret ? WIRE_REFUSAL_UNSUPPORTED : WIRE_REFUSAL_NONE;
}

static bool is_taken(struct session *session, const struct instance *instance, uint32_t id)
{
	bool taken;

	pthread_mutex_lock(&session->lock);
	taken = id < instance->room_ids && instance->by_id[id];
	pthread_mutex_unlock(&session->lock);
	return taken;
}

static bool make_room(struct instance *instance, uint32_t id)
{
	if (instance->nr_kinds == instance->room_kinds) {
		uint32_t room = instance->room_kinds ? instance->room_kinds * 2 : 32;
		struct event_kind *kinds = realloc(instance->kinds, room * sizeof(*kinds));

		if (!kinds)
			return false;
		instance->kinds = kinds;
		instance->room_kinds = room;
	}
	if (id >= instance->room_ids) {
		uint32_t room = instance->room_ids ? instance->room_ids : 32;
		uint32_t *by_id;

		while (room <= id)
			room *= 2;
		by_id = realloc(instance->by_id, room * sizeof(*by_id));
		if (!by_id)
			return false;
		memset(by_id + instance->room_ids, 0, (room - instance->room_ids) * sizeof(*by_id));
		instance->by_id = by_id;
		instance->room_ids = room;
	}
	return true;
}

static enum wire_refusal add_decoded(struct session *session, struct instance *instance,
		uint32_t id, struct visit_owned *owned, size_t size)
{
	enum wire_refusal refusal = WIRE_REFUSAL_TOO_MANY;

	pthread_mutex_lock(&session->lock);
	if (instance->state == INSTANCE_LIVE &&
			instance->description_bytes + size <= LIMIT_INSTANCE_DESCRIPTIONS &&
			session->description_bytes + size <= LIMIT_SESSION_DESCRIPTIONS &&
			make_room(instance, id)) {
		instance->kinds[instance->nr_kinds++] =
				(struct event_kind){.id = id, .owned = owned};
		instance->by_id[id] = instance->nr_kinds;
		instance->description_bytes += size;
		session->description_bytes += size;
		refusal = WIRE_REFUSAL_NONE;
	}
	pthread_mutex_unlock(&session->lock);
	return refusal;
}

/* Programs describe all their events for a listing: which of them are asked for is decided here. */
static bool is_listed(const struct session *session, const struct side_event_description *event)
{
	return session->mode != SESSION_LIST || !session->nr_patterns ||
			pattern_set_wants(session->listed, session->nr_patterns,
					side_ptr_get(event->provider_name),
					side_ptr_get(event->event_name),
					(unsigned int)side_enum_get(event->loglevel));
}

enum wire_refusal instance_add_kind(struct session *session, struct instance *instance, uint32_t id,
		const void *bytes, size_t size)
{
	enum wire_refusal refusal;
	struct visit_owned *owned;
	struct visit_error error;

	if (id >= LIMIT_EVENTS)
		return WIRE_REFUSAL_TOO_MANY;
	if (is_taken(session, instance, id))
		return WIRE_REFUSAL_DUPLICATE_ID;
	if (visit_description_decode(bytes, size, &owned, &error))
		return WIRE_REFUSAL_MALFORMED;
	if (!is_listed(session, owned->desc)) {
		visit_owned_free(owned);
		return WIRE_REFUSAL_NONE;
	}
	refusal = check_kind(owned);
	if (!refusal)
		refusal = add_decoded(session, instance, id, owned, size);
	if (refusal)
		visit_owned_free(owned);
	return refusal;
}

/* Once the trace is complete, nobody asks for them any more. */
void instance_forget_kinds(struct session *session, struct instance *instance)
{
	uint32_t i;

	pthread_mutex_lock(&session->lock);
	for (i = 0; instance->kinds && i < instance->nr_kinds; i++)
		visit_owned_free(instance->kinds[i].owned);
	free(instance->kinds);
	free(instance->by_id);
	instance->kinds = NULL;
	instance->by_id = NULL;
	instance->room_kinds = instance->room_ids = 0;
	session->description_bytes -= instance->description_bytes;
	instance->description_bytes = 0;
	pthread_mutex_unlock(&session->lock);
}

/* ---- the end ---- */

void instance_end(struct session *session, struct instance *instance)
{
	struct instance **at = &session->live;

	while (*at && *at != instance)
		at = &(*at)->next_live;
	if (!*at)
		return;
	*at = instance->next_live;
	pthread_mutex_lock(&session->lock);
	instance->state = INSTANCE_ENDED;
	session->memory_ended += instance->memory;
	session->nr_live--;
	pthread_mutex_unlock(&session->lock);
	if (instance->watch.fd >= 0)
		close(instance->watch.fd);
	instance->watch.fd = -1;
	if (session->doorbell)
		ring_doorbell_ring(session->doorbell);
}

void instance_free(struct session *session, struct instance *instance)
{
	instance_forget_kinds(session, instance);
	if (instance->rings)
		ring_consumer_unmap(instance->rings);
	if (instance->memory)
		give_memory_back(session, instance);
	if (instance->watch.fd >= 0)
		close(instance->watch.fd);
	free(instance->streams);
	free(instance->discarded);
	free(instance->unwritten);
	free(instance->damaged);
	free(instance->procname);
	free(instance->exe);
	free(instance->directory);
	free(instance);
}
