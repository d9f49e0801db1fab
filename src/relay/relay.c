/* SPDX-License-Identifier: MIT */
/*
 * Sink that sends to a relay daemon (lttng-relayd), by protocol level 2.10: two TCP connections,
 * big-endian numbers, CTF 1.8.
 *
 * A relay session lives as long as its connection. After a break there is a new one, in a directory
 * of its own, which begins with the first packet that is not known to be delivered.
 *
 * The data connection has no answers, so the sink asks the daemon stream by stream what it has
 * received (DATA_PENDING).
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "relay/sink.h"

#define ANSWER_MS 30000
#define LEVEL_MAJOR 2
#define LEVEL_MINOR 10
#define LIVE_US 1000000
#define CODE_OK 10
#define METADATA_MAGIC 0x75d11d57u
#define METADATA_HEADER 37
#define METADATA_PACKET 4096

enum relayd_command {
	ADD_STREAM = 1,
	CREATE_SESSION = 2,
	VERSION = 5,
	SEND_METADATA = 6,
	CLOSE_STREAM = 7,
	DATA_PENDING = 8,
	SEND_INDEX = 13,
	STREAMS_SENT = 16,
};

struct command_head {
	uint64_t circuit;
	uint64_t size;
	uint32_t command;
	uint32_t version;
} __attribute__((packed));

struct create_session {
	char name[255];
	char host[64];
	uint32_t live_us;
	uint32_t snapshot;
} __attribute__((packed));

struct add_stream {
	char channel[264];
	char path[4096];
	uint64_t file_size;
	uint64_t file_count;
} __attribute__((packed));

struct handle_answer {
	uint64_t handle;
	uint32_t code;
} __attribute__((packed));

struct index {
	uint64_t handle;
	uint64_t number;
	uint64_t packet_bits;
	uint64_t content_bits;
	uint64_t begin;
	uint64_t end;
	uint64_t discarded;
	uint64_t class_id;
	uint64_t instance;
	uint64_t sequence;
} __attribute__((packed));

struct data_head {
	uint64_t circuit;
	uint64_t handle;
	uint64_t number;
	uint32_t size;
	uint32_t padding;
} __attribute__((packed));

struct metadata_head {
	uint32_t magic;
	unsigned char uuid[16];
	uint32_t checksum;
	uint32_t content_bits;
	uint32_t packet_bits;
	unsigned char compression, encryption, checksum_scheme, major, minor;
} __attribute__((packed));

_Static_assert(sizeof(struct metadata_head) == METADATA_HEADER, "as the specification has it");

struct relay {
	struct sink sink;
	int control;
	int data;
	char host[65];
	char base[512]; /* Prefix of the paths of this relay session. */
};

static struct relay *relay_of(struct sink *sink)
{
	return (struct relay *)(void *)sink;
}

/* ---- the control connection ---- */

static int command(struct relay *relay, enum relayd_command number, const void *payload,
		size_t size, const void *more, size_t more_size, void *answer, size_t answer_size)
{
	const struct command_head head = {
			.size = htobe64(size + more_size), .command = htobe32((uint32_t)number)};
	unsigned char whole[sizeof(head) + sizeof(struct add_stream)];
	const struct timeout *timeout = &relay->sink.timeout;
	int ret;

	memcpy(whole, &head, sizeof(head));
	if (size)
		memcpy(whole + sizeof(head), payload, size);
	ret = line_write(relay->control, whole, sizeof(head) + size, false, timeout);
	if (!ret && more_size)
		ret = line_write(relay->control, more, more_size, false, timeout);
	if (!ret && answer_size)
		ret = line_read(relay->control, answer, answer_size, ANSWER_MS, timeout);
	return ret;
}

/* A command whose answer is a code. */
static int simple(struct relay *relay, enum relayd_command number, const void *payload, size_t size)
{
	uint32_t code;
	int ret = command(relay, number, payload, size, NULL, 0, &code, sizeof(code));

	return ret ? ret : be32toh(code) == CODE_OK ? 0 : -EPROTO;
}

