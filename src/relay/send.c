/* SPDX-License-Identifier: MIT */
/*
 * The sender: one thread between a growing directory and a sink.
 *
 *   scan    find what is new in the directory
 *   send    texts and packets, stream by stream, metadata before the packets that need it
 *   flush   update what was delivered
 *   spool   free the disk space of what was delivered; drop what exceeds the limit
 *
 * When a connection breaks, all streams go back to what is known to be delivered, and everything
 * else is sent again over the next one.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "relay/resolver.h"
#include "relay/send.h"
#include "relay/sink.h"
#include "relay/spool.h"

#define TICK_MS 500
#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 5000
#define BEAT_MS 1000
/* A recorder has written events of this age to the files. */
#define HORIZON_NS INT64_C(3000000000)
#define HORIZON_NONE INT64_MAX
/* The clock was set, or the recorder is very slow: a packet that was held for so long is sent. */
#define HOLD_MAX_MS 10000
/* Bytes of one stream before the next one is served. */
#define TURN_BYTES (4u << 20)
/* Pending packets that are counted in one turn. */
#define COUNT_MOST 1000
/* Poll interval until the recorder has settled the data of the last scan. */
#define SETTLE_MS 20
/* Frame numbers that are reserved at once, and how many of them a text or an end may need. */
#define RESERVE 16384
#define RESERVE_MARGIN 64
/* A receiver that accepts nothing for so long while the spool is full counts as disconnected. */
#define STALL_MS 5000

struct send {
	struct send_options options; /* Strings are owned. */
	struct sink *sink;
	struct follow follow;
	pthread_t thread;
	int wake_fd;
	bool stopped;  /* Atomic. */
	bool finished; /* Atomic: the recording is over. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct send_status status; /* Under the lock; copied from `own`. */
	/* Of the sender's thread only. */
	struct send_status own;
	struct ctf_packet packet;
	char *session;
	bool ever_connected;
	bool has_reported_absence;
	struct spool spool;
	uint64_t reported_vanished;
	struct error away; /* Why it is not connected. */
	unsigned int backoff_ms;
	uint64_t next_try;
	uint64_t next_beat;
	uint64_t progress; /* Time of the last delivery. */
	uint64_t delivered_bytes;
	bool in_packet; /* A packet is being written. */
	bool over;
	bool stale;       /* Files were scanned within a turn: send their metadata first. */
	bool has_scanned; /* Scanned at least once. */
	bool has_reported_marks;
	uint64_t round;    /* The recorder's round when the files were scanned. */
	int64_t seen;      /* Ticks before which every event was in the files at that scan. */
	int64_t settled;   /* Ticks before which every event may be sent. */
	uint64_t reserved; /* Numbers of frames below this one may be used. */
};

static void relay_send_log(const struct send *send, bool is_error, const char *format, ...)
		__attribute__((format(printf, 3, 4)));

static void relay_send_log(const struct send *send, bool is_error, const char *format, ...)
{
	char text[ERROR_TEXT_SIZE];
	va_list list;

	if (!send->options.log_message)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	send->options.log_message(send->options.user, is_error, text);
}

static bool is_stopped(struct send *send)
{
	/* Acquire: what the caller of send_stop() did before is visible. Pairs with the release in
	   send_stop(). */
	return __atomic_load_n(&send->stopped, __ATOMIC_ACQUIRE);
}

/* ---- statistics ---- */

static void relay_send_publish_statistics(struct send *send)
{
	struct send_status *own = &send->own;
	const struct marks_sums *past = &send->follow.past;
	uint64_t delivered = 0, packets = past->packets, dropped = 0;

	own->events = past->events;
	own->dropped_packets = past->dropped_packets;
	own->dropped_events = past->dropped_events;
	for (const struct follow_trace *trace = send->follow.traces; trace; trace = trace->next)
		for (const struct follow_stream *stream = trace->streams; stream;
				stream = stream->next) {
			delivered += stream->delivered.offset;
			packets += stream->delivered.packets;
			own->events += stream->delivered.events;
			own->dropped_packets += stream->dropped_packets;
			own->dropped_events += stream->dropped_events;
			dropped += stream->dropped_bytes;
		}
	own->dropped_bytes = dropped;
	own->bytes = past->bytes + delivered - dropped;
	own->packets = packets;
	if (own->bytes + dropped != send->delivered_bytes)
		send->progress = clock_monotonic_ms();
	send->delivered_bytes = own->bytes + dropped;
	own->pending = follow_pending(&send->follow);
	own->pending_packets = own->pending
			? follow_pending_packets(&send->follow, &send->packet, COUNT_MOST)
			: 0;
	own->connections = send->sink->connections;
	if (own->connected)
		*own->why = '\0';
	else
		snprintf(own->why, sizeof(own->why), "%.250s", send->away.text);
	pthread_mutex_lock(&send->lock);
	send->status = *own;
	pthread_cond_broadcast(&send->changed);
	pthread_mutex_unlock(&send->lock);
}

