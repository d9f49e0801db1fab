/* SPDX-License-Identifier: MIT */
/*
 * One item of a trace as one line. Parts that are equal for all records of an event class, of a
 * trace, or of a second are made once; each record then costs its values only.
 */
#ifndef SIDE_ANALYSIS_VIEW_LINE_H
#define SIDE_ANALYSIS_VIEW_LINE_H

#include <pthread.h>

#include "analysis/view-options.h"
#include "analysis/view-show.h"
#include "analysis/view-sink.h"
#include "analysis/view-tree-line.h"
#include "ctf/ctf.h"

/* Shared by all threads. */
struct view_lines {
	const struct view_options *options;
	const struct view_sink_ops *ops;
	bool tree; /* entries and returns of functions are shown as a tree */
	bool has_times;
	int64_t from_ns; /* both included */
	int64_t to_ns;
	struct symbols *symbols; /* NULL: addresses stay numbers */
	pthread_mutex_t mutex;   /* held while ctf_event_class.user is created */
};

/* The state of one thread. */
struct view_line {
	struct view_lines *lines;
	struct view_sink sink;
	/* the last printed second as text */
	bool has_second;
	int64_t second;
	char second_text[32];
	size_t second_size;
	/* the process and the CPU, as in the line of the previous event */
	const struct ctf_trace *trace;
	int64_t cpu;
	struct view_out location;
	struct view_out sentence; /* a format with its arguments */
};

enum view_entry_kind {
	VIEW_ENTRY_EVENT,
	VIEW_ENTRY_CALL,      /* a struct view_tree_record, then its parts */
	VIEW_ENTRY_DISCARDED, /* `count` lost events, counted by the packets … */
	VIEW_ENTRY_LOST,      /* … and reported by the recorder */
	VIEW_ENTRY_DAMAGE,    /* a message of `head` bytes, then bytes for the output */
	VIEW_ENTRY_NOTE,      /* a message of `head` bytes */
	VIEW_ENTRY_OTHER,
};

/* A line that has not been shown. */
struct view_entry {
	int64_t ns;
	uint64_t cycles;
	uint64_t count;
	size_t size;   /* its bytes follow those of the previous entry in the buffer */
	uint32_t head; /* text: bytes before the time since the last event */
	/* In a tree: bytes before the name of the event, and where the event happened. */
	uint32_t body;
	uint32_t trace;
	int64_t thread; /* -1: not recorded */
	uint8_t kind;   /* enum view_entry_kind */
	bool timed;
	bool cut; /* VIEW_ENTRY_DAMAGE: can be repaired */
};

void view_lines_start(struct view_lines *lines, const struct view_options *options);
void view_lines_stop(struct view_lines *lines, struct ctf_reader *reader);

/* Frees ctf_event_class.user. */
void view_lines_forget(void *class);

void view_line_start(struct view_line *line, struct view_lines *lines, struct view_out *out);
void view_line_stop(struct view_line *line);

/*
 * Writes the item into the buffer of the sink. 1 and the entry; 0 if the item is not wanted;
 * -ENOMEM. A note is not written: the caller reports it.
 */
int view_line_item(
		struct view_line *line, const struct ctf_item *item, struct view_entry *ret_entry);

#endif /* SIDE_ANALYSIS_VIEW_LINE_H */
