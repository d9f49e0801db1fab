/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_PROTOCOL_H
#define SIDE_PROTOCOL_PROTOCOL_H

/*
 * The messages between the agent in a traced program and the recorder (the consumer).
 *
 * One Unix socket of type SOCK_SEQPACKET; a message is one packet of at most 64 KiB, a header and a
 * body in host byte order (both ends are on one machine; the layout does not depend on the word
 * size). File descriptors are sent by SCM_RIGHTS. The agent opens a connection for each exchange
 * and closes it afterwards, so that no descriptor stays open in the program:
 *
 *   first connection          HELLO   ->
 *                                    <-  CONFIG  (accepted, or a reason)
 *                                    <-  PROBES  (each of CONFIG's nr_tables)       + the table
 *                                    <-  CHANNEL (each of CONFIG's nr_channels)     + its rings
 *                                    <-  RULE    (after its CHANNEL, each of its nr_rules)
 *   each batch of events      EVENTS  ->   (as many as needed, the last one flagged)
 *                                    <-  ACK     (as many as needed, the last one flagged)
 *   end of a listing          BYE     ->
 *
 * EVENTS may follow the last RULE on the first connection. On later connections the token of HELLO
 * identifies the instance, and the peer's process id from the kernel must match it.
 *
 * SIDE_AGENT_SOCKET names one consumer, or several with a colon between them (WIRE_SESSIONS_MAX at
 * most). Each is an independent session with its own connections.
 *
 * If the agent cannot be loaded into a program, or cannot work there, the program sends one message
 * and closes the connection:
 *
 *   only connection           UNRECORDED ->  (src/tracers/preload/shim.c, without this header)
 *
 * A program that cannot send it, for example a static one, is reported by the program that starts
 * it (src/tracers/agent/core/exec-watch.c).
 *
 * A listing has no channels, no descriptors and no rules: the program describes all its events, as
 * events of channel 0, and records nothing.
 *
 * The rules of a session may change while it runs. Each change increments its generation. A program
 * that is notified of it requests the new rules, on a connection of its own:
 *
 *   a later connection        REFRESH ->
 *                                    <-  CONFIG  (unchanged; or accepted, without a descriptor;
 *                                                 or not accepted: the program leaves the session)
 *                                    <-  PROBES  (each of CONFIG's nr_tables)       + the table
 *                                    <-  CHANNEL (each of them, without a descriptor)
 *                                    <-  RULE    (after its CHANNEL: all that are valid now)
 *                             EVENTS  ->   (those that are new, or have other contexts than before)
 *                                    <-  ACK
 *
 * A channel without rules records nothing; a stopped session has only such channels.
 *
 * PROBES contains a table of probes (probe/table/table.h) for the program. A CONFIG is followed by
 * all valid tables: the program removes a table that is not among them. Tables are identified by
 * numbers and never change; the program ignores one that it has. Events of probes are ordinary
 * events, but only a session that sent a table records them. The program sets a probe while a
 * session with rules records its events, which a stopped session does not. It reports the state of
 * a table's probes, each time of all of them:
 *
 *   a later connection        PROBED  ->   (for each table as many as needed, the last one flagged)
 *
 * It sends PROBED after the EVENTS of the same change and before DONE to the daemon; later when a
 * library with probes is loaded or unloaded. Only programs with WIRE_FEATURE_PROBES understand
 * PROBES.
 *
 * A session with WIRE_CONFIG_LOADS in its CONFIG can make tables for libraries while they are
 * loaded. The program reports each library that no table of the session has, before the library's
 * constructors run, and waits for the answer. It has the form of an answer to REFRESH, and it is
 * "unchanged" if there are no other tables than before; the program ignores its rules. Only programs
 * with WIRE_FEATURE_LOADED get that flag:
 *
 *   a later connection        LOADED  ->
 *                                    <-  CONFIG  (unchanged; or accepted, without a descriptor)
 *                                    <-  PROBES, CHANNEL, RULE  (as after REFRESH)
 *
 * The daemon notifies programs of sessions that begin and end (control), at agents.sock in the
 * runtime directory (runtime.h). A program may keep this connection; then the daemon sends WELCOME
 * again after each change. WELCOME always lists every session that the program should be in:
 *
 *   to the daemon             ARRIVE  ->
 *                                    <-  WELCOME
 *                             DONE    ->   (after the exchanges with the sessions)
 *
 * The first message of a connection is ARRIVE or PASS, and ARRIVE is sent once. The daemon answers
 * any other order with a WELCOME that is not accepted and has the reason, and closes that
 * connection; the program and its other connections are not affected.
 *
 * In the packet of a WELCOME, PUSH messages may follow it: the answers of changed sessions to
 * REFRESH. A program that has the preceding rules need not send REFRESH then.
 *
 * A program that does not see the runtime directory (another root directory, other mounts) may have
 * a rendezvous socket of the daemon, which is equivalent to agents.sock. It also leads to the
 * sessions; a connection that begins with
 *
 *   to the daemon             PASS    ->
 *                                    <-  PASS    (the same; or the end: no such session)
 *
 * continues as a connection to that session's socket. The session has received everything that was
 * sent on it before a DONE when the daemon requests what comes after this DONE: the same order as
 * with direct connections.
 *
 * All received bytes are untrusted until a decoder of this header has accepted them. Decoders do
 * not copy: strings and arrays point into the message. Nothing here allocates, keeps state or calls
 * an interposable function of the C library, because the agent may trace these functions itself.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define WIRE_PROTOCOL_VERSION 5
#define WIRE_MAGIC 0x45444953u /* "SIDE" in memory on a little-endian machine */
#define WIRE_MESSAGE_MAX 65536
#define WIRE_FDS_MAX 4
#define WIRE_SESSIONS_MAX 8       /* consumers that SIDE_AGENT_SOCKET may name for one program */
#define WIRE_WELCOME_MAX 64       /* sessions of one WELCOME */
#define WIRE_SESSION_PATH_MAX 107 /* bytes of a session's socket, without the NUL */
#define WIRE_CHANNELS_MAX 32      /* of one session */
#define WIRE_RULES_MAX 1024       /* of one channel */
#define WIRE_PATTERNS_MAX 1024    /* in one rule */
#define WIRE_CONTEXTS_MAX 64      /* of a channel, of a rule, of an event */
#define WIRE_TABLES_MAX 256       /* of probes, in one session */
#define WIRE_LOADED_MAX 64        /* libraries in one LOADED */
#define WIRE_LOADED_PATH_MAX 4095 /* bytes of one path, without the NUL */
#define WIRE_CHANNEL_NAME_MAX 63  /* bytes, without the NUL */
/* Largest number of refusals that fit one ACK. */
#define WIRE_ACK_REFUSALS_MAX 4096

