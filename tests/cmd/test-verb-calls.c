/* SPDX-License-Identifier: MIT */
/*
 * Short verbs and their parts with calls that the test plays: `expand`, `recover`, `list --kernel`,
 * the start of side-more, confinement, temporary directories, and the helper process that names an
 * output. Whole outputs, and each failing allocation.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "programs/common/command.h"
#include "programs/side/cli/confine.h"
#include "programs/common/progress.h"
#include "programs/common/message.h"
#include "ctf/ctf.h"
#include "isolate/isolate.h"
#include "kernel-events/kernel-events.h"
#include "recorder/recover.h"
#include "recorder/core/session.h"

/* ---- what is printed, on both streams ---- */

static const struct common_options as_json = {.json = true, .color = COLOR_NEVER},
				   plain = {.color = COLOR_NEVER};
static int printed_file, saved[2];

static void begin_output(void)
{
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		saved[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 10);
		assert_int_equal(dup2(printed_file, 1 + i), 1 + i);
	}
}

static const char *end_output(void)
{
	static char text[8192];
	ssize_t size;

	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dup2(saved[i], 1 + i), 1 + i);
		close(saved[i]);
	}
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(printed_file);
	return text;
}

/* ---- expand ---- */

static struct ctf_expand_result expand_result;
static int expand_status;
static bool expand_reports;

static int played_expand(const char *dir, const char *out, ctf_expand_ready *ready,
		ctf_expand_message_fn *report, void *user, struct ctf_expand_result *result,
		struct error *error)
{
	assert_ptr_equal(ready, confine);
	assert_null(user);
	called("expand %s %s;", dir, out);
	if (expand_reports)
		report(user, "100 % done");
	*result = expand_result;
	if (expand_status)
		error_set(error, expand_status, "a hint", "100 %% d");
	return expand_status;
}

#define ctf_expand played_expand
#include "programs/side/analysis/expand.c"

static int expand(const char *dir, const char *out)
{
	char *operands[] = {(char *)(uintptr_t)dir, NULL};
	const struct parsed parsed = {
			.operands = operands, .operand_count = 1, .options.expand.output = out};

	return cmd_expand(&parsed);
}

static void test_expand(void **unused)
{
	static const char *const names[][2] = {{"dir", "dir-expanded"}, {"a/b//", "a/b-expanded"},
			{"/x", "/x-expanded"}, {"../.y", "../.y-expanded"}, {"z.", "z.-expanded"}};
	static const char *const nameless[] = {".", "/", "a/..", "...", "//", "./"};

	(void)unused;
	output_start(&plain, "expand");
	expand_result = (struct ctf_expand_result){2, 3, 2048, 5 << 20, 0};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[200];

		begin_output();
		assert_int_equal(expand(names[i][0], NULL), COMMAND_DONE);
		snprintf(text, sizeof(text), "side: expanded 2.0 KiB to 5.0 MiB in %s\n",
				names[i][1]);
		assert_string_equal(end_output(), text);
		snprintf(text, sizeof(text), "expand %s %s;", names[i][0], names[i][1]);
		assert_called(text);
	}
	for (size_t i = 0; i < sizeof(nameless) / sizeof(nameless[0]); i++) {
		char text[200];

		begin_output();
		assert_int_equal(expand(nameless[i], NULL), COMMAND_USAGE);
		snprintf(text, sizeof(text),
				"side: cannot derive the name of the new directory from %s\nhint: name the new directory with `-o`\n",
				nameless[i]);
		assert_string_equal(end_output(), text);
		assert_called("");
	}
	expand_result.expanded = 0;
	begin_output();
	assert_int_equal(expand(".", "out"), COMMAND_DONE);
	assert_string_equal(end_output(),
			"side: out is a plain copy: nothing in the trace was compressed\n");
	assert_called("expand . out;");
	expand_result = (struct ctf_expand_result){2, 3, 4, 5, 1};
	expand_reports = true;
	begin_output();
	assert_int_equal(expand("d", "out"), COMMAND_FAILED);
	assert_string_equal(end_output(),
			"side: 100 % done\nside: expanded 4 bytes to 5 bytes in out\n");
	expand_reports = false;
	output_start(&as_json, "expand");
	begin_output();
	assert_int_equal(expand("d", "o\"ut"), COMMAND_FAILED);
	assert_string_equal(end_output(),
			"{\"schema\":1,\"type\":\"expanded\",\"output\":\"o\\\"ut\",\"expanded\":2,\"copied\":3,\"bytes_in\":4,\"bytes_out\":5,\"damaged\":1}\n");
	output_start(&plain, "expand");
	for (size_t i = 0; i < 3; i++) {
		expand_status = (int[]){-EACCES, -EPERM, -EIO}[i];
		begin_output();
		assert_int_equal(
				expand("d", "out"), i < 2 ? COMMAND_NOT_PERMITTED : COMMAND_FAILED);
		assert_string_equal(end_output(), "side: 100 % d\nhint: a hint\n");
	}
	expand_status = 0;
	*calls = '\0';
}

