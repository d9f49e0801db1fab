/* SPDX-License-Identifier: MIT */
/*
 * The intervals of time in which a trace lost events. They are known before the events are read.
 *
 * The header of a packet contains the number of events lost since the end of the previous packet. A
 * reader reports the loss at that header, after the events among which it happened.
 */
#ifndef SIDE_ANALYSIS_REPORT_GAPS_H
#define SIDE_ANALYSIS_REPORT_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gap;

/* All zero: no gaps. */
struct gaps {
	struct gap *spans; /* sorted by trace, then by end */
	size_t count;
};

/* Reads the headers of all packets of all traces in `dir`. 0 or -ENOMEM. */
int gaps_read(struct gaps *gaps, const char *dir);
void gaps_free(struct gaps *gaps);

/* Whether the trace with this index may have lost an event between these times, both included. */
bool gaps_overlap(const struct gaps *gaps, uint32_t trace, int64_t begin, int64_t end);

#endif /* SIDE_ANALYSIS_REPORT_GAPS_H */
