/* SPDX-License-Identifier: MIT */
/*
 * Events that were lost, by reason: what the reason is, and what would have kept them.
 */
#ifndef PROGRAMS_SIDE_SESSION_LOSSES_H
#define PROGRAMS_SIDE_SESSION_LOSSES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "recorder/core/session.h"

#define LOST_REASONS_MAX 32

/* Who tells: a mend is something that its user can do. */
enum lost_teller {
	LOST_OF_RECORD,
	LOST_OF_TRACE,
	LOST_OF_ATTACH,
	LOST_OF_SESSION,
	LOST_OF_RECOVER,
};

struct lost_sums {
	enum lost_teller teller;
	uint64_t ring_size; /* of the largest ring that lost something; 0: not known */
	uint64_t total;
	size_t nr;
	struct {
		const char *reason; /* the caller's */
		uint64_t count;
	} reasons[LOST_REASONS_MAX];
};

/* So many more for this reason. */
void lost_add(struct lost_sums *losses, const char *reason, uint64_t count);
/*
 * All of them: those that no reason was given for are of processes that are gone, or too many to be told apart, and get a
 * reason of their own, so that the reasons make up the whole. The one with the most comes first then.
 */
void lost_end(struct lost_sums *losses, uint64_t total);

/* Those that the summary tells apart, of so many; and all of these. */
void lost_take(struct lost_sums *losses, const struct session_summary *summary, uint64_t total);

/* "side: 12 events were lost while a ring was full; a larger ...", or a line for each reason. Nothing if there are none. */
void lost_print(const struct lost_sums *losses);
/* [{"reason":"ring full","count":12,"mend":"..."}] */
void lost_json(FILE *out, const struct lost_sums *losses);

#endif /* PROGRAMS_SIDE_SESSION_LOSSES_H */
