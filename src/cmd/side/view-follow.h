/* SPDX-License-Identifier: MIT */
/* Showing a trace while it is being recorded. */
#ifndef CMD_SIDE_VIEW_FOLLOW_H
#define CMD_SIDE_VIEW_FOLLOW_H

#include "cmd/side/view-merge.h"

/* Until no recorder is at work any more, or Ctrl-C. As view_merge(). */
int view_follow(struct view *view, struct ctf_reader *reader);

#endif /* CMD_SIDE_VIEW_FOLLOW_H */
