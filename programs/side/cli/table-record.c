/* SPDX-License-Identifier: MIT */
/* The part of the table for `record` and `recover`; table.c has the rules for texts. */
#include "table.h"

#include "recorder/core/session.h"

/* A table: laid out by hand. */
/* clang-format off */

static const char *const wrapper_choices[] = { "libc", "pthread", NULL };
/* In the order of enum session_channel_mode and enum session_format. */
static const char *const mode_choices[] = { "discard", "overwrite", "block", NULL };
static const char *const format_choices[] = { "ctf1", "ctf2", NULL };
/* In the order of enum kernel_record_backend. */
const char *const table_kernel_backends[] = { "best", "perf", "tracefs", NULL };

const struct option table_record_options[] = {
	{
		.letter = 'e',
		.name = "event",
		.argument = "PATTERN",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_EVENT,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.standard = "all events",
		.sentence = "Record the events that match PATTERN. Can be given several times; see `side help patterns`.",
	},
	{
		.letter = 'f',
		.name = "filter",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.sentence = "Record an event only if EXPRESSION, such as `size > 4096`, is true. It applies to each `-e` before it, back to the previous `--filter` or `--channel`; before any `-e` it applies to all events of its channel. See `side help filters`.",
	},
	{
		.name = "context",
		.argument = "NAME,...",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_CONTEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.sentence = "Record these values with each event of the channel: vpid, vtid, tid, procname, thread_name, cpu_id, ip, uid, euid, suid, gid, egid, sgid, cgroup, namespaces (cgroup_ns, ipc_ns, mnt_ns, net_ns, pid_ns, time_ns, user_ns, uts_ns), counters (perf:thread:NAME), the call stack (backtrace, backtrace:N) and contexts of the application ($app.PROVIDER:NAME). See `side help contexts`.",
	},
	{
		.name = "event-context",
		.argument = "NAME,...",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_CONTEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.sentence = "Record these context values only for the events of the `-e` before it.",
	},
	{
		.letter = 'o',
		.name = "output",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct record_options, output),
		.standard = "side-DATE-TIME in the current directory",
		.sentence = "Write the trace to DIR.",
	},
	{
		.name = "to",
		.argument = "URL",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct record_options, to),
		.sentence = "Send the trace to URL while it is recorded; see `side send --help`. Without `-o`, the trace is kept in a temporary directory until it is delivered.",
	},
	{
		.name = "spool",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct record_options, spool),
		.standard = "nothing is removed",
		.sentence = "With `--to`: limit the files on disk to SIZE bytes. Delivered data is removed first. If the receiver does not answer for longer, the oldest events are dropped.",
	},
	{
		.name = "timeout",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct record_options, timeout),
		.standard = "60s",
		.sentence = "With `--to`: give up if COMMAND has ended and nothing was delivered for TIME. The recorded data is kept, and the exit status is 1 if COMMAND returned 0.",
	},
	{
		.letter = 'w',
		.name = "wrap",
		.argument = "WRAPPER",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct record_options, wrappers),
		.choices = wrapper_choices,
		.sentence = "Record calls of a library as events: libc (memory, files) or pthread (locks, threads). Can be given several times.",
	},
	{
		.name = "mode",
		.argument = "MODE",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.choices = mode_choices,
		.standard = "discard",
		.sentence = "If a ring is full: discard drops new events and counts them; overwrite keeps the newest events (flight recorder) and writes them when the process ends; block makes the program wait for space.",
	},
	{
		.name = "buffer-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.standard = "4M, but at most 64M for all rings of a process",
		.sentence = "Give each CPU (or thread) of each process a ring of SIZE bytes, rounded to a power of two. Larger rings lose fewer events in bursts.",
	},
	{
		.name = "per-thread",
		.argument = "MAX",
		.optional = true,
		.kind = OPTION_NUMBER,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.sentence = "Give each thread a ring instead of each CPU. At most MAX threads have one at the same time (default 64). Events of further threads are dropped and counted.",
	},
	{
		.name = "block-timeout",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.units = true,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.standard = "1s",
		.sentence = "With `--mode block`: an event waits at most TIME for space, then it is dropped and counted. A number with us, ms, s or min.",
	},
	{
		.name = "channel",
		.argument = "NAME",
		.kind = OPTION_TEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.standard = "ring, for the options before the first one",
		.sentence = "The options after it, up to the next `--channel`, belong to the channel NAME: rings of its own in each process, with their own mode, size, events, filters and contexts. See `side help channels`.",
	},
	{
		.letter = 'k',
		.name = "kernel",
		.argument = "PATTERN",
		.kind = OPTION_TEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, kernel),
		.sentence = "Also record kernel trace events that match PATTERN: `sched:*`, `syscalls:sys_enter_openat`, `user_events:*`. Can be given several times. With a COMMAND: events of COMMAND and its children. Without: events of the whole machine, until Ctrl-C. See docs/how-to/kernel.md.",
	},
	{
		.name = "syscall",
		.argument = "NAME,...",
		.kind = OPTION_TEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, kernel),
		.sentence = "Also record begin and end of these system calls: `--kernel` for `syscalls:sys_enter_NAME` and `syscalls:sys_exit_NAME`. Can be given several times.",
	},
	{
		.name = "kernel-filter",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, kernel),
		.sentence = "Record the events of the `--kernel` before it only if EXPRESSION is true. It is in the kernel's filter language, such as `prev_pid > 0 && prev_comm ~ \"sh*\"`.",
	},
	{
		.name = "kernel-all",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, kernel_all),
		.sentence = "With `--kernel`: record the events of all processes, not only of COMMAND.",
	},
	{
		.name = "kernel-buffer",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct record_options, kernel_buffer),
		.standard = "2M",
		.sentence = "With `--kernel`: use a kernel buffer of SIZE bytes for each CPU. It is smaller if kernel.perf_event_mlock_kb requires that.",
	},
	{
		.name = "kernel-method",
		.former_name = "kernel-way",
		.argument = "METHOD",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct record_options, kernel_backend),
		.choices = table_kernel_backends,
		.standard = "best",
		.sentence = "With `--kernel`: read events through perf's buffers (perf), through an instance of ftrace (tracefs), or through the first of them that is permitted (best). A note names the choice.",
	},
	{
		.name = "memory-limit",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct record_options, memory_limit),
		.standard = "512M",
		.sentence = "Use at most SIZE bytes for the rings of all processes that run at the same time. A process beyond the limit runs, but is not recorded; a note names it.",
	},
	{
		.name = "huge-pages",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, huge_pages),
		.sentence = "Use huge pages for rings that are large enough. If none are free, a note reports it and ordinary pages are used.",
	},
	{
		.name = "prefault",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, prefault),
		.sentence = "Allocate all memory of the rings before the first event of a process, so that no event waits for a page.",
	},
	{
		.name = "symbols",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, symbols),
		.sentence = "Record where the executable and its libraries are loaded, with build ids, as the events side:library_load and side:library_unload of the first channel. `side view --symbols` uses them to print functions and lines.",
	},
	{
		.name = "buffers",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct record_options, buffers),
		.sentence = "Keep the rings in files in DIR, so that they survive the recorder and the machine. `side recover` makes traces of them. They are removed after an orderly end.",
	},
	{
		.name = "snapshot-on",
		.argument = "WHAT",
		.kind = OPTION_LIST,
		.offset = offsetof(struct record_options, snapshot_on),
		.sentence = "Write a snapshot at `event:PATTERN`, at `event:PATTERN where FILTER`, at `rate:PATTERN>N/s` (more than N a second) or at `crash` (a process is killed by a fault). Can be given several times. At most one a second is written.",
	},
	{
		.name = "snapshot-max",
		.argument = "NUMBER",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct record_options, snapshot_max),
		.standard = "100",
		.sentence = "Write at most NUMBER snapshots because of `--snapshot-on`.",
	},
	{
		.name = "rotate",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, rotate),
		.sentence = "Write the recording in chunks: directories in DIR, each a complete trace. SIGUSR2 to `side record` starts a new chunk.",
	},
	{
		.name = "rotate-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct record_options, rotate_size),
		.sentence = "Start a new chunk before the current one exceeds SIZE. Implies `--rotate`.",
	},
	{
		.name = "rotate-every",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct record_options, rotate_every),
		.sentence = "Start a new chunk every TIME: seconds, or a number with s, min or h. Implies `--rotate`.",
	},
	{
		.name = "keep-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct record_options, keep_size),
		.sentence = "Remove the oldest finished chunks of this recording while all chunks together exceed SIZE.",
	},
	{
		.name = "keep-age",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct record_options, keep_age),
		.sentence = "Remove chunks of this recording that were finished more than TIME ago.",
	},
	{
		.name = "keep-count",
		.argument = "NUMBER",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct record_options, keep_count),
		.sentence = "Remove the oldest finished chunks of this recording if there are more than NUMBER.",
	},
	{
		.name = "format",
		.argument = "FORMAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct record_options, format),
		.choices = format_choices,
		.standard = "ctf1",
		.sentence = "Write CTF 1.8 (ctf1) or CTF 2 (ctf2).",
	},
	{
		.name = "compress",
		.argument = "LEVEL",
		.optional = true,
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct record_options, compress),
		.sentence = "Compress the trace with zstd, at LEVEL 1 to 19 (default 3). `side view` reads it; for other readers, decompress it with `side expand`.",
	},
	{
		.name = "wait",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, wait_all),
		.sentence = "After COMMAND has ended, wait until all processes that it left behind have ended.",
	},
	TABLE_PRINT_OPTION(record_options, "on standard error; without a command on standard output."),
	{
		.name = "validate",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, validate),
		.sentence = "Check each call of COMMAND against the description of its event, and report mismatches on standard error, once for each call site (SIDE_VALIDATE=1).",
	},
	{
		.name = "strict",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, strict),
		.sentence = "Exit with status 4 if an event was lost or a process could not be recorded, regardless of COMMAND's status.",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, force),
		.sentence = "Write to DIR even if it is not empty. Existing files are not removed or changed: new traces and snapshots get unused names.",
	},
	{ .name = NULL },
};

