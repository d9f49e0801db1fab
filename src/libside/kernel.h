/* SPDX-License-Identifier: MIT */
/*
 * The ways out of dispatch that are not callbacks.
 */
#ifndef SIDE_LIBSIDE_KERNEL_H
#define SIDE_LIBSIDE_KERNEL_H

#include "functions.h"

/*
 * Hand an event to the kernel's user-events tracer.  Called for events whose user-events bit is
 * set, when the call is for everybody or for the kernel's key.  var_struct is NULL for an event
 * that is not variadic.  Async-signal-safe.
 */
void side_kernel_write(const struct side_event_state_0 *state,
		const struct side_arg_vec *side_arg_vec,
		const struct side_arg_dynamic_struct *var_struct, void *caller_addr);

#endif /* SIDE_LIBSIDE_KERNEL_H */
