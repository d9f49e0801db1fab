/* SPDX-License-Identifier: MIT */
/* Starts the user-events tracer when libside has loaded it. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <side/tracer-extensions.h>

#include "base/environment/environment.h"
#include "tracers/user-events/user-events.h"

static void user_events_start_handle_batch(enum side_tracer_notification what,
		struct side_event_description **events, uint32_t nr_events, void *unused)
{
	(void)unused;
	if (what == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS)
		events_add(events, nr_events);
	else
		events_remove(events, nr_events);
}

/* Report a failure. A second line of the reason is a hint. */
static void user_events_start_report_failure(const char *reason)
{
	size_t size = strcspn(reason, "\n");

	table_report(reason);
	if (environment_is_on("SIDE_DEBUG"))
		dprintf(STDERR_FILENO, "side: cannot write events to the kernel: %.*s%s%s\n",
				(int)size, reason, reason[size] ? "\nhint: " : "",
				reason + size + !!reason[size]);
}

/*
 * Starts with the events of `events`, which has the form of SIDE_USER_EVENTS. Returns SIDE_ERROR_OK
 * or another SIDE_ERROR_*.
 */
__attribute__((visibility("default"))) int side_kernel_begin(const char *events);

int side_kernel_begin(const char *events)
{
	static bool begun;
	struct kernel_config config;
	char reason[600];
	int fd;

	if (begun)
		return SIDE_ERROR_EXIST;
	/* First, because the calls below must reach the libside that has the registry. */
	side_tracer_bind();
	if (!kernel_config_read(events, environment_get("SIDE_USER_EVENTS_ENCODING"), &config,
			    reason, sizeof(reason))) {
		user_events_start_report_failure(reason);
		free(config.patterns);
		return SIDE_ERROR_INVAL;
	}
	fd = kernel_open(reason, sizeof(reason));
	if (fd < 0) {
		user_events_start_report_failure(reason);
		free(config.patterns);
		return SIDE_ERROR_NOENT;
	}
	begun = true;
	events_begin(fd, &config);
	(void)pthread_atfork(NULL, NULL, kernel_after_fork_in_child);
	side_kernel_hook(kernel_write);
	if (!side_tracer_event_notification_register(user_events_start_handle_batch, NULL)) {
		user_events_start_report_failure(
				"libside is out of memory, or the program is ending");
		return SIDE_ERROR_NOMEM;
	}
	return SIDE_ERROR_OK;
}
