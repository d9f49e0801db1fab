/* SPDX-License-Identifier: MIT */
/*
 * Provides the function for the breakpoint of a debugger.
 *
 * A debugger sets bit 62 (30 on 32-bit hosts) in the enabled word of its events, and a breakpoint
 * on this function. Its four arguments are in the registers, or on the stack, as in any call.
 */

#include "export.h"
#include "functions.h"

EXPORT __attribute__((noinline)) void side_ptrace_hook(const struct side_event_state *state,
		const struct side_arg_vec *side_arg_vec,
		const struct side_arg_dynamic_struct *var_struct, void *caller_addr)
{
	/* Keeps the function, its calls and its arguments with all compilers and with LTO. */
	__asm__ __volatile__(""
			     :
			     : "g"(state), "g"(side_arg_vec), "g"(var_struct), "g"(caller_addr)
			     : "memory");
}
