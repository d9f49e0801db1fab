/* SPDX-License-Identifier: MIT */
/* Starts helper programs that run in the background. */
#include "helper-program.h"

#include "programs/common/command.h"
#include "programs/common/message.h"

#include "recorder/core/session.h"
#include "protocol/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- arguments ---- */

static size_t helper_count_args(char *const *args)
{
	size_t count = 0;

	while (args && args[count])
		count++;
	return count;
}

static bool helper_add_arg(char ***args, const char *text)
{
	size_t count = helper_count_args(*args);
	char **more = realloc(*args, (count + 2) * sizeof(*more));

	if (!more)
		return false;
	*args = more;
	more[count] = strdup(text);
	more[count + 1] = NULL;
	return more[count] != NULL;
}

bool helper_add(char ***args, const char *option, const char *value)
{
	return helper_add_arg(args, option) && (!value || helper_add_arg(args, value));
}

bool helper_add_number(char ***args, const char *option, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return helper_add(args, option, text);
}

void helper_free(char **args)
{
	for (size_t i = 0; args && args[i]; i++)
		free(args[i]);
	free(args);
}

/* ---- the program ---- */

int helper_find(const char *program, const char *what, char path[PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[size > 0 ? size : 0] = 0;
	if (strrchr(self, '/')) {
		*strrchr(self, '/') = 0;
		/* An installation has it beside side-more; `side` is in another directory. */
		if (snprintf(path, PATH_MAX, "%s/%s", self, program) < PATH_MAX &&
				!access(path, X_OK))
			return COMMAND_DONE;
		if (snprintf(path, PATH_MAX, "%s/" SIDE_LIBEXEC "/%s", self, program) < PATH_MAX &&
				!access(path, X_OK))
			return COMMAND_DONE;
		if (snprintf(path, PATH_MAX, "%s/../%s/%s", self, program, program) < PATH_MAX &&
				!access(path, X_OK))
			return COMMAND_DONE;
	}
	return message_error(COMMAND_FAILED, "install side again",
			"cannot record %s: the program %s is not installed", what, program);
}

/*
 * Executes the program. `bound`: it belongs to a recording without a daemon, and ends with this
 * process.
 */
static _Noreturn void helper_execute(
		char **args, const char *variable, const char *value, bool bound)
{
	char *agent = session_library("libside-agent.so");

	setsid();
	/* Other preloaded libraries are meant for other programs. */
	if (agent)
		setenv("LD_PRELOAD", agent, 1);
	/* Its events have explicit times (ring/ring.h). */
	setenv("SIDE_RING_PORTABLE", "1", 1);
	/*
	 * The program must not write user_events, because it would record them again as kernel
	 * events.
	 */
	unsetenv("SIDE_USER_EVENTS");
	if (variable)
		setenv(variable, value, 1);
	/* Rules of sessions for events of the same name mean those of other programs. */
	if (bound && (setenv("SIDE_AGENT_SESSION", "", 1) || prctl(PR_SET_PDEATHSIG, SIGTERM)))
		_exit(message_error(COMMAND_FAILED, NULL, "out of memory"));
	execv(args[0], args);
	_exit(message_error(
			COMMAND_FAILED, NULL, "cannot run %.256s: %s", args[0], strerror(errno)));
}

static int helper_spawn(char ***args, const char *variable, const char *value, bool bound,
		int *ret_ready, pid_t *ret_child)
{
	int ends[2];

	if (pipe(ends))
		return message_error(
				COMMAND_FAILED, NULL, "cannot make a pipe: %s", strerror(errno));
	(void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	if (!helper_add_number(args, "--ready", (uint64_t)ends[1])) {
		close(ends[0]);
		close(ends[1]);
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	fflush(NULL);
	*ret_child = fork();
	if (!*ret_child)
		helper_execute(*args, variable, value, bound);
	close(ends[1]);
	*ret_ready = ends[0];
	if (*ret_child > 0)
		return COMMAND_DONE;
	close(ends[0]);
	*ret_ready = -1;
	return message_error(COMMAND_FAILED, NULL, "cannot start a process: %s", strerror(errno));
}

int helper_begin(char ***args, const char *socket, int *ret_ready, pid_t *ret_child)
{
	return helper_spawn(args, WIRE_SOCKET_ENV, socket, true, ret_ready, ret_child);
}

int helper_start(char ***args, const char *variable, const char *value)
{
	char byte = 0;
	int ready = -1, status;
	pid_t child = -1;
	ssize_t got;

	status = helper_spawn(args, variable, value, false, &ready, &child);
	if (status)
		return status;
	do
		got = read(ready, &byte, 1);
	while (got < 0 && errno == EINTR);
	close(ready);
	/* The program runs on, and init adopts it when this process ends. */
	if (got == 1)
		return COMMAND_DONE;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : COMMAND_FAILED;
}