/* ---- marks ---- */

/* Report the first failure to write marks; the next call tries again. */
static void relay_send_save_marks(struct send *send, int ret)
{
	if (ret && !send->has_reported_marks)
		relay_send_log(send, true,
				"%s/" SEND_MARKS
				" cannot be written: %s; until it can, data may be sent twice if the sender is killed",
				send->options.dir, strerror(-ret));
	send->has_reported_marks = ret;
}

/* Reserve frame numbers for so many bytes: no later sender uses them. 0 or a negative errno. */
static int relay_send_reserve_sequence(struct send *send, uint64_t bytes)
{
	struct marks *marks = send->follow.marks;
	uint64_t wanted = send->sink->sequence + bytes / 2048 + RESERVE_MARGIN;

	if (!marks || wanted <= send->reserved)
		return 0;
	marks->head.sequence = wanted + RESERVE;
	send->reserved = marks->head.sequence;
	return marks_write_head(marks);
}

static void note_connection(struct send *send)
{
	struct marks *marks = send->follow.marks;

	if (!marks)
		return;
	/* Write it before connecting: the next sender must know that there may have been a
	   connection. */
	marks->head.connections = send->sink->connections + 1;
	relay_send_save_marks(send, marks_write_head(marks));
}

static int open_marks(struct send *send)
{
	struct marks *marks;
	char path[4200];
	bool found;
	int ret;

	if ((size_t)snprintf(path, sizeof(path), "%s/" SEND_MARKS, send->options.dir) >=
			sizeof(path))
		return send->options.marks ? -ENAMETOOLONG : 0;
	if (!send->options.marks && !marks_are_of(path, send->options.url))
		return 0;
	marks = calloc(1, sizeof(*marks));
	if (!marks)
		return -ENOMEM;
	ret = marks_open(path, send->options.url, marks, &found);
	if (ret) {
		free(marks);
		return ret;
	}
	send->follow.marks = marks;
	if (!found) {
		marks->head.id = send->sink->id;
		return marks_write_head(marks);
	}
	send->sink->id = marks->head.id;
	send->sink->sequence = send->reserved = marks->head.sequence;
	send->sink->connections = marks->head.connections;
	send->follow.nr_traces = marks->head.nr_traces;
	send->follow.past = marks->head.past;
	return 0;
}

/* Nothing is unacknowledged: the next sender can continue with the next number. */
static void close_marks(struct send *send)
{
	struct marks *marks = send->follow.marks;

	if (!marks)
		return;
	(void)follow_mark(&send->follow);
	marks->head.sequence = send->sink->sequence;
	marks->head.past = send->follow.past;
	(void)marks_write_head(marks);
}

/* ---- texts ---- */

/* The offset behind `blocks` blocks: the head of the metadata can change its length. */
static uint64_t skip_blocks(const char *text, size_t size, uint64_t blocks)
{
	const char *at = text;

	while (blocks--) {
		at = memmem(at, size - (size_t)(at - text), "\n};\n", 4);
		if (!at)
			return 0;
		at += 4;
	}
	if (at < text + size && *at == '\n')
		at++;
	return (uint64_t)(at - text);
}

static uint64_t count_blocks(const char *text, size_t size)
{
	const char *at = text;
	uint64_t blocks = 0;

	while ((at = memmem(at, size - (size_t)(at - text), "\n};\n", 4))) {
		at += 3;
		blocks++;
	}
	return blocks;
}

/* The metadata file was replaced: a sink that cannot replace metadata continues behind the blocks
   that it has. */
static int relay_send_renew_metadata(struct send *send, struct follow_trace *trace)
{
	char *text;
	size_t size;
	int ret;

	trace->sent_inode = trace->metadata_inode;
	if (send->sink->ops->replaces) {
		trace->generation++;
		trace->sent_metadata = 0;
		relay_send_save_marks(send, follow_mark_trace(&send->follow, trace));
		return 0;
	}
	if (!trace->sent_metadata)
		return 0;
	ret = follow_text(trace, "metadata", 0, &text, &size);
	if (!ret && size)
		trace->sent_metadata = skip_blocks(text, size, trace->sent_blocks);
	free(text);
	return ret == -ENOMEM ? ret : 0;
}

static void relay_send_refuse_trace(struct send *send, struct follow_trace *trace, const char *why)
{
	trace->refused = true;
	send->own.failed = true;
	relay_send_log(send, true, "cannot send %s: %s", trace->name, why);
}

