/* SPDX-License-Identifier: MIT */
/*
 * Exchanges of messages with a consumer: connect, send, receive, close, each within its timeout.
 * The answers of the consumer are checked as strictly as it checks the messages of this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tracers/agent/core/exchange.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/recycled-ids.h"
#include "tracers/agent/core/rendezvous.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/context/values.h"
#include "base/inside/raw.h"

#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

void agent_hang_up(struct agent_session *session)
{
	wire_close(session->socket);
	session->socket = -1;
}

ssize_t agent_build_hello(
		uint64_t token, void *message, char *names, uint64_t parent_token, bool retries)
{
	const union {
		uint16_t word;
		uint8_t first;
	} order = {.word = 1};
	struct wire_hello hello = {
			.pid = (uint32_t)raw_call(SYS_getpid),
			.parent = (uint32_t)raw_call(SYS_getppid),
			.token = token,
			.parent_token = parent_token,
			.word_size = sizeof(void *),
			.control = agent.control.mode,
			.control_signal = agent.control.signal,
			.procname = names,
			.exe = names + AGENT_NAME_SIZE,
	};

	if (!order.first)
		hello.features |= WIRE_FEATURE_BIG_ENDIAN;
	if (parent_token)
		hello.features |= WIRE_FEATURE_FORKED;
	if (agent_has_probes)
		hello.features |= WIRE_FEATURE_PROBES | WIRE_FEATURE_LOADED;
	if (retries)
		hello.features |= WIRE_FEATURE_RETRY;
	hello.features |= WIRE_FEATURE_LEASE | agent.control.loader << WIRE_LOADER_SHIFT;
	agent_process_names(names, names + AGENT_NAME_SIZE);
	return wire_encode_hello(message, WIRE_MESSAGE_MAX, &hello);
}

/* ---- the beginning ---- */

/* Messages that the daemon has brought, in a row. */
struct agent_pushed {
	const char *at;
	size_t left;
};

static ssize_t take_pushed(struct agent_pushed *pushed, void *message, size_t *ret_nr_fds)
{
	size_t size = wire_next(pushed->at, pushed->left);

	if (ret_nr_fds)
		*ret_nr_fds = 0;
	/* No more than a packet holds: what is pushed came in one. */
	if (!size)
		return -EPROTO;
	memcpy(message, pushed->at, size);
	pushed->at += size;
	pushed->left -= size;
	return (ssize_t)size;
}

/* One message of an exchange: its size, or a negative errno; the end of the connection is one. */
static ssize_t receive(const struct agent_session *session, void *message, int *fds, size_t *nr_fds,
		uint64_t deadline)
{
	ssize_t size;

	if (session->pushed)
		return take_pushed(session->pushed, message, nr_fds);
	size = wire_receive(session->socket, message, WIRE_MESSAGE_MAX, fds, nr_fds, deadline);
	return size ? size : -ECONNRESET;
}

/* Close descriptors that a message must not have. */
static int no_fds(const int *fds, size_t nr_fds)
{
	while (nr_fds)
		wire_close(fds[--nr_fds]);
	return -EPROTO;
}

/* The descriptor that a message must come with; what else came is closed. */
static int one_fd(int *fds, size_t nr_fds, int *ret_fd)
{
	if (nr_fds == 1) {
		*ret_fd = fds[0];
		return 0;
	}
	return no_fds(fds, nr_fds);
}

/*
 * A listing has no channels: all events belong to one without rings. Otherwise channels that we
 * have (in a forked child) stay.
 */
static int prepare_channels(struct agent_session *session)
{
	const struct wire_channel any = {.name = "list", .contexts = ""};
	const struct wire_rule all = {.patterns = "", .contexts = ""};
	uint32_t nr = session->list_only ? 1 : session->config.nr_channels;
	int ret;

	if (session->channels)
		return nr == session->nr_channels ? 0 : -EPROTO;
	if (!nr)
		return -EPROTO;
	session->channels = agent_memory_take(&session->memory, nr * sizeof(*session->channels));
	session->generation = agent_generation_begin();
	if (!session->channels || !session->generation)
		return -ENOMEM;
	session->nr_channels = nr;
	if (!session->list_only)
		return 0;
	ret = agent_take_channel(session, &any);
	return ret ? ret : agent_take_rule(session->generation, &all);
}

