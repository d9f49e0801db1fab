/* SPDX-License-Identifier: MIT */
/*
 * Checks: permissions of this user (ptrace, capabilities, counters, kernel events) and debug
 * information.
 */
#include "doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAPABILITY_SYS_PTRACE 19
#define CAPABILITY_SYS_ADMIN 21
#define CAPABILITY_PERFMON 38

static bool doctor_has_capability(const struct doctor *doctor, unsigned int number)
{
	uint64_t effective;

	return doctor_member(doctor, "/proc/self/status", "CapEff", 16, &effective) &&
			(effective >> number & 1);
}

static void doctor_check_capabilities(const struct doctor *doctor, struct doctor_finding *finding)
{
	static const struct {
		unsigned int number;
		const char *name;
	} wanted[] = {{CAPABILITY_SYS_PTRACE, "CAP_SYS_PTRACE"},
			{CAPABILITY_PERFMON, "CAP_PERFMON"},
			{CAPABILITY_SYS_ADMIN, "CAP_SYS_ADMIN"}};
	char have[128] = "", lack[128] = "";

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char *text = doctor_has_capability(doctor, wanted[i].number) ? have : lack;

		if (*text)
			strcat(text, ", ");
		strcat(text, wanted[i].name);
	}
	if (!*lack) {
		doctor_found(finding, DOCTOR_OK, "%s", have);
		return;
	}
	doctor_found(finding, DOCTOR_NOTE, "without %s%s%s", lack, *have ? "; with " : "", have);
	doctor_set_hint(finding,
			"run as root with `sudo`, or in a container with --cap-add=SYS_PTRACE --cap-add=PERFMON");
}

static void doctor_check_ptrace(const struct doctor *doctor, struct doctor_finding *finding)
{
	static const char *const scopes[] = {"any process of this user",
			"only children of the tracer", "only with CAP_SYS_PTRACE", "no process"};
	int64_t scope = 0;
	bool may = doctor_has_capability(doctor, CAPABILITY_SYS_PTRACE);

	if (!doctor_number(doctor, "/proc/sys/kernel/yama/ptrace_scope", &scope)) {
		doctor_found(finding, DOCTOR_OK, "any process of this user (no Yama)");
		return;
	}
	if (scope < 0 || scope > 3)
		scope = 3;
	if (!scope || (may && scope < 3)) {
		doctor_found(finding, DOCTOR_OK, "scope %" PRId64 ": %s", scope,
				scope ? "and CAP_SYS_PTRACE is there" : scopes[0]);
		return;
	}
	doctor_found(finding, DOCTOR_NOTE, "scope %" PRId64 ": %s", scope, scopes[scope]);
	if (scope == 3)
		doctor_set_hint(finding,
				"set kernel.yama.ptrace_scope to 0 in /etc/sysctl.d, and restart the machine");
	else
		doctor_set_hint(finding, "sudo sysctl kernel.yama.ptrace_scope=0");
}

static void doctor_check_perf(const struct doctor *doctor, struct doctor_finding *finding)
{
	int64_t paranoid;

	if (!doctor_number(doctor, "/proc/sys/kernel/perf_event_paranoid", &paranoid)) {
		doctor_found(finding, DOCTOR_NOTE, "the kernel has no performance counters");
		return;
	}
	if (paranoid <= 2 || doctor_has_capability(doctor, CAPABILITY_PERFMON) ||
			doctor_has_capability(doctor, CAPABILITY_SYS_ADMIN)) {
		doctor_found(finding, DOCTOR_OK, "perf_event_paranoid is %" PRId64, paranoid);
		return;
	}
	doctor_found(finding, DOCTOR_NOTE,
			"perf_event_paranoid is %" PRId64 ": no counter can be used", paranoid);
	doctor_set_hint(finding, "sudo sysctl kernel.perf_event_paranoid=2");
}

/* ---- kernel events ---- */

