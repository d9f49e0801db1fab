/* SPDX-License-Identifier: MIT */
/*
 * The call of side-uprobes for global probes, and unreadable files in `--exe`: the test plays
 * users, links and calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../called.h"
#include "../failing-calls.h"

#include "programs/side/session/helper-program.h"
#include "programs/side/probe/executable.h"
#include "programs/side/probe/global.h"
#include "programs/common/message.h"
#include "recorder/core/session.h"

/* ---- what is printed ---- */

static int printed_file, saved;

static void begin_output(bool is_json, bool plan_is_gp_only)
{
	const struct common_options common = {
			.json = is_json, .quiet = plan_is_gp_only, .color = COLOR_NEVER};

	output_start(&common, NULL);
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	fflush(NULL);
	saved = fcntl(2, F_DUPFD_CLOEXEC, 10);
	assert_int_equal(dup2(printed_file, 2), 2);
}

static void assert_output(const char *expected)
{
	static char text[4096];
	ssize_t size;

	fflush(NULL);
	assert_int_equal(dup2(saved, 2), 2);
	close(saved);
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(printed_file);
	assert_string_equal(text, expected);
}

/* ---- played calls ---- */

static int find_status, user_error, stat_error;
static const char *exe_of_process; /* NULL: the link cannot be read */

static int played_find(const char *program, const char *what, char path[PATH_MAX])
{
	called("find %s %s;", program, what);
	strcpy(path, "/the/uprobes");
	return find_status;
}

static struct passwd *played_user(const char *name)
{
	static struct passwd user = {.pw_uid = 1234};

	called("user %s;", name);
	assert_int_equal(errno, 0);
	errno = user_error;
	return strcmp(name, "web") ? NULL : &user;
}

static ssize_t played_readlink(const char *path, char *target, size_t size)
{
	called("readlink %s %zu;", path, size);
	if (!exe_of_process)
		return -1;
	memcpy(target, exe_of_process, strlen(exe_of_process));
	return (ssize_t)strlen(exe_of_process);
}

static int played_start(char ***args, const char *variable, const char *value)
{
	called("start");
	for (char **word = *args; word && *word; word++)
		called(" %s", *word);
	called(" %s=%s;", variable, value);
	return 61;
}

#define helper_find played_find
#define helper_start played_start
#define getpwnam played_user
#define readlink played_readlink
#include "programs/side/probe/global.c"
#undef getpwnam
#undef readlink

static int played_stat(const char *path, struct stat *status)
{
	if (!stat_error)
		return stat(path, status);
	errno = stat_error;
	return -1;
}

static char *played_realpath(const char *path, char *resolved)
{
	if (!stat_error)
		return realpath(path, resolved);
	errno = stat_error;
	return NULL;
}

static bool only_realpath_fails;
#define stat(path, status) (only_realpath_fails ? stat(path, status) : played_stat(path, status))
#define realpath played_realpath
#include "programs/side/probe/executable.c"
#undef stat
#undef realpath

/* ---- global probes ---- */

static char **args;

