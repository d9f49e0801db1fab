/* SPDX-License-Identifier: MIT */
/*
 * Allocates the memory of callback arrays. Not with malloc(): a signal handler may change callbacks
 * (side_tracer_trylock()), and a tracer of malloc() must not be called from here.
 *
 * Call with the lock of the registry held. Freed small pieces are kept for the next arrays.
 */
#ifndef SIDE_LIBSIDE_ARRAYS_H
#define SIDE_LIBSIDE_ARRAYS_H

#include <stddef.h>

/* Returns memory that is zeroed and aligned for pointers, or NULL if out of memory. */
void *arrays_take(size_t size);
void arrays_give_back(void *memory, size_t size);

#endif /* SIDE_LIBSIDE_ARRAYS_H */
