/* SPDX-License-Identifier: MIT */
/*
 * Copies of descriptions at the time of their registration, in memory that the program neither
 * changes nor frees.
 */
#ifndef SIDE_TRACERS_VALIDATE_COPY_H
#define SIDE_TRACERS_VALIDATE_COPY_H

#include "abi/visit.h"

struct validate_copy {
	struct validate_copy *next;
	struct visit_owned *owned;
	unsigned char *bytes; /* encoded */
	size_t size;
	side_visitor_func *visitors; /* of the description, in the order of the walk */
	size_t nr_visitors;
};

/*
 * Read a description without trusting its pointers, check it, and return a copy with the functions
 * of its visitors. The same description gives the same copy, which exists until the process ends,
 * because calls may still use it after the event was removed. Not thread-safe. Returns 0, or a
 * negative errno with *error set.
 */
int validate_copy_get(const struct side_event_description *desc,
		const struct validate_copy **ret_copy, struct visit_error *error);

#endif /* SIDE_TRACERS_VALIDATE_COPY_H */
