/* SPDX-License-Identifier: MIT */
/* A library that registers an event while it is loaded. */
#include <side/trace.h>

side_static_event(ev_plugin, "plugin", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("thread"), side_field_u64("sequence")));

__attribute__((visibility("default"))) void plugin_tick(uint64_t sequence);

void plugin_tick(uint64_t sequence)
{
	side_event(ev_plugin, side_arg_list(side_arg_u64(99), side_arg_u64(sequence)));
}
