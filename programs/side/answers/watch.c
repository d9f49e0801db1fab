/* SPDX-License-Identifier: MIT */
/* Shows a running process on a screen while it is recorded. */
#include "programs/side/answers/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "programs/common/message.h"
#include "programs/side/answers/processes.h"
#include "programs/side/session/helper-program.h"

#define WATCH_POLL_NS 10000000
#define WATCH_POLL_MS 100
#define WATCH_RECORDERS (1 + ANSWER_FURTHER_COUNT) /* the first one records for the verb */

struct watch_recorder {
	char *dir;
	pid_t pid; /* 0: has ended, or has not begun */
	bool has_begun, is_stopping;
	int status;
	int messages; /* a file in memory: messages would destroy the screen */
	int ends[2];  /* a pipe whose writing end is closed when the recorder has ended */
};

struct watch {
	const struct parsed *parsed;
	const struct answer_options *options;
	const struct answer_plan *plan;
	struct watch_recorder recorders[WATCH_RECORDERS];
	int requests[2]; /* a pipe from the screen */
	struct sigaction before[ANSWER_SIGNALS];
};

/* ---- recorders ---- */

static bool watch_open_recorder(struct watch_recorder *recorder, const char *above, unsigned int n)
{
	if (above && asprintf(&recorder->dir, "%s/further-%u", above, n) < 0)
		recorder->dir = NULL;
	recorder->messages = memfd_create("side-messages", MFD_CLOEXEC);
	return recorder->dir && recorder->messages >= 0 && !pipe2(recorder->ends, O_CLOEXEC);
}

static bool watch_open(struct watch *watch, const char *dir, const char *temporary)
{
	bool opened;

	watch->requests[0] = watch->requests[1] = -1;
	for (unsigned int i = 0; i < WATCH_RECORDERS; i++)
		watch->recorders[i] = (struct watch_recorder){.messages = -1, .ends = {-1, -1}};
	watch->recorders[0].dir = strdup(dir);
	opened = watch_open_recorder(&watch->recorders[0], NULL, 0) &&
			!pipe2(watch->requests, O_CLOEXEC);
	for (unsigned int i = 1; i < WATCH_RECORDERS && opened; i++)
		opened = watch_open_recorder(&watch->recorders[i], temporary, i);
	return opened;
}

static void watch_note_end(struct watch *watch, pid_t pid, int status)
{
	for (unsigned int i = 0; i < WATCH_RECORDERS; i++) {
		struct watch_recorder *recorder = &watch->recorders[i];

		if (recorder->pid != pid)
			continue;
		recorder->status = answer_exit_status(status);
		recorder->pid = 0;
		close(recorder->ends[1]);
		recorder->ends[1] = -1;
	}
}

static void watch_refuse(struct watch_recorder *recorder, const char *reason)
{
	recorder->pid = 0;
	recorder->has_begun = true;
	recorder->status = COMMAND_FAILED;
	dprintf(recorder->messages, "side: cannot start the recording: %s\n", reason);
	close(recorder->ends[1]);
	recorder->ends[1] = -1;
}

__attribute__((noreturn)) static void watch_execute(
		const struct watch_recorder *recorder, char **args, pid_t parent)
{
	/* Ctrl-C ends the screen; then this process's parent ends the recorder in order. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGINT);
	/* It has ended before: no signal will come. */
	if (getppid() != parent)
		_exit(COMMAND_FAILED);
	dup2(recorder->messages, STDERR_FILENO);
	execv("/proc/self/exe", args);
	_exit(COMMAND_FAILED);
}

static void watch_begin_recorder(struct watch *watch, struct watch_recorder *recorder,
		const struct answer_options *options, const struct answer_plan *plan)
{
	char **args = answer_args(watch->parsed, options, plan, recorder->dir);
	pid_t parent = getpid();

	recorder->has_begun = true;
	if (args)
		recorder->pid = answer_fork(watch->before, recorder == watch->recorders);
	if (args && !recorder->pid)
		watch_execute(recorder, args, parent);
	helper_free(args);
	if (recorder->pid <= 0)
		watch_refuse(recorder, strerror(errno));
}

/* Each recorder gets one signal: a second one would end it at once. */
static void watch_stop(struct watch *watch)
{
	for (unsigned int i = 0; i < WATCH_RECORDERS; i++) {
		struct watch_recorder *recorder = &watch->recorders[i];

		if (recorder->pid && !recorder->is_stopping)
			kill(recorder->pid, SIGINT);
		recorder->is_stopping = true;
	}
}

/* Begins the recording of the verb, and waits until its directory exists or it has ended. */
static void watch_begin(struct watch *watch)
{
	const struct timespec pause = {.tv_nsec = WATCH_POLL_NS};
	struct watch_recorder *recorder = &watch->recorders[0];
	int status;

	watch_begin_recorder(watch, recorder, watch->options, watch->plan);
	while (recorder->pid && access(recorder->dir, F_OK)) {
		/* Ctrl-C does not reach the recorder. */
		if (answer_get_signal())
			watch_stop(watch);
		if (waitpid(recorder->pid, &status, WNOHANG) == recorder->pid)
			watch_note_end(watch, recorder->pid, status);
		else
			nanosleep(&pause, NULL);
	}
}

