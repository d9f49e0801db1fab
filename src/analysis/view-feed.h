/* SPDX-License-Identifier: MIT */
/*
 * The lines of all streams of a trace, in batches that worker threads fill ahead.
 *
 * Each stream has two batches: one is shown while the other is filled. Each worker fills the
 * batches of one stream at a time. The showing thread fills a batch itself if it is not ready and
 * no worker fills it. So the lines are the same with any number of threads, also with none.
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

/* Starts `threads` workers, or none. 0 or -ENOMEM. */
int view_feed_start(struct view_feed **ret_feed, struct view_lines *lines,
		struct ctf_reader *reader, unsigned int threads);

/*
 * The next batch of the stream, which is never empty; NULL at the end. The previous batch of this
 * stream becomes invalid. *ret_error is set to -ENOMEM if an allocation failed, and unchanged
 * otherwise.
 */
const struct view_batch *view_feed_next(struct view_feed *feed, uint32_t stream, int *ret_error);

/* Whether view_feed_next() has to wait, or to fill a batch itself. */
bool view_feed_is_empty(struct view_feed *feed, uint32_t stream);

/* Ends the threads and frees the feed, also before the end of the streams. */
void view_feed_stop(struct view_feed *feed);

#endif /* SIDE_ANALYSIS_VIEW_FEED_H */