#define WIRE_SOCKET_ENV "SIDE_AGENT_SOCKET"
/*
 * The socket of `side run`, which receives UNRECORDED messages only. The programs join the sessions
 * of the daemon.
 */
#define WIRE_REPORT_ENV "SIDE_REPORT_SOCKET"

enum wire_type {
	WIRE_HELLO = 1,
	WIRE_CONFIG = 2,
	WIRE_EVENTS = 3,
	WIRE_ACK = 4,
	WIRE_BYE = 5,
	WIRE_CHANNEL = 6,
	WIRE_RULE = 7,
	WIRE_REFRESH = 8,
	WIRE_ARRIVE = 9,
	WIRE_WELCOME = 10,
	WIRE_DONE = 11,
	WIRE_PROBES = 12,
	WIRE_PROBED = 13,
	WIRE_PUSH = 14,
	WIRE_PASS = 15,
	WIRE_UNRECORDED = 16,
	WIRE_LOADED = 17,
};

struct wire_header {
	uint32_t magic;
	uint16_t version;
	uint16_t type;
	uint32_t size;     /* of the whole message */
	uint32_t reserved; /* 0 */
};

/* Properties of the program. */
enum wire_feature {
	WIRE_FEATURE_BIG_ENDIAN = 1 << 0,
	WIRE_FEATURE_FORKED = 1 << 1, /* a forked child, not a fresh program image */
	WIRE_FEATURE_PROBES = 1 << 2, /* the agent can set probes */
	/* the consumer has refused it before, with WIRE_CONFIG_RETRY */
	WIRE_FEATURE_RETRY = 1 << 3,
	WIRE_FEATURE_LEASE =
			1 << 4, /* it supports rings whose memory can be reclaimed (RING_LEASED) */
	WIRE_FEATURE_LOADED = 1 << 5, /* it sends LOADED if the session requests it */
};

