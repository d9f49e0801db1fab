/* SPDX-License-Identifier: MIT */
/*
 * Runs global probes and records their hits (the program side-uprobes).
 *
 * Other programs of side start it, with all settings in its arguments; users do not.
 *
 * side-uprobes --table FD... [--process N] [--pid N] [--uid N] [--cgroup ID] [--comm NAME]
 *     [--by METHOD] [--ring BYTES] [--session NAME [--system] [--end EVENT] --ready FD]
 *     [--duration NS] [--preload LIBRARIES] [--quiet] [--json] [-- COMMAND...]
 *
 * With a command, it ends when the command has ended, with the command's status. With a session, it
 * ends when the session has none of its events left. With --end, it only makes the side-uprobes
 * that records EVENT exit, and then exits itself. With a process, it also ends with the process,
 * and with a duration, after that time. Otherwise SIGINT or SIGTERM ends it.
 */
#include "base/clock.h"
#include "base/container-of.h"
#include "base/event-loop.h"
#include "uprobes.h"

#include "programs/common/message.h"
#include "recorder/core/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TABLES_MAX 64
#define TURN_MS 10
/* after the first hit, wait this long for more, to read them in one round */
#define BATCH_NS 2000000
#define POLL_NS 1000000000

struct uprobes_work {
	struct global_options options;
	int table_fds[TABLES_MAX];
	const char *session, *preload; /* preload: libraries of the command */
	const char *end;               /* an event: only end the side-uprobes that records it */
	bool system;
	struct common_options common; /* output options of the calling program */
	int ready;                    /* -1: no process waits */
	char **command;

	struct rlimit command_file_limit; /* the limits of the command */
	struct global *global;
	struct uprobes_events *events;
	struct event_loop loop;
	struct event_source hits_source, signals_source;
	bool has_hits, has_signals; /* what the last wait found */
	int signal_fd, process_fd;  /* process_fd: a pidfd of the only probed process, or -1 */
	pid_t child;
	int status; /* the exit status */
	bool is_done, is_enabled;
	uint64_t lost, last_session_check, last_file_check;
	uint64_t duration, end_ns; /* 0: no limit */
};

/* ---- the command line ---- */

static bool uprobes_add_number(uint32_t *list, uint32_t *nr, const char *text)
{
	if (*nr == GLOBAL_FILTER_MAX)
		return false;
	list[(*nr)++] = (uint32_t)strtoul(text, NULL, 10);
	return true;
}

static bool uprobes_parse_backend(struct uprobes_work *work, const char *text)
{
	for (int backend = 0; backend < GLOBAL_NR_BACKENDS; backend++)
		if (!strcmp(text, global_backend_name((enum global_backend)backend)))
			work->options.backend = backend;
	return work->options.backend >= 0;
}

