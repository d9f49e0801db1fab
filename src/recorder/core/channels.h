/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_CHANNELS_H
#define SIDE_RECORDER_CORE_CHANNELS_H

/*
 * Channels with their rules, filters and contexts, in the form in which each process of the session
 * gets them.
 *
 * Callers: the session's start and changes, connections, event classes, and all parts that read
 * options. The main thread creates channels and replaces their rules. The drain thread reads only
 * members that never change, so no lock is needed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/context.h"
#include "protocol/pattern.h"
#include "recorder/core/session.h"
#include "ring/ring.h"

#define LIMIT_RULE_TEXT 32768 /* bytes of all patterns of a rule, and of all its contexts */

/*
 * Event classes with an id below this have loss counters of their own. The last slot counts events
 * without a class (tracers/agent/core/session.h).
 */
#define EVENT_SLOTS 4096

/*
 * A list of contexts: their names, each with a terminating zero as in messages, and their parsed
 * form.
 */
struct context_list {
	char *names;
	size_t size; /* bytes in `names` */
	struct context_spec *specs;
	uint32_t nr;
};

/* Selects some events of a channel. */
struct rule {
	/* strings, one after the other, each with a terminating zero; none: all events */
	char *patterns;
	struct pattern *parsed;
	/* nr_parsed can be larger: one text can contain several patterns */
	uint32_t nr_patterns, nr_parsed;
	struct context_list contexts;
	char *filter; /* as the user wrote it, or NULL */
	void *program;
	size_t program_size;
	/* Result of channel_meet() for the events that the patterns match: */
	bool met;      /* the filter is valid for at least one of them */
	char *missing; /* why the filter is not valid for another one */
};

struct channel {
	char *name;
	enum ring_mode mode;
	enum ring_placement placement;
	uint32_t rings;
	uint64_t ring_size;
	uint32_t block_timeout_us;
	struct context_list contexts;
	struct rule *rules;
	uint32_t nr_rules;
	/* only counts events for a trigger; such channels follow all channels that record */
	bool counts;
};

int channels_take(struct session *session, const struct session_options *options,
		struct error *error);
/*
 * Replaces the rules of some channels, whose other options must be unchanged. On an error, nothing
 * is changed.
 */
int channels_change(struct session *session, const struct session_channel *channels, size_t nr,
		struct error *error);
int channels_add_counter(struct session *session, const struct session_rule *rule,
		uint32_t *ret_index, struct error *error);
void channel_free(struct channel *channel);
bool channel_is_name(const char *name);
int context_list_read(struct context_list *ret_list, const char *names, uint32_t nr, size_t size);
void context_list_free(struct context_list *list);
/*
 * Checks the rules of the channel against an event that a process described. channels_report()
 * prints the result.
 */
void channel_meet(struct channel *channel, const struct side_event_description *event);
/* True if a listing of the channel contains the event. */
bool channel_wants(const struct channel *channel, const struct side_event_description *event);
/* Reports filters that could not match any event. */
void channels_report(struct session *session);

static inline bool channel_overwrites(const struct channel *channel)
{
	return channel->mode == RING_MODE_OVERWRITE;
}

/* True if one of the session's channels does. */
bool channels_any_overwrites(const struct session *session);

#endif
