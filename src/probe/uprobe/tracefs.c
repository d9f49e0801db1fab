/* SPDX-License-Identifier: MIT */
/*
 * Makes and removes definitions of uprobes in tracefs. The kernel does not know their owner, so the
 * name of their group identifies it: the process, its start time, and its pid namespace.
 * Definitions are stale if their process has exited and was in the pid namespace of this process.
 */
#include "parts.h"
#include "probe/uprobe/global.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"

#define DEFINITIONS "uprobe_events"
#define GROUP "side_"
#define PERMISSION_HINT \
	"run as root (or root gives this user's group write permission in /sys/kernel/tracing)"

/* ---- finding tracefs ---- */

static int uprobe_tracefs_open_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && !faccessat(fd, DEFINITIONS, F_OK, 0))
		return fd;
	if (fd >= 0)
		close(fd);
	return errno == EACCES || errno == EPERM ? -EACCES : -ENOENT;
}

static int uprobe_tracefs_open_mounted(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent entry;
	char text[4400], path[4300];
	int fd = -ENOENT;

	if (!mounts)
		return -ENOENT;
	while (fd < 0 && getmntent_r(mounts, &entry, text, sizeof(text))) {
		bool below = !strcmp(entry.mnt_type, "debugfs");

		if (!below && strcmp(entry.mnt_type, "tracefs") != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s%s", entry.mnt_dir, below ? "/tracing" : "");
		fd = uprobe_tracefs_open_directory(path);
	}
	(void)endmntent(mounts);
	return fd;
}

/* Mounts tracefs detached: no other process sees the mount, and it ends with its descriptor. */
static int tracefs_mount_detached(void)
{
#if defined(SYS_fsopen) && defined(SYS_fsmount)
	int context = (int)syscall(SYS_fsopen, "tracefs", 1 /* FSOPEN_CLOEXEC */), fd = -1;

	if (context < 0)
		return -errno;
	if (!syscall(SYS_fsconfig, context, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0))
		fd = (int)syscall(SYS_fsmount, context, 1 /* FSMOUNT_CLOEXEC */, 0);
	if (fd < 0)
		fd = -errno;
	close(context);
	return fd;
#else
	return -ENOSYS;
#endif
}

int global_tracefs_open(struct error *error)
{
	int fd = uprobe_tracefs_open_directory("/sys/kernel/tracing"), mounted;

	if (fd < 0)
		fd = uprobe_tracefs_open_mounted();
	if (fd < 0) {
		mounted = tracefs_mount_detached();
		if (mounted >= 0)
			fd = mounted;
	}
	if (fd >= 0 && !faccessat(fd, DEFINITIONS, W_OK, AT_EACCESS))
		return fd;
	if (fd >= 0) {
		bool missing = errno == ENOENT;

		close(fd);
		if (missing)
			return error_set(error, -ENOTSUP, "",
					"the kernel has no uprobes in tracefs (CONFIG_UPROBE_EVENTS)");
		fd = -EACCES;
	}
	if (fd == -EACCES)
		return error_set(error, -EACCES, PERMISSION_HINT,
				"no permission to write to tracefs");
	return error_set(error, geteuid() ? -EACCES : -ENOENT, PERMISSION_HINT,
			"tracefs is not mounted here, and this process may not mount it");
}

int global_tracefs_read(int tracefs, const char *path, char *text, size_t capacity)
{
	int fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = io_read_text_fd(fd, text, capacity);
	close(fd);
	return got < 0 ? (int)got : 0;
}

/* ---- owners of groups ---- */

struct tracefs_owner {
	uint64_t pid, started, pid_namespace;
};

/*
 * Returns the start time of a process (field 22 of its stat), or 0 if it does not exist or is a
 * zombie (field 3).
 */
static uint64_t tracefs_start_time(uint64_t pid)
{
	char path[64], text[1024];
	const char *at;
	uint64_t started = 0;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", pid);
	if (global_tracefs_read(AT_FDCWD, path, text, sizeof(text)))
		return 0;
	/* The name may contain blanks and brackets. */
	at = strrchr(text, ')');
	if (at && (!strncmp(at, ") Z", 3) || !strncmp(at, ") X", 3)))
		return 0;
	for (unsigned int i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	if (at)
		started = strtoull(at + 1, NULL, 10);
	return started;
}

static uint64_t tracefs_own_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) ? 0 : status.st_ino;
}

