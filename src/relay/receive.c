/* SPDX-License-Identifier: MIT */
/*
 * Writes the traces that arrive in a stream of frames.
 *
 * The receiver trusts nothing that it reads. A frame counts if its CRCs are right. Memory grows
 * with what has arrived, never with an announced size. Names must be paths below the output. Gaps
 * in the numbers of frames, packets and events count as losses. A packet is written completely or
 * not at all. Losses are added to the counter of discarded events of the next packet, so that every
 * reader of the trace shows where they were.
 *
 * A receiver that joins late writes a part of a trace. If an earlier receiver acknowledged the
 * beginning, the beginning is counted as received earlier, not as lost. The part has a UUID of its
 * own (identity.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "ctf/ctf.h"
#include "relay/frame.h"
#include "relay/identity.h"
#include "relay/receive.h"

#define SESSIONS_MAX 64
#define TRACES_MAX 100000
#define STREAMS_MAX 65536
#define SLOTS_MAX (4u << 20) /* Traces and streams of all senders. */
#define PACKET_MAX (1u << 30)
#define NAME_TRIES 1000
#define HEADER_MIN 80
#define HEADER_MAX 84
#define METADATA "metadata"
#define METADATA_NEW ".metadata.new"
#define MAPS ".maps"

struct relay_stream {
	char *name;
	uint64_t expected; /* Number of the next packet. */
	uint64_t packets;
	uint64_t events;
	uint64_t lost_packets;
	uint64_t lost_events;
	uint64_t dropped_events;
	uint64_t earlier_packets; /* Acknowledged by a receiver before this one. */
	uint64_t earlier_events;
	uint64_t discarded; /* Counter of the last packet that was written. */
	uint64_t sequence;
	uint64_t end; /* In ticks. */
	off_t size;
	bool begun; /* The file has its first packet. */
	bool met;   /* The sender has reported how many packets there were before. */
};

struct trace {
	char *directory; /* Below the output; NULL: not created yet. */
	bool refused;    /* Its name is invalid, or the directory cannot be created. */
	uint32_t generation;
	uint64_t metadata; /* Bytes of the metadata that were written. */
	uint32_t staged_generation;
	uint64_t staged; /* Bytes of the next generation, in METADATA_NEW. */
	uint32_t newest;
	uint64_t wanted; /* Announced size of the newest generation. */
	uint64_t maps;
	struct identity identity;
	struct relay_stream **streams;
	uint32_t nr_streams;
};

/* The packet whose pieces are arriving. */
struct packet_assembly {
	unsigned char *bytes;
	size_t capacity;
	size_t size;
	bool open;
	struct frame_packet head;
};

struct relay_session {
	struct relay_session *next;
	uint64_t id;
	uint64_t next_sequence;
	uint64_t frames;
	uint64_t lost_frames;
	uint64_t repeated_frames;
	bool ended;
	bool is_late;   /* This receiver did not get the beginning. */
	bool is_joined; /* An earlier receiver has acknowledged the beginning. */
	uint64_t total_frames;
	uint64_t total_packets;
	uint64_t total_events;
	struct trace **traces;
	uint32_t nr_traces;
	struct packet_assembly assembly;
};

struct receive {
	char *output;
	send_report_fn *log_message;
	void *user;
	struct relay_session *sessions;
	uint32_t nr_sessions;
	uint32_t slots;
	uint64_t garbage;
	bool failed;
	bool is_out_of_memory; /* discard what arrives from now on */
	bool has_reported_full;
	struct frame_packet packet; /* Of the current frame: too large for the stack. */
	struct frame_file file;
	char text[8192];
};

struct receive_source {
	struct receive *receive;
	unsigned char *bytes;
	size_t capacity;
	size_t size;
	uint64_t session; /* Session of the last frame. */
	uint64_t answered;
	bool heard;   /* A frame of a session has arrived. */
	bool answer;  /* An acknowledgement is due. */
	bool fresh;   /* No frame has arrived yet. */
	bool answers; /* The sender reads acknowledgements. */
};

static void relay_receive_log(const struct receive *receive, const char *format, ...)
		__attribute__((format(printf, 2, 3)));

