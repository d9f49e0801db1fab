/* SPDX-License-Identifier: MIT */
/* An instrumented library, to be loaded and unloaded. */
#include "event.h"

static struct test_event event;
static struct side_event_description *events[] = {&event.desc};
static struct side_events_register_handle *handle;

void plugin_emit(void);
int plugin_enabled(void);

__attribute__((constructor)) static void begin(void)
{
	test_event_init(&event, "plugin", 0);
	handle = side_events_register(events, 1);
}

__attribute__((destructor)) static void end(void)
{
	side_events_unregister(handle);
}

__attribute__((visibility("default"))) void plugin_emit(void)
{
	test_event_emit(&event);
}

__attribute__((visibility("default"))) int plugin_enabled(void)
{
	return event.state.enabled != 0;
}
