/* SPDX-License-Identifier: MIT */
/*
 * Write a hit as a record, if the recorder's callback is the event's only one and has no filter.
 *
 * No function is called but the ring's. The check needs a read section of libside, which is entered
 * here. A record of one or two words of the hit goes directly to the ring, by a function for its
 * size; others are made in a buffer of the thread. hit.c handles all other hits, before anything is
 * written.
 *
 * Runs in any thread and in signal handlers, with general registers only, and calls no function of
 * libc, as there.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/trace.h>

#include "tracers/agent/probes/probes.h"
#include "tracers/agent/core/record.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/vfork.h"
#include "tracers/agent/core/recording.h"
#include "libside/section.h"

/* libside's sections, and the range of the recorder's callbacks that use general registers only. */
static const struct side_tracer_sections no_sections = {.gp = SECTION_SLOW};
static struct {
	const struct side_tracer_sections *sections;
	struct side_tracer_functions gp_only;
} known = {.sections = &no_sections};

void probe_record_start(void)
{
	const struct side_tracer_sections *sections = side_tracer_sections(SECTIONS_VERSION);

	agent_record_functions(&known.gp_only.begin, &known.gp_only.end);
	if (sections)
		known.sections = sections;
}

/* ---- bytes ---- */

static inline uint8_t *probes_record_write_value(uint8_t *to, uint64_t value, size_t size)
{
	/* Excess bytes are overwritten by the next value, or not recorded. */
	memcpy(to, &value, sizeof(value));
	return to + size;
}

/* Write any field but a plain one. */
static inline __attribute__((always_inline)) uint8_t *record_write_fetched(
		struct probes_event_hit *event_hit, const struct probes_step *step, uint8_t *to)
{
	const struct probe_table_field *field =
			&event_hit->layout->event->fields[step - event_hit->layout->steps].field;
	uint64_t value = 0, count;

	event_hit->field = (uint32_t)(step - event_hit->layout->steps);
	if (step->kind != PROBES_STEP_NAME)
		value = probe_fetch_value(event_hit, &probes_fetches(event_hit)[event_hit->field]);
	switch ((enum probes_step_kind)step->kind) {
	case PROBES_STEP_BOOL: return probes_record_write_value(to, (value & 0xff) != 0, 1);
	case PROBES_STEP_NAME:
		for (const char *name = event_hit->details->function; (*to++ = (uint8_t)*name);
				name++)
			;
		return to;
	case PROBES_STEP_STRING:
		probe_hit_text(event_hit, field, value, (char *)to);
		while (*to++)
			;
		return to;
	case PROBES_STEP_GATHERED:
		count = probe_hit_several(event_hit, field, value, to + sizeof(count));
		return probes_record_write_value(to, count, sizeof(count)) + count * field->size;
	case PROBES_STEP_WIDE:
		return probes_record_write_value(
				probes_record_write_value(to, value, sizeof(value)),
				event_hit->upper, sizeof(value));
	case PROBES_STEP_NOTHING: return to;
	default: return probes_record_write_value(to, value, step->size);
	}
}

static __attribute__((noinline)) uint8_t *record_write_field(
		struct probes_event_hit *event_hit, const struct probes_step *step, uint8_t *to)
{
	bool guarded = step->kind != PROBES_STEP_PLAIN && step->from;
	uint8_t *end = record_write_fetched(event_hit, step, to + guarded);

	if (!guarded)
		return end;
	/* The selector of an optional value; nothing follows it if the value could not be read. */
	*to = !(event_hit->unreadable >> event_hit->field & 1);
	return *to ? end : to + 1;
}

static inline uint8_t *probes_record_write_plain(
		const struct patch_hit *hit, const struct probes_step *step, uint8_t *to)
{
	uint64_t value;

	memcpy(&value, (const char *)hit + step->from, sizeof(value));
	return probes_record_write_value(to, value, step->size);
}

