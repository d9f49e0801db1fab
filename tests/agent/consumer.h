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
#include "wire/wire.h"

#define CONSUMER_EVENTS_MAX 256

enum consumer_answer {
	ANSWER_WELL,
	ANSWER_REFUSE,  /* CONFIG: not accepted */
	ANSWER_NOTHING, /* hold the line */
	ANSWER_HANG_UP,
	ANSWER_GARBAGE,
	ANSWER_NO_FDS,
	ANSWER_WRONG_FDS, /* descriptors of something else */
};

struct consumer {
	/* Set before consumer_start(), or while nothing talks. */
	enum consumer_answer to_hello;
	enum consumer_answer to_events;
	const char *patterns; /* strings in a row */
	uint32_t nr_patterns;
	uint64_t ring_size;
	const char *refuse; /* name of the event that is refused */

	/* What was heard. Read it when nothing talks. */
	unsigned int hellos;
	unsigned int batches;
	uint32_t nr_events;
	char names[CONSUMER_EVENTS_MAX][64]; /* by id */
	uint64_t parent_token;

	struct ring_consumer *rings;
	struct ring_geometry geometry;
	char dir[64];
	char path[80];
	int listener;
	int doorbell;
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

/* Sum over all rings of what was lost for this event slot (UINT32_MAX: the last slot). */
uint64_t consumer_lost(struct consumer *consumer, uint32_t slot, enum ring_loss reason);

/*
 * Take all records out of the rings. Their payloads must be `payload` bytes each, whatever the
 * event; visit() sees them in the order of each ring. Returns how many there were.
 */
uint64_t consumer_drain(struct consumer *consumer, size_t payload,
		void (*visit)(void *user, uint32_t cpu, uint32_t id, const unsigned char *payload),
		void *user);

#endif
