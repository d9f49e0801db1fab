/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_EVENT_CLASSES_H
#define SIDE_RECORDER_CORE_EVENT_CLASSES_H

/*
 * The event classes that processes describe: parses the stream of descriptions, and keeps the
 * descriptions until the trace is complete.
 *
 * The main thread adds event classes; the drain thread reads and removes them. Both hold the
 * session's lock. A stream is used only by the thread that reads it and needs no lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/protocol.h"
#include "recorder/core/channels.h"

struct instance;
struct session;
struct visit_owned;

#define LIMIT_EVENTS 262144          /* event classes of an instance */
#define LIMIT_DESCRIPTION (1u << 20) /* bytes of one encoded description */
#define LIMIT_INSTANCE_DESCRIPTIONS (64ull << 20)
#define LIMIT_SESSION_DESCRIPTIONS (256ull << 20)

/* An event class that an instance described. */
struct event_class {
	uint32_t channel;
	uint32_t id;
	struct visit_owned *owned;
	struct context_list contexts; /* its own contexts, in addition to the channel's */
};

/*
 * Parses descriptions in the format of EVENTS messages. They arrive in pieces that can end at any
 * byte.
 */
struct class_stream {
	unsigned char *pending; /* an incomplete entry, including its head */
	size_t size, capacity;
	uint64_t skip; /* remaining bytes of an entry that is too large */
};

/* Adds an event class. Returns the reason of a refusal, or WIRE_REFUSAL_NONE. Takes the lock. */
enum wire_refusal classes_add(struct session *session, struct instance *instance,
		const struct wire_event_head *head, const void *bytes);
/*
 * Called for each entry of the stream, or with the entry's error in `refusal`. Returns false if out
 * of memory.
 */
typedef bool class_visit(void *user, const struct wire_event_head *head, const void *bytes,
		enum wire_refusal refusal);
/* Parses the next bytes of the stream. Returns 0 or -ENOMEM. */
int class_stream_feed(struct class_stream *stream, const void *bytes, size_t size,
		class_visit *visit, void *user);
bool class_stream_is_whole(const struct class_stream *stream);
void class_stream_free(struct class_stream *stream);
/* Frees the event classes of an instance whose trace is complete. Takes the lock. */
void classes_forget(struct session *session, struct instance *instance);
/*
 * Returns "provider:event" for a slot of loss counters, "" if it belongs to no event class, or NULL
 * if out of memory. The caller frees it. The caller holds the lock, unless the instance cannot get
 * event classes any more.
 */
char *classes_name(const struct instance *instance, uint32_t channel, uint32_t slot);

#endif