/* The screen reads traces, so its requests are not trusted. */
static bool watch_is_permitted(const struct watch *watch, unsigned char number)
{
	return number < ANSWER_FURTHER_COUNT && watch->plan->further[number] &&
			!watch->recorders[1 + number].has_begun;
}

/* Further recordings end with that of the verb, which observes the duration. */
static void watch_begin_further(struct watch *watch, unsigned char number)
{
	struct answer_options options = *watch->options;
	struct watch_recorder *recorder = &watch->recorders[1 + number];

	options.duration = 0;
	if (watch->recorders[0].pid)
		watch_begin_recorder(watch, recorder, &options, watch->plan->further[number]);
	else
		watch_refuse(recorder, "the recording of the process has ended");
}

/* ---- the screen ---- */

static struct answer_recording watch_recording(const struct watch_recorder *recorder)
{
	return (struct answer_recording){recorder->dir, recorder->ends[0], recorder->messages};
}

__attribute__((noreturn)) static void watch_show(struct watch *watch, const char *temporary)
{
	struct answer_screen screen = {.recording = watch_recording(&watch->recorders[0]),
			.requests = watch->requests[1],
			.temporary = temporary};
	int status;

	for (unsigned int i = 0; i < ANSWER_FURTHER_COUNT; i++)
		screen.further[i] = watch_recording(&watch->recorders[1 + i]);
	for (unsigned int i = 0; i < WATCH_RECORDERS; i++)
		close(watch->recorders[i].ends[1]);
	close(watch->requests[0]);
	/* A request to a process that has ended has no effect. */
	signal(SIGPIPE, SIG_IGN);
	status = watch->plan->watch(watch->parsed, &screen);
	fflush(NULL);
	_exit(status);
}

/* Returns true when the screen has ended. */
static bool watch_reap(struct watch *watch, pid_t screen, int options, int *ret_status)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, options)) > 0) {
		if (pid == screen) {
			*ret_status = answer_exit_status(status);
			return true;
		}
		watch_note_end(watch, pid, status);
		if (!watch->recorders[0].pid)
			watch_stop(watch);
	}
	*ret_status = COMMAND_FAILED;
	return pid < 0 && errno == ECHILD;
}

/* Returns the exit status of the screen. */
static int watch_wait(struct watch *watch, pid_t screen)
{
	int status, options = WNOHANG;

	if (screen < 0)
		return message_error(COMMAND_FAILED, NULL, "cannot start a process: %s",
				strerror(errno));
	close(watch->requests[1]);
	watch->requests[1] = -1;
	while (!watch_reap(watch, screen, options, &status)) {
		struct pollfd requests = {.fd = watch->requests[0], .events = POLLIN};
		unsigned char number;

		if (poll(&requests, 1, WATCH_POLL_MS) <= 0)
			continue;
		/* Without a writer, the screen ends. */
		if (read(watch->requests[0], &number, 1) != 1)
			options = 0;
		else if (watch_is_permitted(watch, number))
			watch_begin_further(watch, number);
	}
	answer_forget_child();
	return status;
}

/* ---- begin and end ---- */

static void watch_print_messages(const struct watch_recorder *recorder)
{
	char bytes[4096];
	ssize_t size;

	for (off_t at = 0; (size = pread(recorder->messages, bytes, sizeof(bytes), at)) > 0;
			at += size)
		fwrite(bytes, 1, (size_t)size, stderr);
}

static void watch_end(struct watch *watch)
{
	watch_stop(watch);
	for (unsigned int i = 0; i < WATCH_RECORDERS; i++) {
		pid_t pid = watch->recorders[i].pid;
		int status = 0;

		while (pid && waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (pid)
			watch_note_end(watch, pid, status);
	}
}

static void watch_close(struct watch *watch)
{
	for (unsigned int i = 0; i < WATCH_RECORDERS; i++) {
		struct watch_recorder *recorder = &watch->recorders[i];

		watch_print_messages(recorder);
		for (unsigned int end = 0; end < 2; end++)
			if (recorder->ends[end] >= 0)
				close(recorder->ends[end]);
		if (recorder->messages >= 0)
			close(recorder->messages);
		free(recorder->dir);
	}
	for (unsigned int end = 0; end < 2; end++)
		if (watch->requests[end] >= 0)
			close(watch->requests[end]);
}

int answer_watch(const struct parsed *parsed, const struct answer_options *options,
		const struct answer_plan *plan, const char *dir, const char *temporary)
{
	struct watch watch = {.parsed = parsed, .options = options, .plan = plan};
	int answer = COMMAND_DONE;
	pid_t screen;

	if (!watch_open(&watch, dir, temporary)) {
		answer = message_error(COMMAND_FAILED, NULL, "cannot start the recording: %s",
				strerror(errno));
		watch_close(&watch);
		return answer;
	}
	answer_catch_signals(watch.before);
	watch_begin(&watch);
	/* Without a directory, the recording did not begin, and its message has the reason. */
	if (!access(dir, F_OK) && !answer_get_signal()) {
		screen = answer_fork(watch.before, true);
		if (!screen)
			watch_show(&watch, temporary);
		answer = watch_wait(&watch, screen);
	}
	watch_end(&watch);
	watch_close(&watch);
	answer_restore_signals(watch.before);
	return answer ? answer : watch.recorders[0].status;
}
