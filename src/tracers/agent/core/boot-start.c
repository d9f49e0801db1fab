/* SPDX-License-Identifier: MIT */
/* The start of a process: join the sessions of the static configuration. */
#include <errno.h>
#include <stddef.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/boot-start.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/boot.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/join.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/process.h"
#include "base/environment/environment.h"
#include "protocol/boot.h"

int agent_boot_start(void)
{
	const char *path = boot_file(environment_get(BOOT_ENV));
	const struct boot_config *boot;
	const struct boot_session *session;
	int ret, result = -ENOENT;

	if (!path)
		return result;
	if (*path != '/') {
		agent_debug("SIDE_BOOT is \"%s\": set it to 1, or to the absolute path of a file",
				path);
		return result;
	}
	agent.control.mode = WIRE_CONTROL_SYNC;
	boot = agent_boot_read(path);
	ret = boot ? agent_prepare() : -EINVAL;
	if (ret)
		return ret;
	side_tracer_lock();
	for (session = boot->sessions; session; session = session->next) {
		ret = agent_session_join_boot(session);
		agent_debug("session %s of %s: %d", session->name, path, ret);
		if (!ret)
			result = 0;
	}
	agent_bases_dump();
	side_tracer_unlock();
	return result;
}