/* ---- recover ---- */

static struct session_summary recovered;
static int recover_status, compression_status;
static struct session *const the_session = (struct session *)(uintptr_t)0x1000;

static int played_compression(uint64_t value, int *status)
{
	called("compress %u;", (unsigned int)value);
	*status = compression_status;
	return 7;
}

static void played_progress(void *parsed, uint64_t bytes, size_t processes, uint64_t lost)
{
	(void)parsed;
	(void)bytes;
	(void)processes;
	(void)lost;
}

static const void *the_parsed;

static int played_recover(const struct session_recover_options *options, struct session **session,
		struct error *error)
{
	called("recover");
	for (size_t i = 0; i < options->nr_paths; i++)
		called(" %s", options->paths[i]);
	called(" %s %d %d %d;", options->output, options->force, (int)options->format,
			options->compress);
	options->ready("made");
	assert_ptr_equal(options->progress, played_progress);
	assert_ptr_equal(options->progress_user, the_parsed);
	*session = recover_status ? NULL : the_session;
	(void)error;
	return recover_status;
}

static const struct session_summary *played_summary(struct session *session)
{
	assert_ptr_equal(session, the_session);
	return &recovered;
}

static void played_destroy(struct session *session)
{
	assert_ptr_equal(session, the_session);
	called("destroy;");
}

static int played_session_error(const struct error *error)
{
	assert_non_null(error);
	called("error;");
	return 41;
}

static void played_messages(const struct session_summary *reported)
{
	assert_ptr_equal(reported, &recovered);
	called("messages;");
}

static void played_print(
		const struct session_summary *reported, const struct parsed *parsed, int status)
{
	assert_ptr_equal(reported, &recovered);
	assert_ptr_equal(parsed, the_parsed);
	called("summary %d;", status);
}

static int played_status(int kind)
{
	called("status %d;", kind);
	return 42;
}

#include "programs/side/cli/keeper.h"

/* The helper process removes a directory that the command has created. */

static int output_exists;

static int played_exists(const char *path, int mode)
{
	assert_string_equal(path, "out");
	assert_int_equal(mode, F_OK);
	return output_exists ? 0 : -1;
}

static int played_keeper_start(struct keeper *keeper, const char *partial, const char *path)
{
	assert_int_equal(keeper->socket, -1);
	assert_null(path);
	called("keep %s;", partial);
	return 0;
}

static int played_keeper_end(const struct keeper *keeper, bool is_whole)
{
	assert_int_equal(keeper->socket, -1);
	called("keep %d;", is_whole);
	return 0;
}

static void played_confine(const char *output)
{
	called("confine %s;", output);
}