void global_tracefs_group(char *name, size_t capacity)
{
	(void)snprintf(name, capacity, GROUP "%ld_%" PRIu64 "_%" PRIu64, (long)getpid(),
			tracefs_start_time((uint64_t)getpid()), tracefs_own_namespace());
}

static bool tracefs_parse_group(const char *name, struct tracefs_owner *ret_owner)
{
	int end = 0;

	return sscanf(name, GROUP "%" SCNu64 "_%" SCNu64 "_%" SCNu64 "%n", &ret_owner->pid,
			       &ret_owner->started, &ret_owner->pid_namespace, &end) == 3 &&
			end && !name[end];
}

/* Processes in other namespaces cannot be checked. */
static bool tracefs_is_stale(const char *group)
{
	struct tracefs_owner owner;

	return tracefs_parse_group(group, &owner) && owner.pid_namespace &&
			owner.pid_namespace == tracefs_own_namespace() &&
			tracefs_start_time(owner.pid) != owner.started;
}

/* ---- definitions ---- */

static int uprobe_tracefs_write_file(int tracefs, const char *path, const char *text)
{
	/* Not truncated: that would remove the definitions of all users. */
	int fd = openat(tracefs, path, O_WRONLY | O_APPEND | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = io_write_all(fd, text, strlen(text));
	close(fd);
	return ret;
}

int global_tracefs_define(int tracefs, const char *definition, struct error *error)
{
	int ret = uprobe_tracefs_write_file(tracefs, DEFINITIONS, definition);

	if (!ret)
		return 0;
	if (ret == -EACCES || ret == -EPERM)
		return error_set(error, ret, PERMISSION_HINT,
				"the kernel does not permit uprobes in tracefs");
	return error_set(error, ret, "", "the kernel refuses the definition `%.300s`: %s",
			definition, strerror(-ret));
}

static int uprobe_tracefs_remove_probe(int tracefs, const char *group, const char *event)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "events/%.100s/%.100s/enable", group, event);
	(void)uprobe_tracefs_write_file(tracefs, text, "0");
	(void)snprintf(text, sizeof(text), "-:%.100s/%.100s", group, event);
	return uprobe_tracefs_write_file(tracefs, DEFINITIONS, text);
}

static bool uprobe_tracefs_group_is_selected(const char *group, const char *only)
{
	return only ? !strcmp(group, only) : tracefs_is_stale(group);
}

/*
 * Removes the definitions of the group, or with NULL all stale ones. Returns how many, or a
 * negative errno.
 */
static int tracefs_remove_all(int tracefs, const char *only)
{
	int fd = openat(tracefs, DEFINITIONS, O_RDONLY | O_CLOEXEC), removed = 0;
	char *line = NULL;
	size_t capacity = 0, count = 0, kept = 0;
	char(*names)[2][72] = NULL;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file) {
		int code = -errno;

		if (fd >= 0)
			close(fd);
		return code;
	}
	/* Collect all names first: removing a definition changes the list that is being read. */
	while (getline(&line, &capacity, file) > 0) {
		char group[72], event[72];

		if (sscanf(line, "%*1[pr]:%71[^/ ]/%71[^ \n]", group, event) != 2 ||
				!uprobe_tracefs_group_is_selected(group, only))
			continue;
		if (count == kept) {
			void *more = realloc(names, (kept += 64) * sizeof(*names));

			if (!more)
				break;
			names = more;
		}
		memcpy(names[count][0], group, sizeof(group));
		memcpy(names[count++][1], event, sizeof(event));
	}
	(void)fclose(file);
	free(line);
	for (size_t i = 0; i < count; i++)
		removed += !uprobe_tracefs_remove_probe(tracefs, names[i][0], names[i][1]);
	free(names);
	return removed;
}

int global_tracefs_remove(int tracefs, const char *group)
{
	return tracefs_remove_all(tracefs, group);
}

int global_tracefs_clean(int tracefs)
{
	return tracefs_remove_all(tracefs, NULL);
}

int global_clean(void)
{
	struct error ignored;
	int tracefs = global_tracefs_open(&ignored), removed;

	if (tracefs < 0)
		return tracefs;
	removed = global_tracefs_clean(tracefs);
	close(tracefs);
	return removed;
}