/* Write the fields from the first one that is not plain. */
static inline __attribute__((always_inline)) uint8_t *record_write_remainder(
		const struct patch_hit *hit, const struct probes_spec *spec,
		const struct probes_layout *layout, struct probes_scratch *scratch, uint8_t *to)
{
	const struct probes_step *step = layout->steps + layout->nr_plain,
				 *end = layout->steps + layout->nr_steps;
	struct probes_event_hit *event_hit = &scratch->event_hit;

	*event_hit = (struct probes_event_hit){.hit = hit,
			.layout = layout,
			.details = *probes_details_of(spec),
			.window = &scratch->window};
	for (; step != end; step++)
		to = step->kind == PROBES_STEP_PLAIN ? probes_record_write_plain(hit, step, to)
						     : record_write_field(event_hit, step, to);
	return to;
}

/* Write the plain fields at the beginning: all fields of most events. */
static inline __attribute__((always_inline)) uint8_t *record_write_plain_fields(
		const struct patch_hit *hit, const struct probes_layout *layout, uint8_t *to)
{
	const struct probes_step *step = layout->steps, *words = step + layout->nr_words,
				 *end = step + layout->nr_plain;

	/* Sixteen of them if all registers are recorded. */
	for (; step != words; step++, to += sizeof(uint64_t))
		memcpy(to, (const char *)hit + step->from, sizeof(uint64_t));
	for (; step != end; step++)
		to = probes_record_write_plain(hit, step, to);
	return to;
}

/*
 * The time of the exit was read before. The entry's time is read here, once for the record and for
 * the duration.
 */
static inline uint64_t clock_of(const struct patch_hit *hit, bool leaves)
{
	if (leaves)
		return hit->now;
	if (__builtin_expect(!hit->call, 1))
		return 0;
	return *hit->began = __builtin_ia32_rdtsc();
}

/* ---- a record of any fields ---- */

/* Returns the most bytes that the steps can store. */
static inline uint64_t most_bytes(
		const struct probes_spec *spec, const struct probes_layout *layout)
{
	return __builtin_expect(!layout->nr_names, 1) ? layout->most
						      : layout->most +
					(uint64_t)layout->nr_names *
							(*probes_details_of(spec))->function_bytes;
}

/* A record with contexts, or with fields that must be fetched. */
static __attribute__((noinline)) bool record_more(const struct agent_event *event,
		const struct patch_hit *hit, const struct probes_spec *spec,
		const struct probes_layout *layout, struct probes_scratch *scratch)
{
	uint8_t *buffer = scratch->record;
	uint8_t *to = recording_begin(event, buffer, PROBES_RECORD_MAX, most_bytes(spec, layout),
			(const void *)(uintptr_t)hit->address);

	if (__builtin_expect(!to, 0))
		return false;
	to = record_write_plain_fields(hit, layout, to);
	if (layout->nr_plain != layout->nr_steps)
		to = record_write_remainder(hit, spec, layout, scratch, to);
	recording_end(event, buffer, to, clock_of(hit, layout->leaves));
	return true;
}

/* A record of the function's name, copied in words, and words of the hit. */
static __attribute__((noinline)) void record_named(const struct agent_event *event,
		const struct patch_hit *hit, const struct probes_spec *spec,
		const struct probes_layout *layout, uint8_t *buffer)
{
	const char *name = spec->name;
	uint8_t *to = buffer, *end = buffer + spec->name_bytes;

	for (; to < end; to += sizeof(uint64_t), name += sizeof(uint64_t))
		memcpy(to, name, sizeof(uint64_t));
	to = end;
	for (unsigned int i = 0; i < layout->nr_behind; i++, to += sizeof(uint64_t))
		memcpy(to, (const char *)hit + layout->words[i], sizeof(uint64_t));
	recording_end(event, buffer, to, clock_of(hit, layout->leaves));
}

/* A record of words of the hit. */
static __attribute__((noinline)) void record_plain(const struct agent_event *event,
		const struct patch_hit *hit, const struct probes_layout *layout, uint8_t *buffer)
{
	recording_end(event, buffer, record_write_plain_fields(hit, layout, buffer),
			clock_of(hit, layout->leaves));
}