#define access played_exists
#define keeper_start played_keeper_start
#define keeper_end played_keeper_end
#define confine_output played_confine
#define command_compression played_compression
#define command_progress played_progress
#define session_recover played_recover
#define session_summary(session) played_summary(session)
#define session_destroy played_destroy
#define command_session_error played_session_error
#define command_session_messages played_messages
#define command_session_summary played_print
#define command_session_status played_status
#define progress_end() called("end;")
#include "programs/side/record/recover.c"
#undef session_summary
#undef access
#undef keeper_start
#undef keeper_end
#undef confine_output

static void test_recover(void **unused)
{
	char one[] = "one", two[] = "two", *operands[] = {one, two, NULL};
	struct parsed parsed = {.operands = operands,
			.operand_count = 2,
			.options.recover = {.output = "out",
					.compress = 5,
					.format = 1,
					.force = true}};

	(void)unused;
	the_parsed = &parsed;
	recovered.failure = 3;
	assert_int_equal(cmd_recover(&parsed), 42);
	assert_called("compress 5;recover one two out 1 1 7;keep made;confine made;end;messages;status 3;keep 0;destroy;");
	recovered.nr_processes = 1;
	output_exists = true;
	parsed.options.recover.force = false;
	parsed.options.recover.format = 0;
	assert_int_equal(cmd_recover(&parsed), 42);
	assert_called("compress 5;recover one two out 0 0 7;confine made;end;messages;summary -1;status 3;keep 1;destroy;");
	recover_status = -1;
	assert_int_equal(cmd_recover(&parsed), 41);
	assert_called("compress 5;recover one two out 0 0 7;confine made;end;error;");
	compression_status = 2;
	assert_int_equal(cmd_recover(&parsed), 2);
	assert_called("compress 5;");
}

/* ---- list --kernel ---- */

static int each_status;
static const char *each_text, *each_hint;
static size_t nr_each;

static int played_each(const char *const *patterns, size_t nr, kernel_record_name *call, void *user,
		struct error *error)
{
	static const char *const names[][2] = {{"sched", "b"}, {"irq", "c"}, {"sched", "a"}};
	int ret = each_status;

	for (size_t i = 0; i < nr; i++)
		called("%s ", patterns[i]);
	assert_null(patterns[nr]);
	for (size_t i = 0; i < nr_each && !ret; i++)
		ret = call(user, names[i][0], names[i][1]);
	if (each_text)
		snprintf(error->text, sizeof(error->text), "%s", each_text);
	if (each_hint)
		snprintf(error->hint, sizeof(error->hint), "%s", each_hint);
	return ret;
}

#define kernel_record_each played_each
#define names list_names
#include "programs/side/list/kernel-names.c"
#undef names

static void check_list(bool is_json, int status, const char *output)
{
	char one[] = "p1", two[] = "p2", *operands[] = {one, two, NULL};
	const char *more[] = {"p3"};
	const struct parsed parsed = {.operands = operands,
			.operand_count = 2,
			.common = is_json ? as_json : plain,
			.options.list.patterns = {more, 1}};

	output_start(&parsed.common, "list");
	begin_output();
	assert_int_equal(command_list_kernel(&parsed), status);
	assert_string_equal(end_output(), output);
	assert_called("p1 p2 p3 ");
}

