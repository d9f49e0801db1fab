/* SPDX-License-Identifier: MIT */
/*
 * Reports the programs of `side run` that cannot be recorded, each file once.
 *
 * `side run` executes the command in its own process, so the command has the process id, the
 * terminal and the parent that it would have without `side run`. A second process prints the
 * reports: it receives the messages of the shim (src/tracers/preload) and of the agent.
 */
#include "run-reports.h"

#include "programs/common/message.h"

#include "protocol/protocol.h"
#include "recorder/core/peer.h"
#include "recorder/unrecorded-files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_REPORTS_WAIT_MS 100 /* for the message of a connection; the shim waits as long */
#define RUN_REPORTS_BACKLOG 64

struct run_reports {
	struct session_unrecorded_files files;
	char directory[RUN_REPORTS_PATH_SIZE];
	char socket[RUN_REPORTS_PATH_SIZE];
	int listener;
	int command; /* pidfd of the process that executes the command */
};

/* ---- messages ---- */

/* The second line of `reason`, if any, is the hint. */
static void run_reports_print(const char *subject, const char *verb, const char *reason)
{
	const char *hint = strchr(reason, '\n');

	message_note_hint(hint ? hint + 1 : NULL, "%s%s%.*s", subject, verb,
			(int)strcspn(reason, "\n"), reason);
}

/* The program sends the name, so it can contain any bytes. */
static void run_reports_about(struct run_reports *reports, const struct ucred *peer,
		const struct wire_unrecorded *unrecorded)
{
	const char *reason = unrecorded_files_reason(unrecorded->reason);
	const char *name = strrchr(unrecorded->name, '/');
	char printable[PATH_MAX], subject[PATH_MAX + 64];

	if (reason && !unrecorded_files_note(&reports->files, peer->uid, unrecorded->name))
		return;
	if (!reason)
		reason = unrecorded_process_reason(unrecorded->reason);
	if (unrecorded_files_is_started(unrecorded->reason)) {
		snprintf(subject, sizeof(subject), "not recorded: %s",
				format_printable(unrecorded->name, printable, sizeof(printable)));
		run_reports_print(subject, " ", reason);
		return;
	}
	snprintf(subject, sizeof(subject), "process %d (%s)", (int)peer->pid,
			format_printable(name ? name + 1 : unrecorded->name, printable, 64));
	run_reports_print(subject, " is not recorded: ", reason);
}

/* The program waits until the connection is closed, so the report precedes its own output. */
static void run_reports_serve(struct run_reports *reports, int connection)
{
	static char message[WIRE_MESSAGE_MAX];
	struct pollfd wait = {.fd = connection, .events = POLLIN};
	const bool refuses_fds = peer_refuses_fds(connection);
	struct wire_unrecorded unrecorded;
	socklen_t size = sizeof(struct ucred);
	struct ucred peer;
	ssize_t got = -1;

	if (poll(&wait, 1, RUN_REPORTS_WAIT_MS) == 1)
		got = peer_receive(connection, message, sizeof(message), refuses_fds);
	if (got > 0 && !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
			wire_message_type(message, (size_t)got) == WIRE_UNRECORDED &&
			!wire_decode_unrecorded(message, (size_t)got, &unrecorded))
		run_reports_about(reports, &peer, &unrecorded);
	peer_close(connection, refuses_fds);
}

