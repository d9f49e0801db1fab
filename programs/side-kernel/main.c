/* SPDX-License-Identifier: MIT */
/*
 * Records the kernel's events for sessions (the program side-kernel).
 *
 * Other programs of side start it; users do not.
 *
 * SIDE_RUNTIME=DIRECTORY side-kernel [--method perf|tracefs] [--buffer BYTES] --ready FD
 * side-kernel --record FD ...        see programs/common/kernel-report.h
 *
 * It ends on SIGTERM, or when no session of the daemon has selected events of the kernel for some
 * time. Without a daemon it continues as long as a tracer records: sessions outlive their daemon.
 */
#include "base/clock.h"
#include "kernel.h"

#include "programs/common/message.h"
#include "programs/replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "recorder/core/session.h"

#define ROUND_MS 100
/* interval of the scans for user_events of programs that sent no notification */
#define DYNAMIC_SCAN_MS 50
#define POLL_NS UINT64_C(2000000000)
#define IDLE_EXIT_NS INT64_C(8000000000) /* exit after this time without work */

struct side_kernel_work {
	struct kernel_record_options options;
	int ready; /* -1: no process waits */

	struct kernel_record *record;
	struct side_kernel_events *events;
	struct server *server;
	struct side_kernel_selection wanted;
	/*
	 * Only joins descriptors into one for kernel_listen_wait(), which also waits for records.
	 * It is no loop of base/event-loop.h, because nothing is called for a descriptor: each
	 * round does all work, in a fixed order.
	 */
	int epoll;
	int signal_fd;
	bool is_done, waits_for_dynamic_events, monotonic;
	uint32_t nr_enabled, nr_events;
	/* times of the last request to the daemon, and of the last need for side-kernel */
	uint64_t last_request_ns, last_need_ns;
};

/* ---- the command line ---- */

static bool side_kernel_parse_option(
		struct side_kernel_work *work, const char *name, const char *text)
{
	if (!strcmp(name, "--method"))
		work->options.backend = !strcmp(text, "perf") ? KERNEL_RECORD_PERF
				: !strcmp(text, "tracefs")    ? KERNEL_RECORD_TRACEFS
							      : KERNEL_RECORD_BEST;
	else if (!strcmp(name, "--buffer"))
		work->options.buffer_size = strtoull(text, NULL, 10);
	else if (!strcmp(name, "--ready"))
		work->ready = atoi(text);
	else
		return false;
	return true;
}

static bool side_kernel_parse_args(struct side_kernel_work *work, char **argv)
{
	for (argv++; *argv; argv += 2)
		if (!argv[1] || !side_kernel_parse_option(work, argv[0], argv[1]))
			return false;
	return work->ready >= 0 && !fcntl(work->ready, F_SETFD, FD_CLOEXEC);
}

/* ---- enabling events ---- */

static void side_kernel_switch_one(void *user, const struct kernel_event *event, bool on)
{
	struct side_kernel_work *work = user;
	struct error error = {.code = 0};
	bool wanted = events_wanted(event);

	work->nr_events++;
	/* If the kernel refuses the event, the next round retries it. */
	if (wanted != on && kernel_listen_switch(work->record, event, wanted, &error))
		wanted = false;
	work->nr_enabled += wanted;
}

static void side_kernel_switch_all(struct side_kernel_work *work)
{
	work->nr_enabled = work->nr_events = 0;
	kernel_listen_each(work->record, side_kernel_switch_one, work);
}

static void side_kernel_drain(struct side_kernel_work *work, bool losses)
{
	if (work->monotonic && work->nr_enabled)
		clock_check();
	(void)kernel_listen_drain(work->record, losses);
}

static void side_kernel_drain_all(void *user)
{
	side_kernel_drain(user, true);
}