static void test_list(void **unused)
{
	const char *sentence = NULL;

	(void)unused;
	check_list(false, COMMAND_DONE, "side: no kernel event matches\n");
	nr_each = 3;
	check_list(false, COMMAND_DONE, "irq:c\nsched:a\nsched:b\n");
	check_list(true, COMMAND_DONE,
			"{\"schema\":1,\"type\":\"kernel_event\",\"event\":\"irq:c\"}\n"
			"{\"schema\":1,\"type\":\"kernel_event\",\"event\":\"sched:a\"}\n"
			"{\"schema\":1,\"type\":\"kernel_event\",\"event\":\"sched:b\"}\n");
	each_text = "100 % d";
	each_hint = "a hint";
	for (size_t i = 0; i < 4; i++) {
		static const int statuses[] = {COMMAND_USAGE, COMMAND_NOT_PERMITTED,
				COMMAND_NOT_PERMITTED, COMMAND_FAILED};

		each_status = (int[]){-EINVAL, -EACCES, -EPERM, -EIO}[i];
		check_list(false, statuses[i], "side: 100 % d\nhint: a hint\n");
	}
	each_text = each_hint = NULL;
	check_list(false, COMMAND_FAILED, "side: Input/output error\n");
	each_status = 0;
	/* Each failing allocation. */
	for (unsigned int i = 1;; i++) {
		char one[] = "p1", *operands[] = {one, NULL};
		const struct parsed parsed = {.operands = operands, .operand_count = 1};
		int status;

		*calls = '\0';
		begin_output();
		failing_arm(i);
		status = command_list_kernel(&parsed);
		if (!failing_has_failed()) {
			assert_int_equal(i, 8);
			end_output();
			break;
		}
		sentence = end_output();
		assert_int_equal(status, COMMAND_FAILED);
		/* The names that were found before the failure. */
		assert_string_equal(sentence,
				i < 4 ? "side: Cannot allocate memory\n"
						: i < 6
						? "side: Cannot allocate memory\nsched:b\n"
						: "side: Cannot allocate memory\nirq:c\nsched:b\n");
	}
	*calls = '\0';
}

/* ---- side-more ---- */

static int exec_errors[2], has_proc, own_size, waits;
static size_t nr_execs;

static int played_exec(const char *path, char *const *args)
{
	called("exec %s %s;", path, args[0]);
	errno = exec_errors[nr_execs++];
	return -1;
}

static ssize_t played_readlink(const char *path, char *to, size_t size)
{
	assert_string_equal(path, "/proc/self/exe");
	assert_int_equal(size, PATH_MAX - 1);
	if (own_size < 0)
		return -1;
	memcpy(to, "/opt/bin/side", (size_t)own_size);
	return own_size;
}

static int played_access(const char *path, int mode)
{
	assert_string_equal(path, "/proc/self/exe");
	assert_int_equal(mode, F_OK);
	return has_proc ? 0 : -1;
}

static pid_t played_pid;

static pid_t played_fork(void)
{
	called("fork;");
	return played_pid;
}

static pid_t played_wait(pid_t pid, const int *status, int flags)
{
	called("wait %d %d %d;", (int)pid, status != NULL, flags);
	errno = EINTR;
	return waits-- > 0 ? -1 : pid;
}

#undef more_report_error
#define SIDE_LIBEXEC "../lib/side"
#define execv played_exec
#define readlink played_readlink
#define access played_access
#define fork played_fork
#define waitpid played_wait
#define _exit(code) called("exit %d;", code)
#include "programs/side/cli/more.c"
#undef SIDE_LIBEXEC
#define SIDE_LIBEXEC "/usr/libexec/side"
#define candidates absolute_places
#define more_own_directory absolute_own_directory
#define more_report_error absolute_fail
#define more_explain absolute_explain
#define more_execute absolute_execute
#undef PROGRAMS_SIDE_CLI_MORE_H
#include "programs/side/cli/more.c"
#undef execv
#undef readlink
#undef access
#undef fork
#undef waitpid
#undef _exit
#undef more_report_error
#undef more_explain
#undef more_execute

static void check_more(int execute(char **args), int first, int second, const char *wanted,
		const char *output)
{
	char name[] = "side", *args[] = {name, NULL};

	exec_errors[0] = first;
	exec_errors[1] = second;
	nr_execs = 0;
	begin_output();
	assert_int_equal(execute(args), COMMAND_FAILED);
	assert_string_equal(end_output(), output);
	assert_called(wanted);
}

