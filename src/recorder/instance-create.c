/* SPDX-License-Identifier: MIT */
/*
 * Creates the instance of a process that connects, with its rings.
 */
#include <errno.h>
#include <unistd.h>

#include "protocol/protocol.h"
#include "recorder/connection-state.h"
#include "recorder/core/instance.h"
#include "recorder/core/probes.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "recorder/instance-create.h"
#include "recorder/session-state.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/instance-free.h"
#include "recorder/storage/rings.h"
#include "ring/ring.h"

/*
 * Initializes an instance from a message that is not trusted. *ret_reason is sent to the program
 * and printed for the user.
 */
static int instance_init(struct session *session, struct instance *instance,
		const struct wire_hello *hello, const struct connection *connection, int *ring_fds,
		const char **ret_reason)
{
	instance->peer = connection->peer;
	instance->uid = instance->account = connection->uid;
	instance->gid = connection->gid;
	instance->control = hello->control;
	instance->control_signal = hello->control_signal;
	instance->loader = hello->features >> WIRE_LOADER_SHIFT & (WIRE_NR_LOADERS - 1);
	instance->pid = hello->pid;
	instance->parent = hello->parent;
	instance->is_forked = hello->features & WIRE_FEATURE_FORKED;
	instance->token = hello->token;
	instance->number = session->instances.nr;
	instance->begin_ticks = ring_clock_now(session->clock.kind);
	instance->takes_probes = hello->features & WIRE_FEATURE_PROBES;
	instance->sends_loaded = instance->takes_probes && hello->features & WIRE_FEATURE_LOADED;
	instance->takes_leases = hello->features & WIRE_FEATURE_LEASE;
	instance->is_command = instance->peer == session->command.pid && !session->command.came;
	probes_inherit(session, instance, instance_find_parent(session, hello));
	if (!instance->procname || !instance->exe || !instance->channels)
		return -ENOMEM;
	/* The probes do not select env(1) that a script names, but the program that it executes. */
	session->command.came |= instance->is_command && probes_has_exe(session, instance);
	if (!shares_left(&session->instances.shares, instance->account) ||
			session->instances.nr - session->instances.nr_freed >= LIMIT_INSTANCES) {
		*ret_reason = "the recorder has too many processes";
		return -EMFILE;
	}
	if (session->mode != SESSION_RECORD)
		return 0;
	return memory_make_rings(session, instance, ring_fds, ret_reason);
}

struct instance *instance_create(struct session *session, const struct wire_hello *hello,
		const struct connection *connection, int pidfd, int *ring_fds,
		const char **ret_reason)
{
	struct instance *instance;
	uint32_t i;

	for (i = 0; i < session->nr_all_channels; i++)
		ring_fds[i] = -1;
	*ret_reason = "the recorder is out of memory";
	instance = instance_allocate(
			hello->procname, hello->exe, session->channels, session->nr_all_channels);
	if (!instance) {
		close(pidfd);
		return NULL;
	}
	instance->watch.fd = pidfd;
	if (!instance_init(session, instance, hello, connection, ring_fds, ret_reason) &&
			instance_link(session, instance))
		return instance;
	for (i = 0; i < session->nr_all_channels; i++) {
		if (ring_fds[i] >= 0)
			close(ring_fds[i]);
		ring_fds[i] = -1;
	}
	buffers_remove(session, instance);
	instance_free(session, instance);
	return NULL;
}