static void relay_receive_log(const struct receive *receive, const char *format, ...)
{
	char text[1024];
	va_list list;

	if (!receive->log_message)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	receive->log_message(receive->user, true, text);
}

static void relay_receive_set_error(struct receive *receive, const char *path, int code)
{
	if (!receive->failed)
		relay_receive_log(receive, "cannot write to %s: %s", path, strerror(-code));
	receive->failed = true;
}

/* ---- sessions, traces, streams ---- */

static bool take_slots(struct receive *receive, uint32_t count)
{
	if (count > SLOTS_MAX - receive->slots) {
		if (!receive->has_reported_full)
			relay_receive_log(receive,
					"too many traces and streams: further ones are lost");
		receive->has_reported_full = receive->failed = true;
		return false;
	}
	receive->slots += count;
	return true;
}

static struct relay_session *relay_receive_find_session(struct receive *receive, uint64_t id)
{
	struct relay_session *session;

	for (session = receive->sessions; session; session = session->next)
		if (session->id == id)
			return session;
	if (receive->nr_sessions >= SESSIONS_MAX) {
		take_slots(receive, UINT32_MAX);
		return NULL;
	}
	session = calloc(1, sizeof(*session));
	if (!session) {
		receive->is_out_of_memory = true;
		return NULL;
	}
	session->id = id;
	session->next = receive->sessions;
	receive->sessions = session;
	receive->nr_sessions++;
	return session;
}

/* An element of an array of pointers, which grows to the indexes that are used. NULL: index too
   high, or out of memory. */
static void *slot(struct receive *receive, void *array, uint32_t *count, uint32_t index,
		uint32_t max, size_t size)
{
	void **items = *(void ***)array;

	if (index >= max)
		return NULL;
	if (index >= *count) {
		uint32_t wanted = index + 1 > *count * 2 ? index + 1 : *count * 2;

		wanted = wanted > max ? max : wanted;
		if (!take_slots(receive, wanted - *count))
			return NULL;
		items = realloc(items, wanted * sizeof(*items));
		if (!items) {
			receive->is_out_of_memory = true;
			return NULL;
		}
		memset(items + *count, 0, (wanted - *count) * sizeof(*items));
		*(void ***)array = items;
		*count = wanted;
	}
	if (!items[index])
		items[index] = calloc(1, size);
	receive->is_out_of_memory |= !items[index];
	return items[index];
}

/* ---- names ---- */

/* One component of a path: not hidden, and without characters that a terminal or a shell
   interprets. */
static bool is_component(const char *name, size_t size)
{
	if (!size || size > 200 || *name == '.' || *name == '-')
		return false;
	for (size_t i = 0; i < size; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-@=,"
			    ":",
				    name[i]))
			return false;
	return true;
}

static bool relay_receive_is_path(const char *name)
{
	unsigned int depth = 0;

	for (;;) {
		size_t size = strcspn(name, "/");

		if (!is_component(name, size) || ++depth > 16)
			return false;
		if (!name[size])
			return true;
		name += size + 1;
	}
}

/* Create the directories above it, and a new directory of its own: under another name if that one
   exists. */
