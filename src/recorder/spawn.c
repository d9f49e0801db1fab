/* SPDX-License-Identifier: MIT */
/*
 * Starts the command. It gets the signal mask, dispositions and limits that the recorder was
 * started with, the agent in LD_PRELOAD, and the recorder's socket in SIDE_AGENT_SOCKET.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "protocol/protocol.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/core/watch.h"
#include "recorder/helper-process.h"
#include "recorder/session-state.h"
#include "recorder/run-turn.h"
#include "recorder/spawn.h"

/*
 * Inside another recording, both record the command. Other content of the variable is passed on
 * unchanged.
 */
int spawn_sockets(struct session *session, struct error *error)
{
	const char *outer = getenv(WIRE_SOCKET_ENV), *at;
	unsigned int nr = 1;
	int made;

	if (session->mode == SESSION_LIST)
		/* a listing ends the program before it could send anything to another recorder */
		outer = NULL;
	for (at = outer; at && *at; at = strchr(at, ':') ? strchr(at, ':') + 1 : "")
		nr++;
	if (nr > WIRE_SESSIONS_MAX)
		return error_set(error, -E2BIG, NULL,
				"cannot record: this process is already in %u recordings, and at most %d are possible",
				nr - 1, WIRE_SESSIONS_MAX);
	made = asprintf(&session->spawn.sockets, "%s%s%s", outer ? outer : "",
			outer && *outer ? ":" : "", session->listener.path);
	if (made >= 0)
		return 0;
	session->spawn.sockets = NULL;
	return error_set_no_memory(error);
}

/*
 * A program that gcc has built with a shared address sanitizer exits at its start if another
 * library is loaded first. None of the preloaded libraries replaces a function that the sanitizer
 * must intercept, so this disables the check. Programs without the sanitizer ignore the variable.
 */
void spawn_let_sanitizer_be_second(void)
{
	const char *there = getenv("ASAN_OPTIONS");
	char *options;

	if (there && strstr(there, "verify_asan_link_order"))
		return;
	if (asprintf(&options, "%s%sverify_asan_link_order=0", there ? there : "",
			    there && *there ? ":" : "") < 0)
		return;
	setenv("ASAN_OPTIONS", options, 1);
	free(options);
}

static void set_environment(const struct session *session)
{
	size_t i;

	setenv("LD_PRELOAD", session->spawn.preload, 1);
	spawn_let_sanitizer_be_second();
	setenv(WIRE_SOCKET_ENV, session->spawn.sockets, 1);
	for (i = 0; i < session->spawn.nr_environment; i++)
		putenv(session->spawn.environment[i]);
}

/*
 * Waits in the child until the recorder lets the command continue. If the recorder has exited, the
 * child exits, too.
 */
static void wait_for_word(const int go[2])
{
	ssize_t size;
	char byte;

	if (go[0] < 0)
		return;
	close(go[1]);
	do
		size = read(go[0], &byte, 1);
	while (size < 0 && errno == EINTR);
	if (size != 1)
		_exit(126);
}

static _Noreturn void run_command(
		const struct session *session, char *const argv[], int report_fd, const int go[2])
{
	int code;

	wait_for_word(go);
	set_environment(session);
	sigaction(SIGCHLD, &session->loop.old_child, NULL);
	sigaction(SIGUSR1, &session->loop.old_user, NULL);
	sigaction(SIGUSR2, &session->loop.old_user2, NULL);
	setrlimit(RLIMIT_NOFILE, &session->files.old_number);
	setrlimit(RLIMIT_FSIZE, &session->files.old_size);
	sigaction(SIGXFSZ, &session->files.old_size_signal, NULL);
	pthread_sigmask(SIG_SETMASK, &session->loop.old_mask, NULL);
	execvp(argv[0], argv);
	code = errno;
	if (write(report_fd, &code, sizeof(code)) != sizeof(code))
		_exit(126);
	_exit(code == ENOENT ? 127 : 126);
}

int spawn_exec_error(struct error *error, const char *name, int code)
{
	char path[PATH_MAX];
	bool is_there = session_program(name, path) >= 0 || *path;

	if (code == ENOENT && !is_there)
		return error_set_kind(error, ERROR_NOT_FOUND, -code, NULL,
				strchr(name, '/')
						? "cannot run %s: there is no such file"
						: "cannot run %s: there is no such command in PATH",
				name);
	if (code == ENOENT)
		return error_set_kind(error, ERROR_NOT_EXECUTABLE, -code, NULL,
				"cannot run %s: the interpreter that it names does not exist",
				name);
	if (code == EACCES)
		return error_set_kind(error, ERROR_NOT_EXECUTABLE, -code, NULL,
				"cannot run %s: it is a directory, or you may not execute it (chmod +x)",
				name);
	return error_set_kind(error, ERROR_NOT_EXECUTABLE, -code, NULL, "cannot run %s: %s", name,
			strerror(code));
}

