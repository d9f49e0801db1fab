/* SPDX-License-Identifier: MIT */
#ifndef TESTS_AGENT_CONSUMER_H
#define TESTS_AGENT_CONSUMER_H

/*
 * A consumer in a thread of the test, which answers as it is told and looks into the rings. So the
 * agent can be tested in one process, under the sanitizers.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring/ring.h"
#include "protocol/protocol.h"

#define CONSUMER_EVENTS_MAX 256 /* of a channel */
#define CONSUMER_CHANNELS_MAX 4

enum consumer_answer {
	ANSWER_WELL,
	ANSWER_REFUSE,  /* CONFIG: not accepted */
	ANSWER_NOTHING, /* hold the line */
	ANSWER_HANG_UP,
	ANSWER_GARBAGE,
	ANSWER_NO_FDS,
	ANSWER_WRONG_FDS, /* descriptors of something else; to REFRESH: descriptors */
};

/* Strings in a row where there are several. */
struct consumer_rule {
	const char *patterns;
	uint32_t nr_patterns;
	const char *filter; /* text */
	const char *contexts;
	uint32_t nr_contexts;
};

struct consumer_channel {
	const char *name;
	const struct consumer_rule *rules;
	uint32_t nr_rules;
	const char *contexts;
	uint32_t nr_contexts;
	enum ring_mode mode;
	enum ring_placement placement;
};

/* What was heard of a channel. */
struct consumer_heard {
	struct ring_consumer *rings;
	struct ring_geometry geometry;
	uint32_t nr_events;
	char names[CONSUMER_EVENTS_MAX][64];    /* by id */
	char contexts[CONSUMER_EVENTS_MAX][64]; /* with commas between them */
};

struct consumer {
	/* Set before consumer_start(), or while nothing talks. */
	enum consumer_answer to_hello;
	enum consumer_answer to_events;
	enum consumer_answer to_refresh;
	const struct consumer_channel *channels; /* none: `ring` with one rule of these patterns: */
	uint32_t nr_channels;
	const char *patterns; /* strings in a row */
	uint32_t nr_patterns;
	uint64_t ring_size;
	const char *refuse; /* name of the event that is refused */
	bool list_only;
	uint64_t generation; /* 0: 1 */
	uint64_t statedump;
	uint64_t mutate; /* a seed: damage what is said, and hang up then */

	/* What was heard. Read it when nothing talks. */
	unsigned int hellos;
	unsigned int refreshes;
	uint64_t token; /* of the last HELLO */
	unsigned int batches;
	unsigned int byes;
	uint32_t nr_events; /* of all channels */
	uint64_t parent_token;
	struct consumer_heard heard[CONSUMER_CHANNELS_MAX];

	unsigned char *message;
	unsigned char *stream;
	size_t stream_size;
	char dir[64];
	char path[80];
	int listener;
	int stop[2];
	pthread_t thread;
	pthread_mutex_t lock; /* held by the thread while it works, by consumer_sync() for a moment */
};

void consumer_start(struct consumer *consumer);
void consumer_stop(struct consumer *consumer);

/*
 * Around reading what was heard or changing what to answer: waits until the thread waits. What follows
 * it is ordered after what the thread did before, and the other way round.
 */
void consumer_sync(struct consumer *consumer);

/* The id of a described event of a channel; fails the test if there is none. Or is there one? */
uint32_t consumer_id(struct consumer *consumer, uint32_t channel, const char *name);
bool consumer_knows(struct consumer *consumer, uint32_t channel, const char *name);

/* Sum over all rings of what was lost for this event slot (UINT32_MAX: the last slot). */
uint64_t consumer_lost(struct consumer *consumer, uint32_t slot, enum ring_loss reason);
uint64_t consumer_lost_in(
		struct consumer *consumer, uint32_t channel, uint32_t slot, enum ring_loss reason);

/*
 * Take all records out of the rings. Their payloads must be `payload` bytes each, whatever the
 * event; visit() sees them in the order of each ring. Returns how many there were.
 */
uint64_t consumer_drain(struct consumer *consumer, size_t payload,
		void (*visit)(void *user, uint32_t cpu, uint32_t id, const unsigned char *payload),
		void *user);
uint64_t consumer_drain_channel(struct consumer *consumer, uint32_t channel, size_t payload,
		void (*visit)(void *user, uint32_t cpu, uint32_t id, const unsigned char *payload),
		void *user);

#endif