static int receive_config(struct agent_session *session, void *message, uint64_t deadline)
{
	struct wire_config config;
	ssize_t size = receive(session, message, NULL, NULL, deadline);
	bool list_only;
	int ret;

	if (size < 0)
		return (int)size;
	ret = wire_decode_config(message, (size_t)size, &config);
	list_only = !ret && config.flags & WIRE_CONFIG_LIST_ONLY;
	if (ret == -EPROTONOSUPPORT)
		agent_debug("the recorder is of another release: nothing is recorded");
	if (!ret && !config.accepted) {
		agent_debug("the recorder refuses: %s", config.reason);
		ret = config.flags & WIRE_CONFIG_RETRY ? -EUSERS : -EACCES;
	}
	if (!ret && session->channels && list_only != session->list_only)
		ret = -EPROTO;
	if (ret)
		return ret;
	session->list_only = list_only;
	config.reason = NULL;
	if (session->channels) {
		/* A forked child has its parent's rules, and will ask for newer ones. */
		config.generation = session->config.generation;
		config.statedump = session->config.statedump;
	}
	session->config = config;
	return prepare_channels(session);
}

/* `generation` NULL: they are not of interest. */
static int receive_rule(struct agent_session *session, void *message, uint64_t deadline,
		uint32_t channel, struct agent_generation *generation)
{
	ssize_t size = receive(session, message, NULL, NULL, deadline);
	struct agent_hash hashes[2];
	struct wire_rule rule;
	int ret;

	if (size < 0)
		return (int)size;
	ret = wire_decode_rule(message, (size_t)size, &rule);
	if (!ret && rule.channel != channel)
		ret = -EPROTO;
	if (ret || !generation)
		return ret;
	hashes[0] = generation->hash;
	hashes[1] = agent_hash(message, (size_t)size);
	generation->hash = agent_hash(hashes, sizeof(hashes));
	return agent_take_rule(generation, &rule);
}

static bool is_same_channel(const struct agent_channel *ours, const struct wire_channel *theirs)
{
	const char *name = theirs->contexts;
	uint32_t i;

	if (ours->nr_contexts != theirs->nr_contexts || strcmp(ours->name, theirs->name) != 0)
		return false;
	for (i = 0; i < ours->nr_contexts; i++) {
		if (strcmp(ours->contexts[i].name, name) != 0)
			return false;
		name += strlen(name) + 1;
	}
	return true;
}

/* With the descriptor of its rings, or without. */
static int receive_channel_head(struct agent_session *session, void *message, uint64_t deadline,
		struct wire_channel *ret_channel, int *ret_ring_fd)
{
	int fds[WIRE_FDS_MAX] = {-1, -1, -1, -1};
	size_t nr_fds = WIRE_FDS_MAX;
	ssize_t size = receive(session, message, fds, &nr_fds, deadline);
	int ret = 0;

	if (size < 0)
		return (int)size;
	if (ret_ring_fd)
		ret = one_fd(fds, nr_fds, ret_ring_fd);
	else if (nr_fds)
		ret = no_fds(fds, nr_fds);
	return ret ? ret : wire_decode_channel(message, (size_t)size, ret_channel);
}

/*
 * A channel and its rules, for `generation` if there is one. `keep`: it is new. Otherwise it is one
 * that we have. Without ring_fd its rings stay as they are.
 */
static int receive_channel(struct agent_session *session, void *message, uint64_t deadline,
		uint32_t index, struct agent_generation *generation, bool keep, int *ret_ring_fd)
{
	struct wire_channel channel;
	uint32_t nr_rules;
	int ret = receive_channel_head(session, message, deadline, &channel, ret_ring_fd);

	if (!ret &&
			(channel.index != index ||
					(!keep &&
							!is_same_channel(&session->channels[index],
									&channel))))
		ret = -EPROTO;
	if (!ret && keep)
		ret = agent_take_channel(session, &channel);
	if (ret)
		return ret;
	if (ret_ring_fd)
		session->channels[index].ring_memory = channel.ring_memory;
	for (nr_rules = channel.nr_rules; nr_rules && !ret; nr_rules--)
		ret = receive_rule(session, message, deadline, index, generation);
	return ret;
}

