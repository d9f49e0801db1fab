/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_CONTROL_SIGNAL_H
#define SIDE_TRACERS_AGENT_CORE_CONTROL_SIGNAL_H

/* Control by a signal, whose handler asks the daemon. */
#include <stdbool.h>
#include <stdint.h>

/* With the turn (control-state.h). False: the program uses the signal. */
bool control_signal_install(uint32_t signal);
/* 0: no signal has that name. */
uint32_t control_signal_number(const char *name);
/*
 * Do now what the handler could not. The thread that has returned the turn, or libside's event
 * lock, calls it, in any context.
 */
void control_signal_again(void);

#endif