const char *const table_record_paragraphs[] = {
	"Starts COMMAND and records the events of this process and of all processes that it starts, until COMMAND ends. "
	"No daemon is needed, and COMMAND need not be prepared: "
	"`-w` records programs without instrumentation.",
	"Options end at the first operand: in `side record ls -l`, -l belongs to ls.",
	"The trace is a directory with a CTF trace for each process. "
	"`side view`, babeltrace2 and Trace Compass read it. "
	"At the end, standard error gets a summary: the directory and its size, the processes, and losses.",
	"With `--mode overwrite` nothing is written while COMMAND runs. "
	"When a process ends, for any reason, its last events are written. "
	"SIGUSR1 to `side record` writes a snapshot of all running processes: "
	"DIR/snapshot-1, DIR/snapshot-2 and so on. "
	"Each is a trace, and appears when it is complete.",
	"With `--rotate`, `--rotate-size` or `--rotate-every` the trace is written in chunks: "
	"DIR/chunk-0001-DATE-TIME and so on. "
	"Each appears when it is complete. "
	"`side view DIR` shows all of them together. "
	"Each event is in exactly one chunk.",
	"If the disk is full, events stay in the rings. "
	"If the rings are full as well, events are lost and counted. "
	"Recording continues when there is space again.",
	"With `--kernel` kernel events are one more trace, DIR/kernel, on the same clock as all others. "
	"With chunks, `--mode overwrite`, `--to` or `--buffers` they are events of a program side-kernel, in rings like all others. "
	"If that is not permitted, a line reports it, everything else is recorded, and the exit status is 3 (or 1) if COMMAND returned 0.",
	"A `side record` inside another one records on its own; the outer one records as well.",
	"Ctrl-C goes to COMMAND as usual; everything that it recorded until it ends is in the trace. "
	"A second Ctrl-C ends the recording at once, and keeps what was recorded until then.",
	"The exit status is that of COMMAND; 128 + N if signal N ended it, 127 if it was not found, 126 if it cannot be executed; 130 if the recording ended before COMMAND. "
	"With `--strict` it is 4 if events were lost. "
	"If the recording fails and COMMAND returned 0, it is 1.",
	"Programs that gain privileges at their start (set-user-ID, file capabilities) and statically linked programs without libside cannot be recorded. "
	"They run unchanged, and a line reports each program file once. "
	"A process that changes its user is still recorded; the processes that it starts afterwards are not, because they cannot reach the recorder.",
	NULL,
};

