/* SPDX-License-Identifier: MIT */
/*
 * The calls of a trace in the order of time, for a profile of each thread.
 *
 * Memory is bounded: a trace with more than FLAME_SLICES_MAX calls keeps none.
 */
#ifndef SIDE_ANALYSIS_FLAME_SLICES_H
#define SIDE_ANALYSIS_FLAME_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/report-calls.h"

#define FLAME_SLICES_MAX 500000 /* calls with a return */

/* Empty if all members are 0. */
struct flame_slices {
	struct calls_slice *items;
	size_t nr, capacity;
	int64_t first_ns; /* set by flame_slices_sort() */
	bool is_full;     /* there were more calls: none is kept */
};

/* From now on, keep each call that returns. */
void flame_slices_collect(struct flame_slices *slices, struct report_calls *calls);
/* After the last event: by thread, then by time, an outer call before its callees. */
void flame_slices_sort(struct flame_slices *slices);
bool flame_slices_is_same_thread(const struct calls_slice *one, const struct calls_slice *other);
void flame_slices_free(struct flame_slices *slices);

#endif /* SIDE_ANALYSIS_FLAME_SLICES_H */
