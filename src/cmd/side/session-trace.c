/* SPDX-License-Identifier: MIT */
/* Traces by the name of their session: `side view mine`, or the current session where nothing is named. */
#include "session-trace.h"

#include "ask.h"
#include "control/client.h"
#include "say.h"

#include <json.h>

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 10000

/* Where the session writes; false: nobody knows of such a session, or it writes nowhere. */
static bool find_output(struct ask *ask, const char *name, char *path)
{
	struct json_object *request = control_request("status", name), *answer = NULL, *sessions;
	struct control_error error;
	const char *output = "";

	if (request && !control_call(ask->client, request, PATIENCE_MS, &answer, &error)) {
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

/* `name`: NULL for the current session. */
static bool find_session(const char *name, char *path)
{
	char current[ASK_NAME_MAX];
	bool found = false;
	struct ask ask;

	for (int system = 0; system < 2 && !found; system++) {
		if (ask_connect_silently(&ask, system, NULL))
			continue;
		if (name || current_read(&ask, current))
			found = find_output(&ask, name ? name : current, path);
		ask_close(&ask);
	}
	return found;
}

int session_trace(struct parsed *parsed)
{
	static char path[PATH_MAX];
	static char *operands[] = {path, NULL, NULL};

	if (parsed->operand_count) {
		const char *given = parsed->operands[0];

		/* What is there is meant as it stands, and what cannot be a name is a path. */
		if (strchr(given, '/') || !access(given, F_OK) || errno != ENOENT)
			return COMMAND_DONE;
		if (!find_session(given, path))
			return COMMAND_DONE;
		operands[1] = parsed->operand_count > 1 ? parsed->operands[1] : NULL;
	} else {
		if (!find_session(NULL, path))
			return say_error(COMMAND_USAGE, "name its directory or its session",
					"%s, and there is no current session",
					parsed->verb->missing);
		parsed->operand_count = 1;
	}
	parsed->operands = operands;
	return COMMAND_DONE;
}
