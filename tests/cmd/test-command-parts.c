/* SPDX-License-Identifier: MIT */
/*
 * Parts of `side doctor`, `side kernel status` and `side trace`, each alone: the findings and hints
 * of each check, events of the kernel with distinct values, and probe specs at their limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../resources.h"

#include "programs/common/command.h"
#include "programs/side/doctor/doctor.h"
#include "programs/side/list/kernel-table.h"
#include "programs/side/processes/running.h"
#include "programs/common/message.h"
#include "protocol/boot.h"
#ifdef SIDE_HAS_PROBES
#include "programs/side/probe/spec-options.h"
#endif

/* ---- what is printed ---- */

static int printed_file, printed_saved, printed_from;

static void catch (int fd)
{
	printed_from = fd;
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	printed_saved = dup(fd);
	assert_true(printed_file >= 0 && printed_saved >= 0);
	fflush(NULL);
	assert_int_equal(dup2(printed_file, fd), fd);
}

static const char *caught(void)
{
	static char text[8192];
	ssize_t size;

	fflush(NULL);
	assert_int_equal(dup2(printed_saved, printed_from), printed_from);
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	assert_true(size >= 0);
	text[size] = '\0';
	close(printed_saved);
	close(printed_file);
	return text;
}

/* ---- `side doctor` ---- */

static char root[] = "/tmp/side-doctor-XXXXXX";