const struct example table_record_examples[] = {
	{ "side record -w libc -- ls -l",
		"Record the C library calls of ls." },
	{ "side record -e 'db:*' -e '!db:tick' -o trace ./server --port 8080",
		"Record all events of the provider db except tick into the directory trace." },
	{ "side record -e '*:*@WARNING' --strict make test",
		"Record only warnings and worse, and fail if one of them was lost." },
	{ "side record -e 'db:query' --filter 'rows > 1000' --context vtid,procname ./server",
		"Record large queries, with the thread and the process that made them." },
	{ "side record --mode overwrite --buffer-size 1M ./server",
		"Keep the last megabyte of each CPU, even if the server crashes." },
	{ "side record -e 'db:*' --channel trouble -e '*@ERR' --mode block ./server",
		"Record a provider, and errors in rings of their own that lose nothing." },
	{ "side record --buffers /var/tmp/rings -o trace ./server",
		"Keep recorded events even if the machine goes down." },
	{ "side record --rotate-size 100M --keep-size 1G -o trace ./server",
		"Record without an end, and keep the last gigabyte." },
	{ "side record -k 'sched:sched_switch' -k 'syscalls:*' -o trace ./server",
		"Record kernel events of the server beside its own events." },
	{ "side record --buffer-size 4M --memory-limit 512M ./busy",
		"Use larger rings for a program with bursts of events." },
	{ .command = NULL },
};

