/* SPDX-License-Identifier: MIT */
/*
 * Handles and answers the messages of agents. The kernel reports the peer's process and user
 * (SO_PEERCRED). Only the own user and root are accepted, and processes that know the name of
 * root's socket (runtime.c). Only a process itself can add to its instance. A peer that violates
 * the protocol or exceeds a timeout is disconnected, which affects only this peer.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/container-of.h"
#include "base/error.h"
#include "base/format.h"
#include "protocol/protocol.h"
#include "recorder/connection.h"
#include "recorder/core/channels.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/core/live.h"
#include "recorder/core/maps.h"
#include "recorder/core/outbox.h"
#include "recorder/core/peer.h"
#include "recorder/core/probes.h"
#include "recorder/core/report.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "recorder/core/track.h"
#include "recorder/core/watch.h"
#include "recorder/instance-create.h"
#include "recorder/loading.h"
#include "recorder/recovery/adopt.h"
#include "recorder/refusals.h"
#include "recorder/session-state.h"
#include "recorder/unrecorded-files.h"
#include "ring/ring.h"

static void lose_process(struct session *session, struct instance *instance);

/* The memory remains until connections_free_closed(): an event of this turn may point to it. */
static void connection_close(struct session *session, struct connection *connection)
{
	struct connection **at = &session->connections.list;

	if (connection->watch.fd < 0)
		return;
	while (*at != connection)
		at = &(*at)->next;
	*at = connection->next;
	shares_give_back(&session->connections.shares, connection->uid, 1);
	/*
	 * Another process can have the socket, too (session_take_connection()); closing it here
	 * would then not remove its events.
	 */
	watch_remove(session, &connection->watch);
	peer_close(connection->watch.fd, connection->refuses_fds);
	if (connection->process.fd >= 0) {
		watch_remove(session, &connection->process);
		close(connection->process.fd);
	}
	if (connection->is_introducing && !outbox_is_empty(&connection->outbox))
		lose_process(session, connection->instance);
	loading_give_up(session, connection);
	outbox_free(&connection->outbox);
	connection->watch.fd = connection->process.fd = -1;
	connection->instance = NULL;
	connection->next = session->connections.closed;
	session->connections.closed = connection;
}

void connections_free_closed(struct session *session)
{
	while (session->connections.closed) {
		struct connection *connection = session->connections.closed;

		session->connections.closed = connection->next;
		class_stream_free(&connection->stream);
		free(connection->refused);
		free(connection);
	}
}

/* ---- sending ---- */

/*
 * Returns the limit of queued bytes for this connection, considering the other connections of its
 * user.
 */
static size_t unread_limit(const struct session *session, const struct connection *of)
{
	const struct connection *connection;
	size_t used = 0, left;

	for (connection = session->connections.list; connection; connection = connection->next)
		if (connection->uid == of->uid && connection != of)
			used += connection->outbox.size;
	left = used < LIMIT_UNREAD_OF_USER ? LIMIT_UNREAD_OF_USER - used : 0;
	return left < LIMIT_UNREAD ? left : LIMIT_UNREAD;
}

/*
 * While messages wait for the peer, the recorder reads none of its messages, so their number does
 * not grow.
 */
static void watch_connection(struct session *session, struct connection *connection)
{
	connection->send_deadline = wire_deadline(LIMIT_UNREAD_MS);
	/* If this fails, connections_expire() closes the connection. */
	(void)event_source_change(&session->loop.events, &connection->watch.source,
			outbox_is_empty(&connection->outbox) ? EPOLLIN : EPOLLOUT);
}

static int connection_send(struct session *session, struct connection *connection,
		const void *message, size_t size, int fd)
{
	bool waited = !outbox_is_empty(&connection->outbox);
	int ret = outbox_send(&connection->outbox, connection->watch.fd, message, size, fd,
			unread_limit(session, connection));

	if (!ret && !waited && !outbox_is_empty(&connection->outbox))
		watch_connection(session, connection);
	return ret;
}

/* ---- accepting ---- */

/* Messages that a process may have sent before it exited: one, or a batch of descriptions. */
#define LAST_MESSAGES 16

