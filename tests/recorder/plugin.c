/* SPDX-License-Identifier: MIT */
/* An instrumented library that the program loads and unloads. */
#include <side/trace.h>

side_static_event(ev_plugin, "plugin", "call", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("sequence")));

__attribute__((visibility("default"))) void plugin_emit(uint64_t sequence);

void plugin_emit(uint64_t sequence)
{
	side_event(ev_plugin, side_arg_list(side_arg_u64(sequence)));
}
