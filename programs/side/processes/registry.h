/* SPDX-License-Identifier: MIT */
/* What libside in a process has registered, read through the object of side/debugger.h. */
#ifndef PROGRAMS_SIDE_PROCESSES_REGISTRY_H
#define PROGRAMS_SIDE_PROCESSES_REGISTRY_H

#include <stdint.h>

struct listing;
struct listing_memory;

/*
 * List the events of all batches that were registered the whole time that it takes to read them, less
 * those of @from->seen. @address: of the object. Says what cannot be read. 0 or -ENOMEM, -E2BIG, -ESRCH.
 */
int registry_list(struct listing *listing, const struct listing_memory *from, uint64_t address);

#endif /* PROGRAMS_SIDE_PROCESSES_REGISTRY_H */
