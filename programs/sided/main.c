/* SPDX-License-Identifier: MIT */
/*
 * sided: parses options, starts in the background, handles signals, exits. Without --foreground,
 * the process that was started exits when the sockets listen.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sided.h"

#define EXIT_USAGE 2
#define EXIT_PERMISSION 3
/* Each program has a connection and a pidfd. */
#define FILES_OF_A_PROGRAM 2
#define FILES_OF_OUR_OWN 1200

struct sided_options {
	bool foreground;
	bool system;
	bool session_process;
	const char *runtime;
	const char *output;
	const char *boot;
};

static void __attribute__((format(printf, 1, 0))) log_list(const char *format, va_list arguments)
{
	char text[1200];

	vsnprintf(text, sizeof(text), format, arguments);
	dprintf(STDERR_FILENO, "sided: %s\n", text);
}

void log_message(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_list(format, arguments);
	va_end(arguments);
}

static void sided_report_suppressed(struct daemon *daemon, struct timer *timer)
{
	uint64_t suppressed;
	uid_t uid;

	(void)timer;
	lines_end(&daemon->lines);
	while (lines_suppressed(&daemon->lines, loop_now(), &uid, &suppressed))
		if (uid == LINES_OTHERS)
			log_message("suppressed %llu messages about other users: too many within a minute",
					(unsigned long long)suppressed);
		else
			log_message("suppressed %llu messages about sessions of user %u: too many within a minute",
					(unsigned long long)suppressed, (unsigned int)uid);
}

void log_about(struct daemon *daemon, uid_t uid, const char *format, ...)
{
	va_list arguments;

	/* Each minute begins with its first line. */
	if (!daemon->suppressed.base.is_set)
		loop_timer(daemon, &daemon->suppressed, LINES_NS / 1000000,
				sided_report_suppressed);
	if (!lines_take(&daemon->lines, loop_now(), uid, 0))
		return;
	va_start(arguments, format);
	log_list(format, arguments);
	va_end(arguments);
}

static void sided_print_help(void)
{
	fputs("Usage: sided [--foreground] [--system] [--runtime DIR] [--output DIR]\n"
	      "             [--boot FILE]\n"
	      "\n"
	      "Keep recording sessions for `side create`, `side start` and the other verbs.\n"
	      "\n"
	      "  --foreground   Do not go into the background.\n"
	      "  --system       Run as the daemon of the system (root only), in /run/side. Members\n"
	      "                 of the group tracing can use it. Every daemon of root accepts\n"
	      "                 programs of all users.\n"
	      "  --runtime DIR  Keep sockets and saved sessions in DIR. Default: $SIDE_RUNTIME,\n"
	      "                 $XDG_RUNTIME_DIR/side or /run/user/UID/side.\n"
	      "  --output DIR   Write the traces of sessions without a directory to DIR. Default:\n"
	      "                 ~/side-traces; with --system /var/lib/side.\n"
	      "  --boot FILE    Adopt programs that record by this static configuration (see\n"
	      "                 `side help adopt`). Default: $SIDE_BOOT; with --system\n"
	      "                 /etc/side/boot.conf.\n"
	      "  --help         Print this help and exit.\n"
	      "  --version      Print the version and exit.\n"
	      "\n"
	      "Without --foreground, the command returns when the daemon listens. Exit status: 0\n"
	      "if it listens, 1 if it cannot, 2 for a wrong command line, 3 if a permission is\n"
	      "missing.\n",
			stdout);
}

/* Returns an exit status, or -1 to continue. */
static int sided_parse_options(int argc, char **argv, struct sided_options *ret_options)
{
	static const struct option known[] = {{"foreground", no_argument, NULL, 'f'},
			{"system", no_argument, NULL, 's'},
			{"runtime", required_argument, NULL, 'r'},
			{"boot", required_argument, NULL, 'b'},
			{"output", required_argument, NULL, 'o'}, {"help", no_argument, NULL, 'h'},
			{"version", no_argument, NULL, 'V'},
			{"session-process", no_argument, NULL, 'p'}, {NULL, 0, NULL, 0}};
	int letter;

	while ((letter = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		switch (letter) {
		case 'f': ret_options->foreground = true; break;
		case 's': ret_options->system = true; break;
		case 'r': ret_options->runtime = optarg; break;
		case 'o': ret_options->output = optarg; break;
		case 'b': ret_options->boot = optarg; break;
		case 'p': ret_options->session_process = true; break;
		case 'h': sided_print_help(); return 0;
		case 'V': puts("sided " SIDE_VERSION); return 0;
		default: return EXIT_USAGE;
		}
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "sided: unexpected operand \"%s\"\nhint: `sided --help`\n", argv[optind]);
	return EXIT_USAGE;
}

/* ---- start in the background ---- */

/*
 * Forks. The parent waits until the child writes its exit status to the pipe, when the daemon
 * listens or has failed, and exits with it. Returns 0 in the child, with the write end in
 * *ret_ready, or a negative errno.
 */
static int sided_daemonize(int *ret_ready)
{
	int ends[2];
	char byte;
	ssize_t got;
	pid_t pid;

	*ret_ready = -1;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid) {
		close(ends[1]);
		do
			got = read(ends[0], &byte, 1);
		while (got < 0 && errno == EINTR);
		if (got == 1)
			_exit(byte);
		_exit(EXIT_FAILURE);
	}
	close(ends[0]);
	setsid();
	*ret_ready = ends[1];
	return 0;
}

/* Detaches the daemon from the terminal. */
static void release_terminal(int ready)
{
	char done = 0;
	int null;

	if (ready < 0)
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		close(null);
	}
	if (write(ready, &done, 1) != 1)
		log_message("the parent process has ended");
	close(ready);
}

