/* SPDX-License-Identifier: MIT */
/*
 * Passes events to the kernel's user-events tracer. This file has only the hook. The writer is a
 * library of its own (src/tracers/user-events/), which is loaded if the user asks for it. It is
 * called outside the read-side section, so it may be slow.
 */
#include "kernel.h"

#include <stddef.h>

#include <side/kernel.h>

#include "callbacks.h"
#include "export.h"

static side_kernel_write_func hook;

EXPORT void side_kernel_hook(side_kernel_write_func write)
{
	/* Release: the data of the function. Pairs with the acquire in side_kernel_write(). */
	__atomic_store_n(&hook, write, __ATOMIC_RELEASE);
}

void side_kernel_write(const struct side_event_state_0 *state,
		const struct side_arg_vec *side_arg_vec,
		const struct side_arg_dynamic_struct *var_struct, void *caller_addr)
{
	/* Acquire: pairs with the release in side_kernel_hook(). */
	side_kernel_write_func write = __atomic_load_n(&hook, __ATOMIC_ACQUIRE);

	/* In a sandbox events make no system calls, and this tracer needs one. */
	if (write && !callbacks_in_sandbox())
		write(state, side_arg_vec, var_struct, caller_addr);
}