/* Check that side recorded the trace and that the sink can send it. */
static int examine(struct send *send, struct follow_trace *trace, const char *text)
{
	const struct ctf_trace *of;
	int ret;

	if (!trace->counter)
		trace->counter = ctf_counter_create();
	if (!trace->counter)
		return -ENOMEM;
	ret = ctf_counter_renew(trace->counter, trace->path);
	if (ret == -ENOMEM)
		return ret;
	of = ctf_counter_trace(trace->counter);
	if (ret)
		relay_send_refuse_trace(send, trace, strerror(-ret));
	else if (!of || !of->is_side)
		relay_send_refuse_trace(send, trace, "it was not recorded by side");
	else if (send->sink->ops->ctf1_only && (unsigned char)*text == 0x1e)
		relay_send_refuse_trace(send, trace,
				"a relay daemon accepts only CTF 1.8; record with `--format ctf1`");
	return 0;
}

static int send_text(struct send *send, struct follow_trace *trace, bool is_maps)
{
	uint64_t *sent = is_maps ? &trace->sent_maps : &trace->sent_metadata;
	uint64_t there = is_maps ? trace->maps_size : trace->metadata_size;
	size_t size;
	char *text;
	int ret;

	if (*sent >= there)
		return 0;
	ret = follow_text(trace, is_maps ? ".maps" : "metadata", *sent, &text, &size);
	if (ret || !size) {
		free(text);
		return ret == -ENOMEM ? ret : 0;
	}
	if (!is_maps && !*sent && !trace->examined) {
		ret = examine(send, trace, text);
		trace->examined = !ret;
	}
	if (!ret && !trace->refused)
		ret = send->sink->ops->text(send->sink, trace, is_maps, text, size);
	if (!ret && !trace->refused) {
		*sent += size;
		if (!is_maps)
			trace->sent_blocks += count_blocks(text, size);
	}
	free(text);
	return ret == -EAGAIN ? 0 : ret;
}

static int send_texts(struct send *send, struct follow_trace *trace)
{
	int ret = 0;

	if (trace->metadata_inode != trace->sent_inode)
		ret = relay_send_renew_metadata(send, trace);
	if (!trace->sent_metadata)
		trace->sent_blocks = 0;
	if (!ret)
		ret = relay_send_reserve_sequence(send,
				trace->metadata_size + trace->maps_size +
						4096 * (uint64_t)trace->nr_streams);
	if (!ret)
		ret = send_text(send, trace, false);
	return ret ? ret : send_text(send, trace, true);
}

/* ---- packets ---- */

static void damaged(struct send *send, struct follow_stream *stream)
{
	send->own.failed = true;
	relay_send_log(send, true,
			"cannot send the remainder of %s/%s: no complete packet at byte %llu",
			stream->trace->name, stream->name, (unsigned long long)stream->at.offset);
}

/* The size of the packet header: in the layout of recording.md, it shows whether it contains a
   CPU. */
static size_t header_size(const struct ctf_packet *packet)
{
	const size_t with_cpu = 84, without = 80;
	uint32_t cpu;

	if (packet->size < with_cpu)
		return without;
	memcpy(&cpu, packet->bytes + without, sizeof(cpu));
	return packet->size == with_cpu || cpu == packet->instance ? with_cpu : without;
}

/* True if the packet must wait. */
static bool relay_send_must_hold_packet(
		struct send *send, struct follow_stream *stream, const struct ctf_packet *packet)
{
	const struct sink_ops *ops = send->sink->ops;

	if (!ops->may_go || ops->may_go(send->sink, stream, packet)) {
		stream->held = 0;
		return false;
	}
	if (!stream->held)
		stream->held = clock_monotonic_ms();
	/* Without a handle the receiver does not know the stream. */
	return !stream->handle || clock_monotonic_ms() - stream->held < HOLD_MAX_MS;
}

/* Write the mark before the stream is announced: the receiver knows the stream by a number that a
   kill would lose. */
static int mark_stream(struct send *send, struct follow_stream *stream)
{
	int ret = follow_mark_stream(&send->follow, stream);

	relay_send_save_marks(send, ret);
	return ret;
}

/* 1: a packet was sent; 0: none, or not yet; or a negative errno. */
static int send_packet(struct send *send, struct follow_stream *stream)
{
	const struct sink_ops *ops = send->sink->ops;
	struct ctf_packet *packet = &send->packet;
	int ret = follow_peek(stream, packet);
	uint64_t events, discarded;

	if (ret == -EBADMSG) {
		damaged(send, stream);
		return 0;
	}
	if (ret <= 0)
		return ret;
	discarded = packet->discarded;
	if (!stream->header_size)
		stream->header_size = header_size(packet);
	if (relay_send_must_hold_packet(send, stream, packet))
		return 0;
	if (!stream->slot && mark_stream(send, stream))
		return 0;
	ret = relay_send_reserve_sequence(send, packet->size);
	if (ret)
		return ret;
	events = ops->counts ? follow_count(stream->trace, packet) : 0;
	if (stream->dropped_events)
		ctf_packet_set_discarded(packet, discarded + stream->dropped_events);
	send->in_packet = true;
	ret = ops->packet(send->sink, stream, packet, events);
	send->in_packet = false;
	if (ret)
		return ret;
	follow_pass(stream, packet, events);
	stream->last.discarded = discarded;
	ops->on_advanced(send->sink, stream);
	return 1;
}

