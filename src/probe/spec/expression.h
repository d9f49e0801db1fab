/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_EXPRESSION_H
#define SIDE_PROBE_SPEC_EXPRESSION_H

/* Converts one location expression of DWARF to operations of the agent. */

#include "fetch.h"
#include "locate-frame.h"

struct expression_answer {
	bool is_value; /* the fetch computes the value, not its address */
	/* The next three tell why the conversion failed. */
	/* the expression uses the value of this register or variable at the function's entry */
	const char *entry_value;
	/* the variable is thread-local, and its file does not contain its offset */
	bool thread_local;
	/* why it failed, as a part of a sentence; NULL: see the other members */
	const char *reason;
};

/*
 * Converts the operations of a location without pieces or constant bytes. `attribute` is the
 * attribute that contains them. Returns 0, -ENOTSUP, -E2BIG or -EINVAL.
 */
int expression_convert(const struct locate_frame *location, Dwarf_Attribute *attribute,
		Dwarf_Op *ops, size_t count, struct fetch *ret_fetch,
		struct expression_answer *ret_answer);

#endif /* SIDE_PROBE_SPEC_EXPRESSION_H */
