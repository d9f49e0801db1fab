/* SPDX-License-Identifier: MIT */
/*
 * Makes the rows of `side explore`: the tables of a report as text, and the events by number.
 *
 * The screen asks for the rows that it shows. Numbers are those of `side report`, because a report
 * counts them.
 */
#ifndef SIDE_ANALYSIS_EXPLORE_H
#define SIDE_ANALYSIS_EXPLORE_H

#include "analysis/explore-answers.h"
#include "analysis/explore-events.h"
#include "analysis/explore-tree.h"
#include "analysis/report.h"

enum explore_view {
	EXPLORE_SUMMARY,
	EXPLORE_FUNCTIONS,
	EXPLORE_TREE,
	EXPLORE_EVENTS,
	EXPLORE_CLASSES,
	EXPLORE_THREADS,
	EXPLORE_STACKS, /* from here on: answers, in the order of enum explore_answer */
	EXPLORE_LEAKS,
	EXPLORE_LOCKS,
	EXPLORE_VIEWS
};

/* Columns of numbers in the table of functions. */
enum explore_column {
	EXPLORE_SELF,
	EXPLORE_TOTAL,
	EXPLORE_CALLS,
	EXPLORE_P50,
	EXPLORE_P99,
	EXPLORE_MOST,
	EXPLORE_COLUMNS
};

#define EXPLORE_UNKNOWN UINT64_MAX /* printed as "-" */

struct explore_function {
	uint32_t function; /* index in report_calls */
	uint64_t values[EXPLORE_COLUMNS];
};

/* The events of a class, or of a thread. */
struct explore_total {
	uint32_t key; /* a name, or a group; GROUP_NONE: no thread is known */
	uint64_t count;
	int64_t first_ns, last_ns;
	bool timed;
};

struct explore_totals {
	struct explore_total *items;
	uint32_t count;
};

struct explore {
	struct report_options options;
	struct report report;
	struct explore_events events;
	struct explore_function *functions;
	enum explore_column sort;
	struct explore_tree tree;
	struct explore_totals classes, threads;
	char **summary;
	uint32_t nr_summary;
	struct explore_answers *answers; /* set by the caller; NULL: these views have no rows */
};

static inline bool explore_is_answer(enum explore_view view)
{
	return view >= EXPLORE_STACKS && view < EXPLORE_VIEWS;
}

static inline enum explore_answer explore_answer_of(enum explore_view view)
{
	return (enum explore_answer)(view - EXPLORE_STACKS);
}

/*
 * Reads the trace. `before` is an earlier reading, whose order and expanded branches are kept, or
 * NULL. `dir`, `filter` (NULL: none) and the user of the listener must live until explore_free().
 * 0 or a negative errno; the kind is ERROR_USAGE for an invalid filter.
 */
int explore_load(const char *dir, const char *filter, const struct analysis_listener *listener,
		const struct explore *before, struct explore **ret_explore, struct error *error);
void explore_free(struct explore *explore);

/* The titles of the columns; "" if a view has none. */
const char *explore_title(enum explore_view view);
uint64_t explore_row_count(const struct explore *explore, enum explore_view view);
/* Writes a row without a newline. Control characters are visible as \xNN. */
void explore_row(struct explore *explore, enum explore_view view, uint64_t row,
		struct view_out *out);
/* Writes lines about a row, each with a newline; nothing if the row is all that is known. */
void explore_detail(struct explore *explore, enum explore_view view, uint64_t row,
		struct view_out *out);
/* Sorts the functions by a column, the largest first. */
void explore_sort(struct explore *explore, enum explore_column column);
const char *explore_column_name(enum explore_column column);

#endif /* SIDE_ANALYSIS_EXPLORE_H */
