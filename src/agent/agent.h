/* SPDX-License-Identifier: MIT */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

/*
 * The recorder inside the traced program. It is preloaded, asks the consumer named by
 * SIDE_AGENT_SOCKET for rings, and records every event that the consumer's patterns name:
 *
 *	start.c     when the library is loaded, before main(), after vfork()
 *	process.c   this process as an instance: connecting, forks, the end
 *	exchange.c  talking with the consumer
 *	batch.c     events that appear and disappear: ids, plans, callbacks
 *	spare.c     ids of events that are gone, for when they come back
 *	record.c    an event happens: arguments -> bytes -> ring
 *
 * It leaves no thread and no open file in the program, prints nothing unless SIDE_DEBUG is set,
 * waits for nothing without a bound, and stops quietly when anything fails. Its memory is mapped
 * pages, never malloc(), because the program's malloc() may be what is being traced. All work but
 * record.c happens under libside's event lock (in notifications) or when there is only one thread
 * (in the constructor and in a forked child), so it needs no lock of its own.
 *
 * This header is private to the room and its tests.
 */

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/trace.h>

#include "agent/plan/plan.h"
#include "ring/ring.h"
#include "visit/visit.h"
#include "wire/pattern.h"
#include "wire/wire.h"

#define AGENT_CONNECT_TIMEOUT_MS 1000 /* connection, HELLO and CONFIG together */
#define AGENT_EVENTS_TIMEOUT_MS 2000  /* descriptions and their acknowledgement */
#define AGENT_FAILURES_MAX 3          /* exchanges that time out before we ask no more */

/*
 * What our loss reasons mean, beside the ring's own. RING_LOST_NESTED of an event: in the child of a
 * vfork(). The last slot of the ring's counters belongs to no event: there RING_LOST_OTHER counts
 * kinds of events that stayed disabled because the consumer did not answer, and RING_LOST_NESTED
 * records that a forked child could not place before it had rings of its own.
 */
#define AGENT_LOST_SLOT UINT32_MAX

/* What was said about an event, in short. */
struct agent_hash {
	uint64_t low, high;
};

/* One event that is or was offered to the consumer; the private pointer of its callback. */
struct agent_event {
	struct plan *plan;
	struct side_event_description *description;
	struct agent_hash hash;
	uint32_t id;
	bool recorded;   /* the consumer knows the id */
	bool large;      /* a record of it did not fit the stack (atomic) */
	bool registered; /* our callback is on it */
};

/* The events of one notification that match the patterns, in one mapping with their plans. */
struct agent_batch {
	struct agent_batch *next;
	struct side_event_description **key; /* the array that names the batch in notifications */
	size_t mapped;
	uint32_t nr_events;
	struct agent_event events[];
};

struct agent {
	/* Where records go; NULL: nowhere. Changes only before callbacks exist and after a fork. */
	struct ring_producer *producer;
	atomic_bool exiting; /* destructors run: other threads may still be in callbacks */
	bool gone;           /* the consumer does not answer any more */
	bool list_only;
	int seccomp; /* mode at the start */
	bool debug;
	unsigned int failures;
	int socket; /* the first connection while it is open, else -1 */
	uint64_t token;
	uint64_t key;              /* libside's name for us */
	struct wire_config config; /* strings do not stay */
	struct pattern *patterns;
	uint32_t nr_patterns;
	size_t patterns_mapped;
	uint32_t next_id;
	struct agent_batch *batches;
	struct side_tracer_handle *tracer;
	char path[108];
};

extern struct agent agent __attribute__((visibility("hidden")));

/*
 * Per thread: how many of our callbacks are active, and whether this is the child of a vfork(),
 * which runs in its parent's memory but without its parent's restartable sequences.
 */
extern __thread unsigned int agent_depth
		__attribute__((tls_model("initial-exec"), visibility("hidden")));
extern __thread unsigned int agent_vforked
		__attribute__((tls_model("initial-exec"), visibility("hidden")));

#define agent_debug(...)                          \
	do {                                      \
		if (agent.debug)                  \
			agent_print(__VA_ARGS__); \
	} while (0)
void agent_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* process.c: 0 or a negative errno, when nothing is recorded. */
int agent_start(const char *path);
void agent_stop(void); /* for tests: the program is as before, rings unmapped */

/* exchange.c */
int agent_hello(uint64_t parent_token, int *ring_fd, int *doorbell_fd);
int agent_send_events(const void *stream, size_t size,
		void (*refused)(void *user, uint32_t id, uint32_t reason), void *user);
int agent_bye(void);
void agent_hang_up(void);
bool agent_is_sandboxed(void);

/* batch.c */
void agent_batches_changed(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr_events, void *priv);
int agent_batches_send_again(void);
void agent_batches_forget(void);

/* spare.c */
struct agent_hash agent_hash(const void *bytes, size_t size);
void agent_spare_put(struct agent_hash hash, uint32_t id);
bool agent_spare_take(struct agent_hash hash, uint32_t *id);
void agent_spare_forget(void);

/* record.c */
void agent_record(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller);
void agent_record_variadic(const struct side_event_description *description,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller);
int agent_pool_create(void);
void agent_pool_reset(void);
void agent_pool_destroy(void);

#endif