static int create_session(struct relay *relay)
{
	const uint32_t level[2] = {htobe32(LEVEL_MAJOR), htobe32(LEVEL_MINOR)};
	struct create_session session = {.live_us = htobe32(LIVE_US)};
	struct handle_answer answer;
	uint32_t theirs[2];
	int ret = command(relay, VERSION, level, sizeof(level), NULL, 0, theirs, sizeof(theirs));

	if (ret)
		return ret;
	if (be32toh(theirs[0]) != LEVEL_MAJOR)
		return -EPROTO;
	snprintf(session.name, sizeof(session.name), "%s", relay->sink.session);
	memcpy(session.host, relay->host, strnlen(relay->host, sizeof(session.host) - 1));
	ret = command(relay, CREATE_SESSION, &session, sizeof(session), NULL, 0, &answer,
			sizeof(answer));
	return ret ? ret : be32toh(answer.code) == CODE_OK ? 0 : -EPROTO;
}

/* Choose a directory that no earlier session of this sender has. */
static void name_base(struct relay *relay)
{
	char stamp[32], again[32] = "";
	time_t now = time(NULL);
	struct tm local;

	localtime_r(&now, &local);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
	if (relay->sink.connections)
		snprintf(again, sizeof(again), "-%llu",
				(unsigned long long)relay->sink.connections + 1);
	snprintf(relay->base, sizeof(relay->base), "%s/%s-%s%s/ust/pid", relay->host,
			relay->sink.session, stamp, again);
}

static int relay_open(struct sink *sink, struct error *error)
{
	struct relay *relay = relay_of(sink);
	const struct url *url = &sink->url;
	int ret;

	relay->control = line_connect(url->host, url->port, &sink->timeout, error);
	if (relay->control < 0)
		return relay->control;
	relay->data = line_connect(url->host, url->data_port, &sink->timeout, error);
	if (relay->data < 0)
		return relay->data;
	name_base(relay);
	ret = create_session(relay);
	if (ret)
		error_set(error, ret, NULL,
				"the relay daemon at %s, port %s, does not create a session: %s",
				url->host, url->port, line_error(ret));
	sink->watch_fd = ret ? -1 : relay->control;
	return ret;
}

static void relay_close(struct sink *sink)
{
	struct relay *relay = relay_of(sink);

	if (relay->control >= 0)
		close(relay->control);
	if (relay->data >= 0)
		close(relay->data);
	relay->control = relay->data = sink->watch_fd = -1;
}

static void relay_free(struct sink *sink)
{
	relay_close(sink);
	free(relay_of(sink));
}

/* ---- streams ---- */

static int relay_add_stream(struct relay *relay, const struct follow_trace *trace, const char *name,
		uint64_t *ret_handle)
{
	struct add_stream stream = {.file_size = 0};
	struct handle_answer answer;
	int ret;

	if (strlen(name) >= sizeof(stream.channel) ||
			(size_t)snprintf(stream.path, sizeof(stream.path), "%s/%s", relay->base,
					trace->name) >= sizeof(stream.path))
		return -ENAMETOOLONG;
	memcpy(stream.channel, name, strlen(name));
	ret = command(relay, ADD_STREAM, &stream, sizeof(stream), NULL, 0, &answer, sizeof(answer));
	if (ret)
		return ret;
	*ret_handle = be64toh(answer.handle);
	return be32toh(answer.code) == CODE_OK ? 0 : -EPROTO;
}

/* Announce a trace with its first stream: viewers need both. */
static int relay_meet(struct sink *sink, struct follow_stream *stream)
{
	struct relay *relay = relay_of(sink);
	struct follow_trace *trace = stream->trace;
	int ret = 0;

	if (!trace->announced)
		ret = relay_add_stream(relay, trace, "metadata", &trace->handle);
	if (!ret)
		ret = relay_add_stream(relay, trace, stream->plain, &stream->handle);
	if (!ret)
		ret = simple(relay, STREAMS_SENT, NULL, 0);
	trace->announced |= !ret;
	return ret;
}

/*
 * Each connection creates a session of the daemon, in a directory of its own. Readers of both would
 * merge traces of one UUID.
 */
