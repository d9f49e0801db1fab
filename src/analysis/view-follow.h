/* SPDX-License-Identifier: MIT */
/* Showing a trace while it is being recorded. */
#ifndef SIDE_ANALYSIS_VIEW_FOLLOW_H
#define SIDE_ANALYSIS_VIEW_FOLLOW_H

#include "analysis/view-merge.h"

/* Until no recorder is at work any more, or Ctrl-C. As view_merge(). */
int view_follow(struct view *view, struct ctf_reader *reader);

/* ctf_reader_open(); if told to wait, until there is a trace in a directory being recorded to. */
int view_open(const char *dir, bool wait, struct ctf_reader **reader, struct ctf_error *error);

#endif /* SIDE_ANALYSIS_VIEW_FOLLOW_H */
