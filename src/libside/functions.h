/* SPDX-License-Identifier: MIT */
/*
 * Declares the public functions for the library itself.
 *
 * side/trace.h makes its includer register the events of its shared object in a constructor. The
 * library does not need that: its events are in the registry initially (batches.c), before any
 * constructor runs. So the two functions exist, unused, but are neither constructor nor destructor.
 */
#ifndef SIDE_LIBSIDE_FUNCTIONS_H
#define SIDE_LIBSIDE_FUNCTIONS_H

#define constructor(priority)
#define destructor(priority)
#include <side/trace.h>
#include <side/tracer-extensions.h>
#undef constructor
#undef destructor

#endif /* SIDE_LIBSIDE_FUNCTIONS_H */
