/* SPDX-License-Identifier: MIT */
/*
 * The verbs that ask the daemon for something, in the table; its rules for texts stand in table.c.
 *
 * An option that is `ordered` goes into the request under its own name (docs/spec/control-protocol.md);
 * the others are for the command line alone.
 */
#include "table.h"

#include "session/session.h"

/* A table: laid out by hand. */
/* clang-format off */

/* In the order of enum session_channel_mode and enum session_format. */
static const char *const mode_words[] = { "discard", "overwrite", "block", NULL };
static const char *const format_words[] = { "ctf1", "ctf2", NULL };

#define ASKED .ordered = true, .offset = offsetof(struct control_options, asked)

#define SESSION_OPTION { \
		.letter = 's', \
		.name = "session", \
		.argument = "SESSION", \
		.kind = OPTION_TEXT, \
		.completion = COMPLETE_SESSION, \
		.offset = offsetof(struct control_options, session), \
		.standard = "the current session, which `side create` and `side set-session` set", \
		.sentence = "The session that is meant.", \
	}
#define CHANNEL_OPTION { \
		.letter = 'c', \
		.name = "channel", \
		.argument = "CHANNEL", \
		.kind = OPTION_TEXT, \
		.completion = COMPLETE_CHANNEL, \
		ASKED, \
		.standard = SESSION_CHANNEL_NAME, \
		.sentence = "The channel of the session that is meant.", \
	}
#define USERSPACE_OPTION { \
		.letter = 'u', \
		.name = "userspace", \
		.kind = OPTION_FLAG, \
		.offset = offsetof(struct control_options, userspace), \
		.sentence = "Accepted from the hands of lttng's users; events are always those of programs.", \
	}
#define KERNEL_OPTIONS { \
		.letter = 'k', \
		.name = "kernel", \
		.kind = OPTION_FLAG, \
		.offset = offsetof(struct control_options, kernel), \
		.sentence = "Trace events of the kernel, of the whole machine: PATTERN is a system (`sched`), an event " \
				"(`sched_switch`) or `sched:sched_*`. `side list -k` shows them.", \
	}, { \
		.name = "syscall", \
		.kind = OPTION_FLAG, \
		.offset = offsetof(struct control_options, syscall), \
		.sentence = "With `--kernel`: PATTERN is the name of a system call (`openat`); its begin and its end are meant.", \
	}
#define TIMEOUT_OPTION { \
		.name = "timeout", \
		.argument = "TIME", \
		.kind = OPTION_TIME, \
		ASKED, \
		.standard = "5s", \
		.sentence = "Wait at most TIME until every program has switched over; 0s does not wait. Programs that " \
				"have not are named, and the exit status is 5; they switch when they run again.", \
	}
