/* SPDX-License-Identifier: MIT */
/* Lost events by reason: the explanation of each reason, and a hint how to keep the events. */
#ifndef PROGRAMS_SIDE_SESSION_LOSSES_H
#define PROGRAMS_SIDE_SESSION_LOSSES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "recorder/core/session.h"

#define LOST_REASONS_MAX 32

/* The verb that prints the losses. Its hints name options of that verb. */
enum lost_verb {
	LOST_OF_RECORD,
	LOST_OF_TRACE,
	LOST_OF_ATTACH,
	LOST_OF_SESSION,
	LOST_OF_RECOVER,
	LOST_OF_ANSWER, /* verbs such as `side leaks`, which have few options for recording */
};

struct lost_sums {
	enum lost_verb verb;
	uint64_t ring_size; /* of the largest ring with losses; 0: unknown */
	uint64_t total;
	size_t nr;
	struct {
		const char *reason; /* owned by the caller */
		uint64_t count;
	} reasons[LOST_REASONS_MAX];
};

/* Adds `count` lost events for this reason. */
void lost_add(struct lost_sums *losses, const char *reason, uint64_t count);
/*
 * Sets the total number of lost events, and sorts the reasons by count. Losses without a reason
 * belong to exited processes, or were too many to be counted separately. They get a reason of their
 * own, so that the counts add up to the total.
 */
void lost_end(struct lost_sums *losses, uint64_t total);

/* Adds the losses of the summary, and calls lost_end(). */
void lost_add_summary(
		struct lost_sums *losses, const struct session_summary *summary, uint64_t total);

/*
 * Prints "side: 12 events were lost while a ring was full" and hints, or a line for each reason.
 * Prints nothing if no event was lost.
 */
void lost_print(const struct lost_sums *losses);
/* Prints [{"reason":"ring full","count":12,"hint":"..."}]. */
void lost_json(FILE *out, const struct lost_sums *losses);

#endif /* PROGRAMS_SIDE_SESSION_LOSSES_H */
