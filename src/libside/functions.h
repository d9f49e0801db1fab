/* SPDX-License-Identifier: MIT */
/*
 * The public functions, for the library itself.
 *
 * side/trace.h makes whoever includes it register the events of its shared object in a constructor.
 * The library does not: its events are in the registry from the beginning (registry.c), before any
 * constructor has run.  So the two functions stay, unused, but are neither constructor nor
 * destructor.
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
