/* SPDX-License-Identifier: MIT */
/* Private to where*.c: the way from a record to one of its values. */
#ifndef SIDE_ANALYSIS_WHERE_PATH_H
#define SIDE_ANALYSIS_WHERE_PATH_H

#include "analysis/view-show.h"
#include "analysis/where.h"
#include "ctf/ctf.h"
#include "filter/filter.h"

enum where_scope {
	WHERE_FIELDS,
	WHERE_VARIADIC, /* The variadic part of the fields. */
	WHERE_COMMON_CONTEXT,
	WHERE_CONTEXT,
	WHERE_PROCNAME, /* Of the trace, where no context says it. */
	WHERE_VPID,
	WHERE_CPU,
};

struct where_path {
	enum where_scope scope;
	enum filter_ask ask;
	uint32_t index;               /* Of the member that the path leads into … */
	uint32_t direct;              /* … and how far it is from the scope, or 0: not fixed. */
	const struct view_show *show; /* How that member is shown; NULL: as plain CTF. */
	uint32_t step_count;
	struct filter_step *steps; /* Names are owned, too. */
};

/*
 * Whether records of the class of this one may have it: fills in *path, without copying the steps.
 */
bool where_path_find(struct where_path *path, const struct filter_path *wanted,
		const struct ctf_item *item, const struct view_event *event);

/* False: this record has no such value. */
bool where_path_load(const struct where_path *path, const struct ctf_item *item,
		struct filter_value *value);

/* How its values are shown. */
struct where_form where_path_form(const struct where_path *path, const struct ctf_item *item,
		const struct view_event *event);

/* Whether two TSDL or CTF 2 names mean the same field: an underscore in front does not matter. */
bool where_same_name(const char *member, const char *wanted);

#endif /* SIDE_ANALYSIS_WHERE_PATH_H */