/* What loaded the agent into the program: two bits of `features`. */
#define WIRE_LOADER_SHIFT 6

enum wire_loader {
	WIRE_LOADER_UNKNOWN = 0, /* an agent of an earlier release */
	WIRE_LOADER_LIBSIDE = 1, /* the program is linked with libside */
	WIRE_LOADER_PRELOAD = 2, /* LD_PRELOAD, such as by `side run` */
	WIRE_LOADER_ATTACH = 3,  /* `side attach` and `side enable-event --pid` */
	WIRE_NR_LOADERS
};

/* How a program is notified of changes. */
enum wire_control {
	WIRE_CONTROL_OFF = 0,    /* not at all: it asks no daemon */
	WIRE_CONTROL_SYNC = 1,   /* it asks when it starts, and not later */
	WIRE_CONTROL_THREAD = 2, /* a thread of the agent listens */
	WIRE_CONTROL_SIGNAL = 3, /* a signal makes it ask */
	WIRE_NR_CONTROLS
};

#define WIRE_SIGNAL_MAX 128 /* the largest signal number on any architecture */

struct wire_hello {
	uint32_t pid; /* in the program's own namespace */
	uint32_t parent;
	uint64_t token;          /* random; identifies this instance on later connections */
	uint64_t parent_token;   /* of the instance that forked this one, or 0 */
	uint32_t word_size;      /* bytes: 4 or 8 */
	uint32_t features;       /* enum wire_feature */
	uint32_t control;        /* enum wire_control */
	uint32_t control_signal; /* 0 unless control is WIRE_CONTROL_SIGNAL */
	const char *procname;
	const char *exe;
};

enum wire_config_flag {
	WIRE_CONFIG_LIST_ONLY = 1 << 0, /* send every description, then exit before main() */
	WIRE_CONFIG_UNCHANGED = 1 << 1, /* to REFRESH: no message follows, the rules stay valid */
	WIRE_CONFIG_RETRY = 1 << 2,     /* a temporary refusal: try again later */
	WIRE_CONFIG_LOADS = 1 << 3,     /* send LOADED when libraries are loaded */
};

struct wire_config {
	bool accepted;
	uint32_t flags; /* enum wire_config_flag */
	/* the consumer's number of this instance, for messages to the user */
	uint32_t instance;
	uint32_t clock;           /* the rings' enum ring_clock */
	uint32_t max_events;      /* of a channel: ids are below this */
	uint32_t max_description; /* bytes of one encoded description */
	uint32_t max_payload;     /* bytes of one record's contexts and payload */
	uint32_t nr_channels;     /* CHANNEL messages that follow; 0 in a listing */
	uint32_t nr_tables;       /* PROBES messages that precede them; 0 in a listing */
	/* The clock as known now, for recovery.h: Unix time = offset_s + (offset + tick) /
	   frequency. */
	uint64_t frequency;
	int64_t offset_s;
	uint64_t offset;
	uint64_t generation; /* of the rules that follow; the first is 1 */
	uint64_t statedump;  /* number of the last request for a state dump; 0: none yet */
	const char *reason;  /* a sentence, when not accepted; otherwise "" */
};

/*
 * A set of rings. Its descriptor is that of the rings' memory. In the answer to REFRESH the rings
 * do not change: there is no descriptor, and ring_memory is 0.
 */
struct wire_channel {
	uint32_t index;       /* from 0, in the order of the messages */
	uint64_t ring_memory; /* size of the rings' memory in bytes */
	uint32_t nr_rules;    /* RULE messages that follow; 0: it records nothing */
	uint32_t nr_contexts;
	const char *name; /* part of a file name: letters, digits, and "_-." within */
	/* nr_contexts consecutive strings, each with its NUL: protocol/context.h */
	const char *contexts;
};
#define WIRE_CHANNEL_FDS 1

/* A table of probes. Its descriptor is that of its memory, which is sealed. */
struct wire_probes {
	uint64_t table; /* its number in the session: never 0, never reused */
	uint64_t size;  /* bytes */
};
#define WIRE_PROBES_FDS 1

