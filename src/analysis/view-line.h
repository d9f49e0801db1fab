/* SPDX-License-Identifier: MIT */
/*
 * One item of a trace as one line. What is the same for all records of an event, a trace, a second
 * is made once; a record costs its values.
 */
#ifndef SIDE_ANALYSIS_VIEW_LINE_H
#define SIDE_ANALYSIS_VIEW_LINE_H

#include <pthread.h>

#include "analysis/view-show.h"
#include "analysis/view-sink.h"
#include "analysis/view.h"
#include "ctf/ctf.h"

/* What all threads share. */
struct view_lines {
	const struct view_options *options;
	const struct view_sink_ops *ops;
	bool has_times;
	int64_t from_ns; /* Both included. */
	int64_t to_ns;
	struct symbols *symbols; /* NULL: not asked for. */
	pthread_mutex_t mutex;   /* Whoever makes what stands in ctf_event_class.user holds it. */
};

/* What each thread has for itself. */
struct view_line {
	struct view_lines *lines;
	struct view_sink sink;
	/* The broken-down second that was printed last. */
	bool has_second;
	int64_t second;
	char second_text[32];
	size_t second_size;
	/* The process and the CPU, as they stood in the line of the event before. */
	const struct ctf_trace *trace;
	int64_t cpu;
	struct view_out location;
};

enum view_entry_kind {
	VIEW_ENTRY_EVENT,
	VIEW_ENTRY_DISCARDED, /* `count` events lost, as the packets say … */
	VIEW_ENTRY_LOST,      /* … and as the recorder says. */
	VIEW_ENTRY_DAMAGE,    /* A sentence of `head` bytes, then what goes to the output. */
	VIEW_ENTRY_NOTE,      /* A sentence of `head` bytes. */
	VIEW_ENTRY_OTHER,
};

/* A line that waits for its turn. */
struct view_entry {
	int64_t ns;
	uint64_t cycles;
	uint64_t count;
	size_t size;   /* Bytes, in the buffer behind those of the entry before it. */
	uint32_t head; /* Text: so many of them stand before the time since the last event. */
	uint8_t kind;  /* enum view_entry_kind */
	bool timed;
	bool cut; /* VIEW_ENTRY_DAMAGE: can be mended. */
};

void view_lines_start(struct view_lines *lines, const struct view_options *options);
void view_lines_stop(struct view_lines *lines, struct ctf_reader *reader);

/* Free what stood in ctf_event_class.user. */
void view_lines_forget(void *class);

void view_line_start(struct view_line *line, struct view_lines *lines, struct view_out *out);
void view_line_stop(struct view_line *line);

/*
 * Write the item into the sink's buffer: 1 and the entry, 0 when it is not wanted, -ENOMEM. Notes
 * are not written: the caller says them.
 */
int view_line_item(struct view_line *line, const struct ctf_item *item, struct view_entry *entry);

#endif /* SIDE_ANALYSIS_VIEW_LINE_H */
