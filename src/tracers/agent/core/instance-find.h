/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_INSTANCE_FIND_H
#define SIDE_TRACERS_AGENT_CORE_INSTANCE_FIND_H

/*
 * Other copies of libside among the loaded objects.
 *
 * Callers: the constructor (start.c), which runs with the lock of the loader, or before the process
 * has threads: so the lists of the loader do not change. Without libside's event lock.
 */

/* Become a tracer of all copies that are loaded, in all namespaces. */
void agent_instances_find(void);

#endif