static struct identity *relay_identity(const struct relay *relay, struct follow_trace *trace)
{
	trace->identity.is_own = relay->sink.connections > 1;
	return &trace->identity;
}

/* ---- metadata ---- */

static size_t put_metadata_packet(
		unsigned char *to, const unsigned char uuid[16], const char *text, size_t size)
{
	const uint32_t bits = (uint32_t)(METADATA_HEADER + size) * 8;
	struct metadata_head head = {
			.magic = METADATA_MAGIC,
			.content_bits = bits,
			.packet_bits = bits,
			.major = 1,
			.minor = 8,
	};

	memcpy(head.uuid, uuid, sizeof(head.uuid));
	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), text, size);
	return sizeof(head) + size;
}

static int send_metadata(
		struct relay *relay, struct follow_trace *trace, const char *text, size_t size)
{
	const size_t capacity = METADATA_PACKET - METADATA_HEADER;
	struct {
		uint64_t handle;
		uint32_t padding;
	} __attribute__((packed)) head = {.handle = htobe64(trace->handle)};
	const struct ctf_trace *of = ctf_counter_trace(trace->counter);
	unsigned char *packets = malloc(size + (size / capacity + 1) * METADATA_HEADER), uuid[16];
	char *own = malloc(size);
	size_t used = 0;
	int ret;

	if (!packets || !own || !of) {
		free(packets);
		free(own);
		return -ENOMEM;
	}
	memcpy(uuid, of->uuid, sizeof(uuid));
	identity_replace(relay_identity(relay, trace), uuid);
	memcpy(own, text, size);
	if (!trace->sent_metadata) /* Its beginning has the UUID. */
		identity_replace_in_metadata(&trace->identity, (unsigned char *)own, size);
	text = own;
	while (size) {
		size_t piece = size < capacity ? size : capacity;

		used += put_metadata_packet(packets + used, uuid, text, piece);
		text += piece;
		size -= piece;
	}
	ret = command(relay, SEND_METADATA, &head, sizeof(head), packets, used, NULL, 0);
	free(packets);
	free(own);
	return ret;
}

static int relay_text(struct sink *sink, struct follow_trace *trace, bool is_maps, const char *text,
		size_t size)
{
	if (is_maps)
		return 0;
	/* The first stream announces the trace; until then the text stays in its file. */
	if (!trace->announced)
		return -EAGAIN;
	return send_metadata(relay_of(sink), trace, text, size);
}

/* ---- packets ---- */

/* Convert a time to ticks of the trace's clock. False if the clock is not known. */
static bool ticks_at(const struct sink *sink, struct follow_trace *trace, int64_t ns,
		uint64_t *ret_ticks)
{
	const struct ctf_trace *of = trace->counter ? ctf_counter_trace(trace->counter) : NULL;
	const struct ctf_clock *clock = of ? of->clock : NULL;
	__int128 at;

	if (!clock || !clock->frequency || !ns || ns == INT64_MAX)
		return false;
	if (sink->in_ticks) {
		*ret_ticks = (uint64_t)ns;
		return true;
	}
	at = ((__int128)ns - (__int128)clock->offset_s * 1000000000) * clock->frequency /
			1000000000;
	at -= clock->offset;
	*ret_ticks = at < 0 ? 0 : (uint64_t)at;
	return at < INT64_MAX;
}

static int send_index(struct relay *relay, const struct follow_stream *stream,
		const struct ctf_packet *packet)
{
	const uint64_t bits = htobe64((uint64_t)packet->size * 8);
	const struct index index = {
			.handle = htobe64(stream->handle),
			.number = htobe64(stream->sent),
			.packet_bits = bits,
			.content_bits = bits,
			.begin = htobe64(packet->begin),
			.end = htobe64(packet->end),
			.discarded = htobe64(packet->discarded),
			.class_id = htobe64(packet->class_id),
			.instance = htobe64(packet->instance),
			.sequence = htobe64(packet->sequence),
	};

	return simple(relay, SEND_INDEX, &index, sizeof(index));
}