#define DAEMON_OPTIONS { \
		.name = "no-daemon", \
		.kind = OPTION_FLAG, \
		.offset = offsetof(struct control_options, no_daemon), \
		.sentence = "Fail if no daemon runs; else the user's own is started, which is said.", \
	}, { \
		.name = "system", \
		.kind = OPTION_FLAG, \
		.offset = offsetof(struct control_options, system), \
		.sentence = "Ask the daemon of the system (/run/side), not the user's own. Root and members of the group " \
				"tracing may.", \
	}
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
		.choices = format_words,
		.standard = "ctf1",
		.sentence = "Describe the traces in CTF 1.8 (ctf1) or CTF 2 (ctf2).",
	},
	{
		.name = "compress",
		.argument = "LEVEL",
		.optional = true,
		.kind = OPTION_NUMBER,
		ASKED,
		.sentence = "Compress the traces with zstd, at LEVEL 1 to 19 (3 if it is left out).",
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
		.sentence = "Use huge pages for rings that are as large as one, where there are some.",
	},
	{
		.name = "prefault",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Make all memory of the rings when a process joins, so that no event waits for a page.",
	},
	{
		.name = "symbols",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Record where executables and libraries are, as `side record --symbols` does.",
	},
	{
		.name = "rotate-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		ASKED,
		.standard = "never",
		.sentence = "Begin a new chunk of the traces whenever SIZE bytes were written.",
	},
	{
		.name = "rotate-every",
		.argument = "TIME",
		.kind = OPTION_TIME,
		ASKED,
		.standard = "never",
		.sentence = "Begin a new chunk whenever TIME has passed.",
	},
	{
		.name = "keep-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		ASKED,
		.standard = "no limit",
		.sentence = "Remove the oldest chunks when all together are larger than SIZE.",
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
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		ASKED,
		.standard = "no limit",
		.sentence = "Keep at most COUNT chunks.",
	},
	{
		.name = "snapshot-on",
		.argument = "WHAT",
		.kind = OPTION_LIST,
		ASKED,
		.sentence = "Make a snapshot when `event:PATTERN` happens, `event:PATTERN where FILTER`, `rate:PATTERN>N/s` "
				"or `crash`, as `side record` does. May be given several times.",
	},
	{
		.name = "to",
		.argument = "URL",
		.kind = OPTION_TEXT,
		ASKED,
		.sentence = "Send what is recorded to URL, as `side record --to` does: net://HOST[:CONTROL[:DATA]][/SESSION] "
				"for a relay daemon, tcp://HOST:PORT for `side receive`, or the path of a file, a FIFO or a "
				"serial line. Without `-o` what is recorded is kept here until it is there, and no longer.",
	},
	{
		.name = "spool",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		ASKED,
		.standard = "1G; with `-o` nothing is removed",
		.sentence = "With `--to`: let the local files grow to SIZE bytes: beyond that, what was delivered is removed "
				"from them, and when the receiver is away for so long that this is not enough, the oldest "
				"packets are given up, and counted. Recording goes on.",
	},
	{
		.name = "speed",
		.argument = "BAUD",
		.kind = OPTION_NUMBER,
		ASKED,
		.standard = "as it is",
		.sentence = "With `--to`: the speed of a serial line.",
	},
	{
		.name = "send-timeout",
		.argument = "TIME",
		.kind = OPTION_TIME,
		ASKED,
		.standard = "60s",
		.sentence = "With `--to`: let `side destroy` give up when nothing was delivered for TIME.",
	},
	DAEMON_OPTIONS,
	END,
};

const char *const table_create_paragraphs[] = {
	"Makes a session: what is to be recorded, of which processes, and where to. It records nothing until "
	"`side start`. It becomes the current session, which the other verbs mean when none is named.",
	"NAME has 1 to 64 letters, digits, dots, `_` and `-`; without one it is side-DATE-TIME. A session lives "
	"in the daemon sided, which is started when it does not run, and is there until `side destroy`, also "
	"when the daemon is started again.",
	"A session without `side enable-event` has no event to record.",
	"With `--to` a process beside the recorder sends what is in the files, and `side status` says how far it is. It "
	"tries again when a connection breaks or the receiver is away, and what was delivered is written down, so "
	"that it goes on from there also when it, the recorder or the daemon was killed. `side receive` takes no "
	"packet twice; a relay daemon has those that it could not confirm any more twice, in two of its sessions. A "
	"session with chunks sends each when it is finished.",
	NULL,
};

const struct example table_create_examples[] = {
	{ "side create slow -o /tmp/slow && side enable-event 'db:*' --filter 'rows > 1000' && side start",
		"Record large queries of all programs of this user, running and to come." },
	{ "side create --rotate-every 10min --keep-size 10G watch", "Keep the last ten gigabytes, in chunks of ten minutes." },
	{ "side create shop --to net://collector --spool 2G", "Let a relay daemon have it, and wait for it with two gigabytes." },
	{ "side create --json | jq -r .session", "Let another program read the name that was chosen." },
	{ .command = NULL },
};

const struct option table_set_session_options[] = { DAEMON_OPTIONS, END };

const char *const table_set_session_paragraphs[] = {
	"Makes the session NAME the current one. `side create` does that, too.",
	NULL,
};

const struct example table_set_session_examples[] = {
	{ "side set-session slow", "Mean the session slow from now on." },
	{ .command = NULL },
};

const struct option table_start_options[] = { SESSION_OPTION, TIMEOUT_OPTION, DAEMON_OPTIONS, END };

const char *const table_start_paragraphs[] = {
	"Starts a session: every program that it is for records from now on, those that run and those that "
	"will. When the verb returns, they have all switched over, or are named. From the first start on, the "
	"channels of the session stay as they are; events, contexts and tracking may change.",
	NULL,
};

