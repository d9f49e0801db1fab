/* SPDX-License-Identifier: MIT */
/* Finds and executes `side-more`. */
#include "more.h"

#include "programs/common/command.h"
#include "programs/common/message.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MORE "side-more"

/*
 * Paths relative to the directory of this executable, so that a build and a moved installation
 * work.
 */
static const char *const candidates[] = {MORE, SIDE_LIBEXEC "/" MORE};

static bool more_own_directory(char path[PATH_MAX])
{
	ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	path[size > 0 ? size : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return slash;
}

static int more_report_error(const char *path, int code)
{
	if (access("/proc/self/exe", F_OK))
		return message_error(COMMAND_FAILED, "mount -t proc proc /proc",
				"cannot run this verb: /proc is not mounted: side finds its own files and other processes there");
	if (code == EACCES)
		return message_error(COMMAND_FAILED,
				"make its directory readable to all users, or install side for them",
				"cannot run this verb: user %lu may not execute %.512s",
				(unsigned long)geteuid(), path);
	return message_error(COMMAND_FAILED, "install side again",
			"the part of side that has this verb, " MORE ", cannot be run: %s",
			strerror(code));
}

void more_explain(char **argv)
{
	char name[] = MORE_EXPLAIN;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		argv[0] = name;
		_exit(more_execute(argv));
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

int more_execute(char **argv)
{
	char directory[PATH_MAX], path[PATH_MAX + sizeof(SIDE_LIBEXEC) + sizeof(MORE) + 2] = MORE;
	int code = ENOENT;

	for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates) && code == ENOENT; i++) {
		if (candidates[i][0] == '/')
			snprintf(path, sizeof(path), "%s", candidates[i]);
		else if (more_own_directory(directory))
			snprintf(path, sizeof(path), "%s/%s", directory, candidates[i]);
		else
			return more_report_error(path, errno ? errno : ENOENT);
		execv(path, argv);
		code = errno;
	}
	return more_report_error(path, code);
}
