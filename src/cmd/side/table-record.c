/* SPDX-License-Identifier: MIT */
/* The verbs `record` and `recover` in the table; its rules for texts stand in table.c. */
#include "table.h"

#include "session/session.h"

/* A table: laid out by hand. */
/* clang-format off */

static const char *const wrapper_words[] = { "libc", "pthread", NULL };
/* In the order of enum session_channel_mode and enum session_format. */
static const char *const mode_words[] = { "discard", "overwrite", "block", NULL };
static const char *const format_words[] = { "ctf1", "ctf2", NULL };
/* In the order of enum kernel_record_way. */
const char *const table_kernel_ways[] = { "best", "perf", "tracefs", NULL };

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
		.sentence = "Record the events that match PATTERN. May be given several times; see `side help patterns`.",
	},
	{
		.name = "filter",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.sentence = "Record an event only when EXPRESSION, like `size > 4096`, is true of it. "
				"It belongs to the `-e` before it, back to the last `--filter` or `--channel`; before "
				"any `-e` it belongs to all events of its channel. See `side help filters`.",
	},
	{
		.name = "context",
		.argument = "NAME,...",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_CONTEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.sentence = "Record these with each event of the channel: vpid, vtid, tid, procname, thread_name, "
				"cpu_id, ip, uid, euid, suid, gid, egid, sgid, cgroup, namespaces (cgroup_ns, ipc_ns, "
				"mnt_ns, net_ns, pid_ns, time_ns, user_ns, uts_ns), counters (perf:thread:NAME) and "
				"what the application says ($app.PROVIDER:NAME). See `side help contexts`.",
	},
	{
		.name = "event-context",
		.argument = "NAME,...",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_CONTEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.sentence = "The same only for the events of the `-e` before it.",
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
		.sentence = "Send the trace to URL while it is recorded; see `side help send`. Without `-o` it is kept "
				"in a temporary directory until it has been delivered.",
	},
	{
		.name = "spool",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct record_options, spool),
		.standard = "nothing is removed",
		.sentence = "With `--to`: let the files grow to SIZE bytes only. What was delivered is removed from "
				"them first; when the receiver is away for longer, the oldest events are given up.",
	},
	{
		.name = "timeout",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct record_options, timeout),
		.standard = "60s",
		.sentence = "With `--to`: give up when the command has ended and nothing was delivered for TIME. What "
				"was recorded is kept, and the exit status is 1 if COMMAND returned 0.",
	},
	{
		.letter = 'w',
		.name = "wrap",
		.argument = "WRAPPER",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct record_options, wrappers),
		.choices = wrapper_words,
		.sentence = "Turn the calls that the program makes into a library into events: "
				"libc (memory, files) or pthread (locks, threads). May be given "
				"several times.",
	},
	{
		.name = "mode",
		.argument = "MODE",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.choices = mode_words,
		.standard = "discard",
		.sentence = "What a full ring does: discard (new events are lost, and counted), overwrite (a flight "
				"recorder: the newest events stay, and are written when the process ends) or block "
				"(the program waits until there is room).",
	},
	{
		.name = "buffer-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.standard = "4M, but at most 64M for all rings of a process",
		.sentence = "Give each CPU (or thread) of each process a ring of SIZE bytes, rounded to a "
				"power of two. Larger rings lose fewer events when the program "
				"says much at once.",
	},
	{
		.name = "per-thread",
		.argument = "MAX",
		.optional = true,
		.kind = OPTION_NUMBER,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.sentence = "Give each thread a ring of its own, not each CPU. At most MAX threads (64 if it is left "
				"out) have one at the same time; what others say is lost, and counted.",
	},
	{
		.name = "block-timeout",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.units = true,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.standard = "1s",
		.sentence = "With `--mode block`: how long one event waits for room at most; then it is lost, and "
				"counted. A number with us, ms, s or min behind it.",
	},
	{
		.name = "channel",
		.argument = "NAME",
		.kind = OPTION_TEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, channels),
		.standard = "ring, for the options before the first one",
		.sentence = "The options behind it, up to the next one, belong to the channel NAME: rings of its own "
				"in each process, with their own mode, size, events, filters and contexts. See "
				"`side help channels`.",
	},
	{
		.letter = 'k',
		.name = "kernel",
		.argument = "PATTERN",
		.kind = OPTION_TEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, kernel),
		.sentence = "Record the kernel's trace events that match PATTERN, too: `sched:*`, `syscalls:sys_enter_openat`, "
				"`user_events:*`. May be given several times. They are those of COMMAND and all that it starts. Without "
				"a COMMAND they are those of all the machine, until Ctrl-C. See docs/guide/kernel.md.",
	},
	{
		.name = "syscall",
		.argument = "NAME,...",
		.kind = OPTION_TEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, kernel),
		.sentence = "Record begin and end of these system calls, too: `--kernel` of `syscalls:sys_enter_NAME` and "
				"`syscalls:sys_exit_NAME`. May be given several times.",
	},
	{
		.name = "kernel-filter",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.ordered = true,
		.offset = offsetof(struct record_options, kernel),
		.sentence = "Record the events of the `--kernel` before it only when EXPRESSION, in the kernel's own language, like "
				"`prev_pid > 0 && prev_comm ~ \"sh*\"`, is true of them.",
	},
	{
		.name = "kernel-all",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, kernel_all),
		.sentence = "With `--kernel`: the events of all processes of the machine, not only of COMMAND.",
	},
	{
		.name = "kernel-buffer",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct record_options, kernel_buffer),
		.standard = "2M",
		.sentence = "With `--kernel`: give each CPU a buffer of SIZE bytes in the kernel. It gets less where "
				"kernel.perf_event_mlock_kb forbids that.",
	},
	{
		.name = "kernel-way",
		.argument = "WAY",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct record_options, kernel_way),
		.choices = table_kernel_ways,
		.standard = "best",
		.sentence = "With `--kernel`: how the events are got out of the kernel: by perf's buffers (perf), by an instance "
				"of ftrace (tracefs), or by the first of them that is permitted (best), which is said.",
	},
	{
		.name = "memory-limit",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct record_options, memory_limit),
		.standard = "512M",
		.sentence = "Use at most SIZE bytes for the rings of all processes that run at "
				"the same time. A process for which nothing is left runs without "
				"being recorded, which is said.",
	},
	{
		.name = "huge-pages",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, huge_pages),
		.sentence = "Use huge pages for rings that are as large as one. Where there are none, ordinary "
				"pages are used, which is said.",
	},
	{
		.name = "prefault",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, prefault),
		.sentence = "Make all memory of the rings before a process says its first event, so that no event "
				"waits for a page.",
	},
	{
		.name = "symbols",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, symbols),
		.sentence = "Record where the executable and its libraries are, with their build ids: the events "
				"side:library_load and side:library_unload, in the first channel. `side view --symbols` "
				"tells functions and lines by them.",
	},
	{
		.name = "buffers",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct record_options, buffers),
		.sentence = "Keep the rings in files in DIR, so that they outlive recorder and machine: "
				"`side recover` makes traces of them. They are removed after an orderly end.",
	},
	{
		.name = "snapshot-on",
		.argument = "WHAT",
		.kind = OPTION_LIST,
		.offset = offsetof(struct record_options, snapshot_on),
		.sentence = "Make a snapshot by yourself when `event:PATTERN` happens, `event:PATTERN where FILTER`, "
				"`rate:PATTERN>N/s` (more than N of them in a second) or `crash` (a process dies of a fault). "
				"May be given several times. At most one a second is made.",
	},
	{
		.name = "snapshot-max",
		.argument = "NUMBER",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct record_options, snapshot_max),
		.standard = "100",
		.sentence = "Make at most NUMBER snapshots because of `--snapshot-on`.",
	},
	{
		.name = "rotate",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, rotate),
		.sentence = "Write the recording in chunks: directories in DIR that are whole in themselves. A signal "
				"SIGUSR2 to `side record` finishes one and begins the next.",
	},
	{
		.name = "rotate-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct record_options, rotate_size),
		.sentence = "Finish a chunk, as with `--rotate`, before it is larger than SIZE, too.",
	},
	{
		.name = "rotate-every",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct record_options, rotate_every),
		.sentence = "Finish a chunk, as with `--rotate`, after TIME, too: seconds, or a number with s, min or h behind it.",
	},
	{
		.name = "keep-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct record_options, keep_size),
		.sentence = "Remove the oldest finished chunks of this recording while all chunks together are larger "
				"than SIZE.",
	},
	{
		.name = "keep-age",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct record_options, keep_age),
		.sentence = "Remove chunks of this recording that were finished longer than TIME ago.",
	},
	{
		.name = "keep-count",
		.argument = "NUMBER",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct record_options, keep_count),
		.sentence = "Remove the oldest finished chunks of this recording when there are more than NUMBER.",
	},
	{
		.name = "format",
		.argument = "FORMAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct record_options, format),
		.choices = format_words,
		.standard = "ctf1",
		.sentence = "Describe the trace in CTF 1.8 (ctf1) or CTF 2 (ctf2).",
	},
	{
		.name = "compress",
		.argument = "LEVEL",
		.optional = true,
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct record_options, compress),
		.sentence = "Compress the trace with zstd, at LEVEL 1 to 19 (3 if it is left out). `side view` reads it; "
				"other readers want it expanded by `side expand`.",
	},
	{
		.name = "wait",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, wait_all),
		.sentence = "Go on when COMMAND has ended, until all processes that it left behind have ended, too.",
	},
	TABLE_PRINT_OPTION(record_options, "on standard error; without a command on standard output."),
	{
		.name = "validate",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, validate),
		.sentence = "Compare each call of COMMAND with the description of its event, and say on standard error what "
				"does not fit, once for each call site (SIDE_VALIDATE=1).",
	},
	{
		.name = "strict",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, strict),
		.sentence = "Exit with status 4 if any event was lost or a process could not be "
				"recorded, whatever the command returned.",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, force),
		.sentence = "Write into DIR even if it is not empty. Nothing that is there is removed or changed: "
				"new traces and snapshots stand beside the old ones, under names that were free.",
	},
	{ .name = NULL },
};