/* Identifies the peer. Returns false if its connection is refused. */
static bool is_welcome(struct session *session, int fd, struct connection *connection)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size)) {
		report(session, true,
				"a process is not recorded: its connection cannot be read: %s",
				strerror(errno));
		return false;
	}
	connection->process.fd = peer_open_process(fd, &cred);
	if (connection->process.fd < 0 && connection->process.fd != -ESRCH) {
		report_about(session, cred.uid, cred.pid, true,
				"process %d is not recorded: it cannot be watched: %s",
				(int)cred.pid, strerror(-connection->process.fd));
		return false;
	}
	connection->peer = cred.pid;
	connection->uid = cred.uid;
	connection->gid = cred.gid;
	/* A session that records for a user accepts only programs of that user. */
	if (session->service && session->service->is_owned)
		return cred.pid > 0 && cred.uid == session->service->owner;
	return cred.pid > 0 &&
			(cred.uid == geteuid() || cred.uid == 0 || session->listener.is_secret ||
					(session->service && session->service->any_user));
}

/*
 * Call when the user's share is exhausted: closes the oldest connection of this user that has sent
 * no HELLO.
 */
static void evict(struct session *session, uid_t uid)
{
	struct connection *connection, *oldest = NULL;

	for (connection = session->connections.list; connection; connection = connection->next)
		if (!connection->instance && connection->uid == uid)
			oldest = connection; /* the list begins with the youngest */
	if (oldest)
		connection_close(session, oldest);
}

static int connection_handle(struct session *session, struct connection *connection);

/* Returns 0 or a negative errno. */
static int connection_watch_both(struct session *session, struct connection *connection)
{
	int ret = watch_add(session, &connection->watch);

	if (ret || connection->process.fd < 0)
		return ret;
	ret = watch_add(session, &connection->process);
	if (ret)
		watch_remove(session, &connection->watch);
	return ret;
}

/* Call when the process has exited: receives its remaining messages and closes the connection. */
static void connection_receive_last_messages(struct session *session, struct connection *connection)
{
	int messages = LAST_MESSAGES;

	while (messages-- && !connection_handle(session, connection))
		;
	connection_close(session, connection);
}

static bool connection_claim_quota(struct session *session, const struct connection *connection)
{
	if (!shares_left(&session->connections.shares, connection->uid))
		evict(session, connection->uid);
	return shares_take(&session->connections.shares, connection->uid, 1);
}

static bool admit(struct session *session, struct connection *connection)
{
	int ret;

	if (!is_welcome(session, connection->watch.fd, connection) ||
			!connection_claim_quota(session, connection))
		return false;
	ret = connection_watch_both(session, connection);
	if (!ret)
		return true;
	report_about(session, connection->uid, connection->peer, true,
			"process %d is not recorded: it cannot be watched: %s",
			(int)connection->peer, strerror(-ret));
	shares_give_back(&session->connections.shares, connection->uid, 1);
	return false;
}

static void connection_add(struct session *session, int fd, bool refuses_fds)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection) {
		report(session, true, "a process is not recorded: the recorder is out of memory");
		peer_close(fd, refuses_fds);
		return;
	}
	connection->process = (struct recorder_watch){.kind = WATCH_PEER, .fd = -1};
	connection->watch = (struct recorder_watch){.kind = WATCH_CONNECTION, .fd = fd};
	connection->refuses_fds = refuses_fds;
	connection->hello_deadline = wire_deadline(LIMIT_HELLO_MS);
	connection->deadline = wire_deadline(LIMIT_CONNECTION_MS);
	if (!admit(session, connection)) {
		if (connection->process.fd >= 0)
			close(connection->process.fd);
		free(connection);
		peer_close(fd, refuses_fds);
		return;
	}
	connection->next = session->connections.list;
	session->connections.list = connection;
	if (connection->process.fd < 0)
		connection_receive_last_messages(session, connection);
}

void session_take_connection(struct session *session, int fd)
{
	/* Messages that are in its queue already can contain descriptors. */
	(void)peer_refuse_fds(fd);
	connection_add(session, fd, false);
}