static int relay_receive_make_directory(struct receive *receive, const char *name,
		char **ret_directory, bool *ret_is_renamed)
{
	char *path = receive->text;
	size_t capacity = sizeof(receive->text), base = strlen(receive->output) + 1, size;

	size = (size_t)snprintf(path, capacity, "%s/%s", receive->output, name);
	if (size >= capacity - 16)
		return -ENAMETOOLONG;
	for (char *at = path + base; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, CTF_DIRECTORY_MODE) && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	for (unsigned int try = 1; try < NAME_TRIES; try++) {
		if (try > 1)
			snprintf(path + size, capacity - size, "-%u", try);
		if (!mkdir(path, CTF_DIRECTORY_MODE)) {
			*ret_is_renamed = try > 1;
			*ret_directory = strdup(path + base);
			return *ret_directory ? 0 : -ENOMEM;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static bool prepare_trace(struct receive *receive, const struct relay_session *session,
		struct trace *trace, const char *name)
{
	bool is_renamed = false;
	int ret;

	if (trace->directory || trace->refused)
		return !trace->refused;
	ret = relay_receive_is_path(name) ? relay_receive_make_directory(receive, name,
							    &trace->directory, &is_renamed)
					  : -EINVAL;
	/* A trace of this name and UUID may exist already. */
	trace->identity.is_own = is_renamed || session->is_late;
	if (!ret)
		return true;
	if (ret == -ENOMEM) {
		receive->is_out_of_memory = true;
		return false;
	}
	trace->refused = true;
	if (ret == -EINVAL) {
		relay_receive_log(receive,
				"a trace is ignored: its name is not a path below the output");
		receive->failed = true;
	} else {
		relay_receive_set_error(receive, receive->text, ret);
	}
	return false;
}

static int relay_receive_open_file(
		struct receive *receive, const struct trace *trace, const char *name, int flags)
{
	int fd;

	if ((size_t)snprintf(receive->text, sizeof(receive->text), "%s/%s/%s", receive->output,
			    trace->directory, name) >= sizeof(receive->text))
		return -ENAMETOOLONG;
	fd = open(receive->text, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0644);
	return fd < 0 ? -errno : fd;
}

/* Write all bytes at `at`; if that fails, cut the file there. */
static int relay_receive_append(struct receive *receive, const struct trace *trace,
		const char *name, int flags, const void *bytes, size_t size, uint64_t at)
{
	int fd = relay_receive_open_file(receive, trace, name, flags), ret;

	if (fd < 0) {
		relay_receive_set_error(receive, receive->text, fd);
		return fd;
	}
	ret = io_write_all_at(fd, bytes, size, at);
	if (ret) {
		(void)!ftruncate(fd, (off_t)at);
		relay_receive_set_error(receive, receive->text, ret);
	}
	close(fd);
	return ret;
}

/* ---- metadata ---- */

/* Write new metadata to a second file, which replaces the old one when it is complete. */
static void take_new_metadata(
		struct receive *receive, struct trace *trace, const struct frame_file *file)
{
	char from[4096], to[4096];

	if (file->generation != trace->staged_generation || !file->offset) {
		if (file->offset)
			return; /* Its beginning is missing; the sender will repeat it. */
		trace->staged_generation = file->generation;
		trace->staged = 0;
	}
	if (file->offset > trace->staged || file->offset + file->size <= trace->staged)
		return;
	if (relay_receive_append(receive, trace, METADATA_NEW, file->offset ? 0 : O_TRUNC,
			    file->bytes, file->size, file->offset))
		return;
	trace->staged = file->offset + file->size;
	if (trace->staged < file->total)
		return;
	if ((size_t)snprintf(from, sizeof(from), "%s/%s/" METADATA_NEW, receive->output,
			    trace->directory) >= sizeof(from) ||
			(size_t)snprintf(to, sizeof(to), "%s/%s/" METADATA, receive->output,
					trace->directory) >= sizeof(to))
		return;
	if (rename(from, to)) {
		relay_receive_set_error(receive, to, -errno);
		return;
	}
	trace->generation = file->generation;
	trace->metadata = trace->staged;
}

static void take_metadata(
		struct receive *receive, struct trace *trace, const struct frame_file *file)
{
	uint64_t known = trace->metadata;
	size_t skip;

	if (file->generation < trace->newest)
		return;
	if (file->generation > trace->newest || file->total > trace->wanted)
		trace->wanted = file->total;
	trace->newest = file->generation;
	if (file->generation != trace->generation) {
		take_new_metadata(receive, trace, file);
		return;
	}
	if (file->offset > known || file->offset + file->size <= known)
		return;
	skip = (size_t)(known - file->offset);
	if (!relay_receive_append(receive, trace, METADATA, 0, file->bytes + skip,
			    file->size - skip, known))
		trace->metadata = file->offset + file->size;
}

static void relay_receive_write_maps(
		struct receive *receive, struct trace *trace, const struct frame_file *file)
{
	size_t skip;

	if (file->offset > trace->maps || file->offset + file->size <= trace->maps)
		return;
	skip = (size_t)(trace->maps - file->offset);
	if (!relay_receive_append(receive, trace, MAPS, 0, file->bytes + skip, file->size - skip,
			    trace->maps))
		trace->maps = file->offset + file->size;
}

static void take_file(struct receive *receive, struct relay_session *session,
		const struct relay_frame *frame)
{
	struct frame_file *file = &receive->file;
	struct trace *trace;

	if (framing_get_file(frame, file) || file->total > PACKET_MAX || !file->generation ||
			file->offset > file->total || file->size > file->total - file->offset)
		return;
	trace = slot(receive, &session->traces, &session->nr_traces, file->trace, TRACES_MAX,
			sizeof(*trace));
	if (!trace || !prepare_trace(receive, session, trace, file->name))
		return;
	/* The source owns the frame's bytes and does not use them again. */
	if (file->kind == FRAME_METADATA && !file->offset)
		identity_replace_in_metadata(&trace->identity,
				(unsigned char *)(uintptr_t)file->bytes, file->size);
	if (file->kind == FRAME_METADATA)
		take_metadata(receive, trace, file);
	else if (file->kind == FRAME_MAPS)
		relay_receive_write_maps(receive, trace, file);
}

/* ---- packets ---- */

static int relay_receive_write_packet(struct receive *receive, const struct trace *trace,
		struct relay_stream *stream, const struct ctf_packet *packet)
{
	int ret = relay_receive_append(receive, trace, stream->name, 0, packet->bytes, packet->size,
			(uint64_t)stream->size);

	if (ret)
		return ret;
	stream->begun = true;
	stream->size += (off_t)packet->size;
	stream->discarded = packet->discarded;
	stream->sequence = packet->sequence;
	stream->end = packet->end;
	return 0;
}

/* Write an empty first packet. Readers start the count of discarded events at the counter of the
   first packet. */
static int begin_stream(struct receive *receive, const struct trace *trace,
		struct relay_stream *stream, const struct ctf_packet *like, size_t header_size)
{
	unsigned char bytes[HEADER_MAX];
	struct ctf_packet first = *like;

	/* Packets that an earlier receiver has are not a gap. */
	if (stream->begun || (stream->earlier_packets && !like->discarded && !stream->lost_events))
		return 0;
	first.bytes = bytes;
	first.end = first.begin;
	first.sequence = stream->earlier_packets && first.sequence ? first.sequence - 1 : 0;
	first.discarded = 0;
	ctf_packet_make_empty(&first, header_size);
	return relay_receive_write_packet(receive, trace, stream, &first);
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

/* Count the loss up to the packet `number`, which has `events` events before it. */
static void note_gap(const struct relay_session *session, struct relay_stream *stream,
		uint64_t number, uint64_t events, uint64_t dropped)
{
	if (session->is_joined && !stream->met) {
		stream->expected = stream->earlier_packets = number;
		stream->earlier_events = events;
	}
	stream->met = true;
	stream->lost_packets += less(number, stream->expected);
	stream->lost_events +=
			less(events, stream->events + stream->lost_events + stream->earlier_events);
	if (dropped > stream->dropped_events)
		stream->dropped_events = dropped;
	if (number > stream->expected)
		stream->expected = number;
}

static struct relay_stream *relay_receive_find_stream(
		struct receive *receive, struct trace *trace, uint32_t number, const char *name)
{
	struct relay_stream *stream = slot(receive, &trace->streams, &trace->nr_streams, number,
			STREAMS_MAX, sizeof(*stream));

	if (!stream || stream->name)
		return stream;
	if (strchr(name, '/') || !relay_receive_is_path(name) || !strcmp(name, METADATA))
		return NULL;
	for (uint32_t i = 0; i < trace->nr_streams; i++)
		if (trace->streams[i] && trace->streams[i]->name &&
				!strcmp(trace->streams[i]->name, name))
			return NULL;
	stream->name = strdup(name);
	receive->is_out_of_memory |= !stream->name;
	return stream->name ? stream : NULL;
}

static void finish_packet(struct receive *receive, struct relay_session *session)
{
	struct packet_assembly *assembly = &session->assembly;
	const struct frame_packet *head = &assembly->head;
	struct ctf_packet packet = {.bytes = assembly->bytes, .size = assembly->size};
	struct trace *trace;
	struct relay_stream *stream;

	assembly->open = false;
	trace = slot(receive, &session->traces, &session->nr_traces, head->trace, TRACES_MAX,
			sizeof(*trace));
	if (!trace || !prepare_trace(receive, session, trace, head->trace_name))
		return;
	stream = relay_receive_find_stream(receive, trace, head->stream, head->stream_name);
	if (!stream || head->number < stream->expected || ctf_packet_parse(&packet))
		return;
	note_gap(session, stream, head->number, head->events_before, head->dropped_before);
	identity_replace(&trace->identity, packet.uuid);
	ctf_packet_set_uuid(&packet, packet.uuid);
	if ((head->number || head->dropped_before) &&
			begin_stream(receive, trace, stream, &packet, head->header_size))
		return;
	if (stream->lost_events)
		ctf_packet_set_discarded(&packet, packet.discarded + stream->lost_events);
	/* A packet that cannot be written counts as lost. */
	if (relay_receive_write_packet(receive, trace, stream, &packet))
		return;
	stream->expected = head->number + 1;
	stream->packets++;
	stream->events += head->events;
}

static int assembly_add(struct packet_assembly *assembly, const struct frame_packet *packet)
{
	size_t wanted = assembly->size + packet->size;

	if (wanted > assembly->capacity) {
		size_t capacity = wanted * 2 < packet->total ? wanted * 2 : (size_t)packet->total;
		unsigned char *grown = realloc(assembly->bytes, capacity);

		if (!grown)
			return -ENOMEM;
		assembly->bytes = grown;
		assembly->capacity = capacity;
	}
	memcpy(assembly->bytes + assembly->size, packet->bytes, packet->size);
	assembly->size = wanted;
	return 0;
}

static bool goes_on(const struct packet_assembly *assembly, const struct frame_packet *packet)
{
	const struct frame_packet *head = &assembly->head;

	return assembly->open && head->trace == packet->trace && head->stream == packet->stream &&
			head->number == packet->number && head->total == packet->total &&
			assembly->size == packet->offset;
}

static void take_packet(struct receive *receive, struct relay_session *session,
		const struct relay_frame *frame)
{
	struct frame_packet *packet = &receive->packet;
	struct packet_assembly *assembly = &session->assembly;

	if (framing_get_packet(frame, packet) || packet->total > PACKET_MAX || !packet->size ||
			packet->offset > packet->total ||
			packet->size > packet->total - packet->offset ||
			(packet->header_size != HEADER_MIN && packet->header_size != HEADER_MAX)) {
		assembly->open = false;
		return;
	}
	if (!packet->offset) {
		assembly->open = true;
		assembly->size = 0;
		assembly->head = *packet;
	} else if (!goes_on(assembly, packet)) {
		assembly->open = false;
		return;
	}
	if (assembly_add(assembly, packet))
		receive->is_out_of_memory = true;
	else if (assembly->size == packet->total)
		finish_packet(receive, session);
}

/* ---- ends ---- */

static void end_stream(struct receive *receive, const struct relay_session *session,
		struct trace *trace, struct frame_reader *reader)
{
	uint32_t number = framing_get_u32(reader);
	unsigned char bytes[HEADER_MAX];
	struct ctf_packet packet = {.bytes = bytes, .capacity = sizeof(bytes)};
	uint64_t packets, events, dropped;
	const unsigned char *uuid;
	struct relay_stream *stream;
	char name[256];
	uint8_t header_size;

	framing_get_name(reader, name, sizeof(name));
	packets = framing_get_u64(reader);
	events = framing_get_u64(reader);
	dropped = framing_get_u64(reader);
	packet.class_id = framing_get_u32(reader);
	packet.instance = framing_get_u64(reader);
	packet.begin = framing_get_u64(reader);
	packet.end = framing_get_u64(reader);
	packet.discarded = framing_get_u64(reader);
	uuid = framing_get(reader, sizeof(packet.uuid));
	header_size = framing_get_u8(reader);
	if (reader->bad || (header_size != HEADER_MIN && header_size != HEADER_MAX))
		return;
	memcpy(packet.uuid, uuid, sizeof(packet.uuid));
	identity_replace(&trace->identity, packet.uuid);
	stream = relay_receive_find_stream(receive, trace, number, name);
	if (!stream)
		return;
	note_gap(session, stream, packets, events, dropped);
	/* An earlier receiver has the complete stream. */
	if (stream->earlier_packets && !stream->begun && !stream->lost_packets)
		return;
	packet.discarded += stream->lost_events;
	if (packet.discarded <= stream->discarded && stream->begun)
		return;
	if (begin_stream(receive, trace, stream, &packet, header_size))
		return;
	packet.begin = packet.end = packet.end > stream->end ? packet.end : stream->end;
	packet.sequence = stream->sequence + 1;
	ctf_packet_make_empty(&packet, header_size);
	relay_receive_write_packet(receive, trace, stream, &packet);
}

static void take_trace_end(struct receive *receive, struct relay_session *session,
		const struct relay_frame *frame)
{
	struct frame_reader reader = {frame->payload, frame->payload + frame->size, false};
	uint32_t number = framing_get_u32(&reader);
	struct trace *trace;

	session->assembly.open = false;
	framing_get_name(&reader, receive->packet.trace_name, sizeof(receive->packet.trace_name));
	trace = reader.bad ? NULL
			   : slot(receive, &session->traces, &session->nr_traces, number,
					     TRACES_MAX, sizeof(*trace));
	if (!trace || !prepare_trace(receive, session, trace, receive->packet.trace_name))
		return;
	while (!reader.bad && reader.at < reader.end)
		end_stream(receive, session, trace, &reader);
}

static void take_end(struct relay_session *session, const struct relay_frame *frame)
{
	struct frame_reader reader = {frame->payload, frame->payload + frame->size, false};
	uint64_t frames = framing_get_u64(&reader);

	if (reader.bad)
		return;
	session->ended = true;
	session->total_frames = frames;
	session->total_packets = framing_get_u64(&reader);
	session->total_events = framing_get_u64(&reader);
}

/* ---- frames ---- */

static uint32_t hello_flags(const struct relay_frame *frame)
{
	struct frame_reader reader = {frame->payload, frame->payload + frame->size, false};
	uint32_t flags;

	if (frame->type != FRAME_HELLO)
		return 0;
	framing_get_u32(&reader);
	flags = framing_get_u32(&reader);
	return reader.bad ? 0 : flags;
}

/* The first frame of a session shows whether this receiver got the beginning. */
static void meet_session(
		struct relay_session *session, const struct relay_frame *frame, bool answers)
{
	uint32_t flags = hello_flags(frame);

	if (session->frames)
		return;
	if (flags & FRAME_HELLO_RESUMED) /* Otherwise the sender sends everything again. */
		session->is_late = flags & FRAME_HELLO_ACKNOWLEDGED;
	else
		session->is_late = frame->sequence != 0;
	session->is_joined = answers && session->is_late && flags & FRAME_HELLO_RESUMED;
}

static void relay_receive_handle_frame(
		struct receive_source *source, const struct relay_frame *frame)
{
	struct receive *receive = source->receive;
	struct relay_session *session;

	if (frame->type == FRAME_ACK) /* An acknowledgement by another receiver. */
		return;
	session = relay_receive_find_session(receive, frame->session);
	if (!session)
		return;
	source->answer = true;
	source->heard = true;
	source->session = frame->session;
	if (frame->sequence < session->next_sequence) {
		session->repeated_frames++;
		return;
	}
	meet_session(session, frame, source->answers);
	/* Frames of an earlier connection went to this receiver or to another one; the numbers of
	   packets show which. */
	if (!(hello_flags(frame) & FRAME_HELLO_RESUMED))
		session->lost_frames += frame->sequence - session->next_sequence;
	session->next_sequence = frame->sequence + 1;
	session->frames++;
	switch (frame->type) {
	case FRAME_FILE: take_file(receive, session, frame); break;
	case FRAME_PACKET: take_packet(receive, session, frame); break;
	case FRAME_TRACE_END: take_trace_end(receive, session, frame); break;
	case FRAME_END: take_end(session, frame); break;
	}
}

static int relay_receive_process_frames(struct receive_source *source)
{
	enum frame_found found;
	struct relay_frame frame;
	size_t at = 0, used;

	while (!source->receive->is_out_of_memory &&
			(found = framing_find(source->bytes + at, source->size - at, &used,
					 &frame)) != FRAME_MORE) {
		if (found == FRAME_WHOLE)
			relay_receive_handle_frame(source, &frame);
		else
			source->receive->garbage += used;
		at += used;
	}
	memmove(source->bytes, source->bytes + at, source->size - at);
	source->size -= at;
	/* A packet that is discarded for lack of memory is not lost: the sender gets no
	   acknowledgement of it, and sends it again. */
	return source->receive->is_out_of_memory ? -ENOMEM : 0;
}

/* ---- for others ---- */

int receive_create(const struct receive_options *options, struct receive **ret_receive)
{
	struct receive *receive = calloc(1, sizeof(*receive));

	if (receive)
		receive->output = strdup(options->output);
	if (!receive || !receive->output) {
		free(receive);
		return -ENOMEM;
	}
	receive->log_message = options->log_message;
	receive->user = options->user;
	*ret_receive = receive;
	return 0;
}

static void relay_receive_free_trace(struct trace *trace)
{
	for (uint32_t i = 0; i < trace->nr_streams; i++) {
		if (trace->streams[i])
			free(trace->streams[i]->name);
		free(trace->streams[i]);
	}
	free(trace->streams);
	free(trace->directory);
	free(trace);
}

void receive_destroy(struct receive *receive)
{
	if (!receive)
		return;
	while (receive->sessions) {
		struct relay_session *session = receive->sessions;

		receive->sessions = session->next;
		for (uint32_t i = 0; i < session->nr_traces; i++)
			if (session->traces[i])
				relay_receive_free_trace(session->traces[i]);
		free(session->traces);
		free(session->assembly.bytes);
		free(session);
	}
	free(receive->output);
	free(receive);
}

struct receive_source *receive_source_open(struct receive *receive, bool answers)
{
	struct receive_source *source = calloc(1, sizeof(*source));

	if (!source)
		return NULL;
	source->receive = receive;
	source->answers = answers;
	source->capacity = FRAME_HEAD + FRAME_PAYLOAD_MAX + FRAME_TAIL;
	source->bytes = malloc(source->capacity);
	if (!source->bytes) {
		free(source);
		return NULL;
	}
	return source;
}

void receive_source_close(struct receive_source *source)
{
	/* An incomplete frame may contain complete ones behind its head. */
	while (source->size) {
		source->receive->garbage++;
		source->size--;
		memmove(source->bytes, source->bytes + 1, source->size);
		if (relay_receive_process_frames(source))
			break;
	}
	free(source->bytes);
	free(source);
}

bool receive_source_is_known(const struct receive_source *source)
{
	return source->heard;
}

int receive_bytes(struct receive_source *source, const void *bytes, size_t size)
{
	const unsigned char *from = bytes;

	while (size) {
		size_t piece = source->capacity - source->size;
		int ret;

		piece = piece < size ? piece : size;
		memcpy(source->bytes + source->size, from, piece);
		source->size += piece;
		from += piece;
		size -= piece;
		ret = relay_receive_process_frames(source);
		if (ret)
			return ret;
	}
	return 0;
}

size_t receive_answer(struct receive_source *source, unsigned char answer[RECEIVE_ANSWER_MAX])
{
	struct frame_writer writer = {answer + FRAME_HEAD, answer + RECEIVE_ANSWER_MAX, false};
	struct relay_session *session;

	if (!source->answer)
		return 0;
	session = relay_receive_find_session(source->receive, source->session);
	source->answer = false;
	if (!session)
		return 0;
	framing_put_u64(&writer, session->next_sequence);
	framing_put_u32(&writer, framing_crc(0, answer + FRAME_HEAD, 8));
	framing_head(answer, FRAME_ACK, session->id, session->next_sequence, 8);
	return (size_t)(writer.at - answer);
}

bool receive_is_over(const struct receive *receive)
{
	for (const struct relay_session *session = receive->sessions; session;
			session = session->next)
		if (!session->ended)
			return false;
	return receive->sessions != NULL;
}

/* Count the losses of traces of which nothing was received. */
static void sum_unplaced(const struct relay_session *session, struct receive_summary *summary)
{
	uint64_t packets = 0, events = 0;

	for (uint32_t i = 0; i < session->nr_traces; i++) {
		const struct trace *trace = session->traces[i];

		for (uint32_t j = 0; trace && j < trace->nr_streams; j++) {
			const struct relay_stream *stream = trace->streams[j];

			packets += stream ? stream->packets + stream->lost_packets +
							stream->earlier_packets
					  : 0;
			events += stream ? stream->events + stream->lost_events +
							stream->earlier_events
					 : 0;
		}
	}
	/* Traces that ended before this receiver began were acknowledged as well. */
	if (session->is_joined) {
		summary->earlier_packets += less(session->total_packets, packets);
		summary->earlier_events += less(session->total_events, events);
		return;
	}
	summary->lost_packets += less(session->total_packets, packets);
	summary->lost_events += less(session->total_events, events);
	summary->unplaced_events += less(session->total_events, events);
}

static void sum_trace(const struct trace *trace, struct receive_summary *summary)
{
	if (!trace->directory)
		return;
	summary->traces++;
	summary->incomplete += !trace->metadata || trace->generation != trace->newest ||
			trace->metadata < trace->wanted;
	for (uint32_t i = 0; i < trace->nr_streams; i++) {
		const struct relay_stream *stream = trace->streams[i];

		if (!stream)
			continue;
		summary->packets += stream->packets;
		summary->lost_packets += stream->lost_packets;
		summary->events += stream->events;
		summary->lost_events += stream->lost_events;
		summary->earlier_packets += stream->earlier_packets;
		summary->earlier_events += stream->earlier_events;
		summary->dropped_events += stream->dropped_events;
	}
}

/* Remove new metadata that will not be completed. */
static void remove_rests(struct receive *receive, const struct trace *trace)
{
	if (trace->directory && trace->staged_generation != trace->generation &&
			(size_t)snprintf(receive->text, sizeof(receive->text),
					"%s/%s/" METADATA_NEW, receive->output,
					trace->directory) < sizeof(receive->text))
		unlink(receive->text);
}

void receive_finish(struct receive *receive, struct receive_summary *ret_summary)
{
	*ret_summary = (struct receive_summary){
			.sessions = receive->nr_sessions, .garbage = receive->garbage};
	for (struct relay_session *session = receive->sessions; session; session = session->next) {
		ret_summary->unended += !session->ended;
		ret_summary->frames += session->frames;
		ret_summary->repeated_frames += session->repeated_frames;
		ret_summary->lost_frames += session->lost_frames;
		if (session->ended)
			ret_summary->lost_frames +=
					less(session->total_frames, session->next_sequence);
		if (session->ended)
			sum_unplaced(session, ret_summary);
		for (uint32_t i = 0; i < session->nr_traces; i++) {
			if (!session->traces[i])
				continue;
			remove_rests(receive, session->traces[i]);
			sum_trace(session->traces[i], ret_summary);
		}
	}
	ret_summary->failed = receive->failed;
	ret_summary->out_of_memory = receive->is_out_of_memory;
}

static void trace_losses(const struct trace *trace, receive_loss *loss, void *user)
{
	for (uint32_t i = 0; i < trace->nr_streams; i++) {
		const struct relay_stream *stream = trace->streams[i];

		if (stream &&
				(stream->lost_packets || stream->lost_events ||
						stream->dropped_events))
			loss(user, trace->directory, stream->name, stream->lost_packets,
					stream->lost_events, stream->dropped_events);
	}
}

void receive_each_loss(const struct receive *receive, receive_loss *loss, void *user)
{
	for (const struct relay_session *session = receive->sessions; session;
			session = session->next)
		for (uint32_t i = 0; i < session->nr_traces; i++)
			if (session->traces[i] && session->traces[i]->directory)
				trace_losses(session->traces[i], loss, user);
}