const char *const table_record_paragraphs[] = {
	"Starts COMMAND, records the events of this process and of all processes that it starts, "
	"and ends when COMMAND has ended. No daemon is needed and COMMAND need not be changed: a "
	"program that is not instrumented can be recorded with `-w`.",
	"Options end at the first word that is not one: `side record ls -l` gives -l to ls.",
	"The trace is a directory with one CTF trace for each process, which `side view`, "
	"babeltrace2 and Trace Compass read. At the end a summary goes to standard error: where "
	"the trace is, how large it is, which processes it has, and what was lost.",
	"With `--mode overwrite` nothing is written while COMMAND runs. When a process ends, however it "
	"ends, the last events that it said are in the trace. A signal SIGUSR1 to `side record` makes a "
	"snapshot of all that runs: DIR/snapshot-1, DIR/snapshot-2 and so on, each a trace, there as soon "
	"as it is complete.",
	"With `--rotate`, `--rotate-size` or `--rotate-every` the traces stand in chunks, DIR/chunk-0001-DATE-TIME "
	"and so on, each there as soon as it is complete. `side view DIR` shows all of them together. No "
	"event is in two chunks, or in none.",
	"When the disk is full, events wait in the rings, and are lost when those are full, too; what is "
	"lost is counted. Recording goes on when there is room again.",
	"With `--kernel` the kernel's events are one more trace, DIR/kernel, on the same clock as all others; with chunks, `--mode overwrite`, "
	"`--to` or `--buffers` they are events of a program side-kernel, in rings as all others. Where that is "
	"not permitted, one line reports it, everything else is recorded, and the exit status is 3 (or 1) if COMMAND returned 0.",
	"A `side record` inside another one records for itself, beside it.",
	"A Ctrl-C goes to COMMAND as usual; when it ends, everything that it said until then is "
	"in the trace. A second Ctrl-C ends the recording at once, with all that was said until "
	"then.",
	"The exit status is that of COMMAND; 128 + N if signal N ended it, 127 if it was not "
	"found, 126 if it cannot be executed; 130 if the recording was ended before COMMAND did. Only "
	"with `--strict` does it become 4 when events were lost. Where the recording itself fails "
	"and COMMAND returned 0, it is 1.",
	"Programs that gain privileges when they start (set-user-ID, file capabilities) and "
	"statically linked programs without libside ignore the recorder. They run, and nothing of "
	"them is recorded. A process that changes its user goes on being recorded; what it starts from "
	"then on cannot reach the recorder, and is not.",
	NULL,
};

