/* SPDX-License-Identifier: MIT */
/*
 * The part of the table for the verbs that send requests to the daemon; table.c has the rules for
 * texts.
 *
 * An option with `ordered` becomes a member of the request, with its own name
 * (docs/spec/control-protocol.md). The other options are for `side` alone.
 */
#include "table.h"

#include "recorder/core/session.h"

/* A table: laid out by hand. */
/* clang-format off */

/* In the order of enum session_channel_mode and enum session_format. */
static const char *const mode_choices[] = { "discard", "overwrite", "block", NULL };
static const char *const format_choices[] = { "ctf1", "ctf2", NULL };
static const char *const wrapper_choices[] = { "libc", "pthread", NULL };

#define ASKED .ordered = true, .offset = offsetof(struct control_options, asked)

#define SESSION_OPTION { \
		.letter = 's', \
		.name = "session", \
		.argument = "SESSION", \
		.kind = OPTION_TEXT, \
		.completion = COMPLETE_SESSION, \
		.offset = offsetof(struct control_options, session), \
		.standard = "the current session, which `side create` and `side set-session` set", \
		.sentence = "Use the session SESSION.", \
	}
#define CHANNEL_OPTION { \
		.former_letter = 'c', \
		.name = "channel", \
		.argument = "CHANNEL", \
		.kind = OPTION_TEXT, \
		.completion = COMPLETE_CHANNEL, \
		ASKED, \
		.standard = SESSION_CHANNEL_NAME, \
		.sentence = "Use the channel CHANNEL of the session.", \
	}
#define USERSPACE_OPTION { \
		.letter = 'u', \
		.name = "userspace", \
		.kind = OPTION_FLAG, \
		.offset = offsetof(struct control_options, userspace), \
		.sentence = "Accepted for users of lttng; events of programs are the default.", \
	}
#define KERNEL_OPTIONS { \
		.letter = 'k', \
		.name = "kernel", \
		.kind = OPTION_FLAG, \
		.offset = offsetof(struct control_options, kernel), \
		.sentence = "Select trace events of the kernel, of the whole machine. PATTERN is a system (`sched`), an event " \
				"(`sched_switch`) or `sched:sched_*`. `side list -k` lists them.", \
	}, { \
		.name = "syscall", \
		.kind = OPTION_FLAG, \
		.offset = offsetof(struct control_options, syscall), \
		.sentence = "With `--kernel`: PATTERN is the name of a system call (`openat`); select its begin and its end.", \
	}
#define TIMEOUT_OPTION { \
		.name = "timeout", \
		.argument = "TIME", \
		.kind = OPTION_TIME, \
		ASKED, \
		.standard = "5s", \
		.sentence = "Wait at most TIME until all programs have made the change; 0s does not wait. If some have not, " \
				"they are named and the exit status is 5; they make the change when they continue.", \
	}
#define SYSTEM_OPTION { \
		.name = "system", \
		.kind = OPTION_FLAG, \
		.offset = offsetof(struct control_options, system), \
		.sentence = "Use the daemon of the system (/run/side) instead of the user's. Root and members of the group " \
				"tracing can use it.", \
	}
/* For verbs that never start a daemon. */
#define ONLY_OPTIONS { \
		.name = "no-daemon", \
		.kind = OPTION_FLAG, \
		.offset = offsetof(struct control_options, no_daemon), \
		.sentence = "Accepted for scripts: this verb never starts a daemon.", \
	}, SYSTEM_OPTION
#define DAEMON_OPTIONS { \
		.name = "no-daemon", \
		.kind = OPTION_FLAG, \
		.offset = offsetof(struct control_options, no_daemon), \
		.sentence = "Fail if no daemon runs. Otherwise the user's daemon is started, and a note reports it.", \
	}, SYSTEM_OPTION
#define END { .name = NULL }

/* ---- create, set-session, start, stop, destroy, status ---- */

