/* SPDX-License-Identifier: MIT */
/* Showing a trace while it is being recorded. */
#include "cmd/side/view-follow.h"

int view_follow(struct view *view, struct ctf_reader *reader)
{
	return view_merge(view, reader);
}