const struct example table_record_examples[] = {
	{ "side record -w libc -- ls -l", "Record what ls asks of the C library." },
	{ "side record -e 'db:*' -e '!db:tick' -o trace ./server --port 8080",
		"Record all events of the provider db except tick into the directory trace." },
	{ "side record -e '*:*@WARNING' --strict make test",
		"Record only warnings and worse, and fail if one of them was lost." },
	{ "side record -e 'db:query' --filter 'rows > 1000' --context vtid,procname ./server",
		"Record large queries, with the thread and the process that made them." },
	{ "side record --mode overwrite --buffer-size 1M ./server",
		"Keep the last megabyte of each CPU, whatever happens to the server." },
	{ "side record -e 'db:*' --channel trouble -e '*@ERR' --mode block ./server",
		"Record a provider, and errors in rings of their own that lose nothing." },
	{ "side record --buffers /var/tmp/rings -o trace ./server",
		"Keep what was said even if the machine goes down." },
	{ "side record --rotate-size 100M --keep-size 1G -o trace ./server",
		"Record for as long as it takes, and keep the last gigabyte." },
	{ "side record -k 'sched:sched_switch' -k 'syscalls:*' -o trace ./server",
		"Record what the kernel says of the server beside its own events." },
	{ "side record --buffer-size 4M --memory-limit 512M ./busy",
		"Give a program that says very much larger rings." },
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
		.choices = format_words,
		.standard = "ctf1",
		.sentence = "Describe the traces in CTF 1.8 (ctf1) or CTF 2 (ctf2).",
	},
	{
		.name = "compress",
		.argument = "LEVEL",
		.optional = true,
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct recover_options, compress),
		.sentence = "Compress the traces with zstd, at LEVEL 1 to 19 (3 if it is left out).",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct recover_options, force),
		.sentence = "Write into DIR even if it is not empty. Nothing that is there is removed or changed.",
	},
	{ .name = NULL },
};

