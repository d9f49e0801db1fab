/* SPDX-License-Identifier: MIT */
/*
 * Make calls of side-uprobes, the program that lets the kernel watch sites and emits their hits as
 * events.
 */
#include "global.h"

#include "base/error.h"
#include "programs/side/session/helper-program.h"
#include "programs/common/message.h"

#include "recorder/core/session.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool probe_global_add(char ***args, const char *option, const char *value)
{
	return helper_add(args, option, value);
}

void probe_global_free(char **args)
{
	helper_free(args);
}

/* ---- filters of processes ---- */

static int probe_global_report_added(bool added)
{
	return added ? COMMAND_DONE : message_error(COMMAND_FAILED, NULL, "out of memory");
}

static int add_user(char ***args, const char *name)
{
	const struct passwd *user;

	if (*name && strspn(name, "0123456789") == strlen(name))
		return probe_global_report_added(probe_global_add(args, "--uid", name));
	errno = 0;
	user = getpwnam(name);
	if (!user && (errno == EIO || error_is_lack_of_resources(errno)))
		return message_error(
				COMMAND_FAILED, NULL, "cannot read the users: %s", strerror(errno));
	if (!user)
		return message_error(COMMAND_USAGE, "`getent passwd` lists them",
				"there is no user `%.128s`", name);
	return probe_global_report_added(helper_add_number(args, "--uid", user->pw_uid));
}

/* The kernel identifies a control group by the inode number of its directory. */
static int add_cgroup(char ***args, const char *path)
{
	char procs[PATH_MAX];
	struct stat status;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	if (stat(path, &status) || access(procs, F_OK))
		return message_error(COMMAND_USAGE, "write its directory, as below /sys/fs/cgroup",
				"`%.256s` is not a control group", path);
	return probe_global_report_added(helper_add_number(args, "--cgroup", status.st_ino));
}

static int add_comm(char ***args, const char *name)
{
	return probe_global_report_added(probe_global_add(args, "--comm", name));
}

static int probe_global_add_args(
		char ***args, const struct text_list *list, int (*add)(char ***, const char *))
{
	int status = COMMAND_DONE;

	if (list->count > 64)
		return message_error(
				COMMAND_USAGE, NULL, "more than 64 values of one option are given");
	for (size_t i = 0; i < list->count && !status; i++)
		status = add(args, list->items[i]);
	return status;
}

int probe_global_check(const struct global_arguments *arguments)
{
	static const char *const backends[] = {"uprobe_multi", "perf_event", "tracefs"};
	bool known = !arguments->by;

	if (!arguments->on &&
			(arguments->by || arguments->uids.count || arguments->cgroups.count ||
					arguments->comms.count))
		return message_error(COMMAND_USAGE, "write `--global`, too",
				"cannot use `--by`, `--uid`, `--cgroup` or `--comm` without `--global`");
	for (size_t i = 0; i < sizeof(backends) / sizeof(*backends) && !known; i++)
		known = !strcmp(backends[i], arguments->by);
	return known ? COMMAND_DONE
		     : message_error(COMMAND_USAGE, "write uprobe_multi, perf_event or tracefs",
				       "unknown method `%.64s`", arguments->by);
}

/* ---- the program ---- */

/* side-uprobes inherits the descriptors. */
static int add_tables(char ***args, const int *tables, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (fcntl(tables[i], F_SETFD, 0))
			return message_error(COMMAND_FAILED, NULL,
					"cannot send the probe table: %s", strerror(errno));
		if (!helper_add_number(args, "--table", (uint64_t)tables[i]))
			return probe_global_report_added(false);
	}
	return COMMAND_DONE;
}

/*
 * Refuse processes under valgrind. Its tools would translate the kernel's breakpoint as an
 * instruction of the program, and executing that ends the program.
 */
static int refuse_valgrind(uint64_t pid)
{
	char link[64], path[PATH_MAX];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/%" PRIu64 "/exe", pid);
	size = readlink(link, path, sizeof(path) - 1);
	path[size < 0 ? 0 : size] = '\0';
	if (fnmatch("*/valgrind/*-linux", path, 0))
		return COMMAND_DONE;
	return message_error(COMMAND_FAILED,
			"trace the program alone, or record its events: `side record -- valgrind PROGRAM`",
			"cannot watch process %" PRIu64
			": it runs under valgrind, where a breakpoint of the kernel would end it",
			pid);
}

int probe_global_args(const struct global_arguments *arguments, uint64_t pid, const int *tables,
		size_t nr_tables, char ***ret_args)
{
	char path[PATH_MAX];
	int status = helper_find(SESSION_UPROBES_PROGRAM, "global probes", path);

	*ret_args = NULL;
	if (!status && pid)
		status = refuse_valgrind(pid);
	if (status)
		return status;
	status = helper_add(ret_args, path, NULL) ? add_tables(ret_args, tables, nr_tables)
						  : probe_global_report_added(false);
	if (status)
		return status;
	if ((!output_is_silent() || helper_add(ret_args, "--quiet", NULL)) &&
			(!output_is_json() || helper_add(ret_args, "--json", NULL)) &&
			(!pid || helper_add_number(ret_args, "--pid", pid)) &&
			(!arguments->by || probe_global_add(ret_args, "--by", arguments->by)))
		status = probe_global_add_args(ret_args, &arguments->uids, add_user);
	else
		status = probe_global_report_added(false);
	if (!status)
		status = probe_global_add_args(ret_args, &arguments->cgroups, add_cgroup);
	if (!status)
		status = probe_global_add_args(ret_args, &arguments->comms, add_comm);
	return status;
}

/* ---- for the daemon ---- */

int probe_global_start(char ***args, const char *session, bool system)
{
	if (!helper_add(args, "--session", session) ||
			(system && !helper_add(args, "--system", NULL)))
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	/*
	 * Only this session may record its events: other sessions with the same patterns mean the
	 * events of programs.
	 */
	return helper_start(args, "SIDE_AGENT_SESSION", session);
}