static int relay_send_stream(struct send *send, struct follow_stream *stream, bool *ret_more)
{
	uint64_t begin = stream->at.offset;
	int ret;

	do {
		ret = is_stopped(send) ? -ECANCELED : send->stale ? 1 : send_packet(send, stream);
		if (ret > 0 && (send->stale || stream->at.offset - begin >= TURN_BYTES)) {
			*ret_more = true;
			return 0;
		}
	} while (ret > 0);
	return ret;
}

static bool relay_send_trace_is_delivered(const struct follow_trace *trace)
{
	for (const struct follow_stream *stream = trace->streams; stream; stream = stream->next)
		if (!stream->damaged && stream->delivered.offset < stream->there)
			return false;
	return true;
}

static int end_trace(struct send *send, struct follow_trace *trace)
{
	int ret = trace->removed || trace->refused ? 0
						   : send->sink->ops->end_trace(send->sink, trace);

	if (ret)
		return ret;
	trace->done = true;
	relay_send_save_marks(send, follow_mark_trace(&send->follow, trace));
	ctf_counter_free(trace->counter);
	trace->counter = NULL;
	return 0;
}

static bool has_mark(struct send *send, struct follow_trace *trace)
{
	int ret = trace->slot ? 0 : follow_mark_trace(&send->follow, trace);

	if (ret)
		relay_send_save_marks(send, ret);
	return !ret;
}

/* Announce the trace's new streams. *ret_met is set to true if there was one. */
static int meet(struct send *send, struct follow_trace *trace, bool *ret_met)
{
	const struct sink_ops *ops = send->sink->ops;
	int ret = send_texts(send, trace);

	for (struct follow_stream *stream = trace->streams;
			!ret && trace->examined && !trace->refused && stream;
			stream = stream->next) {
		if (stream->handle)
			continue;
		ret = follow_peek(stream, &send->packet);
		if (ret == -EBADMSG)
			damaged(send, stream);
		else if (ret > 0)
			*ret_met = true;
		ret = ret > 0 ? ops->meet(send->sink, stream) : ret == -EBADMSG ? 0 : ret;
	}
	/* Now that the trace is announced, its text can be sent. */
	return ret || trace->refused ? ret : send_texts(send, trace);
}

/* Announce all new streams before sending a packet that may be newer than their beginning. */
static int meet_all(struct send *send)
{
	bool met = false;
	int ret = 0;

	if (!send->sink->ops->meet)
		return 0;
	for (struct follow_trace *trace = send->follow.traces; !ret && trace; trace = trace->next)
		if (!trace->done && !trace->refused && !trace->removed && has_mark(send, trace))
			ret = meet(send, trace, &met);
	return ret || !met ? ret : send->sink->ops->remind(send->sink, &send->follow);
}

/* *ret_more: a packet is available that this turn did not send. */
static int send_turn(struct send *send, bool *ret_more)
{
	int ret = meet_all(send);

	for (struct follow_trace *trace = send->follow.traces; !ret && trace; trace = trace->next) {
		if (trace->done || trace->refused || !has_mark(send, trace))
			continue;
		if (!trace->removed)
			ret = send_texts(send, trace);
		for (struct follow_stream *stream = trace->streams;
				!ret && !trace->refused && stream; stream = stream->next)
			ret = relay_send_stream(send, stream, ret_more);
		if (!ret && trace->ended && relay_send_trace_is_delivered(trace))
			ret = end_trace(send, trace);
	}
	return ret;
}

/* ---- the spool ---- */

static struct follow_stream *oldest(
		struct send *send, const struct spool_entry *entry, uint64_t *begin)
{
	struct follow_stream *found = NULL;

	for (struct follow_trace *trace = send->follow.traces; trace; trace = trace->next) {
		if (trace->removed || trace->refused || trace->done ||
				!spool_has(&send->spool, entry, trace))
			continue;
		for (struct follow_stream *stream = trace->streams; stream; stream = stream->next) {
			/* An unacknowledged packet cannot be dropped. */
			if (stream->at.offset != stream->delivered.offset ||
					follow_peek(stream, &send->packet) <= 0)
				continue;
			if (found && send->packet.begin >= *begin)
				continue;
			*begin = send->packet.begin;
			found = stream;
		}
	}
	return found;
}

/* Report a drop, once for each entry and connection. */
static void relay_send_report_drop(struct send *send, struct spool_entry *entry)
{
	if (entry->is_reported)
		return;
	entry->is_reported = true;
	if (entry->is_used)
		relay_send_log(send, true,
				"the spool is full: dropping the oldest packets of programs of user %u until %s accepts data",
				(unsigned int)entry->uid, send->options.url);
	else
		relay_send_log(send, true,
				"the spool is full: dropping the oldest packets until %s accepts data",
				send->options.url);
}

