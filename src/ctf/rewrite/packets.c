/* SPDX-License-Identifier: MIT */
/*
 * Reads packets of traces of side without decoding them, to forward a trace. The header has the
 * layout of recording.md, section 6, in host byte order; packets of other layouts are not of
 * side.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/io.h"
#include "ctf/compress.h"
#include "ctf/read/decode-ctf2.h"
#include "ctf/read/stream.h"
#include "ctf/write/writer.h"

/* A packet is at most a span of a ring. */
#define PACKET_MAX ((uint64_t)1 << 30)
#define AT_UUID 4
#define AT_CLASS 20
#define AT_INSTANCE 24
#define AT_BEGIN 32
#define AT_END 40
#define AT_CONTENT 48
#define AT_SIZE 56
#define AT_SEQUENCE 64
#define AT_DISCARDED 72
#define HEADER_MIN 80

static uint64_t get_u64(const unsigned char *at)
{
	uint64_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

static uint32_t get_u32(const unsigned char *at)
{
	uint32_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

int ctf_packet_parse(struct ctf_packet *packet)
{
	const unsigned char *bytes = packet->bytes;
	uint64_t content;

	if (packet->size < HEADER_MIN || get_u32(bytes) != CTF_PACKET_MAGIC)
		return -EBADMSG;
	memcpy(packet->uuid, bytes + AT_UUID, sizeof(packet->uuid));
	packet->class_id = get_u32(bytes + AT_CLASS);
	packet->instance = get_u64(bytes + AT_INSTANCE);
	packet->begin = get_u64(bytes + AT_BEGIN);
	packet->end = get_u64(bytes + AT_END);
	content = get_u64(bytes + AT_CONTENT);
	packet->sequence = get_u64(bytes + AT_SEQUENCE);
	packet->discarded = get_u64(bytes + AT_DISCARDED);
	if (content != get_u64(bytes + AT_SIZE) || content != (uint64_t)packet->size * 8)
		return -EBADMSG;
	return 0;
}

void ctf_packet_set_uuid(struct ctf_packet *packet, const unsigned char uuid[16])
{
	memmove(packet->uuid, uuid, sizeof(packet->uuid));
	memcpy(packet->bytes + AT_UUID, packet->uuid, sizeof(packet->uuid));
}

void ctf_packet_set_discarded(struct ctf_packet *packet, uint64_t discarded)
{
	packet->discarded = discarded;
	memcpy(packet->bytes + AT_DISCARDED, &discarded, sizeof(discarded));
}

void ctf_packet_set_sequence(struct ctf_packet *packet, uint64_t sequence)
{
	packet->sequence = sequence;
	memcpy(packet->bytes + AT_SEQUENCE, &sequence, sizeof(sequence));
}

void ctf_packet_set_times(struct ctf_packet *packet, uint64_t begin, uint64_t end)
{
	packet->begin = begin;
	packet->end = end;
	memcpy(packet->bytes + AT_BEGIN, &begin, sizeof(begin));
	memcpy(packet->bytes + AT_END, &end, sizeof(end));
}

void ctf_packet_make_empty(struct ctf_packet *packet, size_t header_size)
{
	const uint64_t bits = (uint64_t)header_size * 8;
	const uint32_t magic = CTF_PACKET_MAGIC, cpu = (uint32_t)packet->instance;
	unsigned char *bytes = packet->bytes;

	memset(bytes, 0, header_size);
	memcpy(bytes, &magic, sizeof(magic));
	memcpy(bytes + AT_UUID, packet->uuid, sizeof(packet->uuid));
	memcpy(bytes + AT_CLASS, &packet->class_id, sizeof(packet->class_id));
	memcpy(bytes + AT_INSTANCE, &packet->instance, sizeof(packet->instance));
	memcpy(bytes + AT_BEGIN, &packet->begin, sizeof(packet->begin));
	memcpy(bytes + AT_END, &packet->end, sizeof(packet->end));
	memcpy(bytes + AT_CONTENT, &bits, sizeof(bits));
	memcpy(bytes + AT_SIZE, &bits, sizeof(bits));
	memcpy(bytes + AT_SEQUENCE, &packet->sequence, sizeof(packet->sequence));
	memcpy(bytes + AT_DISCARDED, &packet->discarded, sizeof(packet->discarded));
	if (header_size >= HEADER_MIN + sizeof(cpu))
		memcpy(bytes + HEADER_MIN, &cpu, sizeof(cpu));
	packet->size = header_size;
}

static int ctf_packet_ensure_capacity(struct ctf_packet *packet, size_t size)
{
	unsigned char *grown;

	if (size <= packet->capacity)
		return 0;
	grown = realloc(packet->bytes, size);
	if (!grown)
		return -ENOMEM;
	packet->bytes = grown;
	packet->capacity = size;
	return 0;
}

/* Read `size` bytes. 1: all of them; 0: the file ends before; or a negative errno. */
static int ctf_packet_read_at(int fd, void *bytes, size_t size, uint64_t at)
{
	int ret = io_read_exactly_at(fd, bytes, size, at);

	return ret == -ENODATA ? 0 : ret ? ret : 1;
}

static int read_plain(int fd, uint64_t at, struct ctf_packet *packet)
{
	unsigned char header[HEADER_MIN];
	int ret = ctf_packet_read_at(fd, header, sizeof(header), at);
	uint64_t bits;

	if (ret <= 0)
		return ret;
	bits = get_u64(header + AT_SIZE);
	if (get_u32(header) != CTF_PACKET_MAGIC || bits % 8 || bits / 8 < HEADER_MIN ||
			bits / 8 > PACKET_MAX)
		return -EBADMSG;
	packet->size = bits / 8;
	ret = ctf_packet_ensure_capacity(packet, packet->size);
	if (!ret)
		ret = ctf_packet_read_at(fd, packet->bytes, packet->size, at);
	packet->next = at + packet->size;
	return ret;
}

static int read_frame(int fd, uint64_t at, struct ctf_packet *packet)
{
	struct ctf_frames frames;
	unsigned long long size;
	int ret;

	ctf_frames_start(&frames, fd);
	frames.next = (off_t)at;
	ret = ctf_frames_next(&frames);
	if (ret == -EBADMSG && frames.is_cut)
		ret = 0; /* The recorder is writing it. */
	if (ret > 0) {
		size = ZSTD_getFrameContentSize(frames.bytes, frames.size);
		ret = size > PACKET_MAX ? -EBADMSG
					: ctf_packet_ensure_capacity(packet, (size_t)size);
		if (!ret) {
			packet->size = ZSTD_decompress(
					packet->bytes, packet->capacity, frames.bytes, frames.size);
			ret = ZSTD_isError(packet->size) ? -EBADMSG : 1;
		}
		packet->next = at + frames.size;
	}
	ctf_frames_free(&frames);
	return ret;
}

int ctf_packet_read(int fd, const char *name, uint64_t at, struct ctf_packet *packet)
{
	int ret = ctf_is_compressed(name, NULL) ? read_frame(fd, at, packet)
						: read_plain(fd, at, packet);

	if (ret <= 0)
		return ret;
	ret = ctf_packet_parse(packet);
	return ret ? ret : 1;
}

void ctf_packet_free(struct ctf_packet *packet)
{
	free(packet->bytes);
	packet->bytes = NULL;
	packet->capacity = 0;
}

/* ---- counting records ---- */

struct ctf_counter {
	struct ctf_trace_classes *classes;
	struct ctf_decoder decoder;
};

struct ctf_counter *ctf_counter_create(void)
{
	return calloc(1, sizeof(struct ctf_counter));
}

static void drop_classes(struct ctf_counter *counter)
{
	ctf_decoder_drop_texts(&counter->decoder);
	free(counter->decoder.values);
	free(counter->decoder.slots);
	counter->decoder = (struct ctf_decoder){0};
	ctf_metadata_free(counter->classes);
	counter->classes = NULL;
}

void ctf_counter_free(struct ctf_counter *counter)
{
	if (!counter)
		return;
	drop_classes(counter);
	free(counter);
}

int ctf_counter_renew(struct ctf_counter *counter, const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ctf_trace_classes *classes;
	struct error error;
	uint64_t *slots;
	int ret;

	if (fd < 0)
		return -errno;
	/* Use the classes before an error: the recorder may be writing the last block. */
	ret = ctf_metadata_read(fd, dir, &classes, &error);
	close(fd);
	slots = classes && ret != -ENOMEM ? calloc((size_t)classes->slot_count + 1, sizeof(*slots))
					  : NULL;
	if (!slots) {
		ctf_metadata_free(classes);
		return -ENOMEM;
	}
	drop_classes(counter);
	counter->classes = classes;
	counter->decoder.slots = slots;
	return ret == -EIO || ret == -EMFILE ? ret : 0;
}

const struct ctf_trace *ctf_counter_trace(const struct ctf_counter *counter)
{
	return counter->classes ? &counter->classes->trace : NULL;
}

static int skip_scope(struct ctf_decoder *d, const struct ctf_type *type)
{
	uint32_t index;

	return type ? ctf_decode(d, type, &index) : 0;
}

static int skip_record(const struct ctf_stream_class *class, struct ctf_decoder *d)
{
	const struct ctf_event_class *event;
	uint64_t start = d->at;
	int ret;

	d->count = 0;
	d->event_id = UINT64_MAX;
	ret = skip_scope(d, class->event_header);
	if (ret)
		return ret;
	event = ctf_event_class_find(class, d->event_id);
	if (!event)
		return -ENOENT;
	ret = skip_scope(d, class->event_context);
	if (!ret)
		ret = skip_scope(d, event->context);
	if (!ret)
		ret = skip_scope(d, event->fields);
	return ret ? ret : d->at == start ? -EINVAL : 0;
}

static int ctf_packet_count_records(
		struct ctf_counter *counter, const struct ctf_packet *packet, uint64_t *ret_records)
{
	struct ctf_decoder *d = &counter->decoder;
	const struct ctf_stream_class *class;
	struct ctf_packet_fields fields = {0};
	int ret;

	*ret_records = 0;
	class = counter->classes ? ctf_stream_class_find(counter->classes, packet->class_id) : NULL;
	if (!class)
		return -ENOENT;
	d->base = packet->bytes;
	d->limit = packet->size;
	d->origin = d->at = 0;
	d->end = (uint64_t)packet->size * 8;
	d->count = 0;
	d->runs_clock = false;
	d->packet = &fields;
	ret = skip_scope(d, counter->classes->packet_header);
	if (!ret)
		ret = skip_scope(d, class->packet_context);
	d->packet = NULL;
	while (!ret && d->at < d->end) {
		ret = skip_record(class, d);
		ctf_decoder_drop_texts(d);
		*ret_records += !ret;
	}
	return ret;
}

int ctf_counter_count(struct ctf_counter *counter, const char *dir, const struct ctf_packet *packet,
		uint64_t *ret_records)
{
	int ret = ctf_packet_count_records(counter, packet, ret_records);

	if (ret != -ENOENT)
		return ret;
	/* The metadata has grown since. */
	ret = ctf_counter_renew(counter, dir);
	return ret ? ret : ctf_packet_count_records(counter, packet, ret_records);
}