static void make_file(const char *path, const char *text)
{
	char whole[256];
	FILE *file;

	for (const char *at = path + 1; (at = strchr(at, '/')); at++) {
		snprintf(whole, sizeof(whole), "%s%.*s", root, (int)(at - path), path);
		(void)mkdir(whole, 0755);
	}
	snprintf(whole, sizeof(whole), "%s%s", root, path);
	file = fopen(whole, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void found(const char *name, enum doctor_state state, const char *text, const char *hint)
{
	static const struct doctor_check *const tables[] = {doctor_session_checks,
			doctor_system_checks, doctor_kernel_checks, doctor_boot_checks};
	const struct doctor doctor = {.root = root, .is_other_machine = true, .uid = 1000};
	struct doctor_finding finding = {.state = DOCTOR_OK};

	for (size_t i = 0; i < 4; i++)
		for (const struct doctor_check *check = tables[i]; check->name; check++)
			if (!strcmp(check->name, name))
				check->check(&doctor, &finding);
	assert_string_equal(finding.found, text);
	assert_string_equal(finding.hint, hint);
	assert_int_equal(finding.state, state);
}

#define STATUS "/proc/self/status"
#define SCOPE "/proc/sys/kernel/yama/ptrace_scope"
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define INSTANCES "/proc/sys/fs/inotify/max_user_instances"
#define CLOCK "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define PAGES "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
#define CAPS_HINT \
	"run as root with `sudo`, or in a container with --cap-add=SYS_PTRACE --cap-add=PERFMON"

static void test_rights(void **unused)
{
	(void)unused;
	found("caps", DOCTOR_NOTE, "without CAP_SYS_PTRACE, CAP_PERFMON, CAP_SYS_ADMIN", CAPS_HINT);
	make_file(STATUS, "Name:\tx\nCapPrm:\tffff\nCapEff:\t0000000000080000\n");
	found("caps", DOCTOR_NOTE, "without CAP_PERFMON, CAP_SYS_ADMIN; with CAP_SYS_PTRACE",
			CAPS_HINT);
	make_file(STATUS, "CapEff:\t0000004000200000\n");
	found("caps", DOCTOR_NOTE, "without CAP_SYS_PTRACE; with CAP_PERFMON, CAP_SYS_ADMIN",
			CAPS_HINT);
	make_file(STATUS, "CapEff:\t0000004000280000\n");
	found("caps", DOCTOR_OK, "CAP_SYS_PTRACE, CAP_PERFMON, CAP_SYS_ADMIN", "");
	found("ptrace", DOCTOR_OK, "any process of this user (no Yama)", "");
	make_file(SCOPE, "0\n");
	found("ptrace", DOCTOR_OK, "scope 0: any process of this user", "");
	make_file(SCOPE, "2\n");
	found("ptrace", DOCTOR_OK, "scope 2: and CAP_SYS_PTRACE is there", "");
	make_file(SCOPE, "3\n");
	found("ptrace", DOCTOR_NOTE, "scope 3: no process",
			"set kernel.yama.ptrace_scope to 0 in /etc/sysctl.d, and restart the machine");
	make_file(SCOPE, "-1\n");
	found("ptrace", DOCTOR_NOTE, "scope 3: no process",
			"set kernel.yama.ptrace_scope to 0 in /etc/sysctl.d, and restart the machine");
	make_file(STATUS, "CapEff:\t0\n");
	make_file(SCOPE, "1\n");
	found("ptrace", DOCTOR_NOTE, "scope 1: only children of the tracer",
			"sudo sysctl kernel.yama.ptrace_scope=0");
	make_file(SCOPE, "2\n");
	found("ptrace", DOCTOR_NOTE, "scope 2: only with CAP_SYS_PTRACE",
			"sudo sysctl kernel.yama.ptrace_scope=0");
	found("perf", DOCTOR_NOTE, "the kernel has no performance counters", "");
	make_file(PARANOID, "2\n");
	found("perf", DOCTOR_OK, "perf_event_paranoid is 2", "");
	make_file(PARANOID, "-1\n");
	found("perf", DOCTOR_OK, "perf_event_paranoid is -1", "");
	make_file(PARANOID, "3\n");
	found("perf", DOCTOR_NOTE, "perf_event_paranoid is 3: no counter can be used",
			"sudo sysctl kernel.perf_event_paranoid=2");
	make_file(STATUS, "CapEff:\t4000000000\n");
	found("perf", DOCTOR_OK, "perf_event_paranoid is 3", "");
	make_file(STATUS, "CapEff:\t200000\n");
	found("perf", DOCTOR_OK, "perf_event_paranoid is 3", "");
}

/*
 * A configuration of recording from the first process on: its file, what it records, and what
 * prevents it.
 */
static void test_boot(void **unused)
{
	unsigned int before = resources_descriptors();
	char text[600], hint_text[300];

	(void)unused;
	found("boot", DOCTOR_NOTE,
			"there is no configuration /etc/side/boot.conf: programs are not recorded before a daemon runs",
			"docs/how-to/early-boot.md describes it");
	make_file(BOOT_FILE, "place /run/boot\nsession one\n channel c\n  event a:*\n");
	snprintf(text, sizeof(text),
			"%s/etc/side/boot.conf: 1 session in /run/boot, buffers of 0 processes, no recorder",
			root);
	found("boot", DOCTOR_OK, text, "");
	/* Folders are those of processes. */
	make_file("/run/boot/one/11/ring", "");
	make_file("/run/boot/one/file", "");
	make_file("/run/boot/one/.hidden/ring", "");
	make_file("/run/boot/other/22/ring", "");
	snprintf(text, sizeof(text),
			"%s/etc/side/boot.conf: 1 session in /run/boot, buffers of 1 process, no recorder",
			root);
	snprintf(hint_text, sizeof(hint_text),
			"side adopt /run/boot, or sided --boot %s/etc/side/boot.conf", root);
	found("boot", DOCTOR_NOTE, text, hint_text);
	make_file("/run/boot/one/socket", "");
	make_file("/run/boot/two/33/ring", "");
	make_file("/run/boot/two/44/ring", "");
	make_file(BOOT_FILE,
			"place /run/boot\nsession one\n channel c\n  event a:*\nsession two\n channel c\n  event a:*\n");
	snprintf(text, sizeof(text),
			"%s/etc/side/boot.conf: 2 sessions in /run/boot, buffers of 3 processes, with a recorder",
			root);
	found("boot", DOCTOR_OK, text, "");
	/* A file instead of the directory, or of a directory above it. */
	make_file("/run/plain", "");
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text),
				"place /run/plain%s\nsession one\n channel c\n  event a:*\n",
				i ? "/x/y" : "");
		make_file(BOOT_FILE, text);
		snprintf(text, sizeof(text),
				"%s/etc/side/boot.conf: the state directory /run/plain%s cannot be created: /run/plain is not a directory",
				root, i ? "/x/y" : "");
		found("boot", DOCTOR_MISSING, text,
				"use a directory on a tmpfs that you own, or be root");
	}
	make_file(BOOT_FILE, "place /none/a/b\nsession one\n channel c\n  event a:*\n");
	snprintf(text, sizeof(text),
			"%s/etc/side/boot.conf: 1 session in /none/a/b, buffers of 0 processes, no recorder",
			root);
	found("boot", DOCTOR_OK, text, "");
	make_file(BOOT_FILE, "plaice /x\n");
	snprintf(text, sizeof(text), "%s/etc/side/boot.conf:1: unknown keyword \"plaice\"", root);
	found("boot", DOCTOR_MISSING, text,
			"known keywords: state-directory, session, output, memory-limit, channel, mode, buffer-size, per-thread, block-timeout, context, event, exclude and filter");
	assert_int_equal(resources_descriptors(), before);
}