static void drop_packet(struct send *send, struct spool_entry *entry, struct follow_stream *stream)
{
	struct ctf_packet *packet = &send->packet;
	struct marks_position mark = stream->at;
	uint64_t before = stream->at.offset, events;

	if (follow_peek(stream, packet) <= 0)
		return;
	/* The end of the trace reports it, even if nothing else of the stream is sent. */
	if (!stream->header_size)
		stream->header_size = header_size(packet);
	events = follow_count(stream->trace, packet);
	stream->dropped_events += events;
	stream->dropped_packets++;
	follow_pass(stream, packet, 0);
	stream->at.packets = mark.packets;
	stream->delivered = stream->at;
	/* The packet was counted as pending. The numbers of packets leave out the dropped ones. */
	if (stream->counted.offset > before)
		stream->counted.packets--;
	stream->dropped_bytes += stream->at.offset - before;
	spool_note(stream->trace, events, stream->at.offset - before, &send->own);
	relay_send_report_drop(send, entry);
}

/* Drop packets until the spool is within the limit. Never drops a packet of a user within its floor
   (spool.h). */
static void drop_until(struct send *send, uint64_t limit)
{
	struct follow_stream *stream;
	struct spool_entry *entry;
	uint64_t begin;
	uint32_t i;

	for (i = 0; i < SEND_SPOOL_USERS; i++)
		send->spool.entries[i].is_tried = false;
	while (spool_is_full(&send->spool, &send->follow, limit)) {
		entry = spool_choose(&send->spool, limit);
		if (!entry)
			return;
		stream = oldest(send, entry, &begin);
		if (stream)
			drop_packet(send, entry, stream);
		else
			entry->is_tried = true;
	}
}

/* Returns while a packet is being written, because send->packet contains it. */
static void keep_spool(struct send *send)
{
	uint64_t limit = send->options.spool;

	if (!limit || send->in_packet)
		return;
	if (follow_bytes(&send->follow) > limit)
		follow_free(&send->follow, limit);
	drop_until(send, limit);
	/* Write the marks first: after a kill, the next sender must not expect bytes that were
	   freed. */
	relay_send_save_marks(send, follow_mark(&send->follow));
	if (follow_bytes(&send->follow) > limit)
		follow_free(&send->follow, limit);
	relay_send_save_marks(send, follow_forget(&send->follow));
}

/* True if nothing was delivered for too long after the end. */
static bool relay_send_timeout_expired(const struct send *send)
{
	return send->over && send->options.timeout_ms &&
			clock_monotonic_ms() - send->progress > send->options.timeout_ms;
}

static uint64_t rounds(const struct send *send)
{
	/* Sequentially consistent: the writes of the earlier rounds are visible. Pairs with the
	   stores in count_round() and sender_finish(). */
	return __atomic_load_n(&send->options.rounds->begun, __ATOMIC_SEQ_CST);
}

/* Ticks before which every event will be in the files that are scanned now. */
static int64_t ticks(const struct send *send)
{
	/* Sequentially consistent: the time belongs to the rounds that were counted. Pairs with the
	   store in count_round(). */
	uint64_t at = __atomic_load_n(&send->options.rounds->ticks, __ATOMIC_SEQ_CST);

	return at < INT64_MAX ? (int64_t)at : 0;
}

/* Scan for new data, once the data of the last scan is settled. */
static int relay_send_scan(struct send *send, bool over)
{
	struct follow *follow = &send->follow;
	int ret;

	if (send->options.rounds && !over && follow_is_unsettled(follow)) {
		if (rounds(send) <= send->round)
			return 0;
		follow_settle(follow);
		send->settled = send->seen;
	}
	if (send->options.rounds)
		send->seen = ticks(send);
	ret = follow_scan(follow, over);
	if (!follow_is_unsettled(follow))
		send->settled = send->seen;
	if (over)
		follow_settle(follow);
	else if (send->options.rounds)
		send->round = rounds(send);
	if (!ret && !send->has_scanned)
		ret = follow_reconcile(follow);
	send->has_scanned = true;
	return ret;
}

/* Runs while the thread waits for a descriptor. */
static int tick(void *user)
{
	struct send *send = user;
	uint64_t limit = send->options.spool;

	if (relay_send_timeout_expired(send))
		return -ETIMEDOUT;
	if (!limit)
		return 0;
	send->stale = true;
	if (relay_send_scan(send, false) == -ENOMEM)
		return -ENOMEM;
	if (follow_pending(&send->follow) > limit &&
			clock_monotonic_ms() - send->progress > STALL_MS)
		return -ETIMEDOUT;
	return 0;
}

/* ---- connections ---- */

