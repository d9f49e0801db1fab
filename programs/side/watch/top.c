/* SPDX-License-Identifier: MIT */
/*
 * The verb `top`: the daemon sends the state of the session once an interval. After each message
 * the loop reads the trace and prints both; on a terminal it also reads the keyboard.
 */
#include "base/clock.h"
#include "programs/common/ask.h"
#include "programs/side/cli/confine.h"
#include "programs/common/message.h"
#include "programs/side/watch/top-print.h"

#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define INTERVAL_NS UINT64_C(1000000000)
#define INTERVAL_LEAST_NS UINT64_C(100000000)
/* Much longer than an interval: the daemon hangs. */
#define TIMEOUT_MS 60000

static volatile sig_atomic_t stopped;

static void top_on_signal(int signal)
{
	(void)signal;
	stopped = 1;
}

struct top {
	const struct top_options *options;
	bool json;
	bool screen; /* standard output is a terminal, on which we draw */
	struct ask ask;
	struct top_view view;
	bool begun;    /* an interval has begun */
	uint64_t time; /* end of the previous interval: of the daemon's statistics, … */
	int64_t until; /* … and of events */
	struct termios before;
};

/* ---- the terminal ---- */

static void top_begin_screen(struct top *top)
{
	struct termios raw;

	if (!top->screen || tcgetattr(STDIN_FILENO, &top->before)) {
		top->screen = false;
		return;
	}
	raw = top->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	/* Switch to the alternate screen, hide the cursor. */
	fputs("\033[?1049h\033[?25l", stdout);
}

static void top_end_screen(struct top *top)
{
	if (!top->screen)
		return;
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &top->before);
}

static void top_read_screen_size(struct top *top)
{
	struct winsize size = {0};

	top->view.rows = 24;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row)
		top->view.rows = size.ws_row;
	top->view.columns = size.ws_col;
}

/* ---- answers of the daemon ---- */

static struct top_process *top_get_process(struct top_view *view, uint64_t pid, const char *name)
{
	struct top_process *more;

	for (size_t i = 0; i < view->nr_processes; i++) {
		struct top_process *process = &view->processes[i];

		if (process->pid == pid && !process->seen &&
				!strncmp(process->name, name, sizeof(process->name) - 1))
			return process;
	}
	more = realloc(view->processes, (view->nr_processes + 1) * sizeof(*more));
	if (!more)
		return NULL;
	view->processes = more;
	more += view->nr_processes++;
	*more = (struct top_process){.pid = pid};
	snprintf(more->name, sizeof(more->name), "%s", name);
	return more;
}

static int top_parse_process(struct top_view *view, struct json_object *json)
{
	struct top_process *process =
			top_get_process(view, ask_number(json, "pid"), ask_text(json, "name"));

	if (!process)
		return -ENOMEM;
	process->seen = true;
	process->bytes_before = process->bytes;
	process->lost_before = process->lost;
	process->vpid = json_object_object_get_ex(json, "vpid", NULL) ? ask_number(json, "vpid")
								      : process->pid;
	process->bytes = ask_number(json, "bytes");
	process->recorded = ask_number(json, "recorded");
	process->lost = ask_number(json, "lost");
	return 0;
}

/* Removes processes that are not in the last answer. */
static void top_forget_processes(struct top_view *view)
{
	size_t kept = 0;

	for (size_t i = 0; i < view->nr_processes; i++) {
		if (view->processes[i].seen)
			view->processes[kept++] = view->processes[i];
	}
	view->nr_processes = kept;
}

static int top_parse_session(struct top_view *view, struct json_object *session)
{
	struct json_object *processes = ask_list(session, "processes");
	int ret = 0;

	snprintf(view->session, sizeof(view->session), "%s", ask_text(session, "name"));
	snprintf(view->state, sizeof(view->state), "%s", ask_text(session, "state"));
	view->bytes_before = view->bytes;
	view->lost_before = view->lost;
	view->bytes = ask_number(session, "bytes");
	view->recorded = ask_number(session, "recorded");
	view->lost = ask_number(session, "lost");
	for (size_t i = 0; i < view->nr_processes; i++)
		view->processes[i].seen = false;
	for (size_t i = 0; processes && i < json_object_array_length(processes) && !ret; i++)
		ret = top_parse_process(view, json_object_array_get_idx(processes, i));
	top_forget_processes(view);
	return ret;
}

/* ---- an interval ---- */

static int top_print_screen(struct top *top)
{
	int ret;

	if (top->json) {
		ret = top_print_json(&top->view, stdout);
	} else {
		if (top->screen) {
			top_read_screen_size(top);
			fputs("\033[H\033[2J", stdout);
		}
		ret = top_print_text(&top->view, stdout);
		if (!top->screen)
			putchar('\n');
	}
	return ret;
}

/*
 * Adds an answer, and prints the interval that it ends. The first interval begins with the first
 * answer that has statistics. The daemon's statistics refer to the time in its answer, and events
 * are counted up to the time at which the trace was read, so both have separate intervals.
 */