const struct option table_create_options[] = {
	{
		.letter = 'o',
		.name = "output",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		ASKED,
		.standard = "NAME-DATE-TIME in side-traces in the home directory",
		.sentence = "Write the traces to DIR.",
	},
	{
		.name = "format",
		.argument = "FORMAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		ASKED,
		.choices = format_choices,
		.standard = "ctf1",
		.sentence = "Write CTF 1.8 (ctf1) or CTF 2 (ctf2).",
	},
	{
		.name = "compress",
		.argument = "LEVEL",
		.optional = true,
		.kind = OPTION_NUMBER,
		ASKED,
		.sentence = "Compress the traces with zstd, at LEVEL 1 to 19 (default 3).",
	},
	{
		.name = "memory-limit",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		ASKED,
		.standard = "512M",
		.sentence = "Use at most SIZE bytes for the rings of all processes of the session.",
	},
	{
		.name = "huge-pages",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Use huge pages for rings that are large enough, if some are free.",
	},
	{
		.name = "prefault",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Allocate all memory of the rings when a process joins, so that no event waits for a page.",
	},
	{
		.name = "symbols",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Record where executables and libraries are loaded, as `side record --symbols` does.",
	},
	{
		.name = "rotate-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		ASKED,
		.standard = "never",
		.sentence = "Start a new chunk of the trace every SIZE bytes.",
	},
	{
		.name = "rotate-every",
		.argument = "TIME",
		.kind = OPTION_TIME,
		ASKED,
		.standard = "never",
		.sentence = "Start a new chunk of the trace every TIME.",
	},
	{
		.name = "keep-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		ASKED,
		.standard = "no limit",
		.sentence = "Remove the oldest chunks while all together exceed SIZE.",
	},
	{
		.name = "keep-age",
		.argument = "TIME",
		.kind = OPTION_TIME,
		ASKED,
		.standard = "no limit",
		.sentence = "Remove chunks that are older than TIME.",
	},
	{
		.name = "keep-count",
		.argument = "NUMBER",
		.kind = OPTION_NUMBER,
		ASKED,
		.standard = "no limit",
		.sentence = "Keep at most NUMBER chunks.",
	},
	{
		.name = "snapshot-on",
		.argument = "WHAT",
		.kind = OPTION_LIST,
		ASKED,
		.sentence = "Write a snapshot at `event:PATTERN`, `event:PATTERN where FILTER`, `rate:PATTERN>N/s` or `crash`, as `side record` does. Can be given several times.",
	},
	{
		.name = "to",
		.argument = "URL",
		.kind = OPTION_TEXT,
		ASKED,
		.sentence = "Send the recording to URL, as `side record --to` does: net://HOST[:CONTROL[:DATA]][/SESSION] for a relay daemon, tcp://HOST:PORT for `side receive`, or the path of a file, a FIFO or a serial line. Without `-o`, data is kept here only until it is delivered.",
	},
	{
		.name = "spool",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		ASKED,
		.standard = "1G; with `-o` nothing is removed",
		.sentence = "With `--to`: limit the local files to SIZE bytes. Delivered data is removed first. If the receiver does not answer for so long that this is not enough, the oldest packets are dropped and counted. Recording continues.",
	},
	{
		.name = "speed",
		.argument = "BAUD",
		.kind = OPTION_NUMBER,
		ASKED,
		.standard = "unchanged",
		.sentence = "With `--to`: the speed of a serial line.",
	},
	{
		.name = "send-timeout",
		.argument = "TIME",
		.kind = OPTION_TIME,
		ASKED,
		.standard = "60s",
		.sentence = "With `--to`: `side destroy` gives up if nothing was delivered for TIME.",
	},
	DAEMON_OPTIONS,
	END,
};