static int put_packet(
		struct relay *relay, struct follow_stream *stream, const struct ctf_packet *packet)
{
	const struct data_head head = {
			.handle = htobe64(stream->handle),
			.number = htobe64(stream->sent),
			.size = htobe32((uint32_t)packet->size),
	};
	const struct timeout *timeout = &relay->sink.timeout;
	struct ctf_packet own = *packet;
	int ret = line_write(relay->data, &head, sizeof(head), false, timeout);

	identity_replace(relay_identity(relay, stream->trace), own.uuid);
	ctf_packet_set_uuid(&own, own.uuid);
	if (!ret)
		ret = line_write(relay->data, own.bytes, packet->size, false, timeout);
	if (!ret)
		ret = send_index(relay, stream, packet);
	if (!ret)
		stream->sent++;
	stream->reported_dropped = stream->dropped_events;
	return ret;
}

static int relay_packet(struct sink *sink, struct follow_stream *stream,
		const struct ctf_packet *packet, uint64_t events)
{
	struct ctf_packet copy = *packet;
	uint64_t before;

	(void)events;
	/* The sink may change the bytes; the members of *packet must stay those of the file. */
	if (stream->added)
		ctf_packet_set_sequence(&copy, packet->sequence + stream->added);
	if (!stream->sent && packet->begin == packet->end && packet->size == stream->header_size &&
			ticks_at(sink, stream->trace, sink->before, &before) &&
			before > packet->begin)
		ctf_packet_set_times(&copy, before, before);
	return put_packet(relay_of(sink), stream, &copy);
}

/*
 * A viewer learns of new streams only with the next packet that it requests. That packet may be
 * newer than the beginning of the new streams, or there may be none. So send an empty packet,
 * behind everything that was sent and before everything that will be.
 */
static int relay_remind(struct sink *sink, struct follow *follow)
{
	unsigned char bytes[128];

	for (struct follow_trace *trace = follow->traces; sink->before && trace;
			trace = trace->next)
		for (struct follow_stream *stream = trace->streams; !trace->done && stream;
				stream = stream->next) {
			struct ctf_packet packet = stream->last;

			if (!stream->sent || !ticks_at(sink, trace, sink->before, &packet.begin) ||
					packet.begin < stream->last.end)
				continue;
			stream->added++;
			packet.bytes = bytes;
			packet.capacity = sizeof(bytes);
			packet.end = packet.begin;
			packet.sequence += stream->added;
			packet.discarded += stream->reported_dropped;
			ctf_packet_make_empty(&packet, stream->header_size);
			return put_packet(relay_of(sink), stream, &packet);
		}
	return 0;
}

static bool relay_may_go(
		struct sink *sink, struct follow_stream *stream, const struct ctf_packet *packet)
{
	uint64_t horizon;

	return stream->handle && stream->trace->sent_metadata &&
			(sink->horizon == INT64_MAX ||
					!ticks_at(sink, stream->trace, sink->horizon, &horizon) ||
					packet->end <= horizon);
}

static void relay_on_advanced(struct sink *sink, struct follow_stream *stream)
{
	(void)sink;
	(void)stream;
}

/* ---- delivery ---- */

/* 1: delivered; 0: not yet; or a negative errno. */
static int relay_check_delivered(struct relay *relay, struct follow_stream *stream)
{
	const uint64_t question[2] = {htobe64(stream->handle), htobe64(stream->sent - 1)};
	uint32_t pending;
	int ret = command(relay, DATA_PENDING, question, sizeof(question), NULL, 0, &pending,
			sizeof(pending));

	if (ret || pending)
		return ret;
	stream->delivered = stream->at;
	return 1;
}

