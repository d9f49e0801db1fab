/* SPDX-License-Identifier: MIT */
/*
 * Memory of callback arrays.  Not malloc(): a signal handler may change callbacks
 * (side_tracer_trylock()), and who traces malloc() must not come back here from it.
 *
 * With the registry's lock held.  Small pieces are kept for the next array when they come back.
 */
#ifndef SIDE_LIBSIDE_ARRAYS_H
#define SIDE_LIBSIDE_ARRAYS_H

#include <stddef.h>

/* Zeroed and aligned for pointers; NULL: there is none. */
void *arrays_take(size_t size);
void arrays_give_back(void *memory, size_t size);

#endif /* SIDE_LIBSIDE_ARRAYS_H */
