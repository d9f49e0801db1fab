/* SPDX-License-Identifier: MIT */
/*
 * Asks the daemon whether a session still has the event, and makes this process its only recorder.
 */
#include "uprobes.h"

#include "programs/common/ask.h"
#include "protocol/pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TIMEOUT_MS 5000
#define TURN_MS 5000
#define STEP_MS 10

/* True if the patterns of the rule match the event. */
static bool uprobes_rule_matches_event(
		struct json_object *rule, const char *provider, const char *event)
{
	struct json_object *texts = ask_list(rule, "event");
	size_t nr = texts ? json_object_array_length(texts) : 0, parsed = 0;
	struct pattern *patterns = calloc(nr + 1, sizeof(*patterns));
	struct pattern_error ignored;
	bool wants;

	for (size_t i = 0; patterns && i < nr; i++)
		parsed += !pattern_parse(
				json_object_get_string(json_object_array_get_idx(texts, i)),
				&patterns[parsed], &ignored);
	wants = patterns && pattern_set_wants(patterns, parsed, provider, event, 0);
	free(patterns);
	return wants;
}

/* True if a rule of a channel matches the event. */
static bool uprobes_session_has_rule(struct json_object *definition, const char *name)
{
	struct json_object *channels = ask_list(definition, "channels");
	char provider[600], *event;

	(void)snprintf(provider, sizeof(provider), "%s", name);
	event = strchr(provider, ':');
	if (!event)
		return false;
	*event++ = 0;
	for (size_t i = 0; channels && i < json_object_array_length(channels); i++) {
		struct json_object *rules =
				ask_list(json_object_array_get_idx(channels, i), "rules");

		for (size_t j = 0; rules && j < json_object_array_length(rules); j++)
			if (uprobes_rule_matches_event(
					    json_object_array_get_idx(rules, j), provider, event))
				return true;
	}
	return false;
}

/* True if a probe of the session in that process has the event. */
static bool uprobes_session_has_probe(
		struct json_object *definition, const char *name, pid_t process)
{
	struct json_object *probes = ask_list(definition, "probes");

	for (size_t i = 0; probes && i < json_object_array_length(probes); i++) {
		struct json_object *probe = json_object_array_get_idx(probes, i);
		struct json_object *events = ask_list(probe, "event");

		if (ask_number(probe, "pid") != (uint64_t)process)
			continue;
		for (size_t j = 0; events && j < json_object_array_length(events); j++)
			if (!strcmp(json_object_get_string(json_object_array_get_idx(events, j)),
					    name))
				return true;
	}
	return false;
}

bool wanted_by_session(const char *session, bool system, const char *event, pid_t process)
{
	struct json_object *request = NULL, *answer = NULL, *sessions, *definition;
	struct error error;
	struct ask ask;
	bool found = false;

	if (ask_connect_silently(&ask, system, &error))
		return false;
	request = control_request("status", session);
	if (request && !control_call(ask.client, request, TIMEOUT_MS, &answer, &error)) {
		sessions = ask_list(answer, "sessions");
		for (size_t i = 0; sessions && i < json_object_array_length(sessions); i++) {
			struct json_object *one = json_object_array_get_idx(sessions, i);

			if (!json_object_object_get_ex(one, "definition", &definition))
				definition = one;
			found |= process ? uprobes_session_has_probe(definition, event, process)
					 : uprobes_session_has_rule(definition, event);
		}
		json_object_put(answer);
	}
	json_object_put(request);
	ask_close(&ask);
	return found;
}

/* Open the lock file in the daemon's directory, to which other users cannot write. */
static int uprobes_open_lock(const char *session, bool system, const char *event, pid_t process)
{
	struct error error;
	char path[1024], name[400];
	struct ask ask;

	if (ask_connect_silently(&ask, system, &error))
		return -1;
	(void)snprintf(path, sizeof(path), "%s", control_path(ask.client));
	ask_close(&ask);
	if (!strrchr(path, '/'))
		return -1;
	(void)snprintf(name, sizeof(name), "/uprobes-%.100s-%.250s", session, event);
	if (process)
		(void)snprintf(name + strlen(name), sizeof(name) - strlen(name), "-%d", process);
	for (char *at = name + 1; *at; at++)
		if (*at == '/')
			*at = '_';
	(void)snprintf(strrchr(path, '/'), sizeof(name), "%s", name);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Returns the process that holds the lock, as the kernel reports it, or 0. */
static pid_t uprobes_lock_holder(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return !fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

/*
 * End the holder of the lock. The lock is checked after the pidfd is open: the pidfd then belongs
 * to the holder, and not to another process that got its process id.
 */
static bool uprobes_end_lock_holder(int fd, pid_t holder)
{
	int process = (int)syscall(SYS_pidfd_open, holder, 0);
	bool is_holder = process >= 0 && uprobes_lock_holder(fd) == holder;

	if (is_holder)
		(void)syscall(SYS_pidfd_send_signal, process, SIGTERM, NULL, 0);
	if (process >= 0)
		close(process);
	return is_holder;
}

static int turn_fd = -1; /* an open lock file */

void wanted_end_turn(void)
{
	if (turn_fd >= 0)
		close(turn_fd);
	turn_fd = -1;
}

bool wanted_take_turn(const char *session, bool system, const char *event, pid_t process)
{
	int fd = uprobes_open_lock(session, system, event, process);
	pid_t asked = 0, holder;

	if (fd < 0)
		return false;
	for (int waited = 0; waited < TURN_MS; waited += STEP_MS) {
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

		if (!fcntl(fd, F_SETLK, &lock)) {
			turn_fd = fd;
			return true;
		}
		holder = uprobes_lock_holder(fd);
		if (holder > 0 && holder != asked && uprobes_end_lock_holder(fd, holder))
			asked = holder;
		usleep(STEP_MS * 1000);
	}
	close(fd);
	return false;
}
