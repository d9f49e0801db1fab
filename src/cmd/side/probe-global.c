/* SPDX-License-Identifier: MIT */
/* Calls of side-uprobes, the program that has the kernel watch places and records its hits. */
#include "probe-global.h"

#include "say.h"

#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "side-uprobes"

/* ---- words ---- */

static size_t count_words(char *const *words)
{
	size_t count = 0;

	while (words && words[count])
		count++;
	return count;
}

static bool add_word(char ***words, const char *text)
{
	size_t count = count_words(*words);
	char **more = realloc(*words, (count + 2) * sizeof(*more));

	if (!more)
		return false;
	*words = more;
	more[count] = strdup(text);
	more[count + 1] = NULL;
	return more[count] != NULL;
}

bool probe_global_add(char ***words, const char *option, const char *value)
{
	return add_word(words, option) && (!value || add_word(words, value));
}

static bool add_number(char ***words, const char *option, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return probe_global_add(words, option, text);
}

void probe_global_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

/* ---- whose hits count ---- */

static int add_user(char ***words, const char *name)
{
	const struct passwd *user;

	if (*name && strspn(name, "0123456789") == strlen(name))
		return probe_global_add(words, "--uid", name) ? COMMAND_DONE : COMMAND_FAILED;
	user = getpwnam(name);
	if (!user)
		return say_error(COMMAND_USAGE, "`getent passwd` lists them",
				"there is no user `%.128s`", name);
	return add_number(words, "--uid", user->pw_uid) ? COMMAND_DONE : COMMAND_FAILED;
}

/* The kernel knows a control group by the number of its directory. */
static int add_cgroup(char ***words, const char *path)
{
	char procs[PATH_MAX];
	struct stat status;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	if (stat(path, &status) || access(procs, F_OK))
		return say_error(COMMAND_USAGE, "write its directory, as below /sys/fs/cgroup",
				"`%.256s` is no control group", path);
	return add_number(words, "--cgroup", status.st_ino) ? COMMAND_DONE : COMMAND_FAILED;
}

static int add_comm(char ***words, const char *name)
{
	return probe_global_add(words, "--comm", name) ? COMMAND_DONE : COMMAND_FAILED;
}

static int add_each(char ***words, const struct text_list *list, int (*add)(char ***, const char *))
{
	int status = COMMAND_DONE;

	if (list->count > 64)
		return say_error(COMMAND_USAGE, NULL, "there are more than 64 of one kind");
	for (size_t i = 0; i < list->count && !status; i++)
		status = add(words, list->items[i]);
	return status;
}

int probe_global_check(const struct global_arguments *arguments)
{
	static const char *const ways[] = {"uprobe_multi", "perf_event", "tracefs"};
	bool known = !arguments->by;

	if (!arguments->on &&
			(arguments->by || arguments->uids.count || arguments->cgroups.count ||
					arguments->comms.count))
		return say_error(COMMAND_USAGE, "write `--global`, too",
				"`--by`, `--uid`, `--cgroup` and `--comm` belong to global probes");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways) && !known; i++)
		known = !strcmp(ways[i], arguments->by);
	return known ? COMMAND_DONE
		     : say_error(COMMAND_USAGE, "write uprobe_multi, perf_event or tracefs",
				       "there is no way `%.64s`", arguments->by);
}

/* ---- the program ---- */

/* Beside us; in a build, in a folder beside ours. */
static bool find_program(char path[PATH_MAX])
{
	static const char *const places[] = {PROGRAM, "../uprobes/" PROGRAM};
	char self[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[size > 0 ? size : 0] = 0;
	if (!strrchr(self, '/'))
		return false;
	*strrchr(self, '/') = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (snprintf(path, PATH_MAX, "%s/%s", self, places[i]) < PATH_MAX &&
				!access(path, X_OK))
			return true;
	return false;
}

/* It inherits them. */
static bool add_tables(char ***words, const int *tables, size_t nr)
{
	bool fits = true;

	for (size_t i = 0; i < nr && fits; i++)
		fits = !fcntl(tables[i], F_SETFD, 0) &&
				add_number(words, "--table", (uint64_t)tables[i]);
	return fits;
}

int probe_global_words(const struct global_arguments *arguments, uint64_t pid, const int *tables,
		size_t nr_tables, char ***words)
{
	char path[PATH_MAX];
	int status = COMMAND_FAILED;

	*words = NULL;
	if (!find_program(path))
		return say_error(COMMAND_FAILED, "install side again",
				"the part of side that records global probes, " PROGRAM
				", is not there");
	if (add_word(words, path) && add_tables(words, tables, nr_tables) &&
			(!pid || add_number(words, "--pid", pid)) &&
			(!arguments->by || probe_global_add(words, "--by", arguments->by)))
		status = add_each(words, &arguments->uids, add_user);
	if (!status)
		status = add_each(words, &arguments->cgroups, add_cgroup);
	if (!status)
		status = add_each(words, &arguments->comms, add_comm);
	return status;
}

/* ---- for the daemon ---- */

static _Noreturn void become(char **words)
{
	char *agent = session_library("libside-agent.so");

	setsid();
	/* Whatever else was preloaded is for other programs. */
	if (agent)
		setenv("LD_PRELOAD", agent, 1);
	/* Its events have times of their own (ring/ring.h). */
	setenv("SIDE_RING_PORTABLE", "1", 1);
	execv(words[0], words);
	_exit(say_error(COMMAND_FAILED, NULL, "cannot run %.256s: %s", words[0], strerror(errno)));
}

int probe_global_start(char ***words, const char *session, bool system)
{
	char number[16], byte = 0;
	int ends[2], status = 0;
	pid_t child;
	ssize_t got;

	if (pipe(ends))
		return say_error(COMMAND_FAILED, NULL, "cannot make a pipe: %s", strerror(errno));
	(void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	snprintf(number, sizeof(number), "%d", ends[1]);
	if (!probe_global_add(words, "--session", session) ||
			(system && !probe_global_add(words, "--system", NULL)) ||
			!probe_global_add(words, "--ready", number))
		return say_error(COMMAND_FAILED, NULL, "there is no memory");
	fflush(NULL);
	child = fork();
	if (!child)
		become(*words);
	close(ends[1]);
	do
		got = child < 0 ? -1 : read(ends[0], &byte, 1);
	while (got < 0 && errno == EINTR && child > 0);
	close(ends[0]);
	if (child < 0)
		return say_error(COMMAND_FAILED, NULL, "cannot start a process: %s",
				strerror(errno));
	/* It goes on, and is nobody's child when we have ended. */
	if (got == 1)
		return COMMAND_DONE;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : COMMAND_FAILED;
}
