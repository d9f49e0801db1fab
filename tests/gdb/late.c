/* SPDX-License-Identifier: MIT */
/* A library with an event, loaded while the program runs. */
#include <side/trace.h>

side_static_event(event_late, "late", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("round")));

__attribute__((visibility("default"))) void late_fire(uint32_t round);

void late_fire(uint32_t round)
{
	side_event(event_late, side_arg_list(side_arg_u32(round)));
}