/* Keeps no data on the stack while the ring works. */
static inline __attribute__((always_inline)) bool record_in(const struct agent_event *event,
		const struct patch_hit *hit, const struct probes_spec *spec,
		const struct probes_layout *layout, struct probes_scratch *scratch)
{
	uint8_t *buffer = scratch->record;

	if (layout->named && __builtin_expect(spec->name_bytes, 1) && recording_is_plain(event)) {
		record_named(event, hit, spec, layout, buffer);
		return true;
	}
	if (__builtin_expect(most_bytes(spec, layout) > PROBES_RECORD_MAX, 0))
		return false;
	if (__builtin_expect(!recording_is_plain(event), 0) ||
			__builtin_expect(layout->nr_plain != layout->nr_steps, 0))
		return record_more(event, hit, spec, layout, scratch);
	record_plain(event, hit, layout, buffer);
	return true;
}

static __attribute__((noinline)) bool record_on_stack(const struct agent_event *event,
		const struct patch_hit *hit, const struct probes_spec *spec,
		const struct probes_layout *layout)
{
	struct probes_scratch scratch;

	return record_in(event, hit, spec, layout, &scratch);
}

/*
 * The program's stack may be small: the buffers are on it only if the thread has no memory for
 * them.
 */
static __attribute__((noinline)) bool record_any(const struct agent_event *event,
		const struct patch_hit *hit, const struct probes_spec *spec,
		const struct probes_layout *layout)
{
	struct probes_scratch *scratch = patch_hit_scratch();

	return scratch ? record_in(event, hit, spec, layout, scratch)
		       : record_on_stack(event, hit, spec, layout);
}

char *agent_probes_buffer(void)
{
	struct probes_scratch *scratch = patch_hit_scratch();

	return scratch ? (char *)scratch->record : NULL;
}

bool agent_probes_origin(struct context_origin *ret_origin)
{
	const struct probes_scratch *scratch = patch_hit_scratch();
	const struct patch_hit *hit = scratch ? scratch->event_hit.hit : NULL;
	bool leaves;

	if (!hit)
		return false;
	leaves = scratch->event_hit.layout->leaves;
	ret_origin->pc = leaves ? patch_return_address(hit->returns_to) : hit->address;
	ret_origin->stack = (uintptr_t)hit->stack;
	ret_origin->frame = hit->registers.rbp;
	ret_origin->exact = !leaves;
	ret_origin->until = 0;
	return true;
}

void *agent_probes_filter_memory(void)
{
	struct probes_scratch *scratch = patch_hit_scratch();

	return scratch ? scratch->values : NULL;
}

/* ---- a record of at most two words ---- */

/* Returns the time of the record. Stores it as the call's begin if its return will be seen. */
static inline __attribute__((always_inline)) uint64_t ticks_of(
		const struct patch_hit *hit, bool leaves)
{
	uint64_t ticks = leaves ? hit->now : __builtin_ia32_rdtsc();

	if (!leaves && hit->call)
		*hit->began = ticks;
	return ticks;
}

/*
 * Returns false if the record is of another kind, or if the thread cannot use this path. Keeps no
 * data on the stack while the ring works.
 */
static inline __attribute__((always_inline)) bool record_piece(const struct agent_event *event,
		const struct patch_hit *hit, const struct probes_layout *layout, bool leaves)
{
	const char *from = (const char *)hit + layout->from;
	struct ring_producer *producer = recording_rings(event);
	ring_publish_timed *publish;
	uint64_t words[2], ticks;

	/* Compiler fence: the rings before the function, see record_scalar(). */
	atomic_signal_fence(memory_order_seq_cst);
	publish = __atomic_load_n(&event->publish_timed, __ATOMIC_RELAXED);
	if (__builtin_expect(!producer, 0) || __builtin_expect(recording_is_vforked(), 0) ||
			__builtin_expect(!publish, 0) ||
			__builtin_expect(event->timed_size != layout->piece, 0))
		return false;
	ticks = ticks_of(hit, leaves);
	if (__builtin_expect(layout->second_is_top, 0)) {
		memcpy(&words[0], from, sizeof(words[0]));
		words[1] = patch_return_address(*hit->stack);
		from = (const char *)words;
	} else if (layout->second) {
		memcpy(&words[0], from, sizeof(words[0]));
		memcpy(&words[1], (const char *)hit + layout->second, sizeof(words[1]));
		from = (const char *)words;
	}
	publish(producer, event->id, ticks, from);
	return true;
}

