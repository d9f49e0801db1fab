/* SPDX-License-Identifier: MIT */
/* A case of the exploration of the real code, and the mutations of its protocol. */
#ifndef TESTS_RING_EXPLORE_CASES_H
#define TESTS_RING_EXPLORE_CASES_H

#include "explore.h"
#include "ring/ring.h"

#define RECORDS_MAX 8
#define EPOCH (UINT64_C(1) << 27)
#define REPEAT (EPOCH << 24)

struct record {
	uint32_t id;
	uint32_t size;
};

/* The case, and the bounds of its exploration. */
struct scenario {
	const char *name;
	enum ring_mode mode;
	const struct record *script;
	uint32_t records;
	uint32_t interrupts; /* Restarts, handlers, threads that are killed. */
	uint32_t leaps;      /* Of the clock, by an epoch, or until epochs repeat. */
	uint32_t kills;      /* Of the consumer. */
	uint32_t timeouts;   /* Waits that end by a timeout. */
	uint64_t begin;      /* Of the clock. */
};

/* Mutations of the protocol: of the producer, or of the consumer (C). */
enum mutation {
	NO_MUTATION,
	/* Overwriting. */
	CLAIM_DROPPED,  /* No claim is stored. */
	CLAIM_FALLS,    /* A shorter record undoes the claim of an attempt at a longer one. */
	CLAIM_LATE,     /* The claim is stored after the bytes. */
	CLAIM_UNFENCED, /* The claim may leave the store buffer after the bytes. */
	CLAIM_EARLY,    /* C: the claim is read before the copy. */
	CLAIM_NOT,      /* C: only the head is checked. */
	MARK_ONE,       /* A record over several sub-buffers marks only the last one. */
	NOT_EXTENDED,   /* The first record of a sub-buffer may be compact. */
	/* Any mode. */
	HEAD_EARLY,   /* The head before the bytes. */
	ALIAS_KEPT,   /* The head keeps an epoch that matches by chance, 2^51 ticks later. */
	TIME_LATE,    /* The head before last_timestamp. */
	TAIL_IGNORED, /* The producer assumes space without a check. */
	TAIL_EARLY,   /* C: the tail is released before the data is read. */
	NOTE_LATE,    /* C: the tail is stored before the mark with its time. */
	/* Waiting. */
	WAITER_UNFENCED,  /* `waiting` may leave the store buffer after the tail was read. */
	RELEASE_UNFENCED, /* C: the tail may leave the store buffer after `waiting` was read. */
	WAIT_UNSEEN,      /* The futex does not compare. */
	RING_UNFENCED,    /* The head may leave the store buffer after `sleeping` was read. */
	ARM_UNFENCED,     /* C: `sleeping` may leave the store buffer after the heads were read. */
};

struct machine_count explore(const struct scenario *scenario, enum mutation mutation);

#endif /* TESTS_RING_EXPLORE_CASES_H */
