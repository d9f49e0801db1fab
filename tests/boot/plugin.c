/* SPDX-License-Identifier: MIT */
/* A library that fires a new event when it is loaded. */
#include <side/trace.h>

side_static_event(ev_loaded, "boot", "loaded", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("answer")));

static __attribute__((constructor)) void fire_loaded(void)
{
	side_event(ev_loaded, side_arg_list(side_arg_u32(42)));
}
