/* SPDX-License-Identifier: MIT */
/* Where packets go, and the lines that carry them. */
#ifndef SIDE_RELAY_SINK_H
#define SIDE_RELAY_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/follow.h"
#include "relay/send.h"

/* ---- URLs ---- */

enum url_kind { URL_RELAY, URL_TCP, URL_PATH, URL_STANDARD };

struct url {
	enum url_kind kind;
	char host[256];
	char port[16];      /* URL_TCP; URL_RELAY: control. */
	char data_port[16]; /* URL_RELAY. */
	char session[256];  /* URL_RELAY; "": none was given. */
	char path[4096];    /* URL_PATH. */
};

int url_parse(const char *text, struct url *url, struct send_error *error);

/* ---- lines: descriptors that do not block, and what is done while they would ---- */

struct timeout {
	int stop_fd;             /* Becomes readable when all waiting is over; or -1. */
	bool *stopped;           /* Set then. */
	const int *resolver;     /* as in struct send_options */
	int (*tick)(void *user); /* About five times a second while one waits; not 0 ends the wait. */
	void *user;
};

int line_connect(const char *host, const char *port, const struct timeout *timeout,
		struct send_error *error);
/* All of it, or a negative errno. `shared`: the descriptor blocks, and is not ours to change. */
int line_write(int fd, const void *bytes, size_t size, bool shared, const struct timeout *timeout);
/* All of it; -ETIMEDOUT, -ECONNRESET at the end of the file, or another negative errno. */
int line_read(int fd, void *bytes, size_t size, int timeout_ms, const struct timeout *timeout);
/* Raw mode, if it is a terminal, at that speed if it is not 0. -EINVAL: there is no such speed. */
int line_raw(int fd, uint32_t speed);

/* ---- sinks ---- */

struct sink;

struct sink_ops {
	bool counts;   /* The events of packets are to be counted. */
	bool replaces; /* Metadata can be replaced as a whole. */
	bool ctf1_only;
	/*
	 * For sinks whose readers cannot be told of a stream later than of what was said after its beginning;
	 * NULL: no need. meet() makes the stream known, remind() tells those who read of all that have
	 * become known, and may_go() says whether the packet may go yet.
	 */
	int (*meet)(struct sink *sink, struct follow_stream *stream);
	int (*remind)(struct sink *sink, struct follow *follow);
	bool (*may_go)(struct sink *sink, struct follow_stream *stream,
			const struct ctf_packet *packet);
	int (*open)(struct sink *sink, struct send_error *error);
	/* Behind what was sent before; sent_metadata or sent_maps is 0 where it begins. */
	int (*text)(struct sink *sink, struct follow_trace *trace, bool is_maps, const char *text,
			size_t size);
	int (*packet)(struct sink *sink, struct follow_stream *stream,
			const struct ctf_packet *packet, uint64_t events);
	/* After the stream has gone on: note what arrived, or will. */
	void (*on_elapsed)(struct sink *sink, struct follow_stream *stream);
	/* Find out what has arrived. */
	int (*flush)(struct sink *sink, struct follow *follow, bool wait);
	/* Nothing has been said before the horizon that was not sent. NULL: no need. */
	int (*beat)(struct sink *sink, struct follow *follow);
	/* Everything of it has arrived, and nothing will be added. */
	int (*end_trace)(struct sink *sink, struct follow_trace *trace);
	int (*end)(struct sink *sink, struct follow *follow);
	void (*close)(struct sink *sink);
	void (*free)(struct sink *sink);
};

struct sink {
	const struct sink_ops *ops;
	struct url url;
	struct timeout timeout;
	const char *session; /* Name for people; lives as long as the sink. */
	uint32_t speed;
	int watch_fd; /* Readable: flush() has something to do; or -1. */
	/*
	 * In nanoseconds since 1970, or in ticks of the traces' clock: all that was said before is in the files
	 * that were looked at. What it was in the turn before on this connection; 0: there was none.
	 */
	bool in_ticks;
	int64_t horizon;
	int64_t before;
	bool final_error; /* open() failed in a way that no second try mends. */
	bool no_files;    /* Paths of files are refused. */
	uint64_t connections;
	bool delivered; /* Earlier connections have delivered something. */
	/* Of streams of frames: who sends, and the number of the next frame. */
	uint64_t id;
	uint64_t sequence;
};

struct sink *relay_create(void);
struct sink *bytes_create(void);

/* What the other side says about an errno. */
const char *line_error(int code);

#endif /* SIDE_RELAY_SINK_H */
