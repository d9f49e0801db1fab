/* SPDX-License-Identifier: MIT */
/* Prints each type of misuse of the library once (report.h). */
#include "report.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/environment/environment.h"

static const char *const sentences[REPORT_NR] = {
		[REPORT_STATE_VERSION] =
				"side: an event's state has a version that this library does not know; the event is ignored\nhint: use a newer libside\n",
		[REPORT_DESCRIPTION_VERSION] =
				"side: an event's description has a version that this library does not know; no tracer can use the event\nhint: use a newer libside\n",
		[REPORT_DESCRIPTION_SIZE] =
				"side: an event's description is shorter than version 0 requires; no tracer can use the event\nhint: its producer must set struct_size\n",
		[REPORT_NULL_ARGUMENT] =
				"side: an event was emitted without state, arguments, variadic part or key (NULL); the call is ignored\n",
		[REPORT_VARIADIC] =
				"side: an event was emitted by the wrong function; the call is ignored\nhint: side_call_variadic is for variadic events, side_call for all others\n",
};

static bool enabled;
static bool reported[REPORT_NR];

void report_init(void)
{
	__atomic_store_n(&enabled, environment_is_on("SIDE_DEBUG"), __ATOMIC_RELAXED);
}

void report_once(enum report_reason report)
{
	int saved_errno = errno;
	size_t size = 0;

	if (!__atomic_load_n(&enabled, __ATOMIC_RELAXED) ||
			__atomic_exchange_n(&reported[report], true, __ATOMIC_RELAXED))
		return;
	/* Not strlen(), which uses vector registers: a probe hit has not saved them. */
	while (sentences[report][size])
		size++;
	if (write(STDERR_FILENO, sentences[report], size) < 0) {
		/* The message is lost. */
	}
	errno = saved_errno;
}
