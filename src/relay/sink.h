/* SPDX-License-Identifier: MIT */
/* Declares the sinks of packets, and the descriptors that carry them. */
#ifndef SIDE_RELAY_SINK_H
#define SIDE_RELAY_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "relay/follow.h"

/* ---- URLs ---- */

enum url_kind { URL_RELAY, URL_TCP, URL_PATH, URL_STANDARD };

struct url {
	enum url_kind kind;
	char host[256];
	char port[16];      /* URL_TCP; URL_RELAY: port of the control connection. */
	char data_port[16]; /* URL_RELAY. */
	char session[256];  /* URL_RELAY; "": none in the URL. */
	char path[4096];    /* URL_PATH. */
};

/* Returns 0, or -EINVAL with a message and a hint in *error. */
int url_parse(const char *text, struct url *ret_url, struct error *error);

/* ---- lines: nonblocking descriptors, and what a wait for them does meanwhile ---- */

struct timeout {
	int stop_fd;         /* Becomes readable to end all waits; or -1. */
	bool *stopped;       /* Set when a wait was ended so. */
	const int *resolver; /* as in struct send_options */
	/* Called five times a second during a wait; not 0 ends the wait. */
	int (*tick)(void *user);
	void *user;
};

/*
 * Connects by TCP. Returns a descriptor, or a negative errno with a message in *error; -ECANCELED:
 * stopped.
 */
int line_connect(const char *host, const char *port, const struct timeout *timeout,
		struct error *error);
/* Write all bytes. 0 or a negative errno. `shared`: other processes use the descriptor, so it stays
   blocking. */
int line_write(int fd, const void *bytes, size_t size, bool shared, const struct timeout *timeout);
/* Read all bytes. 0; -ETIMEDOUT, -ECONNRESET at the end of the file, or another negative errno. */
int line_read(int fd, void *bytes, size_t size, int timeout_ms, const struct timeout *timeout);
/* Make a terminal raw and set its speed unless that is 0. Other files are left alone. -EINVAL: the
   speed is not supported. */
int line_raw(int fd, uint32_t speed);

/* ---- sinks ---- */

struct sink;

struct sink_ops {
	bool counts;   /* It needs the number of events of each packet. */
	bool replaces; /* It can replace the complete metadata of a trace. */
	bool ctf1_only;
	/*
	 * For sinks whose readers must learn of a stream before they read events newer than its
	 * beginning; NULL: not needed. meet() announces the stream, remind() makes readers learn of
	 * all announced streams, and may_go() returns whether the packet may be sent yet.
	 */
	int (*meet)(struct sink *sink, struct follow_stream *stream);
	int (*remind)(struct sink *sink, struct follow *follow);
	bool (*may_go)(struct sink *sink, struct follow_stream *stream,
			const struct ctf_packet *packet);
	int (*open)(struct sink *sink, struct error *error);
	/* Append text to what was sent before; sent_metadata or sent_maps is 0 at the beginning. */
	int (*text)(struct sink *sink, struct follow_trace *trace, bool is_maps, const char *text,
			size_t size);
	int (*packet)(struct sink *sink, struct follow_stream *stream,
			const struct ctf_packet *packet, uint64_t events);
	/* The stream has advanced past a packet: note the position to confirm. */
	void (*on_advanced)(struct sink *sink, struct follow_stream *stream);
	/* Update the delivered positions of all streams. */
	int (*flush)(struct sink *sink, struct follow *follow, bool wait);
	/* Tell readers that every event before the horizon was sent. NULL: not needed. */
	int (*beat)(struct sink *sink, struct follow *follow);
	/* The trace is complete and delivered. */
	int (*end_trace)(struct sink *sink, struct follow_trace *trace);
	int (*end)(struct sink *sink, struct follow *follow);
	void (*close)(struct sink *sink);
	void (*free)(struct sink *sink);
};

struct sink {
	const struct sink_ops *ops;
	struct url url;
	struct timeout timeout;
	const char *session; /* Name for the user; lives as long as the sink. */
	uint32_t speed;
	int watch_fd; /* Readable: flush() has something to read; or -1. */
	/*
	 * `horizon`: every event before it is in the files that were scanned. In nanoseconds since
	 * 1970, or in ticks of the traces' clock. `before`: the horizon of the previous turn on
	 * this connection; 0: there was none.
	 */
	bool in_ticks;
	int64_t horizon;
	int64_t before;
	bool final_error; /* open() failed, and another try will fail as well. */
	bool no_files;    /* Refuse paths of files. */
	uint64_t connections;
	bool delivered; /* Earlier connections have delivered something. */
	/* For streams of frames: the sender's id, and the number of the next frame. */
	uint64_t id;
	uint64_t sequence;
};

/* NULL: out of memory. */
struct sink *relay_create(void);
struct sink *bytes_create(void);

/* An errno of a line as a phrase about the other side. */
const char *line_error(int code);

#endif /* SIDE_RELAY_SINK_H */
