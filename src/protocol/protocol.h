/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_PROTOCOL_H
#define SIDE_PROTOCOL_PROTOCOL_H

/*
 * The messages between the agent in a traced program and the consumer that records it.
 *
 * One Unix socket of type SOCK_SEQPACKET; a message is one packet of at most 64 KiB, a header and a
 * body in host byte order (both ends are on one machine; the layout does not depend on the word
 * size). File descriptors travel by SCM_RIGHTS. The program's side opens a connection for each
 * exchange and closes it afterwards, so that nothing stays open in the program:
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
 * says which instance speaks, and the kernel's word on the peer's process id must agree with it.
 *
 * SIDE_AGENT_SOCKET names one consumer, or several with a colon between them (WIRE_SESSIONS_MAX at
 * most). Each is a session of its own with its own connections; none knows of the others.
 *
 * A program into which the agent cannot be loaded, or where it cannot work, sends one message and closes the connection:
 *
 *   only connection           MISSED  ->   (src/tracers/preload/shim.c writes it without this header)
 *
 * A listing has no channels, no descriptors and no rules: the program describes all its events, as
 * events of channel 0, and records nothing.
 *
 * What a session wants may change while it runs. Each change counts its generation up, and a program
 * that hears of it asks for what is new, on a connection of its own:
 *
 *   a later connection        REFRESH ->
 *                                    <-  CONFIG  (unchanged; or accepted, without a descriptor;
 *                                                 or not accepted: the program leaves the session)
 *                                    <-  PROBES  (each of CONFIG's nr_tables)       + the table
 *                                    <-  CHANNEL (each of them, without a descriptor)
 *                                    <-  RULE    (after its CHANNEL: all that hold from now on)
 *                             EVENTS  ->   (those that are new, or have other contexts than before)
 *                                    <-  ACK
 *
 * A channel without rules records nothing; a session that is stopped has only such channels.
 *
 * PROBES brings a table of probes (probe/table/table.h) that the program is to set, each time all of those that hold:
 * a table that is not named any more is removed. Tables are known by numbers, and never change; one that
 * the program has already is looked at no further. Their events are events like any others, but only a session
 * that has brought a table records them. The program sets a probe while somebody listens to its events, which in a
 * session that is stopped nobody does. It says what has become of a table's probes, each time of all of them:
 *
 *   a later connection        PROBED  ->   (as many as needed, the last one flagged; for each table anew)
 *
 * after the EVENTS of the same change, and before DONE says to the daemon that it is made; later when a library with probes
 * comes or goes. Only who has said WIRE_FEATURE_PROBES understands PROBES.
 *
 * Of sessions that come and go a program hears from the daemon (control), at agents.sock in the
 * runtime directory (runtime.h). It may keep this connection; then WELCOME comes again whenever
 * something has changed, and always names every session that the program should be in:
 *
 *   to the daemon             ARRIVE  ->
 *                                    <-  WELCOME
 *                             DONE    ->   (when it is so; exchanges with sessions lie between)
 *
 * The first message of a connection is ARRIVE or PASS, and ARRIVE is sent once. The daemon answers any other order with a WELCOME
 * that is not accepted and has the reason, and closes that connection; the program and its other connections are not affected.
 *
 * Behind a WELCOME, in the same packet, PUSH messages may stand: what a session that has changed would
 * answer to REFRESH. Who has the rules that were before need not ask it then.
 *
 * A program that does not see the runtime directory (another root directory, other mounts) may have a door of the daemon's
 * in what it sees: a socket that is as good as agents.sock. Sessions are behind it, too; a connection that begins with
 *
 *   to the daemon             PASS    ->
 *                                    <-  PASS    (the same; it hangs up if the session is not there)
 *
 * goes on as if it had been made at that session's socket. What was said on it before a DONE the session has heard when the daemon
 * asks it for what comes after this DONE: as with connections of its own.
 *
 * Everything that arrives is hostile until a decoder of this header has accepted it. Decoders do not
 * copy: strings and arrays point into the message. Nothing here allocates, keeps state or calls an
 * interposable function of the C library, because the program's side may be wrapped by ourselves.
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
#define WIRE_SESSIONS_MAX 8       /* consumers of one program that SIDE_AGENT_SOCKET may name */
#define WIRE_WELCOME_MAX 64       /* sessions of one WELCOME */
#define WIRE_SESSION_PATH_MAX 107 /* bytes of a session's socket, without the NUL */
#define WIRE_CHANNELS_MAX 32      /* of one session */
#define WIRE_RULES_MAX 1024       /* of one channel */
#define WIRE_PATTERNS_MAX 1024    /* of one rule */
#define WIRE_CONTEXTS_MAX 64      /* of a channel, of a rule, of an event */
#define WIRE_TABLES_MAX 256       /* of probes, of one session */
#define WIRE_CHANNEL_NAME_MAX 63  /* bytes, without the NUL */
/* Most refusals that fit one ACK. */
#define WIRE_ACK_REFUSALS_MAX 4096

