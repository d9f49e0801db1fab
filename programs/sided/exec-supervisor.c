/* SPDX-License-Identifier: MIT */
/*
 * The process that starts the helper that attaches on exec (sessions/exec-watch.h), and starts it
 * again if it ends or stops to write its pulse.
 *
 * The daemon creates it before it drops its capabilities, which the helper needs. It waits without
 * any other work until the daemon sends the first list of files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "sessions/exec-events.h"
#include "sessions/exec-watch.h"
#include "sided.h"

/* Without a pulse for this time, programs may wait for the helper: it is killed. */
#define PULSE_LATE_MS 2000
#define AGAIN_FIRST_MS 20
#define AGAIN_LAST_MS 5000
#define HEALTHY_MS 10000 /* after this run time, the next pause is the first one */
#define SOCKET_BYTES (1 << 20)
/* The first version of Linux in which a thread can be seized while fanotify delays its exec. */
#define DELAY_MAJOR 6
#define DELAY_MINOR 8

/* The agent of a build with a sanitizer would end programs that do not have its runtime. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EXEC_SUPERVISOR_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EXEC_SUPERVISOR_SANITIZER 1
#endif
#endif

/* ---- rights ---- */

static bool exec_supervisor_has_capability(unsigned int number)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return !syscall(SYS_capget, &header, data) &&
			(data[number / 32].effective & 1u << number % 32);
}

/*
 * With a security module that confines this process, an exec of a traced program can fail that
 * succeeds otherwise.
 */
static bool exec_supervisor_is_confined(void)
{
	char label[512];
	ssize_t size = io_read_text("/proc/self/attr/current", label, sizeof(label));

	return size > 0 && *label && !strstr(label, "unconfined") && strcmp(label, "kernel") != 0;
}

static bool exec_supervisor_forbids_ptrace(void)
{
	char scope[16];

	return io_read_text("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)) > 0 &&
			*scope == '3';
}

/* The limit of the helper. */
static bool exec_supervisor_set_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	if (limit.rlim_cur >= EXEC_WATCH_DESCRIPTORS)
		return true;
	limit.rlim_cur = EXEC_WATCH_DESCRIPTORS;
	if (limit.rlim_max < limit.rlim_cur)
		limit.rlim_max = limit.rlim_cur;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

static bool exec_supervisor_may_set_limit(void)
{
	struct rlimit limit;

	return exec_supervisor_has_capability(CAP_SYS_RESOURCE) ||
			(!getrlimit(RLIMIT_NOFILE, &limit) &&
					limit.rlim_max >= EXEC_WATCH_DESCRIPTORS);
}

/* Before Linux 6.8, an exec that fanotify delays holds a lock that ptrace waits for. */
static bool exec_supervisor_is_old(void)
{
	struct utsname system;
	unsigned int major = 0, minor = 0;

	return uname(&system) || sscanf(system.release, "%u.%u", &major, &minor) != 2 ||
			major < DELAY_MAJOR || (major == DELAY_MAJOR && minor < DELAY_MINOR);
}

/* Writes the reason and returns false if the kernel cannot delay each exec until this is done. */
static bool exec_supervisor_can_delay(char *ret_reason, size_t capacity)
{
	int kernel = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_REPORT_TID, O_RDONLY);

	*ret_reason = '\0';
	if (kernel < 0)
		snprintf(ret_reason, capacity, "the kernel refuses fanotify (%s%s)",
				strerror(errno),
				errno == EPERM ? "; it requires CAP_SYS_ADMIN" : "");
	else if (exec_supervisor_is_old())
		snprintf(ret_reason, capacity,
				"ptrace waits for an exec that fanotify delays before Linux %d.%d",
				DELAY_MAJOR, DELAY_MINOR);
	if (kernel >= 0)
		close(kernel);
	return !*ret_reason;
}

/* Adds the reason and returns false if the kernel does not report execs. */
static bool exec_supervisor_has_reports(char *ret_reason, size_t capacity)
{
	size_t size = strlen(ret_reason);
	int events = exec_events_open();

	if (events >= 0) {
		close(events);
		return true;
	}
	snprintf(ret_reason + size, capacity - size,
			"; there is no proc connector either (%s; it requires CAP_NET_ADMIN outside of containers)",
			strerror(-events));
	return false;
}

/* Returns why no program can be attached to, or NULL. */
static const char *exec_supervisor_unsupported(void)
{
#if !defined(__x86_64__) || !defined(__LP64__)
	return "only x86-64 is supported";
#elif defined(EXEC_SUPERVISOR_SANITIZER)
	return "this build has a sanitizer";
#else
	return NULL;
#endif
}

/* Writes the reason and returns false if this process may not attach to programs of every user. */
static bool exec_supervisor_is_permitted(char *ret_reason, size_t capacity)
{
	const char *unsupported = exec_supervisor_unsupported();

	*ret_reason = '\0';
	if (unsupported)
		snprintf(ret_reason, capacity, "%s", unsupported);
	else if (!exec_supervisor_has_capability(CAP_SYS_PTRACE))
		snprintf(ret_reason, capacity, "ptrace requires CAP_SYS_PTRACE");
	else if (!exec_supervisor_may_set_limit())
		snprintf(ret_reason, capacity,
				"the limit of open files (RLIMIT_NOFILE) is below %d",
				EXEC_WATCH_DESCRIPTORS);
	else if (exec_supervisor_forbids_ptrace())
		snprintf(ret_reason, capacity,
				"kernel.yama.ptrace_scope is 3, which forbids ptrace");
	else if (exec_supervisor_is_confined())
		snprintf(ret_reason, capacity, "a security module confines the daemon");
	return !*ret_reason;
}

