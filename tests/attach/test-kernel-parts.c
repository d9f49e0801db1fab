/* SPDX-License-Identifier: MIT */
/*
 * side-uprobes during a recording, with a helper process that the test replaces: how it starts,
 * when it is ready, and how it ends. The test includes attach/kernel.c and trace-kernel.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs/side/attach/attach.h"
#include "programs/common/command.h"
#include "programs/side/session/helper-program.h"
#include "programs/side/probe/global.h"
#include "programs/side/probe/kernel.h"
#include "programs/common/message.h"
#include "programs/side/probe/trace-kernel.h"

#include "../check.h"
#include "../resources.h"

static char calls[4096];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	va_list arguments;
	size_t used = strlen(calls);

	va_start(arguments, format);
	(void)vsnprintf(calls + used, sizeof(calls) - used, format, arguments);
	va_end(arguments);
}

static bool called(const char *wanted)
{
	bool is_same = !strcmp(calls, wanted);

	if (!is_same)
		(void)fprintf(stderr, "%s\n", calls);
	*calls = '\0';
	return is_same;
}

/* ---- the helper process ---- */

static char *played_words[] = {NULL};
static int words_status, begin_status, ready_end = -1;
static int waits_until_end, turn_status, turns_until_ready = -1;
static bool is_reaped;

static int make_words(pid_t pid, const int *tables, size_t nr, char ***ret_words)
{
	note("words %d:", pid);
	for (size_t i = 0; i < nr; i++)
		note(" %d", tables[i]);
	note("; ");
	*ret_words = played_words;
	return words_status;
}

static int begin_helper(char ***ret_words, const char *socket, int *ready, pid_t *child)
{
	int ends[2];

	CHECK(*ret_words == played_words);
	note("begin %s; ", socket);
	if (begin_status)
		return begin_status;
	CHECK(!pipe2(ends, O_CLOEXEC));
	*ready = ends[0];
	ready_end = ends[1];
	*child = 4711;
	return 0;
}

static void free_words(char **of)
{
	CHECK(!of || of == played_words);
	note("free; ");
}

static void ended(int status)
{
	note("ended %d; ", status);
}

static int played_kill(pid_t pid, int signal)
{
	CHECK(pid == 4711);
	note("signal %d; ", signal);
	return 0;
}

static pid_t played_wait(pid_t pid, int *status, int options)
{
	CHECK(pid == 4711 && options == WNOHANG);
	note("wait; ");
	if (waits_until_end-- > 0)
		return 0;
	if (is_reaped) {
		errno = ECHILD;
		return -1;
	}
	*status = 256 * 3;
	return pid;
}

static int played_turn(struct attached *attached, int timeout_ms)
{
	CHECK(attached);
	note("turn %d; ", timeout_ms);
	if (!turns_until_ready--) {
		CHECK(write(ready_end, "x", 1) == 1 && !close(ready_end));
		ready_end = -1;
	}
	return turn_status;
}

#define probe_kernel_args make_words
#define helper_begin begin_helper
#define helper_free free_words
#define probe_global_free free_words
#define probe_kernel_check_exit ended
#define kill played_kill
#define waitpid played_wait
#define attach_turn played_turn
#include "programs/side/attach/kernel.c"
#include "programs/side/probe/trace-kernel.c"

/* ---- during the recording of a running program ---- */

static int printed_file = -1, printed_saved;

static void catch (void)
{
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	printed_saved = fcntl(2, F_DUPFD_CLOEXEC, 3);
	CHECK(printed_file >= 0 && printed_saved >= 0 && dup2(printed_file, 2) == 2);
}

static bool printed(const char *wanted)
{
	static char text[4096];
	ssize_t size;

	(void)fflush(stderr);
	CHECK(dup2(printed_saved, 2) == 2);
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	CHECK(size >= 0);
	text[size] = '\0';
	close(printed_file);
	close(printed_saved);
	if (!strcmp(text, wanted))
		return true;
	(void)fprintf(stderr, "%s", text);
	return false;
}

static const int tables[] = {11, 12};
static struct attach_recording recording = {.kernel = tables, .nr_kernel = 2};

static struct attached attach(void)
{
	return (struct attached){
			.pid = 55, .recording = &recording, .dir = {.theirs = "/tmp/x/agents"}};
}

