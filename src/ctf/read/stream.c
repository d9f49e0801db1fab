/* SPDX-License-Identifier: MIT */
/*
 * Reads one data stream file as a sequence of items.
 *
 * It reads packet by packet and record by record. An unreadable packet becomes one item of damage,
 * and the reader continues behind it: at its end if its size is plausible, else at the next packet
 * header that it finds.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/read/decode-ctf2.h"
#include "ctf/read/stream.h"

#define PACKET_MAGIC 0xc1fc1fc1u
#define NS_PER_S 1000000000
/* Most packet headers are smaller; more is loaded if necessary. */
#define HEADER_SPACE ((size_t)4 << 10)

/*
 * Convert cycles to nanoseconds as babeltrace2 does: in double precision, rounded towards zero.
 * babeltrace2 has no time for a value beyond the signed range; here such a value is exact.
 */
static inline __int128 cycles_ns(uint64_t frequency, uint64_t cycles)
{
	double ns;

	if (frequency == NS_PER_S)
		return cycles;
	ns = 1e9 * (double)cycles / (double)frequency;
	if (__builtin_expect(ns < 0x1p63, 1))
		return (int64_t)ns;
	return (__int128)((unsigned __int128)cycles * NS_PER_S / frequency);
}

/*
 * The offset in cycles is converted separately, without its whole seconds. So the sum of both can
 * be 1 ns less than the exact one; that both readers show the same time is more important.
 */
static __int128 clock_origin_ns(const struct ctf_clock *clock)
{
	__int128 seconds = (__int128)clock->offset_s + clock->offset / clock->frequency;

	return seconds * NS_PER_S + cycles_ns(clock->frequency, clock->offset % clock->frequency);
}

