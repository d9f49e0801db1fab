/* SPDX-License-Identifier: MIT */
/*
 * Starts and controls side-kernel, which records the kernel's events of all sessions of the daemon.
 *
 * `side` starts it when a session needs it. The rules of kernel events are like all others.
 * side-kernel ends when no session needs it.
 */
#include "kernel-session.h"

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "helper-program.h"
#include "programs/common/message.h"

#include "sessions/json.h"
#include "recorder/core/session.h"
#include "protocol/pattern.h"
#include "protocol/runtime.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX 4096
#define TIMEOUT_S 60 /* enabling thousands of events takes some seconds */
#define KERNEL_AGENT_VARIABLE "SIDE_AGENT_KERNEL"

/* ---- requests to side-kernel ---- */

static int kernel_session_connect(struct ask *ask)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = control_path(ask->client), *slash = path ? strrchr(path, '/') : NULL;
	int fd;

	if (!slash ||
			snprintf(address.sun_path, sizeof(address.sun_path),
					"%.*s/" KERNEL_SESSION_SOCKET, (int)(slash - path),
					path) >= (int)sizeof(address.sun_path))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	close(fd);
	return -1;
}

/*
 * Sends a command and returns the answer, which the caller puts. NULL: side-kernel does not run, or
 * does not answer.
 */
static struct json_object *kernel_session_call(
		struct ask *ask, const char *command, const char *argument)
{
	struct error error;
	char text[ANSWER_MAX];
	size_t size = 0;
	ssize_t got;
	int fd = kernel_session_connect(ask);

	if (fd < 0)
		return NULL;
	snprintf(text, sizeof(text), "%s%s%.600s\n", command, *argument ? " " : "", argument);
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		size = sizeof(text);
	while (size < sizeof(text) - 1 &&
			(got = recv(fd, text + size, sizeof(text) - 1 - size, 0)) > 0)
		size += (size_t)got;
	close(fd);
	if (size >= sizeof(text) - 1 || !size)
		return NULL;
	return json_parse_deep(text, size, JSON_DEPTH_MAX, &size, &error);
}

struct json_object *kernel_session_status(struct ask *ask)
{
	return kernel_session_call(ask, KERNEL_SESSION_STATUS, "");
}

void kernel_session_drain(struct ask *ask)
{
	json_object_put(kernel_session_call(ask, KERNEL_SESSION_DRAIN, ""));
}

int kernel_session_refresh(struct ask *ask)
{
	/* A side-kernel of the earlier release that still runs knows only the former name. */
	json_object_put(kernel_session_call(ask, KERNEL_SESSION_FORMER_REFRESH, ""));
	return COMMAND_DONE;
}

/* ---- start of side-kernel ---- */

/*
 * Starts side-kernel with SIDE_RUNTIME set to this daemon's directory: if it also joined a second
 * daemon, sessions would have each event twice.
 */
static int kernel_session_start_for_daemon(const struct ask *ask, char ***args)
{
	const char *path = control_path(ask->client), *slash = path ? strrchr(path, '/') : NULL,
		   *before = getenv(WIRE_RUNTIME_ENV);
	char *kept = before ? strdup(before) : NULL,
	     *directory = slash ? strndup(path, (size_t)(slash - path)) : NULL;
	int status;

	if (directory)
		(void)setenv(WIRE_RUNTIME_ENV, directory, 1);
	status = helper_start(args, KERNEL_AGENT_VARIABLE, "1");
	if (kept)
		(void)setenv(WIRE_RUNTIME_ENV, kept, 1);
	else
		(void)unsetenv(WIRE_RUNTIME_ENV);
	free(kept);
	free(directory);
	return status;
}