const struct example table_start_examples[] = {
	{ "side start", "Start the current session." },
	{ "side start slow --timeout 30s", "Give programs that hang half a minute." },
	{ .command = NULL },
};

const char *const table_stop_paragraphs[] = {
	"Stops a session. What was recorded until then is in its traces when the verb returns. `side start` goes on.",
	NULL,
};

const struct example table_stop_examples[] = {
	{ "side stop && side view ~/side-traces/slow-*", "Stop the current session and look at it." },
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
	"Ends sessions: they are stopped, their traces are completed, and what they recorded and lost is said. The traces stay.",
	NULL,
};

const struct example table_destroy_examples[] = {
	{ "side destroy", "End the current session." },
	{ "side destroy -a", "End all sessions." },
	{ .command = NULL },
};

const struct option table_status_options[] = {
	{
		.letter = 'a',
		.name = "all",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, all),
		.sentence = "Show all sessions, each in a line.",
	},
	SESSION_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_status_paragraphs[] = {
	"Shows a session: its state, its traces, its channels with their events, whom it tracks, its processes, and "
	"what was lost. Without a name and a current session it shows all, each in a line.",
	NULL,
};

const struct example table_status_examples[] = {
	{ "side status", "Look at the current session." },
	{ "side status --json slow | jq '.processes[] | select(.lost > 0) .name'", "Find who loses events." },
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
		.sentence = "All events; the same as no PATTERN.",
	},
	{
		.letter = 'x',
		.name = "exclude",
		.argument = "PATTERN",
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct control_options, exclude),
		.sentence = "But not those that match this one. May be given several times.",
	},
	{
		.letter = 'l',
		.name = "loglevel",
		.argument = "LEVEL",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct control_options, loglevel),
		.standard = "all",
		.sentence = "Only events of this log level and more severe ones, as `@LEVEL` in a pattern.",
	},
	{
		.name = "loglevel-only",
		.argument = "LEVEL",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct control_options, loglevel_only),
		.sentence = "Only events of exactly this log level, as `@=LEVEL`.",
	},
	{
		.letter = 'f',
		.name = "filter",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		ASKED,
		.sentence = "Only when EXPRESSION, like `size > 4096`, is true of the event. See `side help filters`.",
	},
	{
		.name = "context",
		.argument = "NAME,...",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CONTEXT,
		.offset = offsetof(struct control_options, contexts),
		.sentence = "Record these with each of the events. May be given several times; see `side help contexts`.",
	},
	{
		.name = "pid",
		.argument = "PID",
		.kind = OPTION_NUMBER,
		.completion = COMPLETE_PROCESS_ID,
		.offset = offsetof(struct control_options, pid),
		.sentence = "Of this process (and what it forks), put a probe where the options `--probe`, `--function` or `--sdt` say. The recorder is brought to it if it is not there, as `side attach` does.",
	},
	{
		.name = "exe",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_FILE,
		.offset = offsetof(struct control_options, exe),
		.sentence = "The same in every program of this file, those that come to the daemon by themselves, now and later.",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, global.forced),
		.sentence = "With `--global` and `--exit`: watch returns of a file that handles exceptions. An exception that leaves such a function ends the program.",
	},
	KERNEL_OPTIONS,
	{
		.name = "kernel-buffer",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct control_options, kernel_buffer),
		.standard = "2M",
		.sentence = "With `--kernel`: give each CPU a buffer of SIZE bytes in the kernel, if nobody records the kernel's "
				"events yet.",
	},
	{
		.name = "kernel-way",
		.argument = "WAY",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct control_options, kernel_way),
		.choices = table_kernel_ways,
		.standard = "best",
		.sentence = "With `--kernel`: how the events are got out of the kernel, as for `side record`, if nobody records "
				"them yet.",
	},
	TABLE_PROBE_OPTIONS(control_options),
	TABLE_GLOBAL_OPTIONS(control_options),
	TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_enable_event_paragraphs[] = {
	"Adds a rule to a channel of a session: the events that match any PATTERN are recorded from now on, in "
	"every program that the session is for. Several patterns may stand with commas between them. A channel "
	"that is not there is made, unless the session was started already.",
	"When the verb returns, the running programs have switched over, or are named (exit status 5).",
	"With `--kernel` the events are those of the kernel, of all processes. A program in the background, side-kernel, listens to "
	"them and says them in the sessions, on the same clock as all others; each has `pid`, `tid` and `comm` of the thread that it "
	"happened in. It takes root, or CAP_PERFMON. docs/guide/kernel.md says more.",
	"With `--pid` or `--exe` the events are not those that the program declares, but places of its code where it says nothing: "
	"the first operand is the name that their event gets. `side help probes` says more.",
	NULL,
};

