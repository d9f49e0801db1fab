/* SPDX-License-Identifier: MIT */
/*
 * Function calls as a tree: indented by depth. A comment after each call has its duration.
 *
 *     [12:30:15.000000100] prog:17 | fib(n = 2) {
 *     [12:30:15.000000150] prog:17 |   fib(n = 1) = 1;
 *     [12:30:15.000000250] prog:17 | } = 1;
 *
 * A call that is followed by its own return takes one line. The line of an entry is therefore held
 * until the next event of its thread, and later lines of all threads with it, so that lines are in
 * the order of time. If too many lines would be held, the entry is shown without its return.
 */
#ifndef SIDE_ANALYSIS_VIEW_TREE_H
#define SIDE_ANALYSIS_VIEW_TREE_H

#include "analysis/view-line.h"

#define VIEW_TREE_THREADS_MAX 65536 /* threads whose calls are followed */
#define VIEW_TREE_DEPTH_MAX 16384   /* open calls of one thread … */
#define VIEW_TREE_OPEN_MAX 262144   /* … and of all threads */
#define VIEW_TREE_NAMES_MAX 65536   /* functions whose names are kept for calls without a return */
#define VIEW_TREE_HELD_MAX 4096     /* lines that are held */
#define VIEW_TREE_HELD_SIZE_MAX 1048576 /* their bytes */
#define VIEW_TREE_INDENT_MAX 64         /* levels of indentation; deeper calls show their depth */

struct view_tree;

/* Lines are added to `out`, which outlives the tree. NULL: out of memory. */
struct view_tree *view_tree_create(struct view_out *out, bool colour);
void view_tree_free(struct view_tree *tree);

/* Adds an entry or a return of a function: VIEW_ENTRY_CALL. */
void view_tree_take(struct view_tree *tree, const struct view_entry *entry, const char *bytes);
/*
 * Adds another event. True: it is in the tree of its thread. False: its line is to be written to
 * view_tree_begin_line(), followed by view_tree_end_line().
 */
bool view_tree_take_other(
		struct view_tree *tree, const struct view_entry *entry, const char *bytes);
struct view_out *view_tree_begin_line(struct view_tree *tree);
void view_tree_end_line(struct view_tree *tree);

/* Shows all lines that are held. */
void view_tree_flush(struct view_tree *tree);
/* The same at the end of the trace, where the calls without a return end. */
void view_tree_finish(struct view_tree *tree);
/* A failed allocation. */
bool view_tree_has_failed(const struct view_tree *tree);

#endif /* SIDE_ANALYSIS_VIEW_TREE_H */