static void assert_words(const char *expected)
{
	char text[1024] = "";
	size_t used = 0;

	for (char **word = args; word && *word; word++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s|", *word);
	assert_string_equal(text, expected);
	probe_global_free(args);
	args = NULL;
}

static int ask(const struct global_arguments *arguments, uint64_t pid, const int *tables, size_t nr)
{
	int status = probe_global_args(arguments, pid, tables, nr, &args);

	assert_called(pid ? "find side-uprobes global probes;readlink /proc/4711/exe 4095;"
			  : "find side-uprobes global probes;");
	return status;
}

static void test_words(void **unused)
{
	const char *comms[] = {"nginx", "post gres"}, *uids[] = {"65534", "0"};
	struct global_arguments arguments = {.by = "tracefs",
			.uids = {.items = uids, .count = 2},
			.comms = {.items = comms, .count = 2}};
	const struct global_arguments none = {.on = true};
	int tables[] = {memfd_create("one", MFD_CLOEXEC), memfd_create("other", MFD_CLOEXEC)};
	char expected[256];

	(void)unused;
	begin_output(false, false);
	assert_int_equal(ask(&none, 0, NULL, 0), COMMAND_DONE);
	assert_words("/the/uprobes|");
	assert_output("");
	begin_output(true, true);
	exe_of_process = "/usr/libexec/valgrind/none";
	assert_int_equal(ask(&arguments, 4711, tables, 2), COMMAND_DONE);
	snprintf(expected, sizeof(expected),
			"/the/uprobes|--table|%d|--table|%d|--quiet|--json|--pid|4711|--by|tracefs|--uid|65534|--uid|0|--comm|nginx|--comm|post gres|",
			tables[0], tables[1]);
	assert_words(expected);
	assert_output("");
	/* The program inherits them. */
	assert_int_equal(fcntl(tables[0], F_GETFD), 0);
	assert_int_equal(fcntl(tables[1], F_GETFD), 0);
	close(tables[0]);
	close(tables[1]);
}

static void test_refused(void **unused)
{
	const struct global_arguments none = {.on = true};
	int tables[] = {memfd_create("one", MFD_CLOEXEC), INT_MAX};
	char expected[64];

	(void)unused;
	find_status = 47;
	args = (char **)&args;
	assert_int_equal(probe_global_args(&none, 4711, NULL, 0, &args), 47);
	assert_called("find side-uprobes global probes;");
	assert_null(args);
	find_status = 0;
	begin_output(false, false);
	exe_of_process = "/usr/libexec/valgrind/memcheck-amd64-linux";
	assert_int_equal(ask(&none, 4711, NULL, 0), COMMAND_FAILED);
	assert_null(args);
	assert_output("side: cannot watch process 4711: it runs under valgrind, where a breakpoint of the kernel would end it\n"
		      "hint: trace the program alone, or record its events: `side record -- valgrind PROGRAM`\n");
	exe_of_process = NULL;
	begin_output(false, false);
	assert_int_equal(ask(&none, 4711, tables, 2), COMMAND_FAILED);
	assert_output("side: cannot send the probe table: Bad file descriptor\n");
	snprintf(expected, sizeof(expected), "/the/uprobes|--table|%d|", tables[0]);
	assert_words(expected);
	close(tables[0]);
}

static void test_users(void **unused)
{
	static const struct {
		const char *name;
		int error, status;
		const char *calls, *args, *printed;
	} each[] = {{"web", 0, COMMAND_DONE, "user web;", "--uid|1234|", ""},
			{"0099", 0, COMMAND_DONE, "", "--uid|0099|", ""},
			{"9x", 0, COMMAND_USAGE, "user 9x;", "",
					"side: there is no user `9x`\nhint: `getent passwd` lists them\n"},
			{"", ENOENT, COMMAND_USAGE, "user ;", "",
					"side: there is no user ``\nhint: `getent passwd` lists them\n"},
			{"ann", ENOMEM, COMMAND_FAILED, "user ann;", "",
					"side: cannot read the users: Cannot allocate memory\n"},
			{"ann", EMFILE, COMMAND_FAILED, "user ann;", "",
					"side: cannot read the users: Too many open files\n"},
			{"ann", ENFILE, COMMAND_FAILED, "user ann;", "",
					"side: cannot read the users: Too many open files in system\n"},
			{"ann", EIO, COMMAND_FAILED, "user ann;", "",
					"side: cannot read the users: Input/output error\n"},
			{"web", EIO, COMMAND_DONE, "user web;", "--uid|1234|", ""}};

	(void)unused;
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		user_error = each[i].error;
		errno = EBADF;
		begin_output(false, false);
		assert_int_equal(add_user(&args, each[i].name), each[i].status);
		assert_output(each[i].printed);
		assert_called(each[i].calls);
		assert_words(each[i].args);
	}
}

