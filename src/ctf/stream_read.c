/* SPDX-License-Identifier: MIT */
/*
 * One data stream file as a row of items.
 *
 * Packet by packet, record by record; a packet that cannot be read becomes one item that says so,
 * and the reading goes on behind it: at its end if its size makes sense, else where the next
 * packet header stands.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/stream_read.h"

#define PACKET_MAGIC 0xc1fc1fc1u

int64_t ctf_clock_ns(const struct ctf_clock *clock, uint64_t cycles)
{
	const uint64_t second = 1000000000;
	uint64_t frequency = clock->frequency, sum, seconds, rest;
	int64_t ns;

	if (__builtin_add_overflow(cycles, clock->offset, &sum)) {
		unsigned __int128 wide = (unsigned __int128)cycles + clock->offset;

		seconds = (uint64_t)(wide / frequency);
		rest = (uint64_t)(wide % frequency);
	} else {
		seconds = sum / frequency;
		rest = sum % frequency;
	}
	if (frequency != second)
		rest = frequency < UINT64_C(18000000000)
				? rest * second / frequency
				: (uint64_t)((unsigned __int128)rest * second / frequency);
	if (seconds > INT64_MAX || __builtin_add_overflow(clock->offset_s, (int64_t)seconds, &ns) ||
			__builtin_mul_overflow(ns, (int64_t)second, &ns) ||
			__builtin_add_overflow(ns, (int64_t)rest, &ns))
		return clock->offset_s < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* ---- files ---- */

int ctf_stream_reader_open(struct ctf_stream_reader *stream, struct ctf_trace_classes *classes,
		int dir_fd, const char *name)
{
	struct stat stat;
	void *map;
	int fd, ret;

	*stream = (struct ctf_stream_reader){.classes = classes};
	stream->info.cpu = -1;
	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	ret = fstat(fd, &stat) ? -errno : (uint64_t)stat.st_size > SIZE_MAX ? -EFBIG : 0;
	if (ret || !S_ISREG(stat.st_mode) || !stat.st_size) {
		close(fd);
		return ret;
	}
	map = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	ret = map == MAP_FAILED ? -errno : 0;
	close(fd);
	if (ret)
		return ret;
	madvise(map, (size_t)stat.st_size, MADV_SEQUENTIAL);
	stream->map = map;
	stream->size = (uint64_t)stat.st_size;
	stream->info.name = strdup(name);
	stream->decoder.slots = calloc((size_t)classes->slot_count + 1, sizeof(uint64_t));
	if (!stream->info.name || !stream->decoder.slots) {
		ctf_stream_reader_close(stream);
		return -ENOMEM;
	}
	return 1;
}

void ctf_stream_reader_close(struct ctf_stream_reader *stream)
{
	if (stream->map)
		munmap((void *)(uintptr_t)stream->map, stream->size);
	stream->map = NULL;
	free(stream->decoder.slots);
	free(stream->decoder.values);
	free((void *)(uintptr_t)stream->info.name);
}

/* ---- items ---- */

static struct ctf_item *new_item(
		struct ctf_stream_reader *stream, enum ctf_item_kind kind, uint64_t cycles)
{
	struct ctf_item *item = &stream->item;
	const struct ctf_clock *clock = stream->class ? stream->class->clock : NULL;

	item->kind = kind;
	item->timed = clock;
	item->cycles = cycles;
	item->ns = clock ? ctf_clock_ns(clock, cycles) : 0;
	item->begin_ns = item->ns;
	item->count = 0;
	item->text = NULL;
	item->trace = &stream->classes->trace;
	item->stream = &stream->info;
	item->event = NULL;
	item->header = item->common_context = item->context = item->fields = NULL;
	return item;
}

static int damage(struct ctf_stream_reader *stream, const char *what, const char *consequence)
{
	snprintf(stream->text, sizeof(stream->text), "%s/%s, byte %" PRIu64 ", is damaged: %s; %s",
			stream->classes->trace.path, stream->info.name,
			stream->packet + stream->decoder.at / 8, what, consequence);
	stream->damaged_packet = stream->packet;
	new_item(stream, CTF_ITEM_DAMAGE, stream->decoder.clock)->text = stream->text;
	return 1;
}

/* ---- packets ---- */

/* Where the next packet header stands, by its magic number and UUID; the end if nowhere. */
static uint64_t find_packet(const struct ctf_stream_reader *stream)
{
	const struct ctf_trace_classes *classes = stream->classes;
	uint32_t magic = classes->trace.big_endian ? htobe32(PACKET_MAGIC) : htole32(PACKET_MAGIC);
	const uint8_t *from = stream->map + stream->packet + 1, *end = stream->map + stream->size;
	unsigned char mark[20];

	if (!classes->has_uuid || !(stream->fields.seen & 1u << CTF_ROLE_MAGIC) ||
			!(stream->fields.seen & 1u << CTF_ROLE_UUID))
		return stream->size;
	memcpy(mark, &magic, 4);
	memcpy(mark + 4, classes->trace.uuid, 16);
	from = memmem(from, (size_t)(end - from), mark, sizeof(mark));
	return from ? (uint64_t)(from - stream->map) : stream->size;
}