static void test_more(void **unused)
{
	char name[] = "side", *args[] = {name, NULL};
	char text[300];

	(void)unused;
	output_start(&plain, NULL);
	has_proc = 1;
	own_size = 13;
	check_more(more_execute, ENOENT, ENOENT,
			"exec /opt/bin/side-more side;exec /opt/bin/../lib/side/side-more side;",
			"side: the part of side that has this verb, side-more, cannot be run: No such file or directory\nhint: install side again\n");
	check_more(absolute_execute, ENOENT, ENOEXEC,
			"exec /opt/bin/side-more side;exec /usr/libexec/side/side-more side;",
			"side: the part of side that has this verb, side-more, cannot be run: Exec format error\nhint: install side again\n");
	/* An error other than a missing file is reported as that of the program. */
	snprintf(text, sizeof(text),
			"side: cannot run this verb: user %lu may not execute /opt/bin/side-more\nhint: make its directory readable to all users, or install side for them\n",
			(unsigned long)geteuid());
	check_more(more_execute, EACCES, ENOENT, "exec /opt/bin/side-more side;", text);
	has_proc = 0;
	check_more(more_execute, EACCES, ENOENT, "exec /opt/bin/side-more side;",
			"side: cannot run this verb: /proc is not mounted: side finds its own files and other processes there\nhint: mount -t proc proc /proc\n");
	has_proc = 1;
	own_size = -1;
	errno = EPERM;
	check_more(more_execute, 0, 0, "",
			"side: the part of side that has this verb, side-more, cannot be run: Operation not permitted\nhint: install side again\n");
	own_size = 0;
	errno = 0;
	check_more(more_execute, 0, 0, "",
			"side: the part of side that has this verb, side-more, cannot be run: No such file or directory\nhint: install side again\n");
	own_size = 13;
	/* The child becomes side-more under another name. */
	nr_execs = 0;
	exec_errors[0] = ENOEXEC;
	begin_output();
	more_explain(args);
	end_output();
	assert_called("fork;exec /opt/bin/side-more side-explain;exit 1;");
	played_pid = 55;
	waits = 2;
	args[0] = name;
	more_explain(args);
	assert_called("fork;wait 55 0 0;wait 55 0 0;wait 55 0 0;");
	assert_ptr_equal(args[0], name);
	played_pid = -1;
	more_explain(args);
	assert_called("fork;");
}

/* ---- confinement ---- */

static bool isolate_result;

static bool played_isolate(const struct isolate_limits *limits)
{
	called("isolate");
	for (size_t i = 0; i < limits->nr_readable; i++)
		called(" r:%s", limits->readable[i]);
	for (size_t i = 0; i < limits->nr_writable; i++)
		called(" w:%s", limits->writable[i]);
	called(" %d%d%d%d;", limits->reads_all, limits->connects, limits->accepts,
			limits->terminals);
	return isolate_result;
}

#define isolate_parser played_isolate
#include "programs/side/cli/confine.c"