static void side_kernel_refresh_selection(void *user)
{
	struct side_kernel_work *work = user;
	struct error ignored;
	struct side_kernel_selection wanted;
	bool is_reached;

	wanted_ask(&wanted);
	is_reached = wanted.is_reached;
	work->last_request_ns = clock_monotonic_ns();
	/* Without a daemon, keep the previous selection. */
	if (is_reached) {
		wanted_free(&work->wanted);
		work->wanted = wanted;
		(void)kernel_listen_choose(
				work->record, work->wanted.choices, work->wanted.nr, &ignored);
		work->waits_for_dynamic_events = kernel_listen_scan(work->record);
	} else {
		wanted_free(&wanted);
	}
	/*
	 * Without a daemon, only enabled events show that side-kernel is needed: the sessions may
	 * have ended with the daemon.
	 */
	if (is_reached && work->wanted.nr)
		work->last_need_ns = work->last_request_ns;
	side_kernel_drain_all(work);
	side_kernel_switch_all(work);
}

/* ---- requests ---- */

static bool side_kernel_knows_pattern(void *user, const char *pattern)
{
	struct side_kernel_work *work = user;

	return kernel_listen_knows(work->record, pattern);
}

static void side_kernel_describe(void *user, char *text, size_t size)
{
	struct side_kernel_work *work = user;
	const char *backend, *why;
	uint64_t nr_recorded, lost;

	kernel_record_backend(work->record, &backend, &why);
	events_stats(work->events, &nr_recorded, &lost);
	/* These strings contain no quotes and need no escaping. */
	(void)snprintf(text, size,
			"\"method\":\"%s\",\"why\":\"%s\",\"pid\":%d,\"events\":%" PRIu32
			",\"on\":%" PRIu32 ",\"filtered\":%" PRIu32 ",\"recorded\":%" PRIu64
			",\"lost\":%" PRIu64,
			backend, why, (int)getpid(), work->nr_events, work->nr_enabled,
			kernel_listen_filtered(work->record), nr_recorded, lost);
}

/* ---- the main loop ---- */

static void side_kernel_read_signals(struct side_kernel_work *work)
{
	struct signalfd_siginfo info;

	while (read(work->signal_fd, &info, sizeof(info)) == sizeof(info))
		work->is_done |= info.ssi_signo != CHANGE_SIGNAL;
}

/* Drain before the change takes effect: earlier records still belong to the previous rules. */
static void side_kernel_apply_change(struct side_kernel_work *work)
{
	switch (change_get()) {
	case CHANGE_BEGINS: side_kernel_drain_all(work); break;
	case CHANGE_ENDS:
		side_kernel_drain_all(work);
		side_kernel_switch_all(work);
		break;
	default: return;
	}
	change_done();
}

/* Exit if no tracer listens and no session has selected events of the kernel for some time. */
static void side_kernel_check_sessions(struct side_kernel_work *work)
{
	uint64_t now = clock_monotonic_ns();

	if (work->nr_enabled)
		work->last_need_ns = now;
	if (now - work->last_request_ns > POLL_NS && (!work->nr_enabled || !work->wanted.nr))
		side_kernel_refresh_selection(work);
	work->is_done |= (int64_t)(now - work->last_need_ns) > IDLE_EXIT_NS;
}

static void side_kernel_run_round(struct side_kernel_work *work)
{
	bool is_notified;

	kernel_listen_wait(work->record, work->epoll,
			work->waits_for_dynamic_events ? DYNAMIC_SCAN_MS : ROUND_MS);
	side_kernel_read_signals(work);
	side_kernel_apply_change(work);
	server_turn(work->server);
	side_kernel_drain(work, false);
	/*
	 * Accept connections in any case: a program waits until kernel_listen_seen() closes its
	 * connection.
	 */
	is_notified = kernel_listen_is_notified(work->record);
	if (is_notified || work->waits_for_dynamic_events)
		work->waits_for_dynamic_events = kernel_listen_scan(work->record);
	side_kernel_switch_all(work);
	kernel_listen_seen(work->record);
	side_kernel_check_sessions(work);
}

/* ---- start and end ---- */