/*
 * Returns the method, or NULL with the reason. After EXEC_WATCH_AFTER, the reason is why it is not
 * EXEC_WATCH_ON.
 */
static const char *exec_supervisor_method(char *ret_reason, size_t capacity)
{
	if (!exec_supervisor_is_permitted(ret_reason, capacity))
		return NULL;
	if (exec_supervisor_can_delay(ret_reason, capacity))
		return EXEC_WATCH_ON;
	return exec_supervisor_has_reports(ret_reason, capacity) ? EXEC_WATCH_AFTER : NULL;
}

/* ---- the helper ---- */

__attribute__((noreturn)) static void exec_supervisor_execute(
		const char *method, int pulse, pid_t supervisor)
{
	char text[sizeof(EXEC_WATCH_AFTER)], *args[] = {(char[]){EXEC_WATCH_NAME}, text, NULL};

	(void)snprintf(text, sizeof(text), "%s", method);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != supervisor)
		_exit(EXIT_FAILURE);
	if (pulse != EXEC_WATCH_PULSE && dup2(pulse, EXEC_WATCH_PULSE) < 0)
		_exit(EXIT_FAILURE);
	fcntl(EXEC_WATCH_PULSE, F_SETFD, 0);
	fcntl(EXEC_WATCH_SOCKET, F_SETFD, 0);
	sided_execute_more(args);
	_exit(EXIT_FAILURE);
}

/* Returns the read end of its pulse, or -1. */
static int exec_supervisor_spawn(const char *method, pid_t *ret_child)
{
	pid_t supervisor = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	*ret_child = fork();
	if (!*ret_child)
		exec_supervisor_execute(method, ends[1], supervisor);
	close(ends[1]);
	if (*ret_child > 0)
		return ends[0];
	close(ends[0]);
	return -1;
}

/* Returns when the helper has ended. Kills it if its pulse stops. */
static void exec_supervisor_watch(int pulse, pid_t child)
{
	struct pollfd watched = {.fd = pulse, .events = POLLIN};
	bool is_alive = false;
	char beats[64];
	ssize_t size;
	int ready;

	for (;;) {
		ready = poll(&watched, 1, is_alive ? PULSE_LATE_MS : -1);
		if (ready < 0 && errno == EINTR)
			continue;
		size = ready > 0 ? read(pulse, beats, sizeof(beats)) : 0;
		if (size <= 0)
			break;
		is_alive = beats[size - 1] == EXEC_WATCH_ALIVE;
	}
	(void)kill(child, SIGKILL);
	close(pulse);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

__attribute__((noreturn)) static void exec_supervisor_loop(const char *method)
{
	struct pollfd first = {.fd = EXEC_WATCH_SOCKET, .events = POLLIN};
	uint64_t pause_ms = AGAIN_FIRST_MS, begun;
	pid_t child;
	int pulse;

	/* POLLHUP: the daemon has ended. */
	while (poll(&first, 1, -1) < 0 && errno == EINTR)
		;
	if (first.revents & (POLLHUP | POLLERR | POLLNVAL))
		_exit(0);
	for (;;) {
		begun = loop_now();
		pulse = exec_supervisor_spawn(method, &child);
		if (pulse >= 0)
			exec_supervisor_watch(pulse, child);
		if (loop_now() - begun >= HEALTHY_MS * 1000000ull)
			pause_ms = AGAIN_FIRST_MS;
		(void)poll(NULL, 0, (int)pause_ms);
		pause_ms = pause_ms * 2 < AGAIN_LAST_MS ? pause_ms * 2 : AGAIN_LAST_MS;
	}
}

/* Keeps nothing of the daemon but the socket and the capabilities. */
__attribute__((noreturn)) static void exec_supervisor_run(
		const char *method, int socket, pid_t daemon)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "side-exec");
	/* A terminal's signals, such as SIGTSTP, are for the daemon: programs wait for the helper. */
	(void)setsid();
	if (getppid() != daemon || null < 0 || !exec_supervisor_set_limit() ||
			dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
			dup2(null, STDERR_FILENO) < 0 ||
			(socket != EXEC_WATCH_SOCKET && dup2(socket, EXEC_WATCH_SOCKET) < 0) ||
			syscall(SYS_close_range, EXEC_WATCH_SOCKET + 1, ~0u, 0))
		_exit(EXIT_FAILURE);
	for (int number = 1; number < NSIG; number++)
		if (number != SIGPIPE)
			(void)signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	isolate_exec_helper();
	exec_supervisor_loop(method);
}

int exec_supervisor_start(const char **ret_method, char *ret_reason, size_t capacity)
{
	const int bytes = SOCKET_BYTES;
	pid_t daemon = getpid(), child;
	int ends[2];

	*ret_method = exec_supervisor_method(ret_reason, capacity);
	if (!*ret_method)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)) {
		snprintf(ret_reason, capacity, "%s", strerror(errno));
		return -1;
	}
	/* A list of files with long paths fits. */
	(void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	child = fork();
	if (!child)
		exec_supervisor_run(*ret_method, ends[1], daemon);
	close(ends[1]);
	if (child > 0)
		return ends[0];
	snprintf(ret_reason, capacity, "%s", strerror(errno));
	close(ends[0]);
	return -1;
}
