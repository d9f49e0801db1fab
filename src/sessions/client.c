/* SPDX-License-Identifier: MIT */
/* The client's side of the control socket. */
#include "base/clock.h"
#include "sessions/client.h"

#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sessions/frame.h"
#include "sessions/json.h"
#include "protocol/runtime.h"

#define DAEMON "sided"

extern char **environ;

struct control_client {
	int fd;
	struct frame_in in;
	struct frame_out out;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
};

/* ---- time ---- */

/* Returns milliseconds of CLOCK_MONOTONIC; the maximum for no timeout. */
static int64_t deadline_of(int timeout_ms)
{
	return timeout_ms < 0 ? INT64_MAX : (int64_t)clock_monotonic_ms() + timeout_ms;
}

static int wait_for(int fd, short events, int64_t deadline)
{
	for (;;) {
		struct pollfd poll_fd = {.fd = fd, .events = events};
		int64_t left = deadline == INT64_MAX ? -1 : deadline - deadline_of(0);
		int ret;

		if (deadline != INT64_MAX && left < 0)
			return -ETIMEDOUT;
		ret = poll(&poll_fd, 1, left > INT32_MAX ? INT32_MAX : (int)left);
		if (ret > 0)
			return 0;
		if (ret < 0 && errno != EINTR)
			return -errno;
	}
}

/* ---- connecting ---- */

static int connect_path(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, ret;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	do
		ret = connect(fd, (struct sockaddr *)&address, sizeof(address));
	while (ret && errno == EINTR);
	if (!ret)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

/*
 * Returns a connected socket, or a negative errno. The user or root must own the directory; else
 * another user could receive the user's requests.
 */
static int control_client_try_connect(bool system, char *path, size_t capacity)
{
	char directory[256];
	/* Errors contain the path, whether it exists or not. */
	int ret = wire_runtime_path(path, capacity, system, WIRE_RUNTIME_CONTROL);

	if (!ret)
		ret = wire_runtime_directory(directory, sizeof(directory), system);
	if (!ret)
		ret = wire_runtime_check(directory);
	return ret ? ret : connect_path(path);
}

static bool is_absent(int code)
{
	return code == -ENOENT || code == -ECONNREFUSED;
}

/*
 * Starts the daemon: beside this program, as in an installation or a build; for a program in
 * libexec, in bin; else through PATH.
 */
static int start_daemon(void)
{
	static const char *const paths[] = {"/" DAEMON, "/../sided/" DAEMON, "/../../bin/" DAEMON};
	char own[512], path[600];
	char *argv[] = {(char[]){DAEMON}, NULL};
	ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);
	int ret = ENOENT, status;
	char *slash;
	size_t i;
	pid_t pid;

	own[size > 0 ? size : 0] = 0;
	slash = strrchr(own, '/');
	if (slash)
		*slash = 0;
	for (i = 0; slash && ret && i < sizeof(paths) / sizeof(*paths); i++) {
		snprintf(path, sizeof(path), "%s%s", own, paths[i]);
		if (!access(path, X_OK))
			ret = posix_spawn(&pid, path, NULL, NULL, argv, environ);
	}
	if (ret)
		ret = posix_spawnp(&pid, DAEMON, NULL, NULL, argv, environ);
	if (ret)
		return -ret;
	/* The daemon's first process exits when the daemon listens. */
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ECHILD;
}

static int fail_connect(int code, const char *path, bool system, struct error *error)
{
	if (is_absent(code))
		return error_set_kind(error, ERROR_NOT_FOUND, code,
				system ? "`systemctl start sided` starts it"
				       : "`side daemon` starts it",
				"no daemon listens at %s", path);
	if (code == -EACCES || code == -EPERM)
		return error_set_kind(error, ERROR_PERMISSION, code,
				system ? "be root, or a member of the group " WIRE_RUNTIME_GROUP
				       : NULL,
				"no permission to connect to the daemon at %s", path);
	return error_set_kind(error, ERROR_FAILED, code, NULL,
			"cannot talk to the daemon at %s: %s", path, strerror(-code));
}

static int control_client_connect(enum control_where where, bool start, char *path, size_t capacity,
		struct error *error)
{
	char other[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	int fd = control_client_try_connect(where == CONTROL_SYSTEM, path, capacity);

	if (where == CONTROL_ANY && is_absent(fd)) {
		int system = control_client_try_connect(true, other, sizeof(other));

		if (system >= 0) {
			snprintf(path, capacity, "%.*s", (int)sizeof(other) - 1, other);
			return system;
		}
	}
	if (start && where != CONTROL_SYSTEM && is_absent(fd)) {
		int ret = start_daemon();

		if (ret)
			return error_set_kind(error, ERROR_FAILED, ret, "start `sided` by hand",
					"no daemon listens at %s, and it could not be started",
					path);
		fd = control_client_try_connect(false, path, capacity);
	}
	return fd < 0 ? fail_connect(fd, path, where == CONTROL_SYSTEM, error) : fd;
}

int control_connect(enum control_where where, bool start, struct control_client **ret_client,
		struct error *error)
{
	int fd;

