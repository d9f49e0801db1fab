/* SPDX-License-Identifier: MIT */
#include "kernel.h"

/*
 * Nothing is attached here: no kernel interface sets the bit, so whoever set it gets no data.  This
 * is the one place where a writer to the kernel belongs: it has the description (state->desc), all
 * arguments and the call site, and is called outside the read-side section, so it may take its
 * time.
 */
void side_kernel_write(const struct side_event_state_0 *state,
		const struct side_arg_vec *side_arg_vec,
		const struct side_arg_dynamic_struct *var_struct, void *caller_addr)
{
	(void)state;
	(void)side_arg_vec;
	(void)var_struct;
	(void)caller_addr;
}