void connection_accept(struct session *session)
{
	int fd = accept4(session->listener.watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		connection_add(session, fd, session->listener.refuses_fds);
}

void connection_peer_exited(struct session *session, struct recorder_watch *process)
{
	connection_close(session, container_of(process, struct connection, process));
}

/*
 * True if the process that made this connection still runs. Otherwise another process can have its
 * process id.
 */
static bool peer_lives(const struct connection *connection)
{
	return connection->process.fd >= 0 && !peer_has_exited(connection->process.fd);
}

/* ---- HELLO ---- */

struct connection_answer {
	struct session *session;
	struct connection *connection;
	const int *ring_fds; /* NULL: the program has the rings already */
	/* collects messages for all programs instead of sending them */
	struct pushed_messages *for_all;
};

struct pushed_messages {
	char *bytes;
	size_t size, capacity;
};

static int connection_queue_message(
		struct pushed_messages *pushed_messages, const void *message, size_t size)
{
	if (size > pushed_messages->capacity - pushed_messages->size)
		return -EMSGSIZE;
	memcpy(pushed_messages->bytes + pushed_messages->size, message, size);
	pushed_messages->size += size;
	return 0;
}

static int send_part(const struct connection_answer *answer, ssize_t size, int fd)
{
	if (size < 0)
		return (int)size;
	if (answer->for_all)
		return fd < 0 ? connection_queue_message(answer->for_all,
						answer->session->connections.message, (size_t)size)
			      : -EINVAL;
	return connection_send(answer->session, answer->connection,
			answer->session->connections.message, (size_t)size, fd);
}

static int send_rule(
		const struct connection_answer *answer, uint32_t channel, const struct rule *rule)
{
	struct wire_rule message = {
			.channel = channel,
			.nr_patterns = rule->nr_patterns,
			.patterns = rule->patterns,
			.nr_contexts = rule->contexts.nr,
			.contexts = rule->contexts.names,
			.filter_size = (uint32_t)rule->program_size,
			.filter = rule->program,
	};

	return send_part(answer,
			wire_encode_rule(answer->session->connections.message, WIRE_MESSAGE_MAX,
					&message),
			-1);
}

/* A stopped session sends no rules, so its programs record nothing. */
static uint32_t nr_rules_of(const struct session *session, const struct channel *channel)
{
	return session->service && !session->service->active ? 0 : channel->nr_rules;
}

static int send_channel(const struct connection_answer *answer, const struct channel *of,
		uint64_t memory, uint32_t index)
{
	uint32_t nr_rules = nr_rules_of(answer->session, of);
	struct wire_channel message = {
			.index = index,
			.ring_memory = answer->ring_fds ? memory : 0,
			.nr_rules = nr_rules,
			.nr_contexts = of->contexts.nr,
			.name = of->name,
			.contexts = of->contexts.names,
	};
	int ret = send_part(answer,
			wire_encode_channel(answer->session->connections.message, WIRE_MESSAGE_MAX,
					&message),
			answer->ring_fds ? answer->ring_fds[index] : -1);
	uint32_t i;

	for (i = 0; i < nr_rules && !ret; i++)
		ret = send_rule(answer, index, &of->rules[i]);
	return ret;
}

/* Returns the smallest maximum of a record over the instance's channels. */
static uint32_t payload_max(const struct instance *instance)
{
	size_t least = RING_PAYLOAD_MAX;
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++) {
		size_t max = ring_payload_max(instance->channels[i].geometry.size);

		if (max < least)
			least = max;
	}
	return (uint32_t)least;
}

static struct wire_config accepting(struct session *session, struct instance *instance)
{
	bool lists = session->mode == SESSION_LIST;

	return (struct wire_config){
			.accepted = true,
			.reason = "",
			.flags = lists                                      ? WIRE_CONFIG_LIST_ONLY
					: loading_is_for(session, instance) ? WIRE_CONFIG_LOADS
									    : 0,
			.instance = instance->number,
			.clock = session->clock.kind,
			.max_events = LIMIT_EVENTS,
			.max_description = LIMIT_DESCRIPTION,
			.max_payload = payload_max(instance),
			.frequency = session->clock.first.frequency,
			.offset_s = session->clock.first.offset_s,
			.offset = session->clock.first.offset,
			.generation = session->service ? session->service->generation : 1,
			.statedump = session->service ? session->service->statedump : 0,
			.nr_channels = lists ? 0 : instance->nr_all_channels,
	};
}

static int send_table(const struct connection_answer *answer, const struct instance *instance,
		const struct session_table *table)
{
	bool other = table->others >= 0 && !instance->is_command;
	struct wire_probes message = {.table = table->number,
			.size = other ? table->size_of_others : table->size};

	return send_part(answer,
			wire_encode_probes(answer->session->connections.message, WIRE_MESSAGE_MAX,
					&message),
			other ? table->others : table->fd);
}

/*
 * Sends the first part of the answer, with the probe tables for this process. If the answer has no
 * channels (the program keeps its rules), it has no tables either.
 */
