/* SPDX-License-Identifier: MIT */
/*
 * Records the kernel's events for the command of one recording; see
 * programs/common/kernel-report.h.
 *
 * side-kernel blocks signals, raises the descriptor limit and sets variables of the environment for
 * itself; the command gets the original values. Signals of the terminal reach the command directly;
 * signals that a process sends to side-kernel are forwarded.
 */
#include "programs/common/kernel-report.h"
#include "kernel.h"

#include "programs/common/message.h"
#include "programs/replay/replay.h"
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

struct side_kernel_command {
	struct kernel_record_options options;
	struct kernel_record_choice *choices;
	int status_fd;
	bool wait_all, portable;
	const char *user_events;
	char **argv; /* NULL: no command */

	struct kernel_record *record; /* NULL: recording is not possible */
	struct side_kernel_events *events;
	struct kernel_report report;
	struct kernel_late late;
	bool monotonic, over;
	/*
	 * Only joins descriptors into one for kernel_listen_wait(), which also waits for records.
	 * It is no loop of base/event-loop.h, because nothing is called for a descriptor: each
	 * round does all work, in a fixed order.
	 */
	int epoll;
	int signals, pidfd;
	pid_t pid;
	siginfo_t ended; /* si_pid is 0 until the command has ended */
	/* its end has been visible for one round, so the recorder can read how it ended */
	bool is_end_visible;
	sigset_t mask;
	struct rlimit files;
};

/* ---- the command line ---- */

static int side_kernel_command_add_choice(
		struct side_kernel_command *command, bool filter, const char *text)
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
		struct side_kernel_command *command, const char *name, const char *text)
{
	if (!strcmp(name, "--record"))
		command->status_fd = atoi(text);
	else if (!strcmp(name, "--method"))
		command->options.backend =
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
		return side_kernel_command_add_choice(command, name[8] != '\0', text);
	else
		return -EINVAL;
	return 0;
}

static int side_kernel_command_parse_args(struct side_kernel_command *command, char **argv)
{
	int ret = 0;

	for (argv++; *argv && strcmp(*argv, "--") != 0 && !ret; argv += 2)
		ret = argv[1] ? side_kernel_command_parse_option(command, argv[0], argv[1])
			      : -EINVAL;
	if (*argv && argv[1])
		command->argv = argv + 1;
	if (ret || command->status_fd < 3 || !command->options.nr_choices)
		return -EINVAL;
	return fcntl(command->status_fd, F_SETFD, FD_CLOEXEC) ? -errno : 0;
}

/* ---- the process of the command ---- */

static void side_kernel_command_restore_environment(const struct side_kernel_command *command)
{
	(void)unsetenv("SIDE_AGENT_KERNEL");
	if (!command->portable)
		(void)unsetenv("SIDE_RING_PORTABLE");
	if (command->user_events)
		(void)setenv("SIDE_USER_EVENTS", command->user_events, 1);
	else
		(void)unsetenv("SIDE_USER_EVENTS");
}

static _Noreturn void side_kernel_command_exec(const struct side_kernel_command *command)
{
	enum command_status status = COMMAND_NOT_EXECUTABLE;

	side_kernel_command_restore_environment(command);
	(void)setrlimit(RLIMIT_NOFILE, &command->files);
	(void)sigprocmask(SIG_SETMASK, &command->mask, NULL);
	(void)execvp(command->argv[0], command->argv);
	if (errno == ENOENT)
		status = COMMAND_NOT_FOUND;
	_exit(message_error(
			status, NULL, "cannot run %.256s: %s", command->argv[0], strerror(errno)));
}

static int side_kernel_command_listen_to(const struct side_kernel_command *command, int fd)
{
	struct epoll_event interest = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(command->epoll, EPOLL_CTL_ADD, fd, &interest) ? -errno : 0;
}

