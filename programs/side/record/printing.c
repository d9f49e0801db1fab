/* SPDX-License-Identifier: MIT */
/*
 * `--print`: a watcher process waits until there is a trace, and then starts the viewer. Both are
 * in their own process group: Ctrl-C ends the recording, and the viewer shows the remaining events.
 */
#include "printing.h"

#include "programs/common/command.h"
#include "programs/side/cli/temporary-directory.h"
#include "programs/common/message.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAUSE_MS 50

int printing_prepare(struct printing *printing, bool wanted, const char **output)
{
	int status;

	*printing = (struct printing){.wanted = wanted, .end_fd = -1};
	if (!wanted || *output)
		return COMMAND_DONE;
	status = temporary_directory_make("side-print", "the recording", &printing->temporary);
	if (status)
		return status;
	*output = printing->temporary;
	return COMMAND_DONE;
}

/* ---- the watcher process ---- */

static bool printing_has_trace(const char *output)
{
	static const char *const metadata_names[] = {"metadata", "*/metadata"};
	bool found = false;

	for (unsigned int i = 0; i < 2 && !found; i++) {
		char *pattern = NULL;
		glob_t names = {.gl_pathc = 0};

		if (asprintf(&pattern, "%s/%s", output, metadata_names[i]) < 0)
			return true;
		found = !glob(pattern, GLOB_NOSORT, NULL, &names);
		globfree(&names);
		free(pattern);
	}
	return found;
}

/* Waits for the first trace. False if the recording ended without one. */
static bool printing_wait_for_trace(const char *output, int end_fd)
{
	struct pollfd end_poll = {.fd = end_fd, .events = POLLIN};

	while (!poll(&end_poll, 1, PAUSE_MS))
		if (printing_has_trace(output))
			return true;
	return printing_has_trace(output);
}

__attribute__((noreturn)) static void printing_run_viewer(
		const struct parsed *parsed, const char *output)
{
	static const char *const colours[] = {"--color=auto", "--color=always", "--color=never"};
	const char *args[8] = {
			"side", "view", "--follow", "--quiet", colours[parsed->common.color]};
	unsigned int count = 5;

	if (parsed->common.json)
		args[count++] = "--json";
	args[count++] = output;
	execv("/proc/self/exe", (char *const *)(uintptr_t)args);
	_exit(127);
}

__attribute__((noreturn)) static void printing_watch(
		const struct parsed *parsed, const char *output, bool has_command, int end_fd)
{
	pid_t recorder = getppid(), viewer;
	sigset_t none;
	int status = 0;

	setpgid(0, 0);
	/*
	 * An inherited descriptor would keep the lock on the directory, whose release shows the end
	 * of the recording.
	 */
	if (end_fd > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned int)end_fd - 1, 0);
	close_range((unsigned int)end_fd + 1, ~0u, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	/* The viewer writes to the terminal from the background. */
	signal(SIGTTOU, SIG_IGN);
	if (has_command)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	if (!printing_wait_for_trace(output, end_fd))
		_exit(0);
	viewer = fork();
	if (!viewer)
		printing_run_viewer(parsed, output);
	while (viewer > 0 && waitpid(viewer, &status, 0) < 0 && errno == EINTR)
		;
	if (!has_command && (viewer < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) &&
			getppid() == recorder)
		kill(recorder, SIGINT);
	_exit(0);
}

int printing_start(struct printing *printing, const struct parsed *parsed, const char *output,
		bool has_command)
{
	int ends[2];

	if (!printing->wanted)
		return COMMAND_DONE;
	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC))
		return message_error(
				COMMAND_FAILED, NULL, "cannot make a pipe: %s", strerror(errno));
	printing->watcher = fork();
	if (!printing->watcher) {
		close(ends[1]);
		printing_watch(parsed, output, has_command, ends[0]);
	}
	close(ends[0]);
	printing->end_fd = ends[1];
	if (printing->watcher > 0)
		return COMMAND_DONE;
	return message_error(COMMAND_FAILED, NULL, "cannot start a process that shows events: %s",
			strerror(errno));
}

void printing_finish(struct printing *printing)
{
	if (printing->end_fd >= 0)
		close(printing->end_fd);
	while (printing->watcher > 0 && waitpid(printing->watcher, NULL, 0) < 0 && errno == EINTR)
		;
	temporary_directory_remove(&printing->temporary);
	*printing = (struct printing){.end_fd = -1};
}
