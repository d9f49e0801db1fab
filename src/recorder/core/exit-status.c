/* SPDX-License-Identifier: MIT */
/*
 * Finds the exit status of a process. A child's status is available until the recorder reaps it.
 * For other processes, /proc shows it until their parent reaps them; from Linux 6.15 on, a pidfd
 * returns it afterwards, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/core/exit-status.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/session-state.h"

/* From <linux/pidfd.h> of Linux 6.15; older headers do not have it. */
struct exit_info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
_Static_assert(sizeof(struct exit_info) == 64, "PIDFD_INFO_SIZE_VER0");

#define GET_INFO _IOWR(0xff, 11, struct exit_info)
#define INFO_EXIT (UINT64_C(1) << 3)

static const struct {
	int number;
	const char *name;
} faults[] = {{SIGSEGV, "SEGV"}, {SIGABRT, "ABRT"}, {SIGBUS, "BUS"}, {SIGILL, "ILL"},
		{SIGFPE, "FPE"}, {SIGSYS, "SYS"}, {SIGTRAP, "TRAP"}};

#define NR_FAULTS (sizeof(faults) / sizeof(faults[0]))

const char *crash_name(int number)
{
	size_t i;

	for (i = 0; i < NR_FAULTS; i++)
		if (faults[i].number == number)
			return faults[i].name;
	return "";
}

int crash_of(int status)
{
	return WIFSIGNALED(status) && *crash_name(WTERMSIG(status)) ? WTERMSIG(status) : 0;
}

/* Returns a wait status, or -1. */
static int status_of_child(const struct session *session, pid_t pid)
{
	siginfo_t info = {0};

	if (pid == session->command.pid && session->command.status != -1)
		return session->command.status;
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid != pid)
		return -1;
	return info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
}

static int status_by_pidfd(int pidfd)
{
	struct exit_info info = {.mask = INFO_EXIT};

	if (ioctl(pidfd, GET_INFO, &info) || !(info.mask & INFO_EXIT))
		return -1;
	return info.exit_code;
}

/* Reads the last number in the line of a zombie, after the name in parentheses. */
static int status_in_proc(pid_t pid, int pidfd)
{
	char path[32], line[1024];
	const char *at;
	ssize_t size;
	int fd, status;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (size <= 0)
		return -1;
	line[size] = '\0';
	at = strrchr(line, ')');
	/* Check that the pidfd's process still exists, because the pid may have been reused. */
	if (!at || strncmp(at, ") Z ", 4) || syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0))
		return -1;
	at = strrchr(line, ' ');
	status = at ? atoi(at + 1) : -1;
	return status;
}

void crash_check(struct session *session, struct instance *instance)
{
	int status;

	if (!session->triggers.crash || instance->watch.fd < 0)
		return;
	status = status_of_child(session, instance->peer);
	if (status < 0)
		status = status_in_proc(instance->peer, instance->watch.fd);
	if (status < 0)
		status = status_by_pidfd(instance->watch.fd);
	if (status >= 0) {
		crash_note(session, instance->peer, status);
		return;
	}
	if (!session->triggers.blind)
		report_instance(session, instance, false,
				"cannot determine whether process %d (%s) crashed: its parent has already reaped it (Linux 6.15 or later keeps the exit status)",
				(int)instance->peer, instance->procname);
	session->triggers.blind = true;
}

void crash_note(struct session *session, pid_t pid, int status)
{
	struct instance *instance;
	int number = crash_of(status);

	if (!session->triggers.crash || !number)
		return;
	for (instance = session->instances.live; instance; instance = instance->next_live) {
		if (instance->peer != pid)
			continue;
		pthread_mutex_lock(&session->lock);
		if (!instance->crash)
			instance->crash = number;
		pthread_mutex_unlock(&session->lock);
	}
}
