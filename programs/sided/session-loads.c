/* SPDX-License-Identifier: MIT */
/*
 * Libraries that programs load, in the session process: asks the daemon for their probes.
 *
 * The session reports one library at a time (src/recorder/loading.c). The daemon answers when
 * side-more has added the probes to the session, or cannot (pending.c). Then the program gets the
 * tables that the session has.
 */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "recorder/core/session.h"
#include "sided.h"

struct sided_loads {
	struct session_loads callbacks;
	struct frame_out *out;
	const struct probes *probes;
	int event;       /* readable: the daemon has answered */
	uint64_t serial; /* of the last report */
};

static bool loads_are_wanted(void *user)
{
	const struct sided_loads *loads = user;

	return probes_may_name(loads->probes, NULL);
}

/* Returns 1 if the daemon will answer. */
static int loads_begin(void *user, pid_t pid, const char *path, int *ret_fd)
{
	struct sided_loads *loads = user;
	struct json_object *report;
	bool is_sent;

	if (*path != '/' || !probes_may_name(loads->probes, path))
		return 0;
	report = json_object_new_object();
	is_sent = json_put_text(report, "loaded", path) &&
			json_put_number(report, "pid", (uint64_t)pid) &&
			json_put_number(report, "serial", ++loads->serial) &&
			!frame_put(loads->out, report);
	json_object_put(report);
	*ret_fd = loads->event;
	return is_sent;
}

/* The tables have come with a change of the session. */
static size_t loads_finish(void *user, struct session_table *ret_tables, size_t capacity)
{
	const struct sided_loads *loads = user;
	uint64_t count;

	(void)ret_tables;
	(void)capacity;
	(void)!read(loads->event, &count, sizeof(count));
	return 0;
}

struct sided_loads *loads_new(struct frame_out *out)
{
	struct sided_loads *loads = calloc(1, sizeof(*loads));

	if (!loads)
		return NULL;
	*loads = (struct sided_loads){.callbacks = {.are_wanted = loads_are_wanted,
						      .begin = loads_begin,
						      .finish = loads_finish,
						      .user = loads},
			.out = out,
			.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	if (loads->event >= 0)
		return loads;
	free(loads);
	return NULL;
}

void loads_free(struct sided_loads *loads)
{
	if (!loads)
		return;
	close(loads->event);
	free(loads);
}

const struct session_loads *loads_use(struct sided_loads *loads, const struct probes *probes)
{
	loads->probes = probes;
	return &loads->callbacks;
}

void loads_continue(struct sided_loads *loads, struct json_object *request)
{
	static const uint64_t one = 1;
	uint64_t serial = 0;
	struct error error;

	/* The answer to an earlier report comes if the session did not wait for it. */
	if (!json_number(request, "serial", UINT64_MAX, &serial, &error) && serial == loads->serial)
		(void)!write(loads->event, &one, sizeof(one));
}
