/* SPDX-License-Identifier: MIT */
/*
 * Sends traces over a network or a serial line while they are being recorded.
 *
 * The files of a recording are the spool: what was not delivered is still in them. A sender is one
 * thread that follows the directory (follow.c) and hands packets to a sink: a relay daemon
 * (relay.c) or a byte stream of frames (bytes.c, frame.c; docs/spec/byte-stream.md), from which
 * receive.c writes traces.
 */
#ifndef SIDE_RELAY_SEND_H
#define SIDE_RELAY_SEND_H

#include "base/error.h"
#include "relay/send-status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Receives messages from the sender's thread. One sentence, no newline. */
typedef void send_report_fn(void *user, bool is_error, const char *sentence);

/*
 * The progress of a recorder, which writes both members; senders use atomic loads. `begun` counts
 * the recorder's rounds. If the recorder is killed, its successor may cut off data that a sender
 * found in the files, until `begun` has been incremented once more. When the recorder stores
 * `ticks`, the files contain every event before that time, in the clock of the traces; 0: unknown.
 */
struct send_rounds {
	uint64_t begun;
	uint64_t ticks;
};

struct send_options {
	const char *dir; /* Directory of the recording; must exist. */
	/*
	 * net://HOST[:CONTROL[:DATA]][/SESSION], tcp://HOST:PORT, a path (file, FIFO, serial line)
	 * or `-` (standard output).
	 */
	const char *url;
	const char *session;  /* Name at a relay daemon; NULL: from the URL or the directory. */
	const char *fallback; /* Used instead of the directory's name; or NULL. */
	/* Largest number of bytes of local files; beyond it, packets are dropped. 0: no limit. */
	uint64_t spool;
	uint64_t timeout_ms; /* Give up after so long without a delivery at the end. 0: never. */
	uint32_t speed;      /* Speed of a serial line; 0: do not change it. */
	bool live;           /* Only send_finish() ends the recording, not its free lock. */
	bool no_files;       /* Refuse a path that is a file or does not exist. */
	/*
	 * Write delivered positions into the file SEND_MARKS of the directory, so that the next
	 * sender continues there. If false, this is done only if the directory has such a file of
	 * the same URL.
	 */
	bool marks;
	/* The recorder's progress; NULL: it cuts off nothing that it has written. */
	const struct send_rounds *rounds;
	/* Socket of resolver_start(), which looks up host names; NULL: this process does. */
	const int *resolver;
	send_report_fn *log_message; /* May be NULL. */
	void *user;
};

#define SEND_MARKS ".sending"

struct send;

/*
 * Checks a URL. Returns 0, or -EINVAL with an error of the kind ERROR_USAGE, whose hint is the form
 * of a valid URL. *ret_ctf1_only: the receiver reads only CTF 1.8.
 */
int url_check(const char *url, bool *ret_ctf1_only, struct error *error);

/*
 * Starts the thread. Copies the strings. Returns 0, or a negative errno with a message in *error.
 */
int send_start(const struct send_options *options, struct send **ret_send, struct error *error);

/* Copies the status. Any thread may call it at any time. */
void send_status(struct send *send, struct send_status *ret_status);

/* Declares that the recording is over and its files are complete. Does not wait. */
void send_finish(struct send *send);

/* Waits until the sender is done, at most timeout_ms (-1: no limit). True if it is. */
bool send_wait(struct send *send, int timeout_ms);

/*
 * Ends the thread, whatever is pending, and frees the sender. Writes the final status into
 * *ret_status unless that is NULL. `send` may be NULL.
 */
void send_stop(struct send *send, struct send_status *ret_status);

/*
 * Starts the process that resolves host names, if the URL contains a host name; else sets
 * *ret_socket to -1. Returns 0 or a negative errno.
 */
int send_resolver(const char *url, int *ret_socket);

/* ---- for receivers ---- */

/*
 * Opens a source of bytes: tcp://HOST:PORT, a path, or `-` (standard input). Makes a terminal raw
 * and sets its speed unless that is 0. While it connects, a readable stop_fd ends the wait. Returns
 * the descriptor, or a negative errno with a message in *error: -EINVAL if the URL is invalid.
 * *ret_answers: the sender reads what is written to the descriptor.
 */
int send_source(const char *url, uint32_t speed, int stop_fd, bool *ret_answers,
		struct error *error);

/* Parses PORT, HOST:PORT or [HOST]:PORT; the host is "" if it is left out. Returns 0 or -EINVAL. */
int url_parse_host_port(const char *text, char *ret_host, size_t host_capacity, char *ret_port,
		size_t port_capacity);

#endif /* SIDE_RELAY_SEND_H */
