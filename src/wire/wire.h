/* SPDX-License-Identifier: MIT */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

/*
 * The messages between the agent in a traced program and the consumer that records it.
 *
 * One Unix socket of type SOCK_SEQPACKET; a message is one packet of at most 64 KiB, a header and a
 * body in host byte order (both ends are on one machine; the layout does not depend on the word
 * size). File descriptors travel by SCM_RIGHTS. The program's side opens a connection for each
 * exchange and closes it afterwards, so that nothing stays open in the program:
 *
 *   first connection          HELLO  ->
 *                                   <-  CONFIG (accepted, or a reason)      + ring and doorbell
 *   each batch of events      EVENTS ->    (as many as needed, the last one flagged)
 *                                   <-  ACK    (as many as needed, the last one flagged)
 *   end of a listing          BYE    ->
 *
 * EVENTS may follow CONFIG on the first connection. On later connections the token of HELLO says
 * which instance speaks, and the kernel's word on the peer's process id must agree with it.
 *
 * Everything that arrives is hostile until a decoder of this header has accepted it. Decoders do not
 * copy: strings and arrays point into the message. Nothing here allocates, keeps state or calls an
 * interposable function of the C library, because the program's side may be wrapped by ourselves.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WIRE_PROTOCOL_VERSION 1
#define WIRE_MAGIC 0x45444953u /* "SIDE" in memory on a little-endian machine */
#define WIRE_MESSAGE_MAX 65536
#define WIRE_FDS_MAX 4
#define WIRE_PATTERNS_MAX 1024
/* Most refusals that fit one ACK. */
#define WIRE_ACK_REFUSALS_MAX 4096

#define WIRE_SOCKET_ENV "SIDE_AGENT_SOCKET"

enum wire_type {
	WIRE_HELLO = 1,
	WIRE_CONFIG = 2,
	WIRE_EVENTS = 3,
	WIRE_ACK = 4,
	WIRE_BYE = 5,
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
};

struct wire_hello {
	uint32_t pid; /* in the program's own namespace */
	uint32_t parent;
	uint64_t token;        /* random; names this instance on later connections */
	uint64_t parent_token; /* of the instance that forked this one, or 0 */
	uint32_t word_size;    /* bytes: 4 or 8 */
	uint32_t features;     /* enum wire_feature */
	const char *procname;
	const char *exe;
};

enum wire_config_flag {
	WIRE_CONFIG_LIST_ONLY = 1 << 0, /* send every description, then exit before main() */
};

/* The positions of the file descriptors that come with an accepting CONFIG. */
enum wire_config_fd { WIRE_FD_RING = 0, WIRE_FD_DOORBELL = 1, WIRE_CONFIG_FDS = 2 };

struct wire_config {
	bool accepted;
	uint32_t flags;           /* enum wire_config_flag */
	uint32_t instance;        /* the consumer's number for this instance, for messages */
	uint32_t clock;           /* the ring's enum ring_clock */
	uint64_t ring_memory;     /* size of the ring's memory in bytes */
	uint32_t max_events;      /* ids are below this */
	uint32_t max_description; /* bytes of one encoded description */
	uint32_t max_payload;     /* bytes of one record's payload */
	uint32_t nr_patterns;
	const char *reason;   /* a sentence, when not accepted; otherwise "" */
	const char *patterns; /* nr_patterns strings in a row, each with its NUL */
};

/*
 * A piece of the stream of descriptions of one batch. The stream is a sequence of
 * { u32 id, u32 size, size bytes of the visit codec }, cut anywhere.
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
	uint32_t id;
	uint32_t size;
};

enum wire_refusal {
	WIRE_REFUSAL_NONE = 0,
	WIRE_REFUSAL_MALFORMED = 1,   /* the description does not decode */
	WIRE_REFUSAL_UNSUPPORTED = 2, /* it has a type this consumer cannot write */
	WIRE_REFUSAL_TOO_LARGE = 3,
	WIRE_REFUSAL_TOO_MANY = 4, /* the limit on events or on their bytes is reached */
	WIRE_REFUSAL_DUPLICATE_ID = 5,
	WIRE_REFUSAL_OUTPUT = 6, /* the metadata could not be written */
	WIRE_NR_REFUSALS
};

struct wire_refused {
	uint32_t id;
	uint32_t reason; /* enum wire_refusal */
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

/*
 * Encoders return the size of the message, or -EMSGSIZE if it does not fit `capacity`, or -EINVAL.
 * `message` needs no alignment.
 */
ssize_t wire_encode_hello(void *message, size_t capacity, const struct wire_hello *hello);
ssize_t wire_encode_config(void *message, size_t capacity, const struct wire_config *config);
ssize_t wire_encode_events(void *message, size_t capacity, const struct wire_events *events);
ssize_t wire_encode_ack(void *message, size_t capacity, const struct wire_ack *ack);
ssize_t wire_encode_bye(void *message, size_t capacity, const struct wire_bye *bye);

/* The type of a whole message, or -EPROTO, or -EPROTONOSUPPORT for another protocol version. */
int wire_message_type(const void *message, size_t size);

/* Decoders accept exactly what encoders write. 0 or -EPROTO, -EPROTONOSUPPORT. */
int wire_decode_hello(const void *message, size_t size, struct wire_hello *hello);
int wire_decode_config(const void *message, size_t size, struct wire_config *config);
int wire_decode_events(const void *message, size_t size, struct wire_events *events);
int wire_decode_ack(const void *message, size_t size, struct wire_ack *ack);
int wire_decode_bye(const void *message, size_t size, struct wire_bye *bye);

struct wire_refused wire_ack_at(const struct wire_ack *ack, uint32_t index);

/* A sentence's part for people: "its description is damaged". */
const char *wire_refusal_text(uint32_t refusal);

/*
 * Input and output. All descriptors are close-on-exec. A deadline is a CLOCK_MONOTONIC time in
 * nanoseconds; past it the functions return -ETIMEDOUT. Interruptions by signals are waited out.
 */
uint64_t wire_deadline(unsigned int timeout_ms);
int wire_connect(const char *path, uint64_t deadline);
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
