/* SPDX-License-Identifier: MIT */
/* The verb `daemon`: starts sided, prints its process and socket, or stops it. */
#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/common/message.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STOP_MS 60000

static int daemon_print_not_stopped(uint64_t pid, int code, bool system)
{
	if (code == EPERM)
		return message_error(COMMAND_NOT_PERMITTED,
				system ? "be root: `systemctl stop sided`" : NULL,
				"cannot stop the daemon sided (process %" PRIu64
				"): it belongs to another user",
				pid);
	return message_error(COMMAND_FAILED, NULL,
			"cannot stop the daemon sided (process %" PRIu64 "): %s", pid,
			strerror(code));
}

/*
 * Sends the signal and waits until the process has ended. The daemon has answered just before, so
 * its number cannot be reused already.
 */
static int daemon_stop_process(uint64_t pid, bool system)
{
	struct pollfd ended = {.events = POLLIN};
	int code, ready;

	ended.fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (ended.fd < 0)
		return errno == ESRCH ? COMMAND_DONE : daemon_print_not_stopped(pid, errno, system);
	if (syscall(SYS_pidfd_send_signal, ended.fd, SIGTERM, NULL, 0)) {
		code = errno;
		close(ended.fd);
		return code == ESRCH ? COMMAND_DONE : daemon_print_not_stopped(pid, code, system);
	}
	do
		ready = poll(&ended, 1, STOP_MS);
	while (ready < 0 && errno == EINTR);
	close(ended.fd);
	return ready > 0 ? COMMAND_DONE : daemon_print_not_stopped(pid, ETIMEDOUT, system);
}

static void daemon_report_stopped(const struct parsed *parsed, uint64_t pid, size_t sessions)
{
	if (parsed->common.json)
		printf("{\"schema\":%d,\"type\":\"daemon\",\"stopped\":%s,\"pid\":%" PRIu64
		       ",\"sessions\":%zu}\n",
				OUTPUT_JSON_SCHEMA, pid ? "true" : "false", pid, sessions);
	else if (!pid)
		message_note("no daemon runs, so none was stopped");
	else if (!sessions)
		message_note("stopped the daemon sided (process %" PRIu64 "); it had no sessions",
				pid);
	else
		message_note_hint("`side daemon` starts it",
				"stopped the daemon sided (process %" PRIu64
				"); its %zu session%s %s kept and continue%s when it is started",
				pid, sessions, sessions == 1 ? "" : "s",
				sessions == 1 ? "is" : "are", sessions == 1 ? "s" : "");
}

static int daemon_shut_down(const struct parsed *parsed)
{
	struct error error = {.kind = ERROR_NONE};
	struct json_object *answer, *sessions = NULL, *listed;
	struct ask ask;
	uint64_t pid = 0;
	size_t count = 0;
	int status;

	if (ask_connect_silently(&ask, parsed->options.control.system, &error)) {
		if (error.kind != ERROR_NOT_FOUND)
			return message_library_error(&error);
		daemon_report_stopped(parsed, 0, 0);
		return output_flush(stdout);
	}
	status = ask_call(&ask, control_request("list", NULL), ASK_TIMEOUT_MS, &sessions);
	listed = status ? NULL : ask_list(sessions, "sessions");
	count = listed ? json_object_array_length(listed) : 0;
	json_object_put(sessions);
	if (!status)
		status = ask_call(&ask, control_request("ping", NULL), ASK_TIMEOUT_MS, &answer);
	if (!status) {
		pid = ask_number(answer, "pid");
		json_object_put(answer);
		status = pid && pid <= INT_MAX
				? daemon_stop_process(pid, ask.system)
				: message_error(COMMAND_FAILED, NULL,
						  "cannot stop the daemon sided: its answer has no process");
	}
	ask_close(&ask);
	if (!status)
		daemon_report_stopped(parsed, pid, count);
	return status ? status : output_flush(stdout);
}

int cmd_daemon(const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;
	struct json_object *answer;
	char socket[512];
	struct ask ask;
	int status = COMMAND_DONE, printed;

	if (parsed->operand_count)
		return message_error(COMMAND_USAGE, "write `side daemon`",
				"`side daemon` does not accept `%.128s`", parsed->operands[0]);
	if (options->stop)
		return daemon_shut_down(parsed);
	status = ask_connect(&ask, options->system, options->no_daemon);
	if (status)
		return status;
	status = ask_call(&ask, control_request("ping", NULL), ASK_TIMEOUT_MS, &answer);
	if (!status && parsed->common.json) {
		ask_add(answer, "socket", json_object_new_string(control_path(ask.client)));
		status = ask_is_cut_off() ? message_error(COMMAND_FAILED, NULL, "out of memory")
					  : ask_print_json("daemon", answer);
	} else if (!status && !output_is_silent()) {
		printf("sided %s of %s runs as process %" PRIu64 ", at %s\n",
				ask_text(answer, "version"),
				ask_flag(answer, "system") ? "the system" : "this user",
				ask_number(answer, "pid"),
				format_printable(control_path(ask.client), socket, sizeof(socket)));
	}
	json_object_put(answer);
	ask_close(&ask);
	printed = output_flush(stdout);
	return status ? status : printed;
}