static int side_kernel_command_start(struct side_kernel_command *command)
{
	if (!command->argv)
		return 0;
	/* side-kernel adopts orphans in place of `side record`, which waits for all descendants. */
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

static void side_kernel_command_read_signals(struct side_kernel_command *command)
{
	struct signalfd_siginfo info;

	while (read(command->signals, &info, sizeof(info)) == sizeof(info)) {
		if (!command->argv)
			command->over = true;
		else if (info.ssi_code <= 0) /* sent by a process, not by the terminal */
			/*
			 * Use the pidfd: once side_kernel_command_reap_children() has reaped the
			 * command, another process may have its process id.
			 */
			(void)syscall(SYS_pidfd_send_signal, command->pidfd, (int)info.ssi_signo,
					NULL, 0);
	}
}

/*
 * Reap exited children. Returns true if no child is left. The command itself is reaped one round
 * later, so that the recorder can read how it ended.
 */
static bool side_kernel_command_reap_children(struct side_kernel_command *command)
{
	pid_t pid;

	if (command->ended.si_pid && !command->is_end_visible) {
		(void)epoll_ctl(command->epoll, EPOLL_CTL_DEL, command->pidfd, NULL);
		command->is_end_visible = true;
		return false;
	}
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	return pid < 0 && errno == ECHILD;
}

/*
 * Returns true if the command has ended. Without --wait it stays a zombie until side-kernel
 * exits: the recorder reads whether it crashed.
 */
static bool side_kernel_command_has_ended(struct side_kernel_command *command)
{
	if (!command->argv)
		return command->over;
	if (!command->ended.si_pid &&
			waitid(P_PID, (id_t)command->pid, &command->ended,
					WEXITED | WNOHANG | WNOWAIT))
		return true;
	return command->ended.si_pid &&
			(!command->wait_all || side_kernel_command_reap_children(command));
}

/* Returns the exit status in the convention of shells. */
static int side_kernel_command_exit_status(const struct side_kernel_command *command)
{
	const siginfo_t *ended = &command->ended;

	if (!command->argv)
		return command->report.status;
	if (!ended->si_pid)
		return COMMAND_FAILED;
	return ended->si_code == CLD_EXITED ? ended->si_status : COMMAND_SIGNAL + ended->si_status;
}

/* ---- recording ---- */

static int side_kernel_command_open(struct side_kernel_command *command)
{
	struct error error = {.code = 0};
	struct kernel_listener listener;
	enum command_status status;

	command->monotonic = events_choose_clock(&command->options);
	clock_check();
	if (events_create(command->monotonic, &command->events))
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	events_listener(command->events, &listener);
	if (!kernel_listen_open(&command->options, &listener, &command->record, &error)) {
		const char *backend, *why;

		kernel_record_backend(command->record, &backend, &why);
		if (*why)
			message_note("reading kernel events through %s: %s", backend, why);
		return COMMAND_DONE;
	}
	status = error.code == -EINVAL                                  ? COMMAND_USAGE
			: error.code == -EACCES || error.code == -EPERM ? COMMAND_NOT_PERMITTED
									: COMMAND_FAILED;
	return message_error(status, error.hint, "cannot record kernel events: %s", error.text);
}

static void side_kernel_command_run_once(struct side_kernel_command *command)
{
	struct pollfd one = {.fd = command->epoll, .events = POLLIN};
	uint64_t event_classes;

	if (!command->record) {
		(void)poll(&one, 1, ROUND_MS);
		return;
	}
	kernel_listen_wait(command->record, command->epoll, LATE_MS);
	if (command->monotonic)
		clock_check();
	(void)kernel_listen_drain(command->record, false);
	if (kernel_listen_is_notified(command->record)) {
		(void)kernel_listen_scan(command->record);
		kernel_late_reported(&command->late);
		kernel_listen_seen(command->record);
		return;
	}
	event_classes = kernel_listen_classes(command->record);
	(void)kernel_listen_scan(command->record);
	kernel_late_found(&command->late, kernel_listen_classes(command->record) - event_classes);
}

static void side_kernel_command_finish(struct side_kernel_command *command)
{
	const struct kernel_record_summary *summary;
	struct kernel_report *report = &command->report;

	report->pid = (int32_t)getpid();
	if (command->record) {
		if (command->monotonic)
			clock_check();
		summary = kernel_listen_end(command->record);
		events_stats(command->events, &report->events, &report->lost);
		report->event_classes = summary->event_classes;
		report->late = kernel_late_all(&command->late);
		report->plain = summary->plain;
		(void)snprintf(report->backend, sizeof(report->backend), "%s", summary->backend);
		(void)snprintf(report->why, sizeof(report->why), "%s", summary->why);
	}
	(void)!write(command->status_fd, report, sizeof(*report));
}

/* ---- start and end ---- */

static int side_kernel_command_prepare(struct side_kernel_command *command)
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

int command_main(char **argv)
{
	struct side_kernel_command command = {
			.status_fd = -1, .epoll = -1, .signals = -1, .pidfd = -1};
	int status;

	if (side_kernel_command_parse_args(&command, argv))
		return message_error(COMMAND_USAGE, "see `side record --help`",
				"do not start this program by hand: side starts it");
	if (side_kernel_command_prepare(&command))
		return message_error(COMMAND_FAILED, NULL, "cannot wait for signals");
	command.report.status = side_kernel_command_open(&command);
	/* If recording fails, the command runs without it; a wrong option is an error. */
	if (command.report.status && (!command.argv || command.report.status == COMMAND_USAGE)) {
		side_kernel_command_finish(&command);
		return command.report.status;
	}
	if (side_kernel_command_start(&command))
		return message_error(COMMAND_FAILED, NULL, "cannot start a process: %s",
				strerror(errno));
	while (!side_kernel_command_has_ended(&command)) {
		side_kernel_command_run_once(&command);
		side_kernel_command_read_signals(&command);
	}
	side_kernel_command_finish(&command);
	status = side_kernel_command_exit_status(&command);
	kernel_record_close(command.record);
	events_free(command.events);
	free(command.choices);
	return status;
}
