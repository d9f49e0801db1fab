/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_CONSTRUCTORS_H
#define SIDE_TRACERS_AGENT_CORE_CONSTRUCTORS_H

/*
 * Calls `before` in the thread that loads libraries, before the first constructor of a library
 * whose imports are not bound yet. Call it in a thread that loads, when the loader's list is
 * consistent. Returns false if no import of the list is unbound: nothing is to be waited for.
 */
#include <stdbool.h>

bool agent_constructors_watch(void (*before)(void));

#endif /* SIDE_TRACERS_AGENT_CORE_CONSTRUCTORS_H */
