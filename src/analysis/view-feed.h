/* SPDX-License-Identifier: MIT */
/*
 * The lines of all streams of a trace, in batches that are filled ahead.
 *
 * Each stream has two batches: one is being shown, one is being filled. Workers fill them, a stream
 * at a time each; who shows them fills one himself when it is not there yet and nobody is at it. So
 * any number of threads gives the same lines, and without a thread everything is done in turn.
 */
#ifndef SIDE_ANALYSIS_VIEW_FEED_H
#define SIDE_ANALYSIS_VIEW_FEED_H

#include "analysis/view-line.h"

struct view_batch {
	struct view_out out;
	struct view_entry *entries;
	uint32_t count;
	uint32_t capacity;
};

struct view_feed;

/* `threads` workers, 0: none. Returns 0, -ENOMEM. */
int view_feed_start(struct view_feed **feed, struct view_lines *lines, struct ctf_reader *reader,
		unsigned int threads);

/*
 * The next batch of the stream, which is never empty; NULL at its end. What was given before for
 * this stream is taken back. -ENOMEM in *error, which is not touched else.
 */
const struct view_batch *view_feed_next(struct view_feed *feed, uint32_t stream, int *error);

/* Whether view_feed_next() would have to wait or to work. */
bool view_feed_is_empty(struct view_feed *feed, uint32_t stream);

/* Ends the threads, wherever they are. */
void view_feed_stop(struct view_feed *feed);

#endif /* SIDE_ANALYSIS_VIEW_FEED_H */
