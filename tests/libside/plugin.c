/* SPDX-License-Identifier: MIT */
/* An instrumented library that tests load and unload. */
#include "event.h"

static struct test_event event;
static struct side_event_description *events[] = {&event.desc};
static struct side_events_register_handle *handle;
static struct side_statedump_request_handle *state;

void plugin_emit(void);
int plugin_enabled(void);

static void dump(void *key)
{
	struct side_arg_vec args = {.len = 0};

	if (__atomic_load_n(&event.state.enabled, __ATOMIC_RELAXED))
		side_statedump_call(&event.state.parent, &args, key);
}

/* In the order that a library with a state dump must use. */
__attribute__((constructor)) static void begin(void)
{
	test_event_init(&event, "plugin", 0);
	handle = side_events_register(events, 1);
	if (getenv("PLUGIN_STATEDUMP"))
		state = side_statedump_request_notification_register(
				"plugin", dump, SIDE_STATEDUMP_MODE_AGENT_THREAD);
}

__attribute__((destructor)) static void end(void)
{
	side_statedump_request_notification_unregister(state);
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