/* ---- signals ---- */

static void signals_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	while (read(watch->fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			workers_reap(daemon);
		else
			daemon->stop = true;
	}
}

static int sided_watch_signals(struct daemon *daemon)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	return loop_watch(daemon, &daemon->signals, fd, EPOLLIN, signals_ready);
}

/* ---- the daemon ---- */

/* Sets the user of the daemon, and whose programs it accepts. log_about() works from here on. */
static void set_user(struct daemon *daemon)
{
	daemon->uid = geteuid();
	daemon->any_user = !daemon->uid;
	lines_init(&daemon->lines, daemon->uid, LIMIT_LINES_OF_ROOT, LIMIT_LINES_OF_MEMBER, 0);
}

static void sided_raise_file_limit(struct daemon *daemon)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		limit.rlim_cur = limit.rlim_max = 1024;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	daemon->max_programs = limit.rlim_cur > 2ull * FILES_OF_OUR_OWN
			? (limit.rlim_cur - FILES_OF_OUR_OWN) / FILES_OF_A_PROGRAM
			: limit.rlim_cur / (2ull * FILES_OF_A_PROGRAM);
}

static int open_daemon(
		struct daemon *daemon, const struct sided_options *options, struct error *error)
{
	int ret = loop_open(daemon);

	if (!ret)
		ret = clients_open(daemon);
	if (!ret)
		ret = programs_open(daemon);
	if (!ret)
		ret = rendezvous_open_all(daemon);
	if (!ret)
		ret = sided_watch_signals(daemon);
	if (ret)
		return error_set_kind(
				error, ERROR_FAILED, ret, NULL, "cannot start: %s", strerror(-ret));
	ret = runtime_open(daemon, options->runtime, error);
	if (!ret)
		ret = sessions_restore(daemon);
	if (!ret)
		boot_adopt(daemon, options->boot);
	if (!ret)
		programs_restore(daemon);
	/* Listen last: a client or program that can connect then finds the sessions. */
	if (!ret)
		ret = runtime_listen(daemon, error);
	if (!ret)
		rendezvous_restore_all(daemon);
	/*
	 * Programs reconnect by themselves, except those in control mode signal, which must be
	 * notified.
	 */
	if (!ret)
		programs_poke(daemon, SCOPE_ALL, NULL);
	return ret;
}

static int sided_set_error(const struct error *error, int ready)
{
	char status = error->kind == ERROR_PERMISSION ? EXIT_PERMISSION
			: error->kind == ERROR_USAGE  ? EXIT_USAGE
						      : EXIT_FAILURE;

	/* On a terminal, print two lines like other commands; in the log, one line. */
	if (ready < 0)
		fprintf(stderr, "sided: %s%s%s\n", error->text, *error->hint ? "\nhint: " : "",
				error->hint);
	else
		log_message("%s%s%s", error->text, *error->hint ? "; " : "", error->hint);
	if (ready >= 0 && write(ready, &status, 1) != 1)
		return EXIT_FAILURE;
	return status;
}

static void close_daemon(struct daemon *daemon)
{
	loop_cancel(daemon, &daemon->suppressed);
	sided_report_suppressed(daemon, NULL);
	operations_close(daemon);
	clients_close(daemon);
	pending_close(daemon);
	exec_attach_close(daemon);
	sessions_close(daemon);
	agents_close(daemon);
	programs_close(daemon);
	rendezvous_close_all(daemon);
	handovers_close(daemon);
	loop_unwatch(daemon, &daemon->control_listener);
	loop_unwatch(daemon, &daemon->agents_listener);
	loop_unwatch(daemon, &daemon->signals);
	runtime_close(daemon);
	free(daemon->output);
	loop_close(daemon);
}

static int sided_run(struct daemon *daemon, const struct sided_options *options, int ready)
{
	struct error error = {.kind = ERROR_FAILED};
	int ret = open_daemon(daemon, options, &error);

	if (ret) {
		/* Restored sessions stay saved: the next daemon restores them. */
		if (!daemon->sessions)
			close_daemon(daemon);
		return sided_set_error(&error, ready);
	}
	exec_attach_open(daemon);
	isolate_daemon(daemon);
	release_terminal(ready);
	notify("READY=1");
	ret = loop_run(daemon);
	notify("STOPPING=1");
	if (ret)
		log_message("cannot continue: %s", strerror(-ret));
	close_daemon(daemon);
	return ret ? EXIT_FAILURE : 0;
}

int main(int argc, char **argv)
{
	static struct daemon daemon = {.lock_fd = -1,
			.serial = 1,
			.control_listener.fd = -1,
			.agents_listener.fd = -1,
			.signals.fd = -1};
	struct sided_options options = {.runtime = NULL};
	int status = sided_parse_options(argc, argv, &options), ready = -1;

	if (status >= 0)
		return status;
	umask(077);
	if (options.session_process)
		return session_process();
	daemon.system = options.system;
	set_user(&daemon);
	if (daemon.system && daemon.uid) {
		log_message("cannot use --system: it requires root; your own daemon needs no options");
		return EXIT_PERMISSION;
	}
	if (options.output && *options.output != '/') {
		log_message("the output directory %s is not an absolute path", options.output);
		return EXIT_USAGE;
	}
	if (options.boot && *options.boot != '/') {
		log_message("the configuration %s is not an absolute path", options.boot);
		return EXIT_USAGE;
	}
	daemon.output = options.output ? strdup(options.output) : NULL;
	if (chdir("/"))
		log_message("cannot leave the current directory");
	if (!options.foreground && sided_daemonize(&ready)) {
		log_message("cannot start a process: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	sided_raise_file_limit(&daemon);
	return sided_run(&daemon, &options, ready);
}
