/* SPDX-License-Identifier: MIT */
/* A library with an event and known functions. */
#include <stdint.h>

#include <side/trace.h>

side_static_event(library_here, "library", "here", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("number")));

static __attribute__((noinline)) void inner_function(uint32_t number)
{
	side_event(library_here, side_arg_list(side_arg_u32(number)));
}

__attribute__((visibility("default"))) void library_call(void);
void library_call(void)
{
	inner_function(1);
	inner_function(2);
}
