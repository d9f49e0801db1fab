/* SPDX-License-Identifier: MIT */
/*
 * Find the file that `--exe` names, under a path that leads there from here.
 *
 * /proc/PID/exe and /proc/PID/root are links that lead into the mount namespace of the process.
 * Their text is a path of that namespace: realpath() of it names no file here, or another file with
 * the same path. Therefore a path is used only if it leads to the same inode.
 */
#include "executable.h"

#include "base/process-root.h"
#include "programs/common/message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40

static bool probe_exe_is_same_file(const char *path, const struct stat *file)
{
	struct stat status;

	return !stat(path, &status) && status.st_dev == file->st_dev &&
			status.st_ino == file->st_ino;
}

/* Returns the PID of a path below /proc/PID/, and the rest of the path; 0: it is another path. */
static pid_t exe_process(const char *requested, const char **ret_below)
{
	static const char proc[] = "/proc/";
	unsigned long pid;
	char *end;

	if (strncmp(requested, proc, sizeof(proc) - 1) != 0 || requested[sizeof(proc) - 1] < '1' ||
			requested[sizeof(proc) - 1] > '9')
		return 0;
	pid = strtoul(requested + sizeof(proc) - 1, &end, 10);
	*ret_below = end;
	return *end == '/' && pid <= INT_MAX ? (pid_t)pid : 0;
}

/*
 * Make a path to the file through the root directory of the process. Returns false if there is
 * none.
 */
static bool exe_through_root(
		pid_t pid, const char *inner, const struct stat *file, char path[PATH_MAX])
{
	char name[PATH_MAX], target[PATH_MAX];

	snprintf(name, sizeof(name), "%s", inner);
	for (unsigned int links = 0; links < LINKS_MAX; links++) {
		ssize_t length;

		if (snprintf(path, PATH_MAX, "/proc/%d/root%s", (int)pid, name) >= PATH_MAX)
			return false;
		if (probe_exe_is_same_file(path, file))
			return true;
		/* A link with an absolute target would lead to our root directory. */
		length = readlink(path, target, sizeof(target) - 1);
		if (length <= 0 || *target != '/')
			return false;
		target[length] = '\0';
		snprintf(name, sizeof(name), "%s", target);
	}
	return false;
}

static int exe_missing(const char *requested, int code)
{
	bool is_denied = code == -EACCES || code == -EPERM;

	if (code == -ENOENT || code == -ENOTDIR)
		return message_error(COMMAND_FAILED, NULL, "there is no file %.256s", requested);
	return message_error(is_denied ? COMMAND_NOT_PERMITTED : COMMAND_FAILED,
			is_denied ? "run as root" : NULL, "cannot open %.256s: %s", requested,
			strerror(-code));
}

/* The path as the process sees it, from the text after /proc/PID. NULL: not below its root. */
static const char *exe_path_inside(const char *below)
{
	static const char link[] = "/root";
	const size_t length = sizeof(link) - 1;

	return !strncmp(below, link, length) && below[length] == '/' ? below + length : NULL;
}

int probe_exe_find(const char *requested, struct probe_exe *ret_exe)
{
	const char *below = "", *path;
	char own[64], inner[PATH_MAX];
	pid_t pid = exe_process(requested, &below);
	struct stat file = {.st_ino = 0};
	int ret = 0;

	*ret_exe = (struct probe_exe){.pid = 0};
	path = pid ? exe_path_inside(below) : NULL;
	if (path)
		ret = process_root_stat(pid, path, &file);
	else if (stat(requested, &file))
		ret = -errno;
	if (ret)
		return exe_missing(requested, ret);
	/* In this namespace the canonical path is the stable name. */
	errno = ENOENT;
	if (realpath(requested, ret_exe->path) && probe_exe_is_same_file(ret_exe->path, &file))
		return COMMAND_DONE;
	if (!pid)
		return exe_missing(requested, -errno);
	snprintf(own, sizeof(own), "/proc/%d/exe", (int)pid);
	if (path) {
		snprintf(inner, sizeof(inner), "%s", path);
	} else {
		ssize_t length = readlink(own, inner, sizeof(inner) - 1);

		inner[length > 0 ? length : 0] = '\0';
	}
	ret_exe->pid = pid;
	ret_exe->runs = probe_exe_is_same_file(own, &file) ? pid : 0;
	if (exe_through_root(pid, inner, &file, ret_exe->path))
		return COMMAND_DONE;
	/* It was deleted or replaced, but the process still runs it. */
	snprintf(ret_exe->path, PATH_MAX, "%s", requested);
	return probe_exe_is_same_file(requested, &file) ? COMMAND_DONE
							: exe_missing(requested, -ENOENT);
}

int probe_has_other_root(pid_t pid)
{
	struct stat own, other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	if (stat("/", &own) || stat(path, &other))
		return -errno;
	return own.st_dev != other.st_dev || own.st_ino != other.st_ino;
}