/* recover */

const struct option table_recover_options[] = {
	{
		.letter = 'o',
		.name = "output",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct recover_options, output),
		.standard = "side-DATE-TIME in the current directory",
		.sentence = "Write the traces to DIR.",
	},
	{
		.name = "format",
		.argument = "FORMAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct recover_options, format),
		.choices = format_choices,
		.standard = "ctf1",
		.sentence = "Write CTF 1.8 (ctf1) or CTF 2 (ctf2).",
	},
	{
		.name = "compress",
		.argument = "LEVEL",
		.optional = true,
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct recover_options, compress),
		.sentence = "Compress the traces with zstd, at LEVEL 1 to 19 (default 3).",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct recover_options, force),
		.sentence = "Write to DIR even if it is not empty. Existing files are not removed or changed.",
	},
	{ .name = NULL },
};

const char *const table_recover_paragraphs[] = {
	"Makes traces of buffers that no recorder has written: of the directory of `side record --buffers` after the recorder was killed or the machine went down, and of core dumps of programs that were recorded when they died. "
	"The input is not changed.",
	"A trace has what was still in the rings: the last window of a ring that overwrites; from other rings, the events that the recorder had not written yet. "
	"Earlier ones are in its own trace. "
	"`side view --repair` repairs that trace if it was cut.",
	"A core dump has the rings with the default settings (bits 0 and 1 of /proc/PID/coredump_filter, see core(5)), also of programs in sessions. "
	"Rings in huge pages need bit 6.",
	"The memory of a machine whose kernel has panicked has the rings of all recorded programs: an ELF file (/proc/vmcore, QEMU's dump-guest-memory), or a compressed one of makedumpfile. "
	"It must contain the memory of programs: use `makedumpfile -d 17`.",
	NULL,
};

const struct example table_recover_examples[] = {
	{ "side recover /var/tmp/rings -o trace",
		"Make a trace of the rings of a killed recorder." },
	{ "side recover core.4711",
		"Print the last events of a program that crashed." },
	{ .command = NULL },
};

/* Topics. */

const char *const table_channels_paragraphs[] = {
	"A channel is a set of rings in each process, with a mode, a size and a placement, the contexts of its events, and rules that select its events. "
	"An event can go to several channels. "
	"Each channel becomes a stream class of the trace; the names of its files begin with the name of the channel.",
	"Options belong to the `--channel` before them. "
	"Options before the first `--channel` belong to the channel ring, which is the only one if there is no `--channel`.",
	NULL,
};

const struct term table_channels_terms[] = {
	{ "-e, --filter, --event-context",
		"One or more `-e` and the options directly after them are a rule; the next `-e` starts another one. A channel records an event if any rule selects it. A filter before the first `-e` applies to all rules of its channel." },
	{ "--context",
		"Recorded with each event of the channel." },
	{ "--mode, --buffer-size, --per-thread, --block-timeout",
		"Properties of the rings." },
	{ NULL, NULL },
};

const char *const table_filters_paragraphs[] = {
	"A filter is an expression over the fields and contexts of an event, as in C: numbers, text in double quotes, `&&`, `||`, `!`, comparisons, arithmetic and bit operations, parentheses. "
	"An event without a field that its filter names does not match.",
	"Write filters in single quotes, so that the shell does not change them.",
	NULL,
};

const struct term table_filters_terms[] = {
	{ "size > 4096 && flags & 0x40", "Numbers are compared by their value, signed or not." },
	{ "name == \"redis*\"", "A text with `*` (any text) and `?` (one character); `!=` is the opposite." },
	{ "state == \"RUNNING\"", "The label of an enumeration." },
	{ "request.header[2].length", "A member of a structure, an element of an array." },
	{ "len(list) > 3, has(user)", "The length of an array or text; whether an optional is there." },
	{ "$ctx.procname, $app.shop:customer", "A context, a context of the application." },
	{ NULL, NULL },
};

/* clang-format on */
