/* SPDX-License-Identifier: MIT */
/*
 * The format of Perfetto: a sequence of TracePacket messages, in protocol buffers without a
 * library.
 *
 * Times are nanoseconds since 1970 (the REALTIME clock, and, because of the only ClockSnapshot,
 * also the time of the trace). A track is described before its first event. Names are written once.
 * Field numbers are those of protos/perfetto/trace/.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"

enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
};
enum {
	EVENT_CATEGORIES = 3,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_NAME_TEXT = 23,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };
enum { INTERNED_CATEGORIES = 1, INTERNED_EVENTS = 2, INTERNED_ANNOTATIONS = 3 };
enum { CLOCK_IS_REALTIME = 1, CLOCK_IS_BOOTTIME = 6 };

#define SEQUENCE 1

struct perfetto {
	struct export_names categories, events, annotations;
	struct keys tracks;
	struct view_out fresh; /* names that the current packet defines */
	bool started;
	int64_t last_ns;
};

/* ---- the beginning ---- */

static int export_perfetto_start(struct export *export)
{
	struct perfetto *state = calloc(1, sizeof(*state));

	export->state = state;
	if (!state)
		return -ENOMEM;
	state->categories.field = INTERNED_CATEGORIES;
	state->events.field = INTERNED_EVENTS;
	state->annotations.field = INTERNED_ANNOTATIONS;
	return 0;
}

static void put_clock(struct view_out *out, uint64_t clock, int64_t ns)
{
	size_t begin_offset = proto_begin(out, 1);

	proto_number(out, 1, clock);
	proto_number(out, 2, (uint64_t)ns);
	proto_end(out, begin_offset);
}

/* The clocks at the first event, and defaults of the whole sequence of packets. */
static void export_perfetto_write_head(struct export *export, int64_t ns)
{
	struct view_out *out = &export->out;
	size_t packet = proto_begin(out, TRACE_PACKET), begin_offset;

	proto_number(out, PACKET_SEQUENCE, SEQUENCE);
	begin_offset = proto_begin(out, PACKET_CLOCK_SNAPSHOT);
	put_clock(out, CLOCK_IS_REALTIME, ns);
	put_clock(out, CLOCK_IS_BOOTTIME, ns);
	proto_end(out, begin_offset);
	proto_end(out, packet);

	packet = proto_begin(out, TRACE_PACKET);
	proto_number(out, PACKET_SEQUENCE, SEQUENCE);
	proto_number(out, PACKET_SEQUENCE_FLAGS, FLAG_CLEARED);
	begin_offset = proto_begin(out, PACKET_DEFAULTS);
	proto_number(out, PACKET_CLOCK, CLOCK_IS_REALTIME);
	proto_end(out, begin_offset);
	proto_end(out, packet);
}

/* ---- tracks ---- */

enum track_kind {
	TRACK_OF_PROCESS,
	TRACK_OF_THREAD,
	TRACK_OF_CPU,
	TRACK_OF_LOSSES,
	TRACK_OF_LANE,
	TRACK_OF_CALLS
};

struct track {
	enum track_kind kind;
	uint32_t process;
	uint32_t rule;
	uint32_t lane;
	int64_t number; /* The track of the thread or CPU. */
};

/* Everything that is known about a process is written before its first event. */
static void put_thread(struct export *export, const struct track *track,
		const struct ctf_item *item, const struct walk_class *class)
{
	const struct export_class *own = class->user_data;
	struct view_out *out = &export->out;
	size_t begin_offset = proto_begin(out, TRACK_THREAD), size;
	const char *name = identity_thread_name(&own->identity, item, &size);

	proto_number(out, 1, (uint64_t)export_pid(export, track->process));
	proto_number(out, 2, (uint64_t)track->number);
	if (name)
		proto_text(out, 5, name, size);
	proto_end(out, begin_offset);
}

static void export_perfetto_write_process(struct export *export, const struct track *track)
{
	struct view_out *out = &export->out;
	size_t begin_offset = proto_begin(out, TRACK_PROCESS);
	char name[512];

	export_process_name(export, track->process, name, sizeof(name));
	proto_number(out, 1, (uint64_t)export_pid(export, track->process));
	proto_text(out, 6, name, strlen(name));
	proto_end(out, begin_offset);
}

static void export_perfetto_write_name(struct export *export, const struct track *track)
{
	const struct pair_rule *rule = &export->pairs.rules[track->rule];
	char name[1024];

	switch (track->kind) {
	case TRACK_OF_CPU:
		snprintf(name, sizeof(name), track->number < 0 ? "events" : "cpu %" PRId64,
				track->number);
		break;
	case TRACK_OF_LOSSES: snprintf(name, sizeof(name), "lost"); break;
	case TRACK_OF_CALLS: snprintf(name, sizeof(name), "calls #%" PRId64, track->number); break;
	default:
		if (track->number >= 0)
			snprintf(name, sizeof(name), "%.400s → %.400s, thread %" PRId64,
					rule->begin_text, rule->end_text, track->number);
		else
			snprintf(name, sizeof(name), "%.400s → %.400s, %u", rule->begin_text,
					rule->end_text, track->lane + 1);
	}
	proto_text(&export->out, TRACK_NAME, name, strlen(name));
}