static void test_confine(void **unused)
{
	(void)unused;
	/* Nothing is enabled before this call. */
	assert_true(confine_receiver("out"));
	confine("in", "out");
	assert_called("");
	assert_false(is_confined);
	confine_enable();
	confine("in", "out");
	assert_called("isolate r:in w:out 0000;");
	assert_true(is_confined);
	/* Only once. */
	confine("in2", "out2");
	assert_true(confine_receiver("out"));
	assert_called("");
	is_confined = false;
	confine("in", NULL);
	assert_called("isolate r:in 0000;");
	is_confined = false;
	confine_output("out");
	assert_called("isolate r:/ w:out 0000;");
	is_confined = false;
	confine_sender("in", "spool", "/dev/ttyS0");
	assert_called("isolate r:in w:spool w:/dev 0101;");
	is_confined = false;
	confine_sender("in", NULL, "dir/file");
	assert_called("isolate r:in w:dir/file 0101;");
	is_confined = false;
	confine_sender("in", "spool", "tcp://host");
	assert_called("isolate r:in w:spool 0101;");
	is_confined = false;
	confine_sender("in", "spool", "-");
	assert_called("isolate r:in w:spool 0101;");
	is_confined = false;
	confine_sender("in", NULL, "/devices");
	assert_called("isolate r:in w:/devices 0101;");
	is_confined = false;
	assert_false(confine_receiver("out"));
	assert_called("isolate w:out 0010;");
	is_confined = false;
	isolate_result = true;
	assert_true(confine_receiver("out"));
	assert_called("isolate w:out 0010;");
	/* The nearest directory that exists. */
	is_confined = false;
	confine_watcher("/tmp", NULL);
	assert_called("isolate r:/tmp 0001;");
	is_confined = false;
	confine_watcher("/tmp/side-none/a/b", NULL);
	assert_called("isolate r:/tmp 0001;");
	is_confined = false;
	confine_watcher("/side-none/a", NULL);
	assert_called("isolate r:/ 0001;");
	is_confined = false;
	confine_watcher("side-none", NULL);
	assert_called("isolate r:side-none 0001;");
	is_confined = false;
	confine_watcher("/tmp/side-none", "/");
	assert_called("isolate r:/tmp r:/ 0001;");
}

/* ---- directories ---- */

#include "programs/side/cli/temporary-directory.c"

static char folder[] = "/tmp/side-verb-calls-XXXXXX";

static const char *inside(const char *name)
{
	static char paths[4][200];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void make_file(const char *path)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fclose(file);
}

static void test_made(void **unused)
{
	char text[400], *made;
	struct stat status;

	(void)unused;
	output_start(&plain, NULL);
	setenv("TMPDIR", folder, 1);
	assert_int_equal(temporary_directory_make("name", "a snapshot", &made), COMMAND_DONE);
	assert_memory_equal(made, folder, strlen(folder));
	assert_memory_equal(made + strlen(folder), "/name-", 6);
	assert_int_equal(strlen(made), strlen(folder) + 12);
	assert_int_equal(stat(made, &status), 0);
	assert_true(S_ISDIR(status.st_mode));
	/* Removes all content, but not the targets of symbolic links. */
	snprintf(text, sizeof(text), "%s/below", made);
	assert_int_equal(mkdir(text, 0700), 0);
	snprintf(text, sizeof(text), "%s/below/link", made);
	make_file(inside("kept"));
	assert_int_equal(symlink(inside(""), text), 0);
	snprintf(text, sizeof(text), "%s", made);
	temporary_directory_remove(&made);
	assert_null(made);
	assert_int_equal(stat(text, &status), -1);
	assert_int_equal(stat(inside("kept"), &status), 0);
	temporary_directory_remove(&made);
	/* A relative TMPDIR is not used. */
	setenv("TMPDIR", "relative", 1);
	assert_int_equal(temporary_directory_make("side-verb", "x", &made), COMMAND_DONE);
	assert_memory_equal(made, "/tmp/side-verb-", 15);
	temporary_directory_remove(&made);
	setenv("TMPDIR", "/none", 1);
	begin_output();
	assert_int_equal(temporary_directory_make("name", "a snapshot", &made), COMMAND_FAILED);
	assert_string_equal(end_output(),
			"side: cannot create a directory for a snapshot: No such file or directory\nhint: name a directory with -o\n");
	assert_null(made);
	begin_output();
	failing_arm(1);
	assert_int_equal(temporary_directory_make("name", "a snapshot", &made), COMMAND_FAILED);
	assert_true(failing_has_failed());
	assert_string_equal(end_output(), "side: out of memory\n");
	assert_null(made);
	unsetenv("TMPDIR");
	assert_int_equal(temporary_directory_make("side-verb", "x", &made), COMMAND_DONE);
	assert_memory_equal(made, "/tmp/side-verb-", 15);
	temporary_directory_remove(&made);
	assert_int_equal(unlink(inside("kept")), 0);
}

/* ---- the helper process that names an output ---- */

