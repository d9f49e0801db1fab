/* SPDX-License-Identifier: MIT */
/* A loadable tracer: enables every event of the plugins, and calls the loader from its callback. */
#include "event.h"

#include <dlfcn.h>

static struct side_tracer_handle *handle;
static int calls, inserted, removed;
static const char *to_load; /* loaded by the callback in some calls */

int tracer_calls(void);
int tracer_inserted(void);
int tracer_removed(void);
void tracer_load(const char *path);

__attribute__((visibility("default"))) int tracer_calls(void)
{
	return __atomic_load_n(&calls, __ATOMIC_SEQ_CST);
}

__attribute__((visibility("default"))) int tracer_inserted(void)
{
	return __atomic_load_n(&inserted, __ATOMIC_SEQ_CST);
}

__attribute__((visibility("default"))) int tracer_removed(void)
{
	return __atomic_load_n(&removed, __ATOMIC_SEQ_CST);
}

__attribute__((visibility("default"))) void tracer_load(const char *path)
{
	__atomic_store_n(&to_load, path, __ATOMIC_SEQ_CST);
}

static void hear(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	const char *path = __atomic_load_n(&to_load, __ATOMIC_SEQ_CST);
	static __thread int depth;

	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	if (__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) % 4 == 0 && path && !depth) {
		void *library;

		depth++;
		library = dlopen(path, RTLD_NOW);
		CHECK(library);
		CHECK(!dlclose(library));
		depth--;
	}
}

static void notified(enum side_tracer_notification notif, struct side_event_description **events,
		uint32_t nr_events, void *priv)
{
	uint32_t i;

	(void)priv;
	for (i = 0; i < nr_events; i++) {
		if (strcmp(side_ptr_get(events[i]->event_name), "plugin"))
			continue;
		if (notif == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS) {
			CHECK_EQUAL(side_tracer_callback_register(events[i], hear, NULL, 0), 0);
			__atomic_add_fetch(&inserted, 1, __ATOMIC_SEQ_CST);
		} else {
			CHECK_EQUAL(side_tracer_callback_unregister(events[i], hear, NULL, 0), 0);
			__atomic_add_fetch(&removed, 1, __ATOMIC_SEQ_CST);
		}
	}
}

__attribute__((constructor)) static void begin(void)
{
	handle = side_tracer_event_notification_register(notified, NULL);
}

__attribute__((destructor)) static void end(void)
{
	side_tracer_event_notification_unregister(handle);
}
