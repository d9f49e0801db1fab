/* SPDX-License-Identifier: MIT */
/* Showing a trace: the lines of all streams in one row by time, and what is said beside them. */
#ifndef SIDE_ANALYSIS_VIEW_MERGE_H
#define SIDE_ANALYSIS_VIEW_MERGE_H

#include <stdio.h>

#include "analysis/view-feed.h"

struct view {
	const struct view_options *options;
	struct view_lines lines;
	FILE *out;
	struct view_out buffer; /* What goes to `out` next. */
	bool damaged;
	int write_error; /* errno */
	bool has_last;
	int64_t last_ns;  /* Of the event shown last. */
	uint64_t entries; /* Lines and messages so far. */
	uint64_t shown;
	uint64_t discarded; /* Events lost, as the packets say … */
	uint64_t lost;      /* … and as the recorder says: mostly the same ones. */
};

/* Report a sentence; what is shown before it comes first. hint may be NULL. */
void view_report(struct view *view, enum analysis_message kind, const char *hint,
		const char *sentence);

/* Show one entry, whose bytes are given. */
void view_show_entry(struct view *view, const struct view_entry *entry, const char *bytes);

/* Write what has been shown until now. */
void view_flush(struct view *view);

/* Enough: the limit is reached, or nobody can read on. */
bool view_is_over(const struct view *view);

/* All streams. 0 at the end, or a negative errno; what cannot be written is in write_error. */
int view_merge(struct view *view, struct ctf_reader *reader);

#endif /* SIDE_ANALYSIS_VIEW_MERGE_H */