const char *const table_recover_paragraphs[] = {
	"Makes traces of what is left where nobody could write them: of the directories of `side record "
	"--buffers` after the recorder was killed or the machine went down, and of core dumps of programs "
	"that were being recorded when they died. What is read is not changed.",
	"A trace holds what was still in the rings: of a ring that overwrites its last window, of others "
	"what the recorder had not written yet. What it had written before is in its own trace, which "
	"`side view --repair` mends if it was cut.",
	"A core dump has the rings only if shared memory was dumped; it is by default (bit 1 of "
	"/proc/PID/coredump_filter, see core(5)).",
	NULL,
};

const struct example table_recover_examples[] = {
	{ "side recover /var/tmp/rings -o trace", "Make a trace of the rings that a killed recorder left." },
	{ "side recover core.4711", "Look at the last events of a program that crashed." },
	{ .command = NULL },
};

/* The topic. */

const char *const table_channels_paragraphs[] = {
	"A channel is a set of rings in each process, with one mode, size and placement, the contexts of "
	"its events, and rules that say which events it takes. An event can go into several channels. Each "
	"channel becomes a stream class of the trace, with files that begin with its name.",
	"Options stand behind the `--channel` that they belong to; those before the first one make the "
	"channel ring, and when there is no `--channel` it is the only one.",
	NULL,
};

const struct term table_channels_terms[] = {
	{ "-e, --filter, --event-context", "One or more `-e` and what stands directly behind them make a rule: the "
			"next `-e` begins another one. An event is taken when any rule takes it. A filter "
			"before the first `-e` holds for all rules of its channel." },
	{ "--context", "Recorded with each event of the channel." },
	{ "--mode, --buffer-size, --per-thread, --block-timeout", "How the rings are made." },
	{ NULL, NULL },
};

const char *const table_filters_paragraphs[] = {
	"A filter is an expression over the fields and contexts of an event, as in C: numbers, texts between "
	"double quotes, `&&`, `||`, `!`, comparisons, arithmetic and bit operations, parentheses. An event "
	"without a field that its filter names does not match.",
	"Write filters between single quotes, so that the shell leaves them alone.",
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