	error_clear(error);
	*ret_client = calloc(1, sizeof(**ret_client));
	if (!*ret_client)
		return error_set_no_memory(error);
	fd = control_client_connect(
			where, start, (*ret_client)->path, sizeof((*ret_client)->path), error);
	if (fd < 0) {
		free(*ret_client);
		*ret_client = NULL;
		return fd;
	}
	(*ret_client)->fd = fd;
	frame_out_init(&(*ret_client)->out);
	return 0;
}

void control_close(struct control_client *client)
{
	if (!client)
		return;
	close(client->fd);
	frame_in_free(&client->in);
	frame_out_free(&client->out);
	free(client);
}

const char *control_path(const struct control_client *client)
{
	return client->path;
}

int control_fd(const struct control_client *client)
{
	return client->fd;
}

/* ---- requests ---- */

struct json_object *control_request(const char *verb, const char *session)
{
	struct json_object *request = json_object_new_object();

	if (json_put_number(request, "version", 1) && json_put_text(request, "verb", verb) &&
			(!session || json_put_text(request, "session", session)))
		return request;
	json_object_put(request);
	return NULL;
}

static int fail_talk(int code, struct control_client *client, struct error *error)
{
	if (code == -ETIMEDOUT)
		return error_set_kind(error, ERROR_FAILED, code, NULL,
				"the daemon at %s does not answer", client->path);
	if (code == -EPIPE || code == -ECONNRESET)
		return error_set_kind(error, ERROR_FAILED, -EPIPE,
				"if it was restarted, try again; see the daemon's log",
				"the daemon at %s has closed the connection", client->path);
	return error_set_kind(error, ERROR_FAILED, code, NULL,
			"cannot talk to the daemon at %s: %s", client->path, strerror(-code));
}

static int receive_until(struct control_client *client, int64_t deadline,
		struct json_object **ret_answer, struct error *error)
{
	for (;;) {
		int ret = frame_receive(
				&client->in, client->fd, FRAME_ANSWER_MAX, ret_answer, error);

		if (ret == 1)
			return 0;
		if (ret == -EPIPE || ret == -ECONNRESET)
			return fail_talk(ret, client, error);
		if (ret && ret != -EAGAIN)
			return ret;
		if (ret == -EAGAIN)
			ret = wait_for(client->fd, POLLIN, deadline);
		if (ret)
			return fail_talk(ret, client, error);
	}
}

static int send_until(struct control_client *client, int64_t deadline, struct error *error)
{
	int ret;

	while ((ret = frame_send(&client->out, client->fd)) == -EAGAIN) {
		ret = wait_for(client->fd, POLLOUT, deadline);
		if (ret)
			break;
	}
	return ret ? fail_talk(ret, client, error) : 0;
}

static int control_client_parse_answer(
		struct json_object *got, struct json_object **ret_answer, struct error *error)
{
	int ret = json_answer(got, error);

	if (!ret && ret_answer)
		*ret_answer = got;
	else
		json_object_put(got);
	return ret;
}

int control_call(struct control_client *client, struct json_object *request, int timeout_ms,
		struct json_object **ret_answer, struct error *error)
{
	return control_call_with(client, request, -1, timeout_ms, ret_answer, error);
}

int control_call_with(struct control_client *client, struct json_object *request, int fd,
		int timeout_ms, struct json_object **ret_answer, struct error *error)
{
	int64_t deadline = deadline_of(timeout_ms);
	struct json_object *got;
	int ret;

	error_clear(error);
	if (ret_answer)
		*ret_answer = NULL;
	ret = frame_put_with(&client->out, request, fd);
	if (ret == -E2BIG)
		return error_set_kind(error, ERROR_USAGE, ret, NULL, "the request is too long");
	if (ret)
		return error_set_no_memory(error);
	/*
	 * A daemon that refuses sends its answer and closes the connection: the answer is still in
	 * the queue.
	 */
	ret = send_until(client, deadline, error);
	if (ret && ret != -EPIPE)
		return ret;
	ret = receive_until(client, deadline, &got, error);
	return ret ? ret : control_client_parse_answer(got, ret_answer, error);
}

int control_next(struct control_client *client, int timeout_ms, struct json_object **ret_answer,
		struct error *error)
{
	struct json_object *got;
	int ret;

	error_clear(error);
	*ret_answer = NULL;
	ret = receive_until(client, deadline_of(timeout_ms), &got, error);
	return ret ? ret : control_client_parse_answer(got, ret_answer, error);
}
