/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_RECORD_H
#define SIDE_TRACERS_AGENT_CORE_RECORD_H

/*
 * The callbacks of events: arguments to bytes to ring.
 *
 * libside calls the callbacks in any context: in signal handlers, under locks of the program, on
 * small stacks. They take no lock and allocate nothing. select.c chooses the callback of an event,
 * with libside's event lock. process.c creates and destroys the pool.
 */
#include <stdbool.h>
#include <stdint.h>

#include <side/trace.h>

struct agent_event;

/* Set the functions of an event by its plan, contexts and filters. */
void agent_record_choose(struct agent_event *event);
/*
 * The addresses of the callbacks that use general-purpose registers only. Any thread, before the
 * first hit.
 */
void agent_record_functions(uintptr_t *ret_begin, uintptr_t *ret_end);
/*
 * Any context: does the callback belong to this recorder? Then its private pointer is a struct
 * agent_event.
 */
bool agent_record_is_callback(side_tracer_callback_func call);

/* Buffers for records that do not fit the stack. With the event lock, or before the first event. */
int agent_pool_create(void);
/* In a forked child: no thread of the parent holds a buffer here. */
void agent_pool_reset(void);
/* When no callback is registered. */
void agent_pool_destroy(void);

#endif