const struct example table_enable_event_examples[] = {
	{ "side enable-event slow -u --pid 4711 --function handle_request --exit --arg 'request->path'",
		"Record calls of a function that nobody instrumented, with an argument and the time that they take." },
	{ "side enable-event read_config --global --exe /usr/sbin/nginx --function ngx_conf_parse", "As root, see it in every nginx, also one that starts later." },
	{ "side enable-event 'db:*' --exclude 'db:tick'", "Record a provider, but not one of its events." },
	{ "side enable-event -k sched_switch --filter 'next_prio < 100'",
		"Record when the scheduler lets important threads run, beside the events of programs." },
	{ "side enable-event -k --syscall openat,read", "Record begin and end of two system calls." },
	{ "side enable-event -u -a --loglevel WARNING", "Record all warnings and what is worse." },
	{ "side enable-event 'net:request' --filter 'size > 4096' --context vtid,procname -s slow",
		"Record large requests with who made them, in the session slow." },
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
		.sentence = "All rules of the channel.",
	},
	{
		.name = "pid",
		.argument = "PID",
		.kind = OPTION_NUMBER,
		.completion = COMPLETE_PROCESS_ID,
		.offset = offsetof(struct control_options, pid),
		.sentence = "Only probes of these events, and only those of this process.",
	},
	KERNEL_OPTIONS,
	TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_disable_event_paragraphs[] = {
	"Takes events out of a channel: they are not recorded any more, whichever rule added them. When the verb "
	"returns, no program records them any more, or is named.",
	NULL,
};

const struct example table_disable_event_examples[] = {
	{ "side disable-event 'db:tick'", "Do without an event from now on." },
	{ "side disable-event -k -a", "Record nothing more of the kernel." },
	{ "side disable-event slow -u --pid 4711", "Take a probe out of a program." },
	{ "side disable-event -a -c trouble", "Record nothing more into the channel trouble." },
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
		.choices = mode_words,
		.standard = "discard",
		.sentence = "What a full ring does: discard (new events are lost, and counted), overwrite (the newest "
				"events stay, until `side snapshot` or the end of the process) or block (the program waits "
				"until there is room).",
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
		.sentence = "Give each thread a ring of its own, not each CPU; at most MAX threads (64 if it is left out).",
	},
	{
		.name = "block-timeout",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.units = true,
		ASKED,
		.standard = "1s",
		.sentence = "With `--mode block`: how long one event waits for room at most.",
	},
	{
		.name = "context",
		.argument = "NAME,...",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CONTEXT,
		ASKED,
		.sentence = "Record these with each event of the channel. May be given several times.",
	},
	TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_enable_channel_paragraphs[] = {
	"Makes the channel NAME in a session that was not started yet: rings of its own in each process, with "
	"their own mode, size, events and contexts. `side help channels` says more. `side enable-event` makes "
	"the channel " SESSION_CHANNEL_NAME " by itself.",
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
	"Takes all rules from the channel NAME: it records nothing any more.",
	NULL,
};

const struct example table_disable_channel_examples[] = {
	{ "side disable-channel trouble", "Record nothing more into the channel trouble." },
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
		.sentence = "The same as an operand, as lttng's users write it.",
	},
	{
		.letter = 'e',
		.name = "event",
		.argument = "PATTERN",
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		ASKED,
		.standard = "all events of the channel",
		.sentence = "Only to the rules that have this pattern. May be given several times.",
	},
	{
		.name = "pid",
		.argument = "PID",
		.kind = OPTION_NUMBER,
		.completion = COMPLETE_PROCESS_ID,
		.offset = offsetof(struct control_options, pid),
		.sentence = "To the probes of this process that make the event of `-e`: regs, reg:NAME, TYPE:NAME:ADDR, backtrace. Where that "
				"is NAME_return, they are of the return.",
	},
	TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_add_context_paragraphs[] = {
	"Records more beside the events of a channel from now on; `side help contexts` lists what there is.",
	NULL,
};