static int send_head(const struct connection_answer *answer, struct instance *instance,
		struct wire_config *config)
{
	struct session *session = answer->session;
	struct session_table *tables[SESSION_PROBES_MAX];
	int nr = config->nr_channels ? probes_choose(session, instance, tables) : 0, i, ret;

	if (nr < 0)
		return nr;
	config->nr_tables = (uint32_t)nr;
	ret = send_part(answer,
			wire_encode_config(session->connections.message, WIRE_MESSAGE_MAX, config),
			-1);
	for (i = 0; i < nr && !ret; i++)
		ret = send_table(answer, instance, tables[i]);
	return ret;
}

/* True if a program has probe tables: the answers then differ between programs. */
static bool any_has_probes(const struct session *session)
{
	const struct instance *instance;

	for (instance = session->instances.live; instance; instance = instance->next_live)
		if (instance->nr_installed)
			return true;
	return session->tables.nr;
}

/* Collects only messages that are equal for all programs and have no descriptor. */
size_t session_take_messages(struct session *session, void *bytes, size_t capacity)
{
	struct pushed_messages pushed_messages = {.bytes = bytes, .capacity = capacity};
	const struct connection_answer answer = {.session = session, .for_all = &pushed_messages};
	/* The other members are ignored in an answer to REFRESH. */
	const struct wire_config config = {
			.accepted = true,
			.reason = "",
			.generation = session->service->generation,
			.statedump = session->service->statedump,
			.nr_channels = session->nr_all_channels,
	};
	uint32_t i;
	int ret;

	if (session->service->nr_track || session->service->boot || any_has_probes(session))
		return 0;
	ret = send_part(&answer,
			wire_encode_config(session->connections.message, WIRE_MESSAGE_MAX, &config),
			-1);
	for (i = 0; i < config.nr_channels && !ret; i++)
		ret = send_channel(&answer, &session->channels[i], 0, i);
	return ret ? 0 : pushed_messages.size;
}

static int send_config(struct session *session, struct connection *connection,
		struct instance *instance, struct wire_config *config, const int *ring_fds)
{
	const struct connection_answer answer = {
			.session = session,
			.connection = connection,
			.ring_fds = ring_fds,
	};
	int ret = send_head(&answer, instance, config);
	uint32_t i;

	for (i = 0; i < config->nr_channels && !ret; i++)
		ret = send_channel(&answer, instance->channels[i].channel,
				instance->channels[i].memory, i);
	if (!ret)
		instance->generation = config->generation;
	return ret;
}

/* flags: WIRE_CONFIG_RETRY or 0. */
static int send_refusal(struct session *session, struct connection *connection, const char *reason,
		uint32_t flags)
{
	const struct connection_answer answer = {.session = session, .connection = connection};
	const struct wire_config config = {.reason = reason, .flags = flags};

	return send_part(&answer,
			wire_encode_config(session->connections.message, WIRE_MESSAGE_MAX, &config),
			-1);
}

static bool is_tracked(const struct session *session, const struct connection *connection,
		const char *procname)
{
	const struct service *service = session->service;
	struct track_peer peer = {
			.pid = connection->peer,
			.uid = connection->uid,
			.gid = connection->gid,
	};
	bool tracked;
	char *name;

	/* Events of the kernel belong to no program that could be tracked. */
	if (!service || !service->nr_track || !strcmp(procname, SESSION_KERNEL_PROGRAM))
		return true;
	name = instance_clean_name(procname);
	peer.name = name ? name : "";
	tracked = track_wants(service->track, service->nr_track, &peer);
	free(name);
	return tracked;
}

/* Not counted as a loss: the user has requested it. */
static int refuse_untracked(struct session *session, struct connection *connection)
{
	session->service->nr_untracked++;
	send_refusal(session, connection, "not tracked", 0);
	return -ECONNREFUSED;
}

#define TOO_LATE "the recorder was busy and did not answer its request for rings in time"
#define OTHER_VERSION \
	"its agent is of another release: restart it with the libside of this recorder"
#define NO_DESCRIPTOR "the recorder has no free file descriptor"

/*
 * Stores only the first message; refusals_report() prints one sentence about all refused processes.
 */