static void test_groups(void **unused)
{
	char directory[] = "/tmp/test-global-parts-XXXXXX", procs[64], expected[512];
	const char *groups[] = {directory, directory};
	const struct global_arguments arguments = {.cgroups = {.items = groups, .count = 2}};
	struct stat status;

	(void)unused;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(stat(directory, &status), 0);
	begin_output(false, false);
	assert_int_equal(ask(&arguments, 0, NULL, 0), COMMAND_USAGE);
	snprintf(expected, sizeof(expected),
			"side: `%s` is not a control group\nhint: write its directory, as below /sys/fs/cgroup\n",
			directory);
	assert_output(expected);
	assert_words("/the/uprobes|");
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", directory);
	close(open(procs, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	begin_output(false, false);
	assert_int_equal(ask(&arguments, 0, NULL, 0), COMMAND_DONE);
	assert_output("");
	snprintf(expected, sizeof(expected), "/the/uprobes|--cgroup|%llu|--cgroup|%llu|",
			(unsigned long long)status.st_ino, (unsigned long long)status.st_ino);
	assert_words(expected);
	unlink(procs);
	rmdir(directory);
	begin_output(false, false);
	assert_int_equal(add_cgroup(&args, directory), COMMAND_USAGE);
	snprintf(expected, sizeof(expected),
			"side: `%s` is not a control group\nhint: write its directory, as below /sys/fs/cgroup\n",
			directory);
	assert_output(expected);
	assert_null(args);
}

/* The names of one kind: 64, and one more. A refused kind ends the call. */
static void test_many(void **unused)
{
	const char *names[65];
	struct global_arguments arguments = {.comms = {.items = names, .count = 64}};
	const char *fine[] = {"7"};
	size_t nr = 0;

	(void)unused;
	for (size_t i = 0; i < 65; i++)
		names[i] = "8";
	begin_output(false, false);
	assert_int_equal(ask(&arguments, 0, NULL, 0), COMMAND_DONE);
	while (args[nr])
		nr++;
	assert_int_equal(nr, 1 + 2 * 64);
	probe_global_free(args);
	arguments.comms.count = 65;
	arguments.uids = (struct text_list){.items = fine, .count = 1};
	assert_int_equal(ask(&arguments, 0, NULL, 0), COMMAND_USAGE);
	assert_output("side: more than 64 values of one option are given\n");
	assert_words("/the/uprobes|--uid|7|");
	arguments = (struct global_arguments){.uids = {.items = names, .count = 65},
			.cgroups = {.items = names, .count = 1},
			.comms = {.items = fine, .count = 1}};
	begin_output(false, false);
	assert_int_equal(ask(&arguments, 0, NULL, 0), COMMAND_USAGE);
	assert_output("side: more than 64 values of one option are given\n");
	assert_words("/the/uprobes|");
}

/*
 * Each allocation fails once: an error, and the args so far can be freed. Returns the number of
 * allocations.
 */
static unsigned int fail_each(int table)
{
	const char *names[] = {"77"}, *users[] = {"web"};
	const struct global_arguments arguments = {.by = "perf_event",
			.uids = {.items = users, .count = 1},
			.comms = {.items = names, .count = 1}};
	unsigned int number = 1;

	for (bool is_failing = true; is_failing; number++) {
		int status;

		begin_output(false, true);
		failing_arm(number);
		status = probe_global_args(&arguments, 4711, &table, 1, &args);
		is_failing = failing_has_failed();
		*calls = '\0';
		assert_int_equal(status, is_failing ? COMMAND_FAILED : COMMAND_DONE);
		assert_output(is_failing ? "side: out of memory\n" : "");
		probe_global_free(args);
		args = NULL;
	}
	return number - 2;
}

static void test_memory(void **unused)
{
	int table = memfd_create("table", MFD_CLOEXEC);

	(void)unused;
	user_error = 0;
	exe_of_process = "/usr/bin/true";
	/*
	 * Two allocations for each argument: the path, --table and its value, --quiet, --pid, --by,
	 * --uid and --comm, each with a value.
	 */
	assert_int_equal(fail_each(table), 2 * (1 + 2 + 1 + 2 + 2 + 2 + 2));
	close(table);
}

static void test_start(void **unused)
{
	(void)unused;
	assert_int_equal(probe_global_start(&args, "one", false), 61);
	assert_called("start --session one SIDE_AGENT_SESSION=one;");
	assert_words("--session|one|");
	assert_int_equal(probe_global_start(&args, "other", true), 61);
	assert_called("start --session other --system SIDE_AGENT_SESSION=other;");
	assert_words("--session|other|--system|");
	for (unsigned int number = 1; number <= 6; number++) {
		begin_output(false, false);
		failing_arm(number);
		assert_int_equal(probe_global_start(&args, "other", true), COMMAND_FAILED);
		assert_true(failing_has_failed());
		assert_output("side: out of memory\n");
		assert_called("");
		probe_global_free(args);
		args = NULL;
	}
}

static void test_check(void **unused)
{
	const char *names[] = {"a"};
	const struct text_list one = {.items = names, .count = 1};
	const struct global_arguments lonely[] = {
			{.by = "tracefs"}, {.uids = one}, {.cgroups = one}, {.comms = one}};

	(void)unused;
	for (size_t i = 0; i < sizeof(lonely) / sizeof(*lonely); i++) {
		struct global_arguments with = lonely[i];

		begin_output(false, false);
		assert_int_equal(probe_global_check(&lonely[i]), COMMAND_USAGE);
		assert_output("side: cannot use `--by`, `--uid`, `--cgroup` or `--comm` without `--global`\n"
			      "hint: write `--global`, too\n");
		with.on = true;
		assert_int_equal(probe_global_check(&with), COMMAND_DONE);
	}
	assert_int_equal(probe_global_check(&(struct global_arguments){.on = false}), COMMAND_DONE);
	assert_int_equal(probe_global_check(&(struct global_arguments){
					 .on = true, .by = "perf_event"}),
			COMMAND_DONE);
	assert_int_equal(probe_global_check(&(struct global_arguments){
					 .on = true, .by = "uprobe_multi"}),
			COMMAND_DONE);
	begin_output(false, false);
	assert_int_equal(probe_global_check(&(struct global_arguments){.on = true, .by = "ftrace"}),
			COMMAND_USAGE);
	assert_output("side: unknown method `ftrace`\nhint: write uprobe_multi, perf_event or tracefs\n");
}

/* ---- a file that cannot be read ---- */

static void test_missing(void **unused)
{
	static const struct {
		int error, status;
		const char *printed;
	} each[] = {{ENOENT, COMMAND_FAILED, "side: there is no file /usr/bin/env\n"},
			{ENOTDIR, COMMAND_FAILED, "side: there is no file /usr/bin/env\n"},
			{EACCES, COMMAND_NOT_PERMITTED,
					"side: cannot open /usr/bin/env: Permission denied\nhint: run as root\n"},
			{EPERM, COMMAND_NOT_PERMITTED,
					"side: cannot open /usr/bin/env: Operation not permitted\nhint: run as root\n"},
			{ELOOP, COMMAND_FAILED,
					"side: cannot open /usr/bin/env: Too many levels of symbolic links\n"}};

	(void)unused;
	for (size_t i = 0; i < 2 * sizeof(each) / sizeof(*each); i++) {
		struct probe_exe exe;

		stat_error = each[i / 2].error;
		only_realpath_fails = i % 2;
		begin_output(false, false);
		assert_int_equal(probe_exe_find("/usr/bin/env", &exe), each[i / 2].status);
		assert_output(each[i / 2].printed);
		assert_int_equal(exe.pid, 0);
	}
	stat_error = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_words),
			cmocka_unit_test(test_refused), cmocka_unit_test(test_users),
			cmocka_unit_test(test_groups), cmocka_unit_test(test_many),
			cmocka_unit_test(test_memory), cmocka_unit_test(test_start),
			cmocka_unit_test(test_check), cmocka_unit_test(test_missing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