/* Returns the errno of a failed exec() in the child, or 0 if it succeeded. */
static int hear_from_child(int fd)
{
	int code = 0;
	ssize_t size;

	do
		size = read(fd, &code, sizeof(code));
	while (size < 0 && errno == EINTR);
	return size == sizeof(code) ? code : 0;
}

/*
 * A request for a snapshot or a chunk that comes too early or too late must not kill the recorder.
 */
void spawn_ignore_requests(struct session *session)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGUSR1, &ignore, &session->loop.old_user);
	sigaction(SIGUSR2, session->rotation.chunks ? &ignore : NULL, &session->loop.old_user2);
}

static void spawn_reset_signals(struct session *session)
{
	struct sigaction child = {.sa_handler = SIG_DFL};
	sigset_t ours = session_signals(session);

	pthread_sigmask(SIG_BLOCK, &ours, &session->loop.old_mask);
	/* With an inherited SIG_IGN, the recorder could not get the command's exit status. */
	sigaction(SIGCHLD, &child, &session->loop.old_child);
	session->loop.mask_is_ours = true;
}

static int watch_command(struct session *session, pid_t pid, struct error *error)
{
	int ret;

	session->command.watch = (struct recorder_watch){
			.kind = WATCH_COMMAND,
			.fd = (int)syscall(SYS_pidfd_open, pid, 0),
	};
	session->command.pid = pid;
	if (session->command.watch.fd >= 0)
		return 0;
	ret = error_set_kind(error, ERROR_FAILED, -errno, "use Linux 5.3 or later",
			"cannot watch the command: %s", strerror(errno));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return ret;
}

/* Watches the waiting child, and lets it continue when the helper is ready. */
static int spawn_resume_child(struct session *session, pid_t pid, int go[2], struct error *error)
{
	int ret = watch_command(session, pid, error);

	close(go[0]);
	if (!ret) {
		ret = helper_process_hold(session, error);
		/*
		 * If the child was killed meanwhile, send() fails; the recorder then handles this
		 * like any end of the command.
		 */
		if (!ret)
			(void)send(go[1], "+", 1, MSG_NOSIGNAL);
		close(go[1]);
		if (!ret)
			return 0;
		waitpid(pid, NULL, 0);
		helper_process_end(session);
		return ret;
	}
	close(go[1]);
	return ret;
}

static int spawn_start_child(struct session *session, char *const argv[], int ends[2], int go[2],
		pid_t *ret_pid, struct error *error)
{
	int code;

	*ret_pid = fork();
	code = errno;
	if (!*ret_pid)
		run_command(session, argv, ends[1], go);
	close(ends[1]);
	if (*ret_pid > 0)
		return go[0] >= 0 ? spawn_resume_child(session, *ret_pid, go, error) : 0;
	if (go[0] >= 0) {
		close(go[0]);
		close(go[1]);
	}
	return error_set_kind(error, ERROR_FAILED, -code, NULL, "cannot start a process: %s",
			strerror(code));
}

int session_spawn(struct session *session, char *const argv[], struct error *error)
{
	int ends[2], go[2] = {-1, -1}, code, ret;
	pid_t pid;

	if (!argv || !argv[0] || !*argv[0])
		return error_set_kind(
				error, ERROR_USAGE, -EINVAL, NULL, "missing command to record");
	if (session->command.pid)
		return error_set_kind(error, ERROR_USAGE, -EBUSY, NULL,
				"the session has a command already");
	session->command.name = strdup(argv[0]);
	session->command.never_meets = session_never_meets(argv[0]);
	if (pipe2(ends, O_CLOEXEC))
		return error_set_kind(error, ERROR_FAILED, -errno, NULL, "cannot make a pipe: %s",
				strerror(errno));
	/*
	 * A socket instead of a pipe: send() can write to it without SIGPIPE if the child has
	 * exited.
	 */
	if (session->command.helper && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go)) {
		code = errno;
		close(ends[0]);
		close(ends[1]);
		return error_set_kind(error, ERROR_FAILED, -code, NULL, "cannot make a socket: %s",
				strerror(code));
	}
	spawn_reset_signals(session);
	/* Adopt orphans as children, so that the recorder knows when the last one has ended. */
	if (session->wait_all)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	ret = spawn_start_child(session, argv, ends, go, &pid, error);
	code = ret ? 0 : hear_from_child(ends[0]);
	close(ends[0]);
	if (code) {
		waitpid(pid, NULL, 0);
		helper_process_end(session);
		return spawn_exec_error(error, argv[0], code);
	}
	if (ret || session->command.helper)
		return ret;
	return watch_command(session, pid, error);
}