/*
 * Selects the events that a channel records: those that the patterns select (pattern.h; no pattern:
 * all events), when the filter matches. An event is recorded if at least one of its channel's rules
 * selects it.
 */
struct wire_rule {
	uint32_t channel; /* index of its channel */
	uint32_t nr_patterns;
	uint32_t nr_contexts; /* contexts of its events' records in addition to the channel's */
	uint32_t filter_size; /* 0: no filter */
	const char *patterns; /* consecutive strings, each with its NUL */
	const char *contexts; /* likewise */
	const void *filter;   /* a program of the module filter; unaligned */
};

/*
 * A part of the stream of descriptions of one batch. The stream is a sequence of struct
 * wire_event_head, contexts_size bytes of context names and size bytes of the visit codec. Messages
 * may split it at any byte.
 */
struct wire_events {
	uint64_t token;
	uint32_t sequence; /* 0 for the first message of a batch, then incremented */
	bool last;
	const void *bytes;
	uint32_t size;
};

#define WIRE_EVENTS_OVERHEAD 40
#define WIRE_EVENTS_BYTES_MAX (WIRE_MESSAGE_MAX - WIRE_EVENTS_OVERHEAD)

/* The head of each description in that stream; unaligned. */
struct wire_event_head {
	uint32_t id; /* ids of each channel begin at 0 */
	uint16_t channel;
	uint16_t nr_contexts;   /* of this event's records, in addition to the channel's */
	uint32_t contexts_size; /* bytes of their names: consecutive strings, each with its NUL */
	uint32_t size;          /* bytes of the description, which follows them */
};

#define WIRE_EVENT_CONTEXTS_BYTES_MAX 65536 /* of contexts_size */

/* True if the bytes are exactly `nr` strings, as an event's head claims. */
bool wire_strings_valid(const char *strings, uint32_t nr, size_t size);

enum wire_refusal {
	WIRE_REFUSAL_NONE = 0,
	WIRE_REFUSAL_MALFORMED = 1,   /* the description cannot be decoded */
	WIRE_REFUSAL_UNSUPPORTED = 2, /* it has a type that this consumer cannot write */
	WIRE_REFUSAL_TOO_LARGE = 3,
	WIRE_REFUSAL_TOO_MANY = 4, /* the limit on events or on their bytes is reached */
	WIRE_REFUSAL_DUPLICATE_ID = 5,
	WIRE_REFUSAL_OUTPUT = 6,  /* the metadata could not be written */
	WIRE_REFUSAL_CHANNEL = 7, /* the channel does not exist */
	WIRE_REFUSAL_CONTEXT = 8, /* an unknown context, or invalid context names */
	WIRE_REFUSAL_MEMORY = 9,  /* the consumer is out of memory */
	WIRE_NR_REFUSALS
};

struct wire_refused {
	uint32_t id;
	uint16_t channel;
	uint16_t reason; /* enum wire_refusal */
};

/* Events of the batch that are not listed are accepted. */
struct wire_ack {
	uint32_t accepted; /* in the whole batch; only in the last message */
	bool last;
	uint32_t nr_refused;
	const struct wire_refused *refused; /* unaligned: read with memcpy or wire_ack_at() */
};

/* The listing is complete: the program has sent every event that was registered before main(). */
struct wire_bye {
	uint64_t token;
};

/* Requests the rules if they have changed since this generation. */
struct wire_refresh {
	uint64_t token; /* of the instance */
	uint64_t generation;
};

/* Libraries that are mapped, whose constructors have not run yet. */
struct wire_loaded {
	uint64_t token;    /* of the instance */
	uint32_t nr_paths; /* 1 to WIRE_LOADED_MAX */
	uint32_t size;     /* bytes of the paths */
	const char *paths; /* nr_paths absolute paths, each with its NUL */
};