static void doctor_check_tracefs(const struct doctor *doctor, struct doctor_finding *finding)
{
	char path[DOCTOR_PATH_MAX];

	if (!access(doctor_path(doctor, "/sys/kernel/tracing/events", path), R_OK)) {
		doctor_found(finding, DOCTOR_OK, "/sys/kernel/tracing is mounted");
		return;
	}
	if (errno == EACCES) {
		doctor_found(finding, DOCTOR_NOTE, "/sys/kernel/tracing is not readable");
		doctor_set_hint(finding,
				"sudo mount -o remount,gid=tracing,mode=755 /sys/kernel/tracing");
	} else if (!access(doctor_path(doctor, "/sys/kernel/tracing", path), F_OK)) {
		doctor_found(finding, DOCTOR_NOTE, "/sys/kernel/tracing is not mounted");
		doctor_set_hint(finding, "sudo mount -t tracefs tracefs /sys/kernel/tracing");
	} else {
		doctor_found(finding, DOCTOR_NOTE, "the kernel has no tracefs");
	}
}

static void doctor_check_user_events(const struct doctor *doctor, struct doctor_finding *finding)
{
	char path[DOCTOR_PATH_MAX];

	if (!access(doctor_path(doctor, "/sys/kernel/tracing/user_events_data", path), W_OK)) {
		doctor_found(finding, DOCTOR_OK,
				"/sys/kernel/tracing/user_events_data is writable");
		return;
	}
	if (errno == EACCES) {
		doctor_found(finding, DOCTOR_NOTE, "user_events_data is not writable");
		doctor_set_hint(finding,
				"sudo chgrp tracing /sys/kernel/tracing/user_events_data && sudo chmod g+w /sys/kernel/tracing/user_events_data");
		return;
	}
	doctor_found(finding, DOCTOR_NOTE, "the kernel has no user_events_data");
	doctor_set_hint(finding,
			"mount tracefs; if it still does not exist, the kernel needs CONFIG_USER_EVENTS (Linux 6.4)");
}

/* ---- debug information ---- */

static void doctor_check_debug(const struct doctor *doctor, struct doctor_finding *finding)
{
	const char *urls = doctor->is_other_machine ? NULL : getenv("DEBUGINFOD_URLS");
	char path[DOCTOR_PATH_MAX], line[256];

	if (urls && *urls) {
		doctor_found(finding, DOCTOR_OK, "from %s", urls);
		return;
	}
	if (doctor_line(doctor, "/etc/debuginfod/elfutils.urls", line, sizeof(line)) && *line) {
		doctor_found(finding, DOCTOR_OK, "from %s", line);
		return;
	}
	if (!access(doctor_path(doctor, "/usr/lib/debug/.build-id", path), R_OK | X_OK)) {
		doctor_found(finding, DOCTOR_OK, "in /usr/lib/debug");
		return;
	}
	doctor_found(finding, DOCTOR_NOTE,
			"no debug information is installed, and DEBUGINFOD_URLS names no server");
	doctor_set_hint(finding,
			"export DEBUGINFOD_URLS=https://debuginfod.debian.net (or your system's), or install -dbgsym packages");
}

static void doctor_check_core(const struct doctor *doctor, struct doctor_finding *finding)
{
	char line[256];
	uint64_t filter = 0;

	if (!doctor_line(doctor, "/proc/self/coredump_filter", line, sizeof(line))) {
		doctor_found(finding, DOCTOR_SKIPPED, "unknown");
		return;
	}
	filter = strtoull(line, NULL, 16);
	if (filter & 2) {
		doctor_found(finding, DOCTOR_OK,
				"core dumps have shared memory in them (filter %s)", line);
		return;
	}
	doctor_found(finding, DOCTOR_NOTE, "core dumps have no shared memory in them (filter %s)",
			line);
	doctor_set_hint(finding,
			"echo 0x33 >/proc/self/coredump_filter, in the shell that starts the program");
}

const struct doctor_check doctor_system_checks[] = {
		{"caps", "inspecting programs of other users, counters, kernel events",
				doctor_check_capabilities},
		{"ptrace", "`side list PID`, attaching to programs that run", doctor_check_ptrace},
		{"perf", "counters as contexts (perf:thread:…)", doctor_check_perf},
		{"tracefs", "kernel events beside those of programs", doctor_check_tracefs},
		{"userevents", "the same events for perf and ftrace (user_events)",
				doctor_check_user_events},
		{"debug", "names of functions and lines in the code for addresses",
				doctor_check_debug},
		{"core", "`side recover CORE`: the last events of a program that crashed",
				doctor_check_core},
		{.name = NULL},
};