static void connection_record_refusal(
		struct session *session, uid_t uid, pid_t pid, const char *name, const char *reason)
{
	if (!session->refusals.nr_processes++ &&
			asprintf(&session->refusals.first, "process %d (%s) is not recorded: %s",
					(int)pid, name ? name : "?", reason) < 0)
		session->refusals.first = NULL;
	if (session->refusals.nr_processes == 1 && session->service && session->refusals.first)
		report_about(session, uid, pid, true, "%s", session->refusals.first);
}

static int refuse_process(struct session *session, struct connection *connection,
		const struct wire_hello *hello, const char *reason)
{
	char *name = instance_clean_name(hello->procname);

	if (refusals_note(session, connection, name, reason,
			    hello->features & WIRE_FEATURE_RETRY)) {
		connection_record_refusal(session, connection->uid, connection->peer, name, reason);
		instance_count_refused(session, hello);
	}
	free(name);
	send_refusal(session, connection, reason, WIRE_CONFIG_RETRY);
	return -ECONNREFUSED;
}

/*
 * The message that contains the name of its executable cannot be parsed, so read the name from
 * /proc.
 */
static int connection_refuse_version(struct session *session, struct connection *connection)
{
	char path[64], name[64] = "?";
	struct wire_hello hello = {.procname = name};
	FILE *file;

	if (connection->instance || !peer_lives(connection))
		return -EPROTO;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)connection->peer);
	file = fopen(path, "re");
	if (file && fgets(name, sizeof(name), file))
		name[strcspn(name, "\n")] = 0;
	if (file)
		fclose(file);
	return refuse_process(session, connection, &hello, OTHER_VERSION);
}

/* The process has no rings, so all its events are lost. */
static void lose_process(struct session *session, struct instance *instance)
{
	connection_record_refusal(
			session, instance->account, instance->peer, instance->procname, TOO_LATE);
	/* Relaxed: a statistics counter. */
	__atomic_fetch_add(&instance->refused, 1, __ATOMIC_RELAXED);
	instance_end(session, instance);
}

static int handle_hello(struct session *session, struct connection *connection, size_t size)
{
	int ring_fds[SESSION_CHANNELS_MAX];
	struct wire_hello hello;
	const char *reason = NULL;
	struct wire_config config;
	struct instance *instance;
	int pidfd, ret;
	uint32_t i;

	if (connection->instance || wire_decode_hello(session->connections.message, size, &hello))
		return -EPROTO;
	if (!peer_lives(connection))
		return refuse_process(session, connection, &hello, TOO_LATE);
	instance_end_predecessor(session, connection->peer);
	if (!is_tracked(session, connection, hello.procname))
		return refuse_untracked(session, connection);
	pidfd = fcntl(connection->process.fd, F_DUPFD_CLOEXEC, 0);
	if (pidfd < 0)
		return refuse_process(session, connection, &hello,
				errno == EMFILE ? NO_DESCRIPTOR : strerror(errno));
	instance = instance_create(session, &hello, connection, pidfd, ring_fds, &reason);
	if (!instance)
		return refuse_process(session, connection, &hello, reason);
	refusals_remove(session, connection->peer);
	config = accepting(session, instance);
	ret = send_config(session, connection, instance, &config, ring_fds);
	for (i = 0; i < session->nr_all_channels; i++)
		if (ring_fds[i] >= 0)
			close(ring_fds[i]);
	connection->instance = instance;
	connection->is_introducing = !ret;
	if (ret)
		lose_process(session, instance);
	return ret;
}

/*
 * Finds the sender's instance. A process that creates its rings itself may not have been found yet.
 */
static struct instance *find_speaker(struct session *session, uint64_t token, pid_t peer)
{
	struct instance *instance = instance_find(session, token, peer);

	if (instance || !session->service || !session->service->boot)
		return instance;
	adopt_new(session, true);
	return instance_find(session, token, peer);
}

/* ---- REFRESH ---- */

/*
 * A process that is unknown or no longer tracked is asked to leave: the recorder does not read its
 * rings.
 */
static int handle_refresh(struct session *session, struct connection *connection, size_t size)
{
	struct wire_refresh refresh;
	struct wire_config config;
	struct instance *instance;

	if (connection->instance || !session->service ||
			wire_decode_refresh(session->connections.message, size, &refresh))
		return -EPROTO;
	instance = find_speaker(session, refresh.token, connection->peer);
	if (!instance) {
		send_refusal(session, connection, "the session does not know this process", 0);
		return -ECONNREFUSED;
	}
	if (!is_tracked(session, connection, instance->procname)) {
		instance_end(session, instance);
		return refuse_untracked(session, connection);
	}
	connection->instance = instance;
	instance->uid = connection->uid;
	instance->gid = connection->gid;
	config = accepting(session, instance);
	if (refresh.generation == config.generation) {
		config.flags |= WIRE_CONFIG_UNCHANGED;
		config.nr_channels = 0;
	}
	return send_config(session, connection, instance, &config, NULL);
}