const char *const table_create_paragraphs[] = {
	"Creates a session: what to record, of which processes, and where to. "
	"It records nothing until `side start`. "
	"It becomes the current session, which other verbs use if none is named.",
	"NAME has 1 to 64 letters, digits, dots, `_` and `-`; the default is side-DATE-TIME. "
	"A session lives in the daemon sided, which is started if it does not run. "
	"The session exists until `side destroy`, even if the daemon restarts.",
	"A session without `side enable-event` records no events.",
	"With `--to`, a process beside the recorder sends the files; `side status` shows its progress. "
	"It tries again if the connection breaks or the receiver does not answer. "
	"It stores what was delivered, and continues from there even after it, the recorder or the daemon was killed. "
	"`side receive` accepts each packet once. "
	"A relay daemon can have unconfirmed packets twice, in two of its sessions. "
	"A session with chunks sends each chunk when it is finished.",
	NULL,
};

const struct example table_create_examples[] = {
	{ "side create slow -o /tmp/slow && side enable-event 'db:*' --filter 'rows > 1000' && side start",
		"Record large queries of all programs of this user, now and later." },
	{ "side create --rotate-every 10min --keep-size 10G watch",
		"Keep the last ten gigabytes, in chunks of ten minutes." },
	{ "side create shop --to net://collector --spool 2G",
		"Send the recording to a relay daemon, with a spool of two gigabytes." },
	{ "side create --json | jq -r .session",
		"Print the chosen name for another program." },
	{ .command = NULL },
};

const struct option table_set_session_options[] = { DAEMON_OPTIONS, END };

const char *const table_set_session_paragraphs[] = {
	"Makes the session NAME the current one, as `side create` does.",
	NULL,
};

const struct example table_set_session_examples[] = {
	{ "side set-session slow",
		"Use the session slow from now on." },
	{ .command = NULL },
};

const struct option table_start_options[] = { SESSION_OPTION, TIMEOUT_OPTION, DAEMON_OPTIONS, END };

const char *const table_start_paragraphs[] = {
	"Starts a session: its programs record from now on, as do programs that start later. "
	"When the verb returns, all of them have started, or the verb names those that have not. "
	"After the first start the channels of a session cannot change; events, contexts and tracking can.",
	NULL,
};

const struct example table_start_examples[] = {
	{ "side start",
		"Start the current session." },
	{ "side start slow --timeout 30s",
		"Wait half a minute for programs that hang." },
	{ .command = NULL },
};

const struct option table_run_options[] = {
	{
		.letter = 's',
		.name = "session",
		.argument = "SESSION",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_SESSION,
		.offset = offsetof(struct control_options, session),
		.standard = "all sessions",
		.sentence = "Record the programs in this session only.",
	},
	{
		.letter = 'w',
		.name = "wrap",
		.argument = "WRAPPER",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct control_options, wrappers),
		.choices = wrapper_choices,
		.sentence = "Make events of calls of a library, which sessions record by their rules: libc (memory, files) or pthread (locks, threads). Can be given several times.",
	},
	ONLY_OPTIONS, END,
};

const char *const table_run_paragraphs[] = {
	"Runs a command. "
	"The command and its descendants join the sessions of the daemon when they start, whether or not they use libside. "
	"So `side enable-event --exe FILE` sets its probe in each of them that runs FILE, by a jump.",
	"The command runs in the process of `side run`: output, signals, terminal and exit status are its own. "
	"The exit status is 127 if there is no such command, and 126 if it cannot be executed.",
	"A program that cannot be recorded (static, 32-bit, musl, set-user-ID) runs unchanged. "
	"side reports each such file once, on standard error, while the command runs.",
	NULL,
};

const struct example table_run_examples[] = {
	{ "side run -- make check",
		"Record all programs that a build starts." },
	{ "side run --session web -- perl script.pl",
		"Record a script in the session web only." },
	{ "side run --wrap libc -- perl script.pl",
		"Record its memory calls, too, if a session has a rule such as `libc:malloc`." },
	{ .command = NULL },
};

const char *const table_stop_paragraphs[] = {
	"Stops a session. "
	"When the verb returns, everything recorded until then is in the trace. "
	"`side start` continues.",
	NULL,
};

const struct example table_stop_examples[] = {
	{ "side stop && side view ~/side-traces/slow-*",
		"Stop the current session and print its events." },
	{ .command = NULL },
};

