/* SPDX-License-Identifier: MIT */
/* Showing a trace while it is being recorded. */
#ifndef SIDE_ANALYSIS_VIEW_FOLLOW_H
#define SIDE_ANALYSIS_VIEW_FOLLOW_H

#include "analysis/view-merge.h"

/*
 * Shows events until the recorders have ended, or until Ctrl-C. Results as those of view_merge().
 */
int view_follow(struct view *view, struct ctf_reader *reader);

/*
 * Opens a trace. With `wait`, waits until a directory that is being recorded to has a trace.
 * Results as those of ctf_reader_open().
 */
int view_open(const char *dir, bool wait, struct ctf_reader **ret_reader, struct error *error);

#endif /* SIDE_ANALYSIS_VIEW_FOLLOW_H */