static int kernel_session_start(const struct ask *ask, const struct control_options *options)
{
	static const char *const backends[] = {NULL, "perf", "tracefs"};
	const char *backend = options ? backends[options->kernel_backend] : NULL;
	char path[PATH_MAX], **args = NULL;
	int status = helper_find(SESSION_KERNEL_PROGRAM, "kernel events", path);

	if (status)
		return status;
	if (helper_add(&args, path, NULL) && (!backend || helper_add(&args, "--method", backend)) &&
			(!options || !options->kernel_buffer ||
					helper_add_number(
							&args, "--buffer", options->kernel_buffer)))
		status = kernel_session_start_for_daemon(ask, &args);
	else
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	helper_free(args);
	return status;
}

static int kernel_session_ensure_started(struct ask *ask, const struct control_options *options)
{
	struct json_object *status = kernel_session_status(ask);

	if (!status)
		return kernel_session_start(ask, options);
	if (options && (options->kernel_backend || options->kernel_buffer))
		message_note("kernel events are already read through %s, for all sessions: `--kernel-method` and `--kernel-buffer` have no effect until no session records kernel events",
				ask_text(status, ask_renamed(status, "method", "way")));
	json_object_put(status);
	return COMMAND_DONE;
}

/* ---- rules ---- */

static int kernel_session_check_pattern(struct ask *ask, const char *text)
{
	struct json_object *answer, *known = NULL;
	const char *name = text + sizeof(PATTERN_KERNEL) - 1;
	int status = COMMAND_DONE;

	if (*text == '!' || !pattern_is_kernel(text))
		return COMMAND_DONE;
	answer = kernel_session_call(ask, KERNEL_SESSION_KNOWS, name);
	if (answer && json_object_object_get_ex(answer, "known", &known) &&
			!json_object_get_boolean(known))
		status = message_error(COMMAND_FAILED,
				"`side list -k` lists the kernel's trace events",
				"no kernel trace event matches `%.128s`", name);
	json_object_put(answer);
	return status;
}

int kernel_session_prepare(
		struct ask *ask, const struct parsed *parsed, struct json_object *request)
{
	struct json_object *patterns = ask_list(request, "event");
	int status = kernel_session_ensure_started(ask, &parsed->options.control);

	for (size_t i = 0; patterns && i < json_object_array_length(patterns) && !status; i++)
		status = kernel_session_check_pattern(ask,
				json_object_get_string(json_object_array_get_idx(patterns, i)));
	return status;
}

static bool kernel_session_is_in_channel(struct json_object *channel)
{
	struct json_object *rules = ask_list(channel, "rules");

	for (size_t i = 0; rules && i < json_object_array_length(rules); i++) {
		struct json_object *texts = ask_list(json_object_array_get_idx(rules, i), "event");

		for (size_t k = 0; texts && k < json_object_array_length(texts); k++) {
			const char *text =
					json_object_get_string(json_object_array_get_idx(texts, k));

			if (text && *text != '!' && pattern_is_kernel(text))
				return true;
		}
	}
	return false;
}

bool kernel_session_has(struct json_object *definition)
{
	struct json_object *channels = ask_list(definition, "channels");

	for (size_t i = 0; channels && i < json_object_array_length(channels); i++)
		if (kernel_session_is_in_channel(json_object_array_get_idx(channels, i)))
			return true;
	return false;
}

bool kernel_session_ensure(struct ask *ask, const char *session)
{
	struct json_object *request = control_request("status", session), *answer = NULL, *sessions,
			   *definition;
	struct error error;
	bool has = false;

	/* Ignore errors: the request that follows reports them. */
	if (request && !control_call(ask->client, request, ASK_TIMEOUT_MS, &answer, &error)) {
		sessions = ask_list(answer, "sessions");
		for (size_t i = 0; sessions && i < json_object_array_length(sessions); i++) {
			definition = NULL;
			if (json_object_object_get_ex(json_object_array_get_idx(sessions, i),
					    "definition", &definition))
				has |= kernel_session_has(definition);
		}
		json_object_put(answer);
	}
	json_object_put(request);
	/* All other events are recorded without side-kernel. */
	if (has && !kernel_session_ensure_started(ask, NULL))
		(void)kernel_session_refresh(ask);
	return has;
}