static void test_kernel(void **unused)
{
	(void)unused;
	found("tracefs", DOCTOR_NOTE, "the kernel has no tracefs", "");
	make_file("/sys/kernel/tracing/README", "");
	found("tracefs", DOCTOR_NOTE, "/sys/kernel/tracing is not mounted",
			"sudo mount -t tracefs tracefs /sys/kernel/tracing");
	found("userevents", DOCTOR_NOTE, "the kernel has no user_events_data",
			"mount tracefs; if it still does not exist, the kernel needs CONFIG_USER_EVENTS (Linux 6.4)");
	make_file("/sys/kernel/tracing/events", "");
	make_file("/sys/kernel/tracing/user_events_data", "");
	found("tracefs", DOCTOR_OK, "/sys/kernel/tracing is mounted", "");
	found("userevents", DOCTOR_OK, "/sys/kernel/tracing/user_events_data is writable", "");
	found("inotify", DOCTOR_NOTE,
			"the kernel has no inotify: programs check every second whether a daemon has started",
			"");
	make_file(INSTANCES, "127\n");
	found("inotify", DOCTOR_NOTE, "127 for each user",
			"sudo sysctl fs.inotify.max_user_instances=1024");
	make_file(INSTANCES, "128\n");
	found("inotify", DOCTOR_OK, "128 for each user", "");
	make_file(INSTANCES, "x\n");
	found("inotify", DOCTOR_NOTE,
			"the kernel has no inotify: programs check every second whether a daemon has started",
			"");
	found("clock", DOCTOR_SKIPPED, "unknown", "");
	make_file(CLOCK, "tsc\n");
	found("clock", DOCTOR_OK, "tsc", "");
	make_file(CLOCK, "riscv_clocksource\n");
	found("clock", DOCTOR_OK, "riscv_clocksource", "");
	make_file(CLOCK, "hpet\n");
	found("clock", DOCTOR_NOTE,
			"reading the clock source hpet takes a system call, which makes each event slow",
			"add `tsc=reliable clocksource=tsc` to the kernel command line");
	found("hugepages", DOCTOR_NOTE, "the kernel has no huge pages for shared memory", "");
	make_file(PAGES, "always advise [never]\n");
	found("hugepages", DOCTOR_NOTE, "off: always advise [never]",
			"echo advise | sudo tee /sys/kernel/mm/transparent_hugepage/shmem_enabled");
	make_file(PAGES, "always [deny]\n");
	found("hugepages", DOCTOR_NOTE, "off: always [deny]",
			"echo advise | sudo tee /sys/kernel/mm/transparent_hugepage/shmem_enabled");
	make_file(PAGES, "always [advise] never\n");
	found("hugepages", DOCTOR_OK, "always [advise] never", "");
	found("core", DOCTOR_SKIPPED, "unknown", "");
	make_file("/proc/self/coredump_filter", "00000033\n");
	found("core", DOCTOR_OK, "core dumps have shared memory in them (filter 00000033)", "");
	make_file("/proc/self/coredump_filter", "00000031\n");
	found("core", DOCTOR_NOTE, "core dumps have no shared memory in them (filter 00000031)",
			"echo 0x33 >/proc/self/coredump_filter, in the shell that starts the program");
	found("debug", DOCTOR_NOTE,
			"no debug information is installed, and DEBUGINFOD_URLS names no server",
			"export DEBUGINFOD_URLS=https://debuginfod.debian.net (or your system's), or install -dbgsym packages");
	make_file("/usr/lib/debug/.build-id/x", "");
	found("debug", DOCTOR_OK, "in /usr/lib/debug", "");
	make_file("/etc/debuginfod/elfutils.urls", "\n");
	found("debug", DOCTOR_OK, "in /usr/lib/debug", "");
	make_file("/etc/debuginfod/elfutils.urls", "https://there\n");
	found("debug", DOCTOR_OK, "from https://there", "");
	for (size_t i = 0; i < 7; i++) {
		static const char *const live[] = {
				"daemon", "runtime", "group", "shm", "nofile", "memlock", "kernel"};

		found(live[i], DOCTOR_SKIPPED, "cannot be checked in the files of another machine",
				"");
	}
	found("rseq", DOCTOR_SKIPPED, "cannot be checked in the files of another machine", "");
}

static int make_root(void **unused)
{
	(void)unused;
	return !mkdtemp(root);
}

