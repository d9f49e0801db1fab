/* SPDX-License-Identifier: MIT */
/* What is explored of the real code: a case, and what is broken in it. */
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

/* What is explored, and how much of it. */
struct scenario {
	const char *name;
	enum ring_mode mode;
	const struct record *script;
	uint32_t records;
	uint32_t interrupts; /* Restarts, handlers, threads that give up. */
	uint32_t leaps;      /* Of the clock, by an epoch, or until epochs repeat. */
	uint32_t kills;      /* Of the consumer. */
	uint32_t timeouts;   /* Waits that end early. */
	uint64_t begin;      /* Of the clock. */
};

/* Ways to break the protocol: of the producer, unless it is the consumer's (C). */
enum mutation {
	NO_MUTATION,
	/* Overwriting. */
	CLAIM_DROPPED,  /* No claim is stored. */
	CLAIM_FALLS,    /* A shorter record takes back the claim of an attempt at a longer one. */
	CLAIM_LATE,     /* The claim is stored after the bytes. */
	CLAIM_UNFENCED, /* The claim may come out after the bytes. */
	CLAIM_EARLY,    /* C: the claim is read before the copy. */
	CLAIM_NOT,      /* C: goes by the head alone. */
	MARK_ONE,       /* A record over several blocks marks the last one only. */
	NOT_EXTENDED,   /* The first record of a block may be compact. */
	/* Any mode. */
	HEAD_EARLY,   /* The head before the bytes. */
	ALIAS_KEPT,   /* The head keeps an epoch that is right by chance, 2^51 ticks later. */
	TIME_LATE,    /* The head before last_timestamp. */
	TAIL_IGNORED, /* There is always room. */
	TAIL_EARLY,   /* C: releases before it reads. */
	NOTE_LATE,    /* C: the tail before the mark that says its time. */
	/* Waiting. */
	WAITER_UNFENCED,  /* `waiting` may come out after the tail was read. */
	RELEASE_UNFENCED, /* C: the tail may come out after `waiting` was read. */
	WAIT_UNSEEN,      /* The futex does not compare. */
	RING_UNFENCED,    /* The head may come out after `sleeping` was read. */
	ARM_UNFENCED,     /* C: `sleeping` may come out after the heads were read. */
};

struct machine_count explore(const struct scenario *scenario, enum mutation mutation);

#endif /* TESTS_RING_EXPLORE_CASES_H */
