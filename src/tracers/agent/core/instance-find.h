/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_INSTANCE_FIND_H
#define SIDE_TRACERS_AGENT_CORE_INSTANCE_FIND_H

/*
 * Other copies of libside among the loaded objects.
 *
 * Callers: the constructor (start.c), which runs with the lock of the loader, or before the process
 * has threads: so the lists of the loader do not change. The notification of the loader, changes of
 * sessions, requests, and the end of the process. Without libside's event lock.
 */

/* Become a tracer of all copies that are loaded, in all namespaces. */
void agent_instances_find(void);

/*
 * Likewise for other implementations that were loaded later. agent_instances_loaded(): in the
 * thread that loads, when the loader's list is consistent. agent_instances_follow(): in a thread
 * that may call the loader, with the control turn.
 */
void agent_instances_loaded(void);
void agent_instances_follow(void);

/* Report an implementation that was never found before. At the end of the process. */
void agent_instances_report(void);

#endif
