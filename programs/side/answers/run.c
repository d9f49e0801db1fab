/* SPDX-License-Identifier: MIT */
/* Records a command or a process for a verb that answers a question. */
#include "programs/side/answers/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs/common/message.h"
#include "programs/side/answers/processes.h"
#include "programs/side/answers/watch.h"
#include "programs/side/cli/temporary-directory.h"
#include "programs/side/session/helper-program.h"

static bool answer_recorder_killed;

int64_t answer_end_ns(void)
{
	return answer_get_end_ns();
}

bool answer_is_cut(void)
{
	return answer_recorder_killed;
}

/* ---- the recording ---- */

/* Returns the exit status in the form of a shell. `ret_signal`: the signal that ended it, or 0. */
static int answer_wait(pid_t pid, int *ret_signal)
{
	int status;

	*ret_signal = 0;
	if (pid < 0)
		return message_error(COMMAND_FAILED, NULL, "cannot start a process: %s",
				strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	answer_forget_child();
	if (WIFSIGNALED(status))
		*ret_signal = WTERMSIG(status);
	return answer_exit_status(status);
}

/* `ready`: where the new process reports that the recording has begun. */
__attribute__((noreturn)) static void answer_execute(char **args, int ready)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", ready);
	if (ready >= 0 && (fcntl(ready, F_SETFD, 0) || setenv("SIDE_READY_FD", number, 1)))
		_exit(message_error(COMMAND_FAILED, NULL, "out of memory"));
	execv("/proc/self/exe", args);
	_exit(message_error(COMMAND_FAILED, "mount -t proc proc /proc",
			"cannot start the recording: %s", strerror(errno)));
}

/* Waits until the process that records has begun, or has ended. */
static void answer_await_begin(int ready, uint64_t pid)
{
	ssize_t got;
	char byte;

	do
		got = read(ready, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got == 1)
		message_note("recording process %" PRIu64 " until Ctrl-C", pid);
}

/* `process`: the process that is recorded until a signal; 0: another recording. */
static int answer_record(
		char **args, uint64_t process, const struct sigaction before[ANSWER_SIGNALS])
{
	int status, killed, ready[2] = {-1, -1};
	pid_t pid;

	if (process && pipe2(ready, O_CLOEXEC))
		return message_error(
				COMMAND_FAILED, NULL, "cannot make a pipe: %s", strerror(errno));
	pid = answer_fork(before, true);
	if (!pid)
		answer_execute(args, ready[1]);
	if (process) {
		close(ready[1]);
		answer_await_begin(ready[0], process);
		close(ready[0]);
	}
	status = answer_wait(pid, &killed);
	/* If this process got the same signal, its user ended the recording. */
	if (killed && killed != answer_get_signal()) {
		answer_recorder_killed = true;
		message_error(COMMAND_FAILED, NULL,
				"the recording is incomplete: signal %d ended the recorder",
				killed);
	}
	return status;
}

/* The answer runs in a process of its own: it confines itself and cannot remove the directory. */
static int answer_analyse(const struct parsed *parsed, const struct answer_plan *plan,
		const char *dir, const struct sigaction before[ANSWER_SIGNALS])
{
	pid_t pid = answer_fork(before, true);
	int killed;

	if (!pid) {
		int status = plan->answer(parsed, dir);

		fflush(NULL);
		_exit(status);
	}
	return answer_wait(pid, &killed);
}

static int answer_record_and_analyse(const struct parsed *parsed,
		const struct answer_options *options, const struct answer_plan *plan,
		const char *dir)
{
	char **args = answer_args(parsed, options, plan, dir);
	struct sigaction before[ANSWER_SIGNALS];
	int status, answer = COMMAND_DONE;

	if (!args)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	answer_catch_signals(before);
	status = answer_record(args, options->duration ? 0 : options->pid, before);
	answer_note_end();
	/* Without a directory, the recording did not begin, and its message has the reason. */
	if (!access(dir, F_OK) && answer_get_signal() != SIGHUP && answer_get_signal() != SIGQUIT)
		answer = answer_analyse(parsed, plan, dir, before);
	answer_restore_signals(before);
	helper_free(args);
	return answer ? answer : status;
}

/* ---- the verb ---- */

/* `temporary`: a directory for recordings that are removed; NULL: there is none. */
static int answer_record_and_show(const struct parsed *parsed, const struct answer_options *options,
		const struct answer_plan *plan, const char *dir, const char *temporary)
{
	return plan->watch ? answer_watch(parsed, options, plan, dir, temporary)
			   : answer_record_and_analyse(parsed, options, plan, dir);
}

/* The recording of the verb is kept if the user has named its directory. */
static int answer_run_temporary(const struct parsed *parsed, const struct answer_options *options,
		const struct answer_plan *plan)
{
	char *temporary = NULL, *dir = NULL;
	int status = temporary_directory_make("side-answer", "the recording", &temporary);

	if (status)
		return status;
	if (!options->output && asprintf(&dir, "%s/trace", temporary) < 0)
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	else
		status = answer_record_and_show(parsed, options, plan,
				options->output ? options->output : dir, temporary);
	free(dir);
	temporary_directory_remove(&temporary);
	return status;
}

static bool answer_is_directory(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

static int answer_check(const struct parsed *parsed, const struct answer_options *options)
{
	if (options->pid && parsed->operand_count)
		return message_error(COMMAND_USAGE, NULL,
				"`-p` and the operand `%.128s` exclude each other",
				parsed->operands[0]);
	if (!options->pid && !parsed->operand_count)
		return message_error(COMMAND_USAGE, "`-p PID` names a running process",
				"missing operand: a command, a process or a trace");
	if (options->duration && !options->pid)
		return message_error(COMMAND_USAGE, "add `-p PID`",
				"`--duration` has no effect without `-p`");
	return COMMAND_DONE;
}

/* Otherwise the answer would be that of an older recording. */
static int answer_check_output(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool is_empty = true;

	if (!dir)
		return COMMAND_DONE;
	while (is_empty && (entry = readdir(dir)))
		is_empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	closedir(dir);
	if (is_empty)
		return COMMAND_DONE;
	return message_error(COMMAND_FAILED, "name another directory after `-o`",
			"cannot record into %s: it is not empty", path);
}

bool answer_is_trace(const struct parsed *parsed)
{
	return parsed->operand_count == 1 && !parsed->dashes &&
			answer_is_directory(parsed->operands[0]);
}

int answer_run(const struct parsed *parsed, const struct answer_options *options,
		const struct answer_plan *plan)
{
	int status = answer_check(parsed, options);

	if (status)
		return status;
	if (answer_is_trace(parsed))
		return plan->answer(parsed, parsed->operands[0]);
	if (options->output)
		status = answer_check_output(options->output);
	if (status)
		return status;
	if (options->output && !plan->watch)
		return answer_record_and_show(parsed, options, plan, options->output, NULL);
	return answer_run_temporary(parsed, options, plan);
}
