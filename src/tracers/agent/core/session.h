/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_SESSION_H
#define SIDE_TRACERS_AGENT_CORE_SESSION_H

/*
 * A session that records this process, and its channels. A session is one consumer; a channel is a
 * set of rings with rules.
 *
 * The members are read and written with libside's event lock, or by the only thread of the process
 * (before main(), in a forked child). Callbacks of events reach a channel through their struct
 * agent_event, and read only `producer` and members that are constant.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/recycled-ids.h"

struct agent_batch;
struct agent_generation;
struct agent_pushed;
struct agent_rule;
struct boot_session;
struct probes_table;
struct recovery_chunk;
struct recovery_head;
struct side_tracer_handle;

#define AGENT_SESSIONS_MAX WIRE_WELCOME_MAX
#define AGENT_BOOT_FOLDER_SIZE 112

/*
 * Loss reasons of the agent, in addition to those of the ring. RING_LOST_NESTED of an event: in the
 * child of a vfork(). The last slot of the counters belongs to no event: RING_LOST_OTHER counts
 * event classes that stayed disabled because the consumer did not answer; RING_LOST_NESTED counts
 * records that a forked child made before it had rings of its own. RING_LOST_OTHER of an event, and
 * RING_LOST_BUSY in the last slot: agent_count_lost().
 */
#define AGENT_LOST_SLOT UINT32_MAX

struct agent_channel {
	struct agent_session *session;
	struct ring_producer *producer; /* NULL: nothing is recorded */
	uint32_t index;
	uint32_t next_id;
	const struct agent_rule *rules; /* of the session's generation */
	uint32_t nr_contexts;
	const struct context_spec *contexts;
	const struct context_set *context_set; /* NULL: none */
	uint64_t ring_memory;
	struct agent_recycled_ids spares;
	char name[WIRE_CHANNEL_NAME_MAX + 1];
};

enum agent_session_state {
	AGENT_SESSION_FREE,
	AGENT_SESSION_IN,
	AGENT_SESSION_LEFT, /* its rings stay until no thread can be writing to them */
};

struct agent_session {
	enum agent_session_state state;
	bool is_explicit; /* by SIDE_AGENT_SOCKET, or attached: no daemon ends it */
	bool attached;    /* by `side attach` */
	bool gone;        /* the consumer does not answer any more */
	bool incomplete;  /* the consumer does not know all events yet */
	bool orphaned;    /* this process was forked, and is no instance of the session */
	bool list_only;
	/* the wrapper libraries that `side attach -w` wants for it: bits of enum agent_wrapper */
	uint32_t wrappers;
	bool bases_recorded;    /* the session has records of all libraries */
	int socket;             /* the first connection while it is open, else -1 */
	bool socket_is_private; /* the descriptor is not in the program's table */
	uint64_t key;
	uint64_t token;
	uint64_t dumped;           /* the last state dump that was requested of libside */
	struct wire_config config; /* without the reason, whose memory does not stay */
	struct agent_memory memory;
	struct agent_pushed *pushed; /* messages to read instead of the socket's, or NULL */
	struct agent_channel *channels;
	uint32_t nr_channels;
	struct agent_generation *generation;
	struct agent_batch *batches;
	struct probes_table *tables;
	struct probes_loaded *loaded; /* libraries that the session knows, or NULL */
	/* tables arrived where nothing may be waited for: set their probes later */
	bool probes_due;
	struct recovery_head *recovery;
	struct recovery_chunk *last_chunk;
	const struct boot_session *boot; /* of a static configuration, or NULL */
	/* of this process in its state directory; "": none */
	char boot_folder[AGENT_BOOT_FOLDER_SIZE];
	char path[WIRE_SESSION_PATH_MAX + 1];
};

/*
 * The members are written with libside's event lock, or by the only thread of the process;
 * `is_exiting` by the exiting thread.
 */
struct agent_process {
	struct agent_session sessions[AGENT_SESSIONS_MAX]; /* in any order */
	uint64_t keys[AGENT_SESSIONS_MAX];                 /* libside's keys of their callbacks */
	uint32_t nr_sessions;
	atomic_bool is_exiting; /* destructors run: other threads may still be in callbacks */
	bool is_prepared;       /* agent_prepare() has succeeded */
	struct side_tracer_handle *tracer;
};

/* The sessions of this process. The body may leave the session that it is at. */
#define agent_each_session(session)                                    \
	for ((session) = agent_session_after(NULL); (session) != NULL; \
			(session) = agent_session_after(session))
struct agent_session *agent_session_after(const struct agent_session *session);

#endif