/* Serves the connections that are waiting. */
static void run_reports_serve_all(struct run_reports *reports)
{
	int connection;

	while ((connection = accept4(
				reports->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		run_reports_serve(reports, connection);
}

/* ---- the process ---- */

/*
 * Keeps standard error only. Otherwise, the reader of a pipe that the command closes early would
 * wait for this process, too.
 */
static void run_reports_close_others(const struct run_reports *reports)
{
	const int low = reports->listener < reports->command ? reports->listener : reports->command;
	const int high = reports->listener + reports->command - low;
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
	}
	if (low > STDERR_FILENO + 1)
		(void)syscall(SYS_close_range, STDERR_FILENO + 1, (unsigned int)low - 1, 0);
	if (high > low + 1)
		(void)syscall(SYS_close_range, (unsigned int)low + 1, (unsigned int)high - 1, 0);
	(void)syscall(SYS_close_range, (unsigned int)high + 1, ~0u, 0);
}

static void run_reports_remove(const struct run_reports *reports)
{
	(void)unlink(reports->socket);
	(void)rmdir(reports->directory);
}

static _Noreturn void run_reports_run(struct run_reports *reports)
{
	struct pollfd waits[2] = {{.fd = reports->listener, .events = POLLIN},
			{.fd = reports->command, .events = POLLIN}};

	(void)setsid();
	(void)prctl(PR_SET_NAME, "side-run");
	(void)signal(SIGPIPE, SIG_IGN);
	(void)!chdir("/");
	run_reports_close_others(reports);
	while (!waits[1].revents) {
		if (poll(waits, 2, -1) < 0 && errno != EINTR)
			break;
		run_reports_serve_all(reports);
	}
	/* After this, no program can connect. Serve those that have connected. */
	run_reports_remove(reports);
	run_reports_serve_all(reports);
	_exit(0);
}

/*
 * clone() instead of fork(): the end of the intermediate process sends no SIGCHLD. The command would
 * find that signal pending if its caller blocks it.
 */
static int run_reports_fork(struct run_reports *reports)
{
	pid_t child;
	int status = 0;

	fflush(NULL);
	child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (!child) {
		child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
		if (!child)
			run_reports_run(reports);
		_exit(child < 0);
	}
	if (child < 0)
		return -errno;
	while (waitpid(child, &status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return status ? -EAGAIN : 0;
}

/* ---- the socket ---- */

static int run_reports_bind(struct run_reports *reports)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memcpy(address.sun_path, reports->socket, strlen(reports->socket) + 1);
	reports->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (reports->listener < 0)
		return -errno;
	(void)peer_refuse_fds(reports->listener);
	if (bind(reports->listener, (struct sockaddr *)&address, sizeof(address)) ||
			listen(reports->listener, RUN_REPORTS_BACKLOG))
		return -errno;
	return 0;
}

static bool run_reports_make_in(struct run_reports *reports, const char *above)
{
	if (!above || *above != '/' ||
			snprintf(reports->directory, sizeof(reports->directory),
					"%s/side-run-XXXXXX", above) >=
					(int)sizeof(reports->directory) - (int)sizeof("/reports"))
		return false;
	if (!mkdtemp(reports->directory))
		return false;
	snprintf(reports->socket, sizeof(reports->socket), "%.98s/reports", reports->directory);
	return true;
}

/* A directory that only this user can search. */
static int run_reports_make(struct run_reports *reports)
{
	const char *const directories[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};

	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++)
		/* Colons separate the paths in SIDE_REPORT_SOCKET. */
		if ((!directories[i] || !strchr(directories[i], ':')) &&
				run_reports_make_in(reports, directories[i]))
			return run_reports_bind(reports);
	return -errno;
}

int run_reports_start(const char *command, char ret_socket[RUN_REPORTS_PATH_SIZE])
{
	struct run_reports *reports = calloc(1, sizeof(*reports));
	int ret;

	if (!reports)
		return -ENOMEM;
	reports->listener = -1;
	if (command)
		(void)unrecorded_files_note(&reports->files, getuid(), command);
	reports->command = (int)syscall(SYS_pidfd_open, getpid(), 0);
	ret = reports->command < 0 ? -errno : run_reports_make(reports);
	if (!ret)
		ret = run_reports_fork(reports);
	if (ret && *reports->socket)
		run_reports_remove(reports);
	if (reports->listener >= 0)
		close(reports->listener);
	if (reports->command >= 0)
		close(reports->command);
	memcpy(ret_socket, reports->socket, RUN_REPORTS_PATH_SIZE);
	free(reports);
	return ret;
}
