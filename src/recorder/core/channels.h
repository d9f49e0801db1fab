/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_CHANNELS_H
#define SIDE_RECORDER_CORE_CHANNELS_H

/*
 * Channels, rules, filters and contexts, as each process of the session gets them.
 *
 * Callers: the life of a session, connections, event classes, and all that read options. Main thread; the drain thread only reads
 * channels, which never change. Rules are the main thread's: a live session gets others. No lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/context.h"
#include "protocol/pattern.h"
#include "recorder/core/session.h"
#include "ring/ring.h"

#define LIMIT_RULE_TEXT 32768 /* bytes of a rule's patterns, and of its contexts */

/* Contexts: their names in a row, as in messages, and their meaning. */
struct context_list {
	char *names;
	size_t size; /* of the names */
	struct context_spec *specs;
	uint32_t nr;
};

/* Some events of a channel. */
struct rule {
	char *patterns; /* strings in a row; none: all events */
	struct pattern *parsed;
	uint32_t nr_patterns, nr_parsed; /* some texts are several patterns */
	struct context_list contexts;
	char *filter; /* as the user wrote it, or NULL */
	void *program;
	size_t program_size;
	/* Of the events that the patterns match: */
	bool met;      /* the filter fits one of them */
	char *missing; /* why it does not fit another one */
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
	bool counts; /* nothing but its events, for a trigger; after all channels that record */
};

int channels_take(struct session *session, const struct session_options *options,
		struct session_error *error);
/* Replace the rules of some channels, whose other options must be the same; or change nothing. */
int channels_change(struct session *session, const struct session_channel *channels, size_t nr,
		struct session_error *error);
int channels_add_counter(struct session *session, const struct session_rule *rule, uint32_t *index,
		struct session_error *error);
void channel_free(struct channel *channel);
bool channel_is_name(const char *name);
int context_list_read(struct context_list *list, const char *names, uint32_t nr, size_t size);
void context_list_free(struct context_list *list);
/* Compare an event that a process described with the rules of its channel. */
void channel_meet(struct channel *channel, const struct side_event_description *event);
/* Does a listing show it? */
bool channel_wants(const struct channel *channel, const struct side_event_description *event);
/* Report which filters could match nothing. */
void channels_report(struct session *session);

static inline bool channel_overwrites(const struct channel *channel)
{
	return channel->mode == RING_MODE_OVERWRITE;
}

#endif