static int side_kernel_block_signals(struct side_kernel_work *work)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, CHANGE_SIGNAL);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGHUP, SIG_IGN);
	work->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	work->epoll = epoll_create1(EPOLL_CLOEXEC);
	return work->signal_fd < 0 || work->epoll < 0 ? -errno : 0;
}

static int side_kernel_epoll_add(struct side_kernel_work *work, int fd)
{
	struct epoll_event interest = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(work->epoll, EPOLL_CTL_ADD, fd, &interest) ? -errno : 0;
}

static int side_kernel_open(struct side_kernel_work *work)
{
	struct error error = {.code = 0};
	struct kernel_listener listener;

	work->monotonic = events_choose_clock(&work->options);
	clock_check();
	if (events_create(work->monotonic, &work->events))
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	events_listener(work->events, &listener);
	if (!kernel_listen_open(&work->options, &listener, &work->record, &error))
		return COMMAND_DONE;
	return message_error(error.code == -EACCES || error.code == -EPERM ? COMMAND_NOT_PERMITTED
									   : COMMAND_FAILED,
			error.hint, "cannot record kernel events: %s", error.text);
}

static int side_kernel_open_server(struct side_kernel_work *work)
{
	const struct server_calls calls = {.user = work,
			.poll = side_kernel_refresh_selection,
			.drain = side_kernel_drain_all,
			.knows = side_kernel_knows_pattern,
			.describe = side_kernel_describe};
	char state_dir[256];
	int ret = selection_socket_dir(state_dir, sizeof(state_dir))
			? server_open(state_dir, &calls, &work->server)
			: -ENOENT;

	if (!ret)
		ret = side_kernel_epoll_add(work, server_fd(work->server));
	if (!ret)
		ret = side_kernel_epoll_add(work, work->signal_fd);
	/* Another side-kernel was faster: the waiting process finds that one. */
	if (ret == -EBUSY)
		work->is_done = true;
	return !ret || ret == -EBUSY
			? COMMAND_DONE
			: message_error(COMMAND_FAILED, NULL, "cannot record kernel events: %s",
					  strerror(-ret));
}

/* Let the waiting process continue, and detach from the terminal. */
static void side_kernel_notify_ready(struct side_kernel_work *work)
{
	int nothing;

	fflush(stderr);
	nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; nothing >= 0 && fd < 3; fd++)
		(void)dup2(nothing, fd);
	if (nothing > 2)
		close(nothing);
	(void)!write(work->ready, "+", 1);
	close(work->ready);
}

static int side_kernel_start_recording(struct side_kernel_work *work)
{
	const char *backend, *why;
	int status = side_kernel_block_signals(work)
			? message_error(COMMAND_FAILED, NULL, "cannot wait for signals")
			: side_kernel_open_server(work);

	if (!status && !work->is_done)
		status = side_kernel_open(work);
	if (status)
		return status;
	if (!work->is_done) {
		kernel_record_backend(work->record, &backend, &why);
		if (*why)
			message_note("reading kernel events through %s: %s", backend, why);
		events_hello(work->events, backend, why);
		side_kernel_refresh_selection(work);
		change_open();
		work->last_need_ns = clock_monotonic_ns();
	}
	side_kernel_notify_ready(work);
	return COMMAND_DONE;
}

int main(__attribute__((unused)) int argc, char **argv)
{
	static const struct common_options common;
	struct side_kernel_work work = {.ready = -1, .epoll = -1, .signal_fd = -1};
	int status;

	output_start(&common, NULL);
	(void)prctl(PR_SET_NAME, SESSION_KERNEL_PROGRAM);
	if (argv[0] && argv[1] && !strcmp(argv[1], "--record"))
		return command_main(argv);
	if (!side_kernel_parse_args(&work, argv))
		return message_error(COMMAND_USAGE, "see `side enable-event --help`",
				"do not start this program by hand: side starts it");
	status = side_kernel_start_recording(&work);
	while (!status && !work.is_done)
		side_kernel_run_round(&work);
	server_close(work.server);
	kernel_record_close(work.record);
	events_free(work.events);
	wanted_free(&work.wanted);
	return status;
}
