/* SPDX-License-Identifier: MIT */
/* Showing a trace: the lines of all streams ordered by time, and messages. */
#ifndef SIDE_ANALYSIS_VIEW_MERGE_H
#define SIDE_ANALYSIS_VIEW_MERGE_H

#include <stdio.h>

#include "analysis/view-feed.h"

struct view {
	const struct view_options *options;
	struct view_lines lines;
	FILE *out;
	struct view_tree *tree; /* NULL: each event has its own line */
	struct view_out buffer; /* bytes for the next write to `out` */
	bool damaged;
	int write_error; /* errno */
	bool has_last;
	int64_t last_ns;  /* time of the last shown event */
	uint64_t entries; /* lines and messages so far */
	uint64_t shown;
	uint64_t discarded; /* lost events, counted by the packets … */
	uint64_t lost;      /* … and reported by the recorder: mostly the same events */
};

/* Reports a message, after writing all earlier lines. `hint` may be NULL. */
void view_report(struct view *view, enum analysis_message kind, const char *hint,
		const char *sentence);

/* Shows one entry with these bytes. */
void view_show_entry(struct view *view, const struct view_entry *entry, const char *bytes);

/* Writes all lines that have been shown until now. */
void view_flush(struct view *view);

/* The limit is reached, or the output cannot be written. */
bool view_is_over(const struct view *view);

/*
 * From here on, shows entries and returns of functions as a tree if the trace has them and the
 * options permit it. 0 or -ENOMEM.
 */
int view_find_tree(struct view *view, struct ctf_reader *reader);

/*
 * Shows all streams. 0 at the end, or a negative errno. An error of the output is in write_error.
 */
int view_merge(struct view *view, struct ctf_reader *reader);

#endif /* SIDE_ANALYSIS_VIEW_MERGE_H */