/* ---- EVENTS ---- */

static bool connection_refuse(struct connection *connection, const struct wire_event_head *head,
		enum wire_refusal reason)
{
	if (connection->nr_refused == connection->refused_capacity) {
		uint32_t capacity = connection->refused_capacity ? connection->refused_capacity * 2
								 : 64;
		struct wire_refused *refused;

		if (capacity > 2 * LIMIT_EVENTS)
			return false;
		refused = realloc(connection->refused, capacity * sizeof(*refused));
		if (!refused)
			return false;
		connection->refused = refused;
		connection->refused_capacity = capacity;
	}
	connection->refused[connection->nr_refused++] = (struct wire_refused){
			.id = head->id, .channel = head->channel, .reason = (uint16_t)reason};
	return true;
}

struct connection_batch {
	struct session *session;
	struct connection *connection;
};

static bool connection_take_class(void *user, const struct wire_event_head *head, const void *bytes,
		enum wire_refusal refusal)
{
	struct connection_batch *batch = user;
	struct connection *connection = batch->connection;

	if (!refusal)
		refusal = classes_add(batch->session, connection->instance, head, bytes);
	if (!refusal)
		connection->accepted++;
	return !refusal || connection_refuse(connection, head, refusal);
}

static int send_acks(struct session *session, struct connection *connection)
{
	uint32_t sent = 0;

	do {
		uint32_t nr = connection->nr_refused - sent;
		struct wire_ack ack = {0};
		ssize_t size;
		int ret;

		ack.nr_refused = nr < WIRE_ACK_REFUSALS_MAX ? nr : WIRE_ACK_REFUSALS_MAX;
		if (ack.nr_refused)
			ack.refused = connection->refused + sent;
		sent += ack.nr_refused;
		ack.last = sent == connection->nr_refused;
		ack.accepted = ack.last ? connection->accepted : 0;
		size = wire_encode_ack(session->connections.message, WIRE_MESSAGE_MAX, &ack);
		if (size < 0)
			return (int)size;
		ret = connection_send(session, connection, session->connections.message,
				(size_t)size, -1);
		if (ret)
			return ret;
	} while (sent < connection->nr_refused);
	return 0;
}

static void report_refusals(struct session *session, const struct connection *connection)
{
	const struct instance *instance = connection->instance;
	uint32_t i;

	for (i = 0; i < connection->nr_refused && i < 5; i++)
		report_instance(session, instance, true,
				"event %u of process %d (%s) is not recorded: %s",
				connection->refused[i].id, (int)instance->peer, instance->procname,
				wire_refusal_text(connection->refused[i].reason));
	if (i < connection->nr_refused)
		report_instance(session, instance, true,
				"%u more events of process %d (%s) are not recorded",
				connection->nr_refused - i, (int)instance->peer,
				instance->procname);
}

static int handle_events(struct session *session, struct connection *connection, size_t size)
{
	struct connection_batch batch = {.session = session, .connection = connection};
	struct wire_events events;
	int ret;

	if (wire_decode_events(session->connections.message, size, &events))
		return -EPROTO;
	if (!connection->instance)
		connection->instance = find_speaker(session, events.token, connection->peer);
	if (!connection->instance || connection->instance->token != events.token ||
			events.sequence != connection->sequence)
		return -EPROTO;
	connection->sequence++;
	ret = class_stream_feed(&connection->stream, events.bytes, events.size,
			connection_take_class, &batch);
	if (ret || !events.last)
		return ret;
	if (!class_stream_is_whole(&connection->stream))
		return -EPROTO;
	report_refusals(session, connection);
	if (connection->accepted) {
		maps_read(session, connection->instance);
		leases_matched(session, connection->instance);
	}
	ret = send_acks(session, connection);
	/* The program has no callback on events for which it received no answer. */
	if (ret && connection->accepted)
		report_instance(session, connection->instance, true,
				"%u events of process %d (%s) are not recorded: the recorder was busy and did not answer in time",
				connection->accepted, (int)connection->instance->peer,
				connection->instance->procname);
	connection->sequence = connection->accepted = connection->nr_refused = 0;
	/* The next batch on the first connection has a deadline of its own. */
	connection->deadline = wire_deadline(LIMIT_CONNECTION_MS);
	return ret;
}