static int top_add_answer(struct top *top, struct json_object *answer, uint64_t *intervals)
{
	struct json_object *sessions = ask_list(answer, "sessions"), *session;
	uint64_t time = ask_number(answer, "time");
	int64_t until = (int64_t)(clock_realtime_ns() - CLOCK_NS_PER_S);
	int ret;

	if (!sessions || !json_object_array_length(sessions))
		return 0;
	session = json_object_array_get_idx(sessions, 0);
	/*
	 * Confine the process here: the first answer names the trace, and nothing of it
	 * has been read yet.
	 */
	if (*ask_text(session, "output"))
		confine_watcher(ask_text(session, "output"), NULL);
	ret = top_parse_session(&top->view, session);
	if (!ret)
		ret = top_trace_read(&top->view.trace, ask_text(session, "output"), until);
	top->view.seconds = (double)(int64_t)(time - top->time) / 1e9;
	top->view.event_seconds = (double)(until - top->until) / 1e9;
	if (!ret && top->begun) {
		ret = top_print_screen(top);
		++*intervals;
	}
	top->begun = true;
	top->time = time;
	top->until = until;
	top_trace_reset(&top->view.trace);
	top->view.trace.from_ns = until + 1;
	return ret;
}

/* Returns 1 if a message has arrived, 0 if the user ends the command, or a negative errno. */
static int top_wait_for_message(const struct top *top)
{
	struct pollfd fds[] = {{.fd = control_fd(top->ask.client), .events = POLLIN},
			{.fd = top->screen ? STDIN_FILENO : -1, .events = POLLIN}};
	char key;

	for (;;) {
		int ready = poll(fds, 2, TIMEOUT_MS);

		if (stopped)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready > 0 && fds[1].revents &&
				(read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q'))
			return 0;
		if (ready == 0 || (ready > 0 && fds[0].revents))
			return 1;
	}
}

static int top_run(struct top *top)
{
	uint64_t count = top->options->count;
	int status = COMMAND_DONE;

	for (uint64_t i = 0; !status && (!count || i < count);) {
		struct error error = {.kind = ERROR_NONE};
		struct json_object *answer = NULL;
		int ret = top_wait_for_message(top);

		if (!ret)
			break;
		if (ret < 0)
			return message_error(COMMAND_FAILED, NULL, "cannot wait for the daemon: %s",
					strerror(-ret));
		ret = control_next(top->ask.client, TIMEOUT_MS, &answer, &error);
		if (ret == -EPIPE) {
			message_note("session %s or its daemon has ended", top->view.session);
			break;
		}
		if (ret) {
			status = message_library_error(&error);
		} else {
			ret = top_add_answer(top, answer, &i);
			json_object_put(answer);
			status = ret ? message_error(COMMAND_FAILED, NULL, "out of memory")
				     : output_flush(stdout);
		}
	}
	return status;
}

static struct json_object *top_make_request(const struct top_options *options, const char *name)
{
	uint64_t interval = options->interval ? options->interval : INTERVAL_NS;
	struct json_object *request = control_request("top", name);

	if (interval < INTERVAL_LEAST_NS)
		interval = INTERVAL_LEAST_NS;
	if (request)
		ask_add(request, "interval",
				json_object_new_int64(interval > INT64_MAX ? INT64_MAX
									   : (int64_t)interval));
	return request;
}

static int top_watch_session(struct top *top, const char *name)
{
	const struct sigaction action = {.sa_handler = top_on_signal};
	struct sigaction interrupt, terminate;
	struct json_object *answer;
	uint64_t none = 0;
	int status = ask_call(&top->ask, top_make_request(top->options, name), TIMEOUT_MS, &answer);

	if (status)
		return status;
	snprintf(top->view.session, sizeof(top->view.session), "%s", name);
	status = top_add_answer(top, answer, &none) ? COMMAND_FAILED : COMMAND_DONE;
	json_object_put(answer);
	stopped = 0;
	sigaction(SIGINT, &action, &interrupt);
	sigaction(SIGTERM, &action, &terminate);
	top_begin_screen(top);
	if (!status)
		status = top_run(top);
	top_end_screen(top);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGTERM, &terminate, NULL);
	return status;
}

int cmd_top(const struct parsed *parsed)
{
	const struct top_options *options = &parsed->options.top;
	struct top top = {
			.options = options,
			.json = parsed->common.json,
			.screen = !parsed->common.json && isatty(STDOUT_FILENO) &&
					isatty(STDIN_FILENO),
	};
	char buffer[ASK_NAME_MAX];
	const char *name;
	int status = options->debuginfod && !options->callers
			? message_error(COMMAND_USAGE, "add `--callers`",
					  "`--debuginfod` has no effect without `--callers`")
			: top_trace_create(&top.view.trace, options);

	top.view.color = !top.json && output_has_color(stdout, parsed->common.color);
	if (!status)
		status = ask_connect_only(&top.ask, options->system);
	if (!status)
		status = ask_which(&top.ask, parsed->operands[0], options->session, buffer, &name);
	if (!status)
		status = top_watch_session(&top, name);
	ask_close(&top.ask);
	free(top.view.processes);
	top_trace_free(&top.view.trace);
	return status;
}
