/* SPDX-License-Identifier: MIT */
/*
 * Starts the pager, as git does.
 *
 * The process that the user started becomes the parent of two others: the pager, and the process
 * that continues with the verb. It waits for both. Signals of the terminal reach all three. The
 * parent ignores them, because the pager needs the terminal until the user leaves it. Until then
 * the parent blocks them, because a user can press Ctrl-C as soon as the pager runs.
 */
#include "pager.h"

#include "programs/common/command.h"
#include "programs/common/message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGER_DEFAULT "less"

static volatile sig_atomic_t pager_child;

static void pager_block_signals(sigset_t *ret_before)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGQUIT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, ret_before);
}

/*
 * Ignores the signal, after sending a pending one to the child: a process does not inherit pending
 * signals, so a Ctrl-C before the second fork has not reached the child.
 */
static void pager_ignore_key(int number, pid_t child)
{
	sigset_t pending;

	if (!sigpending(&pending) && sigismember(&pending, number))
		kill(child, number);
	signal(number, SIG_IGN);
}

/* less reads keys from /dev/tty, because its standard input is the text. */
static bool pager_has_keyboard(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool pager_is_in_path(const char *program)
{
	const char *path = getenv("PATH");
	char whole[4096];

	if (strchr(program, '/'))
		return !access(program, X_OK);
	for (path = path ? path : "/usr/bin:/bin"; *path; path += strcspn(path, ":")) {
		path += *path == ':';
		snprintf(whole, sizeof(whole), "%.*s/%s", (int)strcspn(path, ":"), path, program);
		if (!access(whole, X_OK))
			return true;
	}
	return false;
}

/* Returns the command for a shell. NULL: no pager. */
static const char *pager_command(void)
{
	const char *command = getenv("SIDE_PAGER");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		return pager_is_in_path(PAGER_DEFAULT) ? PAGER_DEFAULT : NULL;
	if (!*command || !strcmp(command, "cat"))
		return NULL;
	/* For a single word, check in advance whether the shell will find it. */
	if (!strpbrk(command, " \t\n|&;<>()$`\\\"'*?[]#~=%!{}") && !pager_is_in_path(command)) {
		message_note("cannot run the pager `%.256s`: it was not found", command);
		return NULL;
	}
	return command;
}

static void pager_run(const char *command, int input, const sigset_t *mask)
{
	sigprocmask(SIG_SETMASK, mask, NULL);
	dup2(input, STDIN_FILENO);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static void pager_pass_on(int number)
{
	const int saved_errno = errno;

	if (pager_child > 0)
		kill(pager_child, number);
	errno = saved_errno;
}

static int pager_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return 0;
	}
	return status;
}

/*
 * Exits with the status of the process that prints. It is no error if the user leaves the pager
 * early.
 */
static void pager_finish(const char *command, pid_t pager, pid_t child)
{
	const int pager_status = pager_wait(pager), child_status = pager_wait(child);
	const int code = WIFEXITED(child_status) ? WEXITSTATUS(child_status)
						 : 128 + WTERMSIG(child_status);

	if (WIFEXITED(pager_status) && WEXITSTATUS(pager_status) >= 126)
		_exit(message_error(COMMAND_FAILED, "`--no-pager` prints without it",
				"cannot run the pager `%.256s`", command));
	if (code == 128 + SIGPIPE)
		_exit(COMMAND_DONE);
	if (WIFSIGNALED(child_status)) {
		signal(WTERMSIG(child_status), SIG_DFL);
		raise(WTERMSIG(child_status));
	}
	_exit(code);
}

static void pager_become_parent(const char *command, pid_t pager, pid_t child, const sigset_t *mask)
{
	struct sigaction pass_on = {.sa_handler = pager_pass_on};

	pager_child = child;
	pager_ignore_key(SIGINT, child);
	pager_ignore_key(SIGQUIT, child);
	sigaction(SIGTERM, &pass_on, NULL);
	sigaction(SIGHUP, &pass_on, NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	pager_finish(command, pager, child);
}

static void pager_become_child(const int fds[2], pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(128 + SIGTERM);
	dup2(fds[1], STDOUT_FILENO);
	if (isatty(STDERR_FILENO))
		dup2(fds[1], STDERR_FILENO);
	close(fds[0]);
	close(fds[1]);
	output_set_paged();
}

static bool pager_is_wanted(const struct common_options *common)
{
	const char *terminal = getenv("TERM");

	return !common->no_pager && isatty(STDOUT_FILENO) && terminal && *terminal &&
			strcmp(terminal, "dumb") != 0 && pager_has_keyboard();
}

void pager_start(const struct common_options *common)
{
	const char *command = pager_is_wanted(common) ? pager_command() : NULL;
	const pid_t parent = getpid();
	sigset_t mask;
	pid_t pager, child;
	int fds[2];

	if (!command || pipe2(fds, O_CLOEXEC))
		return;
	pager_block_signals(&mask);
	pager = fork();
	if (!pager)
		pager_run(command, fds[0], &mask);
	child = pager > 0 ? fork() : -1;
	if (!child) {
		pager_become_child(fds, parent);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		return;
	}
	close(fds[0]);
	close(fds[1]);
	if (child > 0)
		pager_become_parent(command, pager, child, &mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	/* If no process can be started, the output is not paged. */
	if (pager > 0)
		pager_wait(pager);
}