/* State of a probe. The methods of the engine have the same names as in enum probe_method. */
enum wire_probe_state {
	WIRE_PROBE_ABSENT = 0, /* its module is not loaded (not yet, or not any more) */
	WIRE_PROBE_JUMP = 1,
	WIRE_PROBE_PADDING = 2,
	WIRE_PROBE_SHORT = 3,
	WIRE_PROBE_PUNNED = 4,
	WIRE_PROBE_BREAKPOINT = 5,
	WIRE_PROBE_RESTS = 6,   /* idle: no session records its events */
	WIRE_PROBE_REFUSED = 7, /* `error` is the reason */
	/* the kernel watches it with a uprobe, which the requester has created */
	WIRE_PROBE_UPROBE = 8,
	WIRE_NR_PROBE_STATES
};

/* Consecutive probes of a table that have the same state. */
struct wire_probe_run {
	uint32_t first, count;
	uint16_t state; /* enum wire_probe_state */
	uint16_t error; /* errno; 0 unless the probe is refused */
	uint32_t maps;  /* number of mappings of the module */
};

#define WIRE_PROBED_RUNS_MAX 4000 /* in one message */

/*
 * All probes of a table, as runs in order without gaps. nr_probes is 0 if the table could not be
 * used at all: then `error` is the reason. The counters are those of the whole program since it
 * began (probe/patch/patch.h).
 */
struct wire_probed {
	uint64_t token; /* of the instance */
	uint64_t table;
	uint32_t sequence; /* 0 for the first message of a table, then incremented */
	bool last;
	uint32_t error; /* errno, or 0 */
	uint32_t nr_probes;
	uint64_t cut;        /* hits inside of handlers, which are not recorded */
	uint64_t lost;       /* hits of threads for which there was no space */
	uint64_t unseen;     /* calls whose return could not be traced */
	uint64_t abandoned;  /* calls that did not return */
	uint64_t traps;      /* hits of breakpoints, and of bytes that were being patched */
	uint64_t code_bytes; /* address space for the code of probes */
	uint32_t nr_runs;
	const struct wire_probe_run *runs; /* unaligned: wire_probed_at() */
};

/* Copy one run; index must be less than nr_runs. */
struct wire_probe_run wire_probed_at(const struct wire_probed *probed, uint32_t index);

/* Text for the user: "jump"; and the reason of a refusal, without a subject: "a thread blocks
   SIGTRAP". */
const char *wire_probe_state_text(uint32_t state);
const char *wire_probe_error_text(uint32_t error);

/* ---- messages of the daemon ---- */

enum wire_arrive_flag {
	WIRE_ARRIVE_FORKED = 1 << 0, /* a forked child, not a fresh program image */
};

struct wire_arrive {
	uint32_t pid; /* in the program's own namespace */
	uint32_t control;
	uint32_t control_signal;
	uint32_t flags; /* enum wire_arrive_flag */
	/* random; identifies the process until it executes another program */
	uint64_t token;
	uint64_t parent_token; /* of the process that forked this one, or 0 */
	const char *procname;
	const char *exe;
};

/* All sessions that the program should be in. The agent joins and leaves sessions accordingly. */
struct wire_welcome {
	bool accepted;
	uint64_t serial; /* counts changes; DONE repeats it */
	uint32_t nr_sessions;
	uint32_t sessions_size; /* bytes */
	const void *sessions;   /* unaligned: wire_welcome_add(), wire_welcome_next() */
	const char *reason;     /* a sentence, when not accepted; otherwise "" */
};

#define WIRE_WELCOME_SESSIONS_BYTES_MAX (WIRE_WELCOME_MAX * (8 + WIRE_SESSION_PATH_MAX + 1))

struct wire_welcome_session {
	uint64_t generation;
	const char *path; /* of its socket; absolute */
};

/*
 * Append a session to `capacity` bytes at `sessions`, and count it in *welcome, which points there
 * afterwards. 0, -EINVAL for a session that no decoder accepts, -EMSGSIZE.
 */
int wire_welcome_add(struct wire_welcome *welcome, void *sessions, size_t capacity,
		const struct wire_welcome_session *session);

/* Read the session at byte *at, which starts at 0 and advances; false behind the last one. */
bool wire_welcome_next(const struct wire_welcome *welcome, size_t *at,
		struct wire_welcome_session *ret_session);

/*
 * The answer of a session to REFRESH, for programs that have its generation `base`: consecutive
 * CONFIG, CHANNEL and RULE messages, which wire_next() finds, and which are decoded as if the
 * session had sent them.
 */