static int relay_flush(struct sink *sink, struct follow *follow, bool wait)
{
	const struct timespec moment = {0, 2000000};
	struct relay *relay = relay_of(sink);
	char byte;
	int ret = 0, missing = 0;

	for (struct follow_trace *trace = follow->traces; ret >= 0 && trace; trace = trace->next) {
		if (trace->done)
			continue;
		for (struct follow_stream *stream = trace->streams; ret >= 0 && stream;
				stream = stream->next) {
			if (!stream->sent || stream->delivered.offset == stream->at.offset)
				continue;
			ret = relay_check_delivered(relay, stream);
			missing += !ret;
		}
	}
	if (ret >= 0 && wait && missing)
		nanosleep(&moment, NULL);
	if (ret >= 0 && recv(relay->control, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0)
		ret = -ECONNRESET;
	return ret < 0 ? ret : 0;
}

/* ---- beacons ---- */

static int beat_stream(struct relay *relay, struct follow_stream *stream, uint64_t ticks)
{
	const struct index index = {
			.handle = htobe64(stream->handle),
			.number = UINT64_MAX,
			.begin = htobe64(ticks),
			.end = htobe64(ticks),
			.class_id = htobe64(stream->last.class_id),
			.instance = htobe64(stream->last.instance),
	};

	if (!stream->sent || stream->at.offset < stream->size || ticks <= stream->last.end ||
			ticks <= stream->beaten)
		return 0;
	stream->beaten = ticks;
	return simple(relay, SEND_INDEX, &index, sizeof(index));
}

static int relay_beat(struct sink *sink, struct follow *follow)
{
	uint64_t ticks;
	int ret = 0;

	for (struct follow_trace *trace = follow->traces; !ret && trace; trace = trace->next) {
		if (trace->done || !trace->announced ||
				!ticks_at(sink, trace, sink->horizon, &ticks))
			continue;
		for (struct follow_stream *stream = trace->streams; !ret && stream;
				stream = stream->next)
			ret = beat_stream(relay_of(sink), stream, ticks);
	}
	return ret;
}

/* ---- ends ---- */

static int close_stream(struct relay *relay, uint64_t handle, uint64_t last)
{
	const uint64_t payload[2] = {htobe64(handle), htobe64(last)};

	return simple(relay, CLOSE_STREAM, payload, sizeof(payload));
}

/* Packets that were dropped at the end of a stream are counted in no packet: send an empty one that
   does. */
static int report_dropped(struct relay *relay, struct follow_stream *stream)
{
	unsigned char bytes[128];
	struct ctf_packet packet = stream->last;

	if (!stream->seen || stream->reported_dropped == stream->dropped_events)
		return 0;
	packet.bytes = bytes;
	packet.capacity = sizeof(bytes);
	packet.begin = packet.end;
	packet.sequence += stream->added + 1;
	packet.discarded += stream->dropped_events;
	ctf_packet_make_empty(&packet, stream->header_size);
	return put_packet(relay, stream, &packet);
}

static int relay_end_trace(struct sink *sink, struct follow_trace *trace)
{
	struct relay *relay = relay_of(sink);
	int ret = 0;

	if (!trace->announced)
		return 0;
	for (struct follow_stream *stream = trace->streams; !ret && stream; stream = stream->next) {
		if (!stream->handle)
			continue;
		ret = report_dropped(relay, stream);
		if (!ret)
			ret = close_stream(relay, stream->handle, stream->sent - 1);
	}
	return ret ? ret : close_stream(relay, trace->handle, UINT64_MAX);
}

/* The daemon removes the session from viewers when the connection closes. Viewers poll ten times a
   second: wait for them. */
static int relay_end(struct sink *sink, struct follow *follow)
{
	const struct timespec moment = {1, 0};

	(void)follow;
	if (sink->before)
		nanosleep(&moment, NULL);
	return 0;
}

static const struct sink_ops relay_ops = {
		.ctf1_only = true,
		.open = relay_open,
		.text = relay_text,
		.meet = relay_meet,
		.remind = relay_remind,
		.may_go = relay_may_go,
		.packet = relay_packet,
		.on_advanced = relay_on_advanced,
		.flush = relay_flush,
		.beat = relay_beat,
		.end_trace = relay_end_trace,
		.end = relay_end,
		.close = relay_close,
		.free = relay_free,
};

struct sink *relay_create(void)
{
	struct relay *relay = calloc(1, sizeof(*relay));

	if (!relay)
		return NULL;
	relay->sink.ops = &relay_ops;
	relay->sink.watch_fd = relay->control = relay->data = -1;
	if (gethostname(relay->host, sizeof(relay->host) - 1) || !*relay->host)
		snprintf(relay->host, sizeof(relay->host), "localhost");
	return &relay->sink;
}