#include "programs/side/cli/keeper.c"

static bool exists(const char *name)
{
	return !access(inside(name), F_OK);
}

/* Returns whether the process ignores the signal now. */
static bool ignores(pid_t pid, int signal)
{
	unsigned long long mask = 0;
	char path[64], text[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(text, sizeof(text), file))
		(void)sscanf(text, "SigIgn: %llx", &mask);
	fclose(file);
	return mask >> (signal - 1) & 1;
}

static void test_keeper(void **unused)
{
	struct resources before = resources_now();
	struct rlimit limit, none;
	struct keeper keeper;
	int fd;

	(void)unused;
	make_file(inside("partial"));
	assert_int_equal(keeper_start(&keeper, inside("partial"), inside("whole")), 0);
	assert_true(keeper.pid > 0);
	assert_int_equal(fcntl(keeper.socket, F_GETFD), FD_CLOEXEC);
	/* The command handles the terminal's signals. */
	for (size_t i = 0; i < 4; i++)
		while (!ignores(keeper.pid, (int[]){SIGINT, SIGTERM, SIGHUP, SIGQUIT}[i]))
			usleep(1000);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(kill(keeper.pid, (int[]){SIGINT, SIGTERM, SIGHUP, SIGQUIT}[i]), 0);
	assert_int_equal(keeper_end(&keeper, true), 0);
	assert_int_equal(keeper.socket, -1);
	assert_true(exists("whole") && !exists("partial"));
	assert_int_equal(kill(keeper.pid, 0), -1);
	assert_int_equal(keeper_end(&keeper, true), 0);
	/* An incomplete output is removed. */
	make_file(inside("partial"));
	assert_int_equal(keeper_start(&keeper, inside("partial"), inside("other")), 0);
	assert_int_equal(keeper_end(&keeper, false), 0);
	assert_false(exists("partial") || exists("other"));
	/* Without another name, the output stays. */
	make_file(inside("partial"));
	assert_int_equal(keeper_start(&keeper, inside("partial"), NULL), 0);
	assert_int_equal(keeper_end(&keeper, true), 0);
	assert_true(exists("partial"));
	/* An output that cannot be renamed is removed, and the error is reported. */
	assert_int_equal(keeper_start(&keeper, inside("partial"), inside("none/whole")), 0);
	assert_int_equal(keeper_end(&keeper, true), -ENOENT);
	assert_false(exists("partial"));
	/* A directory is removed only if it is empty. */
	assert_int_equal(mkdir(inside("partial"), 0700), 0);
	make_file(inside("partial/file"));
	assert_int_equal(keeper_start(&keeper, inside("partial"), NULL), 0);
	assert_int_equal(keeper_end(&keeper, false), 0);
	assert_true(exists("partial"));
	assert_int_equal(unlink(inside("partial/file")), 0);
	/* The helper process has exited early. */
	assert_int_equal(keeper_start(&keeper, inside("partial"), NULL), 0);
	assert_int_equal(kill(keeper.pid, SIGKILL), 0);
	assert_int_equal(keeper_end(&keeper, true), -EIO);
	assert_true(exists("partial"));
	assert_true(resources_are_same(before, resources_now()));
	/* No descriptor is left for the socket. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	fd = dup(0);
	close(fd);
	none = (struct rlimit){(rlim_t)fd, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(keeper_start(&keeper, inside("partial"), NULL), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(keeper.socket, -1);
	assert_int_equal(rmdir(inside("partial")), 0);
	assert_int_equal(unlink(inside("whole")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_expand),
			cmocka_unit_test(test_recover),
			cmocka_unit_test(test_list),
			cmocka_unit_test(test_more),
			cmocka_unit_test(test_confine),
			cmocka_unit_test(test_made),
			cmocka_unit_test(test_keeper),
	};
	int ret;

	alarm(50);
	if (!mkdtemp(folder))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(folder);
	return ret;
}
