/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_EXCHANGE_H
#define SIDE_TRACERS_AGENT_CORE_EXCHANGE_H

/*
 * Exchanges of messages with one consumer. Answers are checked as strictly as the consumer checks
 * ours.
 *
 * Callers: describe.c, boot.c, join.c, update.c, process.c, start.c, ask.c and the control thread.
 * Hold libside's event lock, as one message buffer serves all sessions, or be the only thread of
 * the process (before main(), in a forked child); ask.c calls agent_build_hello() without it. Each
 * exchange waits with a bound (wait.h). Never call these functions in a callback of an event.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/protocol.h"

struct agent_generation;
struct agent_session;

#define AGENT_CONNECT_TIMEOUT_MS 1000 /* connection, HELLO, CONFIG and what follows it together */
#define AGENT_EVENTS_TIMEOUT_MS 1000  /* descriptions and their acknowledgement */
/* The longest wait for the probes of a library, before its constructors run. */
#define AGENT_LOADED_TIMEOUT_MS 1000

enum agent_ask { AGENT_ASK_NOTHING, AGENT_ASK_HELLO, AGENT_ASK_REFRESH };

/* A session that the process should be in. */
struct agent_wanted {
	const char *path; /* of the session's socket */
	uint64_t generation;
	/*
	 * its rules, for a process that has the generation `base` (protocol.h); NULL: ask the
	 * session
	 */
	const void *push;
	uint32_t push_size;
	uint64_t base;
	/*
	 * The question sent on `socket`, whose answer has arrived unless `error` is set. Zero: no
	 * question.
	 */
	enum agent_ask asked;
	int socket;
	int error;
	uint64_t token;
	uint64_t known; /* the generation that REFRESH names */
	bool retries;   /* the session refused this process before, because a share was used up */
};

/*
 * Join: leaves the rings' descriptors, one for each channel, in ring_fds; -1 for all others. In a
 * forked child (parent_token is not 0), channels and rules are those that the session has.
 */
int agent_hello(struct agent_session *session, uint64_t parent_token, int *ret_ring_fds);
/*
 * Encodes HELLO into `message` (WIRE_MESSAGE_MAX bytes). `names` has twice AGENT_NAME_SIZE bytes.
 */
ssize_t agent_build_hello(
		uint64_t token, void *message, char *names, uint64_t parent_token, bool retries);

/*
 * What has changed since the generation that the session has? 0: *ret_generation is what the
 * session wants now, from a pushed message or from its answer; then the connection stays open. -EALREADY:
 * nothing. -ECONNREFUSED, -ENOENT, -ETIMEDOUT and so on: no consumer answers. -EACCES: the session
 * does not want this process any more.
 */
int agent_refresh(struct agent_session *session, struct agent_wanted *wanted,
		struct agent_generation **ret_generation);
uint64_t agent_known_generation(const struct agent_session *session);
bool agent_may_take_push(const struct agent_session *session, const struct agent_wanted *wanted);

/*
 * Send the recorder a stream of descriptions, on the first connection while it is open, else on one
 * of its own. Calls `refused` for each event that the recorder refuses. 0 or a negative errno.
 */
int agent_exchange_send_events(struct agent_session *session, const void *stream, size_t size,
		void (*refused)(void *user, const struct wire_refused *one), void *user);
/*
 * Report libraries to the recorder before their constructors run: `nr` paths, each with its NUL.
 * 0: it has sent all tables, for agent_probes_update(). -EALREADY: there are no new ones. Or another
 * negative errno.
 */
int agent_exchange_loaded(
		struct agent_session *session, const char *paths, uint32_t nr, uint32_t size);
int agent_bye(struct agent_session *session);
void agent_hang_up(struct agent_session *session);

/* The message buffer, which is kept for the next exchange: release its pages; unmap it. */
void agent_exchanges_trim(void);
void agent_exchanges_stop(void);
/* In a forked child: close the connection of an exchange that the fork cut off. */
void agent_exchanges_forked(void);

#endif