static bool uprobes_add_table(struct uprobes_work *work, const char *text)
{
	int fd = atoi(text);

	if (work->options.nr_tables == TABLES_MAX || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return false;
	work->table_fds[work->options.nr_tables++] = fd;
	return true;
}

static bool uprobes_parse_option(struct uprobes_work *work, const char *name, const char *text)
{
	struct global_filter *filter = &work->options.filter;

	if (!strcmp(name, "--table"))
		return uprobes_add_table(work, text);
	if (!strcmp(name, "--process"))
		return (work->options.process = (pid_t)strtol(text, NULL, 10)) > 0;
	if (!strcmp(name, "--pid"))
		return uprobes_add_number(filter->pids, &filter->nr_pids, text);
	if (!strcmp(name, "--uid"))
		return uprobes_add_number(filter->uids, &filter->nr_uids, text);
	if (!strcmp(name, "--cgroup") && filter->nr_cgroups < GLOBAL_FILTER_MAX)
		filter->cgroups[filter->nr_cgroups++] = strtoull(text, NULL, 10);
	else if (!strcmp(name, "--comm") && filter->nr_comms < GLOBAL_FILTER_MAX)
		memcpy(filter->comms[filter->nr_comms++], text, strnlen(text, 15));
	else if (!strcmp(name, "--by"))
		return uprobes_parse_backend(work, text);
	else if (!strcmp(name, "--ring"))
		work->options.ring_size = (uint32_t)strtoul(text, NULL, 10);
	else if (!strcmp(name, "--session"))
		work->session = text;
	else if (!strcmp(name, "--end"))
		work->end = text;
	else if (!strcmp(name, "--duration"))
		work->duration = strtoull(text, NULL, 10);
	else if (!strcmp(name, "--preload"))
		work->preload = text;
	else if (!strcmp(name, "--ready"))
		work->ready = atoi(text);
	else
		return false;
	return true;
}

static bool uprobes_parse_flag(struct uprobes_work *work, const char *name)
{
	bool *flag = !strcmp(name, "--system")     ? &work->system
			: !strcmp(name, "--quiet") ? &work->common.quiet
			: !strcmp(name, "--json")  ? &work->common.json
						   : NULL;

	if (flag)
		*flag = true;
	return flag;
}

static bool uprobes_parse_args(struct uprobes_work *work, char **argv)
{
	for (argv++; *argv && strcmp(*argv, "--") != 0; argv++) {
		if (uprobes_parse_flag(work, *argv))
			continue;
		if (!argv[1] || !uprobes_parse_option(work, argv[0], argv[1]))
			return false;
		argv++;
	}
	work->command = *argv && argv[1] ? argv + 1 : NULL;
	if (work->ready >= 0)
		(void)fcntl(work->ready, F_SETFD, FD_CLOEXEC);
	return work->options.nr_tables > 0 || (work->end && work->session);
}

/* ---- the process of the command ---- */

/*
 * Returns false for a variable of side-uprobes itself, which the command must not get. The
 * command's LD_PRELOAD is set from --preload.
 */
static bool uprobes_is_command_variable(const char *variable)
{
	static const char *const ours[] = {"SIDE_RING_PORTABLE=", "SIDE_AGENT_SESSION=",
			"SIDE_AGENT_SOCKET=", "LD_PRELOAD="};

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (!strncmp(variable, ours[i], strlen(ours[i])))
			return false;
	return true;
}

static char **uprobes_make_environment(const char *libraries, char **ret_preload)
{
	size_t count = 0, kept = 0;
	char **environment;

	while (environ[count])
		count++;
	environment = calloc(count + 2, sizeof(*environment));
	for (size_t i = 0; environment && i < count; i++)
		if (uprobes_is_command_variable(environ[i]))
			environment[kept++] = environ[i];
	*ret_preload = NULL;
	if (environment && libraries && asprintf(ret_preload, "LD_PRELOAD=%s", libraries) > 0)
		environment[kept] = *ret_preload;
	return environment;
}

/*
 * Backends other than uprobe_multi need a descriptor for each location, and many systems have a
 * limit of 1024.
 */
static void uprobes_raise_file_limit(struct uprobes_work *work)
{
	struct rlimit raised;

	if (getrlimit(RLIMIT_NOFILE, &work->command_file_limit))
		work->command_file_limit.rlim_max = 0;
	raised = work->command_file_limit;
	raised.rlim_cur = raised.rlim_max;
	if (raised.rlim_max)
		(void)setrlimit(RLIMIT_NOFILE, &raised);
}

/*
 * Uses posix_spawn(): after fork(), the child would be one more process with the events of
 * side-uprobes.
 */
static int uprobes_start_command(struct uprobes_work *work)
{
	char *preload = NULL, **environment;
	posix_spawnattr_t attributes;
	sigset_t none;
	int code = ENOMEM;

	if (!work->command)
		return 0;
	environment = uprobes_make_environment(work->preload, &preload);
	sigemptyset(&none);
	if (environment && !posix_spawnattr_init(&attributes)) {
		(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
		(void)posix_spawnattr_setsigmask(&attributes, &none);
		if (work->command_file_limit.rlim_max)
			(void)setrlimit(RLIMIT_NOFILE, &work->command_file_limit);
		code = posix_spawnp(&work->child, work->command[0], NULL, &attributes,
				work->command, environment);
		uprobes_raise_file_limit(work);
		(void)posix_spawnattr_destroy(&attributes);
	}
	free(preload);
	free(environment);
	if (!code)
		return 0;
	work->child = 0;
	return message_error(code == ENOENT ? COMMAND_NOT_FOUND : COMMAND_NOT_EXECUTABLE, NULL,
			"cannot run %.256s: %s", work->command[0], strerror(code));
}

static void uprobes_check_command(struct uprobes_work *work)
{
	int status;

	if (work->child <= 0 || waitpid(work->child, &status, WNOHANG) != work->child)
		return;
	work->status = WIFEXITED(status) ? WEXITSTATUS(status) : COMMAND_SIGNAL + WTERMSIG(status);
	/* Report a signal as `side record` does. */
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGINT && WTERMSIG(status) != SIGPIPE)
		message_note("%.256s was killed by signal %d (%s%s)", work->command[0],
				WTERMSIG(status), strsignal(WTERMSIG(status)),
				WCOREDUMP(status) ? ", core dumped" : "");
	work->child = 0;
	work->is_done = true;
}

/* ---- the main loop ---- */

static void uprobes_read_hits(struct uprobes_work *work, bool last)
{
	uint64_t lost;

	clock_check();
	global_read(work->global, last, events_hit, work->events, &lost);
	if (lost > work->lost)
		events_lost(work->events, lost - work->lost);
	work->lost = lost;
}

/* Report the error of the backend, and why the other backends were not used. */
static int uprobes_print_enable_error(const struct uprobes_work *work, const struct error *error)
{
	const char *why = global_why(work->global);
	enum command_status status =
			error->kind == ERROR_PERMISSION ? COMMAND_NOT_PERMITTED : COMMAND_FAILED;

	return *why ? message_error(status, error->hint, "%s: %s; %s",
				      global_backend_name(global_used(work->global)), error->text,
				      why)
		    : message_error(status, error->hint, "%s", error->text);
}

static int uprobes_enable_probes(struct uprobes_work *work, bool on)
{
	struct error error = {.text = ""};
	int ret;

	if (on == work->is_enabled)
		return 0;
	ret = global_watch(work->global, on, &error);
	/* Hits from before are still in the buffer. */
	if (!on)
		uprobes_read_hits(work, true);
	work->is_enabled = on && !ret;
	return ret ? uprobes_print_enable_error(work, &error) : 0;
}

static void uprobes_read_signals(struct uprobes_work *work)
{
	struct signalfd_siginfo info;

	while (read(work->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD || info.ssi_signo == CHANGE_SIGNAL)
			continue;
		/* The terminal has sent SIGINT to the command, too. */
		if (work->child > 0 && info.ssi_signo != SIGINT)
			(void)kill(work->child, (int)info.ssi_signo);
		else if (work->child <= 0)
			work->is_done = true;
	}
}

/*
 * Ends if the session has stopped or no longer has the event. Asks the daemon once a second: for a
 * single process always, otherwise while no tracer listens.
 */
static void uprobes_check_session(struct uprobes_work *work)
{
	uint64_t now = clock_monotonic_ns();

	/*
	 * An event of all processes is checked only while it is disabled; for a single process, the
	 * session may drop the process while others still record the event.
	 */
	if (!work->session || (work->is_enabled && work->process_fd < 0) ||
			now - work->last_session_check < POLL_NS)
		return;
	work->last_session_check = now;
	if (!wanted_by_session(work->session, work->system, events_name(work->events),
			    work->options.process))
		work->is_done = true;
}

/* The last hits of an ended process are still in the buffer. */
static void uprobes_check_process(struct uprobes_work *work)
{
	struct pollfd ended = {.fd = work->process_fd, .events = POLLIN};

	if (work->process_fd >= 0 && poll(&ended, 1, 0) == 1)
		work->is_done = true;
}

/* Also write the warning to the trace: in a session, nothing reads the standard error output. */
static void uprobes_check_files(struct uprobes_work *work, uint64_t now)
{
	const char *path;

	work->last_file_check = now;
	while ((path = global_replaced(work->global))) {
		char text[600];

		(void)snprintf(text, sizeof(text),
				"%.300s was replaced: programs that start now run another file, in which no location is watched",
				path);
		message_note("%s; set the probes again", text);
		events_hello(work->events, global_backend_name(global_used(work->global)), text);
	}
}

/* Read hits before the change takes effect: they still belong to the previous rules. */
static void uprobes_apply_change(struct uprobes_work *work)
{
	switch (change_get()) {
	case CHANGE_BEGINS:
		if (work->is_enabled)
			uprobes_read_hits(work, true);
		break;
	case CHANGE_ENDS: (void)uprobes_enable_probes(work, events_wanted(work->events)); break;
	default: return;
	}
	change_done();
}

static int uprobes_hits_ready(struct event_loop *loop, struct event_source *source, uint32_t events)
{
	(void)source;
	(void)events;
	container_of(loop, struct uprobes_work, loop)->has_hits = true;
	return 0;
}

/*
 * Only notes that signals are pending: uprobes_run_round() reads them after the wait, before the
 * hits.
 */
static int uprobes_signals_ready(
		struct event_loop *loop, struct event_source *source, uint32_t events)
{
	(void)source;
	(void)events;
	container_of(loop, struct uprobes_work, loop)->has_signals = true;
	return 0;
}

/*
 * Waits for hits or signals, at most TURN_MS. After hits, sleeps BATCH_NS more, so that one round
 * reads all of them, unless a signal is pending.
 */
static void uprobes_wait(struct uprobes_work *work)
{
	const struct timespec batch = {.tv_nsec = BATCH_NS};

	work->has_hits = work->has_signals = false;
	(void)event_loop_turn(&work->loop, TURN_MS);
	if (work->has_hits && !work->has_signals && work->is_enabled)
		(void)nanosleep(&batch, NULL);
}

static void uprobes_run_round(struct uprobes_work *work)
{
	uprobes_wait(work);
	uprobes_read_signals(work);
	uprobes_check_command(work);
	uprobes_check_process(work);
	if (work->session)
		uprobes_apply_change(work);
	if (work->session) {
		int status = uprobes_enable_probes(work, events_wanted(work->events));

		if (status) {
			work->status = status;
			work->is_done = true;
		}
		uprobes_check_session(work);
	}
	if (work->is_enabled)
		uprobes_read_hits(work, false);
	if (work->end_ns && clock_monotonic_ns() >= work->end_ns)
		work->is_done = true;
	if (clock_monotonic_ns() - work->last_file_check >= POLL_NS)
		uprobes_check_files(work, clock_monotonic_ns());
}

/* ---- start and end ---- */

static int uprobes_block_signals(struct uprobes_work *work)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, CHANGE_SIGNAL);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	work->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return work->signal_fd < 0 ? -errno : event_loop_open(&work->loop);
}