static void rewind_all(struct send *send)
{
	for (struct follow_trace *trace = send->follow.traces; trace; trace = trace->next) {
		trace->announced = false;
		trace->handle = 0;
		trace->identity = (struct identity){.is_own = false};
		trace->sent_metadata = trace->sent_maps = trace->sent_blocks = 0;
		for (struct follow_stream *stream = trace->streams; stream; stream = stream->next) {
			stream->at = stream->delivered;
			stream->handle = stream->sent = stream->beaten = stream->added = 0;
			stream->held = 0;
		}
	}
}

static void set_connected(struct send *send, bool connected)
{
	if (send->own.connected != connected || !send->own.since)
		send->own.since = (int64_t)clock_realtime_ns();
	send->own.connected = connected;
}

static void relay_send_disconnect(struct send *send, int why)
{
	send->sink->ops->close(send->sink);
	rewind_all(send);
	send->sink->before = 0;
	if (send->own.connected && why != -ECANCELED) {
		error_set(&send->away, why, NULL, "the connection to %s broke: %s",
				send->options.url, line_error(why));
		relay_send_log(send, false, "%s; side sends again what was not delivered",
				send->away.text);
		send->has_reported_absence = true;
	}
	set_connected(send, false);
	send->next_try = clock_monotonic_ms() + send->backoff_ms;
}

static int try_connect(struct send *send)
{
	int ret;

	send->sink->final_error = false;
	relay_send_publish_statistics(send);
	send->sink->delivered = send->own.packets > 0;
	note_connection(send);
	ret = relay_send_reserve_sequence(send, 0);
	if (ret)
		return ret;
	ret = send->sink->ops->open(send->sink, &send->away);
	if (!ret) {
		if (send->has_reported_absence)
			relay_send_log(send, false, "connected to %s", send->options.url);
		send->has_reported_absence = false;
		for (uint32_t i = 0; i < SEND_SPOOL_USERS; i++)
			send->spool.entries[i].is_reported = false;
		send->sink->connections++;
		set_connected(send, true);
		send->backoff_ms = BACKOFF_MIN_MS;
		send->progress = clock_monotonic_ms();
		return 0;
	}
	if (!send->has_reported_absence && ret != -ECANCELED && !send->sink->final_error)
		relay_send_log(send, false, "%s; side tries again", send->away.text);
	send->has_reported_absence = true;
	relay_send_disconnect(send, ret);
	send->backoff_ms = send->backoff_ms * 2 < BACKOFF_MAX_MS ? send->backoff_ms * 2
								 : BACKOFF_MAX_MS;
	return ret;
}

/* ---- the thread ---- */

static void relay_send_wait_for_data(struct send *send, bool more)
{
	struct pollfd polls[3] = {
			{.fd = send->wake_fd, .events = POLLIN},
			{.fd = send->follow.inotify, .events = POLLIN},
			{.fd = send->own.connected ? send->sink->watch_fd : -1, .events = POLLIN},
	};
	int64_t timeout = TICK_MS, left = (int64_t)(send->next_try - clock_monotonic_ms());
	uint64_t count;

	if (!send->own.connected) {
		/* Files may grow very often; the next try must not be earlier for that. */
		timeout = left < 0 ? 0 : left < TICK_MS ? left : TICK_MS;
		polls[1].fd = -1;
	}
	/* The watch would wake the thread at once, but the files may not be scanned yet. */
	if (send->follow.staged && follow_is_unsettled(&send->follow)) {
		timeout = timeout < SETTLE_MS ? timeout : SETTLE_MS;
		polls[1].fd = -1;
	}
	if (more)
		timeout = 0;
	if (poll(polls, 3, (int)timeout) > 0 && polls[0].revents)
		(void)!read(send->wake_fd, &count, sizeof(count));
}

static void relay_send_report_vanished(struct send *send)
{
	if (send->follow.vanished == send->reported_vanished)
		return;
	relay_send_log(send, true, "%llu bytes of %s were removed before they were delivered",
			(unsigned long long)(send->follow.vanished - send->reported_vanished),
			send->follow.gone ? send->follow.gone : "a trace");
	send->reported_vanished = send->follow.vanished;
	send->own.failed = true;
}

static bool all_done(const struct send *send)
{
	for (const struct follow_trace *trace = send->follow.traces; trace; trace = trace->next)
		if (!trace->done && !trace->refused)
			return false;
	return true;
}

static int beat(struct send *send, bool more)
{
	if (!send->sink->ops->beat || more || clock_monotonic_ms() < send->next_beat)
		return 0;
	send->next_beat = clock_monotonic_ms() + BEAT_MS;
	return send->sink->ops->beat(send->sink, &send->follow);
}

/* The time before which every event is in the files that were scanned at `scan_time`. */
static int64_t horizon(const struct send *send, bool over, int64_t scan_time)
{
	const struct sink *sink = send->sink;
	uint64_t limit = send->options.spool;

	/* At the end everything is in the files. If the spool is half full, send without waiting,
	   before packets must be dropped. */
	if (over || (limit && follow_pending(&send->follow) > limit / 2))
		return HORIZON_NONE;
	scan_time = sink->in_ticks ? send->settled : scan_time - HORIZON_NS;
	return scan_time > sink->before ? scan_time : sink->before;
}