struct wire_push {
	uint64_t base;
	uint32_t session; /* index in the preceding WELCOME, from 0 */
	uint32_t size;    /* bytes */
	const void *messages;
};

/* bytes of its messages; a longer answer must be requested with REFRESH */
#define WIRE_PUSH_MAX 24576

/* The size of the message at the beginning of `size` bytes, or 0: there is no complete one. */
size_t wire_next(const void *bytes, size_t size);

/* Pass this connection to the session with this socket, as named in WELCOME. */
struct wire_pass {
	const char *path;
};

enum wire_done_state {
	WIRE_DONE_ALL = 0, /* everything is applied, and no reader uses older rules */
	/* everything is applied, but readers of older rules are still running */
	WIRE_DONE_READERS = 1,
	WIRE_DONE_PART = 2,  /* a part of it failed */
	WIRE_DONE_LATER = 3, /* a session has not answered in time: ask again */
	WIRE_NR_DONE_STATES
};

struct wire_done {
	uint64_t token;
	uint64_t serial; /* of the WELCOME */
	uint32_t state;  /* enum wire_done_state */
};

/*
 * Encoders return the size of the message, or -EMSGSIZE if it does not fit `capacity`, or -EINVAL.
 * `message` needs no alignment.
 */
ssize_t wire_encode_hello(void *message, size_t capacity, const struct wire_hello *hello);
ssize_t wire_encode_config(void *message, size_t capacity, const struct wire_config *config);
ssize_t wire_encode_channel(void *message, size_t capacity, const struct wire_channel *channel);
ssize_t wire_encode_rule(void *message, size_t capacity, const struct wire_rule *rule);
ssize_t wire_encode_events(void *message, size_t capacity, const struct wire_events *events);
ssize_t wire_encode_ack(void *message, size_t capacity, const struct wire_ack *ack);
ssize_t wire_encode_bye(void *message, size_t capacity, const struct wire_bye *bye);
ssize_t wire_encode_refresh(void *message, size_t capacity, const struct wire_refresh *refresh);
ssize_t wire_encode_loaded(void *message, size_t capacity, const struct wire_loaded *loaded);
ssize_t wire_encode_probes(void *message, size_t capacity, const struct wire_probes *probes);
ssize_t wire_encode_probed(void *message, size_t capacity, const struct wire_probed *probed);
ssize_t wire_encode_arrive(void *message, size_t capacity, const struct wire_arrive *arrive);
ssize_t wire_encode_welcome(void *message, size_t capacity, const struct wire_welcome *welcome);
ssize_t wire_encode_push(void *message, size_t capacity, const struct wire_push *push);
ssize_t wire_encode_pass(void *message, size_t capacity, const struct wire_pass *pass);
ssize_t wire_encode_done(void *message, size_t capacity, const struct wire_done *done);

/* The type of a complete message, or -EPROTO, or -EPROTONOSUPPORT for another protocol version. */
int wire_message_type(const void *message, size_t size);
/* Its protocol version, which is never 0; 0 if it is no message of any version. */
unsigned int wire_message_version(const void *message, size_t size);

