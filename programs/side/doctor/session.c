/* SPDX-License-Identifier: MIT */
/* Checks the daemon, its directory, its group, the memory for rings, and limits. */
#include "doctor.h"

#include "programs/common/ask.h"
#include "programs/side/system/state.h"

#include "recorder/core/session.h"
#include "protocol/runtime.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define TMPFS_MAGIC_NUMBER 0x01021994

static bool doctor_session_is_skipped(const struct doctor *doctor, struct doctor_finding *finding)
{
	if (doctor->is_other_machine)
		doctor_found(finding, DOCTOR_SKIPPED,
				"cannot be checked in the files of another machine");
	return doctor->is_other_machine;
}

/* ---- the daemon ---- */

static void doctor_check_daemon(const struct doctor *doctor, struct doctor_finding *finding)
{
	struct json_object *request, *answer = NULL;
	struct error error = {.kind = ERROR_NONE};
	struct ask ask;

	if (doctor_session_is_skipped(doctor, finding))
		return;
	if (ask_connect_silently(&ask, false, NULL)) {
		doctor_found(finding, DOCTOR_NOTE, "no daemon runs; verbs for sessions start one");
		doctor_set_hint(finding, "side daemon");
		return;
	}
	request = control_request("ping", NULL);
	if (request && !control_call(ask.client, request, 5000, &answer, &error)) {
		doctor_found(finding, DOCTOR_OK, "sided %s runs as process %" PRIu64 ", at %s",
				ask_text(answer, "version"), ask_number(answer, "pid"),
				control_path(ask.client));
	} else {
		doctor_found(finding, DOCTOR_MISSING, "sided at %s does not answer: %s",
				control_path(ask.client), error.text);
		doctor_set_hint(finding,
				"end that process with `kill`; the next verb starts another one");
	}
	json_object_put(answer);
	json_object_put(request);
	ask_close(&ask);
}

/* ---- the library in all programs ---- */

static void doctor_report_preload(const struct system_state *state, struct doctor_finding *finding)
{
	if (state->is_mixed) {
		doctor_found(finding, DOCTOR_NOTE,
				"on, but /etc/ld.so.preload has other text in the same line");
		doctor_set_hint(finding, "edit /etc/ld.so.preload: one library in each line");
	} else if (!state->is_on) {
		doctor_found(finding, DOCTOR_OK,
				"off: programs join that use libside, or that `side run` starts");
	} else if (state->loads) {
		doctor_found(finding, DOCTOR_OK, "on: %.400s", state->line);
	} else {
		doctor_found(finding, DOCTOR_MISSING, "on, but %.400s", state->problem.text);
		doctor_set_hint(finding, "sudo side system off");
	}
}

static void doctor_check_preload(const struct doctor *doctor, struct doctor_finding *finding)
{
	struct system_state state;
	struct error error;

	if (doctor_session_is_skipped(doctor, finding))
		return;
	if (system_state_read(&state, &error)) {
		doctor_found(finding, DOCTOR_NOTE, "%.400s", error.text);
		doctor_set_hint(finding, "%.400s", error.hint);
		return;
	}
	doctor_report_preload(&state, finding);
	system_state_free(&state);
}

static void doctor_check_runtime(const struct doctor *doctor, struct doctor_finding *finding)
{
	char path[PATH_MAX] = "";
	struct stat status;
	int ret;

	if (doctor_session_is_skipped(doctor, finding))
		return;
	ret = wire_runtime_directory(path, sizeof(path), false);
	if (ret) {
		doctor_found(finding, DOCTOR_MISSING, "%s is not a usable path: %s",
				WIRE_RUNTIME_ENV, strerror(-ret));
		doctor_set_hint(finding, "unset " WIRE_RUNTIME_ENV);
		return;
	}
	ret = wire_runtime_check(path);
	if (ret == -ENOENT) {
		doctor_found(finding, DOCTOR_OK, "a daemon creates %s when it starts", path);
	} else if (ret || stat(path, &status)) {
		doctor_found(finding, DOCTOR_MISSING,
				"%s belongs to another user, or other users can write to it, so no program trusts it",
				path);
		doctor_set_hint(finding, "rm -r %s", path);
	} else {
		doctor_found(finding, DOCTOR_OK, "%s, mode %04o", path,
				(unsigned int)status.st_mode & 07777);
	}
}

static bool doctor_session_is_member(gid_t group)
{
	gid_t groups[1024];
	int count = getgroups(sizeof(groups) / sizeof(groups[0]), groups);

	for (int i = 0; i < count; i++) {
		if (groups[i] == group)
			return true;
	}
	return getegid() == group;
}

static void doctor_check_group(const struct doctor *doctor, struct doctor_finding *finding)
{
	const struct group *group;

	if (doctor_session_is_skipped(doctor, finding))
		return;
	if (!doctor->uid) {
		doctor_found(finding, DOCTOR_OK, "root can use the daemon of the system");
		return;
	}
	group = getgrnam(WIRE_RUNTIME_GROUP);
	if (!group) {
		doctor_found(finding, DOCTOR_NOTE, "there is no group " WIRE_RUNTIME_GROUP);
		doctor_set_hint(finding, "sudo groupadd --system " WIRE_RUNTIME_GROUP);
	} else if (!doctor_session_is_member(group->gr_gid)) {
		doctor_found(finding, DOCTOR_NOTE, "you are not a member of " WIRE_RUNTIME_GROUP);
		doctor_set_hint(finding,
				"sudo usermod -aG " WIRE_RUNTIME_GROUP
				" \"$USER\", and log in again");
	} else {
		doctor_found(finding, DOCTOR_OK, "you are a member of " WIRE_RUNTIME_GROUP);
	}
}

