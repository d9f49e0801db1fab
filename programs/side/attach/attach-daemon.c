/* SPDX-License-Identifier: MIT */
/*
 * `side attach --daemon`: connects a running program to the daemon. If the program does not see the
 * daemon's directory, `side attach` makes a rendezvous socket in a directory that the program sees
 * (protocol/protocol.h: PASS), because it has the permission to. The daemon listens to that socket.
 */
#include "attach.h"

#include "base/process-root.h"
#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/common/message.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SESSION_WAIT_MS 5000

/* ---- errors ---- */

static int attach_daemon_print_error(
		const struct attached *attached, const char *socket, bool by_rendezvous)
{
	static const char alone[] =
			"`side attach -p PID` and `side trace -p PID` record it without the daemon";
	int code = -attached->report.result;
	int length = (int)(strrchr(socket, '/') - socket);

	if (code == EISCONN)
		return message_error(COMMAND_FAILED,
				"`side detach -p PID` ends an attachment to the other daemon\n`side attach -p PID` and `side trace -p PID` record it without a daemon",
				"%d (%s) is connected to another daemon, not to the one in %.*s",
				attached->pid, attached->name, length, socket);
	if (code == EACCES)
		return message_error(COMMAND_NOT_PERMITTED,
				"use root's daemon, which accepts programs of all users, or the daemon of that user",
				"%d (%s) runs as user %" PRIu64
				", and the daemon in %.*s accepts only programs of its own user",
				attached->pid, attached->name, attach_user_of(attached->pid),
				length, socket);
	if (code == EPERM)
		return message_error(COMMAND_NOT_PERMITTED, alone,
				"%d (%s) cannot connect to the daemon in %.*s: it has entered a sandbox since side attached to it",
				attached->pid, attached->name, length, socket);
	if (by_rendezvous)
		return message_error(COMMAND_FAILED, alone,
				"%d (%s) does not see the daemon's directory %.*s, and cannot connect through the rendezvous socket %s: %s",
				attached->pid, attached->name, length, socket, attached->dir.theirs,
				strerror(code));
	return attach_print_result_error(attached, "cannot reach the daemon");
}

/* ---- the daemon's directory, or a rendezvous socket ---- */

/*
 * True if the program sees the daemon's socket at the same path. A program that fakes this fails to
 * connect, and then gets a rendezvous socket.
 */
