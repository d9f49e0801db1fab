/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_EXPRESSION_H
#define SIDE_PROBE_SPEC_EXPRESSION_H

/* What DWARF says of one place, as operations that the agent can do. */

#include "locate.h"

struct expression_answer {
	bool value; /* the fetch is the value, not its address */
	/* Why there is no answer. */
	const char *entry_value; /* it is made of what this held when the function began */
	bool thread_local;
	const char *unknown; /* what it says that is not understood; NULL: nothing single */
};

/*
 * One place: no pieces, no constants that are bytes. 0, or -ENOTSUP, -E2BIG, -EINVAL. The attribute is the one that the operations
 * are of.
 */
int expression_run(const struct locate_frame *location, Dwarf_Attribute *attribute, Dwarf_Op *ops,
		size_t count, struct fetch *fetch, struct expression_answer *answer);

#endif /* SIDE_PROBE_SPEC_EXPRESSION_H */