/* ---- hits ---- */

static inline const struct side_event_state_0 *probes_record_get_event_state(
		const struct probes_layout *layout)
{
	return (const struct side_event_state_0 *)(const void *)layout->state;
}

/* Returns the event's only callback if it is one of the recorder's, else NULL. */
static inline __attribute__((always_inline)) const struct side_callback *our_callback(
		const struct probes_layout *layout)
{
	const struct side_event_state_0 *state = probes_record_get_event_state(layout);
	const struct side_callback *cb = section_callbacks(state);

	return section_is_only(state, cb, known.gp_only.begin, known.gp_only.end) ? cb : NULL;
}

/* Called in a read section, which it leaves. */
static __attribute__((noinline)) void hit_in_section(const struct patch_hit *hit,
		const struct probes_spec *spec, const struct probes_layout *layout,
		const struct side_callback *ours, uintptr_t *epoch)
{
	const struct agent_event *event = ours ? ours->priv : NULL;
	bool done;

	if (event && event->contexts && !recording_is_vforked())
		context_prepare(event->contexts);
	done = event && record_any(event, hit, spec, layout);
	section_leave(epoch);
	if (!done)
		probe_hit_by_arguments(hit, spec, layout);
}

/* probe_count_unseen() counts it later. */
static void note_unseen(const struct probes_layout *layout, unsigned int why)
{
	if (layout && layout->event->unseen)
		/* Relaxed: a statistics counter. */
		__atomic_fetch_add(&layout->event->unseen[why], 1, __ATOMIC_RELAXED);
}

/* Whether the thread has never been in a read section. */
static bool probes_record_thread_is_new(const uintptr_t *epoch)
{
	/* Relaxed: the thread's own. Once registered, its epoch does not have that flag. */
	return __atomic_load_n(epoch, __ATOMIC_RELAXED) == SECTION_SLOW;
}

/*
 * Register the thread now: the call of its first event, with arguments, would need more of the
 * program's stack.
 */
static __attribute__((noinline)) void begin_sections(const struct probes_layout *layout)
{
	static const struct side_tracer_functions none;
	static const struct side_arg_vec nothing;

	side_tracer_call(layout->state, &nothing, NULL, &none);
}

/* Called outside a read section, if the thread could not enter one directly. */
static __attribute__((noinline)) void hit_outside(const struct patch_hit *hit,
		const struct probes_spec *spec, const struct probes_layout *layout,
		uintptr_t *epoch)
{
	/* The child of a vfork() cannot register the thread. */
	if (probes_record_thread_is_new(epoch) && agent_vforked == CONTEXT_VFORKED) {
		note_unseen(layout, PROBES_UNSEEN_VFORK);
		return;
	}
	if (probes_record_thread_is_new(epoch)) {
		begin_sections(layout);
		epoch = section_epoch(known.sections);
		if (section_enter(known.sections, epoch, 0)) {
			hit_in_section(hit, spec, layout, our_callback(layout), epoch);
			return;
		}
	}
	probe_hit_by_arguments(hit, spec, layout);
}

static __attribute__((noinline)) void hit_each(
		const struct patch_hit *hit, const struct probes_spec *spec, bool leaves)
{
	uintptr_t *epoch = section_epoch(known.sections);

	for (; spec; spec = probes_next_spec(&spec->next)) {
		const struct probes_layout *layout = leaves ? spec->exit : spec->entry;

		if (!layout)
			continue;
		if (section_enter(known.sections, epoch, 0))
			hit_in_section(hit, spec, layout, our_callback(layout), epoch);
		else
			hit_outside(hit, spec, layout, epoch);
		epoch = section_epoch(known.sections);
	}
}

/*
 * Most locations have one spec; this path uses few registers. Entries and exits have separate
 * instances: they alternate, so a branch between them would often be mispredicted.
 */
