/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_CONSTRUCTORS_H
#define SIDE_TRACERS_AGENT_CORE_CONSTRUCTORS_H

/*
 * Calls functions in the thread that loads libraries, before the constructors of each library.
 *
 * Callers: the functions that run when the loader's list has changed, in the thread that loads.
 */
#include <stdbool.h>
#include <stdint.h>

/* `base`: the load address of the library whose constructors follow. */
typedef void constructors_function(uintptr_t base);

/*
 * Calls `before` when the imports of new libraries are bound, in all namespaces. Call it when the
 * loader's list is consistent. Returns false if no import of the list is unbound: nothing is to be
 * waited for.
 */
bool agent_constructors_watch(constructors_function *before);

/* True if the constructors of the library at this address follow later. */
bool agent_constructors_are_pending(uintptr_t base);

#endif /* SIDE_TRACERS_AGENT_CORE_CONSTRUCTORS_H */
