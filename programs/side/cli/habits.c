/* SPDX-License-Identifier: MIT */
/*
 * Hints for verbs and options of other tools (lttng, perf, strace, bpftrace, babeltrace2). parse.c
 * looks up only words that the table does not have, so an entry never hides a verb or option.
 */
#include "programs/common/command.h"
#include "programs/common/message.h"

#include "base/nearest/nearest.h"

#include <string.h>

struct habit {
	const char *verb; /* our verb before the word; NULL: the word is used as verb */
	const char *word;
	const char *hint;
};

#define WRAP_PROBES \
	"`--function libc:malloc` records calls by a probe; `side record -w` and `side attach -w` have wrappers"
#define WRAP_SESSION \
	"leave it out: `side enable-event 'libc:*'` selects the events of a wrapper, which the programs then load"

static const struct habit habits[] = {
		{NULL, "start-daemon", "`side daemon` starts the daemon"},
		{NULL, "list-sessions", "`side list` shows the sessions"},
		{NULL, "list-events", "`side list -u` shows the events of programs that run"},
		{NULL, "sessions", "`side list` shows the sessions"},
		{NULL, "ls", "`side list` shows events and sessions"},
		{NULL, "script", "`side view DIR` prints the events of a trace"},
		{NULL, "dump", "`side view DIR` prints the events of a trace"},
		{NULL, "log", "`side view DIR` prints the events of a trace"},
		{NULL, "tail", "`side view --follow DIR` prints events while they are recorded"},
		{NULL, "live", "`side view --follow DIR` prints events while they are recorded"},
		{NULL, "convert",
				"`side export DIR --format FORMAT` converts a trace for other programs"},
		{NULL, "stat", "`side report DIR` counts the events of a trace"},
		{NULL, "stats", "`side report DIR` counts the events of a trace"},
		{NULL, "info", "`side status` shows sessions, `side report DIR` a trace"},
		{NULL, "monitor", "`side top` shows rates and losses of a session"},
		{NULL, "enable-rotation",
				"`side create --rotate-size` and `--rotate-every` rotate automatically"},
		{NULL, "add-trigger",
				"`side create --snapshot-on WHAT` writes snapshots automatically"},
		{"create", "--snapshot",
				"`side enable-channel CHANNEL --mode overwrite` makes a flight recorder, and `side snapshot` a snapshot"},
		{"create", "--live",
				"`side view --follow SESSION` prints events while they are recorded"},
		{"create", "--set-url", "`--to URL` sends the trace"},
		{"enable-channel", "--subbuf-size", "`--buffer-size SIZE` is the size of a ring"},
		{"enable-channel", "--num-subbuf", "`--buffer-size SIZE` is the size of a ring"},
		{"enable-channel", "--overwrite", "write `--mode overwrite`"},
		{"enable-channel", "--discard", "write `--mode discard`"},
		{"enable-channel", "--blocking-timeout", "write `--block-timeout TIME`"},
		{"enable-channel", "--switch-timer",
				"leave it out: events are readable without it"},
		{"enable-channel", "--read-timer", "leave it out: events are readable without it"},
		{"enable-channel", "--tracefile-size",
				"`side create --rotate-size SIZE` limits files"},
		{"enable-channel", "--buffers-uid",
				"leave it out: each process has its own buffers"},
		{"enable-channel", "--buffers-pid",
				"leave it out: each process has its own buffers"},
		{"record", "-p", "use `side attach -p PID` for a running program"},
		{"record", "--pid", "use `side attach -p PID` for a running program"},
		{"trace", "-w", WRAP_PROBES},
		{"trace", "--wrap", WRAP_PROBES},
		{"enable-event", "-w", WRAP_SESSION},
		{"enable-event", "--wrap", WRAP_SESSION},
		{"record", "-a",
				"use a session to record all programs: `side create && side enable-event '*' && side start`"},
		{"record", "--all-cpus",
				"use a session to record all programs: `side create && side enable-event '*' && side start`"},
		{"record", "-F", "leave it out: side records every event, and does not sample"},
		{"record", "--freq", "leave it out: side records every event, and does not sample"},
		{"record", "--live",
				"`side view --follow DIR` prints events while they are recorded"},
		{"record", "--duration",
				"let `timeout` end the command: `side record timeout 5s COMMAND`"},
		{"view", "-i", "the trace is named without an option: `side view DIR`"},
		{"view", "--input", "the trace is named without an option: `side view DIR`"},
		{"view", "--begin", "the first time is given by `--from`"},
		{"view", "--end", "the last time is given by `--to`"},
		{"report", "-i", "the trace is named without an option: `side report DIR`"},
		{"report", "--input", "the trace is named without an option: `side report DIR`"},
		{"export", "-i", "the trace is named without an option: `side export DIR`"},
		{"export", "--input", "the trace is named without an option: `side export DIR`"},
		{"send", "--to", "the URL is named without an option: `side send DIR URL`"},
		{"send", "-o", "the URL is named without an option: `side send DIR URL`"},
		{"receive", "--to", "the directory is named by `-o`: `side receive SOURCE -o DIR`"},
		{"enable-event", "-k", "use `side record -k PATTERN` for kernel events"},
		{"enable-event", "--kernel", "use `side record -k PATTERN` for kernel events"},
};

const char *habits_hint(const struct verb *verb, const char *word)
{
	for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++) {
		const struct habit *habit = &habits[i];

		if (!habit->verb != !verb || strcmp(habit->word, word) != 0)
			continue;
		if (!verb || !strcmp(habit->verb, verb->name))
			return habit->hint;
	}
	return NULL;
}

int command_unknown_word(const struct verb *verb, const char *word, const char *const *choices,
		const char *hint)
{
	char suggestion[NEAREST_TEXT_SIZE], prefix[64];
	struct nearest nearest;

	nearest_begin(&nearest, word);
	for (; *choices; choices++)
		nearest_offer(&nearest, *choices);
	snprintf(prefix, sizeof(prefix), "side %s ", verb->name);
	return message_error(COMMAND_USAGE,
			nearest_text(&nearest, prefix, suggestion, sizeof(suggestion)) ? suggestion
										       : hint,
			"`side %s` does not accept `%.128s`", verb->name, word);
}