/* Decoders accept exactly what encoders write. 0, -EPROTO or -EPROTONOSUPPORT. */
int wire_decode_hello(const void *message, size_t size, struct wire_hello *ret_hello);
int wire_decode_config(const void *message, size_t size, struct wire_config *ret_config);
int wire_decode_channel(const void *message, size_t size, struct wire_channel *ret_channel);
int wire_decode_rule(const void *message, size_t size, struct wire_rule *ret_rule);
int wire_decode_events(const void *message, size_t size, struct wire_events *ret_events);
int wire_decode_ack(const void *message, size_t size, struct wire_ack *ret_ack);
/* Why a program, or a part of it, is not recorded. */
enum wire_unrecorded_reason {
	WIRE_UNRECORDED_WORD_SIZE = 1,
	WIRE_UNRECORDED_C_LIBRARY = 2,
	WIRE_UNRECORDED_LIBSIDE = 3, /* the libside in the program is another implementation */
	WIRE_UNRECORDED_MEMORY = 4,  /* not enough memory for rings: RLIMIT_AS */
	WIRE_UNRECORDED_LOADER = 7,  /* its loader could not load the agent, and has printed why */
	WIRE_UNRECORDED_ALLOCATOR = 6, /* only its calls of malloc() are not recorded */
	WIRE_UNRECORDED_FILES = 5,     /* not enough descriptors for rings: RLIMIT_NOFILE */
	WIRE_UNRECORDED_STATIC = 8,    /* a static program with libside.a */
	WIRE_UNRECORDED_COPY = 9, /* only the events of a library with libside.a are not recorded */
	/* only the first elapsed_ms are not recorded: the daemon did not answer in time, ... */
	WIRE_UNRECORDED_LATE_DAEMON = 10,
	WIRE_UNRECORDED_LATE_RECORDER = 11, /* ... or the daemon did, and the recorder did not */
	WIRE_UNRECORDED_ERROR = 12, /* a system call to join it or to map its rings failed */
	/* About a program that this one starts and that cannot report itself: `name` is its file. */
	WIRE_UNRECORDED_STARTS_STATIC = 13,
	WIRE_UNRECORDED_STARTS_RIGHTS = 14, /* it gains privileges */
	WIRE_UNRECORDED_STARTS_X32 = 15,
	WIRE_UNRECORDED_STARTS_PROCESSOR = 16,
};

struct wire_unrecorded {
	uint32_t reason;
	uint32_t elapsed_ms; /* 0 for all other reasons */
	const char *name;    /* of the executable, or of the process */
};

ssize_t wire_encode_unrecorded(
		void *message, size_t capacity, const struct wire_unrecorded *unrecorded);
int wire_decode_unrecorded(
		const void *message, size_t size, struct wire_unrecorded *ret_unrecorded);

int wire_decode_bye(const void *message, size_t size, struct wire_bye *ret_bye);
int wire_decode_refresh(const void *message, size_t size, struct wire_refresh *ret_refresh);
int wire_decode_loaded(const void *message, size_t size, struct wire_loaded *ret_loaded);
int wire_decode_probes(const void *message, size_t size, struct wire_probes *ret_probes);
int wire_decode_probed(const void *message, size_t size, struct wire_probed *ret_probed);
int wire_decode_arrive(const void *message, size_t size, struct wire_arrive *ret_arrive);
int wire_decode_welcome(const void *message, size_t size, struct wire_welcome *ret_welcome);
int wire_decode_push(const void *message, size_t size, struct wire_push *ret_push);
int wire_decode_pass(const void *message, size_t size, struct wire_pass *ret_pass);
int wire_decode_done(const void *message, size_t size, struct wire_done *ret_done);

/* Copy one refusal; index must be less than nr_refused. */
struct wire_refused wire_ack_at(const struct wire_ack *ack, uint32_t index);

/* The reason for the user, without a subject: "its description is damaged". */
const char *wire_refusal_text(uint32_t refusal);

/*
 * Input and output. All descriptors are close-on-exec. A deadline is a CLOCK_MONOTONIC time in
 * nanoseconds; after it the functions return -ETIMEDOUT. A system call that a signal interrupts is
 * repeated.
 */
uint64_t wire_deadline(unsigned int timeout_ms);
int wire_connect(const char *path, uint64_t deadline);
/* Wait for a message or the end of the connection: 0, -ETIMEDOUT or another error. After the
   deadline it still finds a message that has arrived. */
int wire_wait(int socket, uint64_t deadline);
/*
 * Prepare an address whose path begins with @: that is an abstract name, for processes that share
 * no directory. It belongs to the network namespace, and any process there can connect to it.
 * Returns the address's size.
 */
socklen_t wire_socket_name(struct sockaddr_un *address);
int wire_send(int socket, const void *message, size_t size, const int *fds, size_t nr_fds,
		uint64_t deadline);

/*
 * Receive one message. `*nr_fds` is the capacity of `fds` on entry and the number received on
 * return. More descriptors than fit, or a truncated message, give -EPROTO, and all received
 * descriptors are closed. Returns the size, 0 at the end of the connection, or a negative errno;
 * -EAGAIN only with deadline 0.
 */
ssize_t wire_receive(int socket, void *message, size_t capacity, int *fds, size_t *nr_fds,
		uint64_t deadline);
void wire_close(int fd);

#endif