/* ---- PROBED ---- */

static int handle_probed(struct session *session, struct connection *connection, size_t size)
{
	struct wire_probed probed;

	if (wire_decode_probed(session->connections.message, size, &probed))
		return -EPROTO;
	if (!connection->instance)
		connection->instance = find_speaker(session, probed.token, connection->peer);
	if (!connection->instance || connection->instance->token != probed.token)
		return -EPROTO;
	return probes_hear(connection->instance, &probed);
}

/* ---- LOADED ---- */

static void connection_answer_loaded(struct session *session, struct connection *connection)
{
	struct instance *instance = connection->instance;
	struct wire_config config = accepting(session, instance);

	if (!probes_are_new(session, instance)) {
		config.flags |= WIRE_CONFIG_UNCHANGED;
		config.nr_channels = 0;
	}
	if (send_config(session, connection, instance, &config, NULL))
		connection_close(session, connection);
}

static int handle_loaded(struct session *session, struct connection *connection, size_t size)
{
	struct wire_loaded loaded;

	if (connection->instance || wire_decode_loaded(session->connections.message, size, &loaded))
		return -EPROTO;
	connection->instance = find_speaker(session, loaded.token, connection->peer);
	if (!connection->instance || !loading_is_for(session, connection->instance))
		return -EPROTO;
	return loading_begin(session, connection, &loaded, connection_answer_loaded);
}

/* ---- MISSED ---- */

static void report_late(struct session *session, const struct connection *connection,
		const char *name, const struct wire_unrecorded *unrecorded)
{
	const char *reason = unrecorded->reason == WIRE_UNRECORDED_LATE_DAEMON
			? "the daemon did not answer in time"
			: "the recorder did not answer in time, or a lock of the program was held";

	report_about(session, connection->uid, connection->peer, true,
			"process %d (%s) joined late: its events of the first %u ms may be missing: %s",
			(int)connection->peer, name, unrecorded->elapsed_ms, reason);
}

/* Only reports: if the process executes the file, its instance ends as that of any process does. */
static void connection_report_started(struct session *session, const struct connection *connection,
		const struct wire_unrecorded *unrecorded)
{
	char printable[PATH_MAX];

	if (unrecorded_files_note(&session->unrecorded_files, connection->uid, unrecorded->name))
		report_about(session, connection->uid, connection->peer, true,
				"not recorded: %s %s",
				format_printable(unrecorded->name, printable, sizeof(printable)),
				unrecorded_files_reason(unrecorded->reason));
}

/* Reports a process; of a file that is the reason itself, only the first process. */
static void connection_report_unrecorded(struct session *session,
		const struct connection *connection, const char *name,
		const struct wire_unrecorded *unrecorded)
{
	const char *reason = unrecorded_files_reason(unrecorded->reason);

	session->refusals.nr_processes++;
	if (reason &&
			!unrecorded_files_note(&session->unrecorded_files, connection->uid,
					unrecorded->name))
		return;
	report_about(session, connection->uid, connection->peer, true,
			"process %d (%s) is not recorded: %s", (int)connection->peer, name,
			reason ? reason : unrecorded_process_reason(unrecorded->reason));
}

/* This is the program's only message: close the connection, because the program waits for that. */
static int connection_handle_unrecorded(
		struct session *session, struct connection *connection, size_t size)
{
	struct wire_unrecorded unrecorded;
	char *name;