const struct option table_destroy_options[] = {
	{
		.letter = 'a',
		.name = "all",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, all),
		.sentence = "Destroy all sessions.",
	},
	SESSION_OPTION, TIMEOUT_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_destroy_paragraphs[] = {
	"Stops sessions, completes their traces, reports what they recorded and lost, and removes the sessions. "
	"The traces are kept.",
	NULL,
};

const struct example table_destroy_examples[] = {
	{ "side destroy",
		"Remove the current session." },
	{ "side destroy -a",
		"Remove all sessions." },
	{ .command = NULL },
};

const struct option table_status_options[] = {
	{
		.letter = 'a',
		.name = "all",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, all),
		.sentence = "Show all sessions, one a line.",
	},
	SESSION_OPTION, ONLY_OPTIONS, END,
};

const char *const table_status_paragraphs[] = {
	"Shows a session: its state, its traces, its channels with their events, tracking, its processes, and losses. "
	"Without a name and a current session it shows all sessions, one a line. "
	"It starts no daemon; if none runs, the exit status is 1.",
	NULL,
};

const struct example table_status_examples[] = {
	{ "side status",
		"Show the current session." },
	{ "side status --json slow | jq '.processes[] | select(.lost > 0) .name'",
		"Find processes that lose events." },
	{ .command = NULL },
};

/* ---- events and channels ---- */

const struct option table_enable_event_options[] = {
	SESSION_OPTION,
	CHANNEL_OPTION,
	{
		.letter = 'a',
		.name = "all",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, all),
		.sentence = "Select all events; the same as no PATTERN.",
	},
	{
		.letter = 'x',
		.name = "exclude",
		.argument = "PATTERN",
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct control_options, exclude),
		.sentence = "Exclude events that match PATTERN. Can be given several times.",
	},
	{
		.letter = 'l',
		.name = "loglevel",
		.argument = "LEVEL",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct control_options, loglevel),
		.standard = "all",
		.sentence = "Select events of this log level and more severe ones, as `@LEVEL` in a pattern.",
	},
	{
		.name = "loglevel-only",
		.argument = "LEVEL",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct control_options, loglevel_only),
		.sentence = "Select events of exactly this log level, as `@=LEVEL`.",
	},
	{
		.letter = 'f',
		.name = "filter",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		ASKED,
		.sentence = "Record an event only if EXPRESSION, such as `size > 4096`, is true. See `side help filters`.",
	},
	{
		.name = "context",
		.argument = "NAME,...",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CONTEXT,
		.offset = offsetof(struct control_options, contexts),
		.sentence = "Record these values with each of the events. Can be given several times; see `side help contexts`.",
	},
	{
		.letter = 'p',
		.name = "pid",
		.argument = "PID",
		.kind = OPTION_NUMBER,
		.completion = COMPLETE_PROCESS_ID,
		.offset = offsetof(struct control_options, pid),
		.sentence = "Set a probe in this process (and its children) at the location of `--probe`, `--function` or `--sdt`. If the process has no agent, the agent is loaded into it, as by `side attach`.",
	},
	{
		.name = "exe",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_FILE,
		.offset = offsetof(struct control_options, exe),
		.sentence = "Set a probe in every program that runs this file and finds the daemon, now and later. The file need not exist yet. `side run` starts programs so that they find it, also without libside; `side system on` lets every program find it.",
	},
	{
		.name = "allow-unsafe-exit",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, global.forced),
		.sentence = "With `--global` and `--exit`: also watch returns of a file that handles exceptions. An exception that leaves such a function ends the program.",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, global.forced),
		.sentence = "Allow unsafe exits, like `--allow-unsafe-exit`.",
	},
	KERNEL_OPTIONS,
	{
		.name = "kernel-buffer",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct control_options, kernel_buffer),
		.standard = "2M",
		.sentence = "With `--kernel`: use a kernel buffer of SIZE bytes for each CPU, unless kernel events are already being recorded.",
	},
	{
		.name = "kernel-method",
		.former_name = "kernel-way",
		.argument = "METHOD",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct control_options, kernel_backend),
		.choices = table_kernel_backends,
		.standard = "best",
		.sentence = "With `--kernel`: how events are read, as for `side record`, unless kernel events are already being recorded.",
	},
	TABLE_PROBE_OPTIONS(control_options),
	{
		.name = "pending",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, pending),
		.sentence = "For a probe: accept a LIBRARY in `LIBRARY:NAME` of which no file is found. The probe is set in each file of it that a program loads.",
	},
	TABLE_GLOBAL_OPTIONS(control_options),
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, debuginfod),
		.sentence = "For a probe: get missing debug files of the program and its libraries from the servers in DEBUGINFOD_URLS.",
	},
	TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_enable_event_paragraphs[] = {
	"Adds a rule to a channel of a session: events that match any PATTERN are recorded from now on, in every program of the session. "
	"Patterns can be separated by commas. "
	"A missing channel is created, unless the session was started before.",
	"When the verb returns, all running programs have made the change, or the verb names those that have not (exit status 5).",
	"A PATTERN that begins with `libc:` or `pthread:` selects calls of the C library. "
	"Each program of the session then loads the wrapper of that name, until no rule names it or the session stops. "
	"side reports into how many programs it is loaded, and each program that cannot load it.",
	"With `--kernel` the events are those of the kernel, of all processes. "
	"A program in the background, side-kernel, reads them and writes them to the sessions, on the same clock as all others, with `pid`, `tid` and `comm` of the thread. "
	"It requires root or CAP_PERFMON. "
	"See docs/how-to/kernel.md.",
	"With `--pid` or `--exe` the events are probes: functions or instructions of the code. "
	"The first operand is the name of their event. "
	"See `side help probes`.",
	NULL,
};

