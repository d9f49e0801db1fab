/* SPDX-License-Identifier: MIT */
/*
 * Requests of `side attach` and `side detach` to a running program (src/attach/inject.h):
 *
 *	record PATH	join the session whose socket this is
 *	carry LIBRARIES PATH
 *			programs that this one starts load LIBRARIES (a value of LD_PRELOAD), and
 *			join that session
 *	leave PATH	leave that session
 *	wrap NAME HANDLE PATH
 *			make the program call the wrapper library NAME, which is loaded, for
 *			that session
 *	daemon PATH	connect to the daemon whose socket this is, and stay connected; a process
 *			that has a daemon asks that one
 *	`door PATH`	the same by this rendezvous socket, if the program does not see the
 *			daemon's; a process that has another daemon keeps it
 *	known PATH	the same, and the daemon behind the socket knows this process: if the
 *			process has a daemon, it is this one
 *	detach		leave all sessions and the daemon that such requests named
 *
 * They run in a thread that exists for the request only, blocks all signals and holds no lock.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/trace.h>

#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/control-thread.h"
#include "tracers/agent/core/control.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/exec-preload.h"
#include "tracers/agent/core/instance-find.h"
#include "tracers/agent/core/interpose.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/unsupported.h"
#include "tracers/agent/core/update.h"
#include "tracers/agent/core/wrappers.h"
#include "ring/ring.h"
#include "base/inside/raw.h"

#define EXPORT __attribute__((visibility("default")))
#define TURN_MS 5000

EXPORT int side_agent_request(const char *text);
/* These for programs of ours that record what the kernel has seen of others. */
EXPORT void side_agent_replay(const struct ring_replay *replay);
EXPORT void side_agent_on_change(void (*notify)(bool after));
EXPORT void side_agent_lost(const struct side_event_description *event, bool named, uint32_t cpu,
		uint64_t count);

EXPORT void side_agent_replay(const struct ring_replay *replay)
{
	ring_replay(replay);
}

EXPORT void side_agent_on_change(void (*notify)(bool after))
{
	agent_on_change(notify);
}

EXPORT void side_agent_lost(const struct side_event_description *event, bool named, uint32_t cpu,
		uint64_t count)
{
	agent_count_lost(event, named, cpu, count);
}

static const char *behind(const char *text, const char *word)
{
	size_t size = strlen(word);

	return !strncmp(text, word, size) && text[size] == ' ' ? text + size + 1 : NULL;
}

static int agent_attach_leave(const char *path)
{
	const int ret = agent_session_detach(path);

	exec_carry_end(path);
	agent_wrappers_update();
	return ret;
}

static int agent_attach_carry(const char *text)
{
	const char *blank = strchr(text, ' ');
	int ret;

	if (!blank || blank[1] != '/')
		return -EINVAL;
	ret = exec_carry(text, (size_t)(blank - text), blank + 1);
	if (!ret)
		agent_interpose_execs();
	return ret;
}

static int request(const char *text)
{
	const char *path = behind(text, "record");
	int ret;

	if (path)
		return agent_session_attach(path);
	path = behind(text, "carry");
	if (path)
		return agent_attach_carry(path);
	path = behind(text, "leave");
	if (path)
		return agent_attach_leave(path);
	path = behind(text, "wrap");
	if (path)
		return agent_wrappers_add(path);
	path = behind(text, "daemon");
	if (path)
		return agent_control_attach(path, AGENT_BY_DIRECTORY);
	path = behind(text, "rendezvous");
	/* The former name, which `side` sends until the next release. */
	if (!path)
		path = behind(text, "door");
	if (path)
		return agent_control_attach(path, AGENT_BY_RENDEZVOUS);
	path = behind(text, "known");
	if (path)
		return agent_control_attach(path, AGENT_BY_SAME_RENDEZVOUS);
	if (strcmp(text, "detach") != 0)
		return -EINVAL;
	ret = agent_control_detach(agent_attach_leave(NULL));
	agent_wrappers_follow();
	return ret;
}

EXPORT int side_agent_request(const char *text)
{
	int saved_errno = errno, ret = agent_libside_is_whole() ? agent_prepare() : -ELIBBAD;

	/* A session of a list is over when main() begins. */
	if (!ret && agent_list_only())
		ret = -EBUSY;
	/* Without the turn, because it may wait for the loader. */
	if (!ret)
		control_thread_prepare();
	if (!ret && !control_take_turn(TURN_MS))
		ret = -EBUSY;
	if (!ret) {
		/* For this thread alone, and gone before it ends: orders nothing. */
		atomic_store_explicit(&agent.own_process.borrowed, (int)raw_call(SYS_gettid),
				memory_order_relaxed);
		agent_instances_follow();
		ret = request(text);
		atomic_store_explicit(&agent.own_process.borrowed, 0, memory_order_relaxed);
		control_give_turn();
	}
	if (!ret)
		agent_interpose();
	agent_debug("%s: %d", text, ret);
	errno = saved_errno;
	return ret;
}