/* The number of the track, which is described first. 0: out of memory. */
static uint64_t track_of(struct export *export, const struct track *track,
		const struct ctf_item *item, const struct walk_class *class)
{
	struct perfetto *state = export->state;
	uint32_t known = state->tracks.count;
	uint32_t number = keys_add(&state->tracks, track, sizeof(*track));
	struct view_out *out = &export->out;
	size_t packet, begin_offset;
	uint64_t parent = 0;

	if (number == KEYS_NONE)
		return 0;
	if (number < known)
		return (uint64_t)number + 1;
	if (track->kind != TRACK_OF_PROCESS) {
		struct track process;

		memset(&process, 0, sizeof(process));
		process.kind = TRACK_OF_PROCESS;
		process.process = track->process;
		parent = track_of(export, &process, item, class);
		if (!parent)
			return 0;
	}
	packet = proto_begin(out, TRACE_PACKET);
	proto_number(out, PACKET_SEQUENCE, SEQUENCE);
	begin_offset = proto_begin(out, PACKET_TRACK_DESCRIPTOR);
	proto_number(out, TRACK_UUID, (uint64_t)number + 1);
	if (parent)
		proto_number(out, TRACK_PARENT, parent);
	if (track->kind == TRACK_OF_PROCESS)
		export_perfetto_write_process(export, track);
	else if (track->kind == TRACK_OF_THREAD)
		put_thread(export, track, item, class);
	else
		export_perfetto_write_name(export, track);
	proto_end(out, begin_offset);
	proto_end(out, packet);
	return (uint64_t)number + 1;
}

/* The track of an event outside of pairs, or of a slice that nests. */
static struct track usual_track(const struct ctf_item *item, const struct export_class *own)
{
	struct track track;

	memset(&track, 0, sizeof(track));
	track.process = own->process;
	track.kind = own->thread >= 0 ? TRACK_OF_THREAD : TRACK_OF_CPU;
	track.number = own->thread >= 0 ? own->thread : item->stream->cpu;
	return track;
}

static struct track call_track(const struct export_slice *slice)
{
	struct track track;

	memset(&track, 0, sizeof(track));
	track.process = slice->process;
	track.kind = slice->thread >= 0 ? TRACK_OF_THREAD : TRACK_OF_CALLS;
	track.number = slice->thread >= 0 ? slice->thread : (int64_t)slice->part;
	return track;
}

static struct track slice_track(const struct ctf_item *item, const struct export_class *own,
		const struct export_slice *slice, bool has_key)
{
	struct track track = usual_track(item, own);

	if (slice->call)
		return call_track(slice);
	if (slice->nested && slice->thread >= 0)
		return track;
	track.kind = TRACK_OF_LANE;
	track.process = slice->process;
	track.rule = slice->rule;
	track.lane = slice->lane;
	track.number = has_key ? -1 : slice->thread;
	return track;
}

/* ---- events ---- */