/* ---- memory ---- */

static void doctor_check_shm(const struct doctor *doctor, struct doctor_finding *finding)
{
	char path[DOCTOR_PATH_MAX];
	struct statvfs space;
	struct statfs type;
	uint64_t size;

	if (doctor_session_is_skipped(doctor, finding))
		return;
	if (statfs(doctor_path(doctor, "/dev/shm", path), &type) || statvfs(path, &space)) {
		doctor_found(finding, DOCTOR_MISSING, "/dev/shm does not exist");
		doctor_set_hint(finding, "sudo mount -t tmpfs -o mode=1777 tmpfs /dev/shm");
		return;
	}
	size = (uint64_t)space.f_bavail * space.f_frsize;
	if (type.f_type != TMPFS_MAGIC_NUMBER) {
		doctor_found(finding, DOCTOR_NOTE,
				"/dev/shm is not a tmpfs: rings would be written to a disk");
		doctor_set_hint(finding, "sudo mount -t tmpfs -o mode=1777 tmpfs /dev/shm");
	} else if (access(path, W_OK | X_OK)) {
		doctor_found(finding, DOCTOR_MISSING, "/dev/shm cannot be written to");
		doctor_set_hint(finding, "sudo chmod 1777 /dev/shm");
	} else if (size < SESSION_MEMORY_DEFAULT) {
		doctor_found(finding, DOCTOR_NOTE,
				"/dev/shm has %" PRIu64 " MiB of space; a session may use %llu MiB",
				size >> 20, SESSION_MEMORY_DEFAULT >> 20);
		doctor_set_hint(finding,
				"sudo mount -o remount,size=2G /dev/shm (in a container: --shm-size=2g), or `side create --memory-limit %" PRIu64
				"M`",
				size >> 20 ? size >> 20 : 1);
	} else {
		doctor_found(finding, DOCTOR_OK, "/dev/shm has %" PRIu64 " MiB of space",
				size >> 20);
	}
}

static void doctor_check_descriptors(const struct doctor *doctor, struct doctor_finding *finding)
{
	struct rlimit limit;

	if (doctor_session_is_skipped(doctor, finding))
		return;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		doctor_found(finding, DOCTOR_SKIPPED, "unknown");
	else if (limit.rlim_max < 4096) {
		doctor_found(finding, DOCTOR_NOTE, "%llu at most: enough for about %llu processes",
				(unsigned long long)limit.rlim_max,
				(unsigned long long)limit.rlim_max / 8);
		doctor_set_hint(finding,
				"add `* hard nofile 65536` to /etc/security/limits.d/side.conf, and log in again");
	} else if (limit.rlim_max == RLIM_INFINITY)
		doctor_found(finding, DOCTOR_OK, "no limit");
	else
		doctor_found(finding, DOCTOR_OK, "%llu, at most %llu",
				(unsigned long long)limit.rlim_cur,
				(unsigned long long)limit.rlim_max);
}

static void doctor_check_memlock(const struct doctor *doctor, struct doctor_finding *finding)
{
	struct rlimit limit;

	if (doctor_session_is_skipped(doctor, finding))
		return;
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		doctor_found(finding, DOCTOR_SKIPPED, "unknown");
	else if (limit.rlim_cur == RLIM_INFINITY)
		doctor_found(finding, DOCTOR_OK, "no limit");
	else if (limit.rlim_cur < (512u << 10)) {
		doctor_found(finding, DOCTOR_NOTE, "%llu KiB",
				(unsigned long long)limit.rlim_cur >> 10);
		doctor_set_hint(finding,
				"ulimit -l 8192 (or in /etc/security/limits.d/side.conf: `* - memlock 8192`)");
	} else
		doctor_found(finding, DOCTOR_OK, "%llu KiB",
				(unsigned long long)limit.rlim_cur >> 10);
}

static void doctor_check_inotify(const struct doctor *doctor, struct doctor_finding *finding)
{
	int64_t instances;

	if (!doctor_number(doctor, "/proc/sys/fs/inotify/max_user_instances", &instances)) {
		doctor_found(finding, DOCTOR_NOTE,
				"the kernel has no inotify: programs check every second whether a daemon has started");
	} else if (instances < 128) {
		doctor_found(finding, DOCTOR_NOTE, "%" PRId64 " for each user", instances);
		doctor_set_hint(finding, "sudo sysctl fs.inotify.max_user_instances=1024");
	} else {
		doctor_found(finding, DOCTOR_OK, "%" PRId64 " for each user", instances);
	}
}

const struct doctor_check doctor_session_checks[] = {
		{"daemon", "sessions: `side create`, `start` and so on", doctor_check_daemon},
		{"runtime", "finding the daemon, from the command line and from programs",
				doctor_check_runtime},
		{"group", "the daemon of the system, with the programs of all users",
				doctor_check_group},
		{"shm", "the rings of sessions", doctor_check_shm},
		{"nofile", "sessions of many processes: each needs some descriptors of the recorder",
				doctor_check_descriptors},
		{"memlock", "counters as contexts (perf:thread:…), huge pages",
				doctor_check_memlock},
		{"inotify", "programs that notice when a daemon starts again",
				doctor_check_inotify},
		{"preload", "sessions of programs that do not use libside (`side system`)",
				doctor_check_preload},
		{.name = NULL},
};
