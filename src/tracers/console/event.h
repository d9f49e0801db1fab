/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_CONSOLE_EVENT_H
#define SIDE_TRACERS_CONSOLE_EVENT_H

#include "abi/visit.h"

/*
 * Print one event. If the arguments are wrong, print a message to standard error instead. Preserves
 * errno.
 */
void console_print_event(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic);

#endif /* SIDE_TRACERS_CONSOLE_EVENT_H */