/* Writes the packet up to the event itself. The caller ends both *place and *ret_packet. */
static void begin_event(struct export *export, int64_t ns, unsigned int type, uint64_t track,
		size_t *ret_packet, size_t *ret_begin_offset)
{
	struct view_out *out = &export->out;

	*ret_packet = proto_begin(out, TRACE_PACKET);
	proto_number(out, PACKET_TIMESTAMP, (uint64_t)ns);
	proto_number(out, PACKET_SEQUENCE, SEQUENCE);
	proto_number(out, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
	*ret_begin_offset = proto_begin(out, PACKET_TRACK_EVENT);
	proto_number(out, EVENT_TYPE, type);
	proto_number(out, EVENT_TRACK, track);
}

static void export_perfetto_write_interned_names(
		struct export *export, const char *category, size_t category_size, const char *name)
{
	struct perfetto *state = export->state;
	uint64_t number = export_intern(&state->categories, &state->fresh, category, category_size);

	if (number)
		proto_number(&export->out, EVENT_CATEGORIES, number);
	number = export_intern(&state->events, &state->fresh, name, strlen(name));
	if (number)
		proto_number(&export->out, EVENT_NAME, number);
	else
		proto_text(&export->out, EVENT_NAME_TEXT, name, strlen(name));
}

static int end_event(struct export *export, size_t packet, size_t begin_offset)
{
	struct perfetto *state = export->state;

	proto_end(&export->out, begin_offset);
	if (state->fresh.at != state->fresh.begin) {
		proto_bytes(&export->out, PACKET_INTERNED_DATA, state->fresh.begin,
				view_out_size(&state->fresh));
		state->fresh.at = state->fresh.begin;
	}
	proto_end(&export->out, packet);
	return export->out.failed || state->fresh.failed ? -ENOMEM : 0;
}

/* An event without a time gets the time of the previous one. */
static int64_t export_perfetto_get_time(struct export *export, const struct ctf_item *item)
{
	struct perfetto *state = export->state;

	if (item->timed)
		state->last_ns = item->ns;
	if (!state->started) {
		export_perfetto_write_head(export, state->last_ns);
		state->started = true;
	}
	return state->last_ns;
}

static int export_perfetto_write_event(struct export *export, const struct ctf_item *item,
		struct walk_class *class, const struct export_slice *slice)
{
	struct perfetto *state = export->state;
	const struct export_class *own = class->user_data;
	struct export_annotations to = {
			.out = &export->out,
			.sink = export_sink(export, &export->out, class, item),
			.fresh = &state->fresh,
			.names = &state->annotations,
	};
	struct track track = slice ? slice_track(item, own, slice, export->pairs.has_key)
				   : usual_track(item, own);
	const char *name = slice && slice->call ? slice->name : item->event->name;
	const char *colon = strchr(name, ':');
	int64_t ns = export_perfetto_get_time(export, item);
	uint64_t number = track_of(export, &track, item, class);
	size_t packet, begin_offset;

	if (!number)
		return -ENOMEM;
	begin_event(export, ns,
			!slice                       ? TYPE_INSTANT
					: slice->end ? TYPE_END
						     : TYPE_BEGIN,
			number, &packet, &begin_offset);
	if (slice && slice->call && !slice->end)
		export_perfetto_write_interned_names(export, "call", strlen("call"), name);
	else if (!slice || !slice->end)
		export_perfetto_write_interned_names(
				export, name, colon ? (size_t)(colon - name) : 0, name);
	if (slice && slice->unmatched)
		export_annotate_text(&to, "note", "no entry", strlen("no entry"));
	export_annotate(&to, class, item);
	return end_event(export, packet, begin_offset);
}

static int export_perfetto_leave(
		struct export *export, const struct export_slice *slice, int64_t ns)
{
	struct perfetto *state = export->state;
	struct export_annotations to = {
			.out = &export->out, .fresh = &state->fresh, .names = &state->annotations};
	struct track track = call_track(slice);
	/* The begin of the slice has described the track. */
	uint32_t number = keys_find(&state->tracks, &track, sizeof(track));
	size_t packet, begin_offset;

	if (number == KEYS_NONE)
		return -ENOMEM;
	begin_event(export, ns, TYPE_END, (uint64_t)number + 1, &packet, &begin_offset);
	if (slice->unmatched)
		export_annotate_text(&to, "note", "no return", strlen("no return"));
	return end_event(export, packet, begin_offset);
}

static int export_perfetto_write_loss(
		struct export *export, const struct ctf_item *item, const struct walk_class *class)
{
	struct perfetto *state = export->state;
	struct export_annotations to = {
			.out = &export->out, .fresh = &state->fresh, .names = &state->annotations};
	int64_t ns = export_perfetto_get_time(export, item);
	const char *texts[] = {"ring", "event", "reason"}, *text;
	size_t packet, begin_offset, size;
	struct track track;
	uint64_t number;

	memset(&track, 0, sizeof(track));
	track.kind = TRACK_OF_LOSSES;
	track.process = identity_of_trace(&export->identity, item->trace);
	number = track_of(export, &track, item, class);
	if (!number)
		return -ENOMEM;
	begin_event(export, ns, TYPE_INSTANT, number, &packet, &begin_offset);
	export_perfetto_write_interned_names(export, "side", 4,
			class                                                 ? "lost"
					: item->kind == CTF_ITEM_LOST_PACKETS ? "lost packets"
									      : "discarded");
	export_annotate_number(&to, "count", class ? walk_lost_count(item) : item->count);
	for (unsigned int i = 0; class && i < 3; i++) {
		text = walk_lost_text(item, texts[i], &size);
		export_annotate_text(&to, texts[i], text, size);
	}
	if (!class)
		export_annotate_text(&to, "stream", item->stream->name, strlen(item->stream->name));
	return end_event(export, packet, begin_offset);
}

static void export_perfetto_free_state(struct export *export)
{
	struct perfetto *state = export->state;

	if (!state)
		return;
	keys_free(&state->categories.keys);
	keys_free(&state->events.keys);
	keys_free(&state->annotations.keys);
	keys_free(&state->tracks);
	view_out_free(&state->fresh);
	free(state);
}

const struct export_ops export_perfetto = {
		.start = export_perfetto_start,
		.event = export_perfetto_write_event,
		.loss = export_perfetto_write_loss,
		.leave = export_perfetto_leave,
		.free = export_perfetto_free_state,
};