static bool seen(const struct ctf_stream_reader *stream, enum ctf_role role)
{
	return stream->fields.seen & 1u << role;
}

static const char *check_header(struct ctf_stream_reader *stream)
{
	const struct ctf_trace_classes *classes = stream->classes;
	const struct ctf_stream_class *class;

	if (seen(stream, CTF_ROLE_MAGIC) && stream->fields.values[CTF_ROLE_MAGIC] != PACKET_MAGIC)
		return "no packet begins here";
	if (classes->has_uuid && seen(stream, CTF_ROLE_UUID) &&
			memcmp(stream->fields.uuid, classes->trace.uuid, 16) != 0)
		return "the packet belongs to another trace";
	if (seen(stream, CTF_ROLE_STREAM_ID))
		class = ctf_stream_class_find(classes, stream->fields.values[CTF_ROLE_STREAM_ID]);
	else
		class = classes->streams[0];
	if (!class)
		return "the packet belongs to a stream that the metadata does not know";
	stream->class = class;
	stream->info.class_id = class->id;
	return NULL;
}

static const char *check_sizes(struct ctf_stream_reader *stream)
{
	struct ctf_decoder *d = &stream->decoder;
	uint64_t there = d->limit * 8, packet = there, content;

	if (seen(stream, CTF_ROLE_PACKET_SIZE))
		packet = stream->fields.values[CTF_ROLE_PACKET_SIZE];
	else if (seen(stream, CTF_ROLE_CONTENT_SIZE))
		packet = stream->fields.values[CTF_ROLE_CONTENT_SIZE];
	content = packet;
	if (seen(stream, CTF_ROLE_CONTENT_SIZE))
		content = stream->fields.values[CTF_ROLE_CONTENT_SIZE];
	if (packet % 8 || !packet || content > packet || content < d->at)
		return "the sizes in the packet's header make no sense";
	stream->torn = packet > there;
	stream->next_packet = stream->torn ? stream->size : stream->packet + packet / 8;
	d->end = content > there ? there : content;
	return NULL;
}

static int open_packet(struct ctf_stream_reader *stream, const char **why)
{
	const struct ctf_trace_classes *classes = stream->classes;
	struct ctf_decoder *d = &stream->decoder;
	uint32_t index;
	int ret = 0;

	stream->fields = (struct ctf_packet_fields){0};
	d->base = stream->map + stream->packet;
	d->limit = stream->size - stream->packet;
	d->at = 0;
	d->end = d->limit * 8;
	d->count = 0;
	d->runs_clock = false;
	d->packet = &stream->fields;
	stream->torn = stream->broken = stream->header_cut = false;
	stream->records = 0;
	if (classes->packet_header)
		ret = ctf_decode(d, classes->packet_header, &index);
	if (ret == -ENOMEM)
		return ret;
	stream->header_cut = ret;
	*why = ret ? "the header of the last packet is cut off" : check_header(stream);
	if (*why)
		return -EINVAL;
	if (stream->class->packet_context)
		ret = ctf_decode(d, stream->class->packet_context, &index);
	if (ret == -ENOMEM)
		return ret;
	stream->header_cut = ret;
	*why = ret ? "the header of the last packet is cut off" : check_sizes(stream);
	if (*why)
		return -EINVAL;
	if (seen(stream, CTF_ROLE_CPU_ID))
		stream->info.cpu = (int64_t)stream->fields.values[CTF_ROLE_CPU_ID];
	if (seen(stream, CTF_ROLE_TIMESTAMP_BEGIN))
		d->clock = stream->fields.values[CTF_ROLE_TIMESTAMP_BEGIN];
	d->packet = NULL;
	d->runs_clock = true;
	stream->good = d->at;
	return 0;
}

/* How far a free-running counter of so many bits went; 0 if a full-size one went back. */
static uint64_t counter_step(uint64_t from, uint64_t to, unsigned int bits)
{
	if (bits >= 64)
		return to > from ? to - from : 0;
	return (to - from) & ((UINT64_C(1) << bits) - 1);
}

static bool packets_lost(struct ctf_stream_reader *stream)
{
	uint64_t sequence = stream->fields.values[CTF_ROLE_PACKET_SEQ_NUM], step;
	bool before = stream->has_previous;
	struct ctf_item *item;

	if (!seen(stream, CTF_ROLE_PACKET_SEQ_NUM))
		return false;
	step = counter_step(stream->previous_sequence, sequence, stream->fields.sequence_size);
	stream->previous_sequence = sequence;
	if (!before || step <= 1)
		return false;
	item = new_item(stream, CTF_ITEM_LOST_PACKETS, stream->decoder.clock);
	item->count = step - 1;
	if (item->timed)
		item->begin_ns = ctf_clock_ns(stream->class->clock, stream->previous_end);
	return true;
}