static int64_t saturate(__int128 ns)
{
	return ns < INT64_MIN ? INT64_MIN : ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

int64_t ctf_clock_ns(const struct ctf_clock *clock, uint64_t cycles)
{
	return saturate(clock_origin_ns(clock) + cycles_ns(clock->frequency, cycles));
}

/* The same as ctf_clock_ns(), with a cached origin of the stream's clock. */
static inline int64_t origin_ns(
		struct ctf_origin *origin, const struct ctf_clock *clock, uint64_t cycles)
{
	if (__builtin_expect(origin->clock != clock, 0)) {
		origin->clock = clock;
		origin->ns = clock_origin_ns(clock);
	}
	return saturate(origin->ns + cycles_ns(clock->frequency, cycles));
}

/* ---- files ---- */

int ctf_stream_reader_open(struct ctf_stream_reader *stream, struct ctf_trace_classes *classes,
		const char *name, const struct stat *stat)
{
	*stream = (struct ctf_stream_reader){.classes = classes, .before = UINT64_MAX};
	stream->info.cpu = -1;
	if (!S_ISREG(stat->st_mode) || !stat->st_size)
		return 0;
	stream->info.name = strdup(name);
	stream->decoder.slots = calloc((size_t)classes->slot_count + 1, sizeof(uint64_t));
	if (!stream->info.name || !stream->decoder.slots) {
		ctf_stream_reader_close(stream);
		return -ENOMEM;
	}
	if (ctf_window_start(&stream->window, classes->dir ? classes->dir->fd : -1,
			    classes->trace.path, stream->info.name, stat)) {
		ctf_stream_reader_close(stream);
		return -ENOMEM;
	}
	return 1;
}

static void free_buffers(struct ctf_stream_reader *stream)
{
	ctf_window_free(&stream->window);
	ctf_decoder_drop_texts(&stream->decoder);
	free(stream->decoder.values);
	stream->decoder.values = NULL;
	stream->decoder.capacity = 0;
}

void ctf_stream_reader_close(struct ctf_stream_reader *stream)
{
	free_buffers(stream);
	free(stream->decoder.slots);
	free((void *)(uintptr_t)stream->info.name);
}

/* ---- window ---- */

/* Position in bits from the beginning of the packet. */
static uint64_t position(const struct ctf_stream_reader *stream)
{
	return stream->decoder.origin + stream->decoder.at;
}

/* Continue decoding at this bit of the packet, which must be in the window. */
static void ctf_stream_seek(struct ctf_stream_reader *stream, uint64_t bit)
{
	static const uint8_t nothing[1];
	const struct ctf_window *window = &stream->window;
	struct ctf_decoder *d = &stream->decoder;
	uint64_t there = stream->packet < window->size ? (window->size - stream->packet) * 8 : 0;
	uint64_t from = stream->packet + bit / 8, loaded = window->at + window->count;

	if (stream->content > there) { /* The file has shrunk. */
		stream->content = there;
		stream->torn = true;
	}
	d->origin = bit / 8 * 8;
	d->base = from < loaded ? window->bytes + (from - window->at) : nothing;
	d->limit = from < loaded ? loaded - from : 0;
	d->end = d->limit * 8;
	if (d->origin + d->end > stream->content)
		d->end = stream->content > d->origin ? stream->content - d->origin : 0;
	d->at = bit % 8 < d->end ? bit % 8 : d->end;
}

/*
 * Load more, because the field at this bit of the packet extends beyond the window. 1: loaded, try
 * again; 0: there are no more bytes (why is set); -EIO (why is set) or -ENOMEM.
 */
static int load_more(struct ctf_stream_reader *stream, uint64_t bit)
{
	struct ctf_window *window = &stream->window;
	struct ctf_decoder *d = &stream->decoder;
	uint64_t from = stream->packet + bit / 8;
	size_t wanted = 0;
	int ret;

	if (d->origin + d->end >= stream->content)
		return 0;
	if (from == window->at && window->count >= CTF_WINDOW_MAX) {
		d->why = "an event is larger than 256 MiB";
		return 0;
	}
	if (from == window->at)
		wanted = window->count < CTF_WINDOW_MAX / 2 ? window->count * 2 : CTF_WINDOW_MAX;
	ret = ctf_window_load(window, from, wanted);
	if (ret) {
		d->why = window->why;
		return ret;
	}
	ctf_stream_seek(stream, bit);
	return 1;
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
	item->ns = clock ? origin_ns(&stream->origin, clock, cycles) : 0;
	item->begin_ns = item->ns;
	item->count = 0;
	item->text = NULL;
	item->trace = &stream->classes->trace;
	item->stream = &stream->info;
	item->event = NULL;
	item->cut = false;
	item->header = item->common_context = item->context = item->fields = NULL;
	return item;
}

static int ctf_stream_report_damage(struct ctf_stream_reader *stream)
{
	stream->damaged_packet = stream->packet;
	new_item(stream, CTF_ITEM_DAMAGE, stream->decoder.clock)->text = stream->text;
	return 1;
}

static int damage(struct ctf_stream_reader *stream, const char *what, const char *consequence)
{
	if (stream->window.shrunk && (stream->torn || stream->header_cut)) {
		what = "the file has become shorter while it was read";
		stream->shrink_reported = true;
	}
	snprintf(stream->text, sizeof(stream->text), "%s/%s, byte %" PRIu64 ", is damaged: %s; %s",
			stream->classes->trace.path, stream->info.name,
			stream->packet + position(stream) / 8, what, consequence);
	ctf_stream_report_damage(stream);
	stream->item.cut = (stream->torn || stream->header_cut) && !stream->window.shrunk;
	return 1;
}

/* The file is unreadable from here on, or up to the next frame. */
static int unreadable(struct ctf_stream_reader *stream)
{
	uint64_t resume = stream->window.resume;

	if (resume > stream->packet) {
		damage(stream, stream->decoder.why, "reading continues at the next packet");
		stream->item.cut = false;
		stream->packet = resume;
		stream->state = CTF_STREAM_PACKET;
		return 1;
	}
	snprintf(stream->text, sizeof(stream->text),
			"%s/%s cannot be read from byte %" PRIu64
			" on: %s; the remainder of the file is not shown",
			stream->classes->trace.path, stream->info.name,
			stream->packet + position(stream) / 8, stream->decoder.why);
	stream->state = CTF_STREAM_END;
	return ctf_stream_report_damage(stream);
}

/* All packets of the file were read. */
static int end_of_file(struct ctf_stream_reader *stream)
{
	uint64_t strange, first;

	stream->state = CTF_STREAM_END;
	strange = stream->window.unzstd ? ctf_unzstd_strange(stream->window.unzstd, &first) : 0;
	stream->grown = ctf_window_grown(&stream->window);
	if (strange) {
		snprintf(stream->text, sizeof(stream->text),
				"%s/%s is damaged: %" PRIu64
				" bytes of it, the first at byte %" PRIu64
				", are not zstd frames; the packets in them are missing",
				stream->classes->trace.path, stream->info.name, strange, first);
		return ctf_stream_report_damage(stream);
	}
	if (stream->window.unzstd && ctf_unzstd_is_cut(stream->window.unzstd) && !stream->torn &&
			!stream->header_cut) {
		snprintf(stream->text, sizeof(stream->text),
				"%s/%s is damaged: the file ends inside its last packet",
				stream->classes->trace.path, stream->info.name);
		ctf_stream_report_damage(stream);
		stream->item.cut = true;
		return 1;
	}
	if (!stream->window.shrunk || stream->shrink_reported)
		return 0;
	snprintf(stream->text, sizeof(stream->text),
			"%s/%s has become shorter while it was read; the removed part is not shown",
			stream->classes->trace.path, stream->info.name);
	return ctf_stream_report_damage(stream);
}

/* ---- packets ---- */

/* The offset of the next packet header, found by its magic number and UUID; the end if there is
   none. */
static uint64_t find_packet(struct ctf_stream_reader *stream)
{
	const struct ctf_trace_classes *classes = stream->classes;
	uint32_t magic = classes->trace.big_endian ? htobe32(PACKET_MAGIC) : htole32(PACKET_MAGIC);
	struct ctf_window *window = &stream->window;
	uint64_t from = stream->packet + 1;
	unsigned char mark[20];

	if (!classes->has_uuid || !(stream->fields.seen & 1u << CTF_ROLE_MAGIC) ||
			!(stream->fields.seen & 1u << CTF_ROLE_UUID))
		return window->size;
	memcpy(mark, &magic, 4);
	memcpy(mark + 4, classes->trace.uuid, 16);
	for (;;) {
		uint64_t end = window->at + window->count;

		if (from >= window->at && from + sizeof(mark) <= end) {
			const uint8_t *at = window->bytes + (from - window->at);
			const uint8_t *found = memmem(at, (size_t)(end - from), mark, sizeof(mark));

			if (found)
				return from + (uint64_t)(found - at);
			from = end - sizeof(mark) + 1;
		}
		if (from + sizeof(mark) > window->size ||
				ctf_window_load(window, from, sizeof(mark)) ||
				window->count < sizeof(mark))
			return window->size;
	}
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
		stream->foreign = true;
	if (seen(stream, CTF_ROLE_STREAM_ID))
		class = ctf_stream_class_find(classes, stream->fields.values[CTF_ROLE_STREAM_ID]);
	else
		class = classes->stream_count ? classes->streams[0] : NULL;
	if (!class)
		return "the packet belongs to a stream that the metadata does not know";
	if (stream->class != class)
		ctf_fast_header_make(&stream->fast_header, class->event_header);
	stream->class = class;
	stream->info.class_id = class->id;
	return NULL;
}

static const char *check_sizes(struct ctf_stream_reader *stream)
{
	struct ctf_decoder *d = &stream->decoder;
	uint64_t there = stream->content, packet = there, content;

	if (seen(stream, CTF_ROLE_PACKET_SIZE))
		packet = stream->fields.values[CTF_ROLE_PACKET_SIZE];
	else if (seen(stream, CTF_ROLE_CONTENT_SIZE))
		packet = stream->fields.values[CTF_ROLE_CONTENT_SIZE];
	content = packet;
	if (seen(stream, CTF_ROLE_CONTENT_SIZE))
		content = stream->fields.values[CTF_ROLE_CONTENT_SIZE];
	if (packet % 8 || !packet || content > packet || content < position(stream))
		return "the sizes in the packet's header are inconsistent";
	stream->torn = packet > there;
	stream->next_packet = stream->packet + packet / 8;
	stream->content = content > there ? there : content;
	if (d->origin + d->end > stream->content)
		d->end = stream->content - d->origin;
	return NULL;
}

/* Decode a header. 0; -EINVAL (why is set, and header_cut if the file ends there), -EIO (the same),
   -ENOMEM. */
static int decode_header(struct ctf_stream_reader *stream, const struct ctf_type *type)
{
	struct ctf_decoder *d = &stream->decoder;
	uint64_t start = position(stream);
	uint32_t index;
	int ret;

	if (!type)
		return 0;
	for (;;) {
		d->beyond = false;
		ret = ctf_decode(d, type, &index);
		if (ret != -EINVAL || !d->beyond)
			return ret;
		ret = load_more(stream, start);
		if (ret <= 0)
			break;
	}
	if (ret)
		return ret;
	stream->header_cut = d->origin + d->end >= stream->content;
	if (stream->header_cut)
		d->why = "the header of the last packet is cut off";
	return -EINVAL;
}

static int ctf_stream_read_headers(struct ctf_stream_reader *stream)
{
	struct ctf_decoder *d = &stream->decoder;
	const char *why;
	int ret = decode_header(stream, stream->classes->packet_header);

	if (ret)
		return ret;
	why = check_header(stream);
	if (!why) {
		ret = decode_header(stream, stream->class->packet_context);
		if (ret)
			return ret;
		why = check_sizes(stream);
	}
	d->why = why;
	return why ? -EINVAL : 0;
}

/* Load a packet. Behind a skipped packet, the next one is usually skipped, too: load only its
   header. */
static int load_packet(struct ctf_stream_reader *stream)
{
	struct ctf_window *window = &stream->window;
	size_t normal = window->normal;
	int ret;

	if (stream->skipped && normal > HEADER_SPACE)
		window->normal = HEADER_SPACE;
	ret = ctf_window_load(window, stream->packet, 0);
	window->normal = normal;
	return ret;
}

static int start_packet(struct ctf_stream_reader *stream)
{
	struct ctf_window *window = &stream->window;
	struct ctf_decoder *d = &stream->decoder;
	int ret = 0;

	stream->fields = (struct ctf_packet_fields){0};
	stream->content = (window->size - stream->packet) * 8;
	stream->torn = stream->broken = stream->header_cut = false;
	stream->records = 0;
	d->count = 0;
	d->runs_clock = false;
	d->packet = &stream->fields;
	d->partial = 0;
	if (stream->packet < window->at || stream->packet >= window->at + window->count)
		ret = load_packet(stream);
	d->why = window->why;
	ctf_stream_seek(stream, 0);
	return ret ? ret : ctf_stream_read_headers(stream);
}

/*
 * Open the packet. When the sizes were read, the recorder may have been writing the last packet:
 * then read that packet to its end, and nothing behind it.
 */
static int open_packet(struct ctf_stream_reader *stream)
{
	struct ctf_decoder *d = &stream->decoder;
	int ret = start_packet(stream);

	if ((stream->torn || stream->header_cut) && !stream->extended && !stream->follows) {
		uint64_t grown = ctf_window_grown(&stream->window);

		if (grown) {
			stream->extended = true;
			stream->window.size = grown;
			stream->window.count = 0;
			ret = start_packet(stream);
			if (!ret && !stream->torn)
				stream->window.size = stream->next_packet;
		}
	}
	if (ret)
		return ret;
	if (seen(stream, CTF_ROLE_CPU_ID))
		stream->info.cpu = (int64_t)stream->fields.values[CTF_ROLE_CPU_ID];
	if (seen(stream, CTF_ROLE_TIMESTAMP_BEGIN))
		d->clock = stream->fields.values[CTF_ROLE_TIMESTAMP_BEGIN];
	d->packet = NULL;
	d->runs_clock = true;
	stream->good = position(stream);
	return 0;
}

/* The increment of a free-running counter of `bits` bits; 0 if a 64-bit counter decreased. */
static uint64_t counter_step(uint64_t from, uint64_t to, unsigned int bits)
{
	if (bits >= 64)
		return to > from ? to - from : 0;
	return (to - from) & ((UINT64_C(1) << bits) - 1);
}

/* Get one of the times in the packet's header, which are optional. */
static bool has_time(const struct ctf_stream_reader *stream, enum ctf_role role, int64_t *ret_ns)
{
	if (!stream->bounded || !stream->class->clock || !seen(stream, role))
		return false;
	*ret_ns = ctf_clock_ns(stream->class->clock, stream->fields.values[role]);
	return true;
}

/*
 * Decide whether to read the packet when only a range of times is read. Reports behind the last
 * packet of the range would be later than the range. A packet before the range still counts for
 * losses.
 */
static enum ctf_stream_state choose_packet(struct ctf_stream_reader *stream)
{
	int64_t ns;

	stream->skipped = false;
	if (has_time(stream, CTF_ROLE_TIMESTAMP_BEGIN, &ns) && ns > stream->to_ns)
		return CTF_STREAM_END;
	if (stream->torn || !has_time(stream, CTF_ROLE_TIMESTAMP_END, &ns) || ns >= stream->from_ns)
		return CTF_STREAM_RECORDS;
	stream->skipped = true;
	if (has_time(stream, CTF_ROLE_TIMESTAMP_BEGIN, &ns) && ns > stream->skipped_begin)
		stream->skipped_begin = ns;
	return CTF_STREAM_TAIL;
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
	if (!before || step <= 1 || stream->superseded)
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
	if (!step || stream->superseded)
		return false;
	item = new_item(stream, CTF_ITEM_DISCARDED, end);
	item->count = step;
	if (item->timed)
		item->begin_ns = ctf_clock_ns(stream->class->clock, begin);
	return true;
}

/* ---- records ---- */

static const struct ctf_value *ctf_stream_read_value(
		const struct ctf_decoder *d, const struct ctf_type *type, uint32_t index)
{
	return type ? &d->values[index] : NULL;
}

static int decode_scope(struct ctf_decoder *d, const struct ctf_type *type, uint32_t *ret_index)
{
	*ret_index = 0;
	return type ? ctf_decode(d, type, ret_index) : 0;
}

/* Decode one record. 1: an event; -EINVAL: why is set; -ENOMEM. */
static int decode_record(struct ctf_stream_reader *stream)
{
	const struct ctf_stream_class *class = stream->class;
	struct ctf_decoder *d = &stream->decoder;
	uint32_t header = 0, common, context, fields;
	bool header_values;
	struct ctf_event_class *event;
	struct ctf_item *item;
	uint64_t start = d->at, body;
	int ret;

	d->count = 0;
	d->beyond = false;
	d->event_id = UINT64_MAX;
	header_values = !ctf_fast_header_read(&stream->fast_header, d);
	ret = header_values ? decode_scope(d, class->event_header, &header) : 0;
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
	body = d->at;
	ret = decode_scope(d, class->event_context, &common);
	if (!ret)
		ret = decode_scope(d, event->context, &context);
	if (!ret)
		ret = decode_scope(d, event->fields, &fields);
	if (ret)
		return ret;
	if (d->at == start) {
		d->why = "an event has no bytes";
		return -EINVAL;
	}
	item = new_item(stream, CTF_ITEM_EVENT, d->clock);
	item->event = event;
	item->header = ctf_stream_read_value(d, header_values ? class->event_header : NULL, header);
	item->common_context = ctf_stream_read_value(d, class->event_context, common);
	item->context = ctf_stream_read_value(d, event->context, context);
	item->fields = ctf_stream_read_value(d, event->fields, fields);
	item->body = body % 8 ? NULL : d->base + body / 8;
	item->body_size = (d->at + 7) / 8 - body / 8;
	stream->records++;
	stream->good = position(stream);
	return 1;
}

/* The same, loading more at the end of the window; also -EIO. */
static int ctf_stream_read_record(struct ctf_stream_reader *stream)
{
	uint64_t start = position(stream), clock = stream->decoder.clock;

	for (;;) {
		int ret = decode_record(stream), more;

		if (ret >= 0 || ret == -ENOMEM)
			return ret;
		stream->decoder.clock = clock;
		if (!stream->decoder.beyond)
			return ret;
		more = load_more(stream, start);
		if (more <= 0)
			return more ? more : ret;
	}
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
				"the remainder of this packet is skipped, %" PRIu64
				" events of it are shown",
				stream->records);
	return damage(stream, stream->decoder.why, consequence);
}

