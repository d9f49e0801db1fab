/* SPDX-License-Identifier: MIT */
#ifndef TESTS_AGENT_CONSUMER_H
#define TESTS_AGENT_CONSUMER_H

/*
 * A consumer in a thread of the test, which answers as the test requests and reads the rings. With
 * it, the agent can be tested in one process, under the sanitizers.
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
	ANSWER_NOTHING, /* keep the connection open without an answer */
	ANSWER_HANG_UP,
	ANSWER_GARBAGE,
	ANSWER_NO_FDS,
	ANSWER_WRONG_FDS, /* wrong descriptors; to REFRESH: descriptors that it must not have */
};

/* A member with several strings holds them one after the other. */
struct consumer_rule {
	const char *patterns;
	uint32_t nr_patterns;
	const char *filter; /* expression */
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

/* What the agent has reported about a channel. */
struct consumer_heard {
	struct ring_consumer *rings;
	struct ring_geometry geometry;
	uint32_t nr_events;
	char names[CONSUMER_EVENTS_MAX][64];    /* by id */
	char contexts[CONSUMER_EVENTS_MAX][64]; /* separated by commas */
};

struct consumer {
	/* Set these before consumer_start(), or while no thread sends messages. */
	enum consumer_answer to_hello;
	enum consumer_answer to_events;
	enum consumer_answer to_refresh;
	/* NULL: one channel `ring` with one rule of these patterns: */
	const struct consumer_channel *channels;
	uint32_t nr_channels;
	const char *patterns; /* adjacent strings */
	uint32_t nr_patterns;
	uint64_t ring_size;
	const char *refuse; /* name of the event that the consumer refuses */
	bool list_only;
	uint64_t generation; /* 0 means 1 */
	uint64_t statedump;
	uint64_t mutate; /* a seed: damage the messages, then close the connection */

	/* What the consumer has received. Read it only while no thread sends messages. */
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
	/* The consumer's thread holds it while it works; consumer_sync() takes it briefly. */
	pthread_mutex_t lock;
};

void consumer_start(struct consumer *consumer);
void consumer_stop(struct consumer *consumer);

/*
 * Call this before reading the results and before changing the answers: it waits until the
 * consumer's thread is idle. All that the thread did before is visible afterwards, and the thread
 * sees all that was stored before.
 */
void consumer_sync(struct consumer *consumer);

/*
 * Returns the id of a described event of a channel; fails the test if there is none.
 * consumer_knows() reports whether there is one.
 */
uint32_t consumer_id(struct consumer *consumer, uint32_t channel, const char *name);
bool consumer_knows(struct consumer *consumer, uint32_t channel, const char *name);

/* Returns the sum over all rings of the losses of this event slot (UINT32_MAX: the last slot). */
uint64_t consumer_lost(struct consumer *consumer, uint32_t slot, enum ring_loss reason);
uint64_t consumer_lost_in(
		struct consumer *consumer, uint32_t channel, uint32_t slot, enum ring_loss reason);

/*
 * Consumes all records of the rings. Each payload must have `payload` bytes; visit() gets them in
 * the order of each ring. Returns the number of records.
 */
uint64_t consumer_drain(struct consumer *consumer, size_t payload,
		void (*visit)(void *user, uint32_t cpu, uint32_t id, const unsigned char *payload),
		void *user);
uint64_t consumer_drain_channel(struct consumer *consumer, uint32_t channel, size_t payload,
		void (*visit)(void *user, uint32_t cpu, uint32_t id, const unsigned char *payload),
		void *user);

#endif