#define WIRE_SOCKET_ENV "SIDE_AGENT_SOCKET"

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
};

struct wire_header {
	uint32_t magic;
	uint16_t version;
	uint16_t type;
	uint32_t size;     /* of the whole message */
	uint32_t reserved; /* 0 */
};

/* What the program's side can do or is. */
enum wire_feature {
	WIRE_FEATURE_BIG_ENDIAN = 1 << 0,
	WIRE_FEATURE_FORKED = 1 << 1, /* a forked child, not a fresh program image */
	WIRE_FEATURE_PROBES = 1 << 2, /* it can set probes */
	WIRE_FEATURE_RETRY = 1 << 3,  /* it was refused before, with WIRE_CONFIG_RETRY */
	WIRE_FEATURE_LEASE =
			1 << 4, /* it knows rings whose memory can be taken back (RING_LEASED) */
};

/* How a program hears that something has changed. */
enum wire_control {
	WIRE_CONTROL_OFF = 0,    /* it never asks a daemon */
	WIRE_CONTROL_SYNC = 1,   /* only when it starts */
	WIRE_CONTROL_THREAD = 2, /* a thread of its own listens */
	WIRE_CONTROL_SIGNAL = 3, /* a signal tells it to ask */
	WIRE_NR_CONTROLS
};

#define WIRE_SIGNAL_MAX 128 /* the largest number that a signal has on any architecture */

struct wire_hello {
	uint32_t pid; /* in the program's own namespace */
	uint32_t parent;
	uint64_t token;          /* random; names this instance on later connections */
	uint64_t parent_token;   /* of the instance that forked this one, or 0 */
	uint32_t word_size;      /* bytes: 4 or 8 */
	uint32_t features;       /* enum wire_feature */
	uint32_t control;        /* enum wire_control */
	uint32_t control_signal; /* 0 unless a signal tells it */
	const char *procname;
	const char *exe;
};

enum wire_config_flag {
	WIRE_CONFIG_LIST_ONLY = 1 << 0, /* send every description, then exit before main() */
	WIRE_CONFIG_UNCHANGED = 1 << 1, /* to REFRESH: nothing follows, what is known still holds */
	WIRE_CONFIG_RETRY = 1 << 2,     /* a refusal that does not last: ask again later */
};

struct wire_config {
	bool accepted;
	uint32_t flags;           /* enum wire_config_flag */
	uint32_t instance;        /* the consumer's number for this instance, for messages */
	uint32_t clock;           /* the rings' enum ring_clock */
	uint32_t max_events;      /* of a channel: ids are below this */
	uint32_t max_description; /* bytes of one encoded description */
	uint32_t max_payload;     /* bytes of one record's contexts and payload */
	uint32_t nr_channels;     /* CHANNEL messages that follow; 0 in a listing */
	uint32_t nr_tables;       /* PROBES messages that come before them; 0 in a listing */
	/* The clock as known now, for recovery.h: Unix time = offset_s + (offset + tick) / frequency. */
	uint64_t frequency;
	int64_t offset_s;
	uint64_t offset;
	uint64_t generation; /* of what follows; counts from 1 */
	uint64_t statedump;  /* number of the last request for a state dump; 0: none yet */
	const char *reason;  /* a sentence, when not accepted; otherwise "" */
};

/*
 * A set of rings. Its one descriptor is that of the rings' memory. In the answer to REFRESH rings stay
 * what they are: there is no descriptor, and ring_memory is 0.
 */
struct wire_channel {
	uint32_t index;       /* from 0, in the order in which they come */
	uint64_t ring_memory; /* size of the rings' memory in bytes */
	uint32_t nr_rules;    /* RULE messages that follow; without any it records nothing */
	uint32_t nr_contexts;
	const char *name;     /* a file's name: letters, digits, and "_-." within */
	const char *contexts; /* nr_contexts strings in a row, each with its NUL: protocol/context.h */
};
#define WIRE_CHANNEL_FDS 1

