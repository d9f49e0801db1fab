/* SPDX-License-Identifier: MIT */
/*
 * Sends a trace as a stream of frames to a file, a FIFO, a serial line, standard output or a TCP
 * receiver.
 *
 * Only over TCP can the receiver answer. It acknowledges what it has written. After a connection
 * breaks, the sender sends everything else again over the next one, and the receiver recognises
 * packets that it has by their numbers. On other lines a written frame counts as delivered, and
 * metadata is repeated for readers that join late.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "relay/frame.h"
#include "relay/sink.h"

#define WINDOW 1024 /* Packets sent and not acknowledged. */
#define ANSWER_MS 5000
#define REPEAT_MIN (256u << 10) /* Bytes of packets between two copies of metadata. */
#define REPEAT_MIN_SERIAL (16u << 10)
#define REPEAT_SHARE 16 /* Metadata is repeated after this many times its size, if that is more. */
#define REPEAT_S 5
#define LAST_COPIES 2 /* Copies of the end frames on lines without acknowledgements. */

/*
 * A packet that is not acknowledged. When the receiver acknowledges its last frame, the stream is
 * delivered up to the mark.
 */
struct in_flight {
	uint64_t sequence;
	struct follow_stream *stream;
	struct marks_position mark;
};

struct byte_sink {
	struct sink sink;
	int fd;
	bool is_stdout;
	bool serial;
	bool has_answered; /* The receiver has acknowledged something. */
	bool is_silent;    /* It has acknowledged nothing within ANSWER_MS. */
	uint64_t next_unacknowledged;
	size_t piece_size;
	time_t repeated_s; /* by a clock that no user can set */
	uint64_t packets;  /* Packets sent, of all traces. */
	uint64_t events;
	struct in_flight queue[WINDOW];
	unsigned int head;
	unsigned int count;
	unsigned char in[4096]; /* Bytes from the receiver. */
	size_t in_size;
	unsigned char out[FRAME_HEAD + FRAME_PIECE + 2 * FRAME_NAME_MAX + 256 + FRAME_TAIL];
};

static struct byte_sink *relay_bytes_from_sink(struct sink *sink)
{
	return (struct byte_sink *)(void *)sink;
}

/* ---- frames ---- */

static struct frame_writer relay_bytes_begin_frame(struct byte_sink *bytes)
{
	return (struct frame_writer){.at = bytes->out + FRAME_HEAD,
			.end = bytes->out + sizeof(bytes->out) - FRAME_TAIL};
}

static int relay_bytes_send_frame(
		struct byte_sink *bytes, struct frame_writer *writer, uint8_t type)
{
	unsigned char *payload = bytes->out + FRAME_HEAD;
	size_t size = (size_t)(writer->at - payload);
	uint32_t sum = framing_crc(0, payload, size);

	if (writer->full)
		return -ENAMETOOLONG;
	framing_head(bytes->out, type, bytes->sink.id, bytes->sink.sequence++, (uint32_t)size);
	writer->end += FRAME_TAIL;
	framing_put_u32(writer, sum);
	return line_write(bytes->fd, bytes->out, (size_t)(writer->at - bytes->out),
			bytes->is_stdout, &bytes->sink.timeout);
}

static int relay_bytes_send_hello(struct byte_sink *bytes)
{
	struct frame_writer writer = relay_bytes_begin_frame(bytes);
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	framing_put_u32(&writer, FRAME_VERSION);
	framing_put_u32(&writer,
			(bytes->sink.connections ? FRAME_HELLO_RESUMED : 0) |
					(bytes->sink.delivered ? FRAME_HELLO_ACKNOWLEDGED : 0));
	framing_put_name(&writer, host);
	framing_put_name(&writer, bytes->sink.session);
	return relay_bytes_send_frame(bytes, &writer, FRAME_HELLO);
}

/* ---- opening ---- */

/*
 * Opens the path. Returns a descriptor, or -1 with errno. Device names may be links, below /dev and
 * elsewhere (socat), but another user may have made a link to a file: then the error is ELOOP, and
 * nothing is created behind a link.
 */
static int relay_bytes_open_no_follow(const char *path, int flags)
{
	int fd = open(path, flags | O_NOFOLLOW, 0644);
	struct stat status;

	if (fd >= 0 || errno != ELOOP)
		return fd;
	fd = open(path, flags & ~O_CREAT);
	if (fd < 0 || (!fstat(fd, &status) && !S_ISREG(status.st_mode)))
		return fd;
	close(fd);
	errno = ELOOP;
	return -1;
}

