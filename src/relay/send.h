/* SPDX-License-Identifier: MIT */
/*
 * src/relay: traces over a network or a line, while they are being recorded.
 *
 * The files of a recording are the spool: what was not delivered is still there. A sender is one
 * thread that follows the directory (follow.c) and hands packets to a sink: a relay daemon (relay.c)
 * or a stream of bytes in frames (bytes.c, frame.c; docs/spec/byte-stream.md), which receive.c turns
 * into traces again.
 */
#ifndef SIDE_RELAY_SEND_H
#define SIDE_RELAY_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Filled when a function that takes it fails: one sentence for a person, without newline. */
struct send_error {
	char text[512];
	char hint[384]; /* for an invalid address, the form of a valid one; may be empty */
};

/* What there is to say while it goes on; from the sender's thread. One sentence, no newline. */
typedef void send_report_fn(void *user, bool is_error, const char *sentence);

/*
 * Of a recorder, atomic: what is in the files when `begun` is read may be cut off by another one that
 * follows, until it has been counted up once more. What was recorded before `ticks`, in the clock of the
 * traces, is in the files then; 0: not known.
 */
struct send_rounds {
	uint64_t begun;
	uint64_t ticks;
};

struct send_options {
	const char *dir; /* Of the recording; must exist. */
	/*
	 * net://HOST[:CONTROL[:DATA]][/SESSION], tcp://HOST:PORT, a path (file, FIFO, serial line) or
	 * `-` (standard output).
	 */
	const char *url;
	const char *session; /* What a relay daemon calls it; NULL: from the URL or the directory. */
	const char *fallback; /* Instead of the directory's name, or NULL. */
	uint64_t spool; /* Bytes of local files; beyond that they are removed. 0: none ever is. */
	uint64_t timeout_ms; /* With nothing delivered for so long after the end, give up. 0: never. */
	uint32_t speed;      /* Of a serial line; 0: as it is. */
	bool live;           /* send_finish() says when the recording is over, not only its lock. */
	bool no_files;       /* A path that is a file, or is not there, is refused. */
	/*
	 * What was delivered is written into the file SEND_MARKS of the directory, so that another sender goes
	 * on there. Else it is only if such a file of the same URL is there already.
	 */
	bool marks;
	/* How far the recorder is, if it says so; NULL: what is written stays. */
	const struct send_rounds *rounds;
	/* Socket of resolver_start(), which looks up names of hosts; NULL: this process does. */
	const int *resolver;
	send_report_fn *log_message; /* NULL: nobody listens. */
	void *user;
};

#define SEND_SPOOL_USERS 16

struct send_status {
	uint64_t packets; /* Delivered, as far as the receiver's kind can tell. */
	uint64_t bytes;   /* Of those packets. */
	uint64_t events;  /* In those packets, if they are counted: not for relay daemons. */
	uint64_t pending; /* Bytes of packets that are there and not delivered. */
	uint64_t pending_packets; /* As far as they were counted. */
	uint64_t dropped_packets; /* Given up because the spool was full. */
	uint64_t dropped_events;
	uint64_t dropped_bytes;
	/* By the users of the programs, since this sender began. The last one: all further users, or not known. */
	struct send_dropped {
		uid_t uid;
		uint64_t packets, events, bytes;
	} dropped_users[SEND_SPOOL_USERS];
	uint32_t nr_dropped_users; /* Without the last one. */
	uint64_t connections;      /* Made so far. */
	bool connected;
	bool over; /* Everything is delivered or dropped, and said to the receiver; or given up. */
	bool failed;   /* Given up: something was not delivered. */
	int64_t since; /* Connected or not, in nanoseconds since 1970. */
	char why[256]; /* It is not connected, as a sentence. */
};

#define SEND_MARKS ".sending"

struct send;

/*
 * Whether the URL is one. 0 or -EINVAL with a sentence. *ctf1_only: the receiver understands CTF 1.8
 * only.
 */
int send_check(const char *url, bool *ctf1_only, struct send_error *error);

/* Start the thread. Strings are copied. 0 or a negative errno with a sentence. */
int send_start(const struct send_options *options, struct send **send, struct send_error *error);

/* At any time. */
void send_status(struct send *send, struct send_status *status);

/* The recording is over: what is there is everything. Returns at once. */
void send_finish(struct send *send);

/* Wait until it is over, at most so long (-1: no limit). Whether it is. */
bool send_wait(struct send *send, int timeout_ms);

/*
 * End the thread, whatever is pending, and free. *status, if there is one, is what became of it. NULL
 * is accepted.
 */
void send_stop(struct send *send, struct send_status *status);

/* Start the process that resolves host names, if the URL has one. *socket is -1 if it has none. 0 or a negative errno. */
int send_resolver(const char *url, int *socket);

/* ---- for those who receive ---- */

/*
 * A way on which bytes come: tcp://HOST:PORT, a path, or `-` (standard input). A terminal is made raw, and
 * of that speed if it is not 0. While it connects, stop_fd becoming readable ends the waiting. The
 * descriptor, or a negative errno with a sentence: -EINVAL if there is no such way. *answers: the other
 * side hears what is written there.
 */
int send_source(const char *url, uint32_t speed, int stop_fd, bool *answers,
		struct send_error *error);

/* PORT, HOST:PORT or [HOST]:PORT; host is "" where it is left out. 0 or -EINVAL. */
int send_host_port(const char *text, char *host, size_t host_capacity, char *port,
		size_t port_capacity);

#endif /* SIDE_RELAY_SEND_H */
