/* SPDX-License-Identifier: MIT */
/* A library with an event. */
#include <side/trace.h>

side_static_event(event_plugin, "kern", "plugin", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("value")));

__attribute__((visibility("default"))) void plugin_fire(void);
__attribute__((visibility("default"))) int plugin_is_enabled(void);

void plugin_fire(void)
{
	side_event(event_plugin, side_arg_list(side_arg_u64(4711)));
}

int plugin_is_enabled(void)
{
	return side_event_enabled(event_plugin);
}
