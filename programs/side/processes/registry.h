/* SPDX-License-Identifier: MIT */
/* Reads the registry of libside in a process, through the object of side/debugger.h. */
#ifndef PROGRAMS_SIDE_PROCESSES_REGISTRY_H
#define PROGRAMS_SIDE_PROCESSES_REGISTRY_H

#include <stdint.h>

struct listing;
struct listing_memory;

/*
 * Lists the events of all batches that were registered during the whole read, except those in
 * from->seen. `address` is that of the object. Reports errors. Returns 0, -ENOMEM, -E2BIG or
 * -ESRCH.
 */
int registry_list(struct listing *listing, const struct listing_memory *from, uint64_t address);

#endif /* PROGRAMS_SIDE_PROCESSES_REGISTRY_H */