	if (connection->instance ||
			wire_decode_unrecorded(session->connections.message, size, &unrecorded))
		return -EPROTO;
	if (unrecorded_files_is_started(unrecorded.reason)) {
		connection_report_started(session, connection, &unrecorded);
		return -ECONNRESET;
	}
	name = strrchr(unrecorded.name, '/');
	name = instance_clean_name(name ? name + 1 : unrecorded.name);
	if (unrecorded.reason == WIRE_UNRECORDED_ALLOCATOR) {
		report_about(session, connection->uid, connection->peer, false,
				"allocations of process %d (%s) are not recorded: the program's own malloc() comes before the wrapper",
				(int)connection->peer, name ? name : "?");
		free(name);
		return -ECONNRESET;
	}
	if (unrecorded.reason == WIRE_UNRECORDED_LATE_DAEMON ||
			unrecorded.reason == WIRE_UNRECORDED_LATE_RECORDER) {
		report_late(session, connection, name ? name : "?", &unrecorded);
		free(name);
		return -ECONNRESET;
	}
	if (unrecorded.reason == WIRE_UNRECORDED_COPY) {
		report_about(session, connection->uid, connection->peer, true,
				"events of %s in process %d are not recorded: the agent cannot use the copy of libside in it\nlink it with -lside",
				name ? name : "?", (int)connection->peer);
		free(name);
		return -ECONNRESET;
	}
	/* End the instance of the program that the process ran before. */
	if (peer_lives(connection))
		instance_end_predecessor(session, connection->peer);
	connection_report_unrecorded(session, connection, name ? name : "?", &unrecorded);
	free(name);
	return -ECONNRESET;
}

/* ---- BYE ---- */

static int handle_bye(struct session *session, struct connection *connection, size_t size)
{
	struct wire_bye bye;

	if (wire_decode_bye(session->connections.message, size, &bye) || !connection->instance ||
			connection->instance->token != bye.token)
		return -EPROTO;
	connection->instance->listed = true;
	return -ECONNRESET;
}

/*
 * True for errors of the recorder itself. A peer that closed its connection or violated the
 * protocol causes others.
 */
static bool is_own_error(int code)
{
	return code == EIO || code == ENOBUFS || error_is_lack_of_resources(code);
}

/* Handles one message, if there is one. */
static int connection_handle(struct session *session, struct connection *connection)
{
	ssize_t size = peer_receive(connection->watch.fd, session->connections.message,
			WIRE_MESSAGE_MAX, connection->refuses_fds);

	if (size == -EAGAIN)
		return 0;
	if (size <= 0)
		return is_own_error((int)-size) ? (int)size : -ECONNRESET;
	switch (wire_message_type(session->connections.message, (size_t)size)) {
	case WIRE_HELLO: return handle_hello(session, connection, (size_t)size);
	case WIRE_REFRESH: return handle_refresh(session, connection, (size_t)size);
	case WIRE_EVENTS: return handle_events(session, connection, (size_t)size);
	case WIRE_PROBED: return handle_probed(session, connection, (size_t)size);
	case WIRE_LOADED: return handle_loaded(session, connection, (size_t)size);
	case WIRE_UNRECORDED:
		return connection_handle_unrecorded(session, connection, (size_t)size);
	case WIRE_BYE: return handle_bye(session, connection, (size_t)size);
	case -EPROTONOSUPPORT: return connection_refuse_version(session, connection);
	default: return -EPROTO;
	}
}

static int connection_flush(struct session *session, struct connection *connection)
{
	size_t before = connection->outbox.size;
	int ret = outbox_flush(&connection->outbox, connection->watch.fd);

	if (ret && ret != -EAGAIN)
		return ret;
	connection->is_introducing &= ret != 0;
	/* A peer that reads slowly, but makes progress, gets a new timeout. */
	if (connection->outbox.size != before)
		watch_connection(session, connection);
	return 0;
}

void connection_ready(struct session *session, struct connection *connection)
{
	int ret = outbox_is_empty(&connection->outbox) ? connection_handle(session, connection)
						       : connection_flush(session, connection);

	if (ret && is_own_error(-ret))
		report_about(session, connection->uid, connection->peer, true,
				"the connection with process %d is closed: %s",
				(int)connection->peer, strerror(-ret));
	if (ret)
		connection_close(session, connection);
}

void connections_expire(struct session *session)
{
	struct connection *connection, *next;
	uint64_t now = wire_deadline(0);

	for (connection = session->connections.list; connection; connection = next) {
		next = connection->next;
		if (now > connection->deadline ||
				(!connection->instance && now > connection->hello_deadline) ||
				(!outbox_is_empty(&connection->outbox) &&
						now > connection->send_deadline))
			connection_close(session, connection);
	}
}

void connections_forget(struct session *session, const struct instance *instance)
{
	struct connection *connection, *next;

	for (connection = session->connections.list; connection; connection = next) {
		next = connection->next;
		if (connection->instance == instance)
			connection_close(session, connection);
	}
}

void connections_close(struct session *session)
{
	while (session->connections.list)
		connection_close(session, session->connections.list);
	connections_free_closed(session);
}