static int uprobes_add_sources(struct uprobes_work *work)
{
	int ret = event_source_add(&work->loop, &work->hits_source, global_fd(work->global),
			EPOLLIN, uprobes_hits_ready);

	return ret ? ret
		   : event_source_add(&work->loop, &work->signals_source, work->signal_fd, EPOLLIN,
				     uprobes_signals_ready);
}

static int uprobes_open_probes(struct uprobes_work *work)
{
	struct error error = {.code = 0};
	int ret = global_open(&work->options, &work->global, &error);

	if (!ret)
		ret = events_open(work->global, &work->events, &error);
	if (!ret) {
		ret = uprobes_add_sources(work);
		if (ret)
			error_set_kind(&error, ERROR_FAILED, ret, NULL, "cannot wait for hits");
	}
	return ret ? message_library_error(&error) : 0;
}

/* Removing more locations than this one by one takes half a minute. */
#define LOCATIONS_SLOW 500

static void uprobes_print_backend(const struct uprobes_work *work)
{
	uint32_t locations = global_nr_sides(work->global);
	enum global_backend backend = global_used(work->global);

	message_note("%" PRIu32 " location%s watched by %s%s%s%s", locations,
			locations == 1 ? " is" : "s are", global_backend_name(backend),
			*global_why(work->global) ? " (" : "", global_why(work->global),
			*global_why(work->global) ? ")" : "");
	if (backend != GLOBAL_MULTI && locations > LOCATIONS_SLOW)
		message_note("at the end the kernel removes them one by one, in up to a tenth of a second each");
}