static bool attach_daemon_is_visible(const struct attached *attached, const char *socket)
{
	struct stat here, there;

	return !stat(socket, &here) && !process_root_stat(attached->pid, socket, &there) &&
			here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/*
 * Without a path: asks the daemon for an existing rendezvous socket and stores its path in
 * attached->dir.theirs.
 */
static int attach_daemon_request_rendezvous(struct attached *attached, struct ask *ask,
		const char *path, int fd, bool *ret_known)
{
	/*
	 * "door" is the former name of "rendezvous": a daemon of the earlier release knows only
	 * that.
	 */
	struct json_object *request = control_request("door", NULL), *answer = NULL;
	int status;

	if (request)
		ask_add(request, "pid", json_object_new_int(attached->pid));
	if (request && path)
		ask_add(request, "path", json_object_new_string(path));
	status = ask_call_with(ask, request, fd, ASK_TIMEOUT_MS, &answer);
	if (!status) {
		(void)snprintf(attached->dir.theirs, sizeof(attached->dir.theirs), "%s",
				ask_text(answer, "path"));
		*ret_known = ask_flag(answer, "known");
	}
	json_object_put(answer);
	return status;
}

static int attach_daemon_listen_at(const struct attached *attached)
{
	return attached->dir.parent < 0
			? rendezvous_listen_abstract(attached->pid, attached->dir.theirs)
			: rendezvous_listen_in(attached->dir.own);
}

/*
 * The daemon owns the rendezvous socket afterwards, and removes it when no program uses it any
 * more.
 */
static int attach_daemon_make_rendezvous(struct attached *attached, struct ask *ask)
{
	char path[RENDEZVOUS_PATH_SIZE];
	int status = attach_dir_find(attached, RENDEZVOUS_PREFIX, true), fd;
	bool known;

	if (status)
		return status;
	fd = attach_daemon_listen_at(attached);
	if (fd == -EPERM && attached->dir.parent < 0)
		return attach_dir_unreachable(attached);
	if (fd < 0)
		return message_error(COMMAND_FAILED, NULL,
				"cannot create a socket where %d (%s) sees it, %s: %s",
				attached->pid, attached->name, attached->dir.theirs, strerror(-fd));
	memcpy(path, attached->dir.theirs, sizeof(path));
	status = attach_daemon_request_rendezvous(attached, ask, path, fd, &known);
	close(fd);
	if (!status)
		attach_dir_forget(attached);
	return status;
}

/*
 * True if the program cannot see or enter the daemon's directory, or must not trust it (in a user
 * namespace its owner appears as uid 65534).
 */
static bool attach_daemon_is_unreachable(const struct attached *attached)
{
	int result = attached->report.result;

	return attached->report.kind == INJECT_DONE &&
			(result == -ENOENT || result == -ENOTDIR || result == -EACCES ||
					result == -EPERM);
}

static int attach_daemon_connect_rendezvous(struct attached *attached, struct ask *ask)
{
	bool known = false;
	int status = attach_daemon_request_rendezvous(attached, ask, NULL, -1, &known);

	if (!status && !*attached->dir.theirs)
		status = attach_daemon_make_rendezvous(attached, ask);
	if (status)
		return status;
	message_detail("%s does not see the daemon's directory, and connects through %s",
			attached->name, attached->dir.theirs);
	/*
	 * A known program was connected once, and may still be. "door" is the former name of
	 * "rendezvous": an agent of the earlier release knows only that.
	 */
	return attach_request(attached, known ? "known" : "door", attached->dir.theirs, false);
}

static int attach_daemon_connect(struct attached *attached, struct ask *ask, const char *socket,
		bool *ret_by_rendezvous)
{
	int status = COMMAND_DONE;

	*ret_by_rendezvous = !attach_daemon_is_visible(attached, socket);
	if (!*ret_by_rendezvous) {
		status = attach_request(attached, "daemon", socket, false);
		*ret_by_rendezvous = !status && attach_daemon_is_unreachable(attached);
	}
	return *ret_by_rendezvous ? attach_daemon_connect_rendezvous(attached, ask) : status;
}

/* ---- sessions of the daemon ---- */

static bool attach_daemon_records(struct json_object *answer, pid_t pid)
{
	struct json_object *sessions = ask_list(answer, "sessions");
	struct json_object *session = sessions && json_object_array_length(sessions)
			? json_object_array_get_idx(sessions, 0)
			: answer;
	struct json_object *processes = ask_list(session, "processes");
	size_t i;

	for (i = 0; processes && i < json_object_array_length(processes); i++) {
		struct json_object *process = json_object_array_get_idx(processes, i);

		if (ask_number(process, "pid") == (uint64_t)pid && ask_flag(process, "live"))
			return true;
	}
	return false;
}

/*
 * The program joins before the request returns, but the daemon's status may show
 * it a moment later.
 */
static int attach_daemon_check_session(struct attached *attached, struct ask *ask)
{
	const char *name = attached->options->session;
	struct json_object *answer;
	bool found = false;
	int status, waited;

	for (waited = 0; !found; waited += 50) {
		status = ask_call(ask, control_request("status", name), ASK_TIMEOUT_MS, &answer);
		if (status)
			return status;
		found = attach_daemon_records(answer, attached->pid);
		json_object_put(answer);
		if (waited >= SESSION_WAIT_MS)
			break;
		if (!found)
			(void)poll(NULL, 0, 50);
	}
	if (found)
		return COMMAND_DONE;
	return message_error(COMMAND_FAILED,
			"`side status` shows what it tracks\n`side start` starts it",
			"the session %s does not record %d (%s): it is not started, or does not track it",
			name, attached->pid, attached->name);
}

int attach_give_to_daemon(struct attached *attached)
{
	struct json_object *answer = NULL;
	char socket[PATH_MAX];
	char *slash;
	bool by_rendezvous = false;
	struct ask ask;
	int status = ask_connect(&ask, attached->options->system, false);

	if (status)
		return status;
	/* Check that the session exists before the program is changed. */
	if (attached->options->session)
		status = ask_call(&ask, control_request("status", attached->options->session),
				ASK_TIMEOUT_MS, &answer);
	json_object_put(answer);
	(void)snprintf(socket, sizeof(socket) - 16, "%s", control_path(ask.client));
	slash = strrchr(socket, '/');
	strcpy(slash ? slash : socket, "/agents.sock");
	if (!status)
		status = attach_daemon_connect(attached, &ask, socket, &by_rendezvous);
	if (!status && attached->report.kind != INJECT_DONE)
		status = attach_print_failure(attached);
	else if (!status && attached->report.result && attached->report.result != -EALREADY)
		status = attach_daemon_print_error(attached, socket, by_rendezvous);
	if (!status && !(attached->incidental && attached->report.result))
		attach_print_done(attached, "attach",
				attached->report.result ? "already connected to a daemon:"
							: "connected to the daemon:");
	if (!status && attached->options->session)
		status = attach_daemon_check_session(attached, &ask);
	ask_close(&ask);
	return status;
}