/* One turn over an open connection. 1: everything is over; 0, or a negative errno. */
static int relay_send_serve(struct send *send, bool over, int64_t scan_time, bool *ret_more)
{
	int ret;

	send->sink->horizon = horizon(send, over, scan_time);
	ret = send_turn(send, ret_more);
	if (!ret)
		ret = send->sink->ops->flush(send->sink, &send->follow, over && !*ret_more);
	if (!ret && !over)
		ret = beat(send, *ret_more);
	send->sink->before = send->sink->horizon;
	if (ret || !over || *ret_more || !all_done(send))
		return ret;
	ret = send->sink->ops->end(send->sink, &send->follow);
	return ret ? ret : 1;
}

static bool relay_send_has_ended(struct send *send)
{
	/* Acquire: the files that were written before send_finish() are visible. Pairs with the
	   release in send_finish(). */
	if (__atomic_load_n(&send->finished, __ATOMIC_ACQUIRE))
		return true;
	return !send->options.live && follow_is_over(&send->follow);
}

static void relay_send_abort(struct send *send, int reason)
{
	char why[ERROR_TEXT_SIZE + 2] = "";

	send->own.failed = true;
	if (reason == -ENOMEM)
		snprintf(why, sizeof(why), ": out of memory");
	else if (*send->away.text && !send->own.connected)
		snprintf(why, sizeof(why), ": %s", send->away.text);
	relay_send_log(send, true, "%llu bytes were not delivered to %s%s",
			(unsigned long long)follow_pending(&send->follow), send->options.url, why);
}

/* 1: over; 0: continue; or a negative errno that ends the sender. */
static int relay_send_run_once(struct send *send, bool *ret_more)
{
	bool over = relay_send_has_ended(send);
	int64_t scan_time = (int64_t)clock_realtime_ns();
	int ret = relay_send_scan(send, over);

	if (ret)
		return ret;
	if (over && send->follow.error) {
		relay_send_log(send, true, "cannot read %s: %s", send->follow.dir,
				strerror(send->follow.error));
		send->own.failed = true;
	}
	if (over && !send->over)
		send->progress = clock_monotonic_ms();
	send->over = over;
	send->stale = *ret_more = false;
	relay_send_report_vanished(send);
	if (!send->own.connected && clock_monotonic_ms() >= send->next_try && try_connect(send) &&
			send->sink->final_error)
		return -EIO;
	if (send->own.connected) {
		ret = relay_send_serve(send, over, scan_time, ret_more);
		if (ret < 0 && ret != -ENOMEM) {
			relay_send_disconnect(send, ret);
			ret = 0;
		}
	}
	relay_send_save_marks(send, follow_mark(&send->follow));
	keep_spool(send);
	relay_send_publish_statistics(send);
	if (!ret && relay_send_timeout_expired(send))
		return -ETIMEDOUT;
	return ret;
}

static void *relay_send_run_thread(void *argument)
{
	struct send *send = argument;
	bool more = false;
	int ret = 0;

	while (!ret && !is_stopped(send)) {
		ret = relay_send_run_once(send, &more);
		if (!ret)
			relay_send_wait_for_data(send, more || (send->over && send->own.connected));
	}
	if (ret < 0 || (!ret && follow_pending(&send->follow)))
		relay_send_abort(send, ret);
	send->sink->ops->close(send->sink);
	close_marks(send);
	set_connected(send, false);
	send->own.over = true;
	relay_send_publish_statistics(send);
	return NULL;
}

/* ---- interface ---- */

/* The last component of the directory's name, with `_` for characters that a session name may not
   have. malloc'ed. */
static char *default_session(const char *dir)
{
	size_t size = strlen(dir);
	const char *begin;
	char *name;

	while (size && dir[size - 1] == '/')
		size--;
	begin = memrchr(dir, '/', size);
	begin = begin ? begin + 1 : dir;
	name = strndup(begin,
			(size_t)(dir + size - begin) < 200 ? (size_t)(dir + size - begin) : 200);
	for (char *at = name; at && *at; at++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-",
				    *at) ||
				(at == name && (*at == '.' || *at == '-')))
			*at = '_';
	if (name && !*name) {
		free(name);
		name = strdup("side");
	}
	return name;
}

static char *name_session(const struct send_options *options, const struct url *url)
{
	if (options->session && *options->session)
		return default_session(options->session);
	if (*url->session)
		return strdup(url->session);
	return default_session(options->fallback ? options->fallback : options->dir);
}

static void free_send(struct send *send)
{
	if (send->sink)
		send->sink->ops->free(send->sink);
	follow_close(&send->follow);
	ctf_packet_free(&send->packet);
	if (send->wake_fd >= 0)
		close(send->wake_fd);
	free((void *)(uintptr_t)send->options.dir);
	free((void *)(uintptr_t)send->options.url);
	free(send->session);
	pthread_cond_destroy(&send->changed);
	pthread_mutex_destroy(&send->lock);
	free(send);
}