/* Let the waiting process continue, and detach from the terminal. */
static void uprobes_notify_ready(struct uprobes_work *work)
{
	int nothing;

	/* For a single process, the caller has already printed the backend. */
	if (work->process_fd < 0)
		uprobes_print_backend(work);
	if (work->ready < 0)
		return;
	fflush(stderr);
	nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; nothing >= 0 && fd < 3; fd++)
		(void)dup2(nothing, fd);
	if (nothing > 2)
		close(nothing);
	if (write(work->ready, "+", 1) != 1)
		work->is_done = true;
	close(work->ready);
}

static int uprobes_start(struct uprobes_work *work)
{
	int status = uprobes_open_probes(work);

	if (status)
		return status;
	clock_check();
	if (work->session &&
			!wanted_take_turn(work->session, work->system, events_name(work->events),
					work->options.process))
		return message_error(COMMAND_FAILED, NULL,
				"another recorder of %.256s is still running",
				events_name(work->events));
	/*
	 * With a session, the first event makes the agent connect to the daemon. Without one, the
	 * recording begins only after the probes are enabled.
	 */
	if (work->session)
		events_hello(work->events, global_backend_name(global_used(work->global)),
				global_why(work->global));
	/*
	 * Enable the probes even if no tracer listens yet: the caller must learn whether that is
	 * possible.
	 */
	status = uprobes_enable_probes(work, true);
	if (!status && !work->session)
		events_hello(work->events, global_backend_name(global_used(work->global)),
				global_why(work->global));
	if (!status && work->session)
		change_open();
	if (!status) {
		uprobes_notify_ready(work);
		if (work->duration)
			work->end_ns = clock_monotonic_ns() + work->duration;
		status = uprobes_start_command(work);
	}
	return status;
}