static inline __attribute__((always_inline)) void hit_location(
		const struct patch_hit *hit, bool leaves)
{
	const struct probes_spec *spec = hit->user;
	const struct side_callback *ours;
	const struct probes_layout *layout;
	uintptr_t *epoch, several;

	if (__builtin_expect(!spec, 0))
		return;
	layout = leaves ? spec->exit : spec->entry;
	/* The first spec may record entries only, while a later one records returns. */
	if (__builtin_expect(!layout, 0)) {
		hit_each(hit, probes_next_spec(&spec->next), leaves);
		return;
	}
	several = (uintptr_t)probes_next_spec(&spec->next);
	epoch = section_epoch(known.sections);
	/* The section cannot be entered within another event, or before the thread's first. */
	if (__builtin_expect(!section_enter(known.sections, epoch, several), 0)) {
		hit_each(hit, spec, leaves);
		return;
	}
	ours = our_callback(layout);
	if (__builtin_expect(!ours, 0) ||
			__builtin_expect(!record_piece(ours->priv, hit, layout, leaves), 0)) {
		hit_in_section(hit, spec, layout, ours, epoch);
		return;
	}
	section_leave(epoch);
}

void probe_hit_entry(const struct patch_hit *hit)
{
	hit_location(hit, false);
}

void probe_hit_exit(const struct patch_hit *hit)
{
	hit_location(hit, true);
}

/* ---- unseen returns ---- */

/*
 * Call in a read section, or under libside's lock. The recorder's callback is one of the event's
 * callbacks, because the event belongs to its session's table. Filters are not evaluated: they need
 * arguments that are known only at the return.
 */
static void probes_record_count_lost(const struct probes_event *of)
{
	static const enum ring_loss reasons[PROBES_NR_UNSEEN] = {
			[PATCH_UNSEEN_FULL] = RING_LOST_RETURN_FULL,
			[PATCH_UNSEEN_CALLER] = RING_LOST_RETURN_CALLER,
			[PATCH_UNSEEN_PROCESS] = RING_LOST_SHARED,
			[PATCH_UNSEEN_COPIED] = RING_LOST_RETURN_COPIED,
			[PROBES_UNSEEN_MEMORY] = RING_LOST_NO_BUFFER,
			[PROBES_UNSEEN_VFORK] = RING_LOST_NESTED,
	};
	const struct side_callback *cb = section_callbacks(
			(const struct side_event_state_0 *)(const void *)of->state);
	const struct agent_event *event;
	struct ring_producer *producer;

	while (cb->call && !agent_record_is_callback(cb->call))
		cb++;
	event = cb->call ? cb->priv : NULL;
	producer = event ? recording_rings(event) : NULL;
	if (!producer || (agent_vforked && agent_vforked != CONTEXT_SHARES_MEMORY))
		return;
	for (unsigned int why = 0; why < PROBES_NR_UNSEEN; why++) {
		/* Relaxed: a statistics counter. */
		uint64_t count = __atomic_exchange_n(&of->unseen[why], 0, __ATOMIC_RELAXED);

		if (count)
			ring_count_lost_before(
					producer, event->id, reasons[why], UINT32_MAX, count);
	}
}

bool probe_hit_is_vforked(void)
{
	return agent_vforked == CONTEXT_VFORKED;
}

/*
 * Inside an event's callback no section can be entered: the next hit outside counts this one too.
 */
void probe_hit_unseen(const struct patch_hit *hit, enum patch_unseen why)
{
	/* A child that shares memory has the parent's thread-local memory. */
	uintptr_t *epoch = why == PATCH_UNSEEN_PROCESS ? NULL : section_epoch(known.sections);

	for (const struct probes_spec *spec = hit->user; spec;
			spec = probes_next_spec(&spec->next)) {
		/* Without thread-local memory of its own, the thread can enter no section. */
		if (!epoch) {
			note_unseen(spec->entry, why);
			note_unseen(spec->exit, why);
		}
		if (!epoch || !spec->exit || !spec->exit->event->unseen)
			continue;
		/* Relaxed: a statistics counter. */
		__atomic_fetch_add(&spec->exit->event->unseen[why], 1, __ATOMIC_RELAXED);
		if (section_enter(known.sections, epoch, 0)) {
			probes_record_count_lost(spec->exit->event);
			section_leave(epoch);
		}
	}
}

