/* SPDX-License-Identifier: MIT */
/*
 * One recording's command: see command.h.
 *
 * What we have for ourselves (blocked signals, more descriptors, variables of the environment) the command gets as it was. Signals of the
 * terminal reach it without us; those that somebody sends to us are sent on.
 */
#include "command.h"
#include "kernel.h"

#include "cmd/side/say.h"
#include "cmd/uprobes/teller.h"
#include "kernel-events/late.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUND_MS 100
#define LATE_MS 50

struct command {
	struct kernel_record_options options;
	struct kernel_record_choice *choices;
	int tell;
	bool wait_all, portable;
	const char *user_events;
	char **words; /* NULL: there is none */

	struct kernel_record *record; /* NULL: it cannot be recorded */
	struct events *events;
	struct kernel_told told;
	struct kernel_late late;
	bool monotonic, over;
	int epoll, signals, pidfd;
	pid_t pid;
	siginfo_t ended; /* si_pid: 0 until it has */
	bool seen;       /* by those who look how */
	sigset_t mask;
	struct rlimit files;
};

/* ---- the command line ---- */

static int take_choice(struct command *command, bool filter, const char *text)
{
	struct kernel_record_choice *choices;

	if (filter) {
		if (!command->options.nr_choices)
			return -EINVAL;
		command->choices[command->options.nr_choices - 1].filter = text;
		return 0;
	}
	choices = reallocarray(command->choices, command->options.nr_choices + 1, sizeof(*choices));
	if (!choices)
		return -ENOMEM;
	choices[command->options.nr_choices++] = (struct kernel_record_choice){.pattern = text};
	command->options.choices = command->choices = choices;
	return 0;
}

static int side_kernel_command_parse_option(
		struct command *command, const char *name, const char *text)
{
	if (!strcmp(name, "--record"))
		command->tell = atoi(text);
	else if (!strcmp(name, "--way"))
		command->options.way =
				!strcmp(text, "perf") ? KERNEL_RECORD_PERF : KERNEL_RECORD_TRACEFS;
	else if (!strcmp(name, "--buffer"))
		command->options.buffer_size = strtoull(text, NULL, 10);
	else if (!strcmp(name, "--machine"))
		command->options.machine = true;
	else if (!strcmp(name, "--wait"))
		command->wait_all = true;
	else if (!strcmp(name, "--portable"))
		command->portable = true;
	else if (!strcmp(name, "--user-events"))
		command->user_events = text;
	else if (!strcmp(name, "--kernel") || !strcmp(name, "--kernel-filter"))
		return take_choice(command, name[8] != '\0', text);
	else
		return -EINVAL;
	return 0;
}

static int side_kernel_command_parse_args(struct command *command, char **words)
{
	int ret = 0;

	for (words++; *words && strcmp(*words, "--") != 0 && !ret; words += 2)
		ret = words[1] ? side_kernel_command_parse_option(command, words[0], words[1])
			       : -EINVAL;
	if (*words && words[1])
		command->words = words + 1;
	if (ret || command->tell < 3 || !command->options.nr_choices)
		return -EINVAL;
	return fcntl(command->tell, F_SETFD, FD_CLOEXEC) ? -errno : 0;
}

/* ---- the command ---- */

static void restore_environment(const struct command *command)
{
	(void)unsetenv("SIDE_AGENT_KERNEL");
	if (!command->portable)
		(void)unsetenv("SIDE_RING_PORTABLE");
	if (command->user_events)
		(void)setenv("SIDE_USER_EVENTS", command->user_events, 1);
	else
		(void)unsetenv("SIDE_USER_EVENTS");
}

static _Noreturn void side_kernel_command_exec(const struct command *command)
{
	enum command_status status = COMMAND_NOT_EXECUTABLE;

	restore_environment(command);
	(void)setrlimit(RLIMIT_NOFILE, &command->files);
	(void)sigprocmask(SIG_SETMASK, &command->mask, NULL);
	(void)execvp(command->words[0], command->words);
	if (errno == ENOENT)
		status = COMMAND_NOT_FOUND;
	_exit(say_error(status, NULL, "cannot run %.256s: %s", command->words[0], strerror(errno)));
}

static int side_kernel_command_listen_to(const struct command *command, int fd)
{
	struct epoll_event interest = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(command->epoll, EPOLL_CTL_ADD, fd, &interest) ? -errno : 0;
}

static int side_kernel_command_start(struct command *command)
{
	if (!command->words)
		return 0;
	/* Orphans become ours, as they would be side's. */
	if (command->wait_all)
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	fflush(NULL);
	command->pid = fork();
	if (!command->pid)
		side_kernel_command_exec(command);
	if (command->pid < 0)
		return -errno;
	command->pidfd = (int)syscall(SYS_pidfd_open, command->pid, 0);
	return command->pidfd < 0 ? -errno : side_kernel_command_listen_to(command, command->pidfd);
}

static void side_kernel_command_setup_signals(struct command *command)
{
	struct signalfd_siginfo info;

	while (read(command->signals, &info, sizeof(info)) == sizeof(info)) {
		if (!command->words)
			command->over = true;
		else if (info.ssi_code <= 0) /* of a process, not of the terminal */
			/* The process id is that of another process once side_kernel_command_reap_children() has reaped the command. */
			(void)syscall(SYS_pidfd_send_signal, command->pidfd, (int)info.ssi_signo,
					NULL, 0);
	}
}