const struct example table_enable_event_examples[] = {
	{ "side enable-event slow -u --pid 4711 --function handle_request --exit --arg 'request->path'",
		"Record calls of a function, with an argument and their duration." },
	{ "side enable-event read_config --global --exe /usr/sbin/nginx --function ngx_conf_parse",
		"As root, record a function of every nginx, now and later." },
	{ "side enable-event 'db:*' --exclude 'db:tick'",
		"Record a provider, except one of its events." },
	{ "side enable-event -k sched_switch --filter 'next_prio < 100'",
		"Record when the scheduler runs important threads, beside the events of programs." },
	{ "side enable-event -k --syscall openat,read",
		"Record begin and end of two system calls." },
	{ "side enable-event -u -a --loglevel WARNING",
		"Record all warnings and worse." },
	{ "side enable-event 'net:request' --filter 'size > 4096' --context vtid,procname -s slow",
		"Record large requests with their thread and process, in the session slow." },
	{ .command = NULL },
};

const struct option table_disable_event_options[] = {
	SESSION_OPTION,
	CHANNEL_OPTION,
	{
		.letter = 'a',
		.name = "all",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, all),
		.sentence = "Remove all rules of the channel.",
	},
	{
		.letter = 'p',
		.name = "pid",
		.argument = "PID",
		.kind = OPTION_NUMBER,
		.completion = COMPLETE_PROCESS_ID,
		.offset = offsetof(struct control_options, pid),
		.sentence = "Remove only probes of these events, and only those of this process.",
	},
	KERNEL_OPTIONS,
	TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_disable_event_paragraphs[] = {
	"Stops recording events in a channel, whichever rule added them. "
	"When the verb returns, no program records them, or the verb names those that still do.",
	NULL,
};

const struct example table_disable_event_examples[] = {
	{ "side disable-event 'db:tick'",
		"Stop recording an event." },
	{ "side disable-event -k -a",
		"Stop recording kernel events." },
	{ "side disable-event slow -u --pid 4711",
		"Remove a probe from a program." },
	{ "side disable-event -a --channel trouble",
		"Stop recording to the channel trouble." },
	{ .command = NULL },
};