static int uprobes_end_other(struct uprobes_work *work)
{
	bool ended = wanted_take_turn(
			work->session, work->system, work->end, work->options.process);

	if (!ended)
		return message_error(COMMAND_FAILED, NULL,
				"another recorder of %.256s is still running", work->end);
	wanted_end_turn();
	return work->ready < 0 || write(work->ready, "+", 1) == 1 ? 0 : COMMAND_FAILED;
}

/* Releases the lock last: the recorder that waits for it must find no probes of this one. */
static void uprobes_close(struct uprobes_work *work)
{
	const int descriptors[] = {work->signal_fd, work->process_fd};

	events_close(work->events);
	global_close(work->global);
	event_loop_close(&work->loop);
	for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++) {
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	}
	wanted_end_turn();
}

int main(__attribute__((unused)) int argc, char **argv)
{
	struct uprobes_work work = {.options = {.backend = -1},
			.ready = -1,
			.loop.epoll = -1,
			.signal_fd = -1,
			.process_fd = -1};

	output_start(&work.common, NULL);
	work.options.tables = work.table_fds;
	if (!uprobes_parse_args(&work, argv))
		return message_error(COMMAND_USAGE, "see `side help probes`",
				"do not start this program by hand: side starts it");
	output_start(&work.common, NULL);
	(void)prctl(PR_SET_NAME, SESSION_UPROBES_PROGRAM);
	if (work.end)
		return uprobes_end_other(&work);
	/* Probes that a killed process has left slow down every program that contains them. */
	(void)global_clean();
	if (work.options.process)
		work.process_fd = (int)syscall(SYS_pidfd_open, work.options.process, 0);
	uprobes_raise_file_limit(&work);
	work.status = uprobes_block_signals(&work)
			? message_error(COMMAND_FAILED, NULL, "cannot wait for signals")
			: uprobes_start(&work);
	if (!work.status) {
		while (!work.is_done)
			uprobes_run_round(&work);
		uprobes_check_files(&work, 0);
		(void)uprobes_enable_probes(&work, false);
		if (work.lost)
			message_note("%" PRIu64
				     " hits did not fit in the kernel buffer and are lost",
					work.lost);
	}
	uprobes_close(&work);
	return work.status;
}