const struct example table_add_context_examples[] = {
	{ "side add-context vpid vtid procname", "Record who says each event." },
	{ "side add-context -u -e slow --pid 4711 -t backtrace -t reg:rdx", "Record more at a probe." },
	{ "side add-context -u -t perf:thread:instructions", "Record the instructions of the thread." },
	{ .command = NULL },
};

/* ---- whom ---- */

#define TRACK(LETTER, NAME, ARGUMENT, COMPLETION, SENTENCE) { \
		.letter = LETTER, \
		.name = NAME, \
		.argument = ARGUMENT, \
		.kind = OPTION_LIST, \
		.completion = COMPLETION, \
		.offset = offsetof(struct control_options, asked), \
		.ordered = true, \
		.sentence = SENTENCE, \
	}
#define TRACK_OPTIONS \
	TRACK('p', "pid", "PID,...", COMPLETE_PROCESS_ID, "Processes by number."), \
	TRACK(0, "uid", "UID,...", COMPLETE_NONE, "Processes of these users, by number or name."), \
	TRACK(0, "gid", "GID,...", COMPLETE_NONE, "Processes of these groups, by number or name."), \
	TRACK('n', "name", "GLOB", COMPLETE_PROCESS, "Processes whose name matches, as in `redis*`."), \
	TRACK(0, "cgroup", "GLOB", COMPLETE_NONE, "Processes whose control group matches."), \
	TRACK(0, "container", "GLOB", COMPLETE_NONE, "Processes of containers whose id matches.")

const struct option table_track_options[] = {
	SESSION_OPTION,
	TRACK_OPTIONS,
	{
		.name = "exclude",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Not these, but all others.",
	},
	{
		.letter = 'a',
		.name = "all",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Every process again.",
	},
	TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_track_paragraphs[] = {
	"Says of which processes a session records: those that any of what was tracked fits, and nothing of "
	"what was excluded. A session that tracks nothing records of all. Holds for processes that run and for "
	"those that will.",
	NULL,
};

const struct example table_track_examples[] = {
	{ "side track --name 'redis*'", "Record of programs with this name." },
	{ "side track --pid 4711,4712", "Record of two processes." },
	{ "side track --exclude --name cron", "Record of all but one." },
	{ .command = NULL },
};

const struct option table_untrack_options[] = {
	SESSION_OPTION,
	TRACK_OPTIONS,
	{
		.name = "exclude",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Take back what `side track --exclude` said.",
	},
	{
		.letter = 'a',
		.name = "all",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Take back all: record of every process again.",
	},
	TIMEOUT_OPTION, USERSPACE_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_untrack_paragraphs[] = {
	"Takes back what `side track` said. A process that nothing fits any more is not recorded from then on.",
	NULL,
};

const struct example table_untrack_examples[] = {
	{ "side untrack --pid 4711", "Do without a process." },
	{ "side untrack --all", "Record of every process again." },
	{ .command = NULL },
};

/* ---- what was recorded ---- */

const struct option table_plain_options[] = { SESSION_OPTION, DAEMON_OPTIONS, END };

const char *const table_snapshot_paragraphs[] = {
	"Writes what the rings of a session hold now as a trace of its own, and prints where it is. The session "
	"goes on. Meant for channels with `--mode overwrite`.",
	NULL,
};

const struct example table_snapshot_examples[] = {
	{ "side view \"$(side snapshot)\"", "Look at the last moments." },
	{ .command = NULL },
};

const char *const table_rotate_paragraphs[] = {
	"Ends the present chunk of the traces of a session, begins the next one, and prints where the finished one "
	"is. No event is lost, and none stands in both.",
	NULL,
};

const struct example table_rotate_examples[] = {
	{ "side report \"$(side rotate)\"", "Look at what was recorded until now." },
	{ .command = NULL },
};

const char *const table_clear_paragraphs[] = {
	"Drops what a session has recorded so far, of programs that run and of those that have ended, and goes on recording, if it is "
	"started: what is said from now on is in the traces, and nothing else. Finished chunks (`side rotate`) and snapshots stay, as does what channels hold that "
	"overwrite. The figures of `side status` go on counting. A session that is sent to somebody cannot be cleared.",
	NULL,
};

const struct example table_clear_examples[] = {
	{ "side clear && ./reproduce && side stop", "Keep nothing of what was before." },
	{ .command = NULL },
};

const char *const table_regenerate_paragraphs[] = {
	"Asks every program of a session to say its state again: `side statedump`. Metadata, which lttng makes anew by that name, is "
	"whole at any time here.",
	NULL,
};

const struct example table_regenerate_examples[] = {
	{ "side regenerate statedump", "Have the state in the trace once more." },
	{ .command = NULL },
};

const char *const table_version_paragraphs[] = {
	"Prints the version of side, as `side --version` does. That of the daemon is told by `side daemon`.",
	NULL,
};

const struct example table_version_examples[] = {
	{ "side version --json", "Know what there is, from a script." },
	{ .command = NULL },
};

const char *const table_statedump_paragraphs[] = {
	"Asks every program of a session to say its state again: the events that it declared for that, and where its "
	"libraries are. `side start` does that by itself.",
	NULL,
};

const struct example table_statedump_examples[] = {
	{ "side statedump", "Have the state in the trace once more." },
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
		.sentence = "Write to FILE, which is replaced.",
	},
	{
		.letter = 'a',
		.name = "all",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct control_options, all),
		.sentence = "Save all sessions.",
	},
	SESSION_OPTION, DAEMON_OPTIONS, END,
};

