/* SPDX-License-Identifier: MIT */
/* Passes events to the kernel's user-events tracer. */
#ifndef SIDE_LIBSIDE_KERNEL_H
#define SIDE_LIBSIDE_KERNEL_H

#include "functions.h"

/*
 * Pass an event to the kernel's user-events tracer. Called for events whose user-events bit is set,
 * if the key of the call is SIDE_KEY_MATCH_ALL or the kernel's. var_struct is NULL for an event
 * that is not variadic. Async-signal-safe.
 */
void side_kernel_write(const struct side_event_state_0 *state,
		const struct side_arg_vec *side_arg_vec,
		const struct side_arg_dynamic_struct *var_struct, void *caller_addr);

#endif /* SIDE_LIBSIDE_KERNEL_H */