static bool events_discarded(struct ctf_stream_reader *stream)
{
	uint64_t discarded = stream->fields.values[CTF_ROLE_EVENTS_DISCARDED], step = 0;
	uint64_t end = stream->decoder.clock, begin = stream->previous_end;
	struct ctf_item *item;

	if (seen(stream, CTF_ROLE_TIMESTAMP_END) &&
			stream->fields.values[CTF_ROLE_TIMESTAMP_END] > end)
		end = stream->fields.values[CTF_ROLE_TIMESTAMP_END];
	if (seen(stream, CTF_ROLE_EVENTS_DISCARDED)) {
		if (stream->has_previous)
			step = counter_step(stream->previous_discarded, discarded,
					stream->fields.discarded_size);
		stream->previous_discarded = discarded;
	}
	stream->previous_end = end;
	stream->has_previous = true;
	if (!step)
		return false;
	item = new_item(stream, CTF_ITEM_DISCARDED, end);
	item->count = step;
	if (item->timed)
		item->begin_ns = ctf_clock_ns(stream->class->clock, begin);
	return true;
}

/* ---- records ---- */

static const struct ctf_value *value_at(
		const struct ctf_decoder *d, const struct ctf_type *type, uint32_t index)
{
	return type ? &d->values[index] : NULL;
}

static int decode_scope(struct ctf_decoder *d, const struct ctf_type *type, uint32_t *index)
{
	*index = 0;
	return type ? ctf_decode(d, type, index) : 0;
}

/* 1: an event; -EINVAL: why is set; -ENOMEM. */
static int read_record(struct ctf_stream_reader *stream)
{
	const struct ctf_stream_class *class = stream->class;
	struct ctf_decoder *d = &stream->decoder;
	uint32_t header, common, context, fields;
	struct ctf_event_class *event;
	struct ctf_item *item;
	uint64_t start = d->at;
	int ret;

	d->count = 0;
	d->event_id = UINT64_MAX;
	ret = decode_scope(d, class->event_header, &header);
	if (ret)
		return ret;
	if (d->event_id == UINT64_MAX)
		event = class->event_count ? class->events[0] : NULL;
	else
		event = ctf_event_class_find(class, d->event_id);
	if (!event) {
		d->why = "an event has an id that the metadata does not know";
		return -EINVAL;
	}
	ret = decode_scope(d, class->event_context, &common);
	if (!ret)
		ret = decode_scope(d, event->context, &context);
	if (!ret)
		ret = decode_scope(d, event->fields, &fields);
	if (ret)
		return ret;
	if (d->at == start) {
		d->why = "an event takes no room";
		return -EINVAL;
	}
	item = new_item(stream, CTF_ITEM_EVENT, d->clock);
	item->event = event;
	item->header = value_at(d, class->event_header, header);
	item->common_context = value_at(d, class->event_context, common);
	item->context = value_at(d, event->context, context);
	item->fields = value_at(d, event->fields, fields);
	stream->records++;
	stream->good = d->at;
	return 1;
}

static int broken_record(struct ctf_stream_reader *stream)
{
	char consequence[160];

	stream->broken = true;
	stream->state = CTF_STREAM_TAIL;
	if (stream->torn)
		snprintf(consequence, sizeof(consequence),
				"the file ends inside its last packet, of which %" PRIu64
				" events are shown",
				stream->records);
	else
		snprintf(consequence, sizeof(consequence),
				"the rest of this packet is skipped, %" PRIu64
				" events of it are shown",
				stream->records);
	return damage(stream, stream->decoder.why, consequence);
}

int ctf_stream_reader_next(struct ctf_stream_reader *stream)
{
	const char *why;
	int ret;

	for (;;) {
		switch (stream->state) {
		case CTF_STREAM_PACKET:
			if (stream->packet >= stream->size)
				return 0;
			ret = open_packet(stream, &why);
			if (ret == -ENOMEM)
				return ret;
			if (ret) {
				ret = damage(stream, why, "the reading goes on at the next packet");
				stream->packet = find_packet(stream);
				return ret;
			}
			stream->state = CTF_STREAM_GAP;
			break;
		case CTF_STREAM_GAP:
			stream->state = CTF_STREAM_RECORDS;
			if (packets_lost(stream))
				return 1;
			break;
		case CTF_STREAM_RECORDS:
			if (stream->decoder.at < stream->decoder.end) {
				ret = read_record(stream);
				return ret == -EINVAL ? broken_record(stream) : ret;
			}
			stream->state = CTF_STREAM_TAIL;
			if (stream->torn && !stream->broken) {
				stream->decoder.why = "its last packet is cut off";
				return broken_record(stream);
			}
			break;
		case CTF_STREAM_TAIL:
			stream->state = CTF_STREAM_PACKET;
			stream->packet = stream->next_packet;
			if (events_discarded(stream))
				return 1;
			break;
		}
	}
}
