/* SPDX-License-Identifier: MIT */
/*
 * Reports in which programs of a session a wrapper library records calls, and in which not.
 *
 * The agent has loaded the library before the daemon answers `side enable-event`. The result is read
 * from the memory of the programs. A program in a control mode without a thread has not asked the
 * daemon yet.
 */
#include "wrapped-programs.h"

#include "attach/inject.h"
#include "programs/common/ask.h"
#include "programs/common/message.h"
#include "protocol/wrapper-state.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const wrapped_names[WRAPPED_NR] = {
		[WRAPPED_LIBC] = "libc", [WRAPPED_PTHREAD] = "pthread"};

const char *wrapped_name(enum wrapped_library library)
{
	return wrapped_names[library];
}

static const struct wrapped_refusal {
	const char *reason, *hint;
	const char *attach_hint; /* what `side attach --daemon` does then; NULL: `hint` is the hint */
} wrapped_refusals[WRAPPER_STATE_NR] = {
		[WRAPPER_STATE_NO_FILE] =
				{"the agent was loaded from memory, so no wrapper library is beside it",
						"`side attach -w` loads the wrapper from memory, too",
						NULL},
		[WRAPPER_STATE_CHANGED] =
				{"the path of its agent leads to another file now, or to none",
						"restart the program", NULL},
		[WRAPPER_STATE_LOADER] = {"its loader refuses the wrapper library",
				"`SIDE_DEBUG=1` in the environment of the program prints the reason",
				NULL},
		[WRAPPER_STATE_FORKED] =
				{"it is a forked child, in which the agent must not load a library",
						NULL, "loads it there"},
		[WRAPPER_STATE_REFUSED] =
				{"its agent and the wrapper library are of different releases",
						"restart the program", NULL},
};

static void wrapped_note(const char *session, enum wrapped_library library,
		struct json_object *process, const struct wrapped_refusal *refusal)
{
	char name[64], hint[128];

	if (refusal->attach_hint)
		snprintf(hint, sizeof(hint), "`side attach --daemon -p %" PRIu64 "` %s",
				ask_number(process, "pid"), refusal->attach_hint);
	message_note_hint(refusal->attach_hint ? hint : refusal->hint,
			"session %s: %s (process %" PRIu64
			") does not record the events of the wrapper `%s`: %s",
			session, format_printable(ask_text(process, "name"), name, sizeof(name)),
			ask_number(process, "pid"), wrapped_names[library], refusal->reason);
}

/* The program has not asked the daemon since it arrived, and may never do so by itself. */
static bool wrapped_waits(struct json_object *process)
{
	const char *control = ask_text(process, "control");

	return !strcmp(control, "sync") || !strcmp(control, "signal") || ask_flag(process, "armed");
}

static void wrapped_add_program(const char *session, enum wrapped_library library,
		struct json_object *process, struct wrapped_programs *result)
{
	static const struct wrapped_refusal waits = {
			"it has not asked the daemon since it was started", NULL, "makes it ask"};
	const uint64_t pid = ask_number(process, "pid");
	const struct wrapped_refusal *refusal = NULL;
	uint64_t states, state;

	if (!pid || pid > INT_MAX || inject_agent_word((pid_t)pid, WRAPPER_STATE_SYMBOL, &states))
		return;
	state = states >> library * WRAPPER_STATE_BITS & ((1u << WRAPPER_STATE_BITS) - 1);
	if (state == WRAPPER_STATE_ACTIVE || state == WRAPPER_STATE_PRELOADED)
		result->nr_active++;
	else if (state == WRAPPER_STATE_NONE)
		refusal = wrapped_waits(process) ? &waits : NULL;
	else if (state < WRAPPER_STATE_NR)
		refusal = &wrapped_refusals[state];
	if (!refusal)
		return;
	result->nr_refusals++;
	wrapped_note(session, library, process, refusal);
}

struct wrapped_programs wrapped_programs_report(
		const char *session, enum wrapped_library library, struct json_object *processes)
{
	const size_t count = processes ? json_object_array_length(processes) : 0;
	struct wrapped_programs result = {0};

	for (size_t i = 0; i < count; i++)
		wrapped_add_program(
				session, library, json_object_array_get_idx(processes, i), &result);
	if (result.nr_active)
		message_note("session %s: the wrapper `%s` is loaded into %zu program%s", session,
				wrapped_names[library], result.nr_active,
				result.nr_active == 1 ? "" : "s");
	return result;
}
