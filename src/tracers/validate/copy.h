/* SPDX-License-Identifier: MIT */
/* Descriptions as they were when they were registered, in memory that no program changes or frees. */
#ifndef SIDE_TRACERS_VALIDATE_COPY_H
#define SIDE_TRACERS_VALIDATE_COPY_H

#include "abi/visit.h"

struct validate_copy {
	struct validate_copy *next;
	struct visit_owned *owned;
	unsigned char *bytes; /* encoded */
	size_t size;
	side_visitor_func *visitors; /* those of the description, in its order */
	size_t nr_visitors;
};

/*
 * Read a description as if it were foreign memory, check it, and give a copy that has the functions of its visitors. The same
 * description gives the same copy, which stays until the process ends: calls may still use it when
 * their event is gone, and nobody waits for them. Not for several threads at once.
 *
 * Returns 0, or what the visitor library says is wrong.
 */
int validate_copy_get(const struct side_event_description *desc, const struct validate_copy **copy,
		struct visit_error *error);

#endif /* SIDE_TRACERS_VALIDATE_COPY_H */