/* A table of probes. Its one descriptor is that of its memory, which is sealed. */
struct wire_probes {
	uint64_t table; /* its number: the session's, never 0, never used again */
	uint64_t size;  /* bytes */
};
#define WIRE_PROBES_FDS 1

/*
 * Which events a channel records: those that the patterns want (pattern.h; none: all of them), when
 * the filter matches. An event is recorded when one of its channel's rules says so.
 */
struct wire_rule {
	uint32_t channel; /* index of the channel it belongs to */
	uint32_t nr_patterns;
	uint32_t nr_contexts; /* that records of its events have beside the channel's */
	uint32_t filter_size; /* 0: no filter */
	const char *patterns; /* strings in a row, each with its NUL */
	const char *contexts; /* likewise */
	const void *filter;   /* a program of the filter room; unaligned */
};

/*
 * A piece of the stream of descriptions of one batch. The stream is a sequence of struct
 * wire_event_head, contexts_size bytes of context names and size bytes of the visit codec, cut
 * anywhere.
 */
struct wire_events {
	uint64_t token;
	uint32_t sequence; /* 0 for the first message of a batch, then counting */
	bool last;
	const void *bytes;
	uint32_t size;
};

#define WIRE_EVENTS_OVERHEAD 40
#define WIRE_EVENTS_BYTES_MAX (WIRE_MESSAGE_MAX - WIRE_EVENTS_OVERHEAD)

/* The head of each description in that stream; unaligned. */
struct wire_event_head {
	uint32_t id; /* ids count in each channel, from 0 */
	uint16_t channel;
	uint16_t nr_contexts;   /* of this event's records, beside the channel's */
	uint32_t contexts_size; /* bytes of their names: strings in a row, each with its NUL */
	uint32_t size;          /* bytes of the description, which follows them */
};

#define WIRE_EVENT_CONTEXTS_BYTES_MAX 65536 /* of contexts_size */

/* Are these bytes the names of nr_contexts contexts, as an event's head promises? */
bool wire_strings_valid(const char *strings, uint32_t nr, size_t size);