/* The kernel compares all of them before it lets a process trace this one. */
static bool has_ids_of(const struct ucred *peer)
{
	uid_t user, effective_user, saved_user;
	gid_t group, effective_group, saved_group;

	return !raw_call(SYS_getresuid, &user, &effective_user, &saved_user) &&
			!raw_call(SYS_getresgid, &group, &effective_group, &saved_group) &&
			user == peer->uid && effective_user == peer->uid &&
			saved_user == peer->uid && group == peer->gid &&
			effective_group == peer->gid && saved_group == peer->gid;
}

/*
 * Ambient capabilities leave a process dumpable, but the kernel lets only tracers with these
 * capabilities trace it.
 */
static bool has_no_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return !raw_call(SYS_capget, &head, data) && !data[0].permitted && !data[1].permitted;
}

/*
 * Probes can read all memory of the process, so only a user who may read it anyway may install
 * them. For a process that has had other ids, or is not dumpable, that is root.
 */
static bool agent_exchange_may_install_probes(const struct agent_session *session)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t size = sizeof(peer);

	/*
	 * The user who created this thread by ptrace may read the memory, and has named the socket.
	 * In a user namespace that does not map that user, there is no other evidence. Only the
	 * thread itself has stored it: orders nothing.
	 */
	if (atomic_load_explicit(&agent.own_process.borrowed, memory_order_relaxed) ==
			raw_call(SYS_gettid))
		return true;
	/* Likewise, `side attach` has named the rendezvous socket and its owner. */
	if (agent_session_by_rendezvous(session))
		return true;

	if (raw_call(SYS_getsockopt, session->socket, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return false;
	/*
	 * A program that was started by its recorder has no rights that the recorder has not had:
	 * they come from execve(), which ignores us then.
	 */
	return !peer.uid ||
			(has_ids_of(&peer) && prctl(PR_GET_DUMPABLE) == 1 &&
					((session->is_explicit && !session->attached) ||
							has_no_capabilities()));
}

/* What CONFIG has promised. */
static int receive_tables(
		struct agent_session *session, void *message, uint64_t deadline, uint32_t nr)
{
	agent_probes_begin();
	/* A pushed message has no descriptors: ask the session. */
	if (session->pushed && (nr || session->tables))
		return -EPROTO;
	for (; nr; nr--) {
		int fds[WIRE_FDS_MAX] = {-1, -1, -1, -1}, fd = -1;
		size_t nr_fds = WIRE_FDS_MAX;
		ssize_t size = receive(session, message, fds, &nr_fds, deadline);
		struct wire_probes probes;
		int ret;

		if (size < 0)
			return (int)size;
		ret = one_fd(fds, nr_fds, &fd);
		if (!ret)
			ret = wire_decode_probes(message, (size_t)size, &probes);
		if (ret) {
			wire_close(fd);
			return ret;
		}
		if (!agent_exchange_may_install_probes(session)) {
			wire_close(fd);
			fd = -1;
		}
		ret = agent_probes_receive(probes.table, probes.size, fd);
		if (ret)
			return ret;
	}
	agent_probes_received();
	return 0;
}

static int agent_exchange_send_hello(struct agent_session *session, void *message, char *names,
		uint64_t parent_token, uint64_t deadline)
{
	ssize_t size = agent_build_hello(session->token, message, names, parent_token, false);

	if (size < 0)
		return (int)size;
	session->socket_is_private = agent_control_has_table();
	session->socket = agent_session_connect(session, deadline);
	if (session->socket < 0)
		return session->socket;
	if (!session->list_only &&
			!agent_has_descriptors(session->socket,
					session->channels ? session->nr_channels : 0))
		return -EMFILE;
	return wire_send(session->socket, message, (size_t)size, NULL, 0, deadline);
}

static int hello_exchange(struct agent_session *session, void *message, char *names,
		uint64_t parent_token, int *ret_ring_fds)
{
	uint64_t deadline = agent_deadline(AGENT_CONNECT_TIMEOUT_MS);
	bool keep = !session->channels;
	uint32_t i;
	/* With a connection, ask.c has sent it already. */
	int ret = session->socket < 0
			? agent_exchange_send_hello(session, message, names, parent_token, deadline)
			: 0;

	if (!ret)
		ret = receive_config(session, message, deadline);
	if (!ret)
		ret = receive_tables(session, message, deadline, session->config.nr_tables);
	for (i = 0; !ret && !session->list_only && i < session->nr_channels; i++)
		ret = receive_channel(session, message, deadline, i,
				keep ? session->generation : NULL, keep, &ret_ring_fds[i]);
	if (!ret && keep)
		agent_generation_apply(session, session->generation);
	return ret;
}

int agent_hello(struct agent_session *session, uint64_t parent_token, int *ret_ring_fds)
{
	size_t mapped = WIRE_MESSAGE_MAX + 2 * AGENT_NAME_SIZE;
	char *memory = raw_mmap(
			NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint32_t i;
	int ret;

	for (i = 0; i < WIRE_CHANNELS_MAX; i++)
		ret_ring_fds[i] = -1;
	ret = memory ? hello_exchange(session, memory, memory + WIRE_MESSAGE_MAX, parent_token,
				       ret_ring_fds)
		     : -ENOMEM;
	if (ret == -ETIMEDOUT && !session->is_explicit)
		agent_stalled_note(session->path);
	if (ret) {
		agent_hang_up(session);
		for (i = 0; i < WIRE_CHANNELS_MAX; i++)
			wire_close(ret_ring_fds[i]);
	}
	if (memory)
		raw_munmap(memory, mapped);
	return ret;
}

/* ---- memory of the later exchanges ---- */

/*
 * For one exchange at a time, because libside's event lock is held. It is kept, because the next
 * one may come soon.
 */
static char *message_buffer;

static char *agent_exchange_take_message_buffer(void)
{
	if (!message_buffer)
		message_buffer = raw_mmap(NULL, WIRE_MESSAGE_MAX, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1);
	return message_buffer;
}

void agent_exchanges_trim(void)
{
	if (message_buffer)
		raw_call(SYS_madvise, message_buffer, (size_t)WIRE_MESSAGE_MAX, MADV_DONTNEED);
}

void agent_exchanges_stop(void)
{
	if (message_buffer)
		raw_munmap(message_buffer, WIRE_MESSAGE_MAX);
	message_buffer = NULL;
}

/* ---- what has changed ---- */

static int agent_exchange_receive_update(struct agent_session *session, void *message,
		uint64_t deadline, struct wire_config *config)
{
	int fds[WIRE_FDS_MAX] = {-1, -1, -1, -1};
	size_t nr_fds = WIRE_FDS_MAX;
	ssize_t size = receive(session, message, fds, &nr_fds, deadline);
	int ret;

	if (size < 0)
		return (int)size;
	ret = nr_fds ? no_fds(fds, nr_fds) : wire_decode_config(message, (size_t)size, config);
	if (ret)
		return ret;
	if (!config->accepted) {
		agent_debug("the recorder at %s closed the connection: %s", session->path,
				config->reason);
		return -EACCES;
	}
	if (config->flags & WIRE_CONFIG_UNCHANGED)
		return -EALREADY;
	return config->nr_channels == session->nr_channels ? 0 : -EPROTO;
}

static int ask_refresh(struct agent_session *session, struct agent_wanted *wanted, void *message,
		uint64_t deadline)
{
	struct wire_refresh refresh = {
			.token = session->token, .generation = agent_known_generation(session)};
	ssize_t size;

	session->socket_is_private = agent_control_has_table();
	/* ask.c has sent the question already. */
	if (wanted->asked == AGENT_ASK_REFRESH && wanted->token == session->token) {
		session->socket = wanted->socket;
		wanted->asked = AGENT_ASK_NOTHING;
		return 0;
	}
	size = wire_encode_refresh(message, WIRE_MESSAGE_MAX, &refresh);
	if (size < 0)
		return (int)size;
	session->socket = agent_session_connect(session, deadline);
	if (session->socket < 0)
		return session->socket;
	return wire_send(session->socket, message, (size_t)size, NULL, 0, deadline);
}

/* A session that has missed an update asks for everything. */
uint64_t agent_known_generation(const struct agent_session *session)
{
	return session->incomplete || session->probes_due ? 0 : session->config.generation;
}

/* A changed session may have probes for libraries that it has not known before. */
static void agent_exchange_take_loads(
		struct agent_session *session, const struct wire_config *config)
{
	session->config.flags &= ~(uint32_t)WIRE_CONFIG_LOADS;
	session->config.flags |= config->flags & WIRE_CONFIG_LOADS;
	agent_probes_forget_loaded(session);
}

static int refresh_exchange(struct agent_session *session, struct agent_wanted *wanted,
		void *message, struct agent_generation *generation)
{
	uint64_t deadline = agent_deadline(AGENT_CONNECT_TIMEOUT_MS);
	int ret = session->pushed ? 0 : ask_refresh(session, wanted, message, deadline);
	struct wire_config config = {0};
	uint32_t i;

	if (!ret)
		ret = agent_exchange_receive_update(session, message, deadline, &config);
	if (ret && ret != -EALREADY)
		return ret;
	agent_probes_begin();
	if (!ret)
		ret = receive_tables(session, message, deadline, config.nr_tables);
	for (i = 0; i < config.nr_channels && !ret; i++)
		ret = receive_channel(session, message, deadline, i, generation, false, NULL);
	if (!ret || ret == -EALREADY) {
		session->config.generation = config.generation;
		session->config.statedump = config.statedump;
	}
	if (!ret)
		agent_exchange_take_loads(session, &config);
	return ret;
}

static int agent_exchange_take_update(struct agent_session *session, struct agent_wanted *wanted,
		struct agent_generation **ret_generation)
{
	void *message = agent_exchange_take_message_buffer();
	int ret = -ENOMEM;

	*ret_generation = message ? agent_generation_begin() : NULL;
	if (*ret_generation)
		ret = refresh_exchange(session, wanted, message, *ret_generation);
	if (!ret)
		return 0;
	if (ret == -ETIMEDOUT)
		agent_stalled_note(session->path);
	agent_hang_up(session);
	if (*ret_generation)
		agent_generation_free(*ret_generation);
	*ret_generation = NULL;
	return ret;
}

/*
 * Does the pushed message follow the generation that the session has? If one was missed, ask for
 * all rules.
 */
bool agent_may_take_push(const struct agent_session *session, const struct agent_wanted *wanted)
{
	return wanted->push && wanted->base == session->config.generation && !session->gone &&
			!session->incomplete && !session->probes_due && !session->boot;
}

int agent_refresh(struct agent_session *session, struct agent_wanted *wanted,
		struct agent_generation **ret_generation)
{
	struct agent_pushed pushed = {wanted->push, wanted->push_size};
	int ret;

	if (agent_may_take_push(session, wanted)) {
		session->pushed = &pushed;
		ret = agent_exchange_take_update(session, wanted, ret_generation);
		session->pushed = NULL;
		if (!ret)
			return 0;
		agent_debug("%s: cannot use the update message: error %d", session->path, -ret);
	}
	return agent_exchange_take_update(session, wanted, ret_generation);
}

/* ---- libraries that are loaded ---- */

static int agent_exchange_ask_loaded(struct agent_session *session, void *message,
		const struct wire_loaded *loaded, uint64_t deadline)
{
	struct wire_config config = {0};
	ssize_t size = wire_encode_loaded(message, WIRE_MESSAGE_MAX, loaded);
	uint32_t i;
	int ret;

	if (size < 0)
		return (int)size;
	session->socket_is_private = agent_control_has_table();
	session->socket = agent_session_connect(session, deadline);
	ret = session->socket < 0
			? session->socket
			: wire_send(session->socket, message, (size_t)size, NULL, 0, deadline);
	if (!ret)
		ret = agent_exchange_receive_update(session, message, deadline, &config);
	if (ret)
		return ret;
	ret = receive_tables(session, message, deadline, config.nr_tables);
	/* Rules follow, as after REFRESH. The program has them, or asks for them itself. */
	for (i = 0; i < config.nr_channels && !ret; i++)
		ret = receive_channel(session, message, deadline, i, NULL, false, NULL);
	return ret;
}

int agent_exchange_loaded(
		struct agent_session *session, const char *paths, uint32_t nr, uint32_t size)
{
	struct wire_loaded loaded = {
			.token = session->token, .nr_paths = nr, .size = size, .paths = paths};
	void *message = agent_exchange_take_message_buffer();
	/* The first connection may still be open: descriptions follow on it. */
	int first = session->socket, ret = -ENOMEM;
	bool is_private = session->socket_is_private;

	session->socket = -1;
	if (message)
		ret = agent_exchange_ask_loaded(
				session, message, &loaded, agent_deadline(AGENT_LOADED_TIMEOUT_MS));
	if (ret == -ETIMEDOUT)
		agent_stalled_note(session->path);
	agent_hang_up(session);
	session->socket = first;
	session->socket_is_private = is_private;
	if (ret)
		agent_probes_begin();
	return ret;
}

/* ---- descriptions ---- */

static int agent_exchange_send_stream(const struct agent_session *session, int socket,
		char *message, const char *stream, size_t size, uint64_t deadline)
{
	uint32_t sequence = 0;

	do {
		size_t part = size < WIRE_EVENTS_BYTES_MAX ? size : WIRE_EVENTS_BYTES_MAX;
		struct wire_events events = {
				.token = session->token,
				.sequence = sequence++,
				.last = part == size,
				.bytes = stream,
				.size = (uint32_t)part,
		};
		ssize_t length = wire_encode_events(message, WIRE_MESSAGE_MAX, &events);
		int ret;

		if (length < 0)
			return (int)length;
		ret = wire_send(socket, message, (size_t)length, NULL, 0, deadline);
		if (ret)
			return ret;
		stream += part;
		size -= part;
	} while (size);
	return 0;
}

static int receive_ack(int socket, char *message, uint64_t deadline,
		void (*refused)(void *user, const struct wire_refused *one), void *user)
{
	struct wire_ack ack;

	do {
		ssize_t size = wire_receive(
				socket, message, WIRE_MESSAGE_MAX, NULL, NULL, deadline);
		uint32_t i;
		int ret;

		if (size <= 0)
			return size ? (int)size : -ECONNRESET;
		ret = wire_decode_ack(message, (size_t)size, &ack);
		if (ret)
			return ret;
		for (i = 0; i < ack.nr_refused; i++) {
			struct wire_refused one = wire_ack_at(&ack, i);

			refused(user, &one);
		}
	} while (!ack.last);
	return 0;
}

/* The connection of an exchange beside which a fork may pass, if it has one of its own. */
static int received_socket = -1;

void agent_exchanges_forked(void)
{
	wire_close(received_socket);
	received_socket = -1;
}

int agent_exchange_send_events(struct agent_session *session, const void *stream, size_t size,
		void (*refused)(void *user, const struct wire_refused *one), void *user)
{
	uint64_t deadline = agent_deadline(AGENT_EVENTS_TIMEOUT_MS);
	int socket = session->socket;
	char *message;
	int ret;

	message = agent_exchange_take_message_buffer();
	if (!message)
		return -ENOMEM;
	if (socket < 0) {
		socket = agent_session_connect(session, deadline);
		received_socket = agent_control_has_table() ? -1 : socket;
	}
	ret = socket < 0 ? socket
			 : agent_exchange_send_stream(
					   session, socket, message, stream, size, deadline);
	if (!ret)
		ret = receive_ack(socket, message, deadline, refused, user);
	received_socket = -1;
	if (socket != session->socket || ret)
		wire_close(socket);
	if (socket == session->socket && ret)
		session->socket = -1;
	return ret;
}

/* The listing is complete. Waits until the consumer has taken note, that is, has hung up. */
int agent_bye(struct agent_session *session)
{
	uint64_t deadline = agent_deadline(AGENT_EVENTS_TIMEOUT_MS);
	struct wire_bye bye = {.token = session->token};
	char message[64];
	ssize_t size = wire_encode_bye(message, sizeof(message), &bye);
	int ret;

	if (size < 0 || session->socket < 0)
		return size < 0 ? (int)size : -ENOTCONN;
	ret = wire_send(session->socket, message, (size_t)size, NULL, 0, deadline);
	if (!ret)
		wire_receive(session->socket, message, sizeof(message), NULL, NULL, deadline);
	agent_hang_up(session);
	return ret;
}
