/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_RECORDING_H
#define SIDE_TRACERS_AGENT_CORE_RECORDING_H

/*
 * The first checks of each record, for record.c and for probe hits, which make some records without
 * a callback.
 *
 * Any context, without a lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/vfork.h"

/*
 * The rings of this event. Looked up after whatever may fork (an application's visitor, a signal
 * handler): a child's records belong into its own. Relaxed: they change only in a process with one
 * thread.
 */
static inline struct ring_producer *recording_rings(const struct agent_event *event)
{
	return __atomic_load_n(&event->producer, __ATOMIC_RELAXED);
}

/* Is this the child of a vfork()? One instruction with its comparison, and one for the place. */
static inline bool recording_is_vforked(void)
{
#if defined(__x86_64__) && defined(__LP64__)
	bool vforked;

	__asm__ volatile("movq agent_vforked@gottpoff(%%rip), %%rax\n\t"
			 "cmpl $0, %%fs:(%%rax)"
			 : "=@ccne"(vforked)
			 :
			 : "rax");
	return vforked;
#else
	return agent_vforked;
#endif
}

/* Has the event rings, is this a thread that may publish, and is the stack worth a try? */
static inline bool recording_is_usual(
		const struct agent_event *event, const struct ring_producer *producer)
{
	return __builtin_expect(producer != NULL, 1) &&
			__builtin_expect(!recording_is_vforked(), 1) &&
			__builtin_expect(!__atomic_load_n(&event->large, __ATOMIC_RELAXED), 1);
}

/*
 * For who makes the bytes of the fields and is called in the place of a callback: where they go in
 * the buffer, behind the contexts; `most` is less than the capacity. NULL: this event is recorded
 * by its callback only.
 */
static inline uint8_t *recording_begin(const struct agent_event *event, uint8_t *buffer,
		size_t capacity, size_t most, const void *caller)
{
	const uint8_t *end = buffer + capacity;

	if (__builtin_expect(!event->straight, 0) || __builtin_expect(!recording_rings(event), 0) ||
			__builtin_expect(recording_is_vforked(), 0))
		return NULL;
	if (__builtin_expect(!event->contexts, 1))
		return buffer;
	buffer = context_write(event->contexts, buffer, end, caller);
	return buffer && (size_t)(end - buffer) >= most ? buffer : NULL;
}

/* Where recording_begin() would only give the buffer back. */
static inline bool recording_is_plain(const struct agent_event *event)
{
	return __builtin_expect(event->straight, 1) && __builtin_expect(!event->contexts, 1) &&
			__builtin_expect(recording_rings(event) != NULL, 1) &&
			__builtin_expect(!recording_is_vforked(), 1);
}

/*
 * Record the bytes of the buffer up to `end`; `ticks`: of a clock that was just read, 0 if it was
 * not.
 */
static inline void recording_end(const struct agent_event *event, const uint8_t *buffer,
		const uint8_t *end, uint64_t ticks)
{
	struct ring_producer *producer = recording_rings(event);
	size_t size = (size_t)(end - buffer);

	if (__builtin_expect(!producer, 0))
		return;
	if (ticks)
		ring_publish_at(producer, event->id, buffer, size, ticks);
	else
		ring_publish(producer, event->id, buffer, size);
}

#endif /* SIDE_TRACERS_AGENT_CORE_RECORDING_H */