const struct option table_enable_channel_options[] = {
	SESSION_OPTION,
	{
		.name = "mode",
		.argument = "MODE",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		ASKED,
		.choices = mode_choices,
		.standard = "discard",
		.sentence = "If a ring is full: discard drops new events and counts them; overwrite keeps the newest events until `side snapshot` or the end of the process; block makes the program wait for space.",
	},
	{
		.name = "buffer-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		ASKED,
		.standard = "4M, but at most 64M for all rings of a process",
		.sentence = "Give each CPU (or thread) of each process a ring of SIZE bytes, rounded to a power of two.",
	},
	{
		.name = "per-thread",
		.argument = "MAX",
		.optional = true,
		.kind = OPTION_NUMBER,
		ASKED,
		.sentence = "Give each thread a ring instead of each CPU, to at most MAX threads (default 64).",
	},
	{
		.name = "block-timeout",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.units = true,
		ASKED,
		.standard = "1s",
		.sentence = "With `--mode block`: an event waits at most TIME for space.",
	},
	{
		.name = "context",
		.argument = "NAME,...",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CONTEXT,
		ASKED,
		.sentence = "Record these values with each event of the channel. Can be given several times.",
	},
	TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_enable_channel_paragraphs[] = {
	"Creates the channel NAME in a session that was not started yet: rings of its own in each process, with their own mode, size, events and contexts. See `side help channels`. `side enable-event` creates the channel " SESSION_CHANNEL_NAME " if needed.",
	NULL,
};

const struct example table_enable_channel_examples[] = {
	{ "side enable-channel flight --mode overwrite --buffer-size 1M", "Keep the last megabyte of each CPU." },
	{ .command = NULL },
};

const struct option table_disable_channel_options[] = {
	SESSION_OPTION, TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_disable_channel_paragraphs[] = {
	"Removes all rules of the channel NAME, which then records nothing.",
	NULL,
};

const struct example table_disable_channel_examples[] = {
	{ "side disable-channel trouble",
		"Stop recording to the channel trouble." },
	{ .command = NULL },
};

const struct option table_add_context_options[] = {
	SESSION_OPTION,
	CHANNEL_OPTION,
	{
		.letter = 't',
		.name = "type",
		.argument = "NAME",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CONTEXT,
		.offset = offsetof(struct control_options, contexts),
		.sentence = "A context, as an operand is; accepted for users of lttng.",
	},
	{
		.letter = 'e',
		.name = "event",
		.argument = "PATTERN",
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		ASKED,
		.standard = "all events of the channel",
		.sentence = "Add it only to the rules with this pattern. Can be given several times.",
	},
	{
		.letter = 'p',
		.name = "pid",
		.argument = "PID",
		.kind = OPTION_NUMBER,
		.completion = COMPLETE_PROCESS_ID,
		.offset = offsetof(struct control_options, pid),
		.sentence = "Add it to the probes of this process whose event is that of `-e`: regs, reg:NAME, TYPE:NAME:ADDR, backtrace. If the event is NAME_return, the values are those at the return.",
	},
	TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_add_context_paragraphs[] = {
	"Records more values with the events of a channel from now on; `side help contexts` lists them.",
	NULL,
};

const struct example table_add_context_examples[] = {
	{ "side add-context vpid vtid procname",
		"Record process and thread of each event." },
	{ "side add-context -u -e slow --pid 4711 -t backtrace -t reg:rdx",
		"Record more at a probe." },
	{ "side add-context -u -t perf:thread:instructions",
		"Record the instruction count of the thread." },
	{ .command = NULL },
};

/* ---- tracking ---- */

#define TRACK(LETTER, FORMER, NAME, ARGUMENT, COMPLETION, SENTENCE) { \
		.letter = LETTER, \
		.former_letter = FORMER, \
		.name = NAME, \
		.argument = ARGUMENT, \
		.kind = OPTION_LIST, \
		.completion = COMPLETION, \
		.offset = offsetof(struct control_options, asked), \
		.ordered = true, \
		.sentence = SENTENCE, \
	}
#define TRACK_OPTIONS \
	TRACK('p', 0, "pid", "PID,...", COMPLETE_PROCESS_ID, "Processes with these ids."), \
	TRACK(0, 0, "uid", "UID,...", COMPLETE_NONE, "Processes of these users, by number or name."), \
	TRACK(0, 0, "gid", "GID,...", COMPLETE_NONE, "Processes of these groups, by number or name."), \
	TRACK(0, 'n', "name", "GLOB", COMPLETE_PROCESS, "Processes whose name matches, as in `redis*`."), \
	TRACK(0, 0, "cgroup", "GLOB", COMPLETE_NONE, "Processes whose control group matches."), \
	TRACK(0, 0, "container", "GLOB", COMPLETE_NONE, "Processes of containers whose id matches.")

const struct option table_track_options[] = {
	SESSION_OPTION,
	TRACK_OPTIONS,
	{
		.name = "exclude",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Exclude these processes, and record all others.",
	},
	{
		.letter = 'a',
		.name = "all",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Record every process again.",
	},
	TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_track_paragraphs[] = {
	"Chooses the processes of a session. "
	"It records a process that matches anything tracked and nothing excluded. "
	"A session without tracking records all processes. "
	"This applies to running processes and to those that start later.",
	NULL,
};

const struct example table_track_examples[] = {
	{ "side track --name 'redis*'",
		"Record programs with this name." },
	{ "side track --pid 4711,4712",
		"Record two processes." },
	{ "side track --exclude --name cron",
		"Record all processes except one." },
	{ .command = NULL },
};

const struct option table_untrack_options[] = {
	SESSION_OPTION,
	TRACK_OPTIONS,
	{
		.name = "exclude",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Undo `side track --exclude`.",
	},
	{
		.letter = 'a',
		.name = "all",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Undo all tracking: record every process again.",
	},
	TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_untrack_paragraphs[] = {
	"Undoes `side track`. "
	"A process that matches nothing any more is not recorded from then on.",
	NULL,
};

const struct example table_untrack_examples[] = {
	{ "side untrack --pid 4711",
		"Stop recording a process." },
	{ "side untrack --all",
		"Record every process again." },
	{ .command = NULL },
};

/* ---- the trace ---- */

const struct option table_plain_options[] = { SESSION_OPTION, DAEMON_OPTIONS, END };

const char *const table_snapshot_paragraphs[] = {
	"Writes what the rings of a session hold now as a trace of its own, and prints its directory. "
	"The programs add a state dump, such as the list of their libraries. "
	"The session continues. "
	"Useful for channels with `--mode overwrite`.",
	NULL,
};

const struct example table_snapshot_examples[] = {
	{ "side view \"$(side snapshot)\"",
		"Print the last events." },
	{ .command = NULL },
};

const char *const table_rotate_paragraphs[] = {
	"Finishes the current chunk of the trace, starts the next one, and prints the directory of the finished one. "
	"Each event is in exactly one chunk.",
	NULL,
};

const struct example table_rotate_examples[] = {
	{ "side report \"$(side rotate)\"",
		"Report on what was recorded until now." },
	{ .command = NULL },
};

const char *const table_clear_paragraphs[] = {
	"Deletes what a session has recorded so far, of running and of ended programs. "
	"A started session continues to record, and the trace has only events from now on. "
	"Finished chunks (`side rotate`), snapshots, and the content of channels that overwrite are kept. "
	"The counters of `side status` continue. "
	"A session that is sent (`--to`) cannot be cleared.",
	NULL,
};

const struct example table_clear_examples[] = {
	{ "side clear && ./reproduce && side stop",
		"Keep only the events of one command." },
	{ .command = NULL },
};

const char *const table_regenerate_paragraphs[] = {
	"Requests a state dump from all programs of a session, as `side statedump` does. "
	"Metadata, which lttng regenerates by this verb, is always complete here.",
	NULL,
};

const struct example table_regenerate_examples[] = {
	{ "side regenerate statedump",
		"Record the state once more." },
	{ .command = NULL },
};

const char *const table_version_paragraphs[] = {
	"Prints the version of side, as `side --version` does. "
	"`side daemon` prints that of the daemon.",
	NULL,
};

const struct example table_version_examples[] = {
	{ "side version --json",
		"Print the version for a script." },
	{ .command = NULL },
};

const char *const table_statedump_paragraphs[] = {
	"Requests a state dump from all programs of a session: the events that they declare for that purpose, and where their libraries are loaded. "
	"`side start` does this as well.",
	NULL,
};

const struct example table_statedump_examples[] = {
	{ "side statedump",
		"Record the state once more." },
	{ .command = NULL },
};

const struct option table_save_options[] = {
	{
		.letter = 'o',
		.name = "output",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_FILE,
		.offset = offsetof(struct control_options, file),
		.standard = "standard output",
		.sentence = "Write to FILE, and replace it.",
	},
	{
		.letter = 'a',
		.name = "all",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, all),
		.sentence = "Save all sessions.",
	},
	SESSION_OPTION, ONLY_OPTIONS, END,
};

const char *const table_save_paragraphs[] = {
	"Writes the definitions of sessions as JSON: events, processes and settings, but no recorded data. "
	"`side load` creates the sessions again.",
	NULL,
};

const struct example table_save_examples[] = {
	{ "side save slow -o slow.json",
		"Save a session." },
	{ "side save -a | jq .channels",
		"Print the channels of all sessions." },
	{ .command = NULL },
};

const struct option table_load_options[] = {
	{
		.former_letter = 'f',
		.name = "force",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Replace existing sessions.",
	},
	{
		.letter = 's',
		.name = "session",
		.argument = "SESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct control_options, session),
		.standard = "the name in the file",
		.sentence = "Give the session this name.",
	},
	DAEMON_OPTIONS, END,
};

const char *const table_load_paragraphs[] = {
	"Creates sessions from FILEs that `side save` wrote (`-`: standard input). "
	"They are not started. "
	"The last one becomes the current session.",
	"Probes are resolved again: for processes that still run, and for files as they are now. "
	"If a probe cannot be resolved, a message names it, the exit status is 1, and the session is created without it.",
	NULL,
};

const struct example table_load_examples[] = {
	{ "side load slow.json && side start",
		"Record with a saved session." },
	{ .command = NULL },
};

/* ---- daemon, complete ---- */

const struct option table_daemon_options[] = {
	{
		.name = "stop",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, stop),
		.sentence = "Stop the daemon, and wait until it has ended. Its sessions are kept and continue when it is started again. If no daemon runs, a note reports it, and the exit status is 0.",
	},
	DAEMON_OPTIONS, END,
};

const char *const table_daemon_paragraphs[] = {
	"Shows where the daemon sided runs, which keeps the sessions, and starts the user's daemon in the background if it does not run. "
	"Verbs for sessions do that as well. "
	"The daemon of the system is started by systemd, or as `sided --system`.",
	"Programs search for the daemon when they start. "
	"Programs that started before it are not reached; use `side attach --daemon`.",
	NULL,
};

const struct example table_daemon_examples[] = {
	{ "side daemon",
		"Start the daemon, or show where it runs." },
	{ "side daemon --stop",
		"Stop the daemon." },
	{ "side daemon --no-daemon -q",
		"Test whether it runs: the exit status is 0 then." },
	{ .command = NULL },
};

const struct option table_complete_options[] = {
	SESSION_OPTION,
	{
		.name = "system",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, system),
		.sentence = "Ask the daemon of the system.",
	},
	END,
};

const char *const table_complete_paragraphs[] = {
	"Prints names, one a line, for shell completion and scripts. "
	"KIND is sessions, channels (of the session), events (of running programs), processes (names of programs that can be traced) or pids. "
	"Starts no daemon; prints nothing if there is none.",
	NULL,
};

const struct example table_complete_examples[] = {
	{ "side complete events", "List the events of all running programs by name." },
	{ .command = NULL },
};

/* clang-format on */