enum wire_refusal {
	WIRE_REFUSAL_NONE = 0,
	WIRE_REFUSAL_MALFORMED = 1,   /* the description does not decode */
	WIRE_REFUSAL_UNSUPPORTED = 2, /* it has a type this consumer cannot write */
	WIRE_REFUSAL_TOO_LARGE = 3,
	WIRE_REFUSAL_TOO_MANY = 4, /* the limit on events or on their bytes is reached */
	WIRE_REFUSAL_DUPLICATE_ID = 5,
	WIRE_REFUSAL_OUTPUT = 6,  /* the metadata could not be written */
	WIRE_REFUSAL_CHANNEL = 7, /* there is no such channel */
	WIRE_REFUSAL_CONTEXT = 8, /* a context that is unknown, or damaged names of them */
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

/* A listing is complete: every event that was registered before main() has been sent. */
struct wire_bye {
	uint64_t token;
};

/* What has changed since this generation? */
struct wire_refresh {
	uint64_t token; /* of the instance */
	uint64_t generation;
};

/* What has become of a probe; those of the engine are as in enum probe_method. */
enum wire_probe_state {
	WIRE_PROBE_ABSENT = 0, /* its module is not there (yet, or any more) */
	WIRE_PROBE_JUMP = 1,
	WIRE_PROBE_PADDING = 2,
	WIRE_PROBE_SHORT = 3,
	WIRE_PROBE_PUNNED = 4,
	WIRE_PROBE_BREAKPOINT = 5,
	WIRE_PROBE_RESTS = 6,   /* nobody listens to its events */
	WIRE_PROBE_REFUSED = 7, /* error says why */
	WIRE_PROBE_UPROBE = 8,  /* the kernel watches it: whoever asked has seen to that */
	WIRE_NR_PROBE_STATES
};

/* Probes of a table that stand behind each other and are alike. */
struct wire_probe_run {
	uint32_t first, count;
	uint16_t state; /* enum wire_probe_state */
	uint16_t error; /* errno; 0 unless it is refused */
	uint32_t maps;  /* in how many places the module is mapped */
};

#define WIRE_PROBED_RUNS_MAX 4000 /* of one message */

/*
 * All probes of a table, as runs in order that leave nothing out. nr_probes is 0 if the table could not be used at all:
 * then `error` says why. The figures are those of the whole program since it began (probe/patch/patch.h).
 */
struct wire_probed {
	uint64_t token; /* of the instance */
	uint64_t table;
	uint32_t sequence; /* 0 for the first message of a table, then counting */
	bool last;
	uint32_t error; /* errno, or 0 */
	uint32_t nr_probes;
	uint64_t cut;        /* hits inside of handlers, which are not seen */
	uint64_t lost;       /* hits of threads for which there was no room */
	uint64_t unseen;     /* calls whose return could not be followed */
	uint64_t abandoned;  /* calls that did not return */
	uint64_t traps;      /* hits of breakpoints, and of bytes that were being changed */
	uint64_t code_bytes; /* address space for the code of probes */
	uint32_t nr_runs;
	const struct wire_probe_run *runs; /* unaligned: wire_probed_at() */
};

struct wire_probe_run wire_probed_at(const struct wire_probed *probed, uint32_t index);

/* For people: "jump"; and why a probe was refused, a part of a sentence: "a thread blocks SIGTRAP". */
const char *wire_probe_state_text(uint32_t state);
const char *wire_probe_error_text(uint32_t error);

/* ---- with the daemon ---- */

enum wire_arrive_flag {
	WIRE_ARRIVE_FORKED = 1 << 0, /* a forked child, not a fresh program image */
};

struct wire_arrive {
	uint32_t pid; /* in the program's own namespace */
	uint32_t control;
	uint32_t control_signal;
	uint32_t flags;        /* enum wire_arrive_flag */
	uint64_t token;        /* random; names the process until it executes another program */
	uint64_t parent_token; /* of the process that forked this one, or 0 */
	const char *procname;
	const char *exe;
};

/* All sessions that the program should be in, for the agent's rules of staying and leaving. */
struct wire_welcome {
	bool accepted;
	uint64_t serial; /* counts changes; to be named in DONE */
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
 * Append a session to `capacity` bytes at `sessions`, and count it in *welcome, which points there afterwards.
 * 0, -EINVAL for what no decoder takes, -EMSGSIZE.
 */
int wire_welcome_add(struct wire_welcome *welcome, void *sessions, size_t capacity,
		const struct wire_welcome_session *session);

/* The session at byte *at, which begins with 0 and moves on; false behind the last one. */
bool wire_welcome_next(const struct wire_welcome *welcome, size_t *at,
		struct wire_welcome_session *session);

/*
 * What a session would answer to REFRESH, for those that have its generation `base`: CONFIG, CHANNEL and
 * RULE messages in a row, as wire_next() finds them, to be decoded as if they had come from the session.
 */
struct wire_push {
	uint64_t base;
	uint32_t session; /* of the WELCOME before it, from 0 */
	uint32_t size;    /* bytes */
	const void *messages;
};

#define WIRE_PUSH_MAX 24576 /* bytes of its messages: who would need more is asked */

/* The size of the message at the head of `size` bytes, or 0: there is no whole one. */
size_t wire_next(const void *bytes, size_t size);

/* Give this connection to the session whose socket, as WELCOME names it, is this. */
struct wire_pass {
	const char *path;
};

enum wire_done_state {
	WIRE_DONE_ALL = 0,     /* everything holds, and no reader sees anything older */
	WIRE_DONE_READERS = 1, /* everything is said, but readers of what was before run yet */
	WIRE_DONE_PART = 2,    /* some of it failed */
	WIRE_DONE_LATER = 3,   /* a session has not answered in time: ask again */
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
ssize_t wire_encode_probes(void *message, size_t capacity, const struct wire_probes *probes);
ssize_t wire_encode_probed(void *message, size_t capacity, const struct wire_probed *probed);
ssize_t wire_encode_arrive(void *message, size_t capacity, const struct wire_arrive *arrive);
ssize_t wire_encode_welcome(void *message, size_t capacity, const struct wire_welcome *welcome);
ssize_t wire_encode_push(void *message, size_t capacity, const struct wire_push *push);
ssize_t wire_encode_pass(void *message, size_t capacity, const struct wire_pass *pass);
ssize_t wire_encode_done(void *message, size_t capacity, const struct wire_done *done);

/* The type of a whole message, or -EPROTO, or -EPROTONOSUPPORT for another protocol version. */
int wire_message_type(const void *message, size_t size);
/* Its protocol version, which is never 0; 0 if it is no message of any version. */
unsigned int wire_message_version(const void *message, size_t size);

/* Decoders accept exactly what encoders write. 0 or -EPROTO, -EPROTONOSUPPORT. */
int wire_decode_hello(const void *message, size_t size, struct wire_hello *hello);
int wire_decode_config(const void *message, size_t size, struct wire_config *config);
int wire_decode_channel(const void *message, size_t size, struct wire_channel *channel);
int wire_decode_rule(const void *message, size_t size, struct wire_rule *rule);
int wire_decode_events(const void *message, size_t size, struct wire_events *events);
int wire_decode_ack(const void *message, size_t size, struct wire_ack *ack);
/* Why a program is not recorded. */
enum wire_unrecorded_reason {
	WIRE_UNRECORDED_WORD_SIZE = 1,
	WIRE_UNRECORDED_C_LIBRARY = 2,
	WIRE_UNRECORDED_LIBSIDE = 3, /* the one in the program is another implementation's */
	WIRE_UNRECORDED_MEMORY = 4,  /* no memory for rings: RLIMIT_AS */
	WIRE_UNRECORDED_LOADER = 7,  /* its loader could not load the agent, and has printed why */
	WIRE_UNRECORDED_ALLOCATOR = 6, /* it is recorded, but for its calls of malloc() */
	WIRE_UNRECORDED_FILES = 5,     /* no descriptors for rings: RLIMIT_NOFILE */
	WIRE_UNRECORDED_STATIC = 8,    /* a static program with libside.a */
	WIRE_UNRECORDED_COPY =
			9, /* it is recorded, but for the events of a library with libside.a */
	WIRE_UNRECORDED_LATE_DAEMON =
			10, /* it is recorded, but for the first elapsed_ms: no answer of the daemon in time, ... */
	WIRE_UNRECORDED_LATE_RECORDER =
			11, /* ... or the daemon's came in time, and the recorder's did not */
	WIRE_UNRECORDED_ERROR = 12, /* a system call that joins it or maps its rings failed */
};

struct wire_unrecorded {
	uint32_t reason;
	uint32_t elapsed_ms; /* 0 for all other reasons */
	const char *name;    /* of the executable, or of the process */
};

ssize_t wire_encode_unrecorded(
		void *message, size_t capacity, const struct wire_unrecorded *unrecorded);
int wire_decode_unrecorded(const void *message, size_t size, struct wire_unrecorded *unrecorded);

int wire_decode_bye(const void *message, size_t size, struct wire_bye *bye);
int wire_decode_refresh(const void *message, size_t size, struct wire_refresh *refresh);
int wire_decode_probes(const void *message, size_t size, struct wire_probes *probes);
int wire_decode_probed(const void *message, size_t size, struct wire_probed *probed);
int wire_decode_arrive(const void *message, size_t size, struct wire_arrive *arrive);
int wire_decode_welcome(const void *message, size_t size, struct wire_welcome *welcome);
int wire_decode_push(const void *message, size_t size, struct wire_push *push);
int wire_decode_pass(const void *message, size_t size, struct wire_pass *pass);
int wire_decode_done(const void *message, size_t size, struct wire_done *done);

struct wire_refused wire_ack_at(const struct wire_ack *ack, uint32_t index);

/* A sentence's part for people: "its description is damaged". */
const char *wire_refusal_text(uint32_t refusal);

/*
 * Input and output. All descriptors are close-on-exec. A deadline is a CLOCK_MONOTONIC time in
 * nanoseconds; past it the functions return -ETIMEDOUT. Interruptions by signals are waited out.
 */
uint64_t wire_deadline(unsigned int timeout_ms);
int wire_connect(const char *path, uint64_t deadline);
/* Until there is something to receive, or the end: 0, -ETIMEDOUT or another error. Also after the deadline it finds what is there. */
int wire_wait(int socket, uint64_t deadline);
/*
 * A path that begins with @ is a name in no directory (abstract), for who has none that both see; it belongs to the network
 * namespace, and anybody there can connect to it. Turns such a path, which the address has, into that name. The address's size.
 */
socklen_t wire_socket_name(struct sockaddr_un *address);
int wire_send(int socket, const void *message, size_t size, const int *fds, size_t nr_fds,
		uint64_t deadline);

/*
 * Receive one message. `*nr_fds` is the room in `fds` on entry and the number received on return;
 * more than there is room for, or a message that was cut, is -EPROTO and nothing stays open.
 * Returns the size, 0 at the end of the connection, -EAGAIN only with deadline 0.
 */
ssize_t wire_receive(int socket, void *message, size_t capacity, int *fds, size_t *nr_fds,
		uint64_t deadline);
void wire_close(int fd);

#endif