const char *const table_save_paragraphs[] = {
	"Writes the definitions of sessions as JSON: what is recorded of whom and how, not what was recorded. "
	"`side load` makes sessions of them again.",
	NULL,
};

const struct example table_save_examples[] = {
	{ "side save slow -o slow.json", "Keep a session for another day." },
	{ "side save -a | jq .channels", "Look at what all sessions record." },
	{ .command = NULL },
};

const struct option table_load_options[] = {
	{
		.letter = 'f',
		.name = "force",
		.kind = OPTION_FLAG,
		ASKED,
		.sentence = "Replace sessions that are there.",
	},
	{
		.letter = 's',
		.name = "session",
		.argument = "SESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct control_options, session),
		.standard = "the name in the file",
		.sentence = "Call the session so.",
	},
	DAEMON_OPTIONS, END,
};

const char *const table_load_paragraphs[] = {
	"Makes sessions of what `side save` wrote to the FILEs (`-`: standard input). They are not started. The "
	"last one becomes the current session.",
	"Probes are resolved anew, for processes that are still the same ones and files as they are now. Which cannot be "
	"is said; the exit status is 1 then, and the session is there without them.",
	NULL,
};

const struct example table_load_examples[] = {
	{ "side load slow.json && side start", "Record again what was saved." },
	{ .command = NULL },
};

/* ---- daemon, complete ---- */

const struct option table_daemon_options[] = { DAEMON_OPTIONS, END };

const char *const table_daemon_paragraphs[] = {
	"Says where the daemon sided is that keeps the sessions, and starts the user's own in the background if it "
	"does not run. The verbs for sessions do that by themselves. The daemon of the system is started by "
	"systemd, or as `sided --system`.",
	"Programs look for it when they start: those that started before it are not reached.",
	NULL,
};

const struct example table_daemon_examples[] = {
	{ "side daemon", "Start the daemon, or see where it is." },
	{ "side daemon --no-daemon -q", "Ask whether it runs: the exit status is 0 then." },
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
	"Prints names, one a line, for the completion of shells and for scripts. KIND is sessions, channels (of the session), "
	"events (of the programs that run), processes (the names of programs that can be traced) or pids. "
	"Starts no daemon; where there is nothing to know it prints nothing.",
	NULL,
};

const struct example table_complete_examples[] = {
	{ "side complete events", "List the events of all running programs by name." },
	{ .command = NULL },
};

/* clang-format on */