static int relay_bytes_open_path(struct byte_sink *bytes, struct error *error)
{
	const char *path = bytes->sink.url.path;
	/* A device may appear later; it is never created. */
	bool is_device = !strncmp(path, "/dev/", 5);
	int fd = relay_bytes_open_no_follow(path,
			O_WRONLY | (is_device || bytes->sink.no_files ? 0 : O_CREAT) | O_APPEND |
					O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int ret = fd < 0 ? -errno : 0;
	struct stat status;

	if (ret == -ENXIO)
		return error_set(error, ret, NULL, "cannot write to %.200s: %s", path,
				line_error(ret));
	if (!ret && bytes->sink.no_files && (fstat(fd, &status) || S_ISREG(status.st_mode))) {
		close(fd);
		bytes->sink.final_error = true;
		return error_set(error, -EPERM, NULL,
				"%.200s is a file: a daemon of the system sends to devices and pipes only",
				path);
	}
	if (ret == -ELOOP) {
		bytes->sink.final_error = true;
		return error_set(error, ret, NULL,
				"cannot write to %.200s: it is a symbolic link to a file", path);
	}
	if (ret == -ENOENT && (is_device || bytes->sink.no_files))
		return error_set(error, ret, NULL, "%.200s does not exist", path);
	if (!ret && isatty(fd)) {
		bytes->serial = true;
		ret = line_raw(fd, bytes->sink.speed);
	}
	if (ret) {
		error_set(error, ret, NULL, "cannot write to %.200s: %s", path,
				ret == -EINVAL ? "this speed is not possible on a serial line"
					       : line_error(ret));
		bytes->sink.final_error = true;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	/* A pipe without a reader fails at the first write. */
	if (!fstat(fd, &status) && S_ISDIR(status.st_mode))
		bytes->sink.final_error = true;
	return fd;
}

static time_t relay_bytes_steady_seconds(void)
{
	return (time_t)(clock_monotonic_ns() / CLOCK_NS_PER_S);
}

static int bytes_open(struct sink *sink, struct error *error)
{
	struct byte_sink *bytes = relay_bytes_from_sink(sink);
	int fd;
	bool is_first;

	bytes->head = bytes->count = 0;
	bytes->in_size = 0;
	bytes->has_answered = bytes->is_silent = false;
	bytes->piece_size = FRAME_PIECE;
	switch (sink->url.kind) {
	case URL_TCP:
		fd = line_connect(sink->url.host, sink->url.port, &sink->timeout, error);
		break;
	case URL_PATH: fd = relay_bytes_open_path(bytes, error); break;
	default:
		fd = STDOUT_FILENO;
		bytes->is_stdout = true;
		bytes->serial = isatty(fd);
		break;
	}
	if (fd < 0)
		return fd;
	bytes->fd = fd;
	if (bytes->serial)
		bytes->piece_size = FRAME_PIECE_SERIAL;
	sink->watch_fd = sink->url.kind == URL_TCP ? fd : -1;
	bytes->repeated_s = relay_bytes_steady_seconds();
	is_first = !sink->sequence;
	fd = relay_bytes_send_hello(bytes);
	/* If frame 0 is missing, the receiver counts a lost frame. */
	if (fd && is_first)
		sink->sequence = 0;
	if (fd)
		error_set(error, fd, NULL, "cannot write: %s", line_error(fd));
	return fd;
}

/* ---- texts and packets ---- */

static int bytes_text(struct sink *sink, struct follow_trace *trace, bool is_maps, const char *text,
		size_t size)
{
	struct byte_sink *bytes = relay_bytes_from_sink(sink);
	uint64_t offset = is_maps ? trace->sent_maps : trace->sent_metadata;
	struct frame_file file = {
			.trace = trace->number,
			.kind = is_maps ? FRAME_MAPS : FRAME_METADATA,
			.generation = trace->generation,
			.total = offset + size,
	};

	snprintf(file.name, sizeof(file.name), "%s", trace->name);
	for (size_t done = 0; done < size;) {
		struct frame_writer writer = relay_bytes_begin_frame(bytes);
		int ret;

		file.offset = offset + done;
		file.bytes = (const unsigned char *)text + done;
		file.size = size - done < bytes->piece_size ? size - done : bytes->piece_size;
		framing_put_file(&writer, &file);
		ret = relay_bytes_send_frame(bytes, &writer, FRAME_FILE);
		if (ret)
			return ret;
		done += file.size;
	}
	return 0;
}

static int bytes_packet(struct sink *sink, struct follow_stream *stream,
		const struct ctf_packet *packet, uint64_t events)
{
	struct byte_sink *bytes = relay_bytes_from_sink(sink);
	struct frame_packet frame = {
			.trace = stream->trace->number,
			.stream = stream->number,
			.number = stream->at.packets,
			.events_before = stream->at.events,
			.dropped_before = stream->dropped_events,
			.events = events,
			.total = packet->size,
			.header_size = (uint8_t)stream->header_size,
	};

	snprintf(frame.trace_name, sizeof(frame.trace_name), "%s", stream->trace->name);
	snprintf(frame.stream_name, sizeof(frame.stream_name), "%s", stream->plain);
	while (frame.offset < packet->size) {
		struct frame_writer writer = relay_bytes_begin_frame(bytes);
		int ret;

		frame.bytes = packet->bytes + frame.offset;
		frame.size = packet->size - frame.offset < bytes->piece_size
				? packet->size - frame.offset
				: bytes->piece_size;
		framing_put_packet(&writer, &frame);
		ret = relay_bytes_send_frame(bytes, &writer, FRAME_PACKET);
		if (ret)
			return ret;
		frame.offset += frame.size;
	}
	bytes->packets++;
	bytes->events += events;
	stream->trace->since_repeat += packet->size;
	return 0;
}

static void relay_bytes_deliver_first(struct byte_sink *bytes)
{
	struct in_flight *first = &bytes->queue[bytes->head];

	if (first->mark.offset > first->stream->delivered.offset)
		first->stream->delivered = first->mark;
	bytes->head = (bytes->head + 1) % WINDOW;
	bytes->count--;
}

/* Schedules the metadata and the maps once more if enough packets were sent since the last copy. */
static void relay_bytes_schedule_metadata(struct byte_sink *bytes, struct follow_trace *trace)
{
	uint64_t least = bytes->serial ? REPEAT_MIN_SERIAL : REPEAT_MIN;

	if (trace->sent_metadata * REPEAT_SHARE > least)
		least = trace->sent_metadata * REPEAT_SHARE;
	if (trace->since_repeat < least)
		return;
	trace->since_repeat = 0;
	trace->sent_metadata = trace->sent_maps = 0;
}

static void relay_bytes_on_advanced(struct sink *sink, struct follow_stream *stream)
{
	struct byte_sink *bytes = relay_bytes_from_sink(sink);

	if (sink->url.kind != URL_TCP) {
		stream->delivered = stream->at;
		relay_bytes_schedule_metadata(bytes, stream->trace);
		return;
	}
	/*
	 * The window can be full only if the receiver never answers: treat the oldest packet as
	 * delivered.
	 */
	if (bytes->count == WINDOW)
		relay_bytes_deliver_first(bytes);
	bytes->queue[(bytes->head + bytes->count++) % WINDOW] = (struct in_flight){
			.sequence = bytes->sink.sequence - 1, .stream = stream, .mark = stream->at};
}

/* ---- acknowledgements ---- */

static void relay_bytes_read_answers(struct byte_sink *bytes)
{
	size_t used, at = 0;
	struct relay_frame frame;
	enum frame_found found;

	while ((found = framing_find(bytes->in + at, bytes->in_size - at, &used, &frame)) !=
			FRAME_MORE) {
		struct frame_reader reader = {frame.payload, frame.payload + frame.size, false};
		uint64_t sequence;

		at += used;
		if (found != FRAME_WHOLE || frame.type != FRAME_ACK)
			continue;
		sequence = framing_get_u64(&reader);
		if (reader.bad || frame.session != bytes->sink.id)
			continue;
		bytes->has_answered = true;
		if (sequence > bytes->next_unacknowledged)
			bytes->next_unacknowledged = sequence;
	}
	memmove(bytes->in, bytes->in + at, bytes->in_size - at);
	bytes->in_size -= at;
	if (bytes->in_size == sizeof(bytes->in))
		bytes->in_size = 0; /* Not from a receiver of side. */
	while (bytes->count && bytes->queue[bytes->head].sequence < bytes->next_unacknowledged)
		relay_bytes_deliver_first(bytes);
}

/* Returns 1 if bytes were read, 0 if there are none, or a negative errno. */
static int relay_bytes_receive(struct byte_sink *bytes)
{
	ssize_t got = recv(bytes->fd, bytes->in + bytes->in_size,
			sizeof(bytes->in) - bytes->in_size, MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!got)
		return -ECONNRESET;
	bytes->in_size += (size_t)got;
	relay_bytes_read_answers(bytes);
	return 1;
}

static void bytes_close(struct sink *sink)
{
	struct byte_sink *bytes = relay_bytes_from_sink(sink);

	/* Read the last acknowledgements, so that the next receiver does not get the same
	   packets. */
	while (bytes->fd >= 0 && sink->url.kind == URL_TCP && relay_bytes_receive(bytes) > 0)
		;
	if (bytes->fd >= 0 && !bytes->is_stdout)
		close(bytes->fd);
	bytes->fd = sink->watch_fd = -1;
}

/* Reads one byte, so that the wait ends as soon as one arrives. */
static int relay_bytes_await_answer(struct byte_sink *bytes, int timeout_ms)
{
	int ret;

	if (bytes->in_size == sizeof(bytes->in))
		bytes->in_size = 0;
	ret = line_read(bytes->fd, bytes->in + bytes->in_size, 1, timeout_ms, &bytes->sink.timeout);
	if (ret)
		return ret;
	bytes->in_size++;
	relay_bytes_read_answers(bytes);
	ret = relay_bytes_receive(bytes);
	return ret < 0 ? ret : 0;
}

static int bytes_flush(struct sink *sink, struct follow *follow, bool wait)
{
	struct byte_sink *bytes = relay_bytes_from_sink(sink);
	time_t now = relay_bytes_steady_seconds();
	int ret = 0;

	if (sink->url.kind != URL_TCP) {
		if (now - bytes->repeated_s < REPEAT_S)
			return 0;
		bytes->repeated_s = now;
		for (struct follow_trace *trace = follow->traces; trace; trace = trace->next) {
			if (!trace->since_repeat || trace->done)
				continue;
			trace->since_repeat = 0;
			trace->sent_metadata = trace->sent_maps = 0;
		}
		return 0;
	}
	do
		ret = relay_bytes_receive(bytes);
	while (ret > 0);
	/* Wait if the window is half full, or at the end. */
	while (!ret && !bytes->is_silent && bytes->count && (wait || bytes->count > WINDOW / 2)) {
		ret = relay_bytes_await_answer(bytes, ANSWER_MS);
		bytes->is_silent = ret == -ETIMEDOUT && !bytes->has_answered;
		if (wait || ret == -ETIMEDOUT)
			break;
	}
	return ret == -ETIMEDOUT ? 0 : ret;
}

static void bytes_free(struct sink *sink)
{
	bytes_close(sink);
	free(relay_bytes_from_sink(sink));
}

/* ---- ends ---- */

static int relay_bytes_send_trace_end(struct byte_sink *bytes, struct follow_trace *trace)
{
	const struct follow_stream *stream = trace->streams;
	int ret = 0;

	do {
		struct frame_writer writer = relay_bytes_begin_frame(bytes);

		framing_put_u32(&writer, trace->number);
		framing_put_name(&writer, trace->name);
		/* As many as fit. */
		for (; stream && (size_t)(writer.at - bytes->out) < bytes->piece_size;
				stream = stream->next) {
			framing_put_u32(&writer, stream->number);
			framing_put_name(&writer, stream->plain);
			framing_put_u64(&writer, stream->at.packets);
			framing_put_u64(&writer, stream->at.events);
			framing_put_u64(&writer, stream->dropped_events);
			framing_put_u32(&writer, stream->last.class_id);
			framing_put_u64(&writer, stream->last.instance);
			framing_put_u64(&writer, stream->begin);
			framing_put_u64(&writer, stream->last.end);
			framing_put_u64(&writer, stream->last.discarded + stream->dropped_events);
			framing_put(&writer, stream->last.uuid, sizeof(stream->last.uuid));
			framing_put_u8(&writer, (uint8_t)stream->header_size);
		}
		ret = relay_bytes_send_frame(bytes, &writer, FRAME_TRACE_END);
	} while (!ret && stream);
	return ret;
}

/* Sends the metadata again, for readers that joined after it was sent. */
static int relay_bytes_repeat_metadata(struct sink *sink, struct follow_trace *trace)
{
	uint64_t sent = trace->sent_metadata;
	char *text;
	size_t size;
	int ret = follow_text(trace, "metadata", 0, &text, &size);

	trace->sent_metadata = 0;
	if (!ret && size)
		ret = bytes_text(sink, trace, false, text, size);
	trace->sent_metadata = sent;
	free(text);
	return ret;
}

static int bytes_end_trace(struct sink *sink, struct follow_trace *trace)
{
	struct byte_sink *bytes = relay_bytes_from_sink(sink);
	int copies = sink->url.kind == URL_TCP ? 1 : LAST_COPIES, ret = 0;

	if (sink->url.kind != URL_TCP)
		ret = relay_bytes_repeat_metadata(sink, trace);
	for (int i = 0; !ret && i < copies; i++)
		ret = relay_bytes_send_trace_end(bytes, trace);
	return ret;
}

static int relay_bytes_send_end(
		struct byte_sink *bytes, const struct follow *follow, uint64_t frames)
{
	struct frame_writer writer = relay_bytes_begin_frame(bytes);
	uint64_t packets = follow->past.packets, events = follow->past.events;
	uint64_t dropped_packets = follow->past.dropped_packets;
	uint64_t dropped_events = follow->past.dropped_events;

	for (const struct follow_trace *trace = follow->traces; trace; trace = trace->next)
		for (const struct follow_stream *stream = trace->streams; stream;
				stream = stream->next) {
			packets += stream->at.packets;
			events += stream->at.events;
			dropped_packets += stream->dropped_packets;
			dropped_events += stream->dropped_events;
		}
	framing_put_u64(&writer, frames);
	framing_put_u64(&writer, packets);
	framing_put_u64(&writer, events);
	framing_put_u64(&writer, dropped_packets);
	framing_put_u64(&writer, dropped_events);
	framing_put_u32(&writer, follow->nr_traces);
	return relay_bytes_send_frame(bytes, &writer, FRAME_END);
}

/*
 * Over TCP: waits until the last frame is acknowledged, or the other side closes the connection in
 * order.
 */
static int relay_bytes_await_end(struct byte_sink *bytes)
{
	int ret = 0;

	if (!bytes->has_answered)
		shutdown(bytes->fd, SHUT_WR);
	while (!ret && bytes->next_unacknowledged < bytes->sink.sequence)
		ret = relay_bytes_await_answer(bytes, -1);
	if (ret == -ECONNRESET && !bytes->has_answered) {
		while (bytes->count)
			relay_bytes_deliver_first(bytes);
		return 0;
	}
	return ret;
}

static int bytes_end(struct sink *sink, struct follow *follow)
{
	struct byte_sink *bytes = relay_bytes_from_sink(sink);
	int copies = sink->url.kind == URL_TCP ? 1 : LAST_COPIES, ret = 0;
	uint64_t frames = bytes->sink.sequence + (uint64_t)copies;
	struct stat status;

	for (int i = 0; !ret && i < copies; i++)
		ret = relay_bytes_send_end(bytes, follow, frames);
	if (ret)
		return ret;
	if (sink->url.kind == URL_TCP)
		return relay_bytes_await_end(bytes);
	if (bytes->serial)
		tcdrain(bytes->fd);
	else if (!fstat(bytes->fd, &status) && S_ISREG(status.st_mode) && fdatasync(bytes->fd))
		return -errno;
	return 0;
}

static const struct sink_ops bytes_ops = {
		.counts = true,
		.replaces = true,
		.open = bytes_open,
		.text = bytes_text,
		.packet = bytes_packet,
		.on_advanced = relay_bytes_on_advanced,
		.flush = bytes_flush,
		.end_trace = bytes_end_trace,
		.end = bytes_end,
		.close = bytes_close,
		.free = bytes_free,
};

struct sink *bytes_create(void)
{
	struct byte_sink *bytes = calloc(1, sizeof(*bytes));

	if (!bytes)
		return NULL;
	bytes->sink.ops = &bytes_ops;
	bytes->sink.watch_fd = bytes->fd = -1;
	if (getrandom(&bytes->sink.id, sizeof(bytes->sink.id), 0) != sizeof(bytes->sink.id))
		bytes->sink.id = (uint64_t)time(NULL) << 32 ^ (uint64_t)getpid();
	return &bytes->sink;
}
