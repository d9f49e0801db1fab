/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_INSTANCES_H
#define SIDE_TRACERS_AGENT_CORE_INSTANCES_H

/*
 * The other copies of libside in the process, of which the agent is a tracer, too.
 *
 * Callers: instance-find.c in constructors, the update of sessions, and the begin of sandboxes.
 */
#include <stdbool.h>

#include <side/tracer-extensions.h>

#define AGENT_INSTANCES_MAX 16

/* Functions of another copy. The last two may be NULL: only this implementation has them. */
struct agent_instance_functions {
	__typeof__(&side_tracer_request_key) request_key;
	__typeof__(&side_tracer_event_notification_register) notification_register;
	__typeof__(&side_tracer_callback_register) callback_register;
	__typeof__(&side_tracer_callback_unregister) callback_unregister;
	__typeof__(&side_tracer_callback_variadic_register) variadic_register;
	__typeof__(&side_tracer_callback_variadic_unregister) variadic_unregister;
	__typeof__(&side_tracer_statedump_request) statedump_request;
	__typeof__(&side_tracer_sandbox_begins) sandbox_begins;
	__typeof__(&side_tracer_sandbox_failed) sandbox_failed;
};

/*
 * Become a tracer of this copy, which must stay loaded. The text `path` must stay, too. Returns at
 * once if that has happened before. -ENOSPC: the process has too many copies. -EIO: the copy has
 * refused, or is finalised. Call it without libside's event lock.
 */
int agent_instance_add(const char *path, const struct agent_instance_functions *functions);

/* True if it was added; `request_key` is the address of its function. Without the event lock. */
bool agent_instance_is_known(const void *request_key);

/* Request the states of all these copies. Without libside's event lock. */
void agent_instances_dump(void);

/* A sandbox begins, or the attempt has failed. Any context. */
void agent_instances_sandbox(bool begins);

#endif
