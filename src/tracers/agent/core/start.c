/* SPDX-License-Identifier: MIT */
/*
 * The constructor of the library, and the moment before main().
 *
 * This is not in the static library, so that tests can link the agent without starting it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <side/tracer-extensions.h>

#include "protocol/protocol.h"
#include "tracers/agent/core/start.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/boot-start.h"
#include "tracers/agent/core/control-daemon.h"
#include "tracers/agent/core/control.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/instance-find.h"
#include "tracers/agent/core/interpose.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/unsupported.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/core/wrapper-file.h"
#include "tracers/agent/core/wrappers.h"
#include "base/environment/environment.h"
#include "base/inside/raw.h"

#define TIMEOUT_FACTOR_MAX 3600
#define EXPORT __attribute__((visibility("default")))

/*
 * Exported for the wrapper libraries, whose first call may come from a library's constructor before
 * ours has run.
 */
EXPORT void side_agent_start(void);

AGENT_LIBSIDE_DECLARE_WEAK(side_tracer_bind)

/* For slow or busy machines. An invalid number, or one out of bounds, is ignored. */
static unsigned int agent_start_chosen_timeout_factor(void)
{
	const char *text = environment_get("SIDE_TIMEOUT_FACTOR");
	unsigned int number = 0;

	/* The name in earlier releases: the next release does not read it. */
	if (!text)
		text = environment_get("SIDE_PATIENCE");
	for (; text && *text >= '0' && *text <= '9' && number <= TIMEOUT_FACTOR_MAX; text++)
		number = number * 10 + (unsigned int)(*text - '0');
	return text && !*text && number <= TIMEOUT_FACTOR_MAX ? number : 0;
}

/* A name that no session can have means none. */
static void keep_session(const char *name)
{
	agent.control.is_reserved = name != NULL;
	if (name && strlen(name) < sizeof(agent.control.only))
		strcpy(agent.control.only, name);
}

/* Copies of libside first: the new rules then reach their events, too. */
static void agent_start_follow(void)
{
	agent_instances_follow();
	agent_wrappers_follow();
}

static void agent_start_begin(void)
{
	agent.debug.is_on = environment_is_on("SIDE_DEBUG");
	agent.wait.timeout_factor = agent_start_chosen_timeout_factor();
	agent.rules.for_kernel = environment_get(AGENT_KERNEL_ENV) != NULL;
	keep_session(environment_get(AGENT_SESSION_ENV));
	agent_bases_start();
	agent_control_on_update(agent_start_follow);
	agent_probes_on_libraries(agent_instances_loaded);
	agent_process_on_exit(agent_instances_report);
}

/* Does the thread of `side attach` load the library? It sends its request afterwards. */
static bool is_attached(void)
{
	char name[16] = "";

	raw_call(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
	return !strncmp(name, "side-attach", 11);
}

/* True for the library in /etc/ld.so.preload, which does not tell what it has loaded. */
static int agent_start_is_system(struct dl_phdr_info *info, size_t size, void *user)
{
	(void)size;
	(void)user;
	return info->dlpi_name && strstr(info->dlpi_name, "/libside-system.so") != NULL;
}

static uint32_t agent_start_loader(void)
{
	const char *list;

	if (is_attached())
		return WIRE_LOADER_ATTACH;
	list = environment_get("LD_PRELOAD");
	if (list && strstr(list, "libside-agent.so"))
		return WIRE_LOADER_PRELOAD;
	return dl_iterate_phdr(agent_start_is_system, NULL) ? WIRE_LOADER_UNKNOWN
							    : WIRE_LOADER_LIBSIDE;
}

static void start_report_libside(const char *paths)
{
	if (paths && !agent_is_sandboxed())
		agent_report_unrecorded(paths, WIRE_UNRECORDED_LIBSIDE);
}

static void start_agent(void)
{
	int saved_errno = errno;
	const char *path;

	if (&side_tracer_bind)
		side_tracer_bind();
	agent.control.loader = agent_start_loader();
	if (agent.control.loader == WIRE_LOADER_ATTACH) {
		agent_start_begin();
		agent_wrapper_file_begin();
		if (agent_libside_is_whole())
			agent_instances_find();
		return;
	}
	/* No recorder and no daemon traces a program with more privileges than its caller. */
	if (getauxval(AT_SECURE))
		return;
	path = environment_get(WIRE_SOCKET_ENV);
	if (!agent_libside_is_whole()) {
		start_report_libside(path);
		start_report_libside(environment_get(WIRE_REPORT_ENV));
		errno = saved_errno;
		return;
	}
	agent_start_begin();
	agent_instances_find();
	agent_start_begins();
	if (path && *path)
		agent_start(path);
	if (!agent_list_only()) {
		(void)agent_boot_start();
		(void)agent_control_arrive();
	}
	agent_start_ends();
	/* From here on the agent sees calls by which the program changes itself. */
	if (agent.control.mode != WIRE_CONTROL_OFF || agent.process.nr_sessions)
		agent_interpose();
	if (agent.control.mode != WIRE_CONTROL_OFF)
		agent_wrapper_file_begin();
	errno = saved_errno;
}

EXPORT void side_agent_start(void)
{
	static bool started;
	struct agent_own own;

	/* Relaxed: a second caller returns, and does not wait for the first one. */
	if (__atomic_exchange_n(&started, true, __ATOMIC_RELAXED))
		return;
	agent_own_begin_start(&own);
	start_agent();
	agent_own_end(&own);
}

static __attribute__((constructor)) void agent_loaded(void)
{
	side_agent_start();
}

/* ---- before main() ---- */

/*
 * `side list -- COMMAND` wants the events that exist when main() begins, and no main(). The start
 * of every program passes here, after the constructors of libraries; those of the program itself
 * run inside the real function, which then calls what we give it for main().
 */
typedef int main_function(int argc, char **argv, char **envp);
typedef int start_main_function(main_function *main, int argc, char **argv, void (*init)(void),
		void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

static int instead_of_main(int argc, char **argv, char **envp)
{
	struct agent_session *session;

	(void)argc;
	(void)argv;
	(void)envp;
	agent_each_session(session)
		if (session->list_only)
			agent_bye(session);
	_exit(0);
}

EXPORT int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
		void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

static __attribute__((noinline)) start_main_function *find_start_main(void)
{
	start_main_function *start;
	struct agent_own own;
	void *found;

	agent_own_begin_start(&own);
	found = dlsym(RTLD_NEXT, "__libc_start_main");
	agent_own_end(&own);
	memcpy(&start, &found, sizeof(start));
	return start;
}

/*
 * It ends with a jump: a frame of its own would appear in the backtraces of the program. So it
 * keeps nothing on the stack.
 */
EXPORT int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
		void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	start_main_function *start = find_start_main();

	if (!start)
		_exit(127);
	return start(agent_list_only() ? instead_of_main : main, argc, argv, init, fini, rtld_fini,
			stack_end);
}
