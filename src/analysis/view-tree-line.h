/* SPDX-License-Identifier: MIT */
/*
 * An entry or a return of a function as parts of a line of the tree of calls.
 *
 * Probes with `--exit` record the events NAME and NAME_return, with the same number in the field
 * `call` (analysis/report-calls.h). Such pairs are shown as a tree if both are wanted. Which line a
 * part belongs to depends on the next event of the thread, so that view-tree.c composes the lines.
 */
#ifndef SIDE_ANALYSIS_VIEW_TREE_LINE_H
#define SIDE_ANALYSIS_VIEW_TREE_LINE_H

#include "analysis/view-options.h"
#include "analysis/view-show.h"
#include "analysis/view-sink.h"
#include "ctf/ctf.h"

enum view_tree_kind { VIEW_TREE_OTHER, VIEW_TREE_ENTRY, VIEW_TREE_RETURN };

/* What the events of a class are for the tree. */
struct view_tree_class {
	uint8_t kind;  /* enum view_tree_kind */
	uint8_t scope; /* enum view_tree_scope: where the thread is recorded */
	uint32_t thread;
	uint32_t pid, comm;                /* indexes of members, with the thread in the fields */
	uint32_t call, duration, function; /* indexes of members; `function` can be TREE_NONE */
	const char *name;                  /* the function, without such a member */
	size_t name_size;
};

/* The parts of a line, whose bytes follow in this order. */
struct view_tree_record {
	uint64_t call;
	uint64_t duration;
	uint32_t time_size;
	uint32_t origin_size; /* the process and the thread */
	uint32_t name_size;
	uint32_t text_size;  /* entry: the arguments with their parentheses */
	uint32_t value_size; /* return: the returned value */
	uint32_t duration_size;
	uint32_t notes_size; /* further values */
	bool is_return;
};

/* Which events are wanted, as in struct view_options. */
struct view_tree_wanted {
	bool (*wanted)(void *context, const char *event, int loglevel); /* NULL: all */
	void *context;
};

/* Whether the trace has such pairs of events. */
bool view_tree_is_in(const struct view_tree_wanted *wanted, const struct ctf_reader *reader);

void view_tree_know(struct view_tree_class *class, const struct view_tree_wanted *wanted,
		const struct ctf_item *item);

/* The name of the function of a call. Not NUL-terminated. */
const char *view_tree_function(
		const struct view_tree_class *class, const struct ctf_item *item, size_t *ret_size);

/* The number of the thread; -1: not recorded. */
int64_t view_tree_thread(const struct view_tree_class *class, const struct ctf_item *item);

/*
 * Writes the process if the fields have it, as those of the kernel's probes do. Returns its number;
 * -1: they have not.
 */
int64_t view_tree_write_process(struct view_sink *sink, const struct view_tree_class *class,
		const struct ctf_item *item);

/* Sets the call and the duration of the record. False: a value is missing. */
bool view_tree_read(const struct view_tree_class *class, const struct ctf_item *item,
		struct view_tree_record *record);
/* Writes the parts from the name on, and sets their sizes. */
void view_tree_write(struct view_sink *sink, const struct view_tree_class *class,
		const struct view_event *event, const struct ctf_item *item,
		struct view_tree_record *record);

#endif /* SIDE_ANALYSIS_VIEW_TREE_LINE_H */