/* Is nobody left? What has ended is taken away, when everybody has had the time to see how it did. */
static bool side_kernel_command_reap_children(struct command *command)
{
	pid_t pid;

	if (command->ended.si_pid && !command->seen) {
		(void)epoll_ctl(command->epoll, EPOLL_CTL_DEL, command->pidfd, NULL);
		command->seen = true;
		return false;
	}
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	return pid < 0 && errno == ECHILD;
}

/* Its status stays until we have ended: the recorder looks whether it crashed. */
static bool side_kernel_command_has_ended(struct command *command)
{
	if (!command->words)
		return command->over;
	if (!command->ended.si_pid &&
			waitid(P_PID, (id_t)command->pid, &command->ended,
					WEXITED | WNOHANG | WNOWAIT))
		return true;
	return command->ended.si_pid &&
			(!command->wait_all || side_kernel_command_reap_children(command));
}

/* As a shell says it. */
static int side_kernel_command_exit_status(const struct command *command)
{
	const siginfo_t *ended = &command->ended;

	if (!command->words)
		return command->told.status;
	if (!ended->si_pid)
		return COMMAND_FAILED;
	return ended->si_code == CLD_EXITED ? ended->si_status : COMMAND_SIGNAL + ended->si_status;
}

/* ---- recording ---- */

static int side_kernel_command_open(struct command *command)
{
	struct kernel_record_error error = {.code = 0};
	struct kernel_listener listener;
	enum command_status status;

	command->monotonic = events_choose_clock(&command->options);
	clock_look();
	if (events_create(command->monotonic, &command->events))
		return say_error(COMMAND_FAILED, NULL, "out of memory");
	events_listener(command->events, &listener);
	if (!kernel_listen_open(&command->options, &listener, &command->record, &error)) {
		const char *way, *why;

		kernel_record_way(command->record, &way, &why);
		if (*why)
			say_note("the kernel's events come by %s: %s", way, why);
		return COMMAND_DONE;
	}
	status = error.code == -EINVAL                                  ? COMMAND_USAGE
			: error.code == -EACCES || error.code == -EPERM ? COMMAND_NOT_PERMITTED
									: COMMAND_FAILED;
	return say_error(status, *error.mend ? error.mend : NULL,
			"the kernel's events are not recorded: %s", error.text);
}

static void side_kernel_command_run_once(struct command *command)
{
	struct pollfd one = {.fd = command->epoll, .events = POLLIN};
	uint64_t kinds;

	if (!command->record) {
		(void)poll(&one, 1, ROUND_MS);
		return;
	}
	kernel_listen_wait(command->record, command->epoll, LATE_MS);
	if (command->monotonic)
		clock_look();
	(void)kernel_listen_drain(command->record, false);
	if (kernel_listen_is_told(command->record)) {
		(void)kernel_listen_look(command->record);
		kernel_late_told(&command->late);
		kernel_listen_seen(command->record);
		return;
	}
	kinds = kernel_listen_kinds(command->record);
	(void)kernel_listen_look(command->record);
	kernel_late_found(&command->late, kernel_listen_kinds(command->record) - kinds);
}

static void side_kernel_command_finish(struct command *command)
{
	const struct kernel_record_summary *summary;
	struct kernel_told *told = &command->told;

	told->pid = (int32_t)getpid();
	if (command->record) {
		if (command->monotonic)
			clock_look();
		summary = kernel_listen_end(command->record);
		events_figures(command->events, &told->events, &told->lost);
		told->kinds = summary->kinds;
		told->late = kernel_late_all(&command->late);
		told->plain = summary->plain;
		(void)snprintf(told->way, sizeof(told->way), "%s", summary->way);
		(void)snprintf(told->why, sizeof(told->why), "%s", summary->why);
	}
	(void)!write(command->tell, told, sizeof(*told));
}

/* ---- life ---- */

static int side_kernel_command_prepare(struct command *command)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)sigaddset(&set, numbers[i]);
	(void)sigprocmask(SIG_BLOCK, &set, &command->mask);
	(void)getrlimit(RLIMIT_NOFILE, &command->files);
	command->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	command->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (command->signals < 0 || command->epoll < 0)
		return -errno;
	return side_kernel_command_listen_to(command, command->signals);
}

int command_main(char **words)
{
	struct command command = {.tell = -1, .epoll = -1, .signals = -1, .pidfd = -1};
	int status;

	if (side_kernel_command_parse_args(&command, words))
		return say_error(COMMAND_USAGE, "see `side record --help`",
				"this program is a part of side, which runs it by itself");
	if (side_kernel_command_prepare(&command))
		return say_error(COMMAND_FAILED, NULL, "cannot wait for signals");
	command.told.status = side_kernel_command_open(&command);
	/* What cannot be recorded runs all the same; what was misunderstood does not. */
	if (command.told.status && (!command.words || command.told.status == COMMAND_USAGE)) {
		side_kernel_command_finish(&command);
		return command.told.status;
	}
	if (side_kernel_command_start(&command))
		return say_error(COMMAND_FAILED, NULL, "cannot start a process: %s",
				strerror(errno));
	while (!side_kernel_command_has_ended(&command)) {
		side_kernel_command_run_once(&command);
		side_kernel_command_setup_signals(&command);
	}
	side_kernel_command_finish(&command);
	status = side_kernel_command_exit_status(&command);
	kernel_record_close(command.record);
	events_free(command.events);
	free(command.choices);
	return status;
}