static void test_start(void)
{
	struct attached attached = attach();
	struct resources before = resources_now();

	attached.recording = NULL;
	CHECK(!attach_kernel_start(&attached) && called(""));
	attached = attach();
	recording.nr_kernel = 0;
	CHECK(!attach_kernel_start(&attached) && called(""));
	recording.nr_kernel = 2;
	turns_until_ready = 2;
	CHECK(!attach_kernel_start(&attached) && attached.kernel == 4711);
	CHECK(called("words 55: 11 12; begin /tmp/x/agents; turn 10; turn 10; turn 10; free; "));
	/* It exits without a byte: it has reported the reason. */
	attached = attach();
	turns_until_ready = -1;
	turn_status = COMMAND_LOST;
	CHECK(attach_kernel_start(&attached) == COMMAND_LOST && !close(ready_end));
	CHECK(called("words 55: 11 12; begin /tmp/x/agents; turn 10; free; "));
	turn_status = 0;
	begin_status = COMMAND_NOT_FOUND;
	CHECK(attach_kernel_start(&attached) == COMMAND_NOT_FOUND &&
			called("words 55: 11 12; begin /tmp/x/agents; free; "));
	begin_status = 0;
	words_status = COMMAND_NOT_PERMITTED;
	CHECK(attach_kernel_start(&attached) == COMMAND_NOT_PERMITTED &&
			called("words 55: 11 12; free; "));
	words_status = 0;
	CHECK(resources_now().descriptors == before.descriptors);
}

static void test_not_ready(void)
{
	struct attached attached = attach();
	int ends[2];

	CHECK(!pipe2(ends, O_CLOEXEC) && !close(ends[1]));
	catch ();
	CHECK(attach_kernel_wait(&attached, ends[0]) == COMMAND_FAILED);
	CHECK(printed("side: cannot set the uprobes\nhint: `--no-uprobe` sets breakpoints instead\n") &&
			called(""));
	close(ends[0]);
}

static void test_end(void)
{
	struct attached attached = attach();

	attach_kernel_end(&attached);
	CHECK(called(""));
	attached.kernel = 4711;
	waits_until_end = 2;
	attach_kernel_end(&attached);
	CHECK(called("signal 15; wait; turn 10; wait; turn 10; wait; ended 768; ") &&
			!attached.kernel);
	/* A session that cannot continue does not wait for it. */
	attached.kernel = 4711;
	waits_until_end = 5;
	turn_status = COMMAND_LOST;
	attach_kernel_end(&attached);
	CHECK(called("signal 15; wait; turn 10; ended 0; ") && !attached.kernel);
	turn_status = 0;
	waits_until_end = 0;
}

/* ---- during the recording of a command ---- */

static bool is_failure(const struct error *error)
{
	return error->kind == ERROR_FAILED && error->code == -EIO &&
			!strcmp(error->text,
					"cannot set the uprobes; `--no-uprobe` sets breakpoints instead");
}

static void test_helper_process(void)
{
	struct trace_kernel kernel;
	struct error error = {.kind = ERROR_NONE};
	const struct session_helper *helper = trace_kernel_helper(&kernel, tables, 2);
	struct resources before = resources_now();

	CHECK(helper && helper->user == &kernel && kernel.ready == -1 && !kernel.child);
	CHECK(!helper->begin(&kernel, 56, "/s", &error) && kernel.child == 4711);
	CHECK(called("words 56: 11 12; begin /s; free; "));
	CHECK(helper->is_ready(&kernel, &error) == 0 && error.kind == ERROR_NONE);
	CHECK(write(ready_end, "x", 1) == 1 && !close(ready_end));
	CHECK(helper->is_ready(&kernel, &error) == 1 && kernel.ready == -1);
	waits_until_end = 2;
	CHECK(!helper->is_over(&kernel, false) && called("wait; "));
	CHECK(!helper->is_over(&kernel, true) && called("wait; signal 15; "));
	CHECK(helper->is_over(&kernel, true) && called("wait; ended 768; ") && !kernel.child);
	CHECK(helper->is_over(&kernel, true) && called(""));
	/* Another wait for children has returned its status. */
	kernel.child = 4711;
	is_reaped = true;
	CHECK(helper->is_over(&kernel, false) && called("wait; ended 0; ") && !kernel.child);
	is_reaped = false;
	/* It exits before it is ready. */
	CHECK(!helper->begin(&kernel, 56, "/s", &error) && !close(ready_end));
	CHECK(helper->is_ready(&kernel, &error) == -EIO && is_failure(&error) &&
			kernel.ready == -1);
	*calls = '\0';
	error.kind = ERROR_NONE;
	begin_status = COMMAND_FAILED;
	CHECK(helper->begin(&kernel, 56, "/s", &error) == -EIO && is_failure(&error));
	begin_status = 0;
	CHECK(called("words 56: 11 12; begin /s; free; "));
	words_status = COMMAND_FAILED;
	error.kind = ERROR_NONE;
	CHECK(helper->begin(&kernel, 56, "/s", &error) == -EIO && is_failure(&error));
	words_status = 0;
	CHECK(called("words 56: 11 12; free; "));
	CHECK(!trace_kernel_helper(&kernel, tables, 0));
	CHECK(trace_kernel_helper(&kernel, tables, 1) && kernel.nr == 1);
	CHECK(resources_now().descriptors == before.descriptors);
}

int main(void)
{
	output_start(&(struct common_options){.json = false}, "trace");
	for (int round = 0; round < 2; round++) {
		test_start();
		test_not_ready();
		test_end();
		test_helper_process();
	}
	return 0;
}
