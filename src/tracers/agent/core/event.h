/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_EVENT_H
#define SIDE_TRACERS_AGENT_CORE_EVENT_H

/*
 * One event of one channel: the private pointer of its callback.
 *
 * select.c and record.c fill it in, and batch.c registers it, with libside's event lock. Callbacks
 * (record.c, probe hits) read it in any context and without a lock. They may write only `large`.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/trace.h>

#include "ring/ring.h"
#include "tracers/agent/core/recycled-ids.h"

struct agent_channel;
struct context_set;
struct context_spec;
struct filter;
struct filter_contexts;
struct plan;

/* One filter of one event. */
struct agent_filter {
	const struct filter *filter;
	const struct filter_contexts *contexts;
	/* it is for the event at the begin of a call, and selects the return, too */
	bool selects_calls;
};

/* The members that most records need are in the first cache line, except the filters. */
struct agent_event {
	/*
	 * Where records go; NULL: nowhere (the consumer does not know the id, or a forked child has
	 * no rings). Changes only before the callback exists and after a fork.
	 */
	struct ring_producer *producer;
	struct plan *plan;
	const struct context_set *contexts; /* NULL: none */
	uint32_t id;
	uint16_t scalar_label; /* of the plan */
	uint8_t scalar_size;
	bool large;         /* a record of it did not fit the stack (atomic) */
	bool of_probe;      /* only probe hits emit it */
	uint8_t nr_filters; /* 0: every event is recorded */
	/* the record has contexts and fields only, and no code of the application runs */
	bool straight;
	uint8_t timed_size; /* bytes */
	bool selects_calls; /* one of its filters selects calls */
	bool of_calls;      /* it is the return of calls that a filter selects */
	bool always;        /* its filters only select calls: every event is recorded */
	/*
	 * Of the producer, for records of that size when the time is known; NULL: other sizes are
	 * possible, or there are contexts or filters.
	 */
	ring_publish_timed *publish_timed;
	/* Of the producer, for one scalar. */
	union {
		ring_publish_scalar *publish_scalar;
		ring_publish_prefixed
				*publish_prefixed; /* after contexts; NULL: not possible here */
	};
	/*
	 * The function that records the event when a filter has matched, and the one that libside
	 * calls.
	 */
	union {
		side_tracer_callback_func record;
		side_tracer_callback_variadic_func record_variadic;
	};
	union {
		side_tracer_callback_func callback;
		side_tracer_callback_variadic_func callback_variadic;
	};
	const struct agent_filter *filters;

	struct agent_channel *channel;
	struct side_event_description *description;
	struct agent_hash hash;
	const struct context_spec *extra; /* its own contexts, in addition to the channel's */
	uint32_t nr_extra;
	/* in its batch: events in the order of the batch, of each the channels */
	uint32_t position;
	bool recorded; /* the consumer knows the id */
	bool is_new;   /* the consumer was sent its description in the exchange that is under way */
	bool refused;  /* the consumer refused it */
	bool registered;            /* our callback is registered for it */
	struct agent_event *before; /* while rules change: the same event of the same channel */
} __attribute__((aligned(64)));

/* The events of one notification that a session wants, in one mapping with all that they need. */
struct agent_batch {
	struct agent_batch *next;
	struct side_event_description *
			*key; /* the array that identifies the batch in notifications */
	size_t mapped;
	uint64_t free_at;
	uint32_t nr_events;
	struct agent_event events[];
};

/*
 * Free one batch, or all batches of a list, with libside's event lock. No thread may use their
 * events any more.
 */
void agent_batch_free(struct agent_batch *batch);
void agent_batches_free(struct agent_batch *list);

#endif
