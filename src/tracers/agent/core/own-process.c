/* SPDX-License-Identifier: MIT */
/*
 * What the agent checks of the process that it is in: its sandbox, its names, and free descriptors.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/context/values.h"
#include "base/inside/raw.h"

/* Kernel names of processes have at most 15 bytes. */
#define COMM_SIZE 16
#define DESCRIPTORS_FEW 256 /* a limit below this may leave none for the rings */

/*
 * Has the program entered a sandbox since it started? A filter that does not expect our system
 * calls may kill the program for them, so the agent makes none any more. (A filter that existed at
 * the start, such as a container's, has permitted the first connection.)
 */
bool agent_is_sandboxed(void)
{
	/*
	 * If the agent has seen the program enter it, do not ask the kernel: even that call may be
	 * forbidden.
	 */
	return atomic_load_explicit(&agent.own_process.is_stopped, memory_order_relaxed) ||
			!context_may_ask() || prctl(PR_GET_SECCOMP) != agent.own_process.seccomp;
}

static bool read_comm(char *comm)
{
	long fd = raw_call(SYS_openat, AT_FDCWD, "/proc/self/comm", O_CLOEXEC);
	long size = fd < 0 ? fd : raw_call(SYS_read, (int)fd, comm, (size_t)COMM_SIZE);

	wire_close((int)fd);
	if (size <= 0)
		return false;
	comm[size - 1] = 0; /* a line's end */
	return true;
}

/* Without /proc: the name of the file that was executed. */
static void copy_started(char *comm)
{
	const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN);
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (path)
		(void)memccpy(comm, slash ? slash + 1 : path, 0, COMM_SIZE - 1);
}

/* The process's name as `ps` shows it; in full where the kernel has cut the program's name. */
void agent_process_names(char *procname, char *exe)
{
	long size = raw_call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", exe,
			(size_t)AGENT_NAME_SIZE - 1);
	const char *base;

	exe[size > 0 ? size : 0] = 0;
	memset(procname, 0, COMM_SIZE + 1);
	/* The name of the main thread, which may be another thread than the caller. */
	if (raw_call(SYS_gettid) == raw_call(SYS_getpid))
		prctl(PR_GET_NAME, procname);
	else if (!read_comm(procname))
		copy_started(procname);
	base = strrchr(exe, '/');
	base = base ? base + 1 : exe;
	if (strlen(procname) == COMM_SIZE - 1 && !strncmp(procname, base, COMM_SIZE - 1) &&
			strlen(base) < 256)
		memcpy(procname, base, strlen(base) + 1);
	if (!*procname)
		memcpy(procname, "unknown", 8);
}

/*
 * True if descriptors for the doorbell and the rings are free. Check this before HELLO: a process
 * that sends HELLO and then hangs up counts as a loss. Assume one channel: only the answer has
 * their number, except in a forked child.
 */
bool agent_has_descriptors(int socket, uint32_t nr_channels)
{
	uint32_t wanted = 1 + (nr_channels ? nr_channels : 1), nr = 0;
	int copies[WIRE_CHANNELS_MAX + 1];
	struct rlimit limit;

	if (raw_call(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) ||
			limit.rlim_cur >= DESCRIPTORS_FEW)
		return true;
	while (nr < wanted) {
		long copy = raw_call(SYS_fcntl, socket, F_DUPFD_CLOEXEC, 0);

		if (copy < 0)
			break;
		copies[nr++] = (int)copy;
	}
	wanted -= nr;
	while (nr)
		raw_close(copies[--nr]);
	return !wanted;
}