/* Use newer metadata for this packet and the following ones. */
static int renew_classes(struct ctf_stream_reader *stream)
{
	struct ctf_trace_classes *classes = stream->classes;
	uint64_t *slots;

	while (classes->newer)
		classes = classes->newer;
	if (classes == stream->classes)
		return 0;
	slots = calloc((size_t)classes->slot_count + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(stream->decoder.slots);
	stream->decoder.slots = slots;
	stream->classes = classes;
	stream->class = NULL;
	stream->origin.clock = NULL;
	stream->window.dir = classes->trace.path;
	return 0;
}

static int wait_for_more(struct ctf_stream_reader *stream)
{
	stream->state = CTF_STREAM_WAIT;
	return 0;
}

static int next_packet(struct ctf_stream_reader *stream)
{
	int ret = renew_classes(stream);

	if (ret)
		return ret;
	if (stream->packet >= stream->window.size)
		return stream->follows ? wait_for_more(stream) : end_of_file(stream);
	ret = open_packet(stream);
	if (stream->follows && ret != -ENOMEM && (stream->torn || stream->header_cut))
		return wait_for_more(stream);
	if (ret == -EIO)
		return unreadable(stream);
	if (ret == -EINVAL) {
		ret = damage(stream, stream->decoder.why, "reading continues at the next packet");
		stream->packet = find_packet(stream);
		return ret;
	}
	if (!ret)
		stream->state = CTF_STREAM_GAP;
	return ret;
}

static int next_record(struct ctf_stream_reader *stream)
{
	int ret;

	if (position(stream) < stream->content) {
		ret = ctf_stream_read_record(stream);
		if (ret == -EIO)
			return unreadable(stream);
		return ret == -EINVAL ? broken_record(stream) : ret;
	}
	stream->state = CTF_STREAM_TAIL;
	if (stream->torn && !stream->broken) {
		stream->decoder.why = "its last packet is cut off";
		return broken_record(stream);
	}
	return 0;
}

/* Report a foreign UUID once: the metadata may describe the packets nevertheless. */
static int foreign_packet(struct ctf_stream_reader *stream)
{
	stream->foreign_reported = true;
	snprintf(stream->text, sizeof(stream->text),
			"%s/%s: a packet has another UUID than the metadata; side reads it anyway",
			stream->classes->trace.path, stream->info.name);
	new_item(stream, CTF_ITEM_NOTE, stream->decoder.clock)->text = stream->text;
	return 1;
}

/* 1: show the record. 0: another window shows it. */
static int choose_record(struct ctf_stream_reader *stream)
{
	const struct ctf_item *item = &stream->item;

	if (__builtin_expect(item->kind != CTF_ITEM_EVENT, 0))
		return 1;
	/* UINT64_MAX means no limit: a record may have that tick. */
	if (__builtin_expect(item->cycles >= stream->before, 0) && stream->before != UINT64_MAX) {
		stream->state = CTF_STREAM_END;
		return 0;
	}
	if (__builtin_expect(stream->continues, 0) && item->cycles <= stream->after)
		return 0;
	stream->shown = true;
	return 1;
}

int ctf_stream_reader_next(struct ctf_stream_reader *stream)
{
	for (;;) {
		enum ctf_stream_state before = stream->state;
		int ret = 0;

		switch (before) {
		case CTF_STREAM_PACKET: ret = next_packet(stream); break;
		case CTF_STREAM_GAP:
			if (stream->foreign && !stream->foreign_reported)
				return foreign_packet(stream);
			stream->state = choose_packet(stream);
			if (stream->state != CTF_STREAM_END)
				ret = packets_lost(stream);
			break;
		case CTF_STREAM_RECORDS:
			ret = next_record(stream);
			if (ret > 0)
				ret = choose_record(stream);
			break;
		case CTF_STREAM_TAIL:
			stream->state = CTF_STREAM_PACKET;
			stream->packet = stream->next_packet;
			ret = events_discarded(stream);
			break;
		case CTF_STREAM_WAIT: stream->state = CTF_STREAM_PACKET; return 0;
		case CTF_STREAM_END: free_buffers(stream); return 0;
		}
		if (ret)
			return ret;
	}
}
