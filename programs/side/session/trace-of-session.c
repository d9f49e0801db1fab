/* SPDX-License-Identifier: MIT */
/*
 * Finds the trace of a session by its name: `side view mine`, or that of the current session if no
 * trace is named.
 */
#include "trace-of-session.h"

#include "programs/common/ask.h"
#include "programs/side/cli/path-search.h"
#include "sessions/client.h"
#include "base/nearest/nearest.h"
#include "programs/common/message.h"

#include <json.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 10000

/*
 * Writes the output directory of the session to `path`. False if the session does not exist, or has
 * no output.
 */
static bool session_trace_find_output(struct ask *ask, const char *name, char *path)
{
	struct json_object *request = control_request("status", name), *answer = NULL, *sessions;
	struct error error;
	const char *output = "";

	if (request && !control_call(ask->client, request, TIMEOUT_MS, &answer, &error)) {
		sessions = ask_list(answer, "sessions");
		if (sessions && json_object_array_length(sessions))
			output = ask_text(json_object_array_get_idx(sessions, 0), "output");
	}
	if (strlen(output) >= PATH_MAX)
		output = "";
	strcpy(path, output);
	json_object_put(answer);
	json_object_put(request);
	return *path;
}

/* `name` NULL: the current session. */
static bool session_trace_find(const char *name, char *path)
{
	char current[ASK_NAME_MAX];
	bool found = false;
	struct ask ask;

	for (int system = 0; system < 2 && !found; system++) {
		if (ask_connect_silently(&ask, system, NULL))
			continue;
		if (name || current_read(&ask, current))
			found = session_trace_find_output(&ask, name ? name : current, path);
		ask_close(&ask);
	}
	return found;
}

/* ---- misspelled names ---- */

#define TRACE_DEPTH 2 /* levels of directories above `metadata`: processes and chunks */

static bool session_trace_has_metadata(int at, const char *name, unsigned int depth)
{
	const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool found;

	if (!directory) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	found = !faccessat(fd, "metadata", F_OK, 0);
	while (depth && !found && (entry = readdir(directory)))
		found = *entry->d_name != '.' &&
				session_trace_has_metadata(fd, entry->d_name, depth - 1);
	closedir(directory);
	return found;
}

/* Offers the traces of a directory. Opens only those with a similar name. */
static void session_trace_offer(struct nearest *nearest, const char *path)
{
	const struct dirent *entry;
	DIR *directory = opendir(path);

	while (directory && (entry = readdir(directory))) {
		struct nearest one;

		nearest_begin(&one, nearest->word);
		if (*entry->d_name != '.')
			nearest_offer(&one, entry->d_name);
		if (one.count &&
				session_trace_has_metadata(
						dirfd(directory), entry->d_name, TRACE_DEPTH))
			nearest_offer(nearest, entry->d_name);
	}
	if (directory)
		closedir(directory);
}

void session_offer_names(struct nearest *nearest, bool system)
{
	struct json_object *request, *answer = NULL, *sessions;
	struct error error;
	struct ask ask;

	if (ask_connect_silently(&ask, system, NULL))
		return;
	request = control_request("list", NULL);
	if (request && !control_call(ask.client, request, ASK_TIMEOUT_MS, &answer, &error)) {
		sessions = ask_list(answer, "sessions");
		for (size_t i = 0; sessions && i < json_object_array_length(sessions); i++)
			nearest_offer(nearest,
					ask_text(json_object_array_get_idx(sessions, i), "name"));
	}
	json_object_put(request);
	json_object_put(answer);
	ask_close(&ask);
}

/*
 * Refuses a path that is close to an existing name. Returns COMMAND_DONE if no name is close: the
 * verb then reports the error of the path.
 */
static int session_trace_refuse(const struct parsed *parsed, const char *requested)
{
	char suggestion[NEAREST_TEXT_SIZE], beside[PATH_MAX], path[PATH_MAX];
	struct nearest nearest;
	const char *slash;
	size_t size = strlen(requested);

	/* Ignore a trailing slash, which shells add when they complete a name. */
	while (size > 1 && requested[size - 1] == '/')
		size--;
	if (snprintf(path, sizeof(path), "%.*s", (int)size, requested) >= (int)sizeof(path))
		return COMMAND_DONE;
	requested = path;
	slash = strrchr(requested, '/');
	if (snprintf(beside, sizeof(beside), "%.*s", slash ? (int)(slash - requested) + 1 : 0,
			    requested) >= (int)sizeof(beside))
		return COMMAND_DONE;
	nearest_begin(&nearest, slash ? slash + 1 : requested);
	session_trace_offer(&nearest, slash ? beside : ".");
	for (int system = 0; !slash && system < 2; system++)
		session_offer_names(&nearest, system);
	if (!nearest_text(&nearest, beside, suggestion, sizeof(suggestion)))
		return COMMAND_DONE;
	return message_error(COMMAND_FAILED, suggestion, "cannot %s %s: %s", parsed->verb->name,
			requested, strerror(ENOENT));
}

/* A path and an existing file have priority over the name of a session. */
static bool session_trace_can_be_name(const char *requested)
{
	return !strchr(requested, '/') && access(requested, F_OK) && errno == ENOENT;
}

int session_trace(struct parsed *parsed)
{
	static char path[PATH_MAX];
	static char *operands[] = {path, NULL, NULL};

	if (parsed->operand_count) {
		const char *requested = parsed->operands[0];

		/* An existing path has priority over the name of a session. */
		if (!access(requested, F_OK) || errno != ENOENT)
			return COMMAND_DONE;
		if (strchr(requested, '/') || !session_trace_find(requested, path))
			return session_trace_refuse(parsed, requested);
		operands[1] = parsed->operand_count > 1 ? parsed->operands[1] : NULL;
	} else {
		if (!session_trace_find(NULL, path))
			return message_error(COMMAND_USAGE,
					"name the directory or the session of the trace",
					"%s, and there is no current session",
					parsed->verb->missing);
		parsed->operand_count = 1;
	}
	parsed->operands = operands;
	return COMMAND_DONE;
}

void session_trace_or_command(struct parsed *parsed)
{
	static char path[PATH_MAX];
	static char *operands[] = {path, NULL};
	const char *requested = parsed->operand_count == 1 ? parsed->operands[0] : "/";

	if (!parsed->dashes && session_trace_can_be_name(requested) &&
			!path_has_program(requested) && session_trace_find(requested, path))
		parsed->operands = operands;
}

void session_trace_two(struct parsed *parsed)
{
	static char paths[2][PATH_MAX];
	static char *operands[] = {NULL, NULL, NULL};

	for (int i = 0; i < 2 && i < parsed->operand_count; i++) {
		const char *requested = parsed->operands[i];

		operands[i] = parsed->operands[i];
		if (session_trace_can_be_name(requested) && session_trace_find(requested, paths[i]))
			operands[i] = paths[i];
	}
	parsed->operands = operands;
}