void probe_count_unseen(const struct probes_event *event)
{
	uintptr_t *epoch = section_epoch(known.sections);

	if (!event->unseen || !event->state || !section_enter(known.sections, epoch, 0))
		return;
	probes_record_count_lost(event);
	section_leave(epoch);
}

void probe_count_unseen_locked(const struct probes_event *event)
{
	if (event->unseen && event->state)
		probes_record_count_lost(event);
}

/* ---- calls that a filter selects ---- */

/* The bit that another thread stored for the channel, plus 1; 0 if the spec has been removed. */
static uint8_t mark_unless_removed(uint8_t number)
{
	return number == PROBES_MARKS_RETURNED ? 0 : number;
}

/*
 * Returns the bit of a channel at a spec, plus 1; takes one if the channel has none yet. 0: no bit
 * is free, or the spec has been removed. Signal handlers and other threads may call this at the
 * same time. A hit at a spec that was removed finds PROBES_MARKS_RETURNED, and gives its bit back
 * itself.
 */
static uint8_t probes_record_claim_channel_bit(
		struct probes_spec_details *details, uint32_t channel)
{
	uint8_t mark = details->spec->mark, number = 0;
	uint32_t owner = 0;

	/* All relaxed: a bit is given to one channel, and nothing else depends on it. */
	if (mark < PATCH_MARKS &&
			(__atomic_compare_exchange_n(&details->mark_owner, &owner, channel + 1,
					 false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
					owner == channel + 1)) {
		/* Each thread that gets here stores the same value. */
		if (__atomic_compare_exchange_n(&details->marks[channel], &number,
				    (uint8_t)(mark + 1), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return (uint8_t)(mark + 1);
		return mark_unless_removed(number);
	}
	mark = probes_mark_take(details->location);
	if (mark >= PATCH_MARKS)
		return mark_unless_removed(
				__atomic_load_n(&details->marks[channel], __ATOMIC_RELAXED));
	if (__atomic_compare_exchange_n(&details->marks[channel], &number, (uint8_t)(mark + 1),
			    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return (uint8_t)(mark + 1);
	probes_marks_give(details->location, 1u << mark);
	return mark_unless_removed(number);
}

/*
 * Returns the bits of the call whose event is being recorded, and in `*ret_mark` the bit of the
 * channel at the call's spec. NULL: none.
 */
static uint16_t *marks_of(const struct agent_channel *channel, bool leaves, uint16_t *ret_mark)
{
	const struct probes_scratch *scratch = patch_hit_scratch();
	struct probes_spec_details *details =
			scratch ? *probes_details_of(scratch->event_hit.details->spec) : NULL;
	uint8_t number;

	if (!details || channel->index >= WIRE_CHANNELS_MAX)
		return NULL;
	number = __atomic_load_n(&details->marks[channel->index], __ATOMIC_RELAXED);
	if (!number && !leaves)
		number = probes_record_claim_channel_bit(details, channel->index);
	if (!mark_unless_removed(number))
		return NULL;
	*ret_mark = (uint16_t)(1u << (number - 1));
	return patch_hit_marks(scratch->event_hit.hit, leaves);
}

void agent_probes_mark_call(const struct agent_channel *channel)
{
	const struct probes_scratch *scratch = patch_hit_scratch();
	uint16_t mark = 0, *marks = marks_of(channel, false, &mark);

	if (marks)
		*marks |= mark;
	else if (scratch && scratch->event_hit.hit->call)
		note_unseen(scratch->event_hit.details->spec->exit, PROBES_UNSEEN_MEMORY);
}

bool agent_probes_is_marked(const struct agent_channel *channel)
{
	uint16_t mark = 0;
	const uint16_t *marks = marks_of(channel, true, &mark);

	return marks && *marks & mark;
}

const struct side_event_description *agent_probes_other(const struct agent_session *session,
		const struct side_event_description *event, bool leaves)
{
	return probes_events_other(session->tables, event, leaves);
}
