/* SPDX-License-Identifier: MIT */
/* Paths from a record to one of its values. */
#ifndef SIDE_ANALYSIS_WHERE_PATH_H
#define SIDE_ANALYSIS_WHERE_PATH_H

#include "analysis/view-show.h"
#include "analysis/where-form.h"
#include "ctf/ctf.h"
#include "filter/filter.h"

enum where_scope {
	WHERE_FIELDS,
	WHERE_VARIADIC, /* the variadic part of the fields */
	WHERE_COMMON_CONTEXT,
	WHERE_CONTEXT,
	WHERE_PROCNAME, /* of the trace, if no context has it */
	WHERE_VPID,
	WHERE_CPU,
};

struct where_path {
	enum where_scope scope;
	enum filter_ask ask;
	uint32_t index;               /* index of the member in which the path begins … */
	uint32_t direct;              /* … and its distance from the scope; 0: it varies */
	const struct view_show *show; /* how the member is shown; NULL: as plain CTF */
	uint32_t step_count;
	struct filter_step *steps; /* it owns the names, too */
};

/*
 * Whether records of the item's class can have the value. Fills in *ret_path without copying the
 * steps.
 */
bool where_path_find(struct where_path *ret_path, const struct filter_path *wanted,
		const struct ctf_item *item, const struct view_event *event);

/* False: this record has no such value. */
bool where_path_load(const struct where_path *path, const struct ctf_item *item,
		struct filter_value *ret_value);

/* How the values at the end of the path are shown. */
struct where_form where_path_form(const struct where_path *path, const struct ctf_item *item,
		const struct view_event *event);

/* Labels of the value of an enumeration, for filter_loader. */
const char *where_label(
		void *nothing, const struct filter_value *value, uint32_t *at, size_t *ret_size);

/* Whether two TSDL or CTF 2 names mean the same field. A leading underscore makes no difference. */
bool where_same_name(const char *member, const char *wanted);

#endif /* SIDE_ANALYSIS_WHERE_PATH_H */