static int remove_root(void **unused)
{
	char command[64];

	(void)unused;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

/* ---- `side kernel status`: programs that the test has made up ---- */

static const struct side_kernel_event_0 kernel_events[] = {
		{.written = 1001,
				.cut = 2,
				.lost = 3,
				.state = SIDE_KERNEL_EVENT_REGISTERED,
				.eventheader = 1,
				.name = "p:a",
				.tracepoint = "p_a\x1b"},
		{.written = 4,
				.state = SIDE_KERNEL_EVENT_REGISTERED,
				.multi_format = 1,
				.name = "p:b",
				.tracepoint = "p_b"},
		{.state = SIDE_KERNEL_EVENT_REFUSED,
				.lost = 5,
				.name = "p:c",
				.reason = "too\x1bmany"},
};

static int kernel_failure;

int running_find(pid_t **pids, size_t *count)
{
	*pids = malloc(2 * sizeof(**pids));
	assert_non_null(*pids);
	(*pids)[0] = 71;
	(*pids)[1] = 72;
	*count = 2;
	return 0;
}

const char *running_name(pid_t pid, char name[RUNNING_NAME_MAX])
{
	snprintf(name, RUNNING_NAME_MAX, "name%d", (int)pid);
	return name;
}

bool running_has_recorder(pid_t pid)
{
	return pid == 71;
}

bool running_library(pid_t pid, char path[PATH_MAX])
{
	(void)pid;
	*path = '\0';
	return false;
}

bool running_program(pid_t pid, char path[PATH_MAX])
{
	return running_library(pid, path);
}

int kernel_table_read(pid_t pid, const struct kernel_table_reader *reader)
{
	if (pid == 72)
		return kernel_failure;
	for (size_t i = 0; i < 3; i++)
		reader->event(reader->user, pid, &kernel_events[i]);
	return 0;
}

static const char *kernel_status(bool json)
{
	static char word[] = "status";
	char *operands[] = {word, NULL};
	const struct parsed parsed = {.verb = command_find_verb("kernel"),
			.operands = operands,
			.operand_count = 1};

	output_start(
			&(const struct common_options){
					.json = json, .quiet = true, .color = COLOR_NEVER},
			"kernel");
	catch (STDOUT_FILENO);
	(void)cmd_kernel(&parsed);
	return caught();
}

static void test_kernel_status(void **unused)
{
	(void)unused;
	kernel_failure = -ENOENT;
	assert_string_equal(kernel_status(false),
			"p:a                      eventheader user_events:p_a\\x1b                  name71 71: 1001 written (2 shortened), 3 lost; no listener\n"
			"p:b                      native      user_events_multi:p_b.*              name71 71: 4 written; no listener\n"
			"p:c                      refused     -                                    name71 71: 0 written, 5 lost; too\\x1bmany\n");
	assert_string_equal(kernel_status(true),
			"{\"schema\":1,\"type\":\"kernel_event\",\"event\":\"p:a\",\"tracepoint\":\"user_events:p_a\\\\x1b\",\"state\":\"eventheader\",\"pid\":71,\"program\":\"name71\",\"written\":1001,\"cut\":2,\"lost\":3,\"listeners\":\"\",\"reason\":\"\"}\n"
			"{\"schema\":1,\"type\":\"kernel_event\",\"event\":\"p:b\",\"tracepoint\":\"user_events_multi:p_b.*\",\"state\":\"native\",\"pid\":71,\"program\":\"name71\",\"written\":4,\"cut\":0,\"lost\":0,\"listeners\":\"\",\"reason\":\"\"}\n"
			"{\"schema\":1,\"type\":\"kernel_event\",\"event\":\"p:c\",\"tracepoint\":\"-\",\"state\":\"refused\",\"pid\":71,\"program\":\"name71\",\"written\":0,\"cut\":0,\"lost\":5,\"listeners\":\"\",\"reason\":\"too\\u001bmany\"}\n");
	output_start(&(const struct common_options){.color = COLOR_NEVER}, "kernel");
}

/* ---- probe specs ---- */

#ifdef SIDE_HAS_PROBES
static const struct option probe_option = {.name = "probe"}, function_option = {.name = "function"},
			   sdt_option = {.name = "sdt"}, exit_option = {.name = "exit"},
			   arg_option = {.name = "arg"}, args_option = {.name = "args"},
			   ret_option = {.name = "ret"}, uprobe_option = {.name = "no-uprobe"};

static void test_specs(void **unused)
{
	struct option_use uses[] = {{.option = &arg_option, .text = "common"},
			{.option = &function_option, .text = "f"}, {.option = &exit_option},
			{.option = &args_option}, {.option = &probe_option, .text = "a b"},
			{.option = &ret_option, .text = "$ret"}, {.option = &uprobe_option},
			{.option = &sdt_option, .text = "x:y"}};
	static const char *const texts[] = {"",
			"--probe 'a b' --exit --arg common --ret '$ret' --no-uprobe",
			"--sdt x:y --arg common"};
	const struct option_uses all = {uses, 8}, none = {uses, 1};
	struct spec_options *specs;
	char first[128], quoted[64];
	size_t count;

	(void)unused;
	snprintf(first, sizeof(first), "--function f --exit --arg common --arg %s",
			format_quoted(RESOLVE_PARAMETERS, quoted, sizeof(quoted)));
	assert_int_equal(probe_specs_read(&all, NULL, &specs, &count), 0);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < 3; i++) {
		char *text = probe_spec_text(&specs[i]);

		assert_string_equal(text, i ? texts[i] : first);
		free(text);
	}
	assert_int_equal(specs[0].spec.kind, RESOLVE_FUNCTION);
	assert_int_equal(specs[1].spec.kind, RESOLVE_LOCATION);
	assert_int_equal(specs[2].spec.kind, RESOLVE_MARKER);
	assert_false(specs[2].spec.exits || specs[2].no_uprobe || specs[0].no_uprobe);
	assert_int_equal(specs[1].spec.nr_results, 1);
	free(specs);
	catch (STDERR_FILENO);
	assert_int_equal(probe_specs_read(&none, NULL, &specs, &count), COMMAND_USAGE);
	assert_null(specs);
	assert_string_equal(caught(),
			"side: missing probe location\nhint: `--function NAME`, `--probe LOCATION` or `--sdt PROVIDER:NAME`\n");
}