static int make_parts(struct send *send, const struct send_options *options, const struct url *url)
{
	int ret;

	send->options.dir = strdup(options->dir);
	send->options.url = strdup(options->url);
	send->session = name_session(options, url);
	send->sink = url->kind == URL_RELAY ? relay_create() : bytes_create();
	if (!send->options.dir || !send->options.url || !send->session || !send->sink ||
			follow_open(options->dir, &send->follow))
		return -ENOMEM;
	send->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (send->wake_fd < 0)
		return -errno;
	send->sink->no_files = options->no_files;
	send->sink->in_ticks = send->follow.staged = options->rounds;
	ret = open_marks(send);
	if (ret)
		return ret;
	send->sink->url = *url;
	send->sink->session = send->session;
	send->sink->speed = options->speed;
	send->sink->timeout = (struct timeout){.stop_fd = -1,
			.stopped = &send->stopped,
			.resolver = options->resolver,
			.tick = tick,
			.user = send};
	return 0;
}

static int relay_send_spawn_thread(struct send *send)
{
	sigset_t all, before;
	int ret;

	/* The thread handles no signals: other threads do. A write to a pipe without a reader then
	   returns an errno. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&send->thread, NULL, relay_send_run_thread, send);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -ret;
}

int send_start(const struct send_options *options, struct send **ret_send, struct error *error)
{
	struct send *send;
	struct stat status;
	struct url url;
	int ret = url_parse(options->url, &url, error);

	if (ret)
		return ret;
	ret = stat(options->dir, &status) ? -errno : S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
	if (ret)
		return error_set(error, ret, NULL, "cannot read %.300s: %s", options->dir,
				strerror(-ret));
	send = calloc(1, sizeof(*send));
	if (!send)
		return error_set(error, -ENOMEM, NULL, "out of memory for a sender");
	send->options = *options;
	send->options.dir = send->options.url = NULL;
	send->options.session = send->options.fallback = NULL;
	send->wake_fd = -1;
	send->follow.inotify = -1;
	send->backoff_ms = BACKOFF_MIN_MS;
	send->progress = clock_monotonic_ms();
	pthread_mutex_init(&send->lock, NULL);
	pthread_cond_init(&send->changed, NULL);
	ret = make_parts(send, options, &url);
	if (!ret)
		ret = relay_send_spawn_thread(send);
	if (ret) {
		free_send(send);
		/* Only pthread_create() returns EAGAIN. */
		return error_set(error, ret, NULL,
				ret == -EAGAIN ? "cannot start a thread for the sender: %s"
					       : "cannot start a sender: %s",
				ret == -EBUSY ? "another sender is running there" : strerror(-ret));
	}
	*ret_send = send;
	return 0;
}

int send_resolver(const char *text, int *ret_socket)
{
	struct error error;
	struct url url;
	int ret = url_parse(text, &url, &error);

	*ret_socket = -1;
	if (ret || (url.kind != URL_TCP && url.kind != URL_RELAY))
		return ret;
	ret = resolver_start();
	if (ret < 0)
		return ret;
	*ret_socket = ret;
	return 0;
}

void send_status(struct send *send, struct send_status *ret_status)
{
	pthread_mutex_lock(&send->lock);
	*ret_status = send->status;
	pthread_mutex_unlock(&send->lock);
}

static void wake(struct send *send)
{
	const uint64_t one = 1;

	(void)!write(send->wake_fd, &one, sizeof(one));
}

void send_finish(struct send *send)
{
	/* Release: publishes the files that were written before. Pairs with the acquire in
	   relay_send_has_ended(). */
	__atomic_store_n(&send->finished, true, __ATOMIC_RELEASE);
	wake(send);
}

bool send_wait(struct send *send, int timeout_ms)
{
	struct timespec until;
	bool over;

	until = deadline_timespec(deadline_after_ms(timeout_ms));
	pthread_mutex_lock(&send->lock);
	while (!send->status.over) {
		if (timeout_ms < 0)
			pthread_cond_wait(&send->changed, &send->lock);
		else if (pthread_cond_clockwait(
					 &send->changed, &send->lock, CLOCK_MONOTONIC, &until))
			break;
	}
	over = send->status.over;
	pthread_mutex_unlock(&send->lock);
	return over;
}

void send_stop(struct send *send, struct send_status *ret_status)
{
	if (!send)
		return;
	/* Release: publishes what the caller did before. Pairs with the acquire in is_stopped(). */
	__atomic_store_n(&send->stopped, true, __ATOMIC_RELEASE);
	wake(send);
	pthread_join(send->thread, NULL);
	if (ret_status)
		*ret_status = send->status;
	free_send(send);
}
