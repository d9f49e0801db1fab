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
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/inside/clock.h"
#include "programs/common/message.h"
#include "programs/side/answers/rings.h"
#include "programs/side/cli/more.h"
#include "programs/side/cli/temporary-directory.h"
#include "programs/side/session/helper-program.h"

static const int answer_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define ANSWER_SIGNALS (sizeof(answer_signals) / sizeof(*answer_signals))

/* The process that records or answers; 0: none. */
static volatile pid_t answer_child;
static volatile sig_atomic_t answer_signal;
/* When the signal came, or else when the recording had ended. */
static int64_t answer_recorded_ns;
static bool answer_recorder_killed;

int64_t answer_end_ns(void)
{
	return answer_recorded_ns;
}

bool answer_is_cut(void)
{
	return answer_recorder_killed;
}

/* ---- signals ---- */

/*
 * The child ends at the signal and this process then removes the directory. The terminal sends a
 * signal to both processes; another sender, only to this one.
 */
static void answer_pass_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (!answer_signal)
		answer_recorded_ns = (int64_t)clock_realtime_ns();
	answer_signal = number;
	if (answer_child > 0 && info->si_code <= 0)
		kill(answer_child, number);
	errno = saved;
}

static void answer_catch_signals(struct sigaction before[ANSWER_SIGNALS])
{
	struct sigaction action = {
			.sa_sigaction = answer_pass_signal, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < ANSWER_SIGNALS; i++) {
		sigaction(answer_signals[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(answer_signals[i], &action, NULL);
	}
}

static void answer_restore_signals(const struct sigaction before[ANSWER_SIGNALS])
{
	for (size_t i = 0; i < ANSWER_SIGNALS; i++)
		sigaction(answer_signals[i], &before[i], NULL);
}

/* ---- processes ---- */

/* Signals are blocked during the fork, so that each is passed on or ends the child. */
static pid_t answer_fork(const struct sigaction before[ANSWER_SIGNALS])
{
	sigset_t all, mask;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	fflush(NULL);
	pid = fork();
	if (!pid)
		answer_restore_signals(before);
	else
		answer_child = pid;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return pid;
}

/* The exit status in the form of a shell. */
static int answer_exit_status(int status)
{
	return WIFSIGNALED(status) ? COMMAND_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

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
	answer_child = 0;
	if (WIFSIGNALED(status))
		*ret_signal = WTERMSIG(status);
	return answer_exit_status(status);
}

/* ---- the recording ---- */

static bool answer_add_args(char ***args, const char *const *list)
{
	bool added = true;

	for (; *list && added; list++)
		added = helper_add(args, *list, NULL);
	return added;
}

static bool answer_add_time(char ***args, uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "ms", (ns + 999999) / 1000000);
	return !ns || helper_add(args, "--duration", text);
}

/* The command line of the process that records. NULL: out of memory. */
static char **answer_args(const struct parsed *parsed, const struct answer_options *options,
		const struct answer_plan *plan, const char *dir)
{
	const bool blocks = !options->pid && plan->command_blocks;
	const uint64_t size = options->buffer_size ? options->buffer_size
						   : rings_size(options->pid, blocks);
	char **args = NULL;
	const char *program = plan->no_threads ? MORE_ANSWER_NO_THREADS : MORE_ANSWER;
	bool added = helper_add(&args, program, NULL) &&
			answer_add_args(&args,
					options->pid ? plan->process_args : plan->command_args) &&
			helper_add(&args, parsed->common.verbose ? "-v" : "-q", NULL) &&
			(!parsed->common.json || helper_add(&args, "--json", NULL)) &&
			helper_add(&args, "-o", dir);

	if (added && plan->add_args)
		added = plan->add_args(parsed, &args);
	added = added && helper_add_number(&args, "--buffer-size", size) &&
			(!blocks || helper_add(&args, "--mode", "block"));
	if (options->pid)
		added = added && helper_add_number(&args, "-p", options->pid) &&
				answer_add_time(&args, options->duration);
	else
		added = added && helper_add(&args, "--", NULL) &&
				answer_add_args(&args, (const char *const *)parsed->operands);
	if (added)
		return args;
	helper_free(args);
	return NULL;
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
	pid = answer_fork(before);
	if (!pid)
		answer_execute(args, ready[1]);
	if (process) {
		close(ready[1]);
		answer_await_begin(ready[0], process);
		close(ready[0]);
	}
	status = answer_wait(pid, &killed);
	/* If this process got the same signal, its user ended the recording. */
	if (killed && killed != answer_signal) {
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
	pid_t pid = answer_fork(before);
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
	if (!answer_signal)
		answer_recorded_ns = (int64_t)clock_realtime_ns();
	/* Without a directory, the recording did not begin, and its message has the reason. */
	if (!access(dir, F_OK) && answer_signal != SIGHUP && answer_signal != SIGQUIT)
		answer = answer_analyse(parsed, plan, dir, before);
	answer_restore_signals(before);
	helper_free(args);
	return answer ? answer : status;
}

/* ---- a screen while the process is recorded ---- */

#define ANSWER_POLL_NS 10000000

/* The two processes of a verb that shows a recording. */
struct answer_watch {
	pid_t recorder; /* 0: has ended */
	int status;     /* of the recorder */
	int messages;   /* a file in memory: messages would destroy the screen */
	int ends[2];    /* a pipe whose writing end is closed when the recorder has ended */
};

static bool answer_watch_open(struct answer_watch *watch)
{
	watch->messages = memfd_create("side-messages", MFD_CLOEXEC);
	return watch->messages >= 0 && !pipe2(watch->ends, O_CLOEXEC);
}

static void answer_watch_end(struct answer_watch *watch, int status)
{
	watch->status = answer_exit_status(status);
	watch->recorder = 0;
	close(watch->ends[1]);
	watch->ends[1] = -1;
}

/* Waits until the recorder has created the directory, or has ended. */
static void answer_watch_begin(struct answer_watch *watch, char **args, const char *dir,
		const struct sigaction before[ANSWER_SIGNALS])
{
	const struct timespec pause = {.tv_nsec = ANSWER_POLL_NS};
	int status;

	watch->recorder = answer_fork(before);
	if (!watch->recorder) {
		dup2(watch->messages, STDERR_FILENO);
		execv("/proc/self/exe", args);
		_exit(COMMAND_FAILED);
	}
	while (watch->recorder > 0 && access(dir, F_OK)) {
		if (waitpid(watch->recorder, &status, WNOHANG) == watch->recorder)
			answer_watch_end(watch, status);
		else
			nanosleep(&pause, NULL);
	}
}

/* Returns the exit status of the screen. */
static int answer_watch_wait(struct answer_watch *watch, pid_t screen)
{
	int status;
	pid_t pid;

	if (screen < 0)
		return message_error(COMMAND_FAILED, NULL, "cannot start a process: %s",
				strerror(errno));
	while ((pid = waitpid(-1, &status, 0)) != screen) {
		if (pid > 0 && pid == watch->recorder)
			answer_watch_end(watch, status);
		else if (pid < 0 && errno != EINTR)
			return COMMAND_FAILED;
	}
	answer_child = 0;
	return answer_exit_status(status);
}

static void answer_watch_close(struct answer_watch *watch)
{
	char bytes[4096];
	ssize_t size;
	int status;

	if (watch->recorder > 0) {
		kill(watch->recorder, SIGINT);
		while (waitpid(watch->recorder, &status, 0) < 0 && errno == EINTR)
			;
		answer_watch_end(watch, status);
	}
	if (watch->ends[0] >= 0)
		close(watch->ends[0]);
	for (off_t at = 0; (size = pread(watch->messages, bytes, sizeof(bytes), at)) > 0;
			at += size)
		fwrite(bytes, 1, (size_t)size, stderr);
	close(watch->messages);
}

static int answer_record_and_watch(const struct parsed *parsed,
		const struct answer_options *options, const struct answer_plan *plan,
		const char *dir)
{
	struct answer_watch watch = {.ends = {-1, -1}};
	char **args = answer_args(parsed, options, plan, dir);
	struct sigaction before[ANSWER_SIGNALS];
	int answer = COMMAND_DONE;
	pid_t screen;

	if (!args || !answer_watch_open(&watch))
		return message_error(COMMAND_FAILED, NULL, "cannot start the recording: %s",
				strerror(errno));
	answer_catch_signals(before);
	answer_watch_begin(&watch, args, dir, before);
	/* Without a directory, the recording did not begin, and its message has the reason. */
	if (!access(dir, F_OK)) {
		screen = answer_fork(before);
		if (!screen) {
			close(watch.ends[1]);
			answer = plan->watch(parsed, dir, watch.ends[0]);
			fflush(NULL);
			_exit(answer);
		}
		answer = answer_watch_wait(&watch, screen);
	}
	answer_watch_close(&watch);
	answer_restore_signals(before);
	helper_free(args);
	return answer ? answer : watch.status;
}

/* ---- the verb ---- */

static int answer_record_and_show(const struct parsed *parsed, const struct answer_options *options,
		const struct answer_plan *plan, const char *dir)
{
	return plan->watch ? answer_record_and_watch(parsed, options, plan, dir)
			   : answer_record_and_analyse(parsed, options, plan, dir);
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
	char *temporary = NULL, *dir = NULL;
	int status = answer_check(parsed, options);

	if (status)
		return status;
	if (answer_is_trace(parsed))
		return plan->answer(parsed, parsed->operands[0]);
	if (options->output) {
		status = answer_check_output(options->output);
		return status ? status
			      : answer_record_and_show(parsed, options, plan, options->output);
	}
	status = temporary_directory_make("side-answer", "the recording", &temporary);
	if (status)
		return status;
	if (asprintf(&dir, "%s/trace", temporary) < 0)
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	else
		status = answer_record_and_show(parsed, options, plan, dir);
	free(dir);
	temporary_directory_remove(&temporary);
	return status;
}