static void test_many_specs(void **unused)
{
	struct option_use uses[PROBE_TABLE_FIELDS_MAX + PROBE_SPECS_MAX + 2];
	struct option_uses list = {uses, PROBE_SPECS_MAX};
	struct spec_options *specs;
	char wanted[128];
	size_t count;

	(void)unused;
	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
		uses[i] = (struct option_use){.option = &function_option, .text = "f"};
	assert_int_equal(probe_specs_read(&list, NULL, &specs, &count), 0);
	assert_int_equal(count, 64);
	free(specs);
	list.count++;
	catch (STDERR_FILENO);
	assert_int_equal(probe_specs_read(&list, NULL, &specs, &count), COMMAND_USAGE);
	assert_string_equal(caught(), "side: more than 64 locations are given\n");
	for (size_t i = 1; i < sizeof(uses) / sizeof(uses[0]); i++)
		uses[i] = (struct option_use){.option = &arg_option, .text = "a"};
	list.count = PROBE_TABLE_FIELDS_MAX + 1;
	assert_int_equal(probe_specs_read(&list, NULL, &specs, &count), 0);
	assert_int_equal(specs[0].spec.nr_arguments, PROBE_TABLE_FIELDS_MAX);
	free(specs);
	list.count++;
	catch (STDERR_FILENO);
	assert_int_equal(probe_specs_read(&list, NULL, &specs, &count), COMMAND_USAGE);
	snprintf(wanted, sizeof(wanted),
			"side: an event has at most %d fields\nhint: request fewer values\n",
			PROBE_TABLE_FIELDS_MAX);
	assert_string_equal(caught(), wanted);
}

static void test_contexts_of_specs(void **unused)
{
	static const char *const requested[] = {"a,b", "", ",c,,d,"},
				 *const wanted[] = {"a", "b", "c", "d", "e", "f", "g"};
	static char first[] = "e", second[] = "f,g";
	char *const operands[] = {first, second, NULL};
	const char *items[] = {requested[0], requested[1], requested[2]};
	const struct text_list list = {items, 3};
	struct text_list each;

	(void)unused;
	assert_int_equal(probe_contexts(&list, operands, &each), 0);
	assert_int_equal(each.count, 7);
	for (size_t i = 0; i < 7; i++)
		assert_string_equal(each.items[i], wanted[i]);
	free(each.items);
	assert_int_equal(probe_contexts(&list, NULL, &each), 0);
	assert_int_equal(each.count, 4);
	free(each.items);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_rights),
			cmocka_unit_test(test_boot),
			cmocka_unit_test(test_kernel),
			cmocka_unit_test(test_kernel_status),
#ifdef SIDE_HAS_PROBES
			cmocka_unit_test(test_specs),
			cmocka_unit_test(test_many_specs),
			cmocka_unit_test(test_contexts_of_specs),
#endif
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
